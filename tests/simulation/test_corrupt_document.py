"""A corrupted document: what was done is what was asked for, and all of it is recorded."""

import copy
import json
from typing import Any

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import extractbench_nb as xb
from extractbench_nb.errors import InputError, SchemaError
from extractbench_nb.simulation.document_corruptions import (
    CORRUPTION_COLUMNS,
    CORRUPTIONS,
    RECORD_COLUMNS,
    corrupt_document,
    corruptions,
)

TEXT, NUMBER = {"type": "string"}, {"type": "number"}


def an_object(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties}


def an_array(items: Any, **more: Any) -> dict[str, Any]:
    return {"type": "array", "items": items, **more}


PERSON = an_object(name=TEXT, age={"type": ["integer", "null"]})
SCHEMA = an_object(
    title=TEXT,
    total=NUMBER,
    note={"anyOf": [TEXT, {"type": "null"}]},
    buyer=an_object(city=TEXT, active={"type": "boolean"}),
    tags=an_array(TEXT),
    people=an_array(PERSON),
    secret={**TEXT, "evaluation_config": "skip"},
)
GOLD = {
    "title": "Loan of 6 April 2031",
    "total": 1234.5,
    "note": None,
    "buyer": {"city": "New York", "active": True},
    "tags": ["red", "pale blue"],
    "people": [{"name": "Ann Lee", "age": 40}, {"name": "Bo Ek", "age": None}],
    "secret": "Ann 12",
    "undeclared": "Ann 12",
}
DONOR = {
    "title": "Another title",
    "total": 99,
    "note": "paid",
    "buyer": {"city": "Oslo", "active": False},
    "tags": ["green"],
    "people": [{"name": "Cy Dee", "age": 7}],
}


def made(name: str, rate: float = 1.0, **options: Any) -> Any:
    return corrupt_document(SCHEMA, GOLD, name, rate, **{"donors": [DONOR], **options})


def changed(name: str) -> dict[str, Any]:
    """What differs from gold at rate 1."""
    found = made(name).value
    return {key: found.get(key) for key in {**GOLD, **found} if found.get(key) != GOLD.get(key)}


@pytest.mark.parametrize(
    "name, expected",
    [
        (
            "sign",
            {
                "total": -1234.5,
                "people": [{"name": "Ann Lee", "age": -40}, {"name": "Bo Ek", "age": None}],
            },
        ),
        ("date_format", {"title": "Loan of April 6, 2031"}),
        (
            "null_out",
            {
                "title": None,
                "total": None,
                "buyer": {"city": None, "active": None},
                "people": [{"name": None, "age": None}] * 2,
            },
        ),
        ("omit", {"title": None, "total": None, "buyer": {}, "people": [{}, {"age": None}]}),
        (
            "substitute",
            {
                "title": "Another title",
                "total": 99,
                "buyer": {"city": "Oslo", "active": False},
                "tags": ["green", "green"],
                "people": [{"name": "Cy Dee", "age": 7}, {"name": "Cy Dee", "age": None}],
            },
        ),
        (
            "hallucinate",
            {
                "note": "paid",
                "people": [{"name": "Ann Lee", "age": 40}, {"name": "Bo Ek", "age": 7}],
            },
        ),
        ("drop_items", {"tags": [], "people": []}),
        ("shuffle_items", {"tags": GOLD["tags"][::-1], "people": GOLD["people"][::-1]}),
        (
            "duplicate_items",
            {
                "tags": ["red", "red", "pale blue", "pale blue"],
                "people": [person for person in GOLD["people"] for _ in range(2)],
            },
        ),
        (
            "split_items",
            {
                "tags": ["red", "pale", "blue"],
                "people": [{"name": "Ann Lee"}, {"age": 40}, {"name": "Bo Ek"}, {"age": None}],
            },
        ),
        (
            "merge_items",
            {"tags": ["red pale blue"], "people": [{"name": "Ann Lee Bo Ek", "age": 40}]},
        ),
        (
            "spurious_items",
            {
                "tags": ["red", "green", "pale blue", "green"],
                "people": [
                    GOLD["people"][0],
                    DONOR["people"][0],
                    GOLD["people"][1],
                    DONOR["people"][0],
                ],
            },
        ),
        (
            "wrong_type",
            {
                "title": ["Loan of 6 April 2031"],
                "total": "1234.5",
                "buyer": {"city": ["New York"], "active": "true"},
                "tags": [["red"], ["pale blue"]],
                "people": [{"name": ["Ann Lee"], "age": "40"}, {"name": ["Bo Ek"], "age": None}],
            },
        ),
    ],
)
def test_everything_that_can_be_corrupted_is(name: str, expected: dict[str, Any]) -> None:
    assert changed(name) == expected


