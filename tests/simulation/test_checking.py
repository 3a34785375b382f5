"""The loop is closed: what a simulation did is what parser and evaluator find."""

import json
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import extractbench_nb as xb
from extractbench_nb.errors import InputError
from extractbench_nb.evaluation.api import evaluate
from extractbench_nb.extraction.parsing import FAILURES
from extractbench_nb.schema.parse import parse_schema
from extractbench_nb.simulation import checking
from extractbench_nb.simulation.catalogue import CORRUPTIONS
from extractbench_nb.simulation.checking import (
    FOUND_COLUMNS,
    REASONS,
    SimulationCheck,
    check_simulation,
)
from extractbench_nb.simulation.documents import pool_of
from extractbench_nb.simulation.outputs import Simulation, simulate
from extractbench_nb.simulation.profiles import ModelProfile, model_profiles
from tests.extraction.conftest import needs_release

#: What is done in one output, and how much of it must be found as made, at least; the rest has a
#: reason. Corruptions of one group are done together: each has outcomes of its own.
GROUPS = {
    "kept": {"whitespace": 0.7, "case": 0.7, "abbreviation": 0.7, "date_format": 0.5},
    "unclear": {"word_order": 0.6, "typo": 0.6, "rounding": 0.9, "dropped_word": 0.6},
    "changed": {
        "sign": 0.9,
        "changed_digit": 0.85,
        "unit": 0.85,
        "truncation": 0.6,
        "substitute": 0.6,
    },
    "presence": {"omit": 1.0, "null_out": 1.0, "hallucinate": 0.9},
    "items": {
        "drop_items": 0.95,
        "spurious_items": 1.0,
        "shuffle_items": 0.95,
        "duplicate_items": 0.9,
        "split_items": 0.9,
        "merge_items": 0.9,
    },
}
FEW = {"date_format"}  # the sample has no dates in texts
#: Reasons that there may be for a corruption, beside those of items.
OF_ITEMS = {"unpaired", "paired with another", "compared as a whole"}
OF_MEANING = {"kept": {"not tolerated"}, "changed": {"tolerated", "another type"}, "unclear": set()}


@cache
def dataset(name: str) -> xb.benchmark.Dataset:
    return xb.load_dataset(name)


def erring(*names: str, rate: float) -> ModelProfile:
    """A model whose outputs are all valid and err in these ways."""
    return ModelProfile("test", {"*": {"none": 1}}, {"*": dict.fromkeys(names, rate)}, strength=0.5)


@cache
def made(group: str, seed: int) -> Simulation:
    return simulate(dataset("sample"), erring(*GROUPS[group], rate=0.4 / len(GROUPS[group])), seed)


@cache
def mixed(seed: int) -> Simulation:
    """All of it in the same outputs."""
    names = [name for group in GROUPS.values() for name in group]
    return simulate(dataset("sample"), erring(*names, rate=0.04), seed)


@cache
def checked(group: str, seed: int) -> SimulationCheck:
    return check_simulation(made(group, seed), dataset("sample"))


@pytest.mark.parametrize("group", GROUPS)
def test_what_was_done_is_what_is_found(group: str) -> None:
    several = [checked(group, seed) for seed in range(3)]
    assert all(one.unexplained.empty for one in several), [one.unexplained for one in several]
    changes = pd.concat([one.changes for one in several], ignore_index=True)
    for name, least in GROUPS[group].items():
        rows = changes[changes["corruption"] == name]
        assert len(rows) > 5 or name in FEW
        assert rows["agrees"].mean() >= least or name in FEW, name
        meaning = set() if name in ("omit", "null_out") else OF_MEANING[CORRUPTIONS[name].meaning]
        assert set(rows["reason"].dropna()) <= OF_ITEMS | meaning
        # a changed meaning is forgiven now and then only
        assert rows["reason"].eq("tolerated").sum() <= 0.08 * len(rows)
        assert rows["reason"].eq("paired with another").sum() <= 0.08 * len(rows)


