"""A pytest plugin: Ermine's classes in the place of scikit-learn's, under scikit-learn's own tests.

Only tests that construct one of the replaced classes count. `RESULT` names the file that gets the outcome of each, and
how many fits were the engine's and how many scikit-learn's.
"""

import collections
import functools
import importlib
import json
import os

import ermine

# Modules of scikit-learn that use the classes of others: they must be there before the names are replaced.
BESIDE = (
    "calibration", "compose", "covariance", "gaussian_process", "inspection", "multiclass", "multioutput", "pipeline",
    "semi_supervised",
)  # fmt: skip

touched, results, reasons = set(), {}, {}


def watch(cls):
    init = cls.__init__

    @functools.wraps(init)
    def counted(self, *args, **kwargs):
        touched.add(cls.__name__)
        return init(self, *args, **kwargs)

    cls.__init__ = counted


def pytest_configure(config):
    for module in BESIDE:
        importlib.import_module(f"sklearn.{module}")
    from ermine._patch import _classes

    for _, _, ours in _classes():
        watch(ours)
    ermine.patch_sklearn()


def pytest_runtest_setup(item):
    touched.clear()


def pytest_runtest_logreport(report):
    if report.when == "call" or (report.when == "setup" and report.skipped):
        results[report.nodeid] = report.outcome, sorted(touched)
    if report.failed:
        crash = getattr(report.longrepr, "reprcrash", None)
        reasons[report.nodeid] = str(crash.message if crash else report.longrepr)[:160]


def pytest_sessionfinish(session):
    counted = {node: found for node, found in results.items() if found[1] and found[0] != "skipped"}
    tests = {
        node.split("::", 1)[-1]: {"passed": outcome == "passed", "classes": names, "why": reasons.get(node, "")}
        for node, (outcome, names) in counted.items()
    }
    fits = collections.Counter()
    for fit in ermine.patch_report().fits:
        fits[fit["engine"]] += fit["count"]
    with open(os.environ["RESULT"], "w") as file:
        json.dump({"tests": tests, "fits": fits}, file)
