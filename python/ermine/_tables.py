"""Files as tables of typed columns, by the reader of the command line."""

import os

import numpy as np

from . import _ermine


def read_table(path, *, delimiter=None, header=None, na=(), columns=None, n_jobs=None):
    """Read a CSV (plain or gzip) or Parquet file; kinds of columns, delimiter and header are found in the file.

    Parameters
    ----------
    path : str or path-like
    delimiter : str, optional
        One character; found in the file if not given.
    header : bool, optional
        Whether the first line holds the names.
    na : sequence of str
        Missing markers beyond empty, NA, NaN, null, none and ?.
    columns : sequence of str, optional
        Only these columns, in this order.
    n_jobs : int, optional
        Threads; all cores if not given.

    Returns
    -------
    table : Table

    Examples
    --------
    >>> import ermine
    >>> table = ermine.read_table("examples/penguins.csv")
    >>> table.kinds["species"]
    'category'
    >>> frame = table.to_pandas()
    """
    from ._convert import _threads

    options = {"delimiter": delimiter, "header": header, "na": list(na), "threads": _threads(n_jobs)}
    return Table(_ermine.Table.read(os.fspath(path), columns=None if columns is None else list(columns), **options))


class Table:
    """Typed columns of one length.

    Attributes
    ----------
    shape : (rows, columns)
    columns : list of str
    kinds : dict
        number, boolean, category, text, date or datetime, for each column.
    """

    def __init__(self, table):
        self._table = table
        self.shape = table.shape
        self.kinds = dict(table.kinds())
        self.columns = list(self.kinds)

    def __len__(self):
        return self.shape[0]

    def __getitem__(self, name):
        """One column as a numpy array: float64 (NaN is missing), datetime64, or objects (None is missing)."""
        kind = self.kinds.get(name)
        values = self._table.values(name)
        if kind == "category":
            return np.array([*self._table.levels(name), None], dtype=object)[values]
        if kind == "boolean":
            return np.array([False, True, None], dtype=object)[np.nan_to_num(values, nan=2.0).astype(np.intp)]
        if kind == "text":
            return np.array(values, dtype=object)
        if kind in ("date", "datetime"):
            seconds = values * 86_400.0 if kind == "date" else values
            # A double holds whole seconds and their part, but not all microseconds of later centuries.
            whole = np.floor(np.nan_to_num(seconds))
            part = np.round((np.nan_to_num(seconds) - whole) * 1e6).astype(np.int64)
            microseconds = (whole.astype(np.int64) * 10**6 + part).astype("datetime64[us]")
            microseconds[np.isnan(values)] = np.datetime64("NaT")
            return microseconds
        return values

    def to_pandas(self):
        """The table as a pandas data frame; categories stay categories."""
        import pandas as pd

        def column(name):
            if self.kinds[name] == "category":
                return pd.Categorical.from_codes(self._table.values(name), self._table.levels(name))
            return pd.array(self[name], dtype="boolean") if self.kinds[name] == "boolean" else self[name]

        return pd.DataFrame({name: column(name) for name in self.columns})

    def __repr__(self):
        rows, columns = self.shape
        return f"<table of {rows:,} rows and {columns} columns>"
