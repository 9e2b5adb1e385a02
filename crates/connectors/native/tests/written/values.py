"""Slots and values of a file that the test wrote, as libhdf5 sees them; and a file of libhdf5's with the same."""

import ctypes
import glob
import os
import sys

import h5py

ours, theirs = sys.argv[1:]
folder = os.path.join(os.path.dirname(h5py.__file__), "..", "h5py.libs")
found = sorted(glob.glob(os.path.join(folder, "libhdf5-*.so*")))
if not found:
    print("no libhdf5")
    sys.exit()
raw = ctypes.CDLL(found[0])
Id = ctypes.c_int64


class Sequence(ctypes.Structure):
    _fields_ = [("len", ctypes.c_size_t), ("p", ctypes.c_void_p)]


def call(name, *args, result=Id):
    function = getattr(raw, name)
    function.restype = result
    answer = function(*[Id(a) if isinstance(a, int) else a for a in args])
    assert result is not Id or answer >= 0, name
    return answer


def texts(path):
    """Whether each text is there."""
    with h5py.File(path) as file:
        dataset = file["texts"]
        pointers = (ctypes.c_void_p * dataset.size)()
        kind = call("H5Dget_type", Id(dataset.id.id))
        call("H5Dread", Id(dataset.id.id), Id(kind), 0, 0, 0, pointers, result=ctypes.c_int)
        return [pointer is not None for pointer in pointers]


def references(path):
    """The size of an element that is declared, and the types of the references in the only sequence."""
    with h5py.File(path) as file:
        opened = file["references"]
        dataset = Id(opened.id.id)
        kind = call("H5Dget_type", dataset)
        size = call("H5Tget_size", Id(call("H5Tget_super", Id(kind))), result=ctypes.c_size_t)
        value = Sequence()
        assert call("H5Dread", dataset, Id(kind), 0, 0, 0, ctypes.byref(value), result=ctypes.c_int) >= 0
        types = []
        for n in range(value.len):
            one = ctypes.create_string_buffer(ctypes.string_at(value.p + 64 * n, 64), 64)
            types.append(call("H5Rget_type", one, result=ctypes.c_int))
            if types[-1] == 3:
                space = h5py.h5s.SpaceID(call("H5Ropen_region", one, 0, 0))
                types[-1] = (space.get_select_type(), space.get_simple_extent_ndims())
        return size, types


def make(path):
    with h5py.File(path, "w", libver="latest") as file:
        file.create_dataset("target", (2, 3), dtype="i4")
        file.create_dataset("texts", (3,), dtype=h5py.string_dtype())[:2] = ["", "x"]
        refs = ctypes.create_string_buffer(64 * 3)
        at = [ctypes.c_void_p(ctypes.addressof(refs) + 64 * n) for n in range(3)]
        call("H5Rcreate_object", Id(file.id.id), b"/target", 0, at[0], result=ctypes.c_int)
        space = file["target"].id.get_space()
        call("H5Rcreate_region", Id(file.id.id), b"/target", Id(space.id), 0, at[1], result=ctypes.c_int)
        space.select_none()
        call("H5Rcreate_region", Id(file.id.id), b"/target", Id(space.id), 0, at[2], result=ctypes.c_int)
        kind = call("H5Tvlen_create", Id(Id.in_dll(raw, "H5T_STD_REF_g").value))
        scalar = h5py.h5s.create(h5py.h5s.SCALAR)
        dataset = call("H5Dcreate2", Id(file.id.id), b"references", Id(kind), Id(scalar.id), 0, 0, 0)
        value = Sequence(3, ctypes.addressof(refs))
        assert call("H5Dwrite", Id(dataset), Id(kind), 0, 0, 0, ctypes.byref(value), result=ctypes.c_int) >= 0
        call("H5Dclose", Id(dataset), result=ctypes.c_int)


make(theirs)
print(texts(ours), texts(theirs))
print(references(ours), references(theirs))
