"""How fits went and who did them."""

import collections
import json

#: Fits by class, by who did them and why: {(class, "ermine" or "scikit-learn", reason): count}.
FITS: collections.Counter[tuple[str, str, str]] = collections.Counter()


class FitLog:
    """How a fit went: `passes`, why it stopped (`stop`), the `objective` after each pass, the `certificate`, `notes`.

    `engine` is "ermine", or "scikit-learn" where the engine had no form for what was asked; `notes` then says for what.
    """

    def __init__(self, text, engine="ermine"):
        log = json.loads(text)
        self._text = text
        self.engine = engine
        self.passes = log["passes"]
        self.stop = log["stop"]
        self.objective = log["objective"]
        self.certificate = log["certificate"]
        self.notes = log["notes"]

    @classmethod
    def elsewhere(cls, reason, passes):
        log = {"passes": passes, "stop": "ScikitLearn", "objective": [], "certificate": None, "notes": [reason]}
        return cls(json.dumps(log), "scikit-learn")

    @property
    def converged(self):
        """Whether the certificate is within its tolerance, or nothing changes any more where a method has no such
        proof."""
        return self.stop in ("Exact", "Converged", "Settled", "Stationary")

    @property
    def unfinished(self):
        """Whether a tolerance was asked for and not met."""
        return self.stop in ("MaxIter", "Rounding", "TooSlow")

    def to_json(self):
        """As it stands in a model file."""
        return self._text

    def __repr__(self):
        return f"FitLog(passes={self.passes}, stop={self.stop!r}, certificate={self.certificate!r})"
