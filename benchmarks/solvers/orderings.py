"""What the papers claim about the order of the solvers, measured and judged.

    export DUALFIELD_DATA=<folder of the data sets>
    python benchmarks/solvers/orderings.py [CLAIM ...]

Without arguments every claim is measured; ``--list`` says them. A claim is made of comparisons. Each is printed with
its numbers and a yes or no, by one of these rules:

* *fewer*: to a level of relative suboptimality, A needs fewer updates (or oracle calls) than B, which needs 5 % more at
  least;
* *similar*: the two numbers differ by a factor of at most 1.5. Here as there, a run that has not reached the level
  needs more than it was given; where that does not settle the matter, there is no answer;
* *reaches*, *fails*: whether a run comes within a level in the passes it is given;
* *less*, *more*: of an objective, a suboptimality or an F1 after a number of passes.

The verdict: "holds" if every answer is yes, "does not hold" if none is, "holds partly" otherwise; with the number of
comparisons that are not settled, if any: more passes may settle them.

Runs are measured as in ``compare.py``, but the objective is evaluated four times a pass. Numbers of updates and of
oracle calls, in multiples of the number n of blocks, depend on the seed and hardly on the machine.
"""

from __future__ import annotations

import argparse
import inspect
import math
import sys
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[2]))
from benchmarks.solvers.compare import Report, Trace, add_limits, spelled, trace
from benchmarks.tasks import TASKS, Test
from dualfield.driver import Progress
from dualfield.fields import Chain
from dualfield.solvers import LBFGS, OEG, SAG, SAGA, SDCA, SGD, SMD, SVRG, Hybrid, Perceptron, Solver

LEVELS = (1e-2, 1e-3, 1e-4, 1e-6)
EVALUATIONS = 4  # a pass
MARGIN = 1.05
SIMILAR = 1.5
UPDATES, ORACLE = "updates", "oracle_calls"


class Laboratory:
    """Runs solvers, each only once, and collects the comparisons of a claim."""

    def __init__(self, report: Report, max_passes: int, max_seconds: float, seed: int) -> None:
        self.report, self.max_passes, self.max_seconds, self.seed = report, max_passes, max_seconds, seed
        self.answers: list[bool | None] = []
        self._runs: dict[tuple[str, float, Solver, int | None], Trace] = {}
        self._optima: dict[tuple[str, float], float] = {}
        self._loaded: tuple[tuple[str, float], tuple[Chain, Test]] | None = None

    def task(self, name: str, l2: float = 1.0) -> tuple[Chain, Test]:
        """The field and the test set of a task; only the last one stays in memory."""
        if self._loaded is None or self._loaded[0] != (name, l2):
            self._loaded = None
            self._loaded = ((name, l2), TASKS[name](l2))
        return self._loaded[1]

    def run(self, name: str, solver: Solver, l2: float = 1.0, whole_passes: int | None = None) -> Trace:
        """A run to the smallest level; with ``whole_passes``, at most so many, and evaluated once a pass."""
        key = (name, l2, solver, whole_passes)
        if key not in self._runs:
            problem, _ = self.task(name, l2)
            if (name, l2) not in self._optima:
                self._optima[name, l2] = self.report.optimum(name, problem)
            self._runs[key] = self.report.keep(
                trace(
                    name,
                    problem,
                    solver,
                    self._optima[name, l2],
                    until=min(LEVELS),
                    max_passes=min(self.max_passes, whole_passes or self.max_passes),
                    max_seconds=self.max_seconds,
                    seed=self.seed,
                    callback_every=None if whole_passes else problem.n_blocks // EVALUATIONS,
                )
            )
        return self._runs[key]

    # -- comparisons

    def answer(self, text: str, yes: bool | None) -> None:
        self.answers.append(yes)
        print(f"  {text}: {'not settled' if yes is None else 'yes' if yes else 'no'}", flush=True)

    def fewer(self, a: Trace, b: Trace, unit: str) -> None:
        """Does A need fewer than B?"""
        self._compare(f"{a.solver} needs fewer {{}} than {b.solver}", a, b, unit, MARGIN, math.inf)

    def similar(self, a: Trace, b: Trace, unit: str) -> None:
        """Do A and B need about as many?"""
        self._compare(f"{a.solver} and {b.solver} need a similar number of {{}}", a, b, unit, 1 / SIMILAR, SIMILAR)

    def _compare(self, text: str, a: Trace, b: Trace, unit: str, least: float, most: float) -> None:
        """At each level: is B's number over A's between ``least`` and ``most``?"""
        print(f"\n  {a.task}: {text.format(unit.replace('_', ' '))}")
        for level in LEVELS:
            (low_a, high_a, text_a), (low_b, high_b, text_b) = _needed(a, unit, level), _needed(b, unit, level)
            low = low_b / high_a if high_a < math.inf else 0.0
            high = high_b / low_a if low_a < math.inf else 0.0
            numbers = f"  to {level:g}: {text_a} against {text_b}"
            if 0 < low == high < math.inf:
                numbers += f", {low:.2f} times"
            inside, outside = least <= low and high <= most, high < least or low > most
            self.answer(numbers, inside if inside != outside and min(low_a, low_b) < math.inf else None)

    def reaches(self, run: Trace, level: float, expected: bool = True) -> None:
        """Does a run come within a level (or, if that is expected, fail to)?"""
        found = run.first_within(level)
        text = f"{run.task}: {run.solver} {'reaches' if expected else 'fails to reach'} {level:g}"
        numbers = f"best {run.best():.1e} after {run.passes} passes ({run.status})"
        self.answer(f"{text}: {numbers}", (found is not None) == expected)


