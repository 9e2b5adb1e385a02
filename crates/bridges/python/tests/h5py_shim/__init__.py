"""A package ``h5py`` that is Hyperslab, for h5py's own tests. Low-level modules are placeholders that skip a test."""

import importlib
import os
import sys
import threading
import types
import unittest

import hyperslab
from hyperslab import *  # noqa: F403
from hyperslab import _core, _types, filters, version  # noqa: F401
from hyperslab._base import product

__version__ = hyperslab.__version__


class LowLevel(types.ModuleType):
    """A module of h5py's low-level interface, which this package does not have."""

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        raise unittest.SkipTest(f"low level: {self.__name__}.{name}")


def _module(name, base=LowLevel, **content):
    module = base(f"{__name__}.{name}")
    module.__dict__.update(content)
    sys.modules[module.__name__] = module
    parent, _, last = module.__name__.rpartition(".")
    setattr(sys.modules[parent], last, module)
    return module


class _Reader:
    def __init__(self, dataset):
        self.read = dataset.__getitem__


def _is_empty_dataspace(handle):
    if not isinstance(handle, _core.Object):
        raise unittest.SkipTest("low level: identifiers of attributes")
    return handle.shape() is None


_public = {name: getattr(_types, name) for name in dir(_types) if name.endswith("_dtype")}
for _name in ("h5a", "h5d", "h5ds", "h5f", "h5fd", "h5g", "h5i", "h5l", "h5o", "h5p", "h5pl", "h5s", "_selector"):
    _module(_name)
_module("h5", get_config=hyperslab.get_config)
_module("h5t", **_public)
_module("h5r", Reference=hyperslab.Reference, RegionReference=hyperslab.RegionReference)
_module("h5z", FILTER_DEFLATE=1, FILTER_SHUFFLE=2, FILTER_FLETCHER32=3, FILTER_SZIP=4, FILTER_LZF=32000,
        filter_avail=_core.filter_is_available)
_module("_objects", phil=threading.RLock())
_module("h5py_warnings", H5pyDeprecationWarning=hyperslab.H5pyDeprecationWarning)
_module("_hl")
_module("_hl.base", is_hdf5=hyperslab.is_hdf5, Empty=hyperslab.Empty, product=product,
        is_empty_dataspace=_is_empty_dataspace)
_module("_hl.files", direct_vfd=False, _drivers={})
_module("_hl.compat", filename_encode=os.fsencode, filename_decode=os.fsdecode)
_module("_hl.vds", vds_support=True)
_module("_hl.selections")
_module("_hl.selections2")
_module("_hl.dataset")
sys.modules[f"{__name__}.version"] = version
# Tests read every slice a second time with a class that h5py has inside.
hyperslab.Dataset._fast_reader = property(_Reader)
importlib.invalidate_caches()
