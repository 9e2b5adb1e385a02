"""Opens files whose writer died."""

import subprocess

import h5py


def opened(path, mode):
    """A file whose writer died says so from version 3 of the superblock on, and libhdf5 wants to be told that it is dead."""
    try:
        return h5py.File(path, mode)
    except OSError as error:
        if "h5clear" not in str(error):
            raise
    subprocess.run(["h5clear", "-s", str(path)], check=True)
    return h5py.File(path, mode)