def _needed(run: Trace, unit: str, level: float) -> tuple[float, float, str]:
    """The least and the most that a run may need to a level, and the same as text."""
    if found := run.first_within(level):
        return found[unit], found[unit], f"{found[unit] / run.n_blocks:.2f} n"
    spent = math.inf if run.status in ("diverged", "stalled") else run.curve[unit][-1]
    return spent, math.inf, f"not reached (best {run.best():.0e}, {run.status})"


# ---- the claims: Le Priol et al. 2018 ---------------------------------------------------------------------


def published(sampling: str) -> SDCA:
    """SDCA as in the experiments of the paper: 20 % of the draws uniform, only the first pass a permutation."""
    return SDCA(sampling=sampling, non_uniformity=0.8, permutation_every=0)  # type: ignore[arg-type]


def gap_sampling(lab: Laboratory) -> None:
    """Gap sampling needs fewer updates than uniform sampling: SDCA (Le Priol et al. 2018, 6.3 and 6.4), and OEG, where
    the paper leaves it open. POS with OEG only: the tables of SDCA would need 17 GB.
    """
    for name, methods in (("ocr", (SDCA, OEG)), ("conll", (SDCA, OEG)), ("ner", (SDCA, OEG)), ("pos", (OEG,))):
        for method in methods:
            by_gap, uniform = (method(sampling=rule, accelerate=False) for rule in ("gap", "uniform"))
            lab.fewer(lab.run(name, by_gap), lab.run(name, uniform), UPDATES)


def importance_sampling(lab: Laboratory) -> None:
    """On OCR importance sampling is worse than uniform, and gap times importance worse than gap (Le Priol et al. 2018,
    6.3).
    """
    lab.fewer(lab.run("ocr", SDCA(sampling="uniform")), lab.run("ocr", published("importance")), UPDATES)
    lab.fewer(lab.run("ocr", published("gap")), lab.run("ocr", published("gap*importance")), UPDATES)


