"""Le Priol's report of 2017, Figures 1 and 2: multinomial logistic regression on mixtures of Gaussians.

    python benchmarks/papers/le_priol_2017/figures_1_and_2_mixtures.py [--quick] [--budget SECONDS] [--plot-only]

The report draws points from a balanced mixture, adds a constant of 1 as the last coordinate, and takes λ = 1/n, which
is ``l2 = 1``; it gives no sizes, and its figures are not in the text that we have. Here: five classes in the plane, 500
points, for the decision areas; ten classes in 20 dimensions, 2000 points, for the methods. Centres are drawn with
standard deviation 2 (plane) and 0.5, points with 1 about them. SDCA begins at random probabilities, as in the report.

The report's formulas (14) to (16), and what it says of log-sum-exp, are checked by plain NumPy at weights and
probabilities on the way of a run.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from scipy.special import log_softmax, logsumexp, softmax, xlogy

sys.path.insert(0, str(Path(__file__).parents[3]))
from benchmarks.papers.cells import Cell, GeneratedCell, Workbench
from benchmarks.papers.claims import Claim, Run
from benchmarks.papers.figures import SEQUENCE, STYLES, plot
from benchmarks.papers.harness import Figure, Shown, main
from benchmarks.papers.results import Row
from benchmarks.solvers.compare import parse_solver, trace
from dualfield import Progress, fields, solve

SIZES = {"plane": (500, 2, 5), "mixture": (2000, 20, 10)}  # points, dimensions, classes
QUICK_SIZES = {"plane": (200, 2, 5), "mixture": (300, 10, 6)}
SPREADS = {"plane": 2.0, "mixture": 0.5}  # of the centres
METHODS = {
    "SDCA": "SDCA(sampling='uniform', init='random', accelerate=False)",
    "SDCA-GAP": "SDCA(sampling='gap', non_uniformity=0.8, permutation_every=0, init='random', accelerate=False)",
    "OEG": "OEG(sampling='uniform', step='published', accelerate=False)",
    "SAG-NUS*": "SAG(sampling='nus*')",
    "L-BFGS": "LBFGS()",
    "SG": "SGD(eta='auto')",
}
STEPS = {"line search": METHODS["SDCA"]} | {
    name: f"SDCA(sampling='uniform', init='random', step={step}, accelerate=False)"
    for name, step in (("guaranteed step", "'guaranteed'"), ("γ = 0.1", "0.1"), ("γ = 1", "1.0"))
}


@cache
def mixture(name: str, quick: bool) -> tuple[np.ndarray, np.ndarray]:
    """Points with a last coordinate of 1, and their classes."""
    points, dimensions, classes = (QUICK_SIZES if quick else SIZES)[name]
    random = np.random.default_rng(0)
    centres = SPREADS[name] * random.normal(size=(classes, dimensions))
    labels = np.arange(points) % classes
    x = centres[labels] + random.normal(size=(points, dimensions))
    return np.column_stack([x, np.ones(points)]), labels


def problem(name: str, quick: bool) -> fields.Multiclass:
    X, y = mixture(name, quick)
    return fields.Multiclass(X, y, l2=1.0, bias=False)


@dataclass(frozen=True)
class MixtureOptimum(GeneratedCell):
    """P*, certified to 1e-10, and its weights."""

    dataset: str
    kind: ClassVar[str] = "optimum of points"

    def key(self) -> Row:
        return {"kind": self.kind, "dataset": self.dataset}

    def measure(self, bench: Workbench) -> Row:
        found = solve(problem(self.dataset, bench.quick), "lbfgs", tol=1e-10, max_passes=5000)
        return {"optimum": found.dual, "relative_gap": found.relative_gap, "weights": found.weights.tolist()}

    def __str__(self) -> str:
        return f"{self.dataset}: P*"


@dataclass(frozen=True)
class MixtureCurve(GeneratedCell):
    """A solver's run, looked at after each pass."""

    dataset: str
    solver: str
    passes: int
    kind: ClassVar[str] = "curve on points"

    def key(self) -> Row:
        return {"kind": self.kind, "dataset": self.dataset, "solver": self.solver}

    def satisfied_by(self, result: Row) -> bool:
        return result["passes"] >= self.passes or result["status"] in ("reached", "diverged", "stalled")

    def measure(self, bench: Workbench) -> Row:
        field, known = problem(self.dataset, bench.quick), MixtureOptimum(self.dataset)
        row = bench.results.get(bench.key(known))
        optimum = float((bench.measure(known) if row is None else row["result"])["optimum"])

        def gap(progress: Progress) -> dict[str, float]:
            return {"gap_estimate": progress.gap_estimate}

        run = trace(
            self.dataset,
            field,
            parse_solver(self.solver),
            optimum,
            until=1e-8,
            max_passes=self.passes,
            measure=gap,
            quiet=True,
        )
        curve = {name: values for name, values in run.curve.items() if name != "suboptimality"}
        status = "reached" if run.best() <= 1e-8 else run.status
        return {"passes": run.passes, "status": status, "cut": False, "blocks": field.n_blocks, "curve": curve}

    def __str__(self) -> str:
        return f"{self.dataset}: {self.solver}, {self.passes} passes"


