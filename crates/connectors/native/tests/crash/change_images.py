"""Changes every file in a folder with libhdf5, using whatever it believes is free; what was there must stay as it was.

Prints a line for each file, and what went wrong with it.
"""

import pathlib
import sys

import h5py
import numpy

from opened import opened


def content(file):
    found = {}

    def note(name, thing):
        for key, value in thing.attrs.items():
            found[f"{name}@{key}"] = numpy.asarray(value).tolist()
        if isinstance(thing, h5py.Dataset):
            found[name] = numpy.asarray(thing[()]).tolist()

    file.visititems(note)
    return found


def change(file):
    group = file.create_group("went on")
    for n in range(60):
        group.create_dataset(f"small {n}", data=numpy.full(n * 5 + 1, n, "i4"))
        group.create_group(f"member {n}").attrs["n"] = n
    for n, size in enumerate([400, 1000, 3000, 9000]):
        group.create_dataset(f"large {n}", data=numpy.full(size, n, "i4"))


for path in sorted(pathlib.Path(sys.argv[1]).glob("*.h5")):
    try:
        with opened(path, "r+") as file:
            before = content(file)
            change(file)
        with h5py.File(path, "r") as file:
            after = content(file)
        wrong = [name for name, value in before.items() if after.get(name) != value]
        print(path.name, f"lost {wrong[:3]}" if wrong else "read", sep="\t")
    except Exception as problem:
        print(path.name, " ".join(str(problem).split()), sep="\t")
