"""The same models on real tables: do they give what the peers give?

    python bench/equal.py svc --data DIR          SVC beside LIBSVM: objective, support vectors, decision values
    python bench/equal.py ensembles --data DIR    forests and boosting beside scikit-learn and LightGBM, test scores over seeds

Runs in the environment of `run.py` with the package as it was built there.
"""

import argparse
import subprocess
import sys
import time
import warnings
from pathlib import Path

import run


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("what", choices=["svc", "ensembles"])
    p.add_argument("--data", required=True, type=Path, help="folder of the tables")
    p.add_argument("--seeds", type=int, default=10, help="splits of each table (default 10)")
    args = p.parse_args()
    if Path(sys.prefix).resolve() != run.VENV.resolve():
        run.prepare_venv(False)
        sys.exit(subprocess.run([run.PYTHON, *sys.argv]).returncode)
    warnings.simplefilter("ignore")
    {"svc": svc, "ensembles": ensembles}[args.what](args)


def table(path, target, drop=()):
    """(numbers with categories as one-hot columns, target)"""
    import pandas as pd

    rows = pd.read_csv(path).drop(columns=list(drop))
    y = rows.pop(target)
    return pd.get_dummies(rows, dtype=float).to_numpy(dtype=float, copy=True), y.to_numpy()


def svc(args):
    import numpy as np
    from sklearn.metrics.pairwise import pairwise_kernels
    from sklearn.preprocessing import StandardScaler
    from sklearn.svm import SVC as Libsvm

    from ermine.svm import SVC

    adult_x, adult_y = table(args.data / "adult.csv.gz", "income")
    sets = {
        "breast_cancer": table(args.data / "breast_cancer.csv", "diagnosis"),
        "digits": table(args.data / "digits.csv", "digit"),
        "adult, first 6,000": (adult_x[:6000], adult_y[:6000]),
    }
    kernels = [
        dict(kernel="rbf", gamma="scale", C=1.0),
        dict(kernel="rbf", gamma="scale", C=100.0),
        dict(kernel="rbf", gamma=0.05, C=10.0),
        dict(kernel="poly", degree=3, coef0=1.0, gamma="scale", C=0.5),
        dict(kernel="linear", C=0.1),
    ]
    print("| table | kernel | support vectors | LIBSVM's | objective | LIBSVM's | decisions differ by | KKT violation or gap | seconds | LIBSVM's |")
    print("| --- " * 10 + "|")
    for name, (X, y) in sets.items():
        X = StandardScaler().fit_transform(X) if name != "digits" else X / 16
        for params in kernels:
            fits, seconds = [], []
            for kind in (SVC, Libsvm):
                begin = time.perf_counter()
                fits.append(kind(**params, tol=1e-6, cache_size=500).fit(X, y))
                seconds.append(time.perf_counter() - begin)
            # Several classes are several problems; the objective is compared where there is one.
            objective = ["", ""]
            if len(np.unique(y)) == 2:
                for i, fit in enumerate(fits):
                    known = {key: value for key, value in params.items() if key not in ("C", "gamma")}
                    if params["kernel"] != "linear":
                        known["gamma"] = 1 / (X.shape[1] * X.var()) if params["gamma"] == "scale" else params["gamma"]
                    kernel = known.pop("kernel")
                    V, a = X[fit.support_], fit.dual_coef_[0]
                    value = 0.5 * a @ pairwise_kernels(V, metric=kernel, **known) @ a - np.abs(a).sum()
                    objective[i] = f"{value:.8g}"
            difference = np.abs(fits[0].decision_function(X) - fits[1].decision_function(X)).max()
            text = " ".join(f"{key}={value}" for key, value in params.items())
            counts = [len(fit.support_) for fit in fits]
            log = fits[0].fit_log_.certificate
            cells = [name, text, *map(str, counts), *objective, f"{difference:.1e}", str(log), *(f"{s:.2f}" for s in seconds)]
            print("| " + " | ".join(cells) + " |", flush=True)


def ensembles(args):
    import lightgbm
    import numpy as np
    import sklearn.ensemble as peers
    from sklearn.model_selection import train_test_split

    import ermine.ensemble as ours

    sets = {
        "california_housing": (*table(args.data / "california_housing.csv", "median_house_value"), False),
        "bike_sharing": (*table(args.data / "bike_sharing_hour.csv", "cnt", ["casual", "registered", "instant", "dteday"]), False),
        "adult": (*table(args.data / "adult.csv.gz", "income"), True),
        "digits": (*table(args.data / "digits.csv", "digit"), True),
    }
    print("| table | model | Ermine | scikit-learn | LightGBM | Ermine - best peer, mean ± error over seeds |")
    print("| --- " * 6 + "|")
    for name, (X, y, classes) in sets.items():
        if classes:
            y = np.unique(y, return_inverse=True)[1]
        suffix = "Classifier" if classes else "Regressor"
        for model in ("RandomForest", "HistGradientBoosting"):
            scores = []
            for seed in range(args.seeds):
                known = dict(n_jobs=2) if model == "RandomForest" else {}
                fits = [getattr(ours, model + suffix)(random_state=seed), getattr(peers, model + suffix)(random_state=seed, **known)]
                if model == "HistGradientBoosting":
                    fits.append(getattr(lightgbm, "LGBM" + suffix)(random_state=seed, n_jobs=2, verbose=-1))
                train, test, y_train, y_test = train_test_split(X, y, test_size=0.2, random_state=seed, stratify=y if classes else None)
                scores.append([fit.fit(train, y_train).score(test, y_test) for fit in fits])
            scores = np.array(scores)
            mean = scores.mean(0)
            best = 1 + mean[1:].argmax()
            difference = scores[:, 0] - scores[:, best]
            cells = [name, model, *(f"{m:.4f}" for m in mean), *[""] * (3 - len(mean))]
            cells.append(f"{difference.mean():+.4f} ± {difference.std(ddof=1) / len(difference) ** 0.5:.4f}")
            print("| " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()
