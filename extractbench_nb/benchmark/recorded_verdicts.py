"""Verdicts of judges in the reports of the published package, or of this one."""

from __future__ import annotations

import json
from contextlib import suppress
from pathlib import Path
from typing import Any

import pandas as pd

from extractbench_nb.errors import InputError
from extractbench_nb.judges import VERDICTS
from extractbench_nb.support.files import read_text
from extractbench_nb.support.wording import cut

_NAMES = ("path", "normalized_path", "metric_id")
_HASHES = ("gold_hash", "extracted_hash")


def read_verdicts(path: str | Path) -> pd.DataFrame:
    """Read the verdicts of a ``report.json``, or of a folder of reports, for `ReplayJudge`.

    Parameters
    ----------
    path : str or pathlib.Path
        A report of extract-bench 0.1.0 or of this package, or a folder with one report per pair of
        documents, each named by its hashes.

    Returns
    -------
    pandas.DataFrame
        One row per field and metric: ``gold_hash`` and ``predicted_hash`` of the documents,
        ``schema_path``, ``field``, ``metric``, ``status`` (``judged``; ``rule``: no judge was
        asked; ``failed``: the call failed), ``score`` in [0, 1], ``reason``, ``reasoning``, and
        ``gold`` and ``predicted``, the two values, if the report has them.

    Raises
    ------
    InputError
        A file cannot be read or is not a report, or a report in a folder does not name its
        documents.

    Examples
    --------
    >>> import tempfile
    >>> row = {"path": "$.properties.name", "normalized_path": "name", "score": 0.9}
    >>> file = Path(tempfile.mkdtemp(), "report.json")
    >>> _ = file.write_text(json.dumps({"field_outcomes": [row | {"metric_id": "string_llm"}]}))
    >>> read_verdicts(file)[["field", "metric", "status", "score"]].values.tolist()
    [['name', 'string_llm', 'judged', 0.9]]
    """
    given: object = path
    if not isinstance(given, str | Path) or not str(path).strip():
        raise InputError(f"path is {path!r}; expected a report.json or a folder of such files")
    source = Path(path).expanduser().absolute()
    is_folder = source.is_dir()
    files = sorted(source.rglob("*report.json")) if is_folder else [source]
    verdicts: list[dict[str, Any]] = []
    for file in files:
        report: Any = None
        with suppress(ValueError, RecursionError):
            report = json.loads(read_text(file, "report"))
        rows = report.get("field_outcomes") if isinstance(report, dict) else None
        if not isinstance(rows, list):
            raise InputError(f"{str(file)!r}: no list 'field_outcomes'; expected a judge report")
        hashes = [report.get(name) for name in _HASHES]
        if is_folder and None in hashes:
            raise InputError(
                f"{str(file)!r} has no gold_hash or extracted_hash; in a folder of reports, every "
                "report needs both"
            )
        for number, row in enumerate(rows):
            known = row if isinstance(row, dict) else {}
            score, names = known.get("score", -1), [known.get(name) for name in _NAMES]
            sound = score is None or (type(score) in (int, float) and 0 <= score <= 1)
            if not sound or not all(isinstance(name, str) for name in names):
                raise InputError(
                    f"{str(file)!r}: row {number} of 'field_outcomes' is {cut(repr(row), 80)}; "
                    "expected 'path', 'normalized_path', 'metric_id' and a 'score' from 0 to 1"
                )
            values = (row.get("gold_value"), row.get("extracted_value"))
            texts = (row.get("reason"), row.get("reasoning"))
            values_of_row = (*hashes, *names, _status(row), score, *texts, *values)
            verdicts.append(dict(zip(VERDICTS, values_of_row, strict=True)))
    if not verdicts:
        raise InputError(f"{str(source)!r} contains no verdicts")
    return pd.DataFrame(verdicts, columns=list(VERDICTS), dtype=object)


def _status(row: dict[str, Any]) -> str:
    """Say whether a row comes from a judge, a failed call, or the states of the two values."""
    outcome, reason = row.get("outcome"), row.get("reason")
    if row["metric_id"].startswith("error_") or outcome == "judge_error" or row["score"] is None:
        return "failed"
    ruled = reason is not None if outcome is None else outcome not in ("correct", "incorrect")
    return "rule" if ruled else "judged"
