"""Elements: one form that both sides write, and libhdf5's memory.

The common form of an element is its bytes in file order, without the gaps of compounds. A variable-length value is
four little-endian bytes with its number of elements, then these. A reference is written as such a string:

    empty: null     "o|/path": an object     "h|0,1;0,2|/path": a hyperslab of a dataset     "p|…|/path": its points
    "w||/path": all of a dataset     "n||/path": nothing of it     "a|name|/path": an attribute

In the model an element with references is a tuple of bytes and `Ref`, because paths change.
"""

import ctypes
import struct

import kinds


class Ref:
    def __init__(self, target=None, points=None, ordered=False, attribute=None, whole=None):
        """`whole`: "w" for all of a dataset, "n" for nothing of it."""
        self.target, self.points, self.ordered, self.attribute, self.whole = target, points, ordered, attribute, whole

    def text(self, path_of):
        if self.target is None:
            return b""
        path = path_of(self.target)
        if self.attribute is not None:
            return b"a|" + self.attribute + b"|" + path
        if self.whole is not None:
            return self.whole.encode() + b"||" + path
        if self.points is None:
            return b"o|" + path
        return (b"p|" if self.ordered else b"h|") + points_text(self.points) + b"|" + path


def points_text(points):
    return ";".join(",".join(map(str, point)) for point in points).encode()


def parse_reference(text):
    """The kind, the points or the attribute, and the path of a reference that is not null."""
    if text.startswith(b"o|"):
        return "o", None, text[2:]
    kind, points, path = text.split(b"|", 2)
    if kind in (b"a", b"w", b"n"):
        return kind.decode(), points, path
    return kind.decode(), [tuple(map(int, point.split(b","))) for point in points.split(b";")], path


def counted(data, count=None):
    return struct.pack("<I", len(data) if count is None else count) + data


def resolved(element, path_of):
    """The common form of an element of the model."""
    if isinstance(element, bytes):
        return element
    return b"".join(part if isinstance(part, bytes) else counted(part.text(path_of)) for part in element)


def references(element):
    return () if isinstance(element, bytes) else (part for part in element if isinstance(part, Ref))


def is_flat(kind):
    """Whether memory and the common form are the same bytes."""
    name = kind[0]
    if name == "compound":
        flat = all(is_flat(member[2]) for member in kind[2:])
        return flat and sum(kinds.memory_size(member[2]) for member in kind[2:]) == kind[1] and in_order(kind)
    if name == "array":
        return is_flat(kind[2])
    return name not in ("vlen", "vstr", "ref")


def in_order(kind):
    offsets = [member[1] for member in kind[2:]]
    return offsets == sorted(offsets)


def repeat(kind):
    """The elements of an array."""
    number = 1
    for dim in kind[1]:
        number *= dim
    return number


def zero(kind):
    """The element of zeros, in the common form."""
    name = kind[0]
    if name == "compound":
        return b"".join(zero(member[2]) for member in kind[2:])
    if name == "array":
        return zero(kind[2]) * repeat(kind)
    if name in ("vlen", "vstr", "ref"):
        return counted(b"")
    return bytes(kinds.memory_size(kind))


class Packer:
    """From the common form to libhdf5's memory."""

    def __init__(self, refer):
        self.refer, self.kept = refer, []

    def pack(self, kind, data, elements):
        size = kinds.memory_size(kind)
        if is_flat(kind):
            return ctypes.create_string_buffer(data, max(1, len(data)))
        out, at = bytearray(elements * size), 0
        for n in range(elements):
            at = self.put(kind, data, at, out, n * size)
        assert at == len(data)
        return ctypes.create_string_buffer(bytes(out), max(1, len(out)))

    def put(self, kind, data, at, out, to):
        """Writes one element at `to`; returns where the next one starts in `data`."""
        name = kind[0]
        if name == "compound":
            for _, offset, inner in kinds.members(kind):
                at = self.put(inner, data, at, out, to + offset)
            return at
        if name == "array":
            step = kinds.memory_size(kind[2])
            for n in range(repeat(kind)):
                at = self.put(kind[2], data, at, out, to + n * step)
            return at
        if name in ("vlen", "vstr", "ref"):
            (number,) = struct.unpack_from("<I", data, at)
            return getattr(self, name)(kind, data, at + 4, number, out, to)
        size = kinds.memory_size(kind)
        out[to : to + size] = data[at : at + size]
        return at + size

    def keep(self, raw):
        buffer = ctypes.create_string_buffer(raw, len(raw) + 1)
        self.kept.append(buffer)
        return ctypes.addressof(buffer)

    def vstr(self, _, data, at, number, out, to):
        struct.pack_into("<Q", out, to, self.keep(data[at : at + number]))
        return at + number

    def vlen(self, kind, data, at, number, out, to):
        size = kinds.memory_size(kind[1])
        inner = bytearray(number * size)
        for n in range(number):
            at = self.put(kind[1], data, at, inner, n * size)
        struct.pack_into("<QQ", out, to, number, self.keep(bytes(inner)) if number else 0)
        return at

    def ref(self, kind, data, at, number, out, to):
        size = kinds.memory_size(kind)
        out[to : to + size] = self.refer(kind, data[at : at + number]) if number else bytes(size)
        return at + number


def unpack(kind, memory, elements, tell):
    """From libhdf5's memory to the common form; `tell` gives the text of a reference."""
    if is_flat(kind):
        return memory
    size = kinds.memory_size(kind)
    out = []
    for n in range(elements):
        take(kind, memory, n * size, out, tell)
    return b"".join(out)


def take(kind, memory, at, out, tell):
    name = kind[0]
    size = kinds.memory_size(kind)
    if name == "compound":
        for _, offset, inner in kinds.members(kind):
            take(inner, memory, at + offset, out, tell)
    elif name == "array":
        step = kinds.memory_size(kind[2])
        for n in range(repeat(kind)):
            take(kind[2], memory, at + n * step, out, tell)
    elif name == "vstr":
        (pointer,) = struct.unpack_from("<Q", memory, at)
        out.append(counted(ctypes.string_at(pointer) if pointer else b""))
    elif name == "vlen":
        number, pointer = struct.unpack_from("<QQ", memory, at)
        inner = ctypes.string_at(pointer, number * kinds.memory_size(kind[1])) if number else b""
        out.append(counted(unpack(kind[1], inner, number, tell), number))
    elif name == "ref":
        raw = memory[at : at + size]
        out.append(counted(tell(kind, raw) if any(raw) else b""))
    else:
        out.append(memory[at : at + size])
