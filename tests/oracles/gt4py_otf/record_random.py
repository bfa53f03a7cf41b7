#!/usr/bin/env python3
"""Runs the programs of a file as gt4py.next programs and writes what they give into it: record_random.py FILE [OUT].

FILE has cases of the form of FORMAT.md, with `init` in all outputs; their `data`, or their `expect_error`, is replaced.
Every operation becomes an assignment of a field operator, so that the frontend of GT4Py checks its types, and runs by
embedded execution. Needs gt4py 1.1.12, numpy, and scipy for gamma.
"""

import contextlib
import importlib.util
import io
import json
import math
import sys
import tempfile
import warnings

import gt4py.next as gtx
import numpy as np
from gt4py.next import errors
from gt4py.next.embedded.exceptions import IndexOutOfBounds

HEAD = """
import gt4py.next as gtx
from gt4py.next import *
from gt4py.next import Dimension, DimensionKind, Field, FieldOffset
from gt4py.next.ffront.fbuiltins import *
from gt4py.next.experimental import concat_where
"""
SYMBOLS = {
    "add": "+", "sub": "-", "mul": "*", "div": "/", "floordiv": "//", "mod": "%", "lt": "<", "le": "<=", "gt": ">",
    "ge": ">=", "eq": "==", "ne": "!=", "and": "&", "or": "|", "xor": "^",
}
CALLS = {"min": "minimum", "max": "maximum", "pow": "power", "fmod": "fmod"}
TRUTHS = {"lt", "le", "gt", "ge", "eq", "ne", "and", "or", "xor", "isnan", "isinf", "isfinite"}
REDUCTIONS = {"neighbor_sum", "max_over", "min_over"}
# What is refused, by the exception of GT4Py.
CLASSES = {errors.DSLError: "dtype_mismatch", IndexOutOfBounds: "out_of_domain"}


def dtype_of(declared):
    return declared.get("dtype", "float64") if isinstance(declared, dict) else "float64"


def value_of(json_value):
    return float(json_value) if isinstance(json_value, str) else json_value


