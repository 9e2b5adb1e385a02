"""Random datatypes, extents, elements and names."""

import struct

import kinds
import values
from values import Ref, counted

LETTERS = "abcdefgXYZ0189_- .éß数"
COMMON = (
    kinds.integer(1), kinds.integer(2, "be"), kinds.integer(4), kinds.integer(8), kinds.integer(4, "be", 0),
    kinds.ieee(4, "le"), kinds.ieee(8, "le"), kinds.ieee(8, "be"), ("vstr", 0, 1), ("str", 6, 1, 0),
)  # fmt: skip


def name(rng):
    length = rng.choice((1, 3, 5, 5, 8, 8, 20, 250))
    text = "".join(rng.choice(LETTERS) for _ in range(length))
    return ("n" + text if text.strip(".") == "" else text).encode()


def text(rng, charset, length_max):
    letters = LETTERS if charset else "abc XYZ.019"
    out = "".join(rng.choice(letters) for _ in range(rng.randrange(length_max + 1))).encode()
    return out[:length_max].decode(errors="ignore").encode()


# --- types ---


def kind(rng, depth=3, references=True, extra=()):
    if depth == 3 and rng.random() < 0.3:
        return rng.choice(COMMON)
    if depth > 1 and rng.random() < 0.35:
        return nested(rng, depth - 1, references, extra)
    makers = [integer, integer, floating, fixed_text, bitfield, opaque, enumeration, variable_text, boolean, pair]
    if references:
        makers += [lambda rng: ("ref", rng.choice(("object", "region", *(["any"] if "any" in extra else []))))]
    makers += [complex_number] if "complex" in extra else []
    makers += [time] if "time" in extra else []
    return rng.choice(makers)(rng)


def nested(rng, depth, references, extra):
    what = rng.randrange(3)
    if what == 0:
        return ("array", tuple(rng.randint(1, 3) for _ in range(rng.randint(1, 3))), kind(rng, depth, references, extra))
    if what == 1:
        return ("vlen", kind(rng, depth, references, extra))
    inner = [kind(rng, depth, references, extra) for _ in range(rng.randint(1, 5))]
    return compound(rng, inner)


def compound(rng, inner):
    names = ["member %d é" % n if rng.random() < 0.1 else "m%d" % n for n in range(len(inner))]
    if any(map(kinds.has_slots, inner)):
        return ("compound", 0, *[(name.encode(), 0, each) for name, each in zip(names, inner)])
    at, found = 0, []
    for name, each in zip(names, inner):
        at += rng.choice((0, 0, 0, 1, 3))
        found.append((name.encode(), at, each))
        at += kinds.memory_size(each)
    return ("compound", at + rng.choice((0, 0, 2)), *found)


def order(rng):
    return rng.choice(kinds.ORDERS)


def bits(rng, size):
    if rng.random() < 0.75:
        return (0, size * 8, 0, 0)
    # With fewer bits in use libhdf5 takes a file for broken.
    precision = rng.randint(size * 4 + 1, size * 8)
    return (rng.randint(0, size * 8 - precision), precision, rng.randrange(2), rng.randrange(2))


def integer(rng):
    size = rng.choice((1, 2, 4, 8))
    return ("int", size, order(rng), rng.randrange(2), *bits(rng, size))


def bitfield(rng):
    size = rng.choice((1, 2, 4, 8))
    return ("bits", size, order(rng), *bits(rng, size))


def floating(rng):
    if rng.random() < 0.15:
        return rng.choice((kinds.floating(2, order(rng), 0, 16, 8, 7), kinds.floating(4, order(rng), 6, 20, 5, 14)))
    return kinds.ieee(rng.choice((2, 4, 8)), order(rng))


def complex_number(rng):
    return ("complex", kinds.ieee(rng.choice((4, 8)), order(rng)))


def pair(rng):
    """h5py's complex numbers."""
    part = kinds.ieee(rng.choice((4, 8)), order(rng))
    return ("compound", 2 * part[1], (b"r", 0, part), (b"i", part[1], part))


def fixed_text(rng):
    return ("str", rng.randint(1, 12), rng.randrange(3), rng.randrange(2))


def variable_text(rng):
    return ("vstr", rng.choice((0, 0, 1, 2)), rng.randrange(2))


def opaque(rng):
    return ("opaque", rng.randint(1, 9), rng.choice((b"", b"a tag", b"bytes of a test")))


def time(rng):
    return ("time", 4, order(rng), 32)


def boolean(rng):
    return ("enum", kinds.integer(1), (b"FALSE", b"\0"), (b"TRUE", b"\1"))


