"""What holds for the frames of every evaluation, whatever was compared."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

OUTCOMES = {
    "correct": (True,),
    "both_absent": (True,),
    "incorrect": (False,),
    "omission": (False,),
    "hallucination": (False,),
    "structural": (False,),
    "judge_error": (None,),
}
COUNTS = {
    "omissions": "omission",
    "hallucinations": "hallucination",
    "structural": "structural",
    "judge_errors": "judge_error",
}


def check(ev: Any) -> None:
    """Assert that the frames are consistent in themselves, with each other and the summary.

    For schemas with one metric a node.
    """
    _check_rows(ev.fields)
    _check_arrays(ev.arrays, ev.fields)
    _check_matches(ev.matches, ev.arrays)
    _check_summary(ev)


def _check_rows(fields: pd.DataFrame) -> None:
    assert fields["path"].is_unique
    scores = fields["score"].dropna()
    assert ((scores >= 0) & (scores <= 1)).all()
    passed = fields["passed"].astype(object).where(fields["passed"].notna(), None)
    for outcome, verdict in zip(fields["outcome"], passed, strict=True):
        assert verdict in OUTCOMES[outcome]


def _check_arrays(arrays: pd.DataFrame, fields: pd.DataFrame) -> None:
    assert arrays["path"].is_unique
    rows = fields.set_index("path")
    for a in arrays.itertuples():
        paired = a.matched + a.differing
        assert min(a.matched, a.differing, a.missed, a.spurious) >= 0
        assert a.missed == a.gold_items - paired
        assert a.spurious == a.predicted_items - paired
        assert _or_none(a.recall) == _ratio(a.matched, a.gold_items)
        assert _or_none(a.precision) == _ratio(a.matched, a.predicted_items)
        assert _or_none(a.f1) == _ratio(2 * a.matched, a.gold_items + a.predicted_items)
        row = rows.loc[a.path]
        assert _or_none(a.score) == _or_none(row["score"])
        assert bool(a.counted) == bool(row["counted"])


def _check_matches(matches: pd.DataFrame, arrays: pd.DataFrame) -> None:
    groups = dict(list(matches.groupby("path", sort=False)))
    assert set(groups) <= set(arrays["path"])
    for a in arrays.itertuples():
        rows = groups.get(a.path)
        if rows is None:
            assert a.gold_items == a.predicted_items == 0
            continue
        found = rows["status"].value_counts().to_dict()
        for status in ("matched", "differing", "missed", "spurious"):
            assert found.get(status, 0) == getattr(a, status)
        assert len(rows) == a.gold_items + a.spurious
        assert sorted(rows["gold_index"].dropna()) == list(range(a.gold_items))
        assert sorted(rows["predicted_index"].dropna()) == list(range(a.predicted_items))
        similarity = rows["similarity"].dropna()
        assert len(similarity) == a.matched + a.differing
        assert ((similarity >= 0) & (similarity <= 1)).all()


def _check_summary(ev: Any) -> None:
    s, counted = ev.summary, ev.fields[ev.fields["counted"]]
    assert s["evaluated"] == len(counted)
    assert s["judged"] == counted["passed"].notna().sum()
    assert s["passed"] == counted["passed"].fillna(False).sum()
    assert s["failed"] == s["judged"] - s["passed"]
    for entry, outcome in COUNTS.items():
        assert s[entry] == (counted["outcome"] == outcome).sum()
    for name in ("pass_rate", "overall_score", "field_score", "null_pass_rate", "gold_coverage"):
        assert 0 <= s[name] <= 1
    for name in ("pass_rate_judged", "precision", "recall", "f1"):
        assert s[name] != s[name] or 0 <= s[name] <= 1  # NaN where nothing was judged, or no value
    if not len(counted):
        return
    scores = counted["score"].fillna(0).astype(float).to_numpy()
    weights = counted["weight"].to_numpy()
    if ev.meta["profile"] == "strict":  # each schema field once
        rows: dict[str, list[tuple[float, float]]] = {}
        for field, score, weight in zip(counted["field"], scores, weights, strict=True):
            rows.setdefault(field, []).append((score, weight))
        means = [sum(x * w for x, w in some) / sum(w for _, w in some) for some in rows.values()]
        most = [max(w for _, w in some) for some in rows.values()]
        expected = sum(mean * weight for mean, weight in zip(means, most, strict=True)) / sum(most)
        assert s["field_score"] == pytest.approx(expected)
    else:
        assert s["field_score"] == pytest.approx((scores * weights).sum() / weights.sum())
    items = dict(zip(ev.arrays["path"], ev.arrays["gold_items"], strict=True))
    # the arrays of missed items have no row in arrays
    whole = (
        len(gold) if isinstance(gold, list) and metric in {"array_llm", "set_f1"} else 1
        for gold, metric in zip(counted["gold"], counted["metric"], strict=True)
    )
    pairs = zip(counted["path"], whole, strict=True)
    sizes = np.array([max(1, items.get(path, size)) for path, size in pairs], dtype=float)
    assert s["overall_score"] == pytest.approx(
        (scores * weights * sizes).sum() / (weights * sizes).sum()
    )


def _ratio(part: int, whole: int) -> float | None:
    return part / whole if whole else None


def _or_none(value: Any) -> Any:
    return None if value is pd.NA else value
