"""Writes trees.json: trees of scikit-learn 1.9.1 on iris and wine (UCI, CC BY 4.0), with the data.

Run: python trees.py > trees.json
"""

import json

import numpy as np
from sklearn.datasets import load_iris, load_wine
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor


def dump(model, x, y, **params):
    tree = model(random_state=0, **params).fit(x, y).tree_
    return {
        "model": model.__name__,
        "params": params,
        "feature": tree.feature.tolist(),
        "threshold": [round(float(t), 6) for t in tree.threshold],
        "left": tree.children_left.tolist(),
        "right": tree.children_right.tolist(),
        "impurity": [round(float(t), 9) for t in tree.impurity],
        "rows": tree.n_node_samples.tolist(),
    }


out = []
for name, load in [("iris", load_iris), ("wine", load_wine)]:
    x, y = load(return_X_y=True)
    # Single precision, as scikit-learn's trees see it.
    x = x.astype(np.float32).astype(float)
    real = x[:, 0] + 0.1 * np.arange(len(x)) % 1.7
    trees = []
    for criterion in ["gini", "entropy"]:
        trees.append(dump(DecisionTreeClassifier, x, y, criterion=criterion))
        trees.append(dump(DecisionTreeClassifier, x, y, criterion=criterion, max_depth=3, min_samples_leaf=5))
    for criterion in ["squared_error", "absolute_error", "poisson"]:
        trees.append(dump(DecisionTreeRegressor, x, real, criterion=criterion, max_depth=4, min_samples_leaf=4))
    alphas, impurities = (lambda p: (p.ccp_alphas, p.impurities))(
        DecisionTreeClassifier(random_state=0).cost_complexity_pruning_path(x, y)
    )
    out.append({
        "name": name,
        "x": [[float(f"{v:.9g}") for v in row] for row in x],
        "codes": y.tolist(),
        "real": real.tolist(),
        "trees": trees,
        "path": {"alphas": alphas.tolist(), "impurities": impurities.tolist()},
    })
print(json.dumps(out))
