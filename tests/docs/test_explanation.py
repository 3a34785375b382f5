"""Pictures and tables of the documentation show what the code does."""

from pathlib import Path

import pytest

from scripts import draw_alignment, draw_architecture
from scripts.fill_tables import ROOT, filled, has_tables, names_of

PAGES = [page for page in sorted(ROOT.glob("docs/**/*.md")) if has_tables(page)]


def test_the_picture_shows_the_imports() -> None:
    drawn = draw_architecture.PICTURE.read_text(encoding="utf-8")
    assert drawn == draw_architecture.drawing(), (
        "python scripts/draw_architecture.py draws it again"
    )


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_tables_show_what_the_code_makes(page: Path) -> None:
    assert page.read_text(encoding="utf-8") == filled(page), "python -m scripts.fill_tables"


def test_the_picture_of_an_alignment_shows_its_pairs() -> None:
    drawn = draw_alignment.PICTURE.read_text(encoding="utf-8")
    matches = names_of(draw_alignment.PAGE)["ev"].matches
    assert drawn == draw_alignment.drawing(matches), "python -m scripts.draw_alignment"
