"""Raw text in, labelled words with their places in the text out: ``dualfield tag --tokenize``, and ``tag_text``."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

from dualfield.features import Template, Token, Tokens, preset_template, tokenize
from dualfield.models.recipe import Recipe, recipe_of
from dualfield.models.unwrapping import unwrapped
from dualfield.tagging.answers import Placement, Wanted, answers, blocks_of, record_of
from dualfield.tagging.chunks import MOST_TOKENS, too_long, whole_lines
from dualfield.tagging.content import shown
from dualfield.tagging.stream import label_stream

if TYPE_CHECKING:
    from dualfield.models.chain_model import ChainModel
    from dualfield.tagging.answers import Answer
    from dualfield.tagging.task import Counts, Task

__all__ = ["TaggedToken", "TextEntity", "entities_in_text", "recipe_of_words", "tag_raw_text", "tag_text"]

Features = Callable[[list[str]], Any] | str | Template | None

_LINES = Placement("\t", None)


class TaggedToken(NamedTuple):
    """A word or sign of a text, ``text[start:end]``, with its label and the probability of that."""

    text: str
    start: int
    end: int
    label: Any
    probability: float


class TextEntity(NamedTuple):
    """An entity of a text, ``text[start:end]``, with its type and probability."""

    text: str
    start: int
    end: int
    type: str
    probability: float


def tag_text(model: Any, text: str, features: Features = None) -> list[list[TaggedToken]]:
    """Label the words of raw text.

    Parameters
    ----------
    model : ChainCRF, or what holds one
        A fitted or loaded model, or a fitted ``ChainCRFCV``, ``GridSearchCV``, ``Pipeline`` or drop-in ``CRF`` around
        one.
    text : str
        Cut into sentences and words by :func:`dualfield.features.tokenize`.
    features : callable, preset, Template or None
        How the words of a sentence become what the model was trained on: a function of their list, the name of a
        preset or a template. None for a model that ``dualfield train`` made, which knows.

    Returns
    -------
    list of lists of (text, start, end, label, probability)
        The sentences; a probability is that of the label at its position.

    Examples
    --------
    >>> from dualfield import ChainCRF
    >>> def features(words):
    ...     return [[word.lower(), f"capital={word[0].isupper()}"] for word in words]
    >>> words = [["Ada", "slept", "."], ["Bob", "and", "Ada", "met", "."]]
    >>> tags = [["NAME", "O", "O"], ["NAME", "O", "NAME", "O", "O"]]
    >>> crf = ChainCRF(l2=0.1, random_state=0).fit([features(sentence) for sentence in words], tags)
    >>> for token in tag_text(crf, "so Eve met Bob.", features)[0]:
    ...     if token.label == "NAME":
    ...         print(token.start, token.text)
    3 Eve
    11 Bob
    """
    crf, sentences, X = _encoded(model, text, features, "tag_text")
    told = answers(crf, X, Wanted(probabilities=True)) if sentences else []
    tagged = []
    for sentence, answer in zip(sentences, told, strict=True):
        rows = zip(sentence, answer.labels, answer.probabilities or (), strict=True)
        tagged.append([TaggedToken(*token, label, probability) for token, label, probability in rows])
    return tagged


def entities_in_text(model: Any, text: str, features: Features = None) -> list[TextEntity]:
    """Find the entities of raw text, by a model whose labels are chunk tags such as ``B-CITY``.

    They are those of the labels that :func:`tag_text` gives, each with its exact probability, as
    :meth:`ChainCRF.predict_entities` has them.

    Parameters
    ----------
    model, text, features
        As for :func:`tag_text`.

    Returns
    -------
    list of (text, start, end, type, probability)
        In order; ``text`` is as it stands in the whole text, blanks between its words included.

    Examples
    --------
    >>> from dualfield import ChainCRF
    >>> def features(words):
    ...     return [[word.lower(), f"capital={word[0].isupper()}"] for word in words]
    >>> words, tags = ["in", "Aix", "or", "New", "York"], ["O", "B-CITY", "O", "B-CITY", "I-CITY"]
    >>> crf = ChainCRF(l2=0.01, random_state=0).fit([features(words)], [tags])
    >>> [(entity.text, entity.start, entity.type) for entity in entities_in_text(crf, "go to New  York!", features)]
    [('New  York', 6, 'CITY')]
    """
    crf, sentences, X = _encoded(model, text, features, "entities_in_text")
    found = []
    for sentence, entities in zip(sentences, crf.predict_entities(X) if sentences else (), strict=True):
        for entity in entities:
            start, end = sentence[entity.start].start, sentence[entity.end - 1].end
            found.append(TextEntity(text[start:end], start, end, entity.type, entity.probability))
    return found


def _encoded(model: Any, text: str, features: Features, asker: str) -> tuple[ChainModel, list[list[Token]], Any]:
    """The chain that a model holds, the sentences of a text, and what the chain sees of them."""
    crf, prepared = unwrapped(model, asker)
    sentences = tokenize(text)
    if not sentences:
        return crf, [], None
    if callable(features):
        return crf, sentences, crf.encode(prepared([_featured(sentence, features) for sentence in sentences]))
    if features is None:
        way_out = f"give {asker}() the features"
        return crf, sentences, recipe_of_words(crf.column_features_, way_out).attributes(_words(sentences), crf)
    if not isinstance(features, str | Template):
        raise TypeError(f"features must be a function of words, a preset or a Template; got {features!r:.60}.")
    template = features if isinstance(features, Template) else preset_template(features, 1)
    X = template.encode(_words(sentences), crf.vocabulary_, bigram_vocabulary=crf.bigram_vocabulary_)
    return crf, sentences, X


def _featured(sentence: list[Token], features: Callable[[list[str]], Any]) -> Any:
    words = [token.text for token in sentence]
    found = features(words)
    given = found.shape[0] if hasattr(found, "shape") else len(found)
    if given != len(words):
        raise ValueError(
            f"features gave {given} position{'' if given == 1 else 's'} for the {len(words)} words {words!r:.60}; "
            "expected one for each."
        )
    return found


def recipe_of_words(plain: Any, way_out: str) -> Recipe:
    """How a model makes attributes of words, from what it remembers of files, or a refusal."""
    if plain is None or set(plain) == {"attributes"}:
        raise ValueError(
            "the model was trained on attributes, so it does not know how to make them of raw text; train it on a "
            f"column file with --features, or {way_out}."
        )
    return recipe_of(plain).of_words()


def tag_raw_text(task: Task) -> Counts:
    """Label a file of raw text line by line, as lines arrive: ``word start end label``, with tabs between them.

    Places count characters from the beginning of the file.
    """
    name, place = shown(task.file), 0
    recipe = task.source
    assert isinstance(recipe, Recipe)
    _ = task.crf  # before the first line

    def label(chunk: bytes, first_line: int) -> tuple[bytes, int, list[str]]:
        nonlocal place
        text = _decoded(name, chunk, first_line)
        sentences = [[Token(word, place + start, place + end) for word, start, end in s] for s in tokenize(text)]
        place += len(text)
        if not sentences:
            return b"", 0, []
        if max(map(len, sentences)) > MOST_TOKENS:
            raise ValueError(f"{name}, line {first_line}: {too_long('a line break')}")
        found = answers(task.crf, recipe.attributes(_words(sentences), task.crf), task.wanted)
        shape = _record if task.wanted.as_json else _lines
        parts = (shape(*both, labels_only=task.wanted.labels_only) for both in zip(sentences, found, strict=True))
        return "".join(parts).encode(), len(sentences), []

    return label_stream(task, whole_lines, "a line break", label, "words")


def _lines(sentence: list[Token], answer: Answer, *, labels_only: bool) -> str:
    lines = [f"{token.text}\t{token.start}\t{token.end}" for token in sentence]
    return blocks_of(answer, _LINES, None if labels_only else lines)


def _record(sentence: list[Token], answer: Answer, *, labels_only: bool) -> str:
    given = {"tokens": [token.text for token in sentence], "offsets": [[token.start, token.end] for token in sentence]}
    return json.dumps({**({} if labels_only else given), **record_of(answer)}, ensure_ascii=False) + "\n"


def _words(sentences: list[list[Token]]) -> Tokens:
    return Tokens.from_rows([(token.text,) for token in sentence] for sentence in sentences)


def _decoded(name: str, chunk: bytes, first_line: int) -> str:
    try:
        return chunk.decode()
    except UnicodeDecodeError as error:
        line = first_line + chunk.count(b"\n", 0, error.start)
        raise ValueError(
            f"{name}, line {line}: byte 0x{chunk[error.start]:02x} is not valid utf-8; give the file's own encoding by "
            "--encoding."
        ) from None