@needs_release
def test_on_the_released_dataset() -> None:
    names = {name for names in GROUPS.values() for name in names}
    simulated = simulate(dataset("extractbench"), erring(*names, rate=0.03))
    found = check_simulation(simulated, dataset("extractbench"))
    assert set(found.changes["corruption"]) == names
    assert found.unexplained.empty, found.unexplained.to_string()


def test_every_corruption_that_can_be_valid_is_tried() -> None:
    """A wrong type or level is no valid output; `corrupt_document` has its own tests."""
    tried = {name for names in GROUPS.values() for name in names}
    assert {*tried, "wrong_type", "wrong_nesting"} == set(CORRUPTIONS)


@pytest.mark.parametrize("mode", ["prompt", "structured"])
@pytest.mark.parametrize("of", ["sample", pytest.param("extractbench", marks=needs_release)])
def test_the_papers_models(of: str, mode: str) -> None:
    models = list(model_profiles(mode).values())
    for one in models if of == "sample" else models[:: len(models)]:
        simulated = simulate(dataset(of), one, seed=11)
        found = check_simulation(simulated, dataset(of))
        injected = simulated.outputs["failure"].value_counts()
        assert found.failures.sum(axis=1).to_dict() == injected.to_dict()
        assert found.failures.to_numpy().trace() == len(simulated.outputs)
        assert found.unexplained.empty, found.unexplained.to_string()
        assert len(found.changes) == len(simulated.record)


def test_every_failure_is_counted() -> None:
    one = ModelProfile("test", {"*": dict.fromkeys(FAILURES, 1)}, {"*": {"omit": 0.1}})
    simulated = simulate(dataset("sample"), one)
    found = check_simulation(simulated, dataset("sample"))
    assert found.failures.index.tolist() == found.failures.columns.tolist() == list(FAILURES)
    assert found.failures.to_numpy().trace() == 14
    silent = simulated.outputs.loc[simulated.outputs["failure"] != "none", "document"]
    of_silent = found.changes["document"].isin(silent)
    assert (found.changes["reason"].eq("no value").fillna(value=False) == of_silent).all()


def test_frames() -> None:
    found = checked("changed", 0)
    assert found.changes.columns.tolist() == FOUND_COLUMNS.names
    assert found.summary["changes"].sum() == len(found.changes)
    row = found.summary.loc["substitute"]
    assert row.drop(["changes"]).sum() == row["changes"]
    assert found.summary.columns.tolist() == ["changes", "agreed", *REASONS, "unexplained"]
    assert "14 of 14 failures found as made" in repr(found)
    assert repr(found).endswith("0 without a reason")


# It can fail: what was not done is not found, and an evaluator that errs is told.


@pytest.mark.parametrize("name", ["sign", "typo", "hallucinate", "split_items", "merge_items"])
@pytest.mark.parametrize("done", ["omit", "drop_items"])
def test_a_record_that_does_not_fit_is_told(done: str, name: str) -> None:
    simulated = simulate(dataset("sample"), erring(done, rate=0.1))
    record = simulated.record.assign(corruption=name)
    found = check_simulation(replace(simulated, record=record), dataset("sample"))
    assert not found.changes["agrees"].any()
    assert len(found.unexplained) == len(found.changes) > 0


def test_outputs_that_do_not_fit_are_told() -> None:
    simulated = made("presence", 0)
    broken = simulated.outputs.assign(raw=[raw[:-1] for raw in simulated.outputs["raw"]])
    found = check_simulation(replace(simulated, outputs=broken), dataset("sample"))
    assert found.failures.loc["none", "truncated_json"] == 14
    assert "0 of 14 failures found as made" in repr(found)


def test_an_aligner_that_pairs_nothing_is_told() -> None:
    simulated = simulate(dataset("sample"), erring("sign", rate=0.3))
    found = check_simulation(simulated, dataset("sample"), alignment=lambda *_: [])
    inside = found.changes["path"].str.contains(r"\[")
    assert found.changes.loc[inside, "reason"].eq("unpaired").all()
    assert found.changes.loc[~inside, "agrees"].all()
    assert inside.any()


