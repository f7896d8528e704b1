"""A CRF as a layer of a neural network, for PyTorch: ``pip install "dualfield[torch]"``.

:class:`CRF` has the constructor, the methods and the parameters of pytorch-crf's class, so that existing code changes
one import, and it runs on the compiled recursions of this package. Nothing else of the package imports PyTorch.
"""

from typing import TYPE_CHECKING

from dualfield._deferred import deferred, written_imports

if TYPE_CHECKING:
    from dualfield.torch.layer import CRF as CRF

__all__, __getattr__, __dir__ = deferred(__name__, written_imports())
