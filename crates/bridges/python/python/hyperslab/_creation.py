"""Options of new datasets."""

import operator
import os
from collections.abc import Mapping
from warnings import warn

import numpy as np

from . import _core
from ._base import Empty, array_of, product
from ._config import get_config
from ._elements import elements
from ._types import check_string_dtype, string_dtype, type_of
from .datatypes import Datatype

DEFLATE, SHUFFLE, FLETCHER32, SZIP, NBIT, SCALEOFFSET, LZF = 1, 2, 3, 4, 5, 6, 32000
_SZIP_MASKS = {"ec": 4, "nn": 32}
_FILL_TIMES = ("alloc", "never", "ifset")
# Chunks of 8 KiB to 1 MiB, larger for larger datasets: 16 KiB at 1 MiB, twice that for ten times the size.
_CHUNK_BASE, _CHUNK_MIN, _CHUNK_MAX = 16 * 1024, 8 * 1024, 1024 * 1024
_UNLIMITED = 2**64 - 1


class H5pyDeprecationWarning(DeprecationWarning):
    """Something that h5py will not take any more."""


class FilterRefBase(Mapping):
    """A filter by number, with its options: ``create_dataset(..., compression=filter)`` or ``**filter``."""

    filter_id = None
    filter_options = ()

    @property
    def _arguments(self):
        return {"compression": self.filter_id, "compression_opts": self.filter_options}

    def __hash__(self):
        return hash((self.filter_id, self.filter_options))

    def __eq__(self, other):
        if not isinstance(other, FilterRefBase):
            return NotImplemented
        return (self.filter_id, self.filter_options) == (other.filter_id, other.filter_options)

    def __len__(self):
        return len(self._arguments)

    def __iter__(self):
        return iter(self._arguments)

    def __getitem__(self, name):
        return self._arguments[name]


class Gzip(FilterRefBase):
    """Deflate, with a level from 0 to 9."""

    filter_id = DEFLATE

    def __init__(self, level=4):
        self.filter_options = (level,)


