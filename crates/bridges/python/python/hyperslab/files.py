"""Files."""

import os

from . import _core
from ._async import run
from ._base import HLObject, State, _location, classes
from ._config import get_config
from .groups import Group

_MODES = ("r", "r+", "w", "w-", "x", "a")
_VERSIONS = ("earliest", "v108", "v110", "v112", "v114", "v200", "latest")
_LATEST = "v200"
# Drivers of libhdf5 that read and write one file as it is: what differs is how, and this library has one way.
_PLAIN = (None, "sec2", "stdio", "windows", "direct")


class File(Group):
    """A file, or another container, and its root group.

    ``name`` is a path or a location of any connector or service: ``object:store/``, ``s3://bucket/key``,
    ``h5s://host/name``, ``log:run.h5``. Modes: ``r``, ``r+``, ``w`` (anew), ``x`` or ``w-`` (must not exist), ``a``.

    ``durability`` says what a commit promises: ``full``, ``ordered`` or ``none``. ``stack`` names layers.
    """

    __slots__ = ()

    def __init__(self, name, mode="r", driver=None, libver=None, userblock_size=None, swmr=False, rdcc_nslots=None,
                 rdcc_nbytes=None, rdcc_w0=None, track_order=None, fs_strategy=None, fs_persist=False,
                 fs_threshold=1, fs_page_size=None, page_buf_size=None, min_meta_keep=0, min_raw_keep=0,
                 locking=None, alignment_threshold=1, alignment_interval=1, meta_block_size=None,
                 track_times=False, durability=None, stack=None, **kwds):
        if isinstance(name, HLObject):
            self._o, self._s, self._path = name._s.root, name._s, "/"
            return
        if mode not in _MODES:
            raise ValueError("Invalid mode; must be one of r, r+, w, w-, x, a")
        if fs_strategy and mode not in ("w", "w-", "x"):
            raise ValueError("Unable to set file space strategy of an existing file")
        if swmr and mode != "r":
            raise ValueError("SWMR mode is only for mode 'r'; use swmr_mode=True to start writing")
        if driver not in (*_PLAIN, "core", "fileobj", "family", "split"):
            raise ValueError(f'Unknown driver type "{driver}"')
        low, high = _versions(libver)
        order = get_config().track_order if track_order is None else track_order
        options = {
            "low": low, "high": high, "swmr": bool(swmr), "driver": None, "stack": stack,
            "locking": _locking(locking), "chunk_cache_bytes": rdcc_nbytes, "page_buffer_bytes": page_buf_size,
            "alignment": (alignment_threshold, alignment_interval), "metadata_block_bytes": meta_block_size,
            "durability": durability, "userblock": _userblock(userblock_size, mode), "track_order": bool(order),
            "track_times": bool(track_times), "strategy": fs_strategy, "persist": bool(fs_persist),
            "threshold": fs_threshold, "page_bytes": fs_page_size,
        }
        if hasattr(name, "read") and hasattr(name, "seek"):
            if driver not in (None, "fileobj"):
                raise ValueError("Driver must be 'fileobj' for file-like object if specified.")
            source, name, driver = name, repr(name), "fileobj"
            core = _open_object(source, name, mode, options)
        else:
            name = _location(name)
            core = _open(name, mode, driver, options, kwds)
        if mode == "a" and userblock_size is not None and core.file_info()[2] != userblock_size:
            core.close()
            raise ValueError("Requested userblock size (%d) does not match that of existing file" % userblock_size)
        mode = "r" if mode == "r" else "r+"
        shown = (low or "earliest", _LATEST if high in (None, "latest") else high)
        shown = (_LATEST if shown[0] == "latest" else shown[0], shown[1])
        self._o, self._path = core, "/"
        self._s = State(core, mode, name, driver or "sec2", shown, bool(swmr))
        self._s.meta_block_size = meta_block_size or 2048

    @classmethod
    def in_memory(cls, file_image=None, **kwds):
        """Return a file that is in memory only: a new one, or one with these bytes."""
        if file_image is None:
            return cls("(memory)", "w", driver="core", backing_store=False, **kwds)
        return cls.from_bytes(file_image, write=True)

    @classmethod
    def from_bytes(cls, image, write=False):
        """Return a file of these bytes. With ``write`` it can be changed, in memory only."""
        core = _core.open_image(bytes(image), write)
        return cls._of(core, State(core, "r+" if write else "r", "(image)", "core"), "/")

    def to_bytes(self):
        """Return the file as bytes, after a commit."""
        return self._live().image()

    @classmethod
    async def open_async(cls, name, mode="r", **options):
        """Return an open file, while the event loop goes on. The arguments are those of ``File``.

        >>> import asyncio, hyperslab
        >>> async def mean(location):
        ...     f = await hyperslab.File.open_async(location)
        ...     return (await f["grid"].read_async()).mean()
        """
        return await run(lambda: cls(name, mode, **options))

    async def commit_async(self, durability=None):
        """Make all changes so far one atomic commit, while the event loop goes on."""
        await run(self.commit, durability)

    async def close_async(self):
        """Commit and close, while the event loop goes on."""
        await run(self.close)

    async def __aenter__(self):
        return self

    async def __aexit__(self, *error):
        await self.close_async()

    # Properties.

    @property
    def filename(self):
        """Where the file was opened."""
        return self._s.filename

    @property
    def mode(self):
        """``r`` or ``r+``."""
        self._live()
        return self._s.mode

    @property
    def driver(self):
        """The name of the driver."""
        self._live()
        return self._s.driver

    @property
    def libver(self):
        """The generations of libhdf5 that the file is written for: lowest and highest."""
        self._live()
        return self._s.libver

    @property
    def userblock_size(self):
        """Bytes before the HDF5 file that are left alone."""
        return self._live().file_info()[2]

    @property
    def swmr_mode(self):
        """Whether one process writes while others read."""
        self._live()
        return self._s.swmr

    @swmr_mode.setter
    def swmr_mode(self, value):
        if not value:
            raise ValueError("It is not possible to forcibly switch SWMR mode off.")
        self._live().start_swmr()
        self._s.swmr = True

    @property
    def meta_block_size(self):
        """Bytes of blocks of metadata that are set aside at a time."""
        self._live()
        return self._s.meta_block_size

    def _strategy(self):
        return self._live().space_info()

    # What it does.

    def commit(self, durability=None):
        """Make all changes so far one atomic commit.

        ``durability`` says what it promises: ``"full"`` survives the loss of power, ``"ordered"`` keeps the order of
        commits, ``"none"`` survives the end of the program.

        >>> import hyperslab
        >>> f = hyperslab.File.in_memory()
        >>> f["a"] = [1, 2, 3]
        >>> f.commit()
        >>> hyperslab.File.from_bytes(f.to_bytes())["a"][:]
        array([1, 2, 3])
        """
        self._live().commit(durability)

    def flush(self):
        """Commit all changes."""
        if self._s.mode != "r":
            self.commit()

    def close(self):
        """Commit and close; handles of its objects become false."""
        self._o.close()

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.close()

    @property
    def attrs(self):
        """The attributes of the root group."""
        return classes["AttributeManager"](Group._of(self._o, self._s, "/"))

    def __getitem__(self, name):
        if name == "/":
            self._live()
            return Group._of(self._o, self._s, "/")
        return super().__getitem__(name)

    def __repr__(self):
        if not self:
            return "<Closed HDF5 file>"
        return f'<HDF5 file "{os.path.basename(self.filename)}" (mode {self.mode})>'


