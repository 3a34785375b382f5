"""The files of a report as text: JSON, a summary of one page, CSV and Markdown."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from textwrap import wrap
from typing import Any

import pandas as pd

from extractbench_nb.core import Evaluation
from extractbench_nb.core.frames import ScoredResult
from extractbench_nb.errors import InputError
from extractbench_nb.support.files import make_folder, write_texts
from extractbench_nb.support.wording import (
    accepted_text,
    document_json,
    fitted,
    markdown_cell,
    one_line,
    plural,
    value_text,
)
from extractbench_nb.views import report_pages as pages
from extractbench_nb.views.report_contents import (
    COUNTS,
    Record,
    by_status,
    limits,
    report_content,
    scored_content,
    scored_sections,
    wrong_values,
)

_WIDTH = 80
#: Most entries of a section in summary.txt.
_MOST_ARRAYS, _MOST_FAILED = 10, 10
_LONGEST_CELL, _LONGEST_TABLE_CELL = 80, 160


def write_report(
    result: Any,
    folder: str | Path,
    *,
    losses: pd.DataFrame | None = None,
    measure: str | None = None,
) -> Path:
    r"""Write a report into a folder; existing files of its names are replaced.

    Parameters
    ----------
    result : Evaluation, TableComparison, or ScoredResult
        What was evaluated; a ScoredResult is the result of `evaluate_runs`, of ``evaluate_tables``
        of tables or of construction, or anything else with `rows`, `scores` and `summary`.
    folder : str or pathlib.Path
        The folder; created if it does not exist. Its name is the title of the report.
    losses : pandas.DataFrame, optional
        For tables: what ``result.losses(...)`` returned, with the evidence recall of the documents
        as points lost by retrieval; by default ``result.losses()``.
    measure : str, optional
        The score by which the outputs of a ScoredResult are sorted, the lowest first.

    Returns
    -------
    pathlib.Path
        The folder. An evaluation gives report.json, summary.txt, fields.csv, fields.md and
        report.html; a ScoredResult gives cells.csv, or fields.csv in the columns of its rows, and
        tables give cells.csv.

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
        files = evaluation_files(report_content(result, name))
    elif isinstance(result, ScoredResult):
        files = _scored_files(result, scored_content(result, losses, name, measure))
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


def evaluation_files(content: Record, limit: int = 200) -> dict[str, Callable[[], str]]:
    """Return what writes each file of a report on an evaluation."""
    rows = content["field_outcomes"]
    return {
        "report.json": lambda: _json_text(content),
        "summary.txt": lambda: _summary_text(content),
        "fields.csv": lambda: _csv_text(CSV_COLUMNS, map(_csv_row, rows)),
        "fields.md": lambda: _fields_table(rows, limit),
        "report.html": lambda: pages.evaluation_page(content),
    }


def _scored_files(result: Any, content: Record) -> dict[str, Callable[[], str]]:
    part = "fields" if "fields" in content else "cells"
    cells = _without_na(content[part])
    frames = {
        name: [document_json(row) for row in _without_na(value).to_dict("records")]
        for name, value in content.items()
        if isinstance(value, pd.DataFrame)
    }
    sections = [
        (title, about, frame.astype(object).map(_cell_text), frame)
        for title, about, frame in scored_sections(content)
    ]
    return {
        "report.json": lambda: _json_text({**content, **frames}),
        "summary.txt": lambda: f"{content['output_name']}\n{result!r}\n",
        f"{part}.csv": lambda: _csv_text(cells.columns, cells.to_numpy().tolist()),
        "report.html": lambda: pages.scored_page(content, sections),
    }


def _json_text(content: Record) -> str:
    return json.dumps(content, ensure_ascii=False, indent=2, allow_nan=False) + "\n"


def _without_na(frame: pd.DataFrame) -> pd.DataFrame:
    return frame.astype(object).where(frame.notna(), None)


# --- CSV and Markdown -------------------------------------------------------------------------

