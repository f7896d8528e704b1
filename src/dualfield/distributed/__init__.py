"""Training on several processes and machines, by an engine that connects them: MPI, or Dask.

The engine brings the processes and moves the bytes. :func:`train_share` is what each of them does, against the small
contract of :class:`~dualfield.ranks.Communicator`. :mod:`dualfield.distributed.dask` has an estimator for Dask.
"""

from typing import TYPE_CHECKING

from dualfield._deferred import deferred, written_imports

if TYPE_CHECKING:
    from dualfield.distributed.checkpoints import Checkpoints as Checkpoints
    from dualfield.distributed.mpi import MPICommunicator as MPICommunicator
    from dualfield.distributed.share import EncodedPiece as EncodedPiece
    from dualfield.distributed.share import Share as Share
    from dualfield.distributed.share import encoded_piece as encoded_piece
    from dualfield.distributed.share import share_of_folder as share_of_folder
    from dualfield.distributed.share import share_of_pieces as share_of_pieces
    from dualfield.distributed.share import shared_out as shared_out
    from dualfield.distributed.training import Interrupted as Interrupted
    from dualfield.distributed.training import Training as Training
    from dualfield.distributed.training import train_share as train_share

__all__, __getattr__, __dir__ = deferred(__name__, written_imports())
