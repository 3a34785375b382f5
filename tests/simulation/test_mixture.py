"""Several corruptions of one document: none where another was, all of them told."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import extractbench_nb as xb
from extractbench_nb.errors import InputError
from extractbench_nb.extraction.parsing import Conformance, touches
from extractbench_nb.simulation.catalogue import CORRUPTIONS
from extractbench_nb.simulation.corrupt import corrupt_document, corrupt_mixed, corrupt_several_ways
from extractbench_nb.simulation.documents import Document, pool_of

TEXT, NUMBER = {"type": "string"}, {"type": "number"}


def an_object(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties}


def an_array(items: Any) -> dict[str, Any]:
    return {"type": "array", "items": items}


SCHEMA = an_object(
    title=TEXT,
    total=NUMBER,
    note={"type": ["string", "null"]},
    buyer=an_object(city=TEXT),
    tags=an_array(TEXT),
    people=an_array(an_object(name=TEXT, roles=an_array(TEXT))),
)
GOLD = {
    "title": "Loan of 6 April 2031",
    "total": 1234.5,
    "note": None,
    "buyer": {"city": "New York"},
    "tags": ["red one", "blue two", "green three"],
    "people": [
        {"name": "Ann Lee", "roles": ["lender", "paying agent"]},
        {"name": "Bo Ek", "roles": ["borrower"]},
    ],
}
DONOR = {"title": "Bond", "total": 9, "note": "paid", "tags": ["grey"], "people": []}


def made(rates: dict[str, float], **options: Any) -> Any:
    return corrupt_mixed(SCHEMA, GOLD, rates, **{"donors": [DONOR], **options})


def paths(found: Any) -> dict[str, str]:
    return dict(zip(found.record["path"], found.record["corruption"], strict=True))


@pytest.mark.parametrize(
    "rates, expected",
    [
        pytest.param(
            {"drop_items": 1, "case": 1},
            {
                "$.title": "case",
                "$.buyer.city": "case",
                "$.tags[0]": "drop_items",
                "$.tags[1]": "drop_items",
                "$.tags[2]": "drop_items",
                "$.people[0]": "drop_items",
                "$.people[1]": "drop_items",
            },
            id="nothing inside a dropped item",
        ),
        pytest.param(
            {"omit": 1, "typo": 1, "sign": 1},
            {
                "$.title": "typo",
                "$.total": "sign",
                "$.buyer.city": "typo",
                "$.tags[0]": "typo",
                "$.tags[1]": "typo",
                "$.tags[2]": "typo",
                "$.people[0].name": "typo",
                "$.people[0].roles[0]": "typo",
                "$.people[0].roles[1]": "typo",
                "$.people[1].name": "omit",
                "$.people[1].roles[0]": "typo",
            },
            id="the first that applies: no word of three letters in Bo Ek",
        ),
        pytest.param(
            {"wrong_nesting": 1, "null_out": 1},
            {
                "$.title": "null_out",
                "$.total": "null_out",
                "$.buyer": "wrong_nesting",
                "$.tags": "wrong_nesting",
                "$.people": "wrong_nesting",
            },
            id="nothing inside what is at a wrong level",
        ),
        pytest.param(
            {"spurious_items": 1, "hallucinate": 1},
            {
                "$.note": "hallucinate",
                "$.tags[0]": "spurious_items",
                "$.tags[1]": "spurious_items",
                "$.tags[2]": "spurious_items",
            },
            id="where a donor has something",
        ),
        pytest.param({}, {}, id="nothing"),
        pytest.param({"typo": 0.0}, {}, id="at no place"),
    ],
)
def test_each_place_has_one_change(rates: dict[str, float], expected: dict[str, str]) -> None:
    assert paths(made(rates)) == expected


def test_a_merged_item_takes_the_next_one_along() -> None:
    found = made({"merge_items": 1})
    assert found.value["tags"] == ["red one blue two", "green three"]
    assert [p for p in paths(found) if p.startswith("$.tags")] == ["$.tags[0]"]


def test_items_of_one_array_have_different_fates() -> None:
    items = [f"word{i} other{i}" for i in range(60)]
    names = ["drop_items", "duplicate_items", "split_items", "merge_items", "shuffle_items", "case"]
    schema = an_object(tags=an_array(TEXT))
    found = corrupt_mixed(schema, {"tags": items}, dict.fromkeys(names, 0.2), strength=1)
    told = paths(found)
    assert set(told.values()) == set(names)
    # the record says what became of every item: written out by hand it is the document
    expected, moved = [], []
    for i, item in enumerate(items):
        fate = told.get(f"$.tags[{i}]")
        if fate == "shuffle_items":
            moved.append(item)
        elif i and told.get(f"$.tags[{i - 1}]") == "merge_items":
            continue
        else:
            expected += {
                None: [item],
                "case": [item.swapcase()],
                "drop_items": [],
                "duplicate_items": [item, item],
                "split_items": item.split(),
                "merge_items": [f"{item} {items[min(i + 1, 59)]}"],
            }[fate]
    assert sorted(found.value["tags"]) == sorted(expected + moved)
    shuffled = found.record[found.record["corruption"] == "shuffle_items"]
    assert sorted(shuffled["before"]) == sorted(shuffled["after"]) == sorted(moved)
    assert all(shuffled["before"] != shuffled["after"])


def test_one_corruption_alone_is_what_corrupt_document_does() -> None:
    for name, corruption in CORRUPTIONS.items():
        if corruption.level in ("value", "presence"):
            alone = corrupt_document(SCHEMA, GOLD, name, 0.5, donors=[DONOR], seed=3)
            mixed = made({name: 0.5}, seed=3)
            assert mixed.value == alone.value, name
            assert paths(mixed) == paths(alone), name


RATES = st.dictionaries(st.sampled_from(sorted(CORRUPTIONS)), st.floats(0, 1), max_size=8)


@given(RATES, st.integers(0, 50))
def test_the_record_is_exact(rates: dict[str, float], seed: int) -> None:
    before = json.dumps(GOLD)
    found = made(rates, seed=seed)
    assert json.dumps(GOLD) == before
    assert found.record["path"].is_unique
    assert set(found.record["corruption"]) <= set(rates)
    assert made(rates, seed=seed).value == found.value
    # nothing lies inside another change, but in items that moved or have another one after them
    closed = found.record[~found.record["corruption"].isin(["shuffle_items", "spurious_items"])]
    for path in closed["path"]:
        inside = [p for p in found.record["path"] if p.startswith((f"{path}.", f"{path}["))]
        assert not inside, (path, inside)
    if found.record.empty:
        assert found.value == GOLD


@given(RATES, st.integers(0, 50))
def test_what_is_not_in_the_record_is_as_in_gold(rates: dict[str, float], seed: int) -> None:
    found = made(rates, seed=seed)
    told = set(found.record["path"])
    for name in ("title", "total", "note"):
        if f"$.{name}" not in told and "wrong_nesting" not in set(found.record["corruption"]):
            assert found.value[name] == GOLD[name]


STRICT = {
    "type": "object",
    "required": ["id", "state"],
    "properties": {
        "id": {"type": "string", "pattern": "^[A-Z]{3}$"},
        "state": {"enum": ["open", "closed"]},
        "note": TEXT,
        "rows": {
            "type": "array",
            "minItems": 2,
            "items": {"type": "object", "required": ["k"], "properties": {"k": TEXT, "v": TEXT}},
        },
    },
}
STRICT_GOLD = {
    "id": "ABC",
    "state": "open",
    "note": "paid in full",
    "rows": [{"k": f"key {i}", "v": f"value {i}"} for i in range(6)],
}


@given(RATES, st.integers(0, 50))
def test_what_the_schema_does_not_allow_is_taken_back(rates: dict[str, float], seed: int) -> None:
    schema = xb.parse_schema(STRICT)
    donors = [pool_of(schema.root, {"id": "XYZ", "state": "closed", "rows": [{"k": "new key"}]})]
    allowed = Conformance(schema, STRICT_GOLD)
    document = Document(schema.root, STRICT_GOLD)
    changes = corrupt_several_ways(document, rates, str(seed), (1.0, donors), allowed)
    assert not allowed.faults(document.value)
    names = {change.corruption for change in changes}
    assert not names & {"wrong_nesting", "wrong_type"}
    assert (document.value == STRICT_GOLD) or changes


@pytest.mark.parametrize("name", ["drop_items", "split_items", "omit", "case"])
def test_taking_back_goes_no_further_than_it_must(name: str) -> None:
    schema = xb.parse_schema(STRICT)
    allowed = Conformance(schema, STRICT_GOLD)
    document = Document(schema.root, STRICT_GOLD)
    changes = corrupt_several_ways(document, {name: 1}, "0", (1.0, []), allowed)
    assert not allowed.faults(document.value)
    told = sorted(change.place.path for change in changes)
    rows = [f"$.rows[{i}]" for i in range(6)]
    assert (
        told
        == {
            "drop_items": [],  # two rows must stay, and which ones nobody says
            "split_items": [],  # the second half has no key
            "omit": ["$.note", *(f"{row}.v" for row in rows)],
            "case": ["$.note", *sorted(f"{row}.{key}" for row in rows for key in "kv")],
        }[name]
    )


def test_a_violation_of_gold_is_allowed() -> None:
    gold = {**STRICT_GOLD, "id": "no such id"}
    allowed = Conformance(xb.parse_schema(STRICT), gold)
    assert not allowed.faults(gold)
    assert not allowed.faults({**gold, "id": "another"})
    assert [where for where, _ in allowed.faults({**gold, "state": "lost"})] == [("state",)]


@pytest.mark.parametrize(
    "one, other, expected",
    [
        ((), ("a",), True),
        (("a", 1), ("a",), True),
        (("a", 1), ("a", 2), False),
        (("a",), ("b", "a"), False),
    ],
)
def test_locations_touch(one: Any, other: Any, expected: bool) -> None:
    assert touches(one, other) is touches(other, one) is expected


@pytest.mark.parametrize(
    "rates, message",
    [
        ({"typos": 0.1}, "did you mean 'typo'"),
        ({"typo": 1.5}, r"rates\['typo'\]=1.5; expected a number from 0 to 1"),
        ({"typo": True}, "expected a number from 0 to 1"),
        (["typo"], "expected a dict"),
    ],
)
def test_bad_rates(rates: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        corrupt_mixed(SCHEMA, GOLD, rates)
