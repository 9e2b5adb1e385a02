"""Numpy dtypes and HDF5 datatypes, each as the other. The names and the metadata of dtypes are those of h5py."""

from collections import namedtuple

import numpy as np

from . import _core
from ._config import get_config
from ._reference import Reference, RegionReference

string_info = namedtuple("string_info", ("encoding", "length"))

_BOOL_BASE = ("i", 1, True, "<")
_NATIVE = "<" if np.little_endian else ">"


def string_dtype(encoding="utf-8", length=None):
    """Return the dtype of strings: of variable length, or of ``length`` bytes.

    >>> string_dtype(length=5)
    dtype('S5')
    """
    encoding = str(encoding).lower().replace("utf8", "utf-8")
    if encoding not in ("ascii", "utf-8"):
        raise ValueError(f"Invalid encoding ({encoding!r}); 'utf-8' or 'ascii' allowed")
    if isinstance(length, (int, np.integer)) and not isinstance(length, bool):
        return np.dtype(f"|S{length}", metadata={"h5py_encoding": encoding})
    if length is not None:
        raise TypeError(f"length must be integer or None (got {length!r})")
    return np.dtype("O", metadata={"vlen": str if encoding == "utf-8" else bytes})


def vlen_dtype(basetype):
    """Return the dtype of sequences of variable length."""
    return np.dtype("O", metadata={"vlen": basetype})


def enum_dtype(values_dict, basetype=np.uint8):
    """Return the dtype of an enumeration: ``values_dict`` maps names to values."""
    base = np.dtype(basetype)
    if base.kind not in "iu":
        raise TypeError("Only integer types can be used as enums")
    return np.dtype(base, metadata={"enum": values_dict})


def opaque_dtype(np_dtype):
    """Return a dtype whose elements are stored as they are, tagged with the dtype."""
    dtype = np.dtype(np_dtype)
    if dtype.hasobject:
        raise TypeError("Cannot store numpy object arrays as opaque data")
    if dtype.names is not None:
        raise TypeError("Cannot store numpy structured arrays as opaque data")
    if dtype.subdtype is not None:
        raise TypeError("Cannot store numpy sub-array dtype as opaque data")
    if dtype.itemsize == 0:
        raise TypeError("dtype for opaque data must have explicit size")
    return np.dtype(dtype, metadata={"h5py_opaque": True})


ref_dtype = np.dtype("O", metadata={"ref": Reference})
regionref_dtype = np.dtype("O", metadata={"ref": RegionReference})


def _metadata(dtype, key):
    return (dtype.metadata or {}).get(key) if isinstance(dtype, np.dtype) else None


def check_string_dtype(dt):
    """Return encoding and length of a dtype of strings, else ``None``. A variable length is ``None``."""
    vlen = _metadata(dt, "vlen")
    if vlen is str:
        return string_info("utf-8", None)
    if vlen is bytes:
        return string_info("ascii", None)
    if dt.kind == "S":
        return string_info(_metadata(dt, "h5py_encoding") or "ascii", dt.itemsize)
    return None


def check_vlen_dtype(dt):
    """Return the type of the elements of a dtype of variable-length sequences, else ``None``."""
    return _metadata(dt, "vlen")


def check_enum_dtype(dt):
    """Return names and values of a dtype of an enumeration, else ``None``."""
    return _metadata(dt, "enum")


def check_opaque_dtype(dt):
    """Return whether elements of a dtype are stored as they are, with a tag."""
    return bool(_metadata(dt, "h5py_opaque"))


def check_ref_dtype(dt):
    """Return the class of references of a dtype, else ``None``."""
    return _metadata(dt, "ref")


def special_dtype(**kwds):
    """Return a dtype from ``vlen=``, ``enum=(base, values)`` or ``ref=``. The functions above say more."""
    if len(kwds) != 1:
        raise TypeError("Exactly one keyword may be provided")
    ((name, value),) = kwds.items()
    if name == "vlen":
        return np.dtype("O", metadata={"vlen": value})
    if name == "enum":
        return _enum_of(value)
    if name == "ref":
        if value not in (Reference, RegionReference):
            raise ValueError("Ref class must be Reference or RegionReference")
        return ref_dtype if value is Reference else regionref_dtype
    raise TypeError(f'Unknown special type "{name}"')


def _enum_of(value):
    try:
        base, values = value
    except TypeError:
        raise TypeError("Enums must be created from a 2-tuple (basetype, values_dict)") from None
    return enum_dtype(values, base)


