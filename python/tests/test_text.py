"""Documents into counts: the same rows, columns and numbers as scikit-learn, from the engine."""

import pickle

import numpy as np
import pytest
import scipy.sparse as sp
import sklearn.feature_extraction.text as theirs

from ermine.feature_extraction import text as ours

WORDS = "The red Fox, the dog_7 and a fox! Über straße naïve co-op x ... 2nd 3.14 ÉCOLE écolé I'm don't ΣΊΣΥΦΟΣ 東京 tokyo".split()


def documents(n=200, seed=0):
    rng = np.random.default_rng(seed)
    found = [" ".join(rng.choice(WORDS, rng.integers(1, 30))) for _ in range(n)]
    return [*found, "", "   ", "a  b\t\tc\n\nfox", "!!!"]


def equal(a, b):
    assert sp.issparse(a) and a.format == "csr" and a.shape == b.shape and a.dtype == b.dtype
    difference = abs(a - b)
    assert difference.nnz == 0 or difference.max() <= (1e-12 if a.dtype == np.float64 else 1e-6)
    assert a.nnz == b.nnz


CASES = [
    {},
    {"lowercase": False},
    {"binary": True},
    {"ngram_range": (1, 2)},
    {"ngram_range": (2, 3), "stop_words": ["the", "and"]},
    {"stop_words": "english"},
    {"min_df": 2},
    {"min_df": 0.05, "max_df": 0.9},
    {"max_df": 1},
    {"min_df": 1.0},
    {"max_df": 100},
    {"max_features": 5},
    {"analyzer": "char", "ngram_range": (2, 4)},
    {"analyzer": "char_wb", "ngram_range": (1, 5)},
    {"dtype": np.float32},
    # These are scikit-learn's own.
    {"tokenizer": str.split, "token_pattern": None},
    {"preprocessor": str.upper},
    {"token_pattern": r"\S+"},
    {"strip_accents": "unicode"},
    {"analyzer": lambda document: document.split(",")},
    {"vocabulary": ["fox", "dog_7"]},
]


@pytest.mark.parametrize("params", CASES, ids=lambda params: "-".join(params) or "defaults")
@pytest.mark.parametrize("name", ["CountVectorizer", "TfidfVectorizer"])
def test_learnt(name, params):
    if name == "TfidfVectorizer" and params.get("max_features"):
        params = {**params, "norm": "l1", "sublinear_tf": True}
    a, b = getattr(ours, name)(**params), getattr(theirs, name)(**params)
    try:
        expected = b.fit_transform(documents())
    except ValueError:
        with pytest.raises(ValueError):
            a.fit_transform(documents())
        return
    if params.get("max_features"):
        # Which of equally frequent terms are kept is nobody's promise: their counts must be the same.
        found = a.fit_transform(documents())
        counts = [np.sort(np.asarray(theirs.CountVectorizer(vocabulary=v.vocabulary_).transform(documents()).sum(0)))
                  for v in (a, b)]  # fmt: skip
        np.testing.assert_array_equal(*counts)
        return
    found = a.fit_transform(documents())
    equal(found, expected)
    assert a.vocabulary_ == b.vocabulary_
    assert a.get_feature_names_out().tolist() == b.get_feature_names_out().tolist()
    equal(a.transform(documents(50, seed=1)), b.transform(documents(50, seed=1)))
    equal(getattr(ours, name)(**params).fit(documents()).transform(["unseen words"]), b.transform(["unseen words"]))
    if name == "TfidfVectorizer":
        np.testing.assert_allclose(a.idf_, b.idf_, rtol=1e-14 if a.dtype is np.float64 else 1e-6)
    if "analyzer" not in params and "binary" not in params:
        back = [sorted(terms) for terms in a.inverse_transform(found[:5])]
        assert back == [sorted(terms) for terms in b.inverse_transform(expected[:5])]


@pytest.mark.parametrize("params", [{"norm": None}, {"norm": "l1"}, {"use_idf": False}, {"smooth_idf": False}, {"sublinear_tf": True}], ids=str)  # fmt: skip
def test_weighing(params):
    equal(
        ours.TfidfVectorizer(**params).fit_transform(documents()),
        theirs.TfidfVectorizer(**params).fit_transform(documents()),
    )


@pytest.mark.parametrize(
    "params",
    [{}, {"n_features": 32}, {"alternate_sign": False}, {"norm": None}, {"norm": "l1", "binary": True}, {"analyzer": "char"},
     {"n_features": 8, "norm": None, "ngram_range": (1, 2)}, {"strip_accents": "ascii"}, {"stop_words": "english"}],
    ids=str,
)  # fmt: skip
def test_hashed(params):
    a, b = (module.HashingVectorizer(**params).fit_transform(documents()) for module in (ours, theirs))
    b.eliminate_zeros()  # terms that cancel
    equal(a, b)


def test_bytes_and_files(tmp_path):
    raw = [document.encode() for document in documents(20)]
    equal(ours.CountVectorizer().fit_transform(raw), theirs.CountVectorizer().fit_transform(raw))
    path = tmp_path / "one.txt"
    path.write_text("a red fox")
    assert ours.CountVectorizer(input="filename").fit([path]).vocabulary_ == {"fox": 0, "red": 1}


def test_copies_keep_the_vocabulary():
    model = ours.TfidfVectorizer().fit(documents())
    copy = pickle.loads(pickle.dumps(model))
    equal(copy.transform(documents(30, seed=2)), model.transform(documents(30, seed=2)))


@pytest.mark.parametrize("cls", [ours.CountVectorizer, ours.TfidfVectorizer, ours.HashingVectorizer])
def test_refusals(cls):
    with pytest.raises(ValueError, match="Iterable over raw text documents"):
        cls().fit_transform("one string")
    with pytest.raises(ValueError, match="ngram_range"):
        cls(ngram_range=(2, 1)).fit_transform(documents())
    if cls is not ours.HashingVectorizer:
        with pytest.raises(ValueError):
            cls().fit([])
        with pytest.raises(ValueError):
            cls().fit(["a", "!"])
        with pytest.raises(ValueError, match="max_df"):
            cls(min_df=5, max_df=2).fit(documents())
        with pytest.raises(Exception, match="not fitted"):
            cls().transform(documents())


def test_the_engine_did_it():
    model = ours.CountVectorizer().fit(documents())
    assert model._text is not None
    assert ours.CountVectorizer(tokenizer=str.split, token_pattern=None).fit(documents())._text is None
