"""Template files, layouts and streams on the command line: what training saw, tagging sees again."""

from __future__ import annotations

import gzip
import io
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from dualfield import ChainCRF
from dualfield.cli import main
from dualfield.datasets import travel_sentences
from dualfield.features import NumberedColumns, Template
from dualfield.models.recipe import recipe_of

Run = Callable[..., tuple[int, bytes, str]]
CRFPP = "U00:%x[-1,0]\nU01:%x[0,0]\nU02:%x[1,0]\nB\n"
WAPITI = 'u:%X[0,0]\nu:%m[0,0,".?.?$"]\nb\n'


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    text = "".join("\n".join(f"{w} {t}" for w, t in s) + "\n\n" for s in travel_sentences(60, 0))
    Path("train.txt").write_text(text)
    Path("crfpp.txt").write_text(CRFPP)
    Path("wapiti.txt").write_text(WAPITI)
    return tmp_path


def trained(binary_command: Run, *options: object) -> ChainCRF:
    code, _, err = binary_command("train", "train.txt", "-o", "m", "-q", *options)
    assert (code, err) == (0, "")
    return ChainCRF.load("m")


@pytest.mark.parametrize(("syntax", "text"), [("crfpp", CRFPP), ("wapiti", WAPITI)])
def test_the_model_remembers_the_template(binary_command: Run, folder: Path, syntax: str, text: str) -> None:
    crf = trained(binary_command, "--features", f"{syntax}.txt", "--template-syntax", syntax)
    template = getattr(Template, syntax)(text)
    assert recipe_of(crf.column_features_).template == template
    Path(f"{syntax}.txt").unlink()  # it is in the model
    words = [(word,) for word, _ in travel_sentences(1, 5)[0]]
    code, out, _ = binary_command("tag", "-", "-m", "m", stdin="\n".join(word for (word,) in words).encode())
    assert code == 0
    assert [line.split()[1] for line in out.decode().splitlines()] == crf.predict([template.strings(words)])[0]


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("template", [CRFPP, CRFPP + "B01:%x[0,0]\n"])
def test_threads_change_nothing_in_what_tag_writes(binary_command: Run, folder: Path, template: str, end: str) -> None:
    Path("crfpp.txt").write_text(template)
    trained(binary_command, "--features", "crfpp.txt")
    lines = Path("train.txt").read_text().splitlines()
    lines[40:41] = ["a b c d", "  "]  # a sentence that cannot be read, and a blank line with blanks
    lines.append("at last")  # without an end
    text = end.join(lines).encode()
    one, *more = (binary_command("tag", "-", "-m", "m", "--jobs", n, stdin=text) for n in (1, 2, 3, 200))
    assert one[0] == 0
    assert "line 41: " in one[2]
    assert more == [one] * 3
    refusals = [binary_command("tag", "-", "-m", "m", "--strict", "-j", n, stdin=text) for n in (1, 2)]
    assert refusals[0][0] == 2
    assert refusals[0] == refusals[1]


def test_hashed_attributes_need_no_vocabulary(binary_command: Run, folder: Path) -> None:
    crf = trained(binary_command, "--features", "ner", "--hash-bits", "10")
    assert crf.vocabulary_ == NumberedColumns(1024)
    code, out, _ = binary_command("eval", "train.txt", "-m", "m")
    assert code == 0
    assert b"F1" in out


def test_min_count_drops_rare_attributes(binary_command: Run, folder: Path) -> None:
    everything = trained(binary_command, "--features", "crfpp.txt")
    frequent = trained(binary_command, "--features", "crfpp.txt", "--min-count", "3")
    names = everything.vocabulary_.names
    template, sentences = Template.crfpp(CRFPP), travel_sentences(60, 0)
    counts = dict.fromkeys(names, 0)
    for sentence in sentences:
        for strings in template.strings([(word,) for word, _ in sentence]):
            for string in strings:
                counts[string] += 1
    assert frequent.vocabulary_.names == [name for name in names if counts[name] >= 3]


def test_gazetteers_reach_the_model(binary_command: Run, folder: Path) -> None:
    Path("cities.txt").write_text("Paris\nNew York\n")
    crf = trained(binary_command, "--features", "ner", "--gazetteer", "city=cities.txt")
    strings = recipe_of(crf.column_features_).template.strings([("New",), ("York",)])
    assert "city[0]=B" in strings[0]
    assert "city[0]=I" in strings[1]


def test_the_layout_of_training_is_that_of_tagging(binary_command: Run, folder: Path) -> None:
    rows = [("New York", "X"), ("is", "Y")] * 3
    text = "%% note\n-DOCSTART-|O\n" + "".join(f"{word}|{label}\n" for word, label in rows)
    Path("piped.txt").write_text(text)
    arguments = ("train", "piped.txt", "--features", "pos", "-o", "p", "-q", "--separator", "|", "--comment", "%%")
    assert binary_command(*arguments)[0] == 0
    code, out, _ = binary_command("tag", "piped.txt", "-m", "p")
    assert code == 0
    assert out.decode().splitlines()[:3] == ["%% note", "-DOCSTART-|O", "New York|X|X"]
    code, out, _ = binary_command("tag", "-", "-m", "p", "--docstart", "keep", stdin=b"-DOCSTART-|O\n")
    assert code == 0
    assert out.count(b"|") == 2


