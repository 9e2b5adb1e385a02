"""What a file holds, as h5py finds it."""

import ctypes

import h5py
import numpy
from h5py import h5a, h5d, h5g, h5l, h5o, h5p, h5s

import kinds
import lib
import values
import words
from apply_h5py import ALLOC_TIMES, FILL_TIMES, LAYOUTS, ORDER_FLAGS, UNLIMITED

FILTERS = {1: "deflate", 2: "shuffle", 3: "fletcher32", 4: "szip", 5: "nbit", 6: "scaleoffset", 32000: "lzf"}
FILLS = {h5d.FILL_VALUE_UNDEFINED: "undefined", h5d.FILL_VALUE_DEFAULT: "default", h5d.FILL_VALUE_USER_DEFINED: "value"}


def name_of(table, value):
    return next(name for name, each in table.items() if each == value)


def space_of(space):
    kind = space.get_simple_extent_type()
    if kind != h5s.SIMPLE:
        return ("null",) if kind == h5s.NULL else ("scalar",)
    maxima = [UNLIMITED if m in (h5s.UNLIMITED, 2**64 - 1) else m for m in space.get_simple_extent_dims(True)]
    return ("simple", tuple(space.get_simple_extent_dims()), tuple(maxima))


def links_of(group, index=h5py.h5.INDEX_NAME):
    names = []
    group.links.iterate(names.append, idx_type=index, order=h5py.h5.ITER_INC)
    return names


