"""Kinds of mismatch: rules and near misses, the column of `fields`, the documented rates."""

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
from extractbench_nb.evaluation.frames import FIELD_COLUMNS, RECORD_COLUMNS, field_rows, in_order
from extractbench_nb.evaluation.mismatches import (
    KIND_NAMES,
    KINDS,
    mismatch_kind,
    reason_details,
)

ROOT = Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "scripts"))
import measure_mismatches  # noqa: E402

#: By kind: pairs that have it, and pairs that nearly have it.
CASES: dict[str, tuple[list[tuple[Any, Any]], list[tuple[Any, Any]]]] = {
    "null_word": (
        [("Berlin", "N/A"), (7, "unknown"), ("none", "Paris"), (True, "n/a")],
        [("Berlin", "Nantes"), ("Nonesuch Ltd", "Acme Ltd"), ("7", "0")],
    ),
    "json_type": (
        [(12.5, "12.5"), ("2024", 2024), (True, "true"), ("1,200", 1200)],
        [(12.5, "12.6"), ("12 kg", 12), (True, "false"), ("2024-01-01", 2024)],
    ),
    "opposite": (
        [(True, False), ("yes", "no"), (False, "Yes")],
        [(True, "true"), ("yes", "maybe"), (True, 1)],
    ),
    "number_format": (
        [("1,234.50", "1234.5"), ("5 km", "5000 m"), ("$2.3 million", "USD 2,300,000")],
        [("1,234.50", "1234.6"), ("5 km", "5 m"), ("1234", 1234)],
    ),
    "unit_missing": (
        [("12 kg", "12"), (75, "75%"), ("€ 1,500", "1500")],
        [("12 kg", "13"), ("12 kg", "12 g"), (0.75, "75%")],
    ),
    "unit_changed": (
        [("12 kg", "12 g"), ("$5", "€5"), ("30 days", "30 months"), ("3%", "3 bp")],
        [("12 kg", "14 g"), ("1 km", "1000 m"), ("12 kg", "12")],
    ),
    "date_format": (
        [("2024-03-05", "5 March 2024"), ("March 2024", "2024-03"), ("12/31/2023", "2023-12-31")],
        [("2024-03-05", "6 March 2024"), ("2024-03-05", "March 2024"), ("2024-03-05", "x")],
    ),
    "time_of_day": (
        [
            ("2024-03-05T14:30:00", "2024-03-05T15:30:00"),
            ("2024-03-05 09:00", "2024-03-05"),
            ("2024-03-05", "5 March 2024 at 10:15"),
        ],
        [("2024-03-05 09:00", "2024-03-06 09:00"), ("09:00", "10:00")],
    ),
    "writing": (
        [("ACME Corp.", "Acme Corp"), ("Zürich", "zurich"), ("hand written", "handwritten")],
        [("about -5 degrees", "about 5 degrees"), ("C#", "C++"), ("<5 g or so", "5 g or so")],
    ),
    "sign": (
        [(-1250, 1250), ("(1,204)", "1,204"), ("-4.2%", "4.2%")],
        [(-1250, 1251), (0, 0.0), (-1250, "12 of 50")],
    ),
    "percent": (
        [(0.125, 12.5), ("45%", "0.45"), (0.9, 90), (7.5, 0.075)],
        [(12.5, 1250), (0.125, 125), ("0.5%", "50%")],
    ),
    "power_of_ten": (
        [(1.25, 1250), ("12.7", "12,700"), (-48000, -48), ("5.3 million", "5.3 billion")],
        [(1.25, 1251), (-48000, 48), (0, 10), ("5 kg", "50 m")],
    ),
    "off_by_one": (
        [(2021, 2020), (14, 15), ("199", "200")],
        [(14, 16), (1.5, 2.5), (-1, 1)],
    ),
    "digits_swapped": (
        [(1324, 1234), ("4,519", "4,591"), ("555-1234", "555-1243"), (59.02, 59.2)],
        [(1324, 4321), (1324, 1342 + 1000), ("555-1234", "555-4321")],
    ),
    "rounding": (
        [(12.3456, 12.35), (1234567, 1230000), ("98.6%", "99%"), (19.99, 19.9), (3, 3.04)],
        [(12.3456, 12.36), (14, 10), (2024, 2020), (29.9, 28)],
    ),
    "digit": (
        [(1234, 1284), (45892, 4589), ("030-7789", "030-7189"), (73.21, 73.27)],
        [(12, 17), (1234, 1289), (2.4, 2.9)],
    ),
    "day_month_swapped": (
        [
            ("2024-03-05", "2024-05-03"),
            ("04/06/2025", "06/04/2025"),
            ("7 August 2019", "July 8, 2019"),
        ],
        [("2024-03-05", "2023-05-03"), ("2024-03-15", "2024-05-13"), ("2024-03", "2024-05")],
    ),
    "day_off_by_one": (
        [
            ("2024-03-05", "2024-03-04"),
            ("2023-12-31", "2024-01-01"),
            ("28 February 2024", "2024-02-29"),
        ],
        [("2024-03-05", "2024-03-03"), ("2024-03", "2024-04"), ("28 Feb 2023", "2023-03-02")],
    ),
    "date_precision": (
        [("6 Apr 2025", "2025"), ("March 2024", "2024-03-15"), ("2020-11-30", "Nov 2020")],
        [("6 Apr 2025", "2024"), ("March 2024", "2024-04-15")],
    ),
    "year_off": (
        [("2024-03-05", "2023-03-05"), ("June 2021", "June 2020"), ("1998", "1990")],
        [("2024-03-05", "2023-03-06"), ("June 2021", "May 2020"), (1998, 1990)],
    ),
    "date_part": (
        [("2024-03-05", "2024-03-25"), ("15 May 2020", "15 June 2020"), ("June 2021", "July 2021")],
        [("2024-03-05", "2024-04-25"), ("2024-03-05", "2024-03-06")],
    ),
    "lookalike": (
        [("Olsen", "0lsen"), ("7:12.48", "7:l2.48"), ("ISO 9001", "IS0 9OO1"), ("Bill", "Bi1l")],
        [("Olsen", "Alsen"), ("7:12.48", "7:l3.48"), ("1508", "1503")],
    ),
    "number_in_text": (
        [("Figure 3", "Figure 4"), ("volume 1", "volume 12"), ("FY2023", "FY2024")],
        [("Figure 3", "Table 4"), ("Figure 3", "Figure"), ("12 kg", "14 kg")],
    ),
    "word_order": (
        [("Smith, John", "John Smith"), ("red, green", "green, red"), ("a b c d", "d c b a")],
        [("John Smith", "John Smyth"), ("red, green", "green, red, red")],
    ),
    "abbreviation": (
        [
            ("Massachusetts Institute of Technology", "MIT"),
            ("J. Smith", "John Smith"),
            ("Natl. Science Foundation", "National Science Foundation"),
            ("HK SAR", "Hong Kong SAR"),
        ],
        [("Massachusetts Institute of Technology", "MIX"), ("Part I", "Part II")],
    ),
    "truncated": (
        [("Deutsche Bank AG", "Deutsche Bank"), ("Berlin", "Berl"), ("A text, cut", "A te...")],
        [("Deutsche Bank AG", "Bank AG"), ("Berlin", "Be"), ("Deutsche Bank", "Deutsche Bahn")],
    ),
    "extra_text": (
        [("AT&T", "AT&T, Dallas"), ("Marketing", "Dept of Marketing"), ("Java", "JavaScript")],
        [("Marketing", "Market research"), ("AT&T", "Verizon, Dallas")],
    ),
    "partial_text": (
        [
            ("State of Delaware", "Delaware"),
            ("Ms. Jane Doe, CFO", "Jane Doe"),
            ("shall not, directly or not, incur any debt", "shall not incur any debt"),
        ],
        [("State of Delaware", "Nevada"), ("one two three four five six", "two six")],
    ),
    "typo": (
        [("Schneider", "Schnieder"), ("Massachusetts", "Massachusets"), ("Gonzalez", "Gonzales")],
        [("Iran", "Iraq"), ("approved", "unapproved"), ("increase", "decrease")],
    ),
    "other": (
        [("Berlin", "Paris"), (12, 57), ("2024-03-05", "2019-11-20"), (True, "x"), ("", "x")],
        [("Berlin", "berlin"), (12, 120)],
    ),
}  # fmt: skip
#: By kind: gold, predicted, gold's other fields, gold of the field in all items.
AROUND: dict[str, tuple[list[tuple[Any, ...]], list[tuple[Any, ...]]]] = {
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
    "sibling_value": (
        [
            ("Smith", "Jonathan", ["Jonathan", 3], []),
            (52310, 48120, [48120], []),
            ("2024-03-05", "2024-04-05", ["2024-04-05"], []),
        ],
        [(12, 57, [57], []), (False, True, [True], []), ("abcd", "yes", ["yes"], [])],
    ),
}


