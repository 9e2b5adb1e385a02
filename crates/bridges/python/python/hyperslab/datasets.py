"""Datasets."""

import numpy as np

from . import _creation
from ._async import run
from ._base import Empty, HLObject, classes, item_type, product
from ._elements import array_from, elements, objects_from
from ._selections import select, spread
from ._types import (
    check_string_dtype, check_vlen_dtype, dtype_of, is_objects, memory_type,
)
from ._reference import RegionReference

_NAMES = {_creation.DEFLATE: "gzip", _creation.SHUFFLE: "shuffle", _creation.FLETCHER32: "fletcher32",
          _creation.SZIP: "szip", _creation.SCALEOFFSET: "scaleoffset", _creation.LZF: "lzf"}
_COMPRESSIONS = ("gzip", "lzf", "szip")


class _View:
    """Reads a dataset in another way."""

    def __init__(self, dataset):
        self._dset = dataset

    def __len__(self):
        return len(self._dset)

    @property
    def shape(self):
        """The shape of the dataset."""
        return self._dset.shape

    @property
    def ndim(self):
        """The number of dimensions."""
        return self._dset.ndim

    @property
    def size(self):
        """The number of elements."""
        return self._dset.size

    def __array__(self, dtype=None, copy=None):
        _refuse_no_copy(self, copy)
        return np.asarray(self[()], dtype=dtype or self.dtype)


def _refuse_no_copy(owner, copy):
    if copy is False:
        raise ValueError(f"{type(owner).__name__}.__array__ received copy=False "
                         "but memory allocation cannot be avoided on read")


class AsTypeView(_View):
    """Elements as another dtype."""

    def __init__(self, dataset, dtype):
        super().__init__(dataset)
        self.dtype = dtype

    def __getitem__(self, index):
        return self._dset._read(index, self.dtype)

    def __array__(self, dtype=None, copy=None):
        return self._dset.__array__(dtype or self.dtype, copy)


class AsStrView(_View):
    """Strings as ``str``."""

    dtype = np.dtype(object)

    def __init__(self, dataset, encoding, errors):
        super().__init__(dataset)
        self.encoding, self.errors = encoding, errors

    def __getitem__(self, index):
        dataset = self._dset
        if self.errors in ("strict", "surrogateescape") and self.encoding == "utf-8" \
                and check_vlen_dtype(dataset.dtype) is not None:
            return dataset._read(index, None, self.errors)
        found = dataset[index]
        if isinstance(found, bytes):
            return found.decode(self.encoding, self.errors)
        out = np.empty(found.size, object)
        out[:] = [item.decode(self.encoding, self.errors) for item in found.reshape(-1).tolist()]
        return out.reshape(found.shape)


class FieldsView(_View):
    """Some fields of compounds."""

    def __init__(self, dataset, dtype, names):
        super().__init__(dataset)
        self._single = names if isinstance(names, str) else None
        names = [names] if isinstance(names, str) else list(names)
        if dtype.names is None:
            raise ValueError("Field names only allowed for compound types")
        for name in names:
            if name not in dtype.names:
                raise ValueError(f"Field {name} does not appear in this type.")
        self._compound = np.dtype([(name, dtype.fields[name][0]) for name in names])

    @property
    def dtype(self):
        """The dtype of one field, or of a compound of some."""
        return self._compound if self._single is None else self._compound[self._single]

    def __getitem__(self, index):
        found = self._dset._read(index, self._compound)
        return found if self._single is None else found[self._single]


