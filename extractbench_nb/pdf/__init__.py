"""Read the text of PDFs, find values in it, and render images of pages."""

from typing import TYPE_CHECKING

# Names imported `as` themselves are for other rooms; the public ones are in `__all__`.
from extractbench_nb.pdf.evidence import find_evidence, ground_values, grounded, score_citations
from extractbench_nb.pdf.evidence import leaves as leaves
from extractbench_nb.pdf.evidence import look_up as look_up
from extractbench_nb.pdf.page_text import Passage as Passage
from extractbench_nb.pdf.page_text import PdfText as PdfText
from extractbench_nb.pdf.page_text import index_of as index_of
from extractbench_nb.pdf.page_text import squash as squash
from extractbench_nb.pdf.page_text import tidy as tidy
from extractbench_nb.pdf.page_text import words_of as words_of
from extractbench_nb.pdf.pages import Excerpt as Excerpt
from extractbench_nb.pdf.pages import PageImage as PageImage
from extractbench_nb.pdf.pages import lines_of as lines_of
from extractbench_nb.pdf.pages import read_layers as read_layers
from extractbench_nb.pdf.pages import read_pages as read_pages
from extractbench_nb.pdf.pages import render_page
from extractbench_nb.pdf.search import covered as covered
from extractbench_nb.pdf.search import nearest_passage as nearest_passage
from extractbench_nb.support.moved import moved_names

__all__ = [
    "find_evidence",
    "ground_values",
    "grounded",
    "render_page",
    "score_citations",
]

if not TYPE_CHECKING:  # type checkers would accept any name
    __getattr__ = moved_names(__name__)
