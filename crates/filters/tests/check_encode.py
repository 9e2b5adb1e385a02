"""Lets libhdf5 and hdf5plugin read the chunks that our encoders write.

Usage:
  FILTER_ENCODED=/tmp/encoded.bin cargo test -p hyperslab-filters --test golden -- --ignored
  python3 check_encode.py /tmp/encoded.bin

Makes the datasets of make_golden.py again, puts our chunks in place of theirs and reads them back.
"""

import struct
import sys

import numpy as np

import make_golden as golden

SCALE_OFFSET = 6


def load(path):
    data = open(path, "rb").read()
    out, at = {}, 0
    while at < len(data):
        (length,) = struct.unpack_from("<H", data, at)
        name = data[at + 2 : at + 2 + length].decode()
        mask, size = struct.unpack_from("<II", data, at + 2 + length)
        at += 10 + length
        out[name] = (mask, data[at : at + size])
        at += size
    return out


class Checker:
    def __init__(self, encoded):
        self.encoded = encoded
        self.good = {}
        self.skipped = {}
        self.bad = []

    def add(self, name, dset):
        infos = [dset.id.get_chunk_info(i) for i in range(dset.id.get_num_chunks())]
        whole = [i for i in infos if all(o + c <= n for o, c, n in zip(i.chunk_offset, dset.chunks, dset.shape))]
        ids = tuple(stage[0] for stage in golden.stages_of(dset.id.get_create_plist()))
        for index in sorted({0, len(whole) - 1}):
            self.check(f"{name}#{index}", dset, whole[index].chunk_offset, ids)

    def write_masked(self, name, dset, offset, ours, mask):
        """After a direct write libhdf5 2.0 forgets the mask until the dataset is opened anew."""
        file, path = dset.file, name + "-ours"
        of = dset.id
        copy = golden.h5py.h5d.create(
            file.id, path.encode(), of.get_type(), of.get_space(), of.get_create_plist())
        copy.write_direct_chunk(offset, ours, filter_mask=mask)
        del copy
        return file[path]

    def check(self, name, dset, offset, ids):
        # Takes the chunk out of libhdf5's cache, where it is as it was before lossy filters.
        dset.id.read_direct_chunk(offset)
        expected = golden.chunk_bytes(dset, offset)
        mask, ours = self.encoded[name]
        if mask:
            dset = self.write_masked(name, dset, offset, ours, mask)
        else:
            dset.id.write_direct_chunk(offset, ours)
        tally = self.skipped if mask else self.good
        try:
            ok = same(dset, expected, golden.chunk_bytes(dset, offset), ids)
        except OSError as error:
            ok = False
            name = f"{name} ({error})"
        if ok:
            tally[ids] = tally.get(ids, 0) + 1
        else:
            self.bad.append(name)


def same(dset, expected, found, ids):
    if expected == found:
        return True
    if SCALE_OFFSET in ids and dset.dtype.kind == "f":
        a, b = np.frombuffer(expected, dset.dtype), np.frombuffer(found, dset.dtype)
        digits = dset.id.get_create_plist().get_filter(0)[2][1]
        # A number this near the fill value becomes the fill value.
        return bool(np.all(np.abs(a - b) <= 10.0**-digits))
    return False


def main():
    checker = Checker(load(sys.argv[1]))
    golden.add = checker.add
    with golden.h5py.File("check.h5", "w", driver="core", backing_store=False) as file:
        for part in golden.PARTS:
            part(file)
    for ids in sorted(set(checker.good) | set(checker.skipped)):
        print(ids, "read back:", checker.good.get(ids, 0), "skipped by the encoder:", checker.skipped.get(ids, 0))
    print("wrong:", len(checker.bad), *checker.bad[:40], sep="\n  ")
    sys.exit(bool(checker.bad))


if __name__ == "__main__":
    main()
