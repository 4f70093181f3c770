"""Data for the tasks: deterministic, quick to make, and shaped like what people have - correlated columns of
different scales, some informative and some not, noise, unequal classes, words after Zipf's law."""

import gzip

import numpy as np
import scipy.sparse as sp
from harness import CACHE, find


def features(n, p, seed=0, factors=5):
    """Columns that share a few hidden factors, with means and scales of their own."""
    rng = np.random.default_rng(seed)
    columns = np.random.default_rng(12345)  # the same columns for the training and the test rows
    loadings = columns.normal(size=(factors, p)) * 0.5
    scales, means = np.exp(columns.uniform(-0.7, 0.7, p)), columns.normal(size=p)
    X = rng.standard_normal((n, p))
    X += rng.standard_normal((n, factors)) @ loadings
    X *= scales
    X += means
    return X


def weights(p, informative, k=None):
    """True coefficients: `informative` of `p` are not zero, spread over the columns."""
    rng = np.random.default_rng(777)
    w = np.zeros((p, k or 1))
    w[rng.permutation(p)[:informative]] = rng.normal(size=(informative, k or 1))
    return w if k else w[:, 0]


def regression(n, p, informative=None, noise=1.0, seed=0):
    """y = Xw + noise, the noise as large as `noise` times the signal's deviation."""
    X = features(n, p, seed)
    signal = X @ weights(p, informative or max(1, p // 2))
    y = signal + noise * signal.std() * np.random.default_rng(seed + 1).standard_normal(n)
    return X, y


def outliers(y, share=0.05, seed=2):
    """A share of the targets replaced by far, one-sided values."""
    rng = np.random.default_rng(seed)
    rows = rng.random(len(y)) < share
    return np.where(rows, y + 10 * y.std() * rng.exponential(size=len(y)), y)


def classes(n, p, k=2, informative=None, noise=1.0, seed=0):
    """Class codes drawn from a softmax of linear scores: overlapping classes, so no fit is perfect."""
    X = features(n, p, seed)
    W = weights(p, informative or max(1, p // 2), k)
    # Divided by the weights' length, not by this sample's deviation: training and test rows follow one rule.
    scores = X @ (W / (0.7 * np.linalg.norm(W, axis=0)))
    scores += noise * np.random.default_rng(seed + 1).gumbel(size=scores.shape)
    return X, scores.argmax(1)


def scaled(X):
    """Columns of mean 0 and deviation 1, in place: what gradient solvers are usually given."""
    X -= X.mean(0)
    X /= X.std(0)
    return X


def counts(n, p, seed=0):
    """Poisson targets, mean about 2."""
    X = features(n, p, seed)
    w = weights(p, p // 2) * 0.05
    eta = (X - X.mean(0)) @ w
    return X, np.random.default_rng(seed + 1).poisson(2 * np.exp(np.clip(eta, -4, 3))).astype(float)


def curved(n, p, noise=0.5, seed=0):
    """Products, waves and steps of some columns: what trees and kernels find and lines do not. (X, real score)"""
    X = features(n, p, seed)
    Z = X / 1.5
    score = Z[:, 0] * Z[:, 1] + np.sin(2 * Z[:, 2]) + 1.5 * (Z[:, 3] > 0.5) * Z[:, 4] + 0.5 * np.abs(Z[:, 5])
    return X, score + noise * np.random.default_rng(seed + 1).standard_normal(n)


def curved_classes(n, p, noise=0.5, seed=0):
    X, score = curved(n, p, noise=noise, seed=seed)
    return X, (score > 0.8).astype(np.int64)


def blobs(n, p, k, spread=1.0, seed=0):
    """Clusters of unequal size and width that touch."""
    rng = np.random.default_rng(seed)
    world = np.random.default_rng(4321)
    centres, widths = world.normal(size=(k, p)) * 2, spread * np.exp(world.uniform(-0.5, 0.5, k))
    share = world.dirichlet(np.full(k, 5.0))
    label = rng.choice(k, n, p=share)
    X = rng.standard_normal((n, p))
    X *= widths[label, None]
    X += centres[label]
    return X, label


def _words(n, vocabulary, seed, classes=2, length=100):
    """(document of each word, word, class of each document): Zipf's law, a fifth of the words tell the class."""
    rng = np.random.default_rng(seed)
    world = np.random.default_rng(99)
    law = np.cumsum(1.0 / np.arange(2, vocabulary + 2))
    law /= law[-1]
    lengths = np.maximum(5, (length * rng.lognormal(-0.3, 0.8, n)).astype(int))
    label = rng.integers(0, classes, n)
    document = np.repeat(np.arange(n), lengths)
    word = np.searchsorted(law, rng.random(len(document)))
    own = np.stack([world.permutation(vocabulary) for _ in range(classes)])  # each class's favourite words
    telling = rng.random(len(document)) < 0.2
    word[telling] = own[label[document[telling]], word[telling]]
    return document, word, label


def documents(n, vocabulary, classes=2, seed=0):
    """Word counts as CSR, and the class of each document."""
    document, word, label = _words(n, vocabulary, seed, classes)
    X = sp.csr_matrix((np.ones(len(word)), (document, word)), shape=(n, vocabulary))
    X.sum_duplicates()
    return X, label


def tfidf(X):
    """Log counts with rows of length one: what a linear model is given."""
    X = X.copy()
    X.data = 1 + np.log(X.data)
    X.data /= np.repeat(sp.linalg.norm(X, axis=1), np.diff(X.indptr))
    return X


def texts(n, vocabulary=50_000, seed=0):
    """Documents as strings: capitals, punctuation, digits, some letters beyond ASCII."""
    world = np.random.default_rng(7)
    syllables = np.array("ba do ke li mo nu pa ra si to vu sha tre plo ünd né qui xa ing er".split())
    parts = syllables[world.integers(0, len(syllables), (vocabulary, 4))]
    lengths = world.integers(1, 5, vocabulary)
    table = np.array(["".join(w[:k]) for w, k in zip(parts, lengths)], dtype=object)
    table[::50] = [f"{w}{i}" for i, w in enumerate(table[::50])]
    document, word, _ = _words(n, vocabulary, seed)
    words = table[word]
    rng = np.random.default_rng(seed + 1)
    stop = rng.random(len(words)) < 0.1
    words[stop] = [w + ". " + "The" for w in words[stop]]
    starts = np.searchsorted(document, np.arange(n + 1))
    return [" ".join(words[a:b]).capitalize() + "!" for a, b in zip(starts[:-1], starts[1:])]


def categories(n, levels, seed=0):
    """Columns of strings, one per entry of `levels`, some levels much more common than others; and a target."""
    rng = np.random.default_rng(seed)
    columns, y = [], rng.standard_normal(n)
    for i, k in enumerate(levels):
        share = np.random.default_rng(i).dirichlet(np.full(k, 0.5))
        code = rng.choice(k, n, p=share)
        names = np.array([f"level {j} of {i}" for j in range(k)], dtype=object)
        columns.append(names[code])
        y += np.random.default_rng(100 + i).normal(size=k)[code]
    return np.stack(columns, axis=1), y


def mnist(env, part="train"):
    """(images in [0, 1], digits) from the usual IDX files."""
    def read(name, skip):
        with gzip.open(env.file(name)) as f:
            return np.frombuffer(f.read(), np.uint8, offset=skip)

    y = read(f"mnist-{part}-labels-idx1-ubyte.gz", 8).astype(np.int64)
    X = read(f"mnist-{part}-images-idx3-ubyte.gz", 16).reshape(len(y), -1) / 255.0
    return X, y


def adult(env):
    """The training rows of the census table, one-hot encoded and scaled: (X, y)."""
    import pandas as pd

    table = pd.read_csv(env.file("adult.csv.gz")).iloc[:32_561]
    y = (table.pop("income") == ">50K").to_numpy().astype(np.int64)
    numbers = table.select_dtypes("number")
    X = pd.concat([(numbers - numbers.mean()) / numbers.std(), pd.get_dummies(table.drop(columns=numbers.columns))], axis=1)
    return np.ascontiguousarray(X.to_numpy(dtype=float)), y


def csv_file(megabytes):
    """A mixed CSV file of about this size, kept between runs: id, numbers, categories, date, text, missing cells."""
    path = CACHE / f"mixed-{megabytes:g}.csv"
    if path.exists():
        return path
    DataFrame = find("polars.DataFrame")
    scratch = path.with_suffix(".part")
    with open(scratch, "wb") as f:
        block = 0
        while f.tell() < megabytes * 1e6:
            _csv_block(DataFrame, block, rows=min(200_000, int(megabytes * 10_000))).write_csv(f, include_header=block == 0)
            block += 1
    scratch.replace(path)
    return path


def _csv_block(DataFrame, block, rows):
    rng = np.random.default_rng(block)
    X = features(rows, 6, seed=block)
    y = X[:, 0] - 0.5 * X[:, 1] + rng.logistic(size=rows) > 0
    city = np.array(["Bern", "Genève", "Zürich", "Basel", "St. Gallen", "Chur, GR"])
    notes = np.array(["", "called twice", 'said "maybe"', "ok", "moved, new address"])
    columns = {"id": np.arange(rows) + block * rows}
    for j in range(4):
        columns[f"x{j}"] = X[:, j]
    columns["income"] = np.where(rng.random(rows) < 0.1, None, np.round(np.exp(9 + X[:, 4] / 4), 2))
    columns["age"] = rng.integers(18, 95, rows)
    columns["visits"] = rng.poisson(3, rows)
    columns["city"] = city[rng.integers(0, len(city), rows)]
    columns["note"] = notes[rng.integers(0, len(notes), rows)]
    columns["date"] = (np.datetime64("2020-01-01") + rng.integers(0, 2000, rows)).astype(str)
    columns["member"] = rng.random(rows) < 0.3
    columns["bought"] = y
    return DataFrame({name: c.tolist() for name, c in columns.items()})
