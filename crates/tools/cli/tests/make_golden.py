"""Makes the files that dump.rs compares with h5dump. Usage: make_golden.py FOLDER"""

import sys

import h5py
import numpy as np

folder = sys.argv[1]


def numbers():
    with h5py.File(f"{folder}/numbers.h5", "w") as f:
        rng = np.random.default_rng(20240501)
        for kind in ["i1", "u1", "<i2", ">i2", "<u4", ">i8", "<f4", ">f8", "<f2"]:
            f[kind.replace("<", "le_").replace(">", "be_")] = (rng.standard_normal((7, 23)) * 100).astype(kind)
        f["special"] = np.array([np.nan, np.inf, -np.inf, -0.0, 1e-320, 1e300, 123456.5, 1e6])
        f["scalar"] = 42
        f["empty"] = h5py.Empty("f8")
        f.create_dataset("nothing", (0, 3), "i4", maxshape=(None, 3))
        f.create_dataset("chunked", data=np.arange(1000), chunks=(100,), compression=4, shuffle=True, fillvalue=-1)


def texts():
    with h5py.File(f"{folder}/texts.h5", "w") as f:
        f.create_dataset("variable", data=["", "one", 'quo"te\\', "tab\tnew\nline", "žluť"], dtype=h5py.string_dtype())
        f["fixed"] = np.array([b"ab\0cd", b"x", b""], dtype="S6")
        f.create_dataset("unset", (3,), h5py.string_dtype())
        f["bytes"] = np.frombuffer(b"Text in bytes, long enough that it has to be broken. " * 3, "i1")
        f.attrs["note"] = "an attribute"


def nested():
    with h5py.File(f"{folder}/nested.h5", "w") as f:
        inner = np.dtype([("w", "f4", (3,)), ("y", "S3")])
        f.create_dataset("compound", (3,), np.dtype([("q", "i4", (2, 2)), ("z", inner, (2,)), ("b", "?")]))
        ragged = f.create_dataset("ragged", (3,), h5py.vlen_dtype("i4"))
        ragged[0], ragged[2] = np.arange(30), [1]
        f["opaque"] = np.zeros(4, dtype="V5")
        f["colour"] = f.create_dataset("c", (2,), h5py.enum_dtype({"RED": 0, "GREEN": 1}))[...]


def linked():
    with h5py.File(f"{folder}/linked.h5", "w", track_order=True) as f:
        group = f.create_group("z/y/x", track_order=True)
        data = group.create_dataset("data", data=np.arange(24).reshape(2, 3, 4))
        f["again"], f["loop"] = data, f["z"]
        f["soft"], f["gone"] = h5py.SoftLink("/z/y"), h5py.ExternalLink("nowhere.h5", "/a")
        f["type"] = np.dtype([("a", "i4"), ("b", "f8")])
        f.create_dataset("typed", (2,), f["type"])
        refs = f.create_dataset("references", (3,), h5py.ref_dtype)
        refs[0], refs[2] = data.ref, group.ref
        regions = f.create_dataset("regions", (2,), h5py.regionref_dtype)
        regions[0] = data.regionref[0:1, 1:3, 2:4]


def user_links():
    """Links of a user-defined class, which h5py has no function for: the library that it loaded has."""
    import ctypes

    path = [line.split()[-1] for line in open("/proc/self/maps") if "libhdf5-" in line or "libhdf5." in line][0]
    library = ctypes.CDLL(path)

    class LinkClass(ctypes.Structure):
        _fields_ = [("version", ctypes.c_int), ("id", ctypes.c_int), ("comment", ctypes.c_char_p)] + [
            (name, ctypes.c_void_p) for name in ("create", "move", "copy", "traverse", "delete", "query")
        ]

    signature = [ctypes.c_int64, ctypes.c_char_p, ctypes.c_int64, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int64, ctypes.c_int64]
    traverse = ctypes.CFUNCTYPE(*signature)(lambda *_: -1)
    known = LinkClass(1, 99, b"test", None, None, None, ctypes.cast(traverse, ctypes.c_void_p), None, None)
    assert library.H5Lregister(ctypes.byref(known)) >= 0
    create = library.H5Lcreate_ud
    create.argtypes = [
        ctypes.c_int64, ctypes.c_char_p, ctypes.c_int, ctypes.c_char_p, ctypes.c_size_t, ctypes.c_int64, ctypes.c_int64,
    ]
    with h5py.File(f"{folder}/user_links.h5", "w") as f:
        group = f.create_group("group")
        f["data"] = np.arange(3)
        for where, name, value in [(f, b"first", b"abc"), (group, b"second", b"")]:
            assert create(where.id.id, name, 99, value, len(value), 0, 0) >= 0


for make in (numbers, texts, nested, linked, user_links):
    make()
