"""``dualfield eval``."""

from __future__ import annotations

from dualfield.cli.machine import print_json, score_record
from dualfield.cli.options import (
    AsJson,
    AsTrained,
    Comment,
    ConfigFile,
    EmbeddingsFile,
    Encoding,
    FormatAsTrained,
    InputFile,
    Jobs,
    ModelFile,
    Separator,
    say,
)
from dualfield.cli.report_option import ReportFile, check_report_option, report_on
from dualfield.counted import counted
from dualfield.models.recipe import Recipe
from dualfield.reporting.reading import reading_shown
from dualfield.tagging.embeddings import Embeddings, check_embeddings
from dualfield.tagging.reading import read_for_eval
from dualfield.tagging.source import format_of, layout_of, load_model, source_of

__all__ = ["evaluate"]


def evaluate(
    file: InputFile,
    model: ModelFile,
    format: FormatAsTrained = None,
    separator: Separator = None,
    comment: Comment = None,
    docstart: AsTrained = None,
    encoding: Encoding = "utf-8",
    embeddings: EmbeddingsFile = None,
    jobs: Jobs = 1,
    report: ReportFile = None,
    as_json: AsJson = False,
    config: ConfigFile = None,
) -> None:
    """Score a model on a labelled file: accuracy, and precision, recall and F1 of each type of chunk.

    Of labels that are no chunk tags, such as parts of speech, they are of each label, over tokens.

    Example: dualfield eval test.txt -m chunker.safetensors --json

    Example: dualfield eval test.txt -m chunker.safetensors --report chunker.html
    """
    from dualfield.metrics import are_chunk_tags, chunk_scores, classification_report, label_scores, token_accuracy

    if report is not None and embeddings is not None:
        raise ValueError("--report has no place for the embeddings of its sentences; leave one of the two out.")
    if report is not None:
        check_report_option(report)
    crf = load_model(model)
    crf.n_jobs = jobs
    dense = None if embeddings is None else Embeddings(embeddings)
    check_embeddings(dense, crf.layout_.n_columns)
    format = format or format_of(file, encoding, crf.column_features_)
    source = source_of(crf.column_features_, format, crf.bigram_vocabulary_ is not None)
    layout = layout_of(source, format, separator, comment, docstart.value if docstart else None)
    if isinstance(source, Recipe):
        source = source.of_format(layout.format)
    with reading_shown() as progress:
        data = read_for_eval(file, crf, source, layout, encoding, progress)
    if dense is not None:
        data = data._replace(X=dense.beside(data.X))
        dense.finish()
    y = data.y.tolist()
    known = set(crf.classes_.tolist())
    unseen = sum(label not in known for sequence in y for label in sequence)
    if unseen:
        say(f"Warning: {counted(unseen, 'label')} of {file} did not occur in training; counted as errors.")
    if data.weights is not None:
        say("Warning: the weights of the sequences are for training; here all count alike.")
    predicted = crf.predict(data.X)
    scores = chunk_scores(y, predicted) if are_chunk_tags(known.union(*y)) else None
    if as_json:
        labels = label_scores(y, predicted) if scores is None else {}
        print_json(score_record(scores, data.X.n_positions, token_accuracy(y, predicted), unseen, labels))
    elif scores is not None:
        print(scores)
    else:
        print(f"{counted(data.X.n_positions, 'token')}, {token_accuracy(y, predicted):.2%} with the right label\n")
        print(classification_report(y, predicted, of="labels"))
    if report is not None:
        say(report_on(report, model, file, data).write(crf))
