"""Makes a file whose attributes end with padding: values of 1 to 9 bytes in headers of version 1."""

import sys

import h5py
import numpy

with h5py.File(sys.argv[1], "w", libver="earliest") as file:
    for n in range(1, 10):
        file.attrs[f"{n} bytes"] = numpy.arange(n, dtype="u1")
