"""Reads everything in an HDF5 file and prints what it read: one line for each dataset and attribute, path and bytes.

Elements are read in the file's own type, so that the bytes are those in the file. Variable-length values and
references, which are pointers in memory, are read but not printed. Any error ends the script with a traceback.
"""

import sys

import h5py
import numpy
from h5py import h5a, h5d, h5g, h5l, h5o, h5t

PRINT_BYTES_MAX = 1 << 20


def has_pointers(kind):
    if isinstance(kind, h5t.TypeVlenID):
        return True
    if isinstance(kind, h5t.TypeStringID):
        return kind.is_variable_str()
    if isinstance(kind, h5t.TypeReferenceID):
        return True
    if isinstance(kind, h5t.TypeArrayID):
        return has_pointers(kind.get_super())
    if isinstance(kind, h5t.TypeCompoundID):
        return any(has_pointers(kind.get_member_type(n)) for n in range(kind.get_nmembers()))
    return False


def show(path, data):
    if data.nbytes <= PRINT_BYTES_MAX:
        print(path.decode("utf-8", "replace"), data.tobytes().hex(), sep="\t")


def read_dataset(path, dataset):
    kind, space = dataset.get_type(), dataset.get_space()
    if space.get_simple_extent_type() == h5py.h5s.NULL:
        return
    data = numpy.zeros(dataset.shape, dtype=f"V{kind.get_size()}")
    if not has_pointers(kind):
        dataset.read(h5py.h5s.ALL, h5py.h5s.ALL, data, kind)
        show(path, data)
    else:
        h5py.Dataset(dataset)[()]


def read_attribute(path, attribute):
    kind, space = attribute.get_type(), attribute.get_space()
    if space.get_simple_extent_type() == h5py.h5s.NULL:
        return
    if not has_pointers(kind):
        data = numpy.zeros(attribute.shape, dtype=f"V{kind.get_size()}")
        attribute.read(data, kind)
        show(path + b"@" + attribute.name, data)
    else:
        data = numpy.zeros(attribute.shape, dtype=attribute.dtype)
        attribute.read(data)


def read_object(path, thing, above):
    for index in range(h5a.get_num_attrs(thing)):
        read_attribute(path, h5a.open(thing, index=index))
    if isinstance(thing, h5d.DatasetID):
        read_dataset(path, thing)
    if isinstance(thing, h5g.GroupID):
        above = above | {h5o.get_info(thing).addr}
        for name in list(thing):
            if thing.links.get_info(name).type != h5l.TYPE_HARD:
                continue
            member = h5o.open(thing, name)
            if h5o.get_info(member).addr not in above:
                read_object(path + b"/" + name, member, above)


with h5py.File(sys.argv[1], "r") as file:
    read_object(b"", h5o.open(file.id, b"/"), frozenset())