def kind_of(*case: Any) -> str:
    gold, predicted, siblings, items = (*case, [], [])[:4]
    return mismatch_kind(gold, predicted, siblings=siblings, items=items).partition(":")[0]


ALL = {**CASES, **AROUND}


@pytest.mark.parametrize("kind, case", [(k, c) for k, (cases, _) in ALL.items() for c in cases])
def test_pairs_of_a_kind(kind: str, case: tuple[Any, ...]) -> None:
    assert kind_of(*case) == kind


@pytest.mark.parametrize("kind, case", [(k, c) for k, (_, near) in ALL.items() for c in near])
def test_near_misses(kind: str, case: tuple[Any, ...]) -> None:
    assert kind_of(*case) != kind


def test_every_kind_has_cases_and_its_example() -> None:
    assert set(ALL) == set(KIND_NAMES)
    assert all(len(of) >= 3 and len(near) >= 2 for of, near in ALL.values())
    examples = {k.name: kind_of(k.gold, k.predicted) for k in KINDS if k.name not in AROUND}
    assert examples == {name: name for name in examples}


@pytest.mark.parametrize(
    "gold, predicted, exponent",
    [(1.25, 1250, 3), (1250, 1.25, -3), (3, 30, 1), ("394 million", "394", -6), (-2e300, -2, -300)],
)
def test_the_exponent_is_named(gold: Any, predicted: Any, exponent: int) -> None:
    assert mismatch_kind(gold, predicted) == f"power_of_ten:{exponent}"


