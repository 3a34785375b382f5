"""`StructuredEvaluator`: paths, metric ids, verdicts and details of its results."""

import asyncio
import json
from typing import Any

import pytest

import extractbench_nb as xb
from extractbench_nb import compat


def obj(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties}


def field(kind: str, metric: str | None = None, **params: Any) -> dict[str, Any]:
    if metric is None:
        return {"type": kind}
    metrics = [{"metric_id": metric, "params": params} if params else {"metric_id": metric}]
    return {"type": kind, "evaluation_config": {"metrics": metrics}}


def results(schema: Any, gold: Any, extracted: Any, **options: Any) -> Any:
    config = compat.StructuredEvaluatorConfig(metrics=[], **options)
    return compat.StructuredEvaluator(config).evaluate(schema, gold, extracted)["results"]


URL = {"type": "string", "format": "uri", "evaluation_config": "string_exact"}
TEXT, WHOLE = field("string", "string_exact"), field("integer", "integer_exact")

#: The statements of extract-bench's own tests in one table: the field ``x``, its two values,
#: where its result is, by which metric, and whether it passes.
ONE_FIELD = [
    (TEXT, "John Doe", "John Doe", "", "string_exact", True),
    (TEXT, "John Doe", "Jane Doe", "", "string_exact", False),
    (TEXT, ..., ..., "", "string_exact", True),
    (WHOLE, 30, 30, "", "integer_exact", True),
    (WHOLE, 30, 31, "", "integer_exact", False),
    (field("number", "number_tolerance", tolerance=0.1), 3.5, 3.55, "", "number_tolerance", True),
    (field("number", "number_tolerance", tolerance=0.1), 3.5, 3.7, "", "number_tolerance", False),
    (field("number", "number_tolerance", tolerance=0.1, mode="relative"), 3.5, 3.7, "",
     "number_tolerance", True),
    (field("number"), 1000.0, 1000.5, "", "number_tolerance", True),
    (field("boolean"), True, False, "", "boolean_exact", False),
    (field("string", "string_fuzzy", threshold=0.8), "John Do", "John D", "", "string_fuzzy", True),
    (field("string", "string_case_insensitive"), "Ab", "aB", "", "string_case_insensitive", True),
    ({"type": "array", "items": {"type": "string"}}, ..., ..., "", "array_llm", True),
    ({"anyOf": [{"type": "number"}, {"type": "null"}], "evaluation_config": "number_exact"}, None,
     None, "", "number_exact", True),
    (URL, "https://www.a.example/b/", "a.example/b", "", "string_url", True),
    (URL, "https://a.example/b", "https://a.example/c", "", "string_url", False),
    ({"anyOf": [TEXT, field("integer", "string_exact")]}, "a", "a", "", "string_exact", True),
    ({"anyOf": [TEXT, {"type": "null"}]}, "a", "a", "", "string_exact", True),
    ({"anyOf": [field("integer"), {"type": "null"}]}, 1, 2, "", "integer_exact", False),
    ({"anyOf": [TEXT, {"type": "null"}], "evaluation_config": "string_fuzzy"}, "hello", "helo", "",
     "string_fuzzy", True),
    ({"anyOf": [TEXT, WHOLE], "evaluation_config": "string_fuzzy"}, "a", "a", "", "string_fuzzy",
     True),
    ({"anyOf": [TEXT, WHOLE]}, "a", "a", "", "string_exact", True),
    ({"oneOf": [TEXT, WHOLE]}, 1, 2, "", "integer_exact", False),
]  # fmt: skip


@pytest.mark.parametrize("case", ONE_FIELD, ids=str)
@pytest.mark.parametrize("waits", [False, True])
def test_one_field(case, waits):
    node, gold, extracted, below, metric, passed = case
    documents = [obj(x=node), *({} if v is ... else {"x": v} for v in (gold, extracted))]
    evaluator = compat.StructuredEvaluator(compat.StructuredEvaluatorConfig(metrics=[]))
    if waits:
        found = asyncio.run(evaluator.evaluate_async(*documents))
    else:
        found = evaluator.evaluate(*documents)
    assert isinstance(found["schema"], xb.schema.Schema)
    ((path, by_metric),) = found["results"].items()
    ((name, result),) = by_metric.items()
    assert (path, name) == ("$.properties.x" + below, metric)
    assert (result.metric_id, result.passed) == (metric, passed)
    if metric != "string_fuzzy":
        assert result.score == float(passed)


