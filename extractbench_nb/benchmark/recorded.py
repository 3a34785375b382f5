"""Recorded model outputs, and the published package's reports on them.

A folder of recorded runs holds ``{run}/{document}.pred.json``, with a
``{document}.judge-report.json`` next to each output that a language model judged.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from itertools import combinations
from pathlib import Path
from typing import Any

import pandas as pd
from rapidfuzz.distance import Indel

from extractbench_nb._frames import Column, FrameSpec
from extractbench_nb._json import canonical, read_document
from extractbench_nb.benchmark.dataset import Dataset, load_dataset
from extractbench_nb.errors import InputError
from extractbench_nb.evaluation.api import evaluate
from extractbench_nb.judges.recorded import FAILED_CALL, report_rows

__all__ = [
    "OUTPUT_COLUMNS",
    "PAIR_COLUMNS",
    "VERDICT_COLUMNS",
    "measure_pairs",
    "measure_verdicts",
    "recorded_outputs",
]


_PREDICTED, _REPORT = ".pred.json", ".judge-report.json"
_JUDGED = ("string_semantic", "array_llm")
_HASHED = 16
_DIGITS = 6  # of a similarity and of a difference, so that files are the same everywhere

OUTPUT_COLUMNS = FrameSpec(
    "outputs",
    "one row a recorded output, ordered by run and document",
    (
        Column("run", "string", "run, as its folder is named"),
        Column("document", "string", "document id"),
        Column("predicted", "object", "the file, a pathlib.Path"),
    ),
)

_PLACE = (
    Column("document", "string", "document id"),
    Column("path", "string", "instance path, as in Evaluation.fields"),
    Column("field", "string", "path without indices"),
    Column("metric", "string", "metric that the schema declares"),
)

VERDICT_COLUMNS = FrameSpec(
    "verdicts",
    "one row a row of a judge report",
    (
        Column("run", "string", "run, as its folder is named"),
        *_PLACE,
        Column(
            "decided_by",
            "string",
            "who decided",
            "judge, rule, states, failed_call, below_failed_call",
        ),
        Column("score", "float64", "score in the report", "[0, 1]"),
        Column("passed", "bool", "verdict in the report"),
        Column("offline_score", "Float64", "score of the offline judge", "[0, 1]", True),
        Column("offline_passed", "boolean", "verdict of the offline judge", "", True),
        Column("gold_items", "Int64", "items of gold's array", "0 and up", True),
        Column("predicted_items", "Int64", "items of the predicted array", "0 and up", True),
        Column(
            "possible_score",
            "Float64",
            "the highest score these sizes allow: gold items that can have a partner, of all",
            "(0, 1]",
            True,
        ),
        Column(
            "share_of_possible",
            "Float64",
            "score of a judge by the possible score",
            "0 and up; above 1 the judge counted wrong",
            True,
        ),
        Column("predicted_sha256", "string", "start of the SHA-256 of the value as JSON", "", True),
    ),
)

PAIR_COLUMNS = FrameSpec(
    "pairs",
    "one row a field of a document and two runs in which a judge decided it",
    (
        *_PLACE,
        Column("run_a", "string", "the one run"),
        Column("run_b", "string", "the other"),
        Column("identical", "bool", "both predicted the same value"),
        Column("alike", "float64", "similarity of the two predicted values as JSON", "[0, 1]"),
        Column("score_a", "float64", "the judge's score", "[0, 1]"),
        Column("score_b", "float64", "the judge's score", "[0, 1]"),
        Column("gap", "float64", "how far the two scores are apart", "[0, 1]"),
        Column("flipped", "bool", "one passed and the other not"),
        Column("offline_a", "Float64", "the offline judge's score", "[0, 1]", True),
        Column("offline_b", "Float64", "the offline judge's score", "[0, 1]", True),
    ),
)


def recorded_outputs(folder: str | Path) -> pd.DataFrame:
    """List recorded outputs, laid out as ``{run}/{document}.pred.json``, for `evaluate_runs`.

    Parameters
    ----------
    folder : str or pathlib.Path
        A folder with runs, at any depth; files of other names are left out.

    Returns
    -------
    pandas.DataFrame
        One row per output, ordered by run and document: run, document, predicted (its path).

    Raises
    ------
    InputError
        The folder holds no such output, or two of one run and document.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     run = Path(folder, "model-a")
    ...     run.mkdir()
    ...     _ = (run / "report.pred.json").write_text("{}")
    ...     recorded_outputs(folder)[["run", "document"]].values.tolist()
    [['model-a', 'report']]
    """
    found = _files(folder, _PREDICTED)
    rows = [(path.parent.name, path.name.removesuffix(_PREDICTED), path) for path in found]
    frame = _build(OUTPUT_COLUMNS, rows)
    twice = frame[frame.duplicated(["run", "document"])]
    if len(twice):
        run, document, path = twice.iloc[0]
        raise InputError(f"{str(path)!r}: run {run!r} has two outputs for document {document!r}")
    return frame


def measure_verdicts(folder: str | Path, *, dataset: Dataset | None = None) -> pd.DataFrame:
    """Read judge reports, and let the offline judge decide the same fields."""
    dataset = dataset or load_dataset("extractbench")
    rows = [row for path in _files(folder, _REPORT) for row in _Report(path, dataset).rows()]
    return _build(VERDICT_COLUMNS, rows)


def measure_pairs(folder: str | Path, *, dataset: Dataset | None = None) -> pd.DataFrame:
    """Compare, for each field of a document, what a judge said about any two runs."""
    verdicts = measure_verdicts(folder, dataset=dataset)
    judged = verdicts[verdicts["decided_by"] == "judge"]
    texts = {
        (path.parent.name, path.name.removesuffix(_PREDICTED)): path
        for path in _files(folder, _PREDICTED)
    }
    values = {key: read_document(path, "predicted") for key, path in texts.items()}
    rows = []
    for _, group in judged.groupby(["document", "field"], sort=True):
        for a, b in combinations(group.sort_values("run").to_dict("records"), 2):
            rows.append(_pair(a, b, *(_text(values, row) for row in (a, b))))
    return _build(PAIR_COLUMNS, rows)


def _text(values: Mapping[tuple[str, str], Any], row: Mapping[Any, Any]) -> str:
    return canonical(_without_nulls(_at(values[row["run"], row["document"]], row["field"])))


def _pair(a: Mapping[Any, Any], b: Mapping[Any, Any], text_a: str, text_b: str) -> tuple[Any, ...]:
    return (
        *(a[column.name] for column in _PLACE),
        a["run"],
        b["run"],
        text_a == text_b,
        round(Indel.normalized_similarity(text_a, text_b), _DIGITS),
        a["score"],
        b["score"],
        round(abs(a["score"] - b["score"]), _DIGITS),
        a["passed"] != b["passed"],
        _or_none(a["offline_score"]),
        _or_none(b["offline_score"]),
    )


class _Report:
    """One judge report beside its output, with gold and our own evaluation."""

    def __init__(self, path: Path, dataset: Dataset) -> None:
        self.run, self.document = path.parent.name, path.name.removesuffix(_REPORT)
        self._rows = report_rows(read_document(path, "judge report"), path)
        listing = dataset.listing.set_index("document")["schema"]
        self._gold = dataset.gold(self.document)
        predicted = path.with_name(self.document + _PREDICTED)
        self._predicted = read_document(predicted, "predicted")
        schema = dataset.schema(str(listing[self.document]))
        fields = evaluate(schema, self._gold, self._predicted).fields
        counted = fields[fields["counted"]]
        self._offline = counted.set_index("path")[["metric", "score", "passed"]].to_dict("index")

    def rows(self) -> Iterator[tuple[Any, ...]]:
        """Yield the cells of `VERDICT_COLUMNS`, in the report's order."""
        failed = [r["path"] for r in self._rows if str(r["metric_id"]).startswith(FAILED_CALL)]
        for row in self._rows:
            yield self._row(row, _decided_by(row, failed))

    def _row(self, row: Mapping[str, Any], decided_by: str) -> tuple[Any, ...]:
        field = str(row["normalized_path"])
        own = self._offline.get(f"$.{field}", {})
        gold, predicted = _at(self._gold, field), _at(self._predicted, field)
        return (
            self.run,
            self.document,
            f"$.{field}",
            field,
            own.get("metric", row["metric_id"]),
            decided_by,
            float(row["score"]),
            bool(row["passed"]),
            _or_none(own.get("score")),
            _or_none(own.get("passed")),
            *_items(gold, predicted, row["score"] if decided_by == "judge" else None),
            _hash(predicted),
        )


