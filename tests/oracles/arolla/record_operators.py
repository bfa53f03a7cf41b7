#!/usr/bin/env python3
"""Records what the published evaluator gives for operators of texts, edges, sequences, samples and series: record_operators.py OUT.

Needs arolla 0.0.4.post0. Inputs are drawn from lists and at random. Left out is what Cembra gives otherwise on purpose: replacements
with a backslash before something else than a digit of a group or a backslash, patterns of extract_regex without exactly one group, `\\C`,
hashes of BYTES that are not UTF-8, windows of 0 rows, empty separators of TEXT, edges of mappings whose groups are resized (only split
points have an answer there), and array.take with `over` alone, which is about all rows there.
"""

import json
import math
import random
import re
import sys

from arolla import arolla

SEED = 20
M, L = arolla.M, arolla.L
DENSE = {
    "INT32": arolla.dense_array_int32,
    "INT64": arolla.dense_array_int64,
    "FLOAT32": arolla.dense_array_float32,
    "FLOAT64": arolla.dense_array_float64,
    "TEXT": arolla.dense_array_text,
    "BYTES": arolla.dense_array_bytes,
    "BOOLEAN": arolla.dense_array_boolean,
    "UNIT": arolla.dense_array_unit,
}
ARRAY = {name: getattr(arolla, f"array_{name.lower()}") for name in DENSE}
NAMED = {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}
CATEGORIES = [
    ("invalid regular expression", "PARSE"),
    ("exactly one capturing group", "PARSE"),
    ("argument sizes mismatch", "SIZE_MISMATCH"),
    ("array size doesn't match", "SIZE_MISMATCH"),
    ("same length", "SIZE_MISMATCH"),
    ("to have the same size", "SIZE_MISMATCH"),
    ("division by zero", "DIVISION_BY_ZERO"),
    ("duplicated key", "INDEX_OUT_OF_RANGE"),
    ("array index", "INDEX_OUT_OF_RANGE"),
    ("invalid offset", "INDEX_OUT_OF_RANGE"),
    ("offset", "INDEX_OUT_OF_RANGE"),
    ("size", "INDEX_OUT_OF_RANGE"),
    ("NaN key", "INDEX_OUT_OF_RANGE"),
    ("inverse CDF accepts only", "DOMAIN"),
    ("must be a positive", "DOMAIN"),
    ("alpha must be in range", "DOMAIN"),
]


def scalar(name, value):
    if value is None:
        return getattr(arolla, f"optional_{name.removeprefix('OPTIONAL_').lower()}")(None)
    if name == "OPTIONAL_UNIT":
        return arolla.optional_unit(value)
    if name == "UNIT":
        return arolla.unit()
    value = value.encode("latin-1") if name.endswith("BYTES") else value
    value = NAMED.get(value, value) if "FLOAT" in name else value
    return getattr(arolla, name.lower())(value)


def decoded(given):
    """The value of an input."""
    name, value = given["qtype"], given["value"]
    if name in ("DENSE_ARRAY_EDGE", "ARRAY_EDGE"):
        int64 = (DENSE if name.startswith("DENSE") else ARRAY)["INT64"]
        if "split_points" in value:
            return arolla.eval(M.edge.from_split_points(int64(value["split_points"])))
        return arolla.eval(M.edge.from_mapping(int64(value["mapping"]), value["parent_size"]))
    for prefix, make in (("DENSE_ARRAY_", DENSE), ("ARRAY_", ARRAY)):
        if name.startswith(prefix):
            element = name.removeprefix(prefix)
            if element == "BYTES":
                value = [v if v is None else v.encode("latin-1") for v in value]
            if element.startswith("FLOAT"):
                value = [NAMED.get(v, v) for v in value]
            return make[element](value)
    if name.startswith("SEQUENCE["):
        element = name.removeprefix("SEQUENCE[").removesuffix("]")
        values = [scalar(element, v) for v in value]
        return arolla.types.Sequence(*values, value_qtype=getattr(arolla, element))
    return scalar(name, value)


def number(value):
    if isinstance(value, float) and not math.isfinite(value):
        return "nan" if math.isnan(value) else "inf" if value > 0 else "-inf"
    return value


