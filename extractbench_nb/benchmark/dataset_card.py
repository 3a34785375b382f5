"""What a dataset looks like: as text, and as HTML without JavaScript."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from pathlib import Path
from typing import NamedTuple

from extractbench_nb.benchmark.layout import SchemaFolder
from extractbench_nb.benchmark.provenance import origin_of

__all__ = ["Summary", "dataset_html", "dataset_text"]


class Summary(NamedTuple):
    """What a card shows: the schema id and whether there is a PDF, for each document."""

    name: str
    root: Path
    licence: str | None
    schemas: tuple[SchemaFolder, ...]
    files: Sequence[tuple[str, bool]]
    runs: int


def dataset_text(summary: Summary) -> str:
    """Write the counts, the folder, where it comes from and one line a schema."""
    lines = [f"Dataset {summary.name!r}: {_counts(summary)}", f"  {summary.root}"]
    source = _source(summary)
    if source:
        lines.append(f"  {source}")
    schemas = [f"  {s.qualified:<40} {_schema_counts(summary, s)}" for s in summary.schemas]
    return "\n".join(lines + schemas)


def dataset_html(summary: Summary) -> str:
    """Write the same as a small table; every text escaped."""
    rows = "".join(
        f"<tr><td>{escape(s.domain)}</td><td>{escape(s.folder)}</td>"
        f"<td>{escape(_schema_counts(summary, s))}</td></tr>"
        for s in summary.schemas
    )
    source = _source(summary)
    return (
        f"<div><strong>Dataset {escape(summary.name)}</strong>: {escape(_counts(summary))}"
        f"<br><code>{escape(str(summary.root))}</code>"
        + (f"<br>{escape(source)}" if source else "")
        + "<table><thead><tr><th>domain</th><th>schema</th><th>documents</th></tr></thead>"
        f"<tbody>{rows}</tbody></table></div>"
    )


def _source(summary: Summary) -> str:
    licence = f"licence: {summary.licence}" if summary.licence else None
    return "; ".join(filter(None, (licence, origin_of(summary.name))))


def _counts(summary: Summary) -> str:
    return ", ".join(
        [
            _plural(len(summary.files), "document"),
            _plural(len(summary.schemas), "schema"),
            f"{sum(has_pdf for _, has_pdf in summary.files)} with PDF",
            _plural(summary.runs, "run"),
        ]
    )


def _schema_counts(summary: Summary, schema: SchemaFolder) -> str:
    own = [has_pdf for schema_id, has_pdf in summary.files if schema_id == schema.id]
    without = own.count(False)
    return _plural(len(own), "document") + (f", {without} without PDF" if without else "")


def _plural(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"
