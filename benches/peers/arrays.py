"""Array expressions side by side: Cembra, numba, numexpr, numpy, polars, Arolla and JAX in one run, one thread.

    cargo build --release --manifest-path benches/peers/Cargo.toml --bin arrays
    python3 -m venv venv && venv/bin/pip install numpy numexpr numba polars arolla jax
    venv/bin/python benches/peers/arrays.py [rows]

Engines take turns within a round. Times are processor nanoseconds per row, the smallest and the median of
all rounds; ratios are those of the medians to Cembra's.
"""

import os
import sys
import time

for name in ("OMP_NUM_THREADS", "POLARS_MAX_THREADS", "NUMEXPR_MAX_THREADS", "NUMBA_NUM_THREADS"):
    os.environ[name] = "1"

# XLA has no option for one thread; on one processor it takes one.
os.environ["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"
os.environ["JAX_ENABLE_X64"] = "1"
os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})

import jax
import numba
import numexpr
import numpy as np
import polars as pl
from arolla import arolla

from program import Program, print_rows, take_turns

M = arolla.M
L = arolla.L


def columns(ranges, rows):
    rng = np.random.default_rng(12345)
    return [rng.uniform(low, high, rows) for low, high in ranges]


@numba.njit(cache=False)
def axpby_numba(x, y, out):
    for i in range(x.size):
        out[i] = 2.5 * x[i] + -1.25 * y[i]


@numba.njit(cache=False)
def quad_numba(a, b, c, first, second):
    for i in range(a.size):
        d = b[i] * b[i] - 4.0 * a[i] * c[i]
        if d >= 0:
            r = np.sqrt(d)
            first[i] = (-b[i] + r) / 2.0 / a[i]
            second[i] = (-b[i] - r) / 2.0 / a[i]
        else:
            first[i] = np.nan
            second[i] = np.nan


@numba.njit(cache=False)
def glp_numba(x, a, x0, f, m, out):
    for i in range(x.size):
        u = ((x[i] - x0) / f) ** 2
        out[i] = a * np.exp(-4.0 * np.log(2.0) * (1.0 - m) * u) / (1.0 + 4.0 * m * u)


@numba.njit(cache=False)
def cdf_numba(x):
    k = 1.0 / (1.0 + 0.2316419 * abs(x))
    poly = ((((1.330274429 * k - 1.821255978) * k + 1.781477937) * k - 0.356563782) * k + 0.31938153) * k
    tail = 0.3989422804014327 * np.exp(-0.5 * x * x) * poly
    return 1.0 - tail if x >= 0 else tail


@numba.njit(cache=False)
def bs_numba(s, x, t, call, put):
    for i in range(s.size):
        root = 0.2 * np.sqrt(t[i])
        d1 = (np.log(s[i] / x[i]) + (0.05 + 0.5 * 0.2 * 0.2) * t[i]) / root
        d2 = d1 - root
        n1, n2 = cdf_numba(d1), cdf_numba(d2)
        discounted = x[i] * np.exp(-0.05 * t[i])
        call[i] = s[i] * n1 - discounted * n2
        put[i] = discounted * (1.0 - n2) - s[i] * (1.0 - n1)


def axpby(rows):
    x, y = columns([(-1, 1), (-1, 1)], rows)
    out, scratch = np.empty(rows), np.empty(rows)
    frame = pl.DataFrame({"x": x, "y": y})

    def numpy():
        np.multiply(x, 2.5, out=out)
        np.multiply(y, -1.25, out=scratch)
        np.add(out, scratch, out=out)

    expr = arolla.float64(2.5) * L.x + arolla.float64(-1.25) * L.y
    return {
        "numba": lambda: axpby_numba(x, y, out),
        "numexpr": lambda: numexpr.evaluate("2.5*x + -1.25*y", {"x": x, "y": y}, out=out),
        "numpy": numpy,
        "polars": lambda: frame.select(2.5 * pl.col("x") + -1.25 * pl.col("y")),
        "Arolla": arolla_call(expr, x=x, y=y),
    }


def quad(rows):
    a, b, c = columns([(0.5, 1.5), (-3, 5), (-1, 1.4)], rows)
    first, second = np.empty(rows), np.empty(rows)
    frame = pl.DataFrame({"a": a, "b": b, "c": c})
    names = {"a": a, "b": b, "c": c}

    def with_numexpr():
        d = "(b*b - 4.0*a*c)"
        numexpr.evaluate(f"where({d} >= 0, (-b + sqrt({d})) / 2.0 / a, nan)", {**names, "nan": np.nan}, out=first)
        numexpr.evaluate(f"where({d} >= 0, (-b - sqrt({d})) / 2.0 / a, nan)", {**names, "nan": np.nan}, out=second)

    def numpy():
        with np.errstate(invalid="ignore"):
            d = b * b - 4.0 * a * c
            r = np.sqrt(d)
            np.copyto(first, np.where(d >= 0, (-b + r) / 2.0 / a, np.nan))
            np.copyto(second, np.where(d >= 0, (-b - r) / 2.0 / a, np.nan))

    pa, pb, pc = pl.col("a"), pl.col("b"), pl.col("c")
    d = pb * pb - 4.0 * pa * pc
    roots = [pl.when(d >= 0).then((-pb + sign * d.sqrt()) / 2.0 / pa).otherwise(float("nan")) for sign in (1, -1)]
    ld = L.b * L.b - arolla.float64(4.0) * L.a * L.c
    nan, two = arolla.float64(float("nan")), arolla.float64(2.0)
    ok, root = ld >= arolla.float64(0.0), M.math.pow(ld, arolla.float64(0.5))
    expr = M.core.make_tuple(
        M.core.where(ok, (-L.b + root) / two / L.a, nan), M.core.where(ok, (-L.b - root) / two / L.a, nan)
    )
    return {
        "numba": lambda: quad_numba(a, b, c, first, second),
        "numexpr": with_numexpr,
        "numpy": numpy,
        "polars": lambda: frame.select(roots[0].alias("first"), roots[1].alias("second")),
        "Arolla": arolla_call(expr, a=a, b=b, c=c),
    }


