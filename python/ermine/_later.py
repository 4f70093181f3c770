"""What scikit-learn's classes keep and few people look at: made from the engine's model when it is asked for."""

import warnings

import numpy as np

from ._log import FitLog


def sklearn_tree(nodes, n_features, n_classes, n_outputs, criterion, leaf_rows=None):
    """scikit-learn's `Tree` from the arrays of the engine."""
    from sklearn.tree._tree import NODE_DTYPE, Tree

    count = len(nodes["left"])
    left, right = nodes["left"], nodes["right"]
    table = np.zeros(count, dtype=NODE_DTYPE)
    table["left_child"], table["right_child"] = left, right
    table["feature"], table["threshold"] = nodes["feature"], nodes["threshold"]
    table["missing_go_to_left"] = nodes["missing_left"]
    table["weighted_n_node_samples"] = nodes["weight"]
    values = nodes["value"].reshape(count, -1)
    if len(nodes["impurity"]):
        table["impurity"] = nodes["impurity"]
    elif criterion in ("entropy", "log_loss"):
        table["impurity"] = -(values * np.log2(np.where(values > 0, values, 1.0))).sum(1)
    elif n_classes is not None:
        table["impurity"] = 1.0 - (values**2).sum(1)
    # Children stand behind their parent.
    rows = np.zeros(count)
    rows[nodes["leaf"]] = nodes["weight"][nodes["leaf"]] if leaf_rows is None else leaf_rows
    depth = np.zeros(count, dtype=np.int64)
    inner = np.flatnonzero(left >= 0)
    for at in inner:
        depth[left[at]] = depth[right[at]] = depth[at] + 1
    for at in inner[::-1]:
        rows[at] = rows[left[at]] + rows[right[at]]
    table["n_node_samples"] = np.round(rows)
    widths = np.ones(n_outputs, dtype=np.intp) if n_classes is None else np.array([n_classes], dtype=np.intp)
    tree = Tree(n_features, widths, n_outputs)
    values = values.reshape(count, n_outputs, 1) if n_classes is None else values.reshape(count, 1, n_classes)
    tree.__setstate__(
        {"max_depth": int(depth.max()), "node_count": count, "nodes": table, "values": np.ascontiguousarray(values)}
    )
    return tree


def _tree(estimator):
    if "DecisionTree" not in estimator._name:
        return None
    found = estimator._model.trees()
    if found is None:
        return None
    classes = len(estimator.classes_) if hasattr(estimator, "classes_") else None
    leaf_rows = estimator.__dict__.get("_leaf_rows")
    return sklearn_tree(
        found[0], estimator.n_features_in_, classes, estimator.n_outputs_, estimator.criterion, leaf_rows
    )


def node_numbers(estimator):
    """For each tree the node of each leaf, by the engine's number of the leaf."""
    if "_leaf_nodes" not in estimator.__dict__:
        found = estimator._model.trees()
        # Trees with sets of categories have no form in scikit-learn: leaves keep the engine's numbers.
        if found is None:
            count = estimator._model.attributes().get("n_leaves_", 1 << 20)
            trees = 1 if "DecisionTree" in estimator._name else dict(estimator._model.outputs())["Leaf"]
            estimator._leaf_nodes = [np.arange(count)] * trees
        else:
            estimator._leaf_nodes = [tree["leaf"] for tree in found]
    return estimator._leaf_nodes


def _estimators(estimator):
    """The trees of a forest or the members of an ensemble, as estimators."""
    from . import _models

    name = estimator._name
    if "RandomForest" in name or "ExtraTrees" in name:
        return _forest_trees(estimator)
    if name == "IsolationForest":
        return _isolation_trees(estimator)
    found = estimator._model.members()
    if found is None:
        return None
    if "Stacking" in name:
        found = found[:-1]
    bases = None
    if "Bagging" not in name and "AdaBoost" not in name:
        # Members of a model file come without names.
        bases = [member[1] if isinstance(member, tuple) else member for member in estimator.estimators]
    seeds = np.random.RandomState(estimator._fit_seed % 2**32).randint(np.iinfo(np.int32).max, size=len(found))
    made = []
    for i, (model, columns) in enumerate(found):
        base = estimator.estimator_ if bases is None else bases[i]
        params = base.get_params(deep=False) if getattr(base, "_name", None) == model.name else {}
        if bases is None and "random_state" in params:
            # Bagging draws from the seed of a member, AdaBoost hands it over.
            drawn = np.random.RandomState(seeds[i]).randint(np.iinfo(np.int32).max) if "Bagging" in name else seeds[i]
            params["random_state"] = int(drawn)
        member = getattr(_models, model.name)(**params)
        made.append(member_of(member, model, estimator, len(columns) or estimator.n_features_in_))
    return made


def member_of(member, model, owner, width):
    """An estimator that was fitted inside another."""
    from ._complete import complete

    log = '{"passes": 1, "stop": "Exact", "objective": [], "certificate": null, "notes": ["inside another"]}'
    member.n_features_in_ = width
    if hasattr(owner, "classes_"):
        # Votes and stacks hand their members the numbers of the classes.
        encoded = "Voting" in owner._name or "Stacking" in owner._name or "Bagging" in owner._name
        member.classes_ = np.arange(len(owner.classes_)) if encoded else owner.classes_
    member._restore(model, FitLog(log), seed=0, rows=owner._fit_rows)
    complete(member, None, None, None, None)
    member._single = owner._single
    if member._single:
        member._halve()
    return member


