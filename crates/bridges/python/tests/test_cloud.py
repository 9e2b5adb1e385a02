"""Files in an S3 store: moto's server on loopback. Skipped without moto."""

import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.request

import h5py
import hyperslab
import numpy as np
import pytest

boto3 = pytest.importorskip("boto3")
pytest.importorskip("moto")
pytest.importorskip("flask_cors", reason="moto has no server")


def free_port():
    """Return a port that no one listens at."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def client():
    """Return another program's client of the store."""
    return boto3.client("s3", endpoint_url=os.environ["AWS_ENDPOINT_URL"])


@pytest.fixture(scope="module")
def bucket(tmp_path_factory):
    """Start a server with a bucket, and return the location of the bucket."""
    port = free_port()
    program = shutil.which("moto_server", path=os.path.dirname(sys.executable)) or "moto_server"
    server = subprocess.Popen([program, "-H", "127.0.0.1", "-p", str(port)], stdout=subprocess.DEVNULL,
                              stderr=subprocess.DEVNULL)
    settings = {"AWS_ENDPOINT_URL": f"http://127.0.0.1:{port}", "AWS_ACCESS_KEY_ID": "access",
                "AWS_SECRET_ACCESS_KEY": "secret", "AWS_DEFAULT_REGION": "us-east-1"}
    before = {name: os.environ.get(name) for name in settings}
    os.environ.update(settings)
    try:
        _wait(settings["AWS_ENDPOINT_URL"])
        client().create_bucket(Bucket="bucket")
        yield "s3://bucket"
    finally:
        server.terminate()
        server.wait()
        for name, value in before.items():
            os.environ.pop(name) if value is None else os.environ.update({name: value})


def _wait(url):
    for _ in range(200):
        try:
            return urllib.request.urlopen(url, timeout=5).close()
        except OSError:
            time.sleep(0.1)
    raise RuntimeError("the server did not start")


def test_a_file_is_written_and_read(bucket, tmp_path):
    values = np.arange(200_000).reshape(400, 500)
    with hyperslab.File(f"{bucket}/run.h5", "w") as f:
        f.create_dataset("grid", data=values, chunks=(50, 50), compression="gzip").attrs["unit"] = "K"
        f["names"] = ["Oslo", "Bergen"]
    with hyperslab.File(f"{bucket}/run.h5") as f:
        assert np.array_equal(f["grid"][10:60:3, ::7], values[10:60:3, ::7])
        assert f["grid"].attrs["unit"] == "K"
        assert f["names"].asstr()[:].tolist() == ["Oslo", "Bergen"]
    # h5py finds the same in the object as it is stored.
    client().download_file("bucket", "run.h5", str(tmp_path / "run.h5"))
    with h5py.File(tmp_path / "run.h5") as f:
        assert np.array_equal(f["grid"][()], values)


def test_a_change_is_one_commit(bucket):
    with hyperslab.File(f"{bucket}/changed.h5", "w") as f:
        f["a"] = np.arange(5)
    with hyperslab.File(f"{bucket}/changed.h5", "r+") as f:
        f["a"][2] = 50
        with hyperslab.File(f"{bucket}/changed.h5") as seen:
            assert seen["a"][2] == 2
        f.commit()
        with hyperslab.File(f"{bucket}/changed.h5") as seen:
            assert seen["a"][2] == 50


def test_what_is_not_there_is_not_found(bucket):
    with pytest.raises(FileNotFoundError):
        hyperslab.File(f"{bucket}/nothing.h5")


def test_xarray_opens_an_object(bucket, tmp_path):
    xarray = pytest.importorskip("xarray")
    values = np.random.default_rng(0).random((24, 10, 20)).astype("f4")
    made = xarray.Dataset({"t": (("time", "lat", "lon"), values)}, {"time": np.arange(24)})
    path = tmp_path / "run.nc"
    made.to_netcdf(path, engine="h5netcdf", encoding={"t": {"zlib": True, "chunksizes": (8, 5, 10)}})
    client().upload_file(str(path), "bucket", "run.nc")
    with xarray.open_dataset(f"{bucket}/run.nc", engine="hyperslab", chunks={}) as found:
        assert found.t.chunks is not None
        assert found.identical(made)
        assert np.allclose(found.t.mean("time"), values.mean(0))


def test_references_name_the_object(bucket):
    with hyperslab.File(f"{bucket}/chunks.h5", "w") as f:
        f.create_dataset("x", data=np.arange(1000), chunks=(100,))
    made = hyperslab.references(f"{bucket}/chunks.h5", inline_bytes=0)
    assert made["refs"]["x/0"][0] == f"{bucket}/chunks.h5"
