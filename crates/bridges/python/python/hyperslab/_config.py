"""Settings of the whole process."""


class Config:
    """Names that stand for booleans and complex numbers in files, and whether groups keep creation order."""

    mpi = False
    ros3 = False
    direct_vfd = False
    has_native_complex = True
    swmr_min_hdf5_version = (1, 9, 178)
    vds_min_hdf5_version = (1, 9, 233)
    default_file_mode = "r"

    def __init__(self):
        self._complex_names = ("r", "i")
        self._bool_names = (b"FALSE", b"TRUE")
        self.track_order = False
        self._update()

    def _update(self):
        self._names = (self._complex_names, self._bool_names)

    @property
    def complex_names(self):
        """Names of the real and the imaginary part."""
        return self._complex_names

    @complex_names.setter
    def complex_names(self, names):
        self._complex_names = _pair(names, "complex_names")
        self._update()

    @property
    def bool_names(self):
        """Names of false and true."""
        return self._bool_names

    @bool_names.setter
    def bool_names(self, names):
        self._bool_names = _pair(names, "bool_names")
        self._update()


def _pair(names, what):
    names = tuple(names)
    if len(names) != 2:
        raise TypeError(f"{what} must be a length-2 sequence of strings")
    return names


_config = Config()


def get_config():
    """Return the settings.

    >>> get_config().complex_names
    ('r', 'i')
    """
    return _config