def _decided_by(row: Mapping[str, Any], failed: list[str]) -> str:
    path = row["path"]
    if path in failed:
        return "failed_call"
    if any(path.startswith((f"{above}.", f"{above}[")) for above in failed):
        return "below_failed_call"
    if row["metric_id"] in _JUDGED:
        return "judge" if row["reason"] is None else "states"
    return "rule" if row["reason"] in (None, "value_mismatch") else "states"


def _items(gold: Any, predicted: Any, score: float | None) -> tuple[Any, ...]:
    """Return the sizes of both arrays, the possible score, and the score's share of it."""
    sizes = [len(value) if isinstance(value, list) else None for value in (gold, predicted)]
    if score is None or None in sizes or 0 in sizes:
        return (*sizes, None, None)
    possible = min(len(gold), len(predicted)) / len(gold)
    return (*sizes, possible, score / possible)


def _at(value: Any, field: str) -> Any:
    for key in field.split("."):
        value = value.get(key) if isinstance(value, dict) else None
    return value


def _without_nulls(value: Any) -> Any:
    """Leave out what is null: for the evaluation it is the same as absent."""
    if isinstance(value, dict):
        return {key: _without_nulls(v) for key, v in value.items() if v is not None}
    return [_without_nulls(v) for v in value] if isinstance(value, list) else value


def _hash(value: Any) -> str | None:
    if value is None:
        return None
    text = canonical(value).encode("utf-8", "surrogatepass")
    return hashlib.sha256(text).hexdigest()[:_HASHED]


def _or_none(cell: Any) -> Any:
    return None if cell is None or pd.isna(cell) else cell


def _files(folder: str | Path, suffix: str) -> list[Path]:
    paths = Path(folder).rglob(f"*{suffix}")
    found = sorted(paths, key=lambda path: (path.parent.name, path.name, str(path)))
    if not found:
        raise InputError(f"{str(folder)!r}: no {{run}}/{{document}}{suffix} in this folder")
    return found


def _build(spec: FrameSpec, rows: list[tuple[Any, ...]]) -> pd.DataFrame:
    columns = zip(*rows, strict=True) if rows else ((),) * len(spec.columns)
    return spec.build(dict(zip(spec.names, columns, strict=True)))
