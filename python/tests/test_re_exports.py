"""One import is enough: every public name of a module of scikit-learn is in Ermine's module of that name."""

import importlib

import pytest
import sklearn

import ermine

MODULES = """
base calibration callback cluster compose covariance cross_decomposition datasets decomposition discriminant_analysis
dummy ensemble exceptions feature_extraction feature_extraction.image feature_extraction.text feature_selection frozen
gaussian_process
gaussian_process.kernels impute inspection isotonic kernel_approximation kernel_ridge linear_model manifold metrics
metrics.cluster metrics.pairwise mixture model_selection multiclass multioutput naive_bayes neighbors neural_network
pipeline preprocessing random_projection semi_supervised svm tree utils
utils.class_weight utils.extmath utils.multiclass utils.validation
""".split()


@pytest.mark.parametrize("name", MODULES)
def test_every_name_is_there(name):
    theirs, ours = importlib.import_module(f"sklearn.{name}"), importlib.import_module(f"ermine.{name}")
    own = [
        word
        for word, found in vars(theirs).items()
        if getattr(found, "__module__", "") == theirs.__name__ and word[0] != "_"
    ]
    public = getattr(theirs, "__all__", own)
    missing = [word for word in public if not hasattr(ours, word)]
    assert not missing
    for word in public:
        # scikit-learn's own, or Ermine's in its place; listed, so that `import *` and editors find it.
        here = getattr(ours, word)
        assert here is getattr(theirs, word) or getattr(here, "__module__", here.__name__).startswith("ermine"), word
        assert word in dir(ours), word


# Asked for by name: what Ermine has no estimator of its own for.
NAMES = {
    "calibration": "CalibratedClassifierCV",
    "cluster": "HDBSCAN OPTICS MeanShift SpectralClustering Birch BisectingKMeans",
    "covariance": "EllipticEnvelope LedoitWolf OAS ShrunkCovariance GraphicalLasso MinCovDet EmpiricalCovariance",
    "cross_decomposition": "PLSCanonical PLSSVD CCA",
    "decomposition": "NMF FastICA FactorAnalysis LatentDirichletAllocation SparsePCA DictionaryLearning",
    "ensemble": "GradientBoostingClassifier GradientBoostingRegressor RandomTreesEmbedding",
    "feature_extraction.text": "HashingVectorizer",
    "feature_selection": "RFECV SequentialFeatureSelector SelectPercentile GenericUnivariateSelect",
    "gaussian_process": "GaussianProcessRegressor GaussianProcessClassifier",
    "inspection": "permutation_importance partial_dependence",
    "isotonic": "check_increasing isotonic_regression",
    "linear_model": "MultiTaskLasso MultiTaskElasticNet Lars LassoLars lasso_path enet_path "
    "lars_path RANSACRegressor TheilSenRegressor OrthogonalMatchingPursuit",
    "manifold": "TSNE Isomap MDS LocallyLinearEmbedding SpectralEmbedding",
    "model_selection": "learning_curve validation_curve TunedThresholdClassifierCV",
    "neighbors": "NearestCentroid KernelDensity",
    "preprocessing": "FunctionTransformer LabelEncoder LabelBinarizer",
    "semi_supervised": "LabelPropagation LabelSpreading SelfTrainingClassifier",
}


@pytest.mark.parametrize("module", NAMES)
def test_names_that_people_import(module):
    here = importlib.import_module(f"ermine.{module}")
    for word in NAMES[module].split():
        assert getattr(here, word).__name__ == word


def test_modules_are_attributes():
    for name in MODULES:
        if "." not in name:
            assert getattr(ermine, name).__name__ == f"ermine.{name}"


def test_the_package_has_what_scikit_learn_has():
    beside = [name for name in sklearn.__all__ if name not in ("experimental", "externals")]
    assert [name for name in beside if not hasattr(ermine, name)] == []
