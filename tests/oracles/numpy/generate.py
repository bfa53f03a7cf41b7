"""Records what numpy computes, for tests/it/numpy.rs.

    python3 -m venv /tmp/numpy && /tmp/numpy/bin/pip install numpy
    /tmp/numpy/bin/python tests/oracles/numpy/generate.py

writes cases.json beside this file. A case is an expression, its inputs as buffers with a start, a shape and strides
in bytes, and the result: element type, shape and elements in C order, or that numpy raises. `exact` says that every
bit counts; other results agree within a relative tolerance, because the order of additions is not the same.
Results do not depend on how inputs lie in memory, so numpy is asked about C-ordered copies of them.
"""

import json
import math
import pathlib
import warnings

import numpy as np

warnings.simplefilter("ignore")
np.seterr(all="ignore")

ELEMENTS = {"bool": "BOOLEAN", "int32": "INT32", "int64": "INT64", "float32": "FLOAT32", "float64": "FLOAT64"}
FLOATS = ["float32", "float64"]
NUMBERS = ["int32", "int64", "float32", "float64"]
ALL = ["bool"] + NUMBERS
LAYOUTS = ["c", "fortran", "strided", "backwards", "unaligned"]

rng = np.random.default_rng(20261121)
cases = []


def values(dtype, shape, special=False):
    """Random elements; among special floats NaN, infinities and both zeros."""
    if dtype == "bool":
        return rng.integers(0, 2, shape).astype(bool)
    if dtype.startswith("int"):
        return rng.integers(-50, 50, shape).astype(dtype)
    array = np.round(rng.standard_normal(shape) * 8, 2).astype(dtype)
    if special and array.size:
        flat = array.reshape(-1)
        for place, value in zip(rng.permutation(array.size)[:4], [np.nan, np.inf, -0.0, -np.inf]):
            flat[place] = value
    return array


def cells(array):
    """Elements in C order as JSON."""
    def cell(x):
        if isinstance(x, float) and x.is_integer() and abs(x) < 1e6 and not (x == 0 and math.copysign(1, x) < 0):
            return int(x)
        if isinstance(x, float):
            return x if math.isfinite(x) else "nan" if math.isnan(x) else "inf" if x > 0 else "-inf"
        return x
    return [cell(x) for x in np.ascontiguousarray(array).reshape(-1).tolist()]


def laid_out(array, layout, units=()):
    """The array as a buffer, a start, and strides."""
    size = array.dtype.itemsize
    pad = 0
    if layout == "fortran":
        buffer = np.asfortranarray(array).ravel(order="K")
        view = np.asfortranarray(array)
        start, strides = 0, view.strides
    elif layout in ("strided", "backwards") and array.ndim:
        # Every second element of a larger array, the last axis forwards or backwards.
        wide = np.zeros([2 * n + 1 for n in array.shape], array.dtype)
        wide[...] = values(array.dtype.name, wide.shape)
        last = slice(1, None, 2) if layout == "strided" else slice(-2, None, -2)
        view = wide[tuple([slice(1, None, 2)] * (array.ndim - 1) + [last])]
        view = view[tuple(slice(0, n) for n in array.shape)]
        view[...] = array
        buffer = wide.reshape(-1)
        start = (view.__array_interface__["data"][0] - wide.__array_interface__["data"][0])
        strides = view.strides
    else:
        view = np.ascontiguousarray(array).reshape(array.shape)
        buffer, start, strides = view.reshape(-1), 0, view.strides
        pad = 1 if layout == "unaligned" else 0
    if array.size == 0:
        buffer, start, strides = array.reshape(-1), 0, [0] * array.ndim
    axes = "".join("1" if axis in units else "N" for axis in range(array.ndim))
    element = ELEMENTS[array.dtype.name]
    return {
        "type": f"NDARRAY_{element}_{axes}" if array.ndim else element,
        "pad": pad,
        "buffer": cells(buffer),
        "start": int(start) + pad,
        "shape": list(array.shape),
        "strides": [int(s) for s in strides],
    }


def record(group, expr, inputs, compute, exact=True):
    """`inputs`: name to (array, layout, unit axes)."""
    case = {
        "id": f"n{len(cases):04}",
        "group": group,
        "expr": expr,
        "inputs": {name: laid_out(*given) for name, given in inputs.items()},
    }
    arrays = {name: np.ascontiguousarray(given[0]).reshape(given[0].shape) for name, given in inputs.items()}
    try:
        result = np.asarray(compute(**arrays))
        case["result"] = {"element": ELEMENTS[result.dtype.name], "shape": list(result.shape), "values": cells(result)}
        case["exact"] = exact
    except (ValueError, IndexError) as error:
        case["raises"] = str(error)
    cases.append(case)


