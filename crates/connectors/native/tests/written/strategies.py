"""Makes and changes files whose space is managed in other ways, and tells how a file's space is managed.

strategies.py make FOLDER (NAME=STRATEGY,PERSIST,THRESHOLD,PAGE,LIBVER)...
strategies.py change TURN PATH...
strategies.py about PATH...
"""

import sys

import h5py
import numpy

STRATEGIES = ["fsm", "page", "aggregate", "none"]


def fill(group, seed):
    """Objects of many sizes, so that whatever is free is used."""
    for n, size in enumerate([1, 9, 60, 130, 500, 511, 513, 1500, 4000, 5000, 20000]):
        group.create_dataset(f"plain {n}", data=numpy.full(size, seed, "i1"))
    for n in range(40):
        group.create_dataset(f"small {n}", data=numpy.full(7 * n + 1, seed + n, "i2"))
        group.create_group(f"member {n}").attrs["n"] = n
    data = numpy.arange(3000, dtype="i4") + seed
    group.create_dataset("chunked", data=data, chunks=(100,), maxshape=(None,), compression="gzip")
    group.create_dataset("texts", data=[f"a text of its own {n}" * (n % 7) for n in range(200)])
    for n in range(20):
        group.attrs[f"attribute {n}"] = n * seed


def make(folder, *files):
    for name, properties in (file.split("=") for file in files):
        make_file(f"{folder}/{name}", *properties.split(","))


def make_file(path, strategy, persist, threshold, page, libver):
    persist = persist == "true"
    options = {"fs_strategy": strategy, "fs_page_size": int(page), "libver": libver}
    if strategy in ("fsm", "page"):
        options.update(fs_persist=persist, fs_threshold=int(threshold))
    with h5py.File(path, "w", **options) as file:
        fill(file.create_group("first"), 1)
        fill(file.create_group("kept"), 2)
        del file["first"]


def change(turn, *paths):
    for path in paths:
        change_file(path, turn)


def change_file(path, turn):
    with h5py.File(path, "r+") as file:
        if "theirs" in file:
            del file["theirs"]
        fill(file.create_group("theirs"), int(turn))
        if "ours/small" in file:
            file["ours/small"][...] = int(turn)


def datasets(file):
    found = []
    file.visititems(lambda name, thing: found.append(thing) if isinstance(thing, h5py.Dataset) else None)
    return found


def ranges(dataset):
    """Where elements lie."""
    if dataset.chunks is None:
        if dataset.id.get_offset() is not None:
            yield dataset.id.get_offset(), dataset.id.get_storage_size()
    else:
        for n in range(dataset.id.get_num_chunks()):
            chunk = dataset.id.get_chunk_info(n)
            yield chunk.byte_offset, chunk.size


def about(*paths):
    for path in paths:
        about_file(path)


def about_file(path):
    with h5py.File(path, "r") as file:
        create = file.id.get_create_plist()
        strategy, persist, threshold = create.get_file_space_strategy()
        page = create.get_file_space_page_size()
        size, start = file.id.get_filesize(), create.get_userblock()
        if STRATEGIES[strategy] == "page":
            assert (size - start) % page == 0, size
            for at, bytes in (found for dataset in datasets(file) for found in ranges(dataset)):
                at -= start
                first, last = at // page, (at + bytes - 1) // page
                assert at % page == 0 if bytes >= page else first == last, (at, bytes)
        print(STRATEGIES[strategy], str(bool(persist)).lower(), threshold, page, file.id.get_freespace(), size)


{"make": make, "change": change, "about": about}[sys.argv[1]](*sys.argv[2:])
