"""Makes and changes files with metadata cache images, and tells where the image of a file is.

cache_image.py make PATH STRATEGY PERSIST     a new file that is closed with an image
cache_image.py change PATH TURN IMAGE         adds objects; IMAGE is 1 if the file is closed with an image
cache_image.py about PATH                     prints the address and the bytes of the image
"""

import ctypes
import glob
import os
import sys

import h5py
import numpy

folder = os.path.join(os.path.dirname(os.path.dirname(h5py.__file__)), "h5py.libs")
libhdf5 = ctypes.CDLL(min(glob.glob(f"{folder}/libhdf5-*.so*"), key=len))


class ImageConfig(ctypes.Structure):
    _fields_ = [("version", ctypes.c_int), ("generate", ctypes.c_bool), ("resize", ctypes.c_bool), ("age", ctypes.c_int)]


def access(with_image):
    fapl = h5py.h5p.create(h5py.h5p.FILE_ACCESS)
    fapl.set_libver_bounds(h5py.h5f.LIBVER_V110, h5py.h5f.LIBVER_LATEST)
    config = ImageConfig(1, with_image, False, -1)
    assert libhdf5.H5Pset_mdc_image_config(ctypes.c_int64(fapl.id), ctypes.byref(config)) >= 0
    return fapl


def fill(file, turn):
    """Few links and attributes in each group: libhdf5 2.0 does not read its own images of dense ones."""
    for n in range(30):
        dataset = file.create_dataset(f"turn {turn}/{n // 6}/dataset {n}", data=numpy.arange(n + 1) + int(turn))
        dataset.attrs["n"] = n
    data = numpy.arange(3000)
    file.create_dataset(f"turn {turn}/chunked", data=data, chunks=(100,), compression="gzip")


def make(path, strategy, persist):
    fcpl = h5py.h5p.create(h5py.h5p.FILE_CREATE)
    strategies = {"fsm": h5py.h5f.FSPACE_STRATEGY_FSM_AGGR, "page": h5py.h5f.FSPACE_STRATEGY_PAGE}
    fcpl.set_file_space_strategy(strategies[strategy], persist == "true", 1)
    with h5py.File(h5py.h5f.create(path.encode(), h5py.h5f.ACC_TRUNC, fcpl, access(True))) as file:
        fill(file, 0)


def change(path, turn, with_image):
    fapl = access(with_image == "1")
    with h5py.File(h5py.h5f.open(path.encode(), h5py.h5f.ACC_RDWR, fapl)) as file:
        fill(file, turn)


def about(path):
    with h5py.File(h5py.h5f.open(path.encode(), h5py.h5f.ACC_RDONLY, access(False))) as file:
        address, size = ctypes.c_uint64(), ctypes.c_uint64()
        assert libhdf5.H5Fget_mdc_image_info(ctypes.c_int64(file.id.id), ctypes.byref(address), ctypes.byref(size)) >= 0
        print(ctypes.c_int64(address.value).value, size.value)


{"make": make, "change": change, "about": about}[sys.argv[1]](*sys.argv[2:])
