"""Makes two files that differ in every way that h5diff can tell: make_pairs.py DIR"""
import sys

import h5py
import numpy as np


def pick(first, *values):
    return values[0 if first else 1]


def numbers(f, first):
    f["u32"] = np.array(pick(first, [1, 4000000000, 5], [3000000000, 1, 5]), "u4")
    f["i64"] = np.array(pick(first, [-(2**63), 2, 3], [2**63 - 1, 1, 3]), "i8")
    f["u64"] = np.array(pick(first, [2**64 - 1, 2, 0], [0, 1, 3]), "u8")
    f["i8"] = np.array(pick(first, [1, -120, 3], [-1, 120, 3]), "i1")
    f["half"] = np.array(pick(first, [1, 2, 3], [1, 2.5, 3]), "f2")
    f["double"] = np.array(pick(first, [1, 1e300, 0, 1e-300], [1.0000001, 2e300, 5, 0]), "f8")
    f["nan"] = np.array(pick(first, [np.nan, 1, np.nan, np.inf], [np.nan, np.nan, 2, -np.inf]), "f4")
    f["scalar"] = np.float64(pick(first, 1.5, 2.5))
    f["grid"] = np.arange(60, dtype=pick(first, ">i4", "<i2")).reshape(3, 4, 5) * pick(first, 1, 2)
    f["sign"] = np.array([1, 2], pick(first, "i2", "u2"))
    f.create_dataset("growing", data=[1, pick(first, 2, 3)], maxshape=(pick(first, 5, None),))


def others(f, first):
    f["text"] = np.array(pick(first, [b"abc", b"xyz", b"l\x80"], [b"abd", b"xyzw", b"\xff"]), "S8")
    f.create_dataset("texts", data=pick(first, ["abc", "xyz", "same"], ["abd", "xyzw", "same"]), dtype=h5py.string_dtype())
    f["mixed"] = pick(first, np.array([b"a"]), np.array(["a"], h5py.string_dtype()))
    f["opaque"] = np.array([pick(first, b"abcd", b"abcf"), b"efgh"], "V4")
    f["truth"] = np.array([True, pick(first, False, True)])
    colours = h5py.enum_dtype({"R": 0, "G": 1, "B": 2}, "i4")
    f.create_dataset("colours", data=np.array(pick(first, [0, 1, 2, 7], [0, 2, 8, 7]), "i4"), dtype=colours)
    record = np.dtype([("a", "u4"), ("b", "f8"), ("c", "S2"), ("d", "i2", (2,))])
    f["record"] = np.array([(pick(first, 1, 2**31), 2.5, b"ab", [1, pick(first, 2, 3)]), (3, pick(first, 4.5, 4.75), b"cd", [0, 0])], record)
    lists = f.create_dataset("lists", (2,), dtype=h5py.vlen_dtype(np.int32))
    lists[0], lists[1] = [1, 2, pick(first, 3, 4)], [5]
    f["empty"] = h5py.Empty("f8")
    f["type"] = np.dtype(pick(first, "i4", "i8"))
    f["kind"] = pick(first, np.dtype("i4"), np.arange(3))


def linked(f, first):
    group = f.create_group("group")
    group["one" if first else "two"] = 1
    f["soft"], f["lost"] = h5py.SoftLink("/grid"), h5py.SoftLink(pick(first, "/nowhere", "/nothing"))
    f["half lost"] = h5py.SoftLink(pick(first, "/nowhere", "/grid"))
    f["outside"] = h5py.ExternalLink(pick(first, "second.h5", "first.h5"), "/group")
    references = f.create_dataset("references", (4,), dtype=h5py.ref_dtype)
    references[0], references[1], references[2] = f["grid"].ref, f["empty"].ref, group.ref
    if first:
        references[3] = f["grid"].ref
    regions = f.create_dataset("regions", (2,), dtype=h5py.regionref_dtype)
    regions[0] = f["grid"].regionref[0 : pick(first, 2, 3), 1:3, :]
    regions[1] = f["grid"].regionref[:, 0:2, pick(first, 0, 1) :: 2]
    for name, value in {"same": 1, "number": pick(first, 5, 6), "text": pick(first, "left", "lift"), pick(first, "mine", "yours"): 0}.items():
        f.attrs[name] = f["grid"].attrs[name] = group.attrs[name] = value


for first in (True, False):
    with h5py.File(f"{sys.argv[1]}/{pick(first, 'first', 'second')}.h5", "w") as f:
        numbers(f, first)
        others(f, first)
        linked(f, first)