@pytest.mark.parametrize("name", CORRUPTIONS)
def test_gold_is_left_alone_and_shares_nothing(name: str) -> None:
    gold = copy.deepcopy(GOLD)
    found = corrupt_document(SCHEMA, gold, name, 0.5, donors=[DONOR])
    assert gold == GOLD
    ours = {id(part) for part in parts(gold)}
    assert ours.isdisjoint(id(part) for part in parts(found.value))
    cells = [*found.record["before"], *found.record["after"]]
    assert ours.isdisjoint(id(part) for cell in cells for part in parts(cell))


def parts(value: Any) -> Any:
    if isinstance(value, dict | list):
        yield value
        for part in value.values() if isinstance(value, dict) else value:
            yield from parts(part)


@pytest.mark.parametrize("name", CORRUPTIONS)
def test_nothing_is_done_at_rate_0(name: str) -> None:
    found = made(name, 0)
    assert found.value == GOLD
    assert found.record.empty
    assert found.record.columns.tolist() == RECORD_COLUMNS.names


MANY_SCHEMA = an_object(rows=an_array(an_object(name=TEXT, day=TEXT, total=NUMBER, note=TEXT)))


def many(word: str, n: int = 60) -> dict[str, Any]:
    return {
        "rows": [
            {
                "name": f"{word} Street {i} and Company",
                "day": f"2031-04-{1 + i % 28:02}",
                "total": 1000 + 7 * i,
                "note": None if i % 2 else f"{i} million",
            }
            for i in range(n)
        ]
    }


OUT_OF_STEP = {"shuffle_items", "merge_items"}  # what stands in a place depends on others


@pytest.mark.parametrize("name", sorted(CORRUPTIONS))
def test_a_place_corrupted_at_one_rate_is_corrupted_so_at_every_higher_one(name: str) -> None:
    donors = [many("Elm"), many("Ash")]
    records = [
        corrupt_document(MANY_SCHEMA, many("Oak"), name, rate, donors=donors).record
        for rate in (0.1, 0.4, 1.0)
    ]
    few, more, all_of_them = (
        {path: json.dumps(after) for path, after in zip(r["path"], r["after"], strict=True)}
        for r in records
    )
    assert 0 < len(few) < len(more) < len(all_of_them)
    if name in OUT_OF_STEP:
        assert few.keys() <= more.keys() <= all_of_them.keys()
    else:
        assert few.items() <= more.items() <= all_of_them.items()


def test_the_record() -> None:
    record = made("drop_items").record
    assert record["path"].tolist() == ["$.tags[0]", "$.tags[1]", "$.people[0]", "$.people[1]"]
    assert record["field"].tolist() == ["tags[]", "tags[]", "people[]", "people[]"]
    assert record["item"].tolist() == [0, 1, 0, 1]
    assert record["before"].tolist() == [*GOLD["tags"], *GOLD["people"]]
    assert set(record["corruption"]) == {"drop_items"}
    assert record.dtypes.astype(str).tolist() == [c.dtype for c in RECORD_COLUMNS.columns]
    assert repr(made("drop_items")) == "Corrupted(4 changes: drop_items)"
    merged = made("merge_items").record.iloc[0]
    assert merged[["path", "before", "after"]].tolist() == [
        "$.tags[0]",
        ["red", "pale blue"],
        "red pale blue",
    ]


