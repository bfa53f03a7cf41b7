"""Errors of the special functions on a million random points each, against MPFR.

    pip install gmpy2 mpmath numpy
    cargo build --release --manifest-path benches/peers/Cargo.toml --bin special_function
    python check.py target/release/special_function [COUNT [NAME ...]]

Prints a row of the table in `docs/accuracy.md` for each function, width and range. The program also
compares all instructions of the machine bit for bit.
"""

import subprocess
import sys

import gmpy2 as g
import numpy as np
from gmpy2 import mpfr
from points import FUNCTIONS, RANGES, Width, random_pairs, random_points

FINE = 100


def values(program, name, width, points):
    run = subprocess.run([program, name, str(width.bits)], input=points.tobytes(), stdout=subprocess.PIPE, check=True)
    return np.frombuffer(run.stdout, width.kind)


def errors(name, width, points, results):
    """Distances from the exact values in units of the last place of these."""
    function = FUNCTIONS[name]
    columns = points.reshape(len(results), -1).astype(np.float64).T.tolist()
    exact = [function(*map(mpfr, arguments)) for arguments in zip(*columns)]
    rounded = np.array([float(e) for e in exact]).astype(width.kind)
    # In units of 2^-FINE: the distance of numbers below the normal ones is no binary64 otherwise.
    pairs = zip(results.astype(np.float64).tolist(), exact)
    distance = np.array([float(g.mul_2exp(mpfr(r) - e, FINE)) for r, e in pairs])
    finite = np.isfinite(rounded) & np.isfinite(distance) & (np.abs(rounded) < width.largest)
    assert np.array_equal(np.isnan(rounded), np.isnan(results)), name
    exponents = np.frexp(np.abs(rounded[finite]).astype(np.float64))[1] - width.precision
    return np.abs(distance[finite]) / np.exp2(np.maximum(exponents, width.least) + FINE)


def ranges(name, width, count):
    rng = np.random.default_rng(2)
    if not RANGES[name]:
        yield "pairs", random_pairs(name, rng, count).astype(width.kind)
        return
    for bounds in RANGES[name]:
        sign, low, high = bounds if len(bounds) == 3 else ("", *bounds)
        label = f"{sign}2^{low} … 2^{high}" if sign else f"{low:g} … {high:g}"
        points = random_points([bounds], width, rng, count // len(RANGES[name])).astype(width.kind)
        yield label, points


if __name__ == "__main__":
    program, count = sys.argv[1], int((sys.argv[2:] or ["1000000"])[0])
    np.seterr(all="ignore")
    g.get_context().precision = 110
    for name in sys.argv[3:] or FUNCTIONS:
        for width in (Width(64), Width(32)):
            for label, points in ranges(name, width, count):
                found = errors(name, width, points, values(program, name, width, points))
                print(f"| {name} | {width.bits} | {label} | {found.max():.3f} | {found.mean():.3f} |", flush=True)
