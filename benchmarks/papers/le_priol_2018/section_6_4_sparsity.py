"""Le Priol et al. 2018, section 6.4: whether SDCA needs fewer updates on sparser data.

python benchmarks/papers/le_priol_2018/section_6_4_sparsity.py [--quick] [--budget SECONDS] [--plot-only]

Sparsity in three ways: attributes of a position over all attributes (the paper's a/A); distinct attributes of a
sequence over all; the share of a sequence's attributes that another random sequence has too.
"""

from __future__ import annotations

import math
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[3]))
from benchmarks.papers.cells import Cell, Sizes
from benchmarks.papers.claims import Claim, needed
from benchmarks.papers.datasets import DATASETS
from benchmarks.papers.figures import STYLES
from benchmarks.papers.harness import Figure, Shown, main
from benchmarks.papers.methods import cells_of

METHODS = ("SDCA-GAP", "SDCA", "SAG-NUS")
LEVEL = 1e-4
MEASURES = {
    "a / A": "attributes of a position / all",
    "sequence": "attributes of a sequence / all",
    "overlap": "share of attributes that another sequence has",
}


class Sparsity(Figure):
    name = "le_priol_2018_section_6_4"
    title = f"Le Priol et al. 2018, section 6.4: sparsity and updates to {LEVEL:g}"

    def cells(self, quick: bool) -> list[Cell]:
        return [*map(Sizes, DATASETS), *cells_of(METHODS, DATASETS, quick)]

    def measures(self, shown: Shown, dataset: str) -> dict[str, float] | None:
        sizes = shown.result(Sizes(dataset))
        if sizes is None:
            return None
        return {
            "a / A": sizes["attributes_a_position"] / sizes["A"],
            "sequence": sizes["attributes_a_sequence"] / sizes["A"],
            "overlap": sizes["common"],
        }

    def updates(self, shown: Shown) -> dict[str, dict[str, float]]:
        found: dict[str, dict[str, float]] = {}
        for method in METHODS:
            for dataset in DATASETS:
                run = shown.run(method, dataset)
                value = None if run is None else needed(run, LEVEL)
                if value is not None:
                    found.setdefault(method, {})[dataset] = value
        return found

    def draw(self, shown: Shown) -> None:
        figure, panels = shown.panels(3)
        updates = self.updates(shown)
        for axes, (measure, text) in zip(panels, MEASURES.items(), strict=True):
            for method, values in updates.items():
                points = [(self.measures(shown, dataset) or {}).get(measure, math.nan) for dataset in values]
                pairs = sorted(zip(points, values.values(), strict=True))
                axes.loglog(*zip(*pairs, strict=True), label=method, **STYLES[method])
            for dataset, value in updates.get("SDCA-GAP", {}).items():
                place = ((self.measures(shown, dataset) or {}).get(measure, math.nan), value)
                axes.annotate(dataset, place, textcoords="offset points", xytext=(4, 3), fontsize=6.5)
            axes.set(xlabel=text, ylabel=f"parameter updates / n to {LEVEL:g}")
            axes.set_yticks([5, 10, 20, 50], ["5", "10", "20", "50"])
            if measure == "overlap":
                axes.set_xscale("linear")
        shown.save(figure)

    def tables(self, shown: Shown) -> list[str]:
        updates = self.updates(shown)
        lines = [f"  {'':6s}" + "".join(f"{name:>12s}" for name in (*MEASURES, *METHODS))]
        for dataset in DATASETS:
            values = self.measures(shown, dataset) or {}
            cells = [f"{values.get(name, math.nan):12.3g}" for name in MEASURES]
            cells += [f"{updates.get(method, {}).get(dataset, math.nan):12.1f}" for method in METHODS]
            lines.append(f"  {dataset:6s}" + "".join(cells))
        return lines

    def judge(self, shown: Shown) -> list[Claim]:
        claim = Claim("The more sparse the data set, the fewer iterations SDCA-GAP needs", "6.4")
        advantage = Claim("The sparser the data, the larger the advantage of SDCA-GAP over SAG-NUS", "6.4")
        updates = self.updates(shown)
        gap, sag = updates.get("SDCA-GAP", {}), updates.get("SAG-NUS", {})
        for measure, text in MEASURES.items():
            known = {name: values[measure] for name in gap if (values := self.measures(shown, name)) is not None}
            ordered = sorted(known, key=lambda name: known[name])  # sparsest first
            if len(ordered) >= 3:
                listed = ", ".join(f"{name} {gap[name]:.1f}" for name in ordered)
                counts = [gap[name] for name in ordered]
                claim.answer(f"by {text}, sparsest first: {listed}", counts == sorted(counts))
                ratios = {name: sag[name] / gap[name] for name in ordered if name in sag}
                listed = ", ".join(f"{name} {value:.2f}" for name, value in ratios.items())
                falling = list(ratios.values()) == sorted(ratios.values(), reverse=True)
                advantage.answer(f"by {text}, sparsest first, SAG-NUS / SDCA-GAP: {listed}", falling)
        return [claim, advantage]


if __name__ == "__main__":
    main(Sparsity())
