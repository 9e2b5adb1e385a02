#!/usr/bin/env python3
"""Makes the file that the tests of `hyperslab view` look at: every kind of object and element the page can show.

usage: tour.py FILE
"""
import sys
import zlib

import h5py
import numpy as np

SEED = 23


def signals(file):
    """Curves: a million samples with spikes, one with a gap of NaN and a gap of fill values."""
    group = file.create_group("signals")
    time = np.arange(1_000_000)
    wave = np.sin(time / 40_000) * np.exp(-time / 700_000) + np.random.default_rng(SEED).normal(0, 0.02, time.size)
    wave[[123_456, 700_001]] = [2.5, -2.0]
    ecg = group.create_dataset("ecg", data=wave, chunks=(65_536,), compression="gzip")
    ecg.attrs["units"] = "mV"
    ecg.attrs["DIMENSION_LABELS"] = ["sample"]
    ecg.attrs["sampling_rate"] = 500.0
    gaps = np.cos(np.arange(600) / 30)
    gaps[200:260] = np.nan
    gaps[400:440] = -9999
    group.create_dataset("gaps", data=gaps, fillvalue=-9999)
    group.create_dataset("decay", data=np.exp(-np.arange(50) / 5.0))


def maps(file):
    """Two and more dimensions: a map with NaN and fill values, a field over time and height, an image in colour."""
    group = file.create_group("maps")
    y, x = np.mgrid[-3:3:300j, -4:4:400j]
    height = (1 - x / 2 + x**5 + y**3) * np.exp(-(x**2) - y**2)
    height[20:60, 30:90] = np.nan
    height[230:280, 300:380] = -9999
    elevation = group.create_dataset("elevation", data=height, fillvalue=-9999.0, chunks=(100, 100), shuffle=True, compression="gzip")
    elevation.attrs["units"] = "km"
    elevation.attrs["long_name"] = "Elevation over a made-up sea"
    elevation.attrs["bounds"] = np.array([[-4.0, 4.0], [-3.0, 3.0]])
    elevation.attrs["DIMENSION_LABELS"] = ["latitude", "longitude"]
    t, z, y, x = np.ogrid[0:12, 0:6, 0:1:90j, 0:1:120j]
    field = 280 + 15 * np.sin(6.3 * (x + t / 12)) * np.cos(6.3 * y) - 6 * z + t
    temperature = group.create_dataset("temperature", data=field.astype("f4"), chunks=(1, 2, 45, 60), compression="gzip")
    temperature.attrs["units"] = "K"
    temperature.attrs["DIMENSION_LABELS"] = ["time", "height", "y", "x"]
    picture(group)


def coordinates(file):
    """Dimensions whose names and coordinates are datasets, as netCDF-4 has them."""
    group = file.create_group("forecast")
    wind = group.create_dataset("wind", data=np.random.default_rng(SEED).normal(size=(4, 30, 40)))
    for dim, (name, size) in enumerate([("hour", 4), ("lat", 30), ("lon", 40)]):
        scale = group.create_dataset(name, data=np.linspace(0, 1, size))
        scale.make_scale(name)
        wind.dims[dim].attach_scale(scale)


