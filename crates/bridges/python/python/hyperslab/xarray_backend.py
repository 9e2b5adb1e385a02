"""The backend of xarray: ``xarray.open_dataset("run.nc", engine="hyperslab")``.

It opens netCDF-4 and other HDF5 files at any location: a path, ``s3://…``, ``object:…``, ``h5s://…``, a Python file
object, bytes, or a ``File`` or ``Group`` of this package. Values are read when they are used, without a lock.
"""

import io
import os

import numpy as np
from xarray import Variable
from xarray.backends import (
    AbstractDataStore, BackendArray, BackendEntrypoint, CachingFileManager, StoreBackendEntrypoint,
    file_manager,
)
from xarray.core import indexing

from ._base import is_hdf5
from ._netcdf import NetcdfGroup, attributes_of
from ._types import check_enum_dtype, check_vlen_dtype
from .files import File
from .groups import Group

_SZIP, _BLOSC = 4, 32001
_FILTERS = {1: "zlib", 2: "shuffle", 3: "fletcher32", _SZIP: "szip", 307: "bzip2", _BLOSC: "blosc", 32015: "zstd"}
_WITH_LEVEL = (1, 307, 32015)
_BLOSC_COMPRESSORS = ("blosc_lz", "blosc_lz4", "blosc_lz4hc", "blosc_snappy", "blosc_zlib", "blosc_zstd")
_EXTENSIONS = (".nc", ".nc4", ".h5", ".hdf5", ".he5")
_SCHEMES = ("object:", "object+rados:", "log:", "raw:", "json:", "iod:", "h5s://", "memory:")
# Older versions have only the one; it cannot be pickled with file objects.
_OneFile = getattr(file_manager, "PickleableFileManager", CachingFileManager)


class _Opened:
    """A file that the caller opened, and closes."""

    def __init__(self, file):
        self._file = file

    def acquire(self, needs_lock=True):
        """Return the file."""
        return self._file

    def close(self, needs_lock=True):
        """Leave the file open."""


class HyperslabArray(BackendArray):
    """The values of a variable, read by index."""

    __slots__ = ("_manager", "_path", "_is_text", "_fill", "shape", "dtype")

    def __init__(self, manager, path, variable):
        dataset = variable.dataset
        self._manager, self._path, self.shape = manager, path, variable.shape
        self._is_text = check_vlen_dtype(dataset.dtype) in (str, bytes)
        self._fill = dataset.fillvalue if dataset.shape != variable.shape else None
        # Without metadata, by which xarray would take an enumeration or a sequence for something else.
        plain = np.dtype(dataset.dtype.str) if dataset.dtype.names is None else dataset.dtype
        self.dtype = np.dtype("O", metadata={"element_type": str}) if self._is_text else plain

    def __getitem__(self, key):
        support = indexing.IndexingSupport.OUTER_1VECTOR
        return indexing.explicit_indexing_adapter(key, self.shape, support, self._values)

    def _values(self, key):
        dataset = self._manager.acquire()[self._path]
        source = dataset.asstr(errors="surrogateescape") if self._is_text else dataset
        if dataset.shape == self.shape:
            return np.asarray(source[key])
        return self._padded(source, dataset.shape, key)

    def _padded(self, source, extent, key):
        """Return values of a variable that is shorter than its dimension: fill values stand for the rest."""
        at = [np.atleast_1d(np.arange(length)[item]) for length, item in zip(self.shape, key)]
        fill = self._fill.decode() if self._is_text and isinstance(self._fill, bytes) else self._fill
        out = np.full([len(axis) for axis in at], fill, self.dtype)
        # Indexes rise, so those within the extent come first.
        inner = [axis[axis < length] for axis, length in zip(at, extent)]
        if all(map(len, inner)):
            out[tuple(slice(len(axis)) for axis in inner)] = source[_block(inner)]
        return out[tuple(0 if isinstance(item, (int, np.integer)) else slice(None) for item in key)]


def _block(indexes):
    """Return rising indexes as slices, and as a list where they are not even."""
    return tuple(_even(axis) for axis in indexes)


def _even(axis):
    steps = np.unique(np.diff(axis))
    if len(steps) > 1:
        return axis
    return slice(int(axis[0]), int(axis[-1]) + 1, int(steps[0]) if len(steps) else 1)


class HyperslabStore(AbstractDataStore):
    """A group of a file: its variables, dimensions and attributes."""

    def __init__(self, manager, netcdf, source):
        self._manager, self._netcdf, self._source = manager, netcdf, source

    def __getstate__(self):
        # A store that was pickled with its dataset has one thing left to do: to close the file.
        return {"_manager": self._manager, "_source": self._source}

    @classmethod
    def open(cls, source, group=None, **options):
        """Return the store of a group."""
        manager = _manager(source, options)
        start = source if isinstance(source, Group) else manager.acquire()
        if not isinstance(group, (str, type(None))):
            raise ValueError(f"group must be a string or None, not {group!r}")
        try:
            found = start[group] if group not in (None, "", "/") else start
        except KeyError:
            raise OSError(f"group not found: {group}") from None
        return cls(manager, NetcdfGroup(found), _shown(source))

    def children(self):
        """Yield the path of the group and its store, then those of all groups below."""
        for netcdf in self._netcdf.walk():
            yield netcdf.group.name, HyperslabStore(self._manager, netcdf, self._source)

    def get_variables(self):
        """Return the variables by name."""
        return {name: self._variable(variable) for name, variable in self._netcdf.variables.items()}

    def get_attrs(self):
        """Return the attributes of the group."""
        return attributes_of(self._netcdf.group)

    def get_dimensions(self):
        """Return the lengths of dimensions by name."""
        return {name: dimension.length for name, dimension in self._netcdf.dimensions.items()}

    def get_encoding(self):
        """Return the dimensions that grow."""
        growing = {name for name, dimension in self._netcdf.dimensions.items() if dimension.is_unlimited}
        return {"unlimited_dims": growing}

    def close(self, **options):
        """Close the file."""
        self._manager.close(**options)

    def _variable(self, variable):
        group = self._netcdf.group.name.rstrip("/")
        array = HyperslabArray(self._manager, f"{group}/{variable.path}", variable)
        attributes, encoding = attributes_of(variable.dataset), _encoding(variable, self._netcdf.types)
        encoding["source"], encoding["original_shape"] = self._source, variable.shape
        return Variable(variable.dimensions, indexing.LazilyIndexedArray(array), attributes, encoding)


