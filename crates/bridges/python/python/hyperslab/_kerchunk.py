"""Files as references to the bytes of their chunks, in kerchunk's format (version 1): what zarr reads without HDF5."""

import base64
import json
import os
import struct

import numpy as np

from ._base import Empty, product
from ._netcdf import NetcdfGroup, attributes_of
from ._types import check_vlen_dtype, is_objects
from .files import File
from .groups import Group

# Values of filters are their `cd_values` in the file.
_CODECS = {
    1: lambda values, size: {"id": "zlib", "level": values[0] if values else 4},
    2: lambda values, size: {"id": "shuffle", "elementsize": values[0] if values else size},
    3: lambda values, size: {"id": "fletcher32"},
    307: lambda values, size: {"id": "bz2", "level": values[0] if values else 9},
    32001: lambda values, size: {"id": "blosc", "cname": "lz4", "clevel": 5, "shuffle": 1, "blocksize": 0},
    32015: lambda values, size: {"id": "zstd", "level": values[0] if values else 3},
}

# References in one Parquet file. A file has them all, also those of chunks that are not stored.
_RECORD_SIZE = 10_000


class Unsupported(NotImplementedError):
    """A dataset that references cannot stand for."""


def references(source, output=None, *, group="/", url=None, inline_bytes=300, skip_unsupported=False):
    """Return a file as references for zarr: the byte ranges of chunks, in kerchunk's format (version 1).

    ``source`` is a path, another location of an HDF5 file (``s3://…``, ``https://…``), or an open ``File``.
    ``url`` is what the references call the file; without one, its location.
    Datasets of at most ``inline_bytes`` bytes, and strings of variable length, are put into the references themselves.

    With ``output`` the references are also written: to a JSON file, or to Parquet files where the name ends in
    ``.parq`` or ``.parquet``, which needs pyarrow.

    Raises ``NotImplementedError`` for what zarr cannot read: a filter without a codec, a virtual dataset, a connector
    whose chunks are not bytes of a file. With ``skip_unsupported`` such datasets are left out.

    >>> import hyperslab
    >>> with hyperslab.File("doc.h5", "w", driver="core", backing_store=False) as f:
    ...     d = f.create_dataset("grid", data=[1.0, 2.0], chunks=(2,), compression="gzip")
    ...     f.commit()
    ...     made = references(f, url="s3://bucket/doc.h5", inline_bytes=0)
    >>> made["refs"]["grid/0"][0]
    's3://bucket/doc.h5'
    """
    if isinstance(source, Group):
        made = _Export(source.file, url, inline_bytes, skip_unsupported).group(source.file[group])
    else:
        with File(source) as file:
            made = _Export(file, url, inline_bytes, skip_unsupported).group(file[group])
    if output is not None:
        _write(made, os.fspath(output))
    return made


def _write(made, output):
    if output.endswith((".parq", ".parquet")):
        _write_parquet(made["refs"], output)
        return
    with open(output, "w", encoding="utf-8") as file:
        json.dump(made, file)


