"""The head, the words for rows, and one row in full."""

from __future__ import annotations

from typing import Any

import pytest

import extractbench_nb as xb
from extractbench_nb.support.nodes import Node, static_html
from extractbench_nb.views.evaluation_view import (
    EvaluationView,
    head,
)
from tests.widgets.hostile import HOSTILE, Twin

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
def ev() -> xb.core.Evaluation:
    return xb.evaluate(SCHEMA, GOLD, PREDICTED, judge=Judge())


def read(node: Node) -> str:
    """What a reader of static HTML sees."""
    return Twin(static_html(node)).text


def opened(ev: xb.core.Evaluation, path: str, **options: Any) -> str:
    view = EvaluationView(ev, **options)
    view.selected_path = str(ev.fields.set_index("path")["schema_path"][path])
    view.selected_row = path
    return Twin(view.to_html()).text


# --- head --------------------------------------------------------------------------------------


def test_the_head_agrees_with_the_summary(ev: xb.core.Evaluation) -> None:
    text = read(head(ev))
    assert f"{ev.summary['pass_rate']:.3f} because" in text
    for name in ("overall_score", "field_score"):
        assert f"{name.replace('_', ' ')} {ev.summary[name]:.3f}" in text
    assert "6 of 13 counted fields pass" in text
    assert "1 row not counted" in text
    assert "because lines (1 item spurious)" in text


def test_the_head_says_what_limits_the_scores(ev: xb.core.Evaluation) -> None:
    text = read(head(ev))
    assert "1 field without a verdict" in text
    assert "of the fields with a verdict 50.0% pass" in text
    assert "The schema declares only" in text


def test_warnings_are_counted_with_an_example() -> None:
    schema = an_object(rows={"type": "array", "items": {"type": "integer"}})
    found = read(head(xb.evaluate(schema, {"rows": [1] * 200}, {"rows": ["one"] * 200})))
    assert "200 warnings, such as: 'one' is not of type 'integer'. See ev.warnings." in found


def test_the_head_of_a_prediction_that_is_not_json() -> None:
    text = "Sure! Here it is:\n" + "x" * 100_000
    found = read(head(xb.evaluate(an_object(a=EXACT), {"a": "x"}, text)))
    assert "The prediction is not JSON. Expecting value at line 1 column 1" in found
    assert "Sure! Here it is:" in found
    assert len(found) < 1_000


def test_the_head_where_nothing_is_scored() -> None:
    skipped = EXACT | {"evaluation_config": "skip"}
    found = read(head(xb.evaluate(an_object(a=skipped), {"a": "x"}, {"a": "y"})))
    assert "overall score n/a" in found
    assert "No field is scored" in found


# --- one row -----------------------------------------------------------------------------------


def test_an_open_row_has_what_is_known_of_a_field(ev: xb.core.Evaluation) -> None:
    text = opened(ev, "$.g")
    for words in (
        *("As printed.", "string_fuzzy (threshold=0.7", "0.9, passed", "✓ correct: match"),
        *(
            "$.properties.g",
            "1, counts toward the scores",
            "ev.fields.loc[[6]]",
        ),
    ):
        assert words in text
    assert "reasoning" not in text
    assert "items" not in text


def test_an_open_array_has_its_counts(ev: xb.core.Evaluation) -> None:
    text = opened(ev, "$.lines", name="evs[2]")
    assert "1 matched, 1 differing, 0 missed, 1 spurious; F1 0.40" in text
    assert "evs[2].fields.loc[[7]]" in text
    assert "weight1, not counted: the fields of its items count in its place" in text


def test_an_open_row_inside_an_array_tells_the_other_place(
    ev: xb.core.Evaluation,
) -> None:
    text = opened(ev, "$.lines[0].n")
    assert "$.lines[1].n" in text
    assert "weight1, counts toward the scores" in text
    paper = xb.evaluate(SCHEMA, GOLD, PREDICTED, judge=Judge(), profile="paper")
    assert "weight1, not counted: inside an array item" in opened(paper, "$.lines[0].n")


def test_an_open_row_keeps_a_judges_words_as_text(ev: xb.core.Evaluation) -> None:
    assert HOSTILE["script"] in opened(ev, "$.f")
    failed = opened(ev, "$.e")
    assert "no verdict" in failed
    assert "overloaded" in failed