class Writer:
    """The source of one case."""

    def __init__(self, case):
        self.case = case
        self.fields = {**case["inputs"], **case["outputs"]}
        self.order = {"horizontal": 0, "local": 1, "vertical": 2}
        self.count = 0

    def dim(self, name):
        return name + "Dim" if self.case["dims"][name] == "local" else name

    def sorted_dims(self, dims):
        return sorted(dims, key=lambda dim: (self.order[self.case["dims"][dim]], dim))

    def field_type(self, dims, dtype):
        return f"Field[[{', '.join(self.dim(dim) for dim in dims)}], {dtype}]"

    def literal(self, value, dtype):
        return str(value) if dtype == "bool" else f"{dtype}({value!r})"

    # Each method gives (source, dimensions, element type) and appends to the lines of the operator.

    def named(self, source, dims, dtype):
        self.count += 1
        self.lines.append(f"    t{self.count} = {source}")
        return f"t{self.count}", frozenset(dims), dtype

    def reference(self, name):
        if name in self.scope:
            return self.scope[name]
        self.read.add(name)
        if name in self.fields and not self.in_scan:
            return name, frozenset(self.fields[name]["dims"]), dtype_of(self.fields[name])
        return name, frozenset(), dtype_of(self.fields.get(name) or self.case["scalars"][name])

    def expression(self, e):
        head = e[0]
        if head == "lit":
            dtype = e[2] if len(e) > 2 else "float64"
            return self.literal(value_of(e[1]), dtype), frozenset(), dtype
        if head == "ref":
            return self.reference(e[1])
        if head == "let":
            for name, value in e[1]:
                self.scope[name] = self.expression(value)
            return self.expression(e[2])
        if head == "concat_where":
            (a, of_a, dtype), (b, of_b, _) = self.expression(e[2]), self.expression(e[3])
            condition, dim = self.condition(e[1])
            return self.named(f"concat_where({condition}, {a}, {b})", of_a | of_b | {dim}, dtype)
        if head == "where":
            (c, of_c, _), (a, of_a, dtype), (b, of_b, _) = map(self.expression, e[1:])
            if of_c:
                return self.named(f"where({c}, {a}, {b})", of_a | of_b | of_c, dtype)
            return self.named(f"{a} if {c} else {b}", of_a | of_b, dtype)
        value, dims, dtype = self.expression(e[1])
        table = self.case.get("tables", {}).get(e[2]) if len(e) > 2 and isinstance(e[2], str) else None
        if head == "shift":
            for dim, by in e[2].items():
                value = f"{value}({dim} {'+' if by >= 0 else '-'} {abs(by)})"
            return self.named(value, dims, dtype)
        if head == "cast":
            return self.named(f"astype({value}, {e[2]})", dims, e[2])
        if head == "broadcast":
            return self.named(f"broadcast({value}, ({', '.join(map(self.dim, e[2]))},))", e[2], dtype)
        if head == "gather":
            return self.named(f"{value}({e[2]}[{e[3]}])", dims - {table["to"]} | {table["from"]}, dtype)
        if head == "shift_all":
            return self.named(f"{value}({e[2]})", dims - {table["to"]} | {table["from"], e[2]}, dtype)
        if head == "column":
            return self.named(f"{value}[{self.dim(e[2])}({e[3]})]", dims - {e[2]}, dtype)
        if head in REDUCTIONS:
            # The sum of integers by numpy has 64 bits.
            sums = head == "neighbor_sum" and "int" in dtype
            value = f"{head}({value}, axis={self.dim(e[2])})"
            return self.named(f"astype({value}, {dtype})" if sums else value, dims - {e[2]}, dtype)
        if len(e) == 2:
            sign = {"neg": "-", "not": "~" if dims else "not "}.get(head)
            source = f"{sign}{value}" if sign else f"{head}({value})"
            return self.named(source, dims, "bool" if head in TRUTHS else dtype)
        other, of_other, _ = self.expression(e[2])
        source = f"{value} {SYMBOLS[head]} {other}" if head in SYMBOLS else f"{CALLS[head]}({value}, {other})"
        return self.named(source, dims | of_other, "bool" if head in TRUTHS else dtype)

    def condition(self, e):
        if e[0] in ("and", "or"):
            (a, dim), (b, _) = self.condition(e[1]), self.condition(e[2])
            return f"({a} {SYMBOLS[e[0]]} {b})", dim
        return f"({e[1][1]} {SYMBOLS[e[0]]} {self.bound(e[2])})", e[1][1]

    def bound(self, e):
        if isinstance(e, int):
            return str(e)
        if e[0] == "lit":
            return str(e[1])
        if e[0] == "ref":
            self.read.add(e[1])
            return e[1]
        return f"({self.bound(e[1])} {SYMBOLS[e[0]]} {self.bound(e[2])})"

    def domain(self, domain):
        if domain is None:
            return ""
        def one(ranges):
            parts = [f"{self.dim(dim)}: ({self.bound(a)}, {self.bound(b)})" for dim, (a, b) in ranges.items()]
            return "{" + ", ".join(parts) + "}"
        several = isinstance(domain, list)
        return ", domain=" + ("(" + ", ".join(map(one, domain)) + ")" if several else one(domain))

    def parameter(self, name, as_scalar=False):
        declared = self.fields.get(name)
        dtype = dtype_of(declared or self.case["scalars"].get(name))
        return f"{name}: {dtype if as_scalar or declared is None else self.field_type(declared['dims'], dtype)}"

    def values(self, e):
        if e[0] == "let":
            for name, value in e[1]:
                self.scope[name] = self.expression(value)
            return self.values(e[2])
        return [self.expression(value) for value in (e[1:] if e[0] == "tuple" else [e])]

    def statement(self, number, statement):
        """The operator of a statement, and the line of the program that calls it."""
        scan, targets = statement.get("scan"), statement["targets"]
        self.lines, self.scope, self.read, self.in_scan = [], {}, set(), scan is not None
        dtypes = [dtype_of(self.fields[target]) for target in targets]
        joined = lambda parts: parts[0] if len(parts) == 1 else f"tuple[{', '.join(parts)}]"
        if scan:
            self.scope = {name: (name, frozenset(), dtype) for name, dtype in zip(scan["carry"], dtypes)}
            self.read.update(scan["inputs"])
            literal = lambda init: (value_of(init), "float64") if not isinstance(init, list) else init[1:]
            init = [self.literal(value_of(value), dtype) for value, dtype in map(literal, scan["init"])]
            init = init[0] if len(init) == 1 else f"({', '.join(init)})"
            head = f"@gtx.scan_operator(axis={scan['axis']}, forward={scan['forward']}, init={init})"
            returns, first = joined(dtypes), [f"state: {joined(dtypes)}"]
            self.lines.append(f"    {', '.join(scan['carry'])} = state")
        else:
            head, first = "@gtx.field_operator", []
            returns = joined([self.field_type(self.fields[t]["dims"], d) for t, d in zip(targets, dtypes)])
        results = [source for source, *_ in self.values(scan["body"] if scan else statement["expr"])]
        self.lines.append(f"    return {', '.join(results)}")
        arguments = sorted(self.read)
        parameters = first + [self.parameter(name, self.in_scan) for name in arguments]
        operator = f"{head}\ndef operator{number}({', '.join(parameters)}) -> {returns}:\n" + "\n".join(self.lines)
        out = targets[0] if len(targets) == 1 else f"({', '.join(targets)})"
        domain = self.domain(statement["domain"])
        return operator, f"    operator{number}({', '.join([*arguments, f'out={out}'])}{domain})"

    def source(self):
        lines = [HEAD]
        for dim, kind in self.case["dims"].items():
            lines.append(f"{self.dim(dim)} = Dimension({dim!r}, kind=DimensionKind.{kind.upper()})")
        for name, table in self.case.get("tables", {}).items():
            target = f"({table['from']}, {self.dim(name)})"
            lines.append(f"{name} = FieldOffset({name!r}, source={table['to']}, target={target})")
        statements = [self.statement(*numbered) for numbered in enumerate(self.case["statements"])]
        parameters = [self.parameter(name) for name in [*self.fields, *self.case["scalars"]]]
        head = f"@gtx.program\ndef program({', '.join(parameters)}):"
        return "\n".join([*lines, *(operator for operator, _ in statements), head, *(call for _, call in statements)])


