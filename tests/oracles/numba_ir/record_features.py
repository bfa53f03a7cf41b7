#!/usr/bin/env python3
"""Records what CPython and numpy give for functions that use one feature each: record_features.py OUT.

Lines of tables: the text of a module behind the imports, and the arguments of its calls.
"""

import copy
import json
import math
import sys

import numpy as np

IMPORTS = "import math\nimport numpy as np\nfrom numba import prange\n"
CASES = []


def case(source, *calls):
    CASES.append((source, calls))


A = lambda *items: np.array(items)


case("""
def f(a):
    s = 0.0
    for i, x in enumerate(a):
        if x < 0: continue
        if i > 3: break
        s += x * i
    else:
        s = -s
    return s
""", (A(1.0, 2, 3),), (A(1.0, -2, 3, 4, 5, 6),), (A(1.0)[:0],))

case("""
def f(a, b):
    n = 0
    for x, y in zip(a, b):
        n += x > y
    return n
""", (A(1, 2, 3), A(0.5, 3, 1)), (A(1), A(1.0, 2)))

case("""
def f(a):
    for row in a:
        row[0] = row[-1] * 2
    return a[0, 0]
""", (np.arange(6.0).reshape(2, 3),))

case("""
def f(a):
    b = a[1:]
    b[0] = 9
    c = b[::2]
    c[-1] = 7
    return b[0] + c[0]
""", (np.arange(5.0),), (np.arange(2.0),), (np.arange(1.0),))

case("""
def f(a, i, j):
    b = a[i:j]
    s = 0.0
    for x in b: s += x
    return s, len(b)
""", *[(np.arange(5.0), i, j) for i in (-7, -2, 0, 3, 9) for j in (-9, -1, 0, 2, 5, 8)])

case("""
def f(a, i, j):
    b = a[i:j:-1]
    s = 0.0
    k = 1
    for x in b:
        s += x * k
        k += 1
    return s, len(b)
""", *[(np.arange(5.0), i, j) for i in (-7, -2, 0, 3, 9) for j in (-9, -1, 0, 2, 5, 8)])

case("""
def f(a, i, j):
    b = a[i::2]
    c = a[:j:-2]
    b[:] = 5
    c[:] = 6
    return len(b), len(c)
""", *[(np.arange(5.0), i, j) for i in (-7, -2, 0, 3, 9) for j in (-9, -1, 0, 2, 5, 8)])

case("""
def f(a):
    b = a[:, 1]
    b[0] = 5
    c = a[1]
    c[1:] = 8
    d = a[::-1, ::2]
    d[0, 0] = 3
    return b[1], d[1, 1], d.shape
""", (np.arange(6.0).reshape(2, 3),))

case("""
def f(a):
    b = a[1:, 1:]
    for i in range(b.shape[0]):
        for j in range(b.shape[1]):
            b[i][j] += 10 * i + j
    return b.size, b.ndim, len(b)
""", (np.arange(12.0).reshape(3, 4),))

case("""
def f(n):
    a, b = 0, 1
    for _ in range(n):
        a, b = b, a + b
    return a
""", (0,), (1,), (50,), (91,))

case("""
def f(x):
    t = (x, x * 2, 2.5)
    a, b, z = t
    u = t + (a,)
    return u[-1], u[1], len(u), t == (x, b, z)
""", (3,), (2.5,))

case("""
def f(n):
    match n:
        case 0: return 10
        case 1 | 2: return 20
        case -1: return 5
        case m if m > 10: return m
        case _: return 0
""", *[(i,) for i in (0, 1, 2, -1, 11, 5)])

case("""
def f(x):
    match x:
        case 1: r = 1
        case True: r = 2
        case _: r = 3
    return r
""", (1,), (True,), (1.0,), (2,))

case("""
def f(n):
    def g(x, y=2): return x * y + n
    h = lambda z: g(z) - 1
    n += 1
    return h(3), g(y=5, x=1)
""", (1,))

case("""
def f(n):
    total = 0
    def add(x):
        return total + x
    total = 5
    return add(n)
""", (1,))

case("""
def apply(g, x, k):
    s = x
    for i in range(k): s = g(s, i)
    return s
def f(n):
    return apply(lambda a, b: a * 2 + b, n, 4), apply(lambda a, b: a - b, 1.5, 3)
""", (3,))

case("""
K = 3
P = (1, 2.5)
def g(x, k=K): return x * k
def f(n):
    return g(n), g(n, k=4), P[1] * n
""", (2,))

case("""
def f(n):
    l = [i for i in range(n) if i % 2]
    l.append(100)
    s = 0
    for x in l: s += x
    l[0] = -5
    return s, len(l), l[-1], l[0]
""", (5,), (1,), (0,))

case("""
def f(n):
    l = []
    for i in range(n):
        l.append(i * 0.5)
    return sum(l), len(l)
""", (5,), (0,))

