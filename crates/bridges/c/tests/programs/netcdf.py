"""netCDF4: groups, unlimited dimensions, filters, compound, variable-length, enum and string types, edits in place."""
import os

import netCDF4
import numpy as np

from show import expect_error, main, show

POINT = np.dtype([("x", "<f4"), ("y", "<f8"), ("count", "<i4")])
NESTED = np.dtype([("when", "<i8"), ("at", POINT), ("samples", "<i2", (3,))])


def write(folder):
    path = os.path.join(folder, "all.nc")
    with netCDF4.Dataset(path, "w", format="NETCDF4") as nc:
        nc.title = "a title"
        nc.numbers = np.array([1, 2, 3], dtype="i2")
        nc.setncattr_string("names", ["one", "two"])
        dimensions(nc)
        variables(nc)
        user_types(nc)
        groups(nc)
    append(path)
    edit(path)
    classic(os.path.join(folder, "classic.nc"))
    on_hdf5_drivers(folder)


def dimensions(nc):
    for name, size in [("time", None), ("station", None), ("step", None), ("lat", 6), ("lon", 8), ("letters", 5)]:
        nc.createDimension(name, size)
    show("unlimited", [name for name, d in nc.dimensions.items() if d.isunlimited()])


def variables(nc):
    for name in ["lat", "lon"]:
        coordinate = nc.createVariable(name, "f4", (name,))
        coordinate[:] = np.linspace(0, 90, len(nc.dimensions[name]))
        coordinate.units = "degrees"
    time = nc.createVariable("time", "f8", ("time",))
    time.units = "hours since 2001-01-01"
    packed = dict(zlib=True, complevel=4, shuffle=True, fletcher32=True, chunksizes=(1, 3, 8), fill_value=-99.0)
    field = nc.createVariable("field", "f4", ("time", "lat", "lon"), **packed)
    for step in range(5):
        field[step] = np.arange(48).reshape(6, 8) + 100 * step
        time[step] = step * 6
    field[7, 2, 3] = 1.5
    show("field after a gap", field[:])
    show("chunking", field.chunking())
    show("filters", {k: v for k, v in field.filters().items() if v})
    scaled = nc.createVariable("scaled", "i2", ("lat",), fill_value=-1)
    scaled.scale_factor, scaled.add_offset = 0.5, 10.0
    scaled[:] = np.ma.array(np.arange(6) * 0.5 + 10, mask=[0, 1, 0, 0, 1, 0])
    show("scaled", scaled[:])
    for code in ["i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f4", "f8"]:
        nc.createVariable(f"type_{code}", code, ("lat",))[:] = np.arange(6)
    two = nc.createVariable("two_unlimited", "i4", ("step", "station"))
    two[0:3, 0:4] = np.arange(12).reshape(3, 4)
    two[5, 6] = 7
    show("two unlimited", two[:])
    nc.createVariable("big_endian", ">f4", ("lat",), endian="big")[:] = np.arange(6)
    nc.createVariable("scalar", "f8")[...] = 2.5
    nc.createVariable("characters", "S1", ("lat", "letters"))[:] = netCDF4.stringtochar(np.array(["ab", "cdefg", "", "h", "i", "jk"], "S5"))


def user_types(nc):
    point = nc.createCompoundType(POINT, "point")
    nc.createCompoundType(NESTED, "nested")
    data = np.zeros(4, POINT)
    data["x"], data["y"], data["count"] = np.arange(4), np.arange(4) / 3, [1, -2, 3, -4]
    nc.createVariable("points", point, ("station",))[:4] = data
    whole = np.zeros(6, NESTED)
    whole["when"], whole["samples"] = np.arange(6), np.arange(18).reshape(6, 3)
    whole["at"]["y"] = 0.25
    nc.createVariable("nested_points", nc.cmptypes["nested"], ("lat",))[:] = whole
    ragged = nc.createVLType(np.int32, "ragged")
    rows = nc.createVariable("ragged_rows", ragged, ("lat",))
    for i in range(6):
        rows[i] = np.arange(i * 2, dtype="i4")
    words = nc.createVariable("words", str, ("lat",))
    words[:] = np.array(["one", "", "zwölf", "x" * 200, "five", "six"], dtype=object)
    sky = nc.createEnumType(np.uint8, "sky", {"clear": 0, "cloudy": 1, "missing": 255})
    nc.createVariable("weather", sky, ("lat",), fill_value=255)[:4] = [0, 1, 0, 1]


