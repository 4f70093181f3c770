"""Writes text.json: scikit-learn 1.9's counts of a few documents.

    python text.py > text.json
"""

import json

from sklearn.feature_extraction.text import CountVectorizer, HashingVectorizer, TfidfVectorizer

documents = [
    "The quick brown fox jumps over the lazy dog. The dog sleeps!",
    "A fox is not a dog; the FOX is quick_er (x1) and  has 3 cubs,\nor 12.",
    "Größe und Straße: schöne Bäume im Grünen, über Öl und Äpfel.",
    "日本語 の テキスト and English mixed; naïve café, Ελλάδα ΣΟΦΟΣ",
    "",
    "dog dog dog fox",
    "e-mail me at someone@example.org, don't wait\t\tlong",
]
cases = [
    {},
    {"ngram_range": [1, 2]},
    {"ngram_range": [2, 3], "min_df": 1},
    {"min_df": 2},
    {"max_df": 0.3},
    {"max_df": 2, "min_df": 0.2},
    {"binary": True},
    {"lowercase": False},
    {"stop_words": ["the", "and", "is"], "ngram_range": [1, 2]},
    {"analyzer": "char", "ngram_range": [1, 3]},
    {"analyzer": "char_wb", "ngram_range": [2, 4]},
    {"analyzer": "char_wb", "ngram_range": [5, 8]},
]


def rows(matrix):
    matrix = matrix.tocsr()
    matrix.sort_indices()
    out = []
    for i in range(matrix.shape[0]):
        part = slice(matrix.indptr[i], matrix.indptr[i + 1])
        out.append([[int(j), float(v)] for j, v in zip(matrix.indices[part], matrix.data[part]) if v != 0])
    return out


results = []
for case in cases:
    options = {**case, "ngram_range": tuple(case.get("ngram_range", [1, 1]))}
    counts = CountVectorizer(**options)
    x = counts.fit_transform(documents)
    entry = {"options": case, "vocabulary": counts.get_feature_names_out().tolist(), "counts": rows(x)}
    entry["tfidf"] = rows(TfidfVectorizer(**options).fit_transform(documents))
    entry["sublinear"] = rows(TfidfVectorizer(sublinear_tf=True, smooth_idf=False, norm="l1", **options).fit_transform(documents))
    hashing = {k: v for k, v in options.items() if k not in ("min_df", "max_df")}
    entry["hashed"] = rows(HashingVectorizer(n_features=50, **hashing).transform(documents))
    results.append(entry)
print(json.dumps({"documents": documents, "cases": results}))
