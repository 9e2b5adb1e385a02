"""Appends the numbers from 0 on with SWMR, a flush for each batch."""

import sys
import time

import h5py
import numpy

path, count, batch = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
with h5py.File(path, "w", libver="latest") as file:
    plain = file.create_dataset("plain", (0,), "i8", maxshape=(None,), chunks=(16,), fillvalue=-1)
    packed = file.create_dataset("packed", (0, 3), "i8", maxshape=(None, 3), chunks=(8, 3), compression=1, fillvalue=-1)
    tree = file.create_dataset("tree", (0, 3), "i8", maxshape=(None, None), chunks=(8, 3), fillvalue=-1)
    file.swmr_mode = True
    print("open", flush=True)
    for first in range(0, count, batch):
        rows = numpy.arange(first, first + batch)
        for dataset in (plain, packed, tree):
            dataset.resize(first + batch, axis=0)
            dataset[first:] = rows if dataset is plain else numpy.repeat(rows[:, None], 3, axis=1)
            dataset.flush()
        time.sleep(0.002)
    print("done", flush=True)
    sys.stdin.read()
