"""The pictures of the pages: what they are drawn from, and that the files which pages name are there."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest

from benchmarks.pictures import architecture, explanation, segmentation, snakes, solvers, time_to_optimum
from benchmarks.pictures.themes import DARK, LIGHT
from dualfield.datasets import Images, make_denoising
from tests.test_import_graph import IMPORTS

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", ROOT / "ARCHITECTURE.md", *sorted((ROOT / "docs").rglob("*.md"))]
PICTURE = re.compile(r'(?:srcset|src)="([^"]+)"')


def _rows(path: Path) -> Path:
    """Two programs on two tasks, as the benchmark writes them; one of them does not come close."""

    def row(task: str, program: str, reached: list[Any], **more: Any) -> dict[str, Any]:
        levels = dict(zip(("0.01", "0.001", "0.0001"), reached, strict=True))
        return {
            "key": {"kind": "time to optimum", "task": task, "program": program},
            "result": {"optimum": 1.0, "passes": 9, "reached": levels, **more},
            "environment": {"processor": "a processor", "cores": 2, "python": "3.11.7", "commit": "abc1234"},
        }

    rows = [
        row(
            "tutorial", "crfsuite", [[20.0, 90], [60.0, 300], None], after_100={"cpu_seconds": 22, "above_optimum": 0.1}
        ),
        row("tutorial", "dualfield", [[1.0, 3], [2.0, 6], [3.0, 9]], certified=2.5),
        row("chunking", "crfsuite", [[50.0, 95], None, None]),
        row("chunking", "dualfield", [[1.5, 8], [2.25, 11], [2.75, 14]], certified=2.8),
    ]
    path.write_text("".join(json.dumps(each) + "\n" for each in rows))
    return path


def test_the_table_says_what_was_measured(tmp_path: Path) -> None:
    rows = time_to_optimum.read(_rows(tmp_path / "rows.jsonl"))
    lines = time_to_optimum.table(rows).splitlines()
    assert [line.split(" | ")[1] for line in lines[2:6]] == ["dualfield", "CRFsuite", "dualfield", "CRFsuite"]
    assert "| 1.50 s, 8 passes | 2.25 s, 11 passes | 2.75 s, 14 passes | 2.80 s |" in lines[2]
    assert lines[3].endswith("| 50.00 s, 95 passes | not reached | not reached | never |")
    assert lines[-1] == "Measured on a processor, 2 cores, Python 3.11.7, commit abc1234."


def test_the_table_goes_between_its_comments() -> None:
    page = time_to_optimum.PAGE.read_text(encoding="utf-8")
    written = time_to_optimum.with_table(page, "| a table |")
    assert time_to_optimum.with_table(written, "| another |") == time_to_optimum.with_table(page, "| another |")
    assert "| a table |" in written
    with pytest.raises(SystemExit, match="lacks the comments"):
        time_to_optimum.with_table("a page without them", "| a table |")


def test_the_chart_is_drawn_for_both_kinds_of_page(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    rows = time_to_optimum.read(_rows(tmp_path / "rows.jsonl"))
    light, dark = (path.read_text() for path in time_to_optimum.draw(rows, tmp_path))
    assert LIGHT.blue in light
    assert DARK.blue not in light
    assert DARK.blue in dark
    assert all(ElementTree.fromstring(text).tag.endswith("svg") for text in (light, dark))


def test_the_pictures_of_the_solvers_are_drawn_from_a_run(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    field = solvers.problem(60)
    held = solvers.shares(field)
    assert held.sum() == pytest.approx(1)
    assert np.all(np.diff(held) <= 0)
    objective, solution = solvers.run(field, solvers.COMPARED["OEG"], 1e-4)
    assert solution.dual <= objective[-1]
    solvers.draw_two_sides(field, tmp_path)
    solvers.draw_gap_sampling(field, solution.dual, tmp_path)
    names = {f"{name}_{theme}.svg" for name in ("two_sides", "gap_sampling") for theme in ("light", "dark")}
    assert {path.name for path in tmp_path.iterdir()} == names


def test_the_segmentation_is_drawn_with_its_errors(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    images = make_denoising(4, 3, size=16)
    alone, together = segmentation.alone(images), segmentation.together(images)
    assert segmentation.wrong(together, images) < segmentation.wrong(alone, images) < 0.5
    for path in segmentation.draw(images, alone, together, tmp_path):
        assert path.read_bytes().startswith(b"\x89PNG")


def test_the_snakes_are_drawn_with_their_numbers(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    truth = [np.array([[1, 2], [0, 3]]), np.array([[0, 1, 2]])]
    wrong = [np.array([[2, 2], [0, 0]]), np.array([[1, 1, 2]])]
    assert [snakes.kinds(*pair).tolist() for pair in zip(wrong, truth, strict=True)] == [[[2, 1], [0, 2]], [[2, 1, 1]]]
    X = [np.zeros((*labels.shape, 1)) for labels in truth]
    images = Images([], [], X, truth, pictures_test=[np.zeros((*labels.shape, 3), np.uint8) for labels in truth])
    drawn = snakes.draw(images, wrong, truth, tmp_path)
    assert [path.name for path in drawn] == ["snakes_light.svg", "snakes_dark.svg"]
    assert all(ElementTree.fromstring(path.read_text()).tag.endswith("svg") for path in drawn)


def test_the_bars_of_an_explanation_add_up_to_the_margin(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    found = explanation.explanations(500)
    for why in found:
        names, values = zip(*explanation.bars(why), strict=True)
        assert sum(values) == pytest.approx(why.margin)
        assert "all others" in names
        assert why.margin > 0
    assert [path.name for path in explanation.draw(found, tmp_path)] == [
        "explanation_light.svg",
        "explanation_dark.svg",
    ]


def test_a_floor_of_the_house_uses_no_floor_above() -> None:
    floor = {folder: place for place, (_, folders) in enumerate(architecture.FLOORS) for folder in folders}
    wrong = [
        f"{module} imports {imported}"
        for module, found in IMPORTS.items()
        for imported in found
        if imported.count(".")
        and (here := floor.get(module.split(".")[1])) is not None
        and (there := floor.get(imported.split(".")[1])) is not None
        and there < here
    ]
    assert not wrong


def test_the_house_has_real_folders_and_its_file_is_current() -> None:
    package, core = ROOT / "src" / "dualfield", ROOT / "core"
    for _, folders in architecture.FLOORS:
        assert all((package / folder).is_dir() or (package / f"{folder}.py").is_file() for folder in folders)
    assert all((core / folder).is_dir() for folder in architecture.CORE)
    for theme in (LIGHT, DARK):
        drawn = ROOT / "docs" / "pictures" / f"architecture_{theme.name}.svg"
        assert drawn.read_text(encoding="utf-8") == architecture.house(theme), "run benchmarks/pictures/architecture.py"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_picture_that_a_page_names_is_there(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    missing = [name for name in PICTURE.findall(text) if not (page.parent / name).is_file()]
    assert not missing