def _forest_trees(estimator):
    found = estimator._model.trees()
    if found is None:
        return None
    base = estimator.estimator
    params = {name: getattr(estimator, name) for name in estimator.estimator_params if hasattr(estimator, name)}
    classes = len(estimator.classes_) if hasattr(estimator, "classes_") else None
    seeds = np.random.RandomState(estimator._fit_seed % 2**32).randint(np.iinfo(np.int32).max, size=len(found))
    made = []
    for nodes, seed in zip(found, seeds):
        tree = type(base)(**{**params, "random_state": int(seed)})
        tree.n_features_in_, tree.n_outputs_ = estimator.n_features_in_, estimator.n_outputs_
        if classes is not None:
            tree.classes_, tree.n_classes_ = np.arange(classes, dtype=float), classes
        tree.max_features_ = estimator.n_features_in_
        tree.tree_ = sklearn_tree(
            nodes, estimator.n_features_in_, classes, estimator.n_outputs_, estimator.criterion
        )
        made.append(tree)
    return made


def _isolation_trees(estimator):
    """Trees that scikit-learn's class grows for a random target; their values are depths here."""
    base = estimator.estimator_
    seeds = np.random.RandomState(estimator._fit_seed % 2**32).randint(np.iinfo(np.int32).max, size=estimator.n_estimators)
    made = []
    for nodes, columns, seed in zip(estimator._model.trees(), estimator.estimators_features_, seeds):
        inner = nodes["feature"] >= 0
        feature = np.where(inner, np.searchsorted(columns, nodes["feature"]), nodes["feature"])
        depth = int(np.ceil(np.log2(max(estimator.max_samples_, 2))))
        tree = type(base)(max_features=1, splitter="random", max_depth=depth, random_state=int(seed))
        tree.n_features_in_, tree.n_outputs_, tree.max_features_ = len(columns), 1, 1
        tree.tree_ = sklearn_tree({**nodes, "feature": feature}, len(columns), None, 1, tree.criterion)
        made.append(tree)
    return made


def _estimators_features(estimator):
    if estimator._name == "IsolationForest":
        return [np.arange(estimator.n_features_in_)] * estimator.n_estimators
    members = estimator._model.members() if "Bagging" in estimator._name else None
    if members is None:
        return None
    every = np.arange(estimator.n_features_in_)
    return [np.array(columns, dtype=np.int64) if columns else every for _, columns in members]


def _predictors(self):
    """Boosted trees as scikit-learn's `TreePredictor`."""
    if "HistGradientBoosting" not in self._name:
        return None
    found = self._model.trees()
    if found is None:
        return None
    from sklearn.ensemble._hist_gradient_boosting.common import PREDICTOR_RECORD_DTYPE, X_BITSET_INNER_DTYPE
    from sklearn.ensemble._hist_gradient_boosting.predictor import TreePredictor

    made = []
    for nodes in found:
        left, right = nodes["left"], nodes["right"]
        table = np.zeros(len(left), dtype=PREDICTOR_RECORD_DTYPE)
        leaf = left < 0
        table["is_leaf"] = leaf
        table["value"], table["count"] = nodes["value"], np.round(nodes["weight"])
        table["feature_idx"] = np.where(leaf, 0, nodes["feature"])
        table["num_threshold"] = np.where(leaf, 0.0, nodes["threshold"])
        table["missing_go_to_left"] = nodes["missing_left"]
        table["left"], table["right"] = np.where(leaf, 0, left), np.where(leaf, 0, right)
        for at in np.flatnonzero(~leaf):
            table["depth"][left[at]] = table["depth"][right[at]] = table["depth"][at] + 1
        bits = np.zeros((0, 8), dtype=X_BITSET_INNER_DTYPE)
        made.append(TreePredictor(table, bits, bits))
    k = self.n_trees_per_iteration_
    return [made[i : i + k] for i in range(0, len(made), k)]


def _baseline(self):
    if "HistGradientBoosting" not in self._name:
        return None
    return np.asarray(self._model.baseline(), dtype=float).reshape(1, -1)


def _bin_mapper(self):
    if "HistGradientBoosting" not in self._name:
        return None
    from sklearn.ensemble._hist_gradient_boosting.binning import _BinMapper

    mapper = _BinMapper(n_bins=self.max_bins + 1)
    mapper.is_categorical_ = np.zeros(self.n_features_in_, dtype=np.uint8)
    mapper.bin_thresholds_ = [np.zeros(0)] * self.n_features_in_
    return mapper


def _fit_method(self):
    """How scikit-learn's own searches go through the fitted rows, and the tree they use."""
    if "_fit_X" not in self.__dict__:
        return None
    from ._models import NearestNeighbors

    names = [
        name
        for name in ("n_neighbors", "algorithm", "leaf_size", "metric", "p", "metric_params", "n_jobs")
        if hasattr(self, name)
    ]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs = NearestNeighbors._peer(**{name: getattr(self, name) for name in names}).fit(self._fit_X)
    self._fit_method, self._tree = theirs._fit_method, theirs._tree
    return self._fit_method


def _tree_of_rows(self):
    _fit_method(self)
    return self.__dict__.get("_tree")


#: {attribute: what makes it from an estimator, or None if it has no such thing}
LATER = {
    "tree_": _tree,
    "estimators_": _estimators,
    "estimators_features_": _estimators_features,
    "_fit_method": _fit_method,
    "_tree": _tree_of_rows,
    "_predictors": _predictors,
    "_baseline_prediction": _baseline,
    "_bin_mapper": _bin_mapper,
}
