"""Tables of weights list what the weight vector holds, by name."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

from dualfield import ChainCRF
from dualfield.inspection import attribute_weights, explain, top_weights, transitions
from dualfield.table import Table
from tests.sequences import NAMES, as_arrays, labelled_sequences


@pytest.fixture(scope="module", params=["all", "observed"])
def crf(request: pytest.FixtureRequest) -> ChainCRF:
    options = {"state_features": request.param, "transitions": request.param}
    return ChainCRF(random_state=0, **options).fit(*labelled_sequences(12))


def dense(crf: ChainCRF) -> Any:
    state = crf.layout_.split(crf.weights_)["state"]
    return state if isinstance(state, np.ndarray) else state.toarray()


@pytest.mark.parametrize("sign", ["both", "positive", "negative"])
@pytest.mark.parametrize("n", [1, 3, 100])
def test_top_weights_are_the_largest_of_each_label(crf: ChainCRF, sign: Any, n: int) -> None:
    state, rows = dense(crf), top_weights(crf, n, sign=sign).rows
    for k, label in enumerate(crf.classes_.tolist()):
        size = {"both": np.abs(state[:, k]), "positive": state[:, k], "negative": -state[:, k]}[sign]
        expected = np.sort(size[size > 0])[::-1][:n]
        found = [row for row in rows if row[0] == label]
        measured = [abs(w) if sign == "both" else w if sign == "positive" else -w for _, _, w in found]
        assert measured == pytest.approx(expected)
        assert all(state[crf.vocabulary_.index[name], k] == weight for _, name, weight in found)


def test_one_label_alone(crf: ChainCRF) -> None:
    everything, one = top_weights(crf, 4).rows, top_weights(crf, 4, label="NOUN").rows
    assert one == tuple(row for row in everything if row[0] == "NOUN")


def test_an_attribute_has_its_row_of_weights(crf: ChainCRF) -> None:
    state = dense(crf)
    for name in NAMES:
        table = attribute_weights(crf, name)
        found = {label: weight for label, weight in table.rows if weight is not None}
        row = dict(zip(crf.classes_.tolist(), state[crf.vocabulary_.index[name]], strict=True))
        assert found.items() <= row.items()
        assert all(row[label] == 0 for label in row.keys() - found.keys())
        weights = [weight for _, weight in table.rows if weight is not None]
        assert weights == sorted(weights, reverse=True)


def test_transitions_are_a_matrix_with_begin_and_end(crf: ChainCRF) -> None:
    parts, table = crf.layout_.split(crf.weights_), transitions(crf)
    labels = crf.classes_.tolist()
    assert table.columns[1:] == (*labels, "(end)")
    assert [row[0] for row in table.rows] == ["(begin)", *labels]
    assert table.rows[0][1:-1] == tuple(parts["begin"])
    assert tuple(row[-1] for row in table.rows[1:]) == tuple(parts["end"])
    inner = np.array([[np.nan if w is None else w for w in row[1:-1]] for row in table.rows[1:]])
    assert np.isfinite(inner).sum() == len(crf.layout_.transitions)
    assert np.array_equal(np.nan_to_num(inner), parts["transitions"])


def test_a_model_without_begin_and_end_has_a_plain_matrix() -> None:
    crf = ChainCRF(begin=False, end=False, bias=False, random_state=0).fit(*labelled_sequences(12))
    table = transitions(crf)
    assert len(table.rows) == len(table.columns) - 1 == 3


def test_columns_of_arrays_have_numbers() -> None:
    X, y = labelled_sequences(12)
    crf = ChainCRF(random_state=0).fit(as_arrays(X), y)
    assert top_weights(crf, 1).rows[0][1].startswith("column ")
    assert attribute_weights(crf, 2).title == "Weights of column 2"
    with pytest.raises(ValueError, match="columns 0 to 7; got 8"):
        attribute_weights(crf, 8)


def test_unknown_names_are_refused_with_what_there_is(crf: ChainCRF) -> None:
    with pytest.raises(ValueError, match="no label 'X'; it has 'ADJ', 'NOUN', 'VERB'"):
        top_weights(crf, label="X")
    with pytest.raises(ValueError, match="no attribute 'a'; among those it has: 'w=a'"):
        attribute_weights(crf, "a")
    with pytest.raises(ValueError, match="n must be"):
        top_weights(crf, 0)
    with pytest.raises(ValueError, match="sign must be"):
        top_weights(crf, sign="large")  # type: ignore[arg-type]
    for function in (
        lambda: top_weights(ChainCRF()),
        lambda: transitions(ChainCRF()),
        lambda: explain(ChainCRF(), [], 0),
    ):
        with pytest.raises(NotFittedError):
            function()


# --- tables ---

ODD = Table(title="<b>odd</b>", columns=("name", "x"), rows=(("<script>alert(1)</script> [bold]", 1.5), ("b", None)))


def test_tables_show_text_as_it_is() -> None:
    assert "<script>alert(1)</script> [bold]" in str(ODD)
    html = ODD._repr_html_()
    assert "<script>" not in html
    assert "&lt;script&gt;alert(1)&lt;/script&gt; [bold]" in html
    assert "<b>odd" not in html
    assert '<th scope="col">name</th>' in html


def test_tables_become_frames_and_records() -> None:
    frame = ODD.to_frame()
    assert list(frame.columns) == ["name", "x"]
    assert frame["x"].isna().tolist() == [False, True]
    assert ODD.records()[1] == {"name": "b", "x": None}
    assert len(ODD) == 2


def test_without_pandas_a_sentence_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ImportError, match="needs pandas, which is not installed"):
        ODD.to_frame()


def test_an_empty_table_prints_its_head() -> None:
    empty = Table(title="nothing", columns=("a", "b"), rows=())
    assert "a" in str(empty)
    assert "<table>" in empty._repr_html_()


@pytest.mark.parametrize("width", [20, 40, 61, 80, 10_000])
def test_a_table_is_written_in_parts_that_fit(width: int) -> None:
    names = [f"LABEL{k}" for k in range(49)]
    columns = ("from / to", *names)
    rows = tuple((name, *(i - j / 7 for j in range(49))) for i, name in enumerate(names))
    table = Table(title="49 labels", columns=columns, rows=rows, note="A note.")
    title, *lines, note = table.within(width).split("\n")
    assert (title, note) == (table.title, table.note)
    assert max(map(len, lines)) <= width
    parts = [part.split("\n") for part in "\n".join(lines).split("\n\n")]
    heads = [part[0].replace("from / to", "").split() for part in parts]
    assert [name for head in heads for name in head] == names
    assert all([line.split()[0] for line in part[2:]] == names for part in parts)
    cells = [[cell for part in parts for cell in part[2 + i].split()[1:]] for i in range(49)]
    assert cells == [[table.cell("", value) for value in row[1:]] for row in rows]
    assert (len(parts) == 1) == (width == 10_000)
    assert table.within(10_000) == str(table)


def test_a_cell_that_is_wider_than_the_terminal_stays_whole() -> None:
    assert "<script>alert(1)</script> [bold]   1.500" in ODD.within(10)
