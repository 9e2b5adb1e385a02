"""Makes property_golden.txt: property lists and datatypes as libhdf5 encodes them.

h5py has no `H5Pencode`, so it is called in the library that h5py brought along. Usage: make_property_golden.py > property_golden.txt
"""

import ctypes
import glob
import os

import h5py
import numpy as np
from h5py import h5d, h5p, h5s, h5t

libraries = os.path.join(os.path.dirname(h5py.__file__), "..", "h5py.libs", "libhdf5-*.so*")
library = ctypes.CDLL(glob.glob(libraries)[0])
library.H5Pcreate.restype = ctypes.c_int64
library.H5Pcreate.argtypes = [ctypes.c_int64]
library.H5Pencode2.argtypes = [ctypes.c_int64, ctypes.c_void_p, ctypes.POINTER(ctypes.c_size_t), ctypes.c_int64]
library.H5Pset_fill_value.argtypes = [ctypes.c_int64, ctypes.c_int64, ctypes.c_void_p]
library.H5Pset_shared_mesg_nindexes.argtypes = [ctypes.c_int64, ctypes.c_uint]
library.H5Pset_shared_mesg_index.argtypes = [ctypes.c_int64] + [ctypes.c_uint] * 3
library.H5Pset_link_phase_change.argtypes = [ctypes.c_int64] + [ctypes.c_uint] * 2
library.H5Pset_local_heap_size_hint.argtypes = [ctypes.c_int64, ctypes.c_size_t]
library.H5Pset_sym_k.argtypes = [ctypes.c_int64] + [ctypes.c_uint] * 2
library.H5Pset_char_encoding.argtypes = [ctypes.c_int64, ctypes.c_int]


def encode(identity):
    size = ctypes.c_size_t(0)
    assert library.H5Pencode2(identity, None, ctypes.byref(size), 0) >= 0
    room = ctypes.create_string_buffer(size.value)
    assert library.H5Pencode2(identity, room, ctypes.byref(size), 0) >= 0
    return room.raw[: size.value]


def default(name):
    return library.H5Pcreate(ctypes.c_int64.in_dll(library, f"H5P_CLS_{name}_ID_g").value)


def put(name, data):
    print(name, data.hex())


def dataset(name, change=lambda p: None):
    properties = h5p.create(h5p.DATASET_CREATE)
    change(properties)
    put(name, encode(properties.id))


for name in ["DATASET_CREATE", "GROUP_CREATE", "FILE_CREATE", "ATTRIBUTE_CREATE", "DATATYPE_CREATE", "MAP_CREATE"]:
    put(f"default_{name}", encode(default(name)))


def filtered(p):
    p.set_chunk((10, 20))
    p.set_deflate(4)
    p.set_shuffle()
    p.set_fill_value(np.array(7, dtype="<i4"))
    p.set_obj_track_times(False)
    p.set_attr_creation_order(h5p.CRT_ORDER_TRACKED | h5p.CRT_ORDER_INDEXED)


def external(p):
    p.set_external(b"x.dat", 4, 100)
    p.set_external(b"y.dat", 0, h5s.UNLIMITED)


def virtual(p):
    space = h5s.create_simple((10,))
    space.select_hyperslab((0,), (5,))
    source = h5s.create_simple((5,), (h5s.UNLIMITED,))
    source.select_hyperslab((0,), (5,))
    p.set_virtual(space, b"f.h5", b"/d", source)


dataset("filtered", filtered)
dataset("external", external)
dataset("virtual", virtual)
dataset("compact", lambda p: p.set_layout(h5d.COMPACT))
dataset("late", lambda p: p.set_alloc_time(h5d.ALLOC_TIME_LATE))
dataset("early", lambda p: p.set_alloc_time(h5d.ALLOC_TIME_EARLY))
dataset("never", lambda p: p.set_fill_time(h5d.FILL_TIME_NEVER))
dataset("undefined", lambda p: library.H5Pset_fill_value(p.id, h5t.STD_I32LE.id, None))
dataset("foreign", lambda p: (p.set_chunk((3,)), p.set_filter(32001, 1, (1, 2, 3))))

group = h5p.create(h5p.GROUP_CREATE)
group.set_link_creation_order(h5p.CRT_ORDER_TRACKED | h5p.CRT_ORDER_INDEXED)
group.set_attr_phase_change(3, 2)
library.H5Pset_link_phase_change(group.id, 20, 10)
library.H5Pset_local_heap_size_hint(group.id, 77)
put("group", encode(group.id))

file = h5p.create(h5p.FILE_CREATE)
file.set_userblock(1024)
file.set_sizes(4, 8)
file.set_link_creation_order(h5p.CRT_ORDER_TRACKED)
library.H5Pset_sym_k(file.id, 20, 5)
library.H5Pset_shared_mesg_nindexes(file.id, 2)
library.H5Pset_shared_mesg_index(file.id, 0, 2, 30)
library.H5Pset_shared_mesg_index(file.id, 1, 8, 100)
put("file", encode(file.id))

attribute = default("ATTRIBUTE_CREATE")
library.H5Pset_char_encoding(attribute, 1)
put("attribute", encode(attribute))

put("type_int", h5t.STD_I32LE.encode())
put("type_compound", h5t.py_create(np.dtype([("a", "<i4"), ("b", "<f8")])).encode())
put("type_array", h5t.array_create(h5t.STD_I32LE, (2, 3)).encode())
put("type_enum", h5t.py_create(h5py.enum_dtype({"A": 1, "B": 2}, basetype="u1"), logical=True).encode())
put("space_resizable", h5s.create_simple((4, 6), (h5s.UNLIMITED, 6)).encode())
put("space_scalar", h5s.create(h5s.SCALAR).encode())
put("space_null", h5s.create(h5s.NULL).encode())
