"""``SoftmaxRegression``: multinomial logistic regression, the one-node conditional random field."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from dualfield.core_arrays import check_sample_weight
from dualfield.estimators.contract import Estimator
from dualfield.estimators.training import check_parameters, train
from dualfield.fields import Multiclass
from dualfield.fields.multiclass import compile_rows, sorted_labels
from dualfield.labels.costs import label_weights
from dualfield.labels.given_costs import costs_of_plain, plain_costs
from dualfield.labels.unknown_labels import warn_of_masking_label
from dualfield.models.model_file import Arrays
from dualfield.models.schema import Contents
from dualfield.models.stored_model import StoredModel, solution_of
from dualfield.solvers import Solver
from dualfield.threads import on_threads

__all__ = ["SoftmaxRegression"]

_FLOATS = (np.float64, np.float32)  # single precision is used as it is, everything else becomes double


class SoftmaxRegression(ClassifierMixin, Estimator, BaseEstimator, StoredModel):
    """Multinomial logistic regression, trained to a certificate.

    ``p(y | x) ∝ exp(⟨w_y, x⟩ + b_y)``; training minimises

        ``l1 (‖w‖₁ + ‖b‖₁) + l2/2 (‖w‖² + ‖b‖²) + Σ_i c_i · (−log p(y_i | x_i))``

    and stops when the result is *proven* to be within ``tol`` (relative) of the minimum. Unlike in scikit-learn's
    ``LogisticRegression`` the bias is penalised too; without bias, ``C = 1/l2`` for three classes and more and
    ``2/l2`` for two.

    Parameters
    ----------
    l2 : float
        Strength of the penalty. Zero only with a positive ``l1``.
    solver : str or Solver
        "auto", the name of a method ("oeg", "sdca", "lbfgs", "sag", ...), or an object from ``dualfield.solvers``.
        "auto" is OEG, the fastest on sparse points and no slower than L-BFGS on most dense ones.
    tol : float
        The relative duality gap to reach.
    max_passes : int
        The most passes over the data.
    bias : bool
        Whether classes have a bias weight.
    n_jobs : int or None
        Threads of training, if the solver can use them, and of prediction; −1 for all cores. An ``n_jobs`` of a solver
        object counts more for training.
    warm_start : bool
        Keep the solver's state and go on from it when ``fit`` is called again with the same data.
    random_state : int, RandomState or None
        Seed of the sampling.
    verbose : int
        0 is quiet, 1 shows a progress bar.
    l1 : float
        Strength of the penalty that makes weights exactly zero. OEG, SDCA, L-BFGS (as OWL-QN), SAGA, SVRG, AdaGrad and
        SGD take one.
    class_weight : dict, "balanced" or None
        Weights of classes, 1 for those that it lacks, by which the weights of their points are multiplied. "balanced"
        gives class k the weight ``n / (K · n_k)``, where n_k of the n points have it.
    device : str
        Where training runs: "cpu", or "cuda" or "cuda:N" for a GPU, with L-BFGS; see docs/guides/gpu.md.
        Prediction runs on the CPU.
    standardize : bool
        Whether training sees columns shifted and scaled to mean 0 and standard deviation 1, for dense points and with a
        bias. The penalty and the certificate are those of the standardised problem; ``coef_`` and ``intercept_`` are of
        the columns as they are.

    Attributes
    ----------
    classes_ : array, shape (K,)
        The classes, sorted.
    coef_ : array, shape (K, d)
        The weights.
    intercept_ : array, shape (K,)
        The biases, zero without bias.
    solution_ : Solution
        How training went; ``solution_.duality_gap`` is the certificate.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> model = SoftmaxRegression(l2=0.1, random_state=0).fit(X, y)
    >>> model.score(X, y) > 0.95, model.solution_.status
    (True, 'converged')
    """

    _stored_as = "SoftmaxRegression"
    l2: float
    l1: float
    bias: bool
    warm_start: bool

    def __init__(
        self,
        l2: float = 1.0,
        solver: str | Solver = "auto",
        tol: float = 1e-3,
        max_passes: int = 500,
        bias: bool = True,
        n_jobs: int | None = 1,
        warm_start: bool = False,
        random_state: int | np.random.RandomState | None = None,
        verbose: int = 0,
        l1: float = 0.0,
        class_weight: Mapping[Any, float] | str | None = None,
        device: str = "cpu",
        standardize: bool = False,
    ) -> None:
        self._keep(locals())

    def fit(self, X: Any, y: npt.ArrayLike, sample_weight: npt.ArrayLike | None = None) -> SoftmaxRegression:
        """Train on points X, shape (n, d), dense or sparse, with classes y, shape (n,).

        ``sample_weight``, shape (n,), weighs each point's loss; zero is allowed.
        """
        check_parameters(self)
        X, y = validate_data(self, X, y, accept_sparse="csr", dtype=_FLOATS)
        try:
            check_classification_targets(y)
        except TypeError:  # labels that cannot be sorted; the field says so
            sorted_labels(y, X.shape[0])
            raise
        if self.class_weight is not None:
            classes, codes = sorted_labels(y, X.shape[0])
            given = check_sample_weight(sample_weight, X.shape[0], "row")
            sample_weight = label_weights(self.class_weight, classes, codes)[codes] * (1.0 if given is None else given)
        options = {"bias": self.bias, "l1": self.l1, "standardize": self.standardize}
        field = Multiclass(X, y, self.l2, sample_weight=sample_weight, **options)
        warn_of_masking_label(field.classes, "leave these rows out")
        self.solution_ = train(self, field)
        self.classes_ = field.classes
        d, k = X.shape[1], len(self.classes_)
        coef = self.solution_.weights[: d * k].reshape(d, k)
        intercept = self.solution_.weights[d * k :].copy() if self.bias else np.zeros(k)
        if field.standard is not None:
            coef, intercept = field.standard.folded(coef, intercept)
            self.solution_ = replace(self.solution_, weights=np.concatenate([coef.ravel(), intercept]))
        self.coef_, self.intercept_ = coef.T.copy(), intercept
        return self

    def decision_function(self, X: Any) -> npt.NDArray[np.float64]:
        """The scores ``⟨w_y, x⟩ + b_y``, shape (n, K); for two classes their difference, shape (n,)."""
        check_is_fitted(self)
        X = validate_data(self, X, accept_sparse="csr", dtype=_FLOATS, reset=False)
        scores = np.asarray(X @ self.coef_.T) + self.intercept_
        return scores[:, 1] - scores[:, 0] if len(self.classes_) == 2 else scores

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """The most probable class of each point, shape (n,)."""
        core, weights, n = self._compiled(X)
        return self.classes_[on_threads(lambda threads: core.decode(weights, 0, n, threads), self.n_jobs)]

    def predict_proba(self, X: Any) -> npt.NDArray[np.float64]:
        """The probability of each class, shape (n, K), columns as ``classes_``."""
        core, weights, n = self._compiled(X)
        return on_threads(lambda threads: core.marginals(weights, 0, n, threads), self.n_jobs)

    def predict_log_proba(self, X: Any) -> npt.NDArray[np.float64]:
        """The logarithms of :meth:`predict_proba`."""
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X))

    def _stored(self) -> tuple[npt.NDArray[np.float64], Arrays, dict[str, Any]]:
        names = getattr(self, "feature_names_in_", np.array([])).tolist()
        description = {"n_features": int(self.n_features_in_), "feature_names": names}
        weights = np.concatenate([self.coef_.T.ravel(), self.intercept_])
        return weights, {}, {"parameters": plain_costs(self._plain_parameters()), **description}

    @classmethod
    def _of_contents(cls, contents: Contents) -> Self:
        model = cls._of_parameters(costs_of_plain(contents.description["parameters"]))
        d, k, names = contents.description["n_features"], len(contents.labels), contents.description["feature_names"]
        if type(d) is not int or d < 1:
            raise ValueError("its number of features is damaged")
        if not isinstance(names, list) or len(names) not in (0, d) or not all(isinstance(name, str) for name in names):
            raise ValueError("its names of features are damaged")
        contents.check_weights((d + 1) * k)
        weights = contents.array("weights").astype(np.float64, copy=False)
        model.classes_, model.n_features_in_ = np.array(contents.labels), d
        if names:
            model.feature_names_in_ = np.array(names, dtype=object)
        model.coef_, model.intercept_ = weights[: d * k].reshape(d, k).T.copy(), weights[d * k :].copy()
        model.solution_ = solution_of(contents, weights if model.bias else weights[: d * k])
        return model

    def _compiled(self, X: Any) -> tuple[Any, npt.NDArray[np.float64], int]:
        check_is_fitted(self)
        X = validate_data(self, X, accept_sparse="csr", dtype=_FLOATS, reset=False)
        weights = np.concatenate([self.coef_.T.ravel(), self.intercept_])
        return compile_rows(X, len(self.classes_), True), weights, X.shape[0]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags
