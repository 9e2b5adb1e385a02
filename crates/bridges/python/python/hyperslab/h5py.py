"""The installed h5py, on Hyperslab's C library: ``import hyperslab.h5py as h5py``.

The module in ``sys.modules`` becomes h5py itself, so everything that h5py has is found here.
"""

import importlib
import sys

from .install import install

install()
sys.modules[__name__] = importlib.import_module("h5py")
