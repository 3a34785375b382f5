"""The texts of a report, under their published names."""

from __future__ import annotations

from collections.abc import Iterable

from extractbench_nb.report.formats import csv_text, json_text, markdown_text
from extractbench_nb.report.models import FieldOutcome
from extractbench_nb.report.summary import summary_text

__all__ = ["format_csv", "format_json", "format_markdown_table", "format_text_summary"]

format_csv = csv_text
format_json = json_text
format_text_summary = summary_text


def format_markdown_table(
    field_outcomes: Iterable[FieldOutcome], max_reason_length: int = 50
) -> str:
    """Write ``fields.md``.

    Parameters
    ----------
    field_outcomes : iterable of FieldOutcome
        The rows.
    max_reason_length : int, optional
        Characters of a reason to keep.

    Returns
    -------
    str
        The table.
    """
    return markdown_text(field_outcomes, max_reason_length)
