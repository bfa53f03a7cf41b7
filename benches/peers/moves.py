"""Rows that are moved, grouped, reduced and scanned, and arithmetic that nothing was tuned for: Cembra beside numba in one run, one thread.

    cargo build --release --manifest-path benches/peers/Cargo.toml --bin rows
    python3 -m venv venv && venv/bin/pip install numpy numba jax
    venv/bin/python benches/peers/moves.py [rows] [name ...]

Every workload is one expression of Cembra and one strict function of numba, written as one would write it there; results are
compared first. Engines take turns within a round; times are processor nanoseconds per row, the medians of nine rounds. A ratio
above 1 means that Cembra is faster.
"""

import math
import pathlib
import random
import sys
import tempfile

import numba
import numpy as np

from program import Program
from rows import F4, F8, I4, I8, U, geometric_mean, in_turn, integers, opened, process_ns, repeated

GROUPS = 100


class Move:
    """A workload: columns by name, the expression, numba's function of the columns, of the truths of presence of those with
    missing rows, and of the result if that has rows: as many as the columns, or `rows_out` (fewer if it is below 0)."""

    def __init__(self, columns, expr, function, missing, out, rows_out, tolerance):
        self.columns, self.expr, self.function, self.missing = columns, expr, function, missing
        self.out, self.rows_out, self.tolerance = out, rows_out, tolerance

    def room(self, rows):
        """Where numba writes rows to; nothing for a single value."""
        if self.rows_out is None:
            return ()
        return (np.empty(self.rows_out if self.rows_out > 0 else rows + self.rows_out, self.out),)


MOVES = {}


def move(columns, expr, missing=(), out=F8, rows_out=0, tolerance=1e-9):
    """Makes a workload of a function, under its name."""
    def add(function):
        MOVES[function.__name__] = Move(columns, expr, function, missing, out, rows_out, tolerance)
        return function
    return add


def value(columns, expr, **options):
    """The same for one that gives a single value."""
    return move(columns, expr, rows_out=None, **options)


X, XY = {"x": U(-1, 1)}, {"x": U(-1, 1), "y": U(-1, 1)}
GROUPED = {"x": U(-1, 1), "k": integers(0, GROUPS)}
EDGE = f"edge.from_mapping(k, int64({GROUPS}))"


@move(GROUPED, f"math.sum(x, {EDGE})", rows_out=GROUPS)
def group_sum(x, k, out):
    out[:] = 0.0
    for i in range(x.size):
        out[k[i]] += x[i]


@move(GROUPED, f"math.max(x, {EDGE})", rows_out=GROUPS)
def group_max(x, k, out):
    out[:] = -np.inf
    for i in range(x.size):
        out[k[i]] = max(out[k[i]], x[i])


@move(GROUPED, f"array.count(x > 0.0, {EDGE})", out=I8, rows_out=GROUPS)
def group_count(x, k, out):
    out[:] = 0
    for i in range(x.size):
        out[k[i]] += 1 if x[i] > 0.0 else 0


@move(GROUPED, f"math.mean(x, {EDGE})", missing=("x",), rows_out=GROUPS)
def group_mean_missing(x, k, there, out):
    counts = np.zeros(GROUPS)
    out[:] = 0.0
    for i in range(x.size):
        if there[i]:
            out[k[i]] += x[i]
            counts[k[i]] += 1
    for group in range(GROUPS):
        out[group] /= counts[group]


@move(GROUPED, f"e = {EDGE}\nx - array.expand(math.mean(x, e), e)")
def group_center(x, k, out):
    sums, counts = np.zeros(GROUPS), np.zeros(GROUPS)
    for i in range(x.size):
        sums[k[i]] += x[i]
        counts[k[i]] += 1
    for i in range(x.size):
        out[i] = x[i] - sums[k[i]] / counts[k[i]]


@move(GROUPED, f"math.cum_sum(x, {EDGE})")
def group_running(x, k, out):
    sums = np.zeros(GROUPS)
    for i in range(x.size):
        sums[k[i]] += x[i]
        out[i] = sums[k[i]]


@move({"i": integers(0, 1000), "x": U(-1, 1)}, "array.take(x, i) * 2.0")
def gather(i, x, out):
    for row in range(x.size):
        if i[row] < 0 or i[row] >= x.size:
            raise IndexError
        out[row] = x[i[row]] * 2.0


