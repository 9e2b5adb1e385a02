"""Maps: pairs of keys and values, which h5py does not have."""

from collections.abc import MutableMapping

import numpy as np

from ._base import HLObject, classes
from ._elements import array_from, elements
from ._types import check_string_dtype, dtype_of


class Map(HLObject, MutableMapping):
    """A map as a dictionary.

    >>> import hyperslab
    >>> with hyperslab.File("doc.h5", "w", driver="core", backing_store=False) as f:
    ...     m = f.create_map("heights", hyperslab.string_dtype(), "f8")
    ...     m["Zugspitze"] = 2962.0
    ...     m["Zugspitze"], len(m)
    (np.float64(2962.0), 1)
    """

    __slots__ = ()

    @property
    def key_dtype(self):
        """The dtype of keys."""
        return dtype_of(self._live().map_info()[0])

    @property
    def value_dtype(self):
        """The dtype of values."""
        return dtype_of(self._live().map_info()[1])

    def _element(self, value, dtype):
        from . import _core

        if dtype.kind == "O":
            array = np.empty((), object)
            array[()] = value
            array = array.view(dtype)
        else:
            array = np.asarray(value, dtype=dtype.base)
        memory, data, heap = elements(array, dtype)
        return memory, data, heap or _core.Heap()

    def _out(self, datatype, shape, data, heap):
        dtype = dtype_of(datatype)
        string = check_string_dtype(dtype)
        text = "surrogateescape" if string and string.length is None else "bytes"
        return array_from(datatype, dtype, shape, data, heap, text)

    def __getitem__(self, key):
        core = self._live()
        key_type, value_type, _ = core.map_info()
        found = core.map_get(self._element(key, dtype_of(key_type)))
        if found is None:
            raise KeyError(key)
        return self._out(value_type, (), *found)[()]

    def __setitem__(self, key, value):
        core = self._live()
        key_type, value_type, _ = core.map_info()
        core.map_put(self._element(key, dtype_of(key_type)), self._element(value, dtype_of(value_type)))

    def __delitem__(self, key):
        if not self._live().map_delete(self._element(key, self.key_dtype)):
            raise KeyError(key)

    def __iter__(self):
        core = self._live()
        data, heap = core.map_keys()
        return iter(self._out(core.map_info()[0], (len(self),), data, heap).tolist())

    def __len__(self):
        return self._live().map_info()[2]

    __eq__ = HLObject.__eq__
    __hash__ = HLObject.__hash__
    __bool__ = HLObject.__bool__

    def __repr__(self):
        return f'<Hyperslab map "{self.name}" ({len(self)} pairs)>' if self else "<Closed map>"


classes[3] = Map
