"""Datatypes as tuples: random ones, and to and from libhdf5.

    ("int", size, order, signed, offset, precision, low, high)      ("bits", size, order, offset, precision, low, high)
    ("float", size, order, offset, precision, low, high, inner, norm, sign, epos, ebits, mpos, mbits, bias)
    ("time", size, order, precision)    ("str", size, pad, charset)    ("vstr", pad, charset)    ("opaque", size, tag)
    ("compound", size, (name, offset, type), …)    ("enum", base, (name, value), …)    ("array", (dims), base)
    ("vlen", base)    ("ref", "object", "region" or "any")    ("complex", base)

The offsets of a compound with slots (variable-length values, references) differ between file and memory: they
are 0 here, and its members stand one after another.
"""

import ctypes

import lib

ORDERS = ("le", "be")
CLASSES = "int float time str bits opaque compound ref enum vlen array complex".split()


# libhdf5's type, and its bytes in memory. "any" is the reference of HDF5 1.12.
REFERENCES = {"object": ("H5T_STD_REF_OBJ", 8), "region": ("H5T_STD_REF_DSETREG", 12), "any": ("H5T_STD_REF", 64)}


def has_slots(kind):
    name = kind[0]
    if name == "compound":
        return any(has_slots(member[2]) for member in kind[2:])
    if name == "array":
        return has_slots(kind[2])
    return name in ("vlen", "vstr", "ref")


def contains(kind, names):
    if kind[0] in names:
        return True
    if kind[0] == "compound":
        return any(contains(member[2], names) for member in kind[2:])
    if kind[0] in ("array", "vlen", "enum", "complex"):
        return contains(kind[2] if kind[0] == "array" else kind[1], names)
    return False


def memory_size(kind):
    """Bytes of one element in libhdf5's memory."""
    name = kind[0]
    if name == "compound":
        return sum(memory_size(member[2]) for member in kind[2:]) if has_slots(kind) else kind[1]
    if name == "array":
        size = memory_size(kind[2])
        for dim in kind[1]:
            size *= dim
        return size
    if name == "enum":
        return memory_size(kind[1])
    if name == "complex":
        return 2 * memory_size(kind[1])
    if name == "ref":
        return REFERENCES[kind[1]][1]
    return {"vlen": 16, "vstr": 8}.get(name) or kind[1]


def members(kind):
    """Name, offset in memory and type of each member of a compound."""
    at, slots = 0, has_slots(kind)
    for name, offset, inner in kind[2:]:
        yield name, at if slots else offset, inner
        at += memory_size(inner)


def integer(size, order="le", signed=1):
    return ("int", size, order, signed, 0, size * 8, 0, 0)


def ieee(size, order):
    ebits, mbits = {2: (5, 10), 4: (8, 23), 8: (11, 52)}[size]
    return floating(size, order, 0, size * 8, ebits, mbits)


def floating(size, order, offset, precision, ebits, mbits):
    sign = offset + ebits + mbits
    bias = (1 << (ebits - 1)) - 1
    return ("float", size, order, offset, precision, 0, 0, 0, 0, sign, offset + mbits, ebits, offset, mbits, bias)


# --- to libhdf5 ---


def build(kind):
    """A libhdf5 type; the caller closes it."""
    return BUILD[kind[0]](kind)


def close(*types):
    for hid in types:
        lib.call("H5Tclose", hid)


def _set_bits(hid, order, offset, precision, low, high):
    lib.call("H5Tset_order", hid, lib.flag(ORDERS.index(order)))
    lib.call("H5Tset_precision", hid, lib.count(precision))
    lib.call("H5Tset_offset", hid, lib.count(offset))
    lib.call("H5Tset_pad", hid, lib.flag(low), lib.flag(high))


def _integer(kind):
    _, size, order, signed, *bits = kind
    hid = lib.new("H5Tcopy", lib.constant(f"H5T_STD_{'I' if signed else 'U'}{size * 8}LE"))
    _set_bits(hid, order, *bits)
    return hid


