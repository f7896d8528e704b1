"""How the command line behaves: config files, JSON, exit codes, help, completion, interruption."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from dualfield import ChainCRF
from dualfield.cli.conduct import conducted
from dualfield.datasets import travel_sentences
from dualfield.io import write_columns
from dualfield.memory import DoesNotFit

Run = Callable[..., tuple[int, str, str]]
COMMANDS = ("train", "encode", "tag", "eval", "inspect", "convert", "demo")
START = [sys.executable, "-c", "from dualfield.cli import main; main()"]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write_columns(travel_sentences(40, 0), "train.txt")


def configured(text: str) -> str:
    Path("c.toml").write_text(text, encoding="utf-8")
    return "c.toml"


def test_options_come_from_a_file_and_the_command_line_wins(command: Run) -> None:
    Path("cities.txt").write_text("Paris\n")
    config = configured(
        'features = "ner"\nl2 = 2\noutput = "m"\nmax-passes = 7\nmin_count = 2\nquiet = true\nsolver = "sdca"\n'
        'gazetteer = ["city=cities.txt"]\ntol = 1e-9\n'
    )
    assert command("train", "train.txt", "--config", config, "--max-passes", "3")[:2] == (0, "")
    crf = ChainCRF.load("m")
    assert (crf.l2, crf.max_passes, crf.min_count, crf.solver, crf.tol) == (2.0, 3, 2, "sdca", 1e-9)
    assert any(name.startswith("city") for name in crf.vocabulary_.names)
    assert command("inspect", "m", "--config", configured('json = true\nlabel = "O"\n'))[1].startswith("{")


def test_a_file_has_a_section_for_each_command(command: Run) -> None:
    config = configured(
        'quiet = true\n[train]\nfeatures = "ner"\noutput = "m"\nl2 = 2\n[tag]\nlabels-only = true\nmodel = "m"\n'
    )
    assert command("train", "train.txt", "--config", config) == (0, "", "")
    assert ChainCRF.load("m").l2 == 2.0
    config = configured('[train]\nl2 = 2\n[tag]\nlabels-only = true\nmodel = "m"\n')
    code, out, _ = command("tag", "train.txt", "--config", config)
    assert (code, out.split("\n")[0].count(" ")) == (0, 0)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("max_pases = 3", "c.toml: train has no option 'max_pases'; the nearest that it has is 'max-passes'."),
        ("config = 'c.toml'", "c.toml: train has no option 'config'"),
        ("file = 'train.txt'", "c.toml: train has no option 'file'"),
        ("quiet = 1", "c.toml: expected quiet to be true or false, found 1."),
        ("gazetteer = 'a=b'", "c.toml: expected gazetteer to be a list of strings, found 'a=b'."),
        ("l2 = [1]", "c.toml: expected l2 to be a string or a number, found [1]."),
        ("l2 = true", "c.toml: expected l2 to be a string or a number, found True."),
        ("min-count = 2\nmin_count = 2", "c.toml: 'min_count' stands twice"),
        ("l2 = ", "c.toml is no TOML file: "),
        (
            "[training]\nl2 = 2",
            "c.toml: there is no command 'training'; a section is named after one, [",
        ),
        ("[train]\nmax_pases = 3", "c.toml: train has no option 'max_pases'; the nearest that it has is 'max-passes'."),
        ("[train.l2]\nx = 3", "c.toml: expected l2 to be a string or a number, found {'x': 3}."),
        ("l2 = 1\n[train]\nl2 = 2", "c.toml: 'l2' stands twice"),
        ("#" * 20_000, "c.toml has more than 16,384 bytes, which no file of options needs"),
        ("l2 = " + "[" * 8000, "the input is nested too deeply"),
    ],
)
def test_mistakes_in_the_file_are_named(command: Run, text: str, message: str) -> None:
    code, out, err = command("train", "train.txt", "--features", "ner", "-o", "m", "--config", configured(text))
    assert (code, out) == (2, "")
    assert err.startswith(f"Error: {message}")
    assert not Path("m").exists()


def test_training_on_threads_finds_what_one_finds(command: Run) -> None:
    options = ("--features", "ner", "-q", "--solver", "lbfgs")
    for name, jobs in (("one", ()), ("two", ("--jobs", 2)), ("file", ("--config", configured("jobs = 2")))):
        assert command("train", "train.txt", "-o", name, *options, *jobs)[0] == 0
    one, two, file = (ChainCRF.load(name) for name in ("one", "two", "file"))
    assert one.weights_.tolist() == two.weights_.tolist() == file.weights_.tolist()
    assert two.n_jobs == 1  # of this machine, not of the model
    scores = [command("eval", "train.txt", "-m", "one", "--jobs", jobs)[1] for jobs in (1, 2, -1)]
    assert "F1" in scores[0]
    assert len(set(scores)) == 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ("train", "train.txt", "--features", "ner", "-o", "m", "--jobs", 0),
            "--jobs must be a positive integer, or -1",
        ),
        (("eval", "train.txt", "-m", "m", "-j", -2), "--jobs must be a positive integer, or -1 for all cores; got -2."),
        (("train", "train.txt", "--features", "ner", "-o", "m", "-j", 2, "--solver", "sgd"), "--jobs 2: sgd works on"),
        (("tag", "train.txt", "-m", "one", "-j", 2, "--format", "jsonl"), "--jobs 2: JSON lines are labelled one by"),
    ],
)
def test_threads_that_cannot_be_had_are_refused(command: Run, arguments: tuple[object, ...], message: str) -> None:
    assert command("train", "train.txt", "--features", "ner", "-o", "one", "-q")[0] == 0
    code, out, err = command(*arguments)
    assert (code, out) == (2, "")
    assert err.startswith(f"Error: {message}")
    assert not Path("m").exists()


def test_values_of_the_file_are_checked_like_those_of_the_line(command: Run) -> None:
    for text in ("l2 = 'much'", "solver = 'magic'", "format = 'csv'"):
        code, out, err = command("train", "train.txt", "--features", "ner", "-o", "m", "--config", configured(text))
        assert (code, out) == (2, "")
        assert "Invalid value" in err
    assert command("train", "train.txt", "--features", "ner", "-o", "m", "--config", "none.toml")[0] == 2


def test_train_speaks_json_on_standard_output_only(command: Run) -> None:
    code, out, err = command("train", "train.txt", "--features", "ner", "-o", "m", "--json")
    assert code == 0
    assert "proven" in err
    content, solution = json.loads(out), ChainCRF.load("m").solution_
    assert content["file"] == "m"
    assert content["training_data"]["sequences"] == 40
    assert content["model"]["status"] == "converged"
    assert content["model"]["certificate"] == "exact"
    assert content["model"]["objective"] == solution.primal
    assert content["model"]["duality_gap"] == solution.duality_gap
    assert content["model"]["relative_gap"] == solution.relative_gap <= 1e-3
    options = ("--solver", "perceptron", "--max-passes", "2", "--json", "-q")
    _, out, _ = command("train", "train.txt", "--features", "ner", "-o", "m", *options)
    assert json.loads(out)["model"]["duality_gap"] is None


def test_strict_convergence_is_an_exit_code(command: Run) -> None:
    arguments = ("train", "train.txt", "--features", "ner", "-o", "m", "-q", "--max-passes", "1", "--tol", "1e-12")
    assert command(*arguments)[0] == 0
    code, _, err = command(*arguments, "--strict-convergence")
    assert code == 1
    assert err.startswith("Warning: ")
    assert Path("m").exists()
    assert command("train", "train.txt", "--features", "ner", "-o", "m", "-q", "--strict-convergence")[0] == 0


def test_penalties_and_schemes_reach_the_model(command: Run) -> None:
    options = ("--l1", "0.5", "--l2", "0.1", "--constraints", "bio", "--tol", "1e-2", "-q")
    assert command("train", "train.txt", "--features", "ner", "-o", "m", *options)[0] == 0
    crf = ChainCRF.load("m")
    assert (crf.l1, crf.l2, crf.constraints) == (0.5, 0.1, "bio")
    rules, labels = crf.layout_.constraints, crf.classes_.tolist()
    assert rules is not None
    assert not rules.transitions[labels.index("O"), labels.index("I-CITY")]


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_help_with_an_example(command: Run, name: str) -> None:
    code, out, _ = command(name, "--help")
    assert code == 0
    assert re.search(rf"Example: dualfield {name} ", out)


def test_exit_codes_are_in_the_help(command: Run) -> None:
    assert all(word in command("--help")[1] for word in ("Exit codes: 0", "130 interrupted", *COMMANDS))


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_scripts_are_shown(shell: str) -> None:
    done = subprocess.run([*START, "--show-completion", shell], capture_output=True, text=True, check=True)
    assert "_DUALFIELD_COMPLETE=complete_" + shell in done.stdout


def test_completion_completes() -> None:
    asked = {"_DUALFIELD_COMPLETE": "complete_bash", "COMP_WORDS": "dualfield tr", "COMP_CWORD": "1"}
    done = subprocess.run(START, capture_output=True, text=True, env={**os.environ, **asked}, check=True)
    assert done.stdout.split() == ["train"]


def test_an_unknown_shell_is_refused(command: Run) -> None:
    code, _, err = command("--show-completion", "tcsh")
    assert code == 2
    assert "there is no completion for the shell 'tcsh'" in err


def test_an_interrupted_stream_ends_with_130(command: Run) -> None:
    assert command("train", "train.txt", "--features", "ner", "-o", "m", "-q")[0] == 0
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen([*START, "tag", "-", "-m", "m"], text=True, **pipes) as process:  # type: ignore[call-overload]
        process.stdin.write("Ada\n\n")
        process.stdin.flush()
        assert process.stdout.readline().startswith("Ada ")
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "Traceback" not in err


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (MemoryError(), "memory has run out; give less data"),
        (MemoryError("std::bad_alloc"), "memory has run out (std::bad_alloc); give less data"),
        (DoesNotFit("a model needs about 9 GB; lower hash_bits."), "a model needs about 9 GB; lower hash_bits."),
        (RecursionError("maximum recursion depth exceeded"), "the input is nested too deeply"),
        (OverflowError("int too large"), "a number is out of range (int too large)"),
        (OSError(28, "No space left on device"), "reading or writing failed: No space left on device."),
        (OSError(28, "No space left on device", "a.txt"), "a.txt: No space left on device."),
    ],
)
def test_what_the_input_or_the_machine_causes_is_a_sentence_and_2(
    error: Exception, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    def command() -> None:
        raise error

    with pytest.raises(SystemExit) as ended:
        conducted(command)
    out, err = capsys.readouterr()
    assert (ended.value.code, out) == (2, "")
    assert err.startswith(f"Error: {message}")
    assert err.count("\n") == 1


def test_a_mistake_of_ours_is_not_hidden() -> None:
    def command() -> None:
        raise AssertionError("never")

    with pytest.raises(AssertionError, match="never"):
        conducted(command)


CLOSED_IN, CLOSED_OUT, CLOSED_ERR, FULL = "<&-", ">&-", "2>&-", ">/dev/full"
NO_INPUT = "Error: standard input: Bad file descriptor."
NO_OUTPUT = "Error: standard output: Bad file descriptor."
NO_SPACE = "Error: standard output: No space left on device."
TAG, TAG_INPUT, SCORE, TRAIN = (
    "tag train.txt -m m",
    "tag - -m m",
    "eval train.txt -m m",
    "train train.txt --features ner",
)
CONVERT = "convert {} - --from columns --to jsonl"


@pytest.mark.parametrize(
    ("redirection", "arguments", "code", "message"),
    [
        (CLOSED_IN, TAG, 0, ""),
        (CLOSED_IN, TAG_INPUT, 2, NO_INPUT),
        (CLOSED_IN, CONVERT.format("-"), 2, NO_INPUT),
        (CLOSED_IN, f"{TRAIN} -o m2 -q", 0, ""),
        (CLOSED_OUT, TAG, 2, NO_OUTPUT),
        (CLOSED_OUT, f"{TAG} -o tagged.txt", 0, ""),
        (CLOSED_OUT, SCORE, 2, NO_OUTPUT),
        (CLOSED_OUT, "inspect m --json", 2, NO_OUTPUT),
        (CLOSED_OUT, CONVERT.format("train.txt"), 2, NO_OUTPUT),
        (CLOSED_OUT, "demo --sentences 5", 2, NO_OUTPUT),
        (CLOSED_OUT, f"{TRAIN} -o m2 -q", 0, ""),
        (CLOSED_ERR, TAG, 0, ""),
        (CLOSED_ERR, f"{TRAIN} -o m2", 0, ""),
        (CLOSED_ERR, "tag none.txt -m m", 2, ""),
        (f"{CLOSED_IN} {CLOSED_OUT} {CLOSED_ERR}", TAG, 2, ""),
        (FULL, TAG, 2, NO_SPACE),
        (FULL, SCORE, 2, NO_SPACE),
        (FULL, CONVERT.format("train.txt"), 2, NO_SPACE),
        (FULL, f"{TAG} -o tagged.txt", 0, ""),
        (f"{FULL} 2>/dev/full", "--help", 2, ""),
    ],
)
def test_a_stream_that_is_closed_or_full_matters_where_it_is_needed(
    command: Run, redirection: str, arguments: str, code: int, message: str
) -> None:
    if "/dev/full" in redirection and not Path("/dev/full").exists():
        pytest.skip("this system has no /dev/full")
    assert command("train", "train.txt", "--features", "ner", "-o", "m", "-q", "--tol", "0.1")[0] == 0
    shell = ["sh", "-c", f'exec "$@" {redirection}', "sh"]
    done = subprocess.run([*shell, *START, *arguments.split()], capture_output=True, text=True, check=False)
    assert done.returncode == code
    lines = [line for line in done.stderr.splitlines() if "pass" not in line]  # but for a progress bar
    assert lines[-1:] == ([message] if message else [])
    assert "Traceback" not in done.stderr
    if redirection == CLOSED_ERR:
        assert "Error" not in done.stdout
    if "-o tagged.txt" in arguments:
        assert Path("tagged.txt").stat().st_size > Path("train.txt").stat().st_size


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("train", "train.txt", "--features", "ner", "-o", "m"), "--jobs must be a positive integer, or -1 for all"),
        (("tag", "train.txt", "-m", "one"), "--jobs must be a positive integer, or -1 for all"),
        (("eval", "train.txt", "-m", "one"), "--jobs must be a positive integer, or -1 for all"),
    ],
)
def test_numbers_beyond_64_bits_are_refused(command: Run, arguments: tuple[object, ...], message: str) -> None:
    assert command("train", "train.txt", "--features", "ner", "-o", "one", "-q", "--tol", "0.1")[0] == 0
    code, out, err = command(*arguments, "--jobs", 2**80)
    assert (code, out) == (2, "")
    assert err == f"Error: {message} cores, below 2^63; got {2**80}.\n"
    for option in ("--min-count", "--max-passes"):
        code, _, err = command("train", "train.txt", "--features", "ner", "-o", "m", option, 2**80)
        assert code == 2
        assert err == f"Error: {option} must be a positive integer, below 2^63; got {2**80}.\n"


@pytest.mark.parametrize("encoding", ["base64", "hex", "rot13", "zip", "idna", "punycode", "undefined"])
def test_an_encoding_that_is_none_of_text_is_refused(command: Run, encoding: str) -> None:
    assert command("train", "train.txt", "--features", "ner", "-o", "m", "-q", "--tol", "0.1")[0] == 0
    for name in ("tag", "eval"):
        code, out, err = command(name, "train.txt", "-m", "m", "--encoding", encoding)
        assert (code, out) == (2, "")
        assert err.startswith(f"Error: {encoding!r} is no encoding of text files; ")


def test_bytes_that_are_no_text_are_no_separator(command: Run) -> None:
    assert command("train", "train.txt", "--features", "ner", "-o", "m", "-q", "--tol", "0.1")[0] == 0
    for what in ("separator", "comment"):
        code, out, err = command("tag", "train.txt", "-m", "m", f"--{what}", "\udcff")
        assert (code, out) == (2, "")
        assert err.startswith(f"Error: the {what} must be a string without line breaks, at least one character; found")
        assert err.count("\n") == 1
