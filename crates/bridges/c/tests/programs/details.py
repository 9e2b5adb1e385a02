"""h5py: external data that grows, attributes in every order, alignment, links between files, half precision."""
import os

import h5py
import numpy as np

from show import expect_error, main, show


def write(folder):
    os.chdir(folder)
    with h5py.File("details.h5", "w") as f:
        external(f)
        attributes(f.create_group("attributes"))
        f["half"] = np.arange(-4, 4, dtype="f2")
        f["soft"], f["elsewhere"] = h5py.SoftLink("/half"), h5py.ExternalLink("other.h5", "/x")
        with h5py.File("other.h5", "w") as other:
            other["x"] = np.arange(3)
            for name in ["soft", "elsewhere"]:
                f.id.links.move(name.encode(), other.id, b"moved " + name.encode())
            expect_error("a hard link moved to another file", lambda: f.id.links.move(b"half", other.id, b"half"))
            expect_error("a hard link to another file", lambda: other.id.links.create_hard(b"y", f.id, b"half"))
    with h5py.File("aligned.h5", "w", alignment_threshold=500, alignment_interval=4096, meta_block_size=8192) as f:
        for i in range(20):
            f[f"large{i}"], f[f"small{i}"] = np.full(600, i, "u1"), np.full(7, i, "u1")
        show("aligned", all(f[f"large{i}"].id.get_offset() % 4096 == 0 for i in range(20)))


def external(f):
    grows = f.create_dataset("grows", (3, 4), "i4", maxshape=(None, 4), external="grows.raw")
    grows[...] = np.arange(12).reshape(3, 4)
    for rows in [5, 2, 6]:
        grows.id.set_extent((rows, 4))
        show(f"{rows} rows", grows[...])
    grows[5] = 7
    create = lambda name, **how: (lambda: f.create_dataset(name, (3, 4), "i4", **how))
    expect_error("another dimension", create("a", maxshape=(3, None), external="a.raw"))
    expect_error("no space to grow", create("b", maxshape=(None, 4), external=[("b.raw", 0, 100)]))
    expect_error("too small", create("c", external=[("c.raw", 0, 10)]))
    expect_error("large enough", create("d", maxshape=(5, 4), external=[("d.raw", 8, 80)]))


def attributes(group):
    for name in "zbqa":
        group.attrs[name] = 1
    show_order(group)
    for n in range(12):
        group.attrs[f"n{n * 7 % 12}"] = n
    show_order(group)


def show_order(group):
    for index in [h5py.h5.INDEX_NAME, h5py.h5.INDEX_CRT_ORDER]:
        for order in [h5py.h5.ITER_INC, h5py.h5.ITER_DEC]:
            names = []
            h5py.h5a.iterate(group.id, lambda name, *_: names.append(name), index_type=index, order=order)
            print(index, order, names)


def read(folder):
    os.chdir(folder)
    with h5py.File("details.h5") as f:
        show("external", f["grows"][...])
        show_order(f["attributes"])
        show("half", f["half"][...])
        show("links", sorted(f))
    with h5py.File("other.h5") as f:
        show("links of the other file", sorted((name, str(f.get(name, getlink=True).path)) for name in f if name != "x"))
        show("through a link", f["moved elsewhere"][...])
    with h5py.File("aligned.h5") as f:
        show("aligned", [int(f[f"{kind}{i}"][0]) for i in range(20) for kind in ["large", "small"]])


main(write, read)
