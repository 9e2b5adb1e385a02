"""Writes convert_golden.txt: elements as libhdf5 converts them (H5Tconvert).

Each line is a name, the source and target datatype messages, the source elements and the target elements
(which held 0xA5 before), the last four in hexadecimal. A pair that libhdf5 refuses has "refused" in place of
the target elements. Run with h5py installed:

    python3 make_convert_golden.py > convert_golden.txt

Left out, since libhdf5 2.0 answers by accident and we do not follow it:
- integers of equal size but other sign *and* byte order wrap instead of being clipped;
- floats at a limit that the source cannot hold (2^63 from f64, infinity from f16) or NaN become garbage as 64-bit
  integers, and halves below zero as unsigned ones;
- ties between floats round up instead of to even, and rounding past the largest value does not reach infinity,
  unless both are native;
- floats to integers with padding lose bits;
- subnormals that round up to the smallest normal lose half, and doubles above the largest float or half become
  infinite even where they would round down to it;
- an enum's name that follows one unknown to the other enum takes the wrong value;
- floats to VAX floats stay in little-endian order, and unused bits of long doubles hold what was there before.
"""

import struct

import numpy
from h5py import h5t

LE, BE, VAX = h5t.ORDER_LE, h5t.ORDER_BE, h5t.ORDER_VAX


def emit(name, source, target, data):
    """H5Tconvert works in place, so the buffer has room for the larger of both."""
    n = len(data) // source.get_size()
    buf = numpy.zeros(n * max(source.get_size(), target.get_size()), "u1")
    buf[: len(data)] = numpy.frombuffer(data, "u1")
    background = numpy.full(n * target.get_size(), 0xA5, "u1")
    try:
        h5t.convert(source, target, n, buf, background)
        result = buf[: n * target.get_size()].tobytes().hex()
    except (TypeError, RuntimeError, OSError, ValueError):
        result = "refused"
    messages = [message(t).hex() for t in (source, target)]
    print(name, *messages, data.hex(), result)


def message(t):
    """H5Tencode marks VAX floats as version 1, which has no such byte order; in files they have version 3."""
    raw = bytearray(t.encode()[2:])
    if isinstance(t, h5t.TypeFloatID) and t.get_order() == VAX:
        raw[0] = 0x31
    return bytes(raw)


def bits(t, size, order, precision, offset, pads=(h5t.PAD_ZERO, h5t.PAD_ZERO)):
    t = t.copy()
    t.set_size(size)
    t.set_order(order)
    t.set_precision(precision)
    t.set_offset(offset)
    t.set_pad(*pads)
    return t


def floating(size, order, sign, exponent, mantissa, bias, norm=h5t.NORM_IMPLIED, precision=None, offset=0):
    t = h5t.IEEE_F64LE.copy()
    if size > 8:
        t.set_size(size)
        t.set_precision(precision or size * 8)
        t.set_fields(sign, *exponent, *mantissa)
    else:
        t.set_fields(sign, *exponent, *mantissa)
        t.set_precision(precision or size * 8)
        t.set_size(size)
    t.set_offset(offset)
    t.set_order(order)
    t.set_ebias(bias)
    t.set_norm(norm)
    return t


def compound(size, *members):
    t = h5t.create(h5t.COMPOUND, size)
    for name, offset, member in members:
        t.insert(name, offset, member)
    return t


def enum(base, **members):
    t = h5t.enum_create(base)
    for name, value in members.items():
        t.enum_insert(name.encode(), value)
    return t


def text(size, pad, charset=h5t.CSET_ASCII):
    t = h5t.C_S1.copy()
    t.set_size(size)
    t.set_strpad(pad)
    t.set_cset(charset)
    return t


def opaque(size, tag):
    t = h5t.create(h5t.OPAQUE, size)
    t.set_tag(tag)
    return t


