"""Committed datatypes."""

from ._base import HLObject, classes
from ._types import dtype_of


class Datatype(HLObject):
    """A datatype that is an object of its own, with a name and attributes."""

    __slots__ = ("_type",)

    @classmethod
    def _of(cls, core, state, path, datatype):
        made = super()._of(core, state, path)
        made._type = datatype
        return made

    @property
    def dtype(self):
        """The dtype of its elements."""
        return dtype_of(self._type)

    def __repr__(self):
        if not self:
            return "<Closed HDF5 named type>"
        name = f'"{self.name}"' if self.name is not None else "(anonymous)"
        return f"<HDF5 named type {name} (dtype {self.dtype.str})>"


classes[2] = Datatype