def payload(value):
    name = str(value.qtype)
    if name.startswith("tuple<"):
        return [encoded(field) for field in value]
    if name.endswith("_TO_SCALAR_EDGE"):
        return {"child_size": int(arolla.eval(M.edge.child_size(value)))}
    if name.endswith("ARRAY_EDGE"):
        text = repr(value)
        if "split_points" in text:
            sizes = [int(v) for v in arolla.eval(M.edge.sizes(value)).py_value()]
            points = [0]
            for size in sizes:
                points.append(points[-1] + size)
            return {"split_points": points}
        mapping = arolla.eval(M.edge.mapping(value)).py_value()
        return {"mapping": mapping, "parent_size": int(arolla.eval(M.edge.parent_size(value)))}
    if name.startswith("SEQUENCE["):
        return [payload(element) for element in value]
    if "ARRAY_" in name and not name.endswith("SHAPE"):
        element = name.rsplit("ARRAY_", 1)[1]
        rows = value.py_value()
        if element == "BYTES":
            return [v if v is None else v.decode("latin-1") for v in rows]
        return [number(v) for v in rows]
    if name.endswith("UNIT"):
        return True if name == "UNIT" or bool(value) else None
    if name.endswith("ARRAY_SHAPE"):
        return int(arolla.eval(M.array.array_shape_size(value)))
    result = value.py_value()
    return result.decode("latin-1") if isinstance(result, bytes) else number(result)


def encoded(value):
    return {"qtype": str(value.qtype), "value": payload(value)}


def error(phase, caught):
    message = str(caught).split("\n")[0]
    category = next((name for part, name in CATEGORIES if part in message), "TYPE")
    return {"category": category if phase == "eval" or category == "PARSE" else "TYPE", "phase": phase, "message": message}


def recorded(text, inputs):
    values = {name: decoded(given) for name, given in inputs.items()}
    try:
        expr = eval(text, {"M": M, "L": L, "arolla": arolla})
        compiled = arolla.abc.CompiledExpr(expr, {name: value.qtype for name, value in values.items()})
    except ValueError as caught:
        return {"error": error("compile", caught)}
    try:
        return {"output": encoded(compiled(**values))}
    except ValueError as caught:
        return {"error": error("eval", caught)}


class Draw:
    """Draws inputs."""

    def __init__(self):
        self.rng = random.Random(SEED)

    def of(self, *choices):
        return self.rng.choice(choices)

    def rows(self, element, values, least=0, most=6, missing=0.2, prefix=None, count=None):
        count = self.rng.randint(least, most) if count is None else count
        row = lambda: None if self.rng.random() < missing else self.rng.choice(values)
        prefix = prefix or self.of("DENSE_ARRAY_", "DENSE_ARRAY_", "ARRAY_")
        return {"qtype": prefix + element, "value": [row() for _ in range(count)]}

    def points(self, groups, most=3):
        points = [0]
        for _ in range(groups):
            points.append(points[-1] + self.rng.randint(0, most))
        return points

    def edge(self, groups=None, prefix="DENSE_ARRAY_", children=None, mapped=None):
        groups = self.rng.randint(1, 4) if groups is None else groups
        mapped = self.rng.random() < 0.5 if mapped is None else mapped
        if not mapped and children is None:
            return {"qtype": prefix + "EDGE", "value": {"split_points": self.points(groups)}}
        children = self.rng.randint(0, 7) if children is None else children
        if not mapped:
            points = sorted([0, children] + [self.rng.randint(0, children) for _ in range(groups - 1)])
            return {"qtype": prefix + "EDGE", "value": {"split_points": points}}
        row = lambda: None if self.rng.random() < 0.15 else self.rng.randrange(groups)
        return {"qtype": prefix + "EDGE", "value": {"mapping": [row() for _ in range(children)], "parent_size": groups}}


def size_of(edge):
    value = edge["value"]
    return value["split_points"][-1] if "split_points" in value else len(value["mapping"])


def groups_of(edge):
    value = edge["value"]
    return len(value["split_points"]) - 1 if "split_points" in value else value["parent_size"]


