"""Coefficients of the polynomials in `vm/src/vector/math`, by the exchange algorithm of Remez.

    pip install mpmath
    python coefficients.py [NAME ...]

Each polynomial of a variable z minimises the largest weighted error |weight(z) * (p(z) - g(z))|
on an interval. The printed error is that of the coefficients rounded to binary64.
"""

import sys

from mpmath import mp, mpf

mp.dps = 50


def fit(g, weight, interval, count):
    """Best weighted polynomial with `count` coefficients, lowest first, and its weighted error."""
    low, high = map(mpf, interval)
    size = max(40 * count, 400)
    grid = [(low + high) / 2 - (high - low) / 2 * mp.cos(mp.pi * i / (size - 1)) for i in range(size)]
    values, weights = [g(z) for z in grid], [weight(z) for z in grid]
    chosen = [round(i * (len(grid) - 1) / count) for i in range(count + 1)]
    for _ in range(30):
        system = mp.matrix(count + 1, count + 1)
        right = mp.matrix(count + 1, 1)
        for row, i in enumerate(chosen):
            for k in range(count):
                system[row, k] = grid[i] ** k
            system[row, count] = (-1) ** row / weights[i]
            right[row] = values[i]
        solution = mp.lu_solve(system, right)
        coefficients = [solution[k] for k in range(count)]
        errors = [w * (mp.polyval(coefficients[::-1], z) - v) for z, v, w in zip(grid, values, weights)]
        extremes = []
        for i, e in enumerate(errors):
            if extremes and mp.sign(errors[extremes[-1]]) == mp.sign(e):
                if abs(e) > abs(errors[extremes[-1]]):
                    extremes[-1] = i
            else:
                extremes.append(i)
        while len(extremes) > count + 1:
            ends = (extremes[0], extremes[-1])
            extremes.pop(0 if abs(errors[ends[0]]) < abs(errors[ends[1]]) else -1)
        worst = max(map(abs, errors))
        if len(extremes) <= count or worst <= abs(solution[count]) * mpf("1.0001"):
            break
        chosen = extremes
    return coefficients, worst


def rounded(g, weight, interval, count):
    """Best coefficients in binary64, the largest error of these, and the best coefficients."""
    exact = fit(g, weight, interval, count)[0]
    numbers = [mpf(float(c)) for c in exact]
    grid = [interval[0] + (interval[1] - interval[0]) * mpf(i) / 2000 for i in range(2001)]
    error = max(abs(weight(z) * (mp.polyval(numbers[::-1], z) - g(z))) for z in grid)
    return numbers, error, exact


def near_zero(direct, series, bound=mpf("1e-12")):
    """A function that cancels near zero: its first terms there."""
    return lambda z: direct(z) if abs(z) > bound else series(z)


def square(f):
    """A function of a square, from one of the root."""
    return lambda z: f(mp.sqrt(z))


def near_linear(r):
    """A weight for errors relative to r, but not at 0 itself."""
    return abs(r) + mpf("0.01")


def scaled_erfc(x):
    return mp.erfc(x) * mp.exp(x * x)


def stirling(w):
    """x * (lgamma(x) - leading terms of Stirling's series), in w = 1/x**2."""
    x = 1 / mp.sqrt(w)
    return x * (mp.loggamma(x) - ((x - 0.5) * mp.log(x) - x + mp.log(2 * mp.pi) / 2))


E = mpf("0.3467")
QUARTER_PI = (mp.pi / 4 * mpf("1.0001")) ** 2
SHIFT = 3.75

