"""Latency and throughput of `ermine serve` beside scikit-learn behind FastAPI, with wrk on the loopback address.

    python bench/serve.py --ermine target/release/ermine [--seconds 5] [--connections 16]

Needs wrk, scikit-learn, fastapi and uvicorn. Each server has all cores, as many workers or threads as there are, and is measured alone.
"""

import argparse
import json
import os
import re
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
    "logistic": ("LogisticRegression", {}, "sklearn.linear_model", "LogisticRegression", {"max_iter": 200}),
    "forest of 100": (
        "RandomForestClassifier", {"n_estimators": 100}, "sklearn.ensemble", "RandomForestClassifier",
        {"n_estimators": 100},
    ),
    "boosting of 100": (
        "HistGradientBoostingClassifier", {"max_iter": 100, "early_stopping": "false"}, "sklearn.ensemble",
        "HistGradientBoostingClassifier", {"max_iter": 100, "early_stopping": False},
    ),
}  # fmt: skip

# One worker of the other server: rows as JSON records, a data frame, a pipeline, records back.
APP = """
import os, pickle
import pandas as pd
from fastapi import FastAPI, Request

app = FastAPI()
model = pickle.load(open(os.environ["MODEL"], "rb"))

@app.post("/predict")
async def predict(request: Request):
    rows = pd.DataFrame.from_records(await request.json())
    shares = model.predict_proba(rows)
    names = [str(name) for name in model.classes_]
    return {"predictions": [
        {"prediction": names[row.argmax()], "probability": dict(zip(names, row.tolist()))} for row in shares
    ]}
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
    for _ in range(300):
        try:
            request = urllib.request.Request(address, body, {"content-type": "application/json"})
            with urllib.request.urlopen(request, timeout=5) as answer:
                return json.load(answer)
        except OSError:
            time.sleep(0.1)
    raise RuntimeError(f"nobody answers at {address}")


def wrk(address, body, folder, seconds, connections):
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
    return {"per_second": requests / (duration / 1e6), "p50_ms": p50 / 1e3, "p99_ms": p99 / 1e3, "errors": int(errors)}


def memory(process):
    status = Path(f"/proc/{process}/status").read_text()
    return int(re.search(r"VmRSS:\s+(\d+)", status)[1]) / 1024


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--ermine", default="target/release/ermine")
    parser.add_argument("--seconds", type=int, default=5)
    parser.add_argument("--connections", type=int, default=16)
    parser.add_argument("--models", default=",".join(MODELS))
    parser.add_argument("--soak", type=int, default=0, help="seconds of load at the end, with memory along the way")
    args = parser.parse_args()
    folder = Path(tempfile.mkdtemp())
    data(20_000, 0).to_csv(folder / "old.csv", index=False)
    records = data(1000, 1).drop(columns="label").to_dict("records")
    bodies = {1: json.dumps(records[:1]).encode(), 1000: json.dumps(records).encode()}
    (folder / "app.py").write_text(APP)
    print("| model | rows | server | requests/s | rows/s | p50 ms | p99 ms | errors |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- |", flush=True)
    for name in args.models.split(","):
        model, params, module, theirs, their_params = MODELS[name]
        words = [args.ermine, "fit", "old.csv", "--target", "label", "--model", model, "--folds", "0", "--test", "0"]
        for param, value in params.items():
            words += ["--" + param.replace("_", "-"), str(value)]
        words[0] = str(Path(args.ermine).resolve())
        subprocess.run([*words, "--force", "-o", "m.ermine"], cwd=folder, check=True, capture_output=True)
        code = f"""
import pickle, pandas as pd
from sklearn.compose import make_column_transformer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from {module} import {theirs}
table = pd.read_csv("old.csv")
prepare = make_column_transformer((OneHotEncoder(sparse_output=False), ["kind"]), remainder=StandardScaler())
model = make_pipeline(prepare, {theirs}(**{their_params!r})).fit(table.drop(columns="label"), table["label"])
pickle.dump(model, open("model.pickle", "wb"))
"""
        subprocess.run([sys.executable, "-c", code], cwd=folder, check=True)
        servers = {"ermine": None, "FastAPI + scikit-learn": None}
        for server in servers:
            port = free_port()
            if server == "ermine":
                words = [words[0], "serve", "m.ermine", "--listen", f"127.0.0.1:{port}"]
                address = f"http://127.0.0.1:{port}/v1/models/m:predict"
            else:
                workers = str(os.cpu_count())
                words_of = ["-m", "uvicorn", "app:app", "--port", str(port), "--workers", workers, "--log-level", "error"]
                address = f"http://127.0.0.1:{port}/predict"
                words = [sys.executable, *words_of]
            environment = {**os.environ, "MODEL": "model.pickle", "OMP_NUM_THREADS": "1"}
            process = subprocess.Popen(words, cwd=folder, env=environment, stderr=subprocess.DEVNULL)
            try:
                answer = wait_for(address, bodies[1])
                assert answer["predictions"][0]["prediction"] in ("yes", "no")
                for rows, body in bodies.items():
                    found = wrk(address, body, folder, args.seconds, args.connections if rows == 1 else 4)
                    rate = found["per_second"]
                    print(f"| {name} | {rows:,} | {server} | {rate:,.0f} | {rate * rows:,.0f} | {found['p50_ms']:.2f} "
                          f"| {found['p99_ms']:.2f} | {found['errors']} |", flush=True)  # fmt: skip
                if server == "ermine" and args.soak:
                    for part in range(6):
                        wrk(address, bodies[1], folder, max(1, args.soak // 6), args.connections)
                        print(f"  memory after {(part + 1) * (args.soak // 6)} s: {memory(process.pid):.1f} MB", flush=True)
            finally:
                process.terminate()
                process.wait()
            words = [str(Path(args.ermine).resolve())]


if __name__ == "__main__":
    main()
