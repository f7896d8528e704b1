"""A model of the size of GROBID's header model, by ``dualfield train`` and by Wapiti: whole processes.

2,500 headers of scientific articles are generated: 30 columns, 42 labels (``I-<title>``, ``<title>`` and so on), about
90 tokens each. The template has the rules of such models, windows and pairs over all columns, in their syntax. With a
weight for each observation and label that makes tens of millions. The penalties are Wapiti's defaults, rho1 = 0.5 and
rho2 = 1e-4, and so is its method, L-BFGS (OWL-QN). Reported:

* for dualfield, CPU and wall seconds from the files to the model, the objective after ``--passes`` passes, and the CPU
  seconds of ``dualfield convert`` to Wapiti's format. With so small a rho2 the proven lower bound rises late, so
  training ends by the number of passes;
* for Wapiti, CPU seconds an iteration, which is the difference of a run of N iterations and a run of one, the objective
  after N iterations, and how many iterations take as long as all of dualfield's training;
* whether Wapiti gives other labels than dualfield with the converted model, on headers that neither has seen.

Wapiti is a program in C, which is not installed with the peers. Its source is in the sdist ``libwapiti`` on PyPI:
``make`` in the folder ``cwapiti`` builds it. The benchmark takes ``wapiti`` where it is on the PATH, or the program
that ``--wapiti`` names, and says so where there is none. Needs no data. Times depend on the load: compare CPU seconds.

    python benchmarks/peers/headers.py [--wapiti PROGRAM] [--sequences 2500] [--passes 100] [--iterations 5]
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import random
import re
import shutil
import subprocess
import sys
import tempfile
from bisect import bisect
from itertools import accumulate
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[2]))
from benchmarks.processes import run

RHO1, RHO2 = 0.5, 1e-4  # Wapiti's defaults
TEST = 50
FIELDS = (
    "title author affiliation address email date abstract keyword dedication submission reference copyright funding "
    "intro web phone pubnum degree note doctype group"
).split()
TITLE_LIKE, DIGIT_LIKE = {"title", "author", "affiliation", "address"}, {"date", "phone", "pubnum", "copyright"}
# Which neighbours of each column a model of this kind sees.
WINDOWS = {
    0: range(-4, 5),
    1: range(-2, 3),
    **dict.fromkeys(range(2, 10), (0,)),
    **dict.fromkeys(range(10, 19), (-1, 0, 1)),
    **dict.fromkeys(range(19, 28), (0, 1)),
    28: range(-2, 3),
    29: (-1, 0, 1),
}
PAIRS = [((-1, 0), (0, 0)), ((0, 0), (1, 0)), ((1, 0), (2, 0)), ((-2, 0), (-1, 0)), ((0, 0), (-1, 28))]
PAIRS += [((0, 16), (1, 16)), ((-1, 16), (0, 16))]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--wapiti", metavar="PROGRAM", default="wapiti", help="Wapiti's executable")
    parser.add_argument("--sequences", type=int, default=2500, metavar="N", help="how many headers to train on")
    parser.add_argument("--iterations", type=int, default=5, metavar="N", help="how many Wapiti is given, from 2")
    parser.add_argument("--passes", type=int, default=100, metavar="N", help="how many dualfield is given")
    parser.add_argument("--json", type=Path, help="also write the results here")
    arguments = parser.parse_args()
    if min(arguments.sequences, arguments.passes) < 1 or arguments.iterations < 2:
        parser.error("--sequences and --passes take whole numbers from 1, --iterations from 2.")
    wapiti = shutil.which(arguments.wapiti)
    print(f"load before: {os.getloadavg()[0]:.2f}; {os.cpu_count()} cores; {platform.platform()}", flush=True)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        tokens = write_headers(folder / "train.txt", arguments.sequences, seed=1)
        write_headers(folder / "test.txt", TEST, seed=2)
        (folder / "template").write_text(template())
        print(f"{arguments.sequences:,} sequences, {tokens:,} tokens", flush=True)
        results: dict[str, Any] = {"sequences": arguments.sequences, "tokens": tokens}
        results["dualfield"] = ours = train_here(folder, arguments.passes)
        print(
            f"dualfield: {ours['cpu']:.0f} CPU s ({ours['wall']:.0f} s by the clock) for {ours['passes']} passes, "
            f"objective {ours['objective']:.2f}, at least {ours['lower_bound']:.2f}; {ours['memory'] / 1e9:.1f} GB; "
            f"written for Wapiti in {ours['convert_cpu']:.0f} CPU s",
            flush=True,
        )
        if wapiti is None:
            print(f"Wapiti: there is no program {arguments.wapiti!r}, so nothing was measured beside; see --help.")
        else:
            results["wapiti"] = theirs = train_there(wapiti, folder, arguments.iterations)
            per_iteration = theirs["cpu_per_iteration"]
            print(
                f"Wapiti: {per_iteration:.1f} CPU s an iteration, objective {theirs['objective']:.2f} after "
                f"{arguments.iterations}; dualfield's training took as long as {ours['cpu'] / per_iteration:.1f} "
                f"iterations; {theirs['memory'] / 1e9:.1f} GB"
            )
            results["differing"] = differing = differing_labels(wapiti, folder)
            print(f"labels that differ, with the converted model: {differing[0]} of {differing[1]:,}")
        results["weights"] = weights = number_of_weights(folder, ours["labels"])
    print(
        f"{ours['labels']} labels, {weights:,} weights, of which {ours['nonzero']:,} are not zero in dualfield's model"
    )
    print(f"load after: {os.getloadavg()[0]:.2f}")
    if arguments.json:
        arguments.json.write_text(json.dumps(results, indent=1))


# ---- the two programs --------------------------------------------------------------------------------------


def train_here(folder: Path, passes: int) -> dict[str, Any]:
    command = [sys.executable, "-m", "dualfield"]
    penalties = ["--l1", str(RHO1), "--l2", str(RHO2)]
    only = ["--no-bias", "--no-begin", "--no-end"]  # Wapiti has no such weights but by the template
    files = [str(folder / "train.txt"), "--features", str(folder / "template"), "--template-syntax", "wapiti"]
    model = str(folder / "ours.safetensors")
    limits = ["--max-passes", str(passes), "--tol", "1e-2"]
    trained = run([*command, "train", *files, *penalties, *only, *limits, "--quiet", "--json", "-o", model])
    converted = run([*command, "convert", model, str(folder / "ours.wapiti"), "--to", "wapiti"])
    record = json.loads(trained["output"])["model"]
    return {
        **{name: record[name] for name in ("passes", "objective", "lower_bound", "status")},
        **{name: trained[name] for name in ("cpu", "wall", "memory")},
        "labels": len(record["labels"]),
        "nonzero": record["weights"],  # with l1, a model keeps no others
        "convert_cpu": converted["cpu"],
    }


def number_of_weights(folder: Path, labels: int) -> int:
    """One for each observation and label, and for each pair of labels."""
    from dualfield.features import Template
    from dualfield.io import read_tokens

    tokens = read_tokens(folder / "train.txt")
    encoded = Template.wapiti(template()).encode(tokens.with_columns(range(tokens.n_columns - 1)))
    return len(encoded.vocabulary) * labels + labels**2


def train_there(wapiti: str, folder: Path, iterations: int) -> dict[str, float]:
    def trained(count: int) -> tuple[dict[str, Any], str]:
        log = folder / "wapiti.log"
        options = f"--maxiter {count} --stopwin {count + 1} --objwin {count + 1} -p {folder / 'template'}"
        arguments = f"train {options} {folder / 'train.txt'} {folder / 'theirs.wapiti'} 2> {log}"
        return run(["sh", "-c", f'"$0" {arguments}', wapiti]), log.read_text()

    one, _ = trained(1)
    many, log = trained(iterations)
    objectives = [float(found) for found in re.findall(r"obj=\s*([0-9.]+)", log)]
    if len(objectives) != iterations:
        sys.exit(f"Wapiti did {len(objectives)} iterations; expected {iterations}. It said:\n{log[-2000:]}")
    return {
        "cpu_per_iteration": (many["cpu"] - one["cpu"]) / (iterations - 1),
        "objective": objectives[-1],
        "memory": many["memory"],
    }


def differing_labels(wapiti: str, folder: Path) -> tuple[int, int]:
    """Labels of unseen headers that differ between the two programs with the same model, and of how many."""
    model, test = str(folder / "ours.wapiti"), str(folder / "test.txt")
    theirs = subprocess.run([wapiti, "label", "-m", model, test], capture_output=True, text=True, check=True).stdout
    run([sys.executable, "-m", "dualfield", "tag", test, "-m", model, "-o", str(folder / "ours.txt")])
    ours = (folder / "ours.txt").read_text()
    pairs = [[line.split()[-1] for line in text.splitlines() if line.strip()] for text in (ours, theirs)]
    return sum(a != b for a, b in zip(*pairs, strict=True)), len(pairs[0])


# ---- template and data -------------------------------------------------------------------------------------


def template() -> str:
    """The rules, in the syntax that CRF++ and Wapiti share."""
    macros = [f"%x[{offset},{column}]" for column, offsets in WINDOWS.items() for offset in offsets]
    macros += ["/".join(f"%x[{offset},{column}]" for offset, column in pair) for pair in PAIRS]
    return "\n".join(["# windows and pairs", *(f"U{n:03d}:{macro}" for n, macro in enumerate(macros)), "", "B", ""])


def write_headers(path: Path, count: int, seed: int) -> int:
    """Headers as column files have them; how many tokens."""
    words, shares = vocabulary()
    rng, tokens = random.Random(seed), 0
    with path.open("w", encoding="utf-8") as file:
        for _ in range(count):
            lines = header(rng, words, shares)
            tokens += len(lines)
            file.write("\n".join(lines) + "\n\n")
    return tokens


def vocabulary() -> tuple[list[str], list[float]]:
    """40,000 words, and the sums of their frequencies, which fall as 1 / rank."""
    rng = random.Random(0)
    syllables = [a + b for a in "bcdfghklmnprstvw" for b in ("a", "e", "i", "o", "u", "al", "en", "is")]
    words = list(dict.fromkeys("".join(rng.choices(syllables, k=rng.randint(1, 5))) for _ in range(60_000)))[:40_000]
    return words, list(accumulate(1 / rank for rank in range(1, len(words) + 1)))


def header(rng: random.Random, words: list[str], shares: list[float]) -> list[str]:
    lines: list[str] = []
    for field in sorted(rng.sample(FIELDS, 8), key=lambda name: FIELDS.index(name) + rng.gauss(0, 2)):
        length = max(1, int(rng.expovariate(1 / (45 if field == "abstract" else 10))))
        number, bold, font = FIELDS.index(field), field == "title", "HIGHERFONT" if field == "title" else "SAMEFONTSIZE"
        for n in range(length):
            place = bisect(shares, rng.random() * shares[-1])
            if rng.random() < 0.4:  # a word of this field's own
                place = (place * len(FIELDS) + number) % len(words)
            token = words[min(place, len(words) - 1)]
            if field in DIGIT_LIKE and rng.random() < 0.4:
                token = str(rng.randint(1, 3000))
            elif rng.random() < 0.12:
                token = rng.choice(",.;:()-@")
            elif field in TITLE_LIKE and rng.random() < 0.7:
                token = token.capitalize()
            block = "BLOCKSTART" if n == 0 else "BLOCKEND" if n == length - 1 else "BLOCKIN"
            line = "LINESTART" if n % 9 == 0 else "LINEEND" if n % 9 == 8 else "LINEIN"
            layout = [block, line, font if n == 0 else "SAMEFONT", bold, rng.random() < 0.05, False]
            label = f"I-<{field}>" if n == 0 else f"<{field}>"
            lines.append(" ".join([*columns(token, layout, rng), label]))
    return lines


def columns(token: str, layout: list[Any], rng: random.Random) -> list[str]:
    """Thirty columns: the token, its small form, its two ends, layout, shape, nine lists of names, punctuation."""
    low = token.lower()
    shape = "ALLCAP" if token.isupper() else "INITCAP" if token[0].isupper() else "NOCAPS"
    digits = "ALLDIGIT" if token.isdigit() else "NODIGIT"
    lists = [(len(low) * 7 + ord(low[0]) * (n + 3)) % 11 == 0 for n in range(9)]
    marks = {",": "COMMA", ".": "DOT", "(": "OPENBRACKET", ")": "ENDBRACKET", "-": "HYPHEN"}
    punctuation = "NOPUNCT" if token[0].isalnum() else marks.get(token, "PUNCT")
    own = [token, low, *(token[:n] for n in range(1, 5)), *(token[-n:] for n in range(1, 5))]
    parts = [*own, *layout, shape, digits, len(token) == 1, *lists, punctuation, rng.randint(0, 3)]
    return [str(int(part)) if isinstance(part, bool) else str(part) for part in parts]


if __name__ == "__main__":
    main()
