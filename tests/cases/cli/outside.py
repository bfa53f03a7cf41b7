def f(n):
    try:
        return [i for i in range(n)]
    except ValueError:
        return 012
