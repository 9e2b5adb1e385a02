"""Opens a file in a mode, says so, and closes it when its input ends."""

import sys

import h5py

path, mode = sys.argv[1:3]
try:
    file = h5py.File(path, mode, libver="latest")
except OSError as error:
    print(" ".join(str(error).split()), flush=True)
else:
    print("open", flush=True)
    sys.stdin.read()
    if "die" in sys.argv:
        import os

        file["touched"] = 1
        file.flush()
        os._exit(1)
    file.close()
