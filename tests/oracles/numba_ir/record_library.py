#!/usr/bin/env python3
"""Records what CPython and numpy give for functions of the library: record_library.py OUT.

A row is an expression of some parameters, or statements before it, and the arguments of its calls.
"""

import json
import sys

import numpy as np
from record_features import IMPORTS, record

ROWS = []
NAN, INF = float("nan"), float("inf")


def row(expression, *calls, of="x", before=""):
    ROWS.append((of, before, expression, calls))


def on_list(statements, expression, *calls):
    row(expression, *calls, of="n", before="l = [3, 1, 2]\n" + statements)


A = lambda *items, **kinds: np.array(items, **kinds)

for name in "floor ceil trunc sqrt fabs sign square abs exp expm1 exp2 cbrt log log2 log10 log1p sin cos tan arcsin \
arccos arctan sinh cosh tanh arcsinh arccosh arctanh degrees radians rad2deg deg2rad isnan isinf isfinite".split():
    row(f"np.{name}(x)", (3,), (2.5,), (-2.5,), (0.25,), (0,), (-0.0,), (NAN,), (INF,))
for name in ("floor", "ceil", "trunc"):
    row(f"math.{name}(x)", (3,), (True,), (2.5,), (-2.5,), (-0.5,), (NAN,), (INF,), (1e18,))
for name in ("arctan2", "hypot", "fmod", "copysign", "power", "maximum", "minimum"):
    row(f"np.{name}(x, y)", (3, 2), (2.5, -1.5), (0.0, -0.0), (NAN, 1.0), (7, 2.5), of="x, y")
row("np.power(x, y)", (2, -1), (2, 62), (-3, 3), of="x, y")
row("np.where(x > 2, 1, 2.5) + 0, np.where(x, x, 7) + 0", (3,), (1,), (0,), (2.5,))
for name in ("int8", "int16", "int32", "uint8", "uint16", "uint32", "int64"):
    row(f"np.{name}(x)", (3,), (-1,), (127,), (128,), (-129,), (70000,), (3000000000,), (2.7,), (-0.7,), (NAN,), (True,))
row("np.float32(x), np.float64(x)", (0.1,), (3,), (1e300,), (True,), (16777217,))

row("np.dot(a, b), a.dot(b)", (A(1, 2, 3), A(4, 5, 6)), (A(1.5, 2.0), A(2, 4)), (A(1), A(1, 2)), (A(1.0)[:0], A(1.0)[:0]), of="a, b")
row("np.dot(a[1:], a[::2])", (A(1, 2, 3),), (A(1.0, 2.5, -3.0),), of="a")
for name in ("mean", "prod", "any", "all", "sum"):
    row(f"np.{name}(a), a.{name}()", (A(3, 1, 2, 1),), (A(1.5, 0.0, -2.5),), (np.arange(1.0, 7.0).reshape(2, 3),), (A(1.0)[:0],), (A(True, False),), of="a")
row("np.argmin(a), a.argmax()", (A(3, 1, 2, 1, 3),), (A(0.5, NAN, -1.0, NAN),), (A(True, False, True),), (A(1.0)[:0],), of="a")
row("np.eye(x)", (3,), (0,), (-1,))
row("np.eye(2, x, dtype=np.int64)", (3,), (1,))
row("np.identity(x)", (2,))
row("np.full_like(a, x)", (A(1, 2), 2.7), (A(1.5), 3), (np.zeros((2, 2)), 1), of="a, x")
row("np.full_like(a, x, dtype=np.float64)", (A(1, 2), 2.7), of="a, x")
row("np.full_like(a, x, np.int32)", (A(1, 2), 2), of="a, x")
for name in ("zeros_like", "ones_like"):
    row(f"np.{name}(a, dtype=np.int64)", (A(1.5, 2.5),), (np.zeros((2, 3)),), of="a")
    row(f"np.{name}(a, np.float32)", (A(1, 2),), of="a")
