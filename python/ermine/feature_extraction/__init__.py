"""Features from raw material, under scikit-learn's names."""

from . import text

__all__ = ["text"]
