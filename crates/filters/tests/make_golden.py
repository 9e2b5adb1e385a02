"""Writes tests/golden/chunks.bin.z: chunks that libhdf5 and hdf5plugin wrote, with what they decode to.

Usage: python3 make_golden.py    (needs h5py, numpy and hdf5plugin)

The file is one zlib stream over records, all numbers little-endian:
  u16 name length, name, u32 filter mask, u8 stages,
  per stage: u16 filter id, u16 value count, u32 values,
  u32 stored length, stored bytes, u32 chunk length, then the chunk bytes when the length's top bit is
  clear; when it is set the other bits are the number of an earlier record with the same chunk.
"""

import functools
import os
import struct
import zlib

import h5py
import hdf5plugin
import numpy as np
from h5py import h5p, h5s, h5t, h5z

SEED = 20240229
rng = np.random.default_rng(SEED)
records = []
chunks_seen = {}


def stages_of(plist):
    out = []
    for i in range(plist.get_nfilters()):
        code, _flags, values, _name = plist.get_filter(i)
        out.append((code, values))
    return out


def add(name, dset):
    """Records the first and the last of the chunks that lie wholly inside a dataset."""
    stages = stages_of(dset.id.get_create_plist())
    infos = [dset.id.get_chunk_info(i) for i in range(dset.id.get_num_chunks())]
    whole = [i for i in infos if all(o + c <= n for o, c, n in zip(i.chunk_offset, dset.chunks, dset.shape))]
    for index in sorted({0, len(whole) - 1}):
        info = whole[index]
        mask, stored = dset.id.read_direct_chunk(info.chunk_offset)
        expected = chunk_bytes(dset, info.chunk_offset)
        record(f"{name}#{index}", mask, stages, bytes(stored), expected)


def record(name, mask, stages, stored, expected):
    blob = struct.pack("<H", len(name)) + name.encode() + struct.pack("<IB", mask, len(stages))
    for code, values in stages:
        values = [int(v) & 0xFFFFFFFF for v in values]
        blob += struct.pack(f"<HH{len(values)}I", code, len(values), *values)
    blob += struct.pack("<I", len(stored)) + stored
    if expected in chunks_seen:
        blob += struct.pack("<I", chunks_seen[expected] | 1 << 31)
    else:
        chunks_seen[expected] = len(records)
        blob += struct.pack("<I", len(expected)) + expected
    records.append(blob)


def chunk_bytes(dset, offset):
    """The chunk as libhdf5 decodes it, in the file's own datatype and byte order."""
    space = dset.id.get_space()
    space.select_hyperslab(tuple(offset), tuple(dset.chunks))
    memory = h5s.create_simple(tuple(dset.chunks))
    file_type = dset.id.get_type()
    raw = np.zeros(int(np.prod(dset.chunks)) * file_type.get_size(), dtype="u1")
    dset.id.read(memory, space, raw, file_type)
    return raw.tobytes()


@functools.cache
def smooth(dtype, shape):
    n = int(np.prod(shape))
    x = np.arange(n)
    dtype = np.dtype(dtype)
    if dtype.kind == "f":
        # Multiples of 1/64 keep the file small.
        data = np.round(np.sin(x / 17.0) * 6400) / 64 + rng.integers(0, 3, n) / 4
    else:
        bits = min(dtype.itemsize * 8 - 1, 12)
        data = (np.sin(x / 40.0) + 1) * (1 << (bits - 2)) + rng.integers(0, 5, n)
    return data.astype(dtype).reshape(shape)


@functools.cache
def noise(dtype, shape):
    dtype = np.dtype(dtype)
    raw = rng.integers(0, 256, int(np.prod(shape)) * dtype.itemsize, dtype="u1")
    data = raw.view(dtype).reshape(shape)
    return np.nan_to_num(data) if dtype.kind == "f" else data


def zeros(dtype, shape):
    return np.zeros(shape, dtype)


def plain(file, name, data, chunks, **options):
    add(name, file.create_dataset(name, data=data, chunks=chunks, **options))


def low_level(file, name, tid, data, chunks, setup, fill=None):
    """A dataset through the low-level interface, for what h5py's own does not offer."""
    plist = h5p.create(h5p.DATASET_CREATE)
    plist.set_chunk(chunks)
    if fill is not None:
        plist.set_fill_value(fill)
    setup(plist)
    space = h5s.create_simple(data.shape)
    dsid = h5py.h5d.create(file.id, name.encode(), tid, space, plist)
    dsid.write(h5s.ALL, h5s.ALL, np.ascontiguousarray(data))
    add(name, h5py.Dataset(dsid))


