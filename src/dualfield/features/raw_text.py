"""Raw text as sentences of words, each with its place in the text.

The rules are few, and the same for all languages that put blanks between words. A word keeps its hyphens and
apostrophes, a number its points and commas; web and mail addresses are one word; every other sign stands alone.
"""

from __future__ import annotations

import re
import unicodedata
from functools import cache
from typing import NamedTuple

__all__ = ["Token", "tokenize"]

_JOINERS = "\u00ad\u200c\u200d\u2060"  # signs within words that are not seen
_CLOSING = "\"'”’»)]}"
# Mr., Dr., St., nr.: a short word without a vowel, or a single letter.
_ABBREVIATION = re.compile(r"[^\W\d_]|[A-Z]?[b-df-hj-np-tv-xz]{1,3}")
_END = re.compile(r"[.!?…।؟۔。！？]+")
_ENDS_WITHOUT_BLANK = "。！？"


class Token(NamedTuple):
    """A word or sign: ``text[start:end]`` of the whole text."""

    text: str
    start: int
    end: int


def tokenize(text: str) -> list[list[Token]]:
    r"""Cut raw text into sentences of tokens.

    A line of the text ends a sentence. So do ``.``, ``!`` and ``?`` before a blank and anything but a small letter,
    except for the full stop of an initial (``J. Smith``), of a short word without a vowel (``Dr. Who``) and of a number
    of at most two digits (``3. Mai``). Such initials and words keep their full stop, unless the line ends there.

    Parameters
    ----------
    text : str
        Any text in a script that puts blanks between words.

    Returns
    -------
    list of lists of (text, start, end)
        The sentences; none is empty.

    Examples
    --------
    >>> from dualfield.features import tokenize
    >>> sentences = tokenize("Dr. O'Neil paid $3.50. Then he left!")
    >>> [[token.text for token in sentence] for sentence in sentences]
    [['Dr.', "O'Neil", 'paid', '$', '3.50', '.'], ['Then', 'he', 'left', '!']]
    >>> sentences[1][0]
    Token(text='Then', start=23, end=27)
    """
    if not isinstance(text, str):
        raise TypeError(f"tokenize() takes a string; got an object of type {type(text).__name__}.")
    found, start = [], 0
    for line in text.split("\n"):
        found.extend(_sentences(_tokens(line, start)))
        start += len(line) + 1
    return found


def _tokens(line: str, start: int) -> list[Token]:
    """The tokens of a line, which begins at ``start``."""
    tokens: list[Token] = []
    matches = [(match.group(), start + match.start(), start + match.end()) for match in _pattern().finditer(line)]
    for number, token in enumerate(matches):
        text, begin, end = token
        last = number == len(matches) - 1
        if text == "." and tokens and not last and tokens[-1].end == begin:
            before = tokens[-1]
            if _ABBREVIATION.fullmatch(before.text):
                tokens[-1] = Token(before.text + text, before.start, end)
                continue
        tokens.append(Token(*token))
    return tokens


def _sentences(tokens: list[Token]) -> list[list[Token]]:
    """The tokens of a line, cut where a sentence ends."""
    found: list[list[Token]] = []
    begin = k = 0
    while k < len(tokens):
        first = k
        k += 1
        if not _END.fullmatch(tokens[first].text):
            continue
        while k < len(tokens) and tokens[k].start == tokens[k - 1].end and tokens[k].text in _CLOSING:
            k += 1
        if k < len(tokens) and _begins_another(tokens, first, k):
            found.append(tokens[begin:k])
            begin = k
    return [*found, tokens[begin:]] if begin < len(tokens) else found


def _begins_another(tokens: list[Token], end: int, following: int) -> bool:
    """Whether a sentence begins at ``following``. Before it are the sign ``end`` and closing quotes or brackets."""
    if tokens[following].text[0].islower():
        return False
    if tokens[following].start == tokens[following - 1].end:
        return tokens[end].text[-1] in _ENDS_WITHOUT_BLANK
    is_short_number = end > 0 and tokens[end - 1].text.isdecimal() and len(tokens[end - 1].text) <= 2
    return not (tokens[end].text == "." and is_short_number and tokens[end - 1].end == tokens[end].start)


@cache
def _pattern() -> re.Pattern[str]:
    # Repetitions are possessive or bounded, so that every text is cut in linear time.
    letter, after = rf"[\w{_JOINERS}{_marks()}]", r"[.,;:!?'”’)\]}]"
    return re.compile(
        rf"""
          (?:https?://|www\.) (?: {after}*+ (?! {after} ) [^\s<>"] )++  # a web address, without what follows it
        | [\w.+-]{{1,64}} @ [\w-]++ (?: \. [\w-]++ )++           # a mail address
        | (?: [^\W\d_] \. ){{2,}}+                               # U.S.
        | {letter}++ (?: (?: [-'’&] | (?<=\d)[.,:/](?=\d) ) {letter}++ )*+
        | ([.!?*=~\#_-]) \1++                                    # the same sign again and again
        | \S
        """,
        re.VERBOSE,
    )


def _marks() -> str:
    """The signs that are put on letters, such as the vowels of Indian scripts, as ranges of a class of characters."""
    marks = [code for code in range(0x300, 0x10000) if unicodedata.category(chr(code))[0] == "M"]
    ranges: list[list[int]] = []
    for code in marks:
        if ranges and ranges[-1][1] == code - 1:
            ranges[-1][1] = code
        else:
            ranges.append([code, code])
    return "".join(f"{chr(first)}-{chr(last)}" for first, last in ranges)
