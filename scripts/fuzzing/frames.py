"""What holds for the frames and the summary of every evaluation."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

import pandas as pd

from fuzzing.documents import Place, has_python_values, look_up
from fuzzing.paths import PathError, follow, parse

RATES = ("pass_rate", "field_score", "overall_score")
ABSENT = {"missing", "null", "empty"}
ARRAY_METRICS = {"array_llm", "set_f1", "table_grits"}
EPSILON = 1e-9  # between two sums of the same scores


def records(frame: pd.DataFrame) -> list[dict[str, Any]]:
    """The rows as dicts; faster than pandas' own on small frames."""
    names = list(frame.columns)
    columns = (frame[name].tolist() for name in names)
    return [dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True)]


def compares_containers(result: Any, metric: str) -> bool:
    """Whether a metric whose name begins so compares objects or arrays, as texts."""
    fields = result.fields
    rows = fields[fields["metric"].str.startswith(metric)]
    return any(isinstance(v, list | dict) for v in (*rows["gold"], *rows["predicted"]))


def dtypes_of(result: Any) -> dict[str, dict[str, str]]:
    """The column types of each frame as words; of the summary its labels with its own type."""
    frames = ("fields", "arrays", "matches", "warnings")
    types = {name: getattr(result, name).dtypes.astype(str).to_dict() for name in frames}
    return types | {"summary": dict.fromkeys(result.summary.index, str(result.summary.dtype))}


def check_frames(result: Any, gold: Any, predicted: Any) -> Iterator[tuple[str, str]]:
    """All checks of one evaluation's frames: a name and what was found."""
    rows = records(result.fields)
    yield from check_rows(rows)
    yield from check_arrays(result)
    yield from check_summary(rows, result)
    yield from check_states(rows)
    yield from check_values(result, rows, gold, predicted)


def check_rows(rows: list[dict[str, Any]]) -> Iterator[tuple[str, str]]:
    """What holds for each row in every profile."""
    seen = set()
    for row in rows:
        at = f"{row['path']} {row['metric']} {row['outcome']} {row['score']} {row['passed']}"
        unscored = pd.isna(row["score"])
        if not unscored and not 0 <= row["score"] <= 1:
            yield "score outside 0 to 1", at
        if (row["outcome"] == "judge_error") != unscored:
            yield "judge_error without missing score, or the reverse", at
        decided = row["outcome"] in {"correct", "incorrect"}
        if decided and row["passed"] is not (row["outcome"] == "correct"):
            yield "correct and passed disagree", at
        if (row["path"], row["metric"]) in seen:
            yield "two rows of one path and metric", at
        seen.add((row["path"], row["metric"]))


def check_states(rows: list[dict[str, Any]]) -> Iterator[tuple[str, str]]:
    """The design's table of states: which pair of states leads to which outcome."""
    for row in rows:
        if row["metric"] == "json":
            continue
        gold, predicted = row["gold_state"] not in ABSENT, row["predicted_state"] not in ABSENT
        at = f"{row['path']} {row['gold_state']}/{row['predicted_state']} is {row['outcome']}"
        at += f" ({row['reason']}), score {row['score']}"
        allowed = {
            (False, False): {"both_absent"},
            (False, True): {"hallucination"},
            (True, False): {"omission", "structural"},
            (True, True): {"correct", "incorrect", "structural", "judge_error"},
        }[gold, predicted]
        if row["outcome"] not in allowed:
            yield f"state table: {gold}/{predicted} is {row['outcome']}", at
        score = {"omission": 0.0, "hallucination": 0.0, "structural": 0.0, "both_absent": 1.0}
        if row["outcome"] in score and row["score"] != score[row["outcome"]]:
            yield f"score of {row['outcome']}", at
        if row["outcome"] in score and row["passed"] is not (row["outcome"] == "both_absent"):
            yield f"passed of {row['outcome']}", at


