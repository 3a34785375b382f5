"""Agreement of annotators: alpha, alignment, disagreements as corrections."""

from __future__ import annotations

import json
import math
import random
from pathlib import Path
from typing import Any

import krippendorff
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import extractbench_nb as xb
from extractbench_nb.errors import InputError
from extractbench_nb.gold import agreement, apply, corrections
from extractbench_nb.gold.annotators import _Alphas
from extractbench_nb.gold.slots import Slot
from extractbench_nb.stats.intervals import Drawing
from tests.gold.test_versions import contents

FAST = {"resamples": 100}
FIELD = {"type": "object", "properties": {"x": {"type": "string"}}}
ITEM = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "evaluation_config": "string_exact"},
        "n": {"type": "number"},
        "tags": {"type": "array", "items": {"type": "string"}},
    },
}
SCHEMA = {
    "type": "object",
    "properties": {
        "title": {"type": "string"},
        "total": {"type": "number", "evaluation_config": "number_tolerance"},
        "audited": {"type": "boolean"},
        "sub": {"type": "object", "properties": {"k": {"type": "string"}}},
        "items": {"type": "array", "items": ITEM},
        "tags": {"type": "array", "items": {"type": "string"}},
    },
}


def found_of(golds: dict[str, Any], **options: Any) -> Any:
    """Compare golds of one document."""
    return agreement({n: {"d": g} for n, g in golds.items()}, schema=SCHEMA, **FAST, **options)


def tables(codes: list[list[int | None]]) -> dict[str, Any]:
    """Make golds with one field from a table: one row per annotator, None is missing data."""
    words = ["apple", "river", "stone", "cloud", "music"]
    return {
        f"a{at}": {f"d{u}": {"x": words[c]} for u, c in enumerate(row) if c is not None}
        for at, row in enumerate(codes)
    }


def test_alpha_by_hand() -> None:
    # K. Krippendorff, Computing Krippendorff's alpha-reliability (2011), section C:
    # nominal data, four observers, missing data; alpha is 0.743
    n = None
    rows = [
        [1, 2, 3, 3, 2, 1, 4, 1, 2, n, n, n],
        [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, n, 3],
        [n, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, n],
        [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, n],
    ]
    codes = [[None if c is None else c - 1 for c in row] for row in rows]
    found = agreement(tables(codes), schema=FIELD, **FAST)
    assert round(found.alpha, 3) == 0.743
    assert (found.units, found.documents, found.left_out) == (11, 11, 1)
    assert found.fields[["field", "units", "disagreed"]].to_numpy().tolist() == [["x", 11, 3]]


@settings(max_examples=12)  # each is up to 24 evaluations
@given(
    st.integers(2, 4).flatmap(
        lambda raters: st.lists(
            st.lists(st.sampled_from([0, 1, 2, 3, None]), min_size=6, max_size=6),
            min_size=raters,
            max_size=raters,
        )
    )
)
def test_alpha_is_that_of_the_library(codes: list[list[int | None]]) -> None:
    pairable = [[c for c in unit if c is not None] for unit in zip(*codes, strict=True)]
    pairable = [unit for unit in pairable if len(unit) > 1]
    if not pairable:
        with pytest.raises(InputError, match="no document was annotated by two"):
            agreement(tables(codes), schema=FIELD, **FAST)
        return
    found = agreement(tables(codes), schema=FIELD, **FAST)
    if len({c for unit in pairable for c in unit}) == 1:
        assert math.isnan(found.alpha)
        assert "alpha undefined" in repr(found)
        return
    data = np.array([[np.nan if c is None else c for c in row] for row in codes], dtype=float)
    expected = krippendorff.alpha(reliability_data=data, level_of_measurement="nominal")
    assert found.alpha == pytest.approx(expected, abs=1e-9)


def test_the_interval_is_that_of_resampled_documents() -> None:
    generator = np.random.default_rng(1)
    truth = generator.integers(0, 3, 40)
    codes = [
        np.where(generator.random(40) < 0.8, truth, generator.integers(0, 3, 40)) for _ in "ab"
    ]
    found = agreement(tables([row.tolist() for row in codes]), schema=FIELD, resamples=2000)
    drawn = []
    for _ in range(500):
        units = generator.integers(0, 40, 40)
        sample = np.array([row[units] for row in codes])
        drawn.append(krippendorff.alpha(reliability_data=sample, level_of_measurement="nominal"))
    assert [found.low, found.high] == pytest.approx(np.quantile(drawn, [0.025, 0.975]), abs=0.06)
    assert found.low < found.alpha < found.high


