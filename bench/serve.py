"""Latency and throughput of `ermine serve` beside other ways to put the same model behind an address, on the loopback
address: scikit-learn behind FastAPI, the exported ONNX model in onnxruntime behind FastAPI, MLflow's scoring server.

    python bench/serve.py --ermine target/release/ermine [--seconds 5] [--rounds 2] [--servers ermine,fastapi,onnx,mlflow]
    python bench/serve.py --soak 600

Needs wrk, oha (for a fixed load), scikit-learn, fastapi, uvicorn, onnxruntime and mlflow; a server whose package is missing
is left out. Each server has all cores, as many workers or threads as there are, and is measured alone; servers take turns,
and the round with most requests counts.
"""

import argparse
import contextlib
import importlib.util
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path

import numpy as np
import pandas as pd

MODELS = {
    "logistic": ("LogisticRegression", {}, "sklearn.linear_model", {"max_iter": 200}),
    "forest of 100": ("RandomForestClassifier", {"n_estimators": 100}, "sklearn.ensemble", {"n_estimators": 100}),
    "boosting of 100": (
        "HistGradientBoostingClassifier", {"max_iter": 100, "early_stopping": "false"}, "sklearn.ensemble",
        {"max_iter": 100, "early_stopping": False},
    ),
}  # fmt: skip

SERVERS = {
    "ermine": "Ermine",
    "fastapi": "scikit-learn, FastAPI",
    "onnx": "onnxruntime, FastAPI",
    "mlflow": "scikit-learn, MLflow",
}

# One worker of the other servers: rows as JSON records, a pipeline or a session, records back.
APP = """
import os
from fastapi import FastAPI, Request

app = FastAPI()
if os.environ["MODEL"].endswith(".onnx"):
    import numpy as np
    import onnxruntime
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(os.environ["MODEL"], options, providers=["CPUExecutionProvider"])
    columns = [(one.name, object if one.type == "tensor(string)" else float) for one in session.get_inputs()]
    names = ["no", "yes"]

    def probabilities(rows):
        cells = {name: np.array([[row[name]] for row in rows], dtype=kind) for name, kind in columns}
        return session.run(["probability"], cells)[0]
else:
    import pickle
    import pandas as pd
    model = pickle.load(open(os.environ["MODEL"], "rb"))
    names = [str(name) for name in model.classes_]

    def probabilities(rows):
        return model.predict_proba(pd.DataFrame.from_records(rows))

@app.post("/predict")
async def predict(request: Request):
    shares = probabilities(await request.json())
    return {"predictions": [
        {"prediction": names[row.argmax()], "probability": dict(zip(names, row.tolist()))} for row in shares
    ]}
"""

FIT = """
import pickle, sys, pandas as pd
from sklearn.compose import make_column_transformer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from {module} import {model}
table = pd.read_csv("old.csv")
prepare = make_column_transformer((OneHotEncoder(sparse_output=False), ["kind"]), remainder=StandardScaler())
model = make_pipeline(prepare, {model}(**{params!r})).fit(table.drop(columns="label"), table["label"])
pickle.dump(model, open("model.pickle", "wb"))
if "mlflow" in sys.argv:
    import mlflow.sklearn
    mlflow.sklearn.save_model(model, "mlflow", pyfunc_predict_fn="predict_proba", pip_requirements=[],
        serialization_format="cloudpickle")
"""


def data(rows, seed):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(rows, 10))
    kind = rng.choice(["red", "green", "blue"], rows)
    score = x[:, 0] + x[:, 1] * x[:, 2] + (kind == "blue") + rng.normal(size=rows)
    table = pd.DataFrame(x.round(4), columns=[f"x{j}" for j in range(10)])
    table["kind"] = kind
    table["label"] = np.where(score > 0.3, "yes", "no")
    return table


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def wait_for(address, body):
    for _ in range(600):
        try:
            request = urllib.request.Request(address, body, {"content-type": "application/json"})
            with urllib.request.urlopen(request, timeout=5) as answer:
                return json.load(answer)
        except OSError:
            time.sleep(0.1)
    raise RuntimeError(f"nobody answers at {address}")