case("""
def f(n):
    l = [1, 2, 3]
    for x in l:
        if len(l) < n: l.append(x * 2)
    return len(l), sum(l)
""", (8,))

case("""
def f(n):
    s = 0
    for i in range(n, -n, -3):
        for j in range(i, 10, 4):
            if j == 5: break
            s += i * j
        else:
            s += 1000
    return s
""", (10,), (0,), (-5,))

case("""
def f(n):
    i = 0
    while i < n:
        i += 1
        if i % 3 == 0: continue
        if i > 7: break
    else:
        return -i
    return i
""", (5,), (20,), (0,))

case("""
def f(x, y):
    return x // y, x % y, divmod(x, y)
""", *[(x, y) for x in (7, -7, 7.5, -7.5, 0.0, -0.0) for y in (2, -2, 2.5, -2.5)])

case("""
def f(x, n):
    return round(x, n)
""", *[(x, n) for x in (2.675, -1234.5, 0.5, 1e+22, 123456789.98765433) for n in (0, 1, 2, -2, 5, 20)])

case("""
def f(x):
    return round(x), int(x), math.floor(x), math.ceil(x), math.trunc(x)
""", *[(x,) for x in (0.5, 1.5, -0.5, -1.5, 2.5, 1000000000000000.0 + 0.5, -2.9, 3)])

case("""
def f(a, b):
    return a < b, a <= b, a == b, a != b, a > b, a >= b
""", *[(x, y) for x in (2 ** 53 + 1, 2 ** 63 - 1, -2 ** 63, 0, 1) for y in (2.0 ** 53, 2.0 ** 63, -2.0 ** 63, 0.5, math.nan, math.inf, -math.inf)])

case("""
def f(a, b):
    return a and b, a or b, not a, a if b else -a
""", *[(x, y) for x in (0, 3) for y in (0, -1)], (0.0, 1.5), (math.nan, 0.0), (True, False), (False, True))

case("""
def f(x, y):
    return x ** y
""", *[(x, y) for x in (2.0, 0.0, 0.5, -0.0, math.inf) for y in (2.0, -1.0, 0.5, 0.0, 3.0, -3.0, 1000.0, -1000.0)], *[(x, y) for x in (0, 1, -1, 2, -3, 10) for y in (0, 1, 2, 5, 18)])

case("""
def f(x):
    return x ** 2, x ** 0.5, x ** -1, 2 ** x
""", (3,), (2.5,))

case("""
def f(a, i):
    a[i] += 1
    a[i - 1] *= a[i]
    return a[i]
""", *[(np.arange(4.0), i) for i in (0, 3, -1, -4, 4, -5)])

case("""
def f(a):
    i = 0
    i, a[i] = 2, 7
    a[0], a[1], a[2] = a[2], a[0], a[1]
    return i
""", (np.arange(4.0),))

case("""
def f(a):
    def k(x):
        a[0] += x
        return x
    a[int(k(1))] = k(2) + a[0]
    a[int(k(1))] += k(3)
    return a[0]
""", (np.arange(4.0),))

case("""
def f(n):
    x = 1
    for i in range(n):
        y = x
        x = y + i
        if x > 5: y = 0.5
    return x, y
""", (3,), (6,), (0,))

case("""
def f(n):
    if n > 0:
        x = 1
    elif n < 0:
        x = 2.5
    for i in range(n): x += i
    return x
""", (3,), (-2,), (0,))

case("""
def f(n):
    if n == 0: return 0, 1.0
    return f(n - 1)[0] + n, 0.5
""", (0,), (4,))

case("""
def even(n):
    return True if n == 0 else odd(n - 1)
def odd(n):
    return False if n == 0 else even(n - 1)
def f(n):
    return even(n), odd(n)
""", (7,), (10,))

case("""
def f(n):
    if n > 3: raise ValueError("big")
    assert n != 2, "two"
    if n < 0: raise IndexError
    return n
""", (1,), (5,), (2,), (-1,))

case("""
def f(a):
    return a.sum(), a.min(), a.max(), a.size, a.copy()[0], len(a), np.sum(a), sum(a), min(a), max(a)
""", (A(1.0, 2, 3),), (A(3, 1, 2),), (A(True, False),))

case("""
def f(n):
    a = np.arange(n)
    b = np.zeros((n, 2))
    c = np.full(n, 2.5)
    d = np.ones(n, dtype=np.int64)
    for i in range(n):
        b[i, 0] = a[i]
        b[i, 1] = c[i] + d[i]
    return b
""", (3,), (0,))

case("""
def f(n):
    a = np.arange(2, n, 3)
    b = np.arange(n, 0, -2)
    return a, b, len(a), len(b)
""", (10,), (1,), (-3,))

