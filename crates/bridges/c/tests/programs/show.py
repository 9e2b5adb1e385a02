"""What the programs of this folder share: how a value is printed, and the two modes that each program has.

    PROGRAM write FOLDER              writes its files into FOLDER and prints what it sees while it does
    PROGRAM read FOLDER [FOLDER...]   reads the files of each FOLDER and prints what is in them

Nothing that is printed names a folder, a time or a library: the same files give the same text everywhere.
"""
import hashlib
import sys

import numpy as np


def text(value):
    """`value` as text that depends on its contents only."""
    if isinstance(value, np.ma.MaskedArray):
        return f"masked {text(value.filled())} {text(np.ma.getmaskarray(value))}"
    if isinstance(value, np.ndarray) and value.dtype == object:
        return f"{value.shape} [{', '.join(text(item) for item in value.ravel())}]"
    if isinstance(value, np.ndarray):
        whole = np.ascontiguousarray(value)
        # Padding between members may hold anything.
        contents = repr(whole.tolist()).encode() if value.dtype.names else whole.tobytes()
        few = np.array2string(whole, threshold=12, edgeitems=3, precision=6, separator=",").replace("\n", "")
        return f"{value.dtype} {value.shape} {few} {hashlib.sha1(contents).hexdigest()[:12]}"
    return repr(value)


def show(name, value):
    print(f"{name}: {text(value)}")


def expect_error(name, action):
    """Prints the kind of error that `action` raises: messages differ between libraries, kinds must not."""
    try:
        action()
    except Exception as error:
        print(f"{name}: {type(error).__name__}")
    else:
        print(f"{name}: no error")


def main(write, read):
    mode, folders = sys.argv[1], sys.argv[2:]
    if mode == "write":
        write(folders[0])
        return
    for number, folder in enumerate(folders):
        print(f"folder {number}")
        read(folder)
