"""Dimensions of datasets: labels and scales."""

from warnings import warn

from ._base import wrap
from ._creation import H5pyDeprecationWarning


class DimensionProxy:
    """One dimension of a dataset: its label, and its scales by name or number."""

    def __init__(self, dataset, dimension):
        self._dataset, self._dimension = dataset, dimension

    @property
    def _o(self):
        return self._dataset._live()

    @property
    def label(self):
        """The label; empty where there is none."""
        return self._o.dimension_label(self._dimension) or ""

    @label.setter
    def label(self, value):
        self._o.set_dimension_label(self._dimension, value)

    def items(self):
        """Return names and datasets of the scales."""
        found = self._o.scales(self._dimension)
        return [(name or "", wrap(core.opened(), self._dataset._s, None)) for name, core in found]

    def keys(self):
        """Return the names of the scales."""
        return [name for name, _ in self.items()]

    def values(self):
        """Return the scales."""
        return [scale for _, scale in self.items()]

    def __getitem__(self, item):
        if isinstance(item, int):
            scales = self.values()
            if not scales:
                raise RuntimeError("Unspecified error in H5DSiterate_scales (return value <0)")
            return scales[item]
        for name, scale in self.items():
            if name == item:
                return scale
        raise KeyError(item)

    def __iter__(self):
        return iter(self.keys())

    def __len__(self):
        return len(self._o.scales(self._dimension))

    def attach_scale(self, dset):
        """Attach a scale; what is none becomes one."""
        self._o.attach_scale(self._dimension, dset._live())

    def detach_scale(self, dset):
        """Detach a scale."""
        self._o.detach_scale(self._dimension, dset._live())

    def __eq__(self, other):
        return isinstance(other, DimensionProxy) and hash(self) == hash(other)

    def __hash__(self):
        return hash((type(self), self._dataset, self._dimension))

    def __repr__(self):
        if not self._dataset:
            return "<Dimension of closed HDF5 dataset>"
        return f'<"{self.label}" dimension {self._dimension} of HDF5 dataset at {id(self._dataset._o)}>'


class DimensionManager:
    """The dimensions of a dataset."""

    def __init__(self, parent):
        self._dataset = parent

    def __getitem__(self, index):
        if index > len(self) - 1:
            raise IndexError("Index out of range")
        return DimensionProxy(self._dataset, index)

    def __len__(self):
        return self._dataset.ndim

    def __iter__(self):
        return (self[at] for at in range(len(self)))

    def create_scale(self, dset, name=""):
        """Make a dataset a scale. ``Dataset.make_scale`` does the same."""
        warn("other_ds.dims.create_scale(ds, name) is deprecated. Use ds.make_scale(name) instead.",
             H5pyDeprecationWarning, stacklevel=2)
        dset.make_scale(name)

    def __repr__(self):
        if not self._dataset:
            return "<Dimensions of closed HDF5 dataset>"
        return f"<Dimensions of HDF5 object at {id(self._dataset._o)}>"
