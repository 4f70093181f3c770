"""What a task is made of: the registry, contenders, and the settings a task sees.

A task is one function that makes its data once and returns a `Bench`: who competes, and how the result of each
is judged. Packages are looked up only when a contender runs, so a missing one costs its own row and nothing else.
"""

import importlib
import inspect
import os
import subprocess
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Callable

ROOT = Path(__file__).resolve().parent.parent
CACHE = ROOT / "bench" / ".cache"
FAMILIES = ["linear", "kernel", "trees", "generative", "neural", "prep", "files"]


class Missing(Exception):
    """A package, class or program that is not there."""


class Skip(Exception):
    """The task cannot run here; the message says why."""


@dataclass
class Task:
    name: str
    family: list[str]  # the first word is the section of the report, the others are extra words for --family
    target: float | dict[str, float] | None  # wanted ratio to the best equal peer, or one per named peer
    max_memory: float | None  # MB
    max_seconds: float | None
    heavy: bool
    build: Callable[["Env"], "Bench"]


TASKS: dict[str, Task] = {}


def task(name, *, family, target=None, max_memory=None, max_seconds=None, heavy=False):
    """Registers a task. `heavy` ones run only with --heavy."""

    def register(build):
        assert name not in TASKS, f"two tasks are called {name!r}"
        TASKS[name] = Task(name, family.split(), target, max_memory, max_seconds, heavy, build)
        return build

    return register


def load_tasks():
    for family in FAMILIES:
        importlib.import_module(f"tasks.{family}")
    return TASKS


@dataclass
class Env:
    """The settings of this run, as a task sees them."""

    scale: float = 1.0
    threads: int = 1
    folder: str | None = None

    def n(self, rows):
        """A number of rows at this run's scale."""
        return rows if self.scale == 1 else max(200, int(rows * self.scale))

    def file(self, name):
        """A file of the folder of real data."""
        if self.folder is None:
            raise Skip(f"needs {name}: give its folder with --data")
        path = Path(self.folder) / name
        if not path.exists():
            raise Skip(f"{name} is not in the folder given by --data")
        return path


@dataclass
class Contender:
    """`prepare` runs once and is not timed; `run` gets what it returned."""

    run: Callable[[Any], Any]
    prepare: Callable[[], Any] = lambda: None


@dataclass
class Bench:
    contenders: dict[str, Contender | Callable[[], Any]]  # the label's first word is the package
    measure: Callable[[Any], float]  # result of a contender -> objective or score
    tolerance: float  # how much worse than the best still counts as equal
    better: str = "lower"  # lower: objective, relative | higher: score, absolute | same: relative, either way
    per: int = 1  # calls inside one run: the time is reported per call
    memory: bool = True

    def __post_init__(self):
        for label, c in self.contenders.items():
            if not isinstance(c, Contender):
                self.contenders[label] = Contender(lambda _, c=c: c())

    def order(self):
        """A peer, ermine, the other peers: ours runs neither on the coldest nor on the hottest machine."""
        ours = [c for c in self.contenders if is_ours(c)]
        peers = [c for c in self.contenders if not is_ours(c)]
        return peers[:1] + ours + peers[1:]

    def gap(self, value, best):
        """How much worse `value` is than `best`, in the unit of `tolerance`."""
        if self.better == "higher":
            return best - value
        gap = (value - best) / max(abs(best), 1e-9)  # an objective of zero has only rounding left
        return abs(gap) if self.better == "same" else gap


def is_ours(label):
    return label.split()[0] == "ermine"


def find(path):
    """`find("sklearn.svm.SVC")`: the named thing, or Missing."""
    module, _, name = path.rpartition(".")
    try:
        return getattr(importlib.import_module(module), name)
    except (ImportError, AttributeError) as e:
        # An extension that is there but broken must not pass for one that is not written yet.
        if isinstance(e, ImportError) and not isinstance(e, ModuleNotFoundError):
            raise
        raise Missing(f"no {path}") from None


def make(path, **params):
    """An estimator with its parameters, and the run's number of threads where it has that parameter."""
    cls = find(path)
    if "n_jobs" in inspect.signature(cls).parameters:
        params.setdefault("n_jobs", threads())
    return cls(**params)


def threads():
    return int(os.environ.get("OMP_NUM_THREADS", "1"))


def same(path, *args, peers, method="fit", **params):
    """Contenders that share scikit-learn's name and parameters; ermine is one of them.

    `peers` is a list of labels, or label -> parameters of its own ("sklearn elkan": {"algorithm": "elkan"}).
    `path` leads to a function, or to a class, of which `method` is timed: a name, called with `args`, or a function
    of the new estimator.
    """
    peers = _own_parameters(peers)

    def contender(label, own):
        full = f"{label.split()[0]}.{path}"
        both = params | own

        def run(thing):
            if not inspect.isclass(thing):
                return thing(*args, **both)
            model = make(full, **both)
            return method(model) if callable(method) else getattr(model, method)(*args)

        return Contender(run, prepare=lambda: find(full))

    return {label: contender(label, own) for label, own in peers.items()}


def fitted(path, *args, peers, then, **params):
    """Like `same`, but fits once, untimed, and times `then(model)`."""
    peers = _own_parameters(peers)
    return {
        label: Contender(then, lambda label=label, own=own: make(f"{label.split()[0]}.{path}", **params | own).fit(*args))
        for label, own in peers.items()
    }


def _own_parameters(peers):
    if not isinstance(peers, dict):
        peers = {label: {} for label in peers}
    return peers if "ermine" in peers else peers | {"ermine": {}}


@dataclass
class Exit:
    """How a program ended."""

    code: int
    peak_mb: float
    stdout: str = field(repr=False)


def program(*args):
    """A contender that runs our own command line, built on first use."""
    binary = ROOT / "target" / "release" / ("ermine.exe" if os.name == "nt" else "ermine")

    def build():
        subprocess.run(["cargo", "build", "--release", "--quiet", "-p", "ermine-cli"], cwd=ROOT, check=True)
        shown = subprocess.run([binary, "--help"], capture_output=True, text=True)
        if shown.returncode != 0 or str(args[0]) not in shown.stdout:
            raise Missing(f"ermine has no command {args[0]!r}")

    def run(_):
        child = subprocess.Popen([binary, *map(str, args)], stdout=subprocess.PIPE, text=True, cwd=ROOT)
        out = child.stdout.read()
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        if child.returncode != 0:
            raise RuntimeError(f"ermine {args[0]} ended with code {child.returncode}")
        return Exit(child.returncode, usage.ru_maxrss / 1024, out)

    return Contender(run, build)
