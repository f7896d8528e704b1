"""Vishwanathan et al. 2006, Figures 3 to 6 and section 5: SGD, SMD, annealed SGD and BFGS on lattices.

    python benchmarks/papers/vishwanathan_2006/figures_3_to_6_lattices.py [--quick] [--budget SECONDS] [--plot-only]

Training objective and errors on test sites after some passes, for belief propagation, mean field and the
pseudo-likelihood. ``lattice_tasks.py`` says how the paper's model, its σ and its gains look here. SMD has decay 0.9 and
meta-gain ten times the gain; annealed SGD takes η0/t. L-BFGS stands for the paper's BFGS: with 6 and 57 weights there
is no difference that counts. An iteration of it is an evaluation of objective and gradient.

The paper set the gain "as high as possible for each method while maintaining stability": 1e-4 for belief propagation,
1e-3 for mean field, 0.04 for the pseudo-likelihood. Stability depends on the data, so the same is done here: of the
published gain times powers of the root of ten, the largest with which the objectives of SGD and of SMD fall below the
start in the first pass and, in five more, never rise by more than a tenth of the way that they have come. The published
gains are run too, in the tables.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[3]))
from benchmarks.papers.cells import Cell, Workbench
from benchmarks.papers.claims import Claim
from benchmarks.papers.figures import STYLES, new_figure
from benchmarks.papers.harness import Figure, Shown, main
from benchmarks.papers.results import Row
from benchmarks.papers.vishwanathan_2006.lattice_tasks import CRITERIA, LATTICES, Lattices
from benchmarks.solvers.compare import parse_solver
from dualfield import LBFGS, Progress, solve
from dualfield.solvers import Solver

GAINS = {"bp": 1e-4, "mean_field": 1e-3, "pseudo_likelihood": 0.04}
TITLES = {"bp": "belief propagation", "mean_field": "mean field", "pseudo_likelihood": "pseudo-likelihood"}
PASSES = {"bp": 50, "mean_field": 15, "pseudo_likelihood": 50}
QUICK_PASSES = {"bp": 5, "mean_field": 3, "pseudo_likelihood": 5}
PUBLISHED_PASSES = 10
TRIAL_PASSES = 6
CHECKPOINTS = (1, 2, 3, 5, 7, 10, 15, 20, 30, 50, 70, 100)
STYLE_OF = {"SGD": "SG", "SMD": "SMD", "ASG": "ASG", "BFGS": "L-BFGS"}
LABELS = {"ASG": "SGD, annealed", "BFGS": "L-BFGS"}
SHOWN_IMAGE = {"denoising": 0, "structure": 5}

_loaded: dict[tuple[str, bool], Lattices] = {}


def lattices(name: str, quick: bool) -> Lattices:
    """A task; the last one stays in memory."""
    if (name, quick) not in _loaded:
        _loaded.clear()
        _loaded[name, quick] = LATTICES[name].load(quick)
    return _loaded[name, quick]


METHODS = {
    "SGD": "SGD(eta={eta:g}, batch_size={batch})",
    "SMD": "SMD(eta={eta:g}, meta={meta:g}, decay=0.9, batch_size={batch})",
    "ASG": "SGD(eta={eta:g}, schedule='annealed', batch_size={batch})",
    "BFGS": "LBFGS()",
}


def made(task: Lattices, criterion: str, method: str, gain: float) -> Solver:
    """A method with the gain of the paper's coordinates, which is twice that in ours."""
    eta = 2 * gain
    return parse_solver(METHODS[method].format(eta=eta, meta=10 * eta, batch=task.batch_size(criterion)))


class LatticeCell(Cell):
    """A measurement on one of the two tasks under one criterion."""

    dataset: str
    criterion: str

    @property
    def slow(self) -> bool:
        return False

    def source(self, quick: bool) -> str:
        drawn = not LATTICES[self.dataset].files or (quick and not LATTICES[self.dataset].available())
        return ("generated" if drawn else "files") + (", cut" if quick else "")

    def missing_files(self) -> tuple[str, ...]:
        return () if LATTICES[self.dataset].available() else LATTICES[self.dataset].files


