"""Space status and stored bytes of each dataset, `NAME STATUS BYTES`. With `make`, h5py makes the same file first."""

import sys

import h5py
import numpy
from h5py import h5d, h5f, h5p, h5s, h5t

ALLOC = {"Default": None, "Early": h5d.ALLOC_TIME_EARLY, "Late": h5d.ALLOC_TIME_LATE, "Incremental": h5d.ALLOC_TIME_INCR}
FILL = {"Alloc": h5d.FILL_TIME_ALLOC, "Never": h5d.FILL_TIME_NEVER, "IfSet": h5d.FILL_TIME_IFSET}


def make(path, low):
    access = h5p.create(h5p.FILE_ACCESS)
    access.set_libver_bounds(h5f.LIBVER_EARLIEST if low == "Earliest" else h5f.LIBVER_LATEST, h5f.LIBVER_LATEST)
    file = h5f.create(path.encode(), h5f.ACC_TRUNC, fapl=access)
    for layout in ("contiguous", "compact", "chunked", "growing", "deflated"):
        for alloc in ALLOC:
            for fill in FILL:
                for value in ("none", "seven"):
                    for then in ("made", "written", "grown"):
                        if then == "grown" and layout != "growing":
                            continue
                        one(file, f"{layout} {alloc} {fill} {value} {then}")
    file.close()


def one(file, name):
    layout, alloc, fill, value, then = name.split()
    plist = h5p.create(h5p.DATASET_CREATE)
    if layout in ("contiguous", "compact"):
        plist.set_layout(h5d.COMPACT if layout == "compact" else h5d.CONTIGUOUS)
    else:
        plist.set_chunk((4,))
    if layout == "deflated":
        plist.set_deflate(4)
    if ALLOC[alloc] is not None:
        plist.set_alloc_time(ALLOC[alloc])
    plist.set_fill_time(FILL[fill])
    if value == "seven":
        plist.set_fill_value(numpy.array(7, "i4"))
    most = h5s.UNLIMITED if layout == "growing" else 10
    try:
        dataset = h5d.create(file, name.encode(), h5t.STD_I32LE, h5s.create_simple((10,), (most,)), plist)
    except ValueError:
        return
    if then != "made":
        space = dataset.get_space()
        space.select_hyperslab((1,), (2,))
        dataset.write(h5s.create_simple((2,)), space, numpy.array([1, 2], "i4"))
    if then == "grown":
        dataset.set_extent((20,))


if sys.argv[2:]:
    make(sys.argv[1], sys.argv[2])
with h5py.File(sys.argv[1]) as file:
    for name, dataset in sorted(file.items()):
        size = dataset.id.get_storage_size()
        # How well zlib does is not the point.
        print(name, dataset.id.get_space_status(), size > 0 if name.startswith("deflated") else size)
