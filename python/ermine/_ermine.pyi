from typing import Any

import numpy as np

__version__: str

Rows = np.ndarray | tuple[np.ndarray, np.ndarray, np.ndarray, int]
Target = np.ndarray | tuple[np.ndarray, int] | None

def models() -> str: ...
def check_params(name: str, params: dict[str, Any]) -> None: ...

class Spec:
    def __init__(self, name: str, params: dict[str, Any]) -> None: ...
    @staticmethod
    def parse(text: str) -> Spec: ...

class Model:
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
    ) -> tuple[Model, str, dict[str, Any]]: ...
    def predict(
        self, x: Rows, output: str, *, threads: int = 1, columns: list[str] | None = None
    ) -> np.ndarray: ...
    def outputs(self) -> list[tuple[str, int]]: ...
    def attributes(self) -> dict[str, Any]: ...
    def to_bytes(self) -> bytes: ...
    @staticmethod
    def from_bytes(name: str, bytes: bytes, version: str = ...) -> Model: ...
