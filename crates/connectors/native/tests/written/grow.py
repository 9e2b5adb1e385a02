"""Writes to, grows and shrinks every dataset of a file that can do so."""

import sys

import h5py
import numpy

with h5py.File(sys.argv[1], "a") as file:
    for name, dataset in list(file.items()):
        if not isinstance(dataset, h5py.Dataset) or dataset.dtype.kind != "i" or not dataset.chunks:
            continue
        if dataset.size < 10000:
            dataset[...] = numpy.arange(dataset.size).reshape(dataset.shape)
        new = tuple(n + 3 if m is None else n for n, m in zip(dataset.shape, dataset.maxshape))
        if new != dataset.shape:
            dataset.resize(new)
            dataset[tuple(n - 1 for n in new)] = 17
