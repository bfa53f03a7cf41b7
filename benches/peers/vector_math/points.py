"""Recorded points of the special functions: `tests/oracles/math/NAME.f64` and `NAME.f32`.

    pip install gmpy2 mpmath numpy
    python points.py ../../../tests/oracles/math [NAME ...]

A line is `argument [argument] value rest`: the bits of arguments and of the correctly rounded value in
hexadecimal digits without the zeros at their end, and what the exact value has more than the rounded one,
in hundredths of a unit of its last place. Hard cases come first.
"""

import pathlib
import struct
import sys

import gmpy2 as g
import numpy as np
from gmpy2 import mpfr

COUNT = 1000
context = g.get_context()
context.precision, context.emin, context.emax = 200, -(10**6), 10**6
TAU = 2 * g.const_pi()


def log_gamma(x):
    pole = g.is_infinite(x) or (x <= 0 and x == g.floor(x))
    return mpfr("inf") if pole else g.lgamma(x)[0]


def power(x, y):
    """C's pow where the library's differs from it: it does not, but for the kinds of its errors."""
    return mpfr(1) if x == 1 or y == 0 else x**y


FUNCTIONS = {
    "exp": g.exp, "exp2": g.exp2, "expm1": g.expm1, "sigmoid": lambda x: 1 / (1 + g.exp(-x)),
    "ln": g.log, "log2": g.log2, "log10": g.log10, "log1p": g.log1p, "sqrt": g.sqrt, "cbrt": g.cbrt,
    "cube": lambda x: x * x * x, "fourth": lambda x: x * x * x * x,
    "root": lambda x: mpfr("inf") if g.is_infinite(x) else g.sqrt(x) + 0,
    "sin": g.sin, "cos": g.cos, "tan": g.tan, "asin": g.asin, "acos": g.acos, "atan": g.atan,
    "sinh": g.sinh, "cosh": g.cosh, "tanh": g.tanh, "asinh": g.asinh, "acosh": g.acosh, "atanh": g.atanh,
    "erf": g.erf, "erfc": g.erfc, "lgamma": log_gamma, "pow": power, "hypot": g.hypot, "atan2": g.atan2,
}  # fmt: skip

# Random arguments: uniform in an interval, or an interval of exponents of 2 with either sign ("±") or one.
TINY, WIDE = ("±", -1074, 0), ("+", -1074, 1024)
RANGES = {
    "exp": [(-746, 710), (-1, 1), TINY], "exp2": [(-1076, 1024), (-1, 1), TINY],
    "expm1": [(-40, 710), (-1, 1), TINY], "sigmoid": [(-746, 40), (-2, 2), TINY],
    "ln": [WIDE, (0.5, 2)], "log2": [WIDE, (0.5, 2)], "log10": [WIDE, (0.5, 2)],
    "log1p": [(-1, 2), WIDE, TINY], "sqrt": [WIDE], "cbrt": [("±", -1074, 1024), (-8, 8)],
    "cube": [("±", -360, 342), (-8, 8)], "fourth": [("±", -270, 256), (-8, 8)], "root": [WIDE],
    "sin": [(-4, 4), (-1e6, 1e6), (1.5e6, 3e6), ("±", -1074, 1024)],
    "cos": [(-4, 4), (-1e6, 1e6), (1.5e6, 3e6), ("±", -40, 1024)],
    "tan": [(-4, 4), (-1e6, 1e6), (1.5e6, 3e6), ("±", -1074, 1024)],
    "asin": [(-1, 1), (0.4, 0.6), TINY], "acos": [(-1, 1), (0.4, 0.6), ("±", -60, 0)],
    "atan": [(-3, 3), (0.9, 1.1), ("±", -1074, 1024)],
    "sinh": [(-710, 710), (-2, 2), TINY], "cosh": [(-710, 710), (-2, 2)],
    "tanh": [(-20, 20), (-1, 1), TINY], "asinh": [(-5, 5), ("±", -1074, 1024)],
    "acosh": [(1, 3), ("+", 0, 1024)], "atanh": [(-1, 1), TINY],
    "erf": [(-6, 6), (-1.5, 1.5), TINY], "erfc": [(-6, 6), (0, 28), (-1, 1)],
    "lgamma": [(0, 3), (3, 60), WIDE, (-10, 0)],
    "pow": [], "hypot": [], "atan2": [],
}  # fmt: skip


