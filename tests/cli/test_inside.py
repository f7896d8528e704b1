"""``inspect``, and the report of ``train``, run as a user would."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from dualfield import ChainCRF
from dualfield.datasets import travel_sentences
from dualfield.inspection import top_weights, transitions
from dualfield.io import write_columns

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("model") / "m"
    X = [[[f"w={k}", "w[0]=[red]x"] for k in range(3)]] * 4
    ChainCRF(random_state=0).fit(X, [["A", "B", "A"]] * 4).save(path)
    return path


@pytest.fixture
def files(tmp_path: Path) -> Path:
    for name, n, seed in (("train.txt", 100, 0), ("test.txt", 40, 1)):
        write_columns(travel_sentences(n, seed), tmp_path / name)
    return tmp_path


def test_inspect_shows_certificate_transitions_and_weights(command: Run, model: Path) -> None:
    code, out, err = command("inspect", model)
    assert (code, err) == (0, "")
    crf = ChainCRF.load(model)
    assert crf.solution_.message in out
    assert str(transitions(crf)) in out
    assert str(top_weights(crf, 10)) in out
    assert "w[0]=[red]x" in out


def test_tables_are_no_wider_than_the_terminal(
    command: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    labels = [f"LABEL{k}" for k in range(49)]
    ChainCRF(max_passes=1, tol=0, random_state=0).fit([[["a"]] * 49], [labels]).save(tmp_path / "m")
    tables = command("inspect", tmp_path / "m", "--top", 1)[1].split("Weights of transitions")[1]
    assert max(map(len, tables.split("\n"))) > 400  # a file may have any width
    monkeypatch.setenv("COLUMNS", "70")
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    tables = command("inspect", tmp_path / "m", "--top", 1)[1].split("Weights of transitions")[1]
    assert 60 < max(map(len, tables.split("\n"))) <= 70


def test_inspect_one_label_or_attribute(command: Run, model: Path) -> None:
    code, out, _ = command("inspect", model, "--label", "B", "--top", 2)
    assert code == 0
    assert out.strip() == str(top_weights(ChainCRF.load(model), 2, "B"))
    code, out, _ = command("inspect", model, "--attribute", "w=1")
    assert code == 0
    assert out.startswith("Weights of w=1\n")


def test_inspect_as_json(command: Run, model: Path) -> None:
    code, out, _ = command("inspect", model, "--json")
    assert code == 0
    content, crf = json.loads(out), ChainCRF.load(model)
    assert content["model"]["labels"] == ["A", "B"]
    assert content["model"]["duality_gap"] == crf.solution_.duality_gap
    assert content["weights"] == top_weights(crf, 10).records()
    assert content["transitions"] == transitions(crf).records()
    assert set(json.loads(command("inspect", model, "--json", "--label", "A")[1])) == {"model", "weights"}


def test_inspect_models_of_integers_and_arrays(command: Run, tmp_path: Path) -> None:
    X = [np.eye(3)] * 4
    ChainCRF(random_state=0).fit(X, [[-1, 5, 5]] * 4).save(tmp_path / "m")
    assert command("inspect", tmp_path / "m", "--label", "-1")[0] == 0
    code, out, _ = command("inspect", tmp_path / "m", "--attribute", "2", "--json")
    assert code == 0
    assert json.loads(out)["attribute"][0]["label"] == 5


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--label", "Z"), "the model has no label 'Z'; it has 'A', 'B'."),
        (("--attribute", "=1"), "the model has no attribute '=1'; among those it has: 'w=1'."),
    ],
)
def test_inspect_refuses_unknown_names(command: Run, model: Path, arguments: tuple[str, ...], message: str) -> None:
    code, out, err = command("inspect", model, *arguments)
    assert (code, out, err) == (2, "", f"Error: {message}\n")


def test_train_writes_a_report_on_held_out_sentences(command: Run, files: Path) -> None:
    arguments = ("train", files / "train.txt", "--features", "ner", "-o", files / "m", "--report", files / "r.html")
    code, _, err = command(*arguments, "--held-out", files / "test.txt")
    assert code == 0
    assert "report written to" in err
    page = (files / "r.html").read_text(encoding="utf-8")
    assert "Sentences of test.txt, which training has not seen." in page
    assert "On 40 sequences" in page
    assert "Chain CRF of train.txt" in page
    assert str(files) not in page


def test_a_report_on_the_training_sentences_says_so(command: Run, files: Path) -> None:
    arguments = ("train", files / "train.txt", "--features", "ner", "-o", files / "m", "-q")
    assert command(*arguments, "--report", files / "r.html") == (0, "", "")
    assert "These are the training sentences themselves" in (files / "r.html").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--held-out", "test.txt"), "--held-out is for the scores of a report"),
        (("--report", "no/r.html"), "does not exist"),
        (("--report", "r.html", "--held-out", "missing.txt"), "missing.txt"),
        (("--report", "r.html", "--held-out", "wide.txt"), "wide.txt has 3 columns; expected 2"),
    ],
)
def test_bad_report_options_end_before_training(
    command: Run, files: Path, monkeypatch: pytest.MonkeyPatch, options: tuple[str, ...], message: str
) -> None:
    monkeypatch.chdir(files)
    (files / "wide.txt").write_text("a b O\n")
    code, out, err = command("train", "train.txt", "--features", "ner", "-o", "m", *options)
    assert (code, out) == (2, "")
    assert message in err
    assert err.count("\n") == 1
    assert not (files / "m").exists()


def test_without_jinja_training_does_not_begin_but_the_demo_goes_on(
    command: Run, files: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "jinja2", None)
    monkeypatch.chdir(files)
    code, _, err = command("train", "train.txt", "--features", "ner", "-o", "m", "--report", "r.html")
    assert code == 2
    assert "needs Jinja2" in err
    assert not (files / "m").exists()
    code, out, _ = command("demo", "--sentences", 50)
    assert code == 0
    assert "5. No report: the report needs Jinja2" in out


def test_eval_writes_a_report_on_any_file(command: Run, files: Path) -> None:
    command("train", files / "train.txt", "--features", "ner", "-o", files / "m", "-q")
    code, out, err = command("eval", files / "test.txt", "-m", files / "m", "--report", files / "page.html")
    assert code == 0
    assert "chunks" in out
    assert err == f"report written to {files / 'page.html'}\n"
    page = (files / "page.html").read_text(encoding="utf-8")
    assert "Sentences of test.txt." in page
    assert 'id="mistakes"' in page
    command("convert", files / "test.txt", files / "test.crfsuite", "--from", "columns", "--features", "ner")
    command("train", files / "test.crfsuite", "-o", files / "n", "-q")
    report = ("--report", files / "attributes.html")
    assert command("eval", files / "test.crfsuite", "-m", files / "n", *report)[0] == 0
    assert "Sentences of test.crfsuite." in (files / "attributes.html").read_text(encoding="utf-8")
    code, out, err = command("eval", files / "test.txt", "-m", files / "m", "--report", files / "none" / "page.html")
    assert (code, out) == (2, "")  # before any work