def pointwise():
    binary = {
        "x + y": np.add, "x - y": np.subtract, "x * y": np.multiply,
        "math.minimum(x, y)": np.minimum, "math.maximum(x, y)": np.maximum,
        "bool.less(x, y)": np.less, "bool.equal(x, y)": np.equal, "bool.greater_equal(x, y)": np.greater_equal,
    }
    layouts = iter(LAYOUTS * 1000)
    for expr, f in binary.items():
        for dtype in NUMBERS:
            x, y = values(dtype, (3, 4), True), values(dtype, (3, 4), True)
            record("pointwise", expr, {"x": (x, next(layouts)), "y": (y, next(layouts))}, lambda x, y: f(x, y))
            x, y = values(dtype, (2, 2, 1), True), values(dtype, (1, 3), True)
            given = {"x": (x, next(layouts), (2,)), "y": (y, next(layouts), (0,))}
            record("broadcasting", expr, given, lambda x, y: f(x, y))
        x, y = values("float64", (0, 3)), values("float64", (1, 3))
        record("zero-size", expr, {"x": (x, "c"), "y": (y, "c", (0,))}, lambda x, y: f(x, y))
    for a, b in [("int32", "int64"), ("int32", "float64"), ("int64", "float32"), ("float32", "float64"), ("int32", "float32")]:
        x, y = values(a, (4, 3)), values(b, (3,))
        record("mixed", "x + y", {"x": (x, next(layouts)), "y": (y, next(layouts))}, lambda x, y: x + y)
        record("mixed", "bool.less(x, y)", {"x": (x, next(layouts)), "y": (y, next(layouts))}, lambda x, y: x < y)
    x, y = values("float64", (3, 40)), values("float64", (3, 40))
    for one in LAYOUTS:
        for other in LAYOUTS:
            record("long", "x * y + x", {"x": (x, one), "y": (y, other)}, lambda x, y: x * y + x)
    x, y, z = values("float64", (2, 1, 3)), values("float64", (1, 4, 1)), values("float64", (3,))
    given = {"x": (x, "fortran", (1,)), "y": (y, "strided", (0, 2)), "z": (z, "backwards")}
    record("broadcasting", "x * y + z", given, lambda x, y, z: x * y + z)
    for dtype in NUMBERS:
        x = values(dtype, (3, 3))
        for expr, f in [("math.abs(x)", np.abs), ("-x", np.negative), ("math.sign(x)", np.sign)]:
            record("pointwise", expr, {"x": (x, next(layouts))}, lambda x: f(x))
    for dtype in FLOATS:
        x = np.abs(values(dtype, (3, 3), True))
        for expr, f in [("math.floor(x)", np.floor), ("math.sqrt(x)", np.sqrt)]:
            record("pointwise", expr, {"x": (x, next(layouts))}, lambda x: f(x))
        for expr, f in [("math.exp(x)", np.exp), ("math.log(x)", np.log)]:
            record("pointwise", expr, {"x": (x, next(layouts))}, lambda x: f(x), exact=False)
        y = values(dtype, (3, 1), True)
        given = {"x": (x, next(layouts)), "y": (y, next(layouts), (1,))}
        record("pointwise", "x / y", given, lambda x, y: x / y)
    casts = {"int32": "core.to_int32(x)", "int64": "core.to_int64(x)", "float32": "core.to_float32(x)",
             "float64": "core.to_float64(x)", "bool": "core.to_bool(x)"}
    for target, expr in casts.items():
        for dtype in ALL:
            x = values(dtype, (2, 5))
            record("cast", expr, {"x": (x, next(layouts))}, lambda x: x.astype(target))
    for dtype in ALL:
        c, x, y = values("bool", (3, 1)), values(dtype, (1, 4)), values(dtype, (3, 4))
        given = {"c": (c, next(layouts), (1,)), "x": (x, next(layouts), (0,)), "y": (y, next(layouts))}
        record("where", "nd.where(c, x, y)", given, lambda c, x, y: np.where(c, x, y))
    for expr, f in [("bool.logical_and(x, y)", np.logical_and), ("bool.logical_or(x, y)", np.logical_or)]:
        x, y = values("bool", (3, 4)), values("bool", (3, 4))
        record("pointwise", expr, {"x": (x, next(layouts)), "y": (y, next(layouts))}, lambda x, y: f(x, y))
    for shape in [(5,), (2, 2)]:
        x, y = values("float64", (3, 4)), values("float64", shape)
        record("mismatch", "x + y", {"x": (x, "c"), "y": (y, "c")}, lambda x, y: x + y)


REDUCTIONS = {
    "sum": np.sum, "prod": np.prod, "mean": np.mean, "min": np.min, "max": np.max, "any": np.any, "all": np.all,
    "count": np.count_nonzero, "median": np.median, "var": np.var, "std": np.std,
}
ROUNDED = ["sum", "prod", "mean", "var", "std"]


