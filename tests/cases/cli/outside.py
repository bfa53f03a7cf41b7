def f(n):
    with n as m:
        a = [i for i in range(m)]
    return 012
