"""Filters given no, some and all parameters: what h5py with hdf5plugin writes, and whether it reads what we write.

usage: filters.py make FOLDER     writes source.h5, theirs-N.h5 for each case, and the cases in cases.txt
       filters.py check FOLDER    compares ours-N.h5 with theirs-N.h5: values, parameters and sizes
"""

import pathlib
import sys

import h5py
import hdf5plugin  # noqa: F401  registers the filters
import numpy as np

SIZE_TOLERANCE = 0.05
# Where next to nothing is left of two megabytes, headers of streams count.
SIZE_SLACK_BYTES = 512

CASES = [
    (32001, [(), (2, 2), (0, 0, 0, 0, 9), (0, 0, 0, 0, 5, 0)]
     + [(0, 0, 0, 0, level, shuffle, codec) for codec in range(6) for level, shuffle in ((5, 1), (9, 2))]),
    (32026, [(), (1, 0), (0, 0, 0, 0, 9), (0, 0, 0, 0, 5, 0)]
     + [(0, 0, 0, 0, level, shuffle, codec) for codec in (0, 1, 2, 4, 5) for level, shuffle in ((5, 1), (9, 2))]),
    (32008, [(), (0,), (0, 0), (0, 2), (1024, 2), (0, 3), (0, 3, 10)]),
    (32004, [(), (0,), (4096,)]),
    (32015, [(), (1,), (3,), (9,), (19,)]),
    (307, [(), (1,), (9,)]),
    (32000, [(), (4,), (4, 261)]),
    (1, [(1,), (6,), (9,)]),
    (2, [()]),
    (3, [()]),
]


def arrays():
    random = np.random.default_rng(15)
    y, x = np.mgrid[0:400, 0:500]
    wave = np.sin(x / 40) * np.cos(y / 30)
    return {
        "ramp_i4": ((x + 500 * y) // 7).astype("<i4"),
        "walk_u2": np.cumsum(random.integers(-3, 4, (400, 500)), axis=1).astype("<u2"),
        "wave_f8": np.round(wave, 3).astype("<f8"),
        "noisy_f4": (wave + random.normal(0, 0.01, wave.shape)).astype("<f4"),
        "text_s5": np.array([b"north", b"south", b"east", b"west"])[random.integers(0, 4, (400, 500))],
        "line_i4": (np.arange(100_000) // 11).astype("<i4"),
        "cube_u1": (np.arange(64_000).reshape(40, 40, 40) // 100).astype("u1"),
        "long_i8": np.arange(300_000, dtype="<i8").reshape(600, 500) * 3,
    }


CHUNKS = {"line_i4": (25_000,), "cube_u1": (20, 20, 20), "long_i8": (600, 500), "noisy_f4": (400, 500)}


def cases():
    return [(filter_id, values) for filter_id, many in CASES for values in many]


def write(path, filter_id=None, values=()):
    with h5py.File(path, "w") as file:
        for name, data in arrays().items():
            plist = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
            plist.set_chunk(CHUNKS.get(name, (100, 125)))
            if filter_id is not None:
                plist.set_filter(filter_id, h5py.h5z.FLAG_OPTIONAL, values)
            space = h5py.h5s.create_simple(data.shape)
            kind = h5py.h5t.py_create(data.dtype)
            made = h5py.h5d.create(file.id, name.encode(), kind, space, plist)
            h5py.Dataset(made)[...] = data


def make(folder):
    write(folder / "source.h5")
    lines = []
    for number, (filter_id, values) in enumerate(cases()):
        write(folder / f"theirs-{number}.h5", filter_id, values)
        lines.append(",".join(str(n) for n in (filter_id, 1, len(values), *values)))
    (folder / "cases.txt").write_text("\n".join(lines) + "\n")


def problems(folder, number, expected):
    with h5py.File(folder / f"ours-{number}.h5") as ours, h5py.File(folder / f"theirs-{number}.h5") as theirs:
        for name, data in expected.items():
            a, b = ours[name], theirs[name]
            if not np.array_equal(a[...], data):
                yield name, "values differ"
            parameters = [d.id.get_create_plist().get_filter(0)[2] for d in (a, b)]
            if parameters[0] != parameters[1]:
                yield name, f"parameters {parameters[0]}, not {parameters[1]}"
            sizes = a.id.get_storage_size(), b.id.get_storage_size()
            if sizes[0] > sizes[1] * (1 + SIZE_TOLERANCE) + SIZE_SLACK_BYTES:
                yield name, f"{sizes[0]} bytes, not {sizes[1]}: {sizes[0] / sizes[1] - 1:+.1%}"


def check(folder):
    expected, failed = arrays(), 0
    for number, (filter_id, values) in enumerate(cases()):
        for name, problem in problems(folder, number, expected):
            failed += 1
            print(f"filter {filter_id} {values} {name}: {problem}")
    print(f"{len(cases())} cases of {len(expected)} datasets, {failed} problems")
    return failed


if __name__ == "__main__":
    command, folder = sys.argv[1], pathlib.Path(sys.argv[2])
    sys.exit(1 if {"make": make, "check": check}[command](folder) else 0)
