"""What h5py's tests do not ask."""

import doctest
import importlib
import io
import os
import pkgutil
import threading

import h5py
import numpy as np
import pytest

import hyperslab

# Importing them starts a program, or replaces h5py.
# The last one is the C library: a build of the wheel leaves it there.
NOT_IMPORTED = ("hyperslab.__main__", "hyperslab.h5py", "hyperslab.libhyperslab_hdf5")


def test_examples_in_the_documentation_run():
    names = [found.name for found in pkgutil.iter_modules(hyperslab.__path__, "hyperslab.")]
    modules = [importlib.import_module(name) for name in names if name not in NOT_IMPORTED and "_core" not in name]
    results = [doctest.testmod(module) for module in [hyperslab, *modules]]
    assert sum(result.failed for result in results) == 0
    assert sum(result.attempted for result in results) > 10


@pytest.mark.parametrize("location", ["object:{}/store", "log:{}/run.h5", "{}/plain.h5"])
def test_any_location(tmp_path, location):
    location = location.format(tmp_path)
    with hyperslab.File(location, "w") as f:
        f.create_dataset("a/b", data=np.arange(100), chunks=(10,))
        f.attrs["x"] = "y"
    with hyperslab.File(location) as f:
        assert (f["a/b"][::7] == np.arange(100)[::7]).all() and f.attrs["x"] == "y"


def test_a_location_without_a_file_is_file_not_found(tmp_path):
    with pytest.raises(FileNotFoundError):
        hyperslab.File(tmp_path / "none.h5")


def test_a_file_that_is_no_hdf5_is_refused(tmp_path):
    (tmp_path / "a.h5").write_bytes(b"no file of ours" * 100)
    assert not hyperslab.is_hdf5(tmp_path / "a.h5")
    with pytest.raises(OSError):
        hyperslab.File(tmp_path / "a.h5")


def test_maps_are_dictionaries(tmp_path):
    with hyperslab.File(tmp_path / "m.h5", "w") as f:
        heights = f.create_map("heights", hyperslab.string_dtype(), "f8")
        heights.update({"Zugspitze": 2962.0, "Brocken": 1141.0})
        del heights["Brocken"]
    with hyperslab.File(tmp_path / "m.h5") as f:
        assert dict(f["heights"]) == {"Zugspitze": 2962.0} and "Brocken" not in f["heights"]


def test_read_many_reads_datasets_and_parts(tmp_path):
    with hyperslab.File(tmp_path / "a.h5", "w") as f:
        all_sets = [f.create_dataset(f"d{at}", data=np.full(50, at)) for at in range(20)]
        found = hyperslab.read_many([*all_sets, (all_sets[3], slice(0, 2))])
    assert [part[0] for part in found] == [*range(20), 3] and found[-1].shape == (2,)


def test_a_commit_is_what_another_reader_sees(tmp_path):
    with hyperslab.File(tmp_path / "a.h5", "w") as f:
        f["a"] = 1
        f.commit()
        with h5py.File(io.BytesIO((tmp_path / "a.h5").read_bytes())) as theirs:
            assert theirs["a"][()] == 1


def test_bytes_and_back():
    with hyperslab.File.in_memory() as f:
        f["a"] = [1, 2]
        image = f.to_bytes()
    with hyperslab.File.from_bytes(image) as f, h5py.File(io.BytesIO(image)) as theirs:
        assert f["a"][1] == theirs["a"][1] == 2


def test_a_python_file_object_holds_the_file_after_close():
    sink = io.BytesIO()
    with hyperslab.File(sink, "w") as f:
        f["a"] = "text"
    with h5py.File(sink) as theirs:
        assert theirs["a"].asstr()[()] == "text"


def test_elements_go_straight_into_an_array(tmp_path):
    with hyperslab.File(tmp_path / "a.h5", "w") as f:
        dataset = f.create_dataset("a", data=np.arange(20, dtype=">i4"))
        into = np.zeros(5, "f8")
        dataset.read_direct(into, np.s_[0:20:4])
        assert into.tolist() == [0, 4, 8, 12, 16]


