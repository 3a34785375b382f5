"""`as_scorer`: values, verdicts and explanations; no output raises."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import extractbench_nb as xb
from extractbench_nb.errors import InputError, SchemaError
from extractbench_nb.integrations import get_assert

NAMES = ("vendor", "total", "tax")
SCHEMA: dict[str, Any] = {
    "title": "Invoice",
    "type": "object",
    "properties": {"vendor": {"type": "string"}, "total": {"type": "number"}},
}
GOLD = {"vendor": "ACME Inc.", "total": 12}
HALF = {"vendor": "ACME Inc.", "total": 15}


class Odd:
    """Neither JSON nor text."""


@pytest.mark.parametrize(
    "output, value, passed",
    [
        (GOLD, 1.0, True),
        (json.dumps(GOLD), 1.0, True),
        (f"\ufeff```json\n{json.dumps(GOLD)}\n```\n", 1.0, True),
        (json.dumps(GOLD).encode(), 1.0, True),
        (HALF, 0.5, False),
        ({}, 0.0, False),
        ([], 0.0, False),
        ("null", 0.0, False),
        ("", 0.0, False),
        (None, 0.0, False),
        ("no", 0.0, False),
        (b"\xff", 0.0, False),
        (Odd(), 0.0, False),
        ({"total": Odd()}, 0.0, False),
    ],
)
def test_value_and_verdict(output: Any, value: float, passed: bool):
    found = xb.as_scorer(SCHEMA, score="pass_rate")(output, GOLD)
    assert (found.value, found.passed) == (value, passed)
    assert found.explanation
    assert json.loads(json.dumps(found.metadata, allow_nan=False)) == found.metadata


json_values = st.recursive(
    st.none() | st.booleans() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner) | st.dictionaries(st.sampled_from(NAMES), inner),
    max_leaves=6,
)


@given(json_values | st.text() | st.binary() | st.builds(Odd))
def test_no_output_raises(output: Any):
    found = xb.as_scorer(SCHEMA)(output, GOLD)
    assert 0 <= found.value <= 1
    assert isinstance(found.passed, bool)
    json.dumps(found.metadata, allow_nan=False)


def test_the_value_is_that_of_the_evaluation():
    ev = xb.evaluate(SCHEMA, GOLD, HALF, profile="strict")
    for score in ("overall_score", "field_score", "pass_rate"):
        found = xb.as_scorer(SCHEMA, profile="strict", score=score)(HALF, json.dumps(GOLD))
        assert found.value == ev.summary[score]
        assert found.metadata["summary"]["evaluated"] == ev.summary["evaluated"]
        assert found.metadata["failed_fields"] == ["$.total"]
        assert found.evaluation.fields.equals(ev.fields)


@pytest.mark.parametrize(
    "threshold, output, passed",
    [
        (None, HALF, False),
        (0.5, HALF, True),
        (0.51, HALF, False),
        (0, {}, True),
        (0, "{", False),
        (1, GOLD, True),
    ],
)
def test_threshold(threshold: float | None, output: Any, passed: bool):
    assert (
        xb.as_scorer(SCHEMA, score="pass_rate", threshold=threshold)(output, GOLD).passed is passed
    )


def test_explanations_are_markdown_that_no_value_breaks():
    hostile = "a`b\n# head <script>" + "x" * 200
    found = xb.as_scorer(SCHEMA)({"vendor": hostile, "total": 12}, GOLD)
    head, line = found.explanation.splitlines()
    assert head.endswith("1 of 2 fields pass")
    assert line.count("`") == 8
    assert r"a'b\n# head" in line
    assert len(line) < 250

    many = {"type": "object", "properties": {f"f{i}": {"type": "integer"} for i in range(30)}}
    explanation = xb.as_scorer(many)({}, {f"f{i}": i for i in range(30)}).explanation
    head, line = explanation.splitlines()
    assert line.startswith("- 30 x `f0`, `f1`, `f2` and 27 more missing (cost 1.000): ")


def test_broken_rules_are_explained_and_change_no_value(own_rules: dict[str, Any]):
    without = xb.as_scorer(SCHEMA)(GOLD, GOLD)

    @xb.rule(applies_to="invoice")
    def small(doc: Any) -> Any:
        return doc["total"] < 10 or "$.total"

    found = xb.as_scorer(SCHEMA)(GOLD, GOLD)
    assert (found.value, found.passed) == (without.value, without.passed)
    assert found.metadata["rules_broken"] == ["small"]
    assert found.explanation.endswith("- rule `small` is broken: `$.total`")


def test_a_schema_that_scores_nothing_is_said():
    found = xb.as_scorer({"type": "object"})({}, {})
    assert found.explanation == "No field is scored: the scores say nothing."


def test_in_an_event_loop():
    async def main() -> float:
        scorer = xb.as_scorer(SCHEMA, score="pass_rate")
        found = await scorer.score_async(HALF, GOLD)
        assert scorer(HALF, GOLD) == found
        return found.value

    assert asyncio.run(main()) == 0.5


def test_bad_gold_and_bad_options_raise():
    scorer = xb.as_scorer(SCHEMA)
    for gold in ("{", {"total": Odd()}, b"{}"):
        with pytest.raises(InputError, match="gold"):
            scorer(GOLD, gold)
    with pytest.raises(InputError, match=r"score is 'pass'; did you mean 'pass_rate'\?"):
        xb.as_scorer(SCHEMA, score="pass")
    for threshold in (2, -0.1, True, "1", float("nan")):
        with pytest.raises(InputError, match="threshold is"):
            xb.as_scorer(SCHEMA, threshold=threshold)
    with pytest.raises(SchemaError):
        xb.as_scorer({"type": "nothing"})


# --- promptfoo's assertion, called as promptfoo calls it -----------------------------------------


def context(**config: Any) -> dict[str, Any]:
    return {"vars": {"gold": json.dumps(GOLD), "other": GOLD}, "config": config}


def test_grading_result(tmp_path: Path):
    path = tmp_path / "invoice.json"
    path.write_text(json.dumps(SCHEMA), encoding="utf-8")
    expected = {
        "pass": False,
        "score": 0.5,
        "reason": "pass_rate 0.500: 1 of 2 fields pass\n"
        "- 1 x `total` another value (cost 0.500): check the description of the field against "
        "the examples; e.g. `$.total` gold `12`, predicted `15`",
        "namedScores": {"pass_rate": 0.5, "overall_score": 0.5, "field_score": 0.5},
        "componentResults": [
            {
                "pass": False,
                "score": 0.0,
                "reason": "`$.total`: incorrect (value_mismatch); gold `12`, predicted `15`",
            }
        ],
    }
    for schema in (SCHEMA, json.dumps(SCHEMA), str(path), f"file://{path}"):
        found = get_assert(json.dumps(HALF), context(schema=schema, score="pass_rate"))
        assert found == expected
    assert get_assert(GOLD, context(schema=SCHEMA, gold="other"))["componentResults"] == []


def test_grading_result_of_an_unreadable_output():
    found = get_assert("no", context(schema=SCHEMA))
    assert (found["pass"], found["score"]) == (False, 0.0)
    assert len(found["componentResults"]) == 1


@pytest.mark.parametrize(
    "about, message",
    [
        ({"vars": {"gold": "{}"}}, "config has no 'schema'"),
        ({"vars": None, "config": {"schema": SCHEMA}}, "vars has no 'gold'"),
        ({"vars": {"gold": "{}"}, "config": {"schema": SCHEMA, "gold": "g"}}, "vars has no 'g'"),
        (context(schema=SCHEMA, treshold=1), "unknown key 'treshold'; did you mean 'threshold'"),
        (context(shema=SCHEMA), "config has no 'schema'"),
        (context(schema=SCHEMA, **{"1": 2}), "unknown key '1'; expected one of alignment, gold"),
    ],
)
def test_incomplete_configuration(about: dict[str, Any], message: str):
    with pytest.raises(InputError, match=message):
        get_assert("{}", about)
