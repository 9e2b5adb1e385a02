"""Attributes."""

from collections.abc import MutableMapping

import numpy as np

from ._base import Empty, array_of, classes, product, text
from ._elements import array_from, elements
from ._types import check_string_dtype, dtype_of, type_of
from .datatypes import Datatype


class AttributeManager(MutableMapping):
    """The attributes of an object as a dictionary: names, and numpy values.

    >>> import hyperslab
    >>> with hyperslab.File("doc.h5", "w", driver="core", backing_store=False) as f:
    ...     f.attrs["unit"] = "K"
    ...     f.attrs["unit"]
    'K'
    """

    __slots__ = ("_owner",)

    def __init__(self, parent):
        self._owner = parent

    @property
    def _o(self):
        return self._owner._live()

    def __getitem__(self, name):
        name = text(name)
        core = self._o
        try:
            found = core.read_attribute(name)
        except KeyError:
            raise KeyError(f"Can't synchronously open attribute (can't locate attribute: '{name}')") from None
        return found if type(found) is str else self._value(*found)

    def _value(self, datatype, shape, data, heap):
        dtype = dtype_of(datatype)
        if shape is None:
            return Empty(dtype)
        string = check_string_dtype(dtype)
        kind = "surrogateescape" if string is not None and string.length is None else "bytes"
        array = array_from(datatype, dtype, shape, data, heap, kind)
        return array[()] if array.ndim == 0 else array

    def __setitem__(self, name, value):
        self.create(name, value)

    def __delitem__(self, name):
        try:
            self._o.delete_attribute(text(name))
        except KeyError:
            raise KeyError(f"Can't delete attribute (can't locate attribute: {name!r})") from None

    def create(self, name, data, shape=None, dtype=None):
        """Create an attribute in place of one of the same name.

        ``shape`` and ``dtype`` stand above those of the data.
        """
        core = self._o
        if shape is None and dtype is None and core.create_plain(text(name), data):
            return
        committed, named = None, None
        if isinstance(dtype, Datatype):
            committed, named, dtype = dtype._o, dtype._type, dtype.dtype
        if not isinstance(data, Empty):
            data = array_of(data, dtype)
        dtype = data.dtype if dtype is None else np.dtype(dtype)
        datatype = named or type_of(dtype)
        if isinstance(data, Empty):
            core.create_attribute(text(name), datatype, committed, None, datatype, None, None)
            return
        shape = _shape(data, shape, dtype)
        data = np.asarray(data, dtype=dtype.subdtype[0] if dtype.subdtype else dtype)
        memory, stored, heap = elements(data, dtype)
        core.create_attribute(text(name), datatype, committed, shape, memory, stored, heap)

    def modify(self, name, value):
        """Give an attribute another value. It keeps its type; one that does not exist is created."""
        name = text(name)
        if name not in self:
            self.create(name, value)
            return
        datatype, shape = self._o.attribute_type(name)
        if shape is None:
            raise OSError("Empty attributes can't be modified")
        dtype = dtype_of(datatype)
        value = np.asarray(value, dtype=None if isinstance(value, np.ndarray) else dtype, order="C")
        if value.shape != shape and not (value.size == 1 and product(shape) == 1):
            raise TypeError("Shape of data is incompatible with existing attribute")
        if dtype.kind == "O":
            value = np.asarray(value, dtype=dtype).view(dtype)
        self._o.modify_attribute(name, *elements(value, value.dtype))

    def dtype_of(self, name):
        """Return the dtype of an attribute."""
        return dtype_of(self._o.attribute_type(text(name))[0])

    def __len__(self):
        return self._o.attribute_count()

    def __iter__(self):
        return iter(self._o.attribute_names())

    def __reversed__(self):
        return iter(self._o.attribute_names()[::-1])

    def __contains__(self, name):
        return self._o.has_attribute(text(name))

    def _ipython_key_completions_(self):
        return sorted(self)

    def __eq__(self, other):
        return self._owner == other._owner if isinstance(other, AttributeManager) else NotImplemented

    def __hash__(self):
        return hash(self._owner)

    def __repr__(self):
        if not self._owner:
            return "<Attributes of closed HDF5 object>"
        return f"<Attributes of HDF5 object at {id(self._owner._o)}>"


classes["AttributeManager"] = AttributeManager


def _shape(data, shape, dtype):
    if isinstance(shape, int):
        shape = (shape,)
    shape = data.shape if shape is None else tuple(shape)
    if dtype.subdtype is not None:
        inner = dtype.subdtype[1]
        if shape[-len(inner) :] != inner:
            raise ValueError(f"Array dtype shape {inner} is incompatible with data shape {shape}")
        return shape[: len(shape) - len(inner)]
    if product(shape) != data.size:
        raise ValueError("Shape of new attribute conflicts with shape of data")
    return shape
