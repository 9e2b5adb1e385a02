"""Files for the crash tests to change: one index or heap each, as libhdf5 of three generations writes it."""

import sys

import h5py
import numpy


def ordered(file, name):
    create = h5py.h5p.create(h5py.h5p.GROUP_CREATE)
    order = h5py.h5p.CRT_ORDER_TRACKED | h5py.h5p.CRT_ORDER_INDEXED
    create.set_link_creation_order(order)
    create.set_attr_creation_order(order)
    return h5py.Group(h5py.h5g.create(file.id, name, gcpl=create))


def links(file, group=None):
    group = group or file.create_group("links")
    for n in range(90):
        group[f"link {n:03} {'x' * (n * 7 % 60)}"] = h5py.SoftLink("/target")


def attributes(file, group=None):
    group = group or file.create_group("attributes")
    for n in range(70):
        group.attrs.create(f"attribute {n}", n, dtype="i4")


def huge(file):
    group = file.create_group("attributes")
    for n in range(10):
        group.attrs[f"attribute {n}"] = numpy.full(1100 + n, n, dtype="i4")


def rows(file, **filters):
    data = numpy.arange(120, dtype="i4")
    file.create_dataset("rows", data=data, chunks=(1,), maxshape=(None,), **filters)


def grid(file):
    data = numpy.arange(120, dtype="i4").reshape(60, 2)
    file.create_dataset("grid", data=data, chunks=(1, 1), maxshape=(None, None))


def fixed(file):
    file.create_dataset("fixed", shape=(90,), dtype="i4", chunks=(1,))[:40] = 1


def pages(file):
    file.create_dataset("pages", shape=(2500,), dtype="i4", chunks=(1,))[:20] = 1


def far(file):
    file.create_dataset("far", shape=(140_000,), dtype="i4", chunks=(1,), maxshape=(None,))[:20] = 1


def texts(file):
    data = [f"text {n} {'y' * (n * 13 % 90)}" for n in range(60)]
    file.create_dataset("texts", data=data, chunks=(8,), maxshape=(None,), dtype=h5py.string_dtype())


EARLIEST, V108, LATEST = "earliest", "v108", "latest"
ALL = (EARLIEST, V108, LATEST)

for name, make, generations in [
    ("links", links, ALL),
    ("ordered links", lambda file: links(file, ordered(file, b"links")), (V108,)),
    ("attributes", attributes, (V108, LATEST)),
    ("ordered attributes", lambda file: attributes(file, ordered(file, b"attributes")), (LATEST,)),
    ("huge", huge, (V108,)),
    ("rows", rows, ALL),
    ("packed", lambda file: rows(file, compression="gzip"), (V108, LATEST)),
    ("grid", grid, (V108, LATEST)),
    ("fixed", fixed, (LATEST,)),
    ("pages", pages, (LATEST,)),
    ("far", far, (LATEST,)),
    ("texts", texts, ALL),
]:
    for generation in generations:
        libver = (V108, V108) if generation == V108 else generation
        with h5py.File(f"{sys.argv[1]}/{name}, {generation}.h5", "w", libver=libver) as file:
            make(file)
