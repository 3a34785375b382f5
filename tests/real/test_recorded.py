"""Recorded outputs of real models evaluate, and the frames are as described."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import pytest

import extractbench_nb as xb


@pytest.mark.parametrize("profile", ["paper", "strict"])
def test_recorded_output(
    output_file: Path, gold_for: Any, read: Any, schema_for: Any, check: Any, profile: str
) -> None:
    gold_file = gold_for(output_file)
    schema, gold, predicted = schema_for(gold_file), read(gold_file), read(output_file)
    before = copy.deepcopy((gold, predicted))
    ev = xb.evaluate(schema, gold, predicted, profile=profile)
    check(ev)
    assert (gold, predicted) == before
    top = ev.fields[~ev.fields["field"].str.contains("[", regex=False)]
    assert len(top) == 10
    assert ev.summary["evaluated"] == 10 or profile == "strict"
    assert ev.summary["evaluated"] >= 10
    assert ev.summary["judge_errors"] == 0
    assert 0 < ev.summary["field_score"] <= 1
    declared = xb.core.Evaluation.columns()
    for name in ("fields", "arrays", "matches"):
        part = declared[declared["frame"] == name]
        found = {c: str(t) for c, t in getattr(ev, name).dtypes.items()}
        assert found == dict(zip(part["column"], part["dtype"], strict=True))
    again = xb.evaluate(schema, gold, predicted, profile=profile)
    for name in ("fields", "arrays", "matches", "warnings"):
        assert getattr(ev, name).equals(getattr(again, name))


def test_citations_that_gold_holds_as_texts_align_as_differing(
    output_file: Path, gold_for: Any, read: Any, schema_for: Any
) -> None:
    """A property of the dataset: citations are strings where the schema declares objects."""
    gold_file = gold_for(output_file)
    gold, predicted = read(gold_file), read(output_file)
    if not isinstance(next(iter(predicted.get("citations") or [None])), dict):
        pytest.skip("this output has its citations as texts, too, or none")
    ev = xb.evaluate(schema_for(gold_file), gold, predicted, profile="paper")
    row = ev.fields.set_index("path").loc["$.citations"]
    assert (row["outcome"], row["reason"], row["score"]) == ("incorrect", "gold_type_mismatch", 0)
    array = ev.arrays.set_index("path").loc["$.citations"]
    assert array["matched"] == 0
    if array["predicted_items"] >= 10:  # shorter lists hold no more than examples
        assert array["differing"] >= 0.4 * min(array["gold_items"], array["predicted_items"])
    assert not ev.fields["path"].str.startswith("$.citations[").any()
