#!/usr/bin/env python3
"""Makes golden files with h5py, in every generation of the format, and the bytes their datasets hold.

    make.py DIR

DIR/files/*.h5 are HDF5 files. For every dataset of fixed-size elements, DIR/expected/FILE/PATH.bin holds its elements as
h5py reads them, in the file's own datatype. DIR/broken/*.h5 are files with one wrong field each (`broken.py`). Nothing here
is random without a seed: two runs give the same data.
"""
import os
import sys

import h5py
import numpy as np

from broken import make_broken

try:
    import hdf5plugin
except ImportError:
    hdf5plugin = None

GENERATIONS = ["earliest", "v108", "v110", "v112", "v114", "v200"]
RNG = np.random.default_rng(5)


def generations():
    for name in GENERATIONS:
        try:
            with h5py.File(f"probe-{name}", "w", libver=(name, "latest"), driver="core", backing_store=False):
                yield name
        except ValueError:
            print(f"this h5py does not know {name}")


def types(f):
    for order in "<>":
        for code in ["i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8"]:
            f[f"{code}{'le' if order == '<' else 'be'}"] = np.arange(-4, 8).astype(order + code)
    f["compound"] = np.array([(1, 2.5, b"abc"), (-3, 4.25, b"de")], dtype=[("i", "<i4"), ("x", ">f8"), ("s", "S5")])
    nested = np.dtype([("a", "u1"), ("inner", [("p", "<i2"), ("q", "<f4", (2, 3))])])
    f["nested"] = np.zeros(3, nested)
    f.create_dataset("array", (4,), dtype=np.dtype(("<i2", (3, 2))))[...] = np.arange(24).reshape(4, 3, 2)
    f["bool"] = np.array([True, False, True])
    f["enum"] = np.array([0, 1, 2, 1], dtype=h5py.enum_dtype({"RED": 0, "GREEN": 1, "BLUE": 2}, basetype="i2"))
    f["fixed"] = np.array([b"one", b"three", b""], dtype="S8")
    f["scalar"] = 42.5
    f["empty"] = h5py.Empty("f4")
    f["opaque"] = np.void(b"\x01\x02\x03\x04")
    f["complex"] = np.array([1 + 2j, -3.5 + 0.25j])


def strings(f):
    f.create_dataset("vlen", data=["first", "", "zwölf", "x" * 300], dtype=h5py.string_dtype())
    f.create_dataset("ascii", data=[b"a", b"bc"], dtype=h5py.string_dtype("ascii"))
    sequences = f.create_dataset("sequences", (4,), dtype=h5py.vlen_dtype(np.int32))
    for i in range(4):
        sequences[i] = np.arange(i * 3)
    f.attrs["title"] = "a title"
    f.attrs["list"] = ["one", "two"]


def layouts(f):
    data = np.arange(40 * 30, dtype="i4").reshape(40, 30)
    f["contiguous"] = data
    f.create_dataset("unwritten", (10, 10), "f8", fillvalue=-1.5)
    dcpl = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
    dcpl.set_layout(h5py.h5d.COMPACT)
    space = h5py.h5s.create_simple((5, 4))
    compact = h5py.h5d.create(f.id, b"compact", h5py.h5t.STD_I16LE, space, dcpl)
    compact.write(h5py.h5s.ALL, h5py.h5s.ALL, np.arange(20, dtype="<i2").reshape(5, 4))
    f.create_dataset("single", data=data, chunks=data.shape)
    f.create_dataset("single_filtered", data=data, chunks=data.shape, compression="gzip", shuffle=True)
    f.create_dataset("fixed_array", data=data, chunks=(7, 8))
    f.create_dataset("fixed_array_filtered", data=data, chunks=(7, 8), compression="gzip", fletcher32=True)
    f.create_dataset("extensible", data=data, chunks=(7, 8), maxshape=(None, 30))
    f.create_dataset("extensible_second", data=data, chunks=(7, 8), maxshape=(40, None))
    f.create_dataset("extensible_filtered", data=data, chunks=(7, 8), maxshape=(None, 30), compression="lzf")
    f.create_dataset("tree", data=data, chunks=(7, 8), maxshape=(None, None))
    f.create_dataset("tree_filtered", data=data, chunks=(7, 8), maxshape=(None, None), compression="gzip")
    sparse = f.create_dataset("sparse", (100, 100), "i2", chunks=(10, 10), maxshape=(None, None), fillvalue=7)
    sparse[55:57, 3:40] = 1
    early = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
    early.set_chunk((7, 8))
    early.set_alloc_time(h5py.h5d.ALLOC_TIME_EARLY)
    implicit = h5py.h5d.create(f.id, b"implicit", h5py.h5t.STD_I32LE, h5py.h5s.create_simple((40, 30)), early)
    implicit.write(h5py.h5s.ALL, h5py.h5s.ALL, data)
    f.create_dataset("scaleoffset", data=data, chunks=(10, 10), scaleoffset=0)
    f.create_dataset("nothing", (0, 5), "f4", chunks=(2, 2), maxshape=(None, 5))


def long_indexes(f):
    f.create_dataset("paged_fixed", data=np.arange(5000, dtype="i2"), chunks=(2,))
    f.create_dataset("long_extensible", data=np.arange(40000, dtype="i2"), chunks=(2,), maxshape=(None,))
    filtered = f.create_dataset("long_extensible_filtered", (9000,), "i4", chunks=(3,), maxshape=(None,), compression="gzip")
    filtered[...] = np.arange(9000)
    f.create_dataset("deep_tree", data=np.arange(60 * 60, dtype="i2").reshape(60, 60), chunks=(1, 1), maxshape=(None, None))
    far = f.create_dataset("far_extensible", (450_000,), "i1", chunks=(1,), maxshape=(None,), fillvalue=2)
    for at in [3, 131_500, 262_000, 300_000, 449_999]:
        far[at] = 7
    hole = f.create_dataset("paged_hole", (20000,), "i1", chunks=(1,), fillvalue=3)
    hole[15000:15010] = 9