#: The columns of extract-bench, in its order.
CSV_COLUMNS = (
    *("path", "normalized_path", "metric_id", "score", "passed", "gold_value", "extracted_value"),
    *("reasoning", *COUNTS),
)
#: What begins a formula, full-width forms included, behind any number of apostrophes.
_RISKY = re.compile(r"'*[=+\-@\t\r\n\uff1d\uff0b\uff0d\uff20]")
_NUMBER = re.compile(r"[+-]?\d+(\.\d+)?([eE][+-]?\d+)?%?", re.ASCII)


def _csv_row(row: Record) -> list[Any]:
    counts = row["array_breakdown"] or {}
    return [row[name] if name in row else counts.get(name) for name in CSV_COLUMNS]


def _csv_text(columns: Iterable[str], rows: Iterable[Iterable[Any]]) -> str:
    out = io.StringIO()
    writer = csv.writer(out)
    writer.writerow(columns)
    writer.writerows([_escaped_cell(value) for value in row] for row in rows)
    return out.getvalue()


def _escaped_cell(value: Any) -> str:
    """Write a cell of a CSV file so that no spreadsheet takes it for a formula."""
    if isinstance(value, bool):
        return "true" if value else "false"
    text = value_text(value)
    if not isinstance(value, str):
        return text
    text = text.replace("\0", "\ufffd")
    return "'" + text if _RISKY.match(text) and not _NUMBER.fullmatch(text) else text


def _fields_table(rows: Iterable[Record], limit: int) -> str:
    """Write ``fields.md``: a Markdown table of the counted fields."""
    lines = [
        "| Path | Metric | Score | Passed | Outcome | Gold | Extracted | Reason |",
        "|---|---|---:|---|---|---|---|---|",
    ]
    for row in rows:
        cells = (
            markdown_cell(row["normalized_path"], 2 * _LONGEST_CELL),
            markdown_cell(row["metric_id"], _LONGEST_CELL),
            "" if row["score"] is None else f"{row['score']:.3f}",
            "Yes" if row["passed"] else "No",
            row["outcome"],
            markdown_cell(value_text(row["gold_value"]), _LONGEST_CELL),
            markdown_cell(value_text(row["extracted_value"]), _LONGEST_CELL),
            markdown_cell(_why(row), max(limit, 1)),
        )
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def _why(row: Record) -> str:
    parts = (row["reason"], accepted_text(row["accepted_as"]), row["reasoning"])
    return ": ".join(text for text in parts if text)


# --- summary.txt ------------------------------------------------------------------------------


#: A section ends at a blank line; names in braces are entries of the content or sections below.
_SUMMARY = """\
{rule}
{title}
Timestamp: {timestamp}
{settings}
{rule}

OVERALL RESULTS
----------------------------------------
  Overall Score: {overall_score:.3f} (item-weighted)
  Field Score: {field_score:.3f}{averaged}
  Pass Rate: {overall_pass_rate:.1%}
  Evaluated: {evaluated} ({outcomes[total_passed]} passed, {outcomes[total_failed]} failed)
{notes}{arrays_text}{failed}{causes_text}
WHAT WENT WRONG
----------------------------------------
  Omissions: {summary[omissions]:.0f} (gold has a value, the extraction none)
  Hallucinations: {summary[hallucinations]:.0f} (the extraction has one, gold none)
  Wrong Values: {wrong_values}
  Structural: {summary[structural]:.0f} (a type that neither schema nor gold has)
  Judge Errors: {summary[judge_errors]:.0f} (no verdict)

CONFUSION MATRIX (fields and metrics)
----------------------------------------
  True Positive: {confusion[true_positive]}, False Positive: {confusion[false_positive]}, \
False Negative: {confusion[false_negative]}, True Negative: {confusion[true_negative]}
  P={confusion[precision]:.3f} R={confusion[recall]:.3f} F1={confusion[f1]:.3f}

COVERAGE (leaves)
----------------------------------------
  Present in Both: {coverage[present_in_both]}
  Missing in Extracted: {coverage[missing_in_extracted]}
  Spurious in Extracted: {coverage[spurious_in_extracted]}
  Required Missing: {coverage[required_missing]}

{rule}
"""


