"""Reading and writing from asyncio: the work runs on threads of this package, without the interpreter lock."""

import os

_pool = None


def _threads():
    global _pool
    if _pool is None:
        from concurrent.futures import ThreadPoolExecutor

        # They wait for storage more than they compute: the library has its own threads for that.
        _pool = ThreadPoolExecutor(max(4, 2 * (os.cpu_count() or 1)), "hyperslab")
    return _pool


async def run(function, *arguments):
    """Return what a function returns, called on another thread.

    A task that is cancelled no longer waits; what began is finished.
    """
    import asyncio

    return await asyncio.get_running_loop().run_in_executor(_threads(), function, *arguments)


async def read_many_async(datasets):
    """Return the elements of many datasets, or of pairs of a dataset and an index, as a list, read at the same time.

    >>> import asyncio, hyperslab
    >>> f = hyperslab.File("doc.h5", "w", driver="core", backing_store=False)
    >>> f["a"], f["b"] = [1, 2, 3], [4, 5, 6]
    >>> asyncio.run(read_many_async([f["a"], (f["b"], slice(0, 2))]))
    [array([1, 2, 3]), array([4, 5])]
    >>> f.close()
    """
    import asyncio

    pairs = [item if isinstance(item, tuple) else (item, ()) for item in datasets]
    return list(await asyncio.gather(*(run(dataset.__getitem__, index) for dataset, index in pairs)))
