def three(n):
    return sum(range(n), 1, 2)