class Width:
    def __init__(self, bits):
        self.bits = bits
        self.kind = np.float64 if bits == 64 else np.float32
        self.word = np.uint64 if bits == 64 else np.uint32
        self.precision, self.least = (53, -1074) if bits == 64 else (24, -149)
        self.largest = np.finfo(self.kind).max

    def hexadecimal(self, x):
        word = int(np.asarray(x, self.kind).view(self.word))
        return f"{word:0{self.bits // 4}x}".rstrip("0") or "0"

    def neighbours(self, x):
        x = self.kind(x)
        return [x, np.nextafter(x, self.kind(np.inf)), np.nextafter(x, self.kind(-np.inf))]

    def round(self, value):
        """The nearest number and the rest in hundredths of its unit; the kind of zero or infinity is kept."""
        if g.is_nan(value) or g.is_infinite(value) or value == 0:
            return self.kind(float(value)), 0
        exponent = max(g.get_exp(value) - self.precision, self.least)
        scaled = g.mul_2exp(abs(value), -exponent) if exponent <= 0 else g.div_2exp(abs(value), exponent)
        whole = g.rint(scaled)
        near = g.mul(whole, g.exp2(mpfr(exponent)))
        near = -near if value < 0 else near
        if abs(near) > mpfr(float(self.largest)):
            return self.kind(np.inf if value > 0 else -np.inf), 0
        rest = int(g.rint((scaled - whole) * 100))
        return self.kind(float(near)), -rest if value < 0 else rest


def hard(name, width):
    """Special values, exact cases, thresholds of the code with their neighbours, worst reductions."""
    kind = width.kind
    tiny, least = np.finfo(kind).tiny, kind(2.0**width.least)
    numbers = [0, least, tiny, kind(0.5), 1, 2, 3, 4, 8, 10, 27, 64, 100, 1000, width.largest, np.inf]
    points = [p for n in numbers for p in width.neighbours(n)]
    points += [-p for p in points] + [np.nan]
    edges = {
        "exp": [709.7827128933840, 88.72283905206835, -745.1332191019412, -708.3964185322641, -103.9720770839918],
        "expm1": [709.7827128933840, 88.72283905206835, -37.42994775023705, 0.34657359027997264, 2.0**-54],
        "exp2": [1024, 1023, 128, -1022, -1074, -1075, -126, -149, -150, 0.5, 1.5],
        "sinh": [710.4758600739439, 89.41598629223294, 0.34657359027997264, 1e-8],
        "cosh": [710.4758600739439, 89.41598629223294, 0.34657359027997264],
        "tanh": [22, 19.0615, 9.01, 0.34657359027997264, 1e-8],
        "erf": [1.25, 5.93, 5.921587, 3.9192059], "erfc": [0.5, 26.543, 27.226, 28, 9.19455, 10.0546],
        "ln": [np.sqrt(0.5), np.sqrt(2)], "log2": [np.sqrt(0.5), np.sqrt(2)] + [2.0**k for k in range(-20, 21)],
        "log10": [10.0**k for k in range(-10, 23)], "log1p": [np.sqrt(2) - 1, np.sqrt(0.5) - 1, 2.0**-54],
        "cbrt": [float(k) ** 3 for k in range(1, 40)], "atan": [1.0, 1e300], "asinh": [1e-8, 1e9], "acosh": [1e9],
        "lgamma": [0.5, 1.5, 2.5, 8.0, 2.5563e305, 4.0850e36],
    }  # fmt: skip
    if name in ("sin", "cos", "tan"):
        multiples = [k for k in range(1, 60)] + [667543, 667544, 1335087, 1335089]
        edges[name] = [float(k * TAU / 4) for k in multiples] + [2097152.0]
        # The numbers closest to multiples of a quarter turn.
        edges[name] += [6381956970095103.0 * 2.0**797] if width.bits == 64 else [float(np.float32(16367173 * 2.0**72))]
    for edge in edges.get(name, []):
        with np.errstate(over="ignore"):
            points += [sign * p for p in width.neighbours(edge) for sign in (1, -1)]
    return points