def check_dtype(**kwds):
    """Return what ``special_dtype`` was given under the same keyword, else ``None``."""
    if len(kwds) != 1:
        raise TypeError("Exactly one keyword may be provided")
    ((name, dtype),) = kwds.items()
    if name not in ("vlen", "enum", "ref"):
        raise TypeError(f'Unknown special type "{name}"')
    return _metadata(dtype, name)


def is_objects(dtype):
    """Return whether elements have parts of variable length or references."""
    return dtype.hasobject or dtype.kind == "T"


# From a dtype to a datatype.

def _order(dtype):
    return {"<": "<", ">": ">"}.get(dtype.byteorder, _NATIVE)


def _describe_object(dtype):
    vlen, ref = _metadata(dtype, "vlen"), _metadata(dtype, "ref")
    if vlen is str or vlen is bytes:
        return ("v", vlen is str)
    if vlen is not None:
        return ("q", describe(np.dtype(vlen)))
    if ref is not None:
        return ("r", "region" if ref is RegionReference else "object")
    raise TypeError(f"Object dtype {dtype!r} has no native HDF5 equivalent")


def _describe_bool(dtype):
    false, true = get_config().bool_names
    return ("e", _BOOL_BASE, [(_name(false), 0), (_name(true), 1)])


def _name(name):
    return name.decode("utf-8") if isinstance(name, bytes) else str(name)


def _describe_complex(dtype):
    half = dtype.itemsize // 2
    part = ("g", _order(dtype)) if half == 16 else ("f", half, _order(dtype))
    real, imaginary = get_config().complex_names
    return ("c", dtype.itemsize, [(_name(real), 0, part), (_name(imaginary), half, part)])


def _describe_float(dtype):
    return ("g", _order(dtype)) if dtype.itemsize == 16 else ("f", dtype.itemsize, _order(dtype))


def _describe_void(dtype):
    if dtype.subdtype is not None:
        base, shape = dtype.subdtype
        return ("a", shape, describe(base))
    if dtype.names is not None:
        stored = stored_dtype(dtype)
        members = [(name, stored.fields[name][1], describe(dtype.fields[name][0])) for name in dtype.names]
        return ("c", stored.itemsize, members)
    if dtype.itemsize == 0:
        raise TypeError("An opaque type has at least one byte")
    return ("o", dtype.itemsize, "")


def _describe_string(dtype):
    is_utf8 = _metadata(dtype, "h5py_encoding") == "utf-8"
    return ("s", max(dtype.itemsize, 1), is_utf8, 1)


def _describe_integer(dtype):
    integer = ("i", dtype.itemsize, dtype.kind == "i", _order(dtype))
    values = _metadata(dtype, "enum")
    if values is None:
        return integer
    return ("e", integer, [(_name(name), int(value)) for name, value in values.items()])


_DESCRIBE = {
    "i": _describe_integer, "u": _describe_integer, "f": _describe_float, "c": _describe_complex,
    "b": _describe_bool, "S": _describe_string, "V": _describe_void, "O": _describe_object,
    "T": lambda dtype: ("v", True),
}


def describe(dtype):
    """Return the tuple that describes the datatype of a dtype.

    Raises ``TypeError`` where HDF5 has none.
    """
    if check_opaque_dtype(dtype):
        return ("o", dtype.itemsize, "NUMPY:" + dtype.descr[0][1])
    make = _DESCRIBE.get(dtype.kind)
    if make is None:
        raise TypeError(f"No conversion path for dtype: {dtype!r}")
    return make(dtype)


def stored_dtype(dtype):
    """Return the dtype of elements as the native module has them: 16 bytes for every object."""
    if not is_objects(dtype):
        return np.dtype((np.void, 16)) if dtype.kind == "T" else dtype
    if dtype.subdtype is not None:
        base, shape = dtype.subdtype
        return np.dtype((stored_dtype(base), shape))
    if dtype.names is not None:
        return np.dtype([(name, stored_dtype(dtype.fields[name][0])) for name in dtype.names])
    return np.dtype((np.void, 16))


_types = {}
_CACHE_MAX = 4096


def _key(dtype):
    """Return what stands for a dtype in caches; ``None`` where that is not plain."""
    metadata = dtype.metadata
    if metadata is None:
        is_plain = dtype.kind in "iufSV" and dtype.names is None and dtype.subdtype is None
        return dtype.str if is_plain else None
    vlen = metadata.get("vlen")
    return vlen if vlen is str or vlen is bytes else None


def type_of(dtype):
    """Return the datatype of a dtype."""
    key = _key(dtype)
    found = _types.get(key) if key else None
    if found is None:
        found = _core.Type(describe(dtype))
        if key and len(_types) < _CACHE_MAX:
            _types[key] = found
    return found


_memory = {}


