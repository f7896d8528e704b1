"""JSON lines: an object a sequence, of tokens or of attributes.

A sequence that cannot be read, or is too long, is passed on without labels, unless the user is strict.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, ClassVar

from dualfield import io
from dualfield.models.recipe import Recipe
from dualfield.tagging.answers import answers, record_of
from dualfield.tagging.chunks import MOST_TOKENS, Chunk, too_long, whole_lines
from dualfield.tagging.content import ATTRIBUTES, TOKENS, AttributeFile, TokenFile, shown
from dualfield.tagging.format import Format
from dualfield.tagging.stream import label_stream
from dualfield.tagging.task import Counts, Task

if TYPE_CHECKING:
    from dualfield.features import Vocabulary
    from dualfield.io import JsonSequences
    from dualfield.io.content import Progress
    from dualfield.models.recipe import FileLayout

__all__ = ["FORMAT", "JsonLines"]


class JsonLines(Format):
    """Objects with "tokens" or "features", each again with labels as "predicted", and what else is asked for."""

    name: ClassVar[str] = "jsonl"
    holds: ClassVar[frozenset[str]] = frozenset({TOKENS, ATTRIBUTES})
    unlabelled: ClassVar[str] = 'has no labels; add "labels": [...] to every line.'
    in_pieces: ClassVar[bool] = True
    tells: ClassVar[bool] = True
    sequence_end: ClassVar[str] = "a line break"

    def read(
        self,
        path: str,
        layout: FileLayout,
        encoding: str,
        vocabulary: Vocabulary | None = None,
        progress: Progress | None = None,
    ) -> TokenFile | AttributeFile:
        return _content(path, io.read_json_lines(path, encoding=encoding, progress=progress), vocabulary)

    def cut(self, pieces: Iterator[bytes]) -> Iterator[Chunk]:
        return whole_lines(pieces)

    def parse(self, path: str, text: bytes, layout: FileLayout, first_line: int) -> TokenFile | AttributeFile | None:
        from dualfield.io.json_lines import parse_json_lines

        data = parse_json_lines(shown(path), text, first_line)
        return None if data is None else _content(path, data)

    def write(self, content: TokenFile | AttributeFile, path: str) -> None:
        if isinstance(content, AttributeFile):
            from dualfield.io.json_lines import attribute_lists

            sequences, labels = attribute_lists(content.X), content.y.tolist()
            io.write_json_lines(sequences, path, kind="features", labels=labels, weights=content.weights)
        else:
            tokens, label = content.tokens, content.label
            rows = tokens.with_columns([c for c in range(tokens.n_columns) if c != label]).rows()
            named = None if label is None else tokens.labels(label).tolist()
            io.write_json_lines(rows, path, kind="tokens", labels=named, weights=content.weights)

    def stream(self, task: Task) -> Counts:
        """Every object again, as soon as its line is there."""
        if task.jobs > 1:
            raise ValueError(
                f"--jobs {task.jobs}: JSON lines are labelled one by one as they arrive, on one thread; leave --jobs "
                "out."
            )
        _ = task.crf  # before the first line: a model that cannot be loaded is not the fault of one

        def label(line: bytes, number: int) -> tuple[bytes, int, list[str]]:
            if not line.strip():
                return line, 0, []
            try:
                return _tagged(task, shown(task.file), number, line) + b"\n", 1, []
            except ValueError as error:
                if task.strict:
                    raise
                return line, 0, [str(error)]

        return label_stream(task, _lines, "a line break", label, "sequences; expected one JSON object a line")


def _content(path: str, data: JsonSequences, vocabulary: Vocabulary | None = None) -> TokenFile | AttributeFile:
    """What the sequences of a file hold."""
    if data.kind == "features":
        return AttributeFile(path, data.encoded(vocabulary), data.encoded_labels(), data.weights)
    tokens = data.tokens()
    return TokenFile(path, tokens, None if data.labels is None else tokens.n_columns - 1, data.weights)


def _tagged(task: Task, name: str, number: int, line: bytes) -> bytes:
    from dualfield.features import Tokens
    from dualfield.io.json_lines import JsonSequences, parse_json_line

    record, kind = parse_json_line(name, number, line)
    place = f"{name}, line {number}"
    if len(record[kind]) > MOST_TOKENS:
        raise ValueError(f"{place}: {too_long('a line break')}")
    expected = "tokens" if isinstance(task.source, Recipe) else "features"
    if kind != expected:
        raise ValueError(f'{place}: expected "{expected}", on which the model was trained, found "{kind}".')
    if isinstance(task.source, Recipe):
        width, (fewest, most) = len(record[kind][0]), task.source.widths
        most -= task.source.label == most - 1  # labels have a key of their own
        if not fewest <= width <= most:
            numbers = str(fewest) if fewest == most else f"{fewest} to {most}"
            expected = f"{numbers} column{'' if most == 1 else 's'}"
            raise ValueError(f"{place}: expected tokens of {expected} as in training, found {width}.")
        X = task.source.attributes(Tokens.from_rows([record[kind]]), task.crf)
    else:
        X = JsonSequences(kind, [record[kind]], None, None, name, [number]).encoded(task.vocabulary)
    given = {} if task.wanted.labels_only else json.loads(line)
    found = record_of(answers(task.crf, task.with_embeddings(X), task.wanted)[0])
    return json.dumps({**given, **found}, ensure_ascii=False).encode()


def _lines(pieces: Iterator[bytes]) -> Iterator[Chunk]:
    """The lines of a stream as soon as they are whole, and those that are too long part by part."""
    for chunk in whole_lines(pieces):
        if chunk.over:
            yield chunk
        else:
            yield from (Chunk(line + b"\n") for line in chunk.text.split(b"\n")[:-1])


FORMAT = JsonLines()
