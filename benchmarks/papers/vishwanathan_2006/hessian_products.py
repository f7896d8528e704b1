"""Vishwanathan et al. 2006, section 2.5: what a product with the Hessian costs beside a gradient, and the complex step.

    python benchmarks/papers/vishwanathan_2006/hessian_products.py [--quick] [--budget SECONDS] [--plot-only]

CPU seconds of a full gradient, and of one together with a product of the Hessian, the best of five, at weights with
which labels are uncertain. Products of chains, of junction trees and of the pseudo-likelihood are exact, by
differentiating the marginals; those of belief propagation and mean field are differences of marginals.

Equation (12), ``g(θ + iεv) = g(θ) + iε Hv + O(ε²)`` with ε = 1e-150, is checked on a short chain: the gradient is
summed over all labellings in complex arithmetic, which shares nothing with the library's recursions.
"""

from __future__ import annotations

import itertools
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[3]))
from benchmarks.papers.cells import Cell, GeneratedCell, Workbench
from benchmarks.papers.claims import Claim
from benchmarks.papers.datasets import DATASETS, Dataset
from benchmarks.papers.harness import Figure, Shown, main
from benchmarks.papers.results import Row
from benchmarks.papers.vishwanathan_2006.chain_tasks import CHAIN_TASKS
from benchmarks.papers.vishwanathan_2006.lattice_tasks import CRITERIA, Denoising
from dualfield import fields
from dualfield.datasets import make_denoising
from dualfield.features import encode_grids
from dualfield.fields import Field

REPEATS = 5
TASKS: dict[str, Dataset] = {"ocr": DATASETS["ocr"], **CHAIN_TASKS}
LATTICES = ("junction_tree", *CRITERIA)


def cost(field: Field) -> Row:
    """CPU seconds of a gradient and of a gradient with a product, and their ratio."""
    random = np.random.default_rng(0)
    weights, vector = (0.1 * random.normal(size=field.dimension) for _ in range(2))

    def best(action: Callable[[], Any]) -> float:
        seconds = []
        for _ in range(REPEATS):
            start = time.process_time()
            action()
            seconds.append(time.process_time() - start)
        return min(seconds)

    gradient = best(lambda: field.gradient(weights))
    both = gradient + best(lambda: field.hessian_product(weights, vector))
    return {"gradient": gradient, "with_product": both, "ratio": both / gradient}


@dataclass(frozen=True)
class ChainCost(Cell):
    """On a text task or on OCR."""

    dataset: str
    kind: ClassVar[str] = "cost of a product"

    def key(self) -> Row:
        return {"kind": self.kind, "dataset": self.dataset}

    @property
    def task(self) -> Dataset:
        return TASKS[self.dataset]

    def measure(self, bench: Workbench) -> Row:
        return cost(bench.load(self.task).field)

    def __str__(self) -> str:
        return f"{self.dataset}: a product with the Hessian"


@dataclass(frozen=True)
class LatticeCost(GeneratedCell):
    """On noisy images; with junction trees on small ones."""

    criterion: str
    dataset: str = "denoising"
    kind: ClassVar[str] = "cost of a product"

    def key(self) -> Row:
        return {"kind": self.kind, "dataset": self.dataset, "criterion": self.criterion}

    def measure(self, bench: Workbench) -> Row:
        if self.criterion != "junction_tree":
            return cost(Denoising.load(True).field(self.criterion))
        images = make_denoising(2, 0, size=16)
        X = [x[:6] for x in images.X_train]
        return cost(fields.Graph(encode_grids(X), [y[:6] for y in images.y_train], l2=0.5))

    def __str__(self) -> str:
        return f"denoising, {self.criterion}: a product with the Hessian"


@dataclass(frozen=True)
class ComplexStep(GeneratedCell):
    """How far the complex step is from the library's product, relative, at most over some chains."""

    dataset: str = "short chains"
    kind: ClassVar[str] = "complex step"

    def key(self) -> Row:
        return {"kind": self.kind, "dataset": self.dataset}

    def measure(self, bench: Workbench) -> Row:
        random, worst = np.random.default_rng(0), 0.0
        for _ in range(5):
            length, attributes, labels = 5, 4, 3
            X, y = random.normal(size=(length, attributes)), random.integers(0, labels, length)
            y[:labels] = range(labels)
            field = fields.Chain([X], [y.tolist()], l2=0.7, bias=False, begin=False, end=False)
            weights, vector = random.normal(size=(2, field.dimension))
            epsilon = 1e-150
            step = complex_gradient(X, y, labels, 0.7, weights + 1j * epsilon * vector).imag / epsilon
            product = field.hessian_product(weights, vector)
            worst = max(worst, float(np.abs(step - product).max() / np.abs(product).max()))
        return {"difference": worst}

    def __str__(self) -> str:
        return "the complex step on short chains"


def complex_gradient(X: np.ndarray, y: np.ndarray, n_labels: int, l2: float, weights: np.ndarray) -> np.ndarray:
    """The gradient of ``l2/2 w·w − log p(y | X)`` for complex weights, summed over all labellings."""

    def features(labelling: Any) -> np.ndarray:
        state, transitions = np.zeros((X.shape[1], n_labels)), np.zeros((n_labels, n_labels))
        for x, label in zip(X, labelling, strict=True):
            state[:, label] += x
        for before, after in itertools.pairwise(labelling):
            transitions[before, after] += 1
        return np.concatenate([state.ravel(), transitions.ravel()])

    all_features = np.array([features(labelling) for labelling in itertools.product(range(n_labels), repeat=len(y))])
    scores = all_features @ weights
    factors = np.exp(scores - scores.real.max())
    return l2 * weights + (factors / factors.sum()) @ all_features - features(y.tolist())


class HessianProducts(Figure):
    name, store = "vishwanathan_2006_hessian_products", "smd"
    title = "Vishwanathan et al. 2006, section 2.5: products with the Hessian"

    def costs(self) -> dict[str, Cell]:
        chains: dict[str, Cell] = {f"chains, {task.title}": ChainCost(name) for name, task in TASKS.items()}
        return chains | {f"grids, {name}": LatticeCost(name) for name in LATTICES}

    def cells(self, quick: bool) -> list[Cell]:
        return [*self.costs().values(), ComplexStep()]

    def tables(self, shown: Shown) -> list[str]:
        lines = ["", f"{'CPU milliseconds':32}{'gradient':>12}{'with product':>14}{'ratio':>8}"]
        for name, cell in self.costs().items():
            found = shown.result(cell)
            if found is not None:
                values = 1e3 * found["gradient"], 1e3 * found["with_product"], found["ratio"]
                lines.append(f"{name:32}{values[0]:>12.2f}{values[1]:>14.2f}{values[2]:>8.2f}")
        return lines

    def judge(self, shown: Shown) -> list[Claim]:
        cheap = Claim("Gradient and product together cost only 2 to 3 times the gradient", "2.5")
        for name, cell in self.costs().items():
            found = shown.result(cell)
            if found is not None:
                cheap.answer(f"{name}: {found['ratio']:.2f} times (at most 3?)", found["ratio"] <= 3)
        step = Claim("The product is the imaginary part of the gradient at θ + iεv, for ε = 1e-150", "2.5, (12)")
        found = shown.result(ComplexStep())
        if found is not None:
            step.answer(f"differs from our product by {found['difference']:.1e}, relative", found["difference"] < 1e-10)
        return [cheap, step]


if __name__ == "__main__":
    main(HessianProducts())
