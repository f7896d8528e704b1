"""Schmidt et al. 2015, Figure 1 and section 4: nine methods on four tasks, against effective passes.

python benchmarks/papers/schmidt_2015/figure_1_training.py [--quick] [--budget SECONDS] [--plot-only]

An effective pass is n calls of the oracle. The stochastic gradient methods have, as in the paper, the step among the
powers of ten that ends lowest. Methods are compared early and at the end, for the order changes on the way.
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[3]))
from benchmarks.papers.cells import Cell
from benchmarks.papers.claims import ORACLE_CALLS, Claim, Run
from benchmarks.papers.datasets import DATASETS
from benchmarks.papers.harness import Figure, Shown, main
from benchmarks.papers.methods import HORIZON, cells_of

METHODS = ("SAG-NUS*", "L-BFGS", "ASG", "Hybrid", "SAG", "SG", "SAG-NUS", "AdaGrad", "Pegasos")
EARLY = {"ocr": 30, "conll": 15, "ner": 15, "pos": 10}  # effective passes at which the methods are compared first
QUICK_POINTS = (2, 4)
ENDED = ("reached", "diverged", "stalled")


class Training(Figure):
    name = "schmidt_2015_figure_1"
    title = "Schmidt et al. 2015, Figure 1: nine methods on four tasks"

    def cells(self, quick: bool) -> list[Cell]:
        return cells_of(METHODS, DATASETS, quick)

    def moments(self, shown: Shown, dataset: str) -> tuple[int, int]:
        """Effective passes at which the methods are compared: early, and at the end."""
        return QUICK_POINTS if shown.quick else (EARLY[dataset], HORIZON[dataset])

    def horizon(self, shown: Shown, dataset: str) -> int:
        return self.moments(shown, dataset)[1]

    def draw(self, shown: Shown) -> None:
        figure, panels = shown.panels(4, rows=2)
        for axes, dataset in zip(panels, DATASETS, strict=True):
            shown.compare(axes, METHODS, dataset, ORACLE_CALLS, self.horizon(shown, dataset) + 0.5)
        shown.save(figure)

    def reached(self, shown: Shown, dataset: str, passes: float) -> dict[str, float]:
        """The suboptimality of each method after so many effective passes: at its last evaluation before."""
        runs = {method: shown.run(method, dataset) for method in METHODS}
        return {method: at(run, passes) for method, run in runs.items() if run is not None and lasts(run, passes)}

    def tables(self, shown: Shown) -> list[str]:
        lines = ["(P − P*)/P* after so many effective passes, best first; step sizes η where they were chosen"]
        for dataset in DATASETS:
            for passes in self.moments(shown, dataset):
                reached = self.reached(shown, dataset, passes)
                names = {method: getattr(shown.run(method, dataset), "name", method) for method in reached}
                order = sorted(reached, key=lambda method: reached[method])
                lines.append(f"  {dataset}, {passes}: " + "; ".join(f"{names[m]} {reached[m]:.1e}" for m in order))
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
        winners: dict[str, list[str]] = {}
        for dataset, task in DATASETS.items():
            for passes in self.moments(shown, dataset):
                found, place = self.reached(shown, dataset, passes), f"{task.title}, {passes} effective passes"
                for text, (a, b) in pairs.items():
                    if a in found and b in found:
                        claims[text].answer(f"{place}: {a} {found[a]:.1e}, {b} {found[b]:.1e}", found[a] < found[b])
                middle = {method: found[method] for method in ("ASG", "Hybrid", "SAG") if method in found}
                if len(middle) == 3:
                    winners.setdefault(min(middle, key=lambda method: middle[method]), []).append(f"{dataset} {passes}")
                others = {method: value for method, value in found.items() if not method.startswith("SAG-NUS")}
                for method in ("SAG-NUS", "SAG-NUS*"):
                    if method in found and len(others) >= 4:
                        best = min(others, key=lambda name: others[name])
                        text = f"{place}: {method} {found[method]:.1e}, the best other, {best}, {others[best]:.1e}"
                        both.answer(text, 2 * found[method] <= others[best])
            better.fewer(shown.run("SAG-NUS*", dataset), shown.run("SAG-NUS", dataset), ORACLE_CALLS)
        if winners:
            listed = "; ".join(f"{method} ({', '.join(places)})" for method, places in sorted(winners.items()))
            none.answer(f"ahead: {listed}", len(winners) > 1)
        return [*claims.values(), none, both, better]


def lasts(run: Run, passes: float) -> bool:
    """Whether a run tells how far it is after so many effective passes: it went on until then, or had ended."""
    return bool(run.column(ORACLE_CALLS, each_block=True)[-1] >= passes - 0.5) or run.result["status"] in ENDED


def at(run: Run, passes: float) -> float:
    """The suboptimality at the last evaluation within so many effective passes; the first one if there is none."""
    counts = run.column(ORACLE_CALLS, each_block=True)
    inside = run.suboptimality[counts <= passes + 0.5]
    return float(inside[-1] if len(inside) else run.suboptimality[0])


if __name__ == "__main__":
    main(Training())
