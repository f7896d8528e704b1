"""Training problems: data, structure and an l2 penalty."""

from typing import TYPE_CHECKING

from dualfield._deferred import deferred, written_imports

if TYPE_CHECKING:
    from dualfield.fields.base import Field as Field
    from dualfield.fields.chain import Chain as Chain
    from dualfield.fields.distributed_chain import DistributedChain as DistributedChain
    from dualfield.fields.graph import Graph as Graph
    from dualfield.fields.losses import Losses as Losses
    from dualfield.fields.multiclass import Multiclass as Multiclass
    from dualfield.fields.partitioned_chain import PartitionedChain as PartitionedChain
    from dualfield.fields.pseudo_likelihood import PseudoLikelihood as PseudoLikelihood
    from dualfield.fields.relaxed_graph import RelaxedGraph as RelaxedGraph

__all__, __getattr__, __dir__ = deferred(__name__, written_imports())
