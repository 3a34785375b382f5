"""The details of results, key by key beside the published package's."""

import json
import math
from collections.abc import Iterator
from typing import Any

import pytest

import extractbench_nb as xb
from extractbench_nb import compat

RELEASE = "extract-bench-0.1.0"
JUDGED = 0.75
#: In our details of a judged metric, and not in the package's; and the other way round.
ONLY_OURS, ONLY_THEIRS = {"gold", "extracted"}, {"model", "raw_response"}


class Judge:
    name = "fixed"

    def compare(self, gold: str, predicted: str) -> xb.judges.Verdict:
        return xb.judges.Verdict(JUDGED, "fixed", "in words")


@pytest.fixture(scope="module")
def published(package: Any) -> Iterator[Any]:
    """The package's evaluator, quiet, with one answer for every judged value."""
    import litellm
    from extract_bench.evaluation.structured_evaluator import AsyncEvaluationConfig
    from loguru import logger

    async def complete(**_: Any) -> Any:
        answer = json.dumps({"score": JUDGED, "reasoning": "in words"})
        return {"choices": [{"message": {"content": answer}}]}

    logger.disable("extract_bench")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(litellm, "acompletion", complete)
        config = package.StructuredEvaluatorConfig([], AsyncEvaluationConfig(n_max_retries=1))
        yield package.StructuredEvaluator(config)
    logger.enable("extract_bench")


def field(kind: str, metric: Any, **params: Any) -> dict[str, Any]:
    config = {"metrics": [{"metric_id": metric, "params": params}]} if params else metric
    node = {"type": kind, "evaluation_config": config}
    return {"type": "object", "properties": {"x": {k: v for k, v in node.items() if v}}}


def union(metric: str) -> dict[str, Any]:
    kinds = [{"type": "string"}, {"type": "number"}, {"type": "null"}]
    return {"type": "object", "properties": {"x": {"anyOf": kinds, "evaluation_config": metric}}}


def ours(schema: Any, gold: Any, extracted: Any, profile: str = RELEASE) -> Any:
    config = compat.StructuredEvaluatorConfig(metrics=[], profile=profile, judge=Judge())
    found = compat.StructuredEvaluator(config).evaluate(schema, {"x": gold}, {"x": extracted})
    return found["results"]["$.properties.x"]


TEXTS = [("Ada", "ADA"), ("Straße", "STRASSE"), ("", "a"), ("x", "x"), ("ǅ", "ǆ"), ("a\ud800", "")]
NUMBERS = [(5, 5.5), (1.1, 1.4), (1, 1), (True, 2), (1e300, -1e300), (0.1 + 0.2, 0.3), (0.0, -0.0)]
SCHEMAS = [
    *((field("string", metric), TEXTS) for metric in (
        "string_exact", "string_case_insensitive", "string_fuzzy",
    )),
    (field("string", "string_fuzzy", threshold=0.1, case_sensitive=True), TEXTS),
    (field("string", "string_fuzzy", threshold="high", case_sensitive=1), TEXTS),
    (field("string", "string_fuzzy", threshold="0.5"), TEXTS),
    (field("number", None), NUMBERS),
    (field("number", {"metrics": [{"metric_id": "number_tolerance"}]}), NUMBERS),
    (field("number", "number_tolerance", tolerance=1), NUMBERS),
    (field("number", "number_tolerance", tolerance="wide"), NUMBERS),
    (field("number", "number_exact"), NUMBERS),
    (field("number", "integer_exact"), NUMBERS[:3]),
    (field("number", "string_exact"), NUMBERS),
    (field("integer", None), [(1, 2), (7, 7), (True, 1)]),
    (field("boolean", None), [(True, False), (True, True)]),
    *((field("string", metric), [("5", "five"), ("x", "y"), ("1.5", "1.25")]) for metric in (
        "number_tolerance", "number_exact", "integer_exact", "boolean_exact",
    )),
    *((union(metric), [("5", 5), (5, "five"), ("a", "A"), (None, "a"), ("a", None)]) for metric in (
        "string_exact", "string_case_insensitive", "string_fuzzy", "number_tolerance",
    )),
]  # fmt: skip


