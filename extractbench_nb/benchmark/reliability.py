"""Reliability of a language model as the judge, measured on recorded reports.

A folder of recorded runs holds ``{run}/{document}.pred.json``, with a
``{document}.judge-report.json`` next to each output that a language model judged. The shipped
figures come from 22 reports that the published package 0.1.0 wrote in March 2026 about research
papers of the released dataset, with Gemini 2.5 Flash as its judge (public repository
``nicolasfwyss/extract-bench-experiments``, MIT). They are scores, verdicts, sizes and hashes, and
contain no text of any document.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import combinations
from pathlib import Path
from typing import Any

import pandas as pd
from rapidfuzz.distance import Indel

from extractbench_nb._frames import Column, FrameSpec, as_pandas
from extractbench_nb._json import canonical, read_document
from extractbench_nb.benchmark.dataset import RUN_COLUMNS, Dataset, load_dataset
from extractbench_nb.benchmark.statistics import DOCUMENT, RUN, shipped_frame
from extractbench_nb.display.names import model_name
from extractbench_nb.errors import InputError, nearest
from extractbench_nb.evaluation.api import evaluate
from extractbench_nb.judges.recorded import FAILED_CALL, report_rows
from extractbench_nb.stats.agreements import Agreement
from extractbench_nb.stats.agreements import agreement as agreement_of
from extractbench_nb.stats.breakdowns import refuse_missing

__all__ = [
    "agreement",
    "failed_calls",
    "inconsistent",
    "pairs",
    "pass_rates",
    "reports",
    "run_names",
    "verdicts",
]


_PREDICTED, _REPORT = ".pred.json", ".judge-report.json"
_JUDGED = ("string_semantic", "array_llm")
_HASHED = 16
_DIGITS = 6  # of a similarity and of a difference, so that files are the same everywhere

_PLACE = (
    DOCUMENT,
    Column("path", "string", "instance path, as in Evaluation.fields"),
    Column("field", "string", "path without indices"),
    Column("metric", "string", "metric that the schema declares"),
)

VERDICT_COLUMNS = FrameSpec(
    "verdicts",
    "one row per row of a judge report",
    (
        *(RUN, *_PLACE),
        Column("decided_by", "string", "judge, rule, states, failed_call or below_failed_call"),
        Column("score", "float64", "score in the report", "[0, 1]"),
        Column("passed", "bool", "verdict in the report"),
        Column("offline_score", "Float64", "score of the offline judge", "[0, 1]", True),
        Column("offline_passed", "boolean", "verdict of the offline judge", "", True),
        Column("gold_items", "Int64", "items of gold's array", "0 and up", True),
        Column("predicted_items", "Int64", "items of the predicted array", "0 and up", True),
        Column("possible_score", "Float64", "highest score these sizes allow", "(0, 1]", True),
        # above 1 the judge counted wrong
        Column("share_of_possible", "Float64", "score / possible_score", "0 and up", True),
        Column("predicted_sha256", "string", "start of the SHA-256 of the value as JSON", "", True),
    ),
)

PAIR_COLUMNS = FrameSpec(
    "pairs",
    "one row per field of a document and two runs in which a judge decided it",
    (
        *_PLACE,
        Column("run_a", "string", "first run"),
        Column("run_b", "string", "second run"),
        Column("identical", "bool", "both predicted the same value"),
        Column("alike", "float64", "similarity of the two predicted values as JSON", "[0, 1]"),
        Column("score_a", "float64", "the judge's score", "[0, 1]"),
        Column("score_b", "float64", "the judge's score", "[0, 1]"),
        Column("gap", "float64", "absolute difference of the two scores", "[0, 1]"),
        Column("flipped", "bool", "one passed and the other did not"),
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
        If the folder holds no such output, or two for the same run and document.

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
    paths = _files(folder, _PREDICTED)
    rows = [(path.parent.name, path.name.removesuffix(_PREDICTED), path) for path in paths]
    frame = RUN_COLUMNS.from_rows(rows)
    repeated = frame[frame.duplicated(["run", "document"])]
    if len(repeated):
        run, document, path = repeated.iloc[0]
        raise InputError(f"{str(path)!r}: run {run!r} has two outputs for document {document!r}")
    return frame


#: Names of folders in the study: setup, router, provider, model, date and time.
_STUDY_RUN = re.compile(r"setup(\d+)_openrouter_[a-z]+_(.+)_\d{8}_\d{6}")


def run_names(runs: Iterable[str]) -> dict[str, str]:
    """Return display names of recorded runs, with the paper's names of models.

    Parameters
    ----------
    runs : iterable of str
        Names of runs, such as the column ``run`` of `verdicts`.

    Returns
    -------
    dict of str to str
        For each run of the study its model and setup; other runs keep their names.

    Examples
    --------
    >>> runs = ["setup4_openrouter_anthropic_claude-haiku-4.5_20260313_105904", "mine"]
    >>> list(run_names(runs).values())
    ['Claude Haiku 4.5, setup 4', 'mine']
    """
    names = {}
    for run in runs:
        found = _STUDY_RUN.fullmatch(run)
        names[run] = f"{model_name(found[2])}, setup {found[1]}" if found else run
    return names


def _report_rows(path: Path, dataset: Dataset) -> Iterator[tuple[Any, ...]]:
    """Yield the cells of `VERDICT_COLUMNS` of one judge report, in its order."""
    document = path.name.removesuffix(_REPORT)
    rows = report_rows(read_document(path, "judge report"), path)
    gold = dataset.gold(document)
    schema = dataset.listing.set_index("document")["schema"][document]
    predicted = read_document(path.with_name(document + _PREDICTED), "predicted")
    fields = evaluate(dataset.schema(str(schema)), gold, predicted).fields
    counted = fields[fields["counted"]]
    offline = counted.set_index("path")[["metric", "score", "passed"]].to_dict("index")
    failed = [row["path"] for row in rows if str(row["metric_id"]).startswith(FAILED_CALL)]
    for row in rows:
        field, decided_by = str(row["normalized_path"]), _decided_by(row, failed)
        offline_row = offline.get(f"$.{field}", {})
        value, expected = _at(predicted, field), _at(gold, field)
        sizes = [len(v) if isinstance(v, list) else None for v in (expected, value)]
        possible = share = None
        if decided_by == "judge" and None not in sizes and 0 not in sizes:
            possible = min(len(expected), len(value)) / len(expected)
            share = row["score"] / possible
        content = canonical(value).encode("utf-8", "surrogatepass")
        yield (
            *(path.parent.name, document, f"$.{field}", field),
            *(offline_row.get("metric", row["metric_id"]), decided_by),
            *(float(row["score"]), bool(row["passed"])),
            *(_or_none(offline_row.get("score")), _or_none(offline_row.get("passed"))),
            *(*sizes, possible, share),
            None if value is None else hashlib.sha256(content).hexdigest()[:_HASHED],
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


def _at(value: Any, field: str) -> Any:
    for key in field.split("."):
        value = value.get(key) if isinstance(value, dict) else None
    return value


def _without_nulls(value: Any) -> Any:
    """Leave out nulls, which the evaluation treats as absent."""
    if isinstance(value, dict):
        return {key: _without_nulls(v) for key, v in value.items() if v is not None}
    return [_without_nulls(v) for v in value] if isinstance(value, list) else value


def _or_none(cell: Any) -> Any:
    return None if cell is None or pd.isna(cell) else cell


def _files(folder: str | Path, suffix: str) -> list[Path]:
    paths = Path(folder).rglob(f"*{suffix}")
    found = sorted(paths, key=lambda path: (path.parent.name, path.name, str(path)))
    if not found:
        raise InputError(f"{str(folder)!r}: no {{run}}/{{document}}{suffix} in this folder")
    return found


_RATES = (
    Column("as_reported", "float64", "passed rows of all rows of the report", "[0, 1]"),
    # a failed call counts as not passed
    Column("without_added", "float64", "the same without the rows below failed calls", "[0, 1]"),
    Column("inflation", "float64", "as_reported - without_added", "[-1, 1]"),
    Column("judged_only", "Float64", "without failed calls and rows below them", "[0, 1]", True),
    Column("offline", "float64", "the same fields decided by the offline judge", "[0, 1]"),
)

REPORT_COLUMNS = FrameSpec(
    "reports",
    "one row per judge report",
    (
        *(RUN, DOCUMENT),
        Column("rows", "int64", "rows of the report", "1 and up"),
        Column("passed", "int64", "passed rows", "0 to rows"),
        Column("failed_calls", "int64", "rows of judge calls that failed", "0 and up"),
        Column("added", "int64", "rows below a failed call", "0 and up"),
        Column("added_passed", "int64", "passed rows among them", "0 to added"),
        *_RATES,
    ),
)


_COUNTED = ("decided_by", "passed", "offline_passed")


def verdicts(folder: str | Path | None = None, *, dataset: Dataset | None = None) -> pd.DataFrame:
    """Return the verdicts of a recorded judge and of the offline judge, row by row.

    Parameters
    ----------
    folder : str or pathlib.Path, optional
        A folder of your own reports, ``{run}/{document}.judge-report.json`` next to
        ``{run}/{document}.pred.json``, at any depth; the shipped figures by default.
    dataset : Dataset, optional
        The dataset with gold and schemas of that folder; the released one by default.

    Returns
    -------
    pandas.DataFrame
        One row per row of a report: run, document, path, field, metric, decided_by, score, passed,
        offline_score, offline_passed, gold_items, predicted_items, possible_score,
        share_of_possible, predicted_sha256.

    Raises
    ------
    InputError
        If the folder has no report or a report cannot be read.
    DatasetError
        If the dataset is not found or lacks a document.

    Notes
    -----
    ``decided_by`` is ``judge`` if a language model was asked, ``rule`` for other metrics,
    ``states`` if a side was null, missing or empty, ``failed_call`` if the call failed, and
    ``below_failed_call`` for rows that the published package then added.

    Examples
    --------
    >>> verdicts()["decided_by"].value_counts().sort_index().to_dict()  # doctest: +ELLIPSIS
    {'below_failed_call': 35, 'failed_call': 7, 'judge': 119, 'rule': ..., 'states': ...}
    """
    if folder is None:
        return shipped_frame("data/judge_verdicts.csv", VERDICT_COLUMNS)
    dataset = dataset or load_dataset("extractbench")
    rows = [row for path in _files(folder, _REPORT) for row in _report_rows(path, dataset)]
    return VERDICT_COLUMNS.from_rows(rows)


def pairs(folder: str | Path | None = None, *, dataset: Dataset | None = None) -> pd.DataFrame:
    """Compare a judge's verdicts on the same field of a document in any two runs.

    Parameters
    ----------
    folder : str or pathlib.Path, optional
        See `verdicts`.
    dataset : Dataset, optional
        See `verdicts`.

    Returns
    -------
    pandas.DataFrame
        One row per field of a document and two runs: document, path, field, metric, run_a, run_b,
        identical, alike, score_a, score_b, gap, flipped, offline_a, offline_b.

    Raises
    ------
    InputError, DatasetError
        See `verdicts`.

    Notes
    -----
    ``alike`` is the normalised Indel similarity of the two predicted values as JSON with sorted
    keys, 0 to 1; nulls are left out, because the evaluator treats null and absent alike.

    Examples
    --------
    >>> frame = pairs()
    >>> bool(frame.loc[frame["identical"], "flipped"].any())
    False
    """
    if folder is None:
        return shipped_frame("data/judge_pairs.csv", PAIR_COLUMNS)
    judged = verdicts(folder, dataset=dataset).query("decided_by == 'judge'")
    values = {
        (path.parent.name, path.name.removesuffix(_PREDICTED)): read_document(path, "predicted")
        for path in _files(folder, _PREDICTED)
    }

    def text(row: Mapping[Any, Any]) -> str:
        value = _at(values[row["run"], row["document"]], row["field"])
        return canonical(_without_nulls(value))

    rows = []
    for _, group in judged.groupby(["document", "field"], sort=True):
        for a, b in combinations(group.sort_values("run").to_dict("records"), 2):
            text_a, text_b = text(a), text(b)
            rows.append(
                (
                    *(a[column.name] for column in _PLACE),
                    *(a["run"], b["run"], text_a == text_b),
                    round(Indel.normalized_similarity(text_a, text_b), _DIGITS),
                    *(a["score"], b["score"], round(abs(a["score"] - b["score"]), _DIGITS)),
                    a["passed"] != b["passed"],
                    *(_or_none(a["offline_score"]), _or_none(b["offline_score"])),
                )
            )
    return PAIR_COLUMNS.from_rows(rows)


def inconsistent(frame: pd.DataFrame | None = None, *, alike: float = 0.95) -> pd.DataFrame:
    """Return pairs of nearly identical predictions that got different scores.

    Parameters
    ----------
    frame : pandas.DataFrame, optional
        The result of `pairs`; the shipped figures by default.
    alike : float, optional
        Lowest similarity of the two predictions, 0 to 1.

    Returns
    -------
    pandas.DataFrame
        Rows of `pairs`: flipped verdicts first, then largest gap first.

    Raises
    ------
    InputError
        If `alike` is out of range or a column is missing.

    Examples
    --------
    >>> inconsistent()[["field", "score_a", "score_b"]].head(1).values.tolist()
    [['authors', 0.0, 1.0]]
    """
    if not 0 <= alike <= 1:
        raise InputError(f"alike={alike!r}; expected a number from 0 to 1")
    frame = _given(frame, pairs, ("alike", "gap", "flipped"))
    selected = frame[(frame["alike"] >= alike) & (frame["gap"] > 0)]
    order = ["flipped", "gap", "alike"]
    return selected.sort_values(order, ascending=False, kind="stable").reset_index(drop=True)


def reports(frame: pd.DataFrame | None = None) -> pd.DataFrame:
    """Count each report's rows, and its pass rate by four ways of counting.

    Parameters
    ----------
    frame : pandas.DataFrame, optional
        The result of `verdicts`; the shipped figures by default.

    Returns
    -------
    pandas.DataFrame
        One row per report: run, document; the counts rows, passed, failed_calls, added (rows below
        failed calls), added_passed; and the pass rates as_reported, without_added (without added
        rows), inflation (their difference), judged_only (without failed calls and added rows) and
        offline (the same fields, decided by the offline judge).

    Raises
    ------
    InputError
        If a column is missing.

    Examples
    --------
    >>> reports()[["rows", "failed_calls", "added", "added_passed"]].sum().to_dict()
    {'rows': 255, 'failed_calls': 7, 'added': 35, 'added_passed': 35}
    """
    frame = _given(frame, verdicts, ("run", "document", *_COUNTED))
    rows = []
    for key, group in frame.groupby(["run", "document"], sort=True):
        decided, passed = group["decided_by"], group["passed"].astype(float)
        # rows below a failed call were added, and passed, by the package
        added, failed = decided == "below_failed_call", decided == "failed_call"
        judged = passed[~added & ~failed]
        as_reported, without_added = float(passed.mean()), float(passed[~added].mean())
        offline = group["offline_passed"][~added].fillna(value=False).astype(float)
        rows.append(
            (
                *(*key, len(group), int(passed.sum())),
                *(int(failed.sum()), int(added.sum()), int(passed[added].sum())),
                *(as_reported, without_added, as_reported - without_added),
                *(float(judged.mean()) if len(judged) else None, float(offline.mean())),
            )
        )
    return REPORT_COLUMNS.from_rows(rows)


def failed_calls(frame: pd.DataFrame | None = None) -> pd.DataFrame:
    """Return the reports in which a judge call failed, most inflated first.

    Parameters
    ----------
    frame : pandas.DataFrame, optional
        The result of `verdicts`; the shipped figures by default.

    Returns
    -------
    pandas.DataFrame
        Rows of `reports`.

    Raises
    ------
    InputError
        If a column is missing.

    Notes
    -----
    The published package 0.1.0 continues with the children of a field whose judge call failed,
    finds both sides absent there, and counts each child as passed.

    Examples
    --------
    >>> len(failed_calls()), bool((failed_calls()["inflation"] > 0).all())
    (7, True)
    """
    failed = reports(frame)
    failed = failed[failed["failed_calls"] > 0]
    return failed.sort_values("inflation", ascending=False, kind="stable").reset_index(drop=True)


def pass_rates(frame: pd.DataFrame | None = None) -> pd.DataFrame:
    """Return each run's pass rate under the four ways of counting.

    Parameters
    ----------
    frame : pandas.DataFrame, optional
        The result of `verdicts`; the shipped figures by default.

    Returns
    -------
    pandas.DataFrame
        One row per run: run, documents, failed_calls, and the means over its documents of the pass
        rates of `reports`, in [0, 1].

    Raises
    ------
    InputError
        If a column is missing.

    Examples
    --------
    >>> rates = pass_rates()
    >>> bool((rates["as_reported"] > rates["without_added"]).all())
    True
    """
    groups = reports(frame).groupby("run", sort=True)
    counts = groups.agg(documents=("document", "size"), failed_calls=("failed_calls", "sum"))
    means = groups[[column.name for column in _RATES]].mean()
    return counts.join(means).reset_index()


def agreement(frame: pd.DataFrame | None = None, *, metric: str | None = None) -> Agreement:
    """Compare the recorded judge (a) with the offline judge (b) where a model was asked.

    Parameters
    ----------
    frame : pandas.DataFrame, optional
        The result of `verdicts`; the shipped figures by default.
    metric : str, optional
        ``string_semantic`` or ``array_llm``; all judged metrics by default.

    Returns
    -------
    Agreement
        Raw agreement, Cohen's kappa with its interval over documents, the table of counts and the
        disagreements.

    Raises
    ------
    InputError
        If a column is missing or no judged row has that metric.

    Examples
    --------
    >>> agreement(metric="string_semantic").raw > agreement(metric="array_llm").raw
    True
    """
    columns = ["run", "document", "path", "field", "metric"]
    frame = _given(frame, verdicts, (*columns, "score", "offline_score", *_COUNTED))
    judged = frame[frame["decided_by"] == "judge"]
    if metric is not None:
        known = judged["metric"].unique()
        judged = judged[judged["metric"] == metric]
        if judged.empty:
            raise InputError(f"metric={metric!r} has no judged row; {nearest(metric, known)}")
    offline = judged[[*columns, "offline_score", "offline_passed"]]
    names = {"offline_score": "score", "offline_passed": "passed"}
    return agreement_of(judged[[*columns, "score", "passed"]], offline.rename(columns=names))


def _given(
    frame: pd.DataFrame | None, default: Callable[[], pd.DataFrame], columns: tuple[str, ...]
) -> pd.DataFrame:
    if frame is None:
        return default()
    frame = as_pandas(frame)
    refuse_missing(frame, columns)
    return frame
