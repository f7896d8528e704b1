"""How a ``ChainCRF`` grows when training goes on with more data.

A model that grows keeps the numbers of its attributes; new ones come after them. Labels stay sorted, so theirs may
change.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from dualfield.estimators.kept_sequences import KeptSequences
from dualfield.estimators.training import check_parameters
from dualfield.features import Encoded, NumberedColumns, Vocabulary, encode, known_bigrams
from dualfield.features.sequences.dense import Standard
from dualfield.fields import Chain
from dualfield.fields.base import Choice
from dualfield.fields.chain import check_sequence_weight, frequent
from dualfield.labels import encode_labels, resolve_constraints, with_unknown
from dualfield.memory import DoesNotFit
from dualfield.models import ChainLayout
from dualfield.models.chain_masks import check_labels
from dualfield.models.spec import ChainSpec
from dualfield.partitions import PartitionedData
from dualfield.reporting.training import solve_visibly, warn_of_shortfall
from dualfield.solution import Solution
from dualfield.solvers import OEG
from dualfield.solvers.oeg import OEGRun

__all__ = ["go_on"]


def go_on(
    crf: Any, X: Any, y: Any, classes: npt.ArrayLike | None, sample_weight: npt.ArrayLike | None, certify: bool
) -> None:
    """What ``ChainCRF.partial_fit`` says; ``crf`` is the estimator."""
    check_parameters(crf)
    if isinstance(X, PartitionedData):
        raise TypeError(
            "partial_fit takes sequences in memory, not a folder of partitions; give X, y, _ = data.load()."
        )
    if crf.class_weight == "balanced":
        raise ValueError(
            "class_weight='balanced' counts the labels of all data, which partial_fit does not see; give the weights "
            "as a dict."
        )
    spec = ChainSpec.of(crf)
    known = crf.__sklearn_is_fitted__()
    if known:
        for name in ("bias", "begin", "end"):
            asked, present = getattr(spec, name), getattr(crf.layout_, name)
            if asked != present:
                raise ValueError(
                    f"{name}={asked}, but the model was trained with {name}={present}; "
                    "partial_fit goes on with the same; call fit to train afresh."
                )
    given = encode(crf._shown(X)).sparse()
    if known:
        known_bigrams(given, crf.bigram_vocabulary_)  # refuses sequences that lack what the model has
    if given.dense is not None or (known and crf.layout_.n_columns) or spec.standardize:
        raise ValueError(
            "partial_fit does not know dense columns beside attributes, nor standardised ones; call fit with all "
            "sequences."
        )
    y = with_unknown(y, crf.ignore_label)
    y = list(y) if isinstance(y, Iterable) and not isinstance(y, str | Mapping) else y
    labels = _all_labels(y, given, classes, crf.classes_ if known else None)
    _, codes = encode_labels(y, given.lengths, labels)
    rules = resolve_constraints(spec.constraints, labels)
    check_labels(codes, given.offsets, labels, rules, None)
    vocabularies = (crf.vocabulary_, crf.bigram_vocabulary_) if known else (None, None)
    encoded = frequent(given, spec.min_count, *vocabularies)
    if known:
        encoded = _under_more_names(encoded, crf.vocabulary_)
    if encoded.bigrams is not None and crf.bigram_vocabulary_ is not None and known:
        encoded = encoded.with_bigrams(_under_more_names(encoded.bigrams, crf.bigram_vocabulary_))
    layout = ChainLayout.from_data(encoded, codes, len(labels), spec, constraints=rules)
    costs = {"class_weight": crf.class_weight, "costs": crf.costs}
    key = spec, repr(costs)
    kept: KeptSequences | None = crf._kept if known and crf._kept is not None and crf._kept.key == key else None
    kept = kept if _keeps(crf) else None
    weights = check_sequence_weight(sample_weight, len(encoded))
    crf._run = crf._kept = None  # the state of an earlier fit says nothing about these data
    numbers = np.searchsorted(labels, crf.classes_) if known else np.zeros(0, np.int64)
    start, before = None, crf.layout_ if known else None
    if kept is not None:
        before = kept.layout
    if before is not None:
        layout = _with_weights_of(before, layout, numbers)

    def field_of(encoded: Encoded, codes: Any, weights: Any, layout: ChainLayout = layout) -> Chain:
        return Chain.of_layout(encoded, codes, labels, layout, spec, weights, **costs)

    fresh = encoded, codes, np.ones(len(encoded)) if weights is None else np.asarray(weights)
    column_features, state = crf.column_features_ if known else None, None
    if kept is not None and before is not None:
        same = len(labels) == len(kept.classes) and len(layout.transitions) == len(before.transitions)
        kept.grow(layout, numbers)
        if same and not certify:
            try:
                learnt = kept.learn(field_of, *fresh, crf)
            except DoesNotFit:  # the weights sum up what was learnt: the new sequences are learnt about them
                start, kept = kept.weights, None
            else:
                crf._take(_Model(labels, encoded, layout), learnt)
                crf.column_features_, crf._kept = column_features, kept
                return
    elif known:
        start = crf.layout_.carry(crf.weights_, layout, numbers)
    if kept is None:
        field = field_of(encoded, codes, weights).about(start) if start is not None else field_of(*fresh[:2], weights)
    else:
        if not same:
            kept.renumber(numbers)
        field, start = field_of(*kept.whole(*fresh)), kept.centre
        field = field if start is None else field.about(start)
        state = kept.resumed(field, crf) if same else None
    if _keeps(crf):
        field.default_solver = Choice("oeg", "its duals are kept for further sequences")
    solution = _solved(crf, field, start, state)
    run, solution.state = solution.state, None
    crf._take(field, solution)
    crf.column_features_, crf._run = column_features, run if crf.warm_start else None
    if _keeps(crf) and isinstance(run, OEGRun) and solution.status not in ("diverged", "interrupted"):
        kept = KeptSequences(key, field.centre)
        crf._kept = kept if kept.take_all(field, run) else None


class _Model(NamedTuple):
    """What a model takes over of a problem."""

    classes: npt.NDArray[Any]
    encoded: Encoded
    layout: ChainLayout
    l1: float = 0.0
    standard: Standard | None = None


def _keeps(crf: Any) -> bool:
    """Whether the duals of sequences are kept: those of OEG, where weights are the sum of what sequences add."""
    return crf.l1 == 0 and (crf.solver in ("auto", "oeg") or isinstance(crf.solver, OEG))


def _solved(crf: Any, field: Chain, start: Any, state: Any) -> Solution:
    """The solution of a problem to the estimator's tolerance, with its state."""
    solution = solve_visibly(
        field,
        crf.solver if state is None else state.solver,
        bar=bool(crf.verbose),
        tol=crf.tol,
        max_passes=crf.max_passes,
        random_state=crf.random_state,
        start=start if state is None else None,
        state=state,
        n_jobs=crf.n_jobs,
    )
    warn_of_shortfall(solution, crf.tol, stacklevel=5)
    return solution


