"""Reads an object of S3 with h5py and the driver `ros3`, on the C library.

usage: LD_PRELOAD=LIBRARY ros3.py LIBRARY ENDPOINT BUCKET KEY        prints what it read; credentials are in ROS3_ID, ROS3_KEY

Each way to name the driver and the object reads the same; wrong credentials are an error that does not tell them, where
ROS3_IS_CHECKED says that the server looks at them.
"""

import ctypes
import os
import sys

import h5py
import numpy

library, endpoint, bucket, key = ctypes.CDLL(sys.argv[1]), *sys.argv[2:]


class Ros3(ctypes.Structure):
    _fields_ = [
        ("version", ctypes.c_int32),
        ("authenticate", ctypes.c_bool),
        ("region", ctypes.c_char * 33),
        ("id", ctypes.c_char * 129),
        ("key", ctypes.c_char * 129),
    ]


def ros3_list(secret=None, token=None, with_endpoint=True, version=1):
    fapl = h5py.h5p.create(h5py.h5p.FILE_ACCESS)
    secret = os.environ["ROS3_KEY"].encode() if secret is None else secret
    config = Ros3(version, True, b"us-east-1", os.environ["ROS3_ID"].encode(), secret)
    number = ctypes.c_int64(fapl.id)
    if library.H5Pset_fapl_ros3(number, ctypes.byref(config)) < 0:
        return None
    if with_endpoint:
        assert library.H5Pset_fapl_ros3_endpoint(number, endpoint.encode()) >= 0
    if token:
        assert library.H5Pset_fapl_ros3_token(number, token) >= 0
    return fapl


def read(name, fapl):
    with h5py.File(h5py.h5f.open(name.encode(), h5py.h5f.ACC_RDONLY, fapl)) as file:
        return int(numpy.sum(file["run/deflated"][...])), file["run"].attrs["unit"]


def getters():
    fapl = ros3_list(token=b"a token")
    number, config, text = ctypes.c_int64(fapl.id), Ros3(), ctypes.create_string_buffer(100)
    assert library.H5Pget_fapl_ros3(number, ctypes.byref(config)) >= 0
    assert (config.version, config.authenticate, config.region) == (1, True, b"us-east-1")
    assert config.key == os.environ["ROS3_KEY"].encode()
    assert library.H5Pget_fapl_ros3_endpoint(number, ctypes.c_size_t(100), text) >= 0 and text.value == endpoint.encode()
    assert library.H5Pget_fapl_ros3_token(number, ctypes.c_size_t(100), text) >= 0 and text.value == b"a token"
    blocks = ctypes.c_size_t(), ctypes.c_size_t(), ctypes.c_bool()
    assert library.H5Pset_fapl_ros3_block_caching(number, ctypes.c_size_t(4096), ctypes.c_size_t(1 << 20), True) >= 0
    assert library.H5Pget_fapl_ros3_block_caching(number, *(ctypes.byref(value) for value in blocks)) >= 0
    assert [value.value for value in blocks] == [4096, 1 << 20, True]
    plain = ctypes.c_int64(h5py.h5p.create(h5py.h5p.FILE_ACCESS).id)
    library.H5Eset_auto2(ctypes.c_int64(0), None, None)
    assert library.H5Pset_fapl_ros3_token(plain, b"a token") < 0
    assert library.H5Pget_fapl_ros3(plain, ctypes.byref(config)) < 0
    assert ros3_list(version=2) is None


def refused(name):
    try:
        read(name, ros3_list(secret=b"wrong-secret-word"))
    except OSError as error:
        assert "wrong-secret-word" not in str(error), error
    else:
        sys.exit("wrong credentials read the object")


def main():
    names = [f"s3://{bucket}/{key}", f"{endpoint}/{bucket}/{key}"]
    found = {read(name, ros3_list(with_endpoint=with_endpoint)) for name in names for with_endpoint in (True, False)}
    getters()
    if os.environ.get("ROS3_IS_CHECKED"):
        refused(names[0])
    os.environ["HDF5_DRIVER"] = "ros3"
    found.add(read(names[0], h5py.h5p.create(h5py.h5p.FILE_ACCESS)))
    assert len(found) == 1, found
    print(*found.pop())


main()
