def twice(n):
    total = 0
    total = n * 2
    for i in range(n):
        last = i
        total += last
        last = -1
    return total
