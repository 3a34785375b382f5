"""What holds for the frames of every evaluation, whatever was compared."""

from __future__ import annotations

from typing import Any

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
        assert a.missed == a.gold_items - a.matched
        assert a.spurious == a.predicted_items - a.matched
        assert 0 <= a.matched + a.partial <= min(a.gold_items, a.predicted_items)
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
        paired = a.matched + a.partial
        assert found.get("matched", 0) == a.matched
        assert found.get("partial", 0) == a.partial
        assert found.get("missed", 0) == a.gold_items - paired
        assert found.get("spurious", 0) == a.predicted_items - paired
        assert len(rows) == a.gold_items + found.get("spurious", 0)
        assert sorted(rows["gold_index"].dropna()) == list(range(a.gold_items))
        assert sorted(rows["predicted_index"].dropna()) == list(range(a.predicted_items))
        similarity = rows["similarity"].dropna()
        assert len(similarity) == paired
        assert ((similarity >= 0) & (similarity <= 1)).all()


def _check_summary(ev: Any) -> None:
    s, counted = ev.summary, ev.fields[ev.fields["counted"]]
    assert s["evaluated"] == len(counted)
    assert s["judged"] == counted["passed"].notna().sum()
    assert s["passed"] == counted["passed"].fillna(False).sum()
    assert s["failed"] == s["judged"] - s["passed"]
    for entry, outcome in COUNTS.items():
        assert s[entry] == (counted["outcome"] == outcome).sum()
    for name in ("overall_score", "field_score", "pass_rate", "pass_rate_judged", "gold_coverage"):
        assert 0 <= s[name] <= 1
    if not len(counted):
        return
    scores = counted["score"].fillna(0).astype(float).to_numpy()
    weights = counted["weight"].to_numpy()
    assert s["field_score"] == pytest.approx((scores * weights).sum() / weights.sum())
    items = ev.arrays.set_index("path")["gold_items"]
    sizes = counted["path"].map(items).astype(float).fillna(1).clip(lower=1).to_numpy()
    assert s["overall_score"] == pytest.approx(
        (scores * weights * sizes).sum() / (weights * sizes).sum()
    )


def _ratio(part: int, whole: int) -> float | None:
    return part / whole if whole else None


def _or_none(value: Any) -> Any:
    return None if value is pd.NA else value
