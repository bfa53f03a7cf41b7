"""A Rust program beside the Python peers, asked for one slice at a time."""

import os
import pathlib
import subprocess


class Program:
    def __init__(self, name):
        target = os.environ.get("CARGO_TARGET_DIR", str(pathlib.Path(__file__).parent / "target"))
        path = pathlib.Path(target) / "release" / name
        self.process = subprocess.Popen([path], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def elapsed(self, *words):
        """The nanoseconds that it answers with."""
        self.process.stdin.write(" ".join(map(str, words)) + "\n")
        self.process.stdin.flush()
        return int(self.process.stdout.readline())
