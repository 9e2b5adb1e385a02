"""The same work with h5py on libhdf5 and with this package, in one run: ``python benches/against_h5py.py [ROW …]``.

It needs h5py, xarray and h5netcdf, and this package built for releases. A row is run by both in turn, three times and
more; the fastest of each counts. The last column is what the row should reach. The row ``two_threads`` compares this
package with itself: one Python thread and two.
"""

import os
import sys
import tempfile
import threading
import time
from pathlib import Path

import h5py
import numpy as np

import hyperslab

SHAPE, CHUNK = (4000, 4000), (250, 250)
SECONDS_MAX, ROUNDS_MIN, ROUNDS_MAX = 12.0, 3, 25


def field():
    """Return values that deflate as measurements do."""
    rows, columns = np.ogrid[: SHAPE[0], : SHAPE[1]]
    noise = np.random.default_rng(0).integers(0, 16, SHAPE)
    return (1000 * np.sin(rows / 300) * np.cos(columns / 200) + noise).astype("i4")


class Work:
    """Files for the rows, and the rows: each takes a module with h5py's names."""

    def __init__(self, folder):
        self.folder = Path(folder)
        rng, values = np.random.default_rng(1), field()
        with h5py.File(self.path("grid.h5"), "w") as f:
            f.create_dataset("deflated", data=values, chunks=CHUNK, compression="gzip", shuffle=True)
            f.create_dataset("contiguous", data=values)
            f.create_dataset("strings", data=[f"station {at}" for at in range(1_000_000)])
            f.create_dataset("line", data=rng.random(2_000_000), chunks=(20_000,))
        self.windows = rng.integers(0, SHAPE[0] - 64, (400, 2)).tolist()
        self.points = np.unique(rng.integers(0, 2_000_000, 10_000))
        self.mask = rng.random(SHAPE) < 0.01
        self.many()
        self.weather()

    def path(self, name):
        """Return the path of a file."""
        return str(self.folder / name)

    def many(self):
        """Create a file of many datasets with attributes."""
        self.datasets_created(h5py)
        os.rename(self.path("created-h5py.h5"), self.path("many.h5"))

    def weather(self):
        """Create a netCDF-4 file with a chunked, deflated variable."""
        import xarray as xr

        values = (280 + 10 * np.random.default_rng(2).random((240, 180, 360))).astype("f4").round(1)
        made = xr.Dataset({"t": (("time", "lat", "lon"), values)}, {"time": np.arange(240)})
        encoding = {"t": {"zlib": True, "shuffle": True, "chunksizes": (24, 90, 90)}}
        made.to_netcdf(self.path("weather.nc"), engine="h5netcdf", encoding=encoding)

    # Rows.

    def deflated_read(self, library):
        """Read a deflated dataset."""
        with library.File(self.path("grid.h5")) as f:
            return f["deflated"][:][::97, ::89].sum()

    def contiguous_read(self, library):
        """Read a contiguous dataset."""
        with library.File(self.path("grid.h5")) as f:
            return f["contiguous"][:].shape

    def windows_read(self, library):
        """Read windows of a deflated dataset."""
        with library.File(self.path("grid.h5")) as f:
            dataset = f["deflated"]
            return sum(int(dataset[y : y + 64, x : x + 64].sum()) for y, x in self.windows)

    def points_read(self, library):
        """Read points by a list of indexes."""
        with library.File(self.path("grid.h5")) as f:
            return f["line"][self.points].sum()

    def datasets_created(self, library):
        """Create 10,000 datasets with attributes."""
        with library.File(self.path(f"created-{library.__name__}.h5"), "w") as f:
            for at in range(10_000):
                dataset = f.create_dataset(f"d{at:05}", data=np.arange(10))
                dataset.attrs["unit"] = "K"
                dataset.attrs["number"] = at

    def datasets_read(self, library):
        """Read 10,000 datasets and their attributes."""
        with library.File(self.path("many.h5")) as f:
            return sum(int(f[name][3]) + f[name].attrs["number"] + len(f[name].attrs["unit"]) for name in f)

    def mask_read(self, library):
        """Read by a boolean mask."""
        with library.File(self.path("grid.h5")) as f:
            return f["contiguous"][self.mask].sum()

    def strings_read(self, library):
        """Read 10⁶ strings."""
        with library.File(self.path("grid.h5")) as f:
            return len(f["strings"].asstr()[:])

    def xarray_mean(self, library, **options):
        """Take the mean over time of a deflated variable with xarray."""
        import xarray as xr

        engine = "h5netcdf" if library is h5py else "hyperslab"
        with xr.open_dataset(self.path("weather.nc"), engine=engine, **options) as dataset:
            return round(float(dataset.t.mean("time").sum()), 1)

    def xarray_mean_dask(self, library):
        """Take the same mean with dask, in its threads."""
        return self.xarray_mean(library, chunks={})

    # Threads: this package alone, with one thread and with two.

    def read_in_threads(self, count):
        """Read a window of every chunk of a deflated dataset with so many Python threads.

        A window lies in one chunk: what spans several is decoded on all cores for one thread too.
        """
        starts = [(y + 50, x + 50) for y in range(0, SHAPE[0], CHUNK[0]) for x in range(0, SHAPE[1], CHUNK[1])]
        with hyperslab.File(self.path("grid.h5")) as f:
            dataset, found = f["deflated"], []

            def read(windows):
                found.append(sum(int(dataset[y : y + 64, x : x + 64].sum()) for y, x in windows))

            threads = [threading.Thread(target=read, args=(starts[at::count],)) for at in range(count)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            return sum(found)


ROWS = {
    "deflated_read": 3.5, "contiguous_read": 1.0, "windows_read": 4.0, "points_read": 4.0, "datasets_created": 5.0,
    "datasets_read": 5.0, "mask_read": 5.0, "strings_read": 3.0, "xarray_mean": 3.0, "xarray_mean_dask": 3.0,
    "two_threads": 1.8,
}


def fastest(row, keys):
    """Return the fastest times of a row with each key, in turn; the answers must agree."""
    best, began, rounds = dict.fromkeys(keys, 1e9), time.perf_counter(), 0
    answers = {}
    while rounds < ROUNDS_MIN or (rounds < ROUNDS_MAX and time.perf_counter() - began < SECONDS_MAX):
        for key in keys:
            start = time.perf_counter()
            answers[key] = row(key)
            best[key] = min(best[key], time.perf_counter() - start)
        rounds += 1
    assert len(set(answers.values())) == 1, answers
    return list(best.values())


def measure(work, name):
    """Return two times whose ratio is the row: h5py and this package, or one thread and two."""
    if name == "two_threads":
        return fastest(work.read_in_threads, (1, 2))
    return fastest(getattr(work, name), (h5py, hyperslab))


def main():
    """Run the rows and print a table."""
    chosen = sys.argv[1:] or list(ROWS)
    print(f"h5py {h5py.__version__} on libhdf5 {h5py.version.hdf5_version}; {os.cpu_count()} processors")
    print("| row | h5py (one thread) | hyperslab (two) | ratio | should be |\n|---|---:|---:|---:|---:|")
    with tempfile.TemporaryDirectory() as folder:
        work = Work(folder)
        for name in chosen:
            theirs, ours = measure(work, name)
            mark = "" if theirs / ours >= ROWS[name] else " (short)"
            print(f"| {name} | {theirs * 1e3:.1f} ms | {ours * 1e3:.1f} ms | {theirs / ours:.2f}{mark} | {ROWS[name]} |",
                  flush=True)


if __name__ == "__main__":
    main()
