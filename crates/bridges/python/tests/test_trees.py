"""Random trees: what one library writes, the other reads; h5py is the oracle."""

import h5py
import numpy as np
import pytest

import hyperslab

SHAPES = [(), (1,), (7,), (0,), (3, 4), (2, 3, 2), (40, 30)]
TREES = 40


def kinds(library):
    """Return dtypes that both libraries have, in the words of one."""
    inner = np.dtype([("a", "<i2"), ("b", ">f8", (2,))])
    return [
        np.dtype(name) for name in ("i1", "u2", "<i4", ">i8", "u8", "f2", "<f4", ">f8", "c8", "c16", "?", "S5", "V3")
    ] + [
        np.dtype([("x", "<i4"), ("y", inner), ("s", "S3")]),
        library.string_dtype(), library.string_dtype("ascii"), library.string_dtype("utf-8", 9),
        library.vlen_dtype(np.dtype("<i4")), library.enum_dtype({"red": 1, "green": 5}, "<i2"),
        np.dtype([("n", "<u4"), ("t", library.string_dtype())]),
    ]


def values(random, dtype, shape):
    """Return random elements."""
    count = int(np.prod(shape))
    if dtype.names and dtype.hasobject:
        out = np.empty(count, dtype)
        out["n"] = random.integers(0, 99, count)
        out["t"] = [text(random) for _ in range(count)]
    elif dtype.kind == "O":
        out = np.empty(count, object)
        vlen = dtype.metadata["vlen"]
        make = text if vlen in (str, bytes) else sequence
        out[:] = [make(random, vlen) for _ in range(count)]
    elif "enum" in (dtype.metadata or {}):
        out = random.choice([1, 5], count).astype(dtype)
    elif dtype.kind in "SV" and dtype.names is None:
        out = np.array([text(random, bytes)[: dtype.itemsize].ljust(dtype.itemsize, b"q") for _ in range(count)],
                       "S" + str(dtype.itemsize)).view(dtype)
    else:
        out = np.zeros(count, dtype)
        fill(random, out)
    return out.reshape(shape)


def fill(random, array):
    """Set numbers of every field."""
    if array.dtype.names:
        for name in array.dtype.names:
            part = np.zeros(array[name].shape, array[name].dtype)
            fill(random, part)
            array[name] = part
    elif array.dtype.kind == "S":
        array[...] = b"ab"
    else:
        array[...] = random.integers(0, 100, array.shape).astype(array.dtype)


def text(random, kind=str):
    """Return a random string."""
    letters = "abcdé" if kind is str else "abcde"
    made = "".join(random.choice(list(letters), random.integers(1, 6)))
    return made if kind is str else made.encode()


def sequence(random, base):
    """Return a few random numbers."""
    return random.integers(-9, 9, random.integers(0, 4)).astype(base)


def options(random, shape, dtype):
    """Return random options of a dataset."""
    if not shape or random.random() < 0.4:
        return {}
    made = {"chunks": True, "maxshape": (None,) * len(shape)}
    if random.random() < 0.7:
        made["compression"] = random.choice(["gzip", "lzf"])
        made["shuffle"] = bool(random.random() < 0.5)
    # libhdf5 has no checksums of variable-length values.
    made["fletcher32"] = bool(random.random() < 0.3) and not dtype.hasobject
    return made


def write(library, path, seed):
    """Write a random tree."""
    random = np.random.default_rng(seed)
    with library.File(path, "w", libver=random.choice(["earliest", "latest"]), track_order=bool(seed % 2)) as f:
        groups = [f]
        for at in range(random.integers(5, 25)):
            group = groups[random.integers(len(groups))]
            what = random.random()
            if what < 0.3:
                groups.append(group.create_group(f"g{at}"))
            elif what < 0.35:
                group[f"soft{at}"] = library.SoftLink("/nowhere")
            elif what < 0.4:
                group[f"empty{at}"] = library.Empty("f4")
            else:
                add_dataset(library, random, group, f"d{at}")
            attributes(library, random, group)
        if len(groups) > 1:
            f["hard"] = groups[-1]


def add_dataset(library, random, group, name):
    """Add a random dataset."""
    all_kinds = kinds(library)
    dtype, shape = all_kinds[random.integers(len(all_kinds))], SHAPES[random.integers(len(SHAPES))]
    dataset = group.create_dataset(name, shape, dtype, **options(random, shape, dtype))
    data = values(random, dtype, shape)
    if dtype.kind == "O" and dtype.metadata.get("vlen") not in (str, bytes):
        for index in np.ndindex(*shape):
            dataset[index] = data[index]
    elif data.size:
        dataset[...] = data
    attributes(library, random, dataset)


def attributes(library, random, owner):
    """Set random attributes."""
    for at in range(random.integers(0, 4)):
        value = [3.5, "text é", np.arange(4, dtype=">i2"), np.bytes_(b"fixed"), ["a", "bc"], np.bool_(True),
                 library.Empty("i4"), np.array([(1, 2.0)], [("i", "i4"), ("f", "f8")])][random.integers(8)]
        owner.attrs[f"a{at}"] = value


def same(left, right):
    """Assert that two values are equal, and of the same type."""
    if isinstance(left, (h5py.Empty, hyperslab.Empty)):
        assert left.dtype == right.dtype and right.shape is None
        return
    assert type(left) is type(right)
    if not isinstance(left, np.ndarray):
        assert left == right
        return
    assert left.dtype == right.dtype and left.shape == right.shape
    if left.dtype.kind == "O":
        for one, other in zip(left.flat, right.flat):
            same(one, other)
    else:
        np.testing.assert_array_equal(left, right)


def compare(theirs, ours):
    """Assert that two trees are equal."""
    assert list(theirs) == list(ours)
    assert list(theirs.attrs) == list(ours.attrs)
    for name in theirs.attrs:
        same(theirs.attrs[name], ours.attrs[name])
    for name in theirs:
        assert type(theirs.get(name, getlink=True)).__name__ == type(ours.get(name, getlink=True)).__name__
        left, right = theirs.get(name), ours.get(name)
        if isinstance(left, h5py.Group):
            compare(left, right)
        elif left is not None:
            compare_datasets(left, right)
        else:
            assert right is None


def compare_datasets(left, right):
    """Assert that two datasets are equal."""
    for name in ("shape", "maxshape", "dtype", "chunks", "compression", "compression_opts", "shuffle", "fletcher32"):
        assert getattr(left, name) == getattr(right, name), name
    same(left[()], right[()])
    same(left.fillvalue, right.fillvalue)
    for name in left.attrs:
        same(left.attrs[name], right.attrs[name])


@pytest.mark.parametrize("seed", range(TREES))
def test_h5py_and_hyperslab_read_the_same_of_either_file(tmp_path, seed):
    for number, library in enumerate((h5py, hyperslab)):
        path = tmp_path / f"{number}.h5"
        write(library, path, seed)
        with h5py.File(path) as theirs, hyperslab.File(path) as ours:
            compare(theirs, ours)