def test_conllu_is_trained_and_tagged(binary_command: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)

    def row(number: str, form: str, upos: str, xpos: str) -> str:
        return "\t".join([number, form, "_", upos, xpos, *"_" * 5])

    lines = ["# text", row("1-2", "du", "_", "_"), row("1", "de", "ADP", "IN"), row("2", "le", "DET", "DT"), ""]
    Path("a.conllu").write_text("\n".join(lines * 3))
    for options, expected in (((), ["ADP", "DET"]), (("--label-column", "5"), ["IN", "DT"])):
        arguments = ("train", "a.conllu", "--features", "ner", "--format", "conllu", "-o", "c", "-q", *options)
        assert binary_command(*arguments)[0] == 0
        code, out, _ = binary_command("tag", "a.conllu", "-m", "c")
        assert code == 0
        found = out.decode().splitlines()
        assert found[:2] == lines[:2]
        assert found[2:4] == lines[2:4]
        assert [fields.split("\t")[3 if not options else 4] for fields in found[2:4]] == expected
        assert b"100.00%" in binary_command("eval", "a.conllu", "-m", "c")[1]


# ---- streams ------------------------------------------------------------------------------------------------


def test_a_bad_sentence_is_reported_and_passed_on(binary_command: Run, folder: Path) -> None:
    trained(binary_command, "--features", "ner")
    stream = b"Ada\nflew\n\nto many columns\nhere\n\nto\nParis\n\nun\xe9\n\nend"
    code, out, err = binary_command("tag", "-", "-m", "m", stdin=stream)
    assert code == 0
    found, given = out.splitlines(), stream.splitlines()
    for line, original in zip(found, given, strict=True):
        passed_on = original in (b"", b"to many columns", b"here", b"un\xe9")
        assert (line == original) if passed_on else (line.startswith(original + b" "))
    assert "standard input, line 4: expected 1 or 2 columns, found 3" in err
    assert "standard input, line 10: byte 0xe9 is not valid utf-8" in err
    assert "2 of 5 sentences were passed on without labels" in err


def test_raw_text_given_as_columns_is_told_of_tokenize(binary_command: Run, folder: Path) -> None:
    trained(binary_command, "--features", "ner")
    hint = "If the file is raw text, add --tokenize"
    Path("letter.txt").write_text("Ada went to Paris by train.\n\nThen she slept well.\n")
    code, _, err = binary_command("tag", "letter.txt", "-m", "m")
    assert code == 2
    assert f"{hint}.\n" in err
    code, _, err = binary_command("tag", "letter.txt", "-m", "m", "--json")
    assert code == 2
    assert f"letter.txt, line 1: expected 1 or 2 columns, found 6; mend the line or give the separator. {hint}." in err
    Path("letter.txt").write_text("Ada went to Paris by train.\n\nThen she slept well.\n\nHello\n")
    code, _, err = binary_command("tag", "letter.txt", "-m", "m")
    assert code == 0
    assert f"Warning: 2 of 3 sentences were passed on without labels. {hint}." in err
    Path("letter.txt").write_text("Ada\nslept\n\nto many columns\n")
    assert hint not in binary_command("tag", "letter.txt", "-m", "m")[2]


def test_strict_tagging_stops_at_the_first_bad_sentence(binary_command: Run, folder: Path) -> None:
    trained(binary_command, "--features", "ner")
    Path("in.txt").write_bytes(b"Ada\n\nto many columns\n")
    code, _, err = binary_command("tag", "in.txt", "-m", "m", "--strict", "-o", "out.txt")
    assert code == 2
    assert err == ("Error: in.txt, line 3: expected 1 or 2 columns, found 3; mend the line or give the separator.\n")
    assert not Path("out.txt").exists()


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
@pytest.mark.parametrize("encoding", ["utf-8", "latin-1", "utf-16"])
def test_streams_keep_their_encoding_and_line_ends(
    binary_command: Run, folder: Path, newline: str, encoding: str
) -> None:
    crf = trained(binary_command, "--features", "ner")
    words = [["Zoë", "flew"], ["Ada", "née"]]
    text = (newline * 2).join(newline.join(sentence) for sentence in words) + newline
    for stdin in (text.encode(encoding), gzip.compress(text.encode(encoding), mtime=0)):
        code, out, _ = binary_command("tag", "-", "-m", "m", "--encoding", encoding, stdin=stdin)
        assert code == 0
        template = recipe_of(crf.column_features_).template
        predicted = crf.predict([template.strings([(word,) for word in sentence]) for sentence in words])
        expected = (newline * 2).join(
            newline.join(f"{word} {label}" for word, label in zip(*pair, strict=True))
            for pair in zip(words, predicted, strict=True)
        )
        assert out.decode(encoding) == expected + newline


