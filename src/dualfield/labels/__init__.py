"""Labels: their numbers, sets of candidates for them, and which labellings are allowed."""

from typing import TYPE_CHECKING

from dualfield._deferred import deferred

if TYPE_CHECKING:
    from dualfield.labels.constraints import Constraints, resolve_constraints
    from dualfield.labels.encoded_labels import EncodedLabels, encode_labels
    from dualfield.labels.label_sets import encode_allowed, encode_partial_labels

__all__ = [
    "Constraints",
    "EncodedLabels",
    "encode_allowed",
    "encode_labels",
    "encode_partial_labels",
    "resolve_constraints",
]

__getattr__, __dir__ = deferred(
    __name__,
    {
        "constraints": "Constraints resolve_constraints",
        "encoded_labels": "EncodedLabels encode_labels",
        "label_sets": "encode_allowed encode_partial_labels",
    },
)
