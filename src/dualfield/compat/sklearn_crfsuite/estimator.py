"""``CRF``: sklearn-crfsuite's class over :class:`dualfield.ChainCRF`."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable, Mapping
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError

from dualfield.compat.crfsuite.appended import without_bytes
from dualfield.compat.crfsuite.feature_set import zero_pairs
from dualfield.compat.crfsuite.parameters import Asked
from dualfield.compat.crfsuite.training import pose, train
from dualfield.compat.sklearn_crfsuite.metrics import flat_accuracy_score
from dualfield.compat.sklearn_crfsuite.model_file import ModelFile
from dualfield.compat.sklearn_crfsuite.parameters import asked_by, given_to
from dualfield.compat.sklearn_crfsuite.training_log import TrainingLog
from dualfield.estimators import ChainCRF
from dualfield.features import Encoded, encode
from dualfield.io.atomic import check_writable
from dualfield.io.content import is_crfsuite_model
from dualfield.labels import encode_labels
from dualfield.models import read_crfsuite_model

__all__ = ["CRF"]


class CRF(BaseEstimator):
    """A linear-chain CRF with the parameters and methods of sklearn-crfsuite's ``CRF``.

    The model has CRFsuite's weights: (attribute, label) and (label, label) pairs seen in training, or all; no bias,
    begin or end weights. Training minimises CRFsuite's objective ``c1 ‖w‖₁ + c2 ‖w‖² + Σ_i (−log p(y_i | x_i))``, but
    stops on a proof: when the result is within ``100 · delta`` (relative) of the optimum. ``chain_crf_`` is the
    :class:`dualfield.ChainCRF` behind it, with everything that class offers.

    Parameters
    ----------
    algorithm : {"lbfgs", "l2sgd", "ap", "pa", "arow"}
        "lbfgs", the default: what ``ChainCRF`` takes for this objective, mostly OEG. "l2sgd": averaged stochastic
        gradient descent on it. "ap": the averaged perceptron. "pa": passive aggressive learning. "arow": adaptive
        regularisation of weights.
    min_freq : float
        Weights of pairs that are less frequent are left out.
    all_possible_states, all_possible_transitions : bool
        Whether pairs that were not seen have a weight too.
    c1, c2 : float
        The penalties, by default 0 and 1; one of them must be positive.
    max_iterations : int
        The most passes over the data, by default 10000 ("lbfgs"), 1000 ("l2sgd"), 100 (the others). A number given here
        is taken as wanted: there is no warning where it ends training. With c1, and 20 iterations or more, up to 500
        passes are made where they can prove the distance below, and 200 elsewhere: no loss is to be worse than
        CRFsuite's.
    delta : float
        "lbfgs": training ends at a proven relative distance of ``100 · delta``, by default 1e-3, and of at most 1e-4
        with c1. "l2sgd": also when
        ``period`` passes lower the objective by less than this share.
    period : int
        How often "l2sgd" looks, by default every 10 passes.
    verbose : bool
        Whether to show a progress bar.
    model_filename : str
        A file of ``ChainCRF.save``: ``fit`` writes it, and without ``fit`` the model is read from it. A model of
        CRFsuite's is read too.
    epsilon : float
        "ap": training ends when the mean share of wrong labels in a pass is at most this; "pa", "arow": when the mean
        loss is. With "lbfgs" of no effect.
    num_memories, linesearch, max_linesearch, keep_tempfiles
        Of no effect: they steer how CRFsuite approaches the optimum, and temporary files go with the estimator.
    calibration_eta, calibration_rate, calibration_samples, calibration_candidates, calibration_max_trials
        Of no effect: "l2sgd" looks for its step by itself.
    pa_type, c, error_sensitive, averaging
        Of "pa": the rule for the length of a step (0, 1 or 2 for PA, PA-I, PA-II), how long it may be, whether the loss
        grows with the number of wrong labels, and whether the average of the weights over all steps is the result. By
        default 1, 1, True, True.
    variance, gamma
        Of "arow": the variance of the weights at the beginning, and the larger gamma, the shorter the steps. By default
        1, 1.
    trainer_cls : subclass of dualfield.compat.pycrfsuite.Trainer
        What trains in place of the default, with its own ``message`` or hooks ``on_...``. It is given the parameters
        and all sequences, those of ``X_dev`` as a group that is held out. ``training_log_`` is then its ``logparser``.

    Examples
    --------
    >>> from dualfield.compat import sklearn_crfsuite
    >>> X = [[{"word": "the"}, {"word": "cat"}], [{"word": "a"}, {"word": "dog"}]]
    >>> y = [["DET", "NOUN"], ["DET", "NOUN"]]
    >>> crf = sklearn_crfsuite.CRF(algorithm="lbfgs", c1=0.01, c2=0.01, max_iterations=100)
    >>> crf.fit(X, y).predict([[{"word": "the"}, {"word": "dog"}]]).tolist()
    [['DET', 'NOUN']]
    """

    _log: Any

    def __init__(
        self,
        algorithm: str | None = None,
        min_freq: float | None = None,
        all_possible_states: bool | None = None,
        all_possible_transitions: bool | None = None,
        c1: float | None = None,
        c2: float | None = None,
        max_iterations: int | None = None,
        num_memories: int | None = None,
        epsilon: float | None = None,
        period: int | None = None,
        delta: float | None = None,
        linesearch: str | None = None,
        max_linesearch: int | None = None,
        calibration_eta: float | None = None,
        calibration_rate: float | None = None,
        calibration_samples: int | None = None,
        calibration_candidates: int | None = None,
        calibration_max_trials: int | None = None,
        pa_type: int | None = None,
        c: float | None = None,
        error_sensitive: bool | None = None,
        averaging: bool | None = None,
        variance: float | None = None,
        gamma: float | None = None,
        verbose: bool = False,
        model_filename: str | os.PathLike[str] | None = None,
        keep_tempfiles: bool = False,
        trainer_cls: Any = None,
    ) -> None:
        self.algorithm = algorithm
        self.min_freq = min_freq
        self.all_possible_states = all_possible_states
        self.all_possible_transitions = all_possible_transitions
        self.c1 = c1
        self.c2 = c2
        self.max_iterations = max_iterations
        self.num_memories = num_memories
        self.epsilon = epsilon
        self.period = period
        self.delta = delta
        self.linesearch = linesearch
        self.max_linesearch = max_linesearch
        self.calibration_eta = calibration_eta
        self.calibration_rate = calibration_rate
        self.calibration_samples = calibration_samples
        self.calibration_candidates = calibration_candidates
        self.calibration_max_trials = calibration_max_trials
        self.pa_type = pa_type
        self.c = c
        self.error_sensitive = error_sensitive
        self.averaging = averaging
        self.variance = variance
        self.gamma = gamma
        self.verbose = verbose
        self.model_filename = model_filename
        self.keep_tempfiles = keep_tempfiles
        self.trainer_cls = trainer_cls

    # --- training ---

    def fit(self, X: Any, y: Any, X_dev: Any = None, y_dev: Any = None) -> CRF:
        """Train on labelled sequences.

        Parameters
        ----------
        X : sequences of dicts or of lists of strings
            One dict or list of attributes per position, as in python-crfsuite. Empty sequences count for nothing.
        y : sequences of labels
            One per position.
        X_dev, y_dev : likewise, optional
            Held-out sequences that ``training_log_`` scores the result on.
        """
        what = asked_by(self)
        if (X_dev is None) != (y_dev is None):
            given, missing = ("X_dev", "y_dev") if y_dev is None else ("y_dev", "X_dev")
            raise ValueError(f"{given} was given without {missing}; give both or none.")
        if self.model_filename is not None:
            check_writable(self.model_filename)
        sequences, labels = _without_empty(_sequences(X), y)
        if self.trainer_cls is None:
            self._train(what, sequences, labels, X_dev, y_dev)
        else:
            self._train_by_class(sequences, labels, X_dev, y_dev)
        self.__dict__.pop("_file", None)  # of the model before
        if self.model_filename is not None:
            self.chain_crf_.save(self.model_filename)
        return self

    def _train(self, what: Asked, sequences: list[Any], labels: Any, X_dev: Any, y_dev: Any) -> None:
        sequences, encoded = _encoded(sequences, None)
        labels = without_bytes(labels)
        classes, codes = encode_labels(labels, encoded.lengths)
        zeros = lambda: zero_pairs(sequences, encoded, codes, len(classes))  # noqa: E731 - wanted only now and then
        field = pose(what, encoded, codes, classes, zeros)
        self.chain_crf_ = train(what, field, bar=bool(self.verbose))
        self._labels = list(dict.fromkeys(chain.from_iterable(labels)))
        held_out = None if X_dev is None else (without_bytes(list(y_dev)), self.predict(X_dev).tolist())
        self._log = TrainingLog.of(self.chain_crf_.solution_, field.dimension, held_out)

    def _train_by_class(self, sequences: list[Any], labels: Any, X_dev: Any, y_dev: Any) -> None:
        if not sequences:
            raise ValueError("X has no sequences to train on; give at least one that is not empty.")
        trainer = self.trainer_cls(self.algorithm or "lbfgs", given_to(self), self.verbose)
        groups = [("y", "X", sequences, list(labels))]
        if X_dev is not None:
            groups.append(("y_dev", "X_dev", _sequences(X_dev), list(y_dev)))
        for group, (name, of, some, labellings) in enumerate(groups):
            if len(some) != len(labellings):
                raise ValueError(f"{name} has {len(labellings)} sequences but {of} has {len(some)}; give as many.")
            for xseq, yseq in zip(some, labellings, strict=True):
                trainer.append(xseq, yseq, group)
        with tempfile.TemporaryDirectory() as folder:
            trainer.train(os.path.join(folder, "model"), holdout=len(groups) - 1 or -1)
        self.chain_crf_ = trainer.chain_crf_
        every = chain.from_iterable(chain.from_iterable(labellings) for *_, labellings in groups)
        self._labels = list(dict.fromkeys(without_bytes(list(every))))
        self._log = getattr(trainer, "logparser", None)

    # --- prediction ---

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """The most probable labels of each sequence: an array of lists, or of two dimensions where all are as long."""
        return np.array(self._for_each(X, lambda crf, some: crf.predict(some)), dtype=object)

    def predict_single(self, xseq: Any) -> list[Any]:
        """The most probable labels of one sequence."""
        labels: list[Any] = self._for_each([xseq], lambda crf, some: crf.predict(some))[0]
        return labels

    def predict_marginals(self, X: Any) -> npt.NDArray[Any]:
        """The probability of each label at each position: an array of lists of dicts."""
        return np.array(self._for_each(X, self._marginals), dtype=object)

    def predict_marginals_single(self, xseq: Any) -> list[dict[Any, float]]:
        """The probability of each label at each position of one sequence."""
        marginals: list[dict[Any, float]] = self._for_each([xseq], self._marginals)[0]
        return marginals

    def _marginals(self, crf: ChainCRF, X: Encoded) -> list[list[dict[Any, float]]]:
        labels = self.classes_ or []
        order = np.searchsorted(crf.classes_, labels)
        return [
            [dict(zip(labels, row, strict=True)) for row in table[:, order].tolist()]
            for table in crf.predict_marginals(X)
        ]

    def _for_each(self, X: Any, function: Any) -> list[Any]:
        """The function's answers for all sequences; empty for empty ones."""
        crf = self._chain_inside()
        sequences = _sequences(X)
        places = [i for i, sequence in enumerate(sequences) if not _is_empty(sequence)]
        answers: list[Any] = [[] for _ in sequences]
        if places:
            _, encoded = _encoded([sequences[i] for i in places], crf)
            for i, answer in zip(places, function(crf, encoded), strict=True):
                answers[i] = answer
        return answers

    def score(self, X: Any, y: Any) -> float:
        """The share of positions labelled correctly."""
        return flat_accuracy_score(without_bytes(list(y)), self.predict(X).tolist())

    # --- the model ---

    @property
    def classes_(self) -> list[Any] | None:
        """The labels, in the order in which training showed them; None before ``fit``."""
        crf = self._fitted()
        return None if crf is None else list(getattr(self, "_labels", crf.classes_.tolist()))

    @property
    def state_features_(self) -> dict[tuple[str, Any], float] | None:
        """``{(attribute, label): weight}`` of the weights that are not zero; None before ``fit``."""
        crf = self._fitted()
        if crf is None:
            return None
        state = crf.layout_.split(crf.weights_)["state"]
        rows, columns = state.nonzero()
        values = np.asarray(state[rows, columns]).ravel().tolist()
        labels, names = crf.classes_.tolist(), self._names(crf)
        return {
            (names[a], labels[k]): value for a, k, value in zip(rows.tolist(), columns.tolist(), values, strict=True)
        }

    @property
    def transition_features_(self) -> dict[tuple[Any, Any], float] | None:
        """``{(label, next label): weight}`` of the weights that are not zero; None before ``fit``."""
        crf = self._fitted()
        if crf is None:
            return None
        table, labels = crf.layout_.split(crf.weights_)["transitions"], crf.classes_.tolist()
        return {(labels[i], labels[j]): float(table[i, j]) for i, j in zip(*table.nonzero(), strict=True)}

    @property
    def attributes_(self) -> list[str] | None:
        """The attributes that have a weight other than zero; None before ``fit``."""
        crf = self._fitted()
        if crf is None:
            return None
        names, state = self._names(crf), crf.layout_.split(crf.weights_)["state"]
        return [names[a] for a in np.unique(state.nonzero()[0])]

    @property
    def num_attributes_(self) -> int | None:
        """How many attributes have a weight other than zero; None before ``fit``."""
        names = self.attributes_
        return None if names is None else len(names)

    @property
    def size_(self) -> int | None:
        """The bytes of the model's file; None before ``fit``."""
        crf = self._fitted()
        if crf is None:
            return None
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "model"
            crf.save(path)
            return path.stat().st_size

    @property
    def training_log_(self) -> Any:
        """How training went, a ``TrainingLog``, or the ``logparser`` of ``trainer_cls``; None before ``fit``."""
        return getattr(self, "_log", None)

    @property
    def tagger_(self) -> Any:
        """A :class:`dualfield.compat.pycrfsuite.Tagger` that has opened ``modelfile``; None before ``fit``."""
        name = self.modelfile.name
        if name is None:
            return None
        from dualfield.compat import pycrfsuite

        tagger = pycrfsuite.Tagger()
        tagger.open(name)
        return tagger

    @property
    def modelfile(self) -> ModelFile:
        """The model as a file of CRFsuite's, which other programs open: ``modelfile.name`` is where it is.

        It is written when somebody asks for its name, and goes with the estimator.
        """
        crf = self._fitted()
        if crf is None:
            return ModelFile(None)
        if not hasattr(self, "_file"):
            self._file = ModelFile(crf)
        return self._file

    def __getstate__(self) -> dict[str, Any]:
        state: dict[str, Any] = super().__getstate__()
        return {name: value for name, value in state.items() if name != "_file"}

    @staticmethod
    def _names(crf: ChainCRF) -> list[str]:
        names = getattr(crf.vocabulary_, "names", None)
        return [str(column) for column in range(len(crf.vocabulary_))] if names is None else names

    def _fitted(self) -> ChainCRF | None:
        if not hasattr(self, "chain_crf_") and self.model_filename is not None and os.path.exists(self.model_filename):
            theirs = is_crfsuite_model(self.model_filename)
            self.chain_crf_ = (
                read_crfsuite_model(self.model_filename, ChainCRF) if theirs else ChainCRF.load(self.model_filename)
            )
        return getattr(self, "chain_crf_", None)

    def _chain_inside(self) -> ChainCRF:
        crf = self._fitted()
        if crf is None:
            raise NotFittedError("This CRF is not fitted yet; call fit, or give model_filename.")
        return crf

    def __sklearn_is_fitted__(self) -> bool:
        return self._fitted() is not None

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        tags.target_tags.required = True
        return tags


