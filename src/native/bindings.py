"""A library built by Cembra; this module needs the library beside it, and nothing else."""

import builtins
import ctypes
import os

_library = ctypes.CDLL(os.path.join(os.path.dirname(os.path.abspath(__file__)), "@LIBRARY@"))
_categories = @CATEGORIES@
_classes = {
    "DIVISION_BY_ZERO": ZeroDivisionError,
    "OVERFLOW": OverflowError,
    "CAST": OverflowError,
    "DOMAIN": ValueError,
    "SIZE_MISMATCH": ValueError,
    "TYPE": TypeError,
    "INDEX_OUT_OF_RANGE": IndexError,
    "UNBOUND": UnboundLocalError,
    "LIMIT": RecursionError,
}


class _Array(ctypes.Structure):
    _fields_ = [
        ("data", ctypes.c_void_p),
        ("shape", ctypes.c_int64 * 6),
        ("strides", ctypes.c_int64 * 6),
        ("validity", ctypes.c_void_p),
        ("offset", ctypes.c_int64),
    ]


class _Error(ctypes.Structure):
    _fields_ = [
        ("category", ctypes.c_int32),
        ("routine", ctypes.c_int32),
        ("instruction", ctypes.c_int32),
        ("line", ctypes.c_int32),
        ("message", ctypes.c_char_p),
        ("operands", ctypes.c_uint64 * 4),
        ("text", ctypes.c_char * 40),
    ]

    def exception(self):
        name = _categories[self.category - 1]
        text = (self.message or b"").decode("utf-8", "replace")
        kind = _classes.get(name, RuntimeError)
        if name == "RAISED":
            head, _, rest = text.partition(": ")
            kind = getattr(builtins, head, RuntimeError)
            text = rest if kind is not RuntimeError else text
        if name == "INDEX_OUT_OF_RANGE" and not text:
            index, axis, size = self.operands[0], self.operands[1], self.operands[2]
            index -= 2**64 if index >= 2**63 else 0
            text = f"index {index} is out of bounds for axis {axis} with size {size}"
        where = f" (line {self.line})" if self.line else ""
        return kind((text or name.lower().replace("_", " ")) + where)


class _Elements:
    """An array argument: anything with the array interface, such as an array of numpy."""

    def __init__(self, name, code, rank, is_updated, is_contiguous):
        self.name, self.code, self.rank = name, code, rank
        self.is_updated, self.is_contiguous = is_updated, is_contiguous

    def __call__(self, value):
        if _is_masked(getattr(value, "mask", False)):
            raise ValueError(f"{self.name}: elements are masked, and all are needed: rows that may be missing are another type")
        return self.array(value)

    def array(self, value):
        interface = getattr(value, "__array_interface__", None)
        if interface is None:
            raise TypeError(f"{self.name}: an array is needed, got {type(value).__name__}")
        shape, data, size = tuple(interface["shape"]), interface.get("data"), int(self.code[1])
        if not isinstance(data, tuple):
            raise TypeError(f"{self.name}: the array does not say where its elements are")
        address, is_read_only = data
        if interface["typestr"][1:] != self.code or interface["typestr"][0] == ">" or len(shape) != self.rank:
            raise TypeError(f"{self.name}: {self.rank} axes of {self.code} are needed, got {interface['typestr']} of {shape}")
        if self.is_updated and is_read_only:
            raise ValueError(f"{self.name}: the array is read-only, and would be changed")
        rows, step = [], size
        for length in reversed(shape):
            rows.insert(0, step)
            step *= length
        strides = interface.get("strides") or tuple(rows)
        if len(strides) != self.rank:
            raise ValueError(f"{self.name}: {len(strides)} strides of {self.rank} axes")
        if 0 not in shape and (not address or step >= 2**63):
            raise ValueError(f"{self.name}: there is no memory of {step} bytes" + (" at address 0" if not address else ""))
        along = all(n == 1 or a == b for n, a, b in zip(shape, strides, rows))
        if self.is_contiguous and not along and 0 not in shape:
            raise ValueError(f"{self.name}: the elements have to stand one after the other")
        array = _Array(address)
        for axis, (length, stride) in enumerate(zip(shape, strides)):
            array.shape[axis] = _fitting(ctypes.c_int64, length)
            array.strides[axis] = _fitting(ctypes.c_int64, stride)
        return array

    def distinct(self, array):
        """The same array: no two of its elements share a byte."""
        axes = [(abs(array.strides[axis]), array.shape[axis]) for axis in range(self.rank)]
        reach = int(self.code[1])
        for stride, length in sorted(axis for axis in axes if axis[1] > 1):
            if stride < reach and 0 not in array.shape[: self.rank]:
                raise ValueError(f"{self.name}: elements of the array share memory")
            reach += stride * (length - 1)
        return array