def test_only_what_gold_does_not_have_is_invented() -> None:
    assert made("spurious_items", donors=[GOLD]).record.empty
    swapped = made("substitute", donors=[GOLD]).record[["before", "after"]].to_numpy().tolist()
    assert swapped == [*permuted("red", "pale blue"), *permuted("Ann Lee", "Bo Ek")]


def permuted(one: str, other: str) -> list[list[str]]:
    return [[one, other], [other, one]]


def test_tuples_maps_unions_and_references() -> None:
    schema = {
        **an_object(
            pair={"type": "array", "prefixItems": [TEXT, NUMBER]},
            by_name={"type": "object", "additionalProperties": {"$ref": "#/$defs/word"}},
            either={"anyOf": [an_array(TEXT), TEXT]},
            anything={},
        ),
        "$defs": {"word": TEXT},
    }
    gold = {
        "pair": ["abc", 1],
        "by_name": {"x.y": "def", "q'": "ghi"},
        "either": ["jkl", "mno"],
        "anything": "pqr",
    }
    record = corrupt_document(schema, gold, "case", 1).record
    assert record["path"].tolist() == [
        "$.pair[0]",
        "$.by_name['x.y']",
        "$.by_name['q\\'']",
        "$.either[0]",
        "$.either[1]",
    ]
    assert record["field"].tolist()[1:4] == ["by_name.*", "by_name.*", "either[]"]
    dropped = corrupt_document(schema, gold, "drop_items", 1).value
    assert dropped == {**gold, "either": []}  # the places of a tuple have a meaning each


RECURSIVE = {"$ref": "#/$defs/n", "$defs": {"n": an_object(word=TEXT, n={"$ref": "#/$defs/n"})}}


@pytest.mark.parametrize("name", ["typo", "omit", "hallucinate", "drop_items"])
def test_a_document_may_be_nested_deeper_than_python_recurses(name: str) -> None:
    gold: dict[str, Any] = {"word": "bottom"}
    for _ in range(1_500):
        gold = {"word": "level", "n": gold}
    found = corrupt_document(RECURSIVE, gold, name, 0.5, donors=[{"n": {"n": {"word": "x"}}}])
    assert len(found.record) > 100 or name in ("hallucinate", "drop_items")
    assert gold["word"] == "level"


@pytest.mark.parametrize("name", CORRUPTIONS)
def test_hostile_content(name: str) -> None:
    nasty = ["\ud800", "<script>alert(1)</script>", "a\nb | c", "\x00", "x" * 50_000, "", " "]
    gold = {
        "tags": nasty,
        "buyer": {"city": "\udfff 12", "active": False},
        "total": float("nan"),
        "people": [{"name": word, "age": 10**400} for word in nasty],
    }
    donor = {**gold, "tags": ["\ud801"], "title": "\ud802", "total": float("inf")}
    found = corrupt_document(SCHEMA, gold, name, 1, donors=[donor])
    assert len(found.record.columns) == len(RECORD_COLUMNS.names)
    if name not in ("drop_items", "omit"):
        assert found.value["tags"] or found.value["people"]


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.sampled_from([*SCHEMA["properties"], "name", "x"]), inner, max_size=4)
    ),
    max_leaves=20,
)


@given(gold=VALUES, name=st.sampled_from(sorted(CORRUPTIONS)), rate=st.floats(0, 1))
@settings(max_examples=200, deadline=None)
def test_any_gold_under_a_schema_that_it_does_not_fit(gold: Any, name: str, rate: float) -> None:
    source = json.loads(json.dumps(gold)) if isinstance(gold, dict | list) else [gold]
    before = copy.deepcopy(source)
    found = corrupt_document(SCHEMA, source, name, rate, donors=[GOLD, before])
    assert json.dumps(source) == json.dumps(before)
    if found.record.empty:
        assert json.dumps(found.value) == json.dumps(before)
    json.dumps(found.value)


