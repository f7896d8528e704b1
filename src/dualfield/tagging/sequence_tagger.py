"""One sequence in, its labels out: for services and programs that start often.

A :class:`SequenceTagger` opens a model file in milliseconds, without NumPy, and answers about a short sequence in
microseconds. It answers about one sequence at a time; for many at once, ``ChainCRF.predict`` uses vectors and threads.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any

from dualfield._tagger import Tagger
from dualfield.models.tagging_model import open_tagging_model

__all__ = ["SequenceTagger"]


class SequenceTagger:
    """Labels and probabilities of single sequences, by a model of ``ChainCRF.save`` or of CRFsuite.

    It has no state but the model, which never changes: threads may share it.

    Parameters
    ----------
    path : str or path
        The model file. Of dualfield's models, one whose attributes have names and no bigrams.
    mapped : bool
        Map the file instead of reading it: opening takes the same time whatever the size, and processes share the
        memory. The file must then not be changed in place, and its checksum is not compared.

    Examples
    --------
    >>> import tempfile
    >>> from dualfield import ChainCRF
    >>> X, y = [[{"w": "the"}, {"w": "cat"}]], [["DET", "NOUN"]]
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     ChainCRF(random_state=0).fit(X, y).save(f"{folder}/model")
    ...     tagger = SequenceTagger(f"{folder}/model")
    >>> tagger.tag([{"w": "the"}, {"w": "cat"}])
    ['DET', 'NOUN']
    """

    __slots__ = ("_model",)

    def __init__(self, path: str | os.PathLike[str], *, mapped: bool = False) -> None:
        self._model = open_tagging_model(path, mapped)

    @property
    def labels(self) -> list[Any]:
        """The labels, in the order that :meth:`marginals` has."""
        return list(self._model.labels)

    def tag(self, sequence: Iterable[Any]) -> list[Any]:
        """The most probable labels of a sequence: a dict or an iterable of strings for each position."""
        return self._at(sequence).tag()

    def marginals(self, sequence: Iterable[Any]) -> list[list[float]]:
        """The probability of each label at each position, T × K."""
        return self._at(sequence).marginals()

    def probability(self, sequence: Iterable[Any], labels: Iterable[Any]) -> float:
        """The probability of a labelling."""
        return self._at(sequence).probability(labels)

    def k_best(self, sequence: Iterable[Any], k: int) -> list[tuple[list[Any], float]]:
        """The ``k`` most probable labellings, best first, with their probabilities."""
        return self._at(sequence).k_best(k)

    def log_partition(self, sequence: Iterable[Any]) -> float:
        """The logarithm of the sum of exp(score) over all labellings."""
        return self._at(sequence).log_partition()

    def _at(self, sequence: Iterable[Any]) -> Tagger:
        tagger = Tagger()
        tagger.open_model(self._model)
        tagger.set(sequence)
        return tagger