def built_in(file):
    for dtype in ("u1", "<i2", ">i4", "<f8"):
        for make in (smooth, noise, zeros):
            data = make(dtype, (40, 25))
            tag = f"{dtype}-{make.__name__}"
            plain(file, f"deflate-{tag}", data, (20, 25), compression="gzip", compression_opts=6)
            plain(file, f"shuffle-{tag}", data, (7, 9), shuffle=True)
            plain(file, f"fletcher-{tag}", data, (7, 9), fletcher32=True)
            plain(file, f"lzf-{tag}", data, (20, 25), compression="lzf")
            plain(file, f"all-{tag}", data, (20, 25), shuffle=True, compression="gzip", fletcher32=True)
    compound = np.zeros(100, dtype=[("a", "<i4"), ("b", "<f8"), ("c", "u1")])
    compound["a"] = np.arange(100)
    plain(file, "shuffle-compound", compound, (33,), shuffle=True, compression="gzip")


def szip(file):
    for dtype in ("u1", "i1", "<u2", ">i2", "<i4", ">i4", "<f4", "<i8", ">f8"):
        for coding in ("ec", "nn"):
            for block, chunks in ((8, (10, 24)), (16, (10, 25)), (32, (7, 50)), (2, (11, 3)), (4, (25, 7))):
                for make in (smooth, zeros, noise) if block == 16 else (smooth,):
                    name = f"szip-{dtype}-{coding}-{block}-{chunks[1]}-{make.__name__}"
                    data = make(dtype, (50, 50))
                    plain(file, name, data, chunks, compression="szip", compression_opts=(coding, block))
    big = smooth("<i2", (4, 6000)).copy()
    big[1] = 7
    plain(file, "szip-long-lines", big, (4, 6000), compression="szip", compression_opts=("nn", 32))
    for bits in (9, 11, 17, 20, 24, 25):
        tid = h5t.STD_U32LE.copy() if bits > 16 else h5t.STD_U16LE.copy()
        tid.set_precision(bits)
        data = (smooth("<u4", (30, 40)) & ((1 << bits) - 1)).astype("<u4" if bits > 16 else "<u2")
        for mask in (4, 32):
            low_level(file, f"szip-precision-{bits}-{mask}", tid, data, (15, 21), lambda p: p.set_szip(mask, 16))


def nbit_types():
    yield "u16", h5t.STD_U16LE, "<u2", 11, 3
    yield "i32be", h5t.STD_I32BE, ">i4", 17, 5
    yield "i64", h5t.STD_I64LE, "<i8", 50, 1
    yield "i8", h5t.STD_I8LE, "i1", 5, 0
    yield "full", h5t.STD_I32LE, "<i4", 32, 0


def nbit(file):
    use = lambda p: p.set_filter(h5z.FILTER_NBIT, 1, ())
    for tag, base, dtype, precision, offset in nbit_types():
        tid = base.copy()
        tid.set_precision(precision)
        tid.set_offset(offset)
        data = noise(dtype, (20, 15))
        low_level(file, f"nbit-{tag}", tid, data, (20, 15), use)
    low_level(file, "nbit-f4", short_float(), smooth("<f4", (20, 15)), (20, 15), use)
    nbit_compound(file, use)


def short_float():
    tid = h5t.IEEE_F32LE.copy()
    tid.set_fields(26, 20, 6, 7, 13)
    tid.set_offset(7)
    tid.set_precision(20)
    tid.set_ebias(31)
    return tid


def nbit_compound(file, use):
    member = h5t.STD_I16LE.copy()
    member.set_precision(9)
    member.set_offset(3)
    text = h5t.C_S1.copy()
    text.set_size(3)
    tid = h5t.create(h5t.COMPOUND, 24)
    tid.insert(b"a", 0, member)
    tid.insert(b"s", 4, text)
    tid.insert(b"arr", 8, h5t.array_create(member, (2, 2)))
    tid.insert(b"f", 16, h5t.IEEE_F32BE)
    plist = h5p.create(h5p.DATASET_CREATE)
    plist.set_chunk((50,))
    use(plist)
    dsid = h5py.h5d.create(file.id, b"nbit-compound", tid, h5s.create_simple((50,)), plist)
    raw = rng.integers(0, 256, 50 * 24, dtype="u1")
    dsid.write(h5s.ALL, h5s.ALL, raw, tid)
    add("nbit-compound", h5py.Dataset(dsid))


