"""Files for the crash tests to change: what libhdf5 of three generations writes."""

import sys

import h5py
import numpy


def fill(file):
    group = file.create_group("group")
    for n in range(4):
        group.create_group(f"member {n}")
    many = file.create_group("many")
    for n in range(20):
        many.create_group(f"member {n:02}")
        many.attrs[f"attribute {n}"] = n
    file["plain"] = numpy.arange(100, dtype="i4")
    file["plain"].attrs["unit"] = "K"
    file.create_dataset("chunked", data=numpy.arange(60, dtype="i4"), chunks=(8,), maxshape=(None,), compression="gzip")
    file.create_dataset("fixed", data=numpy.arange(60, dtype="i4"), chunks=(8,))
    file.create_dataset("texts", data=["one", "two", "three"])
    file["type"] = numpy.dtype([("x", "i4"), ("y", "f8")])
    file["soft"] = h5py.SoftLink("/group")
    file["again"] = file["plain"]


for name, libver, block in [
    ("earliest", "earliest", 0),
    ("v108", ("v108", "v108"), 0),
    ("latest", "latest", 0),
    ("userblock", "earliest", 1024),
]:
    with h5py.File(f"{sys.argv[1]}/{name}.h5", "w", libver=libver, userblock_size=block) as file:
        fill(file)
