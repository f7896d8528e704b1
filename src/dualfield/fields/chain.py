"""The linear-chain field: sequences with one label per position."""

from __future__ import annotations

import time
from copy import copy
from typing import Any

import numpy as np
import numpy.typing as npt

from dualfield import _core
from dualfield.core_arrays import check_sample_weight, frozen
from dualfield.features import DenseEncoded, Encoded, NumberedColumns, Vocabulary, encode
from dualfield.features.sequences.dense import DenseColumns, Standard, uneven_scale
from dualfield.fields.base import EXACT, PER_CLIQUE, Choice, Field, check_label_count
from dualfield.labels import check_costs, cost_matrix, encode_allowed, encode_partial_labels, resolve_constraints
from dualfield.models.chain_layout import ChainLayout
from dualfield.models.chain_masks import check_labels, constrain, observed_among
from dualfield.models.spec import ChainSpec
from dualfield.solution import Certificate

__all__ = ["Chain", "check_sequence_weight", "frequent"]

_FEW_SEQUENCES = 30
_OFFERS_WITH_COSTS = EXACT - {"clique tables", "independent nodes", "decoding"}
_OF_ALL_PAIRS = frozenset({"clique tables", "Hessian-vector products", *PER_CLIQUE})
# The last three, of the convex problems that bound the objective.
_OFFERS_OF_PARTIAL = frozenset(
    {"marginals", "Hessian-vector products", "exact marginals", "entropy", "compact potentials"}
)