classes["File"] = File


def _open(name, mode, driver, options, kwds):
    if driver == "fileobj":
        raise TypeError("The fileobj driver needs a Python file object")
    if driver == "core":
        stored = str(bool(kwds.pop("backing_store", True))).lower()
        options["driver"] = f"core{{backing_store={stored},increment={kwds.pop('block_size', 65536)}}}"
    elif driver == "family":
        options["driver"] = f"family{{member_bytes={kwds.pop('memb_size', 2**31 - 1)}}}"
    elif driver == "split":
        options["driver"] = "split"
    if kwds:
        raise TypeError(f"'{sorted(kwds)[0]}' is an invalid keyword argument for this driver")
    return _core.open(name, mode, options)


def _open_object(source, name, mode, options):
    """Open a Python file object. It is read and written by ranges."""
    if mode in ("x", "w-") or (mode == "a" and not source.seek(0, 2)):
        mode = "w"
    return _core.open_object(source, name, "r+" if mode == "a" else mode, options)


def _versions(libver):
    if libver is None:
        return None, None
    pair = (libver, "latest") if isinstance(libver, str) else tuple(libver)
    if any(name not in _VERSIONS for name in pair):
        raise ValueError(f"libver must be a name or two of {', '.join(_VERSIONS)}, not {libver!r}")
    return pair


def _locking(locking):
    if locking in (None, True, False, "true", "false", "best-effort"):
        return None if locking is None else str(locking).lower()
    raise ValueError(f"Unsupported locking value: {locking}")


def _userblock(size, mode):
    if size is None:
        return 0
    if mode in ("r", "r+"):
        raise ValueError("User block may only be specified when creating a file")
    try:
        size = int(size)
    except (TypeError, ValueError):
        raise ValueError("User block size must be an integer") from None
    if size and (size < 512 or size & (size - 1)):
        raise ValueError("User block size must be a power of 2 and at least 512")
    return size
