"""The methods of the papers, each as the expression of a solver, in the settings of the paper that names it.

SDCA as published: 20 % of the draws uniform, only the first pass a permutation, line search to 0.001. OEG as published
by Collins et al. (2008): uniform draws, steps up by 1.05. Methods whose step is tuned have ``{eta}`` in its place.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from benchmarks.papers.cells import Cell, Curve, Optimum, Tuned
from benchmarks.papers.results import Row

__all__ = [
    "FEWER_PASSES",
    "HORIZON",
    "METHODS",
    "OTHER_SEEDS",
    "PASSES",
    "QUICK_PASSES",
    "again",
    "cells_of",
    "label_with_step",
    "method_cell",
    "sdca",
]


def sdca(sampling: str = "gap", non_uniformity: float = 0.8, **options: object) -> str:
    """SDCA as in the experiments of Le Priol et al. (2018), but for the options given."""
    options = {"subprecision": 0.001, **options, "accelerate": False}
    rule = f"sampling={sampling!r}"
    if sampling not in ("uniform", "max"):
        rule += f", non_uniformity={non_uniformity:g}"
    if sampling != "uniform":
        rule += ", permutation_every=0"
    return f"SDCA({rule}, {', '.join(f'{name}={value!r}' for name, value in options.items())})"


METHODS: dict[str, str] = {
    "SDCA": sdca("uniform"),
    "SDCA-GAP": sdca("gap"),
    "OEG": "OEG(sampling='uniform', step='published', accelerate=False)",
    "OEG-GAP": "OEG(sampling='gap', accelerate=False)",
    "OEG-GAP, accelerated": "OEG(sampling='gap', accelerate=True)",
    "SAG": "SAG(sampling='uniform')",
    "SAG-NUS": "SAG(sampling='nus')",
    "SAG-NUS*": "SAG(sampling='nus*')",
    "SAGA-NUS*": "SAGA(sampling='nus*')",
    "SVRG": "SVRG()",
    "L-BFGS": "LBFGS()",
    "Hybrid": "Hybrid()",
    "SG": "SGD(eta={eta})",
    "ASG": "SGD(eta={eta}, average=True)",
    "Pegasos": "SGD(eta={eta}, schedule='pegasos')",
    "AdaGrad": "AdaGrad(eta={eta})",
}
PASSES = {"ocr": 100, "conll": 60, "ner": 60, "pos": 30}
HORIZON = {"ocr": 60, "conll": 40, "ner": 40, "pos": 30}  # of methods that are far from the optimum then
FEWER_PASSES = {"ocr": 60, "conll": 30, "ner": 30, "pos": 15}  # where the early part tells
QUICK_PASSES = 8
OTHER_SEEDS = (1, 2)
_TO_THE_END = ("SDCA", "SDCA-GAP", "OEG", "OEG-GAP", "SAG-NUS", "SAG-NUS*")
_FIRST_STEPS = {"Pegasos": 1e-4, "AdaGrad": 1.0}  # where the search begins


def method_cell(method: str, dataset: str, quick: bool = False, l2: float = 1.0) -> Cell:
    """A method on a data set, its step tuned if it has one."""
    solver = METHODS[method]
    if "{eta}" in solver:
        passes = 4 if quick else HORIZON[dataset]
        return Tuned(dataset, solver, passes, _FIRST_STEPS.get(method, 0.1), l2)
    if quick:
        return Curve(dataset, solver, QUICK_PASSES, l2)
    return Curve(dataset, solver, (PASSES if method in _TO_THE_END and l2 == 1 else HORIZON)[dataset], l2)


def cells_of(methods: Iterable[str], datasets: Iterable[str], quick: bool) -> list[Cell]:
    """On each of the data sets, the optimum and these methods."""
    methods = tuple(methods)
    cells: list[Cell] = []
    for dataset in datasets:
        cells += [Optimum(dataset), *(method_cell(method, dataset, quick) for method in methods)]
    return cells


def again(cells: Iterable[Cell]) -> list[Cell]:
    """The runs among these cells with other seeds, for claims that one seed may leave open."""
    runs = [cell for cell in cells if isinstance(cell, Curve)]
    return [replace(run, seed=seed) for seed in OTHER_SEEDS for run in runs]


def label_with_step(method: str, result: Row) -> str:
    """The method's name, and the step that was chosen for it."""
    return f"{method}, η = {result['eta']:g}" if "eta" in result else method
