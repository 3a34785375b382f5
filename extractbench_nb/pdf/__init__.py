"""PDFs: their text, the places of values in it, and images of their pages."""

from extractbench_nb.pdf.evidence import EVIDENCE_COLUMNS, find_evidence
from extractbench_nb.pdf.grounding import GROUNDED_COLUMNS, ground_values, grounded
from extractbench_nb.pdf.images import PageImage, render_page

__all__ = [
    "EVIDENCE_COLUMNS",
    "GROUNDED_COLUMNS",
    "PageImage",
    "find_evidence",
    "ground_values",
    "grounded",
    "render_page",
]
