"""Writes the table of functions for docs/c-functions.md.

usage: functions.py FILE                 writes it
       functions.py --check FILE         fails where it is not up to date
       functions.py --symbols FILE       fails where a symbol in the first column of FILE is not exported, or refused
"""

import sys
from itertools import groupby
from pathlib import Path

from definitions import read

TITLES = {
    "H5": "Library", "H5A": "Attributes", "H5D": "Datasets", "H5E": "Errors", "H5ES": "Event sets", "H5F": "Files",
    "H5FD": "File drivers", "H5G": "Groups", "H5I": "Identifiers", "H5L": "Links", "H5M": "Maps", "H5O": "Objects",
    "H5P": "Property lists", "H5PL": "Plugins", "H5R": "References", "H5S": "Dataspaces", "H5T": "Datatypes",
    "H5TS": "Threads", "H5VL": "Connectors", "H5Z": "Filters",
}  # fmt: skip


# Symbols of real programs that are not done, and why no program misses them.
KNOWN = {
    "H5SL_create": "internal; libhdf5's own tools call it in the libhdf5 that they load",
    "H5SL_destroy": "as H5SL_create",
    "H5SL_insert": "as H5SL_create",
    "H5SL_search": "as H5SL_create",
    "H5_get_option": "as H5SL_create",
}


def sentence(text):
    """Links of Rust's documentation are plain names here, and a bar would end a cell."""
    return text.replace("[`", "`").replace("`]", "`").replace("|", "\\|")


def heading(family, functions):
    refused = sum(1 for function in functions if function.refused)
    done = len(functions) - refused
    return f"\n## {family}: {TITLES[family]} ({done} done{f', {refused} refused' if refused else ''})\n"


def table(interface):
    functions = sorted(interface.functions.values(), key=lambda function: (function.family, function.name))
    refused = [function for function in functions if function.refused]
    yield "# Functions of the C library\n"
    yield "Written by `crates/bridges/c/interface/functions.py` from the sources: changes here are lost.\n"
    yield (
        f"The library exports {len(functions)} functions and {len(interface.globals)} global values. "
        f"{len(functions) - len(refused)} functions are done. The other {len(refused)} are refused: they fail, and the error "
        "stack says why."
    )
    for family, members in groupby(functions, key=lambda function: function.family):
        members = list(members)
        yield heading(family, members)
        yield "| function | | |"
        yield "|---|---|---|"
        for function in members:
            state = "refused" if function.refused else "done"
            yield f"| `{function.name}` | {state} | {sentence(function.refused or function.about)} |"


def check_symbols(interface, file):
    """Returns what real programs import and this library does not do."""
    rows = [line.split("\t") for line in Path(file).read_text().splitlines()]
    symbols = [row[0] for row in rows if row[0].startswith("H5")]
    exported = set(interface.functions) | set(interface.globals)
    missing = [name for name in symbols if name not in exported]
    refused = [name for name in symbols if name in interface.functions and interface.functions[name].refused]
    print(f"symbols of real programs: {len(symbols)}, not exported {len(missing)}, refused {len(refused)}")
    for name in missing + refused:
        print(f"  {name}: {KNOWN.get(name, 'not exported' if name in missing else interface.functions[name].refused)}")
    return set(missing + refused) - set(KNOWN)


def main():
    interface = read()
    option = sys.argv[1] if sys.argv[1].startswith("--") else None
    file = sys.argv[-1]
    text = "\n".join(table(interface)) + "\n"
    if option == "--symbols":
        sys.exit(1 if check_symbols(interface, file) else 0)
    if option == "--check":
        if Path(file).read_text() != text:
            sys.exit(f"{file} is not up to date: python3 crates/bridges/c/interface/functions.py {file}")
        return
    Path(file).write_text(text)


main()
