"""Fits under the real mpirun, through mpi4py, are those of one process to the last bit."""

import os
import shutil
import subprocess
import sys

import pytest

pytest.importorskip("mpi4py")
if shutil.which("mpirun") is None:
    pytest.skip("there is no mpirun: see tools/install-mpi.sh", allow_module_level=True)

SCRIPT = """
import sys
import numpy as np
import scipy.sparse as sp
from mpi4py import MPI
import ermine
from ermine import distributed

comm = MPI.COMM_WORLD
rng = np.random.default_rng(3)
X = rng.normal(size=(9001, 40)) * rng.uniform(0.1, 9, size=40)
y = X[:, 0] - 0.3 * X[:, 1] + rng.normal(size=len(X))
label = np.array(["low", "mid", "high"])[(y > -1).astype(int) + (y > 1)]
weight = rng.uniform(0.5, 2, size=len(X))
# Uneven parts, one of them with a single class.
order = np.argsort(label == "low", kind="stable")
X, y, label, weight = X[order], y[order], label[order], weight[order]
cuts = np.linspace(0, 1, comm.size + 1) ** 2 * len(X)
mine = slice(int(cuts[comm.rank]), int(cuts[comm.rank + 1]))

def check(estimator, y=None, sample_weight=None, X=X):
    alone = type(estimator)(**estimator.get_params())
    given = {} if sample_weight is None else {"sample_weight": sample_weight}
    alone.fit(X, *([] if y is None else [y]), **given)
    part = None if y is None else y[mine]
    weights = None if sample_weight is None else sample_weight[mine]
    fitted = distributed.fit(estimator, X[mine], part, weights, exchange=distributed.Exchange(comm))
    assert fitted._model.to_bytes() == alone._model.to_bytes(), type(estimator).__name__
    assert fitted.fit_log_.objective == alone.fit_log_.objective

check(ermine.Ridge(alpha=0.3), y, weight)
check(ermine.LogisticRegression(), label, weight)
check(ermine.LogisticRegression(), label, X=sp.csr_matrix(X))
check(ermine.GaussianNB(), label)
check(ermine.PCA(n_components=3))
check(ermine.KMeans(n_clusters=4, n_init=1, random_state=5))
check(ermine.StandardScaler())
check(ermine.MLPRegressor(hidden_layer_sizes=[8], max_iter=3, random_state=1), y)
check(ermine.SGDClassifier(batch_size=64, max_iter=3, random_state=3), label, weight)
check(ermine.HistGradientBoostingClassifier(max_iter=5, random_state=2), label, weight)
check(ermine.HistGradientBoostingRegressor(loss="absolute_error", max_iter=5, early_stopping=True, random_state=4), y)
check(ermine.RandomForestClassifier(n_estimators=4, oob_score=True, random_state=6), label, weight)
check(ermine.DecisionTreeRegressor(max_leaf_nodes=20, random_state=7), y)

def refused(estimator, words, *arguments):
    try:
        distributed.fit(estimator, *arguments)
    except (ValueError, NotImplementedError) as error:
        assert words in str(error), error
    else:
        raise AssertionError(words)

refused(ermine.SVC(), "in memory", X[mine], label[mine])
refused(ermine.SGDClassifier(), "batch_size", X[mine], label[mine])
# One process has bad rows: all hear of it.
bad = X[mine].copy()
if comm.rank == comm.size - 1:
    bad[0, 2] = np.nan
refused(ermine.Ridge(), "NaN", bad, y[mine])
refused(ermine.Ridge(), "columns", X[mine][:, : 40 - comm.rank], y[mine])
# One process speaks for all: lines that several print at once may mix.
arrived = comm.gather(comm.rank)
if comm.rank == 0:
    print("same", *arrived)
"""


@pytest.mark.parametrize("processes", [2, 3])
def test_fits_are_those_of_one_process(tmp_path, processes):
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    settings = {
        "OMPI_ALLOW_RUN_AS_ROOT": "1",
        "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
        "OMPI_MCA_rmaps_base_oversubscribe": "1",
        "OMPI_MCA_btl": "self,vader",
    }
    call = ["mpirun", "-n", str(processes), sys.executable, "-W", "ignore", str(script)]
    done = subprocess.run(call, env={**os.environ, **settings}, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["same", *map(str, range(processes))]
