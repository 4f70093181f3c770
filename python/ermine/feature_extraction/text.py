"""Documents into sparse counts, counted by the engine.

The classes are scikit-learn's, with its parameters and attributes; the counting, which is all of the time, is the
engine's, on all cores. A function of Python (`preprocessor`, `tokenizer`, a callable `analyzer`), a pattern or a
vocabulary of one's own, accents to strip, files and bytes are scikit-learn's own work. In the scripts of India a word
keeps its vowel signs, which Python's `\\w` cuts off.
"""

from numbers import Integral

import numpy as np
import scipy.sparse as sp
import sklearn.feature_extraction.text as _sklearn

from .. import _ermine
from .._convert import _threads

__all__ = ["CountVectorizer", "HashingVectorizer", "TfidfVectorizer"]

_WORDS = r"(?u)\b\w\w+\b"


def __getattr__(name):
    if name.startswith("__"):
        raise AttributeError(name)
    return getattr(_sklearn, name)


def __dir__():
    return sorted({*globals(), *_sklearn.__all__})


class _Counts:
    """What the vectorizers share: whether the engine can do it, and its parameters."""

    _text = None

    def _in_engine(self, documents):
        plain = self.preprocessor is None and self.tokenizer is None and self.strip_accents is None
        words = self.analyzer != "word" or self.token_pattern == _WORDS
        return (
            plain
            and words
            and self.input == "content"
            and self.analyzer in ("word", "char", "char_wb")
            and getattr(self, "vocabulary", None) is None
            and all(isinstance(document, str) for document in documents)
        )

    def _cut(self):
        """How documents are cut into terms."""
        stop = self.get_stop_words() if self.analyzer == "word" else None
        if stop:
            self._check_stop_words_consistency(stop, self.build_preprocessor(), self.build_tokenizer())
        return {
            "analyzer": self.analyzer,
            "ngram_range": [int(n) for n in self.ngram_range],
            "lowercase": bool(self.lowercase),
            "stop_words": sorted(stop or ()),
            "binary": bool(self.binary),
        }

    def _sparse(self, parts):
        values, columns, starts, width = parts
        # Narrow row starts, as scikit-learn has them, wherever they fit.
        starts = starts if len(values) > np.iinfo(np.int32).max else starts.astype(np.int32)
        return sp.csr_matrix(
            (values.astype(self._type_out(), copy=False), columns, starts), shape=(len(starts) - 1, width)
        )

    def _type_out(self):
        return self.dtype


def _listed(documents):
    if isinstance(documents, str):
        raise ValueError("Iterable over raw text documents expected, string object received.")
    return list(documents)


class _Learns(_Counts):
    """A vocabulary that is learnt."""

    def fit(self, raw_documents, y=None):
        """Learn the vocabulary."""
        self.fit_transform(raw_documents)
        return self

    def fit_transform(self, raw_documents, y=None):
        """Learn the vocabulary and return the rows of the documents.

        Parameters
        ----------
        raw_documents : iterable of str
        y : ignored

        Returns
        -------
        X : sparse matrix of shape (n_samples, n_features)
        """
        documents = _listed(raw_documents)
        self._text = None
        if not self._in_engine(documents):
            return super().fit_transform(documents)
        self._validate_params()
        self._validate_ngram_range()
        self._warn_for_unused_params()
        n = len(documents)
        least, most = (df if isinstance(df, Integral) else df * n for df in (self.min_df, self.max_df))
        if most < least:
            raise ValueError("max_df corresponds to < documents than min_df")
        # For the engine numbers up to 1 are shares: one document at most is less than one and a half.
        most = 1.5 if most == 1 else most / n if most < 1 and n else most
        params = self._cut() | {
            "min_df": float(least) if least >= 1 else 0.0,
            "max_df": float(most),
            "max_features": None if self.max_features is None else int(self.max_features),
        }
        try:
            self._text, parts = _ermine.Text.fit(documents, params, threads=_threads(None), **self._weighing())
        except ValueError as error:
            raise ValueError(
                f"empty vocabulary: {error}" if "no terms are left" in str(error) else str(error)
            ) from None
        terms = self._text.vocabulary()
        self.fixed_vocabulary_ = False
        self.vocabulary_ = dict(zip(terms, range(len(terms))))
        self._learnt()
        return self._sparse(parts)

    def transform(self, raw_documents):
        """Rows of documents with the vocabulary of the fit.

        Parameters
        ----------
        raw_documents : iterable of str

        Returns
        -------
        X : sparse matrix of shape (n_samples, n_features)
        """
        documents = _listed(raw_documents)
        if self._text is None or not self._in_engine(documents):
            return super().transform(documents)
        return self._sparse(self._text.transform(documents, threads=_threads(None)))

    def _weighing(self):
        return {}

    def _learnt(self):
        pass