def picture(group):
    """An image as the HDF5 Image specification has it, and one that has only the shape of an image."""
    y, x = np.mgrid[0:120, 0:180]
    pixels = np.stack([x * 255 // 179, y * 255 // 119, (x + y) % 256], axis=-1).astype("u1")
    image = group.create_dataset("photo", data=pixels)
    for name, value in [("CLASS", "IMAGE"), ("IMAGE_VERSION", "1.2"), ("IMAGE_SUBCLASS", "IMAGE_TRUECOLOR")]:
        image.attrs[name] = np.bytes_(value)
    group.create_dataset("rgba", data=np.dstack([pixels, np.full(x.shape, 200, "u1")]))


def types(file):
    """One dataset for each class of type."""
    group = file.create_group("types")
    record = np.dtype([("id", "i8"), ("name", "S12"), ("position", "f8", (3,)), ("mass", "f4"), ("good", "?")])
    rows = np.zeros(500, record)
    rows["id"] = 2**53 + np.arange(500)
    rows["name"] = [f"star {number}" for number in range(500)]
    rows["position"] = np.random.default_rng(SEED).normal(size=(500, 3))
    rows["mass"] = np.linspace(0.1, 20, 500)
    rows["good"] = np.arange(500) % 3 == 0
    group.create_dataset("stars", data=rows)
    words = ["alpha", "beta", "", "δέλτα", "<b>not bold</b>", "line\nbreak", "日本語", "x" * 300]
    group.create_dataset("words", data=words, dtype=h5py.string_dtype())
    group.create_dataset("codes", data=np.array([b"AB1", b"CD2", b"EF3"], "S5"))
    group.create_dataset("weather", data=np.arange(60) % 3, dtype=h5py.enum_dtype({"SUN": 0, "RAIN": 1, "SNOW": 2}, "u1"))
    group.create_dataset("flags", data=np.arange(24).reshape(4, 6) % 2 == 0)
    group.create_dataset("impedance", data=np.exp(1j * np.arange(40) / 5))
    group.create_dataset("large", data=np.array([2**53 + 1, 2**63 - 1, -(2**63), 0], "i8"))
    group.create_dataset("unsigned", data=np.array([2**64 - 1, 1], "u8"))
    group.create_dataset("big_endian", data=np.arange(100, dtype=">i4").reshape(10, 10))
    group.create_dataset("half", data=np.linspace(-2, 2, 80).astype("f2"))
    group.create_dataset("opaque", data=np.array([b"\x00\x01\x02\x03", b"\xff\xfe\xfd\xfc"], "V4"))
    ragged = group.create_dataset("ragged", (3,), dtype=h5py.vlen_dtype("i4"))
    ragged[:] = [np.arange(3), np.arange(0), np.arange(5)]
    group["vector"] = np.dtype([("x", "f8"), ("y", "f8")])
    references(file, group)


def references(file, group):
    """References to a dataset, to a group, and to nothing."""
    data = group.create_dataset("references", (3,), dtype=h5py.ref_dtype)
    data[0] = file["signals/ecg"].ref
    data[1] = file["maps"].ref


def small(file):
    """Scalars, null and empty datasets."""
    group = file.create_group("small")
    group.create_dataset("pi", data=np.pi)
    group.create_dataset("title", data="A tour of the page")
    group.create_dataset("origin", data=np.array((1.5, 2.5), np.dtype([("x", "f8"), ("y", "f8")])))
    group.create_dataset("null", data=h5py.Empty("f4"))
    group.create_dataset("empty", shape=(0, 4), maxshape=(None, 4), dtype="f8")
    group.create_dataset("single", data=np.array([[42]]))
    group.create_group("nothing here")


def links(file):
    """Soft, hard and external links, and those that lead nowhere."""
    group = file.create_group("links")
    group["to the signal"] = h5py.SoftLink("/signals/ecg")
    group["to nowhere"] = h5py.SoftLink("/no/such/object")
    group["elsewhere"] = h5py.ExternalLink("missing.h5", "/data")
    group["hard"] = file["small/pi"]


def names(file):
    """Names that would be markup, and names in other scripts."""
    group = file.create_group("names")
    markup = group.create_group("<b>bold<img src=x onerror=alert(1)>")
    markup.attrs["<i>slanted</i>"] = "<script>document.title = 'no'</script>"
    for name in ["été", "データ", "emoji 🛰", "percent %2F & ? # =", "a space"]:
        group.create_dataset(name, data=np.arange(5))


def sizes(file):
    """What does not fit a screen: a dataset of a thousand million elements, and a group of 5,000 members."""
    sparse = file.create_dataset("sparse", (50_000, 20_000), "f4", chunks=(1000, 1000), fillvalue=0.0, compression="gzip")
    y, x = np.mgrid[0:1000, 0:1000]
    for row, column in [(0, 0), (10_000, 5_000), (25_000, 10_000), (49_000, 19_000)]:
        sparse[row : row + 1000, column : column + 1000] = np.hypot(x - 500, y - 500) / 500 + 1
    many = file.create_group("many")
    for number in range(5_000):
        many.create_dataset(f"run {number:04}", data=np.float32(number))


def dense(file):
    """A thousand million elements that are all stored, as a map and as a line. Chunks have few contents, each compressed once."""
    steps = np.arange(500, dtype="f4") // 50 / 10
    group = file.create_group("dense")

    def contents(elements):
        return [zlib.compress(np.repeat(level + steps, elements // 500).astype("<f4").tobytes(), 1) for level in range(32)]

    field = group.create_dataset("map", (50_000, 20_000), "<f4", chunks=(500, 500), compression="gzip")
    chunks = contents(500 * 500)
    for row, column in np.ndindex(100, 40):
        level = int(16 + 15 * np.sin(row / 8) * np.cos(column / 5))
        field.id.write_direct_chunk((row * 500, column * 500), chunks[level])
    curve = group.create_dataset("line", (1_000_000_000,), "<f4", chunks=(250_000,), compression="gzip")
    chunks = contents(250_000)
    for number in range(4000):
        curve.id.write_direct_chunk((number * 250_000,), chunks[int(16 + 15 * np.sin(number / 300))])


def deep(file):
    """Groups within groups."""
    group = file
    for level in range(8):
        group = group.create_group(f"level {level}" if level else "deep")
    group.create_dataset("bottom", data=np.arange(12).reshape(3, 4))


def main(path):
    with h5py.File(path, "w") as file:
        file.attrs["title"] = "Tour"
        file.attrs["creator"] = "tests/view/tour.py"
        for part in (signals, maps, coordinates, types, small, links, names, sizes, dense, deep):
            part(file)


if __name__ == "__main__":
    main(sys.argv[1])
