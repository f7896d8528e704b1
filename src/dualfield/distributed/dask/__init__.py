"""Training on the workers of a Dask cluster: the estimator :class:`ChainCRF` for data that lie there."""

from typing import TYPE_CHECKING

from dualfield._deferred import deferred, written_imports

if TYPE_CHECKING:
    from dualfield.distributed.dask.chain_crf import ChainCRF as ChainCRF

__all__, __getattr__, __dir__ = deferred(__name__, written_imports())
