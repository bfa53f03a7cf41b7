"""Expressions over rows, as users write them: Cembra, numba and JAX in one run, one thread.

    cargo build --release --manifest-path benches/peers/Cargo.toml --bin rows
    python3 -m venv venv && venv/bin/pip install numpy numba jax
    venv/bin/python benches/peers/rows.py [rows] [name ...]
    venv/bin/python benches/peers/rows.py --native [rows] [name ...]        # needs numpy and a C compiler

Every workload is one expression of Cembra, one function of a row for numba (strict, and with fastmath) and one
of columns for JAX. Results are compared first. Engines take turns within a round; times are processor nanoseconds per
row, the medians of nine rounds. A ratio above 1 means that Cembra is faster than the better strict peer.

With --native the only other engine is a library in C of the same program (`cembra build`), whose every bit is compared first; once
with columns as they are, once with every fifth row missing. A ratio above 1 means that the library is slower.
"""

import math
import os
import pathlib
import statistics
import sys
import tempfile
import time

for name in ("OMP_NUM_THREADS", "NUMBA_NUM_THREADS"):
    os.environ[name] = "1"
os.environ["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"
os.environ["JAX_ENABLE_X64"] = "1"
os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})

import numpy as np

NATIVE = "--native" in sys.argv
if not NATIVE:
    import jax
    import jax.numpy as jnp
    import numba

from program import Program

ROUNDS = 9
SLICE_NS = 8_000_000
WARM_NS = 4 * SLICE_NS

F8, F4, I8, I4 = np.float64, np.float32, np.int64, np.int32
ELEMENTS = {F8: "FLOAT64", F4: "FLOAT32", I8: "INT64", I4: "INT32"}


def uniform(low, high, kind=F8):
    return lambda rng, rows: rng.uniform(low, high, rows).astype(kind)


def integers(low, high, kind=I8):
    return lambda rng, rows: rng.integers(low, high, rows).astype(kind)


class Work:
    """A workload: columns by name, the expression, a function of a row, one of columns; `missing` are the columns of
    which every fifth row is missing: the functions get one more argument for each, its truths of presence. `fold` says
    that numba's function is a loop of its own over whole columns."""

    def __init__(self, kind, columns, expr, row, jnp, missing=(), out=F8, fold=False):
        self.kind, self.columns, self.expr, self.row, self.jnp = kind, columns, expr, row, jnp
        self.missing, self.out, self.fold = missing, out, fold


