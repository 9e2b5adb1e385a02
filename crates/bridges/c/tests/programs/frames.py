"""pandas through PyTables, fixed and table format, and PyTables itself: tables, arrays, indexes, compression, undo."""
import os
import warnings

import numpy as np
import pandas as pd
import tables

from show import expect_error, main, show

warnings.simplefilter("ignore")


def frame():
    rng = np.random.default_rng(7)
    return pd.DataFrame(
        {
            "x": rng.normal(size=200),
            "n": rng.integers(-5, 5, 200),
            "word": [f"w{i % 7}" for i in range(200)],
            "when": pd.date_range("2001-01-01", periods=200, freq="h"),
            "ok": rng.integers(0, 2, 200).astype(bool),
        }
    )


def show_frame(name, data):
    print(f"{name}: {data.shape} {[str(t) for t in getattr(data, 'dtypes', [])] if data.ndim == 2 else data.dtype}")
    print(data.head(3).to_csv(), data.tail(2).to_csv(), int(pd.util.hash_pandas_object(data).sum() % 2**61), sep="")


def write(folder):
    data = frame()
    path = os.path.join(folder, "frames.h5")
    data.to_hdf(path, key="fixed", mode="w", format="fixed")
    data.to_hdf(path, key="table", format="table", data_columns=["n", "word"], complib="zlib", complevel=5)
    data.to_hdf(path, key="deep/blosc", format="table", complib="blosc", complevel=5)
    data["x"].to_hdf(path, key="series")
    data.set_index(["word", "n"])[["x"]].to_hdf(path, key="levels", format="table")
    data.assign(word=data["word"].astype("category")).to_hdf(path, key="category", format="table")
    data.head(50).to_hdf(path, key="table", format="table", append=True)
    with pd.HDFStore(path, "a") as store:
        show("keys", sorted(store.keys()))
        show("removed", store.remove("table", where="n == 3"))
        store.get_storer("series").attrs.note = {"any": ["thing", 1]}
        del store["levels"]
        expect_error("a key that was removed", lambda: store["levels"])
    pytables(os.path.join(folder, "pytables.h5"))


class Particle(tables.IsDescription):
    name = tables.StringCol(16)
    idnumber = tables.Int64Col()
    energy = tables.Float64Col(dflt=1.5)
    grid = tables.Int16Col(shape=(2, 3))
    flag = tables.EnumCol(["red", "green", "blue"], "green", base="uint8")

    class place(tables.IsDescription):
        x = tables.Float32Col()
        y = tables.ComplexCol(itemsize=8)


def pytables(path):
    with tables.open_file(path, "w", title="PyTables") as h5:
        group = h5.create_group("/", "detector", "a group")
        table = h5.create_table(group, "readout", Particle, filters=tables.Filters(5, "zlib", shuffle=True), expectedrows=1000)
        row = table.row
        for i in range(500):
            row["name"], row["idnumber"], row["energy"] = f"p{i:4d}", i * 7, i * i / 3
            row["grid"], row["place/x"] = np.full((2, 3), i % 100), i / 2
            row.append()
        table.flush()
        table.cols.energy.create_index()
        show("selected", table.read_where("(energy > 100) & (energy < 400)")["idnumber"])
        table.remove_rows(10, 20)
        table.modify_column(0, 5, colname="idnumber", column=np.arange(5))
        arrays(h5)
        links(h5)
        h5.rename_node("/detector", "renamed")
        expect_error("a missing node", lambda: h5.get_node("/nothing"))


def arrays(h5):
    h5.create_array("/", "plain", np.arange(20).reshape(4, 5), "plain")
    h5.create_array("/", "texts", [b"one", b"three"])
    chunked = h5.create_carray("/", "chunked", tables.Float64Atom(), (30, 20), filters=tables.Filters(1, "blosc", bitshuffle=True))
    chunked[5:10, ::2] = 3.5
    growing = h5.create_earray("/", "growing", tables.Int32Atom(), (0, 3), filters=tables.Filters(3, "bzip2"))
    for i in range(4):
        growing.append(np.full((i + 1, 3), i))
    growing.truncate(7)
    ragged = h5.create_vlarray("/", "ragged", tables.Int32Atom())
    for i in range(5):
        ragged.append(np.arange(i))
    objects = h5.create_vlarray("/", "objects", tables.ObjectAtom())
    objects.append({"a": [1, 2]})
    h5.create_array("/", "times", np.arange(3), "times")
    h5.root.plain.attrs.anything = np.array([1.5, 2.5])


def links(h5):
    h5.create_hard_link("/", "hard", "/plain")
    h5.create_soft_link("/", "soft", "/detector/readout")
    h5.create_external_link("/", "external", "frames.h5:/fixed")


def read(folder):
    path = os.path.join(folder, "frames.h5")
    for key in ["fixed", "table", "deep/blosc", "series", "category"]:
        show_frame(key, pd.read_hdf(path, key))
    show_frame("where", pd.read_hdf(path, "table", where="n > 2 & word == 'w3'"))
    show_frame("columns", pd.read_hdf(path, "table", columns=["x", "n"], start=5, stop=9))
    with pd.HDFStore(path, "r") as store:
        show("keys", sorted(store.keys()))
        show("note", store.get_storer("series").attrs.note)
        show("chunks", [len(part) for part in store.select("table", chunksize=64)])
    with tables.open_file(os.path.join(folder, "pytables.h5")) as h5:
        read_pytables(h5)


def read_pytables(h5):
    for node in h5.walk_nodes("/"):
        print(type(node).__name__, node._v_pathname)
        if isinstance(node, tables.Leaf):
            print(f"  {node.shape} {node.filters}")
            value = node.read()
            show("  values", np.array([repr(item) for item in value]) if isinstance(value, list) else value)
        if isinstance(node, (tables.Leaf, tables.Group)):
            for name in node._v_attrs._v_attrnamesuser:
                show(f"  @{name}", node._v_attrs[name])
    table = h5.get_node("/renamed/readout")
    show("an index is used", table.will_query_use_indexing("energy > 3"))
    show("selected", table.read_where("(energy > 300) & (idnumber < 900)")["name"])
    show("enum", sorted(table.coldtypes.items(), key=str)[:2])
    show("external", h5.root.external.target)


main(write, read)