@dataclass(frozen=True)
class StableGain(LatticeCell):
    """The largest stable gain."""

    dataset: str
    criterion: str
    kind: ClassVar[str] = "stable gain"

    def key(self) -> Row:
        return {"kind": self.kind, "dataset": self.dataset, "criterion": self.criterion}

    def measure(self, bench: Workbench) -> Row:
        task, gain = lattices(self.dataset, bench.quick), GAINS[self.criterion]
        if self.stable(task, gain):
            while self.stable(task, gain * math.sqrt(10)):
                gain *= math.sqrt(10)
        else:
            while not self.stable(task, gain):
                gain /= math.sqrt(10)
        return {"gain": gain, "published": GAINS[self.criterion]}

    def stable(self, task: Lattices, gain: float) -> bool:
        field = task.field(self.criterion)
        first = field.primal(task.start)
        for method in ("SGD", "SMD"):
            values: list[float] = []

            def rises(progress: Progress, values: list[float] = values) -> bool:
                values.append(progress.primal())
                least = min(values)
                return not (least < first and values[-1] <= least + 0.1 * (first - least))

            solver = made(task, self.criterion, method, gain)
            found = solve(field, solver, 0.0, TRIAL_PASSES, callbacks=[rises], random_state=0, start=task.start)
            if found.status in ("stopped", "diverged"):
                return False
        return True

    def __str__(self) -> str:
        return f"{self.dataset}, {TITLES[self.criterion]}: the largest stable gain"


@dataclass(frozen=True)
class LatticeCurve(LatticeCell):
    """Objective, test errors and, at the end, the weights; with the published gain or the largest stable one."""

    dataset: str
    criterion: str
    method: str
    passes: int
    published: bool = False
    kind: ClassVar[str] = "lattice curve"

    def key(self) -> Row:
        parts = {"dataset": self.dataset, "criterion": self.criterion, "method": self.method}
        return {"kind": self.kind, **parts, "gain": "published" if self.published else "stable"}

    def satisfied_by(self, result: Row) -> bool:
        ended = result["status"] in ("diverged", "stalled", "converged")
        return super().satisfied_by(result) and (ended or result["passes"] >= self.passes)

    def measure(self, bench: Workbench) -> Row:
        task = lattices(self.dataset, bench.quick)
        field, gain = task.field(self.criterion), GAINS[self.criterion]
        if not self.published and self.method != "BFGS":
            stable = StableGain(self.dataset, self.criterion)
            row = bench.results.get(bench.key(stable))
            gain = float(row["result"]["gain"] if row is not None else bench.measure(stable)["gain"])
        solver = made(task, self.criterion, self.method, gain)
        curve: dict[str, list[float]] = {"passes": [], "primal": [], "error": [], "cpu_seconds": []}

        def look(passes: int, weights: np.ndarray, seconds: float) -> None:
            for name, value in zip(curve, (passes, field.primal(weights), task.error(weights), seconds), strict=True):
                curve[name].append(float(value))

        def at_checkpoints(progress: Progress) -> bool:
            if progress.passes in CHECKPOINTS:
                look(progress.passes, progress.weights(), progress.cpu_seconds)
            return bench.left <= 0

        look(0, task.start, 0.0)
        tol = 1e-9 if isinstance(solver, LBFGS) else 0.0  # only L-BFGS knows when there is nothing left to gain
        found = solve(field, solver, tol, self.passes, callbacks=[at_checkpoints], random_state=0, start=task.start)
        if curve["passes"][-1] != found.passes and found.status != "diverged":
            look(found.passes, found.weights, found.cpu_seconds)
        return {
            "passes": found.passes,
            "status": found.status,
            "cut": found.status == "stopped",
            "gain": gain,
            "curve": curve,
            "weights": [] if found.status == "diverged" else found.weights.tolist(),
        }

    def __str__(self) -> str:
        how = "published gain" if self.published else "largest stable gain"
        return f"{self.dataset}, {TITLES[self.criterion]}: {self.method}, {how}, {self.passes} passes"


