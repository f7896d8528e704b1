"""Vishwanathan et al. 2006, Figures 1 and 2 and section 4: SMD, SGD, BFGS and the perceptron on two text tasks.

    python benchmarks/papers/vishwanathan_2006/figures_1_and_2_chains.py [--quick] [--budget SECONDS] [--plot-only]

F-score on the test set after the batches of the first pass (every one of the first 64, then ever fewer, evenly on the
logarithmic axis), and after every pass from then on. As in the paper: σ = 1, batches of 8 (base NP) and 6 (biology),
SMD with the gain of SGD to begin with, meta-gain 0.1 and 0.02, decay 1, five corrections for L-BFGS, the plain
perceptron. An iteration of L-BFGS is an evaluation of the gradient.

The paper's gain is 0.1, "tuned for best performance of SGD". So it is for base NP. On biology, with our features, SGD
was best with 0.03 of 0.001, 0.003, 0.01, 0.03, 0.1 (F-score after ten passes); that is taken, and the published one
shown too.
"""

from __future__ import annotations

import math
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[3]))
from benchmarks.papers.cells import Cell, Workbench
from benchmarks.papers.claims import Claim
from benchmarks.papers.figures import STYLES
from benchmarks.papers.harness import Figure, Shown, main
from benchmarks.papers.results import Row
from benchmarks.papers.vishwanathan_2006.chain_tasks import CHAIN_TASKS, ChunkTask, ScoredProblem
from benchmarks.solvers.compare import parse_solver
from dualfield import Progress, solve

PASSES, LONG = {"base-np": 100, "bio": 30}, {"base-np": 200, "bio": 100}  # the latter of L-BFGS
SHORT, QUICK_PASSES = 30, 8
META = {"base-np": 0.1, "bio": 0.02}
GAIN, PUBLISHED_GAIN = {"base-np": 0.1, "bio": 0.03}, 0.1
OTHER_GAINS = {"base-np": (0.01, 0.03, 0.3), "bio": (0.01, 0.1)}
BATCHES = (1, 2, 5, 8, 20, 64)
SEEDS = (1, 2)
# What counts as the same F-score: half the standard error of one on 12,000 chunks at 94 %.
SAME = 0.1


def smd(task: str, eta: float | None = None, batch: int | None = None) -> str:
    size = batch or CHAIN_TASKS[task].batch_size
    return f"SMD(eta={eta or GAIN[task]:g}, meta={META[task]:g}, decay=1.0, batch_size={size})"


def sgd(task: str, eta: float | None = None, batch: int | None = None) -> str:
    return f"SGD(eta={eta or GAIN[task]:g}, batch_size={batch or CHAIN_TASKS[task].batch_size})"


BFGS, PERCEPTRON = "LBFGS(corrections=5)", "Perceptron(average=False)"


class ChunkCell(Cell):
    """A measurement on one of the two tasks."""

    @property
    def task(self) -> ChunkTask:
        return CHAIN_TASKS[self.dataset]