def _sequences(X: Any) -> list[Any]:
    """The sequences; python-crfsuite's ``ItemSequence`` gives its dicts."""
    if isinstance(X, str | Mapping) or not isinstance(X, Iterable):
        raise TypeError(f"X is of type {type(X).__name__}; expected a list of sequences of dicts or lists of strings.")
    return [x.items() if hasattr(x, "items") and not isinstance(x, Mapping) else x for x in X]


def _encoded(sequences: list[Any], crf: ChainCRF | None) -> tuple[list[Any], Encoded]:
    """The sequences without bytes, and encoded, by the vocabulary of a model where there is one."""
    try:
        return sequences, encode(sequences) if crf is None else crf.encode(sequences)
    except TypeError as error:
        plain = without_bytes(sequences)
        try:
            return plain, encode(plain) if crf is None else crf.encode(plain)
        except TypeError:
            raise error from None


def _without_empty(X: list[Any], y: Any) -> tuple[list[Any], list[Any]]:
    """Without the sequences that have neither positions nor labels; what else is wrong is found later."""
    labels = list(y) if isinstance(y, Iterable) and not isinstance(y, str | Mapping) else y
    if not isinstance(labels, list) or len(labels) != len(X):
        return X, labels
    kept = [i for i, (x, z) in enumerate(zip(X, labels, strict=True)) if not (_is_empty(x) and _is_empty(z))]
    return [X[i] for i in kept], [labels[i] for i in kept]


def _is_empty(sequence: Any) -> bool:
    try:
        return len(sequence) == 0
    except TypeError:  # no sequence at all: said later, with its place
        return False
