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
from ._many import read_many
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
from .references import Reference, RegionReference
from .virtual import VirtualLayout, VirtualSource

__version__ = version.version
UNLIMITED = 2**64 - 1

__all__ = [
    "AttributeManager", "Dataset", "Datatype", "Empty", "ExternalLink", "File", "Group", "H5pyDeprecationWarning",
    "HLObject", "HardLink", "Map", "MultiBlockSlice", "Reference", "RegionReference", "SoftLink", "UNLIMITED",
    "VirtualLayout", "VirtualSource", "check_dtype", "check_enum_dtype", "check_opaque_dtype", "check_ref_dtype",
    "check_string_dtype", "check_vlen_dtype", "enum_dtype", "get_config", "install", "is_hdf5", "is_installed",
    "opaque_dtype", "read_many", "ref_dtype", "regionref_dtype", "special_dtype", "string_dtype", "version",
    "vlen_dtype",
]