def test_gold_as_every_output() -> None:
    """What the record says was never done, and nothing is a reason for that."""
    simulated = mixed(1)
    golds = [json.dumps(dataset("sample").gold(d)) for d in simulated.outputs["document"]]
    fake = replace(simulated, outputs=simulated.outputs.assign(raw=golds))
    found = check_simulation(fake, dataset("sample"))
    assert len(found.unexplained) == len(simulated.record) > 5
    assert {*found.unexplained["corruption"]} | FEW == {n for ones in GROUPS.values() for n in ones}


@pytest.mark.parametrize("group", GROUPS)
def test_outputs_of_another_seed(group: str) -> None:
    """The same was done, but elsewhere."""
    one, other = made(group, 1), made(group, 2)
    found = check_simulation(replace(one, outputs=other.outputs), dataset("sample"))
    agreed = found.changes.groupby("corruption")["agrees"].mean().drop(FEW, errors="ignore")
    assert agreed.max() <= 0.25
    assert len(found.unexplained) >= 0.7 * len(one.record)


def test_an_evaluator_that_never_looks_at_the_output(monkeypatch: pytest.MonkeyPatch) -> None:
    def blind(schema: Any, gold: Any, predicted: Any, **options: Any) -> Any:
        return evaluate(schema, gold, gold, **options)

    monkeypatch.setattr(checking, "evaluate", blind)
    found = check_simulation(mixed(1), dataset("sample"))
    assert len(found.unexplained) == len(found.changes) > 5


