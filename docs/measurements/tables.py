"""Put what is in benchmarks/results onto the pages, so that no figure of a results file is typed.

A page says where a table comes from, and this script writes what stands between the two comments:

    <!-- from benchmarks/results/scaling.txt: tiny: -->
    <!-- end -->

takes the paragraph of that text file that begins with "tiny:", as it stands there. What RENDERED below names, a file or
a file with the name of a table, becomes a table. A test compares the pages with the files.

    python docs/measurements/tables.py
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

__all__ = ["PAGES", "filled"]

ROOT = Path(__file__).parents[2]
PAGES = sorted(Path(__file__).parent.glob("*.md"))
PLACE = re.compile(r"(<!-- from (\S+?)(?:: (.*?))? -->\n).*?(<!-- end -->)", re.DOTALL)


def filled(page: str) -> str:
    """The page with every table as its results file has it."""
    return PLACE.sub(lambda place: f"{place[1]}{_content(place[2], place[3])}\n{place[4]}", page)


def _content(file: str, beginning: str | None) -> str:
    text = (ROOT / file).read_text(encoding="utf-8")
    if (name := file if beginning is None else f"{file}: {beginning}") in RENDERED:
        return RENDERED[name](text)
    if beginning is None:
        raise ValueError(f"No function of this script makes a table of {file}.")
    paragraphs = [part for part in re.split(r"\n\s*?\n", text) if part.lstrip().startswith(beginning)]
    if len(paragraphs) != 1:
        raise ValueError(f"{len(paragraphs)} paragraphs of {file} begin with {beginning!r}; expected one.")
    lines = [line.rstrip() for line in paragraphs[0].strip("\n").split("\n")]
    return "\n".join(["```text", *lines, "```"])


def _schmidt_figure_1(text: str) -> str:
    """A row for each method, best first at the last point of the first task; a column for each point of each task."""
    points: dict[str, dict[str, str]] = {}
    for title, found in re.findall(r"^  (\w+, \d+): (.*)$", text, re.MULTILINE):
        values = (re.fullmatch(r"(.+?)(?:, (η = \S+))? (\S+)", part) for part in found.split("; "))
        points[title] = {value[1]: f"{value[3]} ({value[2]})" if value[2] else value[3] for value in values if value}
    order = list(dict.fromkeys(name for values in list(points.values())[1:] + list(points.values()) for name in values))
    lines = [f"| | {' | '.join(points)} |", "|---" * (len(points) + 1) + "|"]
    lines += [
        f"| {_plain(name)} | {' | '.join(values.get(name, '–') for values in points.values())} |" for name in order
    ]
    return "\n".join(lines)


def _plain(name: str) -> str:
    """A name in Markdown, where a star would begin emphasis."""
    return name.replace("*", r"\*")


def _gpu_training(text: str) -> str:
    """A column for each task, a row for each number; "–" where it was not measured."""
    rows: list[dict[str, Any]] = [json.loads(line) for line in text.splitlines()]
    tasks = {
        ("conll", "all"): "CoNLL-2000, all pairs",
        ("conll", "observed"): "CoNLL-2000, observed pairs",
        ("pos", "all"): "Penn tags of UD EWT, all pairs",
    }
    numbers = [
        ("1e-3 of the optimum, GPU", "gpu", None, "s to 0.001"),
        ("1e-6 of the optimum, GPU", "gpu", None, "s to 1e-06"),
        ("a certified 1e-3, GPU", "gpu", None, "s to certified 0.001"),
        ("a certified 1e-6, GPU", "gpu", None, "s to certified 1e-06"),
        ("a certified 1e-3, OEG on 16 threads", "16 threads", "oeg", "s to certified 0.001"),
        ("a certified 1e-3, OEG on one thread", "1 threads", "oeg", "s to certified 0.001"),
        ("a certified 1e-3, L-BFGS on 16 threads", "16 threads", "lbfgs", "s to certified 0.001"),
        ("ms for an evaluation, GPU", "gpu", None, "milliseconds an evaluation"),
        ("GB of the GPU, at most so far in the process", "gpu", None, "GB at most"),
    ]
    lines = [f"| seconds to | {' | '.join(tasks.values())} |", "|---" * (len(tasks) + 1) + "|"]
    for title, where, solver, number in numbers:
        cells = []
        for task in tasks:
            values = [
                row[number]
                for row in rows
                if (row["task"], row["pairs"], row["where"], row.get("solver")) == (*task, where, solver)
            ]
            cells.append(f"{values[0]:.2g}" if values else "–")
        lines.append(f"| {title} | {' | '.join(cells)} |")
    return "\n".join(lines)


def _table(heads: list[str], rows: Iterable[list[str]]) -> str:
    lines = [f"| {' | '.join(heads)} |", "|---" * len(heads) + "|"]
    return "\n".join([*lines, *(f"| {' | '.join(row)} |" for row in rows)])


def _power(value: float) -> str:
    """3.6e-4 for 0.00036."""
    mantissa, exponent = f"{value:.1e}".split("e")
    return f"{mantissa}e{int(exponent)}"


def _where(environment: dict[str, Any]) -> str:
    """What a reader must know of the machine, in a line of its own below a table."""
    return (
        f"\n\nMeasured on {environment['processor']}, {environment['cores']} cores, Python {environment['python']}, "
        f"commit {environment['commit']}, load {environment['load']} before."
    )


# What each task of text_tasks.py is called, and what others report on its test part.
_PRESET_TASKS = {
    "dutch": ("CoNLL-2002, Dutch names", "0.7705, best of the shared task"),
    "bio": ("JNLPBA-2004, names in abstracts", "0.699, the CRF of Settles (2004)"),
    "pos": ("UD English EWT, 49 Penn tags", ""),
}


def _text_tasks(text: str) -> str:
    measured = json.loads(text)
    rows = []
    for task in measured["tasks"]:
        title, others = _PRESET_TASKS[task["task"]]
        what = f"`{task['preset']}`, {float(task['l2']):g}" + (
            ", observed pairs" if task["pairs"] == "observed" else ""
        )
        score = f"{'F1' if 'precision' in task else 'accuracy'} {task['score']:.3f}"
        memory = f"{task['memory'] / 1e6:.0f} MB" if task["memory"] < 1e9 else f"{task['memory'] / 1e9:.1f} GB"
        rows.append(
            [title, what, f"`{task['tested_on']}`", score, others, f"{task['cpu']:.0f}", memory, _power(task["gap"])]
        )
    heads = ["task", "preset, l2", "tested on", "result", "for comparison", "CPU s", "peak memory", "proven within"]
    return _table(heads, rows) + _where(measured["environment"])


def _presets(text: str) -> str:
    measured = json.loads(text)
    rows = []
    for task in measured["tasks"]:
        ours, theirs = task["dualfield"], task["crfsuite"]
        cells = [f"{ours['seconds']:.1f} s, {ours['passes']} passes"]
        cells += [f"{theirs['seconds']:.0f} s, {theirs['passes']} iterations", f"{task['times_less']:.1f}"]
        rows.append([task["title"], str(task["labels"]), f"{task['weights']:,}", *cells])
    heads = ["task", "labels", "weights", "dualfield (OEG)", "CRFsuite L-BFGS", "times less"]
    return _table(heads, rows) + "\n\n" + measured["how"]


def _many_labels(text: str) -> str:
    measured = json.loads(text)
    work = ["pass of OEG", "gradient", "decoding", "marginals"]
    rows = [
        [f"{row['pairs']:,}"]
        + [f"{1e6 * row['seconds'][name] / row['positions']:.1f}, {row['times_less'][name]:.1f}" for name in work]
        for row in measured["rows"]
    ]
    heads = ["transitions with a weight", "a pass of OEG", "a gradient", "decoding", "marginals"]
    return _table(heads, rows) + _where(measured["environment"])


def _roofline(text: str) -> str:
    measured = json.loads(text)
    needs, machine, bounds = measured["needs"], measured["machine"], measured["bounds"]

    def bytes_row(name: str, needed: str, rate: str) -> list[str]:
        cells = [f"{needs[needed] / 1e9:.2f} GB", f"{machine[rate] / 1e9:.1f} GB/s"]
        return [name, *cells, f"{needs[needed] / machine[rate]:.3f}"]

    larger = max(bounds, key=bounds.__getitem__)
    operations = [
        f"{needs['flops'] / 1e9:.2f} Gflop",
        f"{machine['flops'] / 1e9:.1f} Gflop/s",
        f"{bounds['flops']:.3f}",
    ]
    rows = [
        ["operations", *operations],
        bytes_row("rows of weights, read for scores, read and written by steps", "row_bytes", "rows"),
        bytes_row("duals, in float32, and indices", "other_bytes", "stream"),
        [f"the larger, {'operations' if larger == 'flops' else larger}", "", "", f"{bounds[larger]:.3f}"],
        ["**a pass**", "", "", f"**{measured['seconds']:.3f}**, {measured['ratio']:.1f} times the larger"],
    ]
    return _table(["", "needed", "the machine", "seconds"], rows) + _where(measured["environment"])


def _denoising_solvers(text: str) -> str:
    measured = json.loads(text)
    least, traces = measured["solvers"]["least"], measured["solvers"]["traces"]
    passes = [1, 2, 5, 10, 20, 50]
    rows = []
    for name, trace in traces.items():
        points, cells = trace["points"], []
        for number in passes:
            # What ended is shown where it ended, and then no more.
            upto = [point for point in points if point["passes"] <= number]
            ended = number > trace["passes"] and cells and points[-1]["passes"] <= passes[len(cells) - 1]
            at = upto[-1] if upto else points[0]
            cells.append("" if ended else f"{at['objective'] - least:,.1f} ({100 * at['error']:.2f})")
        rows.append([name, *cells, f"{trace['cpu_seconds'] / trace['passes']:.2f}"])
    return _table(["solver", *map(str, passes), "CPU s a pass"], rows) + _where(measured["environment"])


_CRITERIA = {
    "logistic": "logistic regression",
    "mean_field": "mean field",
    "bp": "loopy BP",
    "trw": "TRW",
    "pseudo_likelihood": "pseudo-likelihood, predicted by BP",
}


def _denoising_criteria(text: str) -> str:
    rows = []
    for found in json.loads(text)["criteria"]:
        passes = str(found["passes"]) + ("" if found["status"] == "converged" else ", not converged")
        edges = ", ".join(f"{weight:.3f}" for weight in found["edge_weights"]).replace("-", "−")
        name, certificate = _CRITERIA[found["criterion"]], found["certificate"]
        rows.append([name, f"{100 * found['error']:.2f}", edges, passes, certificate])
    heads = ["criterion", "errors %", "edge weights θ: constant, difference", "passes", "certificate"]
    return _table(heads, rows)


def _denoising_edges(text: str) -> str:
    sweep = json.loads(text)["edge_l2"]
    errors = [f"{100 * found['error']:.2f}" for found in sweep]
    return _table(["`edge_l2`", *(f"{found['edge_l2']:,.0f}" for found in sweep)], [["errors %", *errors]])


def _propagation(text: str) -> str:
    measured = json.loads(text)
    rows = [
        [
            *(f"{row['side']} × {row['side']}", str(row["labels"]), f"{row['edges']:,}"),
            *(f"{1 / row['bp']:,.0f}", f"{row['bp'] / (2 * row['edges']) * 1e9:.1f}", f"{1 / row['trw']:,.0f}"),
        ]
        for row in measured["seconds a sweep"]
        if row["side"] in (10, 100)
    ]
    growth = ", ".join(f"{power:.2f} with {labels} labels" for labels, power in measured["exponents"].items())
    heads = ["grid", "labels", "edges", "sweeps a second", "ns a message", "tree-reweighted sweeps a second"]
    table = _table(heads, rows) + f"\n\nSeconds a sweep grow like a power of the number of edges: {growth}."
    return table + _where(measured["environment"])


def _tagging_latency(text: str) -> str:
    measured = json.loads(text)
    rows = []
    for name, medians in measured["results"].items():
        theirs, ours = medians["python-crfsuite"], medians["dualfield"]
        rows.append([name, f"{theirs:.2f}", f"{ours:.2f}", f"{ours / theirs:.2f}"])
    return _table(["", "python-crfsuite", "dualfield", "ratio"], rows) + _where(measured["environment"])


_RESULTS = "benchmarks/results/"
RENDERED: dict[str, Callable[[str], str]] = {
    _RESULTS + "gpu_training.jsonl": _gpu_training,
    _RESULTS + "schmidt_2015_figure_1.txt": _schmidt_figure_1,
    _RESULTS + "text_tasks.json": _text_tasks,
    _RESULTS + "presets.json": _presets,
    _RESULTS + "many_labels.json": _many_labels,
    _RESULTS + "roofline.json": _roofline,
    _RESULTS + "denoising.json: solvers": _denoising_solvers,
    _RESULTS + "denoising.json: criteria": _denoising_criteria,
    _RESULTS + "denoising.json: edge_l2": _denoising_edges,
    _RESULTS + "propagation.json": _propagation,
    _RESULTS + "tagging_latency.json": _tagging_latency,
}


if __name__ == "__main__":
    for path in PAGES:
        path.write_text(filled(path.read_text(encoding="utf-8")), encoding="utf-8")