@move(X, "array.slice(x, int64(1), int64(-1)) - array.slice(x, int64(0), array.size(x) - 1)", rows_out=-1)
def difference(x, out):
    for i in range(out.size):
        out[i] = x[i + 1] - x[i]


LATER, EARLIER = "array.slice(x, int64(1), int64(-1))", "array.slice(x, int64(0), array.size(x) - 1)"


@move(X, f"(array.slice(x, int64(2), int64(-1)) + array.slice({LATER}, int64(0), array.size(x) - 2)"
      " + array.slice(x, int64(0), array.size(x) - 2)) / 3.0", rows_out=-2)
def moving_mean(x, out):
    for i in range(out.size):
        out[i] = (x[i + 2] + x[i + 1] + x[i]) / 3.0


@move({"x": U(1, 2)}, f"math.log({LATER} / {EARLIER})", rows_out=-1)
def log_returns(x, out):
    for i in range(out.size):
        out[i] = math.log(x[i + 1] / x[i])


@value(X, f"math.sum({LATER} * {EARLIER})", tolerance=1e-6)
def autocovariance(x):
    s = 0.0
    for i in range(x.size - 1):
        s += x[i + 1] * x[i]
    return s


@value(X, f"math.sum(math.abs({LATER} - {EARLIER}))", tolerance=1e-6)
def total_variation(x):
    s = 0.0
    for i in range(x.size - 1):
        s += abs(x[i + 1] - x[i])
    return s


@value({"x": U(-1, 1), "y": U(0, 1)}, "math.sum(array.select(x, y > 0.5))", tolerance=1e-6)
def select_sum(x, y):
    total = 0.0
    for i in range(x.size):
        if y[i] > 0.5:
            total += x[i]
    return total


@value({"n": integers(0, GROUPS)}, "array.size(array.unique(n))", out=I8)
def unique_count(n):
    seen, count = np.zeros(GROUPS, np.uint8), 0
    for i in range(n.size):
        if not seen[n[i]]:
            seen[n[i]] = 1
            count += 1
    return count


@move({"x": U(-3, 3)}, "math.softmax(x)")
def softmax(x, out):
    most, total = x[0], 0.0
    for i in range(x.size):
        most = max(most, x[i])
    for i in range(x.size):
        out[i] = math.exp(x[i] - most)
        total += out[i]
    for i in range(x.size):
        out[i] /= total


@value({"x": U(-3, 3)}, "m = math.max(x)\nm + math.log(math.sum(math.exp(x - m)))")
def log_sum_exp(x):
    most, total = x[0], 0.0
    for i in range(x.size):
        most = max(most, x[i])
    for i in range(x.size):
        total += math.exp(x[i] - most)
    return most + math.log(total)


@value(X, "math.argmax(x)", out=I8)
def argmax(x):
    best = 0
    for i in range(x.size):
        if x[i] > x[best]:
            best = i
    return best


@value(X, "math.max(math.cum_max(x) - x)")
def drawdown(x):
    most, worst = x[0], 0.0
    for i in range(x.size):
        most = max(most, x[i])
        worst = max(worst, most - x[i])
    return worst


@move(X, "math.cum_sum(core.where(x > 0.0, x, 0.0))")
def running_gains(x, out):
    total = 0.0
    for i in range(x.size):
        total += x[i] if x[i] > 0.0 else 0.0
        out[i] = total


@value(X, "math.var(x, unbiased=false)", missing=("x",))
def var_missing(x, there):
    total, count, squares = 0.0, 0, 0.0
    for i in range(x.size):
        if there[i]:
            total += x[i]
            count += 1
    for i in range(x.size):
        if there[i]:
            squares += (x[i] - total / count) * (x[i] - total / count)
    return squares / count


@move(X, "x | math.mean(x)", missing=("x",))
def fill_mean(x, there, out):
    total, count = 0.0, 0
    for i in range(x.size):
        if there[i]:
            total += x[i]
            count += 1
    mean = total / count
    for i in range(x.size):
        out[i] = x[i] if there[i] else mean