@dataclass(frozen=True)
class FScores(ChunkCell):
    """F-scores of a run within the first pass and after each pass."""

    dataset: str
    solver: str
    passes: int
    seed: int = 0
    kind: ClassVar[str] = "f-scores"

    def key(self) -> Row:
        return {"kind": self.kind, "dataset": self.dataset, "solver": self.solver, "seed": self.seed}

    def satisfied_by(self, result: Row) -> bool:
        ended = result["status"] in ("diverged", "stalled")
        return super().satisfied_by(result) and (ended or result["passes"] >= self.passes)

    def measure(self, bench: Workbench) -> Row:
        problem, solver = bench.load(self.task), parse_solver(self.solver)
        assert isinstance(problem, ScoredProblem)
        field, batch = problem.field, getattr(solver, "batch_size", 1)
        per_pass = math.ceil(field.n_blocks / batch)
        curve: dict[str, list[float]] = {"passes": [], "f1": [], "primal": [], "cpu_seconds": []}
        before = {"passes": 0, "cpu_seconds": 0.0}

        def look(progress: Progress) -> bool:
            whole = not progress.run.updates_within_passes or progress.updates % per_pass == 0
            if whole or looked_at(progress.updates):
                weights = progress.weights()
                done = progress.passes if whole else progress.updates / per_pass
                curve["passes"].append(before["passes"] + done)
                curve["f1"].append(problem.f1_at(weights))
                curve["primal"].append(field.primal(weights) if whole else math.nan)
                curve["cpu_seconds"].append(before["cpu_seconds"] + progress.cpu_seconds)
            return bench.left <= 0

        found = solve(field, solver, 0.0, 1, callbacks=[look], callback_every=1, random_state=self.seed)
        before = {"passes": 1, "cpu_seconds": curve["cpu_seconds"][-1] if curve["cpu_seconds"] else 0.0}
        if found.status == "max_passes" and self.passes > 1:
            found = solve(field, solver, 0.0, self.passes - 1, callbacks=[look], state=found.state)
        return {
            "passes": int(curve["passes"][-1]),
            "status": found.status,
            "cut": found.status == "stopped",
            "blocks": field.n_blocks,
            "curve": curve,
        }

    def __str__(self) -> str:
        return f"{self.dataset}: {self.solver}, {self.passes} passes, seed {self.seed}"


def looked_at(batches: int) -> bool:
    """Every one of the first 64 batches, of the next 64, every second of the next 128, and so on."""
    return batches % max(1, 1 << (batches.bit_length() - 7)) == 0 if batches >= 128 else True


@dataclass(frozen=True)
class AtOptimum(ChunkCell):
    """The F-scores of the weights that minimise the objective, certified to 1e-6."""

    dataset: str
    kind: ClassVar[str] = "f-score at the optimum"

    def key(self) -> Row:
        return {"kind": self.kind, "dataset": self.dataset}

    def measure(self, bench: Workbench) -> Row:
        problem = bench.load(self.task)
        assert isinstance(problem, ScoredProblem)
        found = solve(problem.field, tol=1e-6, random_state=0)
        return {
            "optimum": found.dual,
            **problem.scores(found.weights),
            "weights": problem.field.dimension,
            "blocks": problem.field.n_blocks,
            "relative_gap": found.relative_gap,
            "cpu_seconds": found.cpu_seconds,
        }

    def __str__(self) -> str:
        return f"{self.dataset}: F-score at the optimum"