# --- the column -------------------------------------------------------------------------------

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


def details(predicted: Any, gold: Any = GOLD) -> dict[str, str]:
    fields = xb.evaluate(SCHEMA, gold, predicted).fields
    rows = fields[fields["reason_detail"].notna()]
    return dict(zip(rows["path"], rows["reason_detail"], strict=True))


def swapped_rows() -> list[dict[str, str]]:
    rows = [dict(row) for row in GOLD["rows"]]
    rows[0]["name"] = "Clara"
    return rows


@pytest.mark.parametrize(
    "predicted, expected",
    [
        (GOLD, {}),
        (changed(total=12500.0), {"$.total": "power_of_ten:3"}),
        (changed(total="12.5"), {"$.total": "json_type"}),
        (changed(total="N/A"), {"$.total": "null_word"}),
        (changed(total=None), {}),
        (changed(total=[1]), {}),
        (changed(last="Jonathan"), {"$.last": "sibling_value"}),
        (changed(rows=swapped_rows()), {"$.rows[0].name": "other_item"}),
        (changed(rows=[]), {}),
        (
            changed(**{"odd.key": {"it's": "right side", "x": "right side"}}),
            {"$['odd.key']['it\\'s']": "sibling_value"},
        ),
        (
            changed(maps={"a.b": "second entry", "c": "second entry"}),
            {"$.maps['a.b']": "sibling_value"},
        ),
    ],
)
def test_rows_of_fields(predicted: Any, expected: dict[str, str]) -> None:
    assert details(predicted) == expected


def test_words_for_nothing_where_the_other_side_is_absent() -> None:
    assert details(changed(first="unknown"), changed(first=None)) == {"$.first": "null_word"}
    assert details(changed(first=None), changed(first="N/A")) == {"$.first": "null_word"}
    assert details(changed(first="Jonathan"), changed(first=None)) == {}


def test_each_metric_of_a_field_has_its_own_kind() -> None:
    metrics = {"metrics": [{"metric_id": "string_exact"}, {"metric_id": "string_case_insensitive"}]}
    schema = {"type": "object", "properties": {"a": {**TEXT, "evaluation_config": metrics}}}
    fields = xb.evaluate(schema, {"a": "ACME"}, {"a": "Acme"}).fields
    assert fields["outcome"].tolist() == ["incorrect", "correct"]
    assert fields["reason_detail"].isna().tolist() == [False, True]


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


def test_documents_of_a_batch_are_kept_apart(batch: Any) -> None:
    fields = batch.fields[lambda f: f["reason_detail"].notna()]
    found = fields[["run", "document", "path", "reason_detail"]].to_numpy().tolist()
    assert found == [
        ["a", "1", "$.last", "sibling_value"],
        ["a", "2", "$.last", "other"],
        ["b", "1", "$.total", "power_of_ten:-1"],
    ]


def test_a_batch_is_grouped_by_kind(batch: Any) -> None:
    table = xb.breakdown(batch, by=["run", "reason_detail"]).set_index(["run", "reason_detail"])
    assert table.loc[("a", "sibling_value"), "incorrect"] == 1
    assert table["rows"].sum() == batch.fields["counted"].sum()