def _bitfield(kind):
    hid = lib.new("H5Tcopy", lib.constant(f"H5T_STD_B{kind[1] * 8}LE"))
    _set_bits(hid, kind[2], *kind[3:])
    return hid


def _set_fields(hid, down, sign, epos, ebits, mpos, mbits):
    fields = (sign - down, epos - down, ebits, mpos - down, mbits)
    lib.call("H5Tset_fields", hid, *[lib.count(field) for field in fields])


def _float(kind):
    _, size, order, offset, precision, low, high, inner, norm, *fields, bias = kind
    hid = lib.new("H5Tcopy", lib.constant(f"H5T_IEEE_F{size * 8}LE"))
    # libhdf5 wants the fields inside of every precision on the way.
    _set_fields(hid, offset, *fields)
    _set_bits(hid, order, offset, precision, low, high)
    _set_fields(hid, 0, *fields)
    lib.call("H5Tset_ebias", hid, lib.count(bias))
    lib.call("H5Tset_norm", hid, lib.flag(norm))
    lib.call("H5Tset_inpad", hid, lib.flag(inner))
    return hid


def _time(kind):
    return lib.new("H5Tcopy", lib.constant(f"H5T_UNIX_D{kind[1] * 8}{kind[2].upper()}"))


def _text(kind):
    size, (pad, charset) = (kind[1], kind[2:]) if kind[0] == "str" else (-1, kind[1:])
    hid = lib.new("H5Tcopy", lib.constant("H5T_C_S1"))
    lib.call("H5Tset_size", hid, ctypes.c_size_t(size))
    lib.call("H5Tset_strpad", hid, lib.flag(pad))
    lib.call("H5Tset_cset", hid, lib.flag(charset))
    return hid


def _opaque(kind):
    hid = lib.new("H5Tcreate", lib.flag(5), lib.count(kind[1]))
    lib.call("H5Tset_tag", hid, kind[2])
    return hid


def _compound(kind):
    hid = lib.new("H5Tcreate", lib.flag(6), lib.count(memory_size(kind)))
    for name, offset, inner in members(kind):
        member = build(inner)
        lib.call("H5Tinsert", hid, name, lib.count(offset), member)
        close(member)
    return hid


def _enum(kind):
    base = build(kind[1])
    hid = lib.new("H5Tenum_create", base)
    for name, value in kind[2:]:
        lib.call("H5Tenum_insert", hid, name, value)
    close(base)
    return hid


def _array(kind):
    base = build(kind[2])
    dims = (ctypes.c_uint64 * len(kind[1]))(*kind[1])
    hid = lib.new("H5Tarray_create2", base, ctypes.c_uint(len(kind[1])), dims)
    close(base)
    return hid


def _on_base(function):
    def make(kind):
        base = build(kind[1])
        hid = lib.new(function, base)
        close(base)
        return hid

    return make


def _reference(kind):
    return lib.new("H5Tcopy", lib.constant(REFERENCES[kind[1]][0]))


BUILD = {
    "int": _integer,
    "bits": _bitfield,
    "float": _float,
    "time": _time,
    "str": _text,
    "vstr": _text,
    "opaque": _opaque,
    "compound": _compound,
    "enum": _enum,
    "array": _array,
    "vlen": _on_base("H5Tvlen_create"),
    "complex": _on_base("H5Tcomplex_create"),
    "ref": _reference,
}


# --- from libhdf5 ---


def describe(hid):
    name = CLASSES[lib.call("H5Tget_class", hid)]
    if name == "str" or (name == "vlen" and lib.call("H5Tis_variable_str", hid) > 0):
        return _describe_text(hid)
    return DESCRIBE[name](hid, lib.call("H5Tget_size", hid, result=ctypes.c_size_t))