def max_sampling(lab: Laboratory) -> None:
    """On OCR, sampling the block of the largest recorded gap fails to converge, for its gaps go stale (Le Priol et al.
    2018, 6.3); if so, refreshing them must mend it.
    """
    lab.reaches(lab.run("ocr", SDCA(sampling="max", permutation_every=0)), 1e-3, expected=False)
    lab.reaches(lab.run("ocr", SDCA(sampling="max")), 1e-3)
    lab.reaches(lab.run("ocr", SDCA(sampling="max", permutation_every=0, refresh_every=10)), 1e-3)
    lab.reaches(lab.run("ocr", SDCA(sampling="safemax", non_uniformity=0.8, permutation_every=0)), 1e-3)


def oeg_like_sdca(lab: Laboratory) -> None:
    """Uniform SDCA and OEG need roughly the same number of updates (Le Priol et al. 2018, 6.4): here on OCR."""
    oeg = OEG(accelerate=False, sampling="uniform", step="published")
    lab.similar(lab.run("ocr", oeg), lab.run("ocr", SDCA(sampling="uniform")), UPDATES)


def sdca_against_sag(lab: Laboratory) -> None:
    """SDCA with gap sampling needs fewer updates than SAG-NUS and far fewer oracle calls than SAG-NUS* on sparse data;
    on OCR SAG-NUS needs fewer updates, and oracle calls are on a par with SAG-NUS* (Le Priol et al. 2018, 6.4).
    """
    nus, star = SAG(sampling="nus"), SAG(sampling="nus*")
    for name in ("conll", "ner"):
        for sag in (nus, star):
            lab.fewer(lab.run(name, SDCA()), lab.run(name, sag), UPDATES)
        lab.fewer(lab.run(name, SDCA()), lab.run(name, star), ORACLE)
    lab.fewer(lab.run("ocr", nus), lab.run("ocr", SDCA()), UPDATES)
    lab.similar(lab.run("ocr", SDCA()), lab.run("ocr", star), ORACLE)


def one_newton_step(lab: Laboratory) -> None:
    """A single Newton step as line search changes nothing on OCR, and fails to converge on NER (Le Priol et al. 2018,
    6.2).
    """
    one = SDCA(step="newton-1")
    lab.similar(lab.run("ocr", one), lab.run("ocr", SDCA()), UPDATES)
    lab.reaches(lab.run("ner", one), 1e-3, expected=False)
    lab.reaches(lab.run("ner", SDCA()), 1e-3)


# ---- Schmidt et al. 2015 ----------------------------------------------------------------------------------


def sag_sampling(lab: Laboratory) -> None:
    """Both forms of non-uniform sampling make SAG faster in oracle calls (Schmidt et al. 2015, section 4); NUS*, made
    to backtrack less, needs fewer than NUS (section 3).
    """
    for name in ("ocr", "conll"):
        star, nus, uniform = (lab.run(name, SAG(sampling=sampling)) for sampling in ("nus*", "nus", "uniform"))
        lab.fewer(nus, uniform, ORACLE)
        lab.fewer(star, uniform, ORACLE)
        lab.fewer(star, nus, ORACLE)


def svrg(lab: Laboratory) -> None:
    """SVRG, which keeps no gradients, is less effective than SAG (Schmidt et al. 2015, section 5)."""
    for name in ("ocr", "conll"):
        lab.fewer(lab.run(name, SAG(sampling="uniform")), lab.run(name, SVRG()), ORACLE)


def saga(lab: Laboratory) -> None:
    """SAGA performs similarly to SAG (Schmidt et al. 2015, section 5)."""
    lab.similar(lab.run("ocr", SAGA(sampling="nus*")), lab.run("ocr", SAG(sampling="nus*")), ORACLE)


def hybrid(lab: Laboratory) -> None:
    """Hybrid outperforms L-BFGS, and SAG-NUS* outperforms both (Schmidt et al. 2015, section 4 and Figure 1)."""
    for name in ("ocr", "conll"):
        lab.fewer(lab.run(name, Hybrid()), lab.run(name, LBFGS()), ORACLE)
        lab.fewer(lab.run(name, SAG(sampling="nus*")), lab.run(name, Hybrid()), ORACLE)