PATTERNS = r"""
a|ab* b+|c (a)(b)? (a|b)*c ^a a$ ^$ a.b a.*b a.*?b (?s)a.b (?i)AB [a-c]+ [^a-c] [[:alpha:]]+ [[:^digit:]] \d+ \D \w+ \W \s \bb \Bb \x62 \142
\pL+ \p{Greek} \P{L} \p{^Lu} [\d-b] [\w.]+ (?:ab)+ a{2} a{2,} a{1,2}? a{,2} (a*)* (a*)+ (|a)* (|a)+ (?:|a)+b? (a|b|)+ x* a** (a [a *a a{1001} \q
(?U)a+ (?m)^b$ (?m)^$ [a&&b] [a[b] []a] [^]a] [a-] \Qa.b\E \Qa.b é+ [é-ñ] (?i)É (?i)σ (?i)[k] (?i)\w+ . .. (.)(.)? \. \z \A (?P<n>b) (?<n>b) (?=a)
a(?i)b|c (?i:a)b (a)|b (a)|(b) ((a)b)? \101 [\x{61}-\x{63}] [[:word:]]+ [[:punct:]] [[:space:]]+ \ps \pS \p{Foo} [[:foo:]] (?:(?:a))* ^* \b $|b
(?:a{10}){101} (a{2}){3} [^\n] \v|\t \x4 \p{L \8 a\ (?P<a-b>c) (?#x) ) b|*
""".split()
TEXTS = [
    "", "a", "b", "ab", "ba", "aab", "abab", "abc", "cab", "a.b", "a\nb", "b\na\n", "AB", "aAbB", "é", "éé", "añb", "ñandú", "日本", "k\u212a",
    "ſs", "σς", "Σ", "12", "a1b22", " a b ", "\t", "a-b_c", "x{,2}", "a{,2}", "a&b", "[a]", "]", "aaa", "aaaaaa", "λ", "\u0301", "!?", "a b\u00a0c",
]
REPLACEMENTS = ["", "-", "x", "<\\0>", "\\\\", "é", "\\0\\0"]
WITH_GROUP = ["<\\1>", "\\1\\1", "\\0\\1"]


def text_input(draw):
    kind = draw.rng.random()
    if kind < 0.5:
        return {"qtype": "TEXT", "value": draw.rng.choice(TEXTS)}
    if kind < 0.65:
        return {"qtype": "OPTIONAL_TEXT", "value": draw.of(None, draw.rng.choice(TEXTS))}
    return draw.rows("TEXT", TEXTS)


def literal(text):
    return json.dumps(text, ensure_ascii=False).replace("\\u", "\\u")


def groups(pattern):
    return len(re.findall(r"(?<!\\)\((?!\?)|\(\?P?<[a-z]", pattern))


def regex_cases(draw):
    for pattern in PATTERNS:
        for text in draw.rng.sample(TEXTS, 2):
            one = {"qtype": "TEXT", "value": text}
            yield "regex", f"M.strings.contains_regex(L.s, {literal(pattern)})", {"s": one}
            yield "regex", f"M.strings.replace_all_regex(L.s, {literal(pattern)}, {literal(draw.rng.choice(REPLACEMENTS))})", {"s": one}
        yield "regex", f"M.strings.contains_regex(L.s, {literal(pattern)})", {"s": text_input(draw)}
        if groups(pattern) == 1:
            yield "regex", f"M.strings.extract_regex(L.s, {literal(pattern)})", {"s": text_input(draw)}
        replacement = {"qtype": "TEXT", "value": draw.rng.choice(WITH_GROUP if groups(pattern) else REPLACEMENTS)}
        yield "regex", f"M.strings.replace_all_regex(L.s, {literal(pattern)}, L.t)", {"s": text_input(draw), "t": replacement}
    for _ in range(40):
        texts = draw.rows("TEXT", TEXTS)
        prefix = texts["qtype"].removesuffix("TEXT")
        other = draw.rows("TEXT", REPLACEMENTS, prefix=prefix, count=draw.of(len(texts["value"]), len(texts["value"]), 3))
        other = draw.of(other, {"qtype": "OPTIONAL_TEXT", "value": draw.of(None, "-")})
        pattern = draw.rng.choice(["a", "b|", "(a)", "[[:alpha:]]+"])
        yield "regex", f"M.strings.replace_all_regex(L.s, {literal(pattern)}, L.t)", {"s": texts, "t": other}
    for pattern in ["a", "(b)", "a+|b", "(", "é"]:
        given = {"s": text_input(draw), "r": {"qtype": "TEXT", "value": pattern}}
        yield "regex", "M.strings.contains_regex(L.s, L.r)", given
        if groups(pattern) == 1:
            yield "regex", "M.strings.extract_regex(L.s, L.r)", given
    for wrong in [{"qtype": "BYTES", "value": "a"}, {"qtype": "INT32", "value": 1}]:
        yield "regex", 'M.strings.contains_regex(L.s, "a")', {"s": wrong}
        yield "regex", 'M.strings.contains_regex("a", L.s)', {"s": wrong}
        yield "regex", 'M.strings.replace_all_regex("a", "b", L.s)', {"s": wrong}