def _all_labels(
    y: Any, encoded: Encoded, classes: npt.ArrayLike | None, known: npt.NDArray[Any] | None
) -> npt.NDArray[Any]:
    """The labels of the model, those asked for and those of y, sorted."""
    try:
        given = [] if classes is None else np.asarray(classes).tolist()
    except ValueError:
        given = [None]
    if not isinstance(given, list) or not all(isinstance(label, str | int) for label in given):
        raise ValueError(f"classes must be a list of labels, strings or integers; got {classes!r:.60}.")
    old = [] if known is None else known.tolist()
    extra = [*old, *given]
    if not extra:
        return encode_labels(y, encoded.lengths)[0]
    encode_labels(y, encoded.lengths, np.asarray(extra))  # refuses what does not fit X, with the place
    # As one more sequence the others pass the same checks: one type, printable, at least two.
    return encode_labels([*y, extra], [*encoded.lengths.tolist(), len(extra)])[0]


def _under_more_names(encoded: Encoded, known: Vocabulary | NumberedColumns) -> Encoded:
    """Numbered by the old names, then the new ones; of columns there are as many as before."""
    if isinstance(known, NumberedColumns) or isinstance(encoded.vocabulary, NumberedColumns):
        return encoded.translate(known)
    vocabulary, numbers = known.with_more(encoded.vocabulary.names)
    return encoded.renumbered(numbers, vocabulary)


def _with_weights_of(old: ChainLayout, new: ChainLayout, labels: npt.NDArray[np.int64]) -> ChainLayout:
    """The new layout with all weights of the old one besides its own; ``labels`` are the new numbers of old labels."""
    k = new.n_labels
    before, after = np.divmod(old.transitions, old.n_labels)
    transitions = np.union1d(new.transitions, labels[before] * k + labels[after]).astype(np.int32)
    if new.constraints is not None:
        transitions = transitions[new.constraints.transitions.ravel()[transitions]]
    rows = new.rows
    if rows is not None:
        attribute, label = old._state_pairs()
        there_attribute, there_label = new._state_pairs()
        keys = np.union1d(attribute * k + labels[label], there_attribute * k + there_label)
        counts = np.bincount(keys // k, minlength=new.n_attributes)
        rows = np.concatenate(([0], np.cumsum(counts))).astype(np.int64), (keys % k).astype(np.int32)
    bigrams = new.bigrams
    if bigrams is not None and old.bigrams is not None:
        bigrams = bigrams.joined(old.bigrams, labels, new.constraints)
    return replace(new, transitions=transitions, rows=rows, bigrams=bigrams)
