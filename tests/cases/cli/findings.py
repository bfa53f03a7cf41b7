def perhaps(a, n, unused):
    for i in range(n):
        if i > 2:
            last = i
        extra = 2
    a[0] = last


def endless(a, n):
    while n > 0:
        break
        n = 1
    a[0] = n