KEYS = {
    "INT32": [1, 2, 3, -5],
    "INT64": [1, 2, 3, 2**40],
    "TEXT": ["a", "b", "", "ab"],
    "BYTES": ["a", "\xff", ""],
    "BOOLEAN": [True, False],
}


def keys(draw, **options):
    element = draw.rng.choice(list(KEYS))
    return draw.rows(element, KEYS[element], **options)


def distinct(draw, given):
    values = list(dict.fromkeys(given["value"]))
    draw.rng.shuffle(values)
    return {"qtype": given["qtype"], "value": values}


def edge_cases(draw):
    for _ in range(36):
        children = keys(draw)
        parents = distinct(draw, children) if draw.rng.random() < 0.7 else keys(draw, prefix=children["qtype"].rsplit("ARRAY_")[0] + "ARRAY_")
        if children["qtype"].endswith("INT32") and parents["qtype"].endswith("INT32") and draw.rng.random() < 0.5:
            parents["qtype"] = parents["qtype"].replace("INT32", "INT64")
        yield "edges", "M.edge.from_keys(L.c, L.p)", {"c": children, "p": parents}
    for _ in range(30):
        count, rows = draw.rng.randint(0, 5), draw.rng.randint(0, 4)
        given = {}
        for name in "ab":
            element = draw.rng.choice(["INT64", "TEXT"])
            given["c" + name] = draw.rows(element, KEYS[element][:2], prefix="DENSE_ARRAY_", count=count)
            given["p" + name] = draw.rows(element, KEYS[element][:2], prefix="DENSE_ARRAY_", count=rows)
        pairs = dict.fromkeys(zip(given["pa"]["value"], given["pb"]["value"]))
        given["pa"]["value"], given["pb"]["value"] = [a for a, _ in pairs], [b for _, b in pairs]
        yield "edges", "M.edge.from_keys(M.core.make_tuple(L.ca, L.cb), M.core.make_tuple(L.pa, L.pb))", given
    for _ in range(36):
        prefix = draw.of("DENSE_ARRAY_", "ARRAY_")
        edge = draw.edge(prefix=prefix)
        rows = size_of(edge) if draw.rng.random() < 0.95 else 2
        element = draw.rng.choice(["INT64", "TEXT", "FLOAT64", "UNIT"])
        values = {"FLOAT64": [0.0, -0.0, 1.5], "UNIT": [True], **KEYS}[element]
        given = {"x": draw.rows(element, values, prefix=prefix, count=rows), "e": edge}
        second = draw.rows("INT64", [1, 2], prefix=prefix, count=rows)
        pair = "M.core.make_tuple(L.x, L.y)"
        yield "edges", "M.edge.group_by(L.x, L.e)", given
        yield "edges", "M.edge.group_by2(L.x, L.e)", given
        yield "edges", f"M.edge.group_by({pair})", {"x": given["x"], "y": second}
        yield "edges", draw.of(f"M.edge.group_by({pair}, L.e)", f"M.edge.group_by2({pair}, L.e)"), {**given, "y": second}
        yield "edges", draw.of("M.edge.group_by2(L.x)", "M.edge.to_single(L.x)", "M.edge.indices(M.edge.to_scalar(L.x))"), {"x": given["x"]}
        yield "edges", draw.of("M.edge.indices(L.e)", "M.edge.as_dense_array_edge(L.e)"), {"e": edge}
        shape = draw.of("M.edge.child_shape(L.e)", "M.edge.parent_shape(L.e)")
        yield "edges", f"M.array.array_shape_size({shape})", {"e": edge}
        yield "edges", f"M.array.iota({shape})" if prefix[0] == "D" else f"M.edge.from_shape({shape})", {"e": edge}
    yield "edges", "M.edge.group_by(L.x)", {"x": {"qtype": "DENSE_ARRAY_FLOAT64", "value": [1.0, "nan"]}}
    for _ in range(24):
        sizes = draw.rows(draw.of("INT32", "INT64"), [0, 1, 2, 3], missing=0.03)
        for name in ("pair_left", "pair_right", "from_sizes_or_shape"):
            yield "edges", f"M.edge.{name}(L.s)", {"s": sizes}
    for _ in range(36):
        prefix = draw.of("DENSE_ARRAY_", "ARRAY_")
        edge = draw.edge(prefix=prefix, mapped=False)
        groups = groups_of(edge) if draw.rng.random() < 0.95 else 1
        size = draw.of({"qtype": draw.of("INT32", "INT64"), "value": draw.of(0, 1, 2, 3, -1)}, draw.rows("INT64", [0, 1, 2, 3], prefix=prefix, count=groups, missing=0.02))
        yield "edges", "M.edge.resize_groups_parent_side(L.e, L.s)", {"e": edge, "s": size}
        yield "edges", "M.edge.resize_groups_child_side(L.e, L.s)", {"e": edge, "s": size}
        offsets = []
        points = edge["value"]["split_points"]
        for start, end in zip(points, points[1:]):
            offsets += draw.rng.sample(range(end - start + 1), end - start)
        offsets = [None if draw.rng.random() < 0.1 else offset - (draw.rng.random() < 0.04) for offset in offsets]
        given = {"e": edge, "s": size, "o": {"qtype": prefix + "INT64", "value": offsets}}
        yield "edges", "M.edge.resize_groups_child_side(L.e, L.s, L.o)", given
    for _ in range(20):
        given = {"x": draw.rows("INT64", [1], prefix="DENSE_ARRAY_"), "s": {"qtype": "INT64", "value": draw.of(0, 1, 2, 5)}}
        yield "edges", "M.edge.resize_groups_parent_side(M.edge.to_scalar(L.x), L.s)", given
        yield "edges", "M.edge.resize_groups_child_side(M.edge.to_scalar(L.x), L.s)", given
    for _ in range(36):
        prefix, groups = draw.of("DENSE_ARRAY_", "ARRAY_"), draw.rng.randint(1, 3)
        over, ids_over = (draw.edge(groups=groups, prefix=prefix) for _ in range(2))
        element = draw.of("INT64", "TEXT", "FLOAT32")
        values = {"FLOAT32": [0.5, 1.5], **KEYS}[element]
        given = {
            "x": draw.rows(element, values, prefix=prefix, count=size_of(over) if draw.rng.random() < 0.95 else 1),
            "i": draw.rows(draw.of("INT32", "INT64"), [0, 0, 0, 0, 1, 2], prefix=prefix, count=size_of(ids_over)),
            "e": over,
            "f": ids_over,
        }
        yield "edges", "M.array.take(L.x, L.i, L.e, L.f)", given
        yield "edges", "M.array.take(L.x, L.i, M.edge.to_scalar(L.x), M.edge.to_scalar(L.i))", {name: given[name] for name in "xi"}


