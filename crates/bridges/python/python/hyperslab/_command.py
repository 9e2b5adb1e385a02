"""The command ``hyperslab``: the program itself, which the wheel carries."""

import os
import sys
from pathlib import Path


def program() -> Path:
    """Return the path of the program: that of ``HYPERSLAB_COMMAND``, or the one in this package."""
    named = os.environ.get("HYPERSLAB_COMMAND")
    name = "hyperslab.exe" if os.name == "nt" else "hyperslab"
    return Path(named) if named else Path(__file__).parent / "bin" / name


def main() -> None:
    """Replace this process by the program, with the same arguments."""
    path = program()
    if not path.is_file():
        sys.exit(f"hyperslab: the command is not at {path}: this package was built without it")
    os.execv(path, [str(path), *sys.argv[1:]])
