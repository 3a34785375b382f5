"""Pages of docs/explanation: pictures and tables show what the code does."""

from scripts.draw_architecture import PICTURE, drawing


def test_the_picture_shows_the_imports() -> None:
    drawn = PICTURE.read_text(encoding="utf-8")
    assert drawn == drawing(), "python scripts/draw_architecture.py draws it again"
