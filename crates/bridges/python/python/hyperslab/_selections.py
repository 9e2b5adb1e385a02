"""Indexes as selections. The native module does the common ones; what is here are lists, masks, blocks and regions."""

import operator

import numpy as np

from . import _core
from ._reference import RegionReference


class MultiBlockSlice:
    """Blocks at even distances along a dimension: ``count`` blocks of ``block`` elements, ``stride`` apart.

    Without a count, all that fit.
    """

    def __init__(self, start=0, count=None, stride=None, block=1):
        if start < 0:
            raise ValueError("Start can't be negative")
        stride = 1 if stride is None else stride
        if block < 1 or stride < 1 or (count is not None and count < 1):
            raise ValueError("Stride, count and block can't be 0 or negative")
        if block > stride:
            raise ValueError("Blocks will overlap if block > stride")
        self.start, self.count, self.stride, self.block = start, count, stride, block

    def indices(self, length):
        """Return start, stride, count and block within a dimension of this length."""
        count = self.count
        if count is None:
            count = (length - self.start - self.block) // self.stride + 1
            if self.start + self.block > length:
                raise ValueError(f"{self} has no blocks in a dimension of length {length}")
        end = self.start + (count - 1) * self.stride + self.block
        if end > length:
            raise ValueError(f"{self} range ({self.start} - {end - 1}) extends beyond maximum index ({length - 1})")
        return self.start, self.stride, count, self.block

    def __repr__(self):
        return (f"{type(self).__name__}(start={self.start}, count={self.count}, "
                f"stride={self.stride}, block={self.block})")


class Selected:
    """A selection, the shape of its elements, and whether values of another shape are spread over it."""

    __slots__ = ("core", "shape", "is_regular")

    def __init__(self, core, shape, is_regular=True):
        self.core, self.shape, self.is_regular = core, shape, is_regular


def select(shape, index, dataset=None):
    """Return what an index (a tuple) selects of an extent."""
    found = _select_plain(shape, index)
    if found is not None:
        return Selected(*found)
    if len(index) == 1:
        special = _select_special(shape, index[0], dataset)
        if special is not None:
            return special
    return _select_axes(shape, index)


def _select_plain(shape, index):
    try:
        return _core.select(shape, index)
    except OverflowError:
        raise IndexError(f"Index out of range for {shape}") from None


def _select_special(shape, item, dataset):
    if isinstance(item, Selected):
        return item
    if isinstance(item, RegionReference):
        return _select_region(shape, item, dataset)
    if isinstance(item, np.ndarray) and item.dtype.kind == "b" and item.ndim > 0:
        if item.shape == tuple(shape):
            return _select_mask(shape, item)
        if item.shape != tuple(shape[:1]):
            raise TypeError("Boolean indexing array has incompatible shape")
    return None


def _select_mask(shape, mask):
    mask = np.ascontiguousarray(mask).reshape(-1).view(np.uint8)
    core = _core.Selection.mask(shape, mask)
    return Selected(core, (core.count(shape),), False)


def _select_region(shape, reference, dataset):
    if dataset is None:
        raise TypeError("Cannot apply a region reference without a dataset")
    target = reference._core.object(dataset._o)
    if target is None or not target.is_same(dataset._o):
        raise ValueError("Region reference must point to this dataset")
    core = reference._core.selection()
    return Selected(core, region_shape(core, shape))


def region_shape(core, shape):
    """Return the shape of a selection: that of a block with steps, or one dimension."""
    if core.is_all():
        return tuple(shape)
    regular = core.regular()
    if regular is not None:
        return tuple(count * block for _, _, count, block in regular)
    count = core.count(shape)
    return (count,) if count else (0,) * len(shape)


# One dimension at a time.

class _Axis:
    """Blocks along a dimension, or a list of indexes; and whether the dimension stays in the result."""

    __slots__ = ("start", "stride", "count", "block", "listed", "is_kept")

    def __init__(self, start=0, stride=1, count=1, block=1, listed=None, is_kept=True):
        self.start, self.stride, self.count, self.block = start, stride, count, block
        self.listed, self.is_kept = listed, is_kept

    def __len__(self):
        return self.count * self.block if self.listed is None else len(self.listed)

    def runs(self):
        """Return first and last indexes of runs of neighbours."""
        if self.listed is None:
            first = self.start + self.stride * np.arange(self.count)
            if self.stride == self.block:
                return np.array([[self.start, self.start + len(self) - 1]])
            return np.stack([first, first + self.block - 1], 1)
        breaks = np.flatnonzero(np.diff(self.listed) != 1)
        return np.stack([self.listed[np.r_[0, breaks + 1]], self.listed[np.r_[breaks, len(self.listed) - 1]]], 1)