class Description:
    def __init__(self, path):
        self.lines = set()
        with h5py.File(path, "r") as file:
            self.file = file.id
            self.paths = {}
            found = self.walk()
            for path, opened in found:
                self.object(path, opened)

    def add(self, *line):
        self.lines.add(words.text(line))

    def walk(self):
        root = h5o.open(self.file, b"/")
        found = [(b"/", root)]
        self.paths[address(root)] = b"/"
        for base, opened in found:
            if isinstance(opened, h5g.GroupID):
                self.walk_group(base, opened, found)
        return found

    def walk_group(self, base, group, found):
        for name in links_of(group):
            if group.links.get_info(name).type != h5l.TYPE_HARD:
                continue
            member = h5o.open(group, name)
            path = base.rstrip(b"/") + b"/" + name
            if self.paths.setdefault(address(member), path) == path:
                found.append((path, member))

    def object(self, path, opened):
        kind = {h5o.TYPE_GROUP: "group", h5o.TYPE_DATASET: "dataset"}.get(h5o.get_info(opened).type, "type")
        comment = comment_of(opened)
        self.add("object", path, kind, h5o.get_info(opened).rc, comment)
        self.attributes(path, opened, kind)
        getattr(self, kind)(path, opened)

    # --- groups ---

    def group(self, path, group):
        for name in links_of(group):
            self.link(path, group, name)
        flags = group_create(group).get_link_creation_order()
        order = name_of(ORDER_FLAGS, flags)
        self.add("link-order", path, order, *(links_of(group, h5py.h5.INDEX_CRT_ORDER) if flags else ()))

    def link(self, path, group, name):
        kind = group.links.get_info(name).type
        if kind == h5l.TYPE_HARD:
            self.add("link", path, name, "hard", self.paths[address(h5o.open(group, name))])
        elif kind == h5l.TYPE_SOFT:
            self.add("link", path, name, "soft", group.links.get_val(name))
        else:
            self.add("link", path, name, "external", *group.links.get_val(name))

    # --- attributes ---

    def attributes(self, path, opened, kind):
        names = []
        h5a.iterate(opened, lambda name, *_: names.append(name))
        for name in names:
            self.attribute(path, opened, name)
        flags = ctypes.c_uint()
        function = {"group": "H5Gget_create_plist", "dataset": "H5Dget_create_plist", "type": "H5Tget_create_plist"}
        plist = lib.new(function[kind], opened)
        lib.call("H5Pget_attr_creation_order", plist, ctypes.byref(flags))
        ordered = []
        if flags.value:
            number = h5a.get_num_attrs(opened)
            for n in range(number):
                found = h5a.open(opened, index=n, index_type=h5py.h5.INDEX_CRT_ORDER, order=h5py.h5.ITER_INC)
                ordered.append(found.name)
        self.add("attribute-order", path, name_of(ORDER_FLAGS, flags.value), *ordered)

    def attribute(self, path, opened, name):
        found = lib.new("H5Aopen", opened, name, 0)
        kind, committed = self.typed("H5Aget_type", found)
        space = space_of(h5s.SpaceID(lib.new("H5Aget_space", found)))
        data = self.read(kind, space, lambda memory, buffer: lib.call("H5Aread", found, memory, buffer))
        self.add("attribute", path, name, kind, committed, space, data)
        lib.call("H5Aclose", found)

    # --- types and elements ---

    def typed(self, function, hid):
        """The type that a call gives, and where it is committed."""
        found = h5py.h5t.TypeID(lib.new(function, hid))
        kind, committed = kinds.describe(found), "none"
        if lib.call("H5Tcommitted", found) > 0:
            committed = self.paths.get(address(found), "unlinked")
        return kind, committed

    def read(self, kind, space, read):
        number = 1 if space[0] == "scalar" else 0
        if space[0] == "simple":
            number = 1
            for dim in space[1]:
                number *= dim
        if number == 0:
            return b""
        memory = kinds.build(kind)
        buffer = ctypes.create_string_buffer(number * kinds.memory_size(kind))
        read(memory, buffer)
        kinds.close(memory)
        return values.unpack(kind, buffer.raw, number, self.tell)

    def tell(self, kind, raw):
        """The text of a reference."""
        if kind[1] == "object":
            return b"o|" + self.paths.get(int.from_bytes(raw, "little"), b"?")
        if kind[1] == "any":
            return self.tell_any(ctypes.create_string_buffer(raw))
        dataset = h5d.DatasetID(lib.new("H5Rdereference2", self.file, 0, lib.flag(1), raw))
        return self.tell_region(dataset, h5s.SpaceID(lib.new("H5Rget_region", self.file, lib.flag(1), raw)))

    def tell_any(self, raw):
        what = lib.call("H5Rget_type", raw)
        opened = opened_as(lib.new("H5Ropen_object", raw, 0, 0))
        if what == 2:
            return b"o|" + self.paths.get(address(opened), b"?")
        if what == 3:
            return self.tell_region(opened, h5s.SpaceID(lib.new("H5Ropen_region", raw, 0, 0)))
        name = ctypes.create_string_buffer(4096)
        lib.call("H5Rget_attr_name", raw, name, lib.count(len(name)), result=ctypes.c_int64)
        return b"a|" + name.value + b"|" + self.paths.get(address(opened), b"?")

    def tell_region(self, dataset, space):
        path = self.paths.get(address(dataset), b"?")
        if space.get_select_type() in (h5s.SEL_ALL, h5s.SEL_NONE):
            extent = h5s.SpaceID(lib.new("H5Dget_space", dataset))
            assert space.get_simple_extent_ndims() == extent.get_simple_extent_ndims(), "rank of a region"
            return (b"w||" if space.get_select_type() == h5s.SEL_ALL else b"n||") + path
        if space.get_select_type() == h5s.SEL_POINTS:
            points = [tuple(point) for point in space.get_select_elem_pointlist().tolist()]
            return b"p|" + values.points_text(points) + b"|" + path
        points = set()
        for low, high in space.get_select_hyper_blocklist().tolist():
            points.update(box(low, high))
        return b"h|" + values.points_text(sorted(points)) + b"|" + path

    def type(self, path, found):
        self.add("type", path, kinds.describe(found))

    # --- datasets ---

    def dataset(self, path, dataset):
        kind, committed = self.typed("H5Dget_type", dataset)
        space = space_of(dataset.get_space())
        self.add("dataset", path, kind, committed, space)
        args = (ctypes.c_int64(0),) * 2
        read = lambda memory, buffer: lib.call("H5Dread", dataset, memory, *args, 0, buffer)
        data = self.read(kind, space, read)
        self.add("elements", path, data)
        if is_plain(kind) and space[0] != "null":
            # As users of h5py read it.
            told = h5py.Dataset(dataset)
            assert numpy.asarray(told[()], told.dtype).tobytes() == data, f"h5py has other elements for {path!r}"
        self.create(path, dataset, kind)

    def create(self, path, dataset, kind):
        plist = dataset.get_create_plist()
        layout = name_of(LAYOUTS, plist.get_layout())
        self.add("layout", path, layout, *((tuple(plist.get_chunk()),) if layout == "chunked" else ()))
        self.add("filters", path, *[self.filter(plist, n) for n in range(plist.get_nfilters())])
        fill = FILLS[plist.fill_value_defined()]
        self.add("fill", path, fill, *((self.fill(plist, kind),) if fill == "value" else ()))
        self.add("fill-time", path, name_of(FILL_TIMES, plist.get_fill_time()))
        self.add("alloc", path, name_of(ALLOC_TIMES, plist.get_alloc_time()))

    def filter(self, plist, n):
        number, flags, parameters, _ = plist.get_filter(n)
        name = FILTERS[number]
        return (name, parameters[0]) if name == "deflate" else (name,)

    def fill(self, plist, kind):
        memory = kinds.build(kind)
        buffer = ctypes.create_string_buffer(kinds.memory_size(kind))
        lib.call("H5Pget_fill_value", plist, memory, buffer)
        kinds.close(memory)
        return values.unpack(kind, buffer.raw, 1, self.tell)


def is_plain(kind):
    """Numbers that NumPy has."""
    if kind[0] == "int":
        return kind[4:] == (0, kind[1] * 8, 0, 0)
    return kind[0] == "float" and kind == kinds.ieee(kind[1], kind[2])


def comment_of(opened):
    # h5py's own function gives bytes that it freed already.
    room = ctypes.create_string_buffer(1 << 16)
    lib.call("H5Oget_comment", opened, room, lib.count(len(room)), result=ctypes.c_int64)
    return room.value


def opened_as(hid):
    """An object of h5py for an identifier of libhdf5's."""
    return h5g.GroupID(hid)


def address(opened):
    return h5o.get_info(opened).addr


def group_create(group):
    return h5p.PropGCID(lib.new("H5Gget_create_plist", group))


def box(low, high):
    points = [()]
    for a, b in zip(low, high):
        points = [(*point, n) for point in points for n in range(a, b + 1)]
    return points