NUMBERS = {"INT32": [1, 2, -3], "INT64": [1, 2**40], "FLOAT32": [0.5, -1.25], "FLOAT64": [0.1, 2.5], "BOOLEAN": [True, False], "TEXT": ["a", ""]}


def value(draw, elements):
    element = draw.rng.choice(elements)
    given = draw.rng.choice(NUMBERS[element])
    return draw.of({"qtype": element, "value": given}, {"qtype": "OPTIONAL_" + element, "value": draw.of(None, given)})


def array_cases(draw):
    groups = [["INT32", "INT64"], ["INT32", "FLOAT32"], ["INT64", "FLOAT64", "FLOAT32"], ["TEXT"], ["BOOLEAN"], ["TEXT", "INT32"]]
    for _ in range(36):
        elements = draw.rng.choice(groups)
        given = {name: value(draw, elements) for name in "abc"[: draw.rng.randint(1, 3)]}
        names = ", ".join(f"L.{name}" for name in given)
        for expr in (f"M.array.make_dense_array({names})", f"M.array.interleave({names})", f"M.array.as_dense_array(M.core.make_tuple({names}))"):
            yield "arrays", expr, given
        yield "arrays", draw.of("M.array.as_dense_array(L.a)", "M.array.as_array(L.a)"), {"a": given["a"]}
    for element, numbers in NUMBERS.items():
        given = {"a": {"qtype": element, "value": numbers[0]}, "b": {"qtype": "OPTIONAL_" + element, "value": numbers[1]}}
        yield "arrays", "M.math.float(L.a)", given
        yield "arrays", "M.math.float(L.b)", given
        yield "arrays", "M.core.coalesce_units(arolla.unit(), L.b, L.a)", given
        yield "arrays", "M.core.apply(M.math.add, L.a, L.b)", given
        yield "arrays", "M.core.apply_varargs(M.math.add, L.a, M.core.make_tuple(L.b))", given
    for _ in range(36):
        elements, prefix, count = draw.rng.choice(groups), draw.of("DENSE_ARRAY_", "ARRAY_"), draw.rng.randint(0, 4)
        given = {}
        for name in "abc"[: draw.rng.randint(1, 3)]:
            element = draw.rng.choice(elements)
            size = count if draw.rng.random() < 0.93 else 2
            rows = draw.rows(element, NUMBERS[element], prefix=prefix, count=size)
            given[name] = rows if draw.rng.random() < 0.8 else value(draw, elements)
        yield "arrays", f"M.array.interleave({', '.join(f'L.{name}' for name in given)})", given
        yield "arrays", draw.of("M.array.as_dense_array(L.a)", "M.array.as_array(L.a)"), {"a": given["a"]}
        if given["a"]["qtype"].startswith(prefix):
            size = {"qtype": draw.of("INT32", "INT64"), "value": draw.of(0, 1, 3, -1)}
            yield "arrays", "M.array.array_shape_size(M.array.resize_array_shape(M.core.shape_of(L.a), L.n))", {"a": given["a"], "n": size}
            yield "arrays", "M.core.const_with_shape(M.array.make_array_shape(L.n), 1)", {"n": size}


