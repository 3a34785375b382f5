"""PDFs written for a test: texts at known places, turned and cropped pages, pictures only."""

from collections.abc import Callable, Sequence
from pathlib import Path

import pypdfium2
import pytest
from reportlab.pdfgen.canvas import Canvas

from extractbench_nb.pdf.page_text import PdfText
from extractbench_nb.pdf.search import search

Text = tuple[float, float, str]
SIZE = (600, 800)


@pytest.fixture
def write_pdf(tmp_path: Path) -> Callable[..., Path]:
    """Write pages of texts: left and baseline in points, then the text."""

    def write(
        *pages: Sequence[Text],
        name: str = "made.pdf",
        rotation: int = 0,
        crop: tuple[float, float, float, float] | None = None,
        font: str = "Helvetica",
    ) -> Path:
        path = tmp_path / name
        canvas = Canvas(str(path), pagesize=SIZE)
        for page in pages:
            canvas.setFont(font, 12)
            for x, y, text in page:
                canvas.drawString(x, y, text)
            canvas.showPage()
        canvas.save()
        if rotation or crop:
            _turn(path, rotation, crop)
        return path

    return write


def _turn(path: Path, rotation: int, crop: tuple[float, float, float, float] | None) -> None:
    pdf = pypdfium2.PdfDocument(path.read_bytes())
    for page in pdf:
        page.set_rotation(rotation)
        if crop is not None:
            page.set_cropbox(*crop)
    pdf.save(str(path))
    pdf.close()


@pytest.fixture
def found() -> Callable[..., list[str]]:
    """Search pages of text; return what stands at the places that were found."""

    def look(value: str | float, *pages: str) -> list[str]:
        index = PdfText(pages)
        return [" ".join(index.text[a:b] for a, b in hit.spans) for hit in search(value, index)]

    return look
