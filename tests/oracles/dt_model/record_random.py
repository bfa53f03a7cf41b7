#!/usr/bin/env python3
"""Random graphs, with what the published engine makes of them: record_random.py COUNT OUT.

Needs civic-digital-twins 0.8.1 and numpy 2.4. Graphs grow node by node; a node that raises is dropped, or is the last
of its graph. Left out is what depends on the machine or rounds otherwise here (docs/graphs.md): negative zeros, and
quantiles of other types than float64.
"""

import contextlib
import io
import json
import math
import random
import sys
import warnings

import numpy as np
from civic_digital_twins.dt_model.engine import compileflags
from civic_digital_twins.dt_model.engine.frontend import graph, linearize
from civic_digital_twins.dt_model.engine.numpybackend import executor

BINARY = (
    "add subtract multiply divide power maximum equal not_equal less less_equal greater greater_equal"
    " logical_and logical_or logical_xor"
).split()
UNARY = "negate logical_not exp log".split()
REDUCTIONS = "sum mean min max std var median prod any all count_nonzero".split()
TRANSCENDENTAL = {"exp", "log", "power"}
FUNCTIONS = {
    "mul": lambda x, y: x * y,
    "identity": lambda x: x,
    "affine": lambda x, *, scale, shift: x * scale + shift,
}
FLOATS = [0.0, 1.0, -1.0, 0.5, 2.0, -2.5, 0.1, 1e-300, 5e-324, 1.7976931348623157e308]
FLOATS += [math.nan, math.inf, -math.inf, 65504.0, 3.4e38, 1e-40]
INTEGERS = [0, 1, -1, 2, 3, 7, 64, 127, -128, 2**31 - 1, -(2**31), 2**53 + 1, 2**63 - 1, -(2**63)]
TEXTS = ["", "a", "b", "ab", "ä", "\U0001f600", "it's"]
SHAPES = [(), (), (1,), (2,), (3,), (2, 3), (3, 2), (1, 3), (2, 1), (4, 1, 3), (2, 3, 2), (0,), (2, 0)]
DTYPES = ["bool", "int32", "int64", "int64", "float32", "float64", "float64", "str", "int8", "float16"]


def number(value):
    value = float(value)
    if math.isfinite(value):
        return value
    return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"


def array(value):
    value = np.asarray(value)
    kind = value.dtype.kind
    elements = {"f": lambda: [number(v) for v in value.ravel()], "U": lambda: [str(v) for v in value.ravel()]}
    data = elements.get(kind, lambda: value.ravel().tolist())()
    return {"dtype": value.dtype.str if kind == "U" else str(value.dtype), "shape": list(value.shape), "data": data}


