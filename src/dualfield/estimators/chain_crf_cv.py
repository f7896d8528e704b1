"""``ChainCRFCV``: a ``ChainCRF`` whose penalties are chosen by cross-validation."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from itertools import product
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from sklearn.model_selection import KFold, check_cv

from dualfield.core_arrays import as_numbers
from dualfield.driver import Callback
from dualfield.estimators.chain_crf import ChainCRF, ChainParameters
from dualfield.features import Encoded, encode
from dualfield.labels import Constraints, with_unknown
from dualfield.labels.tags import Scheme
from dualfield.labels.unknown_labels import only_known
from dualfield.metrics import chunk_scores, entity_f1_scorer, token_accuracy
from dualfield.models.chain_answers import Entity
from dualfield.random_state import check_random_state
from dualfield.reporting.training import counted_sequences, fits_shown, warn_of_shortfall
from dualfield.scikit_learn import check_fitted
from dualfield.solution import Solution
from dualfield.solvers import Solver
from dualfield.solving import check_l1s, check_l2s, penalty_path

__all__ = ["ChainCRFCV"]

Scoring = Literal["accuracy", "f1"] | Callable[[Any, Any], float]


class ChainCRFCV(ChainParameters):
    """A :class:`ChainCRF` whose ``l2``, and on demand ``l1``, is the best of several by cross-validation.

    In each fold one regularisation path (:func:`dualfield.penalty_path`) trains all penalties, from the largest to the
    smallest, each from the last; every one of them has its certificate. Then a last path on all data leads to the
    penalty with the best mean score, the first of equals.

    Parameters
    ----------
    l2s : sequence of float
        The penalties to try.
    cv : int, cross-validation generator, or iterable
        The folds, as in scikit-learn; a number shuffles the sequences with ``random_state``.
    scoring : {"accuracy", "f1"} or callable
        "accuracy" of labels, "f1" of chunks (BIO, IOBES, BILOU or BMES labels), or a function of true and predicted
        sequences of labels, the larger the better.
    l1s : sequence of float, optional
        The l1 penalties to try, each with all of ``l2s``; by default ``l1`` alone.
    verbose : int
        0 is quiet; 1 shows how many fits are done and how long the others will take, and prints the scores of folds.
    solver, tol, max_passes, state_features, transitions, bias, begin, end, min_count, n_jobs, random_state, l1,
    constraints, bigram_features, ignore_label, class_weight, costs, standardize
        As for :class:`ChainCRF`.

    Attributes
    ----------
    l1_, l2_ : float
        The chosen penalties.
    scores_ : array, shape (n_folds, n_l2s), or (n_folds, n_l1s, n_l2s) where ``l1s`` is given
        The score of each penalty on each fold's held-out part, in the order of ``l1s`` and ``l2s``.
    best_estimator_ : ChainCRF
        Trained on all data with ``l1_`` and ``l2_``; ``predict`` and the other methods are its own.
    solution_ : Solution
        How its training went.
    path_ : list of Solution
        The last path, on all data, with ``l1_`` from the largest l2 to ``l2_``.

    Examples
    --------
    >>> from dualfield import ChainCRFCV
    >>> from dualfield.datasets import travel_sentences
    >>> sentences = travel_sentences(60, seed=0)
    >>> X = [[[word, word[:1]] for word, _ in sentence] for sentence in sentences]
    >>> y = [[tag for _, tag in sentence] for sentence in sentences]
    >>> crf = ChainCRFCV(l2s=[10.0, 1.0, 0.1], cv=3, random_state=0).fit(X, y)
    >>> crf.l2_ in (10.0, 1.0, 0.1), crf.scores_.shape
    (True, (3, 3))
    """

    l2s: Iterable[float]
    l1s: Iterable[float] | None
    cv: Any
    scoring: Scoring

    def __init__(
        self,
        l2s: Iterable[float] = (100.0, 10.0, 1.0, 0.1, 0.01),
        cv: Any = 5,
        scoring: Scoring = "accuracy",
        solver: str | Solver = "auto",
        tol: float = 1e-3,
        max_passes: int = 500,
        state_features: str = "all",
        transitions: str = "all",
        bias: bool = True,
        begin: bool = True,
        end: bool = True,
        min_count: int = 1,
        n_jobs: int | None = 1,
        random_state: int | np.random.RandomState | None = None,
        verbose: int = 0,
        l1: float = 0.0,
        constraints: Constraints | Scheme | None = None,
        bigram_features: str = "all",
        l1s: Iterable[float] | None = None,
        ignore_label: str | int | None = None,
        class_weight: Mapping[Any, float] | str | None = None,
        costs: Mapping[tuple[Any, Any], float] | None = None,
        standardize: bool = False,
    ) -> None:
        self._keep(locals())

    def fit(self, X: Any, y: Any, sample_weight: npt.ArrayLike | None = None) -> ChainCRFCV:
        """Choose the penalties on held-out parts, then train on all sequences."""
        l1s = self._l1s()
        l2s = check_l2s(self.l2s, min(l1s))
        pairs = list(product(l1s, l2s))
        measure = _measure(self.scoring)
        encoded = encode(counted_sequences(X) if self.verbose else X)
        y = with_unknown(y, self.ignore_label)
        labels = list(y) if isinstance(y, Iterable) else []
        if len(labels) != len(encoded):
            raise ValueError(f"y has {len(labels)} label sequences and X has {len(encoded)}; expected as many.")
        weights = None if sample_weight is None else as_numbers(sample_weight, np.float64, "sample_weight")
        seed = int(check_random_state(self.random_state).randint(np.iinfo(np.int32).max))
        folds = list(self._folds(encoded, labels, seed))
        with fits_shown(len(folds) * len(pairs) + len(l2s), bool(self.verbose)) as callbacks:
            return self._search(encoded, labels, weights, folds, l1s, l2s, measure, seed, callbacks)

    def _search(
        self,
        encoded: Encoded,
        labels: list[Any],
        weights: Any,
        folds: list[tuple[Any, Any]],
        l1s: list[float],
        l2s: list[float],
        measure: Callable[[Any, Any], float],
        seed: int,
        callbacks: list[Callback],
    ) -> ChainCRFCV:
        pairs = list(product(l1s, l2s))
        scores = []
        for fold, (train, held_out) in enumerate(folds, 1):
            part = None if weights is None else weights[train]
            models = self._path(encoded[train], [labels[i] for i in train], part, pairs, seed, callbacks)
            truth, hidden = [labels[i] for i in held_out], encoded[held_out]
            scores.append([measure(truth, crf.predict(hidden)) for crf in models])
            if self.verbose:
                shown = "  ".join(f"{self._named(*pair)}: {s:.4f}" for pair, s in zip(pairs, scores[-1], strict=True))
                print(f"fold {fold}  {shown}", flush=True)
        table = np.array(scores)
        self.scores_ = table if self.l1s is None else table.reshape(-1, len(l1s), len(l2s))
        self.l1_, self.l2_ = pairs[int(table.mean(axis=0).argmax())]
        on_the_way = [(self.l1_, l2) for l2 in l2s if l2 >= self.l2_]
        models = self._path(encoded, labels, weights, on_the_way, seed, callbacks)
        self.best_estimator_ = models[on_the_way.index((self.l1_, self.l2_))]
        self.path_: list[Solution] = [crf.solution_ for crf in sorted(models, key=lambda crf: -crf.l2)]
        self.solution_: Solution = self.best_estimator_.solution_
        self.classes_ = self.best_estimator_.classes_
        return self

    def _l1s(self) -> list[float]:
        """The l1 penalties to try."""
        if self.l1s is None:
            return check_l1s([self.l1])
        if self.l1 != 0:
            raise ValueError(f"ChainCRFCV was given both l1={self.l1!r} and l1s; put all l1 penalties into l1s.")
        return check_l1s(self.l1s)

    def _named(self, l1: float, l2: float) -> str:
        return f"{l2:g}" if self.l1s is None else f"{l1:g}, {l2:g}"

    def _folds(self, encoded: Encoded, labels: list[Any], seed: int) -> Iterable[tuple[Any, Any]]:
        folds = KFold(self.cv, shuffle=True, random_state=seed) if isinstance(self.cv, int) else check_cv(self.cv)
        return folds.split(np.arange(len(encoded)), None)

    def _path(
        self,
        X: Encoded,
        y: list[Any],
        sample_weight: Any,
        pairs: list[tuple[float, float]],
        seed: int,
        callbacks: list[Callback],
    ) -> list[ChainCRF]:
        """A trained model for each pair of penalties."""
        options = {name: getattr(self, name) for name in ChainCRF().get_params() if hasattr(self, name)}
        first = ChainCRF(**options)
        field = first._field(X, y, sample_weight)
        limits = (self.tol, self.max_passes)
        solutions = penalty_path(field, pairs, self.solver, *limits, callbacks, random_state=seed, n_jobs=self.n_jobs)
        models = []
        for (l1, l2), solution in zip(pairs, solutions, strict=True):
            of = f"l2={l2:g}: " if self.l1s is None else f"l1={l1:g}, l2={l2:g}: "
            warn_of_shortfall(solution, self.tol, of=of, stacklevel=4)
            models.append(ChainCRF(**{**options, "l1": l1, "l2": l2})._take(field.with_l1(l1), solution))
        return models

    def predict(self, X: Any) -> list[list[Any]]:
        """The most probable labels of each sequence."""
        return self._best().predict(X)

    def predict_marginals(self, X: Any) -> list[npt.NDArray[np.float64]]:
        """The probability of each label at each position."""
        return self._best().predict_marginals(X)

    def predict_proba(self, X: Any) -> list[npt.NDArray[np.float64]]:
        """The same as :meth:`predict_marginals`, by scikit-learn's name."""
        return self.predict_marginals(X)

    def predict_kbest(self, X: Any, k: int = 5) -> list[list[tuple[list[Any], float]]]:
        """The k most probable labellings of each sequence with their probabilities."""
        return self._best().predict_kbest(X, k)

    def predict_confidence(self, X: Any) -> npt.NDArray[np.float64]:
        """The probability of the predicted labels, one for each sequence."""
        return self._best().predict_confidence(X)

    def predict_entities(self, X: Any) -> list[list[Entity]]:
        """The entities of the predicted labels, each with its exact probability."""
        return self._best().predict_entities(X)

    def score(self, X: Any, y: Any) -> float:
        """The score that ``scoring`` names, on these sequences."""
        return _measure(self.scoring)(list(with_unknown(y, self.ignore_label)), self._best().predict(X))

    def save(self, path: str | os.PathLike[str], dtype: npt.DTypeLike = np.float64) -> None:
        """Write the best model to a file, which ``ChainCRF.load`` reads."""
        self._best().save(path, dtype)

    def _best(self) -> ChainCRF:
        check_fitted(self)
        return self.best_estimator_

    def _chain_inside(self) -> ChainCRF:
        return self._best()

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "best_estimator_")


def _measure(scoring: Any) -> Callable[[Any, Any], float]:
    """The score that is asked for, over the positions whose labels are known."""
    if scoring == "accuracy":
        return token_accuracy
    if scoring == "f1" or scoring is entity_f1_scorer:  # which GridSearchCV takes for the same
        return lambda true, predicted: chunk_scores(true, predicted).f1
    if callable(scoring):
        return lambda true, predicted: scoring(*only_known(true, predicted))
    raise ValueError(f"scoring must be 'accuracy', 'f1' or a function of (true, predicted); got {scoring!r}.")
