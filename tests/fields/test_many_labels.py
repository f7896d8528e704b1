"""So many labels that tables of their pairs do not fit are refused, before one is made."""

from __future__ import annotations

import numpy as np
import pytest

from dualfield import fields
from dualfield.compat.sklearn_crfsuite import CRF


@pytest.mark.parametrize("transitions", ["all", "observed"])
def test_a_chain_of_too_many_labels_is_refused(transitions: str) -> None:
    labels = [str(k) for k in range(100_000)]
    with pytest.raises(ValueError, match=r"100,000 different labels; expected at most 46,340.*merge rare labels"):
        fields.Chain([[["a"]] * len(labels)], [labels], state_features="observed", transitions=transitions)


def test_other_models_of_too_many_labels_are_refused() -> None:
    labels = [str(k) for k in range(50_000)]
    with pytest.raises(ValueError, match="expected at most 46,340"):
        fields.Graph([(np.ones((len(labels), 1)), [])], [labels])
    with pytest.raises(ValueError, match="expected at most 46,340"):
        CRF(max_iterations=1).fit([[{"a": 1.0}] * len(labels)], [labels])


def test_observed_transitions_need_no_list_of_all_pairs(monkeypatch: pytest.MonkeyPatch) -> None:
    def no_list(*arguments: object, **options: object) -> None:
        raise AssertionError("a list of all pairs was made")

    labels = [str(k) for k in range(50)]
    monkeypatch.setattr("dualfield.models.chain_layout.np.arange", no_list)
    field = fields.Chain([[["a"]] * 50], [labels], transitions="observed")
    assert len(field.layout.transitions) == 49
