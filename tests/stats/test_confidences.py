"""Confidences: what is accepted, how they meet verdicts, and the agreement between runs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

import extractbench_nb as xb
from extractbench_nb.errors import InputError
from extractbench_nb.stats.confidences import (
    judged_values,
    run_agreement,
)

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


@pytest.fixture(scope="module")
def evaluation() -> xb.core.Evaluation:
    return xb.evaluate(SCHEMA, GOLD, PREDICTED, profile="strict")


def stated(**paths: float) -> pd.DataFrame:
    return pd.DataFrame({"path": list(paths), "confidence": list(paths.values())})


def of(evaluation: Any, confidences: Any) -> dict[str, float]:
    """Return the confidence of each value, by the path of `fields`."""
    rows = judged_values(evaluation, confidences).known
    return dict(zip(rows["path"], rows["confidence"], strict=True))


def test_a_confidence_is_found_by_the_path_in_the_output(
    evaluation: xb.core.Evaluation,
) -> None:
    paths = {
        "$.total": 0.1,
        "$.lines[0].n": 0.2,
        "$.lines[1].n": 0.3,
        "$.notes['c']": 0.4,
        "$.name": 0.5,
    }
    expected = {
        "$.total": 0.1,
        "$.lines[1].n": 0.2,  # gold's second item; gold's first is missed and has none
        "$.lines[+1].n": 0.3,
        "$.notes['c']": 0.4,
        "$.name": 0.5,  # omitted, with a confidence that it is absent
    }
    assert of(evaluation, stated(**paths)) == expected
    given = pd.DataFrame([{"path": "$.total", "confidence": 0.1}, {"confidence": 0.6}])
    rows = judged_values(evaluation, given).rows
    assert of(evaluation, given) == {p: 0.1 if p == "$.total" else 0.6 for p in rows["path"]}
    fields = evaluation.fields.assign(own=lambda f: f["score"] * 0.5)
    own = dict(zip(fields["path"], fields["own"], strict=True))
    lacking = {"$.lines", "$.lines[0].n", "$.lines[0].v"}
    assert of(fields, "own") == {p: value for p, value in own.items() if p not in lacking}


@pytest.mark.parametrize("profile", ["strict", "paper"])
def test_no_value_counts_twice(profile: str) -> None:
    tags = {"type": "array", "items": {"type": "string"}}
    schema: dict[str, Any] = {
        "type": "object",
        "properties": {"tags": tags, "none": tags, "grid": {"type": "array", "items": tags}},
    }
    gold = {"tags": ["a", "b"], "none": [], "grid": [["a"]]}
    names = ["run", "document", "predicted"]
    outputs = pd.DataFrame([(run, doc, gold) for doc in "de" for run in "rs"], columns=names)
    given = {"schema": [schema] * len(outputs), "gold": [gold] * len(outputs)}
    evs = xb.evaluate_runs(outputs.assign(**given), profile=profile, progress=False)
    plan = xb.stats.review_plan(evs, unit="field", resamples=100)
    paths = ["$.grid", "$.none", "$.tags"]
    if profile == "strict":
        paths = ["$.grid[0][0]", "$.none", "$.tags[0]", "$.tags[1]"]
    given = outputs.assign(schema=[schema] * len(outputs))
    ranked = plan.apply(xb.stats.run_agreement(given, profile=profile))
    found = ranked.groupby(["run", "document"])["path"].agg(lambda some: sorted({*some}))
    assert found.tolist() == [paths] * 4
    assert len(ranked) == len(paths) * 4
    assert plan.without == plan.unused == 0
    assert xb.stats.calibration(evs).scores["n"].tolist() == [len(paths) * 4]


def test_a_plan_counts_what_it_leaves_out() -> None:
    rows = [("d", "$.a"), ("d", "$.b"), ("e", "$.a"), ("f", "$.a"), ("f", "$.b")]
    fields = pd.DataFrame(rows, columns=["document", "path"]).assign(passed=True, field="a")
    fields = fields.assign(predicted_path=None, predicted_state="present", counted=True, own=0.5)
    stated = fields.iloc[[0, 2]].assign(confidence=0.5)[["document", "path", "confidence"]]
    for unit in ("document", "field"):
        plan = xb.stats.review_plan(fields, stated, unit=unit, resamples=100)
        assert (plan.left_out, plan.without, "left out" in repr(plan)) == (1, 3, True)
    assert "left out" not in repr(xb.stats.review_plan(fields, "own", resamples=100))


def test_what_belongs_to_no_value_is_counted(evaluation: xb.core.Evaluation) -> None:
    values = judged_values(evaluation, stated(**{"$.total": 0.1, "$.undeclared": 0.2}))
    assert values.unused == 1
    assert values.without == int(values.rows["counted"].sum()) - 1


def test_a_node_with_two_metrics_is_right_if_both_pass() -> None:
    metrics = [{"metric_id": "string_exact"}, {"metric_id": "string_fuzzy"}]
    schema = {"type": "string", "evaluation_config": {"metrics": metrics}}
    ev = xb.evaluate(
        {"type": "object", "properties": {"a": schema, "b": schema}},
        {"a": "extraction", "b": "same"},
        {"a": "extractions", "b": "same"},
    )
    assert ev.fields["passed"].tolist() == [False, True, True, True]
    rows = judged_values(ev, pd.DataFrame({"confidence": [0.5]})).rows
    assert rows["wrong"].tolist() == [True, False]


FIELDS = pd.DataFrame(
    {
        "run": ["r", "r", "s", "s"],
        "document": ["d", "e", "d", "e"],
        "path": "$.a",
        "predicted_path": None,
        "predicted_state": "present",
        "field": "a",
        "counted": True,
        "passed": [True, False, True, True],
    }
)
GOOD = FIELDS[["run", "document", "path"]].assign(confidence=[0.9, 0.1, 0.8, 0.7])


def changed(**columns: Any) -> pd.DataFrame:
    return GOOD.assign(**columns)


@pytest.mark.parametrize(
    "frame, message",
    [
        (GOOD.to_dict("list"), "confidences is dict; expected a DataFrame"),
        (GOOD.drop(columns="confidence"), "no column 'confidence'"),
        (GOOD.iloc[:0], "confidences has no rows"),
        (
            changed(confidence=[0.9, 1.1, 0.8, 0.7]),
            "path '$.a'): confidence is 1.1; expected a number from 0 to 1",
        ),
        (changed(confidence=[0.9, -0.1, 0.8, 0.7]), "confidence is -0.1; expected"),
        (changed(confidence=[0.9, np.nan, 0.8, 0.7]), "confidence is nan; expected a number"),
        (changed(confidence=[0.9, None, 0.8, 0.7]), "confidence is nan; expected a number"),
        (changed(confidence=[0.9, np.inf, 0.8, 0.7]), "confidence is inf; expected a number"),
        (changed(confidence=["0.9", "high", "", "1"]), "row 0 (run 'r', document 'd'"),
        (changed(confidence=[True] * 4), "confidence is True; expected a number"),
        (
            changed(document=["d", "d", "d", "e"]),
            "row 1 (run 'r', document 'd', path '$.a'): there",
        ),
        (changed(document=["d", "f", "d", "e"]), "unknown document 'f'; expected one of d, e"),
        (changed(run=["r", "r", "s", "other"]), "unknown run 'other'"),
        (changed(path="$.b"), "none belongs to a value of fields; path '$.b': did you mean '$.a'?"),
        ("stated", "there is no column 'stated'"),
        (GOOD.drop(columns="run").head(2), "run is missing, but the results have 2 runs"),
        (GOOD.head(1).assign(document=None), "document is missing, but the results have 2"),
    ],
)
def test_bad_confidences(frame: Any, message: str) -> None:
    for function in (xb.stats.calibration, xb.stats.risk_coverage):
        with pytest.raises(InputError) as caught:
            function(FIELDS, frame)
        assert message in str(caught.value)
    with pytest.raises(InputError) as caught:
        xb.stats.review_plan(FIELDS, frame, budget=0.2)
    assert message in str(caught.value)


# --- agreement between runs -----------------------------------------------------------------------


def runs(*outputs: Any, schema: Any = SCHEMA) -> pd.DataFrame:
    names = [f"r{i}" for i in range(len(outputs))]
    columns = {"run": names, "document": "d", "predicted": outputs, "schema": [schema] * len(names)}
    return pd.DataFrame(columns)


def agreed(frame: pd.DataFrame, run: str) -> dict[str, float]:
    own = frame[frame["run"] == run]
    return dict(zip(own["path"], own["confidence"], strict=True))


def test_agreement_is_the_share_of_the_other_runs() -> None:
    other = {**PREDICTED, "total": 12, "lines": list(reversed(PREDICTED["lines"]))}
    third = {"total": 12, "lines": [{"n": "anchor", "v": 3}]}
    frame = run_agreement(runs(PREDICTED, other, third))
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
    frame = run_agreement(runs({"total": 1}, {"total": 1}, '{"total": 1'))
    assert agreed(frame, "r0")["$.total"] == 0.5
    assert agreed(frame, "r2") == {}


@pytest.mark.parametrize(
    "outputs", [({"total": 1},), ("{", "["), (None, pd.NA), (None, float("nan"))]
)
def test_no_agreement_without_two_runs(outputs: tuple[Any, ...]) -> None:
    with pytest.raises(InputError, match="no document has outputs of two runs"):
        run_agreement(runs(*outputs))


def test_without_confidences_the_runs_of_a_batch_are_compared() -> None:
    frame = runs(PREDICTED, GOLD, {"total": 12}, "{")
    evs = xb.evaluate_runs(frame.assign(gold=[GOLD] * 4), profile="strict", progress=False)
    own = judged_values(evs)
    given = judged_values(evs, run_agreement(frame))
    order = ["run", "path", "confidence"]
    pd.testing.assert_frame_equal(own.rows[order], given.rows[order])


def test_without_confidences_and_runs_there_is_one_error(tmp_path: Any) -> None:
    frame = runs(PREDICTED, GOLD).assign(gold=[GOLD] * 2)
    one = xb.evaluate_runs(frame.head(1), progress=False)
    with pytest.raises(InputError, match="a single run"):
        xb.stats.calibration(one)
    with pytest.raises(InputError, match="has no outputs to compute"):
        xb.stats.calibration(FIELDS)
    folder = xb.evaluate_runs(frame, progress=False).save(tmp_path / "saved")
    with pytest.raises(InputError, match="inputs of run"):
        xb.stats.calibration(xb.load_evaluations(folder))