row("np.arange(x)", (2.5,), (3,), (-1.0,), (0,), (NAN,))
row("np.arange(x, 1.0, 0.1)", (0,), (0.5,), (2.0,), (-0.35,))
row("np.arange(0.0, x, -0.3)", (-1,), (1,), (-0.3,))
row("np.arange(0, 1, x)", (0.0,), (0,), (0.1,), (0.25,), (-1,), (NAN,))
row("np.arange(x, 3, dtype=np.float64)", (0,), (0.5,))
row("np.arange(0, x, 0.7, dtype=np.float32)", (3,))
row("np.array([[1, 2], [3, x]])", (4,), (0.5,))
row("np.array([[1.0, 2.0, 3.0], (4, 5, x)])", (6,))
row("np.array([(1, x), (3, 4)], dtype=np.int8)", (2,))
row("np.array(((1, 2), (3, x)))", (4,))
row("np.array([[[1], [2]], [[3], [x]]])", (4,))
row("np.array([t, (3, 4), t])", (4,), before="t = (1, x)")
row("np.array([[1, 2], [3]])", (4,))
row("a[1, 0], a.shape", (4,), before="a = np.array([[True, False], [False, x > 1]])\na[1, 0] = True")

for n in (0, 1, 2, 3, 5, -1, -3, -4):
    on_list("x = l.pop(n)", "x, len(l), l[0]", (n,))
    on_list("l.insert(n, 9)", "l[0], l[1], l[2], l[3]", (n,))
    on_list("l.remove(n)", "l[0], l[1], len(l)", (n,))
    on_list("", "l.index(n)", (n,))
    on_list("l.append(n)", "l.count(n)", (n,))
on_list("x = l.pop(n)", "x", (0.5,))
on_list("", "l.index(2.0), l.index(True), l.count(True)", (0,))
on_list("l.reverse()", "l[0], l[1], l[2]", (0,))
on_list("l.append(7)\nl.reverse()", "l[0], l[1], l[2], l[3]", (0,))
on_list("l.clear()\nl.append(n)", "len(l), l[0]", (4,))
on_list("l.extend(l)\nl.extend([n, 7])\nl.extend(range(n))\nl.extend((n, 2))\nl.extend(i * i for i in range(n))", "len(l), sum(l), l[5], l[-1]", (4,), (0,))
on_list("l.extend([x / 2 for x in l])", "l[0], l[3]", (0,))
on_list("l.insert(1, 2.5)\nl.sort()", "l[0], l[1], l[2], l[3]", (0,))
on_list("l.sort()", "l[0], l[1], l[2]", (0,))
on_list("m = sorted(l)\nl[0] = 9", "m[0], m[1], m[2], l[0]", (0,))
on_list("m = sorted(x * -1.5 for x in l)", "m[0], m[1], m[2]", (0,))
on_list("l = [True, False, n > 0, False]\nl.sort()", "l[0], l[1], l[2], l[3]", (0,), (1,))
on_list("l = [(i * 7919) % 104729 - 50000 for i in range(n)]\nl.sort()\nm = sorted(-x * 0.5 for x in l)", "sum([x * i for i, x in enumerate(l)]), m[0], m[-1], l[0]", (500,), (1,))
on_list("while l:\n    n += l.pop(0) * len(l)", "n", (0,))
row("sorted(a)[0], a[0]", (A(3, 1, 2),), (A(2.5, -1.0),), of="a")
row("sum(range(x)), sum(range(x, 20, 3)), any(range(x)), all(range(x)), len(range(x))", (5,), (0,), (-2,), (1,))
row("max(range(x)), min(range(x)), min(range(2, 20, x))", (5,), (1,), (0,))
row("sum([1, 2, x]), min([3, x]), max([x, 3]), len([x])", (0.5,), (4,))
row("x, 7", (4,), (0,), before="for i in range(x):\n    t = (x, 5)\n    x = t[i % 2]")


def main():
    cases = []
    for number, (parameters, before, expression, calls) in enumerate(ROWS):
        lines = [*before.splitlines(), f"return {expression}"]
        source = IMPORTS + f"def f({parameters}):\n" + "".join(f"    {line}\n" for line in lines)
        runs = [record(source, args) for args in calls]
        cases.append({"id": f"library.{number}", "source": source, "runs": runs})
    with open(sys.argv[1], "w") as file:
        file.write("[\n" + ",\n".join(json.dumps(case, separators=(",", ":")) for case in cases) + "\n]\n")


if __name__ == "__main__":
    main()
