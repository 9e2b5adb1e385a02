"""Tests run on the package next to them, with the entry points that its wheel would have."""

import sys
import tomllib
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[1]
sys.path.insert(0, str(PACKAGE / "python"))

collect_ignore = ["h5py_shim", "h5py_suite.py", "xarray_suite.py", "check_wheel.py"]


def _install_entry_points(folder):
    """Write what an installer would, so that programs find the package by its entry points."""
    project = tomllib.loads((PACKAGE / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    info = folder / "hyperslab-0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: hyperslab\nVersion: 0\n", encoding="utf-8")
    lines = [f"[{group}]\n" + "".join(f"{name} = {target}\n" for name, target in entries.items())
             for group, entries in project["entry-points"].items()]
    (info / "entry_points.txt").write_text("\n".join(lines), encoding="utf-8")


@pytest.fixture(scope="session", autouse=True)
def entry_points(tmp_path_factory):
    """Let `importlib.metadata` find the entry points of the package."""
    folder = tmp_path_factory.mktemp("site")
    _install_entry_points(folder)
    sys.path.insert(0, str(folder))
    yield
    sys.path.remove(str(folder))