def axes_text(axes):
    return str(axes) if isinstance(axes, int) else f"tuple({', '.join(map(str, axes))})"


def exactly(name, dtype, axes, rank):
    """True if the order of additions is that of one run of elements."""
    whole = axes is None or axes in (rank - 1, -1)
    return name not in ROUNDED or (name != "prod" and whole) or (dtype not in FLOATS and name in ("sum", "prod"))


def reductions():
    layouts = iter(LAYOUTS * 1000)
    choices = [None, 0, -1, (0, 2), (1, 2), (0, 1, 2)]
    for name, f in REDUCTIONS.items():
        for number, dtype in enumerate(ALL):
            x = values(dtype, (2, 3, 4))
            if name == "prod":
                x = np.where(x == 0, x, x % 5 + 1).astype(dtype)
            for axes in [choices[number % 6], choices[(number + 3) % 6]]:
                given = {"x": (x, next(layouts))}
                exact = exactly(name, dtype, axes, 3)
                if axes is None:
                    record("reduce", f"nd.{name}(x)", given, lambda x: f(x), exact)
                else:
                    record("reduce", f"nd.{name}(x, {axes_text(axes)})", given, lambda x: f(x, axis=axes), exact)
            record("kept", f"nd.{name}(x, 1, keep=true)", {"x": (x, next(layouts))},
                   lambda x: f(x, axis=1, keepdims=True), exactly(name, dtype, 1, 3))
        for dtype in FLOATS:
            x = values(dtype, (4, 4), True)
            record("special", f"nd.{name}(x, 1)", {"x": (x, next(layouts))}, lambda x: f(x, axis=1), exactly(name, dtype, 1, 2))
        for shape, axes in [((0, 3), 0), ((0, 3), 1), ((0,), 0), ((2, 0, 3), (0, 1))]:
            x = values("float64", shape)
            record("zero-size", f"nd.{name}(x, {axes_text(axes)})", {"x": (x, "c")}, lambda x: f(x, axis=axes))
        x = values("float64", (3, 300)) if name != "prod" else 1 + np.round(values("float64", (3, 300)) / 1000, 4)
        record("long", f"nd.{name}(x, 1)", {"x": (x, "fortran")}, lambda x: f(x, axis=1), name != "prod")
    for dtype in NUMBERS:
        x = values(dtype, (3, 5))
        for q in [0.0, 0.3, 0.5, 1.0]:
            given = {"x": (x, next(layouts))}
            record("quantile", f"nd.quantile(x, {q}, 1)", given, lambda x: np.quantile(x, q, axis=1), dtype != "float32")
        for ddof in [1, 5, 7]:
            record("ddof", f"nd.var(x, 1, ddof={ddof})", {"x": (x, next(layouts))}, lambda x: np.var(x, axis=1, ddof=ddof))
            record("ddof", f"nd.std(x, 0, ddof={ddof})", {"x": (x, next(layouts))}, lambda x: np.std(x, axis=0, ddof=ddof), False)
    record("quantile", "nd.quantile(x, 1.5)", {"x": (values("float64", (3,)), "c")}, lambda x: np.quantile(x, 1.5))


def scans():
    layouts = iter(LAYOUTS * 1000)
    back = lambda x, axis: np.flip(np.cumsum(np.flip(x, axis), axis), axis)
    for dtype in ALL:
        x = values(dtype, (2, 3, 4))
        for axis in [0, 1, 2]:
            record("cumsum", f"nd.cumsum(x, {axis})", {"x": (x, next(layouts))}, lambda x: np.cumsum(x, axis))
            record("cumsum", f"nd.cumsum(x, {axis}, reverse=true)", {"x": (x, next(layouts))}, lambda x: back(x, axis))
        record("cumsum", "nd.cumsum(x, tuple(0, 2))", {"x": (x, next(layouts))}, lambda x: np.cumsum(np.cumsum(x, 0), 2))
    for shape in [(0, 3), (3, 0)]:
        record("zero-size", "nd.cumsum(x, 0)", {"x": (values("int32", shape), "c")}, lambda x: np.cumsum(x, 0))


