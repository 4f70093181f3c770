"""The whole flow, `ermine fit TABLE --target COLUMN` with its default budget, on real tables beside scikit-learn's usual answers.

    python bench/flow.py --data DIR                 every table of the folder that is known here
    python bench/flow.py --data DIR --only adult    tables whose name matches

Each table is split once, a fifth of the rows held out (stratified for classes). Ermine gets the other rows as a file and nothing else; the peers
are HistGradientBoosting with categories as such, and logistic regression or ridge on imputed, scaled and one-hot columns; text as TF-IDF, dates as
parts. Accuracy or R2 on the same held-out rows, with the bootstrap standard error of the difference to the better peer. The verdict is `behind`
when Ermine is worse by more than that error. Runs in the environment of `run.py`, which makes it.
"""

import argparse
import io
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import run

# name: (file, target, columns that give the target away or are other targets)
TABLES = {
    "penguins": ("penguins.csv", "species", []),
    "iris": ("iris.csv", "species", []),
    "wine": ("wine.csv", "class", []),
    "breast_cancer": ("breast_cancer.csv", "diagnosis", []),
    "digits": ("digits.csv", "digit", []),
    "colon": ("colon_alon.csv", "class", []),
    "leukemia": ("leukemia_golub.csv.gz", "class", []),
    "sms_spam": ("sms_spam.csv", "label", []),
    "adult": ("adult.csv.gz", "income", []),
    "diabetes": ("diabetes.csv", "progression", []),
    "stackloss": ("stackloss.csv", "stack.loss", []),
    "stars_cyg": ("stars_cyg.csv", "log.light", []),
    "linnerud": ("linnerud.csv", "Weight", ["Waist", "Pulse"]),
    "california_housing": ("california_housing.csv", "median_house_value", []),
    "bike_sharing": ("bike_sharing_hour.csv", "cnt", ["casual", "registered"]),
}


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--data", required=True, type=Path, help="folder of the tables")
    p.add_argument("--only", metavar="PATTERN", help="tables whose name matches this regular expression")
    p.add_argument("--budget", default="60s", help="of `ermine fit` (default 60s)")
    p.add_argument("--seed", type=int, default=0, help="of the split (default 0)")
    p.add_argument("--binary", type=Path, default=run.ROOT / "target" / "release" / "ermine", help="the command line")
    args = p.parse_args()
    if Path(sys.prefix).resolve() != run.VENV.resolve():
        run.prepare_venv(False)
        sys.exit(subprocess.run([run.PYTHON, *sys.argv]).returncode)
    chosen = {name: table for name, table in TABLES.items() if not args.only or re.search(args.only, name)}
    print("| table | rows | Ermine's choice | Ermine | seconds | HistGradientBoosting | linear | difference ± error | verdict |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- | --- |")
    for name, (file, target, hidden) in chosen.items():
        if (args.data / file).exists():
            print(line(args, name, args.data / file, target, hidden), flush=True)


def line(args, name, path, target, hidden):
    import numpy as np
    import pandas as pd
    from sklearn.model_selection import train_test_split

    table = pd.read_csv(path, na_values=["?"]).drop(columns=hidden)
    table = table[table[target].notna()]
    y = table[target]
    classes = not pd.api.types.is_numeric_dtype(y) or y.nunique() <= 20 and pd.api.types.is_integer_dtype(y) and len(y) > 200
    train, test = train_test_split(table, test_size=0.2, random_state=args.seed, stratify=y if classes else None)
    truth = test[target].astype(str).to_numpy() if classes else test[target].to_numpy(dtype=float)

    def score(predicted, rows=slice(None)):
        if classes:
            return np.mean(truth[rows] == predicted[rows])
        spread = np.sum((truth[rows] - truth[rows].mean()) ** 2)
        return 1 - np.sum((truth[rows] - predicted[rows]) ** 2) / spread if spread else np.nan

    ours, chosen, seconds = ermine(args, train, test, target, classes)
    peers = {kind: peer(kind, train, test, target, classes) for kind in ("boosting", "linear")}
    best = max(peers.values(), key=score)
    rng = np.random.default_rng(0)
    draws = [rng.integers(0, len(truth), len(truth)) for _ in range(2000)]
    error = np.nanstd([score(ours, rows) - score(best, rows) for rows in draws])
    difference = score(ours) - score(best)
    verdict = "behind" if difference < -error - 1e-12 else "ahead" if difference > error + 1e-12 else "equal"
    cells = [name, f"{len(table):,}", chosen, f"{score(ours):.4f}", f"{seconds:.1f}"]
    cells += [f"{score(predicted):.4f}" for predicted in peers.values()]
    return "| " + " | ".join([*cells, f"{difference:+.4f} ± {error:.4f}", verdict]) + " |"


