"""The loop is closed: what a simulation did is what parser and evaluator find."""

import os
from dataclasses import replace
from functools import cache
from typing import Any

import pandas as pd
import pytest

import extractbench_nb as xb
from extractbench_nb.errors import InputError
from extractbench_nb.extraction.catalogue import CORRUPTIONS
from extractbench_nb.extraction.checking import (
    FOUND_COLUMNS,
    REASONS,
    SimulationCheck,
    check_simulation,
)
from extractbench_nb.extraction.model_profiles import ModelProfile, model_profiles
from extractbench_nb.extraction.parsing import FAILURES
from extractbench_nb.extraction.simulation import simulate

needs_release = pytest.mark.skipif(
    "EXTRACTBENCH_DATASET" not in os.environ, reason="needs the released dataset"
)

#: What is done, and how much of it must be found as made, at least; the rest has a reason.
SHARES = {
    "omit": 1.0,
    "null_out": 1.0,
    "drop_items": 1.0,
    "spurious_items": 1.0,
    "shuffle_items": 1.0,
    "hallucinate": 0.9,
    "duplicate_items": 0.9,
    "split_items": 0.9,
    "merge_items": 0.9,
    "sign": 0.95,
    "changed_digit": 0.9,
    "unit": 0.9,
    "rounding": 0.9,
    "whitespace": 0.7,
    "case": 0.7,
    "abbreviation": 0.7,
    "word_order": 0.6,
    "typo": 0.6,
    "dropped_word": 0.6,
    "truncation": 0.6,
    "substitute": 0.6,
}
#: Reasons that there may be for a corruption, beside those of items.
OF_ITEMS = {"unpaired", "paired with another", "compared as a whole"}
OF_MEANING = {"kept": {"not tolerated"}, "changed": {"tolerated", "another type"}, "unclear": set()}


@cache
def dataset(name: str) -> xb.Dataset:
    return xb.load_dataset(name)


def only(name: str, rate: float) -> ModelProfile:
    """A model whose outputs are all valid and err in one way."""
    return ModelProfile("test", {"*": {"none": 1}}, {"*": {name: rate}}, strength=0.5)


@cache
def checked(name: str, of: str = "sample", seeds: int = 3) -> SimulationCheck:
    found = [
        check_simulation(simulate(dataset(of), only(name, 0.15), n), dataset(of))
        for n in range(seeds)
    ]
    return replace(found[0], changes=pd.concat([one.changes for one in found], ignore_index=True))


@pytest.mark.parametrize("name", SHARES)
def test_what_was_done_is_what_is_found(name: str) -> None:
    found = checked(name)
    rows = found.changes
    assert len(rows) > 5
    assert found.unexplained.empty, found.unexplained.to_string()
    assert rows["agrees"].mean() >= SHARES[name], found.summary
    meaning = set() if name in ("omit", "null_out") else OF_MEANING[CORRUPTIONS[name].meaning]
    assert set(rows["reason"].dropna()) <= OF_ITEMS | meaning
    # a changed meaning is forgiven now and then only
    assert rows["reason"].eq("tolerated").sum() <= 0.08 * len(rows)


@needs_release
@pytest.mark.parametrize("name", SHARES)
def test_on_the_released_dataset(name: str) -> None:
    found = checked(name, "extractbench", 1)
    assert len(found.changes) > 5
    assert found.unexplained.empty, found.unexplained.to_string()


def test_every_corruption_that_can_be_valid_is_tried() -> None:
    """A wrong type or level is no valid output; `corrupt_document` has its own tests."""
    assert {*SHARES, "date_format", "wrong_type", "wrong_nesting"} == set(CORRUPTIONS)


@pytest.mark.parametrize("mode", ["prompt", "structured"])
@pytest.mark.parametrize("of", ["sample", pytest.param("extractbench", marks=needs_release)])
def test_the_papers_models(of: str, mode: str) -> None:
    for one in model_profiles(mode).values():
        made = simulate(dataset(of), one, seed=11)
        found = check_simulation(made, dataset(of))
        injected = made.outputs["failure"].value_counts()
        assert found.failures.sum(axis=1).to_dict() == injected.to_dict()
        assert found.failures.to_numpy().trace() == len(made.outputs)
        assert found.unexplained.empty, found.unexplained.to_string()
        assert len(found.changes) == len(made.record)


def test_every_failure_is_counted() -> None:
    one = ModelProfile("test", {"*": dict.fromkeys(FAILURES, 1)}, {"*": {"omit": 0.1}})
    made = simulate(dataset("sample"), one)
    found = check_simulation(made, dataset("sample"))
    assert found.failures.index.tolist() == found.failures.columns.tolist() == list(FAILURES)
    assert found.failures.to_numpy().trace() == 14
    silent = made.outputs.loc[made.outputs["failure"] != "none", "document"]
    of_silent = found.changes["document"].isin(silent)
    assert (found.changes["reason"].eq("no value").fillna(value=False) == of_silent).all()


def test_frames() -> None:
    found = checked("substitute")
    assert found.changes.columns.tolist() == FOUND_COLUMNS.names
    row = found.summary.loc["substitute"]
    assert row["changes"] == len(found.changes)
    assert row.drop(["changes"]).sum() == row["changes"]
    assert found.summary.columns.tolist() == ["changes", "agreed", *REASONS, "unexplained"]
    assert "14 of 14 failures found as made" in repr(found)
    assert repr(found).endswith("0 without a reason")


# It can fail: what was not done is not found, and an evaluator that errs is told.


def test_a_record_that_does_not_fit_is_told() -> None:
    made = simulate(dataset("sample"), only("omit", 0.1))
    record = made.record.assign(corruption="sign")
    found = check_simulation(replace(made, record=record), dataset("sample"))
    assert not found.changes["agrees"].any()
    outside = ~found.changes["path"].str.contains(r"\[")
    assert found.changes.loc[outside, "reason"].isna().all()
    assert len(found.unexplained) >= outside.sum() > 0


def test_outputs_that_do_not_fit_are_told() -> None:
    made = simulate(dataset("sample"), only("omit", 0.1))
    broken = made.outputs.assign(raw=[raw[:-1] for raw in made.outputs["raw"]])
    found = check_simulation(replace(made, outputs=broken), dataset("sample"))
    assert found.failures.loc["none", "truncated_json"] == 14
    assert "0 of 14 failures found as made" in repr(found)


def test_an_aligner_that_pairs_nothing_is_told() -> None:
    made = simulate(dataset("sample"), only("sign", 0.3))
    found = check_simulation(made, dataset("sample"), alignment=lambda *_: [])
    inside = found.changes["path"].str.contains(r"\[")
    assert found.changes.loc[inside, "reason"].eq("unpaired").all()
    assert found.changes.loc[~inside, "agrees"].all()
    assert inside.any()


def test_another_dataset() -> None:
    made = simulate(dataset("sample"), "GPT-5")
    other: Any = replace(made, outputs=made.outputs.assign(document="elsewhere"))
    with pytest.raises(InputError, match="more than once"):
        check_simulation(other, dataset("sample"))
