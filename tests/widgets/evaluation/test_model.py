"""The head, the pages of rows, and one row in full."""

from __future__ import annotations

from typing import Any

import pytest

import extractbench_nb as xb
from extractbench_nb.widgets.evaluation_view import (
    PER_PAGE,
    Filters,
    detail,
    filters_text,
    head,
    page,
)
from extractbench_nb.widgets.panes import page_of, wire
from tests.widgets.hostile import HOSTILE

EXACT = {"type": "string", "evaluation_config": "string_exact"}
SEMANTIC = {"type": "string", "evaluation_config": "string_semantic"}
FUZZY = {
    "type": "string",
    "description": "As printed.",
    "evaluation_config": {"metric_id": "string_fuzzy", "params": {"threshold": 0.7}},
}


class Judge:
    """Fails for one text, and has words for the others."""

    name = "fussy"

    def compare(self, gold: str, predicted: str) -> Any:
        if gold == "down":
            raise RuntimeError("overloaded")
        return xb.judges.Verdict(0.25, "not_alike", HOSTILE["script"])


def an_object(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties}


ITEMS = {"type": "array", "items": an_object(item=EXACT, n={"type": "integer"})}
SCHEMA = an_object(a=EXACT, b=EXACT, c=EXACT, d=EXACT, e=SEMANTIC, f=SEMANTIC, g=FUZZY, lines=ITEMS)
GOLD = {"a": "x", "b": "x", "e": "down", "f": "up", "g": "Northwind", "extra": 1} | {
    "lines": [{"item": "Pen", "n": 1}, {"item": "Ink", "n": 2}],
}
PREDICTED = {"a": "x", "c": "made up", "e": "up", "f": "down", "g": "Northwinds"} | {
    "lines": [{"item": "Ink", "n": 2}, {"item": "Pen", "n": 7}, {"item": "Cup", "n": 9}],
}


@pytest.fixture(scope="module")
def ev() -> xb.evaluation.Evaluation:
    return xb.evaluate(SCHEMA, GOLD, PREDICTED, judge=Judge())


def shown(ev: xb.evaluation.Evaluation, path: str, **options: Any) -> Any:
    fields = ev.fields
    return detail(ev, fields, int(fields.index[fields["path"] == path][0]), **options)


# --- head --------------------------------------------------------------------------------------


def test_the_head_agrees_with_the_summary(ev: xb.evaluation.Evaluation) -> None:
    found = head(ev)
    assert dict(found["scores"]) == {
        name: ev.summary[name.replace(" ", "_")]
        for name in ("overall score", "field score", "pass rate")
    }
    assert found["passes"] == "3 of 8 fields pass"
    assert found["counts"] == [
        ("correct", 2),
        ("both_absent", 1),
        ("incorrect", 2),
        ("omission", 1),
        ("hallucination", 1),
        ("judge_error", 1),
    ]
    assert found["title"] == "Evaluation · profile paper · judge fussy"
    assert found["problem"] is None


def test_the_head_says_what_limits_the_scores(ev: xb.evaluation.Evaluation) -> None:
    one, two = head(ev)["notes"]
    assert one.startswith("1 field has no verdict")
    assert "42.9% of the judged fields pass" in one
    assert two.startswith("The schema declares only")


def test_the_head_groups_the_warnings(ev: xb.evaluation.Evaluation) -> None:
    found = head(ev)
    assert found["warned"] == len(ev.warnings) == sum(n for *_, n, _ in found["warnings"])
    undeclared = next(group for group in found["warnings"] if group[1] == "undeclared")
    *group, examples = undeclared
    assert group == ["gold", "undeclared", 1]
    assert examples[0][0] == "$.extra"


def test_many_warnings_are_counted_and_few_sent() -> None:
    ev = xb.evaluate(an_object(a=EXACT), {f"k{i}": i for i in range(1000)}, {"a": "x"})
    ((*_, number, examples),) = head(ev)["warnings"]
    assert (number, len(examples)) == (1000, 5)


def test_the_head_of_a_prediction_that_is_no_json() -> None:
    text = "Sure! Here it is:\n" + "x" * 100_000
    found = head(xb.evaluate(an_object(a=EXACT), {"a": "x"}, text))
    assert found["problem"] is not None
    message, beginning = found["problem"]
    assert message == "Expecting value at line 1 column 1"
    assert beginning.startswith("Sure! Here it is:\n")
    assert len(beginning) == 400


def test_the_head_where_nothing_is_scored() -> None:
    skipped = EXACT | {"evaluation_config": "skip"}
    found = head(xb.evaluate(an_object(a=skipped), {"a": "x"}, {"a": "y"}))
    assert {score for _, score in found["scores"]} == {None}
    assert found["counts"] == []
    assert found["notes"][0].startswith("No field is scored")


def test_no_share_is_told_where_no_field_was_judged() -> None:
    ev = xb.evaluate(an_object(e=SEMANTIC), {"e": "down"}, {"e": "x"}, judge=Judge())
    assert head(ev)["notes"][0].endswith("the pass rate is a lower bound.")


# --- pages -------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def long() -> Any:
    """An evaluation of 1,001 rows."""
    names = [f"k{i}" for i in range(1001)]
    schema = an_object(**dict.fromkeys(names, EXACT))
    gold = dict.fromkeys(names, "x")
    return xb.evaluate(schema, gold, {**gold, "k700": "y"}).fields


@pytest.mark.parametrize("rows, expected", [(0, 1), (1, 1), (50, 1), (51, 2), (1001, 21)])
def test_pages_are_counted(rows: int, expected: int) -> None:
    assert page_of(rows, 0, PER_PAGE).pages == expected