def _write_parquet(refs, output):
    """Write one table of references for every dataset and every so many of its chunks, as fsspec reads them."""
    metadata = {key: json.loads(value) for key, value in refs.items() if _is_metadata(key)}
    os.makedirs(output, exist_ok=True)
    with open(os.path.join(output, ".zmetadata"), "w", encoding="utf-8") as file:
        json.dump({"metadata": metadata, "record_size": _RECORD_SIZE}, file)
    tables = {}
    for key, value in refs.items():
        if not _is_metadata(key):
            path, _, chunk = key.rpartition("/")
            number = _number_of(chunk, metadata[f"{path}/.zarray"])
            tables.setdefault((path, number // _RECORD_SIZE), {})[number % _RECORD_SIZE] = value
    for (path, record), rows in tables.items():
        _write_record(os.path.join(output, path), record, rows)


def _is_metadata(key):
    return key.rpartition("/")[2].startswith(".z")


def _number_of(chunk, array):
    """Return the number of a chunk in C order."""
    counts = [-(-length // size) for length, size in zip(array["shape"], array["chunks"])] or [1]
    number = 0
    for at, count in zip(chunk.split("."), counts):
        number = number * count + int(at)
    return number


def _write_record(folder, record, rows):
    import pyarrow as pa
    from pyarrow import parquet

    found = [rows.get(at) for at in range(_RECORD_SIZE)]
    ranges = [value if isinstance(value, list) else [None, 0, 0] for value in found]
    raw = [_inlined_bytes(value) if isinstance(value, str) else None for value in found]
    # Readers take numbers that may be missing, or of which statistics do not say that none is, for floats.
    schema = pa.schema([("path", pa.string()), pa.field("offset", pa.int64(), False),
                        pa.field("size", pa.int64(), False), ("raw", pa.binary())])
    table = pa.table([*map(list, zip(*ranges)), raw], schema=schema)
    os.makedirs(folder, exist_ok=True)
    parquet.write_table(table, os.path.join(folder, f"refs.{record}.parq"), compression="zstd")


def _inlined_bytes(text):
    return base64.b64decode(text[7:]) if text.startswith("base64:") else text.encode()


class _Export:
    """The references of one file."""

    def __init__(self, file, url, inline_bytes, skip_unsupported):
        self._url = url or _absolute(file.filename)
        self._inline_bytes, self._skip = inline_bytes, skip_unsupported
        self._refs = {}

    def group(self, group):
        """Return the references of a group and of all below."""
        start = len(group.name.rstrip("/")) + 1
        for one in NetcdfGroup(group).walk():
            self._group(one, start)
        return {"version": 1, "refs": self._refs}

    def _group(self, netcdf, start):
        prefix = netcdf.group.name[start:]
        prefix = prefix + "/" if prefix else ""
        self._refs[f"{prefix}.zgroup"] = json.dumps({"zarr_format": 2})
        self._refs[f"{prefix}.zattrs"] = json.dumps(_plain(attributes_of(netcdf.group)))
        for name, variable in netcdf.variables.items():
            self._variable(f"{prefix}{name}", variable)

    def _variable(self, path, variable):
        try:
            found = _Array(variable, self._url, self._inline_bytes).references()
        except Unsupported as error:
            if self._skip:
                return
            raise NotImplementedError(f"{path}: {error}") from None
        self._refs.update({f"{path}/{key}": value for key, value in found.items()})


class _Array:
    """The references of one dataset."""

    def __init__(self, variable, url, inline_bytes):
        self._variable, self._dataset, self._url = variable, variable.dataset, url
        self._properties = variable.dataset._properties
        dtype = self._dataset.dtype
        self._inner = dtype.subdtype[1] if dtype.subdtype else ()
        self._dtype = dtype.base
        self._is_text = check_vlen_dtype(dtype) in (str, bytes)
        self._is_inline = self._is_text or self._dataset.nbytes <= inline_bytes

    def references(self):
        """Return the references by key: metadata, attributes and chunks."""
        if self._is_inline:
            chunks = self._inlined()
        else:
            chunks = {_key(offset, self._chunks()): [self._url, at, size] for offset, at, size in self._stored()}
        attributes = attributes_of(self._dataset)
        fill = self._fill(attributes, is_whole=len(chunks) == self._count())
        attributes["_ARRAY_DIMENSIONS"] = [*self._variable.dimensions, *(f"{self._variable.path}_{at}" for at, _
                                                                           in enumerate(self._inner))]
        return {".zarray": json.dumps(self._metadata(fill)), ".zattrs": json.dumps(_plain(attributes)), **chunks}

    def _shape(self):
        return [*self._dataset.shape, *self._inner]

    def _chunks(self):
        outer = self._dataset.shape if self._is_inline else self._dataset.chunks or self._dataset.shape
        return [max(length, 1) for length in (*outer, *self._inner)]

    def _count(self):
        return product(-(-length // chunk) for length, chunk in zip(self._shape(), self._chunks()))

    def _metadata(self, fill):
        filters = [{"id": "vlen-utf8"}] if self._is_text else self._codecs()
        return {
            "zarr_format": 2, "shape": self._shape(), "chunks": self._chunks(), "dtype": self._name(), "order": "C",
            "fill_value": fill, "filters": filters or None, "compressor": None, "dimension_separator": ".",
        }

    def _codecs(self):
        if self._is_inline:
            return []
        size, found = self._dtype.itemsize, []
        for number, _, values, name in self._properties["filters"]:
            if number not in _CODECS:
                raise Unsupported(f"no codec for filter {number} ({name})")
            found.append(_CODECS[number](values, size))
        return found

    def _name(self):
        dtype = self._dtype
        if self._is_text:
            return "|O"
        if is_objects(dtype):
            raise Unsupported("sequences of variable length")
        return _names(dtype) if dtype.names is not None else dtype.str

    def _fill(self, attributes, is_whole):
        """Return the value of missing chunks: zarr programs take it for the missing value where there is one."""
        declared = attributes.get("_FillValue")
        if declared is not None and not isinstance(declared, (str, list)) and not self._is_text:
            del attributes["_FillValue"]
            return _number(declared)
        if is_whole or self._is_text:
            return None
        fill = np.asarray(self._dataset.fillvalue)
        if fill.dtype.kind in "SV":
            return base64.b64encode(fill.tobytes()).decode() if fill.tobytes().strip(b"\0") else None
        return _number(fill[()]) if fill else None

    def _inlined(self):
        """Return the one chunk of all elements as text."""
        if 0 in self._shape():
            return {}
        if self._is_text:
            data = _packed(self._dataset.asstr(errors="replace")[()])
        else:
            self._name()
            data = np.ascontiguousarray(self._dataset[()]).tobytes()
        text = "base64:" + base64.b64encode(data).decode()
        return {".".join("0" for _ in self._shape()) or "0": text}

    def _stored(self):
        """Yield offset, address and length of the chunks that are stored."""
        kind = self._properties["layout"]
        if kind == "chunked":
            yield from self._stored_chunks()
        elif kind == "contiguous":
            bytes_, at = self._dataset._o.storage()
            if at is not None and bytes_:
                yield [0] * len(self._dataset.shape), at, self._dataset.nbytes
        else:
            raise Unsupported(f"a {kind} dataset of more than the bytes that are inlined")

    def _stored_chunks(self):
        shape = self._dataset.shape
        for offset, mask, at, size in self._dataset._o.stored_chunks():
            if mask:
                raise Unsupported("a chunk to which not all filters were applied")
            if at is None:
                raise Unsupported("chunks of this connector are not bytes of a file")
            if all(first < length for first, length in zip(offset, shape)):
                yield [*offset, *(0 for _ in self._inner)], at, size


def _absolute(location):
    is_local = "://" not in location and os.path.exists(location)
    return os.path.abspath(location) if is_local else location


def _key(offset, chunks):
    return ".".join(str(first // length) for first, length in zip(offset, chunks)) or "0"


def _names(dtype):
    """Return the members of a compound as zarr has them."""
    end = 0
    for name in dtype.names:
        member, offset = dtype.fields[name][:2]
        if offset != end or member.names is not None or member.hasobject:
            raise Unsupported("compounds with gaps or compounds in them")
        end += member.itemsize
    if end != dtype.itemsize:
        raise Unsupported("compounds with gaps")
    return [[name, dtype[name].base.str, *([list(dtype[name].shape)] if dtype[name].shape else [])]
            for name in dtype.names]


def _number(value):
    value = np.asarray(value).reshape(-1)[0]
    if value.dtype.kind == "c":
        return [_number(value.real), _number(value.imag)]
    if value.dtype.kind == "f" and not np.isfinite(value):
        return "NaN" if np.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    if value.dtype.kind in "SV":
        return base64.b64encode(value.tobytes()).decode()
    return value.item()


def _packed(strings):
    """Return strings as the codec ``vlen-utf8`` has them."""
    coded = [item.encode("utf-8", "replace") for item in np.asarray(strings, object).reshape(-1)]
    parts = [struct.pack("<I", len(coded))]
    for item in coded:
        parts += [struct.pack("<I", len(item)), item]
    return b"".join(parts)


def _plain(attributes):
    """Return attributes as JSON has them. What JSON has nothing for is left out."""
    return {name: value for name, value in ((name, _json(value)) for name, value in attributes.items())
            if value is not None}


def _json(value):
    if isinstance(value, Empty):
        return None
    if isinstance(value, (bytes, np.bytes_)):
        return value.decode("utf-8", "replace")
    if isinstance(value, (list, tuple)):
        return [_json(item) for item in value]
    if isinstance(value, np.ndarray):
        return value.tolist() if value.dtype.kind in "iufb" else None
    if isinstance(value, np.generic):
        return value.item() if value.dtype.kind in "iufb" else None
    return value if isinstance(value, (str, int, float)) else None
