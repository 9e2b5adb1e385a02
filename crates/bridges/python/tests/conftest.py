"""Tests run on the package next to them."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "python"))

collect_ignore = ["h5py_shim", "h5py_suite.py"]
