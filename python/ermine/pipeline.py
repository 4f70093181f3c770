"""Steps as one estimator: scikit-learn's pipelines, which take Ermine's classes as they are.

A pipeline of Ermine's transformers and a model of Ermine is searched inside the engine; see `ermine.model_selection`.
"""

from sklearn.pipeline import FeatureUnion, Pipeline, make_pipeline, make_union

__all__ = ["FeatureUnion", "Pipeline", "make_pipeline", "make_union"]
