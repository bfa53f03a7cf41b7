def before(n):
    for i in range(n):
        total += i
    return total


def perhaps(n, unused):
    if n > 0:
        r = n
    extra = 2
    return r
    n = 3


def unknown(n):
    return missing + n
