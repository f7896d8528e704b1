"""The output of commands for other programs: one JSON object on standard output. An unknown number is null."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from dualfield.counted import counted

if TYPE_CHECKING:
    from dualfield.metrics import ChunkScores, Score
    from dualfield.models.chain_model import ChainModel

__all__ = ["model_record", "print_json", "score_record", "sizes"]


def print_json(content: dict[str, Any]) -> None:
    """Print an object."""
    print(json.dumps(content, ensure_ascii=False, allow_nan=False, indent=1))


def sizes(crf: ChainModel) -> str:
    """How many attributes a model has, in words."""
    bigrams = crf.bigram_vocabulary_
    columns = f", {counted(crf.layout_.n_columns, 'dense column')}" if crf.layout_.n_columns else ""
    pairs = "" if bigrams is None else f", {counted(len(bigrams), 'bigram')}"
    return f"{counted(len(crf.vocabulary_), 'attribute')}{columns}{pairs}"


def model_record(crf: ChainModel) -> dict[str, Any]:
    """What a model is, and what is proven about it."""
    solution = crf.solution_
    return {
        "labels": crf.classes_.tolist(),
        "attributes": len(crf.vocabulary_),
        "dense_columns": crf.layout_.n_columns,
        "bigrams": 0 if crf.bigram_vocabulary_ is None else len(crf.bigram_vocabulary_),
        "weights": len(crf.weights_),
        "certificate": solution.certificate,
        "status": solution.status,
        "objective": _known(solution.primal),
        "lower_bound": _known(solution.dual),
        "duality_gap": _known(solution.duality_gap),
        "relative_gap": _known(solution.relative_gap),
        "passes": solution.passes,
        "cpu_seconds": solution.cpu_seconds,
        "message": solution.message,
    }


def score_record(
    scores: ChunkScores | None, n_tokens: int, accuracy: float, unseen: int, labels: Mapping[Any, Score]
) -> dict[str, Any]:
    """Scores over tokens and, for chunk labels, over chunks; for other labels, of each label over tokens."""
    content: dict[str, Any] = {"tokens": n_tokens, "accuracy": accuracy, "unseen_labels": unseen}
    if scores is not None:
        content["chunks"] = _counted(scores)
        content["chunks_by_type"] = {name: _counted(score) for name, score in scores.per_type.items()}
    else:
        content["labels"] = {str(name): _counted(score) for name, score in labels.items()}
    return content


def _counted(score: Score) -> dict[str, Any]:
    return {
        "precision": score.precision,
        "recall": score.recall,
        "f1": score.f1,
        "true": score.n_true,
        "predicted": score.n_predicted,
        "correct": score.n_correct,
    }


def _known(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None