case("""
def f(n):
    a = np.array([1, 2.5, n])
    b = a
    b[0] = 7
    c = a.copy()
    c[1] = 0
    return a[0], a[1], c[1]
""", (3,))

case("""
def f(a):
    a[0] = 2.9
    a[1] = -2.9
    a[2] = True
    return a[0] / 2
""", (A(1, 2, 3),))

case("""
def f(n):
    s = 0
    for i in prange(n):
        for j in range(i):
            s += i ^ j
    return s
""", (10,))

case("""
def f(x):
    y = (z := x + 1) * z
    return y, z
""", (3,))

case("""
def f(a):
    n = 0
    while n < len(a) and a[n] != 0: n += 1
    return n if n < len(a) else -1
""", (A(1, 2, 0),), (A(1, 2),))

case("""
def f(n):
    x = 5
    del x
    x = n
    return x
""", (3,))

case("""
def f(n):
    r = None
    for i in range(n):
        if i * i > 10:
            r = i
            break
    return r
""", (3,), (9,))

case("""
def f(n):
    r = None
    if n > 2: r = n
    return r is None, r is not None
""", (3,), (1,))

case("""
def f(n):
    return n in (1, 2, 3), n not in (1.5, True), 0 < n < 3 < 5
""", (1,), (3,), (9,))

case("""
def f(x, y):
    return math.gcd(x, y), math.hypot(x, y), math.atan2(x, y), math.fmod(x, y), math.copysign(x, y)
""", (12, 18), (-4, 6), (5, 3))

case("""
def f(x):
    return x & 7, x | 8, x ^ 5, ~x, x << 3, x >> 1, -x, +x, abs(x)
""", (5,), (-9,), (True,))

case("""
def f(a, n):
    s = 0
    for i in range(len(a)):
        for j in range(i + 1, len(a)):
            if a[i] > a[j]:
                a[i], a[j] = a[j], a[i]
                s += 1
    return s
""", (A(3, 1, 2, 9, 0), 1))

case("""
def g(a, lo, hi):
    if lo >= hi: return 0
    p = a[hi]
    i = lo
    for j in range(lo, hi):
        if a[j] < p:
            a[i], a[j] = a[j], a[i]
            i += 1
    a[i], a[hi] = a[hi], a[i]
    g(a, lo, i - 1)
    g(a, i + 1, hi)
    return 0
def f(a):
    return g(a, 0, len(a) - 1)
""", (A(3.0, 1, 2, 9, 0, 5),))

case("""
def g(a, k):
    if k == 0:
        return 1
    n = 0
    for i in range(len(a)):
        ok = True
        for j in range(k):
            pass
        if a[i] == 0:
            a[i] = 1
            n += g(a, k - 1)
            a[i] = 0
    return n
def f(a):
    return g(a, 3)
""", (A(0, 0, 0, 0),))

case("""
def f(n):
    memo = np.zeros(n + 1, dtype=np.int64)
    def h(k):
        return memo[k] + 1
    for i in range(n):
        memo[i + 1] = h(i)
    return memo
""", (4,))

case("""
def g(t):
    a, n = t
    a[0] = n
    return a
def f(a):
    b = g((a, 5))
    b[1] = 6
    return a[0]
""", (A(1.0, 2),))


def written(value):
    match value:
        case None:
            return {"t": "none", "v": None}
        case bool() | np.bool_():
            return {"t": "bool", "v": bool(value)}
        case int() | np.integer():
            return {"t": "int", "v": str(int(value))}
        case float() | np.floating():
            return {"t": "float", "v": repr(float(value))}
        case tuple():
            return {"t": "tuple", "v": [written(part) for part in value]}
        case np.ndarray():
            data = [repr(float(x)) if value.dtype.kind == "f" else str(x) for x in value.ravel()]
            return {"t": "array", "dtype": str(value.dtype), "shape": list(value.shape), "order": "C", "data": data}
    raise TypeError(type(value))


def record(source, args):
    module = {"math": math, "np": np, "prange": range}
    exec(source, module)
    run, args = {"args": [written(value) for value in args]}, copy.deepcopy(args)
    try:
        with np.errstate(all="ignore"):
            value = module["f"](*args)
    except Exception as error:
        return run | {"cpython": {"outcome": "raise", "exc": type(error).__name__}}
    arrays = [written(value) for value in args if isinstance(value, np.ndarray)]
    return run | {"cpython": {"outcome": "return", "value": written(value), "arrays_after": arrays}}


def main():
    cases = []
    for number, (source, calls) in enumerate(CASES):
        runs = [record(source, args) for args in calls]
        cases.append({"id": f"feature.{number}", "source": IMPORTS + source.lstrip("\n"), "runs": runs})
    with open(sys.argv[1], "w") as file:
        file.write("[\n" + ",\n".join(json.dumps(case, separators=(",", ":")) for case in cases) + "\n]\n")


if __name__ == "__main__":
    main()