INTS = {
    "i8": h5t.STD_I8LE, "u8": h5t.STD_U8LE, "i16": h5t.STD_I16LE, "u16be": h5t.STD_U16BE, "i32be": h5t.STD_I32BE,
    "u32": h5t.STD_U32LE, "i64": h5t.STD_I64LE, "u64be": h5t.STD_U64BE,
    "i12in16": bits(h5t.STD_I16LE, 2, LE, 12, 3, (h5t.PAD_ONE, h5t.PAD_ZERO)),
    "u20in32be": bits(h5t.STD_U32LE, 4, BE, 20, 7, (h5t.PAD_ZERO, h5t.PAD_ONE)),
    "i24": bits(h5t.STD_I32LE, 3, LE, 24, 0),
    "u40be": bits(h5t.STD_U64LE, 5, BE, 40, 0),
}
FLOATS = {
    "f16": h5t.IEEE_F16LE, "f32": h5t.IEEE_F32LE, "f32be": h5t.IEEE_F32BE, "f64": h5t.IEEE_F64LE, "f64be": h5t.IEEE_F64BE,
    "x87": h5t.NATIVE_LDOUBLE, "f128": h5t.IEEE_F128LE,
    "bf16": floating(2, LE, 15, (7, 8), (0, 7), 127),
    "f8e5m2": floating(1, LE, 7, (2, 5), (0, 2), 15),
    "f24odd": floating(4, BE, 3, (4, 7), (11, 13), 63, precision=24, offset=3),
    "vaxf": floating(4, VAX, 31, (23, 8), (0, 23), 129),
}
NATIVE = {"f16", "f32", "f64", "x87"}
BITFIELDS = {
    "b8": h5t.STD_B8LE, "b16be": h5t.STD_B16BE, "b32": h5t.STD_B32LE,
    # h5py cannot shape a bit field: five bits from bit 2, both pads one.
    "b5in8": h5t.decode(bytes.fromhex("0300" "14060000" "01000000" "0200" "0500")),
}
EDGE_INTS = sorted({s * ((1 << p) + d) for p in (0, 7, 8, 11, 15, 16, 25, 31, 32, 54, 63) for d in (-1, 0, 3) for s in (1, -1)})
PLAIN_FLOATS = [
    0.0, -0.0, 0.5, -0.5, 0.999, 1.0, -1.0, 1.5, 127.5, 128.0, -128.9, 255.9, 256.0, 32767.9, 60000.1, 1e5, 2.0**31 - 1, -(2.0**31) - 1, 2.0**33,
    1e18, -1e18, 3e38, 1e39, -1e39, 1e300, 1e-310, 1.1754943508222875e-38, 1e-40, 1e-45, 6.5e-5, 5.96e-8, 3.1e-8, 2.9e-8, 1e-100,
    1 + 2**-10, 1 + 2**-11 + 2**-40, 1 + 2**-8 + 2**-30, 3.14159265358979, -2.71828182845905,
]
HARD_FLOATS = PLAIN_FLOATS + [
    2.5, -2049.0, 65504.0, 65520.0, 2.0**53 + 2, 1e20, -1e20, 3.5e38, 5e-324, 7e-46, 2.98e-8, 2.0**-25, 2.0**-150,
    1 + 2**-11, 1 + 3 * 2**-11, 1 + 2**-24, 1 + 3 * 2**-24, float("inf"), float("-inf"),
]


def numbers_as(t, values):
    """Values of a number type, made by libhdf5 itself from 64-bit integers or doubles (exact ones only matter)."""
    source = h5t.IEEE_F64LE if isinstance(values[0], float) else None
    if source is not None:
        raw = struct.pack(f"<{len(values)}d", *values)
    elif min(values) < 0:
        source, values = h5t.STD_I64LE, [v for v in values if -(1 << 63) <= v < 1 << 63]
        raw = struct.pack(f"<{len(values)}q", *values)
    else:
        source, values = h5t.STD_U64LE, [v for v in values if v < 1 << 64]
        raw = struct.pack(f"<{len(values)}Q", *values)
    buf = numpy.zeros(len(values) * max(8, t.get_size()), "u1")
    buf[: len(raw)] = numpy.frombuffer(raw, "u1")
    h5t.convert(source, t, len(values), buf)
    raw, size = buf.tobytes(), t.get_size()
    return b"".join(dict.fromkeys(raw[i * size :][:size] for i in range(len(values))))


def wraps(a, b):
    both = isinstance(a, h5t.TypeIntegerID) and isinstance(b, h5t.TypeIntegerID)
    return both and a.get_size() == b.get_size() and a.get_sign() != b.get_sign() and a.get_order() != b.get_order()


def values_for(name, other):
    """What libhdf5 converts as it should from this float to the other type."""
    if other in FLOATS:
        return HARD_FLOATS if {name, other} <= NATIVE else PLAIN_FLOATS
    if name == "f16":
        return [v for v in PLAIN_FLOATS if 0 <= v < 32000]
    return PLAIN_FLOATS


def clean(name, raw):
    """Padding of long doubles from libhdf5 is whatever was in memory."""
    if name != "x87":
        return raw
    return b"".join(raw[i : i + 10] + bytes(6) for i in range(0, len(raw), 16))


def numbers():
    unsigned = [n for n in EDGE_INTS if n >= 0]
    for name, source in INTS.items():
        data = numbers_as(source, EDGE_INTS if source.get_sign() == h5t.SGN_2 else unsigned)
        for other, target in {**INTS, **FLOATS}.items():
            if name != other and not wraps(source, target):
                emit(f"{name}-{other}", source, target, data)
    for name, source in FLOATS.items():
        for other, target in {**INTS, **FLOATS}.items():
            if name != other and other not in ("vaxf", "i12in16", "u20in32be"):
                values = values_for(name, other)
                if name == "vaxf":
                    values = EDGE_INTS
                data = clean(name, numbers_as(source, values))
                emit(f"{name}-{other}", source, target, data)
    data = bytes(range(0, 256, 4)) * 2 + bytes(range(255, -1, -2))
    for name, source in BITFIELDS.items():
        for other, target in BITFIELDS.items():
            if name != other:
                emit(f"{name}-{other}", source, target, data)
        emit(f"{name}-u32", source, h5t.STD_U32LE, data)