class Case:
    def __init__(self, seed):
        self.random = random.Random(seed)
        self.is_extreme = self.random.random() < 0.4
        self.nodes, self.state, self.made, self.values = [], [], {}, {}

    def value(self):
        choice = self.random.choice
        dtype, shape = choice(DTYPES), choice(SHAPES)
        places = range(math.prod(shape))
        if dtype == "str":
            return np.array([choice(TEXTS) for _ in places], dtype=str).reshape(shape)
        if dtype.startswith("float"):
            plain = lambda: choice([self.random.gauss(0, 1), self.random.gauss(0, 100), float(self.random.randint(1, 4))])
            elements = [choice(FLOATS) if self.is_extreme else plain() for _ in places]
        elif dtype == "bool":
            elements = [choice([False, True]) for _ in places]
        else:
            limits = np.iinfo(dtype)
            fitting = [v for v in INTEGERS if limits.min <= v <= limits.max]
            elements = [choice(fitting) if self.is_extreme else self.random.randint(0, 4) for _ in places]
        return np.array(elements, dtype=dtype).reshape(shape)

    def leaf(self, id):
        choice = self.random.random()
        if choice < 0.3:
            value = self.random.choice([2, 0, -3, 0.25, 1.5, True, "a", "it's"])
            kind = {int: "int", float: "float", bool: "bool", str: "str"}[type(value)]
            scalar = {"t": kind, "v": value}
            if choice < 0.2:
                return {"id": id, "op": "constant", "value": scalar, "name": ""}
            return {"id": id, "op": "placeholder", "name": f"p{id}", "default": scalar}
        self.state.append({"node": id, **array(self.value())})
        if choice < 0.4:
            return {"id": id, "op": "timeseries_placeholder", "name": f"t{id}"}
        return {"id": id, "op": "placeholder", "name": f"x{id}", "default": None}

    def pick(self, kinds="bifU"):
        fitting = [id for id, value in self.values.items() if np.asarray(value).dtype.kind in kinds]
        return self.random.choice(fitting or list(self.values))

    def axis(self, rank):
        if self.random.random() < 0.7:
            return self.random.randint(-rank - 1, rank)
        return self.random.sample(range(-rank, rank), min(rank, self.random.randint(0, 2)))

    def inner(self, id):
        choice, node = self.random.random(), {"id": id}
        if choice < 0.42:
            left = self.pick()
            right = self.pick("U" if np.asarray(self.values[left]).dtype.kind == "U" else "bif")
            node |= {"op": self.random.choice(BINARY), "left": left, "right": right}
        elif choice < 0.52:
            node |= {"op": self.random.choice(UNARY), "node": self.pick("bif")}
        elif choice < 0.62:
            node |= {"op": "where", "condition": self.pick(), "then": self.pick(), "otherwise": self.pick()}
        elif choice < 0.70:
            clauses = [[self.pick("b"), self.pick()] for _ in range(self.random.randint(1, 3))]
            node |= {"op": "multi_clause_where", "clauses": clauses, "default_value": self.pick()}
        elif choice < 0.75:
            operand = self.pick()
            node |= {"op": "expand_dims", "node": operand, "axis": self.axis(np.ndim(self.values[operand]))}
        elif choice < 0.95:
            operand = self.pick("bif")
            node |= {"node": operand, "axis": self.axis(np.ndim(self.values[operand]))}
            if np.asarray(self.values[operand]).dtype == np.float64 and self.random.random() < 0.2:
                node |= {"op": "project_using_quantile", "q": self.random.choice([0.0, 0.25, 0.5, 0.95, 1.5])}
            else:
                node |= {"op": "project_using_" + self.random.choice(REDUCTIONS)}
        else:
            name = self.random.choice(list(FUNCTIONS))
            kwargs = {"shift": self.pick("bif"), "scale": self.pick("bif")} if name == "affine" else {}
            args = [self.pick("bif") for _ in range(2 if name == "mul" else 1)]
            return node | {"op": "function_call", "name": name, "args": args, "kwargs": kwargs}
        return node | {"name": ""}

    def grow(self):
        for id in range(1, self.random.randint(2, 5)):
            self.add(self.leaf(id))
            given = {d["node"]: d for d in self.state}
            state = executor.State({self.made[id]: to_array(given[id])} if id in given else {})
            self.values[id] = executor.evaluate_single_node(state, self.made[id])
        for _ in range(self.random.randint(3, 12)):
            id = len(self.nodes) + 1
            node = self.inner(id)
            self.add(node)
            try:
                known = {self.made[other]: value for other, value in self.values.items()}
                self.values[id] = executor.evaluate_single_node(
                    executor.State(known, functions=FUNCTIONS), self.made[id]
                )
            except Exception:
                if self.random.random() < 0.1:
                    break
                self.nodes.pop()
        return self

    def add(self, node):
        self.nodes.append(node)
        self.made[node["id"]] = build(node, self.made)

    def program(self):
        roots = [self.nodes[-1]["id"]]
        roots += [id for id in self.values if id not in roots and self.random.random() < 0.2]
        called = {node["name"]: node["name"] for node in self.nodes if node["op"] == "function_call"}
        return {"nodes": self.nodes, "roots": roots, "state": self.state, "functions": called}


