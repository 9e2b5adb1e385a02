"""Virtual datasets: elements that are those of other datasets."""

import os
from collections import namedtuple
from contextlib import contextmanager

import numpy as np

from . import _core
from ._base import product
from ._creation import Options
from ._selections import select

VDSmap = namedtuple("VDSmap", ("vspace", "file_name", "dset_name", "src_space"))
_UNLIMITED = 2**64 - 1


class VirtualSource:
    """A dataset that is a part of a virtual one. ``source[...]`` is a part of it."""

    def __init__(self, path_or_dataset, name=None, shape=None, dtype=None, maxshape=None):
        from .datasets import Dataset

        if isinstance(path_or_dataset, Dataset):
            given = {"name": name, "shape": shape, "dtype": dtype, "maxshape": maxshape}
            extra = [key for key, value in given.items() if value is not None]
            if extra:
                raise TypeError("If a Dataset is passed as the first argument then no other arguments may be passed."
                                f"  You passed {extra}")
            dataset = path_or_dataset
            self.path, self.name = dataset._s.filename, dataset.name
            self.shape, self.maxshape, self.dtype = dataset.shape, dataset.maxshape, dataset.dtype
        else:
            if name is None:
                raise TypeError("The name parameter is required when specifying a source by path")
            if shape is None:
                raise TypeError("The shape parameter is required when specifying a source by path")
            self.path, self.name = os.fsdecode(path_or_dataset), name
            self.shape = (shape,) if isinstance(shape, int) else tuple(shape)
            self.maxshape = self.shape if maxshape is None else _tuple_of(maxshape)
            self.dtype = dtype
        self._selected = None

    @property
    def _source(self):
        if self._selected is not None:
            return self._selected.core
        return _whole(self.shape)

    def __getitem__(self, key):
        if self._selected is not None:
            raise RuntimeError("VirtualSource objects can only be sliced once.")
        made = object.__new__(VirtualSource)
        made.__dict__.update(self.__dict__)
        made._selected, shape = _select(self.shape, self.maxshape, key)
        made.shape = shape
        return made


def _tuple_of(shape):
    return (shape,) if isinstance(shape, int) else tuple(shape)


def _whole(shape):
    rank = len(shape)
    return _core.Selection.hyperslab([0] * rank, [1] * rank, [1] * rank, list(shape)) if rank else _core.Selection.all()


class _Endless:
    """A selection whose last blocks have no end."""

    def __init__(self, core, shape):
        self.core, self.shape = core, shape


def _select(shape, maxshape, key):
    """Return a selection and its shape. A slice up to ``UNLIMITED`` has no end."""
    key = key if isinstance(key, tuple) else (key,)
    if not any(isinstance(item, slice) and item.stop == _UNLIMITED for item in key):
        chosen = select(shape, key)
        if chosen.core.is_all():
            chosen.core = _whole(shape)
        return chosen, chosen.shape
    start, stride, count, block, result = [], [], [], [], []
    key = key + (slice(None),) * (len(shape) - len(key))
    for item, length in zip(key, shape):
        endless = isinstance(item, slice) and item.stop == _UNLIMITED
        if endless:
            at = range(item.start or 0, length, item.step or 1)
        elif isinstance(item, slice):
            at = range(*item.indices(length))
        else:
            at = range(item, item + 1)
        start.append(at.start)
        stride.append(at.step)
        count.append(None if endless else len(at))
        block.append(1)
        result.append(len(at))
    return _Endless(_core.Selection.hyperslab(start, stride, count, block), tuple(result)), tuple(result)


class VirtualLayout:
    """The parts of a virtual dataset.

    >>> import hyperslab
    >>> f = hyperslab.File.in_memory()
    >>> f["a"], f["b"] = [1, 2], [3, 4]
    >>> layout = hyperslab.VirtualLayout((4,), "i8")
    >>> layout[:2] = hyperslab.VirtualSource(f["b"])
    >>> layout[2:] = hyperslab.VirtualSource(f["a"])
    >>> f.create_virtual_dataset("joined", layout, fillvalue=0)[:]
    array([3, 4, 1, 2])
    """

    def __init__(self, shape, dtype, maxshape=None, filename=None):
        self.shape = _tuple_of(shape)
        self.dtype = dtype
        self.maxshape = None if maxshape is None else _tuple_of(maxshape)
        self._filename = filename
        self._parts = []

    def __setitem__(self, key, source):
        target, shape = _select(self.shape, self.maxshape, key)
        if product(shape) != product(source.shape) and _is_bounded(target, source):
            raise ValueError(f"The selections have a different number of elements: {source.shape} and {shape}")
        self._parts.append((source.path, source.name, source._source, target.core))

    def _options(self, filename, fillvalue):
        here = os.path.realpath(self._filename or filename)
        mappings = [
            ("." if path == "." or os.path.realpath(path) == here else path, name, source, target)
            for path, name, source, target in self._parts
        ]
        return Options(self.shape, np.dtype(self.dtype), None, fillvalue=fillvalue, mappings=mappings,
                       maxshape=self.maxshape)


def _is_bounded(target, source):
    return not isinstance(target, _Endless) and not isinstance(source._selected, _Endless)


@contextmanager
def build(group, name, shape, dtype, maxshape, fillvalue):
    """Give a layout, and create the virtual dataset at the end."""
    layout = VirtualLayout(shape, dtype, maxshape, group._s.filename)
    yield layout
    group.create_virtual_dataset(name, layout, fillvalue)