class Chain(Field):
    """Labelled sequences as a training problem.

    The score of labels ``y`` for a sequence ``x`` of length T sums the weights of all (attribute, label) pairs,
    times the attribute's value, of all transitions ``(y_{t−1}, y_t)``, of each label's bias, and of the first
    (begin) and the last label (end); and where ``X`` has bigram attributes, for each of position t its value times its
    weight with the pair ``(y_{t−1}, y_t)``. The objective is

        ``l1 ‖w‖₁ + l2/2 ‖w‖² + Σ_i c_i · (−log p(y_i | x_i; w))``

    with ``p(y | x) ∝ exp(score(x, y))`` over the labellings that ``constraints`` and ``allowed`` leave, all by default.
    With costs ``C`` it is ``p(y | x_i) ∝ exp(score(x_i, y) + Σ_t C(y_{i,t}, y_t))``, in training only: a sequence is
    learnt when wrong labels are less probable by as much as they cost (softmax-margin training).
    Where labels are known in part, ``p(y_i | x_i)`` sums over the labellings Y_i that they leave open: the loss is
    ``log Z(x_i) − log Z(x_i; Y_i)``. It is not convex, so its optimum is not certified. OEG minimises convex problems
    that bound it, one after the other, each certified; solvers on the primal follow its gradient.

    Parameters
    ----------
    X : sequences
        Sequences of dicts, of lists of strings, of 2-D arrays, of sparse matrices, or an ``Encoded``, which may have
        bigram attributes.
    y : sequences of labels
        One label per position; or a set of candidates (set, frozenset, list, tuple), or None where it is unknown.
    l2 : float
        Strength of the penalty, λn in the papers; zero only with a positive ``l1``.
    sample_weight : array, shape (n,), optional
        The ``c_i``, not negative.
    allowed : sequence, optional
        For each sequence None, or for each position None or the labels allowed there.
    class_weight : dict, "balanced" or None
        Weights of labels: where a label of weight v is right, every other one costs ``log v``.
        "balanced": ``N / (K · n_k)`` for label k, which n_k of the N positions have.
    costs : dict, optional
        ``{(true label, wrong label): cost}``, in addition.
    l1, constraints, state_features, transitions, bigram_features, bias, begin, end, min_count, standardize
        Options of :class:`~dualfield.models.ChainSpec`, which says what they are. Not all solvers take an ``l1``: see
        ``Solver.takes``. Of transitions and bigrams only allowed ones have a weight; candidates of partial labels count
        as observed, but unknown labels do not.

    Examples
    --------
    >>> from dualfield import fields, solve
    >>> field = fields.Chain([[["a"], ["b"]], [["b"], ["b"]]], [["X", "Y"], ["Y", "Y"]], l2=1.0)
    >>> solve(field, "sdca", tol=1e-6).status
    'converged'
    """

    name: str = "Chain"
    offers: frozenset[str] = EXACT | PER_CLIQUE
    standard: Standard | None = None  # how dense columns are standardised

    def __init__(
        self,
        X: Any,
        y: Any,
        l2: float = 1.0,
        *,
        sample_weight: npt.ArrayLike | None = None,
        allowed: Any = None,
        class_weight: Any = None,
        costs: Any = None,
        **options: Any,
    ) -> None:
        self._pose(ChainSpec(l2=l2, **options))
        check_costs(class_weight, costs)
        encoded: Encoded = encode(X)
        if len(encoded) == 0:
            raise ValueError("X has no sequences; expected at least one.")
        before = time.perf_counter(), time.process_time()
        self.classes, codes, self.candidates = encode_partial_labels(y, encoded.lengths)
        self.codes = frozen(codes, np.int32)
        check_label_count(len(self.classes))
        rules = resolve_constraints(self.spec.constraints, self.classes)
        self.allowed = None if allowed is None else encode_allowed(allowed, encoded.lengths, self.classes)
        if self.candidates is None:
            check_labels(self.codes, encoded.offsets, self.classes, rules, self.allowed)
        self.costs = self._costs(class_weight, costs)
        self.sample_weight = check_sequence_weight(sample_weight, len(encoded))
        self.encoded = frequent(encoded, self.spec.min_count)
        self.layout = ChainLayout.from_data(
            self.encoded,
            self.codes,
            len(self.classes),
            self.spec,
            constraints=rules,
            observed=None if self.candidates is None else observed_among(self.encoded, self.candidates),
        )
        self._compile()
        self.preparation = time.perf_counter() - before[0], time.process_time() - before[1]

    @classmethod
    def of_spec(
        cls,
        spec: ChainSpec,
        X: Any,
        y: Any,
        sample_weight: npt.ArrayLike | None = None,
        allowed: Any = None,
        *,
        class_weight: Any = None,
        costs: Any = None,
    ) -> Chain:
        """The problem of a spec."""
        given = {"allowed": allowed, "class_weight": class_weight, "costs": costs}
        return cls(X, y, sample_weight=sample_weight, **given, **spec._asdict())

    @classmethod
    def of_layout(
        cls,
        encoded: Encoded,
        codes: npt.NDArray[np.int32],
        classes: npt.NDArray[Any],
        layout: ChainLayout,
        spec: ChainSpec,
        sample_weight: npt.ArrayLike | None = None,
        *,
        class_weight: Any = None,
        costs: Any = None,
    ) -> Chain:
        """Encoded sequences with coded labels, and weights as a given layout has them."""
        before = time.perf_counter(), time.process_time()
        field = cls.__new__(cls)
        field._pose(spec)
        field.encoded, field.codes, field.classes, field.layout = encoded, frozen(codes, np.int32), classes, layout
        field.allowed = field.candidates = None
        field.costs = field._costs(class_weight, costs)
        field.sample_weight = check_sequence_weight(sample_weight, len(encoded))
        field._compile()
        field.preparation = time.perf_counter() - before[0], time.process_time() - before[1]
        return field

    def _costs(self, class_weight: Any, costs: Any) -> npt.NDArray[np.float64] | None:
        """What it costs to take one label for another; refused where labels are known in part."""
        if self.candidates is not None and (class_weight is not None or costs is not None):
            raise ValueError(
                f"{'class_weight' if costs is None else 'costs'} needs to know what is right: label every position of "
                "y, or leave it out."
            )
        return cost_matrix(class_weight, costs, self.classes, self.codes)

    def _pose(self, spec: ChainSpec) -> None:
        self.spec, self.l1, self.l2 = spec, spec.l1, spec.l2

    def _compile(self) -> None:
        """Make the compiled problem, and say what it is and what it offers to solvers."""
        if self.encoded.dense is not None:
            self.name, self.offers = "Chain with dense columns beside attributes", EXACT
        if self.encoded.bigrams is not None:
            self.name, self.offers = "Chain with bigrams", EXACT
        if self.layout.constraints is not None or self.allowed is not None:
            self.name, self.offers = "Chain with constraints", EXACT - {"independent nodes"}
        if self.costs is not None:
            self.name, self.offers = "Chain with costs of labels", _OFFERS_WITH_COSTS
            self.instead = "use 'oeg', 'lbfgs', 'sag', 'saga', 'svrg' or 'sgd', or leave class_weight and costs out"
        if self.candidates is not None:
            self.name, self.offers, self.convex = "Chain with partial labels", _OFFERS_OF_PARTIAL, False
            self.instead = "label every position, or use solver='oeg' or one on the primal such as 'lbfgs'"
        if self.spec.standardize and self.standard is None:
            self.standard = _standard(self.encoded, self.layout)
        if self.standard is not None:
            self.offers -= PER_CLIQUE
        masks: dict[str, Any] = {"allowed": self.allowed, "candidates": self.candidates, "costs": self.costs}
        masks["standard"] = self.standard
        self.core = self.layout.compile(self.encoded, self.codes, self.sample_weight, self.l2, **masks)
        self.default_solver = _default_solver(len(self.encoded))

    def core_with(self, needs: frozenset[str]) -> Any:
        """The compiled problem; tables are of all pairs of labels, whether or not they have a weight."""
        if needs & PER_CLIQUE and isinstance(self.encoded, DenseEncoded):  # which look at attributes one by one
            return self.layout.compile(self.encoded.sparse(), self.codes, self.sample_weight, self.l2)
        if not (needs & _OF_ALL_PAIRS and isinstance(self.core, _core.SparseChain)):
            return self.core
        return constrain(self.core.chain, self.layout.n_labels, self.layout.constraints, self.allowed, None)

    def with_l2(self, l2: float) -> Chain:
        """The same sequences under another penalty."""
        other = copy(self)
        other._pose(self.spec.but(l2=l2))
        before = time.perf_counter(), time.process_time()
        other._compile()
        other.preparation = time.perf_counter() - before[0], time.process_time() - before[1]
        return other

    def with_l1(self, l1: float) -> Chain:
        """The same sequences under another l1 penalty."""
        other = copy(self)
        other._pose(self.spec.but(l1=l1))
        return other

    def about(self, centre: npt.ArrayLike | None) -> Chain:
        """The same problem with its penalty about other weights than zero: ``l1 ‖w − a‖₁ + l2/2 ‖w − a‖²``.

        Few solvers take such a problem: see ``Solver.takes``.
        """
        other = copy(self)
        other.centre = None if centre is None else self._checked(centre).copy()
        other.default_solver = Choice("lbfgs", "it begins at the given weights")
        return other

    def bounding_problem(self) -> Chain:
        """A convex problem that bounds that of partial labels, and meets it where its core is told to.

        It has the same losses, but the truth ``F(x_i, y_i)`` is what some weights expect of the features over the
        labellings that are left open. Its objective less ``core.entropy``, the entropy of these labellings, is nowhere
        below the objective of partial labels, and equal to it at these weights. At first only the sequences count whose
        labels are all known.
        """
        if self.candidates is None:
            raise TypeError(f"{self.name} is convex: it needs no problems that bound it.")
        other = copy(self)
        other.core = _core.ExpectedChain(self.core)
        other.name, other.offers, other.convex = "Chain with expected labels", _OFFERS_OF_PARTIAL, True
        return other

    def certifies(self, weights: npt.NDArray[np.float64]) -> tuple[Certificate, str]:
        """Say "exact", or "none" for partial labels."""
        return ("exact", "") if self.convex else ("none", "with partial labels the objective is not convex")

    @property
    def obstacle(self) -> str:
        """A column that is much larger than most, and that columns can be standardised."""
        columns = _dense_columns(self.encoded, self.layout)
        return "" if columns is None or self.standard is not None else uneven_scale(columns.arrays)

    def _sizes(self) -> dict[str, int]:
        shown = {"sequence": len(self.encoded), "position": self.encoded.n_positions, "label": len(self.classes)}
        return {**shown, "weight": self.dimension}

    def _content(self) -> list[Any]:
        encoded, layout = self.encoded, self.layout
        bigrams, pairs = encoded.bigrams, layout.bigrams
        shown: list[Any] = [None] * 6
        if bigrams is not None and pairs is not None:
            shown = [bigrams.indptr, bigrams.indices, bigrams.values, bigrams.vocabulary, pairs.pairs, pairs.starts]
        return [
            *(self.l2, self.l1, self.centre),
            self.sample_weight,
            self.classes,
            self.codes,
            *(encoded.offsets, encoded.vocabulary, encoded.dense, self.standard is None),
            *(
                (encoded.columns, None, None)
                if isinstance(encoded, DenseEncoded)
                else (encoded.indptr, encoded.indices, encoded.values)
            ),
            *(layout.transitions, layout.rows is None, layout.bias, layout.begin, layout.end),
            *(layout.constraints, self.allowed, self.candidates, self.costs),
            *shown,
        ]


