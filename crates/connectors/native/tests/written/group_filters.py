"""Makes and changes groups whose links are compressed.

group_filters.py make PATH LIBVER
group_filters.py change PATH TURN
group_filters.py list PATH         the links of each group with their targets, and the number of its filters
"""

import ctypes
import sys

import h5py

# The library that h5py itself uses.
LIBRARY = ctypes.CDLL(h5py.h5p.__file__)
# The soft link of this name leads so far that it has space of its own in the heap.
FAR = "x" * 9000


def compressed():
    create = h5py.h5p.create(h5py.h5p.GROUP_CREATE)
    assert LIBRARY.H5Pset_deflate(ctypes.c_int64(create.id), ctypes.c_uint(6)) >= 0
    return create


def add(group, turn, count):
    for n in range(count):
        group[f"link {turn} number {n:06}"] = h5py.SoftLink(f"/some/object/far/away/{n}")
    group[f"huge {turn}"] = h5py.SoftLink(FAR + turn)


def make(path, libver):
    with h5py.File(path, "w", libver=libver) as file:
        for name, count in (("few", 3), ("some", 30), ("many", 3000)):
            group = h5py.Group(h5py.h5g.create(file.id, name.encode(), gcpl=compressed()))
            add(group, "first", count)


def change(path, turn):
    with h5py.File(path, "r+") as file:
        for group in file.values():
            for name in list(group)[::3]:
                del group[name]
            add(group, f"theirs {turn}", 40)


def show(path):
    with h5py.File(path) as file:
        for name, group in sorted(file.items()):
            create = group.id.get_create_plist()
            count = LIBRARY.H5Pget_nfilters(ctypes.c_int64(create.id))
            print(name, "filters", count)
            for link in sorted(group):
                print(name, link, group.get(link, getlink=True).path)


{"make": make, "change": change, "list": show}[sys.argv[1]](*sys.argv[2:])
