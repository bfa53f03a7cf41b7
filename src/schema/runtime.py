

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
