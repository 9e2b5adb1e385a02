"""Writes space_golden.txt: dataspaces with selections as libhdf5 encodes them (H5Sencode).

Each line is a name, the low library bound (18, 110, 112), and the bytes in hexadecimal. Run with h5py
installed, on Linux:

    python3 make_space_golden.py > space_golden.txt
"""

import ctypes

import h5py
from h5py import h5f, h5p, h5s

U = h5s.UNLIMITED


def space(dims=(100, 200), maxdims=None):
    return h5s.create_simple(dims, maxdims)


def slab(s, start, count, stride, block, op=h5s.SELECT_SET):
    s.select_hyperslab(start, count, stride, block, op)
    return s


def points(s, coords):
    s.select_elements(coords)
    return s


def none(s):
    s.select_none()
    return s


def two_blocks(s):
    slab(s, (1, 2), (1, 1), (1, 1), (3, 4))
    return slab(s, (3, 5), (1, 1), (1, 1), (4, 4), h5s.SELECT_OR)


def far_blocks(s):
    slab(s, (1 << 33,), (1,), (1,), (7,))
    return slab(s, (5,), (1,), (1,), (4,), h5s.SELECT_OR)


CASES = {
    "null": lambda: h5s.create(h5s.NULL),
    "scalar": lambda: h5s.create(h5s.SCALAR),
    "all": lambda: space(maxdims=(U, 200)),
    "none": lambda: none(space()),
    "block": lambda: slab(space(), (2, 3), (1, 1), (1, 1), (4, 5)),
    "strided": lambda: slab(space(), (2, 3), (4, 5), (10, 20), (2, 3)),
    "touching": lambda: slab(space(), (2, 3), (4, 5), (2, 3), (2, 3)),
    "two_blocks": lambda: two_blocks(space()),
    "unlimited_count": lambda: slab(space((9,), (U,)), (2,), (U,), (4,), (2,)),
    "unlimited_touching": lambda: slab(space((9,), (U,)), (2,), (U,), (4,), (4,)),
    "unlimited_block": lambda: slab(space((9, 9), (U, 9)), (2, 0), (1, 1), (4, 1), (U, 3)),
    "points": lambda: points(space(), [(5, 6), (1, 2), (99, 199), (5, 6)]),
    "far_block": lambda: slab(space((1 << 40,)), (1 << 33,), (2,), (9,), (7,)),
    "wide": lambda: slab(space((1 << 20,)), (0,), (1,), (1,), (65535,)),
    "three": lambda: slab(space((90, 9)), (0, 1), (3, 1), (4, 1), (2, 2)),
    "far_blocks": lambda: far_blocks(space((1 << 40,))),
    "far_points": lambda: points(space((1 << 40,)), [((1 << 33) + 1,), (5,)]),
}

BOUNDS = {"18": h5f.LIBVER_V18, "110": h5f.LIBVER_V110, "112": h5f.LIBVER_V112}


def loaded_library():
    """The libhdf5 that h5py itself uses: its encode() offers no choice of library bounds."""
    with open("/proc/self/maps") as maps:
        paths = {line.split()[-1] for line in maps if "/libhdf5-" in line or "/libhdf5.so" in line}
    return ctypes.CDLL(min(paths))


def encode(library, s, bound):
    access = h5p.create(h5p.FILE_ACCESS)
    access.set_libver_bounds(bound, h5f.LIBVER_LATEST)
    size = ctypes.c_size_t(0)
    args = (ctypes.c_int64(s.id), ctypes.byref(size), ctypes.c_int64(access.id))
    assert library.H5Sencode2(args[0], None, *args[1:]) >= 0
    buffer = ctypes.create_string_buffer(size.value)
    assert library.H5Sencode2(args[0], buffer, *args[1:]) >= 0
    return buffer.raw


library = loaded_library()
for name, make in CASES.items():
    for label, bound in BOUNDS.items():
        print(name, label, encode(library, make(), bound).hex())
