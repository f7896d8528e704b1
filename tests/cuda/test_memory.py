"""Memory of the GPU is predicted, and what does not fit is refused with what would."""

from __future__ import annotations

import re

import pytest

from dualfield import fields
from dualfield.cuda.memory import check_gpu_memory, memory_of
from dualfield.cuda.problem import problem_of
from tests.cuda.test_problem import sequences


def test_more_data_and_more_history_need_more() -> None:
    small, large = (problem_of(fields.Chain(*sequences(count))) for count in (50, 5000))
    assert memory_of(small, 12).data < memory_of(large, 12).data
    assert memory_of(small, 12).evaluation < memory_of(large, 12).evaluation
    grown = memory_of(small, 13).weights - memory_of(small, 12).weights
    assert grown == 8 * small.dimension  # an iterate and a gradient in float32


def test_what_fits_is_taken_and_what_does_not_is_refused_with_what_would() -> None:
    problem = problem_of(fields.Chain(*sequences(3000)))
    total = memory_of(problem, 12).total
    check_gpu_memory(problem, 12, total)
    with pytest.raises(
        MemoryError, match=r"bytes a position.* would fit beside the weights, or leave device out"
    ) as it:
        check_gpu_memory(problem, 12, total - 1_000_000)
    fits = int(re.search(r"about ([\d,]+) of the", str(it.value))[1].replace(",", ""))
    assert 0 < fits < problem.n_positions
    with pytest.raises(MemoryError, match="the weights alone take"):
        check_gpu_memory(problem, 12, 1000)