class LatticeFigure(Figure):
    """Figures 3 and 4, or 5 and 6: the curves, and pictures made with the weights at their ends."""

    store = "smd"
    task: ClassVar[str]

    def runs(self, criterion: str, quick: bool) -> dict[str, LatticeCurve]:
        passes = (QUICK_PASSES if quick else PASSES)[criterion]
        return {name: LatticeCurve(self.task, criterion, name, passes) for name in METHODS}

    def published_runs(self, criterion: str) -> dict[str, LatticeCurve]:
        names = [name for name in METHODS if name != "BFGS"]
        return {name: LatticeCurve(self.task, criterion, name, PUBLISHED_PASSES, True) for name in names}

    def cells(self, quick: bool) -> list[Cell]:
        order = ("bp", "pseudo_likelihood", "mean_field")
        cells: list[Cell] = []
        for criterion in order:
            cells += [StableGain(self.task, criterion), *self.runs(criterion, quick).values()]
        return cells if quick else [*cells, *(cell for c in order for cell in self.published_runs(c).values())]

    def results(self, shown: Shown, criterion: str) -> dict[str, Row]:
        """The runs with the largest stable gain; where that is not measured, with the published one."""
        found = {name: shown.result(cell) for name, cell in self.runs(criterion, shown.quick).items()}
        for name, cell in self.published_runs(criterion).items():
            found[name] = found[name] or shown.result(cell)
        return {name: result for name, result in found.items() if result is not None}

    def draw(self, shown: Shown) -> None:
        figure, panels = shown.panels(6, rows=3)
        for row, criterion in enumerate(CRITERIA):
            results = self.results(shown, criterion)
            least = least_of(results.values())
            for name, result in results.items():
                curve = {key: np.array(values) for key, values in result["curve"].items()}
                x, label = np.maximum(curve["passes"], 0.5), LABELS.get(name, name)
                sane = np.abs(curve["primal"]) < 1e15
                style = STYLES[STYLE_OF[name]]
                above = np.maximum(curve["primal"] - least, 1e-4 * (curve["primal"][0] - least))
                panels[2 * row].loglog(x[sane], above[sane], label=label, **style)
                panels[2 * row + 1].semilogx(x[sane], curve["error"][sane], label=label, **style)
            title = f"{LATTICES[self.task].brief}, {TITLES[criterion]}"
            panels[2 * row].set(title=title, ylabel="objective above the least")
            panels[2 * row + 1].set(title=title, ylabel="test errors, %")
            for axes in panels[2 * row : 2 * row + 2]:
                axes.set_xlabel("passes (the start at 0.5)")
        shown.save(figure)
        if self.pictures_wanted(shown):
            self.draw_pictures(shown)

    def about_gains(self, shown: Shown) -> Claim:
        claim = Claim("The published gains are the largest stable ones", "5")
        for criterion in CRITERIA:
            found = shown.result(StableGain(self.task, criterion))
            if found is not None:
                text = f"{TITLES[criterion]}: {found['published']:g} published, {found['gain']:.1g} here"
                claim.answer(f"{text} (within 10 times?)", 0.1 <= found["gain"] / found["published"] <= 10)
        return claim

    def pictures_wanted(self, shown: Shown) -> bool:
        return bool(LATTICES[self.task].available() or shown.quick) and bool(self.results(shown, "bp"))

    def draw_pictures(self, shown: Shown) -> None: ...

    def tables(self, shown: Shown) -> list[str]:
        lines = []
        for criterion in CRITERIA:
            results = self.results(shown, criterion)
            if not results:
                continue
            least = least_of(results.values())
            published = {name: shown.result(cell) for name, cell in self.published_runs(criterion).items()}
            points = [point for point in (0, *CHECKPOINTS) if point <= max(r["passes"] for r in results.values())]
            head = f"{TITLES[criterion]}: objective above {least:.2f}, and errors on test sites (%), after passes"
            lines += ["", head, f"{'':16}" + "".join(f"{point:>18}" for point in points)]
            rows = [(name, result) for name, result in results.items()]
            rows += [(name, result) for name, result in published.items() if result is not None]
            for name, result in rows:
                label = name if name == "BFGS" else f"{name}, {result['gain']:.1g}"
                cells = (cell_after(result, point, least) for point in points)
                seconds = result["curve"]["cpu_seconds"][-1] / max(result["curve"]["passes"][-1], 1)
                end = f"   {result['status']}, {seconds:.2f} CPU s a pass; last {last(result, least)}"
                lines.append(f"{label:16}" + "".join(f"{cell:>18}" for cell in cells) + end)
        return lines