def at_full_load(address, body, folder, seconds, connections):
    """As many requests as the server takes, by wrk."""
    script = folder / "post.lua"
    (folder / "body.json").write_bytes(body)
    script.write_text(
        f'local file = io.open("{folder}/body.json", "rb")\nwrk.body = file:read("*a")\nwrk.method = "POST"\n'
        'wrk.headers["content-type"] = "application/json"\n'
        'done = function(summary, latency, requests)\n'
        '  io.write(string.format("RESULT %d %d %f %f %d\\n", summary.requests, summary.duration, '
        "latency:percentile(50), latency:percentile(99), summary.errors.status + summary.errors.read + "
        "summary.errors.connect + summary.errors.timeout))\nend\n"
    )
    words = ["wrk", "-t", "1", "-c", str(connections), "-d", f"{seconds}s", "-s", str(script), address]
    text = subprocess.run(words, capture_output=True, text=True, check=True).stdout
    requests, duration, p50, p99, errors = map(float, re.search(r"RESULT (.*)", text)[1].split())
    return {"rate": requests / (duration / 1e6), "p50": p50 / 1e3, "p99": p99 / 1e3, "errors": int(errors)}


def at_fixed_load(address, body, folder, seconds, connections, rate):
    """So many requests a second, by oha; a request that had to wait for its turn has waited."""
    (folder / "body.json").write_bytes(body)
    words = ["oha", "--no-tui", "--output-format", "json", "-z", f"{seconds}s", "-c", str(connections), "-q", str(int(rate))]
    words += ["--latency-correction", "-m", "POST", "-T", "application/json", "-D", str(folder / "body.json"), address]
    found = json.loads(subprocess.run(words, capture_output=True, text=True, check=True).stdout)
    errors = sum(n for status, n in found["statusCodeDistribution"].items() if status != "200")
    times = found["latencyPercentiles"]
    return {"rate": found["summary"]["requestsPerSec"], "p50": times["p50"] * 1e3, "p99": times["p99"] * 1e3, "errors": errors}


def memory(process):
    """Megabytes of a process and its children."""
    pids = [str(process)]
    for pid in pids:
        with contextlib.suppress(OSError):
            pids += Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    total = 0
    for pid in pids:
        with contextlib.suppress(OSError, TypeError):
            total += int(re.search(r"VmRSS:\s+(\d+)", Path(f"/proc/{pid}/status").read_text())[1]) / 1024
    return total


def prepare(folder, ermine, name, servers):
    """The same model for every server; Ermine's as ONNX too."""
    model, params, module, their_params = MODELS[name]
    words = [ermine, "fit", "old.csv", "--target", "label", "--model", model, "--folds", "0", "--test", "0"]
    for param, value in params.items():
        words += ["--" + param.replace("_", "-"), str(value)]
    subprocess.run([*words, "--force", "-o", "m.ermine"], cwd=folder, check=True, capture_output=True)
    export = [ermine, "export", "m.ermine", "--to", "onnx", "--force", "-o", "m.onnx"]
    subprocess.run(export, cwd=folder, check=True, capture_output=True)
    shutil.rmtree(folder / "mlflow", ignore_errors=True)
    if set(servers) & {"fastapi", "mlflow"}:
        code = FIT.format(module=module, model=model, params=their_params)
        subprocess.run([sys.executable, "-c", code, *servers], cwd=folder, check=True, capture_output=True)


@contextlib.contextmanager
def running(server, folder, ermine):
    """A server that answers: its process and its address."""
    port, cores = free_port(), str(os.cpu_count())
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    address = f"http://127.0.0.1:{port}/predict"
    if server == "ermine":
        words = [ermine, "serve", "m.ermine", "--listen", f"127.0.0.1:{port}"]
        address = f"http://127.0.0.1:{port}/v1/models/m:predict"
    elif server == "mlflow":
        words = [sys.executable, "-m", "mlflow", "models", "serve", "-m", "mlflow", "-p", str(port), "-w", cores]
        words += ["--env-manager", "local"]
        address = f"http://127.0.0.1:{port}/invocations"
    else:
        environment["MODEL"] = "m.onnx" if server == "onnx" else "model.pickle"
        words = [sys.executable, "-m", "uvicorn", "app:app", "--port", str(port), "--workers", cores]
        words += ["--log-level", "error", "--no-access-log"]
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    process = subprocess.Popen(words, cwd=folder, env=environment, start_new_session=True, **quiet)
    try:
        yield process, address
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGTERM)
        process.wait()


