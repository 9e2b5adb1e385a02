"""Writes two C programs that compare the generated headers with those of libhdf5 2.x.

usage: compare_headers.py DECLARATIONS VALUES

DECLARATIONS includes libhdf5's headers and declares every function again, as the generated headers do: a compiler refuses it
where the two differ. VALUES prints the layout of every struct and the value of every constant: it must print the same with
either headers.
"""

import re
import sys
from pathlib import Path

from headers import STRUCTS, Headers

# Drivers that libhdf5 declares only when it is built with them, and what it leaves to other libraries.
SKIPPED = re.compile(r"H5P[sg]et_fapl_(mpio|mpiposix|hdfs|direct|mirror|subfiling|ioc|ros3\w*)|H5get_alloc_stats|H5VL\w+|H5P[sg]et_mpi_params|H5P\w+_vol_cap_flags")
# Constants and structs of libhdf5 that depend on how it was built.
BUILT = re.compile(r"H5FD_(DIRECT|ROS3|HDFS)_VALUE|H5VL_\w+|H5FD_(SUBFILING|IOC|MIRROR|subfiling|ioc|mirror)_\w+")


def declarations(headers):
    yield "#include <hdf5.h>\n"
    for name, function in sorted(headers.interface.functions.items()):
        if name in headers.old_names() or SKIPPED.fullmatch(name):
            continue
        # A name in brackets is no call of a macro.
        text = headers.prototype(function).replace(f"{name}(", f"({name})(", 1)
        yield f"extern {text}" if "_async" not in name else f"#undef {name}\nextern {text}"


def values(headers):
    yield '#include <hdf5.h>\n#include <stdio.h>\n#define SHOW(value) printf("%s = %lld\\n", #value, (long long)(value))\nint main(void)\n{'
    for key, struct in headers.interface.structs.items():
        name = STRUCTS.get(key, struct.name)
        if struct.keyword == "struct" and name.startswith("H5") and name not in ("H5_alloc_stats_t",) and not BUILT.fullmatch(name):
            yield f"    SHOW(sizeof({name}));"
            for path, _ in headers.fields(struct, name):
                yield f"    SHOW(offsetof({name}, {path}));"
    for what, name, rest in headers.constants:
        if what == "enum" and not BUILT.fullmatch(name):
            for item in rest.split():
                yield f"    SHOW({item.split('=')[0]});"
        elif what != "enum" and not rest.startswith(("{", '"')) and not BUILT.fullmatch(name):
            yield f"    SHOW({name});"
    for name in ("hid_t", "hsize_t", "haddr_t", "hobj_ref_t", "hdset_reg_ref_t", "H5R_ref_t", "hvl_t"):
        yield f"    SHOW(sizeof({name}));"
    yield "    return 0;\n}\n"


def main():
    headers = Headers()
    headers.types_file()
    Path(sys.argv[1]).write_text("\n".join(declarations(headers)))
    Path(sys.argv[2]).write_text("\n".join(values(headers)))


main()
