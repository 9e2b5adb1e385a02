"""HDF5 in Rust, on any storage, with h5py's interface.

>>> import hyperslab, numpy
>>> with hyperslab.File("doc.h5", "w", driver="core", backing_store=False) as f:
...     d = f.create_dataset("grid", data=numpy.arange(6).reshape(2, 3), compression="gzip")
...     d.attrs["unit"] = "m"
...     f["grid"][:, 1]
array([1, 4])
"""

from . import version
from ._base import Empty, HLObject, is_hdf5
from ._config import get_config
from ._creation import H5pyDeprecationWarning
from ._reference import Reference, RegionReference
from ._selections import MultiBlockSlice
from ._types import (
    check_dtype, check_enum_dtype, check_opaque_dtype, check_ref_dtype, check_string_dtype, check_vlen_dtype,
    enum_dtype, opaque_dtype, ref_dtype, regionref_dtype, special_dtype, string_dtype, vlen_dtype,
)
from .attributes import AttributeManager
from .datasets import Dataset
from .datatypes import Datatype
from .files import File
from .groups import Group
from .install import install, is_installed
from .links import ExternalLink, HardLink, SoftLink
from .maps import Map
from .virtual import VirtualLayout, VirtualSource

__version__ = version.version
UNLIMITED = 2**64 - 1

# Functions that few programs use, and the modules that they are imported from when they are used.
_LATER = {"read_many": "_many", "read_many_async": "_async", "read_table": "_arrow", "references": "_kerchunk"}


def __getattr__(name):
    if name not in _LATER:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    globals()[name] = found = getattr(import_module(f".{_LATER[name]}", __name__), name)
    return found


__all__ = [
    "AttributeManager", "Dataset", "Datatype", "Empty", "ExternalLink", "File", "Group", "H5pyDeprecationWarning",
    "HLObject", "HardLink", "Map", "MultiBlockSlice", "Reference", "RegionReference", "SoftLink", "UNLIMITED",
    "VirtualLayout", "VirtualSource", "check_dtype", "check_enum_dtype", "check_opaque_dtype", "check_ref_dtype",
    "check_string_dtype", "check_vlen_dtype", "enum_dtype", "get_config", "install", "is_hdf5", "is_installed",
    "opaque_dtype", "read_many", "read_many_async", "read_table", "ref_dtype", "references", "regionref_dtype",
    "special_dtype", "string_dtype", "version", "vlen_dtype",
]
