"""Models in other programs: ONNX in onnxruntime, SQL in SQLite and DuckDB, C and Rust compiled. All say what Ermine
says. ERMINE_POSTGRES=postgresql://... names a PostgreSQL server to ask as well, with psycopg."""

import functools
import io
import json
import os
import shutil
import sqlite3
import subprocess

import numpy as np
import pandas as pd
import pytest

from conftest import command_line

onnx = pytest.importorskip("onnx")
onnxruntime = pytest.importorskip("onnxruntime")

# Labels of their own rows only, a search within a radius, or nothing to predict.
NONE = {
    "AgglomerativeClustering",
    "DBSCAN",
    "NearestNeighbors",
    "RadiusNeighborsClassifier",
    "RadiusNeighborsRegressor",
}
SMALL = {"max_iter": "20", "n_estimators": "5"}


def run(*words, cwd):
    done = subprocess.run([command_line(), *map(str, words)], capture_output=True, text=True, cwd=cwd)
    if done.returncode:
        raise RuntimeError(done.stderr)
    return done.stdout


def models():
    listed = json.loads(subprocess.run([command_line(), "models", "--json"], capture_output=True, text=True).stdout)
    return [model["name"] for model in listed if model["info"]["task"] in ("Regression", "Classification", "Clustering")]


def rows(n, new, seed):
    """Numbers and levels, missing values, and among new rows a level that nobody knows."""
    rng = np.random.default_rng(seed)
    kind = rng.choice(["red", "gr'een", "blue"], n).astype(object)
    if new:
        kind[rng.random(n) < 0.1] = "other"
    kind[rng.random(n) < 0.05] = None
    p, q, r = rng.normal(size=n) * 3 + 5, rng.exponential(size=n), rng.uniform(-3, 3, n)
    y = 2 * p + q * r + (kind == "blue") * 4 + rng.normal(size=n)
    label = np.array(["low", "middle", "high"])[np.digitize(y, np.quantile(y, [0.3, 0.7]))]
    q[rng.random(n) < 0.1] = np.nan
    count = np.abs(r * 3).round()
    return pd.DataFrame({"p": np.abs(p), "q": q, "count": count, "kind": kind, "class": label, "y": np.abs(y) + 0.1})


@pytest.fixture(scope="module")
def tables(tmp_path_factory):
    folder = tmp_path_factory.mktemp("export")
    rows(300, False, 1).to_csv(folder / "old.csv", index=False)
    new = rows(2000, True, 2).drop(columns=["class", "y"])
    new.insert(0, "id", range(len(new)))
    new.to_csv(folder / "new.csv", index=False)
    return folder, new


@functools.cache
def fitted(folder, name):
    """What the command line says of the new rows; the model stays in the folder."""
    info = json.loads(run("models", name, "--json", cwd=folder))
    task = info["info"]["task"]
    words = ["fit", "old.csv", "--model", name, "--test", "0", "--folds", "0", "--force", "-o", f"{name}.ermine"]
    target, other = ("y", "class") if task == "Regression" else ("class", "y")
    words += ["--ignore", other] + (["--target", target] if task != "Clustering" else ["--ignore", target])
    params = {param["name"] for param in info["params"]}
    for param, value in SMALL.items():
        if param in params:
            words += ["--" + param.replace("_", "-"), value]
    run(*words, cwd=folder)
    said = run("predict", f"{name}.ermine", "new.csv", cwd=folder)
    return pd.read_csv(io.StringIO(said), keep_default_na=False, na_values=[""])


def parts(said):
    """The prediction and the probabilities of what the command line says."""
    shares = [column for column in said if column.startswith("p(") or column.startswith("probability")]
    others = [column for column in said if column not in shares]
    return said[others[0]].to_numpy(), said[shares].to_numpy() if shares else None


def same(name, found, expected, bound):
    prediction, shares = expected
    if prediction.dtype.kind in "fi" and np.asarray(found[0]).dtype.kind in "fi":
        off = np.abs(np.asarray(found[0], float).ravel() - prediction) / np.maximum(1, np.abs(prediction))
        assert off.max() <= bound, f"{name}: {off.max()}"
    else:
        assert (np.asarray(found[0]).ravel().astype(str) == prediction.astype(str)).mean() >= 0.9999, name
    if shares is not None and found[1] is not None:
        assert np.abs(found[1] - shares).max() <= bound, f"{name}: {np.abs(found[1] - shares).max()}"


