"""Special functions beside scipy: nanoseconds per FLOAT64 element of rows in the first cache, one thread.

    cargo bench --bench vector_math -- 'lgamma|faddeeva'
    pip install numpy scipy
    python benches/peers/vector_math/speed.py

Cembra's times are the medians that its bench has left behind; those of scipy are medians of processor time, with results
in arrays allocated once. `wofz` gives both parts of w; its slope is computed as -2zw + 2i/sqrt(pi), as users do, which
loses digits far from 0.
"""

import json
import os
import pathlib
import statistics
import time

import numpy as np
from scipy.special import gammaln, wofz

ROWS, CALLS, ROUNDS = 1024, 200, 25
PARTS = ("faddeeva_real", "faddeeva_imag", "faddeeva_slope_real", "faddeeva_slope_imag")


def nanoseconds(call):
    """The median over rounds of the processor time of an element."""
    times = []
    for _ in range(ROUNDS):
        start = time.process_time()
        for _ in range(CALLS):
            call()
        times.append((time.process_time() - start) / CALLS / ROWS * 1e9)
    return statistics.median(times)


def published():
    """The groups of the bench, with the time of scipy for the same arguments."""
    rng = np.random.default_rng(1)
    x, y = rng.uniform(-20, 20, ROWS), rng.uniform(0.01, 20, ROWS)
    positive, out = rng.uniform(0.01, 20, ROWS), np.empty(ROWS)
    negative = -positive
    z, one_y = x + 1j * y, x + 1j * y[0]
    w = np.empty(ROWS, complex)
    yield "lgamma", nanoseconds(lambda: gammaln(positive, out=out))
    yield "lgamma below 0", nanoseconds(lambda: gammaln(negative, out=out))
    for suffix, points in (("", z), (" one y", one_y)):
        value = nanoseconds(lambda: wofz(points, out=w))
        slope = nanoseconds(lambda: -2 * points * wofz(points, out=w) + 2j / np.sqrt(np.pi))
        for part in PARTS:
            yield part + suffix, slope if "slope" in part else value


def cembra(group, level):
    folder = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", "target")) / "criterion" / group / level
    path = folder / "new" / "estimates.json"
    return json.loads(path.read_text())["median"]["point_estimate"] / ROWS if path.exists() else float("nan")


if __name__ == "__main__":
    for group, other in published():
        avx2, avx512 = cembra(group, "Avx2"), cembra(group, "Avx512")
        ratios = f"{other / avx2:5.1f} {other / avx512:5.1f}"
        print(f"{group:28} AVX2 {avx2:6.2f}  AVX-512 {avx512:6.2f}  scipy {other:7.2f} ns  ratios {ratios}")
