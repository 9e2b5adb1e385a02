"""The backend of xarray, against xarray's own engines on libhdf5 and the netCDF library."""

import functools
import http.server
import io
import pickle
import threading
from pathlib import Path

import h5py
import netCDF4
import numpy as np
import pytest
import xarray as xr

import hyperslab


@pytest.fixture
def weather(tmp_path):
    """A netCDF-4 file with everything that the format has for a dataset."""
    path = tmp_path / "weather.nc"
    with netCDF4.Dataset(path, "w") as nc:
        nc.title = "weather"
        nc.createDimension("time", None)
        nc.createDimension("lat", 4)
        nc.createDimension("lon", 6)
        nc.createDimension("nothing", 3)
        time = nc.createVariable("time", "f8", ("time",))
        time.units = "days since 2000-01-01"
        grid = nc.createVariable("t", "i2", ("time", "lat", "lon"), zlib=True, complevel=3, shuffle=True,
                                 chunksizes=(2, 4, 3), fill_value=-1)
        grid.scale_factor, grid.add_offset, grid.unit = 0.5, 273.0, "K"
        time[:] = np.arange(5)
        grid[:] = np.arange(120).reshape(5, 4, 6) % 50
        nc.createVariable("lat", "f4", ("lat",))[:] = np.arange(4)
        names = nc.createVariable("names", str, ("lon",))
        names[:] = np.array([f"Å{at}" for at in range(6)], object)
        kind = nc.createEnumType("u1", "sky_t", {"clear": 0, "cloud": 1})
        nc.createVariable("sky", kind, ("lat",))[:] = [0, 1, 1, 0]
        nc.createVariable("code", "S1", ("lat", "lon"))[:] = np.full((4, 6), b"x")
        nc.createVariable("scalar", "f8", ())[...] = 3.5
        # Shorter than its dimension: the rest is fill values.
        late = nc.createVariable("late", "f4", ("time",))
        late[0:2] = [1, 2]
        inner = nc.createGroup("run/one")
        inner.note = "inner"
        inner.createDimension("k", 2)
        inner.createVariable("v", "i4", ("time", "k"))[:] = np.arange(10).reshape(5, 2)
    return path


def test_everything_equals_the_netcdf_engine(weather):
    for group in (None, "run/one", "run"):
        with xr.open_dataset(weather, engine="netcdf4", group=group) as expected:
            with xr.open_dataset(weather, engine="hyperslab", group=group) as found:
                xr.testing.assert_identical(found.load(), expected.load())


def test_encoding_equals_the_netcdf_engine(weather):
    keys = ("zlib", "shuffle", "complevel", "fletcher32", "contiguous", "chunksizes", "preferred_chunks",
            "original_shape", "_FillValue", "scale_factor", "dtype", "source")
    with xr.open_dataset(weather, engine="netcdf4") as expected, \
            xr.open_dataset(weather, engine="hyperslab") as found:
        for key in keys:
            assert found.t.encoding.get(key) == expected.t.encoding.get(key), key
        assert found.encoding["unlimited_dims"] == {"time"}
        assert found.sky.encoding["dtype"].metadata == expected.sky.encoding["dtype"].metadata


def test_parts_and_lists_and_reversed(weather):
    with xr.open_dataset(weather, engine="netcdf4") as expected, \
            xr.open_dataset(weather, engine="hyperslab") as found:
        for index in ({"time": 0}, {"time": slice(None, None, -2)}, {"lat": [3, 0, 0], "lon": [5, 1]},
                      {"lon": xr.DataArray([0, 5], dims="p"), "lat": xr.DataArray([1, 2], dims="p")}):
            xr.testing.assert_identical(found.t.isel(index).load(), expected.t.isel(index).load())
        for index in (slice(1, 4), [0, 3], 4, slice(None, None, 2)):
            xr.testing.assert_identical(found.late.isel(time=index).load(), expected.late.isel(time=index).load())


def test_trees(weather):
    with xr.open_datatree(weather, engine="netcdf4") as expected, \
            xr.open_datatree(weather, engine="hyperslab") as found:
        xr.testing.assert_identical(found.load(), expected.load())
    groups = xr.open_groups(weather, engine="hyperslab")
    assert set(groups) == {"/", "/run", "/run/one"}


def test_dask_reads_chunks_and_pickles(weather):
    with xr.open_dataset(weather, engine="hyperslab", chunks={}) as found:
        assert found.t.chunks == ((2, 2, 1), (4,), (3, 3))
        again = pickle.loads(pickle.dumps(found))
        xr.testing.assert_identical(again.t.mean("time").compute(), found.t.mean("time").compute())


