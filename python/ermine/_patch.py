"""Existing code on Ermine, without an edit: scikit-learn's names stand for Ermine's classes until they are put back.

    import ermine
    ermine.patch_sklearn()                          # before or after scikit-learn's classes are imported in other
    modules from sklearn.linear_model import Ridge          # ermine's print(ermine.patch_report())                    #
    what ran where ermine.unpatch_sklearn()

Ermine's classes are scikit-learn's with the engine in front, so `isinstance` and pickles keep working; a pickle made
under the patch names Ermine's class and loads without the patch wherever ermine is installed.
"""

import importlib
import sys

_REPLACED: list[tuple] = []  # (module, name, what was there)


def _classes():
    """Every class that stands for one of scikit-learn: (its module, its name, ours)."""
    from . import _models
    from .feature_extraction import text

    for name in _models.__all__:
        cls = getattr(_models, name)
        if cls._peer is not None:
            yield f"sklearn.{cls._info['module']}", name, cls
    for name in ("CountVectorizer", "HashingVectorizer", "TfidfVectorizer"):
        yield "sklearn.feature_extraction.text", name, getattr(text, name)


def patch_sklearn(names=None, *, verbose=False):
    """Put Ermine's classes in the place of scikit-learn's, in its modules and in every module that has imported them.

    Parameters
    ----------
    names : iterable of str, default=None
        Only these classes; by default all that Ermine has.
    verbose : bool, default=False
        Whether to print what is replaced.

    Returns
    -------
    names : list of str
        The classes that now stand for Ermine's.

    Examples
    --------
    >>> import ermine
    >>> _ = ermine.patch_sklearn(["Ridge"])
    >>> from sklearn.linear_model import Ridge
    >>> Ridge is ermine.Ridge
    True
    >>> ermine.unpatch_sklearn()
    """
    wanted = None if names is None else set([names] if isinstance(names, str) else names)
    known = list(_classes())
    unknown = (wanted or set()) - {name for _, name, _ in known}
    if unknown:
        raise ValueError(f"there is no class {sorted(unknown)[0]!r} to replace")
    done = []
    for module, name, ours in known:
        if wanted is not None and name not in wanted:
            continue
        theirs = getattr(importlib.import_module(module), name)
        if theirs is ours:
            continue
        _replace(name, theirs, ours)
        done.append(name)
    if verbose:
        print(f"ermine: {len(done)} classes of scikit-learn replaced: {', '.join(done)}")
    return done


def _replace(name, theirs, ours):
    for key, module in list(sys.modules.items()):
        space = getattr(module, "__dict__", None)
        # Ermine's own modules keep scikit-learn's classes: they are what its classes are made of.
        if space is None or key == "ermine" or key.startswith("ermine."):
            continue
        if space.get(name) is theirs:
            _REPLACED.append((module, name, theirs))
            setattr(module, name, ours)


def unpatch_sklearn():
    """Put scikit-learn's classes back wherever `patch_sklearn` has replaced them."""
    while _REPLACED:
        module, name, theirs = _REPLACED.pop()
        setattr(module, name, theirs)


class PatchReport:
    """What ran where since the start or the last `reset`: `fits`, a list of dicts with `cls`, `engine`, `reason` and
    `count`."""

    def __init__(self, fits):
        self.fits = fits

    def __repr__(self):
        if not self.fits:
            return "no fits yet"
        lines = []
        for engine in ("ermine", "scikit-learn"):
            found = [fit for fit in self.fits if fit["engine"] == engine]
            lines.append(f"{engine}: {sum(fit['count'] for fit in found)} fits")
            for fit in found:
                reason = f"  ({fit['reason'].splitlines()[0]})" if fit["reason"] else ""
                lines.append(f"  {fit['count']:>6} {fit['cls']}{reason}")
        return "\n".join(lines)


def patch_report(*, reset=False):
    """What ran in the engine and what in scikit-learn, and why.

    Parameters
    ----------
    reset : bool, default=False
        Whether to start counting anew afterwards.

    Returns
    -------
    report : PatchReport
        Its `repr` is the table.
    """
    from ._log import FITS

    found = sorted(FITS.items(), key=lambda item: (item[0][1], -item[1], item[0]))
    fits = [{"cls": cls, "engine": engine, "reason": reason, "count": count} for (cls, engine, reason), count in found]
    if reset:
        FITS.clear()
    return PatchReport(fits)


def load_ipython_extension(ipython):
    """`%load_ext ermine` in a notebook patches scikit-learn; `%ermine report` and `%ermine off` say what ran where and
    undo it."""

    def magic(line):
        word = line.strip() or "report"
        if word == "report":
            print(patch_report())
        elif word in ("on", "off"):
            (patch_sklearn if word == "on" else unpatch_sklearn)()
        else:
            print(f"%ermine {word}: it must be report, on or off")

    ipython.register_magic_function(magic, magic_kind="line", magic_name="ermine")
    patch_sklearn()


def unload_ipython_extension(ipython):
    unpatch_sklearn()
