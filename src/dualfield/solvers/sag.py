"""The stochastic average gradient method; the loop is in ``core/solvers/sag.hpp``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from dualfield.fields import Field
from dualfield.solvers.base import Run, Solver, compiled
from dualfield.solvers.dual import one_of
from dualfield.solvers.primal import PrimalRun
from dualfield.threads import thread_count

__all__ = ["SAG", "SAMPLINGS", "AverageGradientRun", "shared_visits"]

SAMPLINGS = ("nus*", "nus", "uniform")
_WINDOW_OF_A_THREAD = 8  # visits at most; the core takes fewer where the gradients of blocks have much in common
_LEAST_BLOCKS_OF_A_THREAD = 8  # fewer leave no window to share


@dataclass(frozen=True)
class SAG(Solver):
    """SAG for conditional random fields (Schmidt et al. 2015, Algorithm 1), with non-uniform sampling.

    Keeps the gradient ``g_i = c_i (E F − F_i)`` of each block's loss as of its last visit, as compact marginals, and
    their sum ``d``. With n blocks, m of them seen so far, and λ = l2/n, one update of block i::

        g    = gradient of block i under w              one call of the oracle
        d   += g − g_i,   g_i = g
        L    doubled while f_i(w − g/L) > f_i(w) − ‖g‖²/(2L)
        w    = (1 − αλ) w − (α/m) d                     lazily: only the block's own features are touched

    ``‖d + l2 w‖² / (2 l2)`` estimates the duality gap; when it passes the tolerance, a full gradient confirms. Memory:
    for chains ``8 (K T + K²)`` bytes a sequence, and two vectors as long as the weights.

    Parameters
    ----------
    sampling : {"nus*", "nus", "uniform"}
        "uniform": blocks uniformly, one L for all, ``α = 1/(L + λ)``, and L shrinks by ``2^(−1/n)`` each update.
        "nus*": half of the draws in proportion to a constant ``L_i`` of each block; ``L_i`` starts at the mean of
        those seen and shrinks by 0.9 at each search; ``α = ½ (1/(L_max + λ) + 1/(L_mean + λ))``; after k searches
        in a row that changed nothing, the next ``2^(k−1)`` visits do not search.
        "nus": the variant of the code of Schmidt et al. (2013): unseen blocks first, then in proportion to
        ``L_i + L_mean + 2λ``; ``L_i`` starts at 1 and halves before each search; α moves from the cautious step
        ``1/(L_max + λ)`` to that of "nus*" as blocks are seen.
    n_jobs : int or None
        Threads; −1 for all cores; None for what the caller asks for.
        With more than one, up to 8 blocks a thread are visited at a time under the same
        weights; then the steps are taken one by one. They are fewer the more the gradients of blocks have in common,
        down to 2 with dense attributes, where threads gain nothing. The result depends on how many threads there are,
        but not on their timing.

    Examples
    --------
    >>> from dualfield import ChainCRF
    >>> from dualfield.solvers import SAG
    >>> crf = ChainCRF(solver=SAG(sampling="nus*"), random_state=0)
    """

    sampling: Literal["nus*", "nus", "uniform"] = "nus*"
    n_jobs: int | None = None

    needs: ClassVar[frozenset[str]] = frozenset({"marginals"})

    def __post_init__(self) -> None:
        one_of(self.name, "sampling", self.sampling, SAMPLINGS)
        thread_count(self.n_jobs, self.name)

    def start(self, field: Field, seed: int) -> AverageGradientRun:
        """Bind to a field, at weights zero."""
        threads, window = shared_visits(self.n_jobs, field.n_blocks)
        core = compiled("SAG", field, sampling=self.sampling, threads=threads, window=window, seed=seed)
        return AverageGradientRun(self, field, core)


def shared_visits(n_jobs: int | None, n_blocks: int) -> tuple[int, int]:
    """How many threads there is work for, and how many visits they share at a time at most."""
    threads = min(thread_count(n_jobs), max(1, n_blocks // _LEAST_BLOCKS_OF_A_THREAD))
    return threads, 1 if threads == 1 else _WINDOW_OF_A_THREAD * threads


class AverageGradientRun(PrimalRun):
    """A run of :class:`SAG`, SAGA or SVRG, whose kept gradients tell of the gap."""

    worth_confirming = Run.worth_confirming

    def estimate(self) -> tuple[float, float]:
        gap, primal = self._core.estimate()
        return gap, primal

    def record(self) -> dict[str, float]:
        return {**super().record(), "smoothness": self._core.smoothness}