@pytest.mark.parametrize("name", models())
def test_onnx(tables, name):
    folder, new = tables
    try:
        expected = parts(fitted(folder, name))
    except RuntimeError as refused:
        pytest.skip(str(refused))
    if name in NONE:
        with pytest.raises(RuntimeError, match="no form outside Ermine"):
            run("export", f"{name}.ermine", "--to", "onnx", cwd=folder)
        return
    run("export", f"{name}.ermine", "--to", "onnx", "--force", "-o", f"{name}.onnx", cwd=folder)
    model = onnx.load(folder / f"{name}.onnx")
    onnx.checker.check_model(model, full_check=True)
    session = onnxruntime.InferenceSession(str(folder / f"{name}.onnx"), providers=["CPUExecutionProvider"])
    inputs = {}
    for entry in session.get_inputs():
        column = new[entry.name]
        if entry.type == "tensor(string)":
            inputs[entry.name] = column.where(column.notna(), "").to_numpy(str).astype(object).reshape(-1, 1)
        else:
            inputs[entry.name] = column.to_numpy(float).reshape(-1, 1)
    names = [output.name for output in session.get_outputs()]
    answers = dict(zip(names, session.run(names, inputs)))
    if "prediction" not in answers:
        pytest.skip("a transformer")
    shares = answers.get("probability") if expected[1] is not None else None
    same(name, (answers["prediction"], shares), expected, 1e-9)


SQL = [
    "LinearRegression", "Ridge", "Lasso", "LogisticRegression", "PoissonRegressor", "GammaRegressor", "SGDClassifier",
    "LinearSVC", "GaussianNB", "LinearDiscriminantAnalysis", "DecisionTreeClassifier", "DecisionTreeRegressor",
    "RandomForestClassifier", "RandomForestRegressor", "HistGradientBoostingClassifier",
    "HistGradientBoostingRegressor", "AdaBoostClassifier", "MLPClassifier", "VotingRegressor",
]  # fmt: skip


def in_postgres(address, new, select):
    import psycopg

    with psycopg.connect(address) as connection, connection.cursor() as cursor:
        cursor.execute("create schema if not exists main")
        cursor.execute("drop table if exists main.rows_of")
        kinds = {"id": "bigint", "kind": "text"}
        columns = ", ".join(f'"{name}" {kinds.get(name, "double precision")}' for name in new)
        cursor.execute(f"create table main.rows_of ({columns})")
        with cursor.copy("copy main.rows_of from stdin") as copy:
            for row in new.astype(object).where(new.notna(), None).itertuples(index=False):
                copy.write_row(row)
        cursor.execute(select)
        return pd.DataFrame(cursor.fetchall(), columns=[column.name for column in cursor.description])


@pytest.mark.parametrize("name", SQL)
def test_sql(tables, name):
    folder, new = tables
    expected = parts(fitted(folder, name))
    select = run("export", f"{name}.ermine", "--to", "sql", "--table", "main.rows_of", "--keep", "id", cwd=folder)
    select = f"{select.strip()} ORDER BY id"
    lite = sqlite3.connect(":memory:")
    new.to_sql("rows_of", lite, index=False)
    found = {"SQLite": pd.read_sql(select, lite)}
    duckdb = pytest.importorskip("duckdb")
    duck = duckdb.connect()
    duck.register("given", new)
    duck.execute("create table rows_of as select * from given")
    found["DuckDB"] = duck.execute(select).df()
    if address := os.environ.get("ERMINE_POSTGRES"):
        found["PostgreSQL"] = in_postgres(address, new, select)
    for database, table in found.items():
        shares = [column for column in table if column.startswith("p(")]
        answer = (table["prediction"].to_numpy(), table[shares].to_numpy(float) if shares else None)
        same(f"{name} in {database}", answer, expected, 1e-9)


CODE = [name for name in SQL if name not in ("VotingRegressor",)] + [
    "SVR",
    "KernelRidge",
    "QuadraticDiscriminantAnalysis",
]


def literal(value, kind):
    if kind == "c":
        return "NULL" if value is None else json.dumps(value)
    return "None" if value is None else f"Some({json.dumps(value)})"


# rustc takes its time: one model of each kind of formula.
RUST = ["Ridge", "PoissonRegressor", "GaussianNB", "RandomForestClassifier", "HistGradientBoostingRegressor", "SVR"]


