"""Datasets whose chunk index has a header and no block: libhdf5 copies an index that lost all of its chunks like this."""

import sys

import h5py
import numpy

with h5py.File(sys.argv[1], "w", libver="latest") as f:
    for name, size_max in (("extensible", None), ("fixed", 12), ("paged", 20_000)):
        dataset = f.create_dataset("old " + name, data=numpy.arange(12, dtype="i4"), maxshape=(size_max,), chunks=(3,))
        dataset.resize((0,))
        f.copy(dataset, f, name)

content = open(sys.argv[1], "rb").read()
print(content.count(b"EAHD") - content.count(b"EAIB"), content.count(b"FAHD") - content.count(b"FADB"))
