from typing import Any

import numpy as np

__version__: str

Rows = np.ndarray | tuple[np.ndarray, np.ndarray, np.ndarray, int]
Target = np.ndarray | tuple[np.ndarray, int] | None
Sparse = tuple[np.ndarray, np.ndarray, np.ndarray, int]

def models() -> str: ...
def check_params(name: str, params: dict[str, Any]) -> None: ...
def encode(values: list[Any], levels: dict[Any, float], learn: bool) -> np.ndarray: ...
def metrics() -> str: ...
def metric(name: str, truth: Target, predicted: np.ndarray, weights: np.ndarray | None = None) -> float: ...
def metric_interval(
    name: str,
    truth: Target,
    predicted: np.ndarray,
    weights: np.ndarray | None = None,
    *,
    level: float = 0.95,
    resamples: int = 1000,
    seed: int = 0,
    threads: int = 1,
) -> tuple[float, float, float, float]: ...
def metric_of_numbers(
    name: str, y: np.ndarray, f: np.ndarray, weights: np.ndarray | None = None, parameter: float = 0.0
) -> float: ...
def metric_of_scores(
    name: str,
    positive: np.ndarray,
    scores: np.ndarray,
    weights: np.ndarray | None = None,
    parameter: float = 1.0,
    *,
    threads: int = 1,
) -> float: ...
def metric_of_codes(
    name: str,
    y: np.ndarray,
    f: np.ndarray,
    classes: int,
    weights: np.ndarray | None = None,
    parameter: float = 0.0,
) -> float: ...
def metric_of_labels(name: str, a: np.ndarray, b: np.ndarray) -> list[float]: ...
def metric_of_clusters(name: str, x: Rows, labels: np.ndarray, *, threads: int = 1) -> np.ndarray: ...
def confusion_matrix(y: np.ndarray, f: np.ndarray, classes: int, weights: np.ndarray | None = None) -> np.ndarray: ...
def curve(
    name: str,
    positive: np.ndarray,
    scores: np.ndarray,
    weights: np.ndarray | None = None,
    *,
    corners_only: bool = True,
    threads: int = 1,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]: ...
def best_threshold(
    positive: np.ndarray,
    scores: np.ndarray,
    costs: tuple[float, float, float, float],
    weights: np.ndarray | None = None,
) -> tuple[float, float, float, float]: ...
def evaluate(
    candidates: list[Spec],
    seeds: list[int],
    x: Rows,
    y: Target,
    folds: list[tuple[np.ndarray, np.ndarray]],
    metrics: list[str],
    *,
    train_scores: bool = False,
    threads: int = 1,
) -> list[list[tuple[str | None, list[float], list[float], float, float, bool]]]: ...
def hashed_counts(
    documents: list[str],
    params: dict[str, Any],
    *,
    n_features: int,
    alternate_sign: bool = True,
    norm: str | None = None,
    threads: int = 1,
) -> Sparse: ...
def shares(rows: int, cols: int, workers: int) -> list[tuple[int, int]]: ...
def needs_one_worker(name: str, params: dict[str, Any]) -> str | None: ...

class Spec:
    def __init__(self, name: str, params: dict[str, Any]) -> None: ...
    @staticmethod
    def parse(text: str) -> Spec: ...

class Model:
    def __init__(self, name: str, bytes: bytes, version: str = ...) -> None: ...
    @property
    def name(self) -> str: ...
    @staticmethod
    def fit(
        name: str,
        params: dict[str, Any],
        x: Rows,
        y: Target = None,
        weights: np.ndarray | None = None,
        *,
        seed: int = 0,
        threads: int = 1,
        starts: list[tuple[str, np.ndarray]] | None = None,
        columns: list[str] | None = None,
        previous: Model | None = None,
        share: tuple[Any, int, int] | None = None,
    ) -> tuple[Model, str, dict[str, Any]]: ...
    def predict(self, x: Rows, output: str, *, threads: int = 1, columns: list[str] | None = None) -> np.ndarray: ...
    def inference(
        self,
        params: dict[str, Any],
        x: Rows,
        y: Target,
        weights: np.ndarray | None = None,
        *,
        level: float = 0.95,
        columns: list[str] | None = None,
    ) -> tuple[str, str]: ...
    def transform_sparse(
        self, x: Rows, *, columns: list[str] | None = None
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray, int] | None: ...
    def feature_names(self, input: list[str]) -> list[str] | None: ...
    def outputs(self) -> list[tuple[str, int]]: ...
    def attributes(self) -> dict[str, Any]: ...
    @staticmethod
    def of_selection(name: str, kept: list[bool], scores: list[float]) -> Model: ...
    def to_bytes(self) -> bytes: ...

class Saved:
    @staticmethod
    def load(path: str) -> Saved: ...
    @staticmethod
    def of(model: Model, header: str, params: dict[str, Any], log: str) -> Saved: ...
    def write(self, path: str, force: bool = False) -> None: ...
    def onnx(self, plain: bool = False) -> bytes: ...
    def header(self) -> str: ...
    def log(self) -> str: ...
    def params(self) -> dict[str, Any]: ...
    def model(self) -> Model: ...
    def is_prepared(self) -> bool: ...
    def prepared_names(self) -> list[str]: ...
    def prepare(self, x: Rows, texts: list[tuple[int, list[str]]]) -> np.ndarray: ...
    def predict(self, x: Rows, texts: list[tuple[int, list[str]]], output: str, *, threads: int = 1) -> np.ndarray: ...

class Table:
    @property
    def shape(self) -> tuple[int, int]: ...
    @staticmethod
    def read(
        path: str,
        *,
        delimiter: str | None = None,
        header: bool | None = None,
        na: list[str] = ...,
        columns: list[str] | None = None,
        threads: int = 1,
    ) -> Table: ...
    def kinds(self) -> list[tuple[str, str]]: ...
    def values(self, name: str) -> Any: ...
    def levels(self, name: str) -> list[str]: ...

class Text:
    def __init__(self, bytes: bytes) -> None: ...
    @staticmethod
    def fit(
        documents: list[str],
        params: dict[str, Any],
        *,
        norm: str | None = None,
        use_idf: bool = False,
        smooth_idf: bool = True,
        sublinear_tf: bool = False,
        threads: int = 1,
    ) -> tuple[Text, Sparse]: ...
    def transform(self, documents: list[str], *, threads: int = 1) -> Sparse: ...
    def vocabulary(self) -> list[str]: ...
    def idf(self) -> list[float] | None: ...
    def to_bytes(self) -> bytes: ...
