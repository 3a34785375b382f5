"""What models do to documents, done on purpose: gold corrupted, with a record of each change."""

from extractbench_nb.extraction.catalogue import corruptions
from extractbench_nb.extraction.simulate import Corrupted, corrupt_document

__all__ = ["Corrupted", "corrupt_document", "corruptions"]
