"""Adds to every group of a file that both libraries write to by turns."""

import sys

import h5py
import numpy

path, round_number = sys.argv[1:]
with h5py.File(path, "a") as file:
    groups = [file]
    file.visititems(lambda _, thing: groups.append(thing) if isinstance(thing, h5py.Group) else None)
    for group in groups[:20]:
        group.attrs[f"appended {round_number}"] = numpy.arange(20)
        for n in range(10):
            group.create_group(f"appended {round_number} {n}")
        group.create_dataset(f"numbers {round_number}", data=numpy.arange(500), chunks=(64,), compression="gzip")
        group[f"plain {round_number}"] = numpy.arange(300)
