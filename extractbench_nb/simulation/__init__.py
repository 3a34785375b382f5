"""Corruptions of documents, and the sensitivity of metrics to them."""

from extractbench_nb.simulation.catalogue import corruptions
from extractbench_nb.simulation.corrupt import Corrupted, corrupt_document
from extractbench_nb.simulation.curves import sensitivity

__all__ = [
    "Corrupted",
    "corrupt_document",
    "corruptions",
    "sensitivity",
]
