"""Classical machine learning that proves its fits, with scikit-learn's interface.

Every class is here and in a submodule of scikit-learn's name: `ermine.Ridge` is `ermine.linear_model.Ridge`. Beside the
models there are `ermine.metrics`, `ermine.model_selection`, `ermine.feature_extraction.text`, `ermine.pipeline`,
`ermine.compose`, and `ermine.theory` with kernels, exponential families and what else a course writes on the board.
"""

import importlib
import json

from sklearn import clone, config_context, get_config, set_config, show_versions

from . import _ermine
from ._ermine import __version__
from ._files import FittedModel, load, to_onnx
from ._inference import summary
from ._models import *  # noqa: F403
from ._models import MODULES as _MODULES
from ._models import RE_EXPORTED as _RE_EXPORTED
from ._models import __all__ as _CLASSES
from ._patch import load_ipython_extension, patch_report, patch_sklearn, unload_ipython_extension, unpatch_sklearn
from ._tables import Table, read_table
from ._trace import trace

__all__ = [
    "FittedModel",
    "Table",
    "__version__",
    "clone",
    "config_context",
    "get_config",
    "load",
    "load_ipython_extension",
    "models",
    "patch_report",
    "patch_sklearn",
    "read_table",
    "set_config",
    "show_versions",
    "summary",
    "to_onnx",
    "trace",
    "unload_ipython_extension",
    "unpatch_sklearn",
    *_CLASSES,
]

_BESIDE = ("compose", "feature_extraction", "metrics", "model_selection", "pipeline", "theory", *_RE_EXPORTED)


def models():
    """The list of models: for each a dict with name, doc, info and params."""
    return json.loads(_ermine.models())


def __getattr__(name):
    if name in _MODULES or name in _BESIDE:
        return importlib.import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__():
    return sorted({*globals(), *_MODULES, *_BESIDE})
