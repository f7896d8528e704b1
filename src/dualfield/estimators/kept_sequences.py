"""What ``ChainCRF.partial_fit`` keeps of earlier sequences, so that a new chunk costs only its own training.

The dual of training has variables for each sequence, here OEG's potentials and marginals, and the weights are the sum
of what the sequences add to them. So a chunk is learnt on a small problem: the new sequences and a few times as many of
those before, drawn by recorded gaps, with their attributes alone. What the other sequences add to the weights stays.
Every step is a step on the dual of the problem over all sequences, about the weights that the model had before the
first of them. On request, a confirming pass over all sequences says how far the optimum is, and training goes on to
the tolerance.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from dualfield.features import Encoded, NumberedColumns
from dualfield.fields import Chain
from dualfield.memory import check_memory
from dualfield.models import ChainLayout
from dualfield.nested import bounds_of, gather
from dualfield.random_state import check_random_state
from dualfield.solution import Solution
from dualfield.solvers import OEG, Run
from dualfield.solvers.dual import FINEST

__all__ = ["KeptSequences", "joined"]

FloatArray = npt.NDArray[np.float64]

# Measured on Dutch names in 20 chunks: fewer visits end farther from one fit, more cost more than twice its time.
_OLD_FOR_ONE_NEW, _VISITS = 2, 3
_UNIFORM = 0.2  # the share of old sequences that are drawn whatever their gaps, since recorded gaps grow old
_MOST_PARTS = 64
_OF_BLOCKS = ("etas", "entropies", "remaining", "recorded")


@dataclass
class _Part:
    """Some sequences, and the state of a run that each of them has."""

    encoded: Encoded
    codes: npt.NDArray[np.int32]
    sample_weight: FloatArray
    duals: npt.NDArray[Any]  # one sequence after the other
    bounds: npt.NDArray[np.int64]  # of the duals of each
    state: dict[str, FloatArray]  # one number for each sequence

    def some(self, chosen: npt.NDArray[np.int64]) -> _Part:
        positions, _ = gather(self.encoded.offsets, chosen)
        duals, bounds = gather(self.bounds, chosen)
        state = {name: numbers[chosen] for name, numbers in self.state.items()}
        return _Part(
            self.encoded[chosen], self.codes[positions], self.sample_weight[chosen], self.duals[duals], bounds, state
        )

    def take(self, chosen: npt.NDArray[np.int64], moved: _Part) -> None:
        """Take the state that some sequences have come to."""
        self.duals[gather(self.bounds, chosen)[0]] = moved.duals
        for name, numbers in moved.state.items():
            self.state[name][chosen] = numbers


class KeptSequences:
    """All sequences since the weights that the penalty is about, with their duals and the weights they have led to.

    ``key`` says under which parameters; ``centre`` is None for zero.
    """

    def __init__(self, key: Any, centre: FloatArray | None) -> None:
        self.key, self.centre = key, centre
        self._parts: list[_Part] = []
        self.layout: ChainLayout
        self.classes: npt.NDArray[Any]
        self.weights: FloatArray

    def __len__(self) -> int:
        return sum(len(part.encoded) for part in self._parts)

    def take_all(self, field: Chain, run: Run) -> bool:
        """Keep the sequences of a field that a run has worked on; False where their duals cannot be told apart."""
        state = run.arrays()
        bounds = _bounds(field, len(state["duals"]))
        if bounds is None or field.encoded.bigrams is not None:
            return False
        raw = state["weights"]
        if len(state["centre"]):  # accelerated: from the weights of the proximal problem to those of the marginals
            kappa = state["momentum"][1]
            raw = ((field.l2 + kappa) * raw - kappa * state["centre"]) / field.l2
        self._parts = [_part(field, _encoded(field), _weights_of_sequences(field), bounds, state)]
        self.layout, self.classes = field.layout, field.classes
        self.weights = raw if self.centre is None else self.centre + raw
        return True

    def learn(
        self, field_of: Any, encoded: Encoded, codes: npt.NDArray[np.int32], sample_weight: FloatArray, crf: Any
    ) -> Solution:
        """Visit new sequences and some of those before; refuses, before any change, what does not fit into memory.

        ``field_of(encoded, codes, sample_weight, layout)`` makes a problem.
        """
        seed = int(check_random_state(crf.random_state).randint(np.iinfo(np.int32).max))
        chosen = self._draw(min(len(self), _OLD_FOR_ONE_NEW * len(encoded)), np.random.default_rng(seed + len(self)))
        old = [part.some(some) for part, some in zip(self._parts, chosen, strict=True)]
        together = joined([*_contents(old), (encoded, codes, sample_weight)])
        some_attributes, layout, places = _restricted(together[0], self.layout)
        state_weights, rest = self._split(self.weights)
        field: Chain = field_of(some_attributes, *together[1:], layout)
        solver = replace(_plain(crf), n_jobs=1)  # steps side by side are damped, for longer than this run is
        needed = solver.kept_numbers(field) * (4 if solver.memory == "float32" else 8)
        check_memory(2 * needed, "partial_fit, which keeps the duals of all sequences,", "call fit for a new beginning")
        bounds = _bounds(field, solver.kept_numbers(field))
        assert bounds is not None  # as for the first sequences, in take_all
        run = _with_state(
            solver.start_to(field, seed, crf.tol), old, np.concatenate([state_weights[places].ravel(), rest])
        )
        before, calls = run.updates, run.oracle_calls
        while run.updates - before < _VISITS * field.n_blocks and not (run.stalled or run.diverged):
            run.advance(0.1, _VISITS * field.n_blocks - (run.updates - before))
        state = run.arrays()
        moved = _part(field, together[0], together[2], bounds, state)
        first = 0
        for part, some in zip(self._parts, chosen, strict=True):
            part.take(some, moved.some(np.arange(first, first + len(some))))
            first += len(some)
        self._parts.append(moved.some(np.arange(first, field.n_blocks)))
        if len(self._parts) > _MOST_PARTS:
            self._parts = [_together(self._parts)]
        learnt = state["weights"]
        state_weights[places] = learnt[: len(learnt) - len(rest)].reshape(-1, *state_weights.shape[1:])
        rest[:] = learnt[len(learnt) - len(rest) :]
        return _unconfirmed(self.weights, run, before, calls, len(encoded), first, len(self) - len(encoded))

    def _split(self, weights: FloatArray) -> tuple[FloatArray, FloatArray]:
        """The weights of attributes, a row each where they have all labels, and the others: views."""
        state, rest = np.split(weights, [self.layout.n_state_weights])
        return state if self.layout.rows is not None else state.reshape(-1, self.layout.n_labels), rest

    def whole(self, encoded: Encoded, codes: npt.NDArray[np.int32], sample_weight: FloatArray) -> Any:
        """All sequences and new ones, their codes and their weights."""
        return joined([*_contents(self._parts), (encoded, codes, sample_weight)])

    def resumed(self, field: Chain, crf: Any) -> Run:
        """A run over the field of all sequences and new ones, with gaps and weights computed afresh."""
        run = _plain(crf).start_to(field, 0, crf.tol)
        raw = self.weights if self.centre is None else self.weights - self.centre
        run = _with_state(run, self._parts, raw)
        while not run.confirm(0.1):
            pass
        run.adopt()
        return run

    def grow(self, layout: ChainLayout, labels: npt.NDArray[np.int64]) -> None:
        """Go over to a layout that has more weights, which begin at zero; the weights are a new array in any case."""
        if self.centre is not None:
            self.centre = self.layout.carry(self.centre, layout, labels)
        self.weights, self.layout = self.layout.carry(self.weights, layout, labels), layout

    def renumber(self, labels: npt.NDArray[np.int64]) -> None:
        """Go over to other numbers of labels; the duals then fit no more."""
        for part in self._parts:
            part.codes = labels[part.codes].astype(np.int32)

    def _draw(self, count: int, random: np.random.Generator) -> list[npt.NDArray[np.int64]]:
        """Draw different sequences, some by their gaps and some at random; returns which of each part."""
        recorded = np.concatenate([part.state["recorded"] for part in self._parts])
        total = float(recorded.sum())
        shares = recorded / total if total > 0 else np.full(len(recorded), 1 / len(recorded))
        shares = (1 - _UNIFORM) * shares + _UNIFORM / len(recorded)
        # the largest of log share + Gumbel noise are draws without replacement
        keys = np.log(shares) + random.gumbel(size=len(recorded))
        chosen = np.sort(np.argpartition(-keys, count - 1)[:count]) if count else np.zeros(0, np.int64)
        bounds = bounds_of([len(part.encoded) for part in self._parts])
        cuts = np.searchsorted(chosen, bounds)
        return [chosen[a:b] - first for a, b, first in zip(cuts[:-1], cuts[1:], bounds[:-1], strict=True)]


def joined(parts: list[tuple[Encoded, npt.NDArray[np.int32], FloatArray]]) -> Any:
    """Sequences one after the other with the vocabulary of the last, which has all names; codes and weights too."""
    return (
        _in_a_row([encoded for encoded, _, _ in parts]),
        np.concatenate([codes for _, codes, _ in parts]),
        np.concatenate([weights for _, _, weights in parts]),
    )


def _in_a_row(parts: list[Encoded]) -> Encoded:
    values = None
    if any(part.values is not None for part in parts):
        values = np.concatenate([np.ones(len(p.indices)) if p.values is None else p.values for p in parts])
    return Encoded(
        bounds_of(np.concatenate([np.diff(part.offsets) for part in parts])),
        bounds_of(np.concatenate([np.diff(part.indptr) for part in parts])),
        np.concatenate([part.indices for part in parts]),
        values,
        parts[-1].vocabulary,
    )


def _restricted(encoded: Encoded, layout: ChainLayout) -> tuple[Encoded, ChainLayout, Any]:
    """The same sequences under numbers of their own attributes, the layout of these, and which weights they have."""
    there = np.zeros(layout.n_attributes, dtype=bool)
    there[encoded.indices] = True
    used = np.flatnonzero(there)
    numbers = np.cumsum(there, dtype=np.int32) - np.int32(1)
    if layout.rows is None:
        rows, places = None, used
    else:
        places, starts = gather(layout.rows[0], used)
        rows = starts, layout.rows[1][places]
    some = replace(encoded, indices=numbers[encoded.indices], vocabulary=NumberedColumns(len(used)))
    return some, replace(layout, n_attributes=len(used), rows=rows), places


def _plain(crf: Any) -> OEG:
    """OEG without acceleration, under which the weights are not those of the marginals."""
    solver = crf.solver if isinstance(crf.solver, OEG) else OEG()
    double = solver.memory == "float64" or crf.tol < 100 * FINEST
    threads = {"n_jobs": crf.n_jobs} if solver.n_jobs is None and crf.n_jobs not in (None, 1) else {}
    return replace(solver, accelerate=False, refresh_every=0, memory="float64" if double else "float32", **threads)


def _encoded(field: Chain) -> Encoded:
    encoded: Encoded = field.encoded
    return encoded


def _weights_of_sequences(field: Chain) -> FloatArray:
    return np.ones(len(field.encoded)) if field.sample_weight is None else np.asarray(field.sample_weight)


def _bounds(field: Chain, kept: int) -> npt.NDArray[np.int64] | None:
    """Where the duals of each sequence are: potentials and marginals of nodes and of pairs of labels."""
    lengths, k = field.encoded.lengths, len(field.classes)
    active = _weights_of_sequences(field) > 0
    for pairs in (np.where(lengths > 1, len(field.layout.transitions), 0), k * k):
        bounds = bounds_of(np.where(active, 2 * (lengths * k + pairs), 0))
        if bounds[-1] == kept:
            return bounds
    return None


def _part(
    field: Chain, encoded: Encoded, weights: FloatArray, bounds: npt.NDArray[np.int64], state: dict[str, Any]
) -> _Part:
    numbers = {name: state[name] for name in _OF_BLOCKS}
    return _Part(encoded, np.asarray(field.codes), weights, state["duals"], bounds, numbers)


def _contents(parts: list[_Part]) -> list[tuple[Encoded, npt.NDArray[np.int32], FloatArray]]:
    return [(part.encoded, part.codes, part.sample_weight) for part in parts]


def _together(parts: list[_Part]) -> _Part:
    encoded, codes, weights = joined(_contents(parts))
    return _Part(
        encoded,
        codes,
        weights,
        np.concatenate([part.duals for part in parts]),
        bounds_of(np.concatenate([np.diff(part.bounds) for part in parts])),
        {name: np.concatenate([part.state[name] for part in parts]) for name in _OF_BLOCKS},
    )


def _with_state(run: Run, parts: list[_Part], weights: FloatArray) -> Run:
    """A run whose first sequences have the state of these parts; the others are at their truth."""
    while not run._started:  # type: ignore[attr-defined]
        run.advance(0.1)
    state = run.arrays()
    for name in ("duals", *_OF_BLOCKS):
        kept = [part.duals if name == "duals" else part.state[name] for part in parts]
        size = sum(map(len, kept))
        state[name][:size] = np.concatenate(kept)
    state["weights"] = weights
    return run.restore(state)


def _unconfirmed(weights: FloatArray, run: Run, before: int, calls: int, new: int, old: int, kept: int) -> Solution:
    message = (
        f"OEG took {run.updates - before:,} steps, on {new:,} new sequences and {old:,} of the {kept:,} before them. "
        "How far the optimum over all of them is has not been computed, which takes passes over all: "
        "partial_fit with certify=True does so and goes on to tol."
    )
    return Solution(
        weights=weights,
        primal=np.nan,
        dual=np.nan,
        duality_gap=np.nan,
        certificate="none",
        status="stopped",
        message=message,
        passes=_VISITS,
        updates=run.updates - before,
        oracle_calls=run.oracle_calls - calls,
        seconds=np.nan,
        cpu_seconds=np.nan,
        history={},
    )