def test_the_interval_covers_the_true_alpha() -> None:
    generator = np.random.default_rng(0)

    def drawn(documents: int) -> _Alphas:
        """Three annotators, five slots per document, documents of different difficulty."""
        slots = []
        for document in range(documents):
            right = generator.beta(8, 2)
            for truth in generator.integers(3, size=5):
                guesses, sure = generator.integers(3, size=3), generator.random(3) < right
                said = {
                    n: str(c) for n, c in zip("abc", np.where(sure, truth, guesses), strict=True)
                }
                slots.append(Slot(str(document), None, "$.x", "x", None, said))
        return _Alphas(slots, lambda _, a, b: a == b, Drawing(0.95, 200, 0))

    true, _ = drawn(2000).overall()
    intervals = [drawn(30).overall()[1] for _ in range(60)]
    covered = sum((i.low or 0) <= true <= (i.high or 0) for i in intervals)
    assert covered >= 52


GOLD: dict[str, Any] = {
    "title": "Report",
    "total": 1000.0,
    "audited": False,
    "sub": {"k": "v"},
    "items": [
        {"name": "one", "n": 1, "tags": ["p", "q"]},
        {"name": "two", "n": 2, "tags": []},
        {"name": "three", "n": 3, "tags": ["r"]},
    ],
    "tags": ["alpha", "beta", "gamma"],
}


def changed(**changes: Any) -> dict[str, Any]:
    return json.loads(json.dumps(GOLD)) | changes


def rows(found: Any) -> list[list[Any]]:
    names = ["path", "field", "majority", "op", "old", "new"]
    return [[None if c is None else c for c in r] for r in found.disagreements[names].to_numpy()]


def test_values_that_the_metric_accepts_agree() -> None:
    other = changed(title="REPORT", total=1000.5, tags=["gamma", "alpha", "beta"])
    found = found_of({"a": GOLD, "b": other, "c": changed(title="report.")})
    assert len(found.disagreements) == 0
    assert found.alpha == 1
    # tolerance is relative to either of both, and values linked by a third one agree
    linked = {"a": changed(total=1000), "b": changed(total=1000.9), "c": changed(total=1001.8)}
    assert len(found_of(linked).disagreements) == 0
    assert len(found_of({k: v for k, v in linked.items() if k != "b"}).disagreements) == 1


def test_a_slot_left_empty_is_a_statement_and_no_document_is_not() -> None:
    filled = {"x": {"x": "apple"}, "y": {"x": "river"}}
    empty = {"x": {"x": None}, "y": {"x": "river"}}
    said = agreement({"a": filled, "b": empty}, schema=FIELD, **FAST)
    assert (said.units, len(said.disagreements)) == (2, 1)
    assert said.disagreements[["value_a", "value_b"]].to_numpy().tolist() == [["apple", None]]
    missing = agreement({"a": filled, "b": {"y": {}}, "c": filled}, schema=FIELD, **FAST)
    assert (missing.units, len(missing.disagreements)) == (2, 1)
    assert missing.disagreements["majority"].tolist() == ["river"]
    third = agreement({"a": {"x": filled["x"]}, "b": filled, "c": empty}, schema=FIELD, **FAST)
    assert [repr(c) for c in third.disagreements.loc[0, ["value_a", "value_b", "value_c"]]] == [
        "'apple'",
        "'apple'",
        "None",
    ]