class ChunkIterator:
    """Slices of the chunks of a dataset, or of those that a block of it reaches into."""

    def __init__(self, dataset, source_sel=None):
        chunks, shape = dataset.chunks, dataset.shape
        if not chunks:
            raise TypeError("Chunked dataset required")
        self._bounds = _bounds(source_sel, shape)
        starts = [range(start // size, -(-stop // size)) for (start, stop), size in zip(self._bounds, chunks)]
        self._chunks, self._at = chunks, np.ndindex(*(len(axis) for axis in starts))
        self._first = [axis.start for axis in starts]

    def __iter__(self):
        return self

    def __next__(self):
        parts = zip(next(self._at), self._first, self._chunks, self._bounds)
        return tuple(
            slice(max((at + first) * size, start), min((at + first + 1) * size, stop), 1)
            for at, first, size, (start, stop) in parts
        )


def _bounds(source_sel, shape):
    if source_sel is None:
        return [(0, length) for length in shape]
    items = [source_sel] if isinstance(source_sel, (slice, int)) else list(source_sel)
    if len(items) != len(shape):
        raise ValueError("Invalid selection - selection region must have same rank as dataset")
    bounds = [
        (item.start or 0, item.stop or length) if isinstance(item, slice) else (item, item + 1)
        for item, length in zip(items, shape)
    ]
    if any(start < 0 or stop > length or stop <= start for (start, stop), length in zip(bounds, shape)):
        raise ValueError("Invalid selection - selection region must be within dataset space")
    return bounds


class Dataset(HLObject):
    """A dataset: read and written like a numpy array.

    >>> import hyperslab
    >>> with hyperslab.File("doc.h5", "w", driver="core", backing_store=False) as f:
    ...     d = f.create_dataset("a", data=[[1, 2], [3, 4]])
    ...     d[1, ::-1 * -1], d[[True, False]].shape
    (array([3, 4]), (1, 2))
    """

    __slots__ = ("_type", "_dtype")

    @classmethod
    def _of(cls, core, state, path, datatype):
        made = cls.__new__(cls)
        made._o, made._s, made._path, made._type, made._dtype = core, state, path, datatype, None
        return made

    # Properties.

    @property
    def dtype(self):
        """The dtype of the elements."""
        if self._dtype is None:
            self._dtype = dtype_of(self._type)
        return self._dtype

    @property
    def shape(self):
        """The extent; ``None`` for one without elements."""
        return self._live().shape()

    @shape.setter
    def shape(self, shape):
        self.resize(shape)

    @property
    def ndim(self):
        """The number of dimensions."""
        return len(self.shape or ())

    @property
    def size(self):
        """The number of elements; ``None`` for the null dataspace."""
        shape = self.shape
        return None if shape is None else product(shape)

    @property
    def nbytes(self):
        """Bytes of all elements in memory."""
        return self.dtype.itemsize * (self.size or 0)

    @property
    def maxshape(self):
        """The largest extent; ``None`` in it is no bound."""
        found = self._live().maximum_shape()
        return None if found is None else tuple(found)

    @property
    def _properties(self):
        return self._live().properties()

    @property
    def _filters(self):
        return {_NAMES.get(number, str(number)): tuple(values) for number, _, values, _ in self._properties["filters"]}

    @property
    def chunks(self):
        """The shape of chunks; ``None`` without."""
        found = self._properties.get("chunks")
        return None if found is None else tuple(found)

    @property
    def compression(self):
        """``gzip``, ``lzf``, ``szip``, ``unknown`` or ``None``."""
        filters = self._filters
        for name in _COMPRESSIONS:
            if name in filters:
                return name
        known = set(_NAMES.values())
        return "unknown" if any(name not in known for name in filters) else None

    @property
    def compression_opts(self):
        """Options of the compression."""
        name, filters = self.compression, self._filters
        if name == "gzip":
            return filters[name][0]
        if name == "szip":
            mask, pixels = filters[name][:2]
            return ("ec" if mask & 4 else "nn", pixels)
        return None

    @property
    def filter_ids(self):
        """Numbers of the filters."""
        return tuple(number for number, *_ in self._properties["filters"])

    @property
    def filter_names(self):
        """Names of the filters as the file has them."""
        return tuple(name or _NAMES.get(number, str(number)) for number, _, _, name in self._properties["filters"])

    @property
    def shuffle(self):
        """Whether bytes are shuffled."""
        return "shuffle" in self._filters

    @property
    def fletcher32(self):
        """Whether chunks have checksums."""
        return "fletcher32" in self._filters

    @property
    def scaleoffset(self):
        """Bits of integers or decimals of floats that the filter keeps; ``None`` without it."""
        values = self._filters.get("scaleoffset")
        return None if values is None else values[1]

    @property
    def external(self):
        """Name, offset and size of the files that hold the elements; ``None`` without."""
        return self._properties.get("external")

    @property
    def fillvalue(self):
        """The value of elements that were never written."""
        found = self._live().fill_value()
        dtype = self.dtype
        if found is None:
            return _no_fill(dtype)
        datatype, data, heap = found
        return array_from(datatype, dtype, (), data, heap)[()]

    @property
    def is_virtual(self):
        """Whether the elements are those of other datasets."""
        return self._properties["layout"] == "virtual"

    def virtual_sources(self):
        """Return the parts of a virtual dataset."""
        from .virtual import VDSmap

        if not self.is_virtual:
            raise RuntimeError("Not a virtual dataset")
        return [VDSmap(target, file, path, source) for file, path, source, target in self._properties["mappings"]]

    @property
    def is_scale(self):
        """Whether the dataset is a dimension scale."""
        return self._live().is_scale()

    def make_scale(self, name=""):
        """Make the dataset a dimension scale."""
        self._live().make_scale(name)

    @property
    def dims(self):
        """The dimensions, with their labels and scales.

        >>> import hyperslab
        >>> f = hyperslab.File.in_memory()
        >>> f["time"], f["grid"] = [0.0, 0.5], [[1, 2, 3], [4, 5, 6]]
        >>> f["time"].make_scale("time")
        >>> f["grid"].dims[0].attach_scale(f["time"])
        >>> f["grid"].dims[1].label = "x"
        >>> [(axis.label, axis.keys()) for axis in f["grid"].dims], f["grid"].dims[0]["time"][1]
        ([('', ['time']), ('x', [])], np.float64(0.5))
        """
        from .dims import DimensionManager

        return DimensionManager(self)

    # Other ways to read.

    def astype(self, dtype):
        """Return a view that reads elements as another dtype.

        >>> import hyperslab
        >>> f = hyperslab.File.in_memory()
        >>> f["a"] = [1, 2, 3]
        >>> f["a"].astype("f4")[:2]
        array([1., 2.], dtype=float32)
        """
        dtype = np.dtype(dtype)
        if dtype == self.dtype:
            return self
        if dtype.kind == "T" and check_string_dtype(self.dtype) is None:
            raise TypeError(f"dset.astype({dtype}) can only be used on datasets with an HDF5 string datatype")
        return AsTypeView(self, dtype)

    def asstr(self, encoding=None, errors="strict"):
        """Return a view that reads strings as ``str``; without it they are ``bytes``.

        >>> import hyperslab
        >>> f = hyperslab.File.in_memory()
        >>> f["names"] = ["Oslo", "Tromsø"]
        >>> f["names"][1], f["names"].asstr()[1]
        (b'Troms\\xc3\\xb8', 'Tromsø')
        """
        string = check_string_dtype(self.dtype)
        if string is None:
            raise TypeError("dset.asstr() can only be used on datasets with an HDF5 string datatype")
        return AsStrView(self, encoding or string.encoding, errors)

    def fields(self, names):
        """Return a view that reads one field (a name) or several (a list of names) of compounds.

        >>> import hyperslab, numpy
        >>> f = hyperslab.File.in_memory()
        >>> f["stations"] = numpy.array([(1, 12.5, 7), (2, 3.5, 8)], "i4,f8,i4")
        >>> f["stations"].fields("f1")[:], f["stations"].fields(["f0", "f2"])[1].tolist()
        (array([12.5,  3.5]), (2, 8))
        """
        return FieldsView(self, self.dtype, names)

    # Elements.

    def __len__(self):
        shape = self.shape
        if not shape:
            raise TypeError("Attempt to take len() of scalar dataset")
        return shape[0]

    def len(self):
        """Return the length of the first dimension."""
        return len(self)

    def __iter__(self):
        shape = self.shape
        if not shape:
            raise TypeError("Can't iterate over a scalar dataset")
        return (self[at] for at in range(shape[0]))

    def iter_chunks(self, sel=None):
        """Return slices of the chunks, or of those that a block reaches into.

        >>> import hyperslab, numpy
        >>> f = hyperslab.File.in_memory()
        >>> d = f.create_dataset("a", data=numpy.arange(10), chunks=(4,))
        >>> [int(d[part].sum()) for part in d.iter_chunks()]
        [6, 22, 17]
        >>> list(d.iter_chunks(slice(3, 5)))
        [(slice(3, 4, 1),), (slice(4, 5, 1),)]
        """
        return ChunkIterator(self, sel)

    def __getitem__(self, index):
        return self._read(index)

    def _read(self, index, dtype=None, text="bytes"):
        index = index if isinstance(index, tuple) else (index,)
        if any(item is None for item in index):
            raise TypeError("Indexing with None (or np.newaxis) is not supported")
        shape = self.shape
        if shape is None:
            return self._read_nothing(index)
        names = [item for item in index if isinstance(item, str)]
        if names:
            view = FieldsView(self, dtype or self.dtype, names[0] if len(names) == 1 else names)
            return view[tuple(item for item in index if not isinstance(item, str))]
        dtype = self.dtype if dtype is None else dtype
        if shape == () and not (len(index) == 1 and isinstance(index[0], RegionReference)):
            return self._read_scalar(index, dtype, text)
        chosen = select(shape, index, self)
        array = self._array(chosen, dtype, text)
        return array[()] if array.ndim == 0 else array

    def _read_nothing(self, index):
        if index == () or (len(index) == 1 and index[0] is Ellipsis):
            return Empty(self.dtype)
        raise ValueError("Empty datasets cannot be sliced")

    def _read_scalar(self, index, dtype, text):
        if index not in ((), (Ellipsis,)):
            raise ValueError("Illegal slicing argument for scalar dataspace")
        array = self._array(select((), ()), dtype, text)
        return array if index and dtype.subdtype is None else array[()]

    def _array(self, chosen, dtype, text="bytes"):
        """Return selected elements as an array."""
        shape = chosen.shape
        if dtype.subdtype is not None:
            shape = shape + dtype.subdtype[1]
        if is_objects(dtype):
            if 0 in shape:
                return np.zeros(shape, dtype)
            return self._objects(chosen, dtype, text).reshape(shape)
        array = np.empty(shape, dtype.base)
        if array.size:
            if dtype.itemsize:
                self._o.read_into(chosen.core, memory_type(dtype), array.reshape(-1).view(np.uint8))
        return array

    def _objects(self, chosen, dtype, text):
        core, memory = self._o, memory_type(dtype)
        if dtype.kind == "T":
            return self._strings(chosen, memory).astype(dtype)
        if check_vlen_dtype(dtype) in (str, bytes):
            return _tagged(core.read_strings(chosen.core, memory, text), dtype, text)
        if dtype.kind == "O" and dtype.metadata is None and check_string_dtype(self.dtype):
            return core.read_strings(chosen.core, memory_type(self.dtype), text)
        data, heap = core.read_values_of(chosen.core, memory)
        return _tagged(objects_from(data, dtype, heap, text), dtype, text)

    def _strings(self, chosen, memory):
        if self.dtype.kind == "S":
            array = self._array(chosen, self.dtype)
            return np.array([item.decode() for item in array.reshape(-1).tolist()], object)
        return self._o.read_strings(chosen.core, memory, "strict")

    def __setitem__(self, index, value):
        index = index if isinstance(index, tuple) else (index,)
        core, shape = self._live(), self.shape
        if shape is None:
            raise ValueError("Empty datasets cannot be written to")
        names = [item for item in index if isinstance(item, str)]
        index = tuple(item for item in index if not isinstance(item, str))
        value, dtype = self._values(value, names)
        chosen = select(shape, index, self)
        self._write(core, chosen, value, dtype)

    def _values(self, value, names):
        """Return an array of what is written, and the dtype of its elements."""
        dtype = self.dtype
        if names:
            return _field_values(value, dtype, names)
        vlen = check_vlen_dtype(dtype)
        if vlen is not None and vlen not in (str, bytes):
            return _sequences(value, dtype), dtype
        array = _plain_values(value, dtype)
        if dtype.subdtype is not None:
            inner = dtype.subdtype[1]
            if array.shape[-len(inner) :] != inner:
                raise TypeError("When writing to array types, last N dimensions have to match "
                                f"(got {array.shape[-len(inner):]}, but should be {inner})")
            return array, np.dtype((array.dtype, inner))
        return array, array.dtype

    def _write(self, core, chosen, value, dtype):
        inner = dtype.subdtype[1] if dtype.subdtype else ()
        outer = value.shape[: value.ndim - len(inner)]
        if outer != chosen.shape:
            if inner:
                if outer == ():
                    raise TypeError("Scalar broadcasting is not supported for array dtypes")
                raise TypeError(f"Can't broadcast {outer} -> {chosen.shape}")
            value = spread(value, chosen)
        if 0 in chosen.shape:
            return
        memory, data, heap = elements(value, dtype)
        if heap is None:
            core.write_from(chosen.core, memory, data)
        else:
            core.write_values_of(chosen.core, memory, data, heap)

    def _write_all(self, data, shape):
        """Write the data of a new dataset."""
        dtype = self.dtype
        if dtype.kind == "O" and data.dtype.kind == "O":
            data = data.view(dtype)
        elif dtype.kind == "O" or (dtype.names is not None and data.dtype.names is None):
            data = np.asarray(data, dtype=dtype).view(dtype)
        item = data.dtype
        if dtype.subdtype is not None:
            item = np.dtype((data.dtype, dtype.subdtype[1]))
            shape = shape + dtype.subdtype[1]
        self._write(self._o, select(self.shape, ()), data.reshape(shape), item)

    def read_direct(self, dest, source_sel=None, dest_sel=None):
        """Read elements into an array that exists; ``np.s_[...]`` makes the selections.

        >>> import hyperslab, numpy
        >>> f = hyperslab.File.in_memory()
        >>> f["a"] = [1, 2, 3]
        >>> into = numpy.zeros((2, 2), "i8")
        >>> f["a"].read_direct(into, numpy.s_[1:3], numpy.s_[1])
        >>> into
        array([[0, 0],
               [2, 3]])
        """
        _check_contiguous(dest)
        source = select(self.shape, () if source_sel is None else _tuple(source_sel), self)
        into = dest if dest_sel is None else dest[dest_sel]
        if _without_ones(source.shape) != _without_ones(into.shape):
            raise TypeError(f"Can't broadcast {source.shape} -> {into.shape}")
        dtype = dest.dtype
        if into.flags.c_contiguous and isinstance(into, np.ndarray) and not is_objects(dtype) and into.size:
            self._live().read_into(source.core, memory_type(dtype), into.reshape(-1).view(np.uint8))
            return
        dtype = self.dtype if is_objects(dtype) else dtype
        found = self._array(source, dtype).reshape(into.shape)
        dest[... if dest_sel is None else dest_sel] = found

    def write_direct(self, source, source_sel=None, dest_sel=None):
        """Write an array, or a part of it, to elements; ``np.s_[...]`` makes the selections."""
        _check_contiguous(source)
        part = source if source_sel is None else source[source_sel]
        chosen = select(self.shape, () if dest_sel is None else _tuple(dest_sel), self)
        value, dtype = self._values(np.asarray(part), [])
        if value.shape != chosen.shape and value.size == product(chosen.shape):
            value = value.reshape(chosen.shape)
        self._write(self._live(), chosen, value, dtype)

    def __array__(self, dtype=None, copy=None):
        _refuse_no_copy(self, copy)
        if self.shape is None:
            raise TypeError("An empty dataset is no array")
        wanted = None if dtype is None else np.dtype(dtype)
        if wanted is None or wanted.kind in "OUM" or is_objects(self.dtype) or self.dtype.subdtype:
            found = self._array(select(self.shape, ()), self.dtype)
            return found if wanted is None else found.astype(wanted)
        return self._array(select(self.shape, ()), wanted)

    def to_arrow(self, index=(), *, binary=False):
        """Return elements as an Arrow array, which pyarrow, polars and pandas take without a copy.

        Dimensions after the first become lists of fixed size, compounds structs, enumerations dictionaries, strings
        text; with ``binary`` strings are bytes, whatever is in them.

        >>> import hyperslab
        >>> with hyperslab.File("doc.h5", "w", driver="core", backing_store=False) as f:
        ...     f["names"] = ["Oslo", "Bergen"]
        ...     f["names"].to_arrow()
        <Arrow array of 2 x LargeUtf8>
        """
        if self.shape is None:
            raise TypeError("An empty dataset is no array")
        chosen = select(self.shape, _tuple(index), self)
        return self._live().read_arrow(chosen.core, chosen.shape, binary)

    async def read_async(self, index=()):
        """Return ``self[index]``, read on another thread while the event loop goes on.

        >>> import asyncio, hyperslab
        >>> f = hyperslab.File("doc.h5", "w", driver="core", backing_store=False)
        >>> f["a"] = [1, 2, 3]
        >>> asyncio.run(f["a"].read_async(slice(1, 3)))
        array([2, 3])
        >>> f.close()
        """
        return await run(self.__getitem__, index)

    async def write_async(self, index, value):
        """Do ``self[index] = value`` on another thread while the event loop goes on."""
        await run(self.__setitem__, index, value)

    def resize(self, size, axis=None):
        """Change the extent, or the length of one dimension."""
        if self.chunks is None:
            raise TypeError("Only chunked datasets can be resized")
        if axis is not None:
            shape = list(self.shape)
            if not 0 <= axis < len(shape):
                raise ValueError(f"Invalid axis (0 to {len(shape) - 1} allowed)")
            try:
                shape[axis] = int(size)
            except TypeError:
                raise TypeError("Argument must be a single int if axis is specified") from None
            size = shape
        size = [int(size)] if isinstance(size, (int, np.integer)) else [int(length) for length in size]
        self._live().resize(size)

    def flush(self):
        """Commit the changes of the file."""
        self._live().commit()

    def refresh(self):
        """Forget what is cached, so that the next read sees what other processes wrote."""
        self._live().refresh()

    def __repr__(self):
        if not self:
            return "<Closed HDF5 dataset>"
        name = f'"{self.name.rpartition("/")[2]}"' if self.name is not None else "(anonymous)"
        return f'<HDF5 dataset {name}: shape {self.shape}, type "{self.dtype.str}">'


classes[1] = Dataset


def _tuple(index):
    return index if isinstance(index, tuple) else (index,)


def _without_ones(shape):
    return tuple(length for length in shape if length != 1)


def _check_contiguous(array):
    if not array.flags.c_contiguous:
        raise TypeError("Array must be C-contiguous")


def _no_fill(dtype):
    if dtype.kind == "O":
        return b"" if check_vlen_dtype(dtype) in (str, bytes) else None
    value = np.zeros((), dtype)
    for name in dtype.names or ():
        if dtype.fields[name][0].kind == "O":
            value[name] = None
    return value[()]


def _tagged(array, dtype, text):
    """Return an array of objects with the dtype that says of which kind they are."""
    if dtype.kind != "O" or text != "bytes":
        return array
    return array.view(dtype)


def _sequences(value, dtype):
    """Return variable-length sequences as an array of objects."""
    base = np.dtype(check_vlen_dtype(dtype))
    if isinstance(value, np.ndarray) and value.dtype.kind == "O":
        return value.view(dtype)
    if is_objects(base) and base.names is None:
        out = np.empty(len(value), object)
        out[:] = list(value)
        return out.view(dtype)
    try:
        array = np.asarray(value, dtype=base)
    except (ValueError, TypeError):
        out = np.empty(len(value), object)
        out[:] = [np.asarray(item, dtype=base) for item in value]
        return out.view(dtype)
    rows = array.reshape((product(array.shape[:-1]), array.shape[-1])) if array.ndim else array.reshape((1, 1))
    out = np.empty(len(rows), object)
    for at, row in enumerate(rows):
        out[at] = row
    return out.reshape(array.shape[:-1] if array.ndim > 1 else (1,)).view(dtype)


def _plain_values(value, dtype):
    if dtype.kind == "S" and check_string_dtype(dtype).encoding == "utf-8" and item_type(value) is str:
        array = np.asarray(value, dtype=object)
        coded = [item.encode("utf-8") for item in array.flat]
        return np.array(coded, dtype=dtype).reshape(array.shape)
    if isinstance(value, np.ndarray) and value.dtype.kind == "T":
        return value
    is_record = dtype.names is not None and not (isinstance(value, np.ndarray) and value.dtype.kind == "V")
    if dtype.kind == "O" or is_record:
        array = np.asarray(value, dtype=dtype, order="C")
        return array.view(dtype) if dtype.kind == "O" else array
    return np.asarray(value, dtype=None if isinstance(value, np.ndarray) else dtype.base, order="C")


def _field_values(value, dtype, names):
    if dtype.names is None:
        raise TypeError("Illegal slicing argument (not a compound dataset)")
    missing = [f'"{name}"' for name in names if name not in dtype.names]
    if missing:
        raise ValueError(f"Illegal slicing argument (fields {', '.join(missing)} not in dataset type)")
    if isinstance(value, np.ndarray) and value.dtype.names is not None:
        kept = [name for name in value.dtype.names if name in names]
        made = np.empty(value.shape, [(name, value.dtype.fields[name][0]) for name in kept])
        for name in kept:
            made[name] = value[name]
        return made, made.dtype
    if len(names) > 1:
        value = np.asarray(value, dtype=[(name, dtype.fields[name][0]) for name in names])
        return value, value.dtype
    field = dtype.fields[names[0]][0]
    value = np.asarray(value, dtype=field.base)
    compound = np.dtype([(names[0], field)])
    made = np.empty(value.shape[: value.ndim - len(field.shape)], compound)
    made[names[0]] = value
    return made, compound
