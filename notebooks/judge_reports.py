"""Judge reports of extract-bench 0.1.0 as frames, for notebook 09.

A folder of recorded runs holds ``{run}/{document}.pred.json``, and beside each judged output
``{document}.judge-report.json``. The two CSV files here come from 22 reports of March 2026 about
research papers of the released dataset, with Gemini 2.5 Flash as the judge (public repository
``nicolasfwyss/extract-bench-experiments``, MIT). They hold scores, verdicts, sizes and hashes, no
text of any document.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator
from itertools import combinations
from pathlib import Path
from textwrap import fill
from typing import Any

import pandas as pd
from matplotlib.axes import Axes
from rapidfuzz.distance import Indel

import extractbench_nb as xb

HERE = Path(__file__).parent
PREDICTED, REPORT = ".pred.json", ".judge-report.json"
PLACE = ["document", "path", "field", "metric"]
_TYPES = {"offline_passed": "boolean", "gold_items": "Int64", "predicted_items": "Int64"}
_STUDY_RUN = re.compile(r"setup(\d+)_openrouter_[a-z]+_(.+)_\d{8}_\d{6}")
_MODELS = {
    "gemini-3-flash-preview": "Gemini 3 Flash preview",
    "claude-haiku-4.5": "Claude Haiku 4.5",
}


def verdicts(folder: str | None = None) -> pd.DataFrame:
    """Return one row per row of a report, with the verdict of the offline judge beside it.

    ``decided_by`` is ``judge`` if a model was asked, ``rule`` for other metrics, ``states`` if a
    side was null, missing or empty, ``failed_call``, or ``below_failed_call`` for rows that the
    package then added. ``possible_score`` is the highest recall that the sizes of two lists allow.
    """
    if folder is None:
        return pd.read_csv(HERE / "judge_verdicts.csv", dtype=_TYPES)
    paths = sorted(Path(folder).rglob(f"*{REPORT}"), key=lambda path: (path.parent.name, path.name))
    dataset = xb.load_dataset("extractbench")
    return pd.DataFrame([row for path in paths for row in _rows(path, dataset)]).astype(_TYPES)


def _rows(path: Path, dataset: xb.runs.Dataset) -> Iterator[dict[str, Any]]:
    document = path.name.removesuffix(REPORT)
    rows = json.loads(path.read_text(encoding="utf-8"))["field_outcomes"]
    gold, predicted = dataset.gold(document), _read(path.with_name(document + PREDICTED))
    schema = dataset.schema(dataset.listing.set_index("document")["schema"][document])
    fields = xb.evaluate(schema, gold, predicted, profile="paper").fields
    offline = fields[fields["counted"]].set_index("path").to_dict("index")
    failed = [row["path"] for row in rows if str(row["metric_id"]).startswith("error_")]
    for row in rows:
        field, decided_by = row["normalized_path"], _decided_by(row, failed)
        value, sides = _at(predicted, field), [_at(gold, field), _at(predicted, field)]
        sizes = [len(side) if isinstance(side, list) else pd.NA for side in sides]
        possible = None
        if decided_by == "judge" and all(isinstance(side, list) and side for side in sides):
            possible = min(sizes) / sizes[0]
        own = offline.get(f"$.{field}", {})
        yield {
            "run": path.parent.name,
            "document": document,
            "path": f"$.{field}",
            "field": field,
            "metric": own.get("metric", row["metric_id"]),
            "decided_by": decided_by,
            "score": float(row["score"]),
            "passed": row["passed"],
            "offline_score": own.get("score"),
            "offline_passed": own.get("passed", pd.NA),
            "gold_items": sizes[0],
            "predicted_items": sizes[1],
            "possible_score": possible,
            "share_of_possible": row["score"] / possible if possible else None,
            "predicted_sha256": None if value is None else _hash(value),
        }


def _decided_by(row: dict[str, Any], failed: list[str]) -> str:
    if row["path"] in failed:
        return "failed_call"
    if any(row["path"].startswith((f"{above}.", f"{above}[")) for above in failed):
        return "below_failed_call"
    if row["metric_id"] in ("string_semantic", "array_llm"):
        return "judge" if row["reason"] is None else "states"
    return "rule" if row["reason"] in (None, "value_mismatch") else "states"


def pairs(folder: str | None = None) -> pd.DataFrame:
    """Return one row per field of a document and two runs in which the judge decided it.

    ``alike`` is the Indel similarity of the two predicted values as JSON with sorted keys, from 0
    to 1; nulls are left out, because the evaluator treats null and absent alike.
    """
    if folder is None:
        return pd.read_csv(HERE / "judge_pairs.csv")
    judged = verdicts(folder).query("decided_by == 'judge'")
    outputs = xb.runs.recorded_outputs(folder).set_index(["run", "document"])["predicted"]
    rows = []
    for _, group in judged.groupby(["document", "field"], sort=True):
        for a, b in combinations(group.sort_values("run").to_dict("records"), 2):
            one, two = (
                _text(_at(_read(outputs[row["run"], row["document"]]), row["field"]))
                for row in (a, b)
            )
            rows.append(
                {name: a[name] for name in PLACE}
                | {"run_a": a["run"], "run_b": b["run"], "identical": one == two}
                | {"alike": round(Indel.normalized_similarity(one, two), 6)}
                | {"score_a": a["score"], "score_b": b["score"]}
                | {"gap": round(abs(a["score"] - b["score"]), 6)}
                | {"flipped": a["passed"] != b["passed"]}
                | {"offline_a": a["offline_score"], "offline_b": b["offline_score"]}
            )
    return pd.DataFrame(rows)


def reports(frame: pd.DataFrame) -> pd.DataFrame:
    """Count each report's rows, and its pass rate by four ways of counting.

    ``without_added`` leaves out the rows below failed calls, ``judged_only`` the failed calls too;
    ``offline`` is the rate of the same fields by the offline judge.
    """
    rows = []
    for (run, document), group in frame.groupby(["run", "document"]):
        passed, added = group["passed"], group["decided_by"] == "below_failed_call"
        failed = group["decided_by"] == "failed_call"
        counts = {"rows": len(group), "passed": passed.sum(), "failed_calls": failed.sum()}
        counts |= {"added": added.sum(), "added_passed": passed[added].sum()}
        rates = {"as_reported": passed.mean(), "without_added": passed[~added].mean()}
        rates["judged_only"] = passed[~added & ~failed].mean()
        rates["offline"] = group["offline_passed"][~added].fillna(value=False).mean()
        rows.append({"run": run, "document": document} | counts | rates)
    return pd.DataFrame(rows)


def draw_citations(frame: pd.DataFrame, *, ax: Axes) -> None:
    """Draw how much of the possible recall the judge gave each list of citations.

    One mark per report whose list the judge decided, with a colour and a shape per run; in the grey
    band it accepted all citations or nearly all.
    """
    judged = frame[frame["field"].eq("citations") & frame["decided_by"].eq("judge")]
    documents = sorted(judged["document"].unique(), reverse=True)
    for number, (run, rows) in enumerate(judged.groupby("run")):
        shift = (1.5 - number) * 0.16
        heights = [documents.index(document) + shift for document in rows["document"]]
        shares = rows["share_of_possible"].astype(float).tolist()
        ax.plot(shares, heights, "osD^"[number % 4], markersize=7, alpha=0.9, label=run)
    ax.axvspan(0.9, 1, color="0.9", zorder=0)
    ax.set_yticks(range(len(documents)), [fill(name, 32) for name in documents])
    ax.set_xlabel("share of the possible recall; above 1 the judge counted items that do not exist")
    ax.set_title("Is a citation as a string the same as an object? One mark per report")
    ax.legend(fontsize=8, loc="center left", bbox_to_anchor=(0.1, 0.5))


def run_names(runs: pd.Series) -> dict[str, str]:
    """Return a short name for each run of the study: its model and setup."""
    parts = {run: _STUDY_RUN.fullmatch(run) for run in runs.unique()}
    return {
        run: f"{_MODELS.get(part[2], part[2])}, setup {part[1]}" if part else run
        for run, part in parts.items()
    }


def _read(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))


def _at(value: Any, field: str) -> Any:
    for key in field.split("."):
        value = value.get(key) if isinstance(value, dict) else None
    return value


def _without_nulls(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_nulls(v) for key, v in value.items() if v is not None}
    return [_without_nulls(item) for item in value] if isinstance(value, list) else value


def _text(value: Any) -> str:
    return _canonical(_without_nulls(value))


def _canonical(value: Any) -> str:
    return json.dumps(value, sort_keys=True, ensure_ascii=False)


def _hash(value: Any) -> str:
    return hashlib.sha256(_canonical(value).encode("utf-8", "surrogatepass")).hexdigest()[:16]