def _dense_columns(encoded: Encoded, layout: ChainLayout) -> DenseColumns | None:
    return encoded.columns if isinstance(encoded, DenseEncoded) and layout.rows is None else encoded.dense


def _standard(encoded: Encoded, layout: ChainLayout) -> Standard:
    """How the dense columns of sequences are standardised, or why there are none to be."""
    columns = _dense_columns(encoded, layout)
    if columns is None:
        raise ValueError(
            "standardize=True is for dense columns, and X has none; give floating arrays with few zeros and "
            "state_features='all', or crf.encode(X, dense=...), or leave it out."
        )
    return Standard.of(columns.arrays)


def _default_solver(n_sequences: int) -> Choice:
    """The solver that docs/explanation/choosing-a-solver.md found best."""
    if n_sequences < _FEW_SEQUENCES:
        return Choice("lbfgs", f"with fewer than {_FEW_SEQUENCES} sequences a pass costs nothing and it needs few")
    why = "on sequences it was the first to a certificate or close to it, at every penalty, in little memory"
    return Choice("oeg", why, usual=True)


def check_sequence_weight(sample_weight: npt.ArrayLike | None, n: int) -> npt.NDArray[np.float64] | None:
    """Return the weights of sequences as an array, or refuse them; those of positions with the reason."""
    rows: Any = sample_weight if isinstance(sample_weight, list | tuple | np.ndarray) else ()
    if getattr(rows, "ndim", 1) > 0 and any(isinstance(weight, list | tuple | np.ndarray) for weight in rows):
        raise ValueError(
            "sample_weight must have one number for each sequence; got weights of positions, and with positions that "
            "count by fractions the loss of a sequence would not be convex: weigh whole sequences (such as by "
            "dualfield.labels.sequence_weights(y)), or give class_weight or costs."
        )
    return check_sample_weight(sample_weight, n, "sequence")


def frequent(
    encoded: Encoded,
    min_count: int,
    known: Vocabulary | NumberedColumns | None = None,
    known_bigrams: Vocabulary | NumberedColumns | None = None,
) -> Encoded:
    """Without the attributes and the bigrams that occur at fewer positions; those of ``known`` ones stay."""
    if min_count == 1:
        return encoded
    if encoded.bigrams is not None:
        encoded = encoded.with_bigrams(_often(encoded.bigrams, min_count, known_bigrams))
    rest = _often(encoded, min_count, known)
    if len(rest.indices) == 0 and known is None:
        raise ValueError(f"No attribute occurs {min_count} times or more; lower min_count.")
    return rest


def _often(encoded: Encoded, min_count: int, known: Vocabulary | NumberedColumns | None) -> Encoded:
    if isinstance(known, NumberedColumns):
        return encoded
    if isinstance(encoded.vocabulary, NumberedColumns):
        return encoded.without_rare_columns(min_count)
    keep: npt.NDArray[np.bool_] = encoded.counts() >= min_count
    if known is not None:
        keep |= np.fromiter(map(known.__contains__, encoded.vocabulary.names), bool, len(keep))
    return encoded.restrict(keep)
