"""Records CPython's trees of sources as texts of the schema `pyast`.

Run with CPython 3.11 in this folder: python record.py > trees.json
The sources are those of ../numba_ir and the snippets below. A source with a literal or a construct that the
schema does not have is left out here; tests of refusals have it.
"""

import ast
import json
import math
import pathlib
import sys

SNIPPETS = r'''
-2**2
---
2**-1
---
2**-1**2
---
not a == b
---
not not a
---
a if b else c if d else e
---
(a if b else c) if d else e
---
a < b < c
---
a < b == c is not d not in e
---
a and b or c and not d or e
---
a or (b or c) or d
---
x = y = 1
---
t = 1,
---
t = ()
---
t = (1, 2,)
---
(a + b) * c
---
((a)) + (b)
---
a - b - c * d // e % f
---
a ** b ** c
---
a | b ^ c & d << e + f
---
~-+a
---
- - a
---
x = [1, 2, 3]
---
x = []
---
f()
---
f(1, 2, a=3, b=4,)
---
f(a)(b)[c].d(e)
---
a[1:2]
---
a[:, 1]
---
a[::2, 1:, :3, ...:] if False else 0
---
a[::]
---
a[:]
---
a[i, j] = a[j, i]
---
a[i,] = 1
---
a[i][j] += 1
---
a, b = b, a
---
(a, b), c = d
---
[a, b] = c
---
for i, (a, b) in enumerate(zip(c, d)):
    pass
else:
    x = 1
---
for i in 1, 2, 3: print(i)
---
while a: a -= 1
else:
    b = 2
---
if a: b; c
elif d: e
else: f
---
if a:
    pass
elif b:
    pass
elif c:
    pass
---
x: int
---
x: float = 1.5
---
def f(a, b: int, c=1, *, d) -> float: return a
---
def f(a, b: int = 2, c=1) -> float:
    """Doc."""
    return a + b
---
@njit
@jit(parallel=True)
def f():
    def g(x):
        return x
    return g
---
lambda: 0
---
lambda x, y=1: x if y else lambda z: z
---
f(lambda x: x + 1, key=lambda a, b: a)
---
[x for x in a]
---
[x + y for x in range(3) for y in a if x if y > 1]
---
[[y for y in x] for x in a]
---
[x for x, y in zip(a, b)]
---
[x for (x, y), in c]
---
[a if b else c for d in e if f or g]
---
if (n := f(x)) > 1:
    print(n)
---
while n := f(n): pass
---
f(a := 1, b)
---
x[a := 1]
---
del a, b
---
del (a)
---
assert a, "text"
---
assert (a)
---
raise
---
raise ValueError("a" 'b'
                 """c""")
---
import math
import numpy as np, numba
import a.b.c as d
---
from math import sqrt
from math import (sin as s, cos,)
---
from . import a
---
from ..b.c import d as e
---
x = 0x_ff + 0o17 + 0b101 + 1_000
---
x = 1. + .5 + 1e5 + 1.5E-3 + 1_0.0_1e1_0 + 00 + 0_0 + 1e400
---
x = 9223372036854775807
---
x = -9223372036854775808
---
x = 1if a else 2
---
x = "a\n\t\\\'\"\x41\u00e9\U0001F600\101\0" r"\n" u'\q' 'a\
b'
---
x = None is True is not False
---
match x:
    case 1:
        a = 1
    case -1 | 2.5:
        a = 2
    case "s" | None | True:
        a = 3
    case y if y > 3:
        a = 4
    case _:
        a = 5
---
match = 1
match[0] = match + 1
match(x)
case = match
---
match (a, b)[0]:
    case 1: pass
---
match -x:
    case _: pass
---
if a:
	if b:
	    c
	d
---
if a:
        b
---

# comment
if a:   # comment
    # comment
  # comment
    b  # comment

    c
# comment
d
---
x = (1 +
     2)
y = [
  1,

  2  # comment
]
---
x = 1 + \
    2
---
a; b; c;
---
if a: pass
b
---
def f():
    if a:
        for b in c:
            while d:
                break
            else:
                continue
    return

x = f()
---
naïve = größe + ß
---
a.b.c
---
x = a.shape[0], a.size
---
5 .real
---
1..real
---
print(*[]) if 0 else 0
---
x = not a in b
---
x = a if not b else not c
---
x = a, *b
---
f((yield)) if 0 else 0
---
x = (1)
---
x = (
)
---
x = ((1, 2), (3,))
---
def f(a=(1, 2), b=[3]): pass
---
for x in (a): pass
---
for (x) in a: pass
---
for x, in a: pass
---
for x.y in a: pass
---
for a[0] in b: pass
---
x = a[b[c[d]]]
---
x = f(g(h(i(j))))
---
x = {}
---
x = {1: 2, a: b if c else d,}, {1, a,}, {1: 2}[3]
---
x = {a: b for a, b in c if a}, {a for a in b}, {(a, b): {c: d} for a in e}
---
x = sum(a for a in b), (a for a in b if c), sum ( a for a in b), f((a for a in b), 1)
---
f(*a, b, *c if d else e, *f or g, h=1)
---
def f(a, b=1, *c):
    def g(*d: int): pass
    nonlocal_ = lambda a, *b: b
---
def f(a, b):
    def g():
        nonlocal a, b
        yield
        yield a, b
        yield
---
x = a<b>c
---
x = a if b else(c)
---
return1 = 2
---
x = yield_ + lambda_ + notx
---
x = ~a**-b
---
x = -a*b
---
x = -a[0].b(c)**d
---
x = a * -b + c
---
x = not a and not b
---
x = lambda: (yield_)
---
x = lambda a: a, 1
---
x = lambda *a: a
---
x = lambda a=lambda b: b, c=2: a
---
x = a == b != c <= d >= e
---
def f(): return
def g(): return 1,
def h(): return a, b
---
x = [a, b,][0]
---
x = [(a, b) for a in b]
---
x = [a for a in b if c if d for e in f]
---
x += 1; x -= 1; x *= 2; x /= 2; x //= 2; x %= 2; x **= 2; x >>= 1; x <<= 1; x &= 1; x |= 1; x ^= 1
---
x = 1;
---
"""doc"""
x = 1
---
def f(): return a[0];
---
if a:
\
    b
---
from ..b\
.c import d
import a.\
b
---
x = 0o1and 2 or 1.5if a else 3
---
print(*a, b=1, *c) if 0 else 0
---
try: a
except b: c
else: d
finally: e
---
x = '\N{COPYRIGHT SIGN}'
---
def f(a):
    try:
        b = a[0]
    except (IndexError, KeyError) as e:
        raise
    except ValueError: b = 1; c = 2
    except:
        for i in a:
            try: d
            finally:
                pass
    else:
        return b   # a comment
    finally:
        del b
    # another one

---
try:
    a
except* b:
    c
'''