U = uniform
WORKS = {
    # Arithmetic.
    "axpby": Work("plain", {"x": U(-1, 1), "y": U(-1, 1)}, "2.5*x - 1.25*y",
        lambda x, y: 2.5 * x - 1.25 * y, lambda x, y: 2.5 * x - 1.25 * y),
    "horner6": Work("plain", {"x": U(-1, 1)},
        "(((((0.3*x + 0.2)*x - 0.7)*x + 1.1)*x - 0.4)*x + 0.9)*x + 2.0",
        lambda x: (((((0.3*x + 0.2)*x - 0.7)*x + 1.1)*x - 0.4)*x + 0.9)*x + 2.0,
        lambda x: (((((0.3*x + 0.2)*x - 0.7)*x + 1.1)*x - 0.4)*x + 0.9)*x + 2.0),
    "logistic20": Work("plain", {"x": U(0.1, 0.9)}, "\n".join(["y0 = x"] + [f"y{i+1} = 3.7*y{i}*(1.0 - y{i})" for i in range(20)] + ["y20"]),
        "logistic", "logistic"),
    "distance3": Work("plain", {n: U(-5, 5) for n in ("a", "b", "c", "d", "e", "f")},
        "math.sqrt((a-d)*(a-d) + (b-e)*(b-e) + (c-f)*(c-f))",
        lambda a, b, c, d, e, f: math.sqrt((a-d)*(a-d) + (b-e)*(b-e) + (c-f)*(c-f)),
        lambda a, b, c, d, e, f: jnp.sqrt((a-d)*(a-d) + (b-e)*(b-e) + (c-f)*(c-f))),
    "lerp": Work("plain", {"a": U(-1, 1), "b": U(-1, 1), "t": U(0, 1)}, "a + (b - a)*t",
        lambda a, b, t: a + (b - a) * t, lambda a, b, t: a + (b - a) * t),
    "celsius32": Work("plain", {"f": U(-40, 120, F4)}, "(f - float32(32.0)) / float32(1.8)",
        lambda f: (f - F4(32.0)) / F4(1.8), lambda f: (f - F4(32.0)) / F4(1.8), out=F4),
    "quad": Work("plain", {"a": U(0.5, 1.5), "b": U(-3, 5), "c": U(-1, 1.4)},
        "d = b*b - 4.0*a*c\ncore.where(d >= 0.0, (-b + math.sqrt(d)) / (2.0*a), float64(nan))",
        lambda a, b, c: (-b + math.sqrt(b*b - 4.0*a*c)) / (2.0*a) if b*b - 4.0*a*c >= 0.0 else np.nan,
        lambda a, b, c: jnp.where(b*b - 4.0*a*c >= 0.0, (-b + jnp.sqrt(b*b - 4.0*a*c)) / (2.0*a), jnp.nan)),
    "squares": Work("plain", {"x": U(-3, 3), "y": U(-3, 3)}, "x**2 + y**2", lambda x, y: x**2 + y**2, lambda x, y: x**2 + y**2),
    "cubes": Work("plain", {"x": U(-3, 3)}, "x**3 - 2.0*x", lambda x: x**3 - 2.0*x, lambda x: x**3 - 2.0*x),
    "angle": Work("plain", {"x": U(-720, 720)}, "math.mod(x, 360.0)", lambda x: x % 360.0, lambda x: x % 360.0),
    # One operator.
    "plus": Work("plain", {"x": U(-1, 1), "y": U(-1, 1)}, "x + y", lambda x, y: x + y, lambda x, y: x + y),
    "over": Work("plain", {"x": U(-1, 1), "y": U(1, 2)}, "x / y", lambda x, y: x / y, lambda x, y: x / y),
    "roots32": Work("plain", {"x": U(0, 2, F4)}, "math.sqrt(x)", lambda x: F4(math.sqrt(x)), lambda x: jnp.sqrt(x), out=F4),
    "products": Work("plain", {"a": integers(-1000, 1000), "b": integers(-1000, 1000)}, "a * b",
        lambda a, b: a * b, lambda a, b: a * b, out=I8),
    "zeros": Work("plain", {"x": U(-1, 1)}, "x | 0.0", lambda x, p: x if p else 0.0, lambda x, p: jnp.where(p, x, 0.0), missing=("x",)),
    "sum32": Work("fold", {"x": U(0, 1, F4)}, "math.sum(x)", "sum", lambda x: jnp.sum(x), out=F4, fold=True),
    "sum_present": Work("fold", {"x": U(-1, 1)}, "math.sum(x)", "sum_present", lambda x, p: jnp.sum(jnp.where(p, x, 0.0)), missing=("x",),
        fold=True),
    # Choice and comparison.
    "bands": Work("plain", {"x": U(0, 100)},
        "core.where(x < 10.0, 0.1*x, core.where(x < 25.0, 0.15*x - 0.5, core.where(x < 50.0, 0.2*x - 1.75, "
        "core.where(x < 75.0, 0.25*x - 4.25, 0.3*x - 8.0))))",
        lambda x: 0.1*x if x < 10.0 else (0.15*x - 0.5 if x < 25.0 else (0.2*x - 1.75 if x < 50.0 else (0.25*x - 4.25 if x < 75.0 else 0.3*x - 8.0))),
        lambda x: jnp.where(x < 10.0, 0.1*x, jnp.where(x < 25.0, 0.15*x - 0.5, jnp.where(x < 50.0, 0.2*x - 1.75, jnp.where(x < 75.0, 0.25*x - 4.25, 0.3*x - 8.0))))),
    "clamp": Work("plain", {"x": U(-2, 2)}, "math.maximum(-1.0, math.minimum(1.0, x)) - math.abs(x)",
        lambda x: max(-1.0, min(1.0, x)) - abs(x), lambda x: jnp.maximum(-1.0, jnp.minimum(1.0, x)) - jnp.abs(x)),
    "clamp32": Work("plain", {"x": U(-2, 2, F4)},
        "math.maximum(float32(-1.0), math.minimum(float32(1.0), x)) - math.abs(x)",
        lambda x: max(F4(-1.0), min(F4(1.0), x)) - abs(x), lambda x: jnp.maximum(F4(-1.0), jnp.minimum(F4(1.0), x)) - jnp.abs(x), out=F4),
    "payoff": Work("plain", {"s": U(50, 150), "k": U(50, 150)},
        "core.where(s > k, s - k, 0.0) * 0.97 - core.where(s > 120.0, 2.5, 0.0)",
        lambda s, k: (s - k if s > k else 0.0) * 0.97 - (2.5 if s > 120.0 else 0.0),
        lambda s, k: jnp.where(s > k, s - k, 0.0) * 0.97 - jnp.where(s > 120.0, 2.5, 0.0)),
    "score": Work("plain", {"a": U(0, 80), "b": U(0, 1), "c": U(0, 5000)},
        "core.where(a > 40.0, 2.0, 0.5) + core.where(b < 0.25, 1.5, -0.5) + core.where(c >= 2500.0, 3.0, c / 1000.0)",
        lambda a, b, c: (2.0 if a > 40.0 else 0.5) + (1.5 if b < 0.25 else -0.5) + (3.0 if c >= 2500.0 else c / 1000.0),
        lambda a, b, c: jnp.where(a > 40.0, 2.0, 0.5) + jnp.where(b < 0.25, 1.5, -0.5) + jnp.where(c >= 2500.0, 3.0, c / 1000.0)),
    "inside": Work("plain", {"x": U(-2, 2), "y": U(-2, 2)},
        "core.where((x > -1.0) & (x < 1.0) & (y > -1.0) & (y < 1.0), x*y, 0.0)",
        lambda x, y: x * y if (x > -1.0) and (x < 1.0) and (y > -1.0) and (y < 1.0) else 0.0,
        lambda x, y: jnp.where((x > -1.0) & (x < 1.0) & (y > -1.0) & (y < 1.0), x * y, 0.0)),
    "huber": Work("plain", {"x": U(-3, 3)},
        "core.where(math.abs(x) <= 1.0, 0.5*x*x, math.abs(x) - 0.5)",
        lambda x: 0.5*x*x if abs(x) <= 1.0 else abs(x) - 0.5,
        lambda x: jnp.where(jnp.abs(x) <= 1.0, 0.5*x*x, jnp.abs(x) - 0.5)),
    "relu": Work("plain", {"x": U(-3, 3), "w": U(-1, 1)}, "math.maximum(w*x + 0.1, 0.0)",
        lambda x, w: max(w*x + 0.1, 0.0), lambda x, w: jnp.maximum(w*x + 0.1, 0.0)),
    "rounding": Work("plain", {"x": U(-1000, 1000)}, "math.floor(x*100.0 + 0.5) / 100.0",
        lambda x: math.floor(x*100.0 + 0.5) / 100.0, lambda x: jnp.floor(x*100.0 + 0.5) / 100.0),
    # Integers.
    "int_mix": Work("plain", {"a": integers(-1000, 1000), "b": integers(-1000, 1000)},
        "core.where(a > b, 3*a - b, 5*b + a) + math.maximum(a, b)",
        lambda a, b: (3*a - b if a > b else 5*b + a) + max(a, b),
        lambda a, b: jnp.where(a > b, 3*a - b, 5*b + a) + jnp.maximum(a, b), out=I8),
    "int32_mix": Work("plain", {"a": integers(-1000, 1000, I4), "b": integers(-1000, 1000, I4)},
        "core.where(a > b, a - b, b + b) + math.minimum(a, b)",
        lambda a, b: (a - b if a > b else b + b) + min(a, b),
        lambda a, b: jnp.where(a > b, a - b, b + b) + jnp.minimum(a, b), out=I4),
    "hour": Work("plain", {"t": integers(0, 2_000_000_000)}, "t // 3600 % 24",
        lambda t: t // 3600 % 24, lambda t: t // 3600 % 24, out=I8),
    "weekday": Work("plain", {"t": integers(0, 2_000_000_000)}, "(t // 86400 + 4) % 7",
        lambda t: (t // 86400 + 4) % 7, lambda t: (t // 86400 + 4) % 7, out=I8),
    "quotient": Work("plain", {"a": integers(0, 1 << 30), "b": integers(1, 1000)}, "a // b",
        lambda a, b: a // b, lambda a, b: a // b, out=I8),
    "to_int32": Work("plain", {"x": U(-1000, 1000)}, "core.to_int32(x * 100.0)", lambda x: np.int32(x * 100.0),
        lambda x: (x * 100.0).astype(jnp.int32), out=I4),
    "int_to_float": Work("plain", {"n": integers(0, 100_000), "x": U(0, 1)}, "core.to_float64(n) * 0.01 + x",
        lambda n, x: n * 0.01 + x, lambda n, x: n.astype(jnp.float64) * 0.01 + x),
    # Missing values.
    "fill": Work("plain", {"x": U(-1, 1), "y": U(-1, 1)}, "(x | 0.0) + y*2.0",
        lambda x, y, p: (x if p else 0.0) + y*2.0, lambda x, y, p: jnp.where(p, x, 0.0) + y*2.0, missing=("x",)),
    "coalesce": Work("plain", {"x": U(-1, 1), "y": U(-1, 1), "z": U(-1, 1)}, "(x | y) | z",
        lambda x, y, z, p, q: x if p else (y if q else z), lambda x, y, z, p, q: jnp.where(p, x, jnp.where(q, y, z)), missing=("x", "y")),
    # Folds.
    "sum": Work("fold", {"x": U(-1, 1)}, "math.sum(x)", "sum", lambda x: jnp.sum(x), fold=True),
    "standardise": Work("fold", {"x": U(-1, 1)}, "(x - math.mean(x)) / math.std(x, unbiased=false)", "standardise",
        lambda x: (x - jnp.mean(x)) / jnp.std(x), fold=True),
    "cosine": Work("fold", {"x": U(-1, 1), "y": U(-1, 1)},
        "math.sum(x*y) / (math.sqrt(math.sum(x*x)) * math.sqrt(math.sum(y*y)))", "cosine",
        lambda x, y: jnp.sum(x*y) / (jnp.sqrt(jnp.sum(x*x)) * jnp.sqrt(jnp.sum(y*y))), fold=True),
    "chosen_sum": Work("fold", {"x": U(-1, 1)}, "math.sum(core.where(x > 0.0, 3.0*x, 0.0))", "chosen_sum",
        lambda x: jnp.sum(jnp.where(x > 0.0, 3.0*x, 0.0)), fold=True),
    "mse": Work("fold", {"x": U(-1, 1), "y": U(-1, 1)}, "math.mean((x - y)*(x - y))", "mse",
        lambda x, y: jnp.mean((x - y)*(x - y)), fold=True),
    "range": Work("fold", {"x": U(-1, 1)}, "math.max(x) - math.min(x)", "range_of",
        lambda x: jnp.max(x) - jnp.min(x), fold=True),
    "weighted": Work("fold", {"x": U(-1, 1), "w": U(0, 1)}, "math.sum(x*w) / math.sum(w)", "weighted",
        lambda x, w: jnp.sum(x*w) / jnp.sum(w), fold=True),
    "int_sum": Work("fold", {"n": integers(0, 1000)}, "math.sum(n)", "int_sum", lambda n: jnp.sum(n), out=I8, fold=True),
    "count_if": Work("fold", {"x": U(0, 1)}, "math.sum(core.where(x > 0.5, int64(1), int64(0)))", "count_if",
        lambda x: jnp.sum(x > 0.5), out=I8, fold=True),
    "count": Work("fold", {"x": U(0, 1)}, "array.count(x > 0.5)", "count_if", lambda x: jnp.sum(x > 0.5), out=I8, fold=True),
    "count_inside": Work("fold", {"x": U(0, 1), "y": U(0, 1)}, "array.count((x*x + y*y < 1.0) & (x > 0.25))", "count_inside",
        lambda x, y: jnp.sum((x*x + y*y < 1.0) & (x > 0.25)), out=I8, fold=True),
    "int32_sum": Work("fold", {"n": integers(0, 1000, I4)}, "math.sum(n)", "int_sum", lambda n: jnp.sum(n), out=I4, fold=True),
    "int32_dot": Work("fold", {"a": integers(0, 30, I4), "b": integers(0, 30, I4)}, "math.sum(a*b)", "int_dot",
        lambda a, b: jnp.sum(a*b), out=I4, fold=True),
    "greatest": Work("fold", {"x": U(-1, 1)}, "math.max(x)", "greatest", lambda x: jnp.max(x), fold=True),
    "worst_error": Work("fold", {"x": U(-1, 1), "y": U(-1, 1)}, "math.max(math.abs(x - y))", "worst_error",
        lambda x, y: jnp.max(jnp.abs(x - y)), fold=True),
    "int_range": Work("fold", {"n": integers(0, 1000)}, "math.max(n) - math.min(n)", "range_of", lambda n: jnp.max(n) - jnp.min(n), out=I8, fold=True),
    "range32": Work("fold", {"x": U(-1, 1, F4)}, "math.max(x) - math.min(x)", "range_of", lambda x: jnp.max(x) - jnp.min(x), out=F4, fold=True),
    "running": Work("fold", {"x": U(-1, 1)}, "math.cum_sum(x)", "running", lambda x: jnp.cumsum(x), fold=True),
    "record": Work("fold", {"x": U(-1, 1)}, "math.cum_max(x)", "record", lambda x: jax.lax.cummax(x), fold=True),
    # Special functions.
    "gauss": Work("special", {"x": U(-3, 3)}, "math.exp(-0.5*x*x) * 0.3989422804014327",
        lambda x: math.exp(-0.5*x*x) * 0.3989422804014327, lambda x: jnp.exp(-0.5*x*x) * 0.3989422804014327),
    "sigmoid": Work("special", {"x": U(-6, 6)}, "1.0 / (1.0 + math.exp(-x))",
        lambda x: 1.0 / (1.0 + math.exp(-x)), lambda x: 1.0 / (1.0 + jnp.exp(-x))),
    "decibel": Work("special", {"x": U(0.001, 10)}, "20.0 * math.log10(x)",
        lambda x: 20.0 * math.log10(x), lambda x: 20.0 * jnp.log10(x)),
    "haversine": Work("special", {"a": U(-1.5, 1.5), "b": U(-3, 3), "c": U(-1.5, 1.5), "d": U(-3, 3)},
        "s = math.trig.sin((c-a)*0.5)\nt = math.trig.sin((d-b)*0.5)\n"
        "h = s*s + math.trig.cos(a)*math.trig.cos(c)*t*t\n12742.0 * math.trig.asin(math.sqrt(math.minimum(1.0, h)))",
        lambda a, b, c, d: 12742.0 * math.asin(math.sqrt(min(1.0, math.sin((c-a)*0.5)**2 + math.cos(a)*math.cos(c)*math.sin((d-b)*0.5)**2))),
        lambda a, b, c, d: 12742.0 * jnp.arcsin(jnp.sqrt(jnp.minimum(1.0, jnp.sin((c-a)*0.5)**2 + jnp.cos(a)*jnp.cos(c)*jnp.sin((d-b)*0.5)**2)))),
}


def logistic_row(x):
    for _ in range(20):
        x = 3.7 * x * (1.0 - x)
    return x


def sum_loop(x):
    total = 0.0
    for i in range(x.size):
        total += x[i]
    return total


def sum_present_loop(x, p):
    total = 0.0
    for i in range(x.size):
        total += x[i] if p[i] else 0.0
    return total


def int_sum_loop(n):
    total = 0
    for i in range(n.size):
        total += n[i]
    return total


def count_if_loop(x):
    count = 0
    for i in range(x.size):
        count += 1 if x[i] > 0.5 else 0
    return count


def count_inside_loop(x, y):
    count = 0
    for i in range(x.size):
        count += 1 if x[i] * x[i] + y[i] * y[i] < 1.0 and x[i] > 0.25 else 0
    return count


def int_dot_loop(a, b):
    total = 0
    for i in range(a.size):
        total += a[i] * b[i]
    return total


def greatest_loop(x):
    best = x[0]
    for i in range(x.size):
        best = max(best, x[i])
    return best


def worst_error_loop(x, y):
    worst = 0.0
    for i in range(x.size):
        worst = max(worst, abs(x[i] - y[i]))
    return worst


def running_loop(x, out):
    total = 0.0
    for i in range(x.size):
        total += x[i]
        out[i] = total


def record_loop(x, out):
    best = x[0]
    for i in range(x.size):
        best = max(best, x[i])
        out[i] = best


def standardise_loop(x, out):
    total = 0.0
    for i in range(x.size):
        total += x[i]
    mean = total / x.size
    squares = 0.0
    for i in range(x.size):
        squares += (x[i] - mean) * (x[i] - mean)
    std = math.sqrt(squares / x.size)
    for i in range(x.size):
        out[i] = (x[i] - mean) / std


def cosine_loop(x, y):
    xy, xx, yy = 0.0, 0.0, 0.0
    for i in range(x.size):
        xy += x[i] * y[i]
        xx += x[i] * x[i]
        yy += y[i] * y[i]
    return xy / (math.sqrt(xx) * math.sqrt(yy))


def chosen_sum_loop(x):
    total = 0.0
    for i in range(x.size):
        total += 3.0 * x[i] if x[i] > 0.0 else 0.0
    return total


def mse_loop(x, y):
    total = 0.0
    for i in range(x.size):
        total += (x[i] - y[i]) * (x[i] - y[i])
    return total / x.size


def range_of_loop(x):
    low, high = x[0], x[0]
    for i in range(x.size):
        low, high = min(low, x[i]), max(high, x[i])
    return high - low


def weighted_loop(x, w):
    top, bottom = 0.0, 0.0
    for i in range(x.size):
        top += x[i] * w[i]
        bottom += w[i]
    return top / bottom


def numba_loop(work, fastmath):
    """A compiled function of all columns; it writes to its last argument, or returns a number."""
    options = {"fastmath": fastmath, "error_model": "numpy", "cache": False}
    if work.fold:
        return numba.njit(**options)(globals()[f"{work.row}_loop"])
    row = numba.njit(inline="always", **options)(logistic_row if work.row == "logistic" else work.row)
    count = len(work.columns) + len(work.missing)
    args = [f"c{i}" for i in range(count)]
    code = f"def loop({', '.join(args)}, out):\n    for i in range(out.size):\n        out[i] = row({', '.join(f'{a}[i]' for a in args)})\n"
    scope = {"row": row}
    exec(code, scope)
    return numba.njit(**options)(scope["loop"])


def repeated(loop, has_out):
    """A loop in compiled code around calls, so that rows in thousands are not measured with Python's calls."""
    scope = {"loop": loop, "numba": numba}
    exec("def many(times, args):\n    last = 0.0\n    for _ in range(times):\n"
         + ("        loop(*args)\n" if has_out else "        last += loop(*args)\n") + "    return last\n", scope)
    return numba.njit(scope["many"])


def process_ns(call, times):
    start = time.process_time_ns()
    for _ in range(times):
        call()
    return time.process_time_ns() - start


def opened(name, work, rows, program, directory, missing):
    """Writes the columns of a workload, some of which have missing rows, and opens the program; the columns and presence."""
    rng = np.random.default_rng(12345)
    columns = {column: make(rng, rows) for column, make in work.columns.items()}
    presence = {column: rng.uniform(0, 1, rows) >= 0.2 for column in missing}
    lines = []
    for column, data in columns.items():
        data.tofile(directory / f"{column}.bin")
        line = f"{column} {ELEMENTS[data.dtype.type]} {column}.bin"
        if column in presence:
            presence[column].astype(np.uint8).tofile(directory / f"{column}.present")
            line += f" {column}.present"
        lines.append(line)
    (directory / "columns.txt").write_text("\n".join(lines) + "\n")
    (directory / "expr.txt").write_text(work.expr)
    assert program.ask("open", directory) == "ok", name
    return columns, presence


def in_turn(engines, rows):
    """The nanoseconds a row of each engine: medians of rounds in turn."""
    times = {}
    for engine, run in engines.items():
        run(2)
        # As often as it takes until strips are compiled; one run alone may have been interrupted.
        count = max(1, WARM_NS // max(1, run(1)))
        times[engine] = max(1, SLICE_NS * count // max(1, run(count)))
    figures = {engine: [] for engine in engines}
    for _ in range(ROUNDS):
        for engine, run in engines.items():
            figures[engine].append(run(times[engine]) / times[engine] / rows)
    return {engine: statistics.median(values) for engine, values in figures.items()}


def measure(name, work, rows, program, directory):
    columns, presence = opened(name, work, rows, program, directory, work.missing)
    args = (*columns.values(), *presence.values())
    is_scalar = work.fold and work.row not in ("standardise", "running", "record")
    out = np.empty(rows, work.out)
    engines = {"cembra": lambda times: program.elapsed("run", times)}
    found = np.fromfile(directory / "out.0", work.out)
    for engine, fastmath in (("numba", False), ("fastmath", True)):
        loop = numba_loop(work, fastmath)
        given = args if is_scalar else (*args, out)
        result = loop(*given)
        many = repeated(loop, not is_scalar)
        many(1, given)
        engines[engine] = lambda times, many=many, given=given: process_ns(lambda: many(times, given), 1)
        expected = np.array([result]) if is_scalar else out
        assert np.allclose(found, expected, rtol=1e-9 if work.out == F8 else 1e-5, equal_nan=True), (name, engine, found[:3], expected[:3])
    function = jax.jit(logistic_row if work.row == "logistic" else work.jnp)
    on_device = [jax.device_put(a) for a in args]
    expected = np.atleast_1d(np.asarray(function(*on_device)))
    assert np.allclose(found, expected, rtol=1e-9 if work.out == F8 else 1e-5, equal_nan=True), (name, "jax", found[:3], expected[:3])
    engines["jax"] = lambda times: process_ns(lambda: function(*on_device).block_until_ready(), times)

    return in_turn(engines, rows)


def measure_native(name, work, rows, program, directory, missing):
    """The nanoseconds a row of strips and of a library; the reason if there is no library."""
    opened(name, work, rows, program, directory, missing)
    answer = program.ask("build")
    if answer != "ok":
        return answer
    return in_turn({engine: lambda times, word=word: program.elapsed(word, times)
                    for engine, word in (("strips", "run"), ("library", "native"))}, rows)


def native(rows, names):
    print(f"| {rows} rows | strips | library | ratio | with missing rows: strips | library | ratio |")
    print("| --- | --: | --: | --: | --: | --: | --: |")
    program, ratios = Program("rows"), ([], [])
    with tempfile.TemporaryDirectory() as directory:
        for name in names:
            work = WORKS[name]
            cells = []
            for values, missing in zip(ratios, (work.missing, tuple(work.columns))):
                found = measure_native(name, work, rows, program, pathlib.Path(directory), missing)
                if isinstance(found, str):
                    cells = [f"{found} | | | | | "]
                    break
                values.append(found["library"] / found["strips"])
                cells.append(f"{found['strips']:.3f} | {found['library']:.3f} | {values[-1]:.2f}")
            print(f"| {name} | {' | '.join(cells)} |", flush=True)
    for what, values in zip(("columns as they are", "with missing rows"), ratios):
        print(f"\n{what}: {len(values)} workloads, geometric mean {geometric_mean(values):.2f}, most {max(values):.2f}")


def geometric_mean(values):
    return math.exp(sum(map(math.log, values)) / len(values))


def main():
    words = [word for word in sys.argv[1:] if word != "--native"]
    rows = int(words[0]) if words else 100_000
    names = words[1:] or list(WORKS)
    if NATIVE:
        return native(rows, names)
    program = Program("rows")
    ratios = {}
    print(f"| {rows} rows | Cembra | numba | fastmath | JAX | better strict peer to Cembra |\n| --- | --: | --: | --: | --: | --: |")
    with tempfile.TemporaryDirectory() as directory:
        for name in names:
            work = WORKS[name]
            found = measure(name, work, rows, program, pathlib.Path(directory))
            ratio = min(found["numba"], found["jax"]) / found["cembra"]
            ratios.setdefault("special" if work.kind == "special" else "plain", []).append(ratio)
            cells = " | ".join(f"{found[engine]:.3f}" for engine in ("cembra", "numba", "fastmath", "jax"))
            print(f"| {name} | {cells} | {ratio:.2f} |", flush=True)
    for kind, values in ratios.items():
        print(f"\n{kind}: {len(values)} workloads, geometric mean {geometric_mean(values):.2f}, least {min(values):.2f}")


if __name__ == "__main__":
    main()