@pytest.mark.parametrize("name,language", [(name, "c") for name in CODE] + [(name, "rust") for name in RUST])
def test_code(tables, name, language):
    folder, new = tables
    compiler = shutil.which("cc" if language == "c" else "rustc")
    if not compiler:
        pytest.skip("no compiler")
    expected = parts(fitted(folder, name))
    source = run("export", f"{name}.ermine", "--to", language, cwd=folder)
    some = new.head(200)
    number = (
        (lambda x: "NAN" if np.isnan(x) else repr(float(x)))
        if language == "c"
        else (lambda x: "f64::NAN" if np.isnan(x) else f"{float(x)!r}f64")
    )
    lines = []
    for row in some.rename(columns={"count": "count_column"}).itertuples():
        kind = None if row.kind is None or row.kind != row.kind else row.kind
        cells = (
            f"p: {number(row.p)}, q: {number(row.q)}, count: {number(row.count_column)}, kind: {literal(kind, language)}"
            if language == "rust"
            else f".p = {number(row.p)}, .q = {number(row.q)}, .count = {number(row.count_column)}, .kind = {literal(kind, language)}"
        )
        lines.append(cells)
    classes = expected[0].dtype.kind not in "fi"
    shares = 0 if expected[1] is None else expected[1].shape[1]
    if language == "c":
        show = "%s" if classes else "%.17g"
        body = "".join("{ %s }, " % line for line in lines)
        source += f"""
#include <stdio.h>
int main(void) {{
    static const struct ermine_row rows[] = {{ {body} }};
    for (int i = 0; i < {len(some)}; i++) {{
        struct ermine_prediction out;
        ermine_predict(&rows[i], &out);
        printf("{show}", out.prediction);
        {"".join(f'printf(",%.17g", out.probability[{k}]);' for k in range(shares))}
        printf("\\n");
    }}
    return 0;
}}
"""
        (folder / f"{name}.c").write_text(source)
        words = [compiler, "-std=c99", "-O1", "-ffp-contract=off", "-o", f"{name}_c", f"{name}.c", "-lm"]
    else:
        body = "".join("Row { %s }, " % line for line in lines)
        source += f"""
fn main() {{
    for row in [{body}] {{
        let out = predict(&row);
        print!("{{}}", out.prediction);
        {"".join(f'print!(",{{}}", out.probability[{k}]);' for k in range(shares))}
        println!();
    }}
}}
"""
        (folder / f"{name}.rs").write_text(source)
        words = [compiler, "--edition", "2021", "-o", f"{name}_rust", f"{name}.rs"]
    done = subprocess.run(words, cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]
    text = subprocess.run([f"./{words[words.index('-o') + 1]}"], cwd=folder, capture_output=True, text=True).stdout
    table = [line.split(",") for line in text.splitlines()]
    assert len(table) == len(some)
    found = np.array([line[0] for line in table])
    found = found if classes else found.astype(float)
    answer = (found, np.array([line[1:] for line in table], float) if shares else None)
    same(name, answer, (expected[0][:200], None if expected[1] is None else expected[1][:200]), 1e-9)


@pytest.mark.parametrize(
    "name",
    [
        "Ridge",
        "LassoCV",
        "PoissonRegressor",
        "RandomForestRegressor",
        "HistGradientBoostingRegressor",
        "KNeighborsRegressor",
        "SVR",
        "MLPRegressor",
        "LogisticRegression",
        "GaussianNB",
        "LinearDiscriminantAnalysis",
        "SVC",
        "RandomForestClassifier",
        "ExtraTreesClassifier",
        "AdaBoostClassifier",
        "HistGradientBoostingClassifier",
        "DecisionTreeClassifier",
        "KMeans",
        "GaussianMixture",
        "PCA",
        "StandardScaler",
    ],
)
@pytest.mark.parametrize("labels", [[0, 1, 2], ["a", "b", "c"]])
def test_estimators_on_plain_arrays(name, labels):
    """`ermine.to_onnx` of what was fitted in Python: one input, and the same answers."""
    from sklearn.base import is_classifier

    import ermine

    rng = np.random.default_rng(3)
    x = rng.normal(size=(150, 4))
    score = x[:, 0] - x[:, 1] * x[:, 2]
    y = np.array(labels)[np.digitize(score, [-0.5, 0.5])]
    model = getattr(ermine, name)()
    is_class = is_classifier(model) or name == "GaussianMixture"
    model.fit(x, y if is_class else np.exp(score))
    new = rng.normal(size=(80, 4))
    session = onnxruntime.InferenceSession(ermine.to_onnx(model), providers=["CPUExecutionProvider"])
    assert [part.name for part in session.get_inputs()] == ["X"]
    said = dict(zip([part.name for part in session.get_outputs()], session.run(None, {"X": new}), strict=True))
    if "transform" in said:
        np.testing.assert_allclose(said["transform"], model.transform(new), rtol=1e-9, atol=1e-12)
        return
    expected = model.predict(new)
    if expected.dtype.kind == "f":
        np.testing.assert_allclose(said["prediction"].ravel(), expected, rtol=1e-5)
    else:
        assert (said["prediction"].astype(expected.dtype) == expected).all()
    if "probability" in said:
        np.testing.assert_allclose(said["probability"], model.predict_proba(new), atol=1e-5)


def test_what_is_not_a_model_of_ermine_is_refused():
    from sklearn.cluster import Birch

    import ermine

    with pytest.raises(TypeError, match="Birch is not a model of Ermine"):
        ermine.to_onnx(Birch().fit(np.eye(3)))
    with pytest.raises(NotImplementedError, match="DBSCAN has no form outside Ermine"):
        ermine.to_onnx(ermine.DBSCAN().fit(np.eye(3)))
