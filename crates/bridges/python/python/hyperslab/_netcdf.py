"""Groups as netCDF-4 sees them: named dimensions, and variables on them.

netCDF-4 keeps a dimension as a dimension scale: a dataset whose name is that of the dimension, with or without values.
Attributes that it needs for that are no attributes of a variable.
"""

import numpy as np

from ._base import Empty
from ._types import check_ref_dtype, check_vlen_dtype
from .datasets import Dataset
from .datatypes import Datatype
from .groups import Group
from ._reference import Reference

# A dimension that is no variable has this at the start of its NAME.
_NO_VARIABLE = "This is a netCDF dimension but not a netCDF variable."
# A variable with the name of a dimension that it does not have is stored under another name.
_NOT_COORDINATE = "_nc4_non_coord_"
HIDDEN = frozenset((
    "CLASS", "NAME", "DIMENSION_LIST", "REFERENCE_LIST", "DIMENSION_LABELS", "_Netcdf4Dimid", "_Netcdf4Coordinates",
    "_nc3_strict", "_NCProperties", "_NCCOPY",
))


class Dimension:
    """A dimension: its length, and whether it grows."""

    __slots__ = ("length", "is_unlimited")

    def __init__(self, length, is_unlimited):
        self.length, self.is_unlimited = length, is_unlimited


class NetcdfVariable:
    """A dataset with the names of its dimensions. Along one that grows, its shape may go beyond its extent."""

    __slots__ = ("dataset", "path", "dimensions", "shape")

    def __init__(self, dataset, path, dimensions, shape):
        self.dataset, self.path, self.dimensions, self.shape = dataset, path, dimensions, shape


class NetcdfGroup:
    """The dimensions and variables of a group. Those of its parents count as its own where it uses them.

    >>> import hyperslab
    >>> with hyperslab.File("doc.nc", "w", driver="core", backing_store=False) as f:
    ...     f["t"], f["grid"] = [0.0, 1.0], [[1, 2, 3], [4, 5, 6]]
    ...     f["t"].make_scale("t")
    ...     f["grid"].dims[0].attach_scale(f["t"])
    ...     NetcdfGroup(f).variables["grid"].dimensions
    ('t', 'phony_dim_0')
    """

    def __init__(self, group, parent=None):
        if parent is None and group.name not in (None, "/"):
            parent = NetcdfGroup(group.parent)
        self.group, self.parent = group, parent
        self.dimensions, self.variables, self.groups = {}, {}, []
        # Names of dimensions by the token of their scale, and by their number in the file.
        self._names, self._numbers = (dict(parent._names), dict(parent._numbers)) if parent else ({}, {})
        # Names of the enumerations that are committed here or in a parent.
        self.types = dict(parent.types) if parent else {}
        self._phony, self._phony_start = [], parent._phony_end if parent else 0
        datasets = self._members()
        scales = {name: scale for name, scale in datasets.items() if _is_scale(scale)}
        for name, scale in scales.items():
            self._add_dimension(name, scale)
        for name, dataset in datasets.items():
            self._add_variable(name, dataset, name in scales)

    @property
    def _phony_end(self):
        return self._phony_start + len(self._phony)

    def _members(self):
        """Return the datasets that numpy has a dtype for, and note groups and types."""
        datasets = {}
        for name in self.group:
            found = self.group.get(name)
            if isinstance(found, Group):
                self.groups.append(name)
            elif isinstance(found, Dataset) and _is_readable(found):
                datasets[name] = found
            elif isinstance(found, Datatype):
                self.types[found._type] = name
        return datasets

    def walk(self):
        """Yield this group and all below, each once, whatever links lead to it."""
        seen, stack = set(), [self]
        while stack:
            one = stack.pop()
            core = one.group._live()
            key = (core.location, bytes(core.token))
            if key not in seen:
                seen.add(key)
                yield one
                stack += [NetcdfGroup(one.group[name], one) for name in reversed(one.groups)]

    def dimension(self, name):
        """Return a dimension of this group or of the nearest parent that has it; ``None`` without."""
        if name in self.dimensions:
            return self.dimensions[name]
        return self.parent.dimension(name) if self.parent else None

    def _add_dimension(self, name, scale):
        self._names[bytes(scale._o.token)] = name
        number = scale.attrs.get("_Netcdf4Dimid")
        if number is not None:
            self._numbers[int(np.asarray(number).reshape(-1)[0])] = name
        is_unlimited = scale.maxshape[0] is None
        self.dimensions[name] = Dimension(_length(scale) if is_unlimited else scale.shape[0], is_unlimited)

    def _add_variable(self, name, dataset, is_scale):
        attributes = dataset.attrs
        if is_scale and _text(attributes.get("NAME")).startswith(_NO_VARIABLE):
            return
        names = self._scale_names(name, dataset) if is_scale else self._listed_names(dataset)
        names = self._named(names, dataset)
        found = [self.dimension(one) for one in names]
        shape = tuple(max(dimension.length, length) if dimension.is_unlimited else length
                      for dimension, length in zip(found, dataset.shape))
        shown = name[len(_NOT_COORDINATE):] if name.startswith(_NOT_COORDINATE) else name
        self.variables[shown] = NetcdfVariable(dataset, name, tuple(names), shape)

    def _scale_names(self, name, scale):
        numbers = scale.attrs.get("_Netcdf4Coordinates")
        if numbers is None:
            return [name] + [None] * (scale.ndim - 1)
        names = [self._numbers.get(int(number)) for number in np.asarray(numbers).reshape(-1)]
        return (names + [None] * scale.ndim)[: scale.ndim]

    def _listed_names(self, dataset):
        """Return the names that the scales of a dataset give its dimensions; ``None`` where it has none."""
        listed = dataset.attrs.get("DIMENSION_LIST")
        if listed is None or isinstance(listed, Empty):
            return [None] * dataset.ndim
        names = [self._scale_name(references) for references in np.asarray(listed, object).reshape(-1)]
        return (names + [None] * dataset.ndim)[: dataset.ndim]

    def _scale_name(self, references):
        first = next((one for one in np.atleast_1d(references) if isinstance(one, Reference) and one), None)
        target = first and first._core.object(self.group._live())
        if target is None:
            return None
        name = self._names.get(bytes(target.token))
        if name is None:
            # A scale in a group that is not a parent.
            scale = self.group[first]
            name = scale.name.rpartition("/")[2]
            self._add_dimension(name, scale)
        return name

    def _named(self, names, dataset):
        """Return names of dimensions; those without one share names by length, as in the netCDF library."""
        names = list(names)
        for axis, name in enumerate(names):
            if name is None or self.dimension(name) is None:
                is_unlimited = dataset.maxshape[axis] is None
                names[axis] = self._phony_name(dataset.shape[axis], is_unlimited, names)
        return names

    def _phony_name(self, length, is_unlimited, taken):
        for name in self._phony:
            dimension = self.dimensions[name]
            if dimension.length == length and dimension.is_unlimited == is_unlimited and name not in taken:
                return name
        name = f"phony_dim_{self._phony_end}"
        self._phony.append(name)
        self.dimensions[name] = Dimension(length, is_unlimited)
        return name


