"""Release and README: every difference is a row of `xb.profiles()`, and every row changes a number.

The two profiles are `extract-bench-0.1.0` and `extract-bench-readme`.
"""

from typing import Any

import pytest

import extractbench_nb as xb
from extractbench_nb import compat

RELEASE, README = "extract-bench-0.1.0", "extract-bench-readme"


def obj(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties}


URL = obj(x={"type": "string", "format": "uri", "evaluation_config": "string_exact"})
FUZZY = obj(x={"type": "string", "evaluation_config": "string_fuzzy"})
UNION = obj(
    x={"anyOf": [{"type": "string", "evaluation_config": "string_exact"}, {"type": "null"}]},
    y={"type": "integer"},
)
NULLABLE = obj(x={"anyOf": [{"type": "integer"}, {"type": "null"}]}, y={"type": "integer"})
TWICE = obj(
    x={
        "type": "string",
        "evaluation_config": {
            "metrics": [{"metric_id": "string_exact"}, {"metric_id": "string_case_insensitive"}]
        },
    },
    y={"type": "integer"},
)
ARRAY = obj(x={"type": "array", "items": {"type": "integer"}}, y={"type": "integer"})

#: By rule: schema, gold, predicted, and the overall score of release and README.
ROWS: dict[str, tuple[Any, ...]] = {
    "url_rule": (URL, {"x": "http://www.a.example/"}, {"x": "a.example"}, 0.0, 1.0),
    "fuzzy": (FUZZY, {"x": "ccbaabbc"}, {"x": "bccabcbc"}, 0.75, 0.5),
    "unions_inherit": (UNION, {"x": "a", "y": 1}, {"x": "b", "y": 1}, 1.0, 0.5),
    "metrics_count": (TWICE, {"x": "a", "y": 1}, {"x": "A", "y": 1}, 2 / 3, 0.75),
    "item_weighted_overall": (
        ARRAY, {"x": [1, 2, 3, 4], "y": 1}, {"x": [1, 2, 3], "y": 1}, 1.75 / 2, 4 / 5,
    ),
}  # fmt: skip


def test_the_table_has_a_row_for_every_difference():
    table = xb.profiles()
    differing = table.index[table[RELEASE] != table[README]]
    assert set(differing) == set(ROWS)


@pytest.mark.parametrize("rule", ROWS)
def test_every_row_changes_a_number(rule):
    schema, gold, predicted, release, readme = ROWS[rule]
    found = [
        xb.evaluate(schema, gold, predicted, profile=p).summary.overall_score
        for p in (RELEASE, README)
    ]
    assert found == pytest.approx([release, readme])


@pytest.mark.parametrize("rule", ROWS)
def test_compat_follows_the_readme_and_the_release_is_one_keyword_away(rule):
    schema, gold, predicted, release, readme = ROWS[rule]
    for options, expected in (({}, readme), ({"profile": RELEASE}, release)):
        config = compat.ReportConfig(**options)
        report = compat.ReportBuilder(config).build(schema, gold, predicted)
        assert report.overall_score == pytest.approx(expected)
        evaluator = compat.StructuredEvaluator(
            compat.StructuredEvaluatorConfig(metrics=[], **options)
        )
        results = evaluator.evaluate(schema, gold, predicted)["results"]
        counted = (
            results
            if rule == "metrics_count" and not options
            else [metric for metrics in results.values() for metric in metrics]
        )
        assert len(counted) == report.outcomes.total_evaluated


def test_a_nullable_field_without_a_metric():
    documents = (NULLABLE, {"x": 1, "y": 1}, {"x": 2, "y": 1})
    for profile, paths in ((RELEASE, ["$.y"]), (README, ["$.x", "$.y"]), ("paper", ["$.x", "$.y"])):
        assert xb.evaluate(*documents, profile=profile).fields.path.tolist() == paths


def test_the_readmes_example_of_a_union():
    """An array with array_llm beside an object without a metric."""
    branches = [
        {"type": "array", "items": {"type": "string"}, "evaluation_config": "array_llm"},
        {"type": "object", "properties": {"a": {"type": "string"}}},
    ]
    schema, gold, predicted = obj(x={"anyOf": branches}), {"x": ["a", "b"]}, {"x": ["a", "c"]}
    assert xb.evaluate(schema, gold, predicted, profile=RELEASE).fields.empty
    fields = xb.evaluate(schema, gold, predicted, profile=README).fields
    assert fields[["metric", "score"]].to_numpy().tolist() == [["array_llm", 0.5]]


def test_branches_that_disagree_give_a_union_no_metric():
    kinds = {"string": "string_exact", "number": "number_exact"}
    branches = [{"type": t, "evaluation_config": m} for t, m in kinds.items()]
    documents = (obj(x={"anyOf": branches}), {"x": "a"}, {"x": "b"})
    assert xb.evaluate(*documents, profile=README).fields.empty


def test_a_parsed_schema_is_read_again_under_other_rules():
    schema, gold, predicted, release, readme = ROWS["url_rule"]
    parsed = xb.parse_schema(schema)
    for profile, expected in ((RELEASE, release), (README, readme), ("paper", readme)):
        for form in (parsed, xb.evaluate(schema, gold, predicted, profile=RELEASE).schema):
            found = xb.evaluate(form, gold, predicted, profile=profile).summary.overall_score
            assert found == expected


def test_params_that_cannot_be_used_fall_back_in_both():
    config = {"metrics": [{"metric_id": "string_fuzzy", "params": {"threshold": "high", "odd": 1}}]}
    schema = obj(x={"type": "string", "evaluation_config": config})
    for profile in (RELEASE, README):
        fields = xb.evaluate(schema, {"x": "abcdefghij"}, {"x": "abcdefghiJ"}, profile=profile)
        assert fields.summary.passed == 1
