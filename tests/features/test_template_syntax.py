"""Template files are read as they stand, or refused with their line."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dualfield.features import Template

pieces = st.sampled_from(
    [
        "U",
        "u",
        "B",
        "*",
        "#",
        "\n",
        "%",
        "%x",
        "%x[0,0]",
        "%x[-1,1]",
        "%t",
        '%t[0,0,"',
        '"]',
        "\\",
        "^",
        "[",
        ",",
        "9" * 7,
    ]
)
scraps = st.lists(pieces, max_size=12).map("".join) | st.text(max_size=20)


@pytest.mark.filterwarnings("ignore:line .* begins with neither U nor B")
@settings(deadline=None)
@given(scraps, st.sampled_from([Template.crfpp, Template.wapiti]))
def test_any_text_is_a_template_or_refused_in_a_sentence(text: str, parse: object) -> None:
    assert callable(parse)
    refusal = ""
    try:
        template = parse(text)
    except ValueError as error:
        refusal = str(error)
    if refusal:
        assert "template" in refusal
        assert refusal.endswith(".")
    else:
        assert template.unigrams
        assert Template.from_dict(template.to_dict()) == template


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("U00:%x[0]", r"line 1 of the template, .*expected %x\[row,column\] at character 5"),
        ("U00:%t[0,0]", r"line 1 .*expected %x\[row,column\] at character 5"),
        ("U00:100%", r"line 1 .*at character 8"),
        ("U00:%x[5000,0]", "line 1 of the template: the offset of a cell must be an integer from -1000 to 1000"),
        ("U00:%x[0,99999999]", "line 1 .*number is too long"),
        ("B\n", "no unigram line"),
        ("# nothing\n", "no unigram line"),
    ],
)
def test_mistakes_in_crfpp_templates_are_named(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Template.crfpp(text)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("u:%x[0,0]\n\nq:1", "line 3 of the template, 'q:1': expected u, b or . first"),
        ("u:%z[0,0]", "line 1 .*expected a command %x, %t or %m at character 3"),
        ("u:%", "line 1 .*expected a command %x, %t or %m at character 3"),
        ("u:%t[0,0]", r'line 1 .*expected %t\[row,column,"regular expression"\] at character 3'),
        ('u:%x[0,0,"a"]', r"line 1 .*expected %x\[row,column\] at character 3"),
        ('u:%m[0,0,"a]', r'line 1 .*expected %m\[row,column,"regular expression"\]'),
        ('u:%m[0,0,"#"]', r"line 1 .*expected %m\[.*; note that # begins a comment"),
        (
            'u:%m[0,0,"a**"]',
            'line 1 of the template: the regular expression "a\\*\\*" has a . or . with nothing',
        ),
        ("u:%x[*0,0]", r"line 1 .*expected %x\[row,column\]"),
        ("b:%x[0,0]", "no unigram line"),
    ],
)
def test_mistakes_in_wapiti_patterns_are_named(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Template.wapiti(text)


def test_line_ends_and_byte_order_marks_make_no_difference() -> None:
    for parse in (Template.crfpp, Template.wapiti):
        assert parse("\ufeffU00:%x[0,0]\r\n\r\n") == parse("U00:%x[0,0]\n")


def test_crfpp_keeps_what_wapiti_drops() -> None:
    assert Template.crfpp("U:%x[0,0]#1 ").strings([("a",)]) == [["U:a#1 "]]
    assert Template.wapiti("U:%x[0,0]#1 ").strings([("a",)]) == [["u:a"]]


def test_lines_that_crfpp_skips_are_skipped_with_a_warning() -> None:
    with pytest.warns(UserWarning, match="line 2 of the template, ' U:%x.0,1.', begins with neither U nor B") as shown:
        template = Template.crfpp("U:%x[0,0]\n U:%x[0,1]\nB\n")
    assert len(shown) == 1
    assert template == Template.crfpp("U:%x[0,0]\nB\n")


@pytest.mark.parametrize("line", ["u:%x[ 0,0]/%X[-1, 1]", "u:%x[\t0,\t0]/%X[ -1,  1]", "U:%x[ +0,0]/%X[-1,1]"])
def test_wapitis_commands_may_have_blanks_before_numbers(line: str) -> None:
    assert Template.wapiti(line) == Template.wapiti("u:%x[0,0]/%X[-1,1]")
    pattern = '%t[@ 1, 0,"a b"]'
    assert Template.wapiti(f"u:{pattern}") == Template.wapiti('u:%t[@1,0,"a b"]')


@pytest.mark.parametrize("line", ["u:%x[0 ,0]", "u:%x[ @0,0]", "u:%x[0,0 ]"])
def test_blanks_elsewhere_are_refused_as_wapiti_refuses_them(line: str) -> None:
    with pytest.raises(ValueError, match=r"expected %x\[row,column\]"):
        Template.wapiti(line)
