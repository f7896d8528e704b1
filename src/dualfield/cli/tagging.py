"""What ``dualfield tag`` does."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dualfield.cli.column_tagger import column_tagger
from dualfield.cli.conduct import say
from dualfield.cli.data import GIVEN, GIVEN_BY_CRFSUITE, input_of, layout_of, load_model
from dualfield.cli.stream import Tagger, open_sink, tag_columns
from dualfield.io.atomic import check_writable
from dualfield.io.content import is_crfsuite_model
from dualfield.models.chain_contents import ChainContents, read_chain
from dualfield.models.recipe import Recipe
from dualfield.threads import thread_count

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
) -> None:
    """Label a file; the arguments are the options of the command."""
    if output != "-":
        check_writable(output)
    contents = None if is_crfsuite_model(model) else read_chain(model)
    plain = GIVEN_BY_CRFSUITE if contents is None else contents.file.description["column_features"]
    bigrams = contents is not None and contents.bigrams is not None
    source = input_of(plain, format, bigrams)
    layout = layout_of(source, format, separator, comment, docstart)
    if jobs > 1 and layout.format == "jsonl":
        raise ValueError(
            f"--jobs {jobs}: JSON lines are labelled one by one as they arrive, on one thread; leave --jobs out."
        )
    if layout.format in GIVEN:
        # With the model as the estimators have it, which takes NumPy; a column file does without.
        from dualfield.cli.tag_sequences import tag_attributes, tag_json_lines

        crf = _in_python(model, contents)
        crf.n_jobs = jobs
        with open_sink(output) as sink:
            if layout.format == "attributes":
                counts = tag_attributes(file, sink, crf, encoding)
            else:
                counts = tag_json_lines(file, sink, crf, source, encoding, strict, say)
    else:
        assert isinstance(source, Recipe)
        assert contents is not None
        tagger: Tagger
        if bigrams:
            from dualfield.cli.model_tagger import ModelTagger

            crf = _in_python(model, contents)
            crf.n_jobs = jobs
            tagger = ModelTagger(crf, source, layout, strict)
        else:
            tagger = column_tagger(contents, source, layout, strict)
            if jobs > 1:
                from dualfield.cli.stream_parts import InParts

                tagger = InParts(tagger, min(jobs, thread_count(-1)))
        with open_sink(output) as sink:
            counts = tag_columns(file, sink, tagger, source.widths, encoding, say, strict)
    if counts.passed_on:
        total = counts.labelled + counts.passed_on
        say(f"Warning: {counts.passed_on:,} of {total:,} sentences were passed on without labels.")


def _in_python(model: str, contents: ChainContents | None) -> ChainModel:
    """The model as the estimators have it."""
    if contents is None:
        return load_model(model)
    from dualfield.models.chain_model import ChainModel

    return ChainModel._of_chain(contents)