def groups(nc):
    inner = nc.createGroup("/model/run1")
    inner.createDimension("level", 3)
    inner.createVariable("profile", "f8", ("level", "lat"), zlib=True)[:] = np.arange(18).reshape(3, 6)
    inner.comment = "uses a dimension of the root group"
    nc.createGroup("/model/run2").createVariable("points", nc.cmptypes["point"], ())


def append(path):
    with netCDF4.Dataset(path, "a") as nc:
        nc["field"][8:10] = np.full((2, 6, 8), 3.25)
        nc["time"][5:10] = np.arange(5, 10) * 6
        nc["points"][4:6] = np.zeros(2, POINT)
        nc.history = "appended"
        show("length after appending", len(nc.dimensions["time"]))


def edit(path):
    with netCDF4.Dataset(path, "r+") as nc:
        nc.renameVariable("scalar", "renamed")
        nc.renameDimension("letters", "characters_of")
        nc.delncattr("history")
        nc["field"].long_name = "a longer name than before " * 10
        expect_error("a variable twice", lambda: nc.createVariable("lat", "f4", ("lat",)))
        expect_error("a missing attribute", lambda: nc.getncattr("nothing"))
        expect_error("beyond a fixed dimension", lambda: nc["lat"].__setitem__(slice(0, 9), np.zeros(9)))
    expect_error("a missing file", lambda: netCDF4.Dataset(path + ".missing"))
    with netCDF4.Dataset(path) as nc:
        expect_error("writing to a read-only file", lambda: nc.createDimension("d", 3))


def classic(path):
    with netCDF4.Dataset(path, "w", format="NETCDF4_CLASSIC") as nc:
        nc.createDimension("t", None)
        nc.createVariable("v", "i4", ("t",))[:] = np.arange(7)


def on_hdf5_drivers(folder):
    memory = netCDF4.Dataset("inmemory.nc", "w", memory=1024)
    memory.createDimension("x", 4)
    memory.createVariable("v", "f8", ("x",))[:] = [1, 2, 3, 4]
    image = memory.close()
    with netCDF4.Dataset("image.nc", memory=image) as nc:
        show("from an image", nc["v"][:])
    with netCDF4.Dataset(os.path.join(folder, "diskless.nc"), "w", diskless=True, persist=True) as nc:
        nc.createDimension("x", 4)
        nc.createVariable("v", "i2", ("x",))[:] = [4, 3, 2, 1]


def show_group(group):
    print(f"group {group.path}: {sorted(group.ncattrs())} dimensions {[(n, len(d), d.isunlimited()) for n, d in group.dimensions.items()]}")
    for name in group.ncattrs():
        show(f"  @{name}", group.getncattr(name))
    print(f"  types {list(group.cmptypes)} {list(group.vltypes)} {list(group.enumtypes)}")
    for name, variable in group.variables.items():
        print(f"  {name}{variable.dimensions} {variable.shape} {variable.endian()} {variable.chunking()}")
        show("    values", variable[...])
        for attribute in variable.ncattrs():
            show(f"    @{attribute}", variable.getncattr(attribute))
    for inner in group.groups.values():
        show_group(inner)


def read(folder):
    for name in ["all.nc", "classic.nc", "diskless.nc"]:
        with netCDF4.Dataset(os.path.join(folder, name)) as nc:
            print(f"{name} {nc.data_model} {nc.disk_format}")
            show_group(nc)
    with netCDF4.Dataset(os.path.join(folder, "all.nc")) as nc:
        show("strided", nc["field"][::3, 1:5:2, ::-1])
        show("points", nc["field"][[0, 2, 7], [1, 3], :])


main(write, read)