def hard_pairs(name, width):
    kind = width.kind
    least = kind(2.0**width.least)
    numbers = [0.0, 1.0, 2.0, 0.5, 3.0, least, width.largest, np.inf]
    if name == "pow":
        numbers = [0.0, 1.0, 0.5, 3.0, np.nextafter(kind(1), kind(2)), least, width.largest, np.inf]
    numbers = [s * n for n in numbers for s in (1, -1)] + [np.nan]
    pairs = [(x, y) for x in numbers for y in numbers]
    if name == "pow":
        pairs += [(float(x), float(y)) for x in range(-5, 11) for y in range(-4, 12)]
    if name == "hypot":
        pairs += [(3.0 * 2.0**k, 4.0 * 2.0**k) for k in (-140, -100, 0, 100, 120)]
    return pairs


def random_pairs(name, rng, count):
    if name == "pow":
        near = count // 2
        x = np.concatenate([rng.uniform(0.5, 2, near), np.exp2(rng.uniform(-30, 30, count - near))])
        y = rng.uniform(-1, 1, count) * 80 / np.maximum(np.abs(np.log(x)), 1e-3) * rng.choice([1, 8], count)
        return np.stack([x, y], 1)
    spread = np.exp2(rng.uniform(-40, 40, (count, 2)) * rng.choice([0, 1], (count, 1)))
    return rng.uniform(-1, 1, (count, 2)) * spread


def random_points(ranges, width, rng, count):
    sizes = [len(part) for part in np.array_split(np.arange(count), len(ranges))]
    parts = []
    for size, (first, *bounds) in zip(sizes, ranges):
        if first in ("+", "±"):
            low, high = (max(bounds[0], width.least), min(bounds[1], 1024 if width.bits == 64 else 128))
            part = np.exp2(rng.uniform(low, high, size)) * (rng.choice([1, -1], size) if first == "±" else 1)
        else:
            part = rng.uniform(first, bounds[0], size)
        parts.append(part)
    return np.concatenate(parts)


def short(x, width):
    """The argument with 24 bits, to keep the files small."""
    words = np.asarray(x, width.kind).view(width.word)
    return (words & ~width.word((1 << (width.precision - 24)) - 1)).view(width.kind)


def points(name, width):
    rng = np.random.default_rng(1)
    pair = not RANGES[name]
    special = hard_pairs(name, width) if pair else hard(name, width)
    special = np.asarray(special, width.kind).reshape(-1, 2 if pair else 1)
    _, first = np.unique(special.view(width.word), axis=0, return_index=True)
    special = special[np.sort(first)][:COUNT]
    rest = COUNT - len(special)
    random = random_pairs(name, rng, rest) if pair else random_points(RANGES[name], width, rng, rest)
    random = short(random, width).reshape(-1, 2 if pair else 1)
    return np.concatenate([special, random])


def lines(name, width):
    for arguments in points(name, width):
        exact = FUNCTIONS[name](*[mpfr(float(x)) for x in arguments])
        value, rest = width.round(exact)
        words = [width.hexadecimal(x) for x in arguments]
        yield " ".join(words + ["nan" if np.isnan(value) else width.hexadecimal(value), str(rest)])