OUTCOMES = {
    "omit": "omission",
    "null_out": "omission",
    "hallucinate": "hallucination",
    "wrong_type": "structural",
    "sign": "incorrect",
    "substitute": "incorrect",
}


@pytest.mark.parametrize("name", OUTCOMES)
@pytest.mark.parametrize("rate", [0.2, 0.7])
def test_the_evaluator_finds_what_was_injected_and_nothing_else(name: str, rate: float) -> None:
    leaf = {**TEXT, "evaluation_config": "string_exact"}
    keys = [f"k{i}" for i in range(40)]
    fields = {key: leaf if i % 2 else NUMBER for i, key in enumerate(keys)}
    schema = an_object(one=an_object(**fields), two=an_object(**fields))
    gold = {
        part: {
            key: None if i % 5 == 0 else f"{part} {i}" if i % 2 else i for i, key in enumerate(keys)
        }
        for part in ("one", "two")
    }
    donor = {"one": {key: "other" if i % 2 else -1 for i, key in enumerate(keys)}}
    donor["two"] = donor["one"]
    found = corrupt_document(schema, gold, name, rate, donors=[donor])
    fields = xb.evaluate(schema, gold, found.value).fields
    wrong = fields[~fields["outcome"].isin(["correct", "both_absent"])]
    assert len(wrong) > 2
    assert set(wrong["outcome"]) == {OUTCOMES[name]}
    assert sorted(wrong["path"]) == sorted(found.record["path"])


def test_several_corruptions_apply_one_after_another() -> None:
    both = made({"drop_items": 1, "case": 1, "hallucinate": 1, "null_out": 1})
    assert both.record["corruption"].unique().tolist() == [
        *("hallucinate", "case", "null_out", "drop_items")
    ]
    assert both.value["title"] is both.value["note"] is None  # what was invented, too
    assert (both.value["tags"], both.value["people"]) == ([], [])
    for name in CORRUPTIONS:  # one of several is what it is alone
        pd.testing.assert_frame_equal(
            made({name: 0.5}, seed=3).record, made(name, 0.5, seed=3).record
        )
    assert made({}).value == GOLD


def test_the_list_of_corruptions() -> None:
    listed = corruptions()
    assert listed.columns.tolist() == CORRUPTION_COLUMNS.names
    assert listed["corruption"].tolist() == list(CORRUPTIONS)
    assert set(listed["level"]) == {"value", "presence", "item", "structure"}
    assert set(listed["meaning"]) == {"kept", "unclear", "changed"}


@pytest.mark.parametrize(
    "change, error, said",
    [
        ({"corruption": "tpyo"}, InputError, "corruption is 'tpyo'; did you mean 'typo'"),
        ({"rate": 1.1}, InputError, "rate=1.1; it is a share from 0 to 1"),
        ({"rate": float("nan")}, InputError, "rate=nan"),
        ({"rate": True}, InputError, "rate=True"),
        ({"corruption": {"typos": 0.1}}, InputError, "did you mean 'typo'"),
        ({"corruption": {"typo": 1.5}}, InputError, "rate=1.5; it is a share from 0 to 1"),
        ({"corruption": {3: 0.1}}, InputError, "corruption is 3"),
        ({"strength": 2}, InputError, "strength=2; it is a share from 0 to 1"),
        ({"gold": "{"}, InputError, "gold text is not JSON"),
        ({"gold": {"title": {1, 2}}}, InputError, r"gold at \$.title is a set"),
        ({"schema": {"type": "strnig"}}, SchemaError, "strnig"),
    ],
)
def test_bad_input(change: dict[str, Any], error: type[Exception], said: str) -> None:
    options = {"schema": SCHEMA, "gold": GOLD, "corruption": "typo", **change}
    with pytest.raises(error, match=said):
        corrupt_document(**options)
