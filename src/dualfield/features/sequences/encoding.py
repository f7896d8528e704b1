"""From sequences in any form to the arrays of the core: :func:`encode`.

This module finds out the form of the data, refuses data of mixed forms with the place, and calls the encoder of the
form: :mod:`~dualfield.features.sequences.attributes` for dicts and lists of strings,
:mod:`~dualfield.features.sequences.arrays` for matrices.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import chain, islice
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from dualfield.features.sequences.arrays import encode_arrays, is_sparse
from dualfield.features.sequences.attributes import NamedRows, encode_dicts, encode_strings
from dualfield.features.sequences.encoded import Encoded
from dualfield.features.vocabulary import NumberedColumns, Vocabulary

__all__ = ["encode"]

Form = Literal["dict", "list", "array"]
_AT_A_TIME = 64  # sequences of a generator
_EXPECTED_SEQUENCE = "a list of dicts, a list of lists of attribute strings, or a 2-D array"


def encode(
    X: Any, vocabulary: Vocabulary | NumberedColumns | None = None, *, bigrams: Any = None, dense: Any = None
) -> Encoded:
    """Encode sequences of any accepted form.

    Parameters
    ----------
    X : Encoded or iterable of sequences
        A generator of dicts or lists of strings is consumed as it goes: the sequences themselves are never all in
        memory. Every sequence has one of these forms, the same for all:

        * a list of dicts, by python-crfsuite's conventions: a number is the value of its key, a string
          ``s`` makes the attribute ``key:s``, a list of strings one such attribute each, a dict is prefixed
          by ``key:``;
        * a list of lists (tuples, sets) of attribute strings, each of value 1;
        * a 2-D array of shape (length, n_columns); floating arrays with few zeros stay where they lie;
        * a scipy sparse matrix or array of that shape.

        An :class:`Encoded` is returned as it is, or translated to ``vocabulary``.
    vocabulary : Vocabulary or NumberedColumns, optional
        Attribute numbers to use, as of an earlier result; attributes it does not have are ignored. By
        default they are numbered in order of first appearance.
    bigrams : Encoded or iterable of sequences, optional
        Attributes that go with pairs of labels, in any of these forms and as long as ``X``: those of position t with
        the labels of t − 1 and t. What the first position has is left out. They are numbered by themselves.
    dense : 2-D array or sequence of 2-D arrays, optional
        Numbers that every position has beside its attributes, such as an embedding: one array with a row for each
        position of all sequences, or one array a sequence. float32 and float64 are used where they lie.

    Returns
    -------
    encoded : Encoded
        An attribute named twice at one position is stored once with its values added up; zeros are not
        stored.

    Raises
    ------
    TypeError, ValueError
        With the sequence and position at fault: an empty sequence, a value that is not finite, mixed forms,
        arrays of different widths, and the like.

    Examples
    --------
    >>> train = encode([[{"word": "the"}, {"word": "cat", "length": 3}]])
    >>> train.vocabulary.names
    ['word:the', 'word:cat', 'length']
    >>> test = encode([[{"word": "cat"}, {"word": "sat"}]], train.vocabulary)
    >>> test.indices.tolist(), test.indptr.tolist()
    ([1], [0, 1, 1])
    >>> encode([[["a"], ["b"]]], bigrams=[[[], ["pair"]]]).bigrams.vocabulary.names
    ['pair']
    """
    if vocabulary is not None and not isinstance(vocabulary, Vocabulary | NumberedColumns):
        raise TypeError(
            f"vocabulary is of type {type(vocabulary).__name__}; expected a Vocabulary, NumberedColumns or None."
        )
    if dense is not None:
        encoded = encode(X, vocabulary, bigrams=bigrams)
        if encoded.dense is not None:
            raise ValueError("X has dense columns already, and more were given; expected one of them.")
        return encoded.with_dense(dense)
    if bigrams is not None:
        encoded = encode(X, vocabulary)
        if encoded.bigrams is not None:
            raise ValueError("X has bigrams already, and more were given; expected one of them.")
        return encoded.with_bigrams(encode(bigrams))
    if isinstance(X, Encoded):
        return X if vocabulary is None else X.translate(vocabulary)
    if isinstance(X, tuple) and len(X) == 2 and isinstance(X[0], Encoded):
        raise TypeError(
            "X is a pair of encoded sequences and their labels, as encode_dataset, encode_frame and encode_docs return "
            "them; take it apart, as in X, y = encode_dataset(...), and give X alone."
        )
    if isinstance(X, Iterator):
        return _encode_stream(X, vocabulary)
    sequences = _as_list(X)
    form = _common_form(sequences)
    _check_vocabulary(form, vocabulary)
    if form == "array":
        assert not isinstance(vocabulary, Vocabulary)
        return encode_arrays(sequences, vocabulary)
    assert not isinstance(vocabulary, NumberedColumns)
    return encode_dicts(sequences, vocabulary) if form == "dict" else encode_strings(sequences, vocabulary)


def _encode_stream(X: Iterator[Any], vocabulary: Vocabulary | NumberedColumns | None) -> Encoded:
    """Encode a few sequences at a time; arrays, which are as large encoded as they are, all at once."""
    rows: NamedRows | None = None
    form: Form | None = None
    number = 0
    while some := list(islice(X, _AT_A_TIME)):
        some = [_as_sequence(at, sequence) for at, sequence in enumerate(some, number)]
        form = _common_form(some, number, form)
        _check_vocabulary(form, vocabulary)
        if form == "array":
            return encode([*some, *X], vocabulary)
        assert not isinstance(vocabulary, NumberedColumns)
        rows = rows or NamedRows(vocabulary)
        (rows.add_dicts if form == "dict" else rows.add_strings)(some)
        number += len(some)
    if rows is None:
        raise ValueError("X has no sequences; expected at least one.")
    return rows.finish()


def _check_vocabulary(form: Form, vocabulary: Vocabulary | NumberedColumns | None) -> None:
    """Refuse data of another form than the model was trained on."""
    if form == "array" and isinstance(vocabulary, Vocabulary):
        raise TypeError("X holds arrays but the model was trained on named attributes; give dicts or lists of strings.")
    if form != "array" and isinstance(vocabulary, NumberedColumns):
        raise TypeError(
            f"X holds {form}s but the model was trained on arrays of {len(vocabulary)} columns; "
            "give 2-D arrays of that width."
        )


def _as_list(X: Any) -> list[Any]:
    """The sequences, each a list, a tuple, or a matrix."""
    if is_sparse(X) or (isinstance(X, np.ndarray) and X.ndim == 2 and X.dtype.kind != "O"):
        raise TypeError("X is one matrix, which is a single sequence; expected a list of sequences; wrap it as [X].")
    if isinstance(X, (str, bytes, Mapping)) or not isinstance(X, Iterable):
        raise TypeError(f"X is of type {type(X).__name__}; expected a list of sequences, each {_EXPECTED_SEQUENCE}.")
    if isinstance(X, np.ndarray) and X.ndim == 3 and X.dtype.kind != "O":
        _refuse_padding(X)
    sequences = list(X)
    if sequences and all(isinstance(sequence, Mapping) for sequence in sequences):
        raise TypeError("X is a list of dicts, which is a single sequence; wrap it as [X], and its labels as [y].")
    if not sequences:
        raise ValueError("X has no sequences; expected at least one.")
    if not set(map(type, sequences)) <= {list, tuple}:
        sequences = [_as_sequence(number, sequence) for number, sequence in enumerate(sequences)]
    return sequences


def _refuse_padding(X: npt.NDArray[Any]) -> None:
    """Refuse a batch in which sequences seem to be filled up: what fills them would count as positions.

    Zeros are what fills; of two columns and more, rows of −1 or −100 too.
    """
    if X.shape[0] == 0 or X.shape[1] == 0 or X.shape[2] == 0:
        return
    for filling in (0, -1, -100) if X.shape[2] > 1 else (0,):
        padded = (X[:, -1, :] == filling).all(axis=1)
        if not padded.any():
            continue
        number = int(np.argmax(padded))
        length = int(np.max(np.flatnonzero((X[number] != filling).any(axis=1)), initial=-1)) + 1
        rows, data = (filling, f"{filling} is a value") if filling else ("zeros", "the zeros are data")
        raise ValueError(
            f"X is an array of shape {X.shape} in which sequence {number} ends in rows of {rows} from position "
            f"{length} on, as padding does, and padding would count as positions; give a list of arrays of the true "
            f"lengths, as in [x[:length] for x, length in zip(X, lengths)], or list(X) if {data}."
        )


def _as_sequence(number: int, sequence: Any) -> Any:
    if isinstance(sequence, (list, tuple)) or is_sparse(sequence):
        return sequence
    if isinstance(sequence, (str, bytes, Mapping, set, frozenset)) or (
        not isinstance(sequence, Iterable) and not hasattr(sequence, "__array__")
    ):
        hint = "wrap the one position it is as [position]" if isinstance(sequence, Mapping) else "wrap each in a list"
        if isinstance(sequence, str):
            hint = "if X is the words of one sentence, give [[[word] for word in X]], and its labels as [y]"
        raise TypeError(
            f"sequence {number} is of type {type(sequence).__name__}; expected {_EXPECTED_SEQUENCE}; {hint}."
        )
    if hasattr(sequence, "__array__"):
        matrix = np.asarray(sequence)
        return list(matrix) if matrix.dtype.kind == "O" and matrix.ndim == 1 else matrix
    return list(sequence)


def _form_of_type(kind: type) -> Form | None:
    """In which form a position of this type is."""
    if issubclass(kind, Mapping):
        return "dict"
    return "list" if issubclass(kind, (list, tuple, set, frozenset)) else None


def _common_form(sequences: list[Any], number: int = 0, before: Form | None = None) -> Form:
    """The form that all sequences have; otherwise says where it changes.

    ``number`` is that of the first sequence, and ``before`` the form of those before it.
    """
    listed = [isinstance(sequence, (list, tuple)) for sequence in sequences]
    if not any(listed) and before in (None, "array"):
        return "array"
    if all(listed) and all(sequences):
        forms = set(map(_form_of_type, set(map(type, chain.from_iterable(sequences)))))
        if len(forms) == 1 and (form := forms.pop()) is not None and before in (None, form):
            return form
    raise _irregularity(sequences, number, before)


def _irregularity(sequences: list[Any], begin: int, before: Form | None) -> Exception:
    """The first thing wrong, in reading order."""
    first: tuple[Form, str] | None = None if before is None else (before, "position 0 of sequence 0")
    for number, sequence in enumerate(sequences, begin):
        if not isinstance(sequence, (list, tuple)):
            found: list[tuple[Form, str]] = [("array", f"sequence {number}")]
        elif len(sequence) == 0:
            return ValueError(f"sequence {number} is empty; expected at least one position; leave it out of X and y.")
        else:
            found = []
            for index, position in enumerate(sequence):
                form = _form_of_type(type(position))
                place = f"position {index} of sequence {number}"
                if form is None:
                    return _wrong_position(place, position)
                found.append((form, place))
        for form, place in found:
            if first is None:
                first = form, place
            if form != first[0]:
                return TypeError(
                    f"{place} is {_article(form)} but {first[1]} is {_article(first[0])}; "
                    "give all sequences in the same form."
                )
    raise AssertionError("no irregularity: the forms agree")


def _wrong_position(place: str, position: Any) -> Exception:
    expected = "expected a dict or a list of attribute strings"
    if isinstance(position, str):
        return TypeError(
            f"{place} is a string; {expected}; wrap it as [{position!r:.40}], or, if X is a single sequence, wrap X as "
            "[X] and its labels as [y]."
        )
    if isinstance(position, np.ndarray) or isinstance(position, (int, float, np.number)):
        return TypeError(
            f"{place} is of type {type(position).__name__}; {expected}; give numeric features as one "
            "2-D array "
            "per sequence."
        )
    return TypeError(f"{place} is of type {type(position).__name__}; {expected}.")


def _article(form: Form) -> str:
    return "an array" if form == "array" else f"a {form}"
