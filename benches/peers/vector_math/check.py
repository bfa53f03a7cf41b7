"""Errors of the special functions on a million random points each, against MPFR.

    pip install gmpy2 mpmath numpy
    cargo build --release --manifest-path benches/peers/Cargo.toml --bin special_function
    python check.py target/release/special_function [COUNT [NAME ...]]

Prints a row of the table in `docs/accuracy.md` for each function, width and range; of the Faddeeva function, with
a hundredth of the points, errors of w, of its real part above the real axis, and of w' in 10^-16 of their magnitudes.
The program also compares all instructions of the machine bit for bit.
"""

import subprocess
import sys

import gmpy2 as g
import numpy as np
from gmpy2 import mpfr
from mpmath import mpc
from points import FUNCTIONS, RANGES, Width, faddeeva, random_pairs, random_points

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


def regions(count):
    """Regions of the complex plane by name: x and y of random points."""
    rng = np.random.default_rng(3)
    signs = rng.choice([1, -1], count)
    yield "±20, 0.01 … 20", rng.uniform(-20, 20, count), rng.uniform(0.01, 20, count)
    yield "±7, 10^-18 … 1", rng.uniform(-7, 7, count), 10 ** rng.uniform(-18, 0, count)
    yield "±27, 0", rng.uniform(-27, 27, count), np.zeros(count)
    yield "0, 10^-20 … 10^8", np.zeros(count), 10 ** rng.uniform(-20, 8, count)
    yield "±10^-20 … 10^20, 10^-20 … 10^20", signs * 10 ** rng.uniform(-20, 20, count), 10 ** rng.uniform(-20, 20, count)
    yield "±26, -26 … 0", rng.uniform(-26, 26, count), rng.uniform(-26, 0, count)
    diagonal = 2 ** rng.uniform(5, 27, count)
    yield "2^5 … 2^27, y² - x² = ±600", diagonal, -diagonal - rng.uniform(-1, 1, count) * 300 / diagonal


def faddeeva_rows(program, count):
    names = ["faddeeva_real", "faddeeva_imag", "faddeeva_slope_real", "faddeeva_slope_imag"]
    for label, x, y in regions(count):
        points = np.stack([x, y], 1)
        parts = np.stack([values(program, name, Width(64), points) for name in names], 1)
        errors = []
        for at, (real, imaginary, slope_real, slope_imaginary) in zip(points.tolist(), parts.tolist()):
            w, slope = faddeeva(*at)
            is_normal = at[1] >= 0 and w.real > np.finfo(float).tiny
            real_error = (real - w.real) / w.real if is_normal else 0
            errors.append(
                [
                    abs(mpc(real, imaginary) - w) / abs(w),
                    abs(real_error),
                    abs(mpc(slope_real, slope_imaginary) - slope) / abs(slope),
                ]
            )
        worst = np.array(errors, float).max(axis=0) * 1e16
        print("| " + " | ".join([label, *(f"{error:.1f}" for error in worst)]) + " |", flush=True)


if __name__ == "__main__":
    program, count = sys.argv[1], int((sys.argv[2:] or ["1000000"])[0])
    np.seterr(all="ignore")
    g.get_context().precision = 110
    if "faddeeva" in sys.argv[3:] or not sys.argv[3:]:
        faddeeva_rows(program, count // 100)
    for name in [name for name in sys.argv[3:] if name != "faddeeva"] or (FUNCTIONS if not sys.argv[3:] else []):
        for width in (Width(64), Width(32)):
            for label, points in ranges(name, width, count):
                found = errors(name, width, points, values(program, name, width, points))
                print(f"| {name} | {width.bits} | {label} | {found.max():.3f} | {found.mean():.3f} |", flush=True)
