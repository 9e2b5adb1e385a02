"""The installed h5py, netCDF4 or PyTables on Hyperslab's C library.

Python programs that use HDF5 load extension modules that call libhdf5. The dynamic linker looks for its functions in
the libraries that the whole process sees before it looks into the one that a package brings along. So the C library of
this package has to be loaded first, and for the whole process.
"""

import ctypes
import os
import sys
import warnings
from pathlib import Path

_NAME = "libhyperslab_hdf5.dylib" if sys.platform == "darwin" else "libhyperslab_hdf5.so"

# Packages whose extension modules call libhdf5.
_PACKAGES = ("h5py", "netCDF4", "tables")

_loaded = None


def library() -> Path:
    """Return the path of the C library: that of ``HYPERSLAB_HDF5_LIBRARY``, or the one in this package.

    Raises
    ------
    ImportError
        There is none: this package was built without it.
    """
    named = os.environ.get("HYPERSLAB_HDF5_LIBRARY")
    path = Path(named) if named else Path(__file__).with_name(_NAME)
    if not path.is_file():
        raise ImportError(f"Hyperslab's C library is not at {path}")
    return path


def is_installed() -> bool:
    """Return whether programs of this process that call libhdf5 get Hyperslab instead."""
    return _loaded is not None or _is_preloaded()


def install() -> None:
    """Run h5py, netCDF4 and PyTables, when they are imported later, on Hyperslab.

    Call it before they are imported; a second call changes nothing.

    Raises
    ------
    ImportError
        It is too late: a libhdf5 is loaded already. What is bound to it cannot be moved.
    """
    global _loaded
    if is_installed():
        return
    path = library()
    _refuse_if_late()
    _loaded = ctypes.CDLL(str(path), mode=ctypes.RTLD_GLOBAL)
    # h5py compares the version it was built for with the one it runs on. Programs for 1.10 to 2.x are supported.
    warnings.filterwarnings("ignore", message="h5py is running against HDF5", category=UserWarning)


def _refuse_if_late() -> None:
    late = [name for name in _PACKAGES if name in sys.modules]
    late += [path for path in _mapped_libraries() if "libhdf5" in os.path.basename(path)]
    if late:
        raise ImportError(
            "hyperslab.install() came too late: "
            + ", ".join(sorted(set(late)))
            + " is loaded already. Call it before the first import of a package that uses HDF5, "
            "or start the program with: python -m hyperslab PROGRAM"
        )


def _is_preloaded() -> bool:
    return any(os.path.basename(path) == _NAME for path in _mapped_libraries())


def _mapped_libraries() -> list:
    """Return the shared libraries of this process; an empty list where the system does not tell."""
    try:
        with open("/proc/self/maps", encoding="utf-8", errors="surrogateescape") as maps:
            paths = {line.split(maxsplit=5)[5].strip() for line in maps if "/" in line}
    except OSError:
        return []
    return [path for path in paths if ".so" in path]
