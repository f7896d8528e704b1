"""Rows of numbers for the tokens of a file, such as embeddings: one row a token, in the order of the file."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dualfield.features import Encoded

__all__ = ["Embeddings", "check_embeddings"]


class Embeddings:
    """The rows of a NumPy file, handed out as sentences come.

    The file is mapped into memory, not read: of a large one only the rows that are used are there.

    Parameters
    ----------
    path : str
        A file of ``numpy.save``: a matrix of float32 or float64.
    """

    def __init__(self, path: str) -> None:
        import numpy as np

        try:
            rows = np.load(path, mmap_mode="r", allow_pickle=False)
        except (ValueError, EOFError) as error:
            raise ValueError(f"{path} is no file of numpy.save ({error}).") from None
        if not isinstance(rows, np.ndarray) or rows.ndim != 2 or rows.dtype.kind != "f":
            found = f"{rows.dtype} of shape {rows.shape}" if isinstance(rows, np.ndarray) else "several arrays"
            raise ValueError(f"{path} holds {found}; expected one matrix of floating numbers, a row for each token.")
        self.path, self._rows, self._used = path, rows, 0

    @property
    def width(self) -> int:
        """How many columns there are."""
        return int(self._rows.shape[1])

    def beside(self, X: Encoded) -> Encoded:
        """The sequences with the next rows as their dense columns."""
        import numpy as np

        end = self._used + X.n_positions
        if end > len(self._rows):
            raise ValueError(
                f"{self.path} has {len(self._rows):,} rows, and the file has more tokens; expected as many."
            )
        rows: Any = np.asarray(self._rows[self._used : end])
        self._used = end
        return X.with_dense(rows)

    def finish(self) -> None:
        """Refuse rows that were not used: they are those of another file."""
        if self._used < len(self._rows):
            raise ValueError(
                f"{self.path} has {len(self._rows):,} rows, and the file has {self._used:,} tokens; expected as many."
            )


def check_embeddings(embeddings: Embeddings | None, n_columns: int) -> None:
    """Refuse embeddings for a model without dense columns, or of another width, and a model that needs some."""
    if embeddings is None and n_columns:
        raise ValueError(f"the model has weights for {n_columns} dense columns; give --embeddings FILE.npy.")
    if embeddings is not None and embeddings.width != n_columns:
        had = f"on {n_columns}" if n_columns else "without any"
        raise ValueError(f"{embeddings.path} has {embeddings.width} columns, but the model was trained {had}.")
