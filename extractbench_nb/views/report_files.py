"""The files of a report: JSON, a summary of one page, CSV, Markdown, and the page of HTML."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import datetime
from pathlib import Path
from textwrap import wrap
from typing import Any

import pandas as pd

from extractbench_nb.core import Evaluation
from extractbench_nb.core.frames import ScoredResult
from extractbench_nb.errors import InputError, nearest
from extractbench_nb.stats import complete_rows, summary_of
from extractbench_nb.support.files import make_folder, write_texts
from extractbench_nb.support.wording import (
    accepted_text,
    document_json,
    fitted,
    markdown_cell,
    plural,
    value_text,
)
from extractbench_nb.views.report_contents import COUNTS, Record, digest, report_content
from extractbench_nb.views.report_pages import evaluation_page, limits, scored_page

_WIDTH = 80
#: Most arrays and fields in summary.txt, and characters of a cell of fields.md.
_MOST, _LONGEST_CELL = 10, 80


def write_report(
    result: Any,
    folder: str | Path,
    *,
    losses: pd.DataFrame | None = None,
    measure: str | None = None,
) -> Path:
    r"""Write a report to a folder, replacing existing files with the same names.

    Parameters
    ----------
    result : Evaluation, TableComparison, or ScoredResult
        What was evaluated; a ScoredResult is what `evaluate_runs` or ``evaluate_tables`` returns.
    folder : str or pathlib.Path
        The folder; created if it does not exist. Its name is the title of the report.
    losses : pandas.DataFrame, optional
        What ``result.losses(...)`` of constructed tables returned; by default ``result.losses()``.
    measure : str, optional
        The score by which the outputs of a ScoredResult are sorted, the lowest first.

    Returns
    -------
    pathlib.Path
        The folder, with report.html, report.json, summary.txt, and fields.csv (and fields.md of an
        Evaluation) or cells.csv.

    Raises
    ------
    InputError
        `result` has no rows and scores, or not this `measure`.
    OutputError
        A file cannot be written; then no file is.

    Examples
    --------
    >>> import tempfile
    >>> from extractbench_nb.construction import compare
    >>> tables = compare("k,a,b\nx,1,2\n", "k,a\nx,3\n", keys="k")
    >>> sorted(path.name for path in write_report(tables, tempfile.mkdtemp()).iterdir())
    ['cells.csv', 'report.html', 'report.json', 'summary.txt']
    """
    folder = Path(folder)
    name = folder.resolve().name or None
    if isinstance(result, Evaluation):
        files = evaluation_files(result, report_content(result, name))
    elif isinstance(result, ScoredResult):
        files = _scored_files(result, name, losses, measure)
    else:
        raise InputError(
            f"result is {type(result).__name__}; expected an Evaluation, a TableComparison, or a "
            "result with rows, scores and summary"
        )
    return write_files(folder, {name: text() for name, text in files.items()})


def write_files(folder: Path, texts: Mapping[str, str]) -> Path:
    """Write all files into a folder, or none if one of them fails."""
    make_folder(folder)
    write_texts({folder / name: text for name, text in texts.items()})
    return folder


def evaluation_files(ev: Evaluation, content: Record) -> dict[str, Callable[[], str]]:
    """Return what writes each file of a report on an evaluation."""
    return {
        "report.json": lambda: _json_text(content),
        "summary.txt": lambda: _summary_text(content),
        "fields.csv": lambda: _csv_text(_CSV_COLUMNS, map(_csv_row, content["field_outcomes"])),
        "fields.md": lambda: _fields_table(content["field_outcomes"]),
        "report.html": lambda: evaluation_page(ev, content),
    }


def _json_text(content: Record) -> str:
    return json.dumps(content, ensure_ascii=False, indent=2, allow_nan=False) + "\n"


# --- CSV and Markdown -----------------------------------------------------------------------------

#: The columns of extract-bench, in its order.
_CSV_COLUMNS = (
    *("path", "normalized_path", "metric_id", "score", "passed", "gold_value", "extracted_value"),
    *("reasoning", *COUNTS),
)
#: What begins a formula, full-width forms included, behind any number of apostrophes.
_RISKY = re.compile(r"'*[=+\-@\t\r\n\uff1d\uff0b\uff0d\uff20]")
_NUMBER = re.compile(r"[+-]?\d+(\.\d+)?([eE][+-]?\d+)?%?", re.ASCII)


def _csv_row(row: Record) -> list[Any]:
    counts = row["array_breakdown"] or {}
    return [row[name] if name in row else counts.get(name) for name in _CSV_COLUMNS]


def _csv_text(columns: Iterable[str], rows: Iterable[Iterable[Any]]) -> str:
    out = io.StringIO()
    writer = csv.writer(out)
    writer.writerow(columns)
    writer.writerows([_csv_cell(value) for value in row] for row in rows)
    return out.getvalue()


def _csv_cell(value: Any) -> str:
    """Write a cell so that no spreadsheet takes it for a formula."""
    if isinstance(value, bool):
        return "true" if value else "false"
    text = value_text(value)
    if not isinstance(value, str):
        return text
    text = text.replace("\0", "\ufffd")
    return "'" + text if _RISKY.match(text) and not _NUMBER.fullmatch(text) else text


def _fields_table(rows: Iterable[Record]) -> str:
    """Write ``fields.md``: a Markdown table of the counted fields."""
    lines = [
        "| Path | Metric | Score | Passed | Outcome | Gold | Extracted | Reason |",
        "|---|---|---:|---|---|---|---|---|",
    ]
    for row in rows:
        values = (value_text(row[f"{side}_value"]) for side in ("gold", "extracted"))
        cells = (
            markdown_cell(row["normalized_path"], 2 * _LONGEST_CELL),
            markdown_cell(row["metric_id"], _LONGEST_CELL),
            "" if row["score"] is None else f"{row['score']:.3f}",
            "Yes" if row["passed"] else "No",
            row["outcome"],
            *(markdown_cell(value, _LONGEST_CELL) for value in values),
            markdown_cell(_why(row), 3 * _LONGEST_CELL),
        )
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def _why(row: Record) -> str:
    parts = (row["reason"], accepted_text(row["accepted_as"]), row["reasoning"])
    return ": ".join(text for text in parts if text)


# --- summary.txt ----------------------------------------------------------------------------------


def _summary_text(content: Record) -> str:
    """Write one page, at most 80 columns wide, in the form of extract-bench."""
    meta, outcomes, rule = content["meta"], content["outcomes"], "=" * _WIDTH
    # what the field score is the mean of
    mean = {"paper": "flat average", "strict": "mean over schema fields"}[meta["profile"]]
    counts = f"{outcomes['total_passed']} passed, {outcomes['total_failed']} failed"
    results = [
        f"Overall Score: {content['overall_score']:.3f} (item-weighted)",
        f"Field Score: {content['field_score']:.3f} ({mean})",
        f"Pass Rate: {content['overall_pass_rate']:.1%}",
        f"Evaluated: {plural(outcomes['total_evaluated'], 'field')} ({counts})",
        *(text for pair in limits(content["summary"], content["problem"]) for text in pair),
    ]
    sections = {
        "OVERALL RESULTS": results,
        "ARRAY BREAKDOWN": _array_lines(content["arrays"]),
        f"FAILED FIELDS (first {_MOST})": _failed_lines(content["field_outcomes"]),
        "CAUSES": [line for text in content["causes"] for line in wrap(text, _WIDTH - 2)],
    }
    head = [
        rule,
        f"EVALUATION REPORT: {content['output_name']}",
        f"Timestamp: {content['timestamp']}",
        f"Profile: {meta['profile']}, judge: {meta['judge']}, alignment: {meta['alignment']}",
        rule,
    ]
    lines = [fitted(line, _WIDTH) for line in head]
    for title, listed in sections.items():
        body = [_indented(line) for line in listed]
        lines += ["", title, "-" * 40, *body] if body else []
    return "\n".join([*lines, "", rule, ""])


def _indented(line: str) -> str:
    depth = 2 + len(line) - len(line.lstrip(" "))
    return " " * depth + fitted(line, _WIDTH - depth)


def _array_lines(arrays: Iterable[Record]) -> Iterator[str]:
    """Describe the arrays with the lowest F1, in the order of the report."""
    arrays = [array for array in arrays if array["matched"] is None or array["matches"]]
    ranked = sorted(arrays, key=lambda array: array["f1"] or 0.0)
    lowest = {array["path"] for array in ranked[:_MOST]}
    for array in arrays:
        if array["path"] not in lowest:
            continue
        verdict = {True: "PASS", False: "FAIL", None: "OPEN"}[array["passed"]]
        score, precision, recall, f1 = (
            "n/a" if array[name] is None else f"{array[name]:.3f}"
            for name in ("score", "precision", "recall", "f1")
        )
        end = f" [{verdict}] score={score}"
        name = array["path"].removeprefix("$").removeprefix(".") or "$"
        yield fitted(name, _WIDTH - 2 - len(end)) + end
        if array["matched"] is None:
            yield "  Items: not aligned"
            continue
        names = ("matched", "differing", "missed", "spurious")
        yield f"  Items: {', '.join(f'{array[name]} {name}' for name in names)}"
        yield f"  P={precision} R={recall} F1={f1}"
    if len(arrays) > _MOST:
        yield f"… {len(arrays) - _MOST} more arrays with better F1"


def _failed_lines(rows: Iterable[Record]) -> Iterator[str]:
    failed = [row for row in rows if not row["passed"]]
    for row in failed[:_MOST]:
        score = "n/a" if row["score"] is None else f"{row['score']:.3f}"
        yield row["normalized_path"].lstrip()
        yield f"  Metric: {fitted(row['metric_id'], _WIDTH - 30)}, Score: {score}"
        if reason := _why(row):
            yield f"  Reason: {reason}"
    if len(failed) > _MOST:
        yield f"… {len(failed) - _MOST} more in fields.csv"


# --- any scored result ----------------------------------------------------------------------------

_SCORES = ("cell_f1", "cell_precision", "cell_recall", "row_f1", "column_recall", "quality")
#: Columns that are shown of each section, where a frame has them, with what the section is.
_SHOWN = {
    "scores": ("One row per output.", ("outcome", "failure_mode", *_SCORES)),
    "losses": (
        "Points, 1 per cell; each is lost at the first stage where it could not be won.",
        (),
    ),
    "rows": (
        "Cells or fields that are not right.",
        ("path", "outcome", "reason", "gold", "predicted", "score"),
    ),
    "warnings": ("Repairs of answers, keys, the judge.", ("kind", "message")),
}
_IDS = ("run", "document")


def _scored_files(
    result: Any, name: str | None, losses: pd.DataFrame | None, measure: str | None
) -> dict[str, Callable[[], str]]:
    """Return what writes each file of a report on a `ScoredResult` or a `TableComparison`."""
    of_one, part = hasattr(result, "cells"), "fields" if hasattr(result, "evaluation") else "cells"
    scores = result.summary.to_frame().T if of_one else summary_of(result)
    if measure is not None:
        measures = result.scores["measure"].unique().tolist()
        if measure not in measures:
            raise InputError(f"measure={measure!r}; {nearest(str(measure), measures)}")
        scores = scores.sort_values(measure, kind="stable", ignore_index=True)
    rows = result.cells if of_one else complete_rows(result.rows)
    if losses is None and hasattr(result, "losses"):
        try:
            losses = result.losses()
        except InputError:  # some rules count rows several times
            losses = None
    frames = {"scores": scores, part: rows}
    if losses is not None:
        frames["losses"] = _by_side(losses)
    if isinstance(warnings := getattr(result, "warnings", None), pd.DataFrame):
        frames["warnings"] = warnings
    now, meta = datetime.now(), getattr(result, "meta", {})
    content = {
        "output_name": name or f"{now:%Y%m%d-%H%M}-{digest(rows['path'].tolist())}",
        "timestamp": now.isoformat(),
        **{name: str(meta[name]) for name in ("profile", "judge", "variant") if name in meta},
    }
    listed = {
        name: [document_json(row) for row in _without_na(frame).to_dict("records")]
        for name, frame in frames.items()
    }
    cells = _without_na(rows)
    wrong = rows[~rows["passed"].astype("boolean").fillna(value=False)]
    sections = [
        (title, _SHOWN[key][0], _columns(frame, key, measure))
        for title, key, frame in (
            ("Scores", "scores", scores),
            ("Where points were lost", "losses", frames.get("losses")),
            (part.capitalize(), "rows", wrong),
            ("Warnings", "warnings", frames.get("warnings")),
        )
        if frame is not None
    ]
    return {
        "report.json": lambda: _json_text({**content, **listed}),
        "summary.txt": lambda: f"{content['output_name']}\n{result!r}\n",
        f"{part}.csv": lambda: _csv_text(cells.columns, cells.to_numpy().tolist()),
        "report.html": lambda: scored_page(content, sections),
    }


def _columns(frame: pd.DataFrame, key: str, measure: str | None) -> pd.DataFrame:
    names = _SHOWN[key][1]
    if key == "scores" and not set(names) & set(frame.columns):
        names = tuple(map(str, frame.columns[:8]))
    wanted = dict.fromkeys((*_IDS, *([measure] if measure and key == "scores" else []), *names))
    return frame[[name for name in wanted if name in frame.columns]] if names else frame


def _without_na(frame: pd.DataFrame) -> pd.DataFrame:
    return frame.astype(object).where(frame.notna(), None)


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
