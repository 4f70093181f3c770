"""Makes mlp.json: five epochs of scikit-learn's MLPClassifier from a fixed start, in the order of the rows."""

import json
import pathlib

import numpy as np
from sklearn.neural_network import MLPClassifier

rng = np.random.default_rng(0)
X = np.round(rng.normal(size=(20, 3)), 3)
y = np.arange(20) % 3
weights = np.round(rng.uniform(0.5, 2.0, 20), 3)
start = [np.round(rng.normal(size=shape), 3) for shape in [(3, 4), (4,), (4, 3), (3,)]]


def flat(model):
    return np.concatenate([part.ravel() for pair in zip(model.coefs_, model.intercepts_) for part in pair]).tolist()


runs = {}
for name, extra in {
    "unweighted": {},
    "adam": {},
    "nesterov": dict(solver="sgd"),
    "momentum": dict(solver="sgd", nesterovs_momentum=False),
    "invscaling": dict(solver="sgd", learning_rate="invscaling"),
}.items():
    shape = dict(hidden_layer_sizes=(4,), activation="tanh", batch_size=7, shuffle=False, alpha=0.1, learning_rate_init=0.05)
    model = MLPClassifier(**shape, **extra, random_state=0)
    weight = None if name == "unweighted" else weights
    # The first call sets everything up; then weights and optimiser start anew.
    model.partial_fit(X, y, classes=[0, 1, 2], sample_weight=weight)
    model.coefs_ = [start[0].copy(), start[2].copy()]
    model.intercepts_ = [start[1].copy(), start[3].copy()]
    del model._optimizer
    model.t_, model.loss_curve_ = 0, []
    for _ in range(5):
        model.partial_fit(X, y, sample_weight=weight)
    runs[name] = dict(loss=model.loss_curve_, weights=flat(model), probability=model.predict_proba(X).ravel().tolist())

out = dict(x=X.ravel().tolist(), y=y.tolist(), weights=weights.tolist(), runs=runs)
out["start"] = np.concatenate([part.ravel() for part in start]).tolist()
pathlib.Path(__file__).with_suffix(".json").write_text(json.dumps(out) + "\n")
