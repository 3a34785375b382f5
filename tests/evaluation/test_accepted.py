"""Accepted alternatives: which reading scores, in every kind of place; errors; properties."""

from __future__ import annotations

import asyncio
import json
import re
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import extractbench_nb as xb
from extractbench_nb.core.text.judging import JudgeCall, Question, Verdict

EXACT = {"type": ["string", "null"], "evaluation_config": "string_exact"}
NUMBER = {"type": ["number", "null"]}


def obj(**properties: Any) -> dict[str, Any]:
    return {"type": ["object", "null"], "properties": properties}


def arr(items: Any) -> dict[str, Any]:
    return {"type": ["array", "null"], "items": items}


SCHEMA = obj(
    country=EXACT,
    total=NUMBER,
    vendor=obj(name=EXACT, city=EXACT),
    tags=arr({"type": "string", "evaluation_config": "string_exact"}),
    lines=arr({**obj(what=EXACT, amount=NUMBER, codes=arr(EXACT)), "type": "object"}),
    either={"anyOf": [{"type": "number"}, obj(low=NUMBER, high=NUMBER)]},
    prices={"type": "object", "additionalProperties": NUMBER},
    words={"type": "array", "items": {"type": "string"}, "evaluation_config": "set_f1"},
)
GOLD = {
    "country": "USA",
    "total": 3,
    "vendor": {"name": "A", "city": "X"},
    "tags": ["red", "blue"],
    "lines": [
        {"what": "pen", "amount": 1, "codes": ["p", "q"]},
        {"what": "ink", "amount": 2, "codes": []},
    ],
    "either": 7,
    "prices": {"in store": 5, "web": 4},
    "words": ["a", "b"],
}


def changed(**values: Any) -> dict[str, Any]:
    return {**GOLD, **values}


#: A prediction, the path and value of an alternative, and rows of fields: path to outcome and
#: accepted_as.
CASES: dict[str, tuple[Any, str, Any, dict[str, tuple[str, str | None]]]] = {
    "a value": (
        changed(country="United States"),
        "$.country",
        "United States",
        {"$.country": ("correct", '"United States"')},
    ),
    "gold first": (GOLD, "$.country", "United States", {"$.country": ("correct", None)}),
    "neither": (changed(country="UK"), "$.country", "US", {"$.country": ("incorrect", None)}),
    "may be absent: null": (changed(total=None), "$.total", None, {"$.total": ("correct", "null")}),
    "may be absent: missing": (
        {key: GOLD[key] for key in GOLD if key != "total"},
        "$.total",
        None,
        {"$.total": ("correct", "null")},
    ),
    "may be absent, and is wrong": (
        changed(total=9),
        "$.total",
        None,
        {"$.total": ("incorrect", None)},
    ),
    "a scalar item": (
        changed(tags=["blue", "crimson"]),
        "$.tags[0]",
        "crimson",
        {"$.tags": ("correct", None), "$.tags[0]": ("correct", '"crimson"')},
    ),
    "an item": (
        changed(lines=[GOLD["lines"][1], {"what": "quill", "amount": 8}]),
        "$.lines[0]",
        {"what": "quill", "amount": 8},
        {"$.lines": ("correct", None), "$.lines[0].what": ("correct", '"quill"')},
    ),
    "a value in an item": (
        changed(lines=[{"what": "Tinte", "amount": 2, "codes": []}, GOLD["lines"][0]]),
        "$.lines[1].what",
        "Tinte",
        {"$.lines": ("correct", None), "$.lines[1].what": ("correct", '"Tinte"')},
    ),
    "a value in an array in an item": (
        changed(lines=[GOLD["lines"][1], {"what": "pen", "amount": 1, "codes": ["r", "p"]}]),
        "$.lines[0].codes[1]",
        "r",
        {"$.lines": ("correct", None), "$.lines[0].codes[1]": ("correct", '"r"')},
    ),
    "an entry of a map": (
        changed(prices={"in store": 6, "web": 4}),
        "$.prices['in store']",
        6,
        {"$.prices['in store']": ("correct", "6"), "$.prices['web']": ("correct", None)},
    ),
}