def _expand(shape, index):
    """Return one item for every dimension."""
    dots = [at for at, item in enumerate(index) if item is Ellipsis]
    if len(dots) > 1:
        raise ValueError("Only one ellipsis may be used.")
    given = len(index) - len(dots)
    if given > len(shape):
        raise TypeError(f"{given} indexing arguments for {len(shape)} dimensions")
    at = dots[0] if dots else len(index)
    rest = (slice(None),) * (len(shape) - given)
    return index[:at] + rest + index[at + 1 :]


def _axis(item, length):
    if isinstance(item, slice):
        return _slice_axis(item, length)
    if isinstance(item, MultiBlockSlice):
        return _Axis(*item.indices(length))
    if not isinstance(item, bool):
        try:
            return _number_axis(operator.index(item), length)
        except TypeError:
            pass
    return _list_axis(item, length)


def _slice_axis(item, length):
    if item.step is not None and item.step < 1:
        raise ValueError(f"Step must be >= 1 (got {item.step})")
    at = range(*item.indices(length))
    return _Axis(at.start, at.step, len(at))


def _number_axis(number, length):
    at = number + length if number < 0 else number
    if not 0 <= at < length:
        limit = f"(0-{length - 1})" if length else "empty dimension"
        raise IndexError(f"Index ({number}) out of range for {limit}")
    return _Axis(at, is_kept=False)


def _list_axis(item, length):
    array = np.asarray(item)
    if array.dtype.kind == "b":
        if array.shape != (length,):
            raise TypeError("Boolean indexing array has incompatible shape")
        return _Axis(listed=np.flatnonzero(array))
    if array.size == 0:
        return _Axis(listed=np.empty(0, np.int64))
    if array.dtype.kind not in "iu":
        raise TypeError(f"Illegal index {item!r} (must be a slice or number)")
    if array.ndim != 1:
        raise TypeError("Only 1D arrays allowed for fancy indexing")
    listed = np.where(array < 0, array.astype(np.int64) + length, array.astype(np.int64))
    if listed.min() < 0 or listed.max() >= length:
        raise IndexError(f"Fancy indexing out of range for (0-{length - 1})")
    if np.any(np.diff(listed) <= 0):
        raise TypeError("Indexing elements must be in increasing order")
    return _Axis(listed=listed)


def _select_axes(shape, index):
    axes = [_axis(item, length) for item, length in zip(_expand(shape, index), shape)]
    lists = sum(axis.listed is not None for axis in axes)
    if lists > 1:
        raise TypeError("Only one indexing vector or array is currently allowed for fancy indexing")
    result = tuple(len(axis) for axis in axes if axis.is_kept)
    if 0 in map(len, axes):
        return Selected(_core.Selection.none(), result, not lists)
    if not lists:
        parts = zip(*((axis.start, axis.stride, axis.count, axis.block) for axis in axes))
        return Selected(_core.Selection.hyperslab(*map(list, parts)), result)
    return Selected(_product(axes), result, False)


def _product(axes):
    """Return all blocks that the runs of the axes make."""
    return _core.Selection.product([axis.runs().astype(np.uint64).reshape(-1) for axis in axes])


def spread(value, selected):
    """Return a value in the shape of a selection.

    Raises ``TypeError`` where it does not fit.
    """
    if value.shape == selected.shape:
        return value
    if not selected.is_regular and value.ndim > 0:
        raise TypeError("Broadcasting is not supported for complex selections")
    while value.ndim > len(selected.shape) and value.shape[0] == 1:
        value = value.reshape(value.shape[1:])
    try:
        return np.broadcast_to(value, selected.shape)
    except ValueError:
        raise TypeError(f"Can't broadcast {value.shape} -> {selected.shape}") from None