class Outside(Exception):
    """The schema has no such node."""


def quoted(text):
    out = ['"']
    for character in text:
        if character in '"\\':
            out.append("\\" + character)
        elif character.isprintable():
            out.append(character)
        else:
            out.append("\\u{%x}" % ord(character))
    out.append('"')
    return "".join(out)


def number(value):
    if isinstance(value, int):
        if not -(2**63) <= value < 2**63:
            raise Outside
        return str(value)
    if math.isinf(value):
        return "inf"
    return repr(value)


def position(node):
    return f" @{node.lineno}:{node.col_offset}-{node.end_lineno}:{node.end_col_offset}"


def listed(nodes):
    return "[" + ", ".join(map(convert, nodes)) + "]"


def optional(node):
    return "_" if node is None else convert(node)


def parameters(args):
    if args.kwarg or args.kwonlyargs or args.posonlyargs:
        raise Outside
    missing = len(args.args) - len(args.defaults)
    defaults = [None] * missing + args.defaults
    each = [
        f"arg({quoted(a.arg)}, {optional(a.annotation)}, {optional(d)}){position(a)}"
        for a, d in zip(args.args, defaults)
    ]
    rest = args.vararg
    rest = f", arg({quoted(rest.arg)}, {optional(rest.annotation)}, _){position(rest)}" if rest else ""
    return "arguments([" + ", ".join(each) + "]" + rest + ")"


def pattern(node):
    if isinstance(node, ast.MatchOr):
        return ", ".join(map(pattern, node.patterns))
    if isinstance(node, ast.MatchAs) and node.pattern is None:
        return "MatchAny" if node.name is None else f"MatchAs({quoted(node.name)})"
    if isinstance(node, ast.MatchValue):
        return f"MatchValue({convert(node.value)})"
    if isinstance(node, ast.MatchSingleton):
        value = ast.copy_location(ast.Constant(node.value), node)
        return f"MatchValue({convert(value)})"
    raise Outside


def case(node):
    patterns = "[" + pattern(node.pattern) + "]"
    return f"match_case({patterns}, {optional(node.guard)}, {listed(node.body)})"


def alias(node):
    name = quoted(node.name)
    return f"alias({name}, {quoted(node.asname)})" if node.asname else f"alias({name})"


def constant(node):
    value = node.value
    if value is None or isinstance(value, bool):
        return f"NameConstant({str(value).lower()})"
    if isinstance(value, (int, float)):
        return f"Num({number(value)})"
    if isinstance(value, str):
        return f"Str({quoted(value)})"
    raise Outside