def module_of(case, folder):
    path = f"{folder}/{case['name']}.py"
    with open(path, "w", encoding="utf-8") as file:
        file.write(Writer(case).source() + "\n")
    spec = importlib.util.spec_from_file_location(case["name"], path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def run(case, folder):
    """The outputs by name."""
    module = module_of(case, folder)
    dim = lambda name: getattr(module, name + "Dim" if case["dims"][name] == "local" else name)

    def field(declared, key):
        cells = np.array([value_of(cell) for cell in declared[key]], dtype=dtype_of(declared))
        ends = zip(declared["dims"], declared["origin"], declared["shape"])
        return gtx.as_field({dim(d): (o, o + s) for d, o, s in ends}, cells.reshape(declared["shape"]))

    def scalar(declared):
        value = value_of(declared["value"] if isinstance(declared, dict) else declared)
        return np.dtype(dtype_of(declared)).type(value) if dtype_of(declared) != "bool" else value

    outputs = {name: field(declared, "init") for name, declared in case["outputs"].items()}
    arguments = [field(declared, "data") for declared in case["inputs"].values()]
    arguments += [*outputs.values(), *map(scalar, case["scalars"].values())]
    offsets = {}
    for name, table in case.get("tables", {}).items():
        rows = {dim(table["from"]): len(table["data"]), dim(name): table["max_neighbors"]}
        entries = np.array(table["data"], dtype=np.int32)
        offsets[name] = gtx.as_connectivity(rows, dim(table["to"]), entries, skip_value=table.get("skip"))
    module.program(*arguments, offset_provider=offsets)
    return outputs


def as_json(cell):
    """A cell as it stands in a file: the shortest decimal of its element type."""
    if not isinstance(cell, np.floating):
        return cell.item()
    return float(str(cell)) if math.isfinite(cell) else str(cell)


def record(case, folder):
    for declared in case["outputs"].values():
        declared.pop("data", None)
    case.pop("expect_error", None)
    case.pop("gt4py_embedded_error", None)
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            outputs = run(case, folder)
    except tuple(CLASSES) as error:
        case["expect_error"] = CLASSES[type(error)]
        case["gt4py_embedded_error"] = type(error).__name__
        return
    for name, output in outputs.items():
        declared, cells = case["outputs"][name], output.asnumpy()
        assert str(cells.dtype) == dtype_of(declared), (case["name"], name)
        declared["data"] = [as_json(cell) for cell in cells.reshape(-1)]


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        document = json.load(file)
    np.seterr(all="ignore")
    warnings.simplefilter("ignore")
    with tempfile.TemporaryDirectory() as folder:
        for case in document["cases"]:
            record(case, folder)
    lines = ",\n".join(json.dumps(case, separators=(",", ":")) for case in document["cases"])
    head = json.dumps({key: value for key, value in document.items() if key != "cases"})[:-1]
    with open(sys.argv[-1], "w", encoding="utf-8") as file:
        file.write(f'{head}, "cases": [\n{lines}\n]}}\n')


if __name__ == "__main__":
    main()
