"""Workers as PyTorch's DataLoader has them: processes that are forked from one which has the file open, and read batches of it.

The dataset is opened before the fork, and workers use that very object. The file is open for reading first, then for writing,
with changes that are not flushed. Each epoch starts new workers.
"""

import multiprocessing
import sys

import h5py
import numpy

WORKERS, EPOCHS, ROWS, COLUMNS, BATCH = 4, 3, 256, 512, 16


class Batches:
    """What a DataLoader is given: items by index, from a file that is open."""

    def __init__(self, dataset, names):
        self.dataset, self.names = dataset, names

    def __getitem__(self, batch):
        rows = slice(batch * BATCH, (batch + 1) * BATCH)
        return self.dataset[rows], self.names[rows], self.dataset.attrs["epoch"]


def work(batches, tasks, results):
    for batch in iter(tasks.get, None):
        results.put((batch, *batches[batch]))


def epoch(batches, number, expected):
    context = multiprocessing.get_context("fork")
    tasks, results = context.Queue(), context.Queue()
    workers = [context.Process(target=work, args=(batches, tasks, results)) for _ in range(WORKERS)]
    for worker in workers:
        worker.start()
    for batch in range(ROWS // BATCH):
        tasks.put(batch)
    for _ in range(ROWS // BATCH):
        batch, values, names, found = results.get(timeout=60)
        rows = slice(batch * BATCH, (batch + 1) * BATCH)
        assert found == number, (found, number)
        assert (values == expected[rows]).all(), batch
        assert [name.decode() for name in names] == [f"row {row}" for row in range(rows.start, rows.stop)]
    for _ in workers:
        tasks.put(None)
    for worker in workers:
        worker.join(60)
        assert worker.exitcode == 0, worker.exitcode


def main():
    path, values = sys.argv[1], numpy.arange(ROWS * COLUMNS, dtype="f8").reshape(ROWS, COLUMNS)
    with h5py.File(path, "w") as file:
        file.create_dataset("x", data=values, chunks=(BATCH, 64), compression="gzip")
        file["x"].attrs["epoch"] = -1
        file.create_dataset("names", data=[f"row {row}" for row in range(ROWS)], dtype=h5py.string_dtype())
    with h5py.File(path, "r") as file:
        assert (file["x"][...] == values).all()
        for _ in range(EPOCHS):
            epoch(Batches(file["x"], file["names"]), -1, values)
    with h5py.File(path, "r+") as file:
        for number in range(EPOCHS):
            file["x"][...] = values + number
            file["x"].attrs["epoch"] = number
            epoch(Batches(file["x"], file["names"]), number, values + number)
    with h5py.File(path, "r") as file:
        assert (file["x"][...] == values + EPOCHS - 1).all() and file["x"].attrs["epoch"] == EPOCHS - 1
    print(f"workers: {WORKERS} processes read the open file in {2 * EPOCHS} epochs")


main()
