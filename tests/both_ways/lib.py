"""The libhdf5 that h5py brings along, called directly where h5py hides the bytes of elements."""

import ctypes
import glob
import os

import h5py
from h5py._objects import ObjectID

_folder = os.path.join(os.path.dirname(h5py.__file__), "..", "h5py.libs")
_found = sorted(glob.glob(os.path.join(_folder, "libhdf5-*.so*")))
if not _found:
    raise SystemExit("the libhdf5 of h5py was not found: install h5py from a wheel")
raw = ctypes.CDLL(_found[0])

Hid = ctypes.c_int64


class Failed(Exception):
    pass


def argument(value):
    """Numbers are identifiers; so are h5py's objects, which live while the call has them."""
    value = value.id if isinstance(value, ObjectID) else value
    return Hid(value) if isinstance(value, int) else value


def call(name, *args, result=ctypes.c_int):
    function = getattr(raw, name)
    function.restype = result
    found = function(*map(argument, args))
    if result in (ctypes.c_int, Hid) and found < 0:
        raw.H5Eprint2(Hid(0), None)
        raise Failed(name)
    return found


def new(name, *args):
    """A call that answers with an identifier."""
    return call(name, *args, result=Hid)


def constant(name):
    return Hid.in_dll(raw, f"{name}_g").value


def string(name, *args):
    """A call that answers with text that is ours to free."""
    pointer = call(name, *args, result=ctypes.c_void_p)
    if not pointer:
        raise Failed(name)
    value = ctypes.string_at(pointer)
    raw.H5free_memory(ctypes.c_void_p(pointer))
    return value


def count(value):
    return ctypes.c_size_t(value)


def flag(value):
    return ctypes.c_int(value)


call("H5open")
