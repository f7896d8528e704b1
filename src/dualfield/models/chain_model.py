"""A trained chain: its weights and its answers, without the code that trains.

:class:`ChainModel` needs NumPy and the compiled core. :class:`~dualfield.ChainCRF` is one, with training and
scikit-learn's contract added; the command line uses it as it is, and so starts without scikit-learn and SciPy.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Mapping
from dataclasses import replace
from itertools import pairwise
from typing import Any, Protocol, Self

import numpy as np
import numpy.typing as npt

from dualfield import _core
from dualfield.answers import Answers
from dualfield.core_arrays import check_sample_weight
from dualfield.features import Encoded, NumberedColumns, Vocabulary, check_dense, encode, known_bigrams
from dualfield.features.sequences.dense import Standard
from dualfield.given_numbers import check_integer
from dualfield.labels import encode_allowed, encode_labels, with_unknown
from dualfield.labels.unknown_labels import filled
from dualfield.models import chain_answers, chain_file
from dualfield.models.chain_answers import Entity
from dualfield.models.chain_contents import CHAIN, ChainContents, chain_contents
from dualfield.models.chain_layout import ChainLayout
from dualfield.models.foreign import writer_of
from dualfield.models.model_file import Arrays
from dualfield.models.schema import Contents
from dualfield.models.spec import ChainSpec
from dualfield.models.stored_model import StoredModel, solution_of
from dualfield.random_state import check_random_state
from dualfield.solution import Solution
from dualfield.threads import on_threads

__all__ = ["ChainModel"]

_OF_STANDARDISED = "This is of the problem with standardised columns; the weights are of the columns as they are."


class ChainProblem(Protocol):
    """What a model takes over from the problem that was solved."""

    @property
    def classes(self) -> npt.NDArray[Any]:
        """The labels."""

    @property
    def layout(self) -> ChainLayout:
        """Where the weights are."""

    @property
    def l1(self) -> float:
        """The l1 penalty."""

    @property
    def standard(self) -> Standard | None:
        """How dense columns were standardised."""

    @property
    def encoded(self) -> Encoded:
        """The sequences, or none, with the vocabularies."""


class ChainModel(StoredModel):
    """The weights of a chain, what they belong to, and every question that can be asked of them.

    Parameters
    ----------
    spec : ChainSpec
        What the model is.
    training : mapping
        How training was asked for, as JSON has it: ``solver``, ``tol`` and so on, as :class:`~dualfield.ChainCRF` has
        them.

    Attributes
    ----------
    classes_, weights_, vocabulary_, bigram_vocabulary_, layout_, solution_
        As :class:`~dualfield.ChainCRF` describes them.
    column_features_ : dict or None
        How a file becomes X, see :mod:`dualfield.models.recipe`.
    """

    _stored_as = CHAIN
    n_jobs: int | None = 1
    ignore_label: str | int | None = None
    classes_: npt.NDArray[Any]
    weights_: npt.NDArray[np.float64]
    vocabulary_: Vocabulary | NumberedColumns
    bigram_vocabulary_: Vocabulary | NumberedColumns | None = None
    layout_: ChainLayout
    column_features_: dict[str, Any] | None

    def __init__(self, spec: ChainSpec, training: Mapping[str, Any]) -> None:
        self._spec, self._training = spec, dict(training)
        self.ignore_label = self._training.get("ignore_label")

    @classmethod
    def _of_spec(cls, spec: ChainSpec, training: Mapping[str, Any]) -> Self:
        """A model that has no weights yet."""
        return cls(spec, training)

    def _plain_parameters(self) -> dict[str, Any]:
        """The parameters as JSON has them, except for constraints."""
        return {**self._spec._asdict(), **self._training}

    def _take(self, field: ChainProblem, solution: Solution) -> Self:
        """Become the model of a solution of the field."""
        self.solution_ = solution
        self.classes_ = field.classes
        self.vocabulary_ = field.encoded.vocabulary
        self.bigram_vocabulary_ = None if field.encoded.bigrams is None else field.encoded.bigrams.vocabulary
        self.layout_ = field.layout
        self.weights_ = solution.weights
        if field.standard is not None:
            self.weights_ = field.layout.folded(solution.weights, field.standard)
            self.solution_ = replace(solution, weights=self.weights_, message=f"{solution.message} {_OF_STANDARDISED}")
        self.column_features_ = None
        if field.l1 > 0:
            self._drop_zeros()
        return self

    def _drop_zeros(self) -> None:
        """Keep only weights that are not zero, and of names only those that have such a weight.

        (Columns keep their width: arrays of the full width still fit.)
        """
        self.layout_, self.weights_ = self.layout_.without_zeros(self.weights_)
        self.solution_ = replace(self.solution_, weights=self.weights_)
        if isinstance(self.vocabulary_, Vocabulary):
            self.layout_, used = self.layout_.without_empty_rows()
            self.vocabulary_ = _kept(self.vocabulary_, used)
        if self.layout_.bigrams is not None and isinstance(self.bigram_vocabulary_, Vocabulary):
            pairs, used = self.layout_.bigrams.without_empty_rows()
            self.layout_ = replace(self.layout_, bigrams=pairs)
            self.bigram_vocabulary_ = _kept(self.bigram_vocabulary_, used)

    @property
    def n_nonzero_weights_(self) -> int:
        """How many weights are not zero."""
        self._check_fitted()
        return int(np.count_nonzero(self.weights_))

    def encode(self, X: Any, *, bigrams: Any = None, dense: Any = None) -> Encoded:
        """Encode sequences once, for any number of later calls of ``fit`` and ``predict``.

        Before ``fit`` the attributes are numbered as they appear; afterwards the model's vocabulary is used, and
        attributes it does not have are ignored.

        Parameters
        ----------
        X : sequences
        bigrams : sequences, optional
            Attributes that go with pairs of labels, in any form that X can have and as long: those of position t have
            weights with the labels of t − 1 and t. What the first position of a sequence has is left out.
        dense : 2-D array or sequence of 2-D arrays, optional
            Numbers that every position has beside its attributes, such as an embedding: one array with a row for each
            position of all sequences, or one array a sequence. float32 and float64 are used where they lie.

        Examples
        --------
        >>> from dualfield import ChainCRF
        >>> crf = ChainCRF(random_state=0)
        >>> words = [["a", "a", "b"], ["b", "b", "a"]]
        >>> X = [[[w[0]], ["?"], ["?"]] for w in words]
        >>> same = [[["?"], *([f"same={s == t}"] for s, t in zip(w, w[1:]))] for w in words]
        >>> encoded = crf.encode(X, bigrams=same)
        >>> crf.fit(encoded, [["X", "X", "Y"], ["Y", "Y", "X"]]).predict(encoded)
        [['X', 'X', 'Y'], ['Y', 'Y', 'X']]
        """
        if not hasattr(self, "weights_"):
            return encode(self._shown(X), bigrams=bigrams, dense=dense)
        encoded = encode(self._shown(X), self.vocabulary_, bigrams=bigrams, dense=dense)
        encoded = known_bigrams(encoded, self.bigram_vocabulary_)
        check_dense(encoded, self.layout_.n_columns)
        made_here = not isinstance(X, Encoded) and "template" in (self.column_features_ or {})
        if made_here and encoded.dense is None and len(encoded.indices) == 0:
            warnings.warn(
                "The model knows no attribute of X: a template made those that it was trained on, from the columns of "
                "a file. tagging.tag_text labels raw text, and features.extract_all makes the attributes of a preset.",
                UserWarning,
                stacklevel=2,
            )
        return encoded

    def _shown(self, X: Any) -> Any:
        """X, which an estimator may count as it is encoded."""
        return X

    def predict(self, X: Any, *, allowed: Any = None, given: Any = None) -> list[list[Any]]:
        """The most probable labels of each sequence: a list of lists.

        To NumPy, and so to ``cross_val_predict``, it is a one-dimensional array of lists.

        Parameters
        ----------
        X : sequences, or what ``encode`` returned
        allowed : sequence, optional
            For each sequence None, or for each position None or the labels allowed there.
        given : sequence, optional
            For each sequence None, or for each position None or its label, where that is known.

        Examples
        --------
        >>> from dualfield import ChainCRF
        >>> crf = ChainCRF(random_state=0).fit([[["a"], ["b"]], [["b"], ["a"]]], [["A", "B"], ["B", "A"]])
        >>> crf.predict([[["a"], ["a"]]], given=[[None, "B"]])
        [['A', 'B']]
        """
        encoded, core = self._compiled(X, allowed, given)
        return self._labelled(core.decode, encoded)

    def predict_marginals(self, X: Any, *, allowed: Any = None, given: Any = None) -> list[npt.NDArray[np.float64]]:
        """The probability of each label at each position: one array (T, K) per sequence, columns as ``classes_``.

        With ``allowed`` or ``given``, as in :meth:`predict`, the probability given that.
        """
        encoded, core = self._compiled(X, allowed, given)
        offsets = encoded.offsets

        def part(first: int, last: int) -> list[npt.NDArray[np.float64]]:
            found = self._found(core.marginals, first, last)
            return [found[a:b] for a, b in pairwise((offsets[first : last + 1] - offsets[first]).tolist())]

        return self._by_sequence(part, encoded)

    def predict_proba(self, X: Any, *, allowed: Any = None, given: Any = None) -> list[npt.NDArray[np.float64]]:
        """The same as :meth:`predict_marginals`, by scikit-learn's name."""
        return self.predict_marginals(X, allowed=allowed, given=given)

    def predict_posterior(self, X: Any, *, allowed: Any = None, given: Any = None) -> list[list[Any]]:
        """The labels that minimise the expected number of wrong ones: at each position that of largest marginal.

        With constraints, the best allowed labelling in that sense. ``allowed`` and ``given`` are as in :meth:`predict`.
        """
        encoded, core = self._compiled(X, allowed, given)
        if hasattr(core, "decode_posterior"):
            return self._labelled(core.decode_posterior, encoded)
        return self._labelled(lambda *arguments: core.marginals(*arguments).argmax(axis=1).astype(np.int32), encoded)

    def predict_kbest(
        self, X: Any, k: int = 5, *, allowed: Any = None, given: Any = None
    ) -> list[list[tuple[list[Any], float]]]:
        """The k most probable labellings of each sequence with their probabilities, best first.

        There are fewer where fewer are allowed. ``allowed`` and ``given`` are as in :meth:`predict`.
        """
        k = check_integer("k", k, 1, "a positive integer")
        encoded, core = self._compiled(X, allowed, given)
        return chain_answers.kbest(self, encoded, core, int(k))

    def predict_confidence(self, X: Any, *, allowed: Any = None, given: Any = None) -> npt.NDArray[np.float64]:
        """The probability ``p(ŷ | x)`` of the labels that ``predict`` gives, one for each sequence.

        ``allowed`` and ``given`` are as in :meth:`predict`; the probability is given that.
        """
        encoded, core = self._compiled(X, allowed, given)
        return chain_answers.confidences(self, encoded, core)

    def predict_entities(self, X: Any, *, allowed: Any = None, given: Any = None) -> list[list[Entity]]:
        """The entities of the labels that ``predict`` gives, each with its exact probability.

        Labels are chunk tags, read as :func:`dualfield.metrics.chunks` reads them. An entity's probability is the sum
        of ``p(y | x)`` over all labellings y that have an entity of this type on exactly these positions; with
        ``allowed`` or ``given``, as in :meth:`predict`, given that.

        Returns
        -------
        list of lists of (start, end, type, probability)
            Positions ``start .. end - 1``, in order; one list for each sequence.
        """
        encoded, core = self._compiled(X, allowed, given)
        return chain_answers.entities(self, encoded, core)

    def sample(
        self,
        X: Any,
        n: int = 1,
        random_state: int | np.random.RandomState | None = None,
        *,
        allowed: Any = None,
        given: Any = None,
    ) -> list[list[list[Any]]]:
        """``n`` independent labellings of each sequence, drawn from ``p(y | x)``.

        With ``allowed`` or ``given``, as in :meth:`predict`, from the distribution given that.
        """
        n = check_integer("n", n, 0, "an integer, not negative")
        encoded, core = self._compiled(X, allowed, given)
        seeds = check_random_state(random_state).randint(np.iinfo(np.int32).max, size=len(encoded))
        return chain_answers.samples(self, encoded, core, int(n), seeds)

    def score(self, X: Any, y: Any, sample_weight: npt.ArrayLike | None = None) -> float:
        """The share of positions labelled correctly; those whose label is None or ``ignore_label`` are left out.

        A label unseen in training counts as an error, with a warning.
        """
        encoded, core = self._compiled(X)
        if len(encoded) == 0:
            raise ValueError("X has no sequences to score.")
        y, known = filled(with_unknown(y, self.ignore_label), self.classes_[0].item())
        if known is not None and not known.any():
            raise ValueError("y has no known labels to score.")
        _, codes = encode_labels(y, encoded.lengths, self.classes_)
        unseen = int((codes < 0).sum())
        if unseen:
            warnings.warn(
                f"{unseen} label{'' if unseen == 1 else 's'} of y did not occur in training; counted as errors.",
                UserWarning,
                stacklevel=2,
            )
        found = self._found(core.decode, 0, len(encoded))
        weights = check_sample_weight(sample_weight, len(encoded), "sequence")
        weight = None if weights is None else np.repeat(weights, encoded.lengths)
        if known is not None:
            weight = known.astype(np.float64) if weight is None else weight * known
        return float(np.average(found == codes, weights=weight))

    def export(self, path: str | os.PathLike[str], format: str = "crfsuite") -> None:
        """Write the model in the format of another program; :meth:`save` writes the package's own.

        What the format has no place for is refused by name: see the function that writes it.

        Parameters
        ----------
        path : str or path
            The file to write.
        format : {"crfsuite", "wapiti", "crfpp"}
            See :func:`~dualfield.models.write_crfsuite_model`, :func:`~dualfield.models.write_wapiti_model` and
            :func:`~dualfield.models.write_crfpp_model`.

        Examples
        --------
        >>> import os, tempfile
        >>> from dualfield import ChainCRF
        >>> crf = ChainCRF(bias=False, begin=False, end=False, random_state=0).fit([[["a"], ["b"]]], [["A", "B"]])
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     crf.export(os.path.join(folder, "m.crfsuite"), format="crfsuite")
        """
        writer_of(format)(self, path)

    def _stored(self) -> tuple[npt.NDArray[np.float64], Arrays, dict[str, Any]]:
        parts = self.layout_, self.vocabulary_, self.bigram_vocabulary_
        description = chain_file.description_of(self._plain_parameters(), *parts)
        return self.weights_, chain_file.arrays_of(*parts), {**description, "column_features": self.column_features_}

    @classmethod
    def _check_contents(cls, contents: Contents) -> None:
        chain = chain_contents(contents)  # without a copy of the weights
        cls._of_spec(chain.spec, chain.training)

    @classmethod
    def _of_contents(cls, contents: Contents) -> Self:
        return cls._of_chain(chain_contents(contents))

    @classmethod
    def _of_chain(cls, contents: ChainContents) -> Self:
        """The model that a file holds, with arrays of its own."""
        layout = chain_file.layout_of(contents)
        crf = cls._of_spec(*chain_file.parameters_of(contents, layout))
        crf.classes_, crf.layout_ = np.array(contents.file.labels), layout
        crf.vocabulary_, crf.bigram_vocabulary_ = chain_file.vocabularies_of(contents)
        crf.weights_ = contents.file.array("weights").astype(np.float64, copy=False)
        crf.column_features_ = contents.file.description["column_features"]
        crf.solution_ = solution_of(contents.file, crf.weights_)
        return crf

    def _found(self, answer: Callable[[Any, int, int, int], Any], first: int, last: int) -> Any:
        """``answer(weights, first, last, threads)`` of the core for sequences first … last."""
        return on_threads(lambda threads: answer(self.weights_, first, last, threads), self.n_jobs)

    def _labelled(self, decode: Callable[[Any, int, int, int], npt.NDArray[Any]], encoded: Encoded) -> list[list[Any]]:
        """The labels of each sequence; ``decode`` gives their codes, see :meth:`_found`."""
        labels = self.classes_.tolist()  # Python's own: of other arrays, NumPy would make each string anew
        offsets = encoded.offsets

        def part(first: int, last: int) -> list[list[Any]]:
            return _core.label_lists(self._found(decode, first, last), offsets[first : last + 1], labels)

        return Answers(self._by_sequence(part, encoded))

    def _by_sequence(self, part: Callable[[int, int], list[Any]], encoded: Encoded) -> list[Any]:
        """``part(first, last)``, the answers for sequences first … last, for all of them."""
        return part(0, len(encoded))

    def _compiled(self, X: Any, allowed: Any = None, given: Any = None) -> tuple[Encoded, Any]:
        self._check_fitted()
        encoded = self.encode(X)
        if allowed is not None and given is not None:
            raise ValueError(
                "Both allowed and given were passed; expected one: a given label is an allowed set of one."
            )
        name, sets = ("allowed", allowed) if given is None else ("given", given)
        mask = None if sets is None else encode_allowed(sets, encoded.lengths, self.classes_, name)
        return encoded, self.layout_.compile(encoded, allowed=mask)


def _kept(vocabulary: Vocabulary, used: npt.NDArray[np.bool_]) -> Vocabulary:
    return Vocabulary([name for name, kept in zip(vocabulary.names, used, strict=True) if kept])
