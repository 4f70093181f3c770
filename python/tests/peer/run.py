"""scikit-learn's own tests with Ermine's classes in the place of scikit-learn's, a process for each of its test
modules.

    python python/tests/peer/run.py [--fast] [--share PERCENT] [--jobs N] [--out FILE] [--list] [MODULE ...]

Fails when a test fails that is not in `failures.txt`, which gives the reason of each, or, with `--share`, when a
smaller share of the tests passes. A module without a result is always a failure. `--fast` runs a part that takes a few
minutes; `--list` prints the failures in the form of `failures.txt`.
"""

import argparse
import collections
import json
import os
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

HERE = Path(__file__).parent

MODULES = """
linear_model.tests.test_base linear_model.tests.test_coordinate_descent
linear_model.tests.test_sparse_coordinate_descent linear_model.tests.test_huber linear_model.tests.test_logistic
linear_model.tests.test_ridge linear_model.tests.test_perceptron linear_model.tests.test_sgd
linear_model._glm.tests.test_glm linear_model.tests.test_bayes svm.tests.test_svm svm.tests.test_sparse
svm.tests.test_bounds tests.test_kernel_ridge tests.test_naive_bayes tests.test_discriminant_analysis
neighbors.tests.test_neighbors tree.tests.test_tree ensemble.tests.test_forest ensemble.tests.test_bagging
ensemble.tests.test_weight_boosting ensemble._hist_gradient_boosting.tests.test_gradient_boosting
neural_network.tests.test_mlp decomposition.tests.test_pca cluster.tests.test_k_means
mixture.tests.test_gaussian_mixture preprocessing.tests.test_data preprocessing.tests.test_encoders
preprocessing.tests.test_polynomial impute.tests.test_impute feature_extraction.tests.test_text
ensemble.tests.test_voting ensemble.tests.test_stacking cluster.tests.test_dbscan cluster.tests.test_hierarchical
decomposition.tests.test_incremental_pca decomposition.tests.test_kernel_pca decomposition.tests.test_truncated_svd
tests.test_kernel_approximation mixture.tests.test_bayesian_mixture feature_selection.tests.test_variance_threshold
feature_selection.tests.test_from_model feature_selection.tests.test_rfe feature_selection.tests.test_feature_select
impute.tests.test_knn preprocessing.tests.test_discretization preprocessing.tests.test_target_encoder
linear_model.tests.test_quantile tests.test_isotonic tests.test_dummy
ensemble.tests.test_iforest neighbors.tests.test_lof cross_decomposition.tests.test_pls
""".split()

# Small modules, a few seconds each: part of the test command.
FAST = """
linear_model.tests.test_huber linear_model.tests.test_perceptron svm.tests.test_bounds tests.test_kernel_ridge
tests.test_naive_bayes tests.test_discriminant_analysis ensemble.tests.test_weight_boosting ensemble.tests.test_voting
ensemble.tests.test_stacking cluster.tests.test_dbscan cluster.tests.test_hierarchical
decomposition.tests.test_incremental_pca decomposition.tests.test_kernel_pca decomposition.tests.test_truncated_svd
tests.test_kernel_approximation feature_selection.tests.test_variance_threshold
feature_selection.tests.test_from_model feature_selection.tests.test_rfe feature_selection.tests.test_feature_select
impute.tests.test_knn preprocessing.tests.test_discretization preprocessing.tests.test_target_encoder
linear_model.tests.test_quantile tests.test_isotonic tests.test_dummy
ensemble.tests.test_iforest neighbors.tests.test_lof cross_decomposition.tests.test_pls
""".split()


def known_failures():
    known = {}
    for line in (HERE / "failures.txt").read_text().splitlines():
        if line and not line.startswith("#"):
            test, _, reason = line.partition("  # ")
            known[test] = reason
    return known


def run(module, seconds):
    """Outcomes of the tests of one module; None when its process died."""
    with tempfile.TemporaryDirectory() as place:
        result = Path(place) / "result.json"
        command = [sys.executable, "-m", "pytest", "-q", "-p", "in_place", "-p", "no:cacheprovider", "--timeout", "120"]
        command += ["--continue-on-collection-errors", "--tb=line", "-c", os.devnull, "--pyargs", f"sklearn.{module}"]
        path = os.pathsep.join([str(HERE), *filter(None, [os.environ.get("PYTHONPATH")])])
        # Several modules at a time, each on its own core.
        environment = {
            "OMP_NUM_THREADS": "1",
            **os.environ,
            "PYTHONPATH": path,
            "RESULT": str(result),
            "SKLEARN_RUN_FLOAT32_TESTS": "0",
        }
        started = time.time()
        try:
            subprocess.run(command, env=environment, capture_output=True, timeout=seconds, cwd=place)
        except subprocess.TimeoutExpired:
            pass
        found = json.loads(result.read_text()) if result.exists() else None
        return module, found, time.time() - started


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--fast", action="store_true")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--out")
    parser.add_argument("--share", type=float)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("modules", nargs="*")
    given = parser.parse_args()
    modules = given.modules or (FAST if given.fast else MODULES)
    tests, dead = {}, []
    by_class, fits = collections.defaultdict(lambda: [0, 0]), collections.Counter()
    with ThreadPoolExecutor(given.jobs) as pool:
        for module, found, seconds in pool.map(lambda module: run(module, 1200), modules):
            if found is None:
                dead.append(module)
                print(f"{module}: no result", flush=True)
                continue
            fits.update(found["fits"])
            found = found["tests"]
            tests.update({f"{module}::{name}": test for name, test in found.items()})
            passed = sum(test["passed"] for test in found.values())
            print(f"{module}: {passed} of {len(found)}, {seconds:.0f} s", flush=True)
            for test in found.values():
                for name in test["classes"]:
                    by_class[name][0] += test["passed"]
                    by_class[name][1] += 1
    failed = {name: test["why"] for name, test in tests.items() if not test["passed"]}
    passed = len(tests) - len(failed)
    print("\n".join(f"  {name}: {a} of {b}" for name, (a, b) in sorted(by_class.items())))
    print(f"{passed} of {len(tests)} tests that use a class of Ermine pass ({100 * passed / max(len(tests), 1):.1f} %)")
    print(f"{fits['ermine']} of {fits.total()} fits were the engine's")
    if given.out:
        Path(given.out).write_text(json.dumps({"tests": tests, "fits": fits, "dead": dead}, indent=1))
    if given.list:
        for name, why in failed.items():
            print(f"{name}  # {why.splitlines()[0] if why else ''}")
        return
    known = known_failures()
    new = {name: why for name, why in failed.items() if name not in known}
    for name, why in new.items():
        print(f"FAILED {name}: {why.splitlines()[0] if why else ''}")
    for module in dead:
        print(f"FAILED {module} gave no result")
    enough = not new if given.share is None else 100 * passed >= given.share * len(tests)
    sys.exit(0 if enough and not dead else 1)


if __name__ == "__main__":
    main()
