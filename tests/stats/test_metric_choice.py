"""`choose_metric`: thresholds, simplest metrics, too few labels, and what is written."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import extractbench_nb as xb
from extractbench_nb.stats import choose_metric

CASE = [("Acme Ltd", "ACME LTD", True), ("Bolt AG", "bolt ag", True)] * 8
NAMES = [*CASE, *[("Acme Ltd", "Acne Ltd", False)] * 8]
DAYS = [("2024-01-05", "5 January 2024", True), ("2024-02-01", "1 Feb 2024", True)] * 8
DAYS += [("2024-01-05", "2024-01-06", False)] * 8
MONTHS = [("2024-01-05", "Jan 2024", True), ("2024-02-01", "2024-02-01", True)] * 8
MONTHS += [("2024-01-05", "2024-03-06", False)] * 8
AMOUNTS = [(100, 104, True), (250.0, 251, True)] * 8 + [(100, 160, False)] * 8
FLAGS = [(True, True, True), (True, False, False), (False, True, False)] * 8


def labels(pairs: Any, **columns: Any) -> pd.DataFrame:
    frame = pd.DataFrame(pairs, columns=["gold", "predicted", "passed"], dtype=object)
    return frame.assign(**columns)


def total(found: Any) -> Any:
    return found.choices.iloc[-1]


@pytest.mark.parametrize(
    "pairs, config",
    [
        (NAMES, {"metric_id": "string_case_insensitive"}),
        (DAYS, {"metric_id": "date"}),
        (MONTHS, {"metric_id": "date", "params": {"precision": "month"}}),
        (AMOUNTS, {"metric_id": "number_tolerance", "params": {"tolerance": 0.05}}),
        (FLAGS, {"metric_id": "boolean_exact"}),
    ],
)
def test_the_simplest_metric_that_fits_is_chosen(pairs: Any, config: Any) -> None:
    found = choose_metric(labels(pairs))
    row = total(found)
    assert row["config"] == config
    assert (row["right"], row["labels"], row["note"]) == (24, 24, "")
    assert (row["false_accepts"], row["false_rejects"], row["kappa"]) == (0, 0, 1.0)
    assert row["low"] < 1 == row["high"]


def test_a_threshold_is_fitted_without_the_fold_that_it_is_tried_on() -> None:
    """Labels by chance: agreement with them is overstated if they choose the threshold."""
    random = np.random.default_rng(1)
    words = ["".join(random.choice([*"abcd"], 6)) for _ in range(240)]
    pairs = [(a, b, bool(random.integers(2))) for a, b in zip(words, words[::-1], strict=True)]
    found = choose_metric(labels(pairs))
    assert total(found)["metric"] is pd.NA
    assert "no metric is clearly better" in total(found)["note"]
    documents = [f"d{n % 12}" for n in range(len(NAMES))]
    scores = choose_metric(labels(NAMES, document=documents)).scores.set_index("metric")
    assert 0.875 < scores.loc["string_fuzzy", "config"]["params"]["threshold"] <= 1
    assert scores.loc["string_fuzzy", ["declared_right", "right"]].tolist() == [16, 24]


def test_own_metrics_are_tried() -> None:
    @xb.metric("no_n", applies_to="string")
    def no_n(gold: str, predicted: str) -> bool:
        if predicted == "bolt ag":
            raise ValueError(predicted)  # without a verdict: never right
        return "n" not in predicted

    try:
        scores = choose_metric(labels(NAMES)).scores.set_index("metric")
        assert scores.loc["no_n", ["right", "false_rejects"]].tolist() == [16, 8]
    finally:
        xb.core.unregister("no_n")


@pytest.mark.parametrize(
    "pairs, note",
    [
        (CASE[:4], "too few labels: 4 pass, 0 fail; 20 are needed, 5 of each verdict"),
        (CASE * 2, "too few labels: 32 pass, 0 fail"),
        (CASE + NAMES[-4:], "too few labels: 16 pass, 4 fail"),
        (
            [("a", "b", True), ("a", "b", False)] * 15,
            "no metric is clearly better than 'pass' for all pairs, 15 right; labels contradict",
        ),
    ],
)
def test_no_choice_is_made_without_evidence(pairs: Any, note: str) -> None:
    found = choose_metric(labels(pairs, field="name"))
    assert found.choices["metric"].isna().all()
    assert all(text.startswith(note) for text in found.choices["note"])
    assert note in repr(found)
    with pytest.raises(xb.InputError, match="no field has a metric to write"):
        found.write({"type": "object", "properties": {"name": {"type": "string"}}})


def test_contradictions_are_a_caveat_of_a_choice() -> None:
    found = choose_metric(labels([*NAMES, ("Acme Ltd", "ACME LTD", False)]))
    assert total(found)["metric"] == "string_case_insensitive"
    assert total(found)["note"] == "labels contradict each other: at most 24 can be right"
    assert total(found)["false_accepts"] == 1


def test_rows_that_no_metric_decides_are_left_out() -> None:
    more = [(None, "x", True), ("x", None, False), ("x", 3, False), ([1], [1], True)]
    more += [({"a": 1}, {"a": 1}, True), ("x", "x", None)]
    found = choose_metric(labels([*NAMES, *more]))
    assert (total(found)["labels"], found.left_out) == (24, 6)


SCHEMA = {
    "type": "object",
    "$defs": {"Day": {"type": "string"}},
    "properties": {
        "name": {
            "type": "string",
            "evaluation_config": {"metric_id": "string_exact", "aggregation_weight": 3},
        },
        "a/b": {"type": ["string", "null"]},
        "lines": {
            "type": "array",
            "items": {"type": "object", "properties": {"amount": {"type": "number"}}},
        },
        "start": {"$ref": "#/$defs/Day"},
        "end": {"$ref": "#/$defs/Day"},
    },
}


def test_the_choice_of_each_field_is_written_into_a_copy_of_the_schema() -> None:
    fields = {"name": NAMES, "['a/b']": DAYS, "lines[].amount": AMOUNTS, "start": DAYS}
    frame = pd.concat([labels(pairs, field=field) for field, pairs in fields.items()])
    before = json.dumps(SCHEMA)
    found = choose_metric(frame)
    written = found.write(SCHEMA)
    assert json.dumps(SCHEMA) == before
    assert written["properties"]["name"]["evaluation_config"] == {
        "metric_id": "string_case_insensitive",
        "aggregation_weight": 3.0,
    }
    assert written["properties"]["a/b"]["evaluation_config"] == {"metric_id": "date"}
    assert written["evaluation_config_by_field"] == {"start": {"metric_id": "date"}}
    metrics = {node.field: node.metric for node in xb.schema.parse_schema(written).nodes()}
    assert metrics["lines[].amount"] == "number_tolerance"
    assert (metrics["start"], metrics["end"]) == ("date", "string_semantic")
    assert found.write(SCHEMA) == written
    ev = xb.evaluate(written, {"name": "Acme"}, {"name": "ACME"})
    assert ev.fields.set_index("path")["passed"]["$.name"]


def test_the_pooled_choice_serves_fields_with_too_few_labels_if_asked() -> None:
    frame = pd.concat([labels(NAMES, field="name"), labels(DAYS[:2], field="start")])
    found = choose_metric(frame)
    assert "evaluation_config_by_field" not in found.write(SCHEMA)
    config = found.write(SCHEMA, pooled=True)["evaluation_config_by_field"]["start"]
    assert config == total(found)["config"]
    with pytest.raises(xb.ConfigError, match="no field 'name'"):
        found.write({"type": "object", "properties": {"nam": {"type": "string"}}})


@pytest.mark.parametrize(
    "source, message",
    [
        (labels(NAMES).drop(columns="predicted"), "labels: there is no column 'predicted'"),
        (labels([("a", "b", "maybe")]), "not True, False or missing"),
        (labels([("a", "b", None)]), "no row has a text"),
        (xb.evaluate({"type": "string"}, '"a"', '"b"'), "offline judge"),
        ({"run": xb.evaluate({"type": "string"}, '"a"', '"b"')}, "offline judge"),
        ([xb.evaluate({"type": "string"}, '"a"', '"b"')], "offline judge"),
    ],
)
def test_errors_name_what_is_wrong(source: Any, message: str) -> None:
    with pytest.raises(xb.InputError, match=message):
        choose_metric(source)


def test_fields_that_a_model_judged_are_labels() -> None:
    class Lenient:
        name = "lenient"

        def compare(self, gold: str, predicted: str) -> xb.judges.Verdict:
            return xb.judges.Verdict(float(gold.lower() == predicted.lower()), "lenient")

    properties = {f"c{n}": {"type": "string"} for n in range(24)}
    schema = {"type": "object", "properties": {**properties, "n": {"type": "integer"}}}
    sides = [{f"c{n}": pair[at] for n, pair in enumerate(NAMES)} | {"n": 1} for at in (0, 1)]
    found = choose_metric(xb.evaluate(schema, *sides, judge=Lenient()))
    assert total(found)["metric"] == "string_case_insensitive"
    assert (total(found)["labels"], found.left_out) == (24, 0)


def test_a_card_is_short_for_many_fields() -> None:
    frame = pd.concat([labels(CASE[:2], field=f"f{n:02}<b>") for n in range(30)])
    found = choose_metric(frame)
    lines = repr(found).splitlines()
    assert (len(lines), lines[-1].strip()) == (15, "… 18 more; .choices has them")
    assert "&lt;b&gt;" in found._repr_html_()


def recorded() -> pd.DataFrame:
    """Return the pairs of texts that a real judge decided, with its verdicts."""
    folders = [os.environ.get(f"EXTRACTBENCH_{name}") for name in ("RUNS", "DATASET")]
    if not all(folder and Path(folder).is_dir() for folder in folders):
        pytest.skip("needs EXTRACTBENCH_RUNS and EXTRACTBENCH_DATASET")
    dataset, suffix = xb.load_dataset("extractbench"), ".judge-report.json"
    rows = []
    for path in sorted(Path(str(folders[0])).rglob(f"*{suffix}")):
        document = path.name.removesuffix(suffix)
        gold = dataset.gold(document)
        predicted = json.loads(path.with_name(f"{document}.pred.json").read_text("utf-8"))
        for row in json.loads(path.read_text("utf-8"))["field_outcomes"]:
            field = row["normalized_path"]
            if row["metric_id"] == "string_semantic" and row["reason"] is None:
                sides = gold.get(field), predicted.get(field)
                rows.append((document, field, *sides, row["passed"]))
    columns = ["document", "field", "gold", "predicted", "passed"]
    return pd.DataFrame(rows, columns=columns, dtype=object)


def test_recorded_verdicts_of_a_real_judge() -> None:
    found = choose_metric(recorded())
    scores = found.scores.set_index("metric")["declared_right"]
    assert scores.to_dict() == {
        "string_exact": 36,
        "string_case_insensitive": 39,
        "string_normalized": 41,
        "string_url": 39,
        "date": 50,
        "string_fuzzy": 56,
        "string_semantic": 67,
    }
    assert total(found)["config"]["metric_id"] == "string_semantic"
    assert (total(found)["right"], total(found)["labels"]) == (66, 68)
    # no field has enough verdicts of both kinds: titles are all pass
    assert found.choices["metric"].isna().tolist() == [True] * 4 + [False]
