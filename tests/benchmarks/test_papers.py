"""The harness of the papers' figures: features as the authors have them, results that are kept, and fair judgement."""

from __future__ import annotations

import json
import math
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.papers import cells, harness, regressions, results
from benchmarks.papers.cells import Curve, Optimum, Sizes, Tuned, Workbench
from benchmarks.papers.claims import Claim, Run, needed
from benchmarks.papers.conll_columns import as_columns, authors_columns, conll_template, matching_columns, one_boundary
from benchmarks.papers.datasets import DATASETS
from benchmarks.papers.everything import FIGURES
from benchmarks.papers.figures import STYLES
from benchmarks.papers.methods import METHODS
from benchmarks.papers.results import Results, environment, tidy
from benchmarks.solvers.compare import parse_solver
from dualfield import fields, solve
from dualfield.features import encode
from dualfield.io import read_tokens

ROOT = Path(__file__).parents[2]

# ---- features ---------------------------------------------------------------------------------------------


def test_the_columns_of_conll_are_those_of_the_authors(data_folder: Path) -> None:
    template = conll_template()
    train, test = (
        read_tokens(data_folder / f"conll2000/{name}.txt.gz").with_columns([0, 1]) for name in ("train", "test")
    )
    X = one_boundary(template.encode(train), min_count=3)
    assert len(X.vocabulary) == 74658
    ours = as_columns(one_boundary(template.encode(test), X.vocabulary), template)
    theirs, _ = authors_columns(data_folder / "sdca4crf_mat/coNLL_test.mat")
    assert matching_columns(ours, theirs) == [True] * 19


def test_columns_that_differ_do_not_match() -> None:
    ours = np.array([[1, 1, 0], [1, 2, 1], [2, 2, 1]])
    theirs = np.array([[7, 7, 1], [7, 7, 0], [5, 7, 0]])
    assert matching_columns(ours, theirs) == [True, False, False]  # one to one; merged values; another one dropped


def test_one_symbol_stands_for_all_places_beyond_the_sentence() -> None:
    template = conll_template()
    X = one_boundary(template.encode([[("A", "D"), ("b", "N")], [("c", "N")]]))
    names = set(X.vocabulary.names)
    assert {"w[-2]=_B", "w[-1]=_B", "w[1]=_B", "w[2]=_B", "p[-2]|p[-1]=_B|_B"} <= names
    assert not any("_B-" in name or "_b" in name for name in names)
    assert "w[0]=a" in names
    assert "p[0]=D" in names
    assert np.diff(X.indptr).tolist() == [19, 19, 19]
    frequent = one_boundary(template.encode([[("A", "D"), ("b", "N")], [("c", "N")]]), min_count=3)
    assert "w[-2]=_B" in frequent.vocabulary.names
    assert "w[0]=a" not in frequent.vocabulary.names


@pytest.mark.parametrize(("name", "expected"), [("ocr", (6251, 26, 4082)), ("conll", (8936, 22, 1_643_026))])
def test_tasks_have_the_sizes_of_the_paper(name: str, expected: tuple[int, int, int], data_folder: Path) -> None:
    field = DATASETS[name].load().field
    assert (field.n_blocks, len(field.classes), field.dimension) == expected


