#!/usr/bin/env python3
"""Records what CPython gives for random functions of values that may be None: record_none.py OUT.

Variables take numbers and None, are compared with None, as truth values and by `==`, are operands, fields of tuples, arguments
of calls that are built in place (`g`) and of those that stay calls (`r`), and are changed in loops, branches and `try`.
"""

import json
import random
import sys

FUNCTIONS, CALLS, SEED = 300, 3, 7
HELPERS = {
    "g": """
def g(u, v=None):
    if v is None:
        v = 1
    return u if u is None else u * v
""",
    "r": """
def r(n, v=None):
    if n <= 0:
        return v
    if v is None and n > 2:
        v = n
    w = r(n - 1, v)
    return w if w is not None else None
""",
}


class Writer:
    """Writes one function."""

    def __init__(self, rng):
        self.rng, self.names = rng, ["a", "b", "o", "p"]
        self.values = list(self.names)

    def one_of(self, *choices):
        return self.rng.choice(choices)

    def expr(self, depth):
        rng, kind = self.rng, self.rng.random()
        if depth <= 0 or kind < 0.35:
            return rng.choice(self.values + ["1.5", "2", self.one_of("None", "0", "0"), "-3", "0.0"])
        if kind < 0.6:
            return f"({self.expr(depth - 1)} {self.one_of('+', '-', '*')} {self.expr(depth - 1)})"
        if kind < 0.67:
            return f"(-{self.expr(depth - 1)})"
        if kind < 0.8:
            return f"({self.expr(depth - 1)} if {self.condition(depth - 1)} else {self.expr(depth - 1)})"
        if kind < 0.85:
            return f"{self.one_of('abs', 'float')}({self.expr(depth - 1)})"
        if kind < 0.89:
            return f"{self.one_of('max', 'min')}({self.expr(depth - 1)}, {self.expr(depth - 1)})"
        return rng.choice(self.values)

    def condition(self, depth):
        kind, name = self.rng.random(), self.rng.choice(self.names)
        if kind < 0.5:
            return f"{name} is {self.one_of('None', 'not None')}"
        if kind < 0.6:
            return f"{name} {self.one_of('<', '>=', '==', '!=')} {self.expr(depth - 1)}"
        if kind < 0.72:
            return self.one_of(name, f"not {name}", f"bool({name})")
        if kind < 0.8:
            return self.one_of(f"{name} == None", f"None is not {name}", f"not ({name} is None)")
        word = self.one_of("and", "or")
        return f"({self.condition(depth - 1)} {word} {self.condition(depth - 1)})" if depth > 0 else "a > 0"

    def block(self, depth, around, in_loop=False):
        lines, pad = [], "    " * around
        for _ in range(self.rng.randint(1, 3)):
            kind, target = self.rng.random(), self.rng.choice(self.names)
            if kind < 0.1:
                pair = lambda: f"({self.expr(1)}, {self.expr(1)})"
                targets = self.one_of("o, p", "a, o", "p, b")
                lines.append(f"{pad}{targets} = {pair()} if {self.condition(1)} else {pair()}")
            elif kind < 0.5 or depth <= 0:
                lines.append(f"{pad}{target} = {self.expr(2)}")
            elif kind < 0.75:
                lines += [f"{pad}if {self.condition(2)}:", *self.block(depth - 1, around + 1, in_loop)]
                if self.rng.random() < 0.5:
                    lines += [f"{pad}else:", *self.block(depth - 1, around + 1, in_loop)]
            elif kind < 0.82:
                lines += [f"{pad}for i{around} in range({self.rng.randint(1, 3)}):"]
                lines += self.block(depth - 1, around + 1, True)
            elif kind < 0.9:
                lines += [f"{pad}try:", *self.block(depth - 1, around + 1, in_loop)]
                lines += [f"{pad}except TypeError:", *self.block(depth - 1, around + 1, in_loop)]
            elif kind < 0.94:
                lines.append(f"{pad}return {self.expr(1)}")
            elif kind < 0.96:
                lines.append(f"{pad}assert {self.condition(1)}")
            elif in_loop:
                lines += [f"{pad}if {self.condition(1)}:", f"{pad}    {self.one_of('break', 'continue')}"]
            else:
                lines.append(f"{pad}o = None")
        return lines

    def module(self):
        helpers = [name for name in HELPERS if self.rng.random() < 0.3]
        self.values += [call for name in helpers for call in (f"{name}(2, o)", f"{name}(3)")]
        body = self.block(3, 1)
        main = "\n".join(["", "def f(a, b, o=None, p=2.5):", *body, f"    return {self.expr(1)}", ""])
        return "".join(HELPERS[name] for name in helpers) + main


def written(value):
    if value is None:
        return {"t": "none"}
    kind = type(value).__name__
    return {"t": kind, "v": {"int": str, "float": repr, "bool": bool}[kind](value)}


def recorded(function, args):
    try:
        return {"outcome": "return", "value": written(function(*args)), "arrays_after": []}
    except (ArithmeticError, AssertionError, TypeError, UnboundLocalError) as error:
        return {"outcome": "raise", "exc": type(error).__name__}


def main():
    rng, cases = random.Random(SEED), []
    while len(cases) < FUNCTIONS:
        source, module, runs = Writer(rng).module(), {}, []
        exec(compile(source, "none", "exec"), module)
        for _ in range(CALLS):
            args = [rng.choice([1.5, -2.0, 3, 0, -1]), rng.choice([0.5, 2, -4.0, 0])]
            args += [rng.choice([None, 1.0, 2])] if rng.random() < 0.3 else []
            runs.append({"args": [written(arg) for arg in args], "cpython": recorded(module["f"], args)})
        cases.append({"id": f"none.{len(cases)}", "source": source, "runs": runs})
    with open(sys.argv[1], "w") as file:
        file.write("[\n" + ",\n".join(json.dumps(case, separators=(",", ":")) for case in cases) + "\n]\n")


if __name__ == "__main__":
    main()
