"""Reading many datasets at once."""

from concurrent.futures import ThreadPoolExecutor


def read_many(datasets, workers=None):
    """Return the elements of many datasets, or of parts of them, as a list.

    An item is a dataset, or a pair of a dataset and an index. They are read at the same time: the native module holds
    no lock.

    >>> import hyperslab, numpy
    >>> f = hyperslab.File.in_memory()
    >>> f["a"], f["b"] = [1, 2, 3], [4.5, 5.5]
    >>> hyperslab.read_many([f["a"], (f["b"], numpy.s_[:1])])
    [array([1, 2, 3]), array([4.5])]
    """
    pairs = [item if isinstance(item, tuple) else (item, ()) for item in datasets]
    with ThreadPoolExecutor(workers) as pool:
        return list(pool.map(lambda pair: pair[0][pair[1]], pairs))
