"""Confidences: the agreement between runs, and calibration against scikit-learn and by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import extractbench_nb as xb
from extractbench_nb.errors import InputError

ITEM = {"type": "object", "properties": {"n": {"type": "string"}, "v": {"type": "integer"}}}
SCHEMA = {
    "type": "object",
    "properties": {
        "total": {"type": "number"},
        "name": {"type": "string"},
        "lines": {"type": "array", "items": ITEM},
        "notes": {"type": "object", "additionalProperties": {"type": "string"}},
    },
}
GOLD = {
    "total": 12,
    "name": "Osprey",
    "lines": [{"n": "lantern", "v": 1}, {"n": "anchor", "v": 2}],
    "notes": {"a b": "x", "c": "y"},
}
#: Its first item is gold's second; its second is spurious.
PREDICTED = {
    "total": 13,
    "lines": [{"n": "anchor", "v": 2}, {"n": "quill", "v": 9}],
    "notes": {"a b": "x", "c": "z"},
}


def values(stated: Any, right: Any, document: Any) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return values as fields, and their confidences."""
    size = len(stated)
    ids = {"document": [f"d{name}" for name in document], "path": [f"$.v{i}" for i in range(size)]}
    columns = {"predicted_path": None, "predicted_state": "present", "counted": True}
    fields = pd.DataFrame({**ids, **columns, "passed": np.asarray(right, dtype=bool)})
    return fields, pd.DataFrame({**ids, "confidence": np.asarray(stated, dtype=float)})


@pytest.mark.parametrize(
    "path, passed",
    [
        ("$.total", False),
        ("$.lines[0].n", True),  # gold's second item
        ("$.lines[1].n", False),  # spurious
        ("$.notes['c']", False),
        ("$.name", False),  # omitted: the confidence that it is absent
    ],
)
def test_a_confidence_belongs_to_the_path_in_the_output(path: str, passed: bool) -> None:
    ev = xb.evaluate(SCHEMA, GOLD, PREDICTED)
    found = xb.stats.calibration(ev, pd.DataFrame({"path": [path], "confidence": [0.5]}))
    assert found["n"].tolist() == [1, 1]
    assert found["accuracy"].iloc[-1] == passed


def test_a_node_with_two_metrics_is_right_if_both_pass() -> None:
    metrics = [{"metric_id": "string_exact"}, {"metric_id": "string_fuzzy"}]
    schema = {"type": "string", "evaluation_config": {"metrics": metrics}}
    properties = {"type": "object", "properties": {"a": schema, "b": schema}}
    gold = {"a": "extraction", "b": "same"}
    ev = xb.evaluate(properties, gold, gold | {"a": "extractions"})
    stated = pd.DataFrame({"path": ["$.a", "$.b"], "confidence": 0.5})
    assert xb.stats.calibration(ev, stated)[["n", "accuracy"]].values.tolist()[-1] == [2, 0.5]


@pytest.mark.parametrize("digits", [1, 12])
@pytest.mark.parametrize("size", [40, 500])
def test_calibration_is_that_of_scikit_learn(size: int, digits: int) -> None:
    metrics = pytest.importorskip("sklearn.metrics")
    curve = pytest.importorskip("sklearn.calibration").calibration_curve
    rng = np.random.default_rng(size)
    stated = rng.beta(4, 2, size).round(digits)
    right = rng.random(size) < stated**2
    found = xb.stats.calibration(*values(stated, right, rng.integers(0, 9, size)), bins=5)
    whole, bins = found.iloc[-1], found.iloc[:-1]
    assert whole["brier"] == pytest.approx(metrics.brier_score_loss(right, stated))
    assert whole["auroc"] == pytest.approx(metrics.roc_auc_score(right, stated))
    if digits == 12:  # scikit-learn cuts ties in another way
        true, mean = curve(right, stated, n_bins=5, strategy="quantile")
        assert bins["accuracy"].tolist() == pytest.approx(true.tolist(), abs=0.04)
        assert bins["confidence"].tolist() == pytest.approx(mean.tolist(), abs=0.04)
        assert bins["n"].tolist() == [size / 5] * 5


