"""How much memory of the GPU a problem takes, before it is asked for: plain NumPy."""

from __future__ import annotations

from typing import NamedTuple

from dualfield.cuda.problem import CHUNK, Problem
from dualfield.memory import DoesNotFit

__all__ = ["Need", "check_gpu_memory", "memory_of"]

_COMMON = 300 << 20  # bytes of CUDA's context, of PyTorch's libraries, and what its allocator rounds up


class Need(NamedTuple):
    """Bytes of the GPU, by what needs them."""

    data: int  # the problem's own arrays
    evaluation: int  # potentials, messages and probabilities, in float32 and, to confirm, in float64
    weights: int  # vectors as long as the weights, and the tables of weights and of the gradient

    @property
    def total(self) -> int:
        """All of it."""
        return self.data + self.evaluation + self.weights + _COMMON


def memory_of(problem: Problem, history: int) -> Need:
    """What a problem takes with so many past iterates.

    A position has five rows of K numbers (potentials, their exponentials, two messages, probabilities, and what pairs
    need), an entry of the sparse matrix stands there by position and by attribute.
    """
    entries, positions, K = len(problem.attribute), problem.n_positions, problem.n_labels
    sides = 2 * 4 + (0 if problem.value is None else 2 * (4 + 8))
    dense = 0 if problem.dense is None else problem.dense.size * (4 + 8)
    data = sides * entries + 32 * positions + dense + 12 * problem.n_rows
    rows = 3 if problem.offsets is None else 6
    parts = entries // CHUNK * K
    evaluation = (4 + 8) * (rows * positions * K + 2 * positions + parts + 600 * min(K, 64) ** 2 + 70 * K * K)
    tables = 2 if len(problem.slots) < problem.table_size or problem.table is not None else 1
    weights = 2 * 4 * history * problem.dimension + (4 + 8) * tables * problem.table_size + 4 * 8 * problem.dimension
    return Need(data, evaluation, weights)


def check_gpu_memory(problem: Problem, history: int, available: int) -> None:
    """Refuse a problem that does not fit into so many bytes, and say what would."""
    need = memory_of(problem, history)
    if need.total <= available:
        return
    positions = max(problem.n_positions, 1)
    each = (need.data + need.evaluation) / positions
    left = available - need.weights - _COMMON
    if left > 0:
        fits = f"about {int(left / each):,} of the {problem.n_positions:,} positions would fit beside the weights"
    else:
        fits = (
            f"the weights alone take {_shown(need.weights)}: train with observed pairs, a higher min_count or fewer "
            "corrections"
        )
    raise DoesNotFit(
        f"Training on the GPU needs about {_shown(need.total)} there ({each:,.0f} bytes a position, and "
        f"{_shown(need.weights)} for the weights), and {_shown(available)} are free; {fits}, or leave device out."
    )


def _shown(n_bytes: int) -> str:
    return f"{n_bytes / 1e9:.1f} GB"