def _manager(source, options):
    if isinstance(source, Group):
        return _Opened(source.file)
    if isinstance(source, (bytes, bytearray, memoryview)):
        source = io.BytesIO(source)
    if hasattr(source, "read"):
        return _OneFile(File, source, mode="r", kwargs=options)
    return CachingFileManager(File, _location(source), mode="r", kwargs=options)


def _location(source):
    source = os.fspath(source)
    return os.path.expanduser(source) if source.startswith("~") else source


def _shown(source):
    return _location(source) if isinstance(source, (str, os.PathLike)) else None


def _encoding(variable, types):
    """Return how a variable is stored, in the words of the netCDF library."""
    dataset = variable.dataset
    chunks = dataset.chunks
    encoding = {"contiguous": not chunks, "chunksizes": chunks, "dtype": _encoded_dtype(dataset, types)}
    if chunks:
        encoding["preferred_chunks"] = dict(zip(variable.dimensions, chunks))
    encoding.update(_filters(dataset))
    return encoding


def _filters(dataset):
    """Return the filters of a dataset, each under its name in the netCDF library."""
    found = {number: values for number, _, values, _ in dataset._properties["filters"]}
    encoding = {name: number in found for number, name in _FILTERS.items()}
    if _BLOSC in found:
        level, shuffle, code = (*found[_BLOSC], 0, 0, 0, 0, 0, 0, 0)[4:7]
        compressor = _BLOSC_COMPRESSORS[code] if code < len(_BLOSC_COMPRESSORS) else "blosc"
        encoding["blosc"], encoding["complevel"] = {"compressor": compressor, "shuffle": shuffle}, level
    if _SZIP in found:
        coding, pixels = dataset.compression_opts
        encoding["szip"] = {"coding": coding, "pixels_per_block": pixels}
    level = next((found[number][0] for number in _WITH_LEVEL if found.get(number)), None)
    if level is not None:
        encoding["complevel"] = level
    if dataset.compression in ("lzf", "unknown") and not found.keys() & _FILTERS.keys() - {2, 3}:
        encoding["compression"], encoding["compression_opts"] = dataset.compression, dataset.compression_opts
    return encoding


def _encoded_dtype(dataset, types):
    dtype, names = dataset.dtype, check_enum_dtype(dataset.dtype)
    if names is None:
        return str if check_vlen_dtype(dtype) in (str, bytes) else dtype
    return np.dtype(dtype.str, metadata={"enum": dict(names), "enum_name": types.get(dataset._type)})


class HyperslabBackend(BackendEntrypoint):
    """Opens netCDF-4 and HDF5 files, on any storage, with hyperslab."""

    description = "Open netCDF-4 and HDF5 files, on any storage, using hyperslab in Xarray"
    url = "https://github.com/hyperslab/hyperslab/blob/main/docs/python.md"
    supports_groups = True

    def guess_can_open(self, filename_or_obj):
        """Return whether a location is one of this package's own, or an HDF5 file."""
        if not isinstance(filename_or_obj, (str, os.PathLike)):
            return isinstance(filename_or_obj, Group)
        location = _location(filename_or_obj)
        if location.startswith(_SCHEMES):
            return True
        if "://" in location:
            return location.endswith(_EXTENSIONS)
        return os.path.isfile(location) and is_hdf5(location)

    def open_dataset(self, filename_or_obj, *, mask_and_scale=True, decode_times=True, concat_characters=True,
                     decode_coords=True, drop_variables=None, use_cftime=None, decode_timedelta=None, group=None,
                     open_kwargs=None):
        """Return the variables of a group as a dataset. ``open_kwargs`` are arguments of ``File``."""
        store = HyperslabStore.open(filename_or_obj, group, **(open_kwargs or {}))
        return StoreBackendEntrypoint().open_dataset(
            store, mask_and_scale=mask_and_scale, decode_times=decode_times, concat_characters=concat_characters,
            decode_coords=decode_coords, drop_variables=drop_variables, use_cftime=use_cftime,
            decode_timedelta=decode_timedelta)

    def open_groups_as_dict(self, filename_or_obj, *, drop_variables=None, group=None, open_kwargs=None, **decoding):
        """Return the datasets of a group and of all groups below by path."""
        top = HyperslabStore.open(filename_or_obj, group, **(open_kwargs or {}))
        start = len(top._netcdf.group.name.rstrip("/"))
        read = StoreBackendEntrypoint().open_dataset
        return {path[start:] or "/": read(store, drop_variables=drop_variables, **decoding)
                for path, store in top.children()}

    def open_datatree(self, filename_or_obj, *, drop_variables=None, group=None, open_kwargs=None, **decoding):
        """Return a group and all groups below as a tree."""
        from xarray import DataTree

        found = self.open_groups_as_dict(
            filename_or_obj, drop_variables=drop_variables, group=group, open_kwargs=open_kwargs, **decoding)
        tree = DataTree.from_dict(found)
        for path, dataset in found.items():
            tree[path].set_close(dataset._close)
        return tree
