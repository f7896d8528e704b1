"""Training data in a folder of partitions: written in bounded memory, read through the page cache."""

from typing import TYPE_CHECKING

from dualfield._deferred import deferred, written_imports

if TYPE_CHECKING:
    from dualfield.partitions.folder import Partition as Partition
    from dualfield.partitions.folder import PartitionedData as PartitionedData
    from dualfield.partitions.folder import open_partitions as open_partitions
    from dualfield.partitions.writing import write_partitions as write_partitions

__all__, __getattr__, __dir__ = deferred(__name__, written_imports())
