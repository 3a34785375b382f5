"""Where the values of a document stand in its PDF, and how telling it is that they do."""

from extractbench_nb.evidence.finding import EVIDENCE_COLUMNS, find_evidence
from extractbench_nb.evidence.grounding import GROUNDED_COLUMNS, ground_values, grounded
from extractbench_nb.evidence.pictures import PageImage, render_page

__all__ = [
    "EVIDENCE_COLUMNS",
    "GROUNDED_COLUMNS",
    "PageImage",
    "find_evidence",
    "ground_values",
    "grounded",
    "render_page",
]
