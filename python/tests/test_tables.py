"""Tables: the reader of the command line, as pandas would have it."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import ermine

PENGUINS = Path(__file__).resolve().parents[2] / "examples" / "penguins.csv"


def test_equals_pandas():
    table, frame = ermine.read_table(PENGUINS), pd.read_csv(PENGUINS)
    assert table.shape == frame.shape == table.to_pandas().shape
    assert table.columns == frame.columns.tolist()
    for name in frame:
        if table.kinds[name] == "number":
            np.testing.assert_array_equal(table[name], frame[name].to_numpy(dtype=float))
        else:
            assert table[name].tolist() == frame[name].astype(object).where(frame[name].notna(), None).tolist()
            assert isinstance(table.to_pandas()[name].dtype, pd.CategoricalDtype)


def test_every_kind(tmp_path):
    path = tmp_path / "kinds.csv"
    path.write_text("n;b;d;t\n1.5;true;2024-03-01;2024-03-01T10:00:30\n;;;\n-2;false;1969-12-31;1970-01-01T00:00:00\n")
    table = ermine.read_table(path)
    assert table.kinds == {"n": "number", "b": "boolean", "d": "date", "t": "datetime"}
    np.testing.assert_array_equal(table["n"], [1.5, np.nan, -2])
    assert table["b"].tolist() == [True, None, False]
    expected = np.array(["2024-03-01", "NaT", "1969-12-31"], dtype="datetime64[us]")
    np.testing.assert_array_equal(table["d"], expected)
    assert table["t"][0] == np.datetime64("2024-03-01T10:00:30")
    assert table.to_pandas()["b"].tolist() == [True, pd.NA, False]


def test_times_keep_their_microseconds(tmp_path):
    rng = np.random.default_rng(0)
    times = rng.integers(-8 * 10**15, 8 * 10**15, 5000).astype("datetime64[us]")  # 1716 to 2223
    (tmp_path / "times.csv").write_text("t\n" + "\n".join(map(str, times)) + "\n")
    np.testing.assert_array_equal(ermine.read_table(tmp_path / "times.csv")["t"], times)


def test_choices_and_errors(tmp_path):
    assert ermine.read_table(PENGUINS, columns=["species", "island"]).columns == ["species", "island"]
    with pytest.raises(OSError, match="nowhere.csv"):
        ermine.read_table(tmp_path / "nowhere.csv")
    (tmp_path / "ragged.csv").write_text("a,b\n1,2\n3\n")
    with pytest.raises(ValueError, match="ragged.csv:3: expected 2 fields"):
        ermine.read_table(tmp_path / "ragged.csv")
    with pytest.raises(ValueError, match="delimiter"):
        ermine.read_table(PENGUINS, delimiter="€")
