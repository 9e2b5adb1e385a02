"""References to objects and to elements of datasets."""

from . import _core


class Reference:
    """A reference to an object. The null reference is false."""

    __slots__ = ("_core",)
    _is_region = False

    def __init__(self, value=None):
        if isinstance(value, Reference):
            value = value._core
        self._core = _core.Reference(self._is_region) if value is None else value

    def __bool__(self):
        return bool(self._core)

    def __eq__(self, other):
        return self._core.is_same(other._core) if isinstance(other, Reference) else NotImplemented

    def __hash__(self):
        return hash((self._is_region, bool(self)))

    def __repr__(self):
        return repr(self._core)


class RegionReference(Reference):
    """A reference to elements of a dataset. The null reference is false."""

    __slots__ = ()
    _is_region = True
