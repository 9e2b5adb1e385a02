"""xarray with the engines h5netcdf and netcdf4: each writes, both read, whole and in parts."""
import os
import warnings

import numpy as np
import xarray as xr

from show import main, show

warnings.simplefilter("ignore")
ENGINES = ["h5netcdf", "netcdf4"]


def example():
    rng = np.random.default_rng(3)
    temperature = (("time", "lat", "lon"), rng.normal(10, 5, (12, 5, 7)).astype("f4"), {"units": "degC"})
    return xr.Dataset(
        {
            "temperature": temperature,
            "flag": (("lat", "lon"), rng.integers(0, 2, (5, 7)).astype(bool)),
            "label": (("lat",), np.array(["a", "bb", "", "zwölf", "e"], dtype=object)),
            "missing": (("lon",), np.array([1, np.nan, 3, np.nan, 5, 6, 7])),
            "count": (("time",), np.arange(12, dtype="i8")),
        },
        coords={
            "time": np.arange("2001-01-01", "2001-01-13", dtype="datetime64[D]"),
            "lat": np.linspace(-60, 60, 5),
            "lon": np.arange(7) * 10.0,
            "place": ((), "here"),
        },
        attrs={"title": "example", "levels": np.array([1, 2, 3]), "words": ["one", "two"]},
    )


def write(folder):
    data = example()
    encoding = {
        "temperature": {"zlib": True, "complevel": 5, "shuffle": True, "chunksizes": (4, 5, 7)},
        "missing": {"_FillValue": -1.0, "dtype": "f4"},
        "count": {"dtype": "i2", "scale_factor": 1, "add_offset": 3},
    }
    for engine in ENGINES:
        path = os.path.join(folder, f"{engine}.nc")
        data.to_netcdf(path, engine=engine, encoding=encoding, unlimited_dims=["time"])
        data[["missing"]].to_netcdf(path, engine=engine, mode="a", group="more/inside")
        tree = xr.DataTree.from_dict({"/": data[["flag"]], "/a/b": data[["label"]]})
        tree.to_netcdf(os.path.join(folder, f"{engine}-tree.nc"), engine=engine)


def read(folder):
    for writer in ENGINES:
        for engine in ENGINES:
            print(f"written by {writer}, read by {engine}")
            read_one(os.path.join(folder, f"{writer}.nc"), engine)
            with xr.open_datatree(os.path.join(folder, f"{writer}-tree.nc"), engine=engine) as tree:
                show("tree", sorted(node.path for node in tree.subtree))
                show("leaf", tree["/a/b/label"].values)


def read_one(path, engine):
    with xr.open_dataset(path, engine=engine) as data:
        for name in sorted(data.variables):
            show(f"{name} {data[name].dims}", data[name].values)
            show(f"{name} attributes", {k: v for k, v in sorted(data[name].attrs.items())})
        show("attributes", sorted((k, str(v)) for k, v in data.attrs.items()))
        show("unlimited", sorted(data.encoding["unlimited_dims"]))
        show("chunks", data["temperature"].encoding["chunksizes"])
        show("one day", data["temperature"].sel(time="2001-01-05").values)
        show("mean", np.round(data["temperature"].mean("time").values, 3))
        show("points", data["temperature"].isel(lat=[0, 3], lon=[6, 1, 2]).values)
        show("same as in memory", bool(data.drop_vars("count").equals(example().drop_vars("count"))))
    with xr.open_dataset(path, engine=engine, group="more/inside") as data:
        show("group", data["missing"].values)


main(write, read)