@settings(max_examples=40, deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, 10), st.booleans(), st.integers(0, 3)), min_size=1),
    st.integers(1, 12),
)
def test_what_holds_for_any_values(cells: list[tuple[int, bool, int]], bins: int) -> None:
    tenths, right, document = zip(*cells, strict=True)
    found = xb.stats.calibration(*values(np.array(tenths) / 10, right, document), bins=bins)
    whole, points = found.iloc[-1], found.iloc[:-1]
    assert (found["low"] <= found["accuracy"]).all()
    assert (found["accuracy"] <= found["high"]).all()
    assert whole["high"] - whole["low"] > 0.4  # four documents at most
    assert pd.isna(whole["auroc"]) == (len(set(right)) == 1)
    assert points["n"].sum() == whole["n"] == len(cells)
    assert len(points) <= bins
    assert points["confidence"].is_monotonic_increasing


FIELDS, GOOD = values([0.9, 0.1, 0.8, 0.7], [1, 0, 1, 1], "deed")
FIELDS, GOOD = (frame.assign(run=[*"rrss"], path="$.a") for frame in (FIELDS, GOOD))


@pytest.mark.parametrize(
    "frame, message",
    [
        (GOOD.to_dict("list"), "confidences is dict; expected a DataFrame"),
        (GOOD.drop(columns="confidence"), "no column 'confidence'"),
        (GOOD.iloc[:0], "none belongs to a value of fields"),
        *(
            (GOOD.assign(confidence=[0.9, bad, 0.8, 0.7]), "expected a number from 0 to 1")
            for bad in (1.1, -0.1, np.nan, None, np.inf, "high")
        ),
        (GOOD.assign(document="dd"), "confidences: two rows of run 'r', document 'dd', path"),
        (GOOD.assign(path="$.b"), "path '$.b': did you mean '$.a'?"),
        (GOOD.drop(columns="run").head(2), "fields: two rows of document 'de', path"),
    ],
)
def test_bad_confidences(frame: Any, message: str) -> None:
    with pytest.raises(InputError) as caught:
        xb.stats.calibration(FIELDS, frame)
    assert message in str(caught.value)


# --- agreement between runs -----------------------------------------------------------------------


def runs(*outputs: Any) -> pd.DataFrame:
    names = [f"r{i}" for i in range(len(outputs))]
    columns = {"run": names, "document": "d", "predicted": outputs, "schema": [SCHEMA] * len(names)}
    return pd.DataFrame(columns)


def agreed(frame: pd.DataFrame, run: str) -> dict[str, float]:
    own = frame[frame["run"] == run]
    return dict(zip(own["path"], own["confidence"], strict=True))


def test_agreement_is_the_share_of_the_other_runs() -> None:
    other = {**PREDICTED, "total": 12, "lines": list(reversed(PREDICTED["lines"]))}
    third = {"total": 12, "lines": [{"n": "anchor", "v": 3}]}
    frame = xb.stats.run_agreement(runs(PREDICTED, other, third))
    first = agreed(frame, "r0")
    assert first["$.total"] == 0.0
    assert first["$.lines[0].n"] == 1.0
    assert first["$.lines[0].v"] == first["$.lines[1].n"] == 0.5
    assert first["$.name"] == 1.0  # none has it
    assert agreed(frame, "r1")["$.lines[1].n"] == 1.0
    assert agreed(frame, "r2")["$.total"] == 0.5
    assert set(agreed(frame, "r2")) >= {"$.lines[0].n", "$.lines[0].v"}
    assert "$.lines[1].n" not in agreed(frame, "r2")


def test_an_output_that_is_not_json_agrees_with_none() -> None:
    frame = xb.stats.run_agreement(runs({"total": 1}, {"total": 1}, '{"total": 1'))
    assert agreed(frame, "r0")["$.total"] == 0.5
    assert agreed(frame, "r2") == {}


@pytest.mark.parametrize(
    "outputs", [({"total": 1},), ("{", "["), (None, pd.NA), (None, float("nan"))]
)
def test_no_agreement_without_two_runs(outputs: tuple[Any, ...]) -> None:
    with pytest.raises(InputError, match="no document has outputs of two runs"):
        xb.stats.run_agreement(runs(*outputs))


@pytest.mark.parametrize("profile", ["strict", "paper"])
def test_no_value_counts_twice(profile: str) -> None:
    evs_of = runs(GOLD, GOLD).assign(gold=[GOLD] * 2)
    evs = xb.evaluate_runs(evs_of, profile=profile, progress=False)
    confidences = xb.stats.run_agreement(runs(GOLD, GOLD), profile=profile)
    counted = evs.fields.loc[evs.fields["counted"], "path"]
    assert sorted(confidences["path"]) == sorted(counted)
    assert xb.stats.calibration(evs, confidences)["n"].tolist() == [len(counted)] * 2
