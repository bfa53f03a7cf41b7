#!/usr/bin/env python3
"""Records what Numba gives for the programs of programs.txt: record_programs.py OUT.

A program of programs.txt begins with its name, which is that of its last function, and a list of the arguments of its calls. The first
call is made again with arrays of no element, of one, and with NaN or the least integer in them. Indices are checked.
"""

import copy
import json
import math
import os
import sys

import numba
import numpy as np

FOLDER = os.path.dirname(os.path.abspath(__file__))
IMPORTS = "import math\nimport numpy as np\n"


def names():
    """What arguments are written with: numbers that are the same in every recording."""
    state = [7]

    def number():
        state[0] = (state[0] * 1103515245 + 12345) % 2**31
        return state[0] >> 8

    def ints(*sizes, low=-50, high=50, dtype=np.int64):
        return np.array([low + number() % (high - low) for _ in range(math.prod(sizes))], dtype).reshape(sizes)

    def floats(*sizes):
        return np.array([(number() % 4001 - 2000) / 1000 for _ in range(math.prod(sizes))]).reshape(sizes)

    def definite(size):
        root = floats(size, size)
        return root @ root.T + size * np.eye(size)

    return {"np": np, "ints": ints, "floats": floats, "definite": definite, "nan": math.nan, "inf": math.inf}


def programs():
    with open(os.path.join(FOLDER, "programs.txt")) as file:
        parts = file.read().split("#@ ")[1:]
    for part in parts:
        head, source = part.split("\n", 1)
        name, calls = head.split(" | ", 1)
        yield name, IMPORTS + source, [args if isinstance(args, tuple) else (args,) for args in eval(calls, names())]


def with_edges(calls):
    """The calls, and the first one with other arrays."""
    first = calls[0]
    yield from calls
    for at, arg in enumerate(first):
        if isinstance(arg, np.ndarray):
            others = [arg[:0], arg[:1]]
            if arg.size and arg.dtype.kind in "fi":
                other = arg.copy()
                other.flat[arg.size // 2] = math.nan if arg.dtype.kind == "f" else np.iinfo(arg.dtype).min
                others.append(other)
            for other in others:
                yield (*first[:at], np.ascontiguousarray(other), *first[at + 1 :])


def value(of):
    if of is None:
        return {"t": "none", "v": None}
    if isinstance(of, tuple):
        return {"t": "tuple", "v": [value(field) for field in of]}
    if isinstance(of, np.ndarray):
        data = [str(x) if of.dtype.kind in "iub" else repr(float(x)) for x in of.ravel()]
        return {"t": "array", "dtype": str(of.dtype), "shape": list(of.shape), "order": "C", "data": data}
    if isinstance(of, (bool, np.bool_)):
        return {"t": "bool", "v": bool(of)}
    if isinstance(of, (int, np.integer)):
        return {"t": "int", "v": str(int(of))}
    return {"t": "float", "v": repr(float(of))}


def has_other_shapes(function, args):
    """True if numpy says that arrays do not fit: in place, Numba does not look, and takes what stands behind them."""
    try:
        function(*copy.deepcopy(args))
    except ValueError as error:
        return "broadcast" in str(error)
    except Exception:
        pass
    return False


def record(function, args):
    own = copy.deepcopy(args)
    if has_other_shapes(function.py_func, args):
        return {"args": [value(arg) for arg in args], "numba": {"outcome": "raise", "exc": "ValueError"}}
    try:
        result = {"outcome": "return", "value": value(function(*own))}
        result["arrays_after"] = [value(arg) for arg in own if isinstance(arg, np.ndarray)]
    except (ArithmeticError, LookupError, ValueError, AssertionError) as error:
        result = {"outcome": "raise", "exc": type(error).__name__}
    return {"args": [value(arg) for arg in args], "numba": result}


def main():
    cases = []
    for name, source, calls in programs():
        scope = {}
        exec(source, scope)
        for other, function in list(scope.items()):
            if hasattr(function, "__code__"):
                scope[other] = numba.njit(boundscheck=True)(function)
        runs = [record(scope[name], args) for args in with_edges(calls)]
        cases.append({"id": name, "source": source, "entry": name, "runs": runs})
        print(name, file=sys.stderr)
    with open(sys.argv[1], "w") as file:
        file.write("[\n" + ",\n".join(json.dumps(case, separators=(",", ":")) for case in cases) + "\n]\n")


if __name__ == "__main__":
    main()