@pytest.mark.parametrize("name", DATASETS)
def test_generated_data_stands_in_where_files_are_missing(
    name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("DUALFIELD_DATA", raising=False)
    problem = DATASETS[name].load(quick=True)
    assert problem.source == "generated"
    assert "generated instead" in capsys.readouterr().err
    learnt = solve(problem.field, tol=1e-2, random_state=0).weights
    assert problem.test_error(learnt) < problem.test_error(np.zeros(problem.field.dimension))


def test_sizes_count_what_sequences_share() -> None:
    X = [[["a"], ["b"]], [["a"], ["c"]], [["a"], ["b"]]]
    field = fields.Chain(encode(X), [["p", "q"]] * 3)

    class Bench:
        def problem(self, dataset: str) -> Any:
            return type("Problem", (), {"field": field})

    found = Sizes("ocr").measure(Bench())  # type: ignore[arg-type]
    assert (found["n"], found["N"], found["K"], found["A"], found["a"]) == (3, 6, 2, 3, 1)
    # the first and third share both attributes with one of two others and one with the other; the second one of two
    assert found["common"] == pytest.approx((0.75 + 0.5 + 0.75) / 3)


# ---- methods ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", METHODS)
def test_every_method_is_a_solver_with_a_style_of_its_own(method: str) -> None:
    parse_solver(METHODS[method].format(eta=0.1))
    looks = [(style["color"], style["linestyle"], style["marker"]) for style in (STYLES[name] for name in METHODS)]
    assert looks.count(tuple(STYLES[method][part] for part in ("color", "linestyle", "marker"))) == 1


@pytest.mark.parametrize("figure", FIGURES, ids=lambda figure: figure.name)
@pytest.mark.parametrize("quick", [True, False])
def test_every_cell_of_a_figure_can_be_told_from_the_others(figure: harness.Figure, quick: bool) -> None:
    keys = {json.dumps(cell.key(), sort_keys=True): cell for cell in figure.cells(quick)}
    for cell in figure.cells(quick):
        same = keys[json.dumps(cell.key(), sort_keys=True)]
        assert same == cell
        if isinstance(cell, Curve):
            parse_solver(cell.solver)


def test_figures_have_names_of_their_own() -> None:
    assert len({figure.name for figure in FIGURES}) == len(FIGURES)


# ---- measuring --------------------------------------------------------------------------------------------


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Workbench:
    monkeypatch.delenv("DUALFIELD_DATA", raising=False)
    monkeypatch.setattr(type(DATASETS["ner"]), "quick_sizes", (30, 10))
    return Workbench(Results(tmp_path / "cells.jsonl"), quick=True)


def test_a_measured_cell_is_read_back_and_not_measured_again(bench: Workbench) -> None:
    cell = Curve("ner", "SDCA()", passes=3)
    assert not bench.known(cell)
    bench.measure(cell)
    again = Workbench(Results(bench.results.path), quick=True)
    assert again.known(cell)
    assert again.known(Optimum("ner"))
    assert not again.known(Curve("ner", "OEG()", passes=3))
    row = again.results.get(again.key(cell))
    assert row is not None
    assert row["key"]["data"] == "generated"
    assert {"processor", "commit", "numpy", "load", "load_after", "when"} <= set(row["environment"])


def test_a_longer_run_is_asked_for_again_unless_it_had_ended(bench: Workbench) -> None:
    bench.measure(Curve("ner", "SAG()", passes=2))
    assert bench.known(Curve("ner", "SAG()", passes=2))
    assert not bench.known(Curve("ner", "SAG()", passes=3))
    bench.measure(Curve("ner", "OEG()", passes=200))
    assert bench.known(Curve("ner", "OEG()", passes=10_000))  # it has come within 1e-7


def test_curves_are_those_of_the_solver(bench: Workbench) -> None:
    bench.measure(Curve("ner", "SDCA(sampling='uniform')", passes=3))
    result = next(bench.results.find(kind="curve"))["result"]
    field = bench.problem("ner").field
    solution = solve(field, parse_solver("SDCA(sampling='uniform')"), tol=0.0, max_passes=3, random_state=0)
    assert result["curve"]["primal"][-1] == pytest.approx(solution.primal, rel=1e-9)
    assert result["curve"]["updates"] == [field.n_blocks * k for k in (1, 2, 3)]
    # P − D at the end is the confirmed gap
    gap = result["curve"]["primal"][-1] - result["curve"]["dual"][-1]
    assert gap == pytest.approx(solution.duality_gap, rel=1e-6)


def test_a_spent_budget_leaves_a_cut_cell_for_another_run(bench: Workbench) -> None:
    bench.optimum("ner", 1.0)
    spent = Workbench(bench.results, quick=True, budget=0.0)
    spent.measure(Curve("ner", "SAG()", passes=50))
    assert not spent.known(Curve("ner", "SAG()", passes=50))
    bench.measure(Curve("ner", "SAG()", passes=5))
    assert bench.known(Curve("ner", "SAG()", passes=5))


def test_the_tuned_step_ends_lowest_among_its_neighbours(bench: Workbench) -> None:
    result = bench.measure(Tuned("ner", "SGD(eta={eta})", passes=3))
    ends = {float(eta): end for eta, end in result["ends"].items()}
    assert ends[result["eta"]] == min(ends.values())
    assert len(ends) >= 3
    for eta in (result["eta"] / 10, result["eta"] * 10):
        other = cells.follow(bench, Tuned("ner", "SGD(eta={eta})"), f"SGD(eta={eta:g})", 3, 1.0)
        assert other["curve"]["primal"][-1] >= ends[result["eta"]]


def test_a_tidy_row_is_an_evaluation(bench: Workbench) -> None:
    bench.measure(Curve("ner", "SDCA()", passes=3))
    row = next(bench.results.find(kind="curve"))
    rows = list(tidy(row))
    assert [one["passes"] for one in rows] == [1, 2, 3]
    assert all(one["solver"] == "SDCA()" for one in rows)


def test_two_writers_keep_each_others_cells(tmp_path: Path) -> None:
    first, second = Results(tmp_path / "a.jsonl"), Results(tmp_path / "a.jsonl")
    first.put({"cell": 1}, {"value": 1.0}, environment())
    second.put({"cell": 2}, {"value": 1 / 3}, environment())
    first.put({"cell": 1}, {"value": 2.0}, environment())
    found = Results(tmp_path / "a.jsonl")
    assert found.get({"cell": 1})["result"] == {"value": 2}
    assert found.get({"cell": 2}) is not None


def test_a_broken_line_is_named(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text('{"key": {}, "result": {}}\n{"key"')
    with pytest.raises(SystemExit, match=r"a\.jsonl, line 2: expected a cell as JSON"):
        Results(tmp_path / "a.jsonl")


def test_results_alone_do_not_make_a_tree_dirty(tmp_path: Path) -> None:
    def git(*command: str) -> str:
        who = ["-c", "user.name=a", "-c", "user.email=a@b", "-c", "commit.gpgsign=false"]
        return subprocess.run(["git", *who, *command], cwd=tmp_path, check=True, capture_output=True, text=True).stdout

    assert results._commit(tmp_path) == "unknown"
    measured, program = tmp_path / "benchmarks" / "results" / "a.jsonl", tmp_path / "program.py"
    measured.parent.mkdir(parents=True)
    for file in (measured, program):
        file.write_text("1\n")
    git("init", "-q")
    git("add", ".")
    git("commit", "-q", "-m", "first")
    commit = git("rev-parse", "--short", "HEAD").strip()
    assert results._commit(tmp_path) == commit
    measured.write_text("2\n")
    assert results._commit(tmp_path) == commit
    program.write_text("2\n")
    assert results._commit(tmp_path) == f"{commit}-dirty"


# ---- judging ----------------------------------------------------------------------------------------------


def curve(suboptimality: list[float], calls: int = 1, blocks: int = 10, optimum: float = 100.0) -> dict[str, Any]:
    passes = list(range(1, len(suboptimality) + 1))
    primal = [optimum * (1 + value) for value in suboptimality]
    columns = {"passes": passes, "updates": [blocks * k for k in passes], "primal": primal}
    columns["oracle_calls"] = [calls * blocks * k for k in passes]
    columns["cpu_seconds"] = [0.1 * k for k in passes]
    return {"blocks": blocks, "passes": len(passes), "status": "max_passes", "cut": False, "curve": columns}


def made(name: str, suboptimality: list[float], **options: Any) -> Run:
    return Run(name, "task", curve(suboptimality, **options), 100.0)


@given(rate=st.floats(0.2, 3.0), level=st.sampled_from([1e-2, 1e-3, 1e-4]))
def test_a_linear_rate_is_read_off_between_evaluations(rate: float, level: float) -> None:
    run = made("a", [math.exp(-rate * k) for k in range(1, 60)])
    assert needed(run, level) == pytest.approx(max(1.0, -math.log(level) / rate), rel=1e-3)


def test_a_level_that_was_not_reached_has_no_count() -> None:
    assert needed(made("a", [0.5, 0.1]), 1e-2) is None


def test_fewer_and_similar_are_judged_by_their_margins() -> None:
    fast, slow = made("fast", [10.0**-k for k in range(1, 9)]), made("slow", [10 ** (-k / 2) for k in range(1, 17)])
    claim = Claim("fast is faster", "1")
    claim.fewer(fast, slow)
    claim.fewer(fast, None)
    assert claim.verdict == "holds (4 of 4 answers are yes)"
    claim = Claim("slow is faster", "1")
    claim.fewer(slow, fast)
    assert claim.verdict == "does not hold (0 of 4 answers are yes)"
    claim = Claim("as fast", "1")
    claim.similar(fast, slow)
    claim.similar(fast, fast)
    assert claim.verdict == "holds partly (4 of 8 answers are yes)"


def test_what_a_short_run_leaves_open_is_not_settled() -> None:
    claim = Claim("a is faster", "1")
    claim.fewer(made("a", [0.1, 1e-2, 1e-3, 9e-5]), made("b", [0.1, 0.05]), levels=[1e-4])
    assert claim.verdict == "not settled"  # b had two passes, a needs four
    claim = Claim("a is faster", "1")
    claim.fewer(made("a", [0.1, 9e-5]), made("b", [0.1, 0.05, 0.04]), levels=[1e-4])
    assert claim.verdict.startswith("holds")


def seeds(name: str, *rates: float) -> Run:
    """A run with a seed for each rate: powers of ten a pass."""
    first, *others = ([10 ** (-rate * k) for k in range(1, 60)] for rate in rates)
    return replace(made(name, first), others=tuple(curve(values) for values in others))


@given(rates=st.lists(st.floats(0.2, 1.0), min_size=3, max_size=3))
def test_of_three_seeds_the_median_counts(rates: list[float]) -> None:
    assert needed(seeds("a", *rates), 1e-4) == pytest.approx(4 / sorted(rates)[1], rel=1e-3)


def test_an_answer_is_one_that_all_seeds_give() -> None:
    claim = Claim("a is faster", "1")
    claim.fewer(seeds("a", 1.0, 0.8, 0.9), seeds("b", 0.4, 0.5), levels=[1e-4])
    assert claim.verdict == "holds (1 of 1 answers are yes)"
    assert "a 4.4 (4.0 to 5.0) n updates, b 10.0 (8.0 to 10.0) n" in claim.answers[0][0]
    claim = Claim("a is faster", "1")
    claim.fewer(seeds("a", 1.0, 0.5), seeds("b", 0.6, 0.7), levels=[1e-4])
    assert claim.verdict == "not settled"
    claim = Claim("a comes close", "1")
    claim.reaches(seeds("a", 1.0, 0.01), 1e-4)
    assert claim.verdict == "not settled"
    claim.reaches(seeds("a", 1.0, 0.9), 1e-4)
    claim.reaches(seeds("a", 0.01, 0.02), 1e-4)
    assert [yes for _, yes in claim.answers] == [None, True, False]


# ---- regressions ------------------------------------------------------------------------------------------


def written(path: Path, suboptimality: list[float], load: float = 0.1, **options: Any) -> Path:
    results = Results(path)
    where = {"processor": "x", "cores": 2, "load": load, "load_after": load}
    key = {"dataset": "ocr", "l2": 1.0, "data": "files"}
    results.put({"kind": "optimum", **key}, {"optimum": 100.0}, where)
    result = curve(suboptimality, **options)
    results.put({"kind": "curve", "solver": "SDCA()", "seed": 0, **key}, result, where)
    return path


def command(*arguments: object) -> subprocess.CompletedProcess[str]:
    script = ROOT / "benchmarks" / "papers" / "regressions.py"
    return subprocess.run([sys.executable, script, *map(str, arguments)], capture_output=True, text=True)


def test_a_regression_is_named_and_ends_with_code_1(tmp_path: Path) -> None:
    old = written(tmp_path / "old.jsonl", [10.0**-k for k in range(1, 8)])
    new = written(tmp_path / "new.jsonl", [10 ** (-k / 2) for k in range(1, 16)])
    worse, same, better = command(old, new), command(old, old), command(new, old)
    assert worse.returncode == 1
    assert "WORSE   ocr, l2 = 1, SDCA(): updates / n to 0.01 2 -> 4" in worse.stdout
    assert (same.returncode, better.returncode) == (0, 0)
    assert "better" in better.stdout
    assert command(old, new, "--threshold", 3, "--time-threshold", 3).returncode == 0


def test_a_run_that_was_given_less_is_no_worse(tmp_path: Path) -> None:
    values = [10.0**-k for k in range(1, 8)]
    short, long = written(tmp_path / "short.jsonl", values[:3]), written(tmp_path / "long.jsonl", values)
    stuck = written(tmp_path / "stuck.jsonl", values[:3] + [1e-3] * 4)
    assert (
        command(long, short).stdout == command(short, long).stdout == "1 runs in both; 0 numbers are worse, 0 better.\n"
    )
    assert "WORSE   ocr, l2 = 1, SDCA(): updates / n to 0.0001 4 -> not reached" in command(long, stuck).stdout


def test_runs_without_a_penalty_are_compared_by_their_passes(tmp_path: Path) -> None:
    where = {"processor": "x", "cores": 2, "load": 9.0}
    files = []
    for name, rate in (("old", 1.0), ("new", 0.5)):
        written_to, task = Results(tmp_path / f"{name}.jsonl"), {"dataset": "grid", "data": "generated"}
        written_to.put({"kind": "relaxed optimum", **task}, {"optimum": 100.0}, where)
        values = [10 ** (-rate * k) for k in range(1, 16)]
        columns = {"passes": list(range(1, 16)), "primal": [100 * (1 + value) for value in values]}
        key = {"kind": "clique curve", "method": "IDAL", "rho": 0.1, **task}
        written_to.put(key, {"passes": 15, "curve": columns}, where)
        written_to.put({"kind": "outer iterations", **task}, {"curve": {"outer": [1.0]}}, where)  # has no objective
        files.append(written_to.path)
    assert "WORSE   grid, IDAL, rho 0.1: passes to 0.01 2 -> 4" in command(*files).stdout
    assert command(*files).stdout.endswith("1 runs in both; 3 numbers are worse, 0 better.\n")


def test_times_are_compared_on_an_idle_machine_only(tmp_path: Path) -> None:
    old = written(tmp_path / "old.jsonl", [10.0**-k for k in range(1, 8)])
    busy = written(tmp_path / "busy.jsonl", [10.0**-k for k in range(1, 8)], load=5.0)
    slow = Results(busy)
    for row in list(slow.find(kind="curve")):
        row["result"]["curve"]["cpu_seconds"] = [10 * value for value in row["result"]["curve"]["cpu_seconds"]]
        slow.put(row["key"], row["result"], row["environment"])
    assert command(old, busy).returncode == 0
    for row in list(slow.find()):
        slow.put(row["key"], row["result"], {**row["environment"], "load": 0.1, "load_after": 0.1})
    assert "cpu seconds" in command(old, busy).stdout
    assert command(old, busy).returncode == 1


def test_nothing_in_common_is_an_error(tmp_path: Path) -> None:
    old = written(tmp_path / "old.jsonl", [0.1])
    (tmp_path / "empty.jsonl").write_text("")
    assert "nothing to compare" in command(old, tmp_path / "empty.jsonl").stderr
    assert "neither a commit" in command(old, "no-such-commit").stderr
    assert regressions.compare([], [], 1.2, 1.5) == ([], 0)
