"""Writes space_golden.txt: dataspaces with selections as libhdf5 encodes them (H5Sencode).

Each line is a name, a space, and the bytes in hexadecimal. Run with h5py installed:

    python3 make_space_golden.py > space_golden.txt
"""

import h5py
from h5py import h5s

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
    "far_points": lambda: points(space((1 << 40,)), [((1 << 33) + 1,), (5,)]),
}

for name, make in CASES.items():
    print(name, make().encode().hex())
