"""How a ``ChainCRF`` grows when training goes on with more data.

A model that grows keeps the numbers of its attributes; new ones come after them. Labels stay sorted, so theirs may
change.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from dualfield.estimators.training import check_parameters, train
from dualfield.features import Encoded, NumberedColumns, Vocabulary, encode, known_bigrams
from dualfield.fields import Chain
from dualfield.fields.chain import frequent
from dualfield.labels import encode_labels, resolve_constraints, with_unknown
from dualfield.models import ChainLayout
from dualfield.models.chain_masks import check_labels
from dualfield.models.spec import ChainSpec
from dualfield.partitions import PartitionedData

__all__ = ["go_on"]


def go_on(crf: Any, X: Any, y: Any, classes: npt.ArrayLike | None, sample_weight: npt.ArrayLike | None) -> None:
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
    fresh = encode(crf._shown(X))
    if known:
        known_bigrams(fresh, crf.bigram_vocabulary_)  # refuses sequences that lack what the model has
    y = with_unknown(y, crf.ignore_label)
    y = list(y) if isinstance(y, Iterable) and not isinstance(y, str | Mapping) else y
    labels = _all_labels(y, fresh, classes, crf.classes_ if known else None)
    _, codes = encode_labels(y, fresh.lengths, labels)
    rules = resolve_constraints(spec.constraints, labels)
    check_labels(codes, fresh.offsets, labels, rules, None)
    vocabularies = (crf.vocabulary_, crf.bigram_vocabulary_) if known else (None, None)
    encoded = frequent(fresh, spec.min_count, *vocabularies)
    if known:
        encoded = encoded.translate(_joined(crf.vocabulary_, encoded.vocabulary))
    if encoded.bigrams is not None and crf.bigram_vocabulary_ is not None and known:
        joined = _joined(crf.bigram_vocabulary_, encoded.bigrams.vocabulary)
        encoded = encoded.with_bigrams(encoded.bigrams.translate(joined))
    layout = ChainLayout.from_data(
        encoded,
        codes,
        len(labels),
        spec,
        constraints=rules,
    )
    start = None
    if known:
        numbers = np.searchsorted(labels, crf.classes_)
        layout = _with_weights_of(crf.layout_, layout, numbers)
        start = crf.layout_.carry(crf.weights_, layout, numbers)
    costs = {"class_weight": crf.class_weight, "costs": crf.costs}
    field = Chain.of_layout(encoded, codes, labels, layout, spec, sample_weight, **costs)
    if start is not None:
        field = field.about(start)
    crf._run = None  # the state of an earlier fit says nothing about these data
    column_features = crf.column_features_ if known else None
    crf._take(field, train(crf, field, start=lambda: start))
    crf.column_features_ = column_features


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


def _joined(old: Vocabulary | NumberedColumns, new: Vocabulary | NumberedColumns) -> Vocabulary | NumberedColumns:
    """The old names, then the new ones; of columns there are as many as before."""
    if isinstance(old, NumberedColumns) or isinstance(new, NumberedColumns):
        return old
    return Vocabulary([*old.names, *(name for name in new.names if name not in old)])


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
