"""libhdf5's side of the tests in libhdf5.rs.

libhdf5.py start|change|check links-old|links-dense|chunks FILE SEED

Next to FILE is FILE.list: lines of a name and a target, or of a chunk's number and its value, as they should be.
"""

import random
import sys

import h5py
import numpy as np

action, kind, path, seed = sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4])
random.seed(seed)
CHUNK = 10


def read_list():
    with open(path + ".list") as lines:
        return dict(line.rstrip("\n").split("\t") for line in lines)


def write_list(model):
    with open(path + ".list", "w") as lines:
        lines.writelines(f"{name}\t{value}\n" for name, value in model.items())


def group(file):
    return file["g"] if kind == "links-dense" else file["/"]


def start():
    model = {}
    with h5py.File(path, "w", libver="earliest") as file:
        if kind == "chunks":
            file.create_dataset("d", (30000,), "<i4", chunks=(CHUNK,), maxshape=(None,))
            for number in range(0, 1500, 2):
                file["d"][number * CHUNK : (number + 1) * CHUNK] = number + 1
                model[str(number)] = str(number + 1)
        else:
            if kind == "links-dense":
                file.create_group("g", track_order=True)
            add_links(group(file), model, 400)
    write_list(model)


def add_links(g, model, count):
    for _ in range(count):
        number = random.randrange(10**9)
        name = f"libhdf5 {number}" + "y" * (number % 40)
        target = f"/somewhere/{number}"
        g[name] = h5py.SoftLink(target)
        model[name] = target


def change():
    model = read_list()
    with h5py.File(path, "r+") as file:
        if kind == "chunks":
            for number in random.sample(range(3000), 300):
                value = random.randrange(1, 10**6)
                file["d"][number * CHUNK : (number + 1) * CHUNK] = value
                model[str(number)] = str(value)
        else:
            for name in random.sample(sorted(model), min(len(model) // 2, 300)):
                del group(file)[name]
                del model[name]
            add_links(group(file), model, 250)
    write_list(model)
    check()


def check():
    model = read_list()
    with h5py.File(path, "r") as file:
        if kind == "chunks":
            expected = np.zeros(30000, "<i4")
            for number, value in model.items():
                expected[int(number) * CHUNK : (int(number) + 1) * CHUNK] = int(value)
            assert (file["d"][:] == expected).all()
            assert file["d"].id.get_num_chunks() == len(model)
        else:
            g = group(file)
            names = [name for name in g if name != "g"]
            assert len(names) == len(set(names)) and set(names) == set(model), "names differ"
            if kind == "links-dense":
                assert len(g) == len(model)
            for name, target in model.items():
                assert g.get(name, getlink=True).path == target, name


{"start": start, "change": change, "check": check}[action]()
