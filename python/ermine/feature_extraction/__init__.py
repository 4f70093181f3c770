"""Features from raw material, under scikit-learn's names."""

from sklearn.feature_extraction import DictVectorizer, FeatureHasher, grid_to_graph, img_to_graph

from . import image, text

__all__ = ["DictVectorizer", "FeatureHasher", "grid_to_graph", "image", "img_to_graph", "text"]
