"""What models say and do: outputs read, failures named, repaired; gold corrupted on purpose."""

from extractbench_nb.extraction.catalogue import corruptions
from extractbench_nb.extraction.parsing import ParsedOutput, parse_output
from extractbench_nb.extraction.repair import Repaired, repair_output
from extractbench_nb.extraction.simulate import Corrupted, corrupt_document

__all__ = [
    "Corrupted",
    "ParsedOutput",
    "Repaired",
    "corrupt_document",
    "corruptions",
    "parse_output",
    "repair_output",
]