def weak_regularisation(lab: Laboratory) -> None:
    """OEG degrades without strong regularisation (Schmidt et al. 2015, section 1, of Collins et al. 2008): on OCR it is
    ahead of L-BFGS after 30 passes at l2 = 1 and behind it at l2 = 0.001; and what it reaches gets worse with each
    smaller l2.
    """
    solvers = (
        OEG(accelerate=False),
        OEG(accelerate=False, sampling="uniform", step="published"),
        SDCA(),
        SDCA(sampling="uniform"),
        LBFGS(),
        OEG(),  # accelerated, which no paper has: to be seen beside the others
        SDCA(accelerate=True),
    )
    strengths, points = (1.0, 0.1, 0.01, 0.001), (30, 100)
    reached: dict[tuple[float, Solver, int], float] = {}
    for l2 in strengths:
        for solver in solvers:
            run = lab.run("ocr", solver, l2, whole_passes=max(points))
            for passes in points:
                reached[l2, solver, passes] = best_after(run, passes)
    print("\n  relative suboptimality after 30 and 100 passes (smallest so far)")
    print(f"  {'l2':42}" + "".join(f"{l2:>20g}" for l2 in strengths))
    for solver in solvers:
        cells = ("  ".join(f"{reached[l2, solver, passes]:9.1e}" for passes in points) for l2 in strengths)
        print(f"  {spelled(solver):42}" + "".join(cells))
    for solver in solvers[:2]:
        name = spelled(solver)
        values = [reached[l2, solver, 30] for l2 in strengths]
        peers = [reached[l2, LBFGS(), 30] for l2 in strengths]
        print(f"  {name} after 30 passes")
        lab.answer(f"  l2 = 1: {values[0]:.1e}, less than {peers[0]:.1e} of LBFGS()", values[0] < peers[0])
        lab.answer(f"  l2 = 0.001: {values[-1]:.1e}, more than {peers[-1]:.1e} of LBFGS()", values[-1] > peers[-1])
        lab.answer("  more with each smaller l2", all(a < b for a, b in pairwise(values)))


def best_after(run: Trace, passes: int) -> float:
    """The smallest suboptimality within so many passes; a run that reached the smallest level ended early."""
    pairs = zip(run.curve["passes"], run.curve["suboptimality"], strict=True)
    return min((value for done, value in pairs if done <= passes), default=math.inf)


# ---- Vishwanathan et al. 2006 -----------------------------------------------------------------------------


def smd(lab: Laboratory) -> None:
    """On base NP chunking, batches of 8, SMD ends at a better F1 than SGD with the same first gain 0.1, at that of
    L-BFGS, and gets there in a fraction of its passes; the perceptron ends lowest (Vishwanathan et al. 2006, 4.1).
    """
    n_passes, points = min(lab.max_passes, 100), (1, 2, 5, 10, 30, 100)
    problem, test = lab.task("base-np")
    optimum = lab.report.optimum("base-np", problem)
    solvers = (SMD(eta=0.1), SGD(eta=0.1, batch_size=8), LBFGS(corrections=5), Perceptron(average=False))

    def f1(progress: Progress) -> dict[str, float]:
        return {"f1": test.scores(problem, progress.weights())["f1"]}

    runs = []
    for solver in solvers:
        run = trace("base-np", problem, solver, optimum, max_passes=n_passes, seed=lab.seed, measure=f1)
        runs.append(lab.report.keep(run))
        print(f"\n  {run.solver}")
        if isinstance(solver, SMD | SGD):
            every = math.ceil(problem.n_blocks / solver.batch_size / 8)
            first = trace(
                "base-np",
                problem,
                solver,
                optimum,
                max_passes=1,
                seed=lab.seed,
                callback_every=every,
                measure=f1,
            )
            lab.report.keep(first)
            print("  F1 in eighths of the first pass:  " + "  ".join(f"{value:.4f}" for value in first.curve["f1"]))
        seen = [passes for passes in points if passes <= len(run.curve["f1"])]
        print("  passes: F1, suboptimality:  " + "   ".join(_score(run, passes) for passes in seen), flush=True)
    meta, plain, batch_run, perceptron = (np.array(run.curve["f1"]) for run in runs)
    print()
    lab.answer(f"F1 at the end: SMD {meta[-1]:.4f} more than SGD {plain[-1]:.4f}", meta[-1] > plain[-1])
    lab.answer(
        f"suboptimality at the end: SMD {runs[0].curve['suboptimality'][-1]:.1e} less than SGD "
        f"{runs[1].curve['suboptimality'][-1]:.1e}",
        runs[0].curve["suboptimality"][-1] < runs[1].curve["suboptimality"][-1],
    )
    lab.answer(f"F1 at the end: SMD {meta[-1]:.4f} within 0.001 of L-BFGS {batch_run[-1]:.4f}", _close(meta, batch_run))
    goal = batch_run[-1] - 0.001
    needed = [int(np.argmax(curve >= goal)) + 1 if (curve >= goal).any() else math.inf for curve in (meta, batch_run)]
    lab.answer(
        f"passes to {goal:.4f}: SMD {needed[0]}, less than a fifth of L-BFGS {needed[1]}", needed[0] * 5 < needed[1]
    )
    lab.answer(
        f"F1 at the end: perceptron {perceptron[-1]:.4f} less than SGD {plain[-1]:.4f}", perceptron[-1] < plain[-1]
    )


