"""`make DIR`: a virtual dataset over three files and a dataset of its own; `show DIR`: what the sources hold."""

import os
import sys

import h5py
import numpy

what, folder = sys.argv[1:]
os.chdir(folder)
if what == "make":
    for n, kind in enumerate(("<i4", ">i2", "<f8")):
        with h5py.File(f"source{n}.h5", "w") as file:
            options = {"chunks": (3,), "compression": "gzip"} if n == 1 else {}
            file.create_dataset("data", data=numpy.arange(8) + 10 * n, dtype=kind, **options)
    with h5py.File("virtual.h5", "w", libver="latest") as file:
        file.create_dataset("own", data=numpy.arange(8) + 30, dtype="<i4")
        layout = h5py.VirtualLayout((5, 4), "<i4")
        for n in range(3):
            # Every second element of each source.
            layout[n] = h5py.VirtualSource(f"source{n}.h5", "data", (8,))[::2]
        layout[3] = h5py.VirtualSource(".", "own", (8,))[4:]
        file.create_virtual_dataset("virtual", layout, fillvalue=-1)
else:
    for n in range(3):
        with h5py.File(f"source{n}.h5") as file:
            print(*file["data"][...].astype(int))
    with h5py.File("virtual.h5") as file:
        print(*file["own"][...])
        print(*file["virtual"][...].reshape(-1))
