"""PDFs: their text, the places of values in it, and images of their pages."""

from extractbench_nb.pdf.evidence import find_evidence, ground_values, grounded
from extractbench_nb.pdf.page_images import PageImage, render_page

__all__ = [
    "PageImage",
    "find_evidence",
    "ground_values",
    "grounded",
    "render_page",
]