class CountVectorizer(_Learns, _sklearn.CountVectorizer):
    """How often each term is in each document.

    Parameters and attributes are those of `sklearn.feature_extraction.text.CountVectorizer`.

    Examples
    --------
    >>> from ermine.feature_extraction.text import CountVectorizer
    >>> counts = CountVectorizer().fit(["a red fox", "the red dog"])
    >>> counts.get_feature_names_out().tolist()
    ['dog', 'fox', 'red', 'the']
    >>> counts.transform(["red, red dog"]).toarray().tolist()
    [[1, 0, 2, 0]]
    """


class TfidfVectorizer(_Learns, _sklearn.TfidfVectorizer):
    """Counts, rare terms weighing more: `tf (ln((1 + n) / (1 + df)) + 1)`, each row brought to length 1.

    Parameters and attributes are those of `sklearn.feature_extraction.text.TfidfVectorizer`.

    Examples
    --------
    >>> from ermine.feature_extraction.text import TfidfVectorizer
    >>> X = TfidfVectorizer().fit_transform(["a red fox", "the red dog"])
    >>> X.shape
    (2, 4)
    """

    def _type_out(self):
        # Weights are no integers, whatever the counts are asked to be.
        return self.dtype if np.issubdtype(self.dtype, np.floating) else np.float64

    def _weighing(self):
        self._check_params()
        names = ("norm", "use_idf", "smooth_idf", "sublinear_tf")
        return {name: getattr(self, name) for name in names}

    def _learnt(self):
        # Where scikit-learn keeps the weights, so that its other methods find them.
        self._tfidf = _sklearn.TfidfTransformer(**self._weighing())
        if self.use_idf:
            self._tfidf.idf_ = np.array(self._text.idf(), dtype=self._type_out())


class HashingVectorizer(_Counts, _sklearn.HashingVectorizer):
    """Counts under the hash of each term: nothing is learnt and nothing is kept.

    Parameters are those of `sklearn.feature_extraction.text.HashingVectorizer`.

    Examples
    --------
    >>> from ermine.feature_extraction.text import HashingVectorizer
    >>> HashingVectorizer(n_features=16).transform(["a red fox"]).shape
    (1, 16)
    """

    def transform(self, X):
        """Hashed counts of documents.

        Parameters
        ----------
        X : iterable of str

        Returns
        -------
        X : sparse matrix of shape (n_samples, n_features)
        """
        documents = _listed(X)
        if not self._in_engine(documents):
            return super().transform(documents)
        self._validate_params()
        self._validate_ngram_range()
        parts = _ermine.hashed_counts(
            documents,
            self._cut(),
            n_features=int(self.n_features),
            alternate_sign=bool(self.alternate_sign),
            norm=self.norm,
            threads=_threads(None),
        )
        return self._sparse(parts)

    def fit_transform(self, X, y=None):
        """Hashed counts of documents; there is nothing to fit."""
        return self.fit(X, y).transform(X)
