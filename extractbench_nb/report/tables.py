"""`TableReport`: tables that were built from documents, and where their points were lost."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Protocol

import pandas as pd

from extractbench_nb.display.text import cut, fitted, markdown_cell, one_line, value_text
from extractbench_nb.errors import InputError
from extractbench_nb.judges.recorded import document_hash
from extractbench_nb.report.formats import escaped_cell
from extractbench_nb.report.html import page

_WIDTH = 120
#: Rows of a section in summary.txt and in the page, and characters of a cell.
_MOST_LINES, _MOST_ROWS, _LONGEST = 20, 500, 160
_IDS = ("run", "document")
_LONG = ("gold", "predicted", "gold_key", "predicted_key", "message")
#: The columns that are shown of each frame, where it has them.
_SHOWN = {
    "Scores": (
        *("outcome", "failure_mode", "cell_f1", "cell_precision", "cell_recall", "row_f1"),
        *("column_recall", "quality"),
    ),
    "Columns": ("column", "predicted_column", "role", "status", "rule", "score"),
    "Rows": ("gold_row", "predicted_row", "status", "rule", "score", "gold_key", "predicted_key"),
    "Cells": ("path", "outcome", "reason", "gold", "predicted", "score"),
    "Warnings": ("kind", "message"),
}


class BuiltTables(Protocol):
    """What `construction.compare` and `construction.evaluate_tables` return."""

    @property
    def summary(self) -> Any:
        """Scores: a series, or a frame with one row per run and table."""

    @property
    def columns(self) -> pd.DataFrame:
        """One row per column of either table."""

    @property
    def rows(self) -> pd.DataFrame:
        """One row per row of either table."""

    @property
    def warnings(self) -> pd.DataFrame:
        """Warnings: repaired answers, blank or repeated keys, failures of the judge."""

    @property
    def meta(self) -> dict[str, Any]:
        """Profile and judge."""

    def losses(self) -> pd.DataFrame:
        """Points lost by side and stage."""


@dataclass(frozen=True)
class TableReport:
    """A report on one comparison of tables, or on a batch. Made by `ReportBuilder.from_tables`.

    Attributes
    ----------
    output_name : str
        Name of the report, and of its folder.
    timestamp : str
        When it was made, ISO 8601, local time.
    profile, judge : str
        The rules of the comparison, and the judge.
    scores : pandas.DataFrame
        One row per run and table.
    losses : pandas.DataFrame
        One row per run and side: cells (``of``), points lost at each stage, what is right, and its
        share.
    losses_problem : str or None
        Why losses could not be computed; None if they were.
    columns, rows, cells, warnings : pandas.DataFrame
        Those of the comparison or the batch.
    """

    output_name: str
    timestamp: str
    profile: str
    judge: str
    scores: pd.DataFrame
    losses: pd.DataFrame
    losses_problem: str | None
    columns: pd.DataFrame
    rows: pd.DataFrame
    cells: pd.DataFrame
    warnings: pd.DataFrame

    @property
    def sections(self) -> Iterator[tuple[str, str, pd.DataFrame]]:
        """Title, explanation and rows of each section: what is not right, by stage."""
        lost = "Points, 1 per cell; each is lost at the first stage where it could not be won."
        yield "Scores", "One row per table.", _shown(self.scores, "Scores")
        yield "Where points were lost", self.losses_problem or lost, self.losses
        unlike = self.columns[
            (self.columns["status"] != "matched") | self.columns["score"].lt(1).fillna(value=False)
        ]
        yield (
            "Columns",
            "Not aligned by name, or with cells that are not right.",
            _shown(unlike, "Columns"),
        )
        apart = self.rows[
            (self.rows["status"] != "matched") | self.rows["score"].lt(1).fillna(value=False)
        ]
        yield "Rows", "Not matched, or with cells that are not right.", _shown(apart, "Rows")
        passed = self.cells["passed"].astype("boolean").fillna(value=False)
        yield "Cells", "Cells that are not right.", _shown(self.cells[~passed], "Cells")
        yield "Warnings", "Repairs of answers, keys, the judge.", _shown(self.warnings, "Warnings")


def _shown(frame: pd.DataFrame, section: str) -> pd.DataFrame:
    return frame[[name for name in (*_IDS, *_SHOWN[section]) if name in frame.columns]]


def table_report(
    found: BuiltTables, losses: pd.DataFrame | None = None, output_name: str | None = None
) -> TableReport:
    """Put the frames of a comparison or a batch together."""
    summary, problem = found.summary, None
    scores = summary if isinstance(summary, pd.DataFrame) else summary.to_frame().T
    meta, now = found.meta, datetime.now()
    if losses is None:
        try:
            losses = found.losses()
        except InputError as error:  # some rules count rows several times
            losses, problem = pd.DataFrame(), str(error)
    frames: Any = found
    cells = frames.fields if hasattr(found, "fields") else frames.cells
    digest = document_hash([cells["path"].tolist(), scores["cell_f1"].tolist()])
    return TableReport(
        output_name=output_name or f"{now:%Y%m%d-%H%M}-{digest}",
        timestamp=now.isoformat(),
        profile=str(meta["profile"]),
        judge=str(meta["judge"]),
        scores=scores,
        losses=_by_side(losses),
        losses_problem=problem,
        columns=found.columns,
        rows=found.rows,
        cells=cells,
        warnings=found.warnings,
    )


def _by_side(losses: pd.DataFrame) -> pd.DataFrame:
    """Add up losses over tables: one row per run and side, one column per stage."""
    if losses.empty:
        return losses
    by = [name for name in ("run", "side") if name in losses.columns]
    lost = losses.pivot_table("lost", by, "stage", aggfunc="sum", sort=False).fillna(0.0)
    first = losses.drop_duplicates([name for name in (*_IDS, "side") if name in losses.columns])
    of = (first["lost"] + first["left"]).groupby([first[name] for name in by], sort=False).sum()
    right = of - lost.sum(axis=1)
    wide = lost.assign(of=of, right=right, share=(right / of).where(of > 0))
    return wide[["of", *lost.columns, "right", "share"]].reset_index().rename_axis(columns=None)


def _text(cell: Any) -> str:
    """Write a cell of a frame."""
    if cell is None or cell is pd.NA or (isinstance(cell, float) and pd.isna(cell)):
        return ""
    if isinstance(cell, float):
        return f"{cell:.3f}".rstrip("0").rstrip(".")
    return one_line(value_text(cell), _LONGEST)


def summary_text(report: TableReport) -> str:
    """Write ``summary.txt``."""
    lines = [
        fitted(f"TABLES BUILT FROM DOCUMENTS: {report.output_name}", _WIDTH),
        f"{report.timestamp}, profile {report.profile}, judge {report.judge}",
    ]
    for title, about, frame in report.sections:
        lines += ["", f"{title.upper()} ({len(frame)})", about]
        if len(frame):
            part = frame.head(_MOST_LINES).astype(object).map(_text)
            lines += [cut(line, _WIDTH) for line in part.to_string(index=False).split("\n")]
        if len(frame) > _MOST_LINES:
            lines.append(f"... {len(frame) - _MOST_LINES} more in report.json")
    return "\n".join(line.rstrip() for line in lines) + "\n"


def html_text(report: TableReport) -> str:
    """Write ``report.html``."""
    sections = [
        {
            "title": title,
            "about": about,
            "id": title.lower().replace(" ", "-"),
            "heads": [name.replace("_", " ") for name in frame.columns],
            "rows": frame.head(_MOST_ROWS).astype(object).map(_text).to_numpy().tolist(),
            "outcome": list(frame.columns).index("outcome") if title == "Cells" else None,
            "kinds": [
                "num" if frame[name].dtype.kind in "fiu" else "value" if name in _LONG else "text"
                for name in frame.columns
            ],
            "count": len(frame),
            "more": max(0, len(frame) - _MOST_ROWS),
        }
        for title, about, frame in report.sections
    ]
    return page("tables.html", report=report, sections=sections)


def csv_text(report: TableReport) -> str:
    """Write ``cells.csv``: every cell, so that a spreadsheet runs none of them as a formula."""
    out = io.StringIO()
    writer = csv.writer(out)
    writer.writerow(report.cells.columns)
    for row in report.cells.astype(object).where(report.cells.notna(), None).to_numpy().tolist():
        writer.writerow(map(escaped_cell, row))
    return out.getvalue()


def markdown_text(report: TableReport) -> str:
    """Write ``cells.md``: a Markdown table of the cells that are not right."""
    frame = next(rows for title, _, rows in report.sections if title == "Cells")
    lines = [f"| {' | '.join(frame.columns)} |", "|---" * len(frame.columns) + "|"]
    lines += [
        f"| {' | '.join(markdown_cell(text, _LONGEST) for text in row)} |"
        for row in frame.astype(object).map(_text).to_numpy().tolist()
    ]
    return "\n".join(lines) + "\n"