def memory_type(dtype):
    """Return the datatype of elements of a dtype in memory."""
    key = _key(dtype)
    found = _memory.get(key) if key else None
    if found is None:
        found = type_of(dtype).in_memory()
        if key and len(_memory) < _CACHE_MAX:
            _memory[key] = found
    return found


# From a datatype to a dtype.

def _integer(size, is_signed, order):
    wide = next((wide for wide in (1, 2, 4, 8) if wide >= size), None)
    if wide is None:
        raise TypeError(f"No NumPy equivalent for integers of {size} bytes")
    return np.dtype(f"{order}{'i' if is_signed else 'u'}{wide}")


def _other_float(size, order, exponent_bits, mantissa_bits):
    for wide, exponent, mantissa in ((2, 5, 10), (4, 8, 23), (8, 11, 52)):
        if exponent_bits <= exponent and mantissa_bits <= mantissa:
            return np.dtype(f"{order}f{wide}")
    return np.dtype(np.longdouble)


def _complex_of(base):
    return {2: "c8", 4: "c8", 8: "c16", 16: "c32"}.get(base.itemsize)


def _compound(size, members):
    names = [name for name, _, _ in members]
    if len(members) == 2 and tuple(names) == tuple(map(_name, get_config().complex_names)):
        parts = [dtype_of_description(part) for _, _, part in members]
        half = parts[0].itemsize
        if parts[0] == parts[1] and parts[0].kind == "f" and half in (4, 8, 16) and members[1][1] == half:
            return np.dtype(f"{_order(parts[0])}c{2 * half}")
    formats = [dtype_of_description(part) for _, _, part in members]
    if any(is_objects(part) for part in formats):
        return np.dtype(list(zip(names, formats)))
    # A part may be wider in numpy than in the file: a float of 3 bytes, say.
    offsets = [offset for _, offset, _ in members]
    ends = [offset + part.itemsize for offset, part in zip(offsets, formats)]
    starts = [*sorted(offsets)[1:], size]
    if any(end > start for end, start in zip(sorted(ends), starts)):
        return np.dtype(list(zip(names, formats)))
    return np.dtype({"names": names, "formats": formats, "offsets": offsets, "itemsize": size})


def _enumeration(base, members):
    false, true = map(_name, get_config().bool_names)
    if base[1] == 1 and sorted(members) == sorted([(false, 0), (true, 1)]):
        return np.dtype(bool)
    return np.dtype(dtype_of_description(base), metadata={"enum": dict(members)})


def _opaque(size, tag):
    if tag.startswith("NUMPY:"):
        return np.dtype(tag[6:], metadata={"h5py_opaque": True})
    return np.dtype(f"V{size}") if not tag else np.dtype(f"V{size}", metadata={"tag": tag})


def _sequence(base):
    return np.dtype("O", metadata={"vlen": dtype_of_description(base)})


def _reference(kind):
    if kind == "other":
        raise TypeError("No NumPy equivalent for references to attributes")
    return regionref_dtype if kind == "region" else ref_dtype


def _native_complex(base):
    name = _complex_of(dtype_of_description(base))
    order = base[-1] if base[0] in "fg" else _NATIVE
    return np.dtype(f"{order}{name}")


def _time(size, order):
    raise TypeError("No NumPy equivalent for TypeTimeID exists")


_FROM = {
    "i": _integer,
    "n": lambda size, is_signed, order, offset, precision: _integer(size, is_signed, order),
    "f": lambda size, order: np.dtype(f"{order}f{size}"),
    "F": _other_float,
    "g": lambda order: np.dtype(np.longdouble).newbyteorder(order),
    "s": lambda size, is_utf8, padding: string_dtype("utf-8" if is_utf8 else "ascii", size),
    "v": lambda is_utf8: string_dtype("utf-8" if is_utf8 else "ascii"),
    "q": _sequence,
    "c": _compound,
    "e": _enumeration,
    "a": lambda dims, base: np.dtype((dtype_of_description(base), tuple(dims))),
    "o": _opaque,
    "r": _reference,
    "z": _native_complex,
    "b": lambda size, order: _integer(size, False, order),
    "t": _time,
}


def dtype_of_description(description):
    """Return the dtype of a datatype that a tuple describes."""
    return _FROM[description[0]](*description[1:])


_dtypes = {}


def dtype_of(datatype):
    """Return the dtype of a datatype. Raises ``TypeError`` where numpy has none."""
    names = get_config()._names
    found = _dtypes.get((datatype, names))
    if found is None:
        found = dtype_of_description(datatype.describe())
        if len(_dtypes) < _CACHE_MAX:
            _dtypes[datatype, names] = found
    return found