@pytest.mark.parametrize("group", GROUPS)
def test_an_evaluator_that_finds_the_wrong_thing(
    group: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Pairs are as they should be, so that alignment is no excuse."""

    def wrong(*given: Any, **options: Any) -> Any:
        ev = evaluate(*given, **options)
        fields = ev.fields.assign(outcome="both_absent")
        return type("Wrong", (), {"fields": fields, "matches": ev.matches, "arrays": ev.arrays})()

    real = checked(group, 1).changes
    monkeypatch.setattr(checking, "evaluate", wrong)
    misled = check_simulation(made(group, 1), dataset("sample")).changes
    by_leaves = ~real["expected"].isin(["spurious item", "missed item"])
    lost = misled[by_leaves & real["agrees"]]
    assert not lost["agrees"].any()
    assert lost["reason"].isna().all()


# --- paths and arrays of every kind ------------------------------------------------------------


def of_one(folder: Path, schema: Any, *golds: Any) -> xb.benchmark.Dataset:
    """A dataset of one schema."""
    place = folder / "domain" / "kind" / "pdf+gold"
    place.mkdir(parents=True)
    (place.parent / "kind-schema.json").write_text(json.dumps(schema), "utf-8")
    for number, gold in enumerate(golds):
        (place / f"doc{number}.gold.json").write_text(json.dumps(gold), "utf-8")
    return xb.load_dataset(folder)


def an_object(**properties: Any) -> Any:
    return {"type": "object", "properties": properties}


EXACT = {"type": "string", "evaluation_config": "string_exact"}
LISTED = {"type": "array", "items": an_object(name=EXACT, tags={"type": "array", "items": EXACT})}
ROWS = [{"name": f"row {n}", "tags": [f"tag {n} {letter}" for letter in "abcd"]} for n in range(12)]


@pytest.mark.parametrize("key", ["a[3]", "x.y[0].z", "it's [1]", "back\\slash[2]", "two\nlines[0]"])
@pytest.mark.parametrize("gold_instead", [False, True])
def test_keys_of_maps_that_look_like_indices(key: str, gold_instead: bool, tmp_path: Path) -> None:
    inner = an_object(x=EXACT, rows=LISTED)
    schema = an_object(m={"type": "object", "additionalProperties": inner})
    gold = {"m": {key: {"x": "hello world", "rows": ROWS}, "b": {"x": "good bye", "rows": []}}}
    ds = of_one(tmp_path, schema, gold)
    simulated = simulate(ds, erring("omit", rate=1.0))
    assert len(simulated.record) == 14
    if gold_instead:
        raw = json.dumps(gold)
        simulated = replace(simulated, outputs=simulated.outputs.assign(raw=raw))
    found = check_simulation(simulated, ds)
    assert found.changes["agrees"].all() != gold_instead
    assert found.changes["reason"].isna().all()


@pytest.mark.parametrize("name", ["changed_digit", "omit", "drop_items", "spurious_items"])
def test_an_array_with_one_outcome(name: str, tmp_path: Path) -> None:
    """The published package's rules give nothing inside an array an outcome of its own."""
    golds = [{"rows": [{**row, "name": f"{n} {row['name']}"} for row in ROWS]} for n in range(3)]
    ds = of_one(tmp_path, an_object(rows=LISTED), *golds)
    simulated = simulate(ds, erring(name, rate=0.3))
    assert len(simulated.record) > 5
    found = check_simulation(simulated, ds, profile="extract-bench-readme")
    assert found.unexplained.empty
    assert {*found.changes["reason"].dropna()} <= OF_ITEMS
    assert found.changes["reason"].eq("compared as a whole").any()
    raws = [json.dumps(gold) for gold in golds]
    fake = replace(simulated, outputs=simulated.outputs.assign(raw=raws))
    blamed = check_simulation(fake, ds, profile="extract-bench-readme")
    assert len(blamed.unexplained) == len(simulated.record)


@pytest.mark.parametrize("profile", ["paper", "extract-bench-readme"])
@pytest.mark.parametrize("seed", [1, 2])
def test_other_profiles(profile: str, seed: int) -> None:
    found = check_simulation(mixed(seed), dataset("sample"), profile=profile)
    assert found.unexplained.empty, found.unexplained.to_string()


def test_several_corruptions_of_nested_arrays(tmp_path: Path) -> None:
    """Gold's indices are not the output's, at two levels at once."""
    other = [{"name": f"other {n}", "tags": [f"sign {n} {x}" for x in "xyz"]} for n in range(9)]
    ds = of_one(tmp_path, an_object(rows=LISTED), {"rows": ROWS}, {"rows": other})
    rates = dict.fromkeys(("shuffle_items", "drop_items", "duplicate_items", "spurious_items"), 0.2)
    one = ModelProfile("t", {"*": {"none": 1}}, {"*": {**rates, "merge_items": 0.1, "typo": 0.2}})
    for seed in range(4):
        simulated = simulate(ds, one, seed)
        found = check_simulation(simulated, ds)
        assert found.unexplained.empty, found.unexplained.to_string()
        assert found.changes["agrees"].mean() > 0.5
        moved = simulated.record["corruption"].eq("shuffle_items")
        record = simulated.record.assign(after=simulated.record["after"].where(~moved, None))
        wrong = check_simulation(replace(simulated, record=record), ds)
        assert len(wrong.unexplained) >= moved.sum()


def test_what_says_nothing_is_lent_to_nobody() -> None:
    fields = {key: {"type": ["string", "array", "object"]} for key in "abcdef"}
    root = parse_schema({"type": "object", "properties": {"x": an_object(**fields)}}).root
    empty = {"a": "", "b": None, "c": [], "d": {}, "e": [None, ""], "f": {"g": [""]}}
    assert pool_of(root, {"x": empty}) == {}
    assert pool_of(root, {"x": {**empty, "a": "b"}})["x.a"] == ["b"]


def test_another_dataset() -> None:
    simulated = simulate(dataset("sample"), "GPT-5")
    other: Any = replace(simulated, outputs=simulated.outputs.assign(document="elsewhere"))
    with pytest.raises(InputError, match="more than once"):
        check_simulation(other, dataset("sample"))
