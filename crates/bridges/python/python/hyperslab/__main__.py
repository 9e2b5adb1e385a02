"""Run a Python program with h5py, netCDF4 or PyTables on Hyperslab's C library.

``python -m hyperslab PROGRAM.py [ARGUMENTS]``, ``python -m hyperslab -m MODULE [ARGUMENTS]`` and
``python -m hyperslab -c CODE`` start it as ``python`` would. Processes that it starts run on the library too.
"""

import os
import subprocess
import sys

from .install import library

_PRELOAD = "DYLD_INSERT_LIBRARIES" if sys.platform == "darwin" else "LD_PRELOAD"


def main() -> None:
    """Replace this process by Python with the C library loaded first."""
    arguments = sys.argv[1:]
    if not arguments or arguments[0] in ("-h", "--help"):
        print("usage: python -m hyperslab PROGRAM.py [ARGUMENTS]\n"
              "       python -m hyperslab -m MODULE [ARGUMENTS]\n"
              "       python -m hyperslab -c CODE [ARGUMENTS]")
        sys.exit(0 if arguments else 2)
    environment = dict(os.environ)
    others = environment.get(_PRELOAD)
    environment[_PRELOAD] = f"{library()}:{others}" if others else str(library())
    # What `-W`, `-X` and their like said to this interpreter holds for the next one.
    options = subprocess._args_from_interpreter_flags()
    os.execve(sys.executable, [sys.executable, *options, *arguments], environment)


if __name__ == "__main__":
    main()
