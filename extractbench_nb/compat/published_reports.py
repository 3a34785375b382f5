"""Reports that extract-bench wrote, as frames."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from extractbench_nb.core.frames import Column, FrameSpec
from extractbench_nb.core.values import member, read_document
from extractbench_nb.errors import InputError

_IDS = (
    Column("run", "string", "name of the folder that holds the report"),
    Column("document", "string", "the report's ``output_name``; a recorded report's file name"),
)
_PLACE = (
    Column("path", "string", "instance path, as in ``Evaluation.fields``"),
    Column("schema_path", "string", "the report's own path, such as `$.properties.borrower`"),
    Column("metric", "string", "metric id"),
    Column("score", "Float64", "score", "0 to 1", nullable=True),
)

REPORT_COLUMNS = FrameSpec(
    "fields of reports",
    "one row per report, field and metric",
    (
        *(*_IDS, *_PLACE),
        Column("passed", "boolean", "whether the score passes", nullable=True),
        Column("reason", "string", "the report's reason code", nullable=True),
        Column("reasoning", "string", "the judge's explanation, shortened", nullable=True),
        Column("gold", "object", "gold value, if the report contains it", nullable=True),
        Column("predicted", "object", "predicted value, if the report contains it", nullable=True),
    ),
)

REPORT_ARRAY_COLUMNS = FrameSpec(
    "arrays of reports",
    "one row per report and array whose items were counted",
    (
        *(*_IDS, *_PLACE),
        Column("matched", "Int64", "matched items", "0 and up", True),
        Column("missed_gold", "Int64", "gold items without a match", "0 and up", True),
        Column("spurious_pred", "Int64", "extracted items without a match", "0 and up", True),
        *(Column(name, "Float64", name, "0 to 1", True) for name in ("precision", "recall", "f1")),
    ),
)

REPORT_SUMMARY_COLUMNS = FrameSpec(
    "summary of reports",
    "one row per report",
    (
        *_IDS,
        Column("overall_score", "float64", "as reported", "0 to 1"),
        Column("overall_pass_rate", "float64", "as reported", "0 to 1"),
        Column("evaluated", "int64", "rows of the report", "0 and up"),
        Column("passed", "int64", "rows that pass", "0 to evaluated"),
        Column("judge_errors", "int64", "rows of judge calls that failed", "0 to evaluated"),
    ),
)

_RECORDED = ".judge-report.json"


class ReportFrames(NamedTuple):
    """Reports of extract-bench as frames; made by `read_report`."""

    #: One row per field and metric; see `REPORT_COLUMNS`.
    fields: pd.DataFrame
    #: One row per array with counts of items; see `REPORT_ARRAY_COLUMNS`.
    arrays: pd.DataFrame
    #: One row per report; see `REPORT_SUMMARY_COLUMNS`.
    summary: pd.DataFrame


def read_report(path: str | Path) -> ReportFrames:
    """Read a report written by extract-bench, or all reports in a folder.

    ``fields`` joins with ``Evaluation.fields`` on ``path`` and ``metric``, and with
    ``Evaluations.fields`` on ``run`` and ``document`` too. Reports of this package are read too.

    Parameters
    ----------
    path : str or pathlib.Path
        A report, the folder that contains its ``report.json``, or a folder with reports at any
        depth: ``{run}/report.json`` or ``{run}/{document}.judge-report.json``.

    Returns
    -------
    ReportFrames
        The frames ``fields``, ``arrays`` and ``summary``.

    Raises
    ------
    InputError
        A file cannot be read or is not a report, or a folder contains none.

    Examples
    --------
    >>> import tempfile, extractbench_nb as xb
    >>> schema = {"type": "object", "properties": {"year": {"type": "integer"}}}
    >>> builder = xb.compat.ReportBuilder(xb.compat.ReportConfig(output_dir=tempfile.mkdtemp()))
    >>> folder = builder.save(builder.build(schema, {"year": 2024}, {"year": 2025}))
    >>> read_report(folder).fields[["path", "metric", "score"]].values.tolist()
    [['$.year', 'integer_exact', 0.0]]
    """
    fields, arrays, summary = [], [], []
    for file in _files(Path(path)):
        report = read_document(file, "report")
        try:
            document = str(report["output_name"])
            if file.name.endswith(_RECORDED):
                document = file.name.removesuffix(_RECORDED)
            ids, rows = (file.parent.name, document), report["field_outcomes"]
            fields += [(*ids, *_row(row)) for row in rows]
            arrays += [(*ids, *counts) for row in rows for counts in _counts(row)]
            passed = sum(row.get("passed") is True for row in rows)
            failed = sum(str(row["metric_id"]).startswith("error_") for row in rows)
            scores = report["overall_score"], report["overall_pass_rate"]
            summary.append((*ids, *scores, len(rows), passed, failed))
        except (KeyError, TypeError, AttributeError) as error:
            problem = "expected field_outcomes, overall_score and overall_pass_rate"
            raise InputError(
                f"{str(file)!r} is not a report of extract-bench; {problem}"
            ) from error
    return ReportFrames(
        REPORT_COLUMNS.from_rows(fields),
        REPORT_ARRAY_COLUMNS.from_rows(arrays),
        REPORT_SUMMARY_COLUMNS.from_rows(summary),
    )


def _files(path: Path) -> list[Path]:
    """List the reports at a path; a file that is missing is left to the reader's error."""
    if not path.is_dir() or (path / "report.json").is_file():
        return [path / "report.json" if path.is_dir() else path]
    found = [*path.rglob("report.json"), *path.rglob(f"*{_RECORDED}")]
    if not found:
        expected = f"report.json or {{run}}/{{document}}{_RECORDED}"
        raise InputError(f"{str(path)!r} holds no report; expected {expected}")
    return sorted(found, key=lambda file: (file.parent.name, file.name))


def _row(row: Mapping[str, Any]) -> tuple[Any, ...]:
    names = ("metric_id", "score", "passed", "reason", "reasoning", "gold_value", "extracted_value")
    return (_instance_path(row), row["path"], *(row.get(name) for name in names))


def _counts(row: Mapping[str, Any]) -> Iterator[tuple[Any, ...]]:
    if counts := row.get("array_breakdown"):
        names = REPORT_ARRAY_COLUMNS.names[len(_IDS) + len(_PLACE) :]
        yield (*_row(row)[: len(_PLACE)], *(counts.get(name) for name in names))


def _instance_path(row: Mapping[str, Any]) -> str:
    """Return the path in the document; extract-bench writes odd names without quotes."""
    keys = row["path"].split(".properties.")
    if keys[0] != "$" or any(".additionalProperties" in key for key in keys):
        name = row["normalized_path"]
        return "$" if name == "$" else "$" + ("" if name.startswith("[") else ".") + name
    return "$" + "".join(key if key.startswith("['") else member(key) for key in keys[1:])
