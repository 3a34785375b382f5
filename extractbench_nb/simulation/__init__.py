"""Corrupt documents, and measure how sensitive metrics are to the corruptions."""

from typing import TYPE_CHECKING

# Names imported `as` themselves are for other rooms; the public ones are in `__all__`.
from extractbench_nb.simulation.curves import sensitivity
from extractbench_nb.simulation.document_corruptions import Corrupted as Corrupted
from extractbench_nb.simulation.document_corruptions import corrupt_document, corruptions
from extractbench_nb.support.moved import moved_names

__all__ = [
    "corrupt_document",
    "corruptions",
    "sensitivity",
]

if not TYPE_CHECKING:  # type checkers would accept any name
    __getattr__ = moved_names(__name__)
