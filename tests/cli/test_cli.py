"""The command line, run as a user would: arguments in, text, files and exit codes out."""

import gzip
import json
import signal
import subprocess
import sys

import pytest

from dualfield import ChainCRF
from dualfield.datasets import travel_sentences
from dualfield.io import read_columns, write_columns
from dualfield.metrics import chunk_scores


@pytest.fixture
def files(tmp_path):
    """A training and a test file of travel sentences."""
    for name, n, seed in (("train.txt", 150, 0), ("test.txt", 40, 1)):
        write_columns(travel_sentences(n, seed), tmp_path / name)
    return tmp_path


@pytest.fixture
def model(command, files):
    path = files / "model.safetensors"
    assert command("train", files / "train.txt", "--features", "ner", "-o", path)[0] == 0
    return path


def test_train_writes_a_model_and_says_what_is_proven(command, files):
    path = files / "m.safetensors"
    code, out, err = command("train", files / "train.txt", "--features", "ner", "-o", path, "--tol", "1e-4")
    assert code == 0
    assert out == ""
    assert "150 sentences" in err
    assert "proven" in err
    crf = ChainCRF.load(path)
    assert crf.solution_.relative_gap <= 1e-4


def test_quiet_training_says_nothing(command, files):
    assert command("train", files / "train.txt", "--features", "ner", "-o", files / "m", "-q") == (0, "", "")


def test_options_reach_the_model(command, files):
    path = files / "m"
    options = ["--l2", "2", "--solver", "lbfgs", "--state-features", "observed", "--min-count", "2", "--seed", "5"]
    assert command("train", files / "train.txt", "--features", "pos", "-o", path, *options)[0] == 0
    crf = ChainCRF.load(path)
    assert (crf.l2, crf.solver, crf.state_features, crf.min_count, crf.random_state) == (2.0, "lbfgs", "observed", 2, 5)
    assert crf.layout_.rows is not None


def test_weights_can_be_left_out_by_option_and_by_file(command, files):
    (files / "options.toml").write_text("begin = false\n")
    options = ["--no-bias", "--end", "--config", files / "options.toml", "--quiet"]
    assert command("train", files / "train.txt", "--features", "pos", "-o", files / "m", *options)[0] == 0
    layout = ChainCRF.load(files / "m").layout_
    assert (layout.bias, layout.begin, layout.end) == (False, False, True)


def test_tag_appends_the_predicted_label(command, files, model):
    code, out, _ = command("tag", files / "test.txt", "-m", model)
    assert code == 0
    lines, given = out.splitlines(), (files / "test.txt").read_text().splitlines()
    assert [line.rsplit(" ", 1)[0] for line in lines if line] == [line for line in given if line]
    labels = set(ChainCRF.load(model).classes_)
    assert {line.rsplit(" ", 1)[1] for line in lines if line} <= labels


def test_tag_needs_no_label_column(command, files, model):
    write_columns([[(word,) for word, _ in sentence] for sentence in travel_sentences(5, 9)], files / "words.txt")
    code, out, _ = command("tag", files / "words.txt", "-m", model)
    assert code == 0
    assert {len(line.split()) for line in out.splitlines() if line} == {2}


def test_tag_writes_a_file_that_reads_back(command, files, model):
    assert command("tag", files / "test.txt", "-m", model, "-o", files / "out.txt")[0] == 0
    assert [len(s) for s in read_columns(files / "out.txt")] == [len(s) for s in read_columns(files / "test.txt")]


def test_eval_agrees_with_tag(command, files, model):
    command("tag", files / "test.txt", "-m", model, "-o", files / "out.txt")
    rows = read_columns(files / "out.txt")
    expected = chunk_scores([[r[1] for r in s] for s in rows], [[r[2] for r in s] for s in rows])
    code, out, _ = command("eval", files / "test.txt", "-m", model)
    assert code == 0
    assert out.strip() == str(expected)


def test_eval_of_other_labels_gives_accuracy_and_a_row_for_each_label(command, tmp_path):
    sentences = [[(word, "UP" if word[0].isupper() else "low") for word, _ in s] for s in travel_sentences(60, 2)]
    write_columns(sentences, tmp_path / "case.txt")
    assert command("train", tmp_path / "case.txt", "--features", "pos", "-o", tmp_path / "m")[0] == 0
    code, out, _ = command("eval", tmp_path / "case.txt", "-m", tmp_path / "m")
    assert code == 0
    lines = out.splitlines()
    n_upper = sum(label == "UP" for sentence in sentences for _, label in sentence)
    assert lines[0].endswith("tokens, 100.00% with the right label")
    assert [line.split()[0] for line in lines[3:]] == ["UP", "low", "micro", "macro"]
    assert lines[3].split() == ["UP", "100.00%", "100.00%", "100.00%", f"{n_upper:,}"]
    code, out, _ = command("eval", tmp_path / "case.txt", "-m", tmp_path / "m", "--json")
    assert json.loads(out)["labels"]["UP"] == {
        "precision": 1.0, "recall": 1.0, "f1": 1.0, "true": n_upper, "predicted": n_upper, "correct": n_upper
    }  # fmt: skip


