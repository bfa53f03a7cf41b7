"""Texts as users of tables have them: Cembra beside polars and numpy in one run, one thread.

    cargo build --release --manifest-path benches/peers/Cargo.toml --bin rows
    python3 -m venv venv && venv/bin/pip install numpy numba jax polars
    venv/bin/python benches/peers/texts.py [rows] [name ...]

Every workload is one expression of Cembra, one of polars over columns of its own memory, and where there is one of numpy over its
texts of any length; results are compared first. Engines take turns within a round; times are processor nanoseconds per row, the
medians of nine rounds. A ratio above 1 means that Cembra is faster than the better of the others.
"""

import os
import pathlib
import sys
import tempfile

os.environ["POLARS_MAX_THREADS"] = "1"

import numpy as np
import polars as pl

from program import Program
from rows import ELEMENTS, F8, I8, geometric_mean, in_turn, process_ns

FIRST = ["Ada", "Grace", "Alan", "Edsger", "Barbara", "Donald", "Niklaus", "Frances", "Ken", "Margaret", "Łukasz", "Zoë"]
LAST = ["Lovelace", "Hopper", "Turing", "Dijkstra", "Liskov", "Knuth", "Wirth", "Allen", "Thompson", "Hamilton", "Müller", "O'Brien"]
CITIES = ["Berlin", "Paris", "Genoa", "Zurich", "Lyon", "Turin", "Bonn", "Vienna", "Oslo", "Madrid"]


def names(rng, rows):
    return [f"{FIRST[a]} {LAST[b]}" for a, b in zip(rng.integers(0, 12, rows), rng.integers(0, 12, rows))]


def cities(rng, rows):
    return [CITIES[i] for i in rng.integers(0, 10, rows)]


def codes(rng, rows):
    return [f"  {chr(65 + i % 26)}{i:05d}-{i % 7} " for i in rng.integers(0, 50_000, rows)]


def numbers(rng, rows):
    return [f"{x:.2f}" for x in rng.uniform(-1000, 1000, rows)]


def wholes(rng, rows):
    return [str(n) for n in rng.integers(-100_000, 100_000, rows)]


def lines(rng, rows):
    """Lines of a log, of some 80 bytes."""
    levels = ["INFO", "WARN", "ERROR"]
    return [f"2026-11-{1 + i % 28:02d}T12:{i % 60:02d}:07 {levels[i % 3]} request {i} of user {i % 997} took {i % 1013} ms for /api/v1/items" for i in rng.integers(0, 10**6, rows)]


def floats(rng, rows):
    return np.round(rng.uniform(-1000, 1000, rows), 3)


def integers(rng, rows):
    return rng.integers(-100_000, 100_000, rows)


class Work:
    """A workload: columns by name, the expression, that of polars, that of numpy over its texts if there is one, and what comes out."""

    def __init__(self, columns, expr, polars, numpy=None, out=str):
        self.columns, self.expr, self.polars, self.numpy, self.out = columns, expr, polars, numpy, out


