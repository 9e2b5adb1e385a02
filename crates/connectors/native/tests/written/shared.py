"""Makes and changes files that store like messages once.

shared.py make PATH LIBVER
shared.py add PATH NAME
shared.py change PATH NAME
"""

import ctypes
import sys

import h5py
import numpy

# The library that h5py itself uses.
LIBRARY = ctypes.CDLL(h5py.h5p.__file__)
# Dataspaces, datatypes, fill values, filters and attributes.
ALL_MESSAGES = 0x182A


def make(path, libver):
    create = h5py.h5p.create(h5py.h5p.FILE_CREATE)
    number = ctypes.c_int64(create.id)
    assert LIBRARY.H5Pset_shared_mesg_nindexes(number, ctypes.c_uint(1)) >= 0
    index = (ctypes.c_uint(0), ctypes.c_uint(ALL_MESSAGES), ctypes.c_uint(1))
    assert LIBRARY.H5Pset_shared_mesg_index(number, *index) >= 0
    access = h5py.h5p.create(h5py.h5p.FILE_ACCESS)
    if libver == "latest":
        access.set_libver_bounds(h5py.h5f.LIBVER_LATEST, h5py.h5f.LIBVER_LATEST)
    with h5py.File(h5py.h5f.create(path.encode(), h5py.h5f.ACC_TRUNC, create, access)) as file:
        fill(file, "first")


def fill(file, name):
    for n in range(12):
        data = file.create_dataset(f"{name} data {n}", data=numpy.arange(10 + n % 3, dtype="i4"))
        # An extent that only one dataset has: its message stays in that dataset's header, and the index leads there.
        if n % 2 == int(name[-1:] == "0"):
            file.create_dataset(f"{name} rare {n}", data=numpy.zeros(100 + n, "i4"))
        group = file.create_group(f"{name} group {n}")
        for thing in (data, group):
            thing.attrs["numbers"] = numpy.arange(5)
            thing.attrs["text"] = numpy.bytes_("text" * 4)
            thing.attrs[f"own {n}"] = n


def add(path, name):
    with h5py.File(path, "r+") as file:
        fill(file, name)


def change(path, name):
    add(path, name)
    with h5py.File(path, "r+") as file:
        for old in list(file)[::5]:
            del file[old]
        for thing in list(file.values())[::3]:
            thing.attrs["numbers"] = numpy.arange(6)
            thing.attrs.pop("text", None)


{"make": make, "add": add, "change": change}[sys.argv[1]](*sys.argv[2:])
