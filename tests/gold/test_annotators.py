"""Agreement of annotators: alpha, disagreements, and what can be passed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import krippendorff
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import extractbench_nb as xb
from extractbench_nb.gold.annotators import agreement
from extractbench_nb.gold.versions import apply, corrections

FIELD = {"type": "object", "properties": {"x": {"type": "string"}}}
TEXTS = {"type": "array", "items": {"type": "string"}}
ITEM = {"type": "object", "properties": {"name": {"type": "string"}, "tags": TEXTS}}
SCHEMA = {
    "type": "object",
    "properties": {
        "title": {"type": "string"},
        "total": {"type": "number"},
        "audited": {"type": "boolean"},
        "items": {"type": "array", "items": ITEM},
        "tags": TEXTS,
    },
}
GOLD: dict[str, Any] = {
    "title": "Report",
    "total": 1000.0,
    "audited": False,
    "items": [{"name": "one", "tags": ["p", "q"]}, {"name": "two", "tags": []}],
    "tags": ["alpha", "beta", "gamma"],
}
Codes = list[list[int | None]]


def tables(codes: Codes) -> dict[str, Any]:
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
    found = agreement(tables(codes), schema=FIELD)
    assert round(found.alpha, 3) == 0.743
    columns = ["field", "documents", "units", "disagreed"]
    assert found.fields[columns].to_numpy().tolist() == [["x", 11, 11, 3]]


CODE = st.sampled_from([0, 1, 2, 3, None])
ROW = st.lists(CODE, min_size=6, max_size=6)


@settings(max_examples=12)
@given(st.lists(ROW, min_size=2, max_size=4))
def test_alpha_is_that_of_the_library(codes: Codes) -> None:
    units = [[c for c in unit if c is not None] for unit in zip(*codes, strict=True)]
    units = [unit for unit in units if len(unit) > 1]
    if not units:
        with pytest.raises(xb.InputError, match="no document was annotated by two"):
            agreement(tables(codes), schema=FIELD)
        return
    found = agreement(tables(codes), schema=FIELD)
    if len({c for unit in units for c in unit}) == 1:
        assert np.isnan(found.alpha)
        return
    data = np.array([[np.nan if c is None else c for c in row] for row in codes], dtype=float)
    expected = krippendorff.alpha(reliability_data=data, level_of_measurement="nominal")
    assert found.alpha == pytest.approx(expected, abs=1e-9)


def changed(**changes: Any) -> dict[str, Any]:
    return json.loads(json.dumps(GOLD)) | changes


#: Gold of the first and the third annotator, who have GOLD otherwise, as the second has it; then
#: path, field, values of the first and second, and the majority of each disagreement.
CASES: dict[str, tuple[Any, Any, list[list[Any]]]] = {
    "the same by the metrics": (
        {"title": "REPORT", "total": 1000.5, "tags": ["gamma", "alpha", "beta"]},
        {"title": "report."},
        [],
    ),
    "a value": ({"title": "Wrong"}, {}, [["$.title", "title", "Wrong", "Report", "Report"]]),
    "no majority": (
        {"title": "Cabbage"},
        {"title": "Zebra"},
        [["$.title", "title", "Cabbage", "Report", pd.NA]],
    ),
    "null": ({"audited": None}, {}, [["$.audited", "audited", None, False, False]]),
    "null by most": (
        {"audited": None},
        {"audited": None},
        [["$.audited", "audited", None, False, None]],
    ),
    "an item missing": ({"tags": ["gamma", "alpha"]}, {},
                        [["$.tags[+1]", "tags[]", None, "beta", "beta"]]),
    "an item too many": (
        {"tags": ["zero", "alpha", "beta", "gamma"]},
        {},
        [["$.tags[0]", "tags[]", "zero", None, None]],
    ),
    "within an item, shuffled": (
        {"items": [GOLD["items"][1], {"name": "one", "tags": ["p", "z"]}]},
        {"items": GOLD["items"][::-1]},
        [["$.items[1].tags[1]", "items[].tags[]", "z", None, None],
         ["$.items[1].tags[+1]", "items[].tags[]", None, "q", "q"]],
    ),
    "different items at one index": (
        {"tags": ["alpha"]},
        {"tags": ["alpha", "gamma", "delta"]},
        [["$.tags[+1]", "tags[]", None, "beta", None],
         ["$.tags[+2]", "tags[]", None, "gamma", "gamma"],
         ["$.tags[+2]", "tags[]", None, None, None]],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_disagreements_and_their_majority(name: str) -> None:
    first, third, expected = CASES[name]
    golds = {"a": {"d": changed(**first)}, "b": {"d": GOLD}, "c": {"d": changed(**third)}}
    before = json.dumps(golds)
    rows = agreement(golds, schema=SCHEMA).disagreements
    found = rows[["path", "field", "value_a", "value_b", "majority"]]
    assert str(found.to_numpy(object).tolist()) == str(expected)
    assert json.dumps(golds) == before


def dataset(folder: Path, gold: Any) -> Any:
    inside = folder / "dom" / "s" / "pdf+gold"
    inside.mkdir(parents=True)
    (inside.parent / "s-schema.json").write_text(json.dumps(SCHEMA))
    (inside / "d.gold.json").write_text(json.dumps(gold))
    return xb.load_dataset(folder)


def test_the_majority_corrects_the_first_annotator(tmp_path: Path) -> None:
    golds = {
        "a": dataset(tmp_path / "a", changed(title="Wrong")),
        "b": {"d": GOLD},
        "c": {"d": GOLD},
    }
    rows = agreement(golds).disagreements.dropna(subset="majority")
    corrected = apply(
        golds["a"], corrections(rows.rename(columns={"majority": "new"})), tmp_path / "v1"
    )
    again = agreement(golds | {"a": corrected})
    assert again.disagreements.empty


def test_folders_datasets_and_values_are_the_same(tmp_path: Path) -> None:
    other = changed(title="Wrong", tags=["alpha"])
    first = dataset(tmp_path / "a", GOLD)
    flat = tmp_path / "b"
    flat.mkdir()
    (flat / "d.json").write_text(json.dumps(other))
    expected = agreement({"a": {"d": GOLD}, "b": {"d": other}}, schema=SCHEMA).disagreements
    for golds, options in (
        ({"a": first, "b": {"d": other}}, {}),
        ({"a": tmp_path / "a", "b": str(flat)}, {"dataset": first}),
        ({"a": first, "b": {"d": flat / "d.json"}}, {"dataset": tmp_path / "a"}),
    ):
        found = agreement(golds, **options).disagreements
        pd.testing.assert_frame_equal(found.drop(columns="schema"), expected.drop(columns="schema"))


BAD: dict[str, tuple[Any, dict[str, Any], str]] = {
    "one annotator": ({"a": {}}, {"schema": SCHEMA}, "two annotators or more"),
    "a list": ([{}, {}], {"schema": SCHEMA}, "expected a mapping from annotator"),
    "a number": ({"a": 1, "b": {}}, {"schema": SCHEMA}, r"golds\['a'\] is int"),
    "no schema": ({"a": {"d": {}}, "b": {"d": {}}}, {}, "no schema"),
    "nothing in common": ({"a": {"d": {}}, "b": {"e": {}}}, {"schema": SCHEMA}, "no document was"),
    "unknown document": ({"a": {"d": {}}, "b": {"d": {}}}, {"dataset": "sample"}, "document 'd'"),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD)
def test_bad_input_is_one_error(name: str) -> None:
    golds, options, message = BAD[name]
    with pytest.raises(xb.InputError, match=message):
        agreement(golds, **options)
