def f(n):
    s = 0
    for i in range(n):
        if i % 2: s += i * 0.5
    return s