def _score(run: Trace, passes: int) -> str:
    return f"{passes}: {run.curve['f1'][passes - 1]:.4f}, {run.curve['suboptimality'][passes - 1]:.1e}"


def _close(a: np.ndarray, b: np.ndarray) -> bool:
    return bool(abs(a[-1] - b[-1]) <= 0.001)


CLAIMS: dict[str, Callable[[Laboratory], None]] = {
    claim.__name__: claim
    for claim in (
        gap_sampling,
        importance_sampling,
        max_sampling,
        oeg_like_sdca,
        sdca_against_sag,
        one_newton_step,
        sag_sampling,
        svrg,
        saga,
        hybrid,
        weak_regularisation,
        smd,
    )
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("claims", nargs="*", metavar="CLAIM", help=f"of {', '.join(CLAIMS)}; default: all")
    parser.add_argument("--list", action="store_true", help="say the claims and end")
    add_limits(parser)
    parser.set_defaults(max_passes=300)
    arguments = parser.parse_args()
    unknown = [name for name in arguments.claims if name not in CLAIMS]
    if unknown:
        parser.error(f"there is no claim {unknown[0]!r}; expected some of {', '.join(CLAIMS)}")
    if arguments.list:
        for name, claim in CLAIMS.items():
            print(f"{name}\n    {_text(claim)}")
        return
    lab = Laboratory(Report(arguments.json), arguments.max_passes, arguments.max_seconds, arguments.seed)
    verdicts = {name: judge(lab, name) for name in arguments.claims or CLAIMS}
    print()
    for name, verdict in verdicts.items():
        print(f"{name:22} {verdict}")
    lab.report.end()


def judge(lab: Laboratory, name: str) -> str:
    """Measure a claim; the verdict as text."""
    print(f"\n==== {name}\n  {_text(CLAIMS[name])}", flush=True)
    lab.answers = []
    CLAIMS[name](lab)
    settled = [answer for answer in lab.answers if answer is not None]
    verdict = "holds" if all(settled) else "holds partly" if any(settled) else "does not hold"
    if not settled:
        verdict = "not settled"
    verdict += f" ({sum(settled)} of {len(settled)} answers are yes"
    open_questions = len(lab.answers) - len(settled)
    verdict += f", {open_questions} not settled)" if open_questions else ")"
    print(f"\n  verdict: {verdict}", flush=True)
    return verdict


def _text(claim: Callable[[Laboratory], None]) -> str:
    return " ".join((inspect.getdoc(claim) or "").split())


if __name__ == "__main__":
    main()