def nans():
    for name in ("f16", "f32be", "f64", "x87", "f128", "bf16"):
        source = FLOATS[name]
        raw = clean(name, numbers_as(source, [float("nan"), -float("nan")]))
        for other in ("i8", "u32", "f16", "f32", "f64be", "x87", "bf16"):
            if name != other:
                emit(f"nan:{name}-{other}", source, {**INTS, **FLOATS}[other], raw)


def strings():
    pads = {"term": h5t.STR_NULLTERM, "null": h5t.STR_NULLPAD, "space": h5t.STR_SPACEPAD}
    data = b"abcdef" + b"ab\0cd\0" + b"ab    " + b"\0\0\0\0\0\0" + b"      " + b"ab \0  " + b"abcde\0"
    for a, source in pads.items():
        for b, target in pads.items():
            for size in (1, 4, 6, 9):
                emit(f"string:{a}-{b}{size}", text(6, source), text(size, target), data)
    emit("string:ascii-utf8", text(6, h5t.STR_NULLTERM), text(8, h5t.STR_NULLTERM, h5t.CSET_UTF8), data)


def structures():
    i2, i4, b4 = h5t.STD_I16LE, h5t.STD_I32LE, h5t.STD_I32BE
    data = bytes(range(1, 49))
    source = compound(12, (b"a", 0, i4), (b"b", 4, i2), (b"c", 6, i2), (b"d", 8, i4))
    emit("compound:subset", source, compound(8, (b"d", 0, b4), (b"b", 4, i4)), data)
    emit("compound:superset", source, compound(20, (b"new", 0, i4), (b"c", 4, i4), (b"a", 12, i4)), data)
    emit("compound:gap", source, compound(16, (b"a", 1, i4), (b"d", 9, i4)), data)
    emit("compound:disjoint", source, compound(4, (b"x", 0, i4)), data)
    inner = compound(8, (b"p", 0, i4), (b"q", 4, i4))
    nested = compound(12, (b"in", 0, inner), (b"k", 8, i4))
    emit("compound:nested", nested, compound(16, (b"k", 0, b4), (b"in", 6, compound(6, (b"q", 0, i2), (b"x", 2, i4)))), data)
    emit("array:equal", h5t.array_create(i2, (2, 3)), h5t.array_create(b4, (2, 3)), data)
    emit("array:dims", h5t.array_create(i2, (2, 3)), h5t.array_create(b4, (3, 2)), data)
    emit("array:scalar", h5t.array_create(i2, (1,)), b4, data)
    colours = enum(h5t.STD_I8LE, RED=0, GREEN=1, BLUE=2)
    emit("enum:names", colours, enum(h5t.STD_I16BE, BLUE=20, GREEN=10, RED=0), bytes([0, 1, 2, 3, 255]))
    emit("enum:int", colours, h5t.STD_I32LE, bytes([0, 1, 2, 3, 255]))
    emit("enum:float", colours, h5t.IEEE_F32LE, bytes([0, 1, 2, 3, 255]))
    emit("enum:fromint", h5t.STD_I8LE, colours, bytes([0, 1, 2, 3, 255]))
    emit("opaque:same", opaque(4, b"tag"), opaque(4, b"tag"), data)
    emit("opaque:tag", opaque(4, b"tag"), opaque(4, b"other"), data)
    emit("opaque:size", opaque(4, b"tag"), opaque(6, b"tag"), data)
    emit("int-string", i4, text(4, h5t.STR_NULLTERM), data)


def complexes():
    values = struct.pack("<6d", 1.5, -2.5, 3.0, 1e300, 0.0, -0.0)
    c64, c128 = h5t.COMPLEX_IEEE_F32BE, h5t.COMPLEX_IEEE_F64LE
    pair = lambda a, b, t: compound(t.get_size() * 2, (a, 0, t), (b, t.get_size(), t))
    emit("complex:complex", c128, c64, values)
    emit("complex:float", c128, h5t.IEEE_F32LE, values)
    emit("complex:int", c128, h5t.STD_I16LE, values)
    emit("complex:from-float", h5t.IEEE_F64LE, c64, values)
    emit("complex:from-int", h5t.STD_I16LE, c64, struct.pack("<3h", -1, 0, 300))
    for a, b in ((b"r", b"i"), (b"real", b"imag"), (b"re", b"im"), (b"x", b"y")):
        emit(f"complex:to-{a.decode()}", c128, pair(a, b, h5t.IEEE_F64LE), values)
        emit(f"complex:from-{a.decode()}", pair(a, b, h5t.IEEE_F64LE), c128, values)
    emit("complex:to-narrow", c128, pair(b"r", b"i", h5t.IEEE_F32LE), values)


numbers()
nans()
strings()
structures()
complexes()