@pytest.mark.parametrize("profile", ["paper", "strict"])
@pytest.mark.parametrize("name", CASES)
def test_the_best_reading_scores(name: str, profile: str) -> None:
    predicted, path, value, expected = CASES[name]
    accepted = [{"path": path, "value": value}]
    ev = xb.evaluate(SCHEMA, GOLD, predicted, accepted=accepted, profile=profile)
    rows = ev.fields.set_index("path")
    found = {
        at: (rows.outcome[at], None if rows.accepted_as[at] is pd.NA else rows.accepted_as[at])
        for at in expected
    }
    assert found == expected
    before = xb.evaluate(SCHEMA, GOLD, predicted, profile=profile)
    assert before.fields["accepted_as"].isna().all()
    assert ev.summary["pass_rate"] >= before.summary["pass_rate"]
    if rows["accepted_as"].isna().all():
        pd.testing.assert_frame_equal(ev.fields, before.fields)


def letters(text: str) -> dict[str, str]:
    return dict(zip("abc", text, strict=False))


#: Gold, predicted, path and value of an alternative, pairs with their similarity.
PAIRS: dict[str, tuple[list[str], list[str], str, Any, list[tuple[int, int, float]]]] = {
    "a value": (["y1", "x1"], ["p1"], "$.r[0].a", "p", [(0, 0, 1.0)]),
    "an item, of the nearest partner": (
        ["111"], ["999", "228"], "$.r[0]", letters("222"), [(0, 1, 2 / 3)],
    ),
}  # fmt: skip


@pytest.mark.parametrize("gold, predicted, path, value, expected", PAIRS.values(), ids=PAIRS)
def test_an_alternative_finds_the_partner(
    gold: list[str], predicted: list[str], path: str, value: Any, expected: Any
) -> None:
    schema = obj(r=arr(obj(**dict.fromkeys("abc", EXACT))))
    sides = ({"r": [letters(text) for text in side]} for side in (gold, predicted))
    ev = xb.evaluate(schema, *sides, accepted=[{"path": path, "value": value}])
    rows = ev.matches.dropna(subset=["gold_index", "predicted_index"])
    found = rows[["gold_index", "predicted_index", "similarity"]].to_numpy().tolist()
    assert found == [pytest.approx(list(pair)) for pair in expected]


@pytest.mark.parametrize("gold, predicted", [("yes", True), (True, "yes"), (True, 1), (1, "yes")])
def test_values_that_mean_the_same_may_be_of_another_type(gold: Any, predicted: Any) -> None:
    config = {"metric_id": "string_exact", "accepted": [["yes", True, 1]]}
    schema = obj(a={"type": ["string", "boolean", "number"], "evaluation_config": config})
    assert xb.evaluate(schema, {"a": gold}, {"a": predicted}).fields["passed"].tolist() == [True]


def test_gold_stays_gold_in_the_row() -> None:
    accepted = [{"path": "$.country", "value": "U.S.A"}, {"path": "$.total", "value": 33}]
    ev = xb.evaluate(SCHEMA, GOLD, changed(country="U.S.A", total=330), accepted=accepted)
    rows = ev.fields.set_index("path")
    assert rows.loc["$.country", ["gold", "predicted"]].tolist() == ["USA", "U.S.A"]
    assert rows.loc["$.total", "gold"] == 3
    assert rows.loc["$.total", "outcome"] == "incorrect"
    assert "1 field read as an accepted alternative" in repr(ev)


def test_an_item_as_a_whole_is_named_in_matches() -> None:
    predicted, path, value, _ = CASES["an item"]
    ev = xb.evaluate(SCHEMA, GOLD, predicted, accepted=[{"path": path, "value": value}])
    rows = ev.matches.query("path == '$.lines'").set_index("gold_index")
    assert json.loads(rows.accepted_as[0]) == value
    assert rows.accepted_as[1] is pd.NA
    assert rows.status.tolist() == ["matched", "matched"]