def test_sentences_are_written_as_they_arrive(
    binary_command: Run, folder: Path, monkeypatch: pytest.MonkeyPatch, capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    trained(binary_command, "--features", "ner")
    seen: list[bytes] = []

    class Slow(io.RawIOBase):
        """Gives a few bytes at a time, and notes what was written before."""

        def __init__(self) -> None:
            self.pieces = [b"Ada\nfl", b"ew\n\nto\n", b"Paris\n", b"\n"]

        def readable(self) -> bool:
            return True

        def readinto(self, buffer: bytearray) -> int:  # type: ignore[override]
            seen.append(capsysbinary.readouterr().out)
            piece = self.pieces.pop(0) if self.pieces else b""
            buffer[: len(piece)] = piece
            return len(piece)

    monkeypatch.setattr(sys, "argv", ["dualfield", "tag", "-", "-m", "m"])
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BufferedReader(Slow())))
    with pytest.raises(SystemExit):
        main()
    assert [piece.count(b"\n") for piece in seen] == [0, 0, 3, 0, 3]


def test_packed_output_reads_back(binary_command: Run, folder: Path) -> None:
    trained(binary_command, "--features", "ner")
    assert binary_command("tag", "train.txt", "-m", "m", "-o", "plain.txt")[0] == 0
    assert binary_command("tag", "train.txt", "-m", "m", "-o", "packed.gz")[0] == 0
    assert gzip.decompress(Path("packed.gz").read_bytes()) == Path("plain.txt").read_bytes()


# ---- bad input ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            ("--features", "chunks"),
            "there is no feature preset 'chunks' and no template file of that name",
        ),
        (
            ("--features", "far.txt"),
            "the template refers to column 1 in 'U00:%x[0,1]', but the data has 1 column",
        ),
        (("--features", "regex.txt", "--template-syntax", "wapiti"), "regex.txt: line 1 of the template: the regular"),
        (("--features", "latin.txt"), "latin.txt is not in UTF-8"),
        (("--features", "crfpp.txt", "--gazetteer", "city=crfpp.txt"), "gazetteers go with a preset"),
        (("--features", "ner", "--gazetteer", "crfpp.txt"), "a gazetteer is given as NAME=FILE"),
        (("--features", "ner", "--hash-bits", "40"), "--hash-bits must be an integer from 1 to 30"),
        (("--features", "ner", "--label-column", "3"), "the label column must be 1 to 2"),
        (("--features", "ner", "--encoding", "rot"), "unknown encoding: rot"),
        (("--features", "ner", "--format", "conllu"), "train.txt, line 1: expected the 10 columns of CoNLL-U"),
        (("--features", "label.txt", "--label-column", "1"), "column 0 in 'U00:%x[0,0]', which is the label"),
    ],
)
def test_training_refuses_in_one_sentence(
    binary_command: Run, folder: Path, options: tuple[str, ...], message: str
) -> None:
    Path("far.txt").write_text("U00:%x[0,1]\n")
    Path("regex.txt").write_text('u:%t[0,0,"*"]\n')
    Path("label.txt").write_text("U00:%x[0,0]\n")
    Path("latin.txt").write_bytes(b"U\xe9%x[0,0]\n")
    code, out, err = binary_command("train", "train.txt", "-o", "m", *options)
    assert (code, out) == (2, b"")
    assert message in err
    assert err.count("\n") == 1
    assert not Path("m").exists()


def test_a_template_without_transitions_is_mentioned(binary_command: Run, folder: Path) -> None:
    Path("plain.txt").write_text("U00:%x[0,0]\n")
    _, _, err = binary_command("train", "train.txt", "--features", "plain.txt", "-o", "m")
    assert "no plain bigram line" in err


def test_an_empty_stream_has_no_sentences(binary_command: Run, folder: Path) -> None:
    trained(binary_command, "--features", "ner")
    code, out, err = binary_command("tag", "-", "-m", "m", stdin=b"\n\n")
    assert code == 2
    assert "standard input has no sentences" in err
    assert out.strip() == b""


@pytest.mark.filterwarnings("default")
def test_lines_of_a_template_that_crfpp_skips_are_said(
    command: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a.txt").write_text("the DT O\ncat NN B\n")
    Path("template").write_text("U:%x[0,0]\n%x[0,1]\nB\n")
    code, _, err = command("train", "a.txt", "--features", "template", "-o", "m", "-q")
    assert (code, err.count("\n")) == (0, 1)
    assert err.startswith("Warning: line 2 of the template, '%x[0,1]', begins with neither U nor B, so CRF++ skips it")