@dataclass(frozen=True)
class Identities(GeneratedCell):
    """How far apart the two sides of the report's formulas are, relative to the left one, at most over some points."""

    dataset: str = "plane"
    kind: ClassVar[str] = "identities of points"

    def key(self) -> Row:
        return {"kind": self.kind, "dataset": self.dataset}

    def measure(self, bench: Workbench) -> Row:
        field = problem(self.dataset, bench.quick)
        X, y = field.rows.toarray(), field.codes  # in the order of the solver's duals
        optimum = float(solve(field, "lbfgs", tol=1e-10, max_passes=5000).primal)
        formulas = Formulas(X, y)
        worst = {"equation_14": 0.0, "equation_15": 0.0, "equation_16": 0.0, "solver_gap": 0.0}
        below = smooth = -np.inf

        def compare(name: str, left: float, right: float) -> None:
            worst[name] = max(worst[name], abs(left - right) / max(abs(left), 1e-12))

        for passes in (1, 2, 4, 8):
            found = solve(field, parse_solver(METHODS["SDCA"]), 0.0, passes, random_state=0)
            alpha = found.state.arrays()["duals"].reshape(len(X), -1)
            w = formulas.weights(alpha)
            gap = formulas.primal(w) - formulas.dual(alpha)
            compare("equation_16", gap, formulas.divergence(alpha, w))
            compare("solver_gap", gap, found.duality_gap)
            p = formulas.probabilities(w)
            own = formulas.primal(w) - formulas.dual(p)
            compare("equation_14", own, 0.5 * float(np.sum((w - formulas.weights(p)) ** 2)))
            compare("equation_15", own, 0.5 * float(np.sum(formulas.gradient(w) ** 2)))
            below = max(below, (formulas.primal(w) - optimum) / own)
            hessians = [np.linalg.eigvalsh(np.diag(row) - np.outer(row, row))[-1] for row in p]
            smooth = max(smooth, float(max(hessians)))
        return {**worst, "suboptimality_over_gap": float(below), "smoothness": smooth}

    def __str__(self) -> str:
        return f"{self.dataset}: formulas (14) to (16)"


