"""What the Watch pages of `ermine lab` show is what Python fits on the same points, to the last bit: every step, every
attribute, every prediction, at every stop and for every choice of its parameters."""

import json
import re
import shutil
import subprocess
import urllib.request
from pathlib import Path

import numpy as np
import pytest
from sklearn import config_context
from sklearn.exceptions import ConvergenceWarning

import ermine
from test_report import program

ROOT = Path(__file__).parents[2]
PAGES = ROOT / "crates/app/assets/lab/watch"

#: Every request that a stop makes at its start, and with each parameter changed by itself, on the first set of points.
ASK = f"""
import {{ STOPS }} from {json.dumps((PAGES / "stops.js").as_uri())};
import {{ SETS }} from {json.dumps((PAGES / "sets.js").as_uri())};
const all = {{}};
for (const stop of STOPS) {{
  const start = Object.fromEntries(stop.params.map((param) => [param.name, param.start]));
  const changed = stop.params.flatMap((param) => param.values.map((value) => ({{ ...start, [param.name]: value }})));
  const asked = new Set();
  for (const params of [start, ...changed])
    for (const request of stop.requests(SETS[stop.sets[0]][1](), params)) asked.add(JSON.stringify(request));
  all[stop.id] = [...asked].map((text) => JSON.parse(text));
}}
process.stdout.write(JSON.stringify(all));
"""


def requests():
    if not shutil.which("node"):
        return {}
    done = subprocess.run(["node", "--input-type=module", "-e", ASK], capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


REQUESTS = requests()


@pytest.fixture(scope="module")
def ask():
    lab = subprocess.Popen([program(), "lab", "--no-browser"], stderr=subprocess.PIPE, text=True)
    try:
        address = next(found for line in lab.stderr if (found := re.search(r"(http://[\d.:]+)/#token=(\w+)", line)))
        headers = {"Authorization": f"Bearer {address[2]}", "Content-Type": "application/json"}

        def post(request):
            body = json.dumps(request).encode()
            asked = urllib.request.Request(f"{address[1]}/api/watch", body, headers)
            with urllib.request.urlopen(asked, timeout=60) as answer:
                return json.load(answer)

        yield post
    finally:
        lab.terminate()
        lab.wait()


LIST = {entry["name"]: entry for entry in ermine.models()}
WORDS = {"none": None, "true": True, "false": False}


def value(text):
    """A parameter as the page writes it."""
    if text in WORDS:
        return WORDS[text]
    if text.startswith("["):
        return json.loads(text)
    if "(" in text:
        return estimator(text)
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            pass
    return text


def estimator(text, seed=0):
    """The estimator of such a text, what is not said as the engine has it: Python's defaults are scikit-learn's."""
    name, _, inside = text.partition("(")
    given = dict(
        part.split("=", 1) for part in re.findall(r"\w+=(?:\[[^]]*\]|\w+\(.*\)|[^,()]+)", inside.rstrip()[:-1])
    )
    cls = getattr(ermine, name)
    taken = cls().get_params(deep=False)
    defaults = {param["name"]: param["default"] for param in LIST[name]["params"] if param["name"] in taken}
    params = {name: default for name, default in defaults.items() if not isinstance(default, dict)}
    params |= {name: value(text) for name, text in given.items()}
    if "random_state" in taken:
        params["random_state"] = seed
    return cls(**params)


def numbers(found):
    """Nested lists or arrays as numbers, null as NaN."""
    if isinstance(found, (list, tuple)) or (isinstance(found, np.ndarray) and found.dtype == object):
        return [number for item in found for number in numbers(item)]
    if isinstance(found, str):
        return []
    # JSON has no infinity: what is not finite is null there.
    return [float(item) if item is not None and np.isfinite(item) else float("nan") for item in np.ravel(found)]


METHODS = {"probability": "predict_proba", "decision": "decision_function", "class": "predict", "value": "predict"}


def same(model, seen, request, steps):
    for name, shown in seen["attributes"].items():
        if name == "train_score_" or not hasattr(model, name):
            continue  # scikit-learn's are empty without early stopping
        # Where scikit-learn computes an attribute from others, the engine's own stands beside it.
        mine = model._found[name] if name in model._found else getattr(model, name)
        np.testing.assert_array_equal(numbers(mine), numbers(shown), err_msg=name)
    for output, method in METHODS.items():
        for rows, shown in ((request["points"], seen["said"]), (request.get("grid"), seen["grid"])):
            if rows and output in shown:
                said = getattr(model, method)(np.array(rows))
                np.testing.assert_array_equal(numbers(said), numbers(shown[output]), err_msg=output)
    fit = next((fit for fit in steps.fits if fit.estimator is model), None)
    recorded = fit.steps if fit else []
    assert [step.what for step in recorded] == [step["what"] for step in seen["steps"]]
    for step, shown in zip(recorded, seen["steps"], strict=True):
        assert step.values.keys() == shown["values"].keys()
        for name, found in step.values.items():
            np.testing.assert_array_equal(
                numbers(found), numbers(shown["values"][name]), err_msg=f"{name} of {step.number}"
            )


@pytest.mark.skipif(not REQUESTS, reason="there is no Node")
@pytest.mark.filterwarnings("ignore", category=ConvergenceWarning)
@pytest.mark.parametrize("stop", REQUESTS)
def test_a_stop_shows_the_fit_of_python(ask, stop):
    for request in REQUESTS[stop]:
        seen = ask(request)
        model = estimator(request["model"], request.get("seed", 0))
        target = np.array(request.get("target", []))
        if model._info["task"] == "Classification":
            target = target.astype(int)
        with config_context(skip_parameter_validation=True), ermine.trace(most=300_000) as steps:
            model.fit(np.array(request["points"]), target if len(target) else None)
        assert model.fit_log_.engine == "ermine", (request["model"], model.fit_log_.notes)
        try:
            same(model, seen, request, steps)
        except AssertionError as error:
            raise AssertionError(f"{request['model']}: {error}") from None


@pytest.mark.skipif(not REQUESTS, reason="there is no Node")
def test_every_stop_is_here():
    assert len(REQUESTS) >= 18 and all(REQUESTS.values())