def scale_offset(file):
    for dtype in ("i1", "u1", "<i2", ">u2", "<i4", ">i4", "<i8", ">u8"):
        for make in (smooth, zeros, noise):
            plain(file, f"scale-{dtype}-{make.__name__}", make(dtype, (30, 20)), (10, 20), scaleoffset=0)
        plain(file, f"scale-{dtype}-6", smooth(dtype, (30, 20)), (10, 20), scaleoffset=6)
        filled = smooth(dtype, (30, 20)).copy()
        filled[3:5] = 99
        plain(file, f"scale-{dtype}-fill", filled, (10, 20), scaleoffset=0, fillvalue=99)
    for dtype in ("<f4", ">f4", "<f8", ">f8"):
        for digits in (0, 2, 4):
            data = smooth(dtype, (30, 20)).copy()
            data[::7] = 5
            plain(file, f"scale-{dtype}-{digits}", data, (10, 20), scaleoffset=digits, fillvalue=5)
        plain(file, f"scale-{dtype}-noise", noise(dtype, (30, 20)), (10, 20), scaleoffset=3)
    plain(file, "scale-full", smooth("<i4", (30, 20)), (10, 20), scaleoffset=32)


def plugins(file):
    for dtype in ("u1", "<i2", "<f4", ">f8", "<c16"):
        for make in (smooth, noise, zeros):
            shape, chunks = (30, 30), (15, 30)
            data = make("<f8", shape).astype(dtype) if dtype == "<c16" else make(dtype, shape)
            for tag, option in plugin_options():
                plain(file, f"{tag}-{dtype}-{make.__name__}", data, chunks, **option)
    plain(file, "bitshuffle-odd", smooth("<i4", (1003,)), (501,), **hdf5plugin.Bitshuffle(cname="lz4"))
    plain(file, "bitshuffle-odd-none", smooth("<i4", (1003,)), (501,), **hdf5plugin.Bitshuffle(cname="none"))
    plain(file, "bitshuffle-block", smooth("<i4", (3000,)), (1501,),
          **hdf5plugin.Bitshuffle(nelems=64, cname="zstd"))
    plain(file, "lz4-blocks", smooth("<i4", (3000,)), (1501,), **hdf5plugin.LZ4(nbytes=1000))


def plugin_options():
    yield "bzip2", hdf5plugin.BZip2(blocksize=5)
    yield "lz4", hdf5plugin.LZ4()
    yield "zstd", hdf5plugin.Zstd(clevel=5)
    yield "bitshuffle-none", hdf5plugin.Bitshuffle(cname="none")
    yield "bitshuffle-lz4", hdf5plugin.Bitshuffle(cname="lz4")
    yield "bitshuffle-zstd", hdf5plugin.Bitshuffle(cname="zstd")


def bloscs(file):
    for cname in ("blosclz", "lz4", "lz4hc", "snappy", "zlib", "zstd"):
        for shuffle in (0, 1, 2):
            for dtype in ("u1", "<i2", "<f8", "S13"):
                blosc1(file, cname, shuffle, dtype)
                if cname != "snappy":
                    blosc2(file, cname, shuffle, dtype)
    for cname in ("blosclz", "lz4", "zstd"):
        for shuffle in (0, 1, 2):
            data = smooth("<i2", (200, 170)).astype("<i4") // 8 * 8
            plain(file, f"blosc-large-{cname}-{shuffle}", data, (200, 170), **hdf5plugin.Blosc(cname, 1, shuffle))
            plain(file, f"blosc2-large-{cname}-{shuffle}", data, (200, 170), **hdf5plugin.Blosc2(cname, 1, shuffle))
    blosc2_extra(file)


def bytes_like(dtype, shape):
    if dtype != "S13":
        return smooth(dtype, shape)
    return np.array([b"element %05d" % (i % 77) for i in range(int(np.prod(shape)))], "S13").reshape(shape)


def blosc1(file, cname, shuffle, dtype):
    name = f"blosc-{cname}-{shuffle}-{dtype}"
    try:
        plain(file, name, bytes_like(dtype, (60, 21)), (60, 21), **hdf5plugin.Blosc(cname, 5, shuffle))
    except (RuntimeError, ValueError, OSError) as error:
        print("skipped", name, error)


def blosc2(file, cname, shuffle, dtype):
    for shape, chunks in (((30, 41), (30, 41)), ((703,), (703,)), ((9, 11, 30), (9, 11, 13))):
        name = f"blosc2-{cname}-{shuffle}-{dtype}-{len(shape)}"
        plain(file, name, bytes_like(dtype, shape), chunks, **hdf5plugin.Blosc2(cname, 5, shuffle))


