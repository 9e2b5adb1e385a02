"""Elements as Arrow arrays and tables, for pyarrow, pandas, polars and others. None of them is needed here."""

from . import _core
from .datasets import Dataset
from .files import File
from .groups import Group


def read_table(source, path=None, columns=None, *, rows=None, batch_rows=None, binary=False):
    """Return a table of columns: the members of a compound dataset, or the datasets of a group that have one length.

    ``source`` is a location, or a ``File``, ``Group`` or ``Dataset``; ``path`` leads on from there.
    ``columns`` are names, and ``rows`` is a slice. Nothing is read yet: ``pyarrow.table(t)``, ``polars.DataFrame(t)``
    and ``pandas.DataFrame.from_arrow(t)`` read batches of ``batch_rows`` rows, without the interpreter lock, and only
    the columns that are named. With ``binary``, strings are bytes, whatever is in them.

    Raises ``TypeError`` if there are no columns, and ``NotImplementedError`` for types that Arrow does not have.

    >>> import hyperslab, numpy
    >>> with hyperslab.File("doc.h5", "w", driver="core", backing_store=False) as f:
    ...     f["stations"] = numpy.array([(1, 2.5), (2, 3.5)], dtype=[("id", "i4"), ("height", "f8")])
    ...     read_table(f, "stations")
    <Arrow table: 2 rows, columns id, height>
    """
    found = source if isinstance(source, (Group, Dataset)) else File(source)
    found = found[path] if path is not None else found
    parts, names = _of_dataset(found, columns) if isinstance(found, Dataset) else _of_group(found, columns)
    start, stop, step = (rows or slice(None)).indices(parts[0][1].shape[0])
    if step != 1:
        raise ValueError("Rows of a table have no step")
    datasets = [(name, dataset._live()) for name, dataset in parts]
    return _core.ArrowTable(datasets, names, start, max(start, stop), batch_rows, binary)


def _of_dataset(dataset, columns):
    """Return the dataset, and the members that are columns."""
    if not dataset.shape:
        raise TypeError("A table needs a dataset with rows")
    if dataset.dtype.names is None or dataset.ndim > 1:
        return [(dataset.name.rpartition("/")[2] if dataset.name else "value", dataset)], None
    return [(None, dataset)], None if columns is None else list(columns)


def _of_group(group, columns):
    """Return the datasets that are columns, with their names."""
    names = list(group) if columns is None else list(columns)
    found = [(name, group.get(name)) for name in names]
    if columns is not None:
        wrong = [name for name, one in found if not isinstance(one, Dataset) or not one.shape]
        if wrong:
            raise KeyError(f"No column {wrong[0]!r} in {group.name}")
    parts = [(name, one) for name, one in found if isinstance(one, Dataset) and one.shape]
    lengths = {one.shape[0] for _, one in parts}
    if len(lengths) != 1:
        raise TypeError(f"The datasets of {group.name} do not have one length: {sorted(lengths)}")
    return parts, None