SEQUENCES = {"INT32": [1, 1, 1, 2], "INT64": [5, 5, 5, 7], "FLOAT64": [0.0, -0.0, "nan", 1.5], "FLOAT32": [0.5, 0.5, 2.0], "BOOLEAN": [True, True, False]}


def sequence(draw, element, count=None):
    count = draw.rng.randint(0, 3) if count is None else count
    values = [draw.rng.choice(SEQUENCES[element]) for _ in range(count)]
    return {"qtype": f"SEQUENCE[{element}]", "value": values}


def sequence_cases(draw):
    for _ in range(24):
        element = draw.rng.choice(list(SEQUENCES))
        yield "sequences", "M.seq.all_equal(L.s)", {"s": sequence(draw, element)}
        n = {"qtype": draw.of("INT32", "INT64"), "value": draw.of(-1, 0, 1, 3)}
        yield "sequences", "M.seq.repeat(L.v, L.n)", {"v": {"qtype": element, "value": draw.rng.choice(SEQUENCES[element])}, "n": n}
    for _ in range(36):
        first, second, count = draw.of("INT32", "INT64"), draw.of("INT32", "INT64", "FLOAT64"), draw.rng.randint(0, 3)
        given = {"a": sequence(draw, first, count), "b": sequence(draw, second, count if draw.rng.random() < 0.9 else 2)}
        op = draw.of("M.math.add", "M.math.multiply", "M.math.floordiv", "M.math.maximum", "M.bool.less")
        yield "sequences", f"M.seq.map({op}, L.a, L.b)", given
        yield "sequences", f"M.seq.map({draw.of('M.math.neg', 'M.core.to_float64', 'M.math.abs')}, L.a)", {"a": given["a"]}


HASHED = {
    "INT32": [0, 1, -7, 2**31 - 1], "INT64": [-(2**63), 2**63 - 1, 12], "FLOAT32": [0.5, 1.0, -0.25], "FLOAT64": [0.1, 1e-7, 1e20, "nan", "-inf"],
    "BOOLEAN": [True, False], "UNIT": [True], "TEXT": ["", "a", "日本", "x" * 17, "y" * 33, "z" * 64, "w" * 65, "v" * 200], "BYTES": ["", "\x00a'"],
}


