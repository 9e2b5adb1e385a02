"""Python file objects, read and written by ranges."""

import io
import threading

import fsspec
import h5py
import numpy as np
import pytest

import hyperslab


class Counted(io.BytesIO):
    """A file in memory that counts the bytes that are read."""

    count = 0

    def readinto(self, into):
        """Read, and count."""
        found = super().readinto(into)
        self.count += found
        return found


def image():
    """Return a file of 8 MB with one small dataset and one of many chunks."""
    made = io.BytesIO()
    with h5py.File(made, "w") as f:
        f["small"] = np.arange(10)
        f.create_dataset("large", data=np.random.default_rng(1).random(1_000_000), chunks=(10_000,))
    return made.getvalue()


def test_only_what_is_needed_is_read():
    source = Counted(image())
    with hyperslab.File(source) as f:
        assert f["small"][3] == 3
        assert source.count < 100_000
        part = f["large"][500_000:500_100]
        assert source.count < 400_000
    with h5py.File(io.BytesIO(source.getvalue())) as f:
        np.testing.assert_array_equal(part, f["large"][500_000:500_100])


def test_changes_are_written_and_h5py_reads_them():
    source = io.BytesIO()
    with hyperslab.File(source, "w") as f:
        f.create_dataset("a", data=np.arange(10_000), chunks=(100,), compression="gzip")
    with hyperslab.File(source, "r+") as f:
        f["a"][5:10] = 0
        f.attrs["note"] = "changed"
    with h5py.File(source) as f:
        assert f["a"][5:10].sum() == 0 and f["a"][9999] == 9999 and f.attrs["note"] == "changed"
    with hyperslab.File(source, "a") as f:
        assert f.attrs["note"] == "changed"
    with hyperslab.File(io.BytesIO(), "a") as f:
        f["b"] = 1


def test_files_of_fsspec():
    memory = fsspec.filesystem("memory")
    memory.pipe("/run.h5", image())
    with memory.open("/run.h5", "rb") as source, hyperslab.File(source) as f:
        assert f["large"].shape == (1_000_000,) and f["small"][:].sum() == 45


def test_many_threads_read_one_object():
    with hyperslab.File(io.BytesIO(image())) as f:
        expected, found = f["large"][:], [None] * 8

        def read(at):
            found[at] = [(f["large"].shape, f["large"].attrs.get("none"), f["large"][at::8]) for _ in range(20)]

        threads = [threading.Thread(target=read, args=(at,)) for at in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
            assert not thread.is_alive()
        for at in range(8):
            np.testing.assert_array_equal(found[at][-1][2], expected[at::8])


def test_errors_of_the_object_are_raised():
    class Broken(io.BytesIO):
        broken = False

        def readinto(self, into):
            if self.broken:
                raise RuntimeError("the tape is torn")
            return super().readinto(into)

    source = Broken(image())
    with hyperslab.File(source) as f:
        source.broken = True
        with pytest.raises(OSError, match="the tape is torn"):
            f["large"][:]
    with pytest.raises(OSError):
        hyperslab.File(io.BytesIO(b"no HDF5 at all"))
