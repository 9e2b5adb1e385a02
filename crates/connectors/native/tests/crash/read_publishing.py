"""Reads files as they are while a commit is published, with libhdf5: whatever is in them is of the commit or of the one before.

A folder holds `commit N.h5` for all commits, and `publishing N, M.h5` on the way to commit N. Prints a line for each of these,
and what is wrong with it.
"""

import pathlib
import re
import sys

import h5py
import numpy

from opened import opened


def elements(dataset):
    """All elements. Of large datasets most chunks are not stored, and libhdf5 takes long to find that out one by one."""
    if dataset.size < 10_000:
        return dataset[()]
    starts, found = [], numpy.zeros(dataset.shape, dataset.dtype)
    dataset.id.chunk_iter(lambda info: starts.append(info.chunk_offset))
    for start in starts:
        chunk = tuple(slice(s, s + n) for s, n in zip(start, dataset.chunks))
        found[chunk] = dataset[chunk]
    return found


def described(path):
    """Objects by path: what kind they are, their attributes, and their links or elements."""
    objects = {}

    def add(name, thing):
        attributes = {key: numpy.asarray(value).tolist() for key, value in thing.attrs.items()}
        content = set(thing) if isinstance(thing, h5py.Group) else elements(thing)
        objects[name] = (attributes, content)

    with opened(path, "r") as file:
        add("/", file)
        file.visititems(add)
    return objects


def between(seen, old, new, what):
    """Names: those of both commits are there, and no others than those of one of them."""
    missing, strange = old & new - seen, seen - (old | new)
    if missing or strange:
        raise ValueError(f"{what}: missing {sorted(missing)[:3]}, strange {sorted(strange)[:3]}")


def padded(array, shape):
    grown = numpy.zeros(shape, dtype=array.dtype)
    if array.dtype == object:
        grown.fill(b"")
    both = tuple(slice(0, min(a, b)) for a, b in zip(array.shape, shape))
    grown[both] = array[both]
    return grown


def check_elements(seen, old, new, name):
    if seen.shape not in (old.shape, new.shape):
        raise ValueError(f"{name}: shape {seen.shape}")
    old, new = padded(old, seen.shape), padded(new, seen.shape)
    # What grows has the fill value before it is written.
    fits = (seen == old) | (seen == new)
    if not numpy.all(fits):
        where = numpy.argwhere(~fits)[0]
        raise ValueError(f"{name}: element {where} is {seen[tuple(where)]!r}")


def check(seen, old, new):
    between(set(seen), set(old), set(new), "objects")
    for name, (attributes, content) in seen.items():
        was, will = (commit.get(name, commit_or) for commit, commit_or in ((old, new.get(name)), (new, old.get(name))))
        between(set(attributes), set(was[0]), set(will[0]), f"attributes of {name}")
        for key, value in attributes.items():
            if value not in (was[0].get(key), will[0].get(key)):
                raise ValueError(f"attribute {key} of {name}: {value!r}")
        if isinstance(content, set):
            between(content, was[1], will[1], f"links of {name}")
        else:
            check_elements(content, was[1], will[1], name)


commits = {}


def commit(folder, number):
    path = folder / f"commit {number}.h5"
    if path not in commits:
        commits[path] = described(path)
    return commits[path]


for folder in sorted(path for path in pathlib.Path(sys.argv[1]).iterdir() if path.is_dir()):
    commits.clear()
    for path in sorted(folder.glob("publishing *.h5")):
        number = int(re.match(r"publishing (\d+),", path.name)[1])
        try:
            check(described(path), commit(folder, number - 1), commit(folder, number))
            print(f"{folder.name}/{path.name}", "read", sep="\t")
        except Exception as problem:
            print(f"{folder.name}/{path.name}", " ".join(str(problem).split()), sep="\t")