def random_cases(draw):
    seeds = [0, 1, -1, 2**62, 12345]
    for element, values in HASHED.items():
        for given in values:
            seed = {"qtype": draw.of("INT64"), "value": draw.rng.choice(seeds)}
            yield "random", "M.random.cityhash(L.x, L.s)", {"x": {"qtype": element, "value": given}, "s": seed}
        yield "random", "M.random.cityhash(L.x, 7)", {"x": {"qtype": "OPTIONAL_" + element, "value": draw.of(None, values[0])}}
        yield "random", "M.random.cityhash(L.x, L.s)", {"x": draw.rows(element, values), "s": seed}
    shape = "M.core.shape_of(L.x)"
    for _ in range(24):
        rows = {"x": draw.rows("INT64", [1], most=20)}
        prefix = rows["x"]["qtype"].removesuffix("INT64")
        count = len(rows["x"]["value"])
        seed = {"s": {"qtype": "INT64", "value": draw.rng.choice(seeds)}}
        ratio = {"r": {"qtype": draw.of("FLOAT32", "FLOAT64"), "value": draw.of(0.0, 0.25, 0.5, 0.875, 1.0, 1.5, -0.5, "nan")}}
        key = {"k": draw.rows(draw.of("INT64", "TEXT"), [1], prefix=prefix, count=count)}
        if key["k"]["qtype"].endswith("TEXT"):
            key["k"]["value"] = [draw.of("a", "b", None, "c", "d") for _ in range(count)]
        else:
            key["k"]["value"] = [draw.rng.randint(0, 99) for _ in range(count)]
        yield "random", f"M.random.sample({shape}, L.r, L.s)", {**rows, **seed, **ratio}
        yield "random", f"M.random.sample({shape}, L.r, L.s, L.k)", {**rows, **seed, **ratio, **key}
        n = {"n": {"qtype": draw.of("INT32", "INT64"), "value": draw.of(-1, 0, 1, 3, 50)}}
        yield "random", f"M.random.sample_n({shape}, L.n, L.s)", {**rows, **seed, **n}
        yield "random", f"M.random.sample_n({shape}, L.n, L.s, L.k)", {**rows, **seed, **n, **key}
        edge = draw.edge(prefix=prefix, children=count)
        sizes = {"n": draw.rows("INT64", [0, 1, 2], prefix=prefix, count=groups_of(edge)), "e": edge}
        yield "random", f"M.random.sample_n({shape}, L.n, L.s, over=L.e)", {**rows, **seed, **sizes}


def piece_cases(draw):
    texts = ["", " a  b ", "a,b,,c", ",", "ab", "a1b22", "x9 y10", "\t", "a\u00a0b", "XXX"]
    for _ in range(40):
        element = draw.of("TEXT", "TEXT", "BYTES")
        separators = [",", " ", "X", "XX", "b"] + ([""] if element == "BYTES" else [])
        rows = draw.rows(element, [text.replace("\u00a0", "-") if element == "BYTES" else text for text in texts])
        sep = {"qtype": element, "value": draw.rng.choice(separators)}
        yield "pieces", "M.strings.split(L.s)", {"s": rows}
        yield "pieces", "M.strings.split(L.s, L.t)", {"s": rows, "t": sep}
        yield "pieces", "M.strings.split(L.s, L.t)", {"s": rows, "t": {"qtype": "OPTIONAL_" + element, "value": draw.of(None, sep["value"])}}
        pattern = draw.of("([a-z])([0-9]+)?", "(a)|(b)", "[0-9]", "(X)", "(?:a)(.)", "^(a)", "(", "(b+)(,?)")
        given = draw.of(draw.rows("TEXT", texts), {"qtype": "TEXT", "value": draw.rng.choice(texts)}, {"qtype": "OPTIONAL_TEXT", "value": draw.of(None, "ab")})
        yield "pieces", f"M.strings.findall_regex(L.s, {literal(pattern)})", {"s": given}
    for wrong in [{"qtype": "TEXT", "value": "a"}, {"qtype": "DENSE_ARRAY_INT32", "value": [1]}]:
        yield "pieces", "M.strings.split(L.s)", {"s": wrong}