def compare(args, folder, ermine, bodies):
    servers = args.servers.split(",")
    print("| model | rows | server | requests/s | rows/s | p50 ms | p99 ms | memory MB | errors |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- | --- |", flush=True)
    half = []
    for name in args.models.split(","):
        prepare(folder, ermine, name, servers)
        best = {}
        for _ in range(args.rounds):
            for server in servers:
                with running(server, folder, ermine) as (process, address):
                    wrapped = {rows: wrap(server, body) for rows, body in bodies.items()}
                    wait_for(address, wrapped[1])
                    for rows, body in wrapped.items():
                        found = at_full_load(address, body, folder, args.seconds, args.connections if rows == 1 else 4)
                        found["memory"] = memory(process.pid)
                        if found["rate"] > best.get((rows, server), {"rate": 0})["rate"]:
                            best[rows, server] = found
                    if server == "ermine" and shutil.which("oha"):
                        for rows, body in wrapped.items():
                            most = best[rows, server]["rate"]
                            found = at_fixed_load(address, body, folder, args.seconds, args.connections, most / 2)
                            half.append((name, rows, found))
        for (rows, server), found in sorted(best.items(), key=lambda pair: pair[0][0]):
            print(f"| {name} | {rows:,} | {SERVERS[server]} | {found['rate']:,.0f} | {found['rate'] * rows:,.0f} "
                  f"| {found['p50']:.2f} | {found['p99']:.2f} | {found['memory']:.0f} | {found['errors']} |", flush=True)  # fmt: skip
    print("\nErmine at half of its highest load:\n\n| model | rows | requests/s | p50 ms | p99 ms | errors |")
    print("| --- | --- | --- | --- | --- | --- |")
    for name, rows in dict.fromkeys((name, rows) for name, rows, _ in half):
        found = min((found for n, r, found in half if (n, r) == (name, rows)), key=lambda found: found["p99"])
        print(f"| {name} | {rows:,} | {found['rate']:,.0f} | {found['p50']:.2f} | {found['p99']:.2f} | {found['errors']} |")


def wrap(server, body):
    return b'{"dataframe_records": ' + body + b"}" if server == "mlflow" else body


def soak(args, folder, ermine, bodies):
    """Memory along the way of a long load."""
    prepare(folder, ermine, "forest of 100", ["ermine"])
    with running("ermine", folder, ermine) as (process, address):
        wait_for(address, bodies[1])
        print(f"at the start: {memory(process.pid):.1f} MB", flush=True)
        part = max(1, args.soak // 20)
        for step in range(10):
            small = at_fixed_load(address, bodies[1], folder, part, args.connections, args.rate)
            large = at_fixed_load(address, bodies[1000], folder, part, 4, args.rate / 100)
            print(f"after {2 * part * (step + 1)} s: {memory(process.pid):.1f} MB, {small['rate']:.0f} and "
                  f"{large['rate']:.0f} requests/s, {small['errors'] + large['errors']} errors", flush=True)  # fmt: skip


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ermine", default="target/release/ermine")
    parser.add_argument("--seconds", type=int, default=5)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--connections", type=int, default=16)
    parser.add_argument("--models", default=",".join(MODELS))
    packages = {"fastapi": "fastapi", "onnx": "onnxruntime", "mlflow": "mlflow"}
    there = [server for server in SERVERS if importlib.util.find_spec(packages.get(server, "json"))]
    parser.add_argument("--servers", default=",".join(there))
    parser.add_argument("--soak", type=int, default=0, help="instead: seconds of load, with memory along the way")
    parser.add_argument("--rate", type=int, default=2000, help="requests of one row a second while it soaks")
    args = parser.parse_args()
    ermine = str(Path(args.ermine).resolve())
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        data(20_000, 0).to_csv(folder / "old.csv", index=False)
        records = data(1000, 1).drop(columns="label").to_dict("records")
        bodies = {1: json.dumps(records[:1]).encode(), 1000: json.dumps(records).encode()}
        (folder / "app.py").write_text(APP)
        (soak if args.soak else compare)(args, folder, ermine, bodies)


if __name__ == "__main__":
    main()
