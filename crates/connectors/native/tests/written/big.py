"""Makes a file with a group whose room is worth using again."""

import sys

import h5py
import numpy

with h5py.File(sys.argv[1], "w") as file:
    big = file.create_group("big")
    big["contiguous"] = numpy.arange(60_000, dtype="i4")
    big.create_dataset("chunked", data=numpy.arange(60_000, dtype="i4"), chunks=(1000,))
    for n in range(100):
        big.create_group(f"member {n}").attrs["n"] = n
        big.attrs[f"attribute {n}"] = n
    file.create_group("other")
