"""Functions for the transcripts of `cembra function`."""
import math
import numpy as np

SCALE = 2.0


def worked(n):
    s = 0
    for i in range(n):
        if i % 2: s += i * 0.5
    return s


def fib(n):
    return n if n < 2 else fib(n - 1) + fib(n - 2)


def power(x, n=3):
    return x ** n


def cumulative(a):
    for i in range(1, len(a)):
        a[i] += a[i - 1]
    return a[-1] * SCALE


def trace(a):
    t = 0.0
    for i in range(min(a.shape)):
        t += a[i, i]
    return t


def gcd(a, b):
    while b:
        a, b = b, a % b
    return a, math.sqrt(a)


def late(n):
    if n > 0:
        found = n
    return found


def spin(n):
    while True:
        n = n ^ 1
    return n


def flags(n):
    sieve = np.ones(n, dtype=np.bool_)
    sieve[0] = sieve[1] = False
    for i in range(2, n):
        if sieve[i]:
            for j in range(i * i, n, i):
                sieve[j] = False
    return sieve
