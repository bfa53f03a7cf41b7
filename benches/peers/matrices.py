"""Arrays with two axes and three: broadcast, reduced, moved and summed up along axes, Cembra beside numba in one run, one thread.

    cargo build --release --manifest-path benches/peers/Cargo.toml --bin rows
    python3 -m venv venv && venv/bin/pip install numpy numba jax
    venv/bin/python benches/peers/matrices.py [rows columns [name ...]]

Every workload is one expression of Cembra and one strict function of numba, written as one would write it there; results are
compared first. Engines take turns within a round; times are processor nanoseconds per element of the matrix, the medians of nine
rounds. A ratio above 1 means that Cembra is faster.
"""

import math
import pathlib
import sys
import tempfile

import numpy as np

from moves import beside_numba
from program import Program
from rows import ELEMENTS, F8, I8, U, geometric_mean, integers

# Shapes, as functions of the numbers of rows and columns.
RC, R, C, CR = (lambda r, c: (r, c)), (lambda r, c: (r,)), (lambda r, c: (c,)), (lambda r, c: (c, r))
CUBE, POINTS = (lambda r, c: (r // 10, 10, c)), (lambda r, c: (math.isqrt(r * c), 3))
PAIRS = (lambda r, c: (math.isqrt(r * c),) * 2)


class Work:
    """A workload: arrays by name with their shapes, the expression, numba's function of the arrays and of the result, whose
    shape is given unless it is one number."""

    def __init__(self, arrays, expr, function, shape, out, tolerance):
        self.arrays, self.expr, self.function, self.shape = arrays, expr, function, shape
        self.out, self.tolerance = out, tolerance


WORKS = {}


def work(arrays, expr, shape=None, out=F8, tolerance=1e-9):
    """Makes a workload of a function, under its name."""
    def add(function):
        WORKS[function.__name__] = Work(arrays, expr, function, shape, out, tolerance)
        return function
    return add


X = {"x": (U(-1, 1), RC)}
XV, XW = {**X, "v": (U(-1, 1), C)}, {**X, "w": (U(-1, 1), R)}
XY = {**X, "y": (U(-1, 1), RC)}
AB = {"a": (U(-1, 1), R), "b": (U(-1, 1), C)}
N = {"x": (integers(0, 1000), RC)}


@work(X, "x - nd.mean(x, 0)", RC)
def center_columns(x, out):
    n, m = x.shape
    t = np.zeros(m)
    for i in range(n):
        for j in range(m):
            t[j] += x[i, j]
    for i in range(n):
        for j in range(m):
            out[i, j] = x[i, j] - t[j] / n


@work(X, "(x - nd.mean(x, 0)) / nd.std(x, 0)", RC)
def standardise_columns(x, out):
    n, m = x.shape
    t = np.zeros(m)
    s = np.zeros(m)
    for i in range(n):
        for j in range(m):
            t[j] += x[i, j]
    for j in range(m):
        t[j] /= n
    for i in range(n):
        for j in range(m):
            s[j] += (x[i, j] - t[j]) ** 2
    for j in range(m):
        s[j] = math.sqrt(s[j] / n)
    for i in range(n):
        for j in range(m):
            out[i, j] = (x[i, j] - t[j]) / s[j]


@work(X, "(x - nd.mean(x, 1, keep=true)) / nd.std(x, 1, keep=true)", RC)
def standardise_rows(x, out):
    n, m = x.shape
    for i in range(n):
        t = 0.0
        s = 0.0
        for j in range(m):
            t += x[i, j]
        t /= m
        for j in range(m):
            s += (x[i, j] - t) ** 2
        s = math.sqrt(s / m)
        for j in range(m):
            out[i, j] = (x[i, j] - t) / s


@work(X, "nd.sum(x, 0)", C)
def column_sums(x, out):
    out[:] = 0
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            out[j] += x[i, j]


@work(X, "nd.max(x, 1)", R)
def row_maxima(x, out):
    for i in range(x.shape[0]):
        t = x[i, 0]
        for j in range(x.shape[1]):
            t = max(t, x[i, j])
        out[i] = t


@work(X, "nd.max(x, 0)", C)
def column_maxima(x, out):
    for j in range(x.shape[1]):
        out[j] = x[0, j]
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            out[j] = max(out[j], x[i, j])


@work(X, "nd.max(x, 1) - nd.min(x, 1)", R)
def row_range(x, out):
    for i in range(x.shape[0]):
        t = x[i, 0]
        b = x[i, 0]
        for j in range(x.shape[1]):
            t = max(t, x[i, j])
            b = min(b, x[i, j])
        out[i] = t - b


@work(X, "e = math.exp(x - nd.max(x, 1, keep=true))\ne / nd.sum(e, 1, keep=true)", RC)
def softmax_of_rows(x, out):
    for i in range(x.shape[0]):
        t = x[i, 0]
        for j in range(x.shape[1]):
            t = max(t, x[i, j])
        s = 0.0
        for j in range(x.shape[1]):
            out[i, j] = math.exp(x[i, j] - t)
            s += out[i, j]
        for j in range(x.shape[1]):
            out[i, j] /= s


@work(XV, "nd.sum(x * v, 1)", R)
def matrix_by_vector(x, v, out):
    for i in range(x.shape[0]):
        t = 0.0
        for j in range(x.shape[1]):
            t += x[i, j] * v[j]
        out[i] = t


@work(XW, "nd.sum(x * nd.expand_dims(w, 1), 0)", C)
def vector_by_matrix(x, w, out):
    out[:] = 0
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            out[j] += x[i, j] * w[i]


@work(AB, "nd.expand_dims(a, 1) * b", RC)
def outer(a, b, out):
    for i in range(a.size):
        for j in range(b.size):
            out[i, j] = a[i] * b[j]


@work(AB, "math.abs(nd.expand_dims(a, 1) - b)", RC)
def distances(a, b, out):
    for i in range(a.size):
        for j in range(b.size):
            out[i, j] = abs(a[i] - b[j])


@work(AB, "nd.min(math.abs(nd.expand_dims(a, 1) - b), 1)", R)
def nearest(a, b, out):
    for i in range(a.size):
        t = np.inf
        for j in range(b.size):
            t = min(t, abs(a[i] - b[j]))
        out[i] = t


@work({**X, "y": (U(-1, 1), CR)}, "x + nd.transpose(y)", RC)
def add_transposed(x, y, out):
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            out[i, j] = x[i, j] + y[j, i]


@work(X, "nd.transpose(x)", CR)
def transpose(x, out):
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            out[j, i] = x[i, j]


@work({**X, "k": (integers(0, 100), R)}, "nd.take(x, k, 0)", RC)
def take_rows(x, k, out):
    for i in range(k.size):
        for j in range(x.shape[1]):
            out[i, j] = x[k[i], j]


@work({**X, "k": (integers(0, 10), C)}, "nd.take(x, k, 1)", RC)
def take_columns(x, k, out):
    for i in range(x.shape[0]):
        for j in range(k.size):
            out[i, j] = x[i, k[j]]


@work(X, "nd.cumsum(x, 1)", RC)
def running_rows(x, out):
    for i in range(x.shape[0]):
        t = 0.0
        for j in range(x.shape[1]):
            t += x[i, j]
            out[i, j] = t


@work(X, "nd.cumsum(x, 0)", RC)
def running_columns(x, out):
    for j in range(x.shape[1]):
        out[0, j] = x[0, j]
    for i in range(1, x.shape[0]):
        for j in range(x.shape[1]):
            out[i, j] = out[i - 1, j] + x[i, j]


@work(XY, "nd.concatenate(1, x, y)", lambda r, c: (r, 2 * c))
def join_columns(x, y, out):
    m = x.shape[1]
    for i in range(x.shape[0]):
        for j in range(m):
            out[i, j] = x[i, j]
        for j in range(m):
            out[i, m + j] = y[i, j]


@work(XY, "nd.concatenate(0, x, y)", lambda r, c: (2 * r, c))
def join_rows(x, y, out):
    n = x.shape[0]
    for i in range(n):
        for j in range(x.shape[1]):
            out[i, j] = x[i, j]
            out[n + i, j] = y[i, j]


@work(X, "nd.count(bool.greater(x, 0.5), 1)", R, out=I8)
def counts_of_rows(x, out):
    for i in range(x.shape[0]):
        t = 0
        for j in range(x.shape[1]):
            t += 1 if x[i, j] > 0.5 else 0
        out[i] = t


@work(X, "nd.mean(bool.greater(x, 0.5), 0)", C)
def shares_of_columns(x, out):
    n, m = x.shape
    t = np.zeros(m, np.int64)
    for i in range(n):
        for j in range(m):
            t[j] += 1 if x[i, j] > 0.5 else 0
    for j in range(m):
        out[j] = t[j] / n


@work(X, "nd.any(bool.greater(x, 0.999), 1)", R, out=np.uint8)
def any_of_rows(x, out):
    for i in range(x.shape[0]):
        t = 0
        for j in range(x.shape[1]):
            if x[i, j] > 0.999:
                t = 1
                break
        out[i] = t


@work(X, "nd.where(bool.less(x, 0.0), nd.mean(x, 0), x)", RC)
def fill_columns(x, out):
    n, m = x.shape
    t = np.zeros(m)
    for i in range(n):
        for j in range(m):
            t[j] += x[i, j]
    for j in range(m):
        t[j] /= n
    for i in range(n):
        for j in range(m):
            out[i, j] = t[j] if x[i, j] < 0 else x[i, j]


@work(X, "nd.var(x, 0, ddof=1)", C)
def column_variances(x, out):
    n, m = x.shape
    t = np.zeros(m)
    s = np.zeros(m)
    for i in range(n):
        for j in range(m):
            t[j] += x[i, j]
    for j in range(m):
        t[j] /= n
    for i in range(n):
        for j in range(m):
            s[j] += (x[i, j] - t[j]) ** 2
    for j in range(m):
        out[j] = s[j] / (n - 1)


@work(X, "nd.var(x, 1, ddof=1)", R)
def row_variances(x, out):
    n, m = x.shape
    for i in range(n):
        t = 0.0
        s = 0.0
        for j in range(m):
            t += x[i, j]
        t /= m
        for j in range(m):
            s += (x[i, j] - t) ** 2
        out[i] = s / (m - 1)


@work(X, "nd.median(x, 1)", R)
def row_medians(x, out):
    for i in range(x.shape[0]):
        out[i] = np.median(x[i])


@work(X, "nd.quantile(x, 0.9, 0)", C)
def column_quantiles(x, out):
    for j in range(x.shape[1]):
        out[j] = np.quantile(x[:, j], 0.9)


@work(N, "nd.sum(x, 1)", R, out=I8)
def integer_row_sums(x, out):
    for i in range(x.shape[0]):
        t = 0
        for j in range(x.shape[1]):
            t += x[i, j]
        out[i] = t


@work(N, "nd.sum(x * 2 - 1, 0)", C, out=I8)
def integer_columns(x, out):
    out[:] = 0
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            out[j] += x[i, j] * 2 - 1


@work({"x": (U(0, 1), RC)}, "nd.sum(nd.reshape(x, -1, 10), 1)", lambda r, c: (r * c // 10,))
def block_sums(x, out):
    y = x.reshape(-1)
    for i in range(out.size):
        t = 0.0
        for j in range(10):
            t += y[i * 10 + j]
        out[i] = t


@work({"x": (U(0, 1), RC)}, "nd.prod(x + 1.0, 1)", R)
def row_products(x, out):
    for i in range(x.shape[0]):
        t = 1.0
        for j in range(x.shape[1]):
            t *= x[i, j] + 1
        out[i] = t


@work({"x": (U(-1, 1), CUBE)}, "nd.mean(x, 1)", lambda r, c: (r // 10, c))
def middle_means(x, out):
    out[:] = 0
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            for k in range(x.shape[2]):
                out[i, k] += x[i, j, k]
        for k in range(x.shape[2]):
            out[i, k] /= x.shape[1]


@work({"x": (U(-1, 1), CUBE)}, "nd.transpose(x, tuple(0, 2, 1)) * 2.0", lambda r, c: (r // 10, c, 10))
def swap_axes(x, out):
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            for k in range(x.shape[2]):
                out[i, k, j] = x[i, j, k] * 2


@work({**X, "low": (U(-1, -0.5), C), "high": (U(0.5, 1), C)}, "math.maximum(low, math.minimum(high, x))", RC)
def clip_columns(x, low, high, out):
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            out[i, j] = max(low[j], min(high[j], x[i, j]))


@work({"p": (U(-1, 1), POINTS), "q": (U(-1, 1), POINTS)},
      "math.sqrt(nd.sum((nd.expand_dims(p, 1) - nd.expand_dims(q, 0)) ** 2.0, 2))",
      PAIRS)
def pair_distances(p, q, out):
    for i in range(p.shape[0]):
        for j in range(q.shape[0]):
            t = 0.0
            for k in range(3):
                t += (p[i, k] - q[j, k]) ** 2
            out[i, j] = math.sqrt(t)


@work(XY, "nd.sum(x*y, 0)", C)
def column_dots(x, y, out):
    out[:] = 0
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            out[j] += x[i, j] * y[i, j]


@work(XY, "nd.sum(x*y, 1) / (math.sqrt(nd.sum(x*x, 1)) * math.sqrt(nd.sum(y*y, 1)))", R)
def row_cosines(x, y, out):
    for i in range(x.shape[0]):
        t = a = b = 0.0
        for j in range(x.shape[1]):
            t += x[i, j] * y[i, j]
            a += x[i, j] * x[i, j]
            b += y[i, j] * y[i, j]
        out[i] = t / (math.sqrt(a) * math.sqrt(b))


@work(XW, "nd.sum(x * nd.expand_dims(w, 1), 0) / nd.sum(w)", C)
def weighted_column_means(x, w, out):
    out[:] = 0
    s = 0.0
    for i in range(x.shape[0]):
        s += w[i]
        for j in range(x.shape[1]):
            out[j] += x[i, j] * w[i]
    for j in range(x.shape[1]):
        out[j] /= s


@work({"a": (U(-1, 1), lambda r, c: (r // 10, 10)), "b": (U(-1, 1), lambda r, c: (10, c))},
      "nd.sum(nd.expand_dims(a, 2) * nd.expand_dims(b, 0), 1)", lambda r, c: (r // 10, c))
def matrix_product(a, b, out):
    out[:] = 0
    for i in range(a.shape[0]):
        for k in range(a.shape[1]):
            for j in range(b.shape[1]):
                out[i, j] += a[i, k] * b[k, j]


@work({"x": (U(-1, 1), CUBE)}, "nd.sum(x, 0)", lambda r, c: (10, c))
def plane_sums(x, out):
    out[:] = 0
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            for k in range(x.shape[2]):
                out[j, k] += x[i, j, k]


def opened(name, work, size, program, directory):
    """Writes the arrays of a workload and opens the program; the arrays."""
    rng, arrays, lines = np.random.default_rng(12345), {}, []
    for array, (make, shape) in work.arrays.items():
        sizes = shape(*size)
        data = arrays[array] = make(rng, math.prod(sizes)).reshape(sizes)
        data.tofile(directory / f"{array}.bin")
        lines.append(f"{array} {ELEMENTS[data.dtype.type]} {array}.bin axes {' '.join(map(str, sizes))}")
    (directory / "columns.txt").write_text("\n".join(lines) + "\n")
    (directory / "expr.txt").write_text(work.expr)
    assert program.ask("open", directory) == "ok", name
    return arrays


def measure(name, work, size, program, directory):
    arrays = opened(name, work, size, program, directory)
    room = (np.empty(work.shape(*size), work.out),) if work.shape else ()
    return beside_numba(name, work, arrays.values(), room, math.prod(size), program, directory)


def main():
    size = tuple(map(int, sys.argv[1:3] or (1000, 100)))
    program, ratios = Program("rows"), []
    print(f"| {size[0]} × {size[1]} | Cembra | numba | numba to Cembra |\n| --- | --: | --: | --: |")
    with tempfile.TemporaryDirectory() as directory:
        for name in sys.argv[3:] or WORKS:
            found = measure(name, WORKS[name], size, program, pathlib.Path(directory))
            ratios.append(found["numba"] / found["cembra"])
            print(f"| {name} | {found['cembra']:.3f} | {found['numba']:.3f} | {ratios[-1]:.2f} |", flush=True)
    print(f"\n{len(ratios)} workloads, geometric mean {geometric_mean(ratios):.2f}, least {min(ratios):.2f}")


if __name__ == "__main__":
    main()