def _is_readable(dataset):
    try:
        dtype = dataset.dtype
    except TypeError:
        return False
    return dataset.shape is not None and check_ref_dtype(dtype) is None


def _is_scale(dataset):
    return dataset.ndim > 0 and _text(dataset.attrs.get("CLASS")) == "DIMENSION_SCALE"


def _text(value):
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    return value if isinstance(value, str) else ""


def _length(scale):
    """Return the length of a dimension that grows: the largest extent along it."""
    length = scale.shape[0]
    users = scale.attrs.get("REFERENCE_LIST")
    if users is None or isinstance(users, Empty) or users.dtype.names is None:
        return length
    dataset, dimension = users.dtype.names[:2]
    for user in users.reshape(-1):
        try:
            length = max(length, scale.file[user[dataset]].shape[user[dimension]])
        except (KeyError, ValueError, TypeError, IndexError):
            # The list may be older than the file: a user of the scale that is gone makes it no longer.
            continue
    return length


def attributes_of(owner):
    """Return the attributes of a group or variable as netCDF programs expect them."""
    found = {}
    for name in owner.attrs:
        if name in HIDDEN:
            continue
        try:
            value = owner.attrs[name]
            # It is a value of the variable, whose strings may be bytes.
            found[name] = value if name == "_FillValue" and isinstance(value, bytes) else _attribute(value)
        except TypeError:
            # Numpy has no dtype for it.
            continue
    return found


def _attribute(value):
    """Return strings as ``str``, several as a list, and one number as a number."""
    if isinstance(value, Empty):
        return "" if value.dtype.kind in "SO" else np.empty(0, value.dtype)
    if isinstance(value, bytes):
        return _decoded(value)
    if not isinstance(value, np.ndarray):
        return value
    if value.dtype.kind == "S" or check_vlen_dtype(value.dtype) in (str, bytes):
        value = [_decoded(item) for item in value.reshape(-1).tolist()]
        return value[0] if len(value) == 1 else value
    return value.reshape(-1)[0] if value.size == 1 and value.dtype.names is None else value


def _decoded(item):
    return item.decode("utf-8", "replace") if isinstance(item, bytes) else item