def series_cases(draw):
    for _ in range(40):
        element = draw.of("FLOAT32", "FLOAT64", "INT32")
        values = [1, 2, -3, 7] if element == "INT32" else [0.5, 1.25, -2.0, 3.75, 0.125]
        rows = draw.rows(element, values, prefix="DENSE_ARRAY_", most=8)
        alpha = {"qtype": draw.of("FLOAT32", "FLOAT64"), "value": draw.of(0.25, 0.5, 0.75, 1.0, 0.0, 1.5)}
        adjust, ignore = draw.of("True", "False"), draw.of("True", "False")
        yield "series", f"M.experimental.ewma(L.x, L.a, {adjust}, {ignore})", {"x": rows, "a": alpha if element != "INT32" else {**alpha, "qtype": "FLOAT32"}}
        edge = draw.edge(children=len(rows["value"]))
        window = {"qtype": draw.of("INT32", "INT64"), "value": draw.of(1, 2, 3, 4, -1)}
        yield "series", "M.experimental.agg_moving_average(L.x, L.n, L.e)", {"x": rows, "n": window, "e": edge}
        lag = {"qtype": "INT64", "value": draw.of(0, 1, 2)}
        if all(v is not None for v in rows["value"]) and len(set(rows["value"])) > 2 and element == "FLOAT64":
            yield "series", "M.experimental.serial_correlation(L.x, L.n)", {"x": rows, "n": lag}
        floats = draw.of("FLOAT32", "FLOAT64")
        x = draw.rows(floats, [0.5, 1.25, -2.0, 3.75], prefix="DENSE_ARRAY_", count=len(rows["value"]))
        weights = draw.rows(floats, [0.0, 0.5, 1.0, 2.25], prefix="DENSE_ARRAY_", count=len(rows["value"]) if draw.rng.random() < 0.95 else 2)
        yield "series", "M.math.cdf(L.x, L.w)", {"x": x, "w": weights}
        yield "series", "M.math.cdf(L.x, L.w, L.e)", {"x": x, "w": weights, "e": edge}


def distribution_cases(draw):
    probabilities = [0.0, 1.0, 0.5, 0.25, 0.975, 0.001, 1e-10, 0.999, -0.5, 1.5, "nan"]
    sizes = [0.5, 1.0, 2.5, 10.0, 100.0, 3.0, 0.0, -1.0, "inf", "nan"]
    for _ in range(50):
        element = draw.of("FLOAT64", "FLOAT64", "FLOAT32")
        one = lambda values: {"qtype": element, "value": draw.rng.choice(values)}
        p = draw.of(one(probabilities), one(probabilities[:8]))
        if element == "FLOAT32":
            p["value"] = draw.of(0.0, 1.0, 0.5, 0.25, 0.875)
        a, b = (draw.of(one(sizes), one(sizes[:6]), one(sizes[:6])) for _ in range(2))
        yield "distributions", "M.math.normal_distribution_inverse_cdf(L.p)", {"p": p}
        yield "distributions", "M.math.t_distribution_inverse_cdf(L.p, L.a)", {"p": p, "a": a}
        yield "distributions", "M.math.beta_distribution_inverse_cdf(L.p, L.a, L.b)", {"p": p, "a": a, "b": b}
    rows = draw.rows("FLOAT64", [0.1, 0.5, 0.9], prefix="DENSE_ARRAY_")
    yield "distributions", "M.math.normal_distribution_inverse_cdf(L.p)", {"p": rows}
    yield "distributions", "M.math.t_distribution_inverse_cdf(L.p, 3)", {"p": rows}


APPROXIMATE = {"distributions", "series"}
FAMILIES = {"regex": regex_cases, "edges": edge_cases, "arrays": array_cases, "sequences": sequence_cases, "random": random_cases, "pieces": piece_cases, "series": series_cases, "distributions": distribution_cases}


def main():
    draw, cases = Draw(), []
    for make in FAMILIES.values():
        for family, text, inputs in make(draw):
            compare = "approx" if family in APPROXIMATE else "exact"
            case = {"id": f"o{len(cases):04}", "family": family, "expr": text, "inputs": inputs, "compare": compare}
            cases.append({**case, **recorded(text, inputs)})
    meta = {
        "source": "arolla 0.0.4.post0 (PyPI wheel, cp311), compiled with the default optimizer and evaluated",
        "encoding": "as in cases.json; SEQUENCE and SHAPE: a list, a number of rows",
        "n": len(cases),
    }
    with open(sys.argv[1], "w", encoding="utf-8") as file:
        lines = ",\n".join(json.dumps(case, separators=(",", ":")) for case in cases)
        file.write(f'{{"meta":{json.dumps(meta)},"cases":[\n{lines}\n]}}\n')


if __name__ == "__main__":
    main()