def ermine(args, train, test, target, classes):
    """Predictions for the test rows, the model that was chosen, and how long it took."""
    import json

    import pandas as pd

    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        train.to_csv(folder / "train.csv", index=False)
        test.drop(columns=[target]).to_csv(folder / "test.csv", index=False)
        fit = [args.binary, "fit", folder / "train.csv", "--target", target, "--test", "0", "--budget", args.budget]
        fit += ["--json", "-o", folder / "model.ermine", "--task", "classification" if classes else "regression"]
        begin = time.perf_counter()
        done = subprocess.run([str(word) for word in fit], capture_output=True, text=True)
        seconds = time.perf_counter() - begin
        if done.returncode:
            sys.exit(f"error: {' '.join(map(str, fit))}\n{done.stderr}")
        predict = [str(args.binary), "predict", str(folder / "model.ermine"), str(folder / "test.csv"), "--output"]
        predict += ["class" if classes else "value"]
        text = subprocess.run(predict, capture_output=True, text=True, check=True).stdout
        predicted = pd.read_csv(io.StringIO(text), dtype=str if classes else float, keep_default_na=False).iloc[:, 0]
        return predicted.to_numpy(), json.loads(done.stdout)["model"], seconds


def peer(kind, train, test, target, classes):
    """Predictions of scikit-learn's usual answer."""
    import numpy as np
    import pandas as pd
    from sklearn.compose import ColumnTransformer
    from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.impute import SimpleImputer
    from sklearn.linear_model import LogisticRegression, Ridge
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, OrdinalEncoder, StandardScaler

    train_x, test_x = (dates(part.drop(columns=[target])) for part in (train, test))
    y = train[target].astype(str) if classes else train[target].astype(float)
    numbers = [c for c in train_x if pd.api.types.is_numeric_dtype(train_x[c])]
    words = [c for c in train_x if c not in numbers]
    text = [c for c in words if train_x[c].nunique() > 0.5 * len(train_x)]
    levels = [c for c in words if c not in text]
    dense = FunctionTransformer(lambda found: found.toarray(), accept_sparse=True)
    if kind == "boosting":
        encode = OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=np.nan, encoded_missing_value=np.nan)
        steps = [("levels", encode, levels), ("numbers", "passthrough", numbers)]
        steps += [(c, make_pipeline(TfidfVectorizer(max_features=1000), dense), c) for c in text]
        known = {"categorical_features": list(range(len(levels))), "random_state": 0}
        model = (HistGradientBoostingClassifier if classes else HistGradientBoostingRegressor)(**known)
    else:
        scaled = make_pipeline(SimpleImputer(strategy="median"), StandardScaler())
        steps = [("numbers", scaled, numbers), ("levels", OneHotEncoder(handle_unknown="ignore"), levels)]
        steps += [(c, TfidfVectorizer(), c) for c in text]
        model = LogisticRegression(max_iter=1000) if classes else Ridge()
    model = make_pipeline(ColumnTransformer(steps), model)
    return model.fit(train_x, y).predict(test_x)


def dates(table):
    """Dates as their parts."""
    import pandas as pd

    table = table.copy()
    for name in [c for c in table if not pd.api.types.is_numeric_dtype(table[c])]:
        if table[name].astype(str).str.fullmatch(r"\d{4}-\d\d-\d\d").all():
            when = pd.to_datetime(table.pop(name))
            table[f"{name} year"], table[f"{name} month"], table[f"{name} day"] = when.dt.year, when.dt.month, when.dt.day
            table[f"{name} weekday"] = when.dt.day_of_week
    return table


if __name__ == "__main__":
    main()
