"""The command ``hyperslab``: the program itself, as a function of the native module."""

import os
import signal
import sys

from . import _core
from .install import library


def main() -> None:
    """Run the command with the arguments of this process, and end the process with its code."""
    if not hasattr(_core, "command"):
        sys.exit("hyperslab: this package was built without the command")
    # Python notes an interrupt and goes on, until the command is done.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    try:
        os.environ.setdefault("HYPERSLAB_HDF5_LIBRARY", str(library()))
    except ImportError:
        # `hyperslab exec` says that it found no library.
        pass
    sys.exit(_core.command(sys.argv[1:]))