MAP_OF_ARRAYS = {"type": "object", "additionalProperties": arr(EXACT)}
OTHER_ITEMS = [
    # schema, gold, prediction, path and value of an alternative
    (
        {"anyOf": [MAP_OF_ARRAYS, arr(EXACT)], "evaluation_config": "array_llm"},
        {"k": ["x", "y"], "l": ["z"]},
        {"k": ["y", "Q"], "l": ["z"]},
        "$['k'][0]",
        "Q",
    ),
    ({"type": "array", "prefixItems": [EXACT, EXACT]}, ["a", "b"], ["x", "b"], "$[0]", "x"),
]


@pytest.mark.parametrize("schema, gold, predicted, path, value", OTHER_ITEMS)
@pytest.mark.parametrize("profile", ["paper", "strict"])
def test_items_of_maps_and_tuples(
    schema: Any, gold: Any, predicted: Any, path: str, value: Any, profile: str
) -> None:
    accepted = [{"path": path, "value": value}]
    ev = xb.evaluate(schema, gold, predicted, accepted=accepted, profile=profile)
    assert ev.summary["pass_rate"] == 1.0
    assert ev.matches["accepted_as"].dropna().tolist() == [json.dumps(value)]


def test_a_matcher_is_given_the_alternative() -> None:
    seen: list[Any] = []

    def crossed(gold: Any, predicted: Any, node: Any) -> list[tuple[int, int]]:
        seen.extend(gold)
        return [(0, 1), (1, 0)]

    gold, predicted = {"tags": ["red", "blue"]}, {"tags": ["blue", "crimson"]}
    accepted = [{"path": "$.tags[0]", "value": "crimson"}]
    ev = xb.evaluate(SCHEMA, gold, predicted, accepted=accepted, alignment=crossed)
    assert seen == ["crimson", "blue"]
    assert ev.matches[["status", "gold"]].to_numpy().tolist() == [
        ["matched", "red"],
        ["matched", "blue"],
    ]


def test_alternatives_count_in_large_arrays() -> None:
    items = arr({**obj(name=EXACT, code=EXACT), "type": "object"})
    gold = [{"name": f"name {i}", "code": f"c{i % 7}"} for i in range(120)]
    predicted = [
        {"name": f"{i} other", "code": f"c{i % 7}"} if i % 10 == 0 else gold[i]
        for i in reversed(range(120))
    ]
    accepted = [{"path": f"$[{i}].name", "value": f"{i} other"} for i in range(0, 120, 10)]
    assert xb.evaluate(items, gold, predicted).summary["overall_score"] == 0.95
    assert xb.evaluate(items, gold, predicted, accepted=accepted).summary["overall_score"] == 1.0


# --- in the schema ------------------------------------------------------------------------------

CLASSES = [["USA", "United States", None], [1, "one"]]


@pytest.mark.parametrize(
    "gold, predicted, outcome, accepted_as",
    [
        ("USA", "United States", "correct", '"United States"'),
        ("United States", "USA", "correct", '"USA"'),
        ("USA", "USA", "correct", None),
        ("USA", None, "correct", "null"),
        (None, "USA", "correct", '"USA"'),
        ("USA", "UK", "incorrect", None),
        ("UK", "USA", "incorrect", None),
        ("UK", None, "omission", None),
    ],
)
def test_values_that_mean_the_same_in_the_schema(
    gold: Any, predicted: Any, outcome: str, accepted_as: str | None
) -> None:
    config = {"metric_id": "string_exact", "accepted": CLASSES}
    field = {"type": ["string", "null"], "evaluation_config": config}
    row = xb.evaluate(obj(a=field), {"a": gold}, {"a": predicted}).fields.iloc[0]
    found = None if row["accepted_as"] is pd.NA else row["accepted_as"]
    assert (row["outcome"], found) == (outcome, accepted_as)
    rows = arr(obj(a=field, n=NUMBER))
    one, two = [
        [{"a": value, "n": n} for n in order]
        for value, order in ((gold, (1, 2, 3)), (predicted, (3, 1, 2)))
    ]
    ev = xb.evaluate(rows, one, two)
    assert ev.matches["status"].eq("matched").all() == (outcome == "correct")


