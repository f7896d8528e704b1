"""Models of CoNLL-U on the command line: they label CoNLL-U files and plain words, and files are recognised."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from pathlib import Path

import pytest

Run = Callable[..., tuple[int, bytes, str]]
SENTENCES = [[("de", "ADP"), ("le", "DET"), ("chat", "NOUN")], [("le", "DET"), ("chien", "NOUN"), ("dort", "VERB")]]


def row(number: object, form: str, upos: str, misc: str = "_") -> str:
    return "\t".join([str(number), form, "_", upos, *"_" * 5, misc])


def conllu(masked: bool = False) -> str:
    """Sentences with comments, a range of words and an empty node, which have no labels."""
    lines = []
    for sentence in SENTENCES:
        lines += ["# text = some words here", row("1-2", "du", "_", "SpaceAfter=No")]
        lines += [row(i, form, "_" if masked else upos) for i, (form, upos) in enumerate(sentence, 1)]
        lines += [row("3.1", "", "_").replace("\t\t", "\t_\t"), ""]
    return "\n".join(lines) + "\n"


@pytest.fixture
def model(binary_command: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(tmp_path)
    Path("a.conllu").write_text(conllu() * 3)
    code, _, err = binary_command("train", "a.conllu", "--features", "pos", "-o", "m")
    assert code == 0
    assert "a.conllu is read as conllu; --format says otherwise" in err
    return "m"


@pytest.mark.parametrize("more", [(), ("--jobs", "2")])
def test_the_label_is_written_into_its_own_column(binary_command: Run, model: str, more: tuple[str, ...]) -> None:
    Path("new.conllu").write_text(conllu(masked=True))
    code, out, err = binary_command("tag", "new.conllu", "-m", model, *more)
    assert (code, err) == (0, "")
    assert out.decode() == conllu()


def test_conllu_is_recognised_by_its_lines(binary_command: Run, model: str) -> None:
    Path("new.txt.gz").write_bytes(gzip.compress(conllu(masked=True).encode("utf-16")))
    code, out, _ = binary_command("tag", "new.txt.gz", "-m", model, "--encoding", "utf-16")
    assert code == 0
    assert out.decode("utf-16") == conllu()
    Path("b.txt").write_text(conllu())
    assert binary_command("train", "b.txt", "--features", "pos", "-o", "b", "-q")[0] == 0
    assert binary_command("tag", "new.txt.gz", "-m", "b", "--encoding", "utf-16")[1] == out


def test_probabilities_are_written_where_conllu_has_a_place(binary_command: Run, model: str) -> None:
    code, out, _ = binary_command("tag", "a.conllu", "-m", model, "--probabilities", "--marginals")
    assert code == 0
    words = [line.split("\t") for line in out.decode().splitlines() if line and not line.startswith("#")]
    assert {len(fields) for fields in words} == {10}
    items = dict(item.split("=") for item in words[1][9].split("|"))
    assert float(items["Probability"]) == float(items["P(ADP)"]) > 0.5
    assert sum(float(value) for name, value in items.items() if name.startswith("P(")) == pytest.approx(1, abs=1e-5)
    assert words[0][9] == "SpaceAfter=No"  # a range of words
    code, out, _ = binary_command("tag", "a.conllu", "-m", model, "--nbest", "2")
    assert code == 0
    assert all(len(line.split("\t")) == 10 for line in out.decode().splitlines() if line and not line.startswith("#"))


def test_plain_words_are_labelled(binary_command: Run, model: str) -> None:
    text = "\n\n".join("\n".join(word for word, _ in sentence) for sentence in SENTENCES) + "\n"
    expected = "\n\n".join("\n".join(f"{word} {tag}" for word, tag in sentence) for sentence in SENTENCES) + "\n"
    Path("words.txt").write_text(text)
    assert binary_command("tag", "words.txt", "-m", model) == (0, expected.encode(), "")
    code, out, _ = binary_command("tag", "-", "-m", model, "--format", "columns", stdin=text.encode())
    assert (code, out.decode()) == (0, expected)
    Path("words.jsonl").write_text('{"tokens": ["le", "chat"]}\n')
    code, out, _ = binary_command("tag", "words.jsonl", "-m", model)
    assert (code, out) == (0, b'{"tokens": ["le", "chat"], "predicted": ["DET", "NOUN"]}\n')
    Path("labelled.txt").write_text(expected)
    assert b"100.00%" in binary_command("eval", "labelled.txt", "-m", model)[1]
    assert b"100.00%" in binary_command("eval", "a.conllu", "-m", model)[1]


def test_a_template_asks_for_the_columns_it_reads(binary_command: Run, model: str) -> None:
    Path("template.txt").write_text("U:%x[0,1]\nU:%x[0,3]\nB\n")
    options = ("--features", "template.txt", "--label-column", "8", "-q")
    text = conllu().replace("DET\t_\t_\t_\t_", "DET\t_\t_\t_\tdet").replace("N\t_\t_\t_\t_", "N\t_\t_\t_\tdep")
    Path("b.conllu").write_text(text)
    assert binary_command("train", "b.conllu", "-o", "t", *options)[0] == 0
    assert binary_command("tag", "-", "-m", "t", "--format", "columns", stdin=b"le\tDET\n")[1] == b"le\tDET\tdet\n"
    code, _, err = binary_command("tag", "-", "-m", "t", "--format", "columns", "--strict", stdin=b"le\n")
    assert code == 2
    assert "expected 2 or 3 columns, found 1" in err


def test_columns_that_the_template_does_not_read_may_be_missing(
    binary_command: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("template.txt").write_text("U:%x[0,0]\nB\n")
    Path("train.txt").write_text("a DT x A\nb NN y B\n\nb NN y B\n")
    assert binary_command("train", "train.txt", "--features", "template.txt", "-o", "m", "-q")[0] == 0
    code, out, _ = binary_command("tag", "-", "-m", "m", stdin=b"a\nb\n\nb NN\n\nb NN y B\n")
    assert (code, out) == (0, b"a A\nb B\n\nb NN B\n\nb NN y B B\n")
    code, _, err = binary_command("tag", "-", "-m", "m", "--strict", stdin=b"a b c d e\n")
    assert code == 2
    assert "expected 1 to 4 columns, found 5" in err


def test_a_model_of_columns_does_not_guess_columns_of_conllu(binary_command: Run, model: str) -> None:
    Path("train.txt").write_text("a A\nb B\n")
    assert binary_command("train", "train.txt", "--features", "pos", "-o", "c", "-q")[0] == 0
    code, out, err = binary_command("tag", "a.conllu", "-m", "c")
    assert (code, out) == (2, b"")
    assert "the model was not trained on CoNLL-U" in err


@pytest.mark.parametrize("more", [(), ("--probabilities",)])
@pytest.mark.parametrize(
    ("line", "separator"),
    [("a\tDT", "\t"), ("a DT", " "), ("a   DT", " "), ("a \t DT", "\t"), ("\ta DT", " "), ("a\tDT\t ", "\t")],
)
def test_tag_repeats_the_separator_of_the_line(
    binary_command: Run,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    line: str,
    separator: str,
    more: tuple[str, ...],
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("train.txt").write_text("a DT A\nb NN B\n")
    assert binary_command("train", "train.txt", "--features", "chunking", "-o", "m", "-q")[0] == 0
    code, out, _ = binary_command("tag", "-", "-m", "m", *more, stdin=f"{line}\r\n".encode())
    assert code == 0
    assert out.decode().startswith(f"{line}{separator}A{separator if more else ''}")
    assert out.endswith(b"\r\n")


def test_json_lines_are_recognised(binary_command: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    text = '{"tokens": ["le", "chat"], "labels": ["DET", "NOUN"]}\n'
    for name in ("train.jsonl", "train.data"):
        Path(name).write_text(text)
        assert binary_command("train", name, "--features", "pos", "-o", "m", "-q")[0] == 0
        code, out, _ = binary_command("tag", name, "-m", "m")
        assert code == 0
        assert b'"predicted": ["DET", "NOUN"]' in out
    Path("train.crfsuite").write_text("DET\tw=le\nNOUN\tw=chat\n")
    assert binary_command("train", "train.crfsuite", "-o", "m", "-q")[0] == 0
    assert binary_command("tag", "train.crfsuite", "-m", "m")[1] == b"DET\nNOUN\n\n"


def test_words_that_look_like_signs_stay_words(
    binary_command: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for first in ("# O", "{ O", '{"x"} O', "# # O"):
        other = "a " * (first.count(" ")) + "B"
        Path("train.txt").write_text(f"{first}\n{other}\n")
        assert binary_command("train", "train.txt", "--features", "pos", "-o", "m", "-q")[0] == 0
        assert binary_command("tag", "train.txt", "-m", "m")[1].decode().splitlines()[0] == f"{first} O"