def test_eval_counts_an_unseen_label_as_an_error(command, files, model):
    (files / "odd.txt").write_text("Ada B-PLANET\nflew O\n")
    code, _, err = command("eval", files / "odd.txt", "-m", model)
    assert code == 0
    assert "1 label" in err
    assert "counted as errors" in err


def test_gzip_and_separator(command, tmp_path):
    text = "".join("\n".join(f"{w}\t{t}" for w, t in s) + "\n\n" for s in travel_sentences(30, 3))
    with gzip.open(tmp_path / "train.tsv.gz", "wt") as file:
        file.write(text)
    arguments = ("train", tmp_path / "train.tsv.gz", "--features", "ner", "-o", tmp_path / "m", "--separator", "\t")
    assert command(*arguments)[0] == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("train", "missing.txt", "--features", "ner", "-o", "m"), "missing.txt"),
        (("train", "ragged.txt", "--features", "ner", "-o", "m"), "line 2"),
        (("train", "empty.txt", "--features", "ner", "-o", "m"), "no sentences"),
        (("train", "words.txt", "--features", "ner", "-o", "m"), "one column"),
        (("train", "pairs.txt", "--features", "chunking", "-o", "m"), "POS"),
        (("train", "pairs.txt", "--features", "ner", "-o", "no/such/folder/m"), "does not exist"),
        (("train", "pairs.txt", "--features", "ner", "-o", "m", "--l2", "0"), "l2 must be"),
        (("train", "pairs.txt", "--features", "ner", "-o", "m", "--tol", "-1"), "tol must be"),
        (("tag", "pairs.txt", "-m", "words.txt"), "not a model file"),
        (("eval", "pairs.txt", "-m", "missing"), "no model file"),
    ],
)
def test_bad_input_ends_with_one_sentence_and_code_2(command, tmp_path, monkeypatch, arguments, message):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "ragged.txt").write_text("a X\nb\n")
    (tmp_path / "empty.txt").write_text("\n\n")
    (tmp_path / "words.txt").write_text("a\nb\n")
    (tmp_path / "pairs.txt").write_text("a X\nb Y\n")
    code, out, err = command(*arguments)
    assert code == 2
    assert out == ""
    assert message in err
    assert "Traceback" not in err
    assert err.count("\n") == 1 + err.count("sentences, ")  # the sentence itself, and what was read before it
    assert not (tmp_path / "m").exists()


def test_files_of_another_width_are_refused(command, files, model):
    (files / "wide.txt").write_text("a b c d\n")
    code, _, err = command("tag", files / "wide.txt", "-m", model)
    assert code == 2
    assert "expected 1 or 2 columns, found 4" in err
    assert "no sequence of" in err
    assert "--tokenize" in err
    (files / "words.txt").write_text("a\n")
    code, _, err = command("eval", files / "words.txt", "-m", model)
    assert code == 2
    assert "no label column" in err


def test_a_model_of_arrays_cannot_read_a_column_file(command, files):
    ChainCRF(random_state=0).fit([[["a"], ["b"]]], [["x", "y"]]).save(files / "plain")
    code, _, err = command("tag", files / "test.txt", "-m", files / "plain")
    assert code == 2
    assert "not trained on a column file" in err


def test_version_and_help(command):
    assert command("--version")[0] == 0
    code, out, _ = command("--help")
    assert code == 0
    assert all(command in out for command in ("train", "tag", "eval", "demo"))


# Tells the parent of each pass, so that it can interrupt in the middle of training.
TALKATIVE = """
from dualfield import solving
from dualfield.cli import main
solve = solving.solve
tell = lambda progress: print(progress.passes, flush=True)
solving.solve = lambda field, callbacks, **options: solve(field, callbacks=[tell], **options)
main()
"""


def test_ctrl_c_keeps_the_weights_so_far(files):
    command = [sys.executable, "-c", TALKATIVE, "train", "train.txt", "--features", "ner", "-o", "m", "--tol", "0"]
    process = subprocess.Popen(
        [*command, "--max-passes", "100000000"], cwd=files, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout.readline() == "1\n"
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 130, err
    assert "interrupted" in err
    crf = ChainCRF.load(files / "m")
    assert crf.solution_.status == "interrupted"
    assert crf.solution_.duality_gap != crf.solution_.duality_gap
    assert len(crf.predict([[crf.vocabulary_.names[:1]]])[0]) == 1
