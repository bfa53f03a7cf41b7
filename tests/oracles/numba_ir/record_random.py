#!/usr/bin/env python3
"""Adds to random functions what CPython gives: record_random.py IN OUT.

IN is what `CEMBRA_RECORD=IN CEMBRA_FUNCTIONS=500 cargo test --test it random_functions` writes: a list of
{"id", "source", "runs": [{"args"}]}. Integers have 64 bits in functions: every operation whose result is an
integer beyond them raises OverflowError here too. Arrays are lists, so that elements and indices are Python's own.
"""

import ast
import json
import sys

LEAST, MOST = -(2**63), 2**63 - 1


def checked(value):
    if type(value) is int and not LEAST <= value <= MOST:
        raise OverflowError("the result does not fit 64 bits")
    return value


class Checks(ast.NodeTransformer):
    """Wraps whatever can compute an integer into a call of `checked`."""

    def wrap(self, node):
        return ast.copy_location(ast.Call(ast.Name("checked", ast.Load()), [node], []), node)

    def visit_BinOp(self, node):
        return self.wrap(self.generic_visit(node))

    def visit_UnaryOp(self, node):
        return self.wrap(self.generic_visit(node))

    def visit_Call(self, node):
        return self.wrap(self.generic_visit(node))

    def visit_AugAssign(self, node):
        node = self.generic_visit(node)
        if not isinstance(node.target, ast.Name):
            return node  # Elements are floats.
        read = ast.copy_location(ast.Name(node.target.id, ast.Load()), node)
        value = self.wrap(ast.copy_location(ast.BinOp(read, node.op, node.value), node))
        return ast.copy_location(ast.Assign([node.target], value), node)


def read(value):
    match value["t"]:
        case "array":
            return [float(item) for item in value["data"]]
        case "int":
            return int(value["v"])
        case "float":
            return float(value["v"])
        case _:
            return value["v"]


def written(value):
    match value:
        case bool():
            return {"t": "bool", "v": value}
        case int():
            return {"t": "int", "v": str(value)}
        case float():
            return {"t": "float", "v": repr(value)}
        case tuple():
            return {"t": "tuple", "v": [written(part) for part in value]}
        case list():
            assert all(type(item) is float for item in value)
            data = [repr(item) for item in value]
            return {"t": "array", "dtype": "float64", "shape": [len(value)], "order": "C", "data": data}
    raise TypeError(value)


def record(function, args):
    args = [read(value) for value in args]
    try:
        value = function(*args)
    except (ArithmeticError, IndexError, ValueError, UnboundLocalError) as error:
        return {"outcome": "raise", "exc": type(error).__name__}
    arrays = [written(value) for value in args if type(value) is list]
    return {"outcome": "return", "value": written(value), "arrays_after": arrays}


def main():
    with open(sys.argv[1]) as file:
        cases = json.load(file)
    for case in cases:
        tree = ast.fix_missing_locations(Checks().visit(ast.parse(case["source"])))
        module = {"checked": checked}
        exec(compile(tree, case["id"], "exec"), module)
        for run in case["runs"]:
            run["cpython"] = record(module["f"], run["args"])
    with open(sys.argv[2], "w") as file:
        file.write("[\n" + ",\n".join(json.dumps(case) for case in cases) + "\n]\n")


if __name__ == "__main__":
    main()
