"""Versions."""

import sys

import numpy

from . import _core

version = _core.__version__
version_tuple = tuple(int(part) for part in version.split(".")[:3])
# The generation of libhdf5 whose files this library writes.
hdf5_version = "2.0.0"
hdf5_version_tuple = (2, 0, 0)
api_version = "1.8"
info = f"hyperslab {version}, HDF5 format {hdf5_version}, Python {sys.version}, numpy {numpy.__version__}"