def cell_after(result: Row, passes: int, least: float) -> str:
    curve = result["curve"]
    if passes not in curve["passes"]:
        return ""
    k = curve["passes"].index(passes)
    return f"{curve['primal'][k] - least:.4g} ({curve['error'][k]:.2f})"


def last(result: Row, least: float) -> str:
    curve = result["curve"]
    return f"{curve['primal'][-1] - least:.4g} ({curve['error'][-1]:.2f}) after {curve['passes'][-1]:g}"


def least_of(results: Iterable[Row]) -> float:
    """The least objective that any run found."""
    found = [value for result in results for value in result["curve"]["primal"] if math.isfinite(value)]
    return min(found, default=0.0)


def end_of(result: Row) -> tuple[float, float]:
    """Objective and error at the end; infinite if it diverged."""
    if result["status"] == "diverged":
        return math.inf, math.inf
    return result["curve"]["primal"][-1], result["curve"]["error"][-1]


def passes_within(result: Row, goal: float) -> float:
    """Passes until the objective is at most ``goal`` for the first time, at a checkpoint."""
    for passes, value in zip(result["curve"]["passes"], result["curve"]["primal"], strict=True):
        if value <= goal:
            return passes
    return math.inf


class DenoisingFigure(LatticeFigure):
    name, task = "vishwanathan_2006_figure_4", "denoising"
    title = "Vishwanathan et al. 2006, Figures 3 and 4: binary image denoising"

    def draw_pictures(self, shown: Shown) -> None:
        task = lattices(self.task, shown.quick)
        number = SHOWN_IMAGE[self.task]
        noisy = task.images.X_test[number][:, :, 1]
        figure, panels = new_figure(12, rows=3)
        pictures: list[tuple[str, Any]] = []
        left = [("noisy", noisy), ("logistic regression", task.logistic_labels()), ("truth", task.images.y_test)]
        for (title, picture), criterion in zip(left, CRITERIA, strict=True):
            shown_picture = picture[number] if isinstance(picture, list) else picture
            pictures.append((title, shown_picture))
            results = self.results(shown, criterion)
            for name in ("BFGS", "SGD", "SMD"):
                weights = results.get(name, {}).get("weights")
                labels = task.predict(np.array(weights))[number] if weights else np.full(noisy.shape, 0.5)
                wrong = 100 * float((labels != task.images.y_test[number]).mean())
                how = f"{wrong:.1f} % wrong" if weights else "diverged"
                pictures.append((f"{LABELS.get(name, name)}, {TITLES[criterion]}: {how}", labels))
        show_pictures(panels, pictures)
        shown.save(figure, "_images")

    def judge(self, shown: Shown) -> list[Claim]:
        by = {criterion: self.results(shown, criterion) for criterion in CRITERIA}
        if not all(len(by[criterion]) == 4 for criterion in CRITERIA):
            return []
        bp = by["bp"]
        errors = {c: {name: end_of(result)[1] for name, result in by[c].items()} for c in CRITERIA}
        task = lattices(self.task, shown.quick)
        wrong = [(a != b).ravel() for a, b in zip(task.logistic_labels(), task.images.y_test, strict=True)]
        logistic = 100 * float(np.concatenate(wrong).mean())
        likelihood = Claim("The likelihood outperforms logistic regression; by LBP more than by MF", "5.1, Figure 3")
        for name in ("BFGS", "SGD", "SMD"):
            text = f"{name}: errors {errors['bp'][name]:.2f} % by LBP, {errors['mean_field'][name]:.2f} % by MF"
            likelihood.answer(f"{text}, logistic {logistic:.2f} % (LBP below it?)", errors["bp"][name] < logistic)
            likelihood.answer(f"{name}: LBP no worse than MF", errors["bp"][name] <= errors["mean_field"][name])
        faster = Claim("With LBP, SMD and SGD converge faster than BFGS, and annealed SGD slower", "5.1, Figure 4 top")
        goal = least_of(bp.values()) + 0.01 * (bp["BFGS"]["curve"]["primal"][0] - least_of(bp.values()))
        needed = {name: passes_within(result, goal) for name, result in bp.items()}
        text = ", ".join(f"{name} {passes:g}" for name, passes in needed.items())
        for name in ("SMD", "SGD"):
            yes = needed[name] < needed["BFGS"]
            faster.answer(f"passes to the last hundredth of the way: {text}; {name} before BFGS", yes)
        faster.answer("annealed SGD after BFGS", needed["ASG"] > needed["BFGS"])
        alike = Claim("Eventually all achieve the same objective and test error (LBP)", "5.1, Figure 4 top")
        best = min(errors["bp"].values())
        for name, result in bp.items():
            value, error = end_of(result)
            text = f"{name}: objective {value - least_of(bp.values()):.3g} above the least, errors {error:.2f} %"
            close = value <= goal and error <= best + 0.1
            alike.answer(f"{text} (within 1 % of the start's distance, 0.1 % of errors?)", close)
        worse = Claim("Generalisation worsens slightly under MF", "5.1, Figure 4 middle")
        for name in ("BFGS", "SGD", "SMD"):
            a, b = errors["bp"][name], errors["mean_field"][name]
            worse.answer(f"{name}: {b:.2f} % against {a:.2f} %", a < b < a + 5)
        breaks = Claim("Under PL it breaks down, with more than 50 % errors: images turn black", "5.1, Figure 4 bottom")
        for name, found in errors["pseudo_likelihood"].items():
            breaks.answer(f"{name}: errors {found:.2f} %", found > 50)
        return [likelihood, faster, alike, worse, breaks, self.about_gains(shown)]


