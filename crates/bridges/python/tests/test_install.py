"""The installed h5py on the C library: each program in a process of its own."""

import subprocess
import sys

import pytest

from hyperslab.install import library

# Prints the version of the library below h5py, and what it wrote to a store that libhdf5 does not have.
PROGRAM = """
import os
with h5py.File("object:" + os.environ["STORE"], "w") as f:
    f["x"] = [1, 2, 3]
    print(f["x"][:].sum(), os.path.isdir(os.environ["STORE"]))
"""


@pytest.fixture(autouse=True)
def the_library_is_there():
    assert library().is_file(), "set HYPERSLAB_HDF5_LIBRARY, or build the wheel"


def run(arguments, tmp_path):
    import os

    environment = {**os.environ, "STORE": str(tmp_path / "store") + "/"}
    return subprocess.run([sys.executable, *arguments], env=environment, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("first", ["import hyperslab.h5py as h5py",
                                   "import hyperslab; hyperslab.install(); import h5py"])
def test_h5py_runs_on_the_library(first, tmp_path):
    done = run(["-W", "error", "-c", f"{first}\n{PROGRAM}"], tmp_path)
    assert (done.stdout, done.stderr) == ("6 True\n", "")


def test_a_program_is_started_on_the_library(tmp_path):
    program = tmp_path / "program.py"
    program.write_text(f"import sys, h5py\nprint(sys.argv[1:])\n{PROGRAM}")
    done = run(["-m", "hyperslab", str(program), "a", "b"], tmp_path)
    assert done.stdout == "['a', 'b']\n6 True\n", done.stderr


def test_it_refuses_when_h5py_came_first(tmp_path):
    done = run(["-c", "import h5py, hyperslab; hyperslab.install()"], tmp_path)
    assert done.returncode != 0 and "too late" in done.stderr and "python -m hyperslab" in done.stderr


def test_twice_is_as_good_as_once(tmp_path):
    done = run(["-c", f"import hyperslab; hyperslab.install(); hyperslab.install(); import h5py\n{PROGRAM}"], tmp_path)
    assert done.stdout == "6 True\n", done.stderr
