"""The report is one sound page: it escapes what it is given, loads nothing, and says what the model's numbers say."""

from __future__ import annotations

import re
import sys
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

from dualfield import ChainCRF
from dualfield.metrics import chunk_scores
from dualfield.reporting import page as page_module
from dualfield.reporting import report
from tests.models.test_chain_answers import entity_data
from tests.sequences import as_arrays, as_dicts, labelled_sequences

TEMPLATE = Path(page_module.__file__).with_name("report.html.jinja")
VOID = {"meta", "circle", "line", "polyline", "br", "img"}


class Page(HTMLParser):
    """The elements of a page; refuses tags that do not close in order."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.text: list[str] = []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if not self.open or self.open[-1] not in ("style", "title"):
            self.text.append(data)

    def having(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.elements if name == tag]

    @property
    def words(self) -> str:
        return " ".join(" ".join(self.text).split())


def written(folder: Path, crf: ChainCRF, *data: Any, **options: Any) -> Page:
    path = folder / "report.html"
    report(crf, *data, path=path, **options)
    return Page(path.read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def fitted() -> tuple[ChainCRF, Any, Any]:
    return ChainCRF(l2=1.0, random_state=0).fit(*entity_data(60, seed=1)), *entity_data(80, seed=2)


def test_a_page_has_every_part(fitted: tuple[ChainCRF, Any, Any], tmp_path: Path) -> None:
    crf, X, y = fitted
    page = written(tmp_path, crf, X, y, title="Small", note="Held out.")
    ids = [attributes["id"] for attributes in page.having("section")]
    assert ids == [
        *("certificate", "convergence", "scores", "confusion", "confidence", "mistakes"),
        *("transitions", "attributes", "parameters"),
    ]
    links = {str(attributes["href"])[1:] for attributes in page.having("a")}
    assert links == set(ids)
    assert "Small" in page.words
    assert "Held out." in page.words
    assert crf.solution_.message in page.words


def test_scores_are_those_of_the_metrics(fitted: tuple[ChainCRF, Any, Any], tmp_path: Path) -> None:
    crf, X, y = fitted
    scores = chunk_scores(y, crf.predict(X))
    words = written(tmp_path, crf, X, y).words
    for name, score in [*scores.per_type.items(), ("all", scores)]:
        ratios = " ".join(f"{100 * ratio:.1f} %" for ratio in (score.precision, score.recall, score.f1))
        assert f"{name} {ratios} {score.n_true} {score.n_predicted}" in words
    assert f"{100 * scores.accuracy:.1f} % have the right label" in words


def test_the_certificate_is_said_with_digits_that_show_the_gap(
    fitted: tuple[ChainCRF, Any, Any], tmp_path: Path
) -> None:
    crf, X, y = fitted
    words, solution = written(tmp_path, crf, X, y).words, crf.solution_
    lower, upper = (
        float(text)
        for text in re.search(r"lower than ([\d.]+), and this model's is ([\d.]+):", words).groups()  # type: ignore[union-attr]
    )
    assert lower == pytest.approx(solution.dual, abs=solution.duality_gap)
    assert upper == pytest.approx(solution.primal, abs=solution.duality_gap)
    assert lower < upper


EVIL = '"><script>alert(1)</script><img src=x onerror=alert(2)>{{ 7 * 7 }}'


def test_everything_given_is_escaped(tmp_path: Path) -> None:
    X = [[[f"word={EVIL}{k % 3}", f"{EVIL}{k % 2}"] for k in range(4)] for _ in range(6)]
    y = [[f"B-{EVIL}", "O", f"I-{EVIL}", "B-other"] for _ in range(6)]
    crf = ChainCRF(random_state=0).fit(X, y)
    wrong = [["O", f"B-{EVIL}", "O", "O"] for _ in range(6)]
    page = written(tmp_path, crf, X, wrong, title=EVIL, note=EVIL, words=[[EVIL] * 4 for _ in X])
    assert not page.having("script")
    assert not page.having("img")
    assert EVIL in " ".join(page.text)  # shown as it is, template signs included
    for tag, attributes in page.elements:
        assert not {name for name in attributes if name.startswith("on")}, tag


def test_the_page_loads_nothing(fitted: tuple[ChainCRF, Any, Any], tmp_path: Path) -> None:
    crf, X, y = fitted
    page = written(tmp_path, crf, X, y)
    assert not {tag for tag, _ in page.elements} & {"script", "link", "iframe", "img", "object", "embed"}
    assert not [tag for tag, attributes in page.elements if {"src", "xlink:href"} & attributes.keys()]
    text = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "url(" not in text
    assert "@import" not in text
    assert "http:" not in text
    assert "https:" not in text
    assert len(text) < 2_000_000
    policies = [a["content"] for a in page.having("meta") if a.get("http-equiv") == "Content-Security-Policy"]
    assert policies == ["default-src 'none'; style-src 'unsafe-inline'"]


def test_the_page_can_be_read_by_all(fitted: tuple[ChainCRF, Any, Any], tmp_path: Path) -> None:
    crf, X, y = fitted
    page = written(tmp_path, crf, X, y)
    assert page.having("html")[0]["lang"] == "en"
    assert any(a.get("name") == "viewport" for a in page.having("meta"))
    assert all(a.get("scope") in ("col", "row") for a in page.having("th"))
    for attributes in page.having("svg"):
        assert attributes.get("aria-hidden") == "true" or len(str(attributes["aria-label"])) > 30
    regions = [a for a in page.having("div") if a.get("class") == "scroll"]
    assert all(a.get("aria-label") and a.get("tabindex") == "0" for a in regions)


# --- contrast, by the formula of WCAG 2 ---


def theme(dark: bool) -> dict[str, tuple[float, ...]]:
    style = TEMPLATE.read_text(encoding="utf-8")
    blocks = re.findall(r":root \{(.*?)\}", style, re.DOTALL)
    assert len(blocks) == 2
    colours = {}
    for name, value in re.findall(r"--([\w-]+): ([^;]+);", blocks[int(dark)]):
        if value.startswith("#"):
            colours[name] = tuple(int(value[k : k + 2], 16) for k in (1, 3, 5))
        elif name.endswith("-rgb"):
            colours[name] = tuple(map(float, value.split()))
        else:
            colours[name] = (float(value),)
    return colours


def contrast(one: tuple[float, ...], other: tuple[float, ...]) -> float:
    def luminance(colour: tuple[float, ...]) -> float:
        parts = [c / 255 for c in colour]
        linear = [c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("dark", [False, True])
def test_text_stands_out_in_light_and_dark(dark: bool) -> None:
    colours = theme(dark)
    for ground in ("paper", "card", "good", "warn"):
        for ink in ("ink", "soft"):
            assert contrast(colours[ink], colours[ground]) >= 4.5, (ink, ground)
    for ink in ("blue", "orange"):
        assert contrast(colours[ink], colours["card"]) >= 4.5, ink
        deepest = colours["deepest"][0]
        cell = tuple(
            deepest * a + (1 - deepest) * b for a, b in zip(colours[f"{ink}-rgb"], colours["card"], strict=True)
        )
        assert contrast(colours["ink"], cell) >= 4.5, ink


# --- every kind of model ---


def test_without_data_there_are_no_scores(fitted: tuple[ChainCRF, Any, Any], tmp_path: Path) -> None:
    page = written(tmp_path, fitted[0])
    ids = {attributes["id"] for attributes in page.having("section")}
    assert "scores" not in ids
    assert {"certificate", "convergence", "transitions"} <= ids


def test_a_loaded_model_has_no_history_to_draw(fitted: tuple[ChainCRF, Any, Any], tmp_path: Path) -> None:
    crf, X, y = fitted
    crf.save(tmp_path / "model")
    page = written(tmp_path, ChainCRF.load(tmp_path / "model"), X, y)
    assert "convergence" not in {attributes["id"] for attributes in page.having("section")}
    assert "Within" in page.words


@pytest.mark.parametrize("solver", ["sdca", "lbfgs", "sag", "adagrad"])
def test_every_solver_has_a_curve(solver: str, tmp_path: Path) -> None:
    crf = ChainCRF(solver=solver, tol=1e-2, random_state=0).fit(*labelled_sequences())
    page = written(tmp_path, crf)
    assert len(page.having("figure")) == 4
    assert page.having("polyline") or page.having("circle")


def test_a_model_without_a_certificate_says_that_nothing_is_proven(tmp_path: Path) -> None:
    crf = ChainCRF(solver="perceptron", max_passes=3, random_state=0).fit(*labelled_sequences())
    words = written(tmp_path, crf, *labelled_sequences(seed=1)).words
    assert "Nothing is proven" in words
    assert "Within" not in words


@pytest.mark.parametrize("form", [as_dicts, as_arrays, list, iter])
def test_any_form_of_input(form: Any, tmp_path: Path) -> None:
    X, y = labelled_sequences(30)
    crf = ChainCRF(random_state=0, state_features="observed", transitions="observed").fit(form(X), y)
    X, y = labelled_sequences(20, seed=3)
    assert "Tokens" in written(tmp_path, crf, form(X), y).words
    assert "Tokens" in written(tmp_path, crf, crf.encode(form(X)), y).words


def test_integer_labels_and_no_begin_end_bias(tmp_path: Path) -> None:
    X, y = labelled_sequences(30)
    codes = [[len(label) for label in labels] for labels in y]
    crf = ChainCRF(random_state=0, begin=False, end=False, bias=False).fit(X, codes)
    page = written(tmp_path, crf, X, codes)
    assert "(begin)" not in page.words
    assert "true / predicted 3 4" in page.words


def test_very_many_labels_are_cut_and_counted(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    y = [[f"L{k:02}" for k in rng.integers(0, 50, 8)] for _ in range(80)]
    X = [[[f"word={label if rng.random() < 0.7 else '?'}"] for label in labels] for labels in y]
    crf = ChainCRF(random_state=0, tol=0.1).fit(X, y)
    words = written(tmp_path, crf, X, y).words
    assert len(crf.classes_) == 50
    assert "20 labels with fewer errors are left out" in words
    assert "10 labels are left out" in words


def test_a_model_without_mistakes_says_so(tmp_path: Path) -> None:
    X, y = [[["word=a"], ["word=b"]]] * 10, [["A", "B"]] * 10
    assert "None: every token has the right label." in written(tmp_path, ChainCRF(random_state=0).fit(X, y), X, y).words


def test_one_of_a_kind_is_said_in_the_singular(tmp_path: Path) -> None:
    crf = ChainCRF(random_state=0).fit([[["a"], ["a"]]], [["X", "Y"]])
    text = written(tmp_path, crf, [[["a"], ["a"]]], [["Y", "Y"]]).words
    assert "2 labels, 1 attribute, " in text
    assert "On 1 sequence of 2 tokens, " in text
    assert "1 token got a wrong label." in text


def test_labels_never_seen_count_as_errors(fitted: tuple[ChainCRF, Any, Any], tmp_path: Path) -> None:
    crf, X, _ = fitted
    odd = [["B-NEW"] * len(x) for x in X]
    words = written(tmp_path, crf, X, odd).words
    assert re.search(r"The label of \d+ tokens did not occur in training; this counts as an error", words)
    assert "true B-NEW , a label not seen in training" in words


# --- refusals ---


def test_bad_requests_are_refused_before_any_work(fitted: tuple[ChainCRF, Any, Any], tmp_path: Path) -> None:
    crf, X, y = fitted
    path = tmp_path / "r.html"
    with pytest.raises(ValueError, match="given X without y"):
        report(crf, X, path=path)
    with pytest.raises(ValueError, match="given y without X"):
        report(crf, y=y, path=path)
    with pytest.raises(ValueError, match="words without X"):
        report(crf, path=path, words=[["a"]])
    with pytest.raises(ValueError, match="79 sequences but X has 80"):
        report(crf, X, y[1:], path)
    with pytest.raises(ValueError, match="words has 1 sequences but X has 80"):
        report(crf, X, y, path, words=[["a"]])
    with pytest.raises(ValueError, match="sequence 0 of words has"):
        report(crf, X, y, path, words=[["a"] * 99 for _ in X])
    with pytest.raises(NotFittedError):
        report(ChainCRF(), path=path)
    with pytest.raises(FileNotFoundError, match="does not exist"):
        report(crf, path=tmp_path / "no" / "r.html")
    assert not path.exists()


def test_without_jinja_a_sentence_says_what_to_install(
    fitted: tuple[ChainCRF, Any, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "jinja2", None)
    with pytest.raises(ImportError, match=r"needs Jinja2, which is not installed: pip install 'dualfield\[report\]'"):
        report(fitted[0], path=tmp_path / "r.html")


def test_numbers_are_shown_for_people() -> None:
    shown = page_module._number
    assert [shown(x) for x in (0.0, 12.0, 1234567.0, 0.5, 451.28136, 12345.678, 1e-5, float("nan"), -2.5)] == [
        *("0", "12", "1,234,567", "0.5", "451.28", "12,345.7", "1e−05", "–", "−2.5"),
    ]
    assert [page_module._percent(x) for x in (0.0, 1.0, 0.9999, 0.123, 1.7e-5, float("nan"))] == [
        *("0.0 %", "100.0 %", "> 99.9 %", "12.3 %", "0.0017 %", "–"),
    ]
