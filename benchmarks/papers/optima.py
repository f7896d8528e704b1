"""The optima of Le Priol et al.'s OCR and CoNLL-2000 against CRFsuite, which shares no line of code with us.

    python benchmarks/papers/optima.py [--quick] [--budget SECONDS] [--plot-only]

``crfsuite_model.py`` says how both programs come to minimise the same function. Ours is solved to a certified 1e-9,
CRFsuite's by its L-BFGS until ten iterations gain less than 1e-9. Compared are CRFsuite's own loss at the end, our
objective at the weights that it wrote into its model file, and our two bounds on the optimum. All four must agree to
1e-6.
"""

from __future__ import annotations

import sys
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import ClassVar

sys.path.insert(0, str(Path(__file__).parents[2]))
from benchmarks.papers.cells import Cell, Workbench
from benchmarks.papers.claims import Claim
from benchmarks.papers.crfsuite_model import train_crfsuite
from benchmarks.papers.datasets import DATASETS
from benchmarks.papers.harness import Figure, Shown, main
from benchmarks.papers.results import Row
from dualfield import solve

AGREEMENT = 1e-6
TASKS = ("ocr", "conll")


@dataclass(frozen=True)
class TwoOptima(Cell):
    """Bounds on the optimum by dualfield, and the least value that CRFsuite finds."""

    dataset: str
    l2: float = 1.0
    kind: ClassVar[str] = "optimum by two programs"

    def key(self) -> Row:
        return {"kind": self.kind, "dataset": self.dataset, "l2": self.l2}

    def measure(self, bench: Workbench) -> Row:
        field = bench.problem(self.dataset).under(self.l2)
        ours = solve(field, tol=1e-9, max_passes=20_000, random_state=0)
        theirs = train_crfsuite(field)
        return {
            "primal": ours.primal,
            "dual": ours.dual,
            **asdict(theirs),
            "solver": ours.message.split()[0],
            "passes": ours.passes,
            "cpu_seconds": ours.cpu_seconds,
            "weights": field.dimension,
            "blocks": field.n_blocks,
        }

    def __str__(self) -> str:
        return f"{self.dataset}, l2 = {self.l2:g}: the optimum by dualfield and by CRFsuite"


class Optima(Figure):
    name, store = "optima", "optima"
    title = "The optima of OCR and CoNLL-2000, by dualfield and by CRFsuite"

    def cells(self, quick: bool) -> list[Cell]:
        return [TwoOptima(task) for task in TASKS]

    def tables(self, shown: Shown) -> list[str]:
        lines = []
        for task in TASKS:
            found = shown.result(TwoOptima(task))
            if found is None:
                continue
            lines += [
                "",
                f"{DATASETS[task].title}: {found['blocks']} sequences, {found['weights']} weights here, "
                f"{found['features']} in CRFsuite",
                f"  dualfield, {found['solver']}, {found['passes']} passes: the optimum is between {found['dual']:.7f} "
                f"and {found['primal']:.7f}",
                f"  CRFsuite, L-BFGS, {found['iterations']} iterations: {found['loss']:.6f}; our objective there "
                f"{found['objective']:.7f}, gradient {found['gradient_norm']:.1e}",
            ]
        return lines

    def judge(self, shown: Shown) -> list[Claim]:
        claim = Claim(f"Both programs have the same optimum, to {AGREEMENT:g}", "the experiments of all papers")
        for task in TASKS:
            found = shown.result(TwoOptima(task))
            if found is None:
                continue
            name, primal, dual = DATASETS[task].title, found["primal"], found["dual"]
            claim.answer(f"{name}: as many weights", found["weights"] == found["features"])
            apart = abs(found["loss"] - primal) / primal
            claim.answer(f"{name}: CRFsuite's loss and our objective are {apart:.1e} apart", apart <= AGREEMENT)
            same = abs(found["loss"] - found["objective"]) / primal
            claim.answer(f"{name}: at CRFsuite's weights both objectives are {same:.1e} apart", same <= AGREEMENT)
            below = (dual - found["loss"]) / primal
            claim.answer(f"{name}: CRFsuite is not below our lower bound (by {below:.1e})", below <= 1e-9)
        return [claim]


if __name__ == "__main__":
    main(Optima())