class Chains(Figure):
    """One of the two figures; they differ in the task."""

    store = "smd"
    task: ClassVar[str]
    reference: ClassVar[tuple[str, float]]

    def runs(self, quick: bool) -> dict[str, FScores]:
        passes = QUICK_PASSES if quick else PASSES[self.task]
        return {
            "SMD": FScores(self.task, smd(self.task), passes),
            "SG": FScores(self.task, sgd(self.task), passes),
            "L-BFGS": FScores(self.task, BFGS, 3 * passes if quick else LONG[self.task]),
            "perceptron": FScores(self.task, PERCEPTRON, passes),
        }

    def gains(self, quick: bool) -> dict[tuple[str, float], FScores]:
        """SGD with other gains, and SMD where the gain is not the paper's."""
        passes = QUICK_PASSES if quick else SHORT
        found = {("SGD", eta): FScores(self.task, sgd(self.task, eta), passes) for eta in OTHER_GAINS[self.task]}
        if GAIN[self.task] != PUBLISHED_GAIN:
            found |= {("SMD", eta): FScores(self.task, smd(self.task, eta), passes) for eta in OTHER_GAINS[self.task]}
        return found

    def seeds(self, quick: bool) -> list[FScores]:
        passes, solvers = QUICK_PASSES if quick else SHORT, (smd(self.task), sgd(self.task))
        return [FScores(self.task, solver, passes, seed) for solver in solvers for seed in SEEDS]

    def batches(self, quick: bool) -> dict[tuple[str, int], FScores]:
        """Other sizes, with the gain lowered in proportion beyond 8: a step follows the sum of a batch's gradients."""
        found = {}
        for batch in BATCHES if self.task == "base-np" else ():
            if batch == CHAIN_TASKS[self.task].batch_size:
                found |= {(name, batch): self.runs(quick)[name] for name in ("SMD", "SG")}
                continue
            eta = min(0.1, 0.8 / batch)
            for name, solver in (("SMD", smd(self.task, eta, batch)), ("SG", sgd(self.task, eta, batch))):
                found[name, batch] = FScores(self.task, solver, 4)
        return found

    def cells(self, quick: bool) -> list[Cell]:
        cells: list[Cell] = [AtOptimum(self.task), *self.runs(quick).values(), *self.gains(quick).values()]
        return cells if quick else [*cells, *self.batches(quick).values(), *self.seeds(quick)]

    # ---- showing

    def curves(self, shown: Shown) -> dict[str, dict[str, np.ndarray]]:
        found = {name: shown.result(cell) for name, cell in self.runs(shown.quick).items()}
        return {name: as_arrays(result) for name, result in found.items() if result is not None}

    def draw(self, shown: Shown) -> None:
        curves = self.curves(shown)
        figure, panels = shown.panels(2)
        name, level = self.reference
        for axes, enlarged in zip(panels, (False, True), strict=True):
            for method, curve in curves.items():
                thin = thinned(curve["passes"])
                label = {"SG": "SGD"}.get(method, method)
                every = max(1, len(thin) // 10)
                x, y = curve["passes"][thin], curve["f1"][thin]
                axes.semilogx(x, y, label=label, markevery=every, **STYLES[method])
            axes.axhline(level, color="#777777", linewidth=0.8, linestyle=(0, (1, 2)))
            axes.set(xlabel="passes over the training set", title=CHAIN_TASKS[self.task].title)
            if enlarged and curves:
                last = [curve["f1"][-1] for curve in curves.values()]
                axes.set_xlim(1, max(curve["passes"][-1] for curve in curves.values()))
                low, high = min(last) - 2.0, max(*(curve["f1"].max() for curve in curves.values())) + 0.4
                axes.set_ylim(low, high)
        panels[0].annotate(name, (0.02, level), xycoords=("axes fraction", "data"), va="bottom", fontsize=6)
        panels[0].set_ylabel("F-score on the test set, %")
        shown.save(figure)

    def tables(self, shown: Shown) -> list[str]:
        task, best = CHAIN_TASKS[self.task], shown.result(AtOptimum(self.task))
        lines = []
        if best is not None:
            lines.append(
                f"{best['blocks']} sentences, {best['weights']} weights (paper: {task.published['n']}, "
                f"{task.published['features']} features); at the optimum P* = {best['optimum']:.3f}: "
                f"F {best['f1']:.2f}, without types {best['boundaries']:.2f}, of tokens {best['tokens']:.2f}"
            )
        points = (0.01, 0.03, 0.1, 0.3, 1, 2, 5, 10, 30, 100, 200)
        lines += ["", "F after so many passes", f"{'':18}" + "".join(f"{point:>7g}" for point in points)]
        named = {**self.runs(shown.quick)}
        named |= {f"{name}, gain {eta:g}": cell for (name, eta), cell in self.gains(shown.quick).items()}
        named |= {f"{cell.solver.split('(')[0]}, seed {cell.seed}": cell for cell in self.seeds(shown.quick)}
        for name, cell in named.items():
            result = shown.result(cell)
            if result is None:
                continue
            curve = as_arrays(result)
            cells = (f"{at(curve, point):7.2f}" if point <= curve["passes"][-1] else f"{'':7}" for point in points)
            end = f"   {curve['cpu_seconds'][-1] / curve['passes'][-1]:.2f} CPU s a pass"
            if result["status"] == "diverged":
                end = "   diverged"
            elif best is not None and name != "perceptron":  # which has another objective
                end += f", P {curve['primal'][-1] / best['optimum'] - 1:.1e} above P*"
            lines.append(f"{name:18}" + "".join(cells) + end)
        rows = {key: shown.result(cell) for key, cell in self.batches(shown.quick).items()}
        if any(row is not None for row in rows.values()):
            lines += [
                "",
                f"CPU seconds (passes) to an F of {EARLY}, by batch size",
                f"{'':6}" + "".join(f"{b:>16}" for b in BATCHES),
            ]
            for method in ("SMD", "SG"):
                cells = (reached(rows[method, batch], EARLY) for batch in BATCHES)
                lines.append(f"{method:6}" + "".join(f"{cell:>16}" for cell in cells))
        return lines

    def judge(self, shown: Shown) -> list[Claim]:
        curves, published = self.curves(shown), CHAIN_TASKS[self.task].published
        best = shown.result(AtOptimum(self.task))
        if len(curves) < 4 or best is None:
            return []
        diverged = [name for name, cell in self.runs(shown.quick).items() if shown.result(cell)["status"] == "diverged"]
        if diverged:
            claim = Claim("The runs converge with the gains of the paper", "4")
            claim.answer(f"{', '.join(diverged)} diverged, so nothing is compared", False)
            return [claim]
        meta, plain, batch, online = (curves[name] for name in ("SMD", "SG", "L-BFGS", "perceptron"))
        where = self.name.rsplit("_", 1)[-1]
        where = f"4.{where}, Figure {where}"
        early = Claim("The online methods show progress orders of magnitude earlier", where)
        level = 0.9 * best["f1"]
        needed = {name: passes_to(curve, level) for name, curve in curves.items()}
        for name in ("SMD", "SG", "perceptron"):
            text = f"passes to F = {level:.1f}: {name} {needed[name]:.3g}, L-BFGS {needed['L-BFGS']:.3g}"
            early.answer(f"{text} (ten times fewer?)", needed[name] * 10 <= needed["L-BFGS"])
        same = Claim(f"SMD and BFGS attain the same F-score ({published['SMD']} %)", where)
        text = f"at the end: SMD {meta['f1'][-1]:.2f}, L-BFGS {batch['f1'][-1]:.2f}, the optimum {best['f1']:.2f}"
        same.answer(f"{text} (within {SAME}?)", abs(meta["f1"][-1] - batch["f1"][-1]) <= SAME)
        same.answer(f"the paper's level of {published['SMD']} (within 1?)", abs(meta["f1"][-1] - published["SMD"]) <= 1)
        faster = Claim("SMD does so almost an order of magnitude faster than BFGS", where)
        goal = min(meta["f1"][-1], batch["f1"][-1]) - SAME
        for needs, what in ((passes_to, "is"), (stays_above, "stays")):
            a, b = (needs(curve, goal) for curve in (meta, batch))
            text = f"passes until F {what} above {goal:.2f}: SMD {a:.3g}, L-BFGS {b:.3g} (five times fewer?)"
            faster.answer(text, 5 * a <= b)
        lower = Claim(f"SGD with the same gain levels out lower ({published['SGD']} %)", where)
        lower.answer(
            f"at the end: SGD {plain['f1'][-1]:.2f}, SMD {meta['f1'][-1]:.2f}", plain["f1"][-1] < meta["f1"][-1]
        )
        lower.answer(
            f"objective above the optimum: SGD {plain['primal'][-1] / best['optimum'] - 1:.1%}, "
            f"SMD {meta['primal'][-1] / best['optimum'] - 1:.1%}",
            plain["primal"][-1] > meta["primal"][-1],
        )
        last = Claim(f"The perceptron ends lowest (about {published['perceptron']} %), below its own peak", where)
        last.answer(
            f"at the end: {online['f1'][-1]:.2f}, SGD {plain['f1'][-1]:.2f}", online["f1"][-1] < plain["f1"][-1]
        )
        last.answer(f"its peak: {online['f1'].max():.2f}", online["f1"].max() > online["f1"][-1] + SAME)
        return [early, same, faster, lower, last, *self.further_claims(shown, best)]

    def further_claims(self, shown: Shown, best: Row) -> list[Claim]:
        return []

    def about_seeds(self, shown: Shown) -> Claim:
        claim = Claim("Other permutations of the data give substantially identical results", "4")
        for solver, name in ((smd(self.task), "SMD"), (sgd(self.task), "SGD")):
            cells = [cell for cell in self.seeds(shown.quick) if cell.solver == solver]
            cells.append(self.runs(shown.quick)["SMD" if name == "SMD" else "SG"])
            results = [result for cell in cells if (result := shown.result(cell)) is not None]
            ends = [at(as_arrays(result), SHORT) for result in results]
            if len(ends) > 1:
                claim.answer(
                    f"{name}, F after {SHORT} passes: {', '.join(f'{end:.2f}' for end in ends)} (within 0.3?)",
                    max(ends) - min(ends) <= 0.3,
                )
        return claim

    def about_gain(self, shown: Shown) -> Claim:
        claim = Claim(f"The gain {PUBLISHED_GAIN:g} is the best for SGD", "4.1, 4.2")
        curves = {eta: shown.result(cell) for (name, eta), cell in self.gains(shown.quick).items() if name == "SGD"}
        curves[GAIN[self.task]] = shown.result(self.runs(shown.quick)["SG"])
        known = {eta: as_arrays(result) for eta, result in sorted(curves.items()) if result is not None}
        for passes in (1, 10, SHORT):
            found = {eta: at(curve, passes) for eta, curve in known.items() if passes <= curve["passes"][-1]}
            if len(found) > 1:
                text = ", ".join(f"{eta:g}: {value:.2f}" for eta, value in found.items())
                claim.answer(f"F after {passes} passes by gain {text}", found[PUBLISHED_GAIN] == max(found.values()))
        return claim


class BaseNP(Chains):
    name, task = "vishwanathan_2006_figure_1", "base-np"
    title = "Vishwanathan et al. 2006, Figure 1: F-scores on base NP chunking"
    reference = ("Sha and Pereira 2003", 94.2)

    def further_claims(self, shown: Shown, best: Row) -> list[Claim]:
        sizes = Claim("Batches of 5 to 20 are computationally most efficient", "3.1")
        rows = {key: shown.result(cell) for key, cell in self.batches(shown.quick).items()}
        for method in ("SMD", "SG"):
            found = {batch: seconds_to(rows[method, batch], EARLY) for batch in BATCHES if rows[method, batch]}
            if len(found) == len(BATCHES):
                fastest = min(found, key=lambda batch: found[batch])
                times = ", ".join(f"b = {batch}: {seconds:.1f}" for batch, seconds in found.items())
                sizes.answer(f"{method}: CPU seconds to F = {EARLY:g} {times}; least at {fastest}", 5 <= fastest <= 20)
        slow = Claim("The perceptron takes far more time an iteration than the others", "4")
        cost = {name: curve["cpu_seconds"][-1] / curve["passes"][-1] for name, curve in self.curves(shown).items()}
        text = ", ".join(f"{name} {seconds:.2f}" for name, seconds in cost.items())
        slow.answer(
            f"CPU seconds a pass: {text}", cost["perceptron"] > max(cost[name] for name in ("SMD", "SG", "L-BFGS"))
        )
        return [self.about_gain(shown), self.about_seeds(shown), sizes, slow]


class Bio(Chains):
    name, task = "vishwanathan_2006_figure_2", "bio"
    title = "Vishwanathan et al. 2006, Figure 2: F-scores on JNLPBA-2004"
    reference = ("Settles 2004", 72.0)

    def further_claims(self, shown: Shown, best: Row) -> list[Claim]:
        better = Claim("The F-scores are far better than the 72.0 % of Settles (2004)", "4.2")
        for name in ("f1", "boundaries", "tokens"):
            what = {"f1": "whole names", "boundaries": "whole names, whatever their type", "tokens": "single words"}[
                name
            ]
            better.answer(f"at the optimum, {what}: {best[name]:.1f}", best[name] > 75)
        smaller = Claim("SGD with a smaller gain reaches the quality of SMD, at a far slower rate", "4.2")
        small, meta = shown.result(self.gains(shown.quick)["SGD", 0.01]), shown.result(self.runs(shown.quick)["SMD"])
        if small is not None and meta is not None:
            a, b = as_arrays(small), as_arrays(meta)
            smaller.answer(
                f"F at the end: SGD with gain 0.01 {a['f1'][-1]:.2f}, SMD {b['f1'][-1]:.2f} (no less, but {SAME}?)",
                bool(a["f1"][-1] >= b["f1"][-1] - SAME),
            )
            goal = min(a["f1"][-1], b["f1"][-1]) - SAME
            slow, fast = stays_above(a, goal), stays_above(b, goal)
            smaller.answer(
                f"passes until F stays above {goal:.2f}: {slow:.3g}, SMD {fast:.3g} (twice as many?)", slow >= 2 * fast
            )
        large = Claim("With a large gain, step size adaptation has its merits: SMD at 0.1 beats SGD at 0.1", "4.2")
        plain, adapted = (shown.result(self.gains(shown.quick)[name, PUBLISHED_GAIN]) for name in ("SGD", "SMD"))
        if plain is not None and adapted is not None:
            ends = [result["curve"]["f1"][-1] if result["status"] != "diverged" else 0.0 for result in (plain, adapted)]
            text = f"SGD {plain['status']}, F {ends[0]:.2f}; SMD {adapted['status']}, F {ends[1]:.2f}"
            large.answer(text, ends[1] > ends[0])
        return [better, large, smaller, self.about_gain(shown), self.about_seeds(shown)]


EARLY = 93.0  # an F-score of base NP that every method passes


def as_arrays(result: Row) -> dict[str, np.ndarray]:
    return {name: np.array(values, dtype=float) for name, values in result["curve"].items()}


def at(curve: dict[str, np.ndarray], passes: float) -> float:
    """The F-score of the last evaluation before so many passes."""
    return float(curve["f1"][max(0, np.searchsorted(curve["passes"], passes, side="right") - 1)])


def thinned(passes: np.ndarray) -> np.ndarray:
    """The evaluations to draw: some 150, evenly on a logarithmic axis."""
    wanted = np.geomspace(passes[0], passes[-1], 150)
    return np.unique(np.minimum(np.searchsorted(passes, wanted), len(passes) - 1))


def passes_to(curve: dict[str, np.ndarray], level: float) -> float:
    """Passes until an F-score is first reached."""
    above = np.flatnonzero(curve["f1"] >= level)
    return float(curve["passes"][above[0]]) if len(above) else math.inf


def stays_above(curve: dict[str, np.ndarray], level: float) -> float:
    """Passes until the F-score is above a level for good."""
    below = np.flatnonzero(curve["f1"] < level)
    k = int(below[-1]) + 1 if len(below) else 0
    return float(curve["passes"][k]) if k < len(curve["passes"]) else math.inf


def seconds_to(result: Row | None, level: float) -> float:
    if result is None:
        return math.inf
    curve = as_arrays(result)
    above = np.flatnonzero(curve["f1"] >= level)
    return float(curve["cpu_seconds"][above[0]]) if len(above) else math.inf


def reached(result: Row | None, level: float) -> str:
    if result is None:
        return ""
    seconds = seconds_to(result, level)
    return f"{seconds:.1f} ({passes_to(as_arrays(result), level):.2g})" if math.isfinite(seconds) else "not reached"


FIGURES: list[Figure] = [BaseNP(), Bio()]

if __name__ == "__main__":
    main(*FIGURES)