def test_saved_batches_do_not_hold_the_column_and_have_it_when_loaded(
    batch: Any, tmp_path: Path
) -> None:
    batch.save(tmp_path)
    assert "reason_detail" not in pd.read_parquet(tmp_path / "fields.parquet").columns
    pd.testing.assert_frame_equal(xb.load_evaluations(tmp_path).fields, batch.fields)
    columns = batch.columns()
    described = columns.loc[columns["frame"] == "fields", "column"].tolist()
    assert described == batch.fields.columns.tolist()


def test_one_evaluation_is_written_with_the_column(tmp_path: Path) -> None:
    ev = xb.evaluate(SCHEMA, GOLD, changed(total=12500.0))
    ev.to_parquet(tmp_path)
    written = pd.read_parquet(tmp_path / "fields.parquet")["reason_detail"]
    assert written.dropna().tolist() == ["power_of_ten:3"]


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
    assert kind.partition(":")[0] in KIND_NAMES


@settings(max_examples=60, deadline=None)
@given(VALUES, VALUES)
def test_the_column_changes_nothing_else(gold: Any, predicted: Any) -> None:
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
    summary = ev.summary
    records = RECORD_COLUMNS.from_rows(field_rows(in_order(ev.records)))
    pd.testing.assert_frame_equal(ev.fields.drop(columns="reason_detail"), records)
    pd.testing.assert_series_equal(ev.summary, summary)
    assert ev.fields.columns.tolist() == FIELD_COLUMNS.names
    wrong = ev.fields["outcome"].isin(["incorrect", "structural", "omission", "hallucination"])
    assert wrong[ev.fields["reason_detail"].notna()].all()


@pytest.mark.parametrize(
    "gold, predicted, kind",
    [
        ("a " * 500_000, "b " * 500_000, "other"),
        ("1" * 30_000, "1" * 29_999 + "2", "digit"),
        ("((((" * 9_000, "[[[[" * 9_000, "writing"),
        ("a-" * 19_000, "-a" * 18_999 + "b", "other"),
        (10**4_000, 10**4_001, "other"),
        (float("nan"), 5.0, "other"),
        (float("inf"), -5.0, "other"),
        (1e308, 1e-308, "power_of_ten:-616"),
    ],
)
def test_hostile_values(gold: Any, predicted: Any, kind: str) -> None:
    assert mismatch_kind(gold, predicted) == kind


def test_frames_that_lack_run_and_document_are_of_one_document() -> None:
    frame = pd.DataFrame(
        {"path": ["$.a"], "outcome": ["incorrect"], "gold": [1.5], "predicted": [15]}
    )
    assert reason_details(frame) == ["power_of_ten:1"]
    assert reason_details(frame.head(0)) == []


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
    found = ["sibling_value", "extra_text", None, "extra_text", "other", None, "other_item"]
    found.append("null_word")
    assert reason_details(frame) == found
    mixed = pd.concat([frame.assign(document=name) for name in "ab"]).sort_index(kind="stable")
    assert reason_details(mixed) == [kind for kind in found for _ in "ab"]


# --- the documented rates ---------------------------------------------------------------------


def test_the_page_has_the_tables_that_the_script_computes() -> None:
    page = measure_mismatches.PAGE.read_text("utf-8")
    for name, table in measure_mismatches.tables().items():
        assert measure_mismatches.with_table(page, name, table) == page, name


@pytest.mark.skipif(
    not {"EXTRACTBENCH_RUNS", "EXTRACTBENCH_DATASET"} <= set(os.environ), reason="needs real data"
)
def test_the_table_of_real_mismatches_is_checked_with_the_data() -> None:
    assert "real" in measure_mismatches.tables()


@given(
    *[st.lists(st.sampled_from(["aa", "ab", "ba", "of", "Aa.", "12", "1.2", "dr"]), max_size=6)]
    * 2,
    st.sampled_from([" ", "-", ", "]),
)
@settings(max_examples=300)
def test_texts_of_the_same_few_words_have_a_kind(
    gold: list[str], predicted: list[str], between: str
) -> None:
    texts = between.join(gold), between.join(predicted)
    assert mismatch_kind(*texts).partition(":")[0] in KIND_NAMES


def test_a_word_more_often_is_no_typo() -> None:
    assert mismatch_kind("anna and bela and cleo", "anna anna bela and cleo") == "other"