@pytest.mark.parametrize(
    "kind, classes, message",
    [
        ("string", "USA", "accepted: found 'USA'; expected a list of lists"),
        ("string", ["USA", "US"], "accepted/0: found 'USA'; expected a list of two or more"),
        ("string", [["USA"]], "accepted/0: found \\['USA'\\]; expected a list of two or more"),
        ("string", [["a", ["b"]]], "accepted/0: found .*; expected a list of two or more"),
        ("string", [["a", "b"], ["b", "c"]], "has 'b' twice; expected each value once"),
        ("array", [["a", "b"]], "found at a node of type array; expected it at its values"),
    ],
)
def test_bad_classes_are_refused(kind: str, classes: Any, message: str) -> None:
    config = {"accepted": classes}
    with pytest.raises(xb.ConfigError, match=message):
        xb.schema.parse_schema(obj(a={"type": kind, "evaluation_config": config}))


# --- input --------------------------------------------------------------------------------------

ERRORS = {
    "unknown path": (
        [{"path": "$.contry", "value": "x"}],
        r"row 0 .*'\$.contry'.*did you mean '\$.country'",
    ),
    "not a path": ([{"path": "country", "value": "x"}], r"expected a path as in fields"),
    "odd step": ([{"path": "$.tags[x]", "value": "x"}], r"expected a path as in fields"),
    "type": ([{"path": "$.total", "value": "3"}], r"value is '3', a string; expected number"),
    "an array": (
        [{"path": "$.total", "value": []}],
        r"value is \[\], an array; expected number",
    ),
    "null item": ([{"path": "$.tags[0]", "value": None}], "value is None, a null; expected string"),
    "an object": (
        [{"path": "$.vendor", "value": {"name": "B"}}],
        "row 0 .*'\\$.vendor'.*an object",
    ),
    "a whole array": ([{"path": "$.tags", "value": ["a"]}], "gold has an array there; expected"),
    "the document": ([{"path": "$", "value": {}}], "gold has an object there; expected the path"),
    "set_f1": ([{"path": "$.words[0]", "value": "c"}], "compares the array as a whole"),
    "no path": ([{"value": 3}], "row 0 is .*; expected an object with path and value"),
    "not JSON": ([{"path": "$.total", "value": object()}], "value is <object.*; expected a JSON"),
    "a number": (5, "accepted is a int; expected a frame or a list"),
    "documents": (
        [{"document": d, "path": "$.total", "value": 1} for d in "ab"],
        "rows for 2 documents; select those",
    ),
    "NaN": (pd.DataFrame({"path": ["$.total"], "value": [float("nan")]}), "value is nan; expected"),
    "columns": (pd.DataFrame({"path": ["$.a"]}), "has no column 'value'; it has path"),
}


@pytest.mark.parametrize("name", ERRORS)
def test_one_clear_error(name: str) -> None:
    accepted, message = ERRORS[name]
    with pytest.raises(xb.InputError, match=message):
        xb.evaluate(SCHEMA, GOLD, GOLD, accepted=accepted)


def test_undeclared_places_are_refused() -> None:
    with pytest.raises(xb.InputError, match="the schema does not declare this path"):
        xb.evaluate(obj(a=EXACT), {"b": 1}, {}, accepted=[{"path": "$.b", "value": 2}])


