"""Measure what the errata need of the real dataset and of recorded judge reports.

The figures are shipped beside this module, so that everything can be computed without the data;
the tests measure them again where the data is.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from extractbench_nb._frames import Column, FrameSpec
from extractbench_nb.benchmark.dataset import Dataset
from extractbench_nb.benchmark.shipped import shipped_frame
from extractbench_nb.errors import InputError
from extractbench_nb.evaluation import evaluate

__all__ = [
    "GOLD_COLUMNS",
    "REPORT_COLUMNS",
    "measure_gold",
    "measure_growth_metric",
    "measure_reports",
    "shipped_gold",
    "shipped_reports",
]

GOLD_COLUMNS = FrameSpec(
    "gold",
    "one row a document of the released dataset",
    (
        Column("document", "string", "document id"),
        Column("schema", "string", "schema id"),
        Column("scored", "int64", "fields that are scored, by the paper's rules", "1 and up"),
        Column("scored_released", "int64", "fields the published package 0.1.0 scores", "1 and up"),
        Column("present", "int64", "scored fields for which gold has a value", "0 to scored"),
        Column("citations", "Int64", "items of `citations`; missing elsewhere", "0 and up", True),
        Column("violations", "int64", "breaches of the document's own schema", "0 and up"),
    ),
)

REPORT_COLUMNS = FrameSpec(
    "reports",
    "one row a judge report of the published package",
    (
        Column("run", "string", "run, as its folder is named"),
        Column("document", "string", "document id"),
        Column("evaluated", "int64", "rows of the report", "1 and up"),
        Column("passed", "int64", "passed rows", "0 to evaluated"),
        Column("failed_calls", "int64", "rows of judge calls that failed", "0 and up"),
        Column("extra", "int64", "rows below a failed call", "0 and up"),
        Column("extra_passed", "int64", "passed rows below a failed call", "0 to extra"),
    ),
)

_FAILED_CALL = "error_"

#: Counts of the gold documents that were measured, by a hash of schema and gold.
_COUNTED: dict[bytes, tuple[Any, ...]] = {}


def shipped_gold() -> pd.DataFrame:
    """Return the shipped figures of the released dataset's gold (see `GOLD_COLUMNS`)."""
    return shipped_frame("paper/data/gold.csv", GOLD_COLUMNS)


def shipped_reports() -> pd.DataFrame:
    """Return the shipped figures of recorded judge reports (see `REPORT_COLUMNS`)."""
    return shipped_frame("paper/data/judge_reports.csv", REPORT_COLUMNS)


def measure_gold(dataset: Dataset) -> pd.DataFrame:
    """Count fields, citations and schema violations of each gold document.

    Parameters
    ----------
    dataset : Dataset
        The released dataset, or one in its layout.

    Returns
    -------
    pandas.DataFrame
        One row a document (see `GOLD_COLUMNS`).
    """
    ids = zip(dataset.listing["document"], dataset.listing["schema"], strict=True)
    return _build(GOLD_COLUMNS, [_gold_row(dataset, *pair) for pair in ids])


def _gold_row(dataset: Dataset, document: str, schema_id: str) -> tuple[Any, ...]:
    schema, gold = dataset.schema(schema_id), dataset.gold(document)
    content = hashlib.sha256(json.dumps([schema, gold]).encode()).digest()
    if content not in _COUNTED:  # each table of the paper asks for all documents
        _COUNTED[content] = _counts(schema, gold)
    return (document, schema_id, *_COUNTED[content])


def _counts(schema: Mapping[str, Any], gold: Any) -> tuple[Any, ...]:
    fields = evaluate(schema, gold, gold).fields
    counted = fields[fields["counted"]]
    released = evaluate(schema, gold, gold, profile="extract-bench-0.1.0").fields
    cited = gold.get("citations") if isinstance(gold, dict) else None
    return (
        len(counted),
        len(released[released["counted"]]),
        int((counted["gold_state"] == "present").sum()),
        len(cited) if isinstance(cited, list) else None,
        _violations(schema, gold),
    )


def _violations(schema: Mapping[str, Any], gold: Any) -> int:
    from jsonschema import Draft202012Validator

    plain = schema.get("schema_definition", schema)
    return sum(1 for _ in Draft202012Validator(plain).iter_errors(gold))


def measure_growth_metric(dataset: Dataset) -> int:
    """Count the properties of the definition ``growth_metric`` in the 10-K/Q schema."""
    schema = dataset.schema("10kq")
    plain = schema.get("schema_definition", schema)
    return len(plain["$defs"]["growth_metric"]["properties"])


def measure_reports(folder: str | Path) -> pd.DataFrame:
    """Count rows, passes and what failed judge calls added, in reports of the published package.

    Parameters
    ----------
    folder : str or pathlib.Path
        A folder with ``{run}/{document}.judge-report.json``, at any depth.

    Returns
    -------
    pandas.DataFrame
        One row a report, ordered by run and document (see `REPORT_COLUMNS`).

    Raises
    ------
    InputError
        The folder holds no report.
    """
    suffix = ".judge-report.json"
    found = sorted(Path(folder).rglob(f"*{suffix}"), key=lambda p: (p.parent.name, p.name))
    if not found:
        raise InputError(f"{str(folder)!r}: no {{run}}/{{document}}{suffix} in this folder")
    return _build(
        REPORT_COLUMNS,
        [(path.parent.name, path.name.removesuffix(suffix), *_report(path)) for path in found],
    )


def _report(path: Path) -> tuple[int, int, int, int, int]:
    rows = json.loads(path.read_text(encoding="utf-8"))["field_outcomes"]
    failed = [row["path"] for row in rows if str(row["metric_id"]).startswith(_FAILED_CALL)]
    below = list(_below(rows, failed))
    return (
        len(rows),
        sum(row["passed"] for row in rows),
        len(failed),
        len(below),
        sum(row["passed"] for row in below),
    )


def _below(rows: list[dict[str, Any]], paths: list[str]) -> Iterator[dict[str, Any]]:
    for row in rows:
        if any(row["path"].startswith((f"{path}.", f"{path}[")) for path in paths):
            yield row


def _build(spec: FrameSpec, rows: list[tuple[Any, ...]]) -> pd.DataFrame:
    return spec.build(dict(zip(spec.names, zip(*rows, strict=True), strict=True)))
