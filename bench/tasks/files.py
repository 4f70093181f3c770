import data
from harness import CACHE, ROOT, Bench, Skip, find, program, task


def shape(table):
    rows, columns = table.shape if hasattr(table, "shape") else (table.num_rows, table.num_columns)
    return rows * 1000 + columns


@task("CSV, 500 MB mixed, into a table", family="files spine", target=1.0)
def read_csv(env):
    path = str(data.csv_file(500 * env.scale))
    contenders = {
        "polars": lambda: find("polars.read_csv")(path, try_parse_dates=True),
        "pyarrow": lambda: find("pyarrow.csv.read_csv")(path),
        "ermine": lambda: find("ermine.read_table")(path),
    }
    return Bench(contenders, shape, 0.0, better="same")


@task("logistic from a 5 GB CSV", family="files spine", max_memory=1000, heavy=True)
def larger_than_memory(env):
    path, model = data.csv_file(5000 * env.scale), CACHE / "larger-than-memory.ermine"
    fit = program("fit", path, "--target", "bought", "--model", "LogisticRegression", "-o", model)
    return Bench({"ermine": fit}, lambda end: end.code, 0.0, better="same")


@task("ermine fit of one model on the shipped file, start to exit", family="files spine", max_seconds=1.0)
def one_model(env):
    fit = program("fit", shipped(), "--target", "species", "--model", "LogisticRegression", "-o", CACHE / "first.ermine")
    return Bench({"ermine": fit}, lambda end: end.code, 0.0, better="same")


def shipped():
    path = ROOT / "examples" / "penguins.csv"
    if not path.exists():
        raise Skip("examples/penguins.csv is not there")
    return path


@task("ermine fit of all models on the shipped file, with report, start to exit", family="files spine", max_seconds=10.0)
def main_job(env):
    page = CACHE / "first.html"
    fit = program("fit", shipped(), "--target", "species", "-o", CACHE / "first.ermine", "--report", page)
    return Bench({"ermine": fit}, lambda end: end.code, 0.0, better="same")
