"""Processes that train together: each is a *rank*, and they exchange arrays through a :class:`Communicator`."""

from dualfield.ranks.communicator import Alone, Communicator, PeerLost
from dualfield.ranks.threads import run_in_threads

__all__ = ["Alone", "Communicator", "PeerLost", "run_in_threads"]
