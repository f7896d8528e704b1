"""Labels: their numbers, sets of candidates for them, and which labellings are allowed."""

from typing import TYPE_CHECKING

from dualfield._deferred import deferred, written_imports

if TYPE_CHECKING:
    from dualfield.labels.constraints import Constraints as Constraints
    from dualfield.labels.constraints import resolve_constraints as resolve_constraints
    from dualfield.labels.costs import cost_matrix as cost_matrix
    from dualfield.labels.costs import sequence_weights as sequence_weights
    from dualfield.labels.encoded_labels import EncodedLabels as EncodedLabels
    from dualfield.labels.encoded_labels import encode_labels as encode_labels
    from dualfield.labels.given_costs import check_costs as check_costs
    from dualfield.labels.label_sets import encode_allowed as encode_allowed
    from dualfield.labels.label_sets import encode_partial_labels as encode_partial_labels
    from dualfield.labels.unknown_labels import with_unknown as with_unknown

__all__, __getattr__, __dir__ = deferred(__name__, written_imports())