def blosc2_extra(file):
    """Delta, truncated precision, several blocks, and chunks that are all one value."""
    for dtype in ("u1", "<i2", "<i4", "<f8", "<c16"):
        data = smooth("<f8", (3000,)).astype(dtype)
        for code, tag in ((hdf5plugin.Blosc2.DELTA, "delta"), (hdf5plugin.Blosc2.TRUNC_PREC, "trunc")):
            if tag == "trunc" and dtype not in ("<f8",):
                continue
            plain(file, f"blosc2-{tag}-{dtype}", data, (1500,), **hdf5plugin.Blosc2("zstd", 5, code))
        for make in (noise, zeros):
            plain(file, f"blosc2-{make.__name__}-{dtype}", make("<i8", (20, 20)).astype(dtype), (20, 20),
                  **hdf5plugin.Blosc2("lz4", 5, 1))
    for value in (np.nan, 7.5):
        plain(file, f"blosc2-constant-{value}", np.full((40, 40), value), (40, 40), **hdf5plugin.Blosc2("lz4", 5, 1))


def blosc2_blocks(file):
    """Small blocks: delta against the first block, and n-dimensional blocks that reach past the edges."""
    for dtype in ("u1", "<i4", ">f8"):
        data = smooth("<f8", (3000,)).astype(dtype)
        for code in (0, 1, 2, hdf5plugin.Blosc2.DELTA):
            options = {"compression": 32026, "compression_opts": (0, 512, 0, 0, 5, code, 5)}
            plain(file, f"blosc2-blocks-{code}-{dtype}", data, (1501,), **options)
            shaped = data[:2925].reshape(9, 13, 25)
            plain(file, f"blosc2-blocks-{code}-{dtype}-3", shaped, (9, 13, 25), **options)
            plain(file, f"blosc2-blocks-{code}-{dtype}-4", data[:1260].reshape(3, 5, 7, 12), (3, 5, 7, 12), **options)


def blosc2_special(file):
    """Frames made by hand around chunks of one value, which hdf5plugin does not write but reads."""
    for dtype, value in (("<f4", b""), ("<f8", b""), ("<f8", np.float64(7.5).tobytes()), ("<i2", b"\x34\x12")):
        size = np.dtype(dtype).itemsize
        kinds = (3,) if value else (1, 2)
        for kind in kinds:
            header = struct.pack("<4B3I", 5, 1, 5, size, 100 * size, 100 * size, 32 + len(value))
            chunk = header + bytes(15) + bytes([kind << 4]) + value
            special_frame(file, f"blosc2-special-{kind}-{dtype}", dtype, chunk, 0)
            if not value:
                special_frame(file, f"blosc2-offset-{kind}-{dtype}", dtype, b"", 1 << 63 | kind << 56)


def special_frame(file, name, dtype, chunk, offset):
    size = np.dtype(dtype).itemsize
    index = struct.pack("<4B3I", 5, 1, 7, 8, 8, 8, 40) + bytes(5) + b"\1" + bytes(10) + struct.pack("<Q", offset)
    trailer = bytes.fromhex("940193cd0006de0000dc0000ce00000023d800") + bytes(16)
    frame = b"\x9e\xa8b2frame\0" + struct.pack(">BIBQ", 0xD2, 97, 0xCF, 97 + len(chunk) + 40 + 35)
    frame += bytes.fromhex("a412005100") + struct.pack(">BQBQ", 0xD3, 100 * size, 0xD3, len(chunk))
    frame += struct.pack(">BIBIBI", 0xD2, size, 0xD2, 100 * size, 0xD2, 100 * size)
    frame += bytes.fromhex("d10001d10001c2d806") + bytes(5) + b"\1\1" + bytes(9)
    frame += bytes.fromhex("93cd0007de0000dc0000") + chunk + index + trailer
    dset = file.create_dataset(name, (100,), dtype, chunks=(100,), **hdf5plugin.Blosc2("lz4", 5, 1))
    dset.id.write_direct_chunk((0,), frame)
    add(name, dset)


PARTS = (built_in, szip, nbit, scale_offset, plugins, bloscs, blosc2_blocks, blosc2_special)


def main():
    here = os.path.dirname(os.path.abspath(__file__))
    with h5py.File("golden.h5", "w", driver="core", backing_store=False) as file:
        for part in PARTS:
            before = len(records)
            part(file)
            print(part.__name__, len(records) - before)
    packed = zlib.compress(b"".join(records), 9)
    with open(os.path.join(here, "golden", "chunks.bin.z"), "wb") as out:
        out.write(packed)
    print(len(records), "records,", len(packed), "bytes, seed", SEED)


if __name__ == "__main__":
    main()