def groups(f):
    few = f.create_group("few")
    for i in range(5):
        few.create_group(f"g{i}")
    many = f.create_group("many")
    for i in range(700):
        many.create_group(f"entry {i:04d}")
    ordered = f.create_group("ordered", track_order=True)
    for name in ["zulu", "alpha", "mike"]:
        ordered[name] = 1
    dense_ordered = f.create_group("dense_ordered", track_order=True)
    for i in range(40):
        dense_ordered[f"n{(i * 7) % 40:02d}"] = i
    f["soft"] = h5py.SoftLink("/few/g0")
    f["dangling"] = h5py.SoftLink("/nowhere")
    f["external"] = h5py.ExternalLink("other.h5", "/x")
    f["hard"] = f["few"]
    f["ünïcode/näme"] = 3
    f["deep/er/and/deeper"] = 4


def attributes(f):
    d = f.create_dataset("few", data=1)
    d.attrs["number"] = 5
    d.attrs["matrix"] = np.arange(6.0).reshape(2, 3)
    d.attrs["null"] = h5py.Empty("i4")
    many = f.create_dataset("many", data=2)
    for i in range(60):
        many.attrs[f"attribute {i:03d}"] = i
    g = f.create_group("tracked", track_order=True)
    for name in ["b", "a", "c"]:
        g.attrs[name] = name


def references(f):
    f["data"] = np.arange(100, dtype="i4").reshape(10, 10)
    f.create_group("group")
    f["objects"] = np.array([f["data"].ref, f["group"].ref, h5py.Reference()], dtype=h5py.ref_dtype)
    regions = f.create_dataset("regions", (2,), dtype=h5py.regionref_dtype)
    regions[0] = f["data"].regionref[2:5, 3:7]
    regions[1] = f["data"].regionref[::4, ::5]
    f["named"] = np.dtype("<f8")
    f.create_dataset("typed", data=[1.0, 2.0], dtype=f["named"])


def virtual(folder, f):
    for i in range(3):
        with h5py.File(os.path.join(folder, f"source-{i}.h5"), "w") as source:
            source["x"] = np.arange(10, dtype="i4") + 100 * i
    layout = h5py.VirtualLayout((4, 10), "i4")
    for i in range(4):
        layout[i] = h5py.VirtualSource(f"source-{i}.h5", "x", (10,))
    f.create_virtual_dataset("stacked", layout, fillvalue=-1)
    f["here"] = np.arange(12, dtype="f4").reshape(3, 4)
    layout = h5py.VirtualLayout((2, 3), "f8")
    layout[...] = h5py.VirtualSource(".", "here", (3, 4))[0:2, 1:4]
    f.create_virtual_dataset("own", layout)


def plugins(f):
    data = (np.arange(64 * 64) % 97).astype("i4").reshape(64, 64)
    filters = {
        "blosc": hdf5plugin.Blosc(), "blosc_zstd": hdf5plugin.Blosc(cname="zstd", shuffle=2), "blosc2": hdf5plugin.Blosc2(),
        "bitshuffle": hdf5plugin.Bitshuffle(), "bitshuffle_none": hdf5plugin.Bitshuffle(cname="none"), "lz4": hdf5plugin.LZ4(),
        "zstd": hdf5plugin.Zstd(), "bzip2": hdf5plugin.BZip2(),
    }
    for name, options in filters.items():
        f.create_dataset(name, data=data, chunks=(16, 32), **options)


def expected(folder, name):
    """The elements of every dataset whose file form numpy knows."""
    target = os.path.join(folder, "expected", name)

    def visit(path, item):
        if not isinstance(item, h5py.Dataset) or item.shape is None or item.dtype.hasobject:
            return
        if item.dtype.kind == "c" or item.dtype.itemsize != item.id.get_type().get_size():
            return
        place = os.path.join(target, path + ".bin")
        os.makedirs(os.path.dirname(place), exist_ok=True)
        with open(place, "wb") as out:
            out.write(np.asarray(item[()]).tobytes())

    with h5py.File(os.path.join(folder, "files", name), "r") as f:
        f.visititems(visit)


def make(folder, name, fill, **options):
    path = os.path.join(folder, "files", name)
    with h5py.File(path, "w", **options) as f:
        fill(f)
    expected(folder, name)


def main():
    folder = sys.argv[1]
    files = os.path.join(folder, "files")
    os.makedirs(files, exist_ok=True)
    makers = [types, strings, layouts, long_indexes, groups, attributes, references]
    for generation in generations():
        for maker in makers:
            make(folder, f"{maker.__name__}-{generation}.h5", maker, libver=(generation, "latest"))
        if generation != "earliest":
            make(folder, f"virtual-{generation}.h5", lambda f: virtual(files, f), libver=(generation, "latest"))
    make(folder, "userblock.h5", types, userblock_size=1024)
    make(folder, "paged.h5", groups, fs_strategy="page", fs_persist=True, fs_page_size=4096)
    make(folder, "persist.h5", layouts, fs_strategy="fsm", fs_persist=True)
    make(folder, "tracked.h5", groups, track_order=True)
    if hdf5plugin:
        make(folder, "plugins.h5", plugins)
    broken = make_broken(os.path.join(folder, "broken"))
    print(f"{len(os.listdir(files))} files in {files}, {broken} broken ones next to it")


main()