MAJORITIES: dict[str, tuple[Any, Any, list[Any]]] = {
    "a value": ({"title": "Wrong"}, {},
                [["$.title", "title", "Report", "replace", "Wrong", "Report"]]),
    "no majority": ({"title": "X"}, {"title": "Y"},
                    [["$.title", "title", pd.NA, pd.NA, pd.NA, pd.NA]]),
    "the others differ": ({}, {"total": 7}, [["$.total", "total", 1000.0, pd.NA, pd.NA, pd.NA]]),
    "false": ({"audited": None}, {},
              [["$.audited", "audited", False, "replace", None, False]]),
    "true": ({"audited": True}, {}, [["$.audited", "audited", False, "replace", True, False]]),
    "missing": ({"sub": {}}, {}, [["$.sub.k", "sub.k", "v", "add", pd.NA, "v"]]),
    "null": ({"sub": {"k": None}}, {}, [["$.sub.k", "sub.k", "v", "replace", None, "v"]]),
    "no object": ({"sub": None}, {}, [["$.sub.k", "sub.k", "v", "add", pd.NA, "v"]]),
    "an item missing": (
        {"items": GOLD["items"][1:]},
        {},
        [["$.items[+0]", "items[]", GOLD["items"][0], "add", pd.NA, GOLD["items"][0]]],
    ),
    "a text missing": ({"tags": ["gamma", "alpha"]}, {},
                       [["$.tags[+1]", "tags[]", "beta", "add", pd.NA, "beta"]]),
    "an item too many": (
        {"items": [{"name": "zero", "n": 77}, *GOLD["items"]]},
        {},
        [["$.items[0]", "items[]", None, "remove", {"name": "zero", "n": 77}, pd.NA]],
    ),
    "within an item, shuffled": (
        {"items": [GOLD["items"][2] | {"n": 9}, *GOLD["items"][:2]]},
        {"items": GOLD["items"][::-1]},
        [["$.items[0].n", "items[].n", 3, "replace", 9, 3]],
    ),
    "an array of an item": (
        {"items": [GOLD["items"][0] | {"tags": ["p"]}, *GOLD["items"][1:]]},
        {},
        [["$.items[0].tags[+1]", "items[].tags[]", "q", "add", pd.NA, "q"]],
    ),
    "only another has an item": (
        {},
        {"tags": ["beta", "alpha", "gamma", "delta"]},
        [["$.tags[+3]", "tags[]", None, pd.NA, pd.NA, pd.NA]],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", MAJORITIES)
def test_disagreements_say_what_corrects_the_first_annotator(name: str, tmp_path: Path) -> None:
    first, third, expected = MAJORITIES[name]
    golds = {"a": changed(**first), "b": GOLD, "c": changed(**third)}
    found = found_of(golds)
    assert str(rows(found)) == str(expected)
    accepted = found.disagreements.dropna(subset="op")
    if len(accepted):  # with the corrections, the first agrees with the others
        ds = dataset(tmp_path / "first", golds["a"])
        corrected = apply(ds, corrections(accepted), tmp_path / "v1").gold("d")
        again = found_of(golds | {"a": corrected})
        assert len(again.disagreements) == 0
        assert again.alpha == 1


def test_corrections_that_gold_cannot_hold_are_not_proposed(tmp_path: Path) -> None:
    item = GOLD["items"][0]
    first = changed(items=["one 1 p q", *GOLD["items"][1:]], sub="v", title="Wrong")
    found = found_of({"a": first, "b": GOLD, "c": changed(items=[item, *GOLD["items"][1:]])})
    accepted = found.disagreements.dropna(subset="op")
    apply(dataset(tmp_path / "first", first), corrections(accepted), tmp_path / "v1")
    assert accepted["field"].tolist() == ["title"]
    assert {"sub.k", "items[].n"} <= set(found.disagreements["field"])


def dataset(folder: Path, gold: Any) -> Any:
    inside = folder / "dom" / "s" / "pdf+gold"
    inside.mkdir(parents=True)
    (inside.parent / "s-schema.json").write_text(json.dumps(SCHEMA))
    (inside / "d.gold.json").write_text(json.dumps(gold))
    return xb.load_dataset(folder)


def shuffled(value: Any, generator: random.Random) -> Any:
    if isinstance(value, dict):
        return {k: shuffled(v, generator) for k, v in value.items()}
    if isinstance(value, list):
        items = [shuffled(v, generator) for v in value]
        generator.shuffle(items)
        return items
    return value


TEXT = st.sampled_from(["one", "two", "three", "four five", None])
DOCUMENTS = st.fixed_dictionaries(
    {
        "title": TEXT,
        "total": st.sampled_from([None, 1, 2.0, 1000]),
        "tags": st.lists(st.sampled_from(["alpha", "beta", "gamma", "delta"]), max_size=4),
        "items": st.lists(
            st.fixed_dictionaries(
                {
                    "name": st.sampled_from(["one", "two", "three"]),
                    "n": st.integers(0, 2),
                    "tags": st.lists(st.sampled_from(["p", "q"]), max_size=2),
                }
            ),
            max_size=3,
        ),
    }
)


@settings(max_examples=12)
@given(st.lists(DOCUMENTS, min_size=2, max_size=3), st.randoms(use_true_random=False))
def test_order_of_annotators_and_of_items_changes_nothing(
    documents: list[Any], generator: random.Random
) -> None:
    golds = {f"a{at}": value for at, value in enumerate(documents)}
    expected = found_of(golds)
    names = list(golds)
    generator.shuffle(names)
    found = found_of({name: shuffled(golds[name], generator) for name in names})
    assert (found.units, len(found.disagreements)) == (expected.units, len(expected.disagreements))
    assert found.alpha == pytest.approx(expected.alpha, nan_ok=True)
    order = ["field", "alpha", "units", "disagreed"]
    pd.testing.assert_frame_equal(
        found.fields[order].sort_values("field", ignore_index=True),
        expected.fields[order].sort_values("field", ignore_index=True),
    )
    same = found_of({"a": documents[0], "b": shuffled(documents[0], generator)})
    assert len(same.disagreements) == 0


def test_folders_datasets_and_values_are_the_same(tmp_path: Path) -> None:
    other = changed(title="Wrong", tags=["alpha"])
    first = dataset(tmp_path / "a", GOLD)
    flat = tmp_path / "b"
    flat.mkdir()
    (flat / "d.json").write_text(json.dumps(other))
    before = contents(tmp_path)
    expected = found_of({"a": GOLD, "b": other}).disagreements.drop(columns="schema")
    for golds, options in (
        ({"a": first, "b": {"d": other}}, {}),
        ({"a": tmp_path / "a", "b": str(flat)}, {"dataset": first}),
        ({"a": first, "b": {"d": flat / "d.json"}}, {"dataset": tmp_path / "a"}),
        ({"a": {"d": GOLD}, "b": flat}, {"schema": SCHEMA}),
    ):
        found = agreement(golds, **FAST, **options).disagreements.drop(columns="schema")
        pd.testing.assert_frame_equal(found, expected)
    assert contents(tmp_path) == before


def test_caller_values_are_not_changed() -> None:
    golds = {"a": {"d": GOLD}, "b": {"d": changed(tags=["new"], items=[])}}
    before = json.dumps(golds)
    agreement(golds, schema=SCHEMA, **FAST)
    assert json.dumps(golds) == before


BAD: dict[str, tuple[Any, dict[str, Any], str]] = {
    "one annotator": ({"a": {}}, {"schema": SCHEMA}, "two annotators or more"),
    "a list": ([{}, {}], {"schema": SCHEMA}, "expected a mapping from annotator"),
    "a number": ({"a": 1, "b": {}}, {"schema": SCHEMA}, r"golds\['a'\] is int"),
    "no schema": ({"a": {"d": {}}, "b": {"d": {}}}, {}, "no schema"),
    "both": ({"a": {"d": {}}, "b": {"d": {}}}, {"schema": SCHEMA, "dataset": "sample"}, "both set"),
    "nothing in common": ({"a": {"d": {}}, "b": {"e": {}}}, {"schema": SCHEMA}, "no document was"),
    "unknown document": ({"a": {"d": {}}, "b": {"d": {}}}, {"dataset": "sample"}, "document 'd'"),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD)
def test_bad_input_is_one_error(name: str) -> None:
    golds, options, message = BAD[name]
    with pytest.raises(ValueError, match=message):
        agreement(golds, **options)


def test_hostile_names_are_escaped_nothing_is_printed(
    capsys: pytest.CaptureFixture[str],
) -> None:
    schema = {"type": "object", "properties": {"<b>x": {"type": "string"}}}
    golds = {"<i>": {"d": {"<b>x": "<s>"}}, "b": {"d": {"<b>x": "other"}}}
    found = agreement(golds, schema=schema, **FAST)
    html = found._repr_html_()
    assert "&lt;b&gt;x" in html
    assert not any(tag in html for tag in ("<b>x", "<i>", "<s>"))
    assert repr(found).startswith("Agreement of 2 annotators: Krippendorff's alpha 0.000")
    assert capsys.readouterr().out == ""