class StructureFigure(LatticeFigure):
    name, task = "vishwanathan_2006_figure_6", "structure"
    title = "Vishwanathan et al. 2006, Figures 5 and 6: classifying image patches"

    def draw_pictures(self, shown: Shown) -> None:
        """The labels alone: the photos are not ours to give away."""
        task = lattices(self.task, shown.quick)
        number = SHOWN_IMAGE[self.task]
        truth = task.images.y_test[number]
        figure, panels = new_figure(4, rows=2)
        pictures: list[tuple[str, Any]] = []
        for criterion in ("bp", "pseudo_likelihood"):
            results = self.results(shown, criterion)
            for name in ("BFGS", "SMD"):
                weights = results.get(name, {}).get("weights")
                if not weights:
                    continue
                labels = task.predict(np.array(weights))[number]
                title = f"{TITLES[criterion]}, {LABELS.get(name, name)}: {100 * (labels != truth).mean():.1f} % wrong"
                # found, wrongly found, missed, rightly left out: from white to black
                shades = np.select([(labels == 1) & (truth == 1), labels == 1, truth == 1], [1.5, 1.0, 0.2], -0.5)
                pictures.append((title, shades))
        show_pictures(panels, pictures)
        figure.suptitle("white: structure found; light grey: wrongly; dark grey: missed", fontsize=7)
        shown.save(figure, "_images")

    def judge(self, shown: Shown) -> list[Claim]:
        by = {criterion: self.results(shown, criterion) for criterion in CRITERIA}
        if not all(len(by[criterion]) == 4 for criterion in CRITERIA):
            return []
        errors = {c: {name: end_of(result)[1] for name, result in by[c].items()} for c in CRITERIA}
        first = Claim("SGD and SMD are initially faster than BFGS, which eventually catches up", "5.2, Figure 6")
        anneal = Claim("The annealing η0/t does not work well", "5.2, Figure 6")
        for criterion, results in by.items():
            start = results["BFGS"]["curve"]["primal"][0]
            for name in ("SGD", "SMD"):
                a, b = (value_after(results[method], 3) for method in (name, "BFGS"))
                text = f"{TITLES[criterion]}, after 3 passes: {name} {a - start:+.1f}, BFGS {b - start:+.1f}"
                first.answer(f"{text} ({name} lower?)", a < b)
            ends = {name: end_of(result)[0] for name, result in results.items()}
            least = min(ends.values())
            text = ", ".join(f"{name} {value - least:.3g}" for name, value in ends.items())
            there = ends["BFGS"] - least <= 0.01 * (start - least)
            first.answer(f"{TITLES[criterion]}, at the end above the least: {text} (BFGS there?)", there)
            anneal.answer(f"{TITLES[criterion]}: ASG is last", ends["ASG"] == max(ends.values()))
        fixed = Claim("Its fixed gain keeps SGD from the optimum of PL", "5.2, Figure 6 bottom")
        ends = {name: end_of(result)[0] for name, result in by["pseudo_likelihood"].items()}
        text = f"objective above BFGS: SGD {ends['SGD'] - ends['BFGS']:.3g}, SMD {ends['SMD'] - ends['BFGS']:.3g}"
        fixed.answer(f"{text} (SGD above it, by more than SMD?)", ends["SGD"] > max(ends["BFGS"], ends["SMD"]) + 0.1)
        better = Claim("LBP and MF do slightly better than PL on the test set", "5.2, Figure 6")
        for criterion in ("bp", "mean_field"):
            a, b = errors[criterion]["BFGS"], errors["pseudo_likelihood"]["BFGS"]
            better.answer(f"{TITLES[criterion]} {a:.2f} %, PL {b:.2f} %, both by BFGS", a < b)
        same = Claim("All optimisers achieve similar final generalisation", "5.2, Figure 6")
        for criterion in CRITERIA:
            values = errors[criterion]
            text = ", ".join(f"{name} {value:.2f}" for name, value in values.items())
            spread = max(values.values()) - min(values.values())
            same.answer(f"{TITLES[criterion]}, errors %: {text} (within 1?)", spread <= 1)
        return [first, anneal, fixed, better, same, self.about_gains(shown)]


def value_after(result: Row, passes: int) -> float:
    """The objective at the last checkpoint not after so many passes."""
    pairs = zip(result["curve"]["passes"], result["curve"]["primal"], strict=True)
    return [value for done, value in pairs if done <= passes][-1]


def show_pictures(panels: list[Any], pictures: list[tuple[str, Any]]) -> None:
    for axes in panels:
        axes.set_axis_off()
    for axes, (title, picture) in zip(panels, pictures, strict=False):
        low, high = (-0.5, 1.5) if picture.dtype.kind == "f" else (0, 1)  # intensities go beyond, labels do not
        axes.imshow(picture, interpolation="nearest", cmap="gray", vmin=low, vmax=high)
        axes.set_title(title, fontsize=7)


FIGURES: list[Figure] = [DenoisingFigure(), StructureFigure()]

if __name__ == "__main__":
    main(*FIGURES)