def fields(node):
    kind = type(node)
    name = kind.__name__
    if kind is ast.Module:
        return [listed(node.body)]
    if kind is ast.FunctionDef:
        parts = [quoted(node.name), parameters(node.args), listed(node.body), listed(node.decorator_list)]
        return parts + [optional(node.returns)]
    if kind is ast.Lambda:
        return [parameters(node.args), convert(node.body)]
    if kind is ast.Match:
        return [convert(node.subject), "[" + ", ".join(map(case, node.cases)) + "]"]
    if kind is ast.Import:
        return ["[" + ", ".join(map(alias, node.names)) + "]"]
    if kind is ast.ImportFrom:
        module = "." * node.level + (node.module or "")
        if node.names[0].name == "*":
            raise Outside
        return [quoted(module), "[" + ", ".join(map(alias, node.names)) + "]"]
    if kind is ast.Nonlocal:
        return ["[" + ", ".join(map(quoted, node.names)) + "]"]
    if kind is ast.Dict and None in node.keys:
        raise Outside
    if kind is ast.Raise:
        if node.cause:
            raise Outside
        return [optional(node.exc)]
    if kind is ast.AnnAssign:
        return [convert(node.target), convert(node.annotation), optional(node.value)]
    if kind is ast.Delete and not all(isinstance(t, ast.Name) for t in node.targets):
        raise Outside
    if name not in KNOWN:
        raise Outside
    parts = []
    for field in node._fields:
        value = getattr(node, field)
        if field in ("type_comment", "kind"):
            continue
        if isinstance(value, list):
            parts.append(listed(value))
        elif isinstance(value, str):
            parts.append(quoted(value))
        else:
            parts.append(optional(value))
    return parts


KNOWN = """Return Delete Assign AugAssign For While If Try ExceptHandler Assert Expr Pass Break Continue BoolOp NamedExpr BinOp
UnaryOp IfExp Dict Set ListComp SetComp DictComp GeneratorExp Yield Starred Compare Call Attribute Subscript Name List Tuple Slice Load Store Del And Or Add Sub Mult
Div Mod Pow LShift RShift BitOr BitXor BitAnd FloorDiv Invert Not UAdd USub Eq NotEq Lt LtE Gt GtE Is IsNot In
NotIn comprehension keyword""".split()


def convert(node):
    if isinstance(node, ast.Attribute) and not isinstance(node.ctx, ast.Load):
        raise Outside
    if isinstance(node, ast.comprehension):
        if node.is_async:
            raise Outside
        return f"comprehension({convert(node.target)}, {convert(node.iter)}, {listed(node.ifs)})"
    if isinstance(node, ast.keyword) and node.arg is None:
        raise Outside
    # The lowest integer of 64 bits is one literal.
    is_lowest = (
        isinstance(node, ast.UnaryOp)
        and isinstance(node.op, ast.USub)
        and isinstance(node.operand, ast.Constant)
        and node.operand.value == 2**63
        and isinstance(node.operand.value, int)
    )
    if is_lowest:
        text = f"Num({-2**63})"
    elif isinstance(node, ast.Constant):
        text = constant(node)
    else:
        parts = fields(node)
        name = type(node).__name__
        text = f"{name}({', '.join(parts)})" if parts else name
    return text + (position(node) if hasattr(node, "lineno") else "")


def tree(source):
    """The text of a source's tree, or None."""
    try:
        return convert(ast.parse(source.encode()))
    except Outside:
        return None


def main():
    folder = pathlib.Path(__file__).parent.parent / "numba_ir"
    kernels = [kernel for file in ("cases.json", "kernels.json") for kernel in json.loads((folder / file).read_text())]
    cases = [(kernel["id"], kernel["source"]) for kernel in kernels]
    snippets = SNIPPETS[1:].split("---\n")
    cases += [(f"snippet.{at}", text) for at, text in enumerate(snippets)]
    cases += [(f"snippet.{at}.cr", text.replace("\n", "\r\n")) for at, text in enumerate(snippets[:3])]
    cases += [("snippet.bom", "\ufeffx = 1\n"), ("snippet.form_feed", "x\n\f\ny\n  \f\nif a:\n\f  b\n"), ("snippet.no_end", "if a:\n  b")]
    recorded = []
    for name, source in cases:
        is_kernel = not name.startswith("snippet")
        entry = {"id": name} | ({} if is_kernel else {"source": source})
        recorded.append(entry | {"tree": tree(source)})
    lines = ",\n".join(json.dumps(entry, ensure_ascii=False) for entry in recorded)
    sys.stdout.write("[\n" + lines + "\n]\n")


if __name__ == "__main__":
    main()
