"""What ``dualfield tag`` does."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING

from dualfield.io.atomic import check_writable
from dualfield.models.chain_contents import read_chain
from dualfield.models.foreign import reader_of
from dualfield.models.recipe import Recipe
from dualfield.tagging.answers import Wanted, check_wanted
from dualfield.tagging.embeddings import Embeddings, check_embeddings
from dualfield.tagging.formats import format_named
from dualfield.tagging.source import format_of, layout_of, load_model, source_of
from dualfield.tagging.task import Counts, Task

if TYPE_CHECKING:
    from dualfield.models.chain_model import ChainModel

__all__ = ["tag_file"]


def tag_file(
    file: str,
    model: str,
    output: str = "-",
    format: str | None = None,
    separator: str | None = None,
    comment: str | None = None,
    docstart: str | None = None,
    encoding: str = "utf-8",
    strict: bool = False,
    jobs: int = 1,
    *,
    report: Callable[[str], None],
    wanted: Wanted | None = None,
    tokenize: bool = False,
    embeddings: str | None = None,
) -> Counts:
    """Label a file; the arguments are the options of the command. ``report`` is told what could not be labelled."""
    wanted = wanted or Wanted()
    if tokenize:
        _check_raw_text(format=format, separator=separator, comment=comment, docstart=docstart)
    if output != "-":
        check_writable(output)
    contents = None if reader_of(model) else read_chain(model)

    @cache
    def load() -> ChainModel:
        from dualfield.models.chain_model import ChainModel

        crf = load_model(model) if contents is None else ChainModel._of_chain(contents)
        crf.n_jobs = jobs
        return crf

    if contents is None:
        layout_ = load().layout_
        plain, bigrams, n_columns = load().column_features_, layout_.bigrams is not None, layout_.n_columns
    else:
        plain, bigrams = contents.file.description["column_features"], contents.bigrams is not None
        n_columns = contents.n_columns
    dense = None if embeddings is None else Embeddings(embeddings)
    check_embeddings(dense, n_columns)
    if tokenize and dense is not None:
        raise ValueError(
            "--tokenize makes the words itself, so that no rows of --embeddings are theirs; leave one out."
        )
    if tokenize:
        from dualfield.tagging.raw_text import recipe_of_words, tag_raw_text

        check_wanted(wanted, of_json=False)
        recipe = recipe_of_words(plain, "make the attributes in a program")
        return tag_raw_text(
            Task(file, output, encoding, recipe.layout, True, jobs, report, recipe, contents, load, wanted)
        )
    format = format or format_of(file, encoding, plain)
    source = source_of(plain, format, bigrams)
    layout = layout_of(source, format, separator, comment, docstart)
    if isinstance(source, Recipe):
        source = source.of_format(layout.format)
    of_json = layout.format == "jsonl"
    check_wanted(wanted, of_json)
    # Without the lines of the file around it, a sentence that has no labels would have no place.
    # Nor can it be known how many rows of embeddings belong to a sentence that cannot be read.
    strict = strict or dense is not None or (wanted.labels_only if of_json else not wanted.whole)
    task = Task(file, output, encoding, layout, strict, jobs, report, source, contents, load, wanted, dense)
    counts = format_named(layout.format).stream(task)
    if dense is not None:
        dense.finish()
    if counts.passed_on:
        total = counts.labelled + counts.passed_on
        raw = 2 * counts.passed_on > total and isinstance(source, Recipe) and source.reads_words and not of_json
        hint = " If the file is raw text, add --tokenize." if raw else ""
        report(f"Warning: {counts.passed_on:,} of {total:,} sentences were passed on without labels.{hint}")
    return counts


def _check_raw_text(**of_files: str | None) -> None:
    """Refuse the options that say how files other than raw text are laid out."""
    for name, value in of_files.items():
        if value is not None:
            raise ValueError(f"--{name} is for files of tokens, and --tokenize for raw text; leave one of them out.")
