r"""CRFsuite's attribute files: a label and its attributes a line, tabs between them, a blank line between sequences.

::

    @weight:2
    B-NP    w[0]=An    pos[0]=DT    length:2.5
    I-NP    w[0]=http\://a    pos[0]=NN

An attribute may have a value after a colon, 1 by default; ``\:`` and ``\\`` stand for the two characters. A line
``@weight:2``, anywhere in a sequence, is its weight in training. ``#`` begins no comment: it is a word in such files.
The core reads and writes.
"""

from __future__ import annotations

from typing import IO, Any

import numpy as np
import numpy.typing as npt

from dualfield import _core
from dualfield.core_arrays import contiguous, handed_over
from dualfield.features.sequences.encoded import Encoded
from dualfield.features.vocabulary import NumberedColumns, Vocabulary
from dualfield.io.atomic import PathLike
from dualfield.io.content import Progress, open_text, read_content
from dualfield.labels.encoded_labels import EncodedLabels

__all__ = ["parse_attributes", "read_attributes", "read_weighted_attributes", "write_attributes"]

Weights = npt.NDArray[np.float64]


def read_attributes(
    path_or_file: PathLike | IO[Any],
    *,
    vocabulary: Vocabulary | None = None,
    encoding: str = "utf-8",
    progress: Progress | None = None,
) -> tuple[Encoded, EncodedLabels]:
    r"""Read an attribute file without a Python object per token.

    Parameters
    ----------
    path_or_file : str, path, or file
        A path, ``"-"`` for standard input, or an open text or binary file; gzip is unpacked wherever it is found.
    vocabulary : Vocabulary, optional
        Attribute numbers to use; attributes that it does not have are left out. By default they are numbered in
        order of first appearance.
    encoding : str
        Of the bytes; a byte order mark is skipped.
    progress : function, optional
        Called between pieces of the text, with the number of bytes read and of all. What it raises ends the reading.

    Returns
    -------
    X : Encoded
        An attribute that a line names twice is stored once with its values added up; zeros are not stored.
    y : EncodedLabels

    Raises
    ------
    ValueError
        With file name and line: a line without a label, a value that is no finite number, a colon in a label, an
        unknown declaration. Also if sequences have weights, which :func:`read_weighted_attributes` returns.

    Examples
    --------
    >>> import io
    >>> X, y = read_attributes(io.StringIO("A\tw=the\tn:2\nB\tw=cat\n\nA\tw\\:x\n"))
    >>> X.vocabulary.names, X.values.tolist(), y.tolist()
    (['w=the', 'n', 'w=cat', 'w:x'], [1.0, 2.0, 1.0, 1.0], [['A', 'B'], ['A']])
    """
    X, y, weights = read_weighted_attributes(path_or_file, vocabulary=vocabulary, encoding=encoding, progress=progress)
    if weights is not None:
        raise ValueError(
            f"sequence {int(np.argmax(weights != 1))} of the file has the weight {weights[weights != 1][0]:g}; read it "
            "with read_weighted_attributes, which returns the weights too."
        )
    return X, y


def read_weighted_attributes(
    path_or_file: PathLike | IO[Any],
    *,
    vocabulary: Vocabulary | None = None,
    encoding: str = "utf-8",
    progress: Progress | None = None,
) -> tuple[Encoded, EncodedLabels, Weights | None]:
    r"""Read an attribute file whose sequences may have weights.

    Parameters
    ----------
    path_or_file, vocabulary, encoding, progress
        As in :func:`read_attributes`.

    Returns
    -------
    X : Encoded
    y : EncodedLabels
    sample_weight : array, shape (n_sequences,), or None
        What ``@weight`` lines say, 1 where there is none; None if all are 1.

    Examples
    --------
    >>> import io
    >>> read_weighted_attributes(io.StringIO("A\tx\n\n@weight:0.5\nB\tx\n"))[2].tolist()
    [1.0, 0.5]
    """
    name, content = read_content(path_or_file, encoding)
    X, y, weights = parse_attributes(name, content, vocabulary, progress=progress)
    if len(X) == 0:
        raise ValueError(f"{name} has no sequences; expected lines of a label and attributes with tabs between them.")
    return X, y, weights


def parse_attributes(
    name: str,
    content: bytes,
    vocabulary: Vocabulary | None = None,
    first_line: int = 1,
    progress: Progress | None = None,
) -> tuple[Encoded, EncodedLabels, Weights | None]:
    """What :func:`read_weighted_attributes` returns, of UTF-8 bytes; may have no sequences."""
    given = None if vocabulary is None else vocabulary.core
    try:
        offsets, indptr, indices, values, new, label_names, codes, weights = _core.read_attributes(
            content, given, first_line, progress
        )
    except ValueError as error:
        raise ValueError(f"{name}, {error}") from None
    known = vocabulary
    if known is None:
        assert new is not None
        known = Vocabulary.from_core(new)
    X = Encoded(offsets, handed_over(indptr), handed_over(indices), values, known)
    return X, EncodedLabels(label_names.strings(), codes, offsets), weights


def write_attributes(
    X: Encoded,
    y: EncodedLabels,
    file: PathLike | IO[str],
    *,
    sample_weight: npt.ArrayLike | None = None,
    encoding: str = "utf-8",
) -> None:
    r"""Write an attribute file that :func:`read_attributes` reads back as the same numbers.

    Parameters
    ----------
    X : Encoded
        Attributes with names.
    y : EncodedLabels
        A label for each position.
    file : str, path, or text file
        A path is written whole or not at all, packed if it ends in ``.gz``; ``"-"`` is standard output.
    sample_weight : array, shape (n_sequences,), optional
        Weights of the sequences.
    encoding : str
        For a path.

    Raises
    ------
    ValueError
        If a name could not be read back, or the parts do not belong together.

    Examples
    --------
    >>> from dualfield.features import encode
    >>> write_attributes(encode([[{"a:b": 1, "n": 2.5}]]), EncodedLabels(["A"], [0], [0, 1]), "-")
    A   a\:b    n:2.5
    <BLANKLINE>
    """
    if isinstance(X.vocabulary, NumberedColumns):
        raise TypeError("attribute files hold names, but the attributes of X are columns of arrays; give them names.")
    if X.bigrams is not None:
        raise ValueError(
            "X has bigram attributes, for which attribute files have no place: CRFsuite has no such weights; leave "
            "them out, as X.with_bigrams(None) does."
        )
    if X.dense is not None:
        raise ValueError(
            "X has dense columns, for which attribute files have no place; leave them out, as X.with_dense(None) does."
        )
    if not np.array_equal(X.offsets, y.offsets):
        raise ValueError("X and y have sequences of different lengths; give one label per position.")
    weights = None
    if sample_weight is not None:
        weights = contiguous(sample_weight, np.float64)
        if weights.shape != (len(X),) or not (np.isfinite(weights) & (weights >= 0)).all():
            raise ValueError(f"sample_weight must be {len(X)} finite numbers, none negative, one for each sequence.")
    written = _core.write_attributes(
        X.offsets, X.indptr, X.indices, X.values, X.vocabulary.core, Vocabulary(y.names).core, y.codes, weights
    )
    with open_text(file, encoding) as text:
        text.write(written.decode())