def check_values(
    result: Any, rows: list[dict[str, Any]], gold: Any, predicted: Any
) -> Iterator[tuple[str, str]]:
    """Each path leads to the row's value in gold and in the prediction."""
    documents = {"gold": gold, "predicted": predicted}
    if isinstance(predicted, str):
        try:
            documents["predicted"] = json.loads(predicted)
        except (ValueError, RecursionError):
            return
    if any(has_python_values(document) for document in documents.values()):
        return
    cut = result.warnings["kind"].eq("too_deep")
    if (cut & result.warnings["side"].eq("predicted")).any():
        return  # a prediction is cut below 100 levels, and that is said
    for row in rows:
        own = row["predicted_path"] if pd.notna(row["predicted_path"]) else row["path"]
        for side, path in (("gold", row["path"]), ("predicted", own)):
            if side == "gold" and row["metric"] == "undeclared" and "[" in path:
                continue  # the path is the prediction's: undeclared items have no partners
            fault = value_fault(documents[side], path, row[f"{side}_state"], row[side], side)
            if fault:
                yield f"{side}: {fault}", f"{path} is {row[side]!r:.80}, {row[f'{side}_state']}"


def value_fault(document: Any, path: str, state: str, value: Any, side: str) -> str:
    """What is wrong with a row's value on one side; '' if nothing is."""
    try:
        place, extra = parse(path)
    except PathError:
        return "not a path"
    try:
        found = follow(document, path)
    except PathError:
        # Below a broken container, the row shows what stands in the container's place.
        above = nearest(document, place)
        inherited = above is None if state == "null" else same(above, value)
        return "" if state == "missing" or inherited else "a state, but nothing at the path"
    if state == "missing":
        # An item of one side that has no partner is missing on the other, whatever its index.
        item = extra if side == "gold" else any(isinstance(step, int) for step in place)
        return "" if item or holds_nothing(found) else "missing, but there is a value at the path"
    if state == "null":
        return "" if found is None else "null, but there is a value at the path"
    return "" if same(found, value) else "another value than at the path"


def holds_nothing(value: Any) -> bool:
    """Null, or a container with nothing but such inside."""
    inner = value.values() if isinstance(value, dict) else value
    if isinstance(value, dict | list):
        return all(holds_nothing(part) for part in inner)
    return value is None


def nearest(document: Any, place: Place) -> Any:
    """The innermost value on the way to a place that is not there."""
    for step in place:
        try:
            document = look_up(document, (step,))
        except (KeyError, IndexError):
            return document
    return document


def same(left: Any, right: Any) -> bool:
    """Equality that NaN passes and in which true is not 1."""
    return repr(left) == repr(right) or json.dumps(left, sort_keys=True) == json.dumps(
        right, sort_keys=True
    )


def check_arrays(result: Any) -> Iterator[tuple[str, str]]:
    """Counts, rates and item rows of arrays agree."""
    matches = result.matches
    statuses = Counter(zip(matches["path"].tolist(), matches["status"].tolist(), strict=True))
    for row in records(result.arrays):
        at, path = str({k: row[k] for k in row if k != "field"})[:300], row["path"]
        if pd.isna(row["matched"]):
            continue
        matched = row["matched"]
        paired = matched + row["differing"]
        if paired + row["missed"] != row["gold_items"]:
            yield "matched + differing + missed is not gold_items", at
        if paired + row["spurious"] != row["predicted_items"]:
            yield "matched + differing + spurious is not predicted_items", at
        counts = {name: row[name] for name in ("matched", "differing", "missed", "spurious")}
        if any(statuses[path, name] != count for name, count in counts.items()):
            found = {name: statuses[path, name] for name in counts}
            yield "matches and arrays disagree", f"{at} {found}"
        total = row["gold_items"] + row["predicted_items"]
        rates = (
            ("precision", matched, row["predicted_items"]),
            ("recall", matched, row["gold_items"]),
            ("f1", 2 * matched, total),
        )
        for name, over, under in rates:
            expected = over / under if under else None
            got = None if pd.isna(row[name]) else float(row[name])
            if (expected is None) != (got is None) or abs((expected or 0) - (got or 0)) > EPSILON:
                yield f"{name} is not what the counts say", at
    if result.arrays["path"].duplicated().any():
        yield "two rows of one array", str(result.arrays["path"].tolist())[:300]


