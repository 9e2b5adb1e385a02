"""Makes files that are broken as the files behind published CVEs of HDF5 libraries are.

A good file of h5py gets one wrong field: a size, a count, a rank, or an address that leads to where it stands. Checksums are
made right again, so that the field is what a reader meets. `make.py` puts the files into DIR/broken.
"""
import io
import os
import struct

import h5py
import numpy as np

CONTINUATION, DATASPACE, DATATYPE, FILL, LINK, LAYOUT, PIPELINE, ATTRIBUTE, SYMBOL_TABLE = 16, 1, 3, 5, 6, 8, 11, 12, 17
WORD = 0xFFFFFFFF


def rotated(value, bits):
    return (value << bits | value >> (32 - bits)) & WORD


def lookup3(data):
    """The checksum of metadata: Bob Jenkins's hash of bytes, from 0."""
    a = b = c = (0xDEADBEEF + len(data)) & WORD
    while len(data) > 12:
        x, y, z = struct.unpack_from("<3I", data)
        a, b, c = (a + x) & WORD, (b + y) & WORD, (c + z) & WORD
        for bits in (4, 6, 8, 16, 19, 4):
            a = ((a - c) & WORD) ^ rotated(c, bits)
            c = (c + b) & WORD
            a, b, c = b, c, a
        data = data[12:]
    if not data:
        return c
    x, y, z = struct.unpack("<3I", data.ljust(12, b"\0"))
    a, b, c = (a + x) & WORD, (b + y) & WORD, (c + z) & WORD
    for bits in (14, 11, 25, 16, 4, 14, 24):
        c = ((c ^ b) - rotated(b, bits)) & WORD
        a, b, c = b, c, a
    return b


class Image:
    """The bytes of a file, to be changed."""

    def __init__(self, fill, **options):
        file = io.BytesIO()
        with h5py.File(file, "w", **options) as f:
            fill(f)
        file.seek(0)
        self.addresses = {"/": 0}
        with h5py.File(file, "r") as f:
            self.addresses["/"] = h5py.h5o.get_info(f.id).addr
            f.visititems(lambda name, item: self.addresses.update({name: h5py.h5o.get_info(item.id).addr}))
        self.data = bytearray(file.getvalue())

    def put(self, at, form, *values):
        struct.pack_into("<" + form, self.data, at, *values)

    def get(self, at, form):
        return struct.unpack_from("<" + form, self.data, at)[0]

    def sum_end(self, start):
        """Where the checksum of the structure at `start` stands."""
        for end in range(start + 8, min(start + 4096, len(self.data) - 3)):
            if self.get(end, "I") == lookup3(bytes(self.data[start:end])):
                return end
        raise ValueError(f"no checksum after {start:#x}")

    def forge(self, start, offset, form, *values):
        """Changes a field of the structure at `start`, and its checksum if it has one."""
        end = self.sum_end(start) if self.is_summed(start) else None
        self.put(start + offset, form, *values)
        if end is not None:
            self.put(end, "I", lookup3(bytes(self.data[start:end])))

    def is_summed(self, start):
        signature = bytes(self.data[start:start + 4])
        return signature[:1].isalpha() and signature not in (b"TREE", b"SNOD", b"HEAP", b"GCOL")

    def find(self, signature, nth=0):
        at = -1
        for _ in range(nth + 1):
            at = self.data.index(signature, at + 1)
        return at

    def blocks(self, name):
        """Yields the blocks of a header: where each begins, its messages' start and end, and the bytes of a message's head."""
        start = self.addresses[name]
        if self.data[start:start + 4] != b"OHDR":
            yield start, start + 16, start + 16 + self.get(start + 8, "I"), 8
            return
        flags = self.data[start + 5]
        at = start + 6 + (16 if flags & 0x20 else 0) + (4 if flags & 0x10 else 0)
        width = 1 << (flags & 3)
        size = int.from_bytes(self.data[at:at + width], "little")
        yield start, at + width, at + width + size, 6 if flags & 4 else 4

    def messages(self, name):
        """Yields type, start of the message's head, start and size of its data, and start of its block."""
        blocks = list(self.blocks(name))
        while blocks:
            start, at, end, head = blocks.pop()
            while at + head <= end:
                kind, size = (self.get(at, "H"), self.get(at + 2, "H")) if head == 8 else (self.data[at], self.get(at + 1, "H"))
                yield kind, at, at + head, size, start
                if kind == CONTINUATION:
                    there, length = self.get(at + head, "Q"), self.get(at + head + 8, "Q")
                    blocks.append((there, there, there + length, 8) if head == 8 else (there, there + 4, there + length - 4, head))
                at += head + size

    def forge_message(self, name, kind, offset, form, *values):
        """Changes a field of the data of a message."""
        at, block = next((data, block) for found, _, data, _, block in self.messages(name) if found == kind)
        self.forge(block, at + offset - block, form, *values)

    def forge_head(self, name, kind, offset, form, *values):
        """Changes a field of a message's head: type, size, flags."""
        at, block = next((head, block) for found, head, _, _, block in self.messages(name) if found == kind)
        self.forge(block, at + offset - block, form, *values)


