"""h5py applies a script to a file."""

import ctypes

import h5py
import numpy
from h5py import h5d, h5f, h5g, h5l, h5o, h5p, h5s

import kinds
import lib
import values
from values import parse_reference

ORDER_FLAGS = {"untracked": 0, "tracked": h5p.CRT_ORDER_TRACKED, "indexed": h5p.CRT_ORDER_TRACKED | h5p.CRT_ORDER_INDEXED}
LAYOUTS = {"compact": h5d.COMPACT, "contiguous": h5d.CONTIGUOUS, "chunked": h5d.CHUNKED}
FILL_TIMES = {"alloc": h5d.FILL_TIME_ALLOC, "never": h5d.FILL_TIME_NEVER, "ifset": h5d.FILL_TIME_IFSET}
ALLOC_TIMES = {"early": h5d.ALLOC_TIME_EARLY, "late": h5d.ALLOC_TIME_LATE, "incremental": h5d.ALLOC_TIME_INCR}
UNLIMITED = -1


def simple(dims, maxima):
    return h5s.create_simple(tuple(dims), tuple(h5s.UNLIMITED if m == UNLIMITED else m for m in maxima))


def build_space(space):
    if space[0] == "simple":
        return simple(*space[1:])
    return h5s.create(h5s.NULL if space[0] == "null" else h5s.SCALAR)


def select(space, selection):
    if selection[0] == "points":
        space.select_elements(numpy.array(selection[1], dtype="u8"))
    elif selection[0] == "slab":
        start, stride, number, block = selection[1:]
        space.select_hyperslab(start, number, stride, block)
    return space


def link_create(path):
    name = path.rpartition(b"/")[2]
    plist = h5p.create(h5p.LINK_CREATE)
    plist.set_char_encoding(h5py.h5t.CSET_ASCII if name.isascii() else h5py.h5t.CSET_UTF8)
    return plist