def _is_masked(mask):
    """Whether a mask is set anywhere."""
    if isinstance(mask, (list, tuple)):
        return any(_is_masked(part) for part in mask)
    return bool(mask.any()) if hasattr(mask, "any") else mask is True


class _Rows(_Elements):
    """Rows that may be missing: a list with None, or an array, of which those are missing where its `mask` is set."""

    def __init__(self, name, code, is_contiguous, is_updated=False):
        super().__init__(name, code or "b1", 1, is_updated, is_contiguous)
        self.is_mask = not code

    def __call__(self, value):
        if isinstance(value, Rows) and value.code == ("" if self.is_mask else self.code):
            array = _Array.from_buffer_copy(value._array)
            array.keep = value
            return array
        if isinstance(value, (list, tuple)):
            there = bytes(row is not None and not (self.is_mask and row is False) for row in value)
            kind = _kinds[self.code]
            cells = (kind * max(len(value), 1))(*(_fitting(kind, row) if row is not None else 0 for row in value))
            array = _Array(ctypes.addressof(cells))
            array.shape[0], array.strides[0] = len(value), ctypes.sizeof(cells._type_)
        else:
            array, cells = self.array(value), value
            mask = getattr(value, "mask", False)
            missing = mask.tolist() if hasattr(mask, "tolist") else mask
            count = array.shape[0]
            missing = [bool(missing)] * count if not isinstance(missing, list) else missing
            if len(missing) != count:
                raise ValueError(f"{self.name}: {count} rows have a mask of {len(missing)}")
            there = bytes(not row for row in missing)
            if self.is_mask:
                there = bytes(bool(row and is_there) for row, is_there in zip(value.tolist(), there))
        self.keep(array, cells, there)
        return array

    def keep(self, array, cells, there):
        bits = ctypes.create_string_buffer(_bits(there), len(there) // 8 + 1)
        array.validity, array.keep = ctypes.addressof(bits), (cells, bits)


class _Nothing(ctypes.c_uint8):
    """What a function without a result gives."""

    def fill(self, value):
        if value is not None and value is not True:
            raise TypeError(f"None is needed, got {value!r}")

    def read(self):
        return None


class _RawEdge(ctypes.Structure):
    _fields_ = [("numbers", _Array), ("parents", ctypes.c_int64), ("kind", ctypes.c_int32)]


_edge_kinds = ("split_points", "mapping", "one_group")


class Edge:
    """Rows in groups: to which row of a parent each row of a child belongs. `numbers` are what `kind` says."""

    def __init__(self, kind, numbers, parents):
        self.kind, self.numbers, self.parents = kind, numbers, parents

    @classmethod
    def from_mapping(cls, mapping, parents):
        """The parent of each row, which is None where it has none, and the number of parents."""
        return cls("mapping", mapping, parents)

    @classmethod
    def from_split_points(cls, points):
        """Where the rows of each parent begin, from 0 on, and at last the number of rows."""
        return cls("split_points", points, len(points) - 1)

    @classmethod
    def from_sizes(cls, sizes):
        """The number of rows of each parent."""
        points = [0]
        for size in sizes:
            points.append(points[-1] + int(size))
        return cls.from_split_points(points)

    @classmethod
    def to_scalar(cls, rows):
        """This many rows of one parent, which is a scalar."""
        return cls("one_group", rows, 1)

    def __eq__(self, other):
        return isinstance(other, Edge) and vars(self) == vars(other)

    def __repr__(self):
        return f"Edge({self.kind!r}, {self.numbers!r}, {self.parents!r})"


class _EdgeArgument:
    """An edge argument. The library looks at its numbers."""

    def __init__(self, name, is_to_scalar):
        self.name, self.is_to_scalar = name, is_to_scalar

    def __call__(self, value):
        if not isinstance(value, Edge) or (value.kind == "one_group") != self.is_to_scalar:
            raise TypeError(f"{self.name}: an edge {'to a scalar' if self.is_to_scalar else 'between arrays'} is needed, got {value!r}")
        edge = _RawEdge(_Array(), _fitting(ctypes.c_int64, value.parents), _edge_kinds.index(value.kind))
        if self.is_to_scalar:
            edge.numbers.shape[0] = _fitting(ctypes.c_int64, value.numbers)
        else:
            edge.keep = _Rows(self.name, "i8", False)(value.numbers)
            edge.numbers = edge.keep
        return edge


def _bits(there):
    """Bytes that are 0 or 1 as bits, the lowest one first."""
    digits = there.translate(b"0" + b"1" * 255)[::-1]
    return int(digits or b"0", 2).to_bytes((len(there) + 7) // 8, "little")


def _there(array):
    """For each row whether it is there."""
    if not array.validity:
        return [True] * array.shape[0]
    bits = int.from_bytes(ctypes.string_at(array.validity, (array.offset + array.shape[0] + 7) // 8), "little")
    return [bits >> array.offset + row & 1 == 1 for row in range(array.shape[0])]


class Array:
    """An array that a function has made. `numpy.asarray` takes it as it lies; it frees its memory with its last user."""

    def __init__(self, array, free, code, rank):
        self._array, self._free = array, free
        self.shape = tuple(array.shape[:rank])
        self.__array_interface__ = {
            "shape": self.shape,
            "typestr": ("|" if code[1] == "1" else "<") + code,
            "data": (array.data or 0, False),
            "version": 3,
        }

    def __del__(self):
        self._free(ctypes.byref(self._array))

    def tolist(self):
        kind = _kinds[self.__array_interface__["typestr"][1:]]
        count = 1
        for size in self.shape:
            count *= size
        cells = list((kind * count).from_address(self._array.data)) if count else []
        for size in reversed(self.shape[1:]):
            cells = [cells[i : i + size] for i in range(0, len(cells), size)] if size else []
        return cells


class Rows(Array):
    """Rows that a function has made: `present` says which are there, `values` has the cells, as an array; a mask has none. With all rows
    there, `numpy.asarray` takes it as it lies."""

    def __init__(self, array, free, code):
        super().__init__(array, free, code or "b1", 1)
        self.code, self._cells, self.present = code, self.__dict__.pop("__array_interface__"), _there(array)

    def __getattr__(self, name):
        if name == "values" and self.code:
            return type("Cells", (), {"__array_interface__": self._cells, "rows": self})()
        if name == "__array_interface__" and self.code and all(self.present):
            return self._cells
        raise AttributeError(f"rows have no {name}")

    def tolist(self):
        cells = self.present
        if self.code and cells:
            cells = (_kinds[self.code] * len(cells)).from_address(self._array.data)
        return [cell if is_there else None for cell, is_there in zip(cells, self.present)]


_kinds = {
    "b1": ctypes.c_bool, "i1": ctypes.c_int8, "i2": ctypes.c_int16, "i4": ctypes.c_int32, "i8": ctypes.c_int64,
    "u1": ctypes.c_uint8, "u2": ctypes.c_uint16, "u4": ctypes.c_uint32, "u8": ctypes.c_uint64,
    "f4": ctypes.c_float, "f8": ctypes.c_double,
}


def _made(entry, code, rank, is_contiguous):
    free = getattr(_library, entry + "_free")
    free.argtypes, free.restype = [ctypes.POINTER(_Array)], None
    room = _Elements("result", code, rank, True, is_contiguous)
    return type("Made", (_Array,), {"read": lambda self: Array(self, free, code, rank), "lent": lambda self, out: room.distinct(room(out))})


def _made_rows(entry, code, is_contiguous):
    free = getattr(_library, entry + "_free")
    free.argtypes, free.restype = [ctypes.POINTER(_Array)], None

    def lent(out):
        if not code or not hasattr(out, "mask"):
            raise TypeError("rows that may be missing are made in masked arrays, masks in none")
        rows = _Rows("result", code, is_contiguous, True)
        array = rows.distinct(rows.array(out))
        rows.keep(array, out, bytes(array.shape[0]))
        array.finish = lambda: setattr(out, "mask", [not is_there for is_there in _there(array)])
        return array

    return type("MadeRows", (_Array,), {"read": lambda self: Rows(self, free, code), "lent": staticmethod(lent)})


def _made_edge(entry):
    free = getattr(_library, entry + "_free")
    free.argtypes, free.restype = [ctypes.POINTER(_Array)], None

    def read(edge):
        kind = _edge_kinds[edge.kind]
        if kind == "one_group":
            return Edge.to_scalar(edge.numbers.shape[0])
        return Edge(kind, Rows(_Array.from_buffer_copy(edge.numbers), free, "i8").tolist(), edge.parents)

    return type("MadeEdge", (_RawEdge,), {"read": read})


def _struct(*fields):
    return type("Struct", (ctypes.Structure,), {"_fields_": [(f"_{i}", kind) for i, kind in enumerate(fields)]})


def _tuple(*fields):
    kind = _struct(*fields)

    def fill(self, value):
        if not isinstance(value, (tuple, list)) or len(value) != len(fields):
            raise TypeError(f"a tuple of {len(fields)} values is needed, got {value!r}")
        for i, (field, part) in enumerate(zip(fields, value)):
            _fill(self, f"_{i}", field, part)

    kind.fill = fill
    kind.read = lambda self: tuple(_plain(getattr(self, f"_{i}")) for i in range(len(fields)))
    return kind


def _optional(value):
    kind = _struct(ctypes.c_uint8, *([value] if value else []))

    def fill(self, given):
        self._0 = given is not None and given is not False if value is None else given is not None
        if value is not None and given is not None:
            self._1 = _fitting(value, given)

    kind.fill = fill
    kind.read = lambda self: (self._1 if value else True) if self._0 else None
    return kind


def _fill(struct, name, kind, value):
    if hasattr(kind, "fill"):
        getattr(struct, name).fill(value)
    else:
        setattr(struct, name, _fitting(kind, value))


def _argument(kind, value):
    if isinstance(kind, (_Elements, _EdgeArgument)):
        return kind(value)
    if hasattr(kind, "fill"):
        made = kind()
        made.fill(value)
        return made
    return kind(_fitting(kind, value))


def _fitting(kind, value):
    """A value that its type has room for: of a larger integer, ctypes would take the low bits."""
    signed = (ctypes.c_int8, ctypes.c_int16, ctypes.c_int32, ctypes.c_int64)
    unsigned = (ctypes.c_uint8, ctypes.c_uint16, ctypes.c_uint32, ctypes.c_uint64)
    bits = 8 * ctypes.sizeof(kind)
    if kind in signed and not -(2 ** (bits - 1)) <= value < 2 ** (bits - 1) or kind in unsigned and not 0 <= value < 2**bits:
        raise OverflowError(f"{value} does not fit")
    return value


def _plain(value):
    return value.read() if hasattr(value, "read") else getattr(value, "value", value)


class _Function:
    """A function of the library."""

    def __init__(self, entry, types, parameters, results):
        self.name, self.parameters, self.results = entry, parameters, results
        abi = ctypes.c_uint32.in_dll(_library, entry + "_abi").value
        found = ctypes.string_at(ctypes.addressof(ctypes.c_char.in_dll(_library, entry + "_signature"))).decode()
        if (abi, found) != (@ABI@, types):
            raise ImportError(f"{entry}: the library has another function than this module: {found}; build both again")
        self.entry = getattr(_library, entry + "_call")
        self.entry.argtypes = [ctypes.POINTER(ctypes.c_void_p), ctypes.POINTER(_Error)]
        self.entry.restype = ctypes.c_int32

    def __call__(self, *values, out=None):
        arguments = [_argument(kind, value) for kind, value in zip(self.parameters, values)]
        results = [kind() for kind in self.results]
        if out is not None:
            if len(results) != 1 or not hasattr(results[0], "lent"):
                raise TypeError(f"{self.name} gives no array to be made in out")
            results = [results[0].lent(out)]
        places = [ctypes.addressof(value) for value in arguments + results]
        error = _Error()
        if self.entry((ctypes.c_void_p * len(places))(*places), error) != 0:
            raise error.exception()
        if out is not None:
            getattr(results[0], "finish", lambda: None)()
            return out
        read = [_plain(result) for result in results]
        return read[0] if len(read) == 1 else tuple(read)
