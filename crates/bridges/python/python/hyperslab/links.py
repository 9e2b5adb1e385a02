"""Links as values."""

import os


class HardLink:
    """A link to an object of the same file, which keeps it alive."""

    __slots__ = ()


class SoftLink:
    """A link to whatever is at a path."""

    __slots__ = ("_path",)

    def __init__(self, path):
        self._path = str(path)

    @property
    def path(self):
        """The path."""
        return self._path

    def __repr__(self):
        return f'<SoftLink to "{self.path}">'


class ExternalLink:
    """A link to whatever is at a path of another file."""

    __slots__ = ("_filename", "_path")

    def __init__(self, filename, path):
        self._filename = os.fsdecode(filename)
        self._path = path.decode() if isinstance(path, bytes) else str(path)

    @property
    def path(self):
        """The path in the other file."""
        return self._path

    @property
    def filename(self):
        """The name of the other file."""
        return self._filename

    def __repr__(self):
        return f'<ExternalLink to "{self.path}" in file "{self.filename}">'
