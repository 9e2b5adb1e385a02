"""Groups."""

from collections.abc import ItemsView, KeysView, MutableMapping, ValuesView

import numpy as np

from ._base import Empty, HLObject, array_of, classes, joined, text, wrap
from ._config import get_config
from ._creation import Options, prefixes_of
from ._types import type_of
from .datasets import Dataset
from .links import ExternalLink, HardLink, SoftLink
from ._reference import Reference


class _Keys(KeysView):
    def __repr__(self):
        return f"<KeysViewHDF5 {list(self._mapping)}>"

    __str__ = __repr__

    def __reversed__(self):
        return reversed(self._mapping)


class _Values(ValuesView):
    def __contains__(self, value):
        return any(value == self._mapping.get(name) for name in self._mapping)

    def __iter__(self):
        return (self._mapping.get(name) for name in self._mapping)

    def __reversed__(self):
        return (self._mapping.get(name) for name in reversed(self._mapping))


class _Items(ItemsView):
    def __contains__(self, item):
        name, value = item
        return name in self._mapping and value == self._mapping.get(name)

    def __iter__(self):
        return ((name, self._mapping.get(name)) for name in self._mapping)

    def __reversed__(self):
        return ((name, self._mapping.get(name)) for name in reversed(self._mapping))


class Group(HLObject, MutableMapping):
    """A group as a dictionary of objects.

    >>> import hyperslab
    >>> with hyperslab.File("doc.h5", "w", driver="core", backing_store=False) as f:
    ...     d = f.create_dataset("run/mean", data=[1.0, 2.0])
    ...     list(f["run"]), f["run/mean"][0]
    (['mean'], np.float64(1.0))
    """

    __slots__ = ()

    # Objects.

    def __getitem__(self, name):
        if isinstance(name, Reference):
            return self._dereference(name)
        if not isinstance(name, (str, bytes)):
            raise TypeError(f"Accessing a group is done with bytes or str, not {type(name)}")
        name, core = text(name), self._live()
        try:
            opened = core.open(name)
        except KeyError as error:
            raise KeyError(f"Unable to synchronously open object (object '{name}' doesn't exist: {error.args[0]})") \
                from None
        return wrap(opened, self._s, joined(self._path, name))

    def _dereference(self, reference):
        found = reference._core.object(self._live())
        if found is None:
            raise ValueError("Invalid HDF5 object reference")
        return wrap(found.opened(), self._s, None)

    def get(self, name, default=None, getclass=False, getlink=False, *, elink_mode=None, elink_swmr=None,
            elink_locking=None):
        """Return an object, or ``default``; with ``getclass`` its class, with ``getlink`` the link to it.

        A file behind an external link is opened as this one was, unless ``elink_mode`` (``r`` or ``r+``),
        ``elink_swmr`` or ``elink_locking`` says otherwise.
        """
        if not (getclass or getlink):
            try:
                if elink_mode is elink_swmr is elink_locking is None:
                    return self[name]
                return self._get_external(text(name), elink_mode, elink_swmr, elink_locking)
            except KeyError:
                return default
        if not getlink:
            return classes[self._live().kind_at(text(name))] if name in self else default
        link = self._live().link(text(name))
        if link is None:
            return default
        kind, first, second = link
        made = {"soft": SoftLink, "external": ExternalLink, "hard": HardLink}.get(kind)
        if made is None:
            raise TypeError("Unknown link type")
        if getclass:
            return made
        return made(*(first, second)[: {"soft": 1, "external": 2}.get(kind, 0)])

    def _get_external(self, name, mode, swmr, locking):
        """Return an object; files that links lead to are opened in their own way."""
        if mode not in (None, "r", "r+"):
            raise ValueError("elink_mode must be 'r' or 'r+'")
        if mode == "r+" and self._s.mode == "r":
            raise ValueError("A file behind a link of a file that is read cannot be changed")
        if self._s.swmr and self._s.mode == "r+" and (mode == "r" or swmr is False):
            raise ValueError("A file behind a link of a file in SWMR mode is opened in that mode")
        locking = None if locking is None else str(locking).lower()
        opened = self._live().open_external(name, None if mode is None else mode == "r+", swmr, locking)
        found = wrap(opened, self._s, joined(self._path, name))
        if swmr is not None and found._s is not self._s:
            found._s.swmr = swmr
        return found

    def __setitem__(self, name, obj):
        name, core = text(name), self._live()
        if isinstance(obj, HLObject):
            if not core.in_same_file(obj._o) and core.location != obj._o.location:
                raise OSError("Unable to create link (interfile hard links are not allowed)")
            self._linked(core.link_hard, name, obj._o)
            if obj._path is None:
                obj._path = joined(self._path, name)
        elif isinstance(obj, SoftLink):
            self._linked(core.link_soft, name, obj.path)
        elif isinstance(obj, ExternalLink):
            self._linked(core.link_external, name, obj.filename, obj.path)
        elif isinstance(obj, np.dtype):
            core.commit_type(name, type_of(obj))
        else:
            self.create_dataset(name, data=obj if isinstance(obj, Empty) else array_of(obj))

    @staticmethod
    def _linked(make, name, *target):
        try:
            make(name, *target)
        except ValueError as error:
            raise OSError(f"Unable to create link ({error})") from None

    def __delitem__(self, name):
        if not isinstance(name, (str, bytes)):
            raise TypeError(f"Accessing a group is done with bytes or str, not {type(name)}")
        try:
            self._live().unlink(text(name))
        except KeyError as error:
            raise KeyError(f"Couldn't delete link ({error.args[0]})") from None
        except (OSError, ValueError) as error:
            raise KeyError(f"Couldn't delete link ({error})") from None

    def __contains__(self, name):
        if isinstance(name, Reference):
            return bool(name)
        return bool(self._o.valid) and self._o.contains(text(name)) if name else False

    def __len__(self):
        return self._live().link_count()

    def __iter__(self):
        return iter(self._live().names())

    def __reversed__(self):
        return iter(self._live().names()[::-1])

    def keys(self):
        """Return the names."""
        return _Keys(self)

    def values(self):
        """Return the objects; ``None`` for a link that leads nowhere."""
        return _Values(self)

    def items(self):
        """Return names and objects."""
        return _Items(self)

    def _ipython_key_completions_(self):
        return sorted(self)

    # New objects.

    def create_group(self, name, track_order=None, *, track_times=None):
        """Create a group, and the groups on the way to it. Without a name it is anonymous."""
        order = get_config().track_order if track_order is None else track_order
        path = None if name is None else text(name)
        core = _created(self._live().create_group, path, bool(order), bool(track_times))
        return Group._of(core, self._s, None if path is None else joined(self._path, path))

    def create_dataset(self, name, shape=None, dtype=None, data=None, **kwds):
        """Create a dataset. Groups on the way to it are created; without a name it is anonymous.

        Options: ``chunks`` (``True`` or a shape), ``maxshape``, ``compression`` (``gzip``, ``lzf``, ``szip`` or a
        number), ``compression_opts``, ``shuffle``, ``fletcher32``, ``scaleoffset``, ``fillvalue``, ``fill_time``,
        ``track_times``, ``track_order``, ``external``; ``efile_prefix`` and ``virtual_prefix``, which stand before names
        of external files and virtual sources (``${ORIGIN}`` is the folder of this file).

        >>> import hyperslab, numpy
        >>> f = hyperslab.File.in_memory()
        >>> d = f.create_dataset("run/grid", (100, 20), "f4", maxshape=(None, 20), compression="gzip", fillvalue=-1)
        >>> d.shape, d.maxshape, d.compression, d[99, 0]
        ((100, 20), (None, 20), 'gzip', np.float32(-1.0))
        >>> f.create_dataset("names", data=["Oslo", "Bergen"]).asstr()[1]
        'Bergen'
        """
        options = Options(shape, dtype, data, **kwds)
        path = None if name is None else text(name)
        if not path and path is not None:
            path = None
        return self._create(path, options)

    def _create(self, path, options):
        core = _created(
            self._live().create_dataset, path, options.datatype, options.committed, options.shape, options.maximum,
            options.creation,
        )
        full = None if path is None else joined(self._path, path)
        if options.prefixes:
            core.set_prefixes(*options.prefixes)
        made = Dataset._of(core, self._s, full, options.datatype)
        if options.data is not None and not isinstance(options.data, Empty):
            made._write_all(options.data, options.shape)
        return made

    def create_dataset_like(self, name, other, **kwupdate):
        """Create a dataset with shape, type and options of another one."""
        alike = ("shape", "dtype", "chunks", "compression", "compression_opts", "scaleoffset", "shuffle",
                 "fletcher32", "fillvalue", "maxshape")
        for option in alike:
            kwupdate.setdefault(option, getattr(other, option))
        properties = other._properties
        kwupdate.setdefault("track_times", properties["track_times"])
        kwupdate.setdefault("track_order", properties["track_order"])
        if kwupdate["maxshape"] == other.shape and kwupdate["chunks"] is None:
            kwupdate["maxshape"] = None
        return self.create_dataset(name, **kwupdate)

    def require_group(self, name):
        """Return a group; it is created if there is none.

        >>> import hyperslab
        >>> f = hyperslab.File.in_memory()
        >>> f.require_group("run/1") == f.require_group("run/1")
        True
        """
        if name not in self:
            return self.create_group(name)
        group = self[name]
        if not isinstance(group, Group):
            raise TypeError(f"Incompatible object ({type(group).__name__}) already exists")
        return group

    def require_dataset(self, name, shape, dtype, exact=False, **kwds):
        """Return a dataset of this shape and of a dtype that is as wide; it is created if there is none.

        >>> import hyperslab
        >>> f = hyperslab.File.in_memory()
        >>> f.require_dataset("a", (3,), "i4")[0] = 7
        >>> f.require_dataset("a", (3,), "i4")[0]
        np.int32(7)
        >>> f.require_dataset("a", (4,), "i4")
        Traceback (most recent call last):
        TypeError: Shapes do not match (existing (3,) vs new (4,))
        """
        if name not in self:
            return self.create_dataset(name, shape, dtype, **kwds)
        if isinstance(shape, int):
            shape = (shape,)
        dataset = self[name]
        if not isinstance(dataset, Dataset):
            raise TypeError(f"Incompatible object ({type(dataset).__name__}) already exists")
        if shape != dataset.shape and kwds.get("maxshape", dataset.maxshape) != dataset.maxshape:
            raise TypeError(f"Max shapes do not match (existing {dataset.maxshape} vs new {kwds['maxshape']})")
        if shape != dataset.shape and "maxshape" not in kwds:
            raise TypeError(f"Shapes do not match (existing {dataset.shape} vs new {shape})")
        _check_dtype(dtype, dataset.dtype, exact)
        prefixes = prefixes_of(kwds.get("efile_prefix"), kwds.get("virtual_prefix"))
        if prefixes:
            dataset._live().set_prefixes(*prefixes)
        return dataset

    def create_virtual_dataset(self, name, layout, fillvalue=None):
        """Create a dataset whose elements are those of others."""
        options = layout._options(self._s.filename, fillvalue)
        return self._create(text(name), options)

    def build_virtual_dataset(self, name, shape, dtype, maxshape=None, fillvalue=None):
        """Return a context in which a virtual layout is filled; the dataset is created at its end.

        >>> import hyperslab
        >>> f = hyperslab.File.in_memory()
        >>> f["a"], f["b"] = [1, 2], [3, 4]
        >>> with f.build_virtual_dataset("all", (2, 2), "i8") as layout:
        ...     layout[0] = hyperslab.VirtualSource(f["a"])
        ...     layout[1] = hyperslab.VirtualSource(f["b"])
        >>> f["all"][:, 1]
        array([2, 4])
        """
        from .virtual import build

        return build(self, name, shape, dtype, maxshape, fillvalue)

    def create_map(self, name, key_dtype, value_dtype):
        """Create a map: pairs of keys and values of two dtypes."""
        from .maps import Map

        core = self._live().create_map(text(name), type_of(np.dtype(key_dtype)), type_of(np.dtype(value_dtype)))
        return Map._of(core, self._s, joined(self._path, text(name)))

    # Links, copies and walks.

    def move(self, source, dest):
        """Move a link to another path."""
        if source != dest:
            core = self._live()
            core.move_link(text(source), core, text(dest))

    def copy(self, source, dest, name=None, shallow=False, expand_soft=False, expand_external=False,
             expand_refs=False, without_attrs=False):
        """Copy an object, also from or to another file.

        ``source`` is an object or a path; ``dest`` a path of this group, or a group to which ``name`` is added.
        """
        source_path = None
        if not isinstance(source, HLObject):
            source_path, source = source, self[source]
        group = self
        if isinstance(dest, Group):
            group, path = dest, name or (source_path or source.name).rstrip("/").rpartition("/")[2]
        elif isinstance(dest, HLObject):
            raise TypeError("Destination must be path or Group object")
        else:
            path = text(dest)
        group._live().copy_from(source._live(), text(path), shallow, expand_soft, expand_external, expand_refs,
                                without_attrs)

    def visit(self, func):
        """Call ``func(path)`` for every object below, each once, until it returns something else than ``None``."""
        return self._walk(False, func)

    def visititems(self, func):
        """Call ``func(path, object)`` for every object below, each once, until it returns something.

        >>> import hyperslab
        >>> f = hyperslab.File.in_memory()
        >>> f["run/a"], f["run/b"] = [1, 2], 3.0
        >>> f.visititems(lambda path, found: print(path, type(found).__name__))
        run Group
        run/a Dataset
        run/b Dataset
        >>> f.visititems(lambda path, found: path if getattr(found, "shape", None) == () else None)
        'run/b'
        """
        return self._walk(False, lambda path: func(path, self[path]))

    def visit_links(self, func):
        """Call ``func(path)`` for every link below until it returns something."""
        return self._walk(True, func)

    def visititems_links(self, func):
        """Call ``func(path, link)`` for every link below until it returns something."""
        return self._walk(True, lambda path: func(path, self.get(path, getlink=True)))

    def _walk(self, links, func):
        for path in self._live().paths(links):
            found = func(path)
            if found is not None:
                return found
        return None

    __eq__ = HLObject.__eq__
    __hash__ = HLObject.__hash__
    __bool__ = HLObject.__bool__

    def __repr__(self):
        if not self:
            return "<Closed HDF5 group>"
        name = f'"{self.name}"' if self.name is not None else "(anonymous)"
        return f"<HDF5 group {name} ({len(self)} members)>"


def _created(create, *arguments):
    """Return a new object. Raises ``ValueError`` where the file cannot be changed."""
    try:
        return create(*arguments)
    except PermissionError as error:
        raise ValueError(f"Unable to synchronously create object ({error})") from None


def _check_dtype(dtype, existing, exact):
    dtype = np.dtype(dtype)
    if exact and dtype != existing:
        raise TypeError(f"Datatypes do not exactly match (existing {existing} vs new {dtype})")
    if not exact and not np.can_cast(dtype, existing):
        raise TypeError(f"Datatypes cannot be safely cast (existing {existing} vs new {dtype})")


classes[0] = Group
