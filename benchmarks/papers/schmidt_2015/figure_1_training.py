"""Schmidt et al. 2015, Figure 1 and section 4: nine methods on four tasks, against effective passes.

python benchmarks/papers/schmidt_2015/figure_1_training.py [--quick] [--budget SECONDS] [--plot-only]

An effective pass is n calls of the oracle. The stochastic gradient methods have, as in the paper, the step among the
powers of ten that ends lowest.
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[3]))
from benchmarks.papers.cells import Cell, Curve
from benchmarks.papers.claims import ORACLE_CALLS, Claim, Run
from benchmarks.papers.datasets import DATASETS
from benchmarks.papers.harness import Figure, Shown, main
from benchmarks.papers.methods import cells_of

METHODS = ("SAG-NUS*", "L-BFGS", "ASG", "Hybrid", "SAG", "SG", "SAG-NUS", "AdaGrad", "Pegasos")
HORIZON = {"ocr": 30, "conll": 15, "ner": 15, "pos": 8}  # effective passes at which the methods are compared
QUICK_HORIZON = 4
# The strongest rival of SAG-NUS*, with the step that was chosen for it, to where the horizon has been passed.
RIVAL = "SGD(eta=0.1, average=True)"
LATER = {"ner": 40, "pos": 20}


class Training(Figure):
    name = "schmidt_2015_figure_1"
    title = "Schmidt et al. 2015, Figure 1: nine methods on four tasks"

    def cells(self, quick: bool) -> list[Cell]:
        cells = cells_of(METHODS, DATASETS, quick)
        return cells if quick else [*cells, *(Curve(dataset, RIVAL, passes) for dataset, passes in LATER.items())]

    def horizon(self, shown: Shown, dataset: str) -> float:
        return QUICK_HORIZON if shown.quick else HORIZON[dataset]

    def draw(self, shown: Shown) -> None:
        figure, panels = shown.panels(4, rows=2)
        for axes, dataset in zip(panels, DATASETS, strict=True):
            shown.compare(axes, METHODS, dataset, ORACLE_CALLS, self.horizon(shown, dataset) + 0.5)
        shown.save(figure)

    def reached(self, shown: Shown, dataset: str) -> dict[str, float]:
        """The suboptimality of each method at the horizon: at its last evaluation before."""
        found = {}
        for method in METHODS:
            run = shown.run(method, dataset)
            if run is not None:
                found[method] = at(run, self.horizon(shown, dataset))
        return found

    def tables(self, shown: Shown) -> list[str]:
        lines = ["(P − P*)/P* after so many effective passes, best first; step sizes η where they were chosen"]
        for dataset in DATASETS:
            reached = self.reached(shown, dataset)
            names = {method: getattr(shown.run(method, dataset), "name", method) for method in reached}
            listed = "; ".join(f"{names[method]} {reached[method]:.1e}" for method in sorted(reached, key=reached.get))
            lines.append(f"  {dataset}, {self.horizon(shown, dataset):g}: {listed}")
        return lines

    def judge(self, shown: Shown) -> list[Claim]:
        pairs = {
            "SG outperformed Pegasos": ("SG", "Pegasos"),
            "ASG outperformed AdaGrad": ("ASG", "AdaGrad"),
            "Hybrid outperformed L-BFGS": ("Hybrid", "L-BFGS"),
        }
        claims = {text: Claim(text, "4, Figure 1") for text in pairs}
        none = Claim("None of ASG, Hybrid and SAG dominated the others", "4")
        both = Claim("Both SAG-NUS methods outperform all other methods by a substantial margin: twofold", "4")
        better = Claim("NUS*, which starts from means and shrinks by 0.9, needs fewer oracle calls than NUS", "3")
        later = Claim("SAG-NUS* outperforms ASG at its best step, further on", "4, Figure 1")
        for dataset, passes in LATER.items():
            rival, own = shown.solver(RIVAL, dataset, "ASG"), shown.run("SAG-NUS*", dataset)
            if rival is not None and own is not None:
                a, b = at(own, passes), at(rival, passes)
                later.answer(f"{own.task}, {passes} effective passes: SAG-NUS* {a:.1e}, ASG {b:.1e}", 2 * a <= b)
        winners = set()
        for dataset, task in DATASETS.items():
            found = self.reached(shown, dataset)
            for text, (a, b) in pairs.items():
                if a in found and b in found:
                    claims[text].answer(f"{task.title}: {a} {found[a]:.1e}, {b} {found[b]:.1e}", found[a] < found[b])
            middle = {method: found[method] for method in ("ASG", "Hybrid", "SAG") if method in found}
            if len(middle) == 3:
                winners.add(min(middle, key=lambda method: middle[method]))
            others = {method: value for method, value in found.items() if not method.startswith("SAG-NUS")}
            for method in ("SAG-NUS", "SAG-NUS*"):
                if method in found and len(others) >= 4:
                    best = min(others, key=lambda name: others[name])
                    text = f"{task.title}: {method} {found[method]:.1e}, the best other, {best}, {others[best]:.1e}"
                    both.answer(text, 2 * found[method] <= others[best])
            better.fewer(shown.run("SAG-NUS*", dataset), shown.run("SAG-NUS", dataset), ORACLE_CALLS)
        if winners:
            none.answer(f"ahead on some task: {', '.join(sorted(winners))}", len(winners) > 1)
        return [*claims.values(), none, both, later, better]


def at(run: Run, passes: float) -> float:
    """The suboptimality at the last evaluation within so many effective passes; the first one if there is none."""
    counts = run.column(ORACLE_CALLS, each_block=True)
    inside = run.suboptimality[counts <= passes + 0.5]
    return float(inside[-1] if len(inside) else run.suboptimality[0])


if __name__ == "__main__":
    main(Training())
