"""``ChainCRF``: label sequences with a linear-chain conditional random field."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterable
from itertools import pairwise
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from dualfield.driver import Callback
from dualfield.estimators import chain_answers, chain_file, chain_growth
from dualfield.estimators.chain_answers import Entity
from dualfield.estimators.contract import StructuredEstimator
from dualfield.estimators.training import check_parameters, in_ranges, train
from dualfield.features import (
    Columns,
    Constraints,
    Encoded,
    Vocabulary,
    encode,
    encode_allowed,
    encode_labels,
    known_bigrams,
)
from dualfield.fields import Chain
from dualfield.fields.base import check_sample_weight
from dualfield.solution import Solution
from dualfield.solvers import Solver

__all__ = ["ChainCRF"]


class ChainCRF(StructuredEstimator):
    """A linear-chain conditional random field.

    For a sequence x of length T, the labels y have probability ``p(y | x) ∝ exp(score(x, y))``, where the score sums
    the weights of all (attribute, label) pairs times the attribute's value, of all transitions ``(y_{t−1}, y_t)``,
    of each label's bias, and of the first (begin) and last label (end); and, where X has bigram attributes, of all
    (attribute at t, ``y_{t−1}``, ``y_t``). Training minimises

        ``l1 ‖w‖₁ + l2/2 ‖w‖² + Σ_i c_i · (−log p(y_i | x_i))``

    and stops when the result is *proven* to be within ``tol`` (relative) of the minimum. With constraints, p is over
    the allowed labellings only. (Where labels are known in part the objective is not convex, and nothing is proven.)

    Parameters
    ----------
    l2 : float
        Strength of the penalty. CRFsuite's ``c2`` is ``l2/2``. Zero only with a positive ``l1``.
    solver : str or Solver
        "auto", the name of a method ("oeg", "sdca", "lbfgs", "sag", ...), or an object from ``dualfield.solvers``.
        "auto" is OEG, or L-BFGS for very few sequences and for partial labels; ``solution_.message`` says which, and
        why.
    tol : float
        The relative duality gap to reach.
    max_passes : int
        The most passes over the data.
    state_features, transitions : {"all", "observed"}
        "all" gives every (attribute, label) and (label, label) pair a weight, "observed" only those seen in
        training: far smaller models, slightly less accurate (both "observed" is CRFsuite's default).
    bias, begin, end : bool
        Whether labels have a weight at every position, at the first, at the last.
    min_count : int
        Attributes that occur at fewer positions are ignored.
    n_jobs : int or None
        Threads of training, if the solver can use them and is named, and of prediction; −1 for all cores. A solver
        object has its own ``n_jobs``.
    warm_start : bool
        Keep the solver's state (many times larger than the model) and go on from it when ``fit`` is called again
        with the same data.
    random_state : int, RandomState or None
        Seed of the sampling; the same seed gives the same result.
    verbose : int
        0 is quiet, 1 shows a progress bar.
    l1 : float
        Strength of the penalty that makes weights exactly zero, CRFsuite's ``c1``. Only L-BFGS takes one, as OWL-QN,
        and "auto" then picks it. The model keeps the weights that are not zero, and their attributes, alone.
    constraints : Constraints, "bio", "iobes" or None
        Which first and last labels and which transitions are allowed, in training and prediction. "bio" and "iobes"
        read the rules of these schemes off the labels.
    bigram_features : {"all", "observed"}
        For X with bigram attributes: "all" gives each a weight for every pair of labels, K² as in CRF++, "observed"
        only for the pairs seen with it in training.

    Attributes
    ----------
    classes_ : array, shape (K,)
        The labels, sorted.
    weights_ : array, shape (dimension,)
        All weights; ``layout_.split(weights_)`` gives the parts by name.
    vocabulary_ : Vocabulary or Columns
        The attributes.
    bigram_vocabulary_ : Vocabulary, Columns or None
        The bigram attributes; None where the model was trained without.
    layout_ : ChainLayout
        Which weights exist, and where.
    solution_ : Solution
        How training went; ``solution_.duality_gap`` is the certificate, ``solution_.message`` says it in words.

    Examples
    --------
    >>> X = [[{"word": "the"}, {"word": "cat"}], [{"word": "a"}, {"word": "dog"}]]
    >>> y = [["DET", "NOUN"], ["DET", "NOUN"]]
    >>> crf = ChainCRF(random_state=0).fit(X, y)
    >>> crf.predict([[{"word": "the"}, {"word": "dog"}]])
    [['DET', 'NOUN']]
    >>> crf.solution_.relative_gap <= 1e-3
    True
    """

    bigram_vocabulary_: Vocabulary | Columns | None = None

    def __init__(
        self,
        l2: float = 1.0,
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
        warm_start: bool = False,
        random_state: int | np.random.RandomState | None = None,
        verbose: int = 0,
        l1: float = 0.0,
        constraints: Constraints | Literal["bio", "iobes"] | None = None,
        bigram_features: str = "all",
    ) -> None:
        self.l2 = l2
        self.solver = solver
        self.tol = tol
        self.max_passes = max_passes
        self.state_features = state_features
        self.transitions = transitions
        self.bias = bias
        self.begin = begin
        self.end = end
        self.min_count = min_count
        self.n_jobs = n_jobs
        self.warm_start = warm_start
        self.random_state = random_state
        self.verbose = verbose
        self.l1 = l1
        self.constraints = constraints
        self.bigram_features = bigram_features

    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: npt.ArrayLike | None = None,
        *,
        callbacks: Iterable[Callback] = (),
        allowed: Any = None,
    ) -> ChainCRF:
        """Train on labelled sequences.

        Parameters
        ----------
        X : sequences, or what ``encode`` returned
            Sequences of dicts (python-crfsuite's conventions), of lists of strings, of 2-D arrays or sparse matrices
            with one row per position. Bigram attributes come by ``encode``, or by a template that has such rules.
        y : sequences of labels
            Strings or integers, one per position. A label may also be a set (frozenset, list, tuple) of candidates, or
            None where it is unknown: then the loss is that of all labellings left open, for solvers on the primal.
        sample_weight : array, shape (n,), optional
            Weight of each sequence's loss; zero is allowed.
        callbacks : iterable of callables
            Called with a ``Progress`` after every pass; one that returns True ends training.
        allowed : sequence, optional
            For each sequence None, or for each position None or the labels allowed there: p is over those only.

        Returns
        -------
        self
        """
        field = self._field(X, y, sample_weight, allowed)
        return self._take(field, train(self, field, callbacks))

    def _field(self, X: Any, y: Any, sample_weight: npt.ArrayLike | None, allowed: Any = None) -> Chain:
        """The problem that these parameters pose."""
        check_parameters(self)
        return Chain(
            X,
            y,
            self.l2,
            state_features=self.state_features,
            transitions=self.transitions,
            bias=self.bias,
            begin=self.begin,
            end=self.end,
            min_count=self.min_count,
            sample_weight=sample_weight,
            l1=self.l1,
            constraints=self.constraints,
            allowed=allowed,
            bigram_features=self.bigram_features,
        )

    def _take(self, field: Chain, solution: Solution) -> ChainCRF:
        """Become the model of a solution of the field."""
        self.solution_ = solution
        self.classes_ = field.classes
        self.vocabulary_ = field.encoded.vocabulary
        self.bigram_vocabulary_ = None if field.encoded.bigrams is None else field.encoded.bigrams.vocabulary
        self.layout_ = field.layout
        self.weights_ = self.solution_.weights
        if field.l1 > 0:
            chain_growth.drop_zeros(self)
        self.column_features_: dict[str, Any] | None = None  # how a column file becomes X; see dualfield.cli
        return self

    def partial_fit(
        self,
        X: Any,
        y: Any,
        classes: npt.ArrayLike | None = None,
        sample_weight: npt.ArrayLike | None = None,
    ) -> ChainCRF:
        """Go on training with more sequences, from the present weights a; without a model yet, as ``fit``.

        Minimises ``l1 ‖w − a‖₁ + l2/2 ‖w − a‖² + Σ_i c_i · (−log p(y_i | x_i))`` over the new sequences alone: what was
        learnt stays, unless they speak against it. (About zero, the penalty would take back whatever the new sequences
        do not show: that optimum does not depend on where the solver starts.) The larger l2, the more stays. Attributes
        and labels that the model does not have are added to it, with weights that start at zero. The result comes with
        its certificate, like that of ``fit``; only L-BFGS takes such a penalty, and "auto" picks it. It works the same
        on a model that ``load`` has read. ``warm_start`` has no effect here.

        Parameters
        ----------
        X, y, sample_weight
            As for ``fit``: the new sequences only. Attributes new to the model must occur at ``min_count`` of their
            positions.
        classes : sequence of labels, optional
            Labels that the model is to have whether ``y`` shows them or not.

        Returns
        -------
        self
        """
        return chain_growth.go_on(self, X, y, classes, sample_weight)

    @property
    def n_nonzero_weights_(self) -> int:
        """How many weights are not zero."""
        check_is_fitted(self)
        return int(np.count_nonzero(self.weights_))

    def encode(self, X: Any, *, bigrams: Any = None) -> Encoded:
        """Encode sequences once, for any number of later calls of ``fit`` and ``predict``.

        Before ``fit`` the attributes are numbered as they appear; afterwards the model's vocabulary is used, and
        attributes it does not have are ignored.

        Parameters
        ----------
        X : sequences
        bigrams : sequences, optional
            Attributes that go with pairs of labels, in any form that X can have and as long: those of position t have
            weights with the labels of t − 1 and t. What the first position of a sequence has is left out.

        Examples
        --------
        >>> crf = ChainCRF(random_state=0)
        >>> words = [["a", "a", "b"], ["b", "b", "a"]]
        >>> X = [[[w[0]], ["?"], ["?"]] for w in words]
        >>> same = [[["?"], *([f"same={s == t}"] for s, t in zip(w, w[1:]))] for w in words]
        >>> encoded = crf.encode(X, bigrams=same)
        >>> crf.fit(encoded, [["X", "X", "Y"], ["Y", "Y", "X"]]).predict(encoded)
        [['X', 'X', 'Y'], ['Y', 'Y', 'X']]
        """
        if not self.__sklearn_is_fitted__():
            return encode(X, bigrams=bigrams)
        return known_bigrams(encode(X, self.vocabulary_, bigrams=bigrams), self.bigram_vocabulary_)

    def predict(self, X: Any, *, allowed: Any = None, given: Any = None) -> list[list[Any]]:
        """The most probable labels of each sequence.

        Parameters
        ----------
        X : sequences, or what ``encode`` returned
        allowed : sequence, optional
            For each sequence None, or for each position None or the labels allowed there.
        given : sequence, optional
            For each sequence None, or for each position None or its label, where that is known.

        Examples
        --------
        >>> crf = ChainCRF(random_state=0).fit([[["a"], ["b"]], [["b"], ["a"]]], [["A", "B"], ["B", "A"]])
        >>> crf.predict([[["a"], ["a"]]], given=[[None, "B"]])
        [['A', 'B']]
        """
        encoded, core = self._compiled(X, allowed, given)
        codes = in_ranges(lambda a, b: core.decode(self.weights_, a, b), len(encoded), self.n_jobs)
        return _cut(self.classes_[codes].tolist(), encoded)

    def predict_marginals(self, X: Any, *, allowed: Any = None, given: Any = None) -> list[npt.NDArray[np.float64]]:
        """The probability of each label at each position: one array (T, K) per sequence, columns as ``classes_``.

        With ``allowed`` or ``given``, as in :meth:`predict`, the probability given that.
        """
        encoded, core = self._compiled(X, allowed, given)
        stacked = in_ranges(lambda a, b: core.marginals(self.weights_, a, b), len(encoded), self.n_jobs)
        return [stacked[a:b] for a, b in pairwise(encoded.offsets.tolist())]

    def predict_posterior(self, X: Any, *, allowed: Any = None, given: Any = None) -> list[list[Any]]:
        """The labels that minimise the expected number of wrong ones: at each position that of largest marginal.

        With constraints, the best allowed labelling in that sense. ``allowed`` and ``given`` are as in :meth:`predict`.
        """
        encoded, core = self._compiled(X, allowed, given)
        if hasattr(core, "decode_posterior"):
            codes = in_ranges(lambda a, b: core.decode_posterior(self.weights_, a, b), len(encoded), self.n_jobs)
            return _cut(self.classes_[codes].tolist(), encoded)
        stacked = in_ranges(lambda a, b: core.marginals(self.weights_, a, b), len(encoded), self.n_jobs)
        return _cut(self.classes_[stacked.argmax(axis=1)].tolist(), encoded)

    def predict_kbest(
        self, X: Any, k: int = 5, *, allowed: Any = None, given: Any = None
    ) -> list[list[tuple[list[Any], float]]]:
        """The k most probable labellings of each sequence with their probabilities, best first.

        There are fewer where fewer are allowed. ``allowed`` and ``given`` are as in :meth:`predict`.
        """
        if isinstance(k, bool) or not isinstance(k, int | np.integer) or k < 1:
            raise ValueError(f"k must be a positive integer; got {k!r}.")
        encoded, core = self._compiled(X, allowed, given)
        return chain_answers.kbest(self, encoded, core, int(k))

    def predict_confidence(self, X: Any, *, allowed: Any = None, given: Any = None) -> npt.NDArray[np.float64]:
        """The probability ``p(ŷ | x)`` of the labels that ``predict`` gives, one for each sequence.

        ``allowed`` and ``given`` are as in :meth:`predict`; the probability is given that.
        """
        encoded, core = self._compiled(X, allowed, given)
        return chain_answers.confidences(self, encoded, core)

    def predict_entities(self, X: Any, *, allowed: Any = None, given: Any = None) -> list[list[Entity]]:
        """The entities of the labels that ``predict`` gives, each with its exact probability.

        Labels are chunk tags, read as :func:`dualfield.metrics.chunks` reads them. An entity's probability is the sum
        of ``p(y | x)`` over all labellings y that have an entity of this type on exactly these positions; with
        ``allowed`` or ``given``, as in :meth:`predict`, given that.

        Returns
        -------
        list of lists of (start, end, type, probability)
            Positions ``start .. end - 1``, in order; one list for each sequence.
        """
        encoded, core = self._compiled(X, allowed, given)
        return chain_answers.entities(self, encoded, core)

    def sample(
        self,
        X: Any,
        n: int = 1,
        random_state: int | np.random.RandomState | None = None,
        *,
        allowed: Any = None,
        given: Any = None,
    ) -> list[list[list[Any]]]:
        """``n`` independent labellings of each sequence, drawn from ``p(y | x)``.

        With ``allowed`` or ``given``, as in :meth:`predict`, from the distribution given that.
        """
        if isinstance(n, bool) or not isinstance(n, int | np.integer) or n < 0:
            raise ValueError(f"n must be an integer, not negative; got {n!r}.")
        encoded, core = self._compiled(X, allowed, given)
        seeds = check_random_state(random_state).randint(np.iinfo(np.int32).max, size=len(encoded))
        return chain_answers.samples(self, encoded, core, int(n), seeds)

    def score(self, X: Any, y: Any, sample_weight: npt.ArrayLike | None = None) -> float:
        """The share of positions labelled correctly. A label unseen in training counts as an error, with a warning."""
        encoded, core = self._compiled(X)
        if len(encoded) == 0:
            raise ValueError("X has no sequences to score.")
        _, codes = encode_labels(y, encoded.lengths, self.classes_)
        unseen = int((codes < 0).sum())
        if unseen:
            warnings.warn(
                f"{unseen} label{'' if unseen == 1 else 's'} of y did not occur in training; counted as errors.",
                UserWarning,
                stacklevel=2,
            )
        found = in_ranges(lambda a, b: core.decode(self.weights_, a, b), len(encoded), self.n_jobs)
        weights = check_sample_weight(sample_weight, len(encoded), "sequence")
        return float(
            np.average(found == codes, weights=None if weights is None else np.repeat(weights, encoded.lengths))
        )

    def save(self, path: str | os.PathLike[str], dtype: npt.DTypeLike = np.float64) -> None:
        """Write the model to a safetensors file; ``dtype`` float32 halves its size and rounds the weights."""
        check_is_fitted(self)
        chain_file.save(self, path, dtype)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> ChainCRF:
        """Read a model that ``save`` wrote. No code in the file is run."""
        return chain_file.load(cls, path)

    def _compiled(self, X: Any, allowed: Any = None, given: Any = None) -> tuple[Encoded, Any]:
        check_is_fitted(self)
        encoded = self.encode(X)
        if allowed is not None and given is not None:
            raise ValueError(
                "Both allowed and given were passed; expected one: a given label is an allowed set of one."
            )
        name, sets = ("allowed", allowed) if given is None else ("given", given)
        mask = None if sets is None else encode_allowed(sets, encoded.lengths, self.classes_, name)
        return encoded, self.layout_.compile(encoded, allowed=mask)


def _cut(labels: list[Any], encoded: Encoded) -> list[list[Any]]:
    """A flat list, cut at the ends of the sequences."""
    return [labels[a:b] for a, b in pairwise(encoded.offsets.tolist())]