def moves():
    layouts = iter(LAYOUTS * 1000)
    for dtype in ALL:
        x = values(dtype, (2, 3, 4))
        for axes in [(2, 0, 1), (1, 0, 2), None]:
            text = "nd.transpose(x)" if axes is None else f"nd.transpose(x, {axes_text(axes)})"
            record("transpose", text, {"x": (x, next(layouts))}, lambda x: np.transpose(x, axes))
        for axes in [0, -1, (1, 3)]:
            record("expand_dims", f"nd.expand_dims(x, {axes_text(axes)})", {"x": (x, next(layouts))},
                   lambda x: np.expand_dims(x, axes))
        y = values(dtype, (1, 3, 1))
        record("squeeze", "nd.squeeze(x)", {"x": (y, next(layouts), (0, 2))}, lambda x: np.squeeze(x))
        record("squeeze", "nd.squeeze(x, 2)", {"x": (y, next(layouts))}, lambda x: np.squeeze(x, 2))
        record("broadcast_to", "nd.broadcast_to(x, 2, 5, 3, 4)", {"x": (y, next(layouts), (0, 2))},
               lambda x: np.broadcast_to(x, (2, 5, 3, 4)))
        record("reshape", "nd.reshape(x, 4, -1)", {"x": (x, next(layouts))}, lambda x: np.reshape(x, (4, -1)))
        record("reshape", "nd.reshape(x, 24)", {"x": (x, next(layouts))}, lambda x: np.reshape(x, 24))
        z = values(dtype, (2, 1, 4))
        given = {"x": (x, next(layouts)), "y": (z, next(layouts), (1,))}
        record("concatenate", "nd.concatenate(1, x, y, x)", given, lambda x, y: np.concatenate([x, y, x], 1))
        given = {"x": (x, next(layouts)), "y": (x, next(layouts))}
        record("concatenate", "nd.concatenate(-1, x, y)", given, lambda x, y: np.concatenate([x, y], -1))
        i = np.array([[1, 0], [-1, 2]], "int64")
        record("take", "nd.take(x, i, 1)", {"x": (x, next(layouts)), "i": (i, next(layouts))}, lambda x, i: np.take(x, i, 1))
        j = np.array([0, -2, 1], "int32")
        record("take", "nd.take(x, i, 0)", {"x": (x, next(layouts)), "i": (j, next(layouts))}, lambda x, i: np.take(x, i, 0))
        record("take", "nd.take(x, 2, -1)", {"x": (x, next(layouts))}, lambda x: np.take(x, 2, -1))
        record("size", "nd.shape(x)", {"x": (x, next(layouts))}, lambda x: np.array(x.shape, "int64"))
        record("size", "nd.size(x, tuple(0, 2))", {"x": (x, next(layouts))}, lambda x: np.int64(x.shape[0] * x.shape[2]))
    x = values("float64", (2, 3))
    empty = values("float64", (0, 3))
    record("zero-size", "nd.concatenate(0, x, y, y)", {"x": (empty, "c"), "y": (x, "fortran")},
           lambda x, y: np.concatenate([x, y, y], 0))
    record("zero-size", "nd.transpose(x)", {"x": (empty, "c")}, lambda x: np.transpose(x))
    record("zero-size", "nd.reshape(x, 3, 0, 2)", {"x": (empty, "c")}, lambda x: np.reshape(x, (3, 0, 2)))
    record("zero-size", "nd.take(x, i, 0)", {"x": (x, "c"), "i": (np.zeros(0, "int64"), "c")}, lambda x, i: np.take(x, i, 0))
    record("zero-size", "nd.broadcast_to(x, 0, 3)", {"x": (x[:1], "c", (0,))}, lambda x: np.broadcast_to(x, (0, 3)))
    record("raises", "nd.take(x, 3, 1)", {"x": (x, "c")}, lambda x: np.take(x, 3, 1))
    record("raises", "nd.reshape(x, 4, 2)", {"x": (x, "c")}, lambda x: np.reshape(x, (4, 2)))
    record("raises", "nd.reshape(x, 4, -1)", {"x": (x, "c")}, lambda x: np.reshape(x, (4, -1)))
    record("raises", "nd.squeeze(x, 0)", {"x": (x, "c")}, lambda x: np.squeeze(x, 0))
    record("raises", "nd.broadcast_to(x, 4, 3)", {"x": (x, "c")}, lambda x: np.broadcast_to(x, (4, 3)))
    record("raises", "nd.concatenate(0, x, y)", {"x": (x, "c"), "y": (values("float64", (2, 4)), "c")},
           lambda x, y: np.concatenate([x, y], 0))

    for count in [3, 20]:
        zeros = np.full(count, -0.0)
        record("special", "nd.sum(x)", {"x": (zeros, "c")}, lambda x: np.sum(x))
        record("special", "nd.mean(x)", {"x": (zeros, "c")}, lambda x: np.mean(x))


pointwise()
reductions()
scans()
moves()
lines = ",\n".join(json.dumps(case) for case in cases)
target = pathlib.Path(__file__).with_name("cases.json")
target.write_text(f'{{"numpy": "{np.__version__}", "cases": [\n{lines}\n]}}\n')
print(f"{len(cases)} cases")
