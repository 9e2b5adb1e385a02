"""What files, groups, datasets and committed datatypes have in common."""

import posixpath

import numpy as np

from . import _core
from ._selections import region_shape, select
from ._types import (
    check_string_dtype, check_vlen_dtype, ref_dtype, regionref_dtype, string_dtype,
)
from ._reference import Reference, RegionReference


class Empty:
    """A value without elements: the null dataspace of a type.

    >>> Empty("f4")
    Empty(dtype=dtype('float32'))
    """

    shape = None
    size = None

    def __init__(self, dtype):
        self._dtype = np.dtype(dtype)

    @property
    def dtype(self):
        """The type that its elements would have."""
        return self._dtype

    def __eq__(self, other):
        return isinstance(other, Empty) and self.dtype == other.dtype

    __hash__ = None

    def __repr__(self):
        return f"Empty(dtype={self.dtype!r})"


def is_hdf5(fname):
    """Return whether there is an HDF5 file, or another container that this library opens, at a location."""
    return _core.is_accessible(_location(fname))


def _location(name):
    import os

    name = os.fspath(name)
    return os.fsdecode(name) if isinstance(name, bytes) else name


def text(name):
    """Return a name as ``str``."""
    if isinstance(name, str):
        return name
    if isinstance(name, (bytes, bytearray)):
        return bytes(name).decode("utf-8", "surrogateescape")
    raise TypeError(f"A name must be str or bytes, not {type(name).__name__}")


def product(numbers):
    """Return the product of numbers."""
    result = 1
    for number in numbers:
        result *= number
    return result


def item_type(data):
    """Return the one type of all items of nested lists or of an array of objects, else ``None``."""
    if isinstance(data, np.ndarray):
        if data.dtype.kind != "O" or check_string_dtype(data.dtype) or check_vlen_dtype(data.dtype):
            return None
        kinds = {type(item) for item in data.flat}
    elif isinstance(data, (list, tuple)):
        kinds = {item_type(item) for item in data}
    else:
        return type(data)
    return kinds.pop() if len(kinds) == 1 else None


_GUESSES = {
    Reference: ref_dtype, RegionReference: regionref_dtype,
    bytes: string_dtype("ascii"), str: string_dtype(),
}


def array_of(data, dtype=None):
    """Return data for a new dataset or attribute as an array: of a dtype, or of the one that fits its items."""
    if dtype is not None and not isinstance(dtype, np.dtype):
        dtype = np.dtype(dtype)
    if dtype is None or (isinstance(data, np.ndarray) and dtype != np.float16):
        dtype = _GUESSES.get(item_type(data))
    array = np.asarray(data, dtype=dtype, order="C")
    # An array of objects keeps its own dtype, without what says of which kind they are.
    return array if dtype is None or dtype.subdtype else array.view(dtype)


class State:
    """What all objects of an open file know of it."""

    __slots__ = ("mode", "filename", "driver", "libver", "swmr", "root", "meta_block_size")

    def __init__(self, root, mode, filename, driver="sec2", libver=("earliest", "v200"), swmr=False):
        self.root, self.mode, self.filename = root, mode, filename
        self.driver, self.libver, self.swmr = driver, libver, swmr
        self.meta_block_size = 2048


def state_of(core, known):
    """Return the state of the file of a handle: a known one, or that of a file that a link led to."""
    if core.in_same_file(known.root):
        return known
    root = core.root()
    return State(root, "r+" if core.file_info()[1] else "r", core.location)


# Classes by the numbers that the native module gives them, and `File` and `AttributeManager`. Their modules, which need
# this one, put them here: an import in a function costs more than the rest of it.
classes = {}


def wrap(opened, state, path):
    """Return the object that the native module opened."""
    kind, core, datatype = opened
    if not core.in_same_file(state.root):
        # The path led through a link to another file, where the object has a path of its own.
        state, path = state_of(core, state), None
    return classes[kind]._of(core, state, path, datatype)


def joined(parent, path):
    """Return an absolute path; ``None`` where the parent has none."""
    if path.startswith("/"):
        return posixpath.normpath("/" + path.lstrip("/"))
    if parent is None:
        return None
    return posixpath.normpath(f"{parent}/{path}".replace("//", "/"))


class HLObject:
    """A handle of an object of an open file."""

    __slots__ = ("_o", "_s", "_path", "__weakref__")

    @classmethod
    def _of(cls, core, state, path, datatype=None):
        made = cls.__new__(cls)
        made._o, made._s, made._path = core, state, path
        return made

    def _live(self):
        """Return the handle. Raises ``ValueError`` if the file is closed."""
        if not self._o.valid:
            raise ValueError("Not a location (the file is closed)")
        return self._o

    @property
    def id(self):
        """The handle of the native module."""
        return self._o

    @property
    def name(self):
        """The path of the object; ``None`` if it has none."""
        if self._path is None and self._o.valid:
            self._path = self._o.path()
        return self._path

    @property
    def file(self):
        """The file of the object."""
        self._live()
        return classes["File"]._of(self._s.root, self._s, "/")

    @property
    def parent(self):
        """The group that the path of the object leads through last."""
        if self.name is None:
            raise ValueError("Parent of an anonymous object is undefined")
        return self.file[posixpath.dirname(self.name)]

    @property
    def attrs(self):
        """The attributes of the object."""
        return classes["AttributeManager"](self)

    @property
    def ref(self):
        """A reference to the object."""
        return Reference(self._live().reference())

    @property
    def regionref(self):
        """References to elements: ``dataset.regionref[0:10]``."""
        return _Regions(self)

    def __bool__(self):
        return self._o.valid

    def __eq__(self, other):
        return self._o.is_same(other._o) if isinstance(other, HLObject) else NotImplemented

    def __hash__(self):
        return hash(self._o)

    def __reduce_ex__(self, protocol):
        raise TypeError("h5py objects cannot be pickled")

    def __getnewargs__(self):
        raise TypeError("h5py objects cannot be pickled")


class _Regions:
    """Makes and reads region references of a dataset."""

    def __init__(self, owner):
        self._owner = owner

    def __getitem__(self, index):
        index = index if isinstance(index, tuple) else (index,)
        chosen = select(self._owner.shape, index, self._owner)
        return RegionReference(self._owner._o.region(chosen.core))

    def _target(self, reference):
        found = reference._core.object(self._owner._live())
        if found is None:
            raise ValueError("Invalid reference")
        return found

    def shape(self, reference):
        """Return the shape of the dataset that a reference points into."""
        return self._target(reference).shape()

    def selection(self, reference):
        """Return the shape of the elements that a reference points to."""
        return region_shape(reference._core.selection(), self.shape(reference))
