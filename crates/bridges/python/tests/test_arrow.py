"""Arrow arrays and tables, read by pyarrow, polars and pandas."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import hyperslab

RECORD = np.dtype([("id", "i4"), ("height", ">f8"), ("name", "S6"), ("xy", "f4", (2,)), ("flag", "?")])


@pytest.fixture
def f(tmp_path):
    """A file with datasets of every type that Arrow has."""
    with hyperslab.File(tmp_path / "a.h5", "w") as f:
        rows = np.zeros(1000, RECORD)
        rows["id"], rows["height"], rows["flag"] = np.arange(1000), np.arange(1000) / 4, np.arange(1000) % 3 == 0
        rows["name"], rows["xy"] = [f"n{at}".encode() for at in range(1000)], np.arange(2000).reshape(1000, 2)
        f.create_dataset("rows", data=rows, chunks=(64,), compression="gzip")
        f["columns/a"], f["columns/b"] = np.arange(10), np.arange(10) * 0.5
        f["columns/c"] = [f"Å{at}" for at in range(10)]
        f["names"] = ["", "Tromsø", "a" * 1000] * 50
        f["grid"] = np.arange(24, dtype=">i2").reshape(4, 3, 2)
        f.create_dataset("sky", data=[1, 5, 1], dtype=hyperslab.enum_dtype({"clear": 1, "cloud": 5}, "i1"))
        ragged = f.create_dataset("ragged", (3,), hyperslab.vlen_dtype("f4"))
        ragged[0], ragged[2] = [1, 2], [3]
        f["z"] = np.array([1 + 2j, 3 - 4j])
        f["half"], f["bits"] = np.array([1.5, 2.5], "f2"), np.array([True, False])
        f["bad"] = np.array([b"\xff\xfe"], "S2")
        yield f


def test_numbers_are_shared_not_copied(f):
    array = pa.array(f["columns/a"].to_arrow())
    assert array.to_pylist() == list(range(10)) and array.type == pa.int64()
    first = f["columns/a"].to_arrow()
    one, two = pa.array(first), pa.array(first)
    assert one.buffers()[1].address == two.buffers()[1].address
    assert pa.array(f["half"].to_arrow()).to_pylist() == [1.5, 2.5]
    assert pa.array(f["bits"].to_arrow()).to_pylist() == [True, False]


def test_strings_lists_enumerations_and_arrays(f):
    assert pa.array(f["names"].to_arrow()).to_pylist() == ["", "Tromsø", "a" * 1000] * 50
    assert pa.array(f["names"].to_arrow(slice(1, 3))).to_pylist() == ["Tromsø", "a" * 1000]
    assert pa.array(f["sky"].to_arrow()).to_pylist() == ["clear", "cloud", "clear"]
    assert pa.array(f["ragged"].to_arrow()).to_pylist() == [[1.0, 2.0], [], [3.0]]
    assert pa.array(f["grid"].to_arrow()).to_pylist() == f["grid"][:].tolist()
    assert pa.array(f["z"].to_arrow()).to_pylist() == [{"r": 1.0, "i": 2.0}, {"r": 3.0, "i": -4.0}]


def test_bytes_that_are_no_text(f):
    with pytest.raises(ValueError):
        f["bad"].to_arrow()
    assert pa.array(f["bad"].to_arrow(binary=True)).to_pylist() == [b"\xff\xfe"]
    f["reference"] = np.array([f.ref], hyperslab.ref_dtype)
    with pytest.raises(NotImplementedError):
        f["reference"].to_arrow()


def test_compounds_are_tables(f):
    rows, table = f["rows"][:], hyperslab.read_table(f, "rows", batch_rows=300)
    found = pa.table(table)
    assert found.column_names == list(RECORD.names) and found.num_rows == 1000
    assert found["id"].num_chunks == 4
    np.testing.assert_array_equal(found["height"].to_numpy(), rows["height"])
    assert found["name"].to_pylist() == [name.decode() for name in rows["name"]]
    assert found["xy"].to_pylist() == rows["xy"].tolist()
    frame = pl.DataFrame(hyperslab.read_table(f, "rows", ["height", "id"], rows=slice(10, 20)))
    assert frame.columns == ["height", "id"] and frame["id"].to_list() == list(range(10, 20))
    frame = pd.DataFrame.from_arrow(hyperslab.read_table(f, "rows", ["flag"]))
    np.testing.assert_array_equal(frame["flag"].to_numpy(bool), rows["flag"])


def test_groups_of_columns_are_tables(f, tmp_path):
    f.commit()
    frame = pl.DataFrame(hyperslab.read_table(f, "columns"))
    assert frame.to_dict(as_series=False) == {
        "a": list(range(10)), "b": [at * 0.5 for at in range(10)], "c": [f"Å{at}" for at in range(10)]}
    with pytest.raises(TypeError, match="one length"):
        hyperslab.read_table(f)
    with pytest.raises(KeyError):
        hyperslab.read_table(f, "columns", ["none"])
    with pytest.raises(KeyError):
        hyperslab.read_table(f, "rows", ["none"])
    f.close()
    assert pa.table(hyperslab.read_table(tmp_path / "a.h5", "columns", ["a"])).num_rows == 10
