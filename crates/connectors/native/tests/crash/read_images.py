"""Reads every file in a folder to its last element with libhdf5; prints a line for each, and why it could not be read."""

import pathlib
import sys

import h5py
from h5py import h5d, h5g, h5l, h5o

from opened import opened


def wrapped(thing):
    if isinstance(thing, h5d.DatasetID):
        return h5py.Dataset(thing)
    return h5py.Group(thing) if isinstance(thing, h5g.GroupID) else h5py.Datatype(thing)


def read_object(thing, met):
    info = h5o.get_info(thing)
    if info.addr in met:
        return
    met.add(info.addr)
    list(wrapped(thing).attrs.values())
    if isinstance(thing, h5d.DatasetID):
        h5py.Dataset(thing)[()]
    if isinstance(thing, h5g.GroupID):
        for name in list(thing):
            if thing.links.get_info(name).type == h5l.TYPE_HARD:
                read_object(h5o.open(thing, name), met)


for path in sorted(pathlib.Path(sys.argv[1]).glob("*.h5")):
    try:
        with opened(path, "r") as file:
            read_object(h5o.open(file.id, b"/"), set())
        print(path.name, "read", sep="\t")
    except Exception as problem:
        print(path.name, " ".join(str(problem).split()), sep="\t")
