"""References to chunks, opened by zarr and by xarray."""

import json

import fsspec
import h5py
import numpy as np
import pytest
import xarray as xr
import zarr

import hyperslab


@pytest.fixture
def path(tmp_path):
    """A file of libhdf5 with datasets in every way that references can stand for."""
    path = tmp_path / "a.h5"
    noise = np.random.default_rng(7).integers(0, 1000, (50, 40)).astype("f4")
    with h5py.File(path, "w", userblock_size=1024) as f:
        f.attrs["title"], f.attrs["numbers"] = "references", [1, 2]
        grid = f.create_dataset("run/grid", data=noise, chunks=(16, 16), compression="gzip", shuffle=True,
                                fletcher32=True)
        grid.attrs["unit"] = "K"
        f.create_dataset("plain", data=noise)
        f.create_dataset("big", data=noise.astype(">i4"), chunks=(50, 7))
        sparse = f.create_dataset("sparse", (100, 100), "i2", chunks=(10, 10), fillvalue=7)
        sparse[20:30, 40:55] = 5
        f["small"], f["scalar"], f["names"] = np.arange(5), 2.5, ["a", "Å", ""]
        f["rows"] = np.array([(1, 2.5), (3, 4.5)] * 100, [("a", "<i4"), ("b", "<f8")])
        f.create_dataset("bits", data=np.arange(1000) % 3 == 0, chunks=(100,))
        f["z"] = np.arange(200) * 1j
        f.create_dataset("strings", data=np.array([b"abc", b"de"] * 100))
    return path


def opened(source):
    """Return the zarr group that references stand for."""
    fs = fsspec.filesystem("reference", fo=source, remote_protocol="file", asynchronous=True)
    return zarr.open_group(zarr.storage.FsspecStore(fs, read_only=True, path=""), mode="r", zarr_format=2)


def check(found, path):
    with h5py.File(path) as f:
        for name in ("run/grid", "plain", "big", "sparse", "small", "scalar", "rows", "bits", "z", "strings"):
            np.testing.assert_array_equal(found[name][()], f[name][()], err_msg=name)
        assert list(found["names"][:]) == ["a", "Å", ""]
        assert dict(found.attrs) == {"title": "references", "numbers": [1, 2]}
        assert found["run/grid"].attrs["unit"] == "K"


def test_zarr_reads_what_h5py_reads(path, tmp_path):
    made = hyperslab.references(path)
    check(opened(made), path)
    hyperslab.references(path, tmp_path / "refs.json")
    assert json.loads((tmp_path / "refs.json").read_text()) == made
    url, offset, length = made["refs"]["run/grid/0.0"]
    with h5py.File(path) as f:
        info = f["run/grid"].id.get_chunk_info_by_coord((0, 0))
    assert (url, length) == (str(path), info.size) and offset in (info.byte_offset, info.byte_offset + 1024)


def test_zarr_reads_parquet_references(path, tmp_path):
    hyperslab.references(path, tmp_path / "refs.parq")
    check(opened(str(tmp_path / "refs.parq")), path)


def test_xarray_reads_the_references_of_a_netcdf_file(tmp_path):
    path = tmp_path / "a.nc"
    values = np.where(np.arange(60) % 7 == 0, np.nan, np.arange(60)).reshape(6, 10)
    expected = xr.Dataset({"t": (("time", "x"), values)}, {"time": np.arange(6), "x": np.arange(10.0)})
    expected.to_netcdf(path, engine="netcdf4", encoding={"t": {"zlib": True, "chunksizes": (2, 10)}})
    fs = fsspec.filesystem("reference", fo=hyperslab.references(path, inline_bytes=0), remote_protocol="file",
                           asynchronous=True)
    store = zarr.storage.FsspecStore(fs, read_only=True, path="")
    with xr.open_dataset(store, engine="zarr", consolidated=False, zarr_format=2) as found:
        xr.testing.assert_equal(found.load(), expected)


def test_what_references_cannot_stand_for(tmp_path):
    path = tmp_path / "a.h5"
    with h5py.File(path, "w") as f:
        f.create_dataset("good", data=np.arange(1000))
        f.create_dataset("lzf", data=np.arange(1000), compression="lzf")
    with pytest.raises(NotImplementedError, match="lzf"):
        hyperslab.references(path)
    assert "lzf/.zarray" not in hyperslab.references(path, skip_unsupported=True)["refs"]
    with hyperslab.File(f"object:{tmp_path}/store", "w") as f:
        f.create_dataset("a", data=np.arange(1000), chunks=(100,))
        with pytest.raises(NotImplementedError):
            hyperslab.references(f)