class Formulas:
    """The report's objects in sum units (n times its P and D, λn = 1), written out."""

    def __init__(self, X: np.ndarray, y: np.ndarray) -> None:
        self.X, self.truth = X, np.eye(y.max() + 1)[y]
        self.classes = self.truth.shape[1]

    def probabilities(self, w: np.ndarray) -> np.ndarray:
        """``α(w)``, the report's (13)."""
        return softmax(self.X @ w, axis=1)

    def weights(self, alpha: np.ndarray) -> np.ndarray:
        """``w(α) = Σ_i Σ_y α_i(y) ψ_i(y)``, its (8)."""
        return self.X.T @ (self.truth - alpha)

    def primal(self, w: np.ndarray) -> float:
        scores = self.X @ w
        losses = logsumexp(scores, axis=1) - np.sum(scores * self.truth, axis=1)
        return 0.5 * float(np.sum(w**2)) + float(np.sum(losses))

    def dual(self, alpha: np.ndarray) -> float:
        return -0.5 * float(np.sum(self.weights(alpha) ** 2)) - float(np.sum(xlogy(alpha, alpha)))

    def gradient(self, w: np.ndarray) -> np.ndarray:
        return w - self.weights(self.probabilities(w))

    def divergence(self, alpha: np.ndarray, w: np.ndarray) -> float:
        """``Σ_i KL(α_i ‖ α_i(w))``."""
        return float(np.sum(xlogy(alpha, alpha) - alpha * log_softmax(self.X @ w, axis=1)))


class Mixtures(Figure):
    name, store = "le_priol_2017", "le_priol_2017"
    title = "Le Priol 2017, Figures 1 and 2: multinomial logistic regression on mixtures of Gaussians"

    def curves(self, quick: bool) -> dict[str, MixtureCurve]:
        return {name: MixtureCurve("mixture", solver, 10 if quick else 150) for name, solver in METHODS.items()}

    def steps(self, quick: bool) -> dict[str, MixtureCurve]:
        return {name: MixtureCurve("mixture", solver, 10 if quick else 150) for name, solver in STEPS.items()}

    def cells(self, quick: bool) -> list[Cell]:
        runs = [*self.curves(quick).values(), *self.steps(quick).values()]
        return [MixtureOptimum("plane"), MixtureOptimum("mixture"), Identities(), *runs]

    def runs(self, shown: Shown, cells: dict[str, MixtureCurve]) -> dict[str, Run]:
        known, found = shown.result(MixtureOptimum("mixture")), {}
        for name, cell in cells.items():
            result = shown.result(cell)
            if result is not None and known is not None:
                found[name] = Run(name, "mixture", result, float(known["optimum"]))
        return found

    def draw(self, shown: Shown) -> None:
        figure, (areas, methods, steps) = shown.panels(3)
        plane = shown.result(MixtureOptimum("plane"))
        if plane is not None:
            draw_areas(areas, np.array(plane["weights"]), *mixture("plane", shown.quick))
        for name, run in self.runs(shown, self.curves(shown.quick)).items():
            label = {"SG": "SGD"}.get(name, name)
            plot(methods, run.column("passes"), run.suboptimality, STYLES[name], label)
        for (name, run), style in zip(self.runs(shown, self.steps(shown.quick)).items(), SEQUENCE, strict=False):
            plot(steps, run.column("passes"), run.suboptimality, style, name)
        methods.set(xlabel="passes", ylabel="(P − P*) / P*", title="Ten classes: methods")
        steps.set(xlabel="passes", title="Ten classes: steps of SDCA")
        for axes in (methods, steps):
            if axes.has_data():
                axes.legend(fontsize=6.5)
        shown.save(figure)

    def judge(self, shown: Shown) -> list[Claim]:
        runs, steps = self.runs(shown, self.curves(shown.quick)), self.runs(shown, self.steps(shown.quick))
        works = Claim("SDCA gives proper results on mixtures of Gaussians", "1.6, Figure 2")
        works.reaches(runs.get("SDCA"), 1e-3 if shown.quick else 1e-6)
        gaps = Claim("Sampling by gaps improves the rate", "1.5")
        gaps.fewer(runs.get("SDCA-GAP"), runs.get("SDCA"))
        search = Claim("The step is best found by line search; γ within [0, 1]", "1.5")
        for name in STEPS:
            if name != "line search":
                search.fewer(steps.get("line search"), steps.get(name))
        claims = [works, gaps, search]
        found = shown.result(Identities())
        if found is not None:
            exact = Claim("The gap of the primal model is λ/2 ‖w − w(α(w))‖² and ‖∇P‖²/(2λ)", "1.4, (14), (15)")
            for name in ("equation_14", "equation_15"):
                exact.answer(f"the sides are {found[name]:.1e} apart, relative", found[name] < 1e-8)
            divergence = Claim("The gap of the dual model is the mean divergence of α_i from α_i(w(α))", "1.4, (16)")
            divergence.answer(f"the sides are {found['equation_16']:.1e} apart", found["equation_16"] < 1e-8)
            divergence.answer(f"the solver's own gap is {found['solver_gap']:.1e} off", found["solver_gap"] < 1e-6)
            bound = Claim("That gap dominates the primal suboptimality", "1.4")
            share = found["suboptimality_over_gap"]
            bound.answer(f"suboptimality at most {share:.3g} of it", share <= 1)
            smooth = Claim("log-sum-exp is 1/2-smooth", "1.2")
            smooth.answer(f"largest curvature seen {found['smoothness']:.4f}", found["smoothness"] <= 0.5)
            claims += [exact, divergence, bound, smooth]
        plane = shown.result(MixtureOptimum("plane"))
        if plane is not None:
            areas = Claim("Decision areas are polygons, cones in the space with the constant", "1.1, Figure 1")
            areas.answer(*convex_areas(np.array(plane["weights"]), mixture("plane", shown.quick)[0]))
            claims.append(areas)
        return claims


