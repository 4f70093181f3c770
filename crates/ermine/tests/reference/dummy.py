"""Writes dummy.json: what scikit-learn 1.9's baselines say of a small table.

    python dummy.py > dummy.json
"""

import json

import numpy as np
from sklearn.dummy import DummyClassifier, DummyRegressor

rng = np.random.default_rng(7)
n = 30
y = np.round(rng.gamma(2.0, 3.0, (n, 2)), 3)
codes = rng.integers(0, 4, n)
weights = rng.integers(1, 4, n) / 2
x = np.zeros((n, 1))

values = {}
for spec, model in {
    "mean": DummyRegressor(),
    "median": DummyRegressor(strategy="median"),
    "quantile": DummyRegressor(strategy="quantile", quantile=0.3),
    "constant": DummyRegressor(strategy="constant", constant=[1.5, -2.0]),
}.items():
    values[spec] = model.fit(x, y).predict(x[:1])[0].tolist()
values["weighted mean"] = DummyRegressor().fit(x, y, weights).predict(x[:1])[0].tolist()
probabilities = {
    strategy: DummyClassifier(strategy=strategy, constant=2).fit(x, codes, weights).predict_proba(x[:1])[0].tolist()
    for strategy in ("prior", "most_frequent", "uniform", "constant")
}
print(
    json.dumps(
        {
            "y": y.ravel().tolist(),
            "codes": codes.tolist(),
            "weights": weights.tolist(),
            "values": values,
            "probabilities": probabilities,
        }
    )
)
