"""Writes prep.json: what scikit-learn 1.9's transformers make of a small table.

    python prep.py > prep.json
"""

import json
import math
import warnings

import numpy as np
import sklearn.preprocessing as p
from sklearn.feature_selection import SelectKBest, VarianceThreshold, f_classif
from sklearn.impute import SimpleImputer

warnings.filterwarnings("ignore")
rng = np.random.default_rng(4)
n = 40
numbers = np.column_stack([rng.normal(size=n), rng.gamma(1.5, 2.0, size=n), 100 + 0.5 * rng.integers(0, 9, n), np.full(n, 2.5)])
codes = np.column_stack([rng.integers(0, 4, n), rng.integers(1, 3, n), np.where(rng.random(n) < 0.7, 7, rng.integers(0, 6, n))]).astype(float)
holes = numbers.copy()
holes[rng.random(holes.shape) < 0.15] = np.nan
holes[:, 3] = 2.5
y = rng.integers(0, 3, n)

numeric = {
    "StandardScaler": p.StandardScaler(),
    "StandardScaler(with_mean=false)": p.StandardScaler(with_mean=False),
    "MinMaxScaler": p.MinMaxScaler(),
    "MinMaxScaler(feature_range=[-1,2])": p.MinMaxScaler(feature_range=(-1, 2)),
    "MaxAbsScaler": p.MaxAbsScaler(),
    "RobustScaler": p.RobustScaler(),
    "RobustScaler(quantile_range=[10,80])": p.RobustScaler(quantile_range=(10, 80)),
    "Normalizer": p.Normalizer(),
    "Normalizer(norm=l1)": p.Normalizer(norm="l1"),
    "Binarizer(threshold=0.5)": p.Binarizer(threshold=0.5),
    "PolynomialFeatures": p.PolynomialFeatures(),
    "PolynomialFeatures(degree=3,interaction_only=true,include_bias=false)": p.PolynomialFeatures(3, interaction_only=True, include_bias=False),
    "VarianceThreshold": VarianceThreshold(),
    "SelectKBest(k=2)": SelectKBest(f_classif, k=2),
}
varying = {
    "QuantileTransformer(n_quantiles=20)": p.QuantileTransformer(n_quantiles=20),
    "QuantileTransformer(n_quantiles=40,output_distribution=normal)": p.QuantileTransformer(n_quantiles=40, output_distribution="normal"),
    "PowerTransformer": p.PowerTransformer(),
    "SplineTransformer": p.SplineTransformer(),
    "SplineTransformer(degree=2,n_knots=4,include_bias=false)": p.SplineTransformer(degree=2, n_knots=4, include_bias=False),
    "KBinsDiscretizer(encode=ordinal)": p.KBinsDiscretizer(encode="ordinal", quantile_method="averaged_inverted_cdf"),
    "KBinsDiscretizer(encode=onehot-dense,strategy=uniform)": p.KBinsDiscretizer(encode="onehot-dense", strategy="uniform"),
}
missing = {
    "QuantileTransformer": p.QuantileTransformer(),
    "SimpleImputer": SimpleImputer(),
    "SimpleImputer(strategy=median,add_indicator=true)": SimpleImputer(strategy="median", add_indicator=True),
    "SimpleImputer(strategy=most_frequent)": SimpleImputer(strategy="most_frequent"),
    "SimpleImputer(strategy=constant,fill_value=-1)": SimpleImputer(strategy="constant", fill_value=-1),
}
categories = {
    "OneHotEncoder": p.OneHotEncoder(),
    "OneHotEncoder(drop=first)": p.OneHotEncoder(drop="first"),
    "OneHotEncoder(drop=if_binary)": p.OneHotEncoder(drop="if_binary"),
    "OneHotEncoder(min_frequency=5)": p.OneHotEncoder(min_frequency=5),
    "OneHotEncoder(max_categories=3,drop=first)": p.OneHotEncoder(max_categories=3, drop="first"),
    "OrdinalEncoder": p.OrdinalEncoder(),
    "TargetEncoder": p.TargetEncoder(),
    "TargetEncoder(smooth=3)": p.TargetEncoder(smooth=3.0),
}


def cells(x):
    x = x.toarray() if hasattr(x, "toarray") else np.asarray(x, float)
    return {"cols": int(x.shape[1]), "values": [None if math.isnan(v) else float(v) for v in x.ravel()]}


cases = []
for x, group in [(numbers, numeric), (numbers[:, :3], varying), (holes, missing), (codes, categories)]:
    for spec, transformer in group.items():
        out = transformer.fit(x, y).transform(x)
        cases.append({"spec": spec, "x": cells(x), "out": cells(out)})
print(json.dumps({"y": [int(v) for v in y], "cases": cases}))