def to_array(given):
    data = given["data"]
    if given["dtype"].startswith("float"):
        data = [float(v) for v in data]
    return np.array(data, dtype=given["dtype"]).reshape(given["shape"])


def build(node, made):
    op, operand = node["op"], lambda field: made[node[field]]
    if op == "constant":
        return graph.constant(node["value"]["v"], node["name"])
    if op == "placeholder":
        return graph.placeholder(node["name"], node["default"] and node["default"]["v"])
    if op == "timeseries_placeholder":
        return graph.timeseries_placeholder(node["name"])
    if op in BINARY:
        return getattr(graph, op)(operand("left"), operand("right"), node["name"])
    if op in UNARY:
        return getattr(graph, op)(operand("node"), node["name"])
    if op == "where":
        return graph.where(operand("condition"), operand("then"), operand("otherwise"), node["name"])
    if op == "multi_clause_where":
        clauses = [(made[condition], made[value]) for condition, value in node["clauses"]]
        return graph.multi_clause_where(clauses, operand("default_value"), node["name"])
    if op == "function_call":
        args, kwargs = [made[id] for id in node["args"]], {key: made[id] for key, id in node["kwargs"].items()}
        return graph.function_call(node["name"], *args, **kwargs)
    axis = tuple(node["axis"]) if isinstance(node["axis"], list) else node["axis"]
    more = {"q": node["q"]} if "q" in node else {}
    return getattr(graph, op)(operand("node"), axis, name=node["name"], **more)


def evaluate(program, flags):
    graph._id_generator = type(graph._id_generator)()  # Numbers of nodes are those of the program.
    made = {}
    for node in program["nodes"]:
        made[node["id"]] = build(node, made)
    numbers = {id(node): number for number, node in made.items()}
    output, result = io.StringIO(), {}
    with contextlib.redirect_stdout(output):
        state = executor.State(
            {made[given["node"]]: to_array(given) for given in program["state"]}, flags, FUNCTIONS
        )
        try:
            returned = executor.evaluate_nodes(state, *linearize.forest(*[made[root] for root in program["roots"]]))
            result["returned"] = kinded(returned)
        except Exception as error:
            result["error"] = {
                # Those of numpy's functions are TypeErrors here.
                "class": "TypeError" if isinstance(error, TypeError) else type(error).__name__,
                "module": type(error).__module__,
                "message": str(error),
            }
    result["evaluated_order"] = [numbers[id(node)] for node in state.values]
    result["values"] = {str(numbers[id(node)]): kinded(value) for node, value in state.values.items()}
    return result | {"stdout": output.getvalue()}


def kinded(value):
    return array(value) | {"kind": "ndarray" if isinstance(value, np.ndarray) else "scalar"}


def record(seed):
    program = Case(seed).grow().program()
    plain, traced = evaluate(program, 0), evaluate(program, compileflags.TRACE)
    return {
        "name": f"random/{seed}",
        "engine": "0.8.1",
        "program": program,
        "transcendental": any(node["op"] in TRANSCENDENTAL for node in program["nodes"]),
        "expected": {"eval": {"nodes": plain | {"trace_stdout": traced["stdout"]}}},
    }


def main():
    warnings.simplefilter("ignore")
    np.seterr(all="ignore")
    count, out = int(sys.argv[1]), sys.argv[2]
    cases = [record(seed) for seed in range(count)]
    meta = {"engine_081": "PyPI civic-digital-twins 0.8.1", "numpy": np.__version__, "script": "record_random.py"}
    with open(out, "w", encoding="utf-8") as file:
        lines = ",\n".join(json.dumps(case, ensure_ascii=False) for case in cases)
        file.write(f'{{"meta":{json.dumps(meta)},"count":{len(cases)},"cases":[\n{lines}\n]}}\n')


if __name__ == "__main__":
    main()
