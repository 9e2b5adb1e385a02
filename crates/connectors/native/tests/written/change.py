"""Changes a file that tests/written.rs made, as libhdf5 does it: every structure in it grows and shrinks."""

import sys

import h5py
import numpy

with h5py.File(sys.argv[1], "a") as file:
    dense = file["dense"]
    for n in range(40):
        dense.create_group(f"theirs {n}")
        dense.attrs[f"theirs {n}"] = numpy.arange(n)
    for name in [name for name in dense if name.startswith("member")][::2]:
        del dense[name]
    for name in list(dense.attrs)[::3]:
        del dense.attrs[name]
    for n in range(5):
        file.attrs[f"theirs {n}"] = f"text {n}"
    chunked = file["chunked"]
    chunked.resize((33, 30))
    chunked[5:30, 3:28] = numpy.arange(25 * 25).reshape(25, 25)
    chunked.attrs["theirs"] = 3.5
    file.create_dataset("theirs", data=numpy.arange(1000), chunks=(100,), compression="gzip")
    file["texts of theirs"] = ["a", "bb", "ccc"]
    if "texts" in file:
        file["texts"][1] = "a text by libhdf5"
    if "a" in file:
        file["a/contiguous"][3:7] = 9
        for n in range(20):
            file["a"].create_group(f"theirs {n}")

with h5py.File(sys.argv[1], "a") as file:
    file["chunked"].resize((9, 9))
    for n in range(30):
        del file[f"dense/theirs {n}"]
    del file["theirs"]