@pytest.mark.parametrize(
    "number, first, count", [(0, 0, 50), (13, 650, 50), (20, 1000, 1), (99, 1000, 1), (-1, 0, 50)]
)
def test_a_page_is_cut_out(long: Any, number: int, first: int, count: int) -> None:
    found = page(long, number, Filters(), len(long))
    assert (found["first"], len(found["rows"]), found["pages"], found["left"]) == (
        first,
        count,
        21,
        1001,
    )
    assert [row.path for row in found["rows"]] == long["path"].iloc[first : first + count].tolist()
    assert [row.label for row in found["rows"]] == list(range(first, first + count))


def test_a_row_says_what_its_field_says(ev: xb.evaluation.Evaluation) -> None:
    fields = ev.fields
    found = page(fields, 0, Filters(), len(fields))["rows"]
    for row, (label, expected) in zip(found, fields.iterrows(), strict=True):
        assert row.label == label
        for name in ("outcome", "reason", "path", "metric", "counted"):
            assert getattr(row, name) == expected[name]
        assert (row.score is None) == (expected["outcome"] == "judge_error")
        assert row.score is None or row.score == expected["score"]


EMPTY = [
    (Filters(), 0, "The schema scores no field"),
    (Filters("$.properties.a"), 9, "No field is scored at this node"),
    (Filters("$.properties.a", worst_first=True), 9, "No field is scored at this node"),
    (Filters(text="x"), 9, "No field matches; clear the filters."),
    (Filters("$.properties.a", only_failed=True), 9, "No field matches; clear the filters."),
]


@pytest.mark.parametrize("filters, in_all, said", EMPTY)
def test_an_empty_page_says_why(
    ev: xb.evaluation.Evaluation, filters: Filters, in_all: int, said: str
) -> None:
    nothing = ev.fields.head(0)
    assert page(nothing, 0, filters, in_all)["empty"].startswith(said)


def test_filters_in_words() -> None:
    filters = Filters("$.a", "judge_error", "date", " x ", True, True, True)
    assert filters_text(filters) == (
        "at or below $.a, judge error, metric date, with “x”, counted only, not passed only, "
        "worst first"
    )
    assert filters_text(Filters()) == ""


# --- one row -----------------------------------------------------------------------------------


def test_a_detail_has_what_is_known_of_a_field(ev: xb.evaluation.Evaluation) -> None:
    found = shown(ev, "$.g")
    facts = dict(found["facts"])
    assert found["about"] == "As printed."
    assert facts["metric"].startswith("string_fuzzy (threshold=0.7")
    assert facts["score"] == "0.9, passed"
    assert facts["outcome"] == "✓ correct (match)"
    assert facts["schema path"] == "$.properties.g"
    assert facts["weight"] == "1, counts for the scores"
    assert found["code"] == 'ev.fields[ev.fields["path"] == "$.g"]'
    assert "reasoning" not in facts
    assert "items" not in facts


def test_a_detail_of_an_array_has_its_counts(ev: xb.evaluation.Evaluation) -> None:
    items = dict(shown(ev, "$.lines", name="evs[2]")["facts"])["items"]
    assert items.startswith("1 matched, 1 partial, 1 missed, 2 spurious; precision 0.33")
    assert "xb.show_matches(evs[2], '$.lines')" in items


def test_a_detail_inside_an_array_tells_the_other_place(ev: xb.evaluation.Evaluation) -> None:
    facts = dict(shown(ev, "$.lines[0].n")["facts"])
    assert facts["predicted at"] == "$.lines[1].n"
    assert facts["weight"].endswith("inside an array item, not counted")


def test_a_detail_keeps_a_judges_words_as_text(ev: xb.evaluation.Evaluation) -> None:
    assert dict(shown(ev, "$.f")["facts"])["reasoning"] == HOSTILE["script"]
    failed = dict(shown(ev, "$.e")["facts"])
    assert failed["score"] == "no verdict"
    assert "overloaded" in failed["reasoning"]


def test_a_detail_of_a_value_that_the_schema_does_not_know() -> None:
    invented = {"a": "x", "b": "y"}
    ev = xb.evaluate(an_object(a=EXACT), {"a": "x"}, invented, profile="strict")
    found = shown(ev, "$.b")
    assert found["outcome"] == "hallucination"
    assert {"schema path", "type"}.isdisjoint(dict(found["facts"]))


def test_more_of_a_value_can_be_asked_for() -> None:
    text = "word " * 10_000
    ev = xb.evaluate(an_object(a=EXACT), {"a": text}, {"a": text + "!"})
    first, second = shown(ev, "$.a"), shown(ev, "$.a", limit=100_000)
    assert first["more"]
    assert first["gold"].hidden == len(text) - 2_000
    assert not second["more"]
    assert second["gold"].hidden == 0


# --- hostile content ---------------------------------------------------------------------------


@pytest.mark.parametrize("attack", HOSTILE)
def test_messages_stay_small_and_are_ascii(attack: str) -> None:
    text = HOSTILE[attack]

    class Attacker:
        name = text

        def compare(self, gold: str, predicted: str) -> Any:
            return xb.judges.Verdict(0.1, "other", text)

    schema = an_object(**{text: SEMANTIC | {"description": text}, "map": an_object()})
    schema["properties"]["map"]["additionalProperties"] = EXACT
    gold, predicted = {text: text, "map": {text: text}}, {text: "y", text + "z": text}
    ev = xb.evaluate(schema, gold, predicted, judge=Attacker())
    fields = ev.fields
    messages = [head(ev), page(fields, 0, Filters(), len(fields))]
    messages += [detail(ev, fields, int(label)) for label in fields.index]
    for message in messages:
        sent = wire(message)
        assert sent.isascii()
        assert len(sent) < 60_000