@pytest.mark.parametrize(
    "name, text, message",
    [
        ("a.json", "{}", "is a dict; expected a frame or a list"),
        ("a.json", "[", "is not JSON"),
        ("a.txt", "", "expected a file named .csv or .json"),
        ("a.csv", "path,value\n$.a,USA", "value is 'USA'; expected JSON text"),
        ("a.csv", "path,value\n$.a,", "value is ''; expected JSON text, null"),
        ("a.csv", "path,value\n$.a,1,2", "has more cells"),
        ("none.csv", None, "none.csv"),
    ],
)
def test_bad_files(tmp_path: Path, name: str, text: str | None, message: str) -> None:
    if text is not None:
        (tmp_path / name).write_text(text)
    with pytest.raises(xb.InputError, match=re.escape(message)):
        xb.evaluate(SCHEMA, GOLD, GOLD, accepted=tmp_path / name)


def test_frames_records_and_files_are_the_same(tmp_path: Path) -> None:
    rows = [
        {"document": "d", "path": "$.country", "value": "UK", "note": "page, 1"},
        {"document": "d", "path": "$.total", "value": None, "note": None},
        {
            "document": "d",
            "path": "$.lines[0]",
            "value": {"what": 'a "b"', "amount": 1.5},
            "note": "",
        },
    ]
    (tmp_path / "a.json").write_text(json.dumps(rows))
    frame = pd.DataFrame(rows)
    frame.assign(value=frame["value"].map(json.dumps)).to_csv(tmp_path / "a.csv", index=False)
    predicted = changed(
        country="UK", total=None, lines=[GOLD["lines"][1], {"what": 'a "b"', "amount": 1.5}]
    )
    first = xb.evaluate(SCHEMA, GOLD, predicted, accepted=rows)
    assert first.summary["pass_rate"] == 1.0
    for other in (frame, tmp_path / "a.json", str(tmp_path / "a.csv")):
        ev = xb.evaluate(SCHEMA, GOLD, predicted, accepted=other)
        pd.testing.assert_frame_equal(ev.fields, first.fields)
    awaited = asyncio.run(xb.evaluate_async(SCHEMA, GOLD, predicted, accepted=rows))
    pd.testing.assert_frame_equal(awaited.fields, first.fields)


# --- a judge that is a model --------------------------------------------------------------------


class Counting:
    """A judge that is asked questions, and says that equal first letters mean the same."""

    name = "counting"

    def __init__(self) -> None:
        self.asked: list[tuple[Any, Any]] = []

    async def compare(self, gold: str, predicted: str) -> Verdict:
        raise NotImplementedError

    async def ask(self, question: Question) -> Verdict:
        self.asked.append((question.gold, question.predicted))
        same = question.gold[0] == question.predicted[0]
        return Verdict(float(same), "", calls=(JudgeCall("m", False, 1, 1, 1, 0.5, 0.1),))


@pytest.mark.parametrize(
    "predicted, asked, accepted_as",
    [
        ("Uno", ["USA"], None),
        ("Xyz", ["USA", "X1"], '"X1"'),
        ("Ypsilon", ["USA", "X1", "Y1"], '"Y1"'),
        ("Zed", ["USA", "X1", "Y1"], None),
        ("X1", [], '"X1"'),
        ("USA", [], None),
    ],
)
def test_a_model_is_asked_no_more_than_needed(
    predicted: str, asked: list[str], accepted_as: str | None
) -> None:
    judge = Counting()
    accepted = [
        {"path": path, "value": value} for path in ("$.a", "$.l[0].a") for value in ("X1", "Y1")
    ]
    judged = {"type": "string", "evaluation_config": "string_llm"}
    schema = obj(a=judged, l=arr({**obj(a=judged), "type": "object"}))
    gold, answer = ({"a": text, "l": [{"a": text}]} for text in ("USA", predicted))
    ev = xb.evaluate(schema, gold, answer, judge=judge, accepted=accepted)
    assert sorted(judge.asked) == sorted([(text, predicted) for text in asked] * 2)
    rows = ev.fields[ev.fields["metric"] == "string_llm"]
    # an item that is too unlike has no rows
    assert {None if cell is pd.NA else cell for cell in rows["accepted_as"]} == {accepted_as}
    assert ev.summary["llm_calls"] == 2 * len(asked)


