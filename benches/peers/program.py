"""Engines beside each other: a Rust program that is asked for one slice at a time, and turns of all engines."""

import os
import pathlib
import statistics
import subprocess

ROUNDS = 21
SLICE_NS = 20_000_000


class Program:
    def __init__(self, name, *words):
        target = os.environ.get("CARGO_TARGET_DIR", str(pathlib.Path(__file__).parent / "target"))
        path = pathlib.Path(target) / "release" / name
        self.process = subprocess.Popen([path, *words], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def ask(self, *words):
        """The line that it answers a line with."""
        self.process.stdin.write(" ".join(map(str, words)) + "\n")
        self.process.stdin.flush()
        return self.process.stdout.readline().strip()

    def elapsed(self, *words):
        """The nanoseconds that it answers with."""
        return int(self.ask(*words))


def take_turns(engines):
    """The nanoseconds of an evaluation in each round, by engine: engines take turns within a round. Each is a function
    from a number of evaluations to the nanoseconds that they took."""
    times = {}
    for engine, measure in engines.items():
        measure(2)
        times[engine] = max(1, SLICE_NS // max(1, measure(1)))
    found = {engine: [] for engine in engines}
    for _ in range(ROUNDS):
        for engine, measure in engines.items():
            found[engine].append(measure(times[engine]) / times[engine])
    return found


def print_rows(name, found, unit):
    """A row of a table for each engine: the smallest and the median time in units of so many nanoseconds, and the ratio
    of its median to Cembra's."""
    base = statistics.median(found["cembra"])
    for engine, figures in found.items():
        least, median = min(figures), statistics.median(figures)
        print(f"| {name} | {engine} | {least / unit:.3f} | {median / unit:.3f} | {median / base:.2f} |")