class Script:
    """Applies operations to an open file."""

    def __init__(self, file):
        self.file = file

    def apply(self, operation):
        getattr(self, "do_" + operation[0].replace("-", "_"))(*operation[1:])

    # --- references in elements ---

    def refer(self, kind, text):
        what, detail, path = parse_reference(text)
        raw = ctypes.create_string_buffer(kinds.memory_size(kind))
        space = self.region(what, path, detail) if what in ("h", "p", "w", "n") else None
        if kind[1] != "any":
            lib.call("H5Rcreate", raw, self.file, path, lib.flag(0 if space is None else 1), -1 if space is None else space)
        elif what == "o":
            lib.call("H5Rcreate_object", self.file, path, 0, raw)
        elif what == "a":
            lib.call("H5Rcreate_attr", self.file, path, detail, 0, raw)
        else:
            lib.call("H5Rcreate_region", self.file, path, space, 0, raw)
        return raw.raw

    def region(self, what, path, points):
        space = h5d.open(self.file, path).get_space()
        if what == "p":
            return select(space, ("points", points))
        if what == "w":
            space.select_all()
            return space
        space.select_none()
        if what == "n":
            return space
        for point in points:
            space.select_hyperslab(point, (1,) * len(point), op=h5s.SELECT_OR)
        return space

    def packed(self, kind, elements):
        packer = values.Packer(self.refer)
        return packer, packer.pack(kind, b"".join(elements), len(elements))

    # --- objects ---

    def order(self, plist, order):
        lib.call("H5Pset_attr_creation_order", plist, ctypes.c_uint(ORDER_FLAGS[order]))
        return plist

    def do_group(self, path, link_order, attribute_order):
        plist = self.order(h5p.create(h5p.GROUP_CREATE), attribute_order)
        if link_order != "untracked":
            plist.set_link_creation_order(ORDER_FLAGS[link_order])
        h5g.create(self.file, path, lcpl=link_create(path), gcpl=plist)

    def do_type(self, path, kind, attribute_order):
        hid = kinds.build(kind)
        tcpl = lib.new("H5Pcreate", lib.constant("H5P_CLS_DATATYPE_CREATE_ID"))
        lib.call("H5Pset_attr_creation_order", tcpl, ctypes.c_uint(ORDER_FLAGS[attribute_order]))
        lib.call("H5Tcommit2", self.file, path, hid, link_create(path), tcpl, 0)
        kinds.close(hid)

    def type_for(self, kind, committed):
        return kinds.build(kind) if committed == "none" else lib.new("H5Topen2", self.file, committed, 0)

    def do_dataset(self, path, kind, committed, space, *create):
        create = dict(create)
        memory = kinds.build(kind)
        hid = self.type_for(kind, committed)
        plist = self.dataset_create(create, memory)
        args = (hid, build_space(space), link_create(path), plist, 0)
        lib.call("H5Dclose", lib.new("H5Dcreate2", self.file, path, *args))
        kinds.close(hid, memory)

    def dataset_create(self, create, memory):
        plist = self.order(h5p.create(h5p.DATASET_CREATE), create["attribute-order"])
        layout = create["layout"]
        plist.set_layout(LAYOUTS[layout[0]])
        if layout[0] == "chunked":
            plist.set_chunk(layout[1])
        for name, *arguments in create["filters"]:
            getattr(self, "filter_" + name)(plist, *arguments)
        if create["fill"][0] == "undefined":
            lib.call("H5Pset_fill_value", plist, 0, ctypes.c_void_p(None))
            lib.call("H5Pset_fill_value", plist, -1, ctypes.c_void_p(None))
        elif create["fill"][0] == "value":
            packer = values.Packer(self.refer)
            kind = kinds.describe(memory)
            lib.call("H5Pset_fill_value", plist, memory, packer.pack(kind, create["fill"][1], 1))
        plist.set_fill_time(FILL_TIMES[create["fill-time"][0]])
        plist.set_alloc_time(ALLOC_TIMES[create["alloc"][0]])
        return plist

    def filter_deflate(self, plist, level):
        plist.set_deflate(level)

    def filter_shuffle(self, plist):
        plist.set_shuffle()

    def filter_fletcher32(self, plist):
        plist.set_fletcher32()

    def filter_lzf(self, plist):
        plist.set_filter(h5py.h5z.FILTER_LZF, h5py.h5z.FLAG_OPTIONAL)

    def filter_szip(self, plist, options, block):
        plist.set_szip(options, block)

    def filter_nbit(self, plist):
        lib.call("H5Pset_nbit", plist)

    def filter_scaleoffset(self, plist, kind, factor):
        plist.set_scaleoffset(kind, factor)

    def do_write(self, path, selection, elements):
        dataset = h5d.open(self.file, path)
        kind = kinds.of("H5Dget_type", dataset)
        memory = kinds.build(kind)
        space = select(dataset.get_space(), selection)
        packer, buffer = self.packed(kind, elements)
        here = simple((len(elements),), (len(elements),))
        lib.call("H5Dwrite", dataset, memory, here, space, 0, buffer)
        kinds.close(memory)

    def do_resize(self, path, dims):
        h5d.open(self.file, path).set_extent(dims)

    # --- attributes ---

    def do_attribute(self, path, name, kind, committed, space, elements):
        hid = self.type_for(kind, committed)
        acpl = lib.new("H5Pcreate", lib.constant("H5P_CLS_ATTRIBUTE_CREATE_ID"))
        lib.call("H5Pset_char_encoding", acpl, lib.flag(0 if name.isascii() else 1))
        extent = build_space(space)
        attribute = lib.new("H5Acreate_by_name", self.file, path, name, hid, extent, acpl, 0, 0)
        self.put_attribute(attribute, kind, elements)
        kinds.close(hid)

    def put_attribute(self, attribute, kind, elements):
        if elements:
            memory = kinds.build(kind)
            packer, buffer = self.packed(kind, elements)
            lib.call("H5Awrite", attribute, memory, buffer)
            kinds.close(memory)
        lib.call("H5Aclose", attribute)

    def do_write_attribute(self, path, name, elements):
        # Opened by the name of its object, libhdf5 2.0 does not find an attribute again when it writes it.
        opened = h5o.open(self.file, path)
        attribute = lib.new("H5Aopen", opened, name, 0)
        self.put_attribute(attribute, kinds.of("H5Aget_type", attribute), elements)

    def do_delete_attribute(self, path, name):
        lib.call("H5Adelete_by_name", self.file, path, name, 0)

    def do_rename_attribute(self, path, old, new):
        lib.call("H5Arename_by_name", self.file, path, old, new, 0)

    def do_comment(self, path, comment):
        lib.call("H5Oset_comment_by_name", self.file, path, comment, 0)

    # --- links ---

    def do_hard(self, path, target):
        self.file.links.create_hard(path, self.file, target, lcpl=link_create(path))

    def do_soft(self, path, target):
        self.file.links.create_soft(path, target, lcpl=link_create(path))

    def do_external(self, path, file, target):
        self.file.links.create_external(path, file, target, lcpl=link_create(path))

    def do_unlink(self, path):
        lib.call("H5Ldelete", self.file, path, 0)

    def do_move(self, path, to):
        self.file.links.move(path, self.file, to, lcpl=link_create(to))

    def do_copy(self, path, to):
        h5o.copy(self.file, path, self.file, to, lcpl=link_create(to))

    def do_flush(self):
        h5f.flush(self.file)