def glp(rows):
    (x,) = columns([(-1, 1)], rows)
    out = np.empty(rows)
    scalars = {"A": 20.0, "x0": 0.4, "F": 0.35, "m": 0.3}
    text = "A*exp(-4.0*0.6931471805599453*(1-m)*((x-x0)/F)**2) / (1 + 4.0*m*((x-x0)/F)**2)"
    frame = pl.DataFrame({"x": x})

    def numpy():
        u = ((x - 0.4) / 0.35) ** 2
        np.divide(20.0 * np.exp(-4.0 * np.log(2.0) * 0.7 * u), 1.0 + 4.0 * 0.3 * u, out=out)

    @jax.jit
    def with_jax(x, amplitude, center, width, mix):
        u = ((x - center) / width) ** 2
        return amplitude * jax.numpy.exp(-4.0 * np.log(2.0) * (1.0 - mix) * u) / (1.0 + 4.0 * mix * u)

    of_jax = jax.numpy.asarray(x)
    np.testing.assert_allclose(with_jax(of_jax, *scalars.values()), numexpr.evaluate(text, {"x": x, **scalars}))
    u = ((pl.col("x") - 0.4) / 0.35) ** 2
    return {
        "JAX": lambda: with_jax(of_jax, *scalars.values()).block_until_ready(),
        "numba": lambda: glp_numba(x, 20.0, 0.4, 0.35, 0.3, out),
        "numexpr": lambda: numexpr.evaluate(text, {"x": x, **scalars}, out=out),
        "numpy": numpy,
        "polars": lambda: frame.select(20.0 * (-2.772588722239781 * 0.7 * u).exp() / (1.0 + 1.2 * u)),
    }


def bs(rows):
    s, x, t = columns([(10, 50), (10, 50), (0.2, 2)], rows)
    call, put = np.empty(rows), np.empty(rows)
    names = {"s": s, "x": x, "t": t}

    def with_numexpr():
        d1 = numexpr.evaluate("(log(s/x) + 0.07*t) / (0.2*sqrt(t))", names)
        d2 = numexpr.evaluate("d1 - 0.2*sqrt(t)", {"d1": d1, "t": t})
        n = []
        for d in (d1, d2):
            k = numexpr.evaluate("1.0 / (1.0 + 0.2316419*abs(d))", {"d": d})
            tail = numexpr.evaluate(
                "0.3989422804014327*exp(-0.5*d*d)*((((1.330274429*k - 1.821255978)*k + 1.781477937)*k"
                " - 0.356563782)*k + 0.31938153)*k",
                {"d": d, "k": k},
            )
            n.append(numexpr.evaluate("where(d >= 0, 1.0 - tail, tail)", {"d": d, "tail": tail}))
        numexpr.evaluate("s*n1 - x*exp(-0.05*t)*n2", {**names, "n1": n[0], "n2": n[1]}, out=call)
        numexpr.evaluate("x*exp(-0.05*t)*(1.0-n2) - s*(1.0-n1)", {**names, "n1": n[0], "n2": n[1]}, out=put)

    return {"numba": lambda: bs_numba(s, x, t, call, put), "numexpr": with_numexpr}


def arolla_call(expr, **inputs):
    values = {name: arolla.dense_array_float64(column) for name, column in inputs.items()}
    compiled = arolla.abc.CompiledExpr(expr, {name: value.qtype for name, value in values.items()})
    return lambda: compiled(**values)


def elapsed(run, times):
    start = time.process_time_ns()
    for _ in range(times):
        run()
    return time.process_time_ns() - start


def main():
    rows = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000
    cembra = Program("arrays")
    print(f"| workload, {rows} rows | engine | smallest | median | x Cembra |")
    print("| --- | --- | --: | --: | --: |")
    for workload in (axpby, quad, glp, bs):
        name = workload.__name__
        engines = {
            engine: (lambda times, engine=engine: cembra.elapsed(name, engine, rows, times))
            for engine in ("cembra", "native", "blocked")
        }
        for engine, run in workload(rows).items():
            engines[engine] = lambda times, run=run: elapsed(run, times)
        print_rows(name, take_turns(engines), rows)


if __name__ == "__main__":
    main()
