"""``ChainCRF``: label sequences with a linear-chain conditional random field."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from dualfield.driver import Callback
from dualfield.estimators import chain_growth
from dualfield.estimators.contract import StructuredEstimator
from dualfield.estimators.kept_sequences import KeptSequences
from dualfield.estimators.training import check_parameters, train
from dualfield.features import Encoded
from dualfield.fields import Chain, PartitionedChain
from dualfield.labels import Constraints, with_unknown
from dualfield.labels.given_costs import costs_of_plain, plain_costs
from dualfield.labels.tags import Scheme
from dualfield.labels.unknown_labels import warn_of_masking_label
from dualfield.models.chain_model import ChainModel
from dualfield.models.spec import ChainSpec
from dualfield.partitions import PartitionedData
from dualfield.reporting.training import counted_sequences, in_shown_steps
from dualfield.solvers import Solver

__all__ = ["ChainCRF", "ChainParameters"]

_SHOWN_STEP = 1000  # sequences that are labelled between two looks at the progress bar


class ChainParameters(StructuredEstimator):
    """The parameters of :class:`~dualfield.models.ChainSpec`, as attributes of an estimator."""

    state_features: str
    transitions: str
    bias: bool
    begin: bool
    end: bool
    min_count: int
    l1: float
    constraints: Constraints | Scheme | None
    bigram_features: str
    ignore_label: str | int | None
    class_weight: Any
    costs: Any
    standardize: bool


class ChainCRF(ChainParameters, ChainModel):
    """A linear-chain conditional random field.

    For a sequence x of length T, the labels y have probability ``p(y | x) ∝ exp(score(x, y))``, where the score sums
    the weights of all (attribute, label) pairs times the attribute's value, of all transitions ``(y_{t−1}, y_t)``,
    of each label's bias, and of the first (begin) and last label (end); and, where X has bigram attributes, of all
    (attribute at t, ``y_{t−1}``, ``y_t``). Training minimises

        ``l1 ‖w‖₁ + l2/2 ‖w‖² + Σ_i c_i · (−log p(y_i | x_i))``

    and stops when the result is *proven* to be within ``tol`` (relative) of the minimum. With constraints, p is over
    the allowed labellings only. (Where labels are known in part the objective is not convex, so no minimum of it is
    proven: by OEG, only that of the convex problem which bounds it from above and meets it at the result.)

    Parameters
    ----------
    l2 : float
        Strength of the penalty. CRFsuite's ``c2`` is ``l2/2``. Zero only with a positive ``l1``.
    solver : str or Solver
        "auto", the name of a method ("oeg", "sdca", "lbfgs", "sag", ...), or an object from ``dualfield.solvers``.
        "auto" is OEG, or L-BFGS for very few sequences; ``solution_.message`` says which, and why.
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
        Threads of training, if the solver can use them, and of prediction; −1 for all cores. An ``n_jobs`` of a solver
        object counts more for training.
    warm_start : bool
        Keep the solver's state (many times larger than the model) and go on from it when ``fit`` is called again
        with the same data.
    random_state : int, RandomState or None
        Seed of the sampling; the same seed gives the same result.
    verbose : int
        0 is quiet, 1 shows a progress bar; for more than a thousand sequences in encoding and prediction too.
    l1 : float
        Strength of the penalty that makes weights exactly zero, CRFsuite's ``c1``. OEG, SDCA, L-BFGS (as OWL-QN),
        SAGA, SVRG, AdaGrad and SGD take one. The model keeps the weights that are not zero, and their attributes,
        alone.
    constraints : Constraints, "bio", "iobes", "bilou", "bmes" or None
        Which first and last labels and which transitions are allowed, in training and prediction. The names
        read the rules of these schemes off the labels.
    bigram_features : {"all", "observed"}
        For X with bigram attributes: "all" gives each a weight for every pair of labels, K² as in CRF++, "observed"
        only for the pairs seen with it in training.
    ignore_label : str, int or None
        A label that stands for an unknown one, as −100 does in other libraries: ``fit`` takes it as None, and ``score``
        leaves its positions out.
    class_weight : dict, "balanced" or None
        Weights of labels, in training only: where a label of weight v is right, the odds of every other one are
        multiplied by v, so that labels of weight above 1 are learnt with a margin and predicted more often. "balanced"
        gives label k the weight ``N / (K · n_k)``, where n_k of the N positions have it.
    costs : dict or None
        ``{(true label, wrong label): cost}``, in training only: the cost is added to the potential of the wrong label
        where the other one is right (softmax-margin training). A weight v is a cost of ``log v`` of all wrong labels.
        The objective stays convex, and the result certified; SDCA and the methods that decode do not take costs.
    device : str
        Where training runs: "cpu", or "cuda" or "cuda:N" for a GPU, with L-BFGS; see docs/guides/gpu.md.
        Prediction runs on the CPU.
    standardize : bool
        Whether training sees dense columns shifted and scaled to mean 0 and standard deviation 1, for which there must
        be a bias. A column a hundred times larger than the others would otherwise slow training down, and be hardly
        penalised. The penalty and the certificate are those of the standardised problem; ``weights_`` are of the
        columns as they are.

    Attributes
    ----------
    classes_ : array, shape (K,)
        The labels, sorted.
    weights_ : array, shape (dimension,)
        All weights; ``layout_.split(weights_)`` gives the parts by name.
    vocabulary_ : Vocabulary or NumberedColumns
        The attributes.
    bigram_vocabulary_ : Vocabulary, NumberedColumns or None
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

    l2: float
    warm_start: bool
    _kept: KeptSequences | None = None  # of partial_fit

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
        constraints: Constraints | Scheme | None = None,
        bigram_features: str = "all",
        ignore_label: str | int | None = None,
        class_weight: Mapping[Any, float] | str | None = None,
        costs: Mapping[tuple[Any, Any], float] | None = None,
        device: str = "cpu",
        standardize: bool = False,
    ) -> None:
        self._keep(locals())

    def fit(
        self,
        X: Any,
        y: Any = None,
        sample_weight: npt.ArrayLike | None = None,
        *,
        callbacks: Iterable[Callback] | Callback = (),
        allowed: Any = None,
    ) -> ChainCRF:
        """Train on labelled sequences.

        Parameters
        ----------
        X : sequences, or what ``encode`` returned
            Sequences of dicts (python-crfsuite's conventions), of lists of strings, of 2-D arrays or sparse matrices
            with one row per position. Bigram attributes come by ``encode``, or by a template that has such rules; dense
            columns beside named attributes by ``encode(X, dense=...)``. Floating arrays with few zeros are used where
            they lie: do not change them while the model is trained. Or a folder that
            :func:`~dualfield.partitions.open_partitions` has opened, which need not fit into memory and has the labels
            and the weights too.
        y : sequences of labels
            Strings or integers, one per position. A label may also be a set (frozenset, list, tuple) of candidates, or
            None (or ``ignore_label``) where it is unknown: then the loss is that of all labellings left open, for
            OEG and solvers on the primal.
        sample_weight : array, shape (n,), optional
            Weight of each sequence's loss; zero is allowed. :func:`~dualfield.labels.sequence_weights` derives some
            from the labels.
        callbacks : iterable of callables, or one
            Called with a ``Progress`` after every pass; one that returns True ends training.
        allowed : sequence, optional
            For each sequence None, or for each position None or the labels allowed there: p is over those only.

        Returns
        -------
        self
        """
        field = self._field(X, y, sample_weight, allowed)
        self._kept = None
        self._take(field, train(self, field, callbacks))
        if isinstance(field, PartitionedChain):
            self.column_features_ = field.data.column_features
        return self

    def _field(
        self, X: Any, y: Any, sample_weight: npt.ArrayLike | None, allowed: Any = None
    ) -> Chain | PartitionedChain:
        """The problem that these parameters pose."""
        check_parameters(self)
        spec, costs = ChainSpec.of(self), {"class_weight": self.class_weight, "costs": self.costs}
        field: Chain | PartitionedChain
        if isinstance(X, PartitionedData):
            _check_alone(y, sample_weight, allowed, self.ignore_label, X)
            field = PartitionedChain.of_spec(spec, X, **costs)
        else:
            field = Chain.of_spec(
                spec, self._shown(X), with_unknown(y, self.ignore_label), sample_weight, allowed, **costs
            )
        warn_of_masking_label(field.classes, calls=2)
        return field

    def partial_fit(
        self,
        X: Any,
        y: Any,
        classes: npt.ArrayLike | None = None,
        sample_weight: npt.ArrayLike | None = None,
        *,
        certify: bool = False,
    ) -> ChainCRF:
        """Go on training with more sequences, from the present weights a; without a model yet, as ``fit``.

        Minimises ``l2/2 ‖w − a‖² + Σ_i c_i · (−log p(y_i | x_i))`` over all sequences given to ``partial_fit`` since a,
        the weights of a model of ``fit`` or ``load``, or zero where there was no model: then the problem is that of one
        ``fit`` to all of them. The first call minimises to ``tol``, with a certificate. Others cost what their own
        sequences cost: OEG keeps the duals of the sequences before, and visits the new ones and three times as many of
        the others, drawn by their gaps. Such a call proves nothing. ``certify=True`` computes the gap over all
        sequences and goes on to ``tol``; give it with the last ones.

        Attributes and labels that the model does not have are added to it, with weights that start at zero. Labels
        that come later than in the first call make all sequences be learnt anew: name them by ``classes``. With ``l1``,
        bigrams, other solvers than OEG (which "auto" takes) and after a change of parameters nothing is kept:
        ``l1 ‖w − a‖₁ + l2/2 ‖w − a‖² + Σ_i c_i · (−log p(y_i | x_i))`` is minimised over the new sequences alone, about
        the present weights. What is kept is about as large as in ``fit``; it is no part of a pickle, a clone or a file.
        ``warm_start`` has no effect here.

        Parameters
        ----------
        X, y, sample_weight
            As for ``fit``: the new sequences only. Attributes new to the model must occur at ``min_count`` of their
            positions.
        classes : sequence of labels, optional
            Labels that the model is to have whether ``y`` shows them or not.
        certify : bool
            Go on to ``tol`` over all sequences that are kept, with a certificate.

        ``class_weight="balanced"`` is refused here, since the new sequences alone do not say how rare a label is.

        Returns
        -------
        self
        """
        chain_growth.go_on(self, X, y, classes, sample_weight, certify)
        return self

    def _shown(self, X: Any) -> Any:
        """X, which ``verbose`` counts as it is encoded."""
        return counted_sequences(X) if self.verbose else X

    def _by_sequence(self, part: Callable[[int, int], list[Any]], encoded: Encoded) -> list[Any]:
        if not self.verbose or len(encoded) <= _SHOWN_STEP:
            return super()._by_sequence(part, encoded)
        return in_shown_steps(part, len(encoded), "sequence", _SHOWN_STEP)

    @classmethod
    def _of_spec(cls, spec: ChainSpec, training: Mapping[str, Any]) -> Self:
        """An estimator yet without weights; refuses what it would refuse to train with."""
        return cls._of_parameters({**spec._asdict(), **costs_of_plain(training)})

    def _plain_parameters(self) -> dict[str, Any]:
        return plain_costs(super()._plain_parameters())


def _check_alone(y: Any, sample_weight: Any, allowed: Any, ignore_label: Any, data: PartitionedData) -> None:
    """Refuse what a folder has itself, or has no place for."""
    for name, given in (("y", y), ("sample_weight", sample_weight), ("allowed", allowed)):
        if given is not None:
            why = "has no place for it" if name == "allowed" else "has its own"
            raise TypeError(f"{name} was given with a folder of partitions, which {why}; leave {name} out.")
    if ignore_label is not None and ignore_label in data.classes.tolist():
        raise ValueError(
            f"ignore_label={ignore_label!r} is a label of {data.path}, and labels of a folder are all known; leave "
            "such sequences out of the folder, or train on data.load()."
        )