ITEMS = ["a", "b", "c"]
ARRAY = {"type": "array", "items": TEXT}
#: The details of an array's result by gold and extracted value.
DETAILS = [
    (..., ..., {"reason": "both_missing"}),
    (None, None, {"reason": "both_null"}),
    ([], [], {"reason": "both_empty_array", "gold": [], "extracted": []}),
    (None, [], {"reason": "both_absent", "extracted": []}),
    (..., ["a"], {"reason": "gold_missing", "gold": None, "extracted": ["a"]}),
    ([], ["a"], {"reason": "gold_empty_array", "gold": [], "extracted": ["a"]}),
    (["a"], None, {"reason": "extracted_null", "gold": ["a"], "extracted": None}),
    (["a"], ..., {"reason": "extracted_missing", "gold": ["a"], "extracted": None}),
    (["a"], [], {"reason": "extracted_empty_array", "gold": ["a"], "extracted": []}),
    (["a"], {"b": 1}, {"reason": "type_mismatch", "gold": ["a"], "extracted": {"b": 1}}),
]


@pytest.mark.parametrize("required", [[], ["x"]])
@pytest.mark.parametrize("gold, extracted, details", DETAILS)
def test_details_of_what_no_metric_decides(gold, extracted, details, required):
    schema = {**obj(x=ARRAY), "required": required}
    documents = [{} if value is ... else {"x": value} for value in (gold, extracted)]
    result = results(schema, *documents)["$.properties.x"]["array_llm"]
    expected = {"gold": None, "extracted": None, **details}
    assert {name: result.details[name] for name in expected} == expected
    assert result.passed is details["reason"].startswith("both")


def test_details_of_an_array():
    result = results(obj(x=ARRAY), {"x": ["a", "b", "c"]}, {"x": ["c", "a", "d", "e"]})
    output = result["$.properties.x"]["array_llm"].details["structured_output"]
    assert output == {
        "score": pytest.approx(2 / 3),
        "matches_summary": {"matched": 2, "missed_gold": 1, "spurious_pred": 2},
        "aggregate_metrics": {
            "precision": 0.5,
            "recall": pytest.approx(2 / 3),
            "f1": pytest.approx(4 / 7),
        },
        "matched_items": ["a", "c"],
        "missed_gold_items": ["b"],
        "spurious_pred_items": ["d", "e"],
    }


class Judge:
    name = "judge"

    def compare(self, gold: str, predicted: str) -> xb.judges.Verdict:
        return xb.judges.Verdict(0.9, "alike", "nearly the same")


def test_details_of_a_metric():
    result = results(obj(x=field("string")), {"x": "a"}, {"x": "b"}, judge=Judge())
    assert result["$.properties.x"]["string_semantic"].details == {
        "gold": "a",
        "extracted": "b",
        "reason": "alike",
        "reasoning": "nearly the same",
        "structured_output": {"score": 0.9},
    }
    result = results(obj(x=URL), {"x": "http://www.a.example/b/"}, {"x": "A.example"})
    details = result["$.properties.x"]["string_url"].details
    assert details["gold_normalized"] == "a.example/b"
    assert details["extracted_normalized"] == "a.example"


def test_a_matcher_of_ones_own():
    in_order = {"alignment": lambda *_: [(0, 0), (1, 1)]}
    result = results(
        obj(x={"type": "array", "items": WHOLE}), {"x": [1, 2]}, {"x": [2, 1]}, **in_order
    )
    assert result["$.properties.x"]["array_llm"].score == 0.0


def test_text_that_is_no_json():
    result = results(obj(x=WHOLE), {"x": 1}, "no JSON")
    assert result["$"]["json"].details["reason"] == "unparsable_json"


@pytest.mark.parametrize("form", ["dict", "text", "parsed"])
def test_a_schema_in_any_form_is_not_changed(form):
    schema = obj(x=field("number", "number_tolerance", tolerance=0.1))
    source = {"dict": schema, "text": json.dumps(schema), "parsed": xb.schema.parse_schema(schema)}[
        form
    ]
    before = json.dumps(schema)
    assert not results(source, {"x": 3.5}, {"x": 3.7})["$.properties.x"]["number_tolerance"].passed
    assert json.dumps(schema) == before
    assert xb.evaluate(source, {"x": 3.5}, {"x": 3.7}).summary.passed == 1


KEYS = ["a", "b c", "it's", "a.properties.x", "", "items[0]", "back\\slash", "\ud800", "['q']"]


def test_no_key_of_a_map_takes_anothers_place():
    schema = obj(m={"type": "object", "additionalProperties": obj(x=WHOLE, **{"a.b": WHOLE})})
    gold = {"m": {key: {"x": n, "a.b": n} for n, key in enumerate(KEYS)}}
    result = results(schema, gold, gold)
    assert len(result) == 2 * len(KEYS)
    assert result["$.properties.m.additionalProperties.b c.properties.a.b"]
    values = [m["integer_exact"].details["gold"] for m in result.values()]
    assert sorted(values) == sorted([*range(len(KEYS))] * 2)


def test_keys_that_look_like_other_paths():
    schema = obj(a=obj(b=WHOLE), **{"a.properties.b": WHOLE})
    gold = {"a": {"b": 1}, "a.properties.b": 2}
    result = results(schema, gold, gold)
    assert [m["integer_exact"].details["gold"] for m in result.values()] == [1, 2]
