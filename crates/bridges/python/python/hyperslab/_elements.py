"""Elements with strings, sequences and references: numpy arrays of objects, and what the native module has for them."""

import numpy as np

from . import _core
from ._types import check_ref_dtype, check_vlen_dtype, is_objects, memory_type, stored_dtype
from ._reference import Reference, RegionReference


def as_bytes(array):
    """Return the bytes of an array as an array of one dimension; a copy only if it is not contiguous."""
    array = np.ascontiguousarray(array)
    if array.dtype.itemsize == 0:
        return np.empty(0, np.uint8)
    return array.reshape(-1).view(np.uint8)


# Out of storage.

def _strings_out(descriptors, dtype, heap, text):
    return heap.strings(descriptors, text)


def _sequences_out(descriptors, dtype, heap, text):
    base = np.dtype(check_vlen_dtype(dtype))
    counts, data = heap.sequences(descriptors, stored_dtype(base).itemsize)
    values = objects_from(data, base, heap, text)
    return _split(values, counts)


def _split(values, counts):
    out = np.empty(len(counts), object)
    start = 0
    for at, count in enumerate(counts.tolist()):
        out[at] = values[start : start + count].copy()
        start += count
    return out


def _references_out(descriptors, dtype, heap, text):
    is_region = check_ref_dtype(dtype) is RegionReference
    kind = RegionReference if is_region else Reference
    found = heap.references(descriptors, is_region)
    out = np.empty(len(found), object)
    out[:] = [kind(one) for one in found]
    return out


def _object_reader(dtype):
    if check_ref_dtype(dtype) is not None:
        return _references_out
    vlen = check_vlen_dtype(dtype)
    return _strings_out if vlen in (str, bytes) or dtype.kind == "T" else _sequences_out


def objects_from(data, dtype, heap, text="bytes"):
    """Return elements as an array of one dimension (and those of the dtype) from their bytes and their heap."""
    if dtype.subdtype is not None:
        base, shape = dtype.subdtype
        return objects_from(data, base, heap, text).reshape((-1, *shape))
    if not is_objects(dtype):
        return data.view(dtype)
    if dtype.names is None:
        return _object_reader(dtype)(data, dtype, heap, text)
    stored = data.view(stored_dtype(dtype))
    out = np.empty(len(stored), dtype)
    for name in dtype.names:
        part = as_bytes(stored[name])
        out[name] = objects_from(part, dtype.fields[name][0], heap, text)
    return out


# Into storage.

def _strings_in(array, dtype, heap):
    if array.dtype.kind in "SUT":
        array = array.astype(object)
    # A part of one record is contiguous, but not where an object may be.
    array = np.require(array, requirements="CA").reshape(-1)
    if check_vlen_dtype(dtype) is bytes:
        for item in array:
            # Raises `UnicodeEncodeError` where a text is not ASCII.
            isinstance(item, str) and item.encode("ascii", "surrogateescape")
    return heap.put_strings(array)


def _sequences_in(array, dtype, heap):
    base = np.dtype(check_vlen_dtype(dtype))
    values = [_one_sequence(value, base) for value in array.reshape(-1)]
    counts = [len(value) for value in values]
    joined = np.concatenate(values) if values else np.empty(0, base)
    return heap.put_sequences(counts, bytes_of(joined, base, heap), stored_dtype(base).itemsize)


def _one_sequence(value, base):
    if value is None or (isinstance(value, (int, float)) and value == 0):
        return np.empty(0, base)
    if is_objects(base) and base.names is None:
        out = np.empty(len(value), object)
        out[:] = list(value)
        return out
    value = np.asarray(value, base)
    return value.reshape(-1) if value.ndim == 0 else value


def _references_in(array, dtype, heap):
    kind = check_ref_dtype(dtype)
    return heap.put_references([_one_reference(value, kind) for value in array.reshape(-1)])


def _one_reference(value, kind):
    if value is None or (isinstance(value, (int, np.integer)) and value == 0):
        return None
    if not isinstance(value, Reference):
        raise TypeError("Can't convert incompatible object to HDF5 object reference")
    if (kind is RegionReference) != isinstance(value, RegionReference):
        raise TypeError("Can't convert references to objects and to regions into each other")
    return value._core


def _object_writer(dtype):
    if check_ref_dtype(dtype) is not None:
        return _references_in
    vlen = check_vlen_dtype(dtype)
    return _strings_in if vlen in (str, bytes) or dtype.kind == "T" else _sequences_in


def bytes_of(array, dtype, heap):
    """Return the bytes of elements whose objects go to a heap."""
    if dtype.subdtype is not None:
        return bytes_of(array, dtype.subdtype[0], heap)
    if not is_objects(dtype):
        return as_bytes(array)
    if dtype.names is None:
        return _object_writer(dtype)(array, dtype, heap)
    array = array.reshape(-1)
    stored = np.empty(len(array), stored_dtype(dtype))
    for name in dtype.names:
        part_type = dtype.fields[name][0]
        part = bytes_of(np.ascontiguousarray(array[name]), part_type, heap)
        stored[name] = _shaped(part, part_type, len(array))
    return as_bytes(stored)


def _shaped(data, dtype, count):
    base, shape = dtype.subdtype or (dtype, ())
    return data.view(stored_dtype(base)).reshape((count, *shape))


def elements(array, dtype):
    """Return memory type, bytes and heap of an array of a dtype; the heap is ``None`` without objects."""
    memory = memory_type(dtype)
    if not is_objects(dtype):
        return memory, as_bytes(array), None
    heap = _core.Heap()
    return memory, bytes_of(array, dtype, heap), heap


def array_from(datatype, dtype, shape, data, heap, text="bytes"):
    """Return elements of a datatype, which are in memory, as an array."""
    memory = memory_type(dtype)
    if memory != datatype.in_memory():
        data = _core.convert(data, datatype.in_memory(), memory, heap)
    base = dtype.subdtype[0] if dtype.subdtype else dtype
    full = shape + dtype.subdtype[1] if dtype.subdtype else shape
    if is_objects(base):
        return objects_from(data, dtype, heap, text).reshape(full)
    return data.view(base).reshape(full)