#: What the field score is the mean of, by profile.
_AVERAGED = {"paper": " (flat average)", "strict": " (mean over schema fields)"}


def _summary_text(content: Record) -> str:
    """Write ``summary.txt``: one page, at most 80 columns wide."""
    meta = content["meta"]
    settings = f"Profile: {meta['profile']}, judge: {meta['judge']}, alignment: {meta['alignment']}"
    return _SUMMARY.format_map(
        {
            **content,
            "rule": "=" * _WIDTH,
            "averaged": _AVERAGED.get(meta["profile"], ""),
            "title": fitted(f"EVALUATION REPORT: {content['output_name']}", _WIDTH),
            "settings": fitted(settings, _WIDTH),
            "evaluated": plural(content["outcomes"]["total_evaluated"], "field"),
            "wrong_values": wrong_values(content),
            "confusion": content["outcomes"]["confusion"],
            "causes_text": _section("CAUSES", _cause_lines(content)),
            "notes": _indented(_line(text) for pair in limits(content) for text in pair),
            "arrays_text": _section("ARRAY BREAKDOWN", _array_lines(content)),
            "failed": _section("FAILED FIELDS (first 10)", _failed(content)),
        }
    )


def _indented(lines: Iterable[str]) -> str:
    return "".join(f"  {line}\n" for line in lines)


def _section(title: str, lines: Iterator[str]) -> str:
    text = _indented(lines)
    return f"\n{title}\n{'-' * 40}\n{text}" if text else ""


def _line(name: str, rest: str = "", width: int = _WIDTH - 2) -> str:
    """Write a text of a document and a text of ours on one line."""
    return fitted(name, width - len(rest)) + rest


def _number(value: float | None) -> str:
    return "n/a" if value is None else f"{value:.3f}"


def _more(hidden: int, what: str) -> Iterable[str]:
    return [f"… {hidden} {what}"] if hidden > 0 else []


def _array_lines(content: Record) -> Iterator[str]:
    """Describe the arrays with the lowest F1, in the order of the report."""
    arrays = [array for array in content["arrays"] if array["matched"] is None or array["matches"]]
    ranked = sorted(arrays, key=lambda array: array["f1"] or 0.0)
    lowest = {array["path"] for array in ranked[:_MOST_ARRAYS]}
    for array in arrays:
        if array["path"] not in lowest:
            continue
        verdict = {True: "PASS", False: "FAIL", None: "OPEN"}[array["passed"]]
        name = array["path"].removeprefix("$").removeprefix(".") or "$"
        yield _line(name, f" [{verdict}] score={_number(array['score'])}")
        matched = array["matched"]
        if matched is None:
            yield "  Items: not aligned"
            continue
        sizes = [f"{len(pairs)} {status}" for status, pairs in by_status(array).items()]
        yield f"  Items: {', '.join(sizes)}"
        precision, recall, f1 = (_number(array[name]) for name in ("precision", "recall", "f1"))
        yield f"  P={precision} R={recall} F1={f1}"
    yield from _more(len(arrays) - len(lowest), "more arrays with better F1")


def _cause_lines(content: Record) -> Iterator[str]:
    for text in content["causes"]:
        yield from map(_line, wrap(text, _WIDTH - 2))


def _failed(content: Record) -> Iterator[str]:
    failed = [row for row in content["field_outcomes"] if not row["passed"]]
    for row in failed[:_MOST_FAILED]:
        yield _line(row["normalized_path"])
        yield "  Metric: " + _line(
            row["metric_id"], f", Score: {_number(row['score'])}", _WIDTH - 12
        )
        if reason := _why(row):
            yield "  " + _line("Reason: " + reason, width=_WIDTH - 4)
    yield from _more(len(failed) - _MOST_FAILED, "more in fields.csv")


# --- built tables -----------------------------------------------------------------------------


def _cell_text(cell: Any) -> str:
    if cell is None or cell is pd.NA or (isinstance(cell, float) and pd.isna(cell)):
        return ""
    if isinstance(cell, float):
        return f"{cell:.3f}".rstrip("0").rstrip(".")
    return one_line(value_text(cell), _LONGEST_TABLE_CELL)