def test_threads_read_at_the_same_time(tmp_path):
    data = np.random.default_rng(1).integers(0, 9, 200_000)
    with hyperslab.File(tmp_path / "a.h5", "w") as f:
        dataset = f.create_dataset("a", data=data, chunks=(5000,), compression="gzip")
        found = [None] * 8

        def read(at):
            found[at] = dataset[...]

        threads = [threading.Thread(target=read, args=(at,)) for at in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert all((part == data).all() for part in found)


def test_a_failed_attribute_leaves_the_old_one(tmp_path):
    with hyperslab.File(tmp_path / "a.h5", "w") as f:
        f.attrs["a"] = 1
        with pytest.raises((TypeError, ValueError)):
            f.attrs["a"] = np.array("2020", "M8[Y]")
        with pytest.raises(ValueError):
            f.attrs.create("a", ["nul\0inside"], dtype=hyperslab.string_dtype())
        assert f.attrs["a"] == 1 and list(f.attrs) == ["a"]


def test_handles_of_a_closed_file_are_false_and_refuse(tmp_path):
    f = hyperslab.File(tmp_path / "a.h5", "w")
    dataset = f.create_dataset("a", data=[1])
    f.close()
    assert not f and not dataset and repr(f) == "<Closed HDF5 file>"
    for use in (lambda: dataset[0], lambda: f["a"], lambda: dataset.attrs["x"], lambda: list(f)):
        with pytest.raises(ValueError):
            use()


def test_a_read_only_file_is_not_changed(tmp_path):
    with hyperslab.File(tmp_path / "a.h5", "w") as f:
        f["a"] = [1, 2]
    before = (tmp_path / "a.h5").read_bytes()
    with hyperslab.File(tmp_path / "a.h5") as f:
        for change in (lambda: f.create_group("g"), lambda: f["a"].__setitem__(0, 5),
                       lambda: f.attrs.__setitem__("x", 1), lambda: f.__delitem__("a")):
            with pytest.raises((OSError, ValueError, KeyError)):
                change()
    assert (tmp_path / "a.h5").read_bytes() == before


def test_references_lead_to_objects_and_elements(tmp_path):
    with hyperslab.File(tmp_path / "a.h5", "w") as f:
        dataset = f.create_dataset("a", data=np.arange(20).reshape(4, 5))
        f.create_dataset("refs", data=[dataset.ref, f.ref])
        f.create_dataset("region", data=dataset.regionref[1:3, ::2])
    with h5py.File(tmp_path / "a.h5") as theirs, hyperslab.File(tmp_path / "a.h5") as f:
        assert f[f["refs"][0]] == f["a"] and theirs[theirs["refs"][0]] == theirs["a"]
        np.testing.assert_array_equal(f["a"][f["region"][()]], theirs["a"][theirs["region"][()]])
        assert not hyperslab.Reference() and f["a"].regionref.selection(f["region"][()]) == (2, 3)


def test_dimension_scales_are_those_of_h5py(tmp_path):
    with hyperslab.File(tmp_path / "a.h5", "w") as f:
        f["data"], f["time"] = np.zeros((3, 2)), np.arange(3.0)
        f["time"].make_scale("t")
        f["data"].dims[0].attach_scale(f["time"])
        f["data"].dims[1].label = "x"
    with h5py.File(tmp_path / "a.h5") as theirs, hyperslab.File(tmp_path / "a.h5") as f:
        for dims in (theirs["data"].dims, f["data"].dims):
            assert dims[0].keys() == ["t"] and dims[1].label == "x" and len(dims[1]) == 0


def test_a_virtual_dataset_reads_its_sources(tmp_path):
    for at in range(3):
        with hyperslab.File(tmp_path / f"{at}.h5", "w") as f:
            f["data"] = np.full(4, at)
    layout = hyperslab.VirtualLayout((3, 4), "i8")
    for at in range(3):
        layout[at] = hyperslab.VirtualSource(f"{at}.h5", "data", shape=(4,))
    with hyperslab.File(tmp_path / "all.h5", "w") as f:
        f.create_virtual_dataset("all", layout, fillvalue=-1)
    with h5py.File(tmp_path / "all.h5") as theirs, hyperslab.File(tmp_path / "all.h5") as f:
        np.testing.assert_array_equal(f["all"][...], theirs["all"][...])
        assert f["all"].is_virtual and f["all"][2, 3] == 2


def test_prefixes_lead_to_external_files_as_in_h5py(tmp_path):
    folder, values = tmp_path / "data", np.arange(6, dtype="i4")
    folder.mkdir()
    with hyperslab.File(tmp_path / "a.h5", "w") as f:
        f.create_dataset("x", data=values, external=[("x.bin", 0, 24)], efile_prefix="${ORIGIN}/data")
    assert (np.fromfile(folder / "x.bin", "i4") == values).all()
    for library in (h5py, hyperslab):
        with library.File(tmp_path / "a.h5") as f:
            found = f.require_dataset("x", (6,), "i4", efile_prefix=str(folder))
            assert (found[:] == values).all()
            assert found.id.get_access_plist().get_efile_prefix() == os.fsencode(folder)


def test_prefixes_lead_to_virtual_sources_as_in_h5py(tmp_path, monkeypatch):
    (tmp_path / "sources").mkdir()
    with hyperslab.File(tmp_path / "sources" / "source.h5", "w") as f:
        f["d"] = np.arange(4)
    layout = hyperslab.VirtualLayout((4,), "i8")
    layout[:] = hyperslab.VirtualSource("source.h5", "d", (4,))
    with hyperslab.File(tmp_path / "all.h5", "w") as f:
        f.create_virtual_dataset("all", layout, fillvalue=-1)
    for library in (h5py, hyperslab):
        with library.File(tmp_path / "all.h5") as f:
            found = f.require_dataset("all", (4,), "i8", virtual_prefix="${ORIGIN}/sources")
            assert found[:].tolist() == [0, 1, 2, 3]
    with hyperslab.File(tmp_path / "all.h5") as f:
        assert f["all"][:].tolist() == [-1] * 4
    monkeypatch.setenv("HDF5_VDS_PREFIX", str(tmp_path / "sources"))
    with hyperslab.File(tmp_path / "all.h5") as f:
        assert f["all"][:].tolist() == [0, 1, 2, 3]
