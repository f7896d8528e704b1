"""The duals of a run in a folder, a file for each piece, from which a run of other ranks can go on.

Beside them is what acceleration knows, in a file of its own.

Any duals give a true certificate, since the weights are always those of all duals. So the files need not come from the
same moment: each is written whole or not at all, and the last one of each piece counts. ``problem.json`` says which
problem they belong to.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from dualfield.fields import DistributedChain
from dualfield.io.atomic import PathLike, atomic_write

__all__ = ["ACCELERATION", "Checkpoints"]

Arrays = dict[str, npt.NDArray[Any]]
_PROBLEM = "problem.json"
_FORMAT, _VERSION = "dualfield checkpoints", 1
ACCELERATION = "acceleration"  # the name of what all ranks know alike


class Checkpoints:
    """A folder of checkpoints, which every rank can reach.

    Parameters
    ----------
    folder : str or path
        The folder; it is made where it does not exist.
    resume : bool
        Whether to go on from what the folder has; otherwise a folder with checkpoints is refused.
    seconds : float
        At least so many seconds lie between two checkpoints.
    may_be_missing : bool
        With ``resume``: begin anew where the folder has nothing, instead of an error.
    """

    def __init__(
        self, folder: PathLike, resume: bool = False, seconds: float = 60.0, *, may_be_missing: bool = False
    ) -> None:
        self.folder, self.resume, self.seconds = os.fsdecode(folder), resume, seconds
        self._may_be_missing = may_be_missing

    def prepare(self, field: DistributedChain) -> None:
        """Make the folder; or refuse one that belongs to another problem, or that is not to be resumed."""
        problem = _problem(field)
        path = os.path.join(self.folder, _PROBLEM)
        try:
            with open(path, encoding="utf-8") as file:
                found = json.load(file)
        except FileNotFoundError:
            if self.resume and not self._may_be_missing:
                raise ValueError(
                    f"there is no checkpoint in {self.folder} to resume from; start without resuming."
                ) from None
            os.makedirs(self.folder, exist_ok=True)
            with atomic_write(path) as file:
                json.dump(problem, file, indent=1)
            return
        except ValueError as error:
            raise ValueError(f"{path} is damaged ({error}); remove the folder, or name another one.") from None
        if not isinstance(found, dict) or found.get("format") != _FORMAT or found.get("version") != _VERSION:
            raise ValueError(f"{path} is not of checkpoints that this package reads; name another folder.")
        if not self.resume:
            raise ValueError(
                f"{self.folder} has the checkpoints of an earlier run; resume from them, or remove the folder."
            )
        different = [name for name in problem if found.get(name) != problem[name]]
        if different:
            name = different[0]
            raise ValueError(
                f"the checkpoints in {self.folder} belong to another problem: its {name} is "
                f"{found.get(name)!r:.60}, here it is {problem[name]!r:.60}; name another folder."
            )

    def save(self, piece: str, arrays: Arrays) -> None:
        """Keep the duals of a piece in the place of earlier ones."""
        with atomic_write(self._path(piece), "wb") as file:
            np.savez(file, allow_pickle=False, **arrays)

    def save_all(self, state: Mapping[str, Arrays]) -> None:
        """Keep what a rank knows of its pieces."""
        for piece, arrays in state.items():
            self.save(piece, arrays)

    def load(self, piece: str) -> Arrays | None:
        """The duals of a piece; None where it has left none."""
        path = self._path(piece)
        try:
            with np.load(path, allow_pickle=False) as found:
                return {name: found[name] for name in found.files}
        except FileNotFoundError:
            return None
        except Exception as error:  # whatever a damaged archive makes its readers raise
            raise ValueError(f"{path} is damaged ({error}); remove the file, and its piece begins anew.") from None

    def _path(self, piece: str) -> str:
        return os.path.join(self.folder, f"{piece}.npz")


def _problem(field: DistributedChain) -> dict[str, Any]:
    """What must be the same for duals to fit; the penalties need not be, since duals of one are duals of all."""
    spec = {name: value for name, value in field.spec._asdict().items() if name not in ("l1", "l2", "constraints")}
    sizes = {"sequences": field.n_blocks, "weights": field.dimension, "classes": field.classes.tolist()}
    return {
        "format": _FORMAT,
        "version": _VERSION,
        **spec,
        "constrained": field.layout.constraints is not None,
        **sizes,
    }