def of(function, hid):
    """The type that a call such as `H5Dget_type` gives."""
    found = lib.new(function, hid)
    kind = describe(found)
    close(found)
    return kind


def _order(hid):
    return ORDERS[lib.call("H5Tget_order", hid)]


def _bits(hid):
    low, high = ctypes.c_int(), ctypes.c_int()
    lib.call("H5Tget_pad", hid, ctypes.byref(low), ctypes.byref(high))
    precision = lib.call("H5Tget_precision", hid, result=ctypes.c_size_t)
    return (lib.call("H5Tget_offset", hid), precision, low.value, high.value)


def _describe_integer(hid, size):
    return ("int", size, _order(hid), lib.call("H5Tget_sign", hid), *_bits(hid))


def _describe_float(hid, size):
    fields = [ctypes.c_size_t() for _ in range(5)]
    lib.call("H5Tget_fields", hid, *[ctypes.byref(field) for field in fields])
    bias = lib.call("H5Tget_ebias", hid, result=ctypes.c_size_t)
    norm = lib.call("H5Tget_norm", hid)
    return (
        "float",
        size,
        _order(hid),
        *_bits(hid),
        lib.call("H5Tget_inpad", hid),
        norm,
        *[field.value for field in fields],
        bias,
    )


def _describe_text(hid):
    pad, charset = lib.call("H5Tget_strpad", hid), lib.call("H5Tget_cset", hid)
    if lib.call("H5Tis_variable_str", hid) > 0:
        return ("vstr", pad, charset)
    return ("str", lib.call("H5Tget_size", hid, result=ctypes.c_size_t), pad, charset)


def _describe_compound(hid, size):
    found = []
    for n in range(lib.call("H5Tget_nmembers", hid)):
        name = lib.string("H5Tget_member_name", hid, ctypes.c_uint(n))
        offset = lib.call("H5Tget_member_offset", hid, ctypes.c_uint(n), result=ctypes.c_size_t)
        inner = lib.new("H5Tget_member_type", hid, ctypes.c_uint(n))
        found.append((name, offset, describe(inner)))
        close(inner)
    if any(has_slots(member[2]) for member in found):
        return ("compound", 0, *[(name, 0, inner) for name, _, inner in found])
    return ("compound", size, *found)


def _base(hid):
    base = lib.new("H5Tget_super", hid)
    kind = describe(base)
    close(base)
    return kind


def _describe_enum(hid, size):
    found = []
    for n in range(lib.call("H5Tget_nmembers", hid)):
        value = ctypes.create_string_buffer(size)
        lib.call("H5Tget_member_value", hid, ctypes.c_uint(n), value)
        found.append((lib.string("H5Tget_member_name", hid, ctypes.c_uint(n)), value.raw))
    return ("enum", _base(hid), *found)


def _describe_array(hid, _):
    dims = (ctypes.c_uint64 * lib.call("H5Tget_array_ndims", hid))()
    lib.call("H5Tget_array_dims2", hid, dims)
    return ("array", tuple(dims), _base(hid))


def _describe_reference(hid, size):
    for name, (constant, _) in REFERENCES.items():
        if lib.call("H5Tequal", hid, lib.constant(constant)) > 0:
            return ("ref", name)
    return ("ref", "other")


DESCRIBE = {
    "int": _describe_integer,
    "float": _describe_float,
    "time": lambda hid, size: ("time", size, _order(hid), lib.call("H5Tget_precision", hid)),
    "bits": lambda hid, size: ("bits", size, _order(hid), *_bits(hid)),
    "opaque": lambda hid, size: ("opaque", size, lib.string("H5Tget_tag", hid)),
    "compound": _describe_compound,
    "ref": _describe_reference,
    "enum": _describe_enum,
    "vlen": lambda hid, _: ("vlen", _base(hid)),
    "array": _describe_array,
    "complex": lambda hid, _: ("complex", _base(hid)),
}
