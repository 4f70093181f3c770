"""Transformers for groups of columns: scikit-learn's, which take Ermine's classes as they are."""

from sklearn.compose import ColumnTransformer, TransformedTargetRegressor, make_column_selector, make_column_transformer

__all__ = ["ColumnTransformer", "TransformedTargetRegressor", "make_column_selector", "make_column_transformer"]
