def never(a):
    a[0] = total
    total = 1


def unknown(n):
    return missing + n
