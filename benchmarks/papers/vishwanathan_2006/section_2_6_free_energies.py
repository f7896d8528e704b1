"""Vishwanathan et al. 2006, section 2.6: how near mean field and belief propagation come to the likelihood.

    python benchmarks/papers/vishwanathan_2006/section_2_6_free_energies.py [--quick] [--plot-only]

Strips of six rows of the noisy images, on which junction trees give the exact negative log-likelihood. At the paper's
start (logistic regression, edges 0.5) and at the weights of largest pseudo-likelihood, of largest likelihood, and of
twice the latter's edges: the objective by each approximation less the exact one. Tree-reweighted messages, which the
paper does not have, bound it from above.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[3]))
from benchmarks.papers.cells import Cell, GeneratedCell, Workbench
from benchmarks.papers.claims import Claim
from benchmarks.papers.harness import Figure, Shown, main
from benchmarks.papers.results import Row
from benchmarks.papers.vishwanathan_2006.lattice_tasks import EDGE_L2, L2, Lattices
from dualfield import fields, solve
from dualfield.datasets import Images, make_denoising
from dualfield.features.graphs.grids import edge_differences

APPROXIMATIONS = {"mean_field": "mean field", "bp": "belief propagation", "trw": "tree-reweighted"}
PLACES = ("start", "pseudo-likelihood", "likelihood", "edges doubled")


def strips(n_images: int) -> Lattices:
    """The first six rows of drawn images."""
    drawn = make_denoising(n_images, 1, size=32)
    X, y = [x[12:18] for x in drawn.X_train], [labels[12:18] for labels in drawn.y_train]
    edges = [np.column_stack([np.ones(len(d)), d]) for d in (edge_differences(x[:, :, 1:]) for x in X)]
    return Lattices(Images(X, y, X[:1], y[:1], edges, edges[:1]))


@dataclass(frozen=True)
class FreeEnergies(GeneratedCell):
    """Objectives by approximate inference less the exact one."""

    dataset: str = "strips"
    kind: ClassVar[str] = "free energies"

    def key(self) -> Row:
        return {"kind": self.kind, "dataset": self.dataset}

    def measure(self, bench: Workbench) -> Row:
        task = strips(3 if bench.quick else 20)
        parts = {"l2": L2, "edge_l2": EDGE_L2, "edge_weights": "ising"}
        exact = fields.Graph(task.grids, task.images.y_train, **parts)
        likely = solve(exact, "lbfgs", tol=1e-6, max_passes=500).weights
        doubled = likely.copy()
        doubled[-exact.layout.n_edge_features :] *= 2
        alike = solve(task.field("pseudo_likelihood"), "lbfgs", tol=1e-6, max_passes=500).weights
        weights = dict(zip(PLACES, (task.start, alike, likely, doubled), strict=True))
        found: Row = {}
        for name in APPROXIMATIONS:
            field = fields.Graph(task.grids, task.images.y_train, inference=name, max_sweeps=1000, **parts)
            found[name] = {place: field.primal(w) - exact.primal(w) for place, w in weights.items()}
        found["exact"] = {place: exact.primal(w) for place, w in weights.items()}
        edges = {place: exact.layout.edge_scale * w[-2] for place, w in weights.items()}
        return {**found, "edge": edges}

    def __str__(self) -> str:
        return "strips: free energies"


class FreeEnergyTable(Figure):
    name, store = "vishwanathan_2006_section_2_6", "smd"
    title = "Vishwanathan et al. 2006, section 2.6: objectives by approximate inference less the exact one"

    def cells(self, quick: bool) -> list[Cell]:
        return [FreeEnergies()]

    def tables(self, shown: Shown) -> list[str]:
        found = shown.result(FreeEnergies())
        if found is None:
            return []
        lines = ["", f"{'':20}" + "".join(f"{place:>20}" for place in PLACES)]
        rows = {"constant of edges, θ": "edge", "exact objective": "exact", **{v: k for k, v in APPROXIMATIONS.items()}}
        for label, name in rows.items():
            lines.append(f"{label:20}" + "".join(f"{found[name][place]:>20.3f}" for place in PLACES))
        return lines

    def judge(self, shown: Shown) -> list[Claim]:
        found = shown.result(FreeEnergies())
        if found is None:
            return []
        bound = Claim("The mean-field objective is an upper bound on the negative log-likelihood", "2.6")
        nearer = Claim("That of belief propagation is often nearer to it", "2.6")
        heavy = Claim("The pseudo-likelihood puts too much weight on edges", "2.6")
        for place in PLACES:
            field, loopy = found["mean_field"][place], found["bp"][place]
            bound.answer(f"{place}: {field:+.2f}", field >= 0)
            nearer.answer(f"{place}: belief propagation {loopy:+.2f}, mean field {field:+.2f}", abs(loopy) < abs(field))
        a, b = found["edge"]["pseudo-likelihood"], found["edge"]["likelihood"]
        heavy.answer(f"constant of edges {a:.3f}, by the likelihood {b:.3f}", a > b)
        return [bound, nearer, heavy]


if __name__ == "__main__":
    main(FreeEnergyTable())
