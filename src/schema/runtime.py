

class Position(str):
    """A place in a source: line:column, or line:column-line:column."""


_TOKEN = re.compile(
    r'\s+|--[^\n]*|(?P<text>b?"(?:[^"\\]|\\.)*")|(?P<pos>\d+:\d+(?:-\d+:\d+)?)'
    r"|(?P<float>-?\d+\.\d+(?:e[+-]?\d+)?|-?\d+e[+-]?\d+|-?inf|nan(?:\(0x[0-9a-f]+\))?)|(?P<int>-?\d+)"
    r"|(?P<word>\w+)|(?P<sign>[!%@=:\[\]])"
)
_ESCAPE = re.compile(r'\\(?:n|r|t|\\|"|x(?P<byte>[0-9a-f]{2})|u\{(?P<code>[0-9a-f]+)\})')
_SHORT = {"n": "\n", "r": "\r", "t": "\t", "\\": "\\", '"': '"'}


def _tokens(text):
    tokens, at = [], 0
    while at < len(text):
        match = _TOKEN.match(text, at)
        if not match:
            raise ValueError(f"unexpected {text[at]!r} at {at}")
        if match.lastgroup:
            tokens.append((match.lastgroup, match[0]))
        at = match.end()
    return tokens


def _string(token):
    is_bytes = token.startswith("b")
    plain = token[2:-1] if is_bytes else token[1:-1]

    def character(match):
        code = match["byte"] or match["code"]
        return chr(int(code, 16)) if code else _SHORT[match[0][1]]

    text = _ESCAPE.sub(character, plain)
    return text.encode("latin-1") if is_bytes else text


def _float(token):
    import struct

    if token.startswith("nan("):
        return struct.unpack("<d", struct.pack("<Q", int(token[4:-1], 16)))[0]
    return float(token)


def read_flat(text):
    """The root of a document in the flat form."""
    head, _, body = text.partition("\n")
    if head.split()[-1] != SCHEMA_HASH:
        raise ValueError(f"the text is of another schema: {head}")
    tokens, at = _tokens(body), 0
    terms, uniques = {}, {}

    def item():
        nonlocal at
        kind, token = tokens[at]
        at += 1
        if kind == "sign" and token in "%!":
            number = int(tokens[at][1])
            at += 1
            return (terms if token == "%" else uniques)[number]
        if kind == "sign" and token == "[":
            count = int(tokens[at][1])
            at += 1
            items = [item() for _ in range(count)]
            at += 1
            return items
        if kind == "word":
            simple = {"_": None, "none": None, "true": True, "false": False}
            return simple[token] if token in simple else CONSTRUCTORS[token]()
        convert = {"text": _string, "int": int, "float": _float, "pos": Position}
        return convert[kind](token)

    def values(node):
        nonlocal at
        names = [f.name for f in fields(node)]
        for name in names:
            if tokens[at] == ("sign", "@"):
                at += 1
            setattr(node, name, item())
        return node

    while tokens[at] != ("word", "root"):
        sign, number = tokens[at][1], int(tokens[at + 1][1])
        following = tokens[at + 2][1]
        at += 3
        if following == ":":
            uniques[number] = CONSTRUCTORS[tokens[at][1]]()
            at += 1
        elif sign == "!":
            values(uniques[number])
        else:
            node = CONSTRUCTORS[tokens[at][1]]()
            at += 1
            terms[number] = values(node)
    at += 1
    return item()


def _children(node):
    for each in fields(node):
        value = getattr(node, each.name)
        yield from value if isinstance(value, list) else [value]


def _order(root):
    """Nodes behind the plain ones they refer to; unique ones each in its turn."""
    order, met, queue = [], set(), [root]
    for start in queue:
        work = [(start, False)]
        while work:
            node, is_done = work.pop()
            if not hasattr(node, "_unique"):
                continue
            if is_done:
                order.append(node)
            elif node._unique and node is not start:
                queue.append(node)
            elif id(node) not in met:
                met.add(id(node))
                work.append((node, True))
                work.extend((child, False) for child in reversed(list(_children(node))))
    return order


def _quoted(text):
    escapes = {value: "\\" + name for name, value in _SHORT.items()}
    return '"' + "".join(escapes.get(c) or (c if c.isprintable() else f"\\u{{{ord(c):x}}}") for c in text) + '"'


def _datum(value):
    import math
    import struct

    if value is None or isinstance(value, bool):
        return {None: "none", True: "true", False: "false"}[value]
    if isinstance(value, bytes):
        return 'b"' + "".join(f"\\x{byte:02x}" for byte in value) + '"'
    if isinstance(value, float) and math.isnan(value):
        return f"nan(0x{struct.unpack('<Q', struct.pack('<d', value))[0]:016x})"
    return _quoted(value) if type(value) is str else str(value)


def write_flat(root):
    """The flat form of a document."""
    lines, names, counts = [f"flat {SCHEMA} {SCHEMA_HASH}".replace("  ", " ")], {}, {"!": 0, "%": 0}
    order = _order(root)
    name_of = {cls: name for name, cls in CONSTRUCTORS.items()}
    for node in order:
        sign = "!" if node._unique else "%"
        if node._unique or fields(node):
            names[id(node)] = f"{sign}{counts[sign]}"
            counts[sign] += 1
        if node._unique:
            lines.append(f"{names[id(node)]} : {name_of[type(node)]}")

    def operand(value, is_option=False):
        if isinstance(value, list):
            return " ".join([f"[{len(value)}"] + [operand(item) for item in value]) + "]"
        if hasattr(value, "_unique"):
            return names.get(id(value)) or name_of[type(value)]
        return "_" if value is None and is_option else _datum(value)

    for node in order:
        if id(node) not in names:
            continue
        words = [names[id(node)], "="] + ([] if node._unique else [name_of[type(node)]])
        every = fields(node)
        for at, each in enumerate(every):
            if at == len(every) - node._attributes:
                words.append("@")
            words.append(operand(getattr(node, each.name), str(each.type).endswith("| None")))
        lines.append(" ".join(words))
    return "\n".join(lines + ["root " + operand(root)]) + "\n"
