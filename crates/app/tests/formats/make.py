"""Makes the files of this folder, each with the same table, as other programs write it: pandas, pyarrow, openpyxl.

    python make.py        needs pandas, pyarrow, openpyxl

expected.csv is what pandas has in memory, in ISO form; formats.rs reads every other file and compares.
"""

import bz2
import lzma

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.feather as feather
import pyarrow.ipc as ipc

rng = np.random.default_rng(5)
n = 60
table = pd.DataFrame(
    {
        "when": pd.date_range("2023-11-20", periods=n, freq="D").date,
        "price": np.round(rng.gamma(2, 900, n), 2),
        "town": rng.choice(["Málaga", "Århus", "Zürich", "None"], n),
        "count": rng.integers(0, 5000, n),
        "good": rng.choice([True, False], n),
    }
)
table.loc[7, "price"] = np.nan
table.loc[9, "town"] = None
table.to_csv("expected.csv", index=False)

dates = pd.to_datetime(table["when"])
european = pd.DataFrame(
    {
        "when": dates.dt.strftime("%d.%m.%Y"),
        "price": table["price"].map(lambda v: "" if pd.isna(v) else f"{v:,.2f}".translate(str.maketrans(",.", ".,"))),
        "town": table["town"],
        "count": table["count"],
        "good": table["good"].map(lambda v: "true" if v else "false"),
    }
)
text = european.to_csv(index=False, sep=";")
open("european.cp1252.csv", "wb").write(text.encode("cp1252"))
open("european.utf16.csv", "wb").write(text.encode("utf-16"))
open("european.csv.xz", "wb").write(lzma.compress(text.encode()))
open("european.csv.bz2", "wb").write(bz2.compress(text.encode()))

american = european.assign(
    when=dates.dt.strftime("%m/%d/%Y"),
    price=table["price"].map(lambda v: "" if pd.isna(v) else f"${v:,.2f}"),
)
american.to_csv("american.csv", index=False)
named = european.assign(when=dates.dt.strftime("%d %b %Y"), price=table["price"])
named.to_csv("named.csv", index=False)

typed = table.assign(when=dates)
typed.to_json("table.jsonl", orient="records", lines=True, date_format="iso", force_ascii=False)
typed.to_json("table.json", orient="records", date_format="iso", force_ascii=False, indent=1)
table.to_excel("table.xlsx", index=False, sheet_name="sales")
arrow = pa.Table.from_pandas(table, preserve_index=False)
feather.write_feather(arrow, "table.feather", compression="lz4")
dictionary = arrow.set_column(2, "town", arrow["town"].dictionary_encode())
with ipc.new_stream("table.arrows", dictionary.schema) as writer:
    writer.write_table(dictionary, max_chunksize=16)
