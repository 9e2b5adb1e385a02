"""Changes a file while libhdf5 logs its metadata cache.

cache_log.py PATH LOG
"""

import ctypes
import sys

import h5py

# The library that h5py itself uses.
LIBRARY = ctypes.CDLL(h5py.h5p.__file__)

path, log = (argument.encode() for argument in sys.argv[1:])
access = h5py.h5p.create(h5py.h5p.FILE_ACCESS)
options = (ctypes.c_bool(True), ctypes.c_char_p(log), ctypes.c_bool(True))
assert LIBRARY.H5Pset_mdc_log_options(ctypes.c_int64(access.id), *options) >= 0
with h5py.File(h5py.h5f.open(path, h5py.h5f.ACC_RDWR, access)) as file:
    file.create_group("theirs")
    list(file.values())
    file.flush()