@pytest.mark.parametrize("schema, pairs", SCHEMAS, ids=str)
def test_details_equal_the_package(schema, pairs, published):
    for gold, extracted in pairs:
        theirs = published.evaluate(schema, {"x": gold}, {"x": extracted})["results"]
        theirs = theirs["$.properties.x"]
        found = ours(schema, gold, extracted)
        assert list(found) == list(theirs)
        for metric, result in theirs.items():
            details = found[metric].details
            assert (found[metric].score, details) == (result.score, result.details)
            assert [*map(type, details.values())] == [type(result.details[key]) for key in details]


@pytest.mark.parametrize("metric", [None, "string_semantic", "string_llm"])
@pytest.mark.parametrize("params", [{}, {"pass_threshold": 0.9}, {"pass_threshold": "0.6"}])
def test_details_of_a_judged_metric(metric, params, published):
    schema = field("string", metric or "string_semantic", **params)
    (theirs,) = published.evaluate(schema, {"x": "a"}, {"x": "b"})["results"][
        "$.properties.x"
    ].values()
    (found,) = ours(schema, "a", "b").values()
    assert found.details.keys() - theirs.details.keys() == ONLY_OURS
    assert theirs.details.keys() - found.details.keys() == ONLY_THEIRS
    for key in found.details.keys() & theirs.details.keys():
        assert found.details[key] == theirs.details[key]


#: Profile, schema, gold, extracted, and what stands beside gold and extracted as they are.
NOT_RELEASED = [
    ("paper", field("number", None), 100, "100.5", {"tolerance": 0.001, "delta": 0.5}),
    ("paper", field("number", {"metrics": [{"metric_id": "number_tolerance"}]}), 1.0, 1.0,
     {"tolerance": 0.001, "delta": 0.0}),
    ("strict", field("string", "number_tolerance"), "a", "b", {"tolerance": 0.001}),
    ("paper", field("string", "string_fuzzy"), "Ab", "aB",
     {"threshold": 0.8, "similarity": 1.0, "case_sensitive": False}),
    ("paper", field("string", "string_case_insensitive"), "Ab", "C",
     {"gold_normalized": "ab", "extracted_normalized": "c"}),
    ("extract-bench-readme", field("string", "string_url"), "http://www.a.example/b/", "A.example",
     {"gold_normalized": "a.example/b", "extracted_normalized": "a.example"}),
    ("paper", field("string", "date"), "2024-01-02", "2 Jan 2024", {}),
    ("paper", field("number", "number_tolerance", tolerance=1), 10**400, 1, {"tolerance": 1.0}),
]  # fmt: skip


@pytest.mark.parametrize("profile, schema, gold, extracted, more", NOT_RELEASED)
def test_details_in_other_profiles(profile, schema, gold, extracted, more):
    (found,) = ours(schema, gold, extracted, profile).values()
    reason = {"reason": found.details["reason"]} if "reason" in found.details else {}
    if reason:
        assert reason == {"reason": "type_mismatch"}
        more = {}
    assert found.details == {"gold": gold, "extracted": extracted, **more, **reason}


def test_similarity_by_the_readme_is_levenshteins():
    (found,) = ours(
        field("string", "string_fuzzy"), "ccbaabbc", "bccabcbc", "extract-bench-readme"
    ).values()
    assert found.details["similarity"] == found.score == 0.5


def test_one_metric_twice_has_the_params_of_each():
    metrics = [{"metric_id": "number_tolerance", "params": {"tolerance": t}} for t in (1, 2)]
    schema = field("number", {"metrics": metrics})
    (found,) = ours(schema, 1, 2).values()
    assert found.details["tolerance"] == 2.0


def test_nan():
    (found,) = ours(field("number", None), math.nan, 1.0).values()
    assert math.isnan(found.details["delta"])
    assert not found.passed
