"""Makes the file that h5pyd reads, with h5py: most kinds of objects, types and values."""
import sys

import h5py
import numpy as np


def make(path):
    with h5py.File(path, "w") as f:
        f.attrs["title"] = "made by h5py"
        f.attrs["numbers"] = np.array([1.5, float("nan"), float("inf")])
        f.attrs["flag"] = True
        f.attrs["empty"] = h5py.Empty("f4")
        f.attrs["words"] = np.array(["één", "two"], dtype=h5py.string_dtype())
        f.attrs["pair"] = np.array((1, 2.5), dtype=[("a", "i4"), ("b", "f8")])
        g = f.create_group("group")
        g.attrs["a/b"] = 3
        grid = np.arange(60, dtype="f4").reshape(6, 10)
        g.create_dataset("grid", data=grid, chunks=(2, 5), compression="gzip", compression_opts=4, shuffle=True)
        g.create_dataset("big", data=np.arange(12, dtype=">i2").reshape(3, 4))
        g["same"] = g["grid"]
        g["soft"] = h5py.SoftLink("/group/grid")
        g["nowhere"] = h5py.SoftLink("/not/here")
        g["out"] = h5py.ExternalLink("other.h5", "/x")
        f.create_dataset("scalar", data=np.int64(42))
        f.create_dataset("nothing", dtype="i4", shape=None)
        f.create_dataset("strings", data=["a", "bé", "", "long" * 100], dtype=h5py.string_dtype())
        f.create_dataset("fixed", data=np.array([b"ab", b"cde"], dtype="S3"))
        table = np.array([(1, 2.5, b"x"), (2, 3.5, b"yy")], dtype=[("n", "<i4"), ("v", "<f8"), ("s", "S2")])
        f.create_dataset("table", data=table)
        padded = np.dtype({"names": ["a", "b"], "formats": ["<i2", "<f8"], "offsets": [0, 8], "itemsize": 16})
        f.create_dataset("padded", data=np.array([(1, 0.5), (2, 1.5)], dtype=padded))
        words = np.dtype([("n", "<i4"), ("w", h5py.string_dtype())])
        f.create_dataset("words", data=np.array([(1, "one"), (2, "deux")], dtype=words))
        ragged = f.create_dataset("ragged", (3,), dtype=h5py.vlen_dtype("<i4"))
        ragged[0], ragged[1] = [1, 2, 3], [4]
        f.create_dataset("colours", data=np.array([0, 2], "i4"), dtype=h5py.enum_dtype({"RED": 0, "BLUE": 2}, "i4"))
        f.create_dataset("flags", data=np.array([True, False, True]))
        f.create_dataset("half", data=np.array([0.5, 1.5], "f2"))
        f.create_dataset("complex", data=np.array([1 + 2j, 3 - 4j]))
        f.create_dataset("opaque", data=np.array([b"\x00\x01\x02", b"\xff\xfe\x00"], dtype="V3"))
        f.create_dataset("arrays", data=np.arange(12, dtype="i4").reshape(2, 6), dtype="i4")
        cells = f.create_dataset("cells", (2,), dtype=np.dtype(("<i4", (3,))))
        cells[...] = np.arange(6).reshape(2, 3)
        f.create_dataset("references", data=np.array([f["group"].ref, f["scalar"].ref], dtype=h5py.ref_dtype))
        f["named"] = np.dtype("<i4")
        plots = f.create_group("plots")
        plots.create_dataset("decay", data=np.exp(-np.arange(50) / 5.0))
        y, x = np.mgrid[-3:3:150j, -4:4:200j]
        elevation = plots.create_dataset("elevation", data=(1 - x / 2 + x**5 + y**3) * np.exp(-(x**2) - y**2))
        elevation.attrs["long_name"] = "Elevation over a made-up sea"
        f.create_dataset("grows", data=np.arange(4), maxshape=(None,), fillvalue=-1)


if __name__ == "__main__":
    make(sys.argv[1])
