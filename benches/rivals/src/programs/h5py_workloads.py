"""Workloads of h5py programs, for the benchmark: `h5py_workloads.py WORKLOAD FOLDER` prints the seconds that it took, and a
sum of what it read. Files that are read were made by `h5py_workloads.py make FOLDER`, on libhdf5.
"""

import os
import sys
import time

import h5py
import numpy

SIDE = 4096
CHUNK = 256


def measurements(count):
    numbers = numpy.random.default_rng(7)
    index = numpy.arange(count)
    smooth = 280 + 20 * numpy.sin(index * 1e-4) + 3 * numpy.cos(index * 7e-3)
    return numpy.round(smooth + numbers.integers(0, 100, count) * 1e-3, 3).astype("f4")


def grid():
    return measurements(SIDE * SIDE).reshape(SIDE, SIDE)


def numbers(seed, below, count):
    return numpy.random.default_rng(seed).integers(0, below, count)


def make(folder):
    data = grid()
    with h5py.File(f"{folder}/data.h5", "w") as file:
        file.create_dataset("deflated", data=data, chunks=(CHUNK, CHUNK), compression=4, shuffle=True)
        file.create_dataset("chunked", data=data, chunks=(CHUNK, CHUNK))
        file.create_dataset("contiguous", data=data)
        texts = [f"text {n} {'y' * (n % 23)}" for n in range(1_000_000)]
        file.create_dataset("strings", data=texts, dtype=h5py.string_dtype())
    objects(f"{folder}/objects.h5")


def objects(path):
    with h5py.File(path, "w") as file:
        for n in range(10_000):
            dataset = file.create_dataset(f"dataset {n}", data=numpy.full(10, n, "i4"))
            for a in range(5):
                dataset.attrs.create(f"attribute {a}", n + a, dtype="i4")


def read_all(name):
    def work(folder):
        with h5py.File(f"{folder}/data.h5") as file:
            into = numpy.empty((SIDE, SIDE), "f4")
            yield
            file[name].read_direct(into)
            yield float(into[::97, ::89].sum(dtype="f8"))

    return work


def write_all(**options):
    def work(folder):
        data, path = grid(), f"{folder}/written.h5"
        yield
        with h5py.File(path, "w") as file:
            file.create_dataset("x", data=data, **options)
        yield float(data.sum(dtype="f8"))
        with h5py.File(path) as file:
            assert numpy.array_equal(file["x"][()], data)
        os.remove(path)

    return work


def windows(folder):
    starts = numbers(11, SIDE - 64, (10_000, 2))
    with h5py.File(f"{folder}/data.h5") as file:
        dataset, total = file["chunked"], 0.0
        yield
        for row, column in starts:
            total += dataset[row : row + 64, column : column + 64][3, 5]
        yield float(total)


def strided(folder):
    with h5py.File(f"{folder}/data.h5") as file:
        dataset = file["chunked"]
        yield
        values = dataset[::3, ::5]
        yield float(values.sum(dtype="f8"))


def points(folder):
    places = numpy.unique(numbers(13, SIDE * SIDE, 100_000))
    places = numpy.stack([places // SIDE, places % SIDE], axis=1).astype("u8")
    with h5py.File(f"{folder}/data.h5") as file:
        dataset = file["chunked"]
        into = numpy.empty(len(places), "f4")
        yield
        space = dataset.id.get_space()
        space.select_elements(places)
        dataset.id.read(h5py.h5s.create_simple((len(places),)), space, into)
        yield float(into.sum(dtype="f8"))


def strings(folder):
    with h5py.File(f"{folder}/data.h5") as file:
        dataset = file["strings"]
        yield
        values = dataset[()]
        yield float(sum(len(value) for value in values[::17]))


def create_objects(folder):
    path = f"{folder}/created.h5"
    yield
    objects(path)
    yield 1.0
    os.remove(path)


def read_objects(folder):
    total = 0
    with h5py.File(f"{folder}/objects.h5") as file:
        yield
        for n in range(10_000):
            dataset = file[f"dataset {n}"]
            total += int(dataset[3])
            for a in range(5):
                total += int(dataset.attrs[f"attribute {a}"])
        yield float(total)


WORKLOADS = {
    "deflated read": read_all("deflated"),
    "deflated write": write_all(chunks=(CHUNK, CHUNK), compression=4, shuffle=True),
    "windows": windows,
    "strided": strided,
    "points": points,
    "contiguous read": read_all("contiguous"),
    "contiguous write": write_all(),
    "strings": strings,
    "objects created": create_objects,
    "objects read": read_objects,
}


def main(name, folder):
    if name == "make":
        return make(folder)
    steps = WORKLOADS[name](folder)
    next(steps)
    start = time.perf_counter()
    result = next(steps)
    seconds = time.perf_counter() - start
    for _ in steps:
        pass
    print(seconds, result)


main(*sys.argv[1:])