def guess_chunk(shape, maxshape, typesize):
    """Return the shape of chunks for a dataset: its own, with one dimension after another halved."""
    chunks = [length or 1024 for length in shape]
    if not chunks:
        raise ValueError("Chunks not allowed for scalar datasets.")
    total = product(chunks) * typesize
    target = _CHUNK_BASE * 2 ** np.log10(total / 2**20)
    target = min(max(target, _CHUNK_MIN), _CHUNK_MAX)
    axis = 0
    while product(chunks) > 1:
        size = product(chunks) * typesize
        if size < _CHUNK_MAX and (size < target or abs(size - target) / target < 0.5):
            break
        chunks[axis] = -(-chunks[axis] // 2)
        axis = (axis + 1) % len(chunks)
    return tuple(chunks)


class Options:
    """What ``create_dataset`` was asked for, checked, in the form that the native module takes."""

    def __init__(self, shape=None, dtype=None, data=None, chunks=None, compression=None, shuffle=None,
                 fletcher32=None, maxshape=None, compression_opts=None, fillvalue=None, scaleoffset=None,
                 track_times=None, external=None, track_order=None, efile_prefix=None, virtual_prefix=None,
                 allow_unknown_filter=False, rdcc_nslots=None, rdcc_nbytes=None, rdcc_w0=None, fill_time=None,
                 mappings=None, compact=False):
        self.prefixes = prefixes_of(efile_prefix, virtual_prefix)
        self.committed, self.datatype = None, None
        self._take_data(shape, dtype, data)
        if track_times not in (None, True, False):
            raise TypeError("track_times must be either True or False")
        if track_order not in (None, True, False):
            raise TypeError("track_order must be either True or False")
        if any((compression, shuffle, fletcher32, maxshape, scaleoffset)) and chunks is False:
            raise ValueError("Chunked format required for given storage options")
        compression, compression_opts = _old_compression(compression, compression_opts)
        external = _external(external)
        filters = {"compression": compression, "opts": compression_opts, "shuffle": shuffle,
                   "fletcher32": fletcher32, "scaleoffset": scaleoffset}
        self._take_layout(chunks, maxshape, external or mappings, filters)
        self.creation = {
            "chunks": self.chunks, "compact": compact, "external": external, "mappings": mappings,
            "filters": _filters(self.dtype, filters, allow_unknown_filter) if self.shape else [],
            "fill": self._fill(fillvalue), "fill_time": _fill_time(fill_time), "early": False,
            "track_order": get_config().track_order if track_order is None else track_order,
            "track_times": bool(track_times),
        }

    def _take_data(self, shape, dtype, data):
        if isinstance(dtype, Datatype):
            self.committed, self.datatype, dtype = dtype._o, dtype._type, dtype.dtype
        elif dtype is not None:
            dtype = np.dtype(dtype)
        if data is not None and not isinstance(data, Empty):
            data = array_of(data, dtype)
        if shape is None:
            if data is None:
                if dtype is None:
                    raise TypeError("One of data, shape or dtype must be specified")
                data = Empty(dtype)
            shape = data.shape
            if dtype is not None and dtype.subdtype and shape:
                shape = shape[: len(shape) - len(dtype.shape)]
        else:
            shape = (int(shape),) if isinstance(shape, (int, np.integer)) else tuple(int(n) for n in shape)
            if data is not None and not isinstance(data, Empty):
                inner = product(dtype.shape) if dtype is not None else 1
                if product(shape) * inner != data.size:
                    raise ValueError("Shape tuple is incompatible with data")
        if dtype is None:
            dtype = data.dtype if data is not None else _no_dtype()
        self.shape, self.dtype, self.data = shape, dtype, data
        self.datatype = self.datatype or type_of(dtype)

    def _take_layout(self, chunks, maxshape, external, filters):
        shape = self.shape
        if isinstance(maxshape, int) and not isinstance(maxshape, bool):
            maxshape = (maxshape,)
        wants_filters = any((filters["compression"], filters["opts"], filters["shuffle"], filters["fletcher32"],
                             filters["scaleoffset"] is not None))
        if not shape:
            kind = "Empty" if shape is None else "Scalar"
            if chunks or wants_filters:
                raise TypeError(f"{kind} datasets don't support chunk/filter options")
            if maxshape and maxshape != ():
                raise TypeError(f"{kind} datasets cannot be extended")
            self.chunks = self.maximum = None
            return
        if isinstance(chunks, int) and not isinstance(chunks, bool):
            chunks = (chunks,)
        if chunks is False:
            chunks = None
        _check_rank(chunks, shape, "chunks")
        _check_rank(maxshape, shape, "maxshape")
        if maxshape is True:
            maxshape = (None,) * len(shape)
        if isinstance(chunks, (tuple, list)):
            _check_chunks(chunks, shape, maxshape)
        if chunks is True or (chunks is None and (wants_filters or (maxshape and not external))):
            chunks = guess_chunk(shape, maxshape, self.dtype.itemsize)
        self.chunks = None if chunks is None else [int(n) for n in chunks]
        self.maximum = None if maxshape is None else [_bound(n) for n in maxshape]

    def _fill(self, value):
        if value is None:
            return None
        string = check_string_dtype(self.dtype)
        if self.dtype.names and not isinstance(value, (tuple, np.ndarray, np.void)):
            raise ValueError("The fill value of a compound must be a tuple or a record")
        if string is not None:
            array = np.asarray(value, dtype=string_dtype(string.encoding)).view(string_dtype(string.encoding))
        else:
            array = np.asarray(value)
            if array.dtype.kind in "OU" or (self.dtype.names and not array.dtype.names):
                array = np.asarray(value, dtype=self.dtype)
            if self.dtype.kind == "O" and array.dtype.kind == "O":
                array = array.view(self.dtype)
        if array.dtype.kind == "V" and not array.dtype.names and self.dtype.kind == "V":
            array = array.view(self.dtype)
        return elements(array, array.dtype if self.dtype.subdtype is None else self.dtype)


def prefixes_of(efile_prefix=None, virtual_prefix=None):
    """Return prefixes of names of external files and virtual sources as text; ``None`` where there is neither."""
    if efile_prefix is virtual_prefix is None:
        return None
    return tuple(None if prefix is None else os.fsdecode(prefix) for prefix in (efile_prefix, virtual_prefix))


def _no_dtype():
    warn("Creating a dataset without passing data or dtype is deprecated. Pass an explicit dtype. Using dtype='f4' "
         "will keep the current default behaviour.", H5pyDeprecationWarning, stacklevel=6)
    return np.dtype("=f4")


def _bound(length):
    return None if length is None or length == _UNLIMITED else int(length)


def _check_rank(value, shape, name):
    if value is None or value is True:
        return
    try:
        rank = len(tuple(value))
    except TypeError:
        raise TypeError(f"{name!r} argument must be None or a sequence object") from None
    if rank != len(shape):
        raise ValueError(f"{name!r} must have same rank as dataset shape")


def _check_chunks(chunks, shape, maxshape):
    limits = shape if maxshape is None else maxshape
    if any(limit is not None and chunk > limit for chunk, limit in zip(chunks, limits)):
        raise ValueError("Chunk shape must not be greater than data shape in any dimension. "
                         f"{tuple(chunks)} is not compatible with {shape}")


def _old_compression(compression, opts):
    """Return compression and its options where ``True`` or a level stands for deflate."""
    if isinstance(compression, FilterRefBase):
        return compression.filter_id, compression.filter_options
    if compression is True:
        return "gzip", 4 if opts is None else opts
    if isinstance(compression, (int, np.integer)) and 0 <= compression < 10:
        if opts is not None and not (compression == DEFLATE and isinstance(opts, tuple)):
            raise TypeError("Conflict in compression options")
        return ("gzip", int(compression)) if opts is None else (DEFLATE, opts)
    return compression, opts


def _external(external):
    if external is None:
        return None
    if isinstance(external, (str, bytes, os.PathLike)):
        return [(os.fsdecode(external), 0, _UNLIMITED)]
    return [_external_file(entry) for entry in external] or None


def _external_file(entry):
    if not isinstance(entry, tuple):
        raise TypeError("Each external entry must be a tuple of (name, offset, size)")
    name, offset, size = entry
    return os.fsdecode(name), operator.index(offset), operator.index(size)


def _fill_time(name):
    if name is not None and name not in _FILL_TIMES:
        raise ValueError("fill_time must be one of the following choices: 'alloc', 'never' or 'ifset', "
                         f"but it is {name}.")
    return name


def _filters(dtype, asked, allow_unknown):
    filters = []
    scaleoffset = _scaleoffset(dtype, asked)
    compression = _compression(asked["compression"], asked["opts"], allow_unknown)
    if scaleoffset is not None:
        filters.append(scaleoffset)
    if asked["shuffle"]:
        filters.append((SHUFFLE, True, []))
    if compression is not None:
        filters.append(compression)
    if asked["fletcher32"]:
        filters.append((FLETCHER32, False, []))
    return filters


def _scaleoffset(dtype, asked):
    factor = asked["scaleoffset"]
    if factor is None:
        return None
    if factor < 0:
        raise ValueError("scale factor must be >= 0")
    if dtype.kind not in "fiu":
        raise TypeError("scale/offset filter only supported for integer and floating-point types")
    if dtype.kind == "f" and factor is True:
        raise ValueError("integer scaleoffset must be provided for floating point types")
    if asked["fletcher32"]:
        raise ValueError("fletcher32 cannot be used with potentially lossy scale/offset filter")
    factor = 0 if factor is True else int(factor)
    return (SCALEOFFSET, False, [0 if dtype.kind == "f" else 2, factor])


def _compression(name, opts, allow_unknown):
    if name is None:
        if opts is not None:
            raise TypeError("Compression method must be specified")
        return None
    if name == "gzip":
        level = 4 if opts is None else opts
        if level not in range(10):
            raise ValueError(f"GZIP setting must be an integer from 0-9, not {opts!r}")
        return (DEFLATE, True, [int(level)])
    if name == "lzf":
        if opts is not None:
            raise ValueError("LZF compression filter accepts no options")
        return (LZF, True, [])
    if name == "szip":
        return _szip(opts)
    if not isinstance(name, (int, np.integer)):
        raise ValueError(f'Compression filter "{name}" is unavailable')
    if not 0 <= name < 65536:
        raise ValueError(f"Invalid filter number: {name}")
    if not allow_unknown and not _core.filter_is_available(int(name)):
        raise ValueError(f"Unknown compression filter number: {name}")
    return (int(name), True, [int(value) for value in opts or ()])


def _szip(opts):
    wrong = "SZIP options must be a 2-tuple ('ec'|'nn', even integer 0-32)"
    try:
        method, pixels = ("nn", 8) if opts is None else opts
    except TypeError:
        raise TypeError(wrong) from None
    if method not in _SZIP_MASKS or not 0 < pixels <= 32 or pixels % 2:
        raise ValueError(wrong)
    return (SZIP, True, [_SZIP_MASKS[method], pixels])