def test_any_location_and_object(weather, tmp_path):
    with xr.open_dataset(weather, engine="netcdf4") as expected:
        expected.load()
    store = f"object:{tmp_path}/store"
    with hyperslab.File(weather) as source, hyperslab.File(store, "w") as target:
        for name in source:
            source.copy(name, target)
        for name, value in source.attrs.items():
            target.attrs[name] = value
    for source in (store, weather.read_bytes(), io.BytesIO(weather.read_bytes())):
        with xr.open_dataset(source, engine="hyperslab") as found:
            assert found.t.attrs == expected.t.attrs
            np.testing.assert_array_equal(found.t.values, expected.t.values)
            np.testing.assert_array_equal(found.names.values, expected.names.values)
    with hyperslab.File(weather) as f, xr.open_dataset(f["run/one"], engine="hyperslab") as found:
        assert found.v.dims == ("time", "k")
    with xr.open_dataset(store) as found:
        assert found.title == "weather"


def test_dimensions_of_plain_hdf5_are_named_as_the_netcdf_library_does(tmp_path):
    path = tmp_path / "plain.h5"
    with h5py.File(path, "w") as f:
        f["a"], f["b"], f["c"] = np.zeros((5, 5, 5)), np.zeros((25, 5)), np.zeros((3, 25))
        f.create_dataset("d", (5, 2), maxshape=(None, 2))
    with xr.open_dataset(path, engine="netcdf4") as expected, \
            xr.open_dataset(path, engine="hyperslab") as found:
        assert {name: v.dims for name, v in found.items()} == {name: v.dims for name, v in expected.items()}


def test_variables_that_are_no_coordinates_of_the_dimension_of_their_name(tmp_path):
    path = tmp_path / "odd.nc"
    with netCDF4.Dataset(path, "w") as nc:
        nc.createDimension("x", 3)
        nc.createDimension("y", 2)
        nc.createVariable("x", "i4", ("y",))[:] = [1, 2]
        nc.createVariable("y", "i4", ("y", "x"))[:] = np.arange(6).reshape(2, 3)
    with xr.open_dataset(path, engine="netcdf4", drop_variables=["y"]) as expected, \
            xr.open_dataset(path, engine="hyperslab", drop_variables=["y"]) as found:
        xr.testing.assert_identical(found.load(), expected.load())


def test_what_is_not_there_is_an_error(tmp_path, weather):
    with pytest.raises(FileNotFoundError):
        xr.open_dataset(tmp_path / "none.nc", engine="hyperslab")
    with pytest.raises(OSError, match="group not found"):
        xr.open_dataset(weather, engine="hyperslab", group="none")
    with pytest.raises(OSError):
        xr.open_dataset(b"garbage", engine="hyperslab")


def test_groups_that_lead_to_one_another_are_read_once(tmp_path):
    path = tmp_path / "loop.h5"
    with h5py.File(path, "w") as f:
        f["a/b/x"] = [1, 2]
        f["a/b/up"], f["a/again"] = f["a"], f["a/b"]
    assert set(xr.open_groups(path, engine="hyperslab")) == {"/", "/a", "/a/again"}
    assert len(hyperslab.references(path)["refs"]) == 9


class Ranges(http.server.SimpleHTTPRequestHandler):
    """A server of files that answers requests for ranges, and counts the bytes that it sends."""

    sent = 0

    def do_GET(self):
        """Send a range of a file."""
        content = Path(self.directory, self.path[1:]).read_bytes()
        wanted = self.headers.get("Range")
        first, last = (wanted.removeprefix("bytes=").split("-") if wanted else (0, len(content) - 1))
        part = content[int(first) : int(last) + 1]
        Ranges.sent += len(part)
        self.send_response(206 if wanted else 200)
        self.send_header("Content-Length", str(len(part)))
        self.send_header("Content-Range", f"bytes {first}-{int(first) + len(part) - 1}/{len(content)}")
        self.send_header("Accept-Ranges", "bytes")
        self.end_headers()
        self.wfile.write(part)

    def log_message(self, *_):
        """Say nothing."""


def test_a_file_far_away_is_read_by_ranges(tmp_path):
    large = xr.Dataset({"t": (("time", "x"), np.random.default_rng(3).random((100, 20_000)))})
    large.to_netcdf(tmp_path / "large.nc", engine="netcdf4", encoding={"t": {"chunksizes": (10, 20_000)}})
    handler = functools.partial(Ranges, directory=tmp_path)
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        location = f"http://127.0.0.1:{server.server_port}/large.nc"
        with xr.open_dataset(location, engine="hyperslab", chunks={}) as found:
            xr.testing.assert_equal(found.t[55].compute(), large.t[55])
        assert Ranges.sent < 8_000_000
        references = hyperslab.references(location)["refs"]
        assert references["t/3.0"][0] == location
        server.shutdown()