def faddeeva(x, y):
    """w(x + iy) and its slope, with bits for what cancels: exponents, the part of the larger magnitude."""
    from mpmath import mp

    sizes = [abs(n) for n in (x, y) if n]
    mp.prec = 300 + int(sum(4 * abs(np.log2(size)) for size in sizes))
    z = mp.mpc(x, abs(y))
    if abs(z) < 30:
        mp.prec += int(2 * abs(z) ** 2)
        value = mp.exp(-z * z) * mp.erfc(mp.mpc(z.imag, -z.real))
    else:
        # Abramowitz and Stegun, 7.1.23: the smallest term is exp(-|z|²) of the first.
        term, total, order = mp.mpf(1), mp.mpf(1), 1
        while order < 400 and abs(term) > mp.mpf(2) ** -mp.prec:
            term *= (2 * order - 1) / (2 * z * z)
            total, order = total + term, order + 1
        value = mp.mpc(0, 1) / (mp.sqrt(mp.pi) * z) * total
    if y < 0:
        z = mp.mpc(x, y)
        value = 2 * mp.exp(-z * z) - mp.conj(value)
    return value, -2 * z * value + mp.mpc(0, 2) / mp.sqrt(mp.pi)


def faddeeva_lines(width):
    """`x y real imaginary` of w(x + iy), and of its slope, rounded: the axes, all quadrants, all magnitudes."""
    rng = np.random.default_rng(1)
    x, y = (np.exp2(rng.uniform(-20, 12, (2, COUNT)))) * rng.choice([1, -1], (2, COUNT))
    # Below the real axis the function grows as exp(y² - x²), beyond all numbers at last.
    y = np.where((y < 0) & (y * y - x * x > 680), -y, y)
    x[:30], y[30:60] = 0, 0
    y[:30] = np.maximum(y[:30], -26)
    x[60:160], y[60:160] = rng.uniform(-27, 27, 100), rng.uniform(-1, 8, 100)
    # Points and halves between points of the sums, and steps beyond the last, close to the axis.
    steps = np.arange(1, 61)
    x[160:220], y[160:220] = steps * np.sqrt(np.pi / 48), 10.0 ** -(steps % 10)
    x[220:240], y[220:240] = rng.uniform(0, 9, 20), 10.0 ** rng.uniform(-300, -12, 20)
    # Thresholds: of the pole, of the Gaussian, of what is far.
    x[240:250], y[240:250] = rng.uniform(-8, 8, 10), np.sqrt(12 * np.pi) + rng.uniform(-1, 1, 10) * 1e-6
    x[250:260], y[250:260] = 28 + rng.uniform(-1, 1, 10) * 1e-6, rng.uniform(0, 6, 10)
    x[260:280], y[260:280] = 2.0**27 + rng.uniform(-9, 9, 20), rng.uniform(0, 2**28, 20)
    x[280:300], y[280:300] = np.exp2(rng.uniform(28, 500, (2, 20)))
    # Diagonals below the axis, where the angle of the Gaussian is large.
    x[300:340] = np.exp2(np.append(rng.uniform(5, 27, 36), rng.uniform(28, 60, 4)))
    y[300:340] = -x[300:340] - rng.uniform(-1, 1, 40) * 300 / x[300:340]
    y[336:340] = -x[336:340]
    x[300:340:2] *= -1
    # All bits where the last ones matter.
    whole = np.zeros(COUNT, bool)
    whole[240:280] = whole[300:340] = True
    x, y = (np.where(whole, part, short(part, width)) for part in (x, y))
    for x, y in zip(x.tolist(), y.tolist()):
        parts = [float(part) for value in faddeeva(x, y) for part in (value.real, value.imag)]
        yield " ".join(map(width.hexadecimal, (x, y, *parts)))


if __name__ == "__main__":
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    np.seterr(all="ignore")
    if "faddeeva" in sys.argv[2:] or not sys.argv[2:]:
        (folder / "faddeeva.f64").write_text("\n".join(faddeeva_lines(Width(64))) + "\n")
    for name in [name for name in sys.argv[2:] if name != "faddeeva"] or FUNCTIONS:
        for width in (Width(64), Width(32)):
            text = "\n".join(lines(name, width)) + "\n"
            (folder / f"{name}.f{width.bits}").write_text(text)
