"""The programs and notebooks in examples/ do what their first lines say, on data small enough for a test."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from runpy import run_path
from typing import Any

import numpy as np
import pytest

from dualfield.calibration import outcomes
from dualfield.datasets import make_denoising

EXAMPLES = Path(__file__).parents[1] / "examples"
NOTEBOOKS = sorted(EXAMPLES.glob("*.ipynb"))
PNG = b"\x89PNG"


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Any:
    """Runs an example as ``python examples/NAME ARGUMENTS`` in an empty folder does, and gives its names."""
    monkeypatch.chdir(tmp_path)

    def started(name: str, *arguments: str) -> dict[str, Any]:
        monkeypatch.setattr(sys, "argv", [name, *arguments])
        return run_path(str(EXAMPLES / name), run_name="__main__")

    return started


def test_the_list_of_examples_names_them_all() -> None:
    named = re.findall(r"^\| \[(.+?)\]\((.+?)\)", (EXAMPLES / "README.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert all(shown == target for shown, target in named)
    assert sorted(target for _, target in named) == sorted(
        path.name for path in EXAMPLES.iterdir() if path.suffix in (".py", ".ipynb")
    )


def test_denoising_with_neighbours_beats_pixels_alone_and_is_drawn(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib").use("agg")
    example = run_path(str(EXAMPLES / "denoising.py"))
    images = make_denoising(4, 3, size=16)

    def wrong(pictures: list[np.ndarray]) -> float:
        return float(np.mean([labels != truth for labels, truth in zip(pictures, images.y_test, strict=True)]))

    alone = example["logistic_regression"](images)
    together = example["random_field"](images, "pseudo_likelihood")
    assert wrong(together) < wrong(alone) < 0.5
    columns = {"noisy": images.pictures_test or [], "alone": alone, "together": together, "truth": images.y_test}
    example["draw"](columns, images, tmp_path / "a" / "picture.png")
    assert (tmp_path / "a" / "picture.png").read_bytes().startswith(PNG)


def test_a_day_leads_from_a_table_to_tagged_text(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("pandas")
    monkeypatch.setattr(sys, "argv", ["a_day.py", str(tmp_path / "new")])
    day = run_path(str(EXAMPLES / "a_day.py"), run_name="__main__")
    assert day["f1"].shape == (3,)
    assert day["search"].scores_.shape == (3, 3, 4)
    assert day["search"].scores_.mean(axis=0).max() > day["f1"].mean()
    assert day["search"].solution_.certificate == "exact"
    threshold = day["threshold"]
    assert threshold.reached
    assert threshold.precision >= 0.95
    assert 0 < threshold.n_kept < len(outcomes(day["crf"], day["X"][day["held_out"]], day["y"][day["held_out"]]))
    kept = {(entity.text, entity.type): entity.probability >= threshold.value for entity in day["found"]}
    assert kept[("Mr. Olsson", "PERSON")]
    assert not all(kept.values())
    assert (tmp_path / "new" / "report.html").read_text(encoding="utf-8").startswith("<!")
    assert (tmp_path / "new" / "travel.safetensors").exists()
    assert "report.html in a browser." in capsys.readouterr().out.splitlines()[-1]


def test_names_are_tagged_with_their_doubts_and_one_is_explained(run: Any, capsys: pytest.CaptureFixture[str]) -> None:
    tagged = run("tag_names.py")
    assert tagged["crf"].solution_.certificate == "exact"
    probabilities = [name.probability for _, name in tagged["doubtful"]]
    assert probabilities == sorted(probabilities)
    assert probabilities[-1] < min(name.probability for _, name in tagged["found"][:5])
    said = capsys.readouterr().out
    assert f"Why B-{tagged['name'].type}, and not " in said
    assert said.count(" right ") > said.count(" wrong ") > 0


def test_a_project_moves_from_crfsuite_and_keeps_its_tags(run: Any, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("pycrfsuite")
    moved = run("move_from_crfsuite.py", "models")
    assert moved["same"]
    theirs, drop_in, ours = (objective for _, objective, _ in moved["rows"])
    assert drop_in == pytest.approx(theirs, rel=1e-3)
    assert theirs / (1 + 1e-3) <= ours <= theirs * (1 + 1e-2)
    assert {path.name for path in Path("models").iterdir()} == {"theirs.crfsuite", "ours.crfsuite", "names.safetensors"}
    table = capsys.readouterr().out.splitlines()[-3:]
    assert [line.split("  ")[0] for line in table] == ["CRFsuite", "drop-in trainer", "ChainCRF"]


def test_rivers_are_read_better_as_a_whole(run: Any, capsys: pytest.CaptureFixture[str]) -> None:
    rivers = run("rivers.py")
    truth = np.concatenate(rivers["y_test"])
    alone, together = (np.mean(np.concatenate(rivers[name]) != truth) for name in ("by_itself", "together"))
    assert together < 0.9 * alone
    drawn = capsys.readouterr().out.split("with the sea on top:\n")[1]
    assert drawn.count("o  ") == len(rivers["y_test"][rivers["shown"]])


def test_a_folder_of_partitions_is_trained_on(run: Any, capsys: pytest.CaptureFixture[str]) -> None:
    trained = run("larger_than_memory.py", "here")
    assert len(trained["data"]) > 1
    assert trained["crf"].solution_.status == "converged"
    last = [line for line in capsys.readouterr().out.splitlines() if line.startswith("  pass")][-1]
    assert float(last.split()[2]) <= 1e-3
    assert Path("here/travel.safetensors").exists()
    with pytest.raises(SystemExit, match="travel-partitions exists already; remove it"):
        run("larger_than_memory.py", "here")


def test_solvers_are_compared_in_a_picture(run: Any, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("matplotlib").use("agg")
    run("compare_solvers.py", "new/picture.png")
    assert Path("new/picture.png").read_bytes().startswith(PNG)
    passes = dict(re.findall(r"^([\w .-]+?)  +(\d+|not in 60)(?: |$)", capsys.readouterr().out, re.MULTILINE))
    assert set(passes) == {"OEG", "SDCA", "SDCA as published", "SAG", "L-BFGS", "SGD"}
    assert int(passes["SDCA"]) < int(passes["L-BFGS"])


def test_a_network_finds_more_names_with_the_layer(run: Any) -> None:
    pytest.importorskip("torch", reason="PyTorch, of the extra dualfield[torch], is not installed")
    f1 = run("pytorch_layer.py")["f1"]
    assert f1[True] > f1[False] > 0.5


@pytest.mark.parametrize(
    ("name", "missing", "way_out"),
    [
        ("pytorch_layer.py", "torch", r'pip install "dualfield\[torch\]"'),
        ("move_from_crfsuite.py", "pycrfsuite", "pip install python-crfsuite"),
    ],
)
def test_what_is_missing_is_a_sentence(
    name: str, missing: str, way_out: str, run: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, missing, None)
    with pytest.raises(SystemExit, match=f"which is not installed: {way_out}"):
        run(name)


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_is_kept_without_outputs(path: Path) -> None:
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    assert all(not cell["outputs"] and cell["execution_count"] is None for cell in cells if cell["cell_type"] == "code")


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs_and_draws(path: Path, tmp_path: Path) -> None:
    for needed in ("matplotlib", "pandas", "nbclient", "ipykernel"):
        pytest.importorskip(needed, reason=f"{needed}, of the extra dualfield[examples], is not installed")
    import nbformat
    from nbclient import NotebookClient

    notebook = nbformat.read(path, as_version=4)
    NotebookClient(notebook, kernel_name="python3", resources={"metadata": {"path": str(tmp_path)}}).execute()
    outputs = [output for cell in notebook.cells if cell.cell_type == "code" for output in cell.outputs]
    assert all(cell.outputs for cell in notebook.cells[-3:] if cell.cell_type == "code")
    assert sum("image/png" in output.get("data", {}) for output in outputs) >= 2
    assert any("the objective is proven to be within" in output.get("text", "") for output in outputs)
    assert not [output.text for output in outputs if output.get("name") == "stderr"]
