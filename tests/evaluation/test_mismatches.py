"""Kinds of mismatch: rules and near misses, the frame `mismatches`, the documented rates."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import extractbench_nb as xb
from extractbench_nb.stats.mismatches import (
    KIND_COLUMN,
    KIND_NAMES,
    KINDS,
    mismatch_kind,
    mismatch_kinds,
)

ROOT = Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "scripts"))
import measure_mismatches  # noqa: E402

#: By kind: pairs that have it, and pairs that nearly have it; some with gold's other fields and
#: gold of the field in all items.
CASES: dict[str, tuple[list[tuple[Any, ...]], list[tuple[Any, ...]]]] = {
    "null_word": (
        [("Berlin", "N/A"), (7, "unknown"), ("none", "Paris"), (True, "n/a")],
        [("Berlin", "Nantes"), ("Nonesuch Ltd", "Acme Ltd"), ("7", "0")],
    ),
    "json_type": (
        [(12.5, "12.5"), ("2024", 2024), (True, "true"), ("1,200", 1200)],
        [(12.5, "12.6"), ("12 kg", 12), (True, "false"), ("2024-01-01", 2024), (True, 1)],
    ),
    "writing": (
        [
            ("ACME Corp.", "Acme Corp"), ("Zürich", "zurich"), ("hand written", "handwritten"),
            ("1,234.50", "1234.5"), ("5 km", "5000 m"), ("$2.3 million", "USD 2,300,000"),
            ("2024-03-05", "5 March 2024"), ("March 2024", "2024-03"), ("12/31/2023", "2023-12-31"),
        ],
        [
            ("about -5 degrees", "about 5 degrees"), ("C#", "C++"), ("<5 g or so", "5 g or so"),
            ("1,234.50", "1234.6"), ("5 km", "5 m"), ("2024-03-05", "6 March 2024"),
        ],
    ),
    "unit": (
        [
            ("12 kg", "12"), (75, "75%"), ("€ 1,500", "1500"), ("12 kg", "12 g"), ("$5", "€5"),
            ("30 days", "30 months"), ("3%", "3 bp"), (0.125, 12.5), ("45%", "0.45"), (0.9, 90),
            (7.5, 0.075),
        ],
        [
            ("12 kg", "13"), ("12 kg", "14 g"), ("1 km", "1000 m"), (12.5, 1250), (0.125, 125),
            ("0.5%", "50%"),
        ],
    ),
    "sign": (
        [(-1250, 1250), ("(1,204)", "1,204"), ("-4.2%", "4.2%")],
        [(-1250, 1251), (0, 0.0), (-1250, "12 of 50")],
    ),
    "other_item": (
        [
            ("Alice", "Bobby", [], ["Alice", "Bobby", "Carol"]),
            (1250.5, 980.25, [], [1250.5, 980.25]),
            ("2024-03-05", "2024-03-06", [], ["2024-03-05", "2024-03-06"]),
            ("INV-1001", "inv-1002", [], ["INV-1001", "INV-1002", "INV-1002"]),
        ],
        [
            ("red wine", "white wine", [], ["white wine"] * 3),
            (12, 57, [], [12, 57]),
            (2021, 2019, [], [2021, 2019]),
        ],
    ),
    "misplaced": (
        [
            ("Smith", "Jonathan", ["Jonathan", 3], []),
            (52310, 48120, [48120], []),
            ("2024-03-05", "2024-04-05", ["2024-04-05"], []),
        ],
        [(12, 57, [57], []), (False, True, [True], []), ("abcd", "yes", ["yes"], [])],
    ),
    "power_of_ten": (
        [
            (1.25, 1250), (1250, 1.25), ("12.7", "12,700"), (-48000, -48), (3, 30),
            ("5.3 million", "5.3 billion"), ("394 million", "394"), (-2e300, -2), (1e308, 1e-308),
        ],
        [(1.25, 1251), (-48000, 48), (0, 10), ("5 kg", "50 m")],
    ),
    "rounding": (
        [
            (12.3456, 12.35), (1234567, 1230000), ("98.6%", "99%"), (19.99, 19.9), (3, 3.04),
            (52310, 52300), (1230, 1234), (1003212, 1000000),
        ],
        [
            (12.3456, 12.36), (14, 10), (2024, 2020), (29.9, 28), (100, 104), (104, 100),
            (41, 40), (199, 200), (9120, 9100),
        ],
    ),
    "day_month_swapped": (
        [
            ("2024-03-05", "2024-05-03"), ("04/06/2025", "06/04/2025"),
            ("7 August 2019", "July 8, 2019"),
        ],
        [("2024-03-05", "2023-05-03"), ("2024-03-15", "2024-05-13"), ("2024-03", "2024-05")],
    ),
    "date": (
        [
            ("2024-03-05", "2024-03-04"), ("2024-03-05", "2023-03-05"), ("1998", "1990"),
            ("15 May 2020", "15 June 2020"), ("2024-03-05", "2019-11-20"), ("6 Apr 2025", "2024"),
            ("2024-03-05T14:30:00", "2024-03-05T15:30:00"),
        ],
        [("2024-03-05", "March 2024"), ("2024-03-05", "x"), (1998, 1990), ("09:00", "10:00")],
    ),
    "order": (
        [("Smith, John", "John Smith"), ("red, green", "green, red"), ("a b c d", "d c b a")],
        [("John Smith", "John Smyth"), ("red, green", "green, red, red")],
    ),
    "truncated": (
        [
            ("Deutsche Bank AG", "Deutsche Bank"), ("Berlin", "Berl"), ("A text, cut", "A te..."),
            ("State of Delaware", "Delaware"), ("Ms. Jane Doe, CFO", "Jane Doe"),
            ("shall not, directly or not, incur any debt", "shall not incur any debt"),
            ("6 Apr 2025", "2025"), ("2024-03-05 09:00", "2024-03-05"),
        ],
        [
            ("Berlin", "Be"), ("Deutsche Bank", "Deutsche Bahn"), ("State of Delaware", "Nevada"),
            ("one two three four five six", "two six"), ("6 Apr 2025", "2024"),
        ],
    ),
    "extra_text": (
        [
            ("AT&T", "AT&T, Dallas"), ("Marketing", "Dept of Marketing"), ("Java", "JavaScript"),
            ("March 2024", "2024-03-15"), ("2024-03-05", "5 March 2024 at 10:15"),
        ],
        [("Marketing", "Market research"), ("AT&T", "Verizon, Dallas")],
    ),
    "typo": (
        [
            ("Schneider", "Schnieder"), ("Massachusetts", "Massachusets"), ("Gonzalez", "Gonzales"),
            ("Olsen", "0lsen"), ("7:12.48", "7:l2.48"), ("Bill", "Bi1l"), (1324, 1234),
            ("4,519", "4,591"), ("555-1234", "555-1243"), (45892, 4589), (73.21, 73.27),
            (2021, 2020), ("1" * 30_000, "1" * 29_999 + "2"),
        ],
        [
            ("Iran", "Iraq"), ("approved", "unapproved"), ("increase", "decrease"), (1324, 4321),
            ("555-1234", "555-4321"), (12, 17), (2.4, 2.9), ("male", "female"),
            ("anna and bela and cleo", "anna anna bela and cleo"),
        ],
    ),
    "other": (
        [
            ("Berlin", "Paris"), (12, 57), (True, "x"), (True, False), ("", "x"),
            ("Figure 3", "Figure 4"), ("Massachusetts Institute of Technology", "MIT"),
            ("a " * 500_000, "b " * 500_000), ("a-" * 19_000, "-a" * 18_999 + "b"),
            (10**4_000, 10**4_001), (float("nan"), 5.0), (float("inf"), -5.0), ([1], 2),
        ],
        [("Berlin", "berlin"), (12, 120), ("((((" * 9_000, "[[[[" * 9_000)],
    ),
}  # fmt: skip


@pytest.mark.parametrize("kind", CASES)
def test_pairs_of_a_kind_and_near_misses(kind: str) -> None:
    of_kind, near = CASES[kind]
    for has_kind, cases in ((True, of_kind), (False, near)):
        for gold, predicted, *around in cases:
            siblings, items = around or ([], [])
            named = mismatch_kind(gold, predicted, siblings=siblings, items=items)
            assert (named == kind) == has_kind, (gold, predicted, named)


def test_every_kind_has_cases_and_its_example() -> None:
    assert list(CASES) == list(KIND_NAMES) == KIND_COLUMN.values.split(", ")
    examples = {k.name: mismatch_kind(k.gold, k.predicted) for k in KINDS}
    assert {n for n in examples if n != examples[n]} == {"other_item", "misplaced"}


# --- the frame --------------------------------------------------------------------------------

TEXT = {"type": "string", "evaluation_config": "string_exact"}
ITEM = {"type": "object", "properties": {"id": TEXT, "name": TEXT, "seen": {"type": "boolean"}}}
SCHEMA = {
    "type": "object",
    "properties": {
        "total": {"type": "number"},
        "first": TEXT,
        "last": TEXT,
        "rows": {"type": "array", "items": ITEM},
        "odd.key": {"type": "object", "properties": {"it's": TEXT, "x": TEXT}},
        "maps": {"type": "object", "additionalProperties": TEXT},
    },
}
GOLD = {
    "total": 12.5,
    "first": "Jonathan",
    "last": "Smith",
    "rows": [{"id": f"id-{i}", "name": name} for i, name in enumerate(("Anna", "Berta", "Clara"))],
    "odd.key": {"it's": "left side", "x": "right side"},
    "maps": {"a.b": "first entry", "c": "second entry"},
}


def changed(**changes: Any) -> dict[str, Any]:
    return {**GOLD, **changes}


def kinds(predicted: Any, gold: Any = GOLD) -> dict[str, str]:
    rows = xb.evaluate(SCHEMA, gold, predicted).mismatches
    return dict(zip(rows["path"], rows["kind"], strict=True))


def swapped_rows() -> list[dict[str, str]]:
    rows = [dict(row) for row in GOLD["rows"]]
    rows[0]["name"] = "Clara"
    return rows


@pytest.mark.parametrize(
    "predicted, expected",
    [
        (GOLD, {}),
        (changed(total=12500.0), {"$.total": "power_of_ten"}),
        (changed(total="12.5"), {"$.total": "json_type"}),
        (changed(total="N/A"), {"$.total": "null_word"}),
        (changed(total=None), {}),
        (changed(total=[1]), {}),
        (changed(last="Jonathan"), {"$.last": "misplaced"}),
        (changed(rows=swapped_rows()), {"$.rows[0].name": "other_item"}),
        (changed(rows=[]), {}),
        (
            changed(**{"odd.key": {"it's": "right side", "x": "right side"}}),
            {"$['odd.key']['it\\'s']": "misplaced"},
        ),
        (
            changed(maps={"a.b": "second entry", "c": "second entry"}),
            {"$.maps['a.b']": "misplaced"},
        ),
    ],
)
def test_values_of_a_document(predicted: Any, expected: dict[str, str]) -> None:
    assert kinds(predicted) == expected


def test_words_for_nothing_where_the_other_side_is_absent() -> None:
    assert kinds(changed(first="unknown"), changed(first=None)) == {"$.first": "null_word"}
    assert kinds(changed(first=None), changed(first="N/A")) == {"$.first": "null_word"}
    assert kinds(changed(first="Jonathan"), changed(first=None)) == {}


def test_a_value_has_one_row_whatever_its_metrics_say() -> None:
    ids = ("string_exact", "string_case_insensitive", "string_exact")
    metrics = {"metrics": [{"metric_id": name} for name in ids]}
    schema = {"type": "object", "properties": {"a": {**TEXT, "evaluation_config": metrics}}}
    ev = xb.evaluate(schema, {"a": "ACME"}, {"a": "Acme"})
    assert ev.fields["outcome"].tolist() == ["incorrect", "correct", "incorrect"]
    assert ev.mismatches.to_numpy().tolist() == [["$.a", "writing"]]


@pytest.fixture(scope="module")
def batch() -> Any:
    other = changed(first="Margaret", rows=[{"id": "id-0", "name": "Dora"}])
    rows = [
        {"run": "a", "document": "1", "gold": GOLD, "predicted": changed(last="Jonathan")},
        {"run": "a", "document": "2", "gold": other, "predicted": {**other, "last": "Jonathan"}},
        {"run": "b", "document": "1", "gold": GOLD, "predicted": changed(total=1.25)},
        {"run": "b", "document": "2", "gold": other, "predicted": "{"},
    ]
    return xb.evaluate_runs(pd.DataFrame(rows).assign(schema=[SCHEMA] * 4), progress=False)


def test_documents_of_a_batch_are_kept_apart(batch: Any, tmp_path: Path) -> None:
    expected = [
        ["a", "1", "$.last", "misplaced"],
        ["a", "2", "$.last", "other"],
        ["b", "1", "$.total", "power_of_ten"],
    ]
    batch.save(tmp_path)
    for evs in (batch, xb.load_evaluations(tmp_path)):
        found = evs.mismatches[["run", "document", "path", "kind"]]
        assert found.to_numpy().tolist() == expected
    joined = batch.fields.merge(batch.mismatches, how="left")
    assert len(joined) == len(batch.fields)
    described = batch.columns().query("frame == 'mismatches'")["column"].tolist()
    assert described == batch.mismatches.columns.tolist()
    table = xb.breakdown(batch, by=["run", "kind"]).set_index(["run", "kind"])
    assert table.loc[("a", "misplaced"), "incorrect"] == 1
    assert table["rows"].sum() == batch.fields["counted"].sum()
    assert not xb.breakdown(batch.fields, "kind").empty


# --- properties -------------------------------------------------------------------------------

SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.text(max_size=20),
    st.sampled_from(
        [10**400, -(2**80), "1e999", "12/31/2023", "0", "-", "\ud800", "½", "١٢", "٣/٤"]
    ),
    st.from_regex(r"[$€(-]?\d{1,3}(,\d{3})?(\.\d+)?( ?(kg|%|km|million))?\)?", fullmatch=True),
    st.dates().map(str),
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=4), inner, max_size=3)
    ),
    max_leaves=12,
)


@settings(max_examples=300, deadline=None)
@given(SCALARS, SCALARS, st.lists(SCALARS, max_size=3), st.lists(SCALARS, max_size=3))
def test_two_values_always_have_a_kind(
    gold: Any, predicted: Any, siblings: list[Any], items: list[Any]
) -> None:
    kind = mismatch_kind(gold, predicted, siblings=siblings, items=items)
    assert kind in KIND_NAMES


@settings(max_examples=60, deadline=None)
@given(VALUES, VALUES)
def test_only_wrong_values_have_a_kind(gold: Any, predicted: Any) -> None:
    schema = {
        "type": "object",
        "properties": {
            "a": {"type": "string"},
            "b": {"type": "number"},
            "c": {"type": "array", "items": {"properties": {"a": TEXT}, "type": "object"}},
        },
    }
    box = {"a": gold, "b": gold, "c": [{"a": gold}, gold]}
    ev = xb.evaluate(
        schema, box, {"a": predicted, "b": predicted, "c": [predicted, {"a": predicted}]}
    )
    fields = ev.fields
    rows = fields.merge(ev.mismatches, on="path", how="left")
    assert len(rows) == len(fields)
    wrong = rows["outcome"].isin(["incorrect", "structural", "omission", "hallucination"])
    assert wrong[rows["kind"].notna()].all()


def test_gold_elsewhere_is_found_by_path() -> None:
    """A value of the field itself, in two rows of it, is no sibling; names may hold anything."""
    box = "$.a['it\\'s [0].b']"
    rows = [
        (f"{box}['x.y']", "incorrect", "Alice Meyer", "bob stone"),
        (f"{box}['x.y']", "incorrect", "Alice Meyer", "alice meyer jr"),
        (f"{box}.z", "correct", "Bob Stone", "Bob Stone"),
        (f"{box}.w", "incorrect", "Carol Reed", "Carol Reed, Ohio"),
        ("$.z", "incorrect", "Dora Quint", "Bob Stone"),
        ("$.l", "correct", [{"k": "Egon Frisch"}, {"k": "Fay Gould"}], []),
        ("$.l[0].k", "incorrect", "Egon Frisch", "fay gould"),
        ("$.l[1].k", "omission", "n/a", None),
    ]
    frame = pd.DataFrame(rows, columns=["path", "outcome", "gold", "predicted"])
    found = ["misplaced", "extra_text", None, "extra_text", "other", None, "other_item"]
    found.append("null_word")
    assert mismatch_kinds(frame) == found
    mixed = pd.concat([frame.assign(document=name) for name in "ab"]).sort_index(kind="stable")
    assert mismatch_kinds(mixed) == [kind for kind in found for _ in "ab"]


# --- the documented rates ---------------------------------------------------------------------


def test_the_page_has_the_rows_that_the_script_computes() -> None:
    rows, page = measure_mismatches.rows(), measure_mismatches.PAGE.read_text("utf-8").splitlines()
    has_data = {"EXTRACTBENCH_RUNS", "EXTRACTBENCH_DATASET"} <= set(os.environ)
    assert len(rows) == len(measure_mismatches.SOURCES) - (not has_data)
    assert set(rows) <= set(page)