# --- what never changes ---------------------------------------------------------------------------

WORDS = st.sampled_from(["red", "blue", "rod", None])
TEXTS = st.lists(WORDS.filter(bool), max_size=3)
NUMBERS = st.sampled_from([1, 2, None])
ITEMS = st.lists(st.fixed_dictionaries({"k": WORDS, "v": NUMBERS, "n": TEXTS}), max_size=3)
DOCUMENTS = st.fixed_dictionaries(
    {
        "a": WORDS,
        "b": NUMBERS,
        "o": st.fixed_dictionaries({"x": WORDS, "t": TEXTS}),
        "t": TEXTS,
        "r": ITEMS,
    }
)
ITEM = {**obj(k=EXACT, v=NUMBER, n=arr(EXACT)), "type": "object"}
RANDOM = obj(a=EXACT, b=NUMBER, o=obj(x=EXACT, t=arr(EXACT)), t=arr(EXACT), r=arr(ITEM))
SCORES = ["overall_score", "field_score", "pass_rate"]


def places(value: Any, path: str = "$") -> list[tuple[str, Any]]:
    found = [(path, value)]
    if isinstance(value, dict):
        inner = [(f"{path}.{key}", below) for key, below in value.items()]
    else:
        inner = [
            (f"{path}[{i}]", v) for i, v in enumerate(value if isinstance(value, list) else ())
        ]
    return found + [place for at, below in inner for place in places(below, at)]


@st.composite
def trials(draw: st.DrawFn) -> tuple[Any, Any, list[dict[str, Any]]]:
    gold, predicted, other = draw(DOCUMENTS), draw(DOCUMENTS), draw(DOCUMENTS)
    known: dict[str, list[Any]] = {}
    for path, value in [*places(predicted), *places(other)]:
        known.setdefault(re.sub(r"\d+", "", path), []).append(value)
    able = [
        path
        for path, value in places(gold)
        if path[-1] == "]" or not isinstance(value, dict | list)
    ]
    rows = []
    for path in draw(st.lists(st.sampled_from(able), max_size=3)):
        values = [
            v for v in known.get(re.sub(r"\d+", "", path), []) if v is not None or path[-1] != "]"
        ]
        if values:
            rows.append({"path": path, "value": draw(st.sampled_from(values))})
    return gold, predicted, rows


@given(trials())
def test_an_alternative_lowers_no_score(trial: tuple[Any, Any, list[dict[str, Any]]]) -> None:
    gold, predicted, rows = trial
    before = xb.evaluate(RANDOM, gold, predicted)
    for count in range(len(rows) + 1):
        ev = xb.evaluate(RANDOM, gold, predicted, accepted=rows[:count])
        assert (ev.summary[SCORES] >= before.summary[SCORES] - 1e-9).all()
        if not count:
            pd.testing.assert_frame_equal(ev.fields, before.fields)
        before = ev


@given(trials(), st.randoms(use_true_random=False), st.sampled_from(["paper", "strict"]))
def test_the_order_of_alternatives_changes_no_score(
    trial: tuple[Any, Any, list[dict[str, Any]]], random: Any, profile: str
) -> None:
    gold, predicted, rows = trial
    shuffled = random.sample(rows, len(rows))
    first, second = (
        xb.evaluate(RANDOM, gold, predicted, accepted=some, profile=profile)
        for some in (rows, shuffled)
    )
    pd.testing.assert_series_equal(first.summary[SCORES], second.summary[SCORES])


@given(trials())
def test_gold_and_what_is_accepted_pass(trial: tuple[Any, Any, list[dict[str, Any]]]) -> None:
    gold, _, rows = trial
    ev = xb.evaluate(RANDOM, gold, gold, accepted=rows)
    assert ev.summary["overall_score"] == 1.0
    assert ev.fields["accepted_as"].isna().all()