@value(XY, "math.sum(x*y)", missing=("x",))
def dot_missing(x, y, there):
    total = 0.0
    for i in range(x.size):
        if there[i]:
            total += x[i] * y[i]
    return total


@value(XY, "a = math.mean(x)\nb = math.mean(y)\n"
       "math.sum((x-a)*(y-b)) / math.sqrt(math.sum((x-a)*(x-a)) * math.sum((y-b)*(y-b)))", tolerance=1e-7)
def correlation(x, y):
    a, b, xy, xx, yy = 0.0, 0.0, 0.0, 0.0, 0.0
    for i in range(x.size):
        a += x[i]
        b += y[i]
    a, b = a / x.size, b / x.size
    for i in range(x.size):
        u, v = x[i] - a, y[i] - b
        xy += u * v
        xx += u * u
        yy += v * v
    return xy / math.sqrt(xx * yy)


@value({"p": U(90, 110), "q": U(90, 110)}, "math.std(math.log(p / q), unbiased=false)")
def volatility(p, q):
    total, squares = 0.0, 0.0
    for i in range(p.size):
        total += math.log(p[i] / q[i])
    mean = total / p.size
    for i in range(p.size):
        squares += (math.log(p[i] / q[i]) - mean) ** 2
    return math.sqrt(squares / p.size)


@move({"d": integers(0, 30000)}, "z = d + 719468\ne = z % 146097\ny = (e - e//1460 + e//36524 - e//146096) // 365\n"
      "m = (5*(e - (365*y + y//4 - y//100)) + 2) // 153\ncore.where(m < 10, m + 3, m - 9)", out=I8)