def convex_areas(weights: np.ndarray, X: np.ndarray) -> tuple[str, bool]:
    """Whether midpoints of points with one prediction have it too (convex), and multiples (cones)."""
    W = weights.reshape(X.shape[1], -1)
    random = np.random.default_rng(1)
    points = np.column_stack([random.uniform(-6, 6, size=(4000, X.shape[1] - 1)), np.ones(4000)])
    labels = (points @ W).argmax(axis=1)
    a, b = random.integers(0, 4000, (2, 20000))
    same = labels[a] == labels[b]
    middles = ((points[a] + points[b])[same] @ W).argmax(axis=1)  # twice the midpoint: a cone has it too
    wrong = int((middles != labels[a][same]).sum())
    return f"of {int(same.sum())} midpoints, doubled, {wrong} lie outside the area of their ends", wrong == 0


def draw_areas(axes: Any, weights: np.ndarray, X: np.ndarray, y: np.ndarray) -> None:
    """The prediction at every place of the plane, and the points, a marker a class."""
    W = weights.reshape(X.shape[1], -1)
    low, high = X[:, :2].min(axis=0) - 0.5, X[:, :2].max(axis=0) + 0.5
    across, up = np.meshgrid(np.linspace(low[0], high[0], 400), np.linspace(low[1], high[1], 400))
    places = np.column_stack([across.ravel(), up.ravel(), np.ones(across.size)])
    labels = (places @ W).argmax(axis=1).reshape(across.shape)
    n_classes = W.shape[1]
    colours, between = [style["color"] for style in SEQUENCE[:n_classes]], np.arange(n_classes + 1) - 0.5
    axes.contourf(across, up, labels, levels=between, colors=colours, alpha=0.25)
    axes.contour(across, up, labels, levels=np.arange(n_classes) + 0.5, colors="black", linewidths=0.6)
    for label in range(n_classes):
        style = SEQUENCE[label]
        chosen = y == label
        axes.scatter(X[chosen, 0], X[chosen, 1], s=5, color=style["color"], marker=style["marker"], linewidths=0)
    axes.set(title="Five classes: decision areas")
    axes.grid(False)


if __name__ == "__main__":
    main(Mixtures())