def check_summary(rows: list[dict[str, Any]], result: Any) -> Iterator[tuple[str, str]]:
    """Counts and rates are those of the counted rows."""
    summary = result.summary.to_dict()
    nodes: dict[Any, list[dict[str, Any]]] = {}
    for row in rows:
        if row["counted"]:
            nodes.setdefault(row["path"], []).append(row)
    if len(nodes) != summary["evaluated"]:
        yield "evaluated", f"{len(nodes)} nodes, summary {summary['evaluated']}"
        return
    yield from _summary_counts(list(nodes.values()), summary)
    if nodes:
        yield from _summary_rates(list(nodes.values()), result, summary)
    for name in (*RATES, "gold_coverage"):
        if not 0 <= summary[name] <= 1 + EPSILON:
            yield f"{name} outside 0 to 1", str(summary[name])


def _summary_counts(nodes: list[Any], summary: dict[str, float]) -> Iterator[tuple[str, str]]:
    words = {
        "omissions": "omission",
        "hallucinations": "hallucination",
        "structural": "structural",
        "judge_errors": "judge_error",
    }
    expected = {
        name: sum(any(row["outcome"] == word for row in rows) for rows in nodes)
        for name, word in words.items()
    }
    expected["passed"] = sum(all(row["passed"] is True for row in rows) for rows in nodes)
    expected["judged"] = len(nodes) - sum(
        any(pd.isna(row["score"]) for row in rows) for rows in nodes
    )
    expected["failed"] = expected["judged"] - expected["passed"]
    for name, count in expected.items():
        if summary[name] != count:
            yield name, f"rows say {count}, summary says {summary[name]}"


def _summary_rates(
    nodes: list[Any], result: Any, summary: dict[str, float]
) -> Iterator[tuple[str, str]]:
    """Rates where each node has one metric, as the weights of several are not in the rows."""
    if any(len(rows) > 1 or pd.isna(rows[0]["score"]) for rows in nodes):
        return
    arrays = result.arrays
    items = dict(zip(arrays["path"].tolist(), arrays["gold_items"].tolist(), strict=True))
    by_field = result.meta["profile"] == "strict"  # field_score takes each schema field once
    rates = dict.fromkeys(RATES, (0.0, 0.0))
    fields: dict[str, list[tuple[float, float]]] = {}
    for (row,) in nodes:
        weight = row["weight"]
        whole = row["gold"] if row["metric"] in ARRAY_METRICS else None
        size = items.get(row["path"], len(whole) if isinstance(whole, list) else 1)
        parts = {
            "pass_rate": (float(row["passed"]), weight),
            "field_score": (row["score"], weight),
            "overall_score": (row["score"], weight * max(1, size)),
        }
        if by_field:
            fields.setdefault(row["field"], []).append(parts.pop("field_score"))
        for name, (value, share) in parts.items():
            total, weights = rates[name]
            rates[name] = total + value * share, weights + share
    if by_field:
        rates["field_score"] = _field_means(fields.values())
    for name, (total, weights) in rates.items():
        if weights and abs(total / weights - summary[name]) > EPSILON:
            yield name, f"rows say {total / weights:.6f}, summary says {summary[name]:.6f}"


def _field_means(fields: Iterable[list[tuple[float, float]]]) -> tuple[float, float]:
    """Weighted sum and weight of the fields' mean scores; a field weighs what its rows do."""
    total = weights = 0.0
    for rows in fields:
        share = max(weight for _, weight in rows)
        weight = sum(weight for _, weight in rows)
        scores = sum(score * w for score, w in rows) / weight if weight else 0.0
        total, weights = total + scores * share, weights + share
    return total, weights