def month(d, out):
    for i in range(d.size):
        e = (d[i] + 719468) % 146097
        y = (e - e // 1460 + e // 36524 - e // 146096) // 365
        m = (5 * (e - (365 * y + y // 4 - y // 100)) + 2) // 153
        out[i] = m + 3 if m < 10 else m - 9


@value({"y": integers(1900, 2100)}, "array.count((y % 4 == 0) & ((y % 100 != 0) | (y % 400 == 0)))", out=I8)
def leap_years(y):
    count = 0
    for i in range(y.size):
        count += 1 if y[i] % 4 == 0 and (y[i] % 100 != 0 or y[i] % 400 == 0) else 0
    return count


@move({"s": integers(0, 1 << 62)}, "bitwise.bitwise_and(s*6364136223846793005 + 1442695040888963407, 4294967295)", out=I8)
def random_step(s, out):
    for i in range(s.size):
        out[i] = (s[i] * 6364136223846793005 + 1442695040888963407) & 4294967295


@value({"a": integers(-1000, 1000), "b": integers(-1000, 1000)}, "math.sum(math.abs(a - b))", out=I8)
def distance(a, b):
    total = 0
    for i in range(a.size):
        total += abs(a[i] - b[i])
    return total


@value({"a": integers(0, 1 << 62), "b": integers(0, 1 << 62)}, "math.sum(bitwise.count(bitwise.bitwise_xor(a, b)))", out=I4)
def hamming(a, b):
    total = 0
    for i in range(a.size):
        v = a[i] ^ b[i]
        v -= (v >> 1) & 0x5555555555555555
        v = (v & 0x3333333333333333) + ((v >> 2) & 0x3333333333333333)
        v = (v + (v >> 4)) & 0x0F0F0F0F0F0F0F0F
        total += (v * 0x0101010101010101) >> 56
    return total


@move({"w": U(40, 120), "h": U(1.5, 2.0)},
      "b = w/(h*h)\ncore.where(b < 18.5, 0, core.where(b < 25.0, 1, core.where(b < 30.0, 2, 3)))", out=I4)
def classes(w, h, out):
    for i in range(w.size):
        b = w[i] / (h[i] * h[i])
        out[i] = 0 if b < 18.5 else (1 if b < 25.0 else (2 if b < 30.0 else 3))


@value({"x": U(-1, 1, F4)}, "math.sqrt(math.mean(x*x))", out=F4, tolerance=1e-3)
def root_mean_square(x):
    total = 0.0
    for i in range(x.size):
        total += float(x[i] * x[i])
    return math.sqrt(total / x.size)


@value(XY, "math.covariance(x, y)")
def covariance(x, y):
    a, b = 0.0, 0.0
    for i in range(x.size):
        a += x[i]
        b += y[i]
    a, b, total = a / x.size, b / x.size, 0.0
    for i in range(x.size):
        total += (x[i] - a) * (y[i] - b)
    return total / (x.size - 1)


@move(X, "x - 0.001*core.to_float64(array.iota(core.shape_of(x)))")
def detrend(x, out):
    for i in range(x.size):
        out[i] = x[i] - 0.001 * i


def trees(count, depth, names):
    """The sum of so many decision trees of random columns and thresholds: the expression, and the columns, thresholds and leaves of
    each tree, from its root."""
    chance, tables = random.Random(1), []

    def below(place, columns, thresholds, leaves):
        if place > len(columns):
            leaves.append(round(chance.uniform(-1, 1), 3))
            return f"{leaves[-1]}"
        column, threshold = columns[place - 1], thresholds[place - 1]
        low, high = (below(place * 2 + side, columns, thresholds, leaves) for side in (0, 1))
        return f"core.where({names[column]} < {threshold}, {low}, {high})"

    lines = []
    for tree in range(count):
        nodes = 2**depth - 1
        columns = [chance.randrange(len(names)) for _ in range(nodes)]
        thresholds = [round(chance.uniform(-0.8, 0.8), 3) for _ in range(nodes)]
        leaves = []
        lines.append(f"t{tree} = {below(1, columns, thresholds, leaves)}")
        tables.append((columns, thresholds, leaves))
    text = "\n".join(lines) + "\n" + " + ".join(f"t{tree}" for tree in range(count))
    return text, [np.array(table) for table in zip(*tables)]


def forest(name, count, depth):
    """The workload of such a sum of four columns."""
    text, (columns, thresholds, leaves) = trees(count, depth, "abcd")

    def sums(a, b, c, d, out):
        row = np.empty(4)
        for i in range(out.size):
            row[0], row[1], row[2], row[3] = a[i], b[i], c[i], d[i]
            total = 0.0
            for tree in range(count):
                place = 0
                for _ in range(depth):
                    is_high = not row[columns[tree, place]] < thresholds[tree, place]
                    place = 2 * place + (2 if is_high else 1)
                total += leaves[tree, place - 2**depth + 1]
            out[i] = total

    sums.__name__ = name
    move({column: U(-1, 1) for column in "abcd"}, text)(sums)


forest("ten_trees", 10, 4)
forest("fifty_trees", 50, 5)


def beside_numba(name, work, arrays, room, elements, program, directory):
    """Compares the result with that of numba's function, which may have room for it, and measures both; ns an element."""
    args = (*arrays, *room)
    loop = numba.njit(error_model="numpy")(work.function)
    result = loop(*args)
    expected = room[0].reshape(-1) if room else np.array([result])
    found = np.fromfile(directory / "out.0", work.out)
    assert found.shape == expected.shape, (name, found.shape, expected.shape)
    assert np.allclose(found, expected, rtol=work.tolerance, atol=1e-9), (name, found[:3], expected[:3])
    many = repeated(loop, bool(room))
    many(1, args)
    return in_turn({
        "cembra": lambda times: program.elapsed("run", times),
        "numba": lambda times: process_ns(lambda: many(times, args), 1),
    }, elements)


def measure(name, work, rows, program, directory):
    columns, presence = opened(name, work, rows, program, directory, work.missing)
    arrays = (*columns.values(), *presence.values())
    return beside_numba(name, work, arrays, work.room(rows), rows, program, directory)


def main():
    rows = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000
    program, ratios = Program("rows"), []
    print(f"| {rows} rows | Cembra | numba | numba to Cembra |\n| --- | --: | --: | --: |")
    with tempfile.TemporaryDirectory() as directory:
        for name in sys.argv[2:] or MOVES:
            found = measure(name, MOVES[name], rows, program, pathlib.Path(directory))
            ratios.append(found["numba"] / found["cembra"])
            print(f"| {name} | {found['cembra']:.3f} | {found['numba']:.3f} | {ratios[-1]:.2f} |", flush=True)
    print(f"\n{len(ratios)} workloads, geometric mean {geometric_mean(ratios):.2f}, least {min(ratios):.2f}")


if __name__ == "__main__":
    main()