def enumeration(rng):
    base = kinds.integer(rng.choice((1, 2, 4)), order(rng), rng.randrange(2))
    numbers = rng.sample(range(100), rng.randint(1, 6))
    order_mark = ">" if base[2] == "be" else "<"
    code = {1: "b", 2: "h", 4: "i"}[base[1]]
    return ("enum", base, *[(b"value %d" % n, struct.pack(order_mark + code, n)) for n in numbers])


# --- extents ---


def dims(rng, elements_max):
    rank, left, found = rng.choice((1, 1, 1, 2, 2, 3, 4, 5)), elements_max, []
    for _ in range(rank):
        found.append(rng.randint(1, max(1, min(left, rng.choice((3, 9, 40, 2000))))))
        left //= found[-1]
    if rng.random() < 0.06:
        found[rng.randrange(rank)] = 0
    return tuple(found)


def space(rng, elements_max, resizable=True):
    what = rng.random()
    if what < 0.06:
        return ("null",)
    if what < 0.18:
        return ("scalar",)
    shape = dims(rng, elements_max)
    if not resizable or rng.random() < 0.4:
        return ("simple", shape, shape)
    maxima = tuple(rng.choice((d or 4, d + 5, -1)) for d in shape)
    return ("simple", shape, maxima)


def selection(rng, shape):
    if not shape or rng.random() < 0.3:
        return ("all",)
    if rng.random() < 0.3:
        points = [tuple(rng.randrange(d) for d in shape) for _ in range(rng.randint(1, 8))]
        return ("points", tuple(dict.fromkeys(points)))
    axes = [slab(rng, d) for d in shape]
    return ("slab", *zip(*axes))


def slab(rng, dim):
    start = rng.randrange(dim)
    block = rng.randint(1, dim - start)
    stride = rng.randint(block, dim)
    return start, stride, rng.randint(1, (dim - start - block) // stride + 1), block


# --- elements ---


class Elements:
    """Random elements; `targets` and `datasets` are what references may point to."""

    def __init__(self, rng, targets, datasets):
        self.rng, self.targets, self.datasets = rng, targets, datasets

    def some(self, kind, number):
        if not kinds.has_slots(kind) and kinds.contains(kind, ("str", "enum", "compound")) is False and number > 50:
            # Many plain numbers: quickly, and not too random to compress.
            size = kinds.memory_size(kind)
            few = [self.rng.randbytes(size) for _ in range(7)]
            return [few[n * n % 7] for n in range(number)]
        return [self.one(kind) for _ in range(number)]

    def one(self, kind):
        parts = []
        self.put(kind, parts)
        if not any(isinstance(part, Ref) for part in parts):
            return b"".join(parts)
        return tuple(parts)

    def put(self, kind, parts):
        name, rng = kind[0], self.rng
        if name == "compound":
            for member in kind[2:]:
                self.put(member[2], parts)
        elif name == "array":
            for _ in range(values.repeat(kind)):
                self.put(kind[2], parts)
        elif name == "vlen":
            number = rng.choice((0, 1, 2, 3, 9))
            parts.append(struct.pack("<I", number))
            for _ in range(number):
                self.put(kind[1], parts)
        elif name == "vstr":
            parts.append(counted(text(rng, kind[2], rng.choice((0, 5, 20, 300)))))
        elif name == "str":
            parts.append(text(rng, kind[3], kind[1] - (kind[2] == 0)).ljust(kind[1], b" " if kind[2] == 2 else b"\0"))
        elif name == "enum":
            parts.append(rng.choice(kind[2:])[1])
        elif name == "ref":
            parts.append(self.reference(kind))
        else:
            parts.append(rng.randbytes(kinds.memory_size(kind)))

    def reference(self, kind):
        rng = self.rng
        what = kind[1] if kind[1] != "any" else rng.choice(("object", "region", "attribute"))
        if rng.random() < 0.2:
            return Ref()
        if what == "object":
            return Ref(rng.choice(self.targets)) if self.targets else Ref()
        if what == "attribute":
            return self.attribute()
        if not self.datasets:
            return Ref()
        dataset = rng.choice(self.datasets)
        if rng.random() < 0.2:
            return Ref(dataset, whole=rng.choice("wn"))
        ordered = rng.random() < 0.5
        points = {tuple(rng.randrange(d) for d in dataset.space[1]) for _ in range(rng.randint(1, 5))}
        return Ref(dataset, sorted(points), ordered)

    def attribute(self):
        named = [(target, name) for target in self.targets for name in sorted(target.attributes) if b"|" not in name]
        target, name = self.rng.choice(named) if named else (None, None)
        return Ref(target, attribute=name)
