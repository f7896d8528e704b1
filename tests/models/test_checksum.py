"""A model file is what was written, or it is refused; and a model in use does not depend on its file."""

from __future__ import annotations

import re
import subprocess
import sys
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors import safe_open

from dualfield import ChainCRF, GraphCRF, GridCRF
from dualfield.cli import main
from dualfield.features import Template, Tokens
from dualfield.features.templates.rules import window
from dualfield.models.model_file import has_checksum, read_parts
from dualfield.models.recipe import FileLayout, Recipe
from tests.model_files import described, header_of, sealed, with_metadata

OLD = Path(__file__).parent / "landed"  # as builds wrote them that knew no checksum


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small chain that knows how to read column files."""
    path = tmp_path_factory.mktemp("checksum") / "model"
    template = Template([*window("w", 0, (0,))])
    X = template.encode(Tokens.from_rows([[("a",), ("b",)], [("b",)]]))
    crf = ChainCRF(state_features="observed", random_state=0).fit(X, [["N", "V"], ["V"]])
    crf.column_features_ = Recipe(FileLayout(), 2, 1, (0,), template.to_dict(), None).to_dict()
    crf.save(path)
    return path


def flipped(content: bytes, bit: int) -> bytes:
    changed = bytearray(content)
    changed[bit // 8] ^= 1 << bit % 8
    return bytes(changed)


def test_every_flipped_bit_is_refused(model: Path, tmp_path: Path) -> None:
    content, path = model.read_bytes(), tmp_path / "flipped"
    metadata = content.index(b'"format_version":"4"') + 30  # as far as here every bit, later one of each byte
    bits = [*range(8 * metadata), *range(8 * metadata, 8 * len(content), 9)]
    for bit in bits:
        path.write_bytes(flipped(content, bit))
        with pytest.raises(ValueError, match=r"^'.*flipped' .*\.$"):
            read_parts(path)


def test_flipped_bits_of_weights_are_refused_by_every_estimator(model: Path, tmp_path: Path) -> None:
    graph = GraphCRF(max_passes=3, tol=1.0).fit([(np.eye(2), [[0, 1]])], [["a", "b"]])
    grid = GridCRF(max_passes=3, tol=1.0).fit(np.ones((1, 2, 2, 1)), np.array([[[0, 1], [1, 0]]]))
    graph.save(tmp_path / "graph")
    grid.save(tmp_path / "grid")
    for kind, path in ((ChainCRF, model), (GraphCRF, tmp_path / "graph"), (GridCRF, tmp_path / "grid")):
        content = path.read_bytes()
        loader: Any = kind
        loader.load(path)
        (tmp_path / "flipped").write_bytes(flipped(content, 8 * len(content) - 20))
        with pytest.raises(ValueError, match=r"is damaged: its checksum is .*, but its contents give"):
            loader.load(tmp_path / "flipped")


@pytest.mark.parametrize(
    "arguments",
    [("tag", "in.txt", "-m", "flipped"), ("eval", "in.txt", "-m", "flipped"), ("inspect", "flipped")],
    ids=lambda arguments: arguments[0],
)
def test_every_command_refuses_a_flipped_bit_in_a_sentence(
    arguments: tuple[str, ...],
    model: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    content = model.read_bytes()
    (tmp_path / "flipped").write_bytes(flipped(content, 8 * len(content) - 20))
    (tmp_path / "in.txt").write_text("a N\nb V\n\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["dualfield", *arguments])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 2
    assert re.fullmatch(r"Error: 'flipped' is damaged: its checksum is .*\.\n", capsys.readouterr().err)


def test_anybody_can_compute_the_checksum(model: Path) -> None:
    content = model.read_bytes()
    with safe_open(model, framework="numpy") as file:
        digits = file.metadata()["checksum"].encode()
    assert content.count(b'"checksum":"' + digits) == 1
    assert b"%08x" % zlib.crc32(content.replace(b'"checksum":"' + digits, b'"checksum":"00000000')) == digits


def test_a_description_may_speak_of_a_checksum(model: Path, tmp_path: Path) -> None:
    crf = ChainCRF.load(model)
    crf.solution_.message = '"checksum":"12345678"'
    crf.save(tmp_path / "model")
    assert ChainCRF.load(tmp_path / "model").solution_.message == crf.solution_.message


def test_a_checksum_cannot_be_left_out(model: Path, tmp_path: Path) -> None:
    path = tmp_path / "model"
    path.write_bytes(with_metadata(model.read_bytes(), checksum=None))
    with pytest.raises(ValueError, match="it lacks the checksum that format version 4 has"):
        ChainCRF.load(path)


@pytest.mark.parametrize("version", ["1", "2"])
def test_a_checksum_that_is_there_holds_whatever_the_version(version: str, model: Path, tmp_path: Path) -> None:
    older = with_metadata(model.read_bytes(), format_version=version)
    (tmp_path / "model").write_bytes(older)
    assert ChainCRF.load(tmp_path / "model").predict([[["w[0]=a"]]]) == ChainCRF.load(model).predict([[["w[0]=a"]]])
    (tmp_path / "model").write_bytes(flipped(older, 8 * len(older) - 20))
    with pytest.raises(ValueError, match="its checksum is"):
        ChainCRF.load(tmp_path / "model")


@pytest.mark.parametrize("version", [1, 2])
def test_files_from_before_there_was_a_checksum_load(version: int, tmp_path: Path) -> None:
    old = OLD / f"version{version}.safetensors"
    assert header_of(old.read_bytes())["__metadata__"]["format_version"] == str(version)
    assert not has_checksum(old)
    crf = ChainCRF.load(old)
    crf.save(tmp_path / "new")
    assert has_checksum(tmp_path / "new")
    np.testing.assert_array_equal(ChainCRF.load(tmp_path / "new").weights_, crf.weights_)
    tagged = tag(old, "a\nb\n\n")
    assert tagged == tag(tmp_path / "new", "a\nb\n\n") == "a N\nb V\n\n"


def tag(model: Path, text: str) -> str:
    command = [sys.executable, "-m", "dualfield", "tag", "-", "-m", str(model)]
    done = subprocess.run(command, input=text, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("kind", ["chain", "bigrams"])
def test_a_model_in_use_does_not_notice_what_becomes_of_its_file(kind: str, model: Path, tmp_path: Path) -> None:
    path = tmp_path / "model"
    content = model.read_bytes() if kind == "chain" else (OLD / "version2.safetensors").read_bytes()
    path.write_bytes(content)
    command = [sys.executable, "-m", "dualfield", "tag", "-", "-m", str(path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0) as running:
        assert running.stdin is not None
        assert running.stdout is not None

        def answer() -> bytes:
            running.stdin.write(b"a\nb\n\n")
            return b"".join(running.stdout.readline() for _ in range(3))

        first = answer()
        with open(path, "r+b") as file:
            file.write(bytes(len(content)))  # in place: the same file, other numbers
        assert answer() == first
        with open(path, "r+b") as file:
            file.truncate(0)
        assert answer() == first
        running.stdin.close()
        assert running.wait() == 0
    assert first == b"a N\nb V\n\n"


def test_a_pipe_is_no_model_file() -> None:
    with pytest.raises(ValueError, match="it is a device or a pipe, not a file"):
        read_parts("/dev/null")


def test_inspect_says_that_the_checksum_is_right(
    model: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for path, state in ((model, "ok"), (OLD / "version1.safetensors", "none")):
        for option, shown in (("--top=3", f"checksum: {state}"), ("--json", f'"checksum": "{state}"')):
            monkeypatch.setattr(sys, "argv", ["dualfield", "inspect", str(path), option])
            with pytest.raises(SystemExit, match="0"):
                main()
            assert shown in capsys.readouterr().out


def test_what_the_tests_call_sealed_is_sealed(model: Path) -> None:
    content = model.read_bytes()
    assert sealed(content) == content
    assert sealed(described(content, lambda d: d.update(columns=None))) != content
