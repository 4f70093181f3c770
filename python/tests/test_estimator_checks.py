"""scikit-learn's own checks on every class. Nothing may fail beyond what scikit-learn expects of its class of that
name."""

import collections
import inspect

import pytest
from sklearn.utils._test_common.instance_generator import (
    INIT_PARAMS,
    PER_ESTIMATOR_CHECK_PARAMS,
    PER_ESTIMATOR_XFAIL_CHECKS,
)
from sklearn.utils.estimator_checks import estimator_checks_generator

from conftest import CLASSES, PEERS, make

# For classes that scikit-learn has not: what makes the solution unique, as its own classes are checked.
OURS = {"GeneralizedLinearRegressor": {"alpha": 1.0}}

PRECISE = {"LassoCV", "ElasticNetCV"}

COUNTS = collections.defaultdict(collections.Counter)


def instance(cls):
    """As scikit-learn makes its own class for these checks: small and quick."""
    peer = PEERS.get(cls.__name__)
    wanted = INIT_PARAMS.get(peer, OURS.get(cls.__name__, {}))
    given = wanted if isinstance(wanted, dict) else wanted[0]
    return make(cls, **known_params(cls, given))


def known_params(cls, given):
    known = inspect.signature(cls.__init__).parameters
    plain = (bool, int, float, str, type(None))
    return {name: value for name, value in given.items() if name in known and isinstance(value, plain)}


# Some checks are run with parameters of their own, as scikit-learn does for its class.
for cls in CLASSES:
    by_check = PER_ESTIMATOR_CHECK_PARAMS.get(PEERS.get(cls.__name__), {})
    PER_ESTIMATOR_CHECK_PARAMS[cls] = {
        check: [known_params(cls, params) for params in (given if isinstance(given, list) else [given])]
        for check, given in by_check.items()
    }
    # Weights are repetitions at the solution: where a method stops before it, the paths to it may differ.
    precise = known_params(cls, {"tol": 1e-18, "max_iter": 100_000})
    if "tol" in cls._forms and "max_iter" in cls._forms and cls.__name__ in PRECISE:
        for check in (
            "check_sample_weight_equivalence_on_dense_data",
            "check_sample_weight_equivalence_on_sparse_data",
        ):
            PER_ESTIMATOR_CHECK_PARAMS[cls].setdefault(check, [precise])


def excused(cls):
    peer = PEERS.get(cls.__name__)
    return PER_ESTIMATOR_XFAIL_CHECKS.get(peer, {})


def all_checks():
    for cls in CLASSES:
        for estimator, check in estimator_checks_generator(instance(cls)):
            function = check
            while hasattr(function, "func"):
                function = function.func
            name = function.__name__
            yield pytest.param(cls, estimator, check, name, id=f"{cls.__name__}-{name}")


@pytest.mark.parametrize(("cls", "estimator", "check", "name"), list(all_checks()))
def test_check(cls, estimator, check, name):
    COUNTS[cls.__name__]["run"] += 1
    try:
        check(estimator)
    except Exception as error:
        skipped = type(error).__name__ == "SkipTest"
        if skipped:
            COUNTS[cls.__name__]["not for this class"] += 1
            pytest.skip(str(error))
        if name in excused(cls):
            COUNTS[cls.__name__]["expected to fail"] += 1
            pytest.xfail(excused(cls)[name])
        raise
    COUNTS[cls.__name__]["passed"] += 1


def test_counts(capsys):
    """Prints how many checks ran and passed for each class."""
    with capsys.disabled():
        print()
        for name, counts in COUNTS.items():
            rest = ", ".join(f"{count} {what}" for what, count in counts.items() if what not in ("run", "passed"))
            print(f"  {name}: {counts['passed']} of {counts['run']} passed{'; ' + rest if rest else ''}")