s, t, x, n = pl.col("s"), pl.col("t"), pl.col("x"), pl.col("n")
WORKS = {
    "length": Work({"s": names}, "strings.length(s)", s.str.len_chars(), lambda s: np.strings.str_len(s), I8),
    "upper": Work({"s": names}, "strings.upper(s)", s.str.to_uppercase()),
    "strip": Work({"s": codes}, "strings.strip(s)", s.str.strip_chars(), lambda s: np.strings.strip(s)),
    "contains": Work({"s": lines}, "strings.contains(s, 'ERROR')", s.str.contains("ERROR", literal=True), lambda s: np.strings.find(s, "ERROR") >= 0, bool),
    "find": Work({"s": lines}, "strings.find(s, ' ') | -1", s.str.find(" ", literal=True).fill_null(-1), lambda s: np.strings.find(s, " "), I8),
    "count": Work({"s": lines}, "strings.count(s, '1')", s.str.count_matches("1", literal=True), lambda s: np.strings.count(s, "1"), I8),
    "prefix": Work({"s": lines}, "strings.substr(s, 0, 10)", s.str.slice(0, 10), lambda s: np.strings.slice(s, 10)),
    "replace": Work({"s": names}, "strings.replace(s, ' ', '_')", s.str.replace_all(" ", "_", literal=True), lambda s: np.strings.replace(s, " ", "_")),
    "join": Work({"s": names, "t": cities}, "strings.join(s, ', ', t)", s + ", " + t, lambda s, t: np.strings.add(np.strings.add(s, ", "), t)),
    "equal": Work({"s": cities}, "s == 'Berlin'", s == "Berlin", lambda s: s == np.array("Berlin", s.dtype), bool),
    "same": Work({"s": cities, "t": cities}, "s == t", s == t, lambda s, t: s == t, bool),
    "before": Work({"s": names}, "s < 'Grace'", s < "Grace", lambda s: s < np.array("Grace", s.dtype), bool),
    "to_float": Work({"s": numbers}, "strings.parse_float64(s)", s.cast(pl.Float64), lambda s: s.astype(F8), F8),
    "to_int": Work({"s": wholes}, "strings.parse_int64(s)", s.cast(pl.Int64), lambda s: s.astype(I8), I8),
    "from_int": Work({"n": integers}, "strings.as_text(n)", n.cast(pl.String)),
    "labels": Work({"s": cities, "n": integers}, "strings.join(s, '-', strings.as_text(n))", pl.concat_str([s, n.cast(pl.String)], separator="-")),
    "chosen": Work({"s": cities}, "core.where(s == 'Paris', 'Lutetia', s)", pl.when(s == "Paris").then(pl.lit("Lutetia")).otherwise(s)),
    "scores": Work({"s": cities, "x": floats}, "core.where(s == 'Paris', x * 2.0, x)", pl.when(s == "Paris").then(x * 2.0).otherwise(x), out=F8),
    "distinct": Work({"s": cities}, "array.size(array.unique(s))", s.n_unique(), out=I8),
    "many_distinct": Work({"s": codes}, "array.size(array.unique(s))", s.n_unique(), out=I8),
    "sum_by_city": Work({"s": cities, "x": floats}, "math.sum(x, edge.group_by(s))", None, out=F8),
    "kept": Work({"s": names, "x": floats}, "array.select(s, x > 0.0)", s.filter(x > 0.0)),
    "surname": Work({"s": names}, "strings.lower(strings.substr(s, strings.find(s, ' ') + 1))",
        None),
}


def opened(name, work, rows, program, directory):
    """Writes the columns of a workload and opens the program; the columns."""
    rng = np.random.default_rng(12345)
    columns = {column: make(rng, rows) for column, make in work.columns.items()}
    listed = []
    for column, data in columns.items():
        if isinstance(data, list):
            (directory / f"{column}.bin").write_text("\n".join(data) + "\n")
            listed.append(f"{column} TEXT {column}.bin")
        else:
            data.tofile(directory / f"{column}.bin")
            listed.append(f"{column} {ELEMENTS[data.dtype.type]} {column}.bin")
    (directory / "columns.txt").write_text("\n".join(listed) + "\n")
    (directory / "expr.txt").write_text(work.expr)
    assert program.ask("open", directory) == "ok", name
    return columns


def measure(name, work, rows, program, directory):
    columns = opened(name, work, rows, program, directory)
    frame = pl.DataFrame(columns)
    if name == "sum_by_city":
        run = lambda: frame.group_by("s", maintain_order=True).agg(x.sum())["x"]
    elif name == "surname":
        run = lambda: frame.select(s.str.splitn(" ", 2).struct.field("field_1").str.to_lowercase()).to_series()
    else:
        run = lambda: frame.select(work.polars).to_series()
    expected = run().to_list()
    path = directory / "out.0"
    if work.out is str:
        found = path.read_text().split("\n")[:-1]
    else:
        found = np.fromfile(path, work.out)
    if work.out is F8:
        assert np.allclose(found, expected, rtol=1e-9), (name, found[:3], expected[:3])
    else:
        assert list(found) == list(expected), (name, list(found)[:3], expected[:3])
    engines = {
        "cembra": lambda times: program.elapsed("run", times),
        "polars": lambda times: process_ns(run, times),
    }
    if work.numpy:
        texts = [np.array(c, np.dtypes.StringDType()) if isinstance(c, list) else c for c in columns.values()]
        engines["numpy"] = lambda times: process_ns(lambda: work.numpy(*texts), times)
    return in_turn(engines, rows)


def main():
    rows = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000
    program, ratios = Program("rows"), []
    print(f"| {rows} rows | Cembra | polars | numpy | ratio |\n| --- | --: | --: | --: | --: |")
    with tempfile.TemporaryDirectory() as directory:
        for name in sys.argv[2:] or WORKS:
            found = measure(name, WORKS[name], rows, program, pathlib.Path(directory))
            ratios.append(min(found["polars"], found.get("numpy", np.inf)) / found["cembra"])
            numpy = f"{found['numpy']:.1f}" if "numpy" in found else "–"
            print(f"| {name} | {found['cembra']:.1f} | {found['polars']:.1f} | {numpy} | {ratios[-1]:.2f} |", flush=True)
    print(f"\n{len(ratios)} workloads, geometric mean {geometric_mean(ratios):.2f}, least {min(ratios):.2f}")


if __name__ == "__main__":
    main()
