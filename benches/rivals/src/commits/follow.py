"""Follows a dataset with SWMR while another program appends to it, until it has so many elements; each row holds its number."""

import sys
import time

import h5py

path, count, row = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
with h5py.File(path, "r", libver="latest", swmr=True) as file:
    print("open", flush=True)
    dataset, sizes = file["x"], set()
    while len(sizes) == 0 or max(sizes) < count:
        dataset.refresh()
        size = dataset.shape[0]
        if size:
            last = dataset[size - row : size]
            # Elements may come after the extent.
            assert ((last == size // row - 1) | (last == 0)).all(), (size, last)
        sizes.add(size)
        time.sleep(0.005)
    print(len(sizes))
