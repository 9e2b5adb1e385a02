"""Indexes give what numpy gives."""

import numpy as np
import pytest

import hyperslab

ARRAY = np.arange(6 * 7 * 8).reshape(6, 7, 8)
INDEXES = [
    (), ..., 3, -1, (2, 3), (2, 3, 4), slice(1, 5), slice(None, None, 3), (slice(1, 4), ..., 2), (..., -2),
    (slice(5, 2),), (slice(0, 100),), (1, [0, 2, 5]), (slice(0, 6, 2), [1, 2, 3, 6], slice(0, 8, 3)),
    ([0, 5],), (..., [-2, -1]), np.array([True, False, True, False, False, True]), ARRAY % 3 == 0, ARRAY < 0,
    (slice(None), np.arange(7) > 3), (np.int64(2), np.uint8(1)), (slice(None), []),
]


@pytest.fixture(params=[None, (2, 3, 5)], ids=["contiguous", "chunked"])
def dataset(request, tmp_path):
    with hyperslab.File(tmp_path / "a.h5", "w") as f:
        yield f.create_dataset("a", data=ARRAY, chunks=request.param)


@pytest.mark.parametrize("index", INDEXES, ids=lambda index: str(index)[:40])
def test_read_is_numpys(dataset, index):
    expected, found = ARRAY[index], dataset[index]
    assert type(expected) is type(found) and expected.shape == found.shape
    np.testing.assert_array_equal(expected, found)


@pytest.mark.parametrize("index", INDEXES, ids=lambda index: str(index)[:40])
def test_write_is_numpys(dataset, index):
    expected = ARRAY.copy()
    new = -np.arange(expected[index].size).reshape(expected[index].shape)
    expected[index] = new
    dataset[index] = new
    np.testing.assert_array_equal(dataset[...], expected)


def test_a_value_is_spread_over_the_elements(dataset):
    dataset[1:3] = np.arange(8)
    dataset[4] = 9
    assert (dataset[2, 5] == np.arange(8)).all() and (dataset[4] == 9).all()


@pytest.mark.parametrize(("index", "error"), [
    (6, IndexError), (-7, IndexError), (slice(None, None, -1), ValueError), ((0, 0, 0, 0), (TypeError, ValueError)),
    ((None, 1), TypeError), ([2, 1], TypeError), ([1, 1], TypeError), (([1], [2]), TypeError), ("field", ValueError),
    ([9], IndexError), (np.array([True]), TypeError), (1.5, TypeError), ((..., ...), ValueError),
])
def test_what_is_no_index_is_refused(dataset, index, error):
    with pytest.raises(error):
        dataset[index]


def test_random_indexes_are_numpys(dataset):
    random = np.random.default_rng(7)
    for _ in range(300):
        index = tuple(item(random, length) for length in ARRAY.shape[: random.integers(1, 4)])
        np.testing.assert_array_equal(dataset[index], ARRAY[index], err_msg=str(index))


def item(random, length):
    """Return a number or a slice."""
    if random.random() < 0.3:
        return int(random.integers(-length, length))
    start, stop = (None if random.random() < 0.2 else int(random.integers(-length - 2, length + 3)) for _ in range(2))
    return slice(start, stop, int(random.integers(1, 4)))
