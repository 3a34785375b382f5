"""Texts of documents and schemas, made fit to stand in a line or a paragraph of the view."""

from __future__ import annotations

from extractbench_nb.report.texts import clean, cut

__all__ = ["line", "short_path", "words"]

_LONGEST_LINE = 400
_LONGEST_PATH = 200


def words(text: str, limit: int) -> str:
    """Clean a text and cut it to `limit` characters."""
    return cut(clean(text[: limit + 1]), limit)


def line(text: object) -> str:
    """Write a text on one line of at most 400 characters."""
    return " ".join(words(str(text), _LONGEST_LINE).split())


def short_path(path: str) -> str:
    """Clean a path and cut it to 200 characters."""
    return words(path, _LONGEST_PATH)