POLYNOMIALS = {
    # name: (g, weight, interval, count)
    "EXP": (near_zero(lambda r: (mp.expm1(r) - r) / r**2, lambda r: mpf(1) / 2 + r / 6), near_linear, (-E, E), 11),
    "EXP_SHORT": (
        near_zero(lambda r: (mp.expm1(r) - r) / r**2, lambda r: mpf(1) / 2 + r / 6),
        lambda r: r**2 + mpf("0.0001"),
        (-E, E),
        9,
    ),
    "EXP2": (
        near_zero(
            lambda r: (2**r - 1 - r * mp.log(2)) / r**2, lambda r: mp.log(2) ** 2 / 2 + r * mp.log(2) ** 3 / 6
        ),
        near_linear,
        (mpf("-0.5001"), mpf("0.5001")),
        11,
    ),
    "LOG": (
        near_zero(square(lambda s: (2 * mp.atanh(s) - 2 * s) / s**3), lambda z: mpf(2) / 3 + 2 * z / 5),
        lambda z: z + mpf("0.001"),
        (mpf(0), (3 - 2 * mp.sqrt(2)) ** 2 * mpf("1.0001")),
        7,
    ),
    "LOG_TAIL": (
        near_zero(
            square(lambda s: (2 * mp.atanh(s) - 2 * s - 2 * s**3 / 3) / s**5), lambda z: mpf(2) / 5 + 2 * z / 7
        ),
        lambda z: (z + mpf("0.001")) ** 2,
        (mpf(0), (3 - 2 * mp.sqrt(2)) ** 2 * mpf("1.0001")),
        9,
    ),
    "SIN": (
        near_zero(square(lambda r: (mp.sin(r) - r) / r**3), lambda z: -mpf(1) / 6 + z / 120),
        lambda z: z + mpf("0.001"),
        (mpf(0), QUARTER_PI),
        6,
    ),
    "COS": (
        near_zero(square(lambda r: (mp.cos(r) - 1 + r**2 / 2) / r**4), lambda z: mpf(1) / 24 - z / 720),
        lambda z: (z + mpf("0.001")) ** 2,
        (mpf(0), QUARTER_PI),
        6,
    ),
    "TAN": (
        near_zero(square(lambda r: (mp.tan(r) - r) / r**3), lambda z: mpf(1) / 3 + 2 * z / 15),
        lambda z: z + mpf("0.001"),
        (mpf(0), QUARTER_PI),
        14,
    ),
    "ATAN": (
        near_zero(square(lambda t: (mp.atan(t) - t) / t**3), lambda z: -mpf(1) / 3 + z / 5),
        lambda z: z + mpf("0.001"),
        (mpf(0), mpf(1)),
        21,
    ),
    "ASIN": (
        near_zero(square(lambda x: (mp.asin(x) - x) / x**3), lambda z: mpf(1) / 6 + 3 * z / 40),
        lambda z: z + mpf("0.001"),
        (mpf(0), mpf("0.25")),
        12,
    ),
    "SINH": (
        near_zero(square(lambda r: (mp.sinh(r) - r) / r**3), lambda z: mpf(1) / 6 + z / 120),
        lambda z: z + mpf("0.001"),
        (mpf(0), E * E),
        5,
    ),
    "COSH": (
        near_zero(square(lambda r: (mp.cosh(r) - 1) / r**2), lambda z: mpf(1) / 2 + z / 24),
        lambda z: z + mpf("0.001"),
        (mpf(0), E * E),
        5,
    ),
    "CBRT": (
        lambda m: m ** (mpf(1) / 3),
        lambda m: 1 / m ** (mpf(1) / 3),
        (mp.sqrt(0.5), mp.sqrt(2)),
        6,
    ),
    "ERF": (
        near_zero(square(lambda x: mp.erf(x) / x - 1), lambda z: 2 / mp.sqrt(mp.pi) * (1 - z / 3) - 1),
        lambda z: 1,
        (mpf(0), mpf("1.563")),
        13,
    ),
    "ERF_TAIL": (lambda x: -mp.log(mp.erfc(x)), mp.erfc, (mpf("1.249"), mpf("5.93")), 15),
    "ERFC": (
        lambda t: (1 + 2 * SHIFT * (1 + t) / (1 - t)) * scaled_erfc(SHIFT * (1 + t) / (1 - t)),
        lambda t: 1,
        ((mpf("0.49") - SHIFT) / (mpf("0.49") + SHIFT), (28 - mpf(SHIFT)) / (28 + SHIFT)),
        24,
    ),
    # The first is the slope, which the code has in twice the precision.
    "LGAMMA": (
        near_zero(lambda t: mp.loggamma(2 + t) / t, lambda t: 1 - mp.euler + t * (mp.zeta(2) - 1) / 2),
        lambda t: 1,
        (mpf("-0.5001"), mpf("0.5001")),
        19,
    ),
    "STIRLING": (stirling, lambda w: 1, (mpf("1e-6"), mpf(1) / 64), 7),
}

if __name__ == "__main__":
    for name in sys.argv[1:] or POLYNOMIALS:
        numbers, error, exact = rounded(*POLYNOMIALS[name])
        print(f"// Largest weighted error 2^{mp.nstr(mp.log(error, 2), 4)}.")
        print(f"const {name}: [f64; {len(numbers)}] = [")
        for number in numbers:
            print(f"    {float(number)!r},")
        print("];")
        low = float(mpf(exact[0]) - mpf(float(exact[0])))
        print(f"// The first coefficient lacks {low!r}.", flush=True)