def content(f):
    f.create_dataset("grid", data=np.arange(400, dtype="<i4").reshape(20, 20), chunks=(5, 5), compression="gzip")
    f.create_dataset("grows", data=np.arange(40.0), chunks=(4,), maxshape=(None,))
    f.create_dataset("both", data=np.ones((9, 9)), chunks=(3, 3), maxshape=(None, None))
    f.create_dataset("plain", data=np.arange(10))
    f.create_dataset("texts", data=["one", "three"], dtype=h5py.string_dtype())
    f["compound"] = np.zeros(3, dtype=[("i", "<i4"), ("x", ">f8")])
    f["array"] = np.zeros(2, np.dtype([("a", ("<i2", (3, 2)))]))
    group = f.create_group("group")
    for n in range(40):
        group[f"link {n:02}"] = h5py.SoftLink("/grid")
        group.attrs[f"attribute {n:02}"] = n
    f.create_group("small")["link"] = h5py.SoftLink("/grid")
    f.attrs["title"] = "a title"
    f["type"] = np.dtype("<i8")
    f.create_dataset("shared", (3,), dtype=f["type"])


def old():
    return Image(content, libver=("earliest", "v108"))


def new():
    return Image(content, libver=("latest", "latest"))


def old_cases():
    """One wrong field in structures of the first generation, which have no checksums."""
    yield "superblock-offsets-of-255-bytes", lambda i: i.put(13, "B", 255)
    yield "superblock-root-is-superblock", lambda i: i.put(64, "Q", 0)
    yield "superblock-base-past-end", lambda i: i.put(24, "Q", 1 << 62)
    yield "header-of-65535-messages", lambda i: i.put(i.addresses["grid"] + 2, "H", 0xFFFF)
    yield "header-longer-than-file", lambda i: i.put(i.addresses["grid"] + 8, "I", WORD)
    yield "message-longer-than-header", lambda i: i.forge_head("grid", DATASPACE, 2, "H", 0xFFF8)
    yield "continuation-to-itself", continued_to_itself
    yield "symbol-table-leads-to-header", lambda i: i.forge_message("/", SYMBOL_TABLE, 0, "Q", i.addresses["/"])
    yield "heap-of-a-group-is-the-tree", lambda i: i.forge_message("/", SYMBOL_TABLE, 8, "Q", i.find(b"TREE"))
    yield "tree-of-65535-entries", lambda i: i.put(i.find(b"TREE") + 6, "H", 0xFFFF)
    yield "tree-of-255-levels", lambda i: i.put(i.find(b"TREE") + 5, "B", 255)
    yield "tree-leads-to-itself", tree_to_itself
    yield "node-of-65535-symbols", lambda i: i.put(i.find(b"SNOD") + 6, "H", 0xFFFF)
    yield "local-heap-of-2-to-63-bytes", lambda i: i.put(i.find(b"HEAP") + 8, "Q", 1 << 63)
    yield "local-heap-free-list-past-end", lambda i: i.put(i.find(b"HEAP") + 16, "Q", 1 << 40)
    yield "global-heap-of-2-to-63-bytes", lambda i: i.put(i.find(b"GCOL") + 8, "Q", 1 << 63)
    yield "global-heap-object-of-2-to-63-bytes", lambda i: i.put(i.find(b"GCOL") + 24, "Q", 1 << 63)
    yield "dataspace-of-255-dimensions", lambda i: i.forge_message("grid", DATASPACE, 1, "B", 255)
    yield "dataspace-of-2-to-120-elements", lambda i: i.forge_message("grid", DATASPACE, 8, "QQ", 1 << 60, 1 << 60)
    yield "datatype-of-no-bytes", lambda i: i.forge_message("plain", DATATYPE, 4, "I", 0)
    yield "datatype-of-4-gib", lambda i: i.forge_message("plain", DATATYPE, 4, "I", WORD)
    yield "number-of-65535-bits", lambda i: i.forge_message("plain", DATATYPE, 10, "H", 0xFFFF)
    yield "compound-of-65535-members", lambda i: i.forge_message("compound", DATATYPE, 1, "H", 0xFFFF)
    yield "layout-of-255-dimensions", lambda i: i.forge_message("grid", LAYOUT, 2, "B", 255)
    yield "chunks-of-no-elements", lambda i: i.forge_message("grid", LAYOUT, 11, "I", 0)
    yield "chunks-of-2-to-64-elements", lambda i: i.forge_message("grid", LAYOUT, 11, "II", WORD, WORD)
    yield "fill-value-of-4-gib", lambda i: i.forge_message("plain", FILL, 4, "I", 0x7FFFFFFF)
    yield "pipeline-of-255-filters", lambda i: i.forge_message("grid", PIPELINE, 1, "B", 255)
    yield "filter-of-65535-values", filter_of_many_values
    yield "attribute-with-a-long-name", lambda i: i.forge_message("/", ATTRIBUTE, 2, "H", 0xFFFF)
    yield "attribute-with-a-long-type", lambda i: i.forge_message("/", ATTRIBUTE, 4, "H", 0xFFFF)
    yield "datatype-shared-with-itself", shared_with_itself
    yield "cut-in-the-middle", lambda i: i.data.__delitem__(slice(len(i.data) // 2, None))


def new_cases():
    """One wrong field in structures with checksums."""
    yield "superblock-end-of-2-to-63", lambda i: i.forge(0, 28, "Q", 1 << 63)
    yield "superblock-extension-is-superblock", lambda i: i.forge(0, 20, "Q", 0)
    yield "new-continuation-to-itself", continued_to_itself
    yield "new-dataspace-of-255-dimensions", lambda i: i.forge_message("grid", DATASPACE, 1, "B", 255)
    yield "new-chunks-of-255-byte-sizes", lambda i: i.forge_message("grid", LAYOUT, 4, "B", 255)
    yield "new-chunks-of-no-elements", lambda i: i.forge_message("grid", LAYOUT, 5, "B", 0)
    yield "link-with-a-long-name", lambda i: i.forge_message("small", LINK, 2, "B", 255)
    yield "fractal-heap-without-width", lambda i: i.forge(i.find(b"FRHP"), 110, "H", 0)
    yield "fractal-heap-of-blocks-without-bytes", lambda i: i.forge(i.find(b"FRHP"), 112, "Q", 0)
    yield "fractal-heap-of-blocks-of-2-to-63", lambda i: i.forge(i.find(b"FRHP"), 120, "Q", 1 << 63)
    yield "fractal-heap-of-65535-rows", lambda i: i.forge(i.find(b"FRHP"), 140, "H", 0xFFFF)
    yield "fractal-heap-ids-of-65535-bytes", lambda i: i.forge(i.find(b"FRHP"), 5, "H", 0xFFFF)
    yield "tree-of-nodes-without-bytes", lambda i: i.forge(i.find(b"BTHD"), 6, "I", 0)
    yield "tree-of-nodes-of-4-gib", lambda i: i.forge(i.find(b"BTHD"), 6, "I", WORD)
    yield "tree-of-records-without-bytes", lambda i: i.forge(i.find(b"BTHD"), 10, "H", 0)
    yield "tree-of-65535-levels", lambda i: i.forge(i.find(b"BTHD"), 12, "H", 0xFFFF)
    yield "tree-whose-root-is-its-header", lambda i: i.forge(i.find(b"BTHD"), 16, "Q", i.find(b"BTHD"))
    yield "tree-of-65535-records", lambda i: i.forge(i.find(b"BTHD"), 24, "H", 0xFFFF)
    yield "array-of-elements-without-bytes", lambda i: i.forge(i.find(b"EAHD"), 6, "B", 0)
    yield "array-of-2-to-255-elements", lambda i: i.forge(i.find(b"EAHD"), 7, "B", 255)
    yield "array-without-index-block-elements", lambda i: i.forge(i.find(b"EAHD"), 8, "B", 0)
    yield "array-of-blocks-of-255-pointers", lambda i: i.forge(i.find(b"EAHD"), 10, "B", 255)
    yield "array-whose-index-block-is-its-header", array_to_itself
    yield "fixed-array-of-2-to-63-elements", lambda i: i.forge(i.find(b"FAHD"), 8, "Q", 1 << 63)
    yield "fixed-array-of-pages-of-2-to-255", lambda i: i.forge(i.find(b"FAHD"), 7, "B", 255)
    yield "fixed-array-whose-block-is-its-header", lambda i: i.forge(i.find(b"FAHD"), 16, "Q", i.find(b"FAHD"))


def continued_to_itself(image):
    """The first message becomes one that says the header goes on where it is."""
    start = image.addresses["grid"]
    _, head, data, _, _ = next(m for m in image.messages("grid") if m[3] >= 16)
    end = image.sum_end(start) if image.is_summed(start) else None
    is_new = end is not None
    image.put(head, "B" if is_new else "H", CONTINUATION)
    image.put(data, "QQ", *((start, end + 4 - start) if is_new else (start + 16, image.get(start + 8, "I"))))
    if is_new:
        image.put(end, "I", lookup3(bytes(image.data[start:end])))


def tree_to_itself(image):
    at = image.find(b"TREE")
    image.put(at + 5, "B", 1)
    image.put(at + 24 + 8, "Q", at)


def filter_of_many_values(image):
    at = next(data for kind, _, data, _, _ in image.messages("grid") if kind == PIPELINE)
    image.put(at + (8 if image.data[at] == 1 else 2) + 6, "H", 0xFFFF)


def shared_with_itself(image):
    """A committed datatype whose message says that it is stored in the same object."""
    at = next(data for kind, _, data, _, _ in image.messages("type") if kind == DATATYPE)
    image.forge_head("type", DATATYPE, 4, "B", 2)
    image.put(at, "BBQ", 2, 2, image.addresses["type"])


def array_to_itself(image):
    at = image.find(b"EAHD")
    image.forge(at, 12 + 6 * 8, "Q", at)


def make_broken(folder):
    """Makes all files; returns how many."""
    os.makedirs(folder, exist_ok=True)
    count = 0
    for make, cases in ((old, old_cases), (new, new_cases)):
        good = bytes(make().data)
        for name, change in cases():
            image = make()
            change(image)
            if bytes(image.data) == good:
                raise ValueError(f"{name} changed nothing")
            with open(os.path.join(folder, name + ".h5"), "wb") as out:
                out.write(image.data)
            count += 1
    return count
