"""Each number of a report, on documents small enough to count by hand."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import extractbench_nb as xb
from extractbench_nb.judges.base import JudgeCall, JudgeError, Question
from extractbench_nb.report.builder import ReportBuilder, ReportConfig
from extractbench_nb.report.content import (
    content_stats,
    coverage_stats,
    is_outermost,
    normalized,
    schema_paths,
    schema_stats,
    top_key,
)
from extractbench_nb.report.formats import json_text, summary_text
from extractbench_nb.report.models import ArrayStats, ConfusionCounts, ErrorSplit, ModelCalls


def test_totals_are_those_of_the_evaluation(
    every_outcome: Any, report_on: Any, profile: str, failing_judge: Any
) -> None:
    report = report_on(every_outcome, profile=profile, judge=failing_judge)
    summary, o = report.evaluation.summary, report.outcomes
    assert report.overall_score == summary["overall_score"]
    assert report.field_score == summary["field_score"]
    assert report.overall_pass_rate == o.pass_rate == summary["pass_rate"]
    assert o.total_evaluated == summary["evaluated"]
    assert o.total_passed == summary["passed"]
    assert o.total_failed == summary["evaluated"] - summary["passed"]
    assert o.judge_errors == summary["judge_errors"] > 0
    assert sum(vars(o.split).values()) == o.total_failed
    counted = report.evaluation.fields.query("counted")
    assert len(report.field_outcomes) == len(counted)
    judged = counted["score"].notna().sum()
    assert sum(vars(o.confusion).values()) == judged
    for counts in (o.pass_by_metric, o.pass_by_type, o.pass_by_required):
        assert sum(sum(c.values()) for c in counts.values()) == len(counted)
        assert sum(c["passed"] for c in counts.values()) == counted["passed"].fillna(False).sum()


def test_outcomes_in_the_paper_profile(
    every_outcome: Any, report_on: Any, failing_judge: Any
) -> None:
    report = report_on(every_outcome, judge=failing_judge)
    o = report.outcomes
    # passed: right, k.1, one metric of two; both absent: nothing; invented: invented, k3
    assert o.confusion == ConfusionCounts(3, 2, 8, 1)
    assert o.split == ErrorSplit(
        omission=4, hallucination=2, wrong_value=3, structural=1, judge_error=1
    )
    assert o.total_evaluated == 14
    assert o.pass_by_required == {
        "required": {"passed": 1, "failed": 2},
        "optional": {"passed": 3, "failed": 9},
    }
    assert o.pass_by_metric["string_fuzzy"] == {"passed": 1, "failed": 0}


def test_precision_recall_and_f1_of_the_matrix() -> None:
    counts = ConfusionCounts(6, 2, 4, 9)
    assert (counts.precision, counts.recall) == (0.75, 0.6)
    assert counts.f1 == pytest.approx(2 * 0.75 * 0.6 / 1.35)
    assert ConfusionCounts(0, 0, 0, 3).f1 == 1.0
    assert ConfusionCounts(0, 1, 1, 0).f1 == 0.0


def test_published_words(every_outcome: Any, report_on: Any, failing_judge: Any) -> None:
    report = report_on(every_outcome, judge=failing_judge)
    rows = {(r.normalized_path, r.metric_id): r for r in report.field_outcomes}
    told = {path: (r.path, r.reason, r.outcome) for (path, _), r in rows.items()}
    top = "$.properties."
    assert told["needed"] == (top + "needed", "extracted_missing", "omission")
    assert told["omitted"] == (top + "omitted", "extracted_missing", "omission")
    assert told["invented"] == (top + "invented", "gold_null", "hallucination")
    assert told["nothing"] == (top + "nothing", "both_null", "both_absent")
    assert told["inner.leaf"][0] == top + "inner.properties.leaf"
    assert told["map['k.1'].n"][0] == top + "map.additionalProperties['k.1'].properties.n"
    unjudged = rows["unjudged", "string_semantic"]
    assert (unjudged.score, unjudged.passed, unjudged.outcome) == (None, False, "judge_error")
    assert "no answer" in (unjudged.reasoning or "")


@pytest.mark.parametrize(
    "ours, published",
    [
        ("gold_empty", "gold_empty_array"),
        ("both_empty", "both_empty_array"),
        ("predicted_missing", "extracted_missing"),
        ("predicted_null", "extracted_null"),
        ("predicted_empty", "extracted_empty_array"),
        ("required_missing", "extracted_missing"),
        ("gold_null", "gold_null"),
        ("items_differ", "items_differ"),
    ],
)
def test_reason_words(ours: str, published: str) -> None:
    from extractbench_nb.report.content import published_reason

    assert published_reason(ours) == published


def test_strict_counts_items_and_still_tells_of_their_arrays(
    every_outcome: Any, report_on: Any
) -> None:
    report = report_on(every_outcome, profile="strict")
    paths = {r.normalized_path: r.path for r in report.field_outcomes}
    top = "$.properties.rows.items"
    assert paths["rows[0].code"] == top + "[0].properties.code"
    assert paths["rows[0].tags[1]"] == top + "[0].properties.tags.items[1]"
    assert paths["rows[+2].code"] == top + "[+2].properties.code"
    assert paths["extra.deep[0]"] == "$.extra.deep[0]"
    assert "rows" not in paths
    (rows,) = report.array_breakdowns
    assert (rows.counted, rows.matched, rows.partial, rows.spurious_pred) == (False, 1, 1, 2)
    assert rows.partial_items[0].failed_fields == ["rows[].tags"]


def test_paths_are_unique_per_metric(
    every_outcome: Any, report_on: Any, profile: str, sample_outputs: Any
) -> None:
    for documents in (every_outcome, *(d for _, d in sample_outputs[::5])):
        report = report_on(documents, profile=profile)
        keys = [(r.path, r.metric_id) for r in report.field_outcomes]
        assert len(set(keys)) == len(keys)


def test_one_metric_twice_at_a_node(report_on: Any) -> None:
    loose, tight = ({"metric_id": "string_fuzzy", "params": {"threshold": t}} for t in (0.1, 1.0))
    node = {"type": "string", "evaluation_config": {"metrics": [loose, tight]}}
    schema = {"type": "object", "properties": {"a": node}}
    report = report_on((schema, {"a": "xy"}, {"a": "xz"}))
    assert [(r.path, r.passed) for r in report.field_outcomes] == [
        ("$.properties.a", True),
        ("$.properties.a#2", False),
    ]


@pytest.mark.parametrize(
    "rows, expected",
    [
        ([("$", "$", "m")], ["$"]),
        ([(None, "$.a.b", "m")], ["$.a.b"]),
        (
            [("$.properties.items.items.properties.items", "$.items[3].items", "m")],
            ["$.properties.items.items[3].properties.items"],
        ),
        (
            [("$.properties['a.b']['x']", "$['a.b']['x']", "m")],
            ["$.properties['a.b']['x'] $['a.b']['x']"],
        ),
        (
            [("$.properties.t.prefixItems[1]", p, "m") for p in ("$.t[1]", "$.t[+1]")],
            ["$.properties.t.prefixItems[1]", "$.properties.t.prefixItems[+1]"],
        ),
        (
            [("$.additionalProperties", "$['it\\'s [0]']", "m")],
            ["$.additionalProperties['it\\'s [0]']"],
        ),
    ],
)
def test_schema_paths(rows: Any, expected: list[str]) -> None:
    assert schema_paths(rows) == expected


@settings(max_examples=30)
@given(st.lists(st.text(max_size=6), min_size=1, max_size=6, unique=True))
def test_any_keys_give_unique_paths(keys: list[str]) -> None:
    schema = {"type": "object", "additionalProperties": {"type": "integer"}}
    gold = dict.fromkeys(keys, 1)
    report = ReportBuilder().build(schema, gold, {keys[0]: 2})
    assert len({r.path for r in report.field_outcomes}) == len(keys)
    assert set(report.outcomes.error_breakdown.by_path_prefix.values()) == {1}  # type: ignore[union-attr]


@pytest.mark.parametrize(
    "path, name, top, outermost",
    [
        ("$", "$", "$", True),
        ("$.a", "a", "a", True),
        ("$.a.b[0].c", "a.b[0].c", "a", False),
        ("$['x.y'].z", "['x.y'].z", "['x.y']", True),
        ("$['[0]']", "['[0]']", "['[0]']", True),
        ("$[+2]", "[+2]", "[+2]", False),
    ],
)
def test_path_words(path: str, name: str, top: str, outermost: bool) -> None:
    assert normalized(path) == name
    assert top_key(name) == top
    assert is_outermost(path) is outermost


def test_schema_stats() -> None:
    schema = xb.parse_schema(
        {
            "type": "object",
            "required": ["a", "list"],
            "properties": {
                "a": {"type": "string"},
                "u": {"anyOf": [{"type": "number"}, {"type": "null"}]},
                "list": {"type": "array", "items": {"$ref": "#/$defs/node"}},
                "open": {},
            },
            "$defs": {
                "node": {
                    "type": "object",
                    "required": ["n"],
                    "properties": {"n": {"type": "integer"}, "next": {"$ref": "#/$defs/node"}},
                }
            },
        }
    )
    stats = schema_stats(schema)
    kinds = {"object": 3, "string": 1, "anyof": 1, "number": 1, "null": 1, "array": 1}
    assert stats.counts_by_type == {**kinds, "integer": 1, "any": 1}
    assert stats.total_nodes == sum(stats.counts_by_type.values())
    assert stats.required_by_type == {"string": 1, "array": 1, "integer": 1}
    assert stats.optional_by_type == {"anyof": 1, "any": 1, "object": 1}
    assert (stats.required_keys_count, stats.optional_keys_count) == (3, 3)


@pytest.mark.parametrize(
    "document, kinds, arrays, nulls",
    [
        ({}, {}, None, 0),
        (None, {}, None, 0),
        ("no JSON", {}, None, 0),
        (
            {"a": 1, "b": True, "c": 1.5, "d": None},
            {"integer", "boolean", "number", "null"},
            None,
            1,
        ),
        (
            {"a": [[], {"b": "x"}], "c": [1, 2, 3]},
            {"array", "string"},
            ArrayStats(3, 5, 0, 2, 3),
            0,
        ),
    ],
)
def test_content_stats(document: Any, kinds: set[str], arrays: Any, nulls: int) -> None:
    stats = content_stats("gold", document, 7)
    assert set(stats.counts_by_type) == set(kinds)
    assert stats.total_keys == sum(stats.counts_by_type.values())
    assert (stats.array_stats, stats.null_count, stats.missing_count) == (arrays, nulls, 7)


def test_missing_keys_are_counted_once_a_field(every_outcome: Any, report_on: Any) -> None:
    report = report_on(every_outcome)
    assert report.gold_stats.missing_count == 1  # k3
    assert report.extracted_stats.missing_count == 4  # omitted, needed, k2, inner.leaf


def test_coverage() -> None:
    schema = xb.parse_schema(
        {
            "type": "object",
            "required": ["list", "inner", "gone", "never"],
            "properties": {
                "list": {"type": "array"},
                "gone": {"type": "string"},
                "never": {"type": "string"},
                "inner": {"type": "object", "required": ["x"], "properties": {"x": {}}},
            },
        }
    )
    gold = {"list": [1, [2], {}], "gone": None, "inner": {"x": 1}, "e": [], "n": {"k.1": 1}}
    extracted = {"inner": {"y": 2}, "e": [], "n": {"k.1": 3}}
    stats = coverage_stats(schema, gold, extracted)
    assert stats.missing_paths == ["gone", "inner.x", "list[0]", "list[1][0]"]
    assert stats.spurious_paths == ["inner.y"]
    assert stats.required_missing_paths == ["gone", "inner.x", "list"]
    assert (stats.present_in_both, stats.missing_in_extracted) == (2, 4)
    assert (stats.spurious_in_extracted, stats.required_missing) == (1, 3)


def test_judged_fields(report_on: Any) -> None:
    names = "abcdef"
    schema = {"type": "object", "properties": {n: {"type": "string"} for n in names}}
    gold = dict.fromkeys(names[:4], "red house") | {"e": None, "f": None}
    extracted = {"a": "red house", "b": "Red House", "c": "blue whale", "e": "x", "f": None}
    report = report_on((schema, gold, extracted), top_n_lowest_fields=2)
    stats = report.outcomes.llm_stats
    assert stats is not None
    assert (stats.judged_fields, stats.call_count, stats.cost_usd) == (3, 0, 0.0)
    assert [low.path for low in stats.top_lowest_fields] == ["c", "a"]
    assert sum(stats.score_distribution.values()) == 3
    assert stats.score_distribution["0.8-1.0"] == 2
    assert stats.median_score == 1.0


class Models:
    """Asks two models in turn: the first fails, the second has all answers but one at hand."""

    name = "models"

    def compare(self, gold: str, predicted: str) -> xb.judges.Verdict:
        raise NotImplementedError

    async def ask(self, question: Question) -> xb.judges.Verdict:
        if question.gold == "down":
            raise JudgeError("no", [JudgeCall("p/one", False, 3, 30, None, 0.5, error="timeout")])
        at_hand = question.gold != "new"
        first = JudgeCall("p/one", False, 2, 20, 4, 0.25, score=0.5)
        second = JudgeCall("p/two", at_hand, int(not at_hand), cost_usd=None, score=0.5)
        return xb.judges.Verdict(0.5, "judged", None, (first, second))


def test_calls_by_model(report_on: Any) -> None:
    names = ("down", "new", "old")
    schema = {"type": "object", "properties": {n: {"type": "string"} for n in names}}
    extracted = dict.fromkeys(names, "other")
    report = report_on((schema, {n: n for n in names}, extracted), judge=Models())
    stats = report.outcomes.llm_stats
    assert (stats.call_count, stats.judged_fields, stats.cost_usd) == (5, 2, None)
    assert stats.by_model == {
        "p/one": ModelCalls(3, 0, 1, requests=7, prompt_tokens=70, completion_tokens=8, cost_usd=1),
        "p/two": ModelCalls(
            2, 1, 0, requests=1, prompt_tokens=0, completion_tokens=0, cost_usd=None
        ),
    }
    assert "Cost: an unknown amount" in summary_text(report)
    assert "  p/one: 3 calls (0 cached, 1 failed), 7 requests\n" in summary_text(report)
    written = json.loads(json_text(report))["outcomes"]["llm_stats"]["by_model"]
    assert written["p/two"]["cached"] == 1


def test_no_calls_no_models(report_on: Any) -> None:
    schema = {"type": "object", "properties": {"a": {"type": "string"}}}
    report = report_on((schema, {"a": "x"}, {"a": "y"}))
    assert report.outcomes.llm_stats.by_model == {}


@pytest.mark.parametrize("limit", [0, 3, 200])
def test_reasoning_is_cut(report_on: Any, failing_judge: Any, limit: int) -> None:
    schema = {"type": "object", "properties": {"a": {"type": "string"}}}
    report = report_on(
        (schema, {"a": "x"}, {"a": "y"}), judge=failing_judge, max_reasoning_length=limit
    )
    whole = "TimeoutError: no answer"
    expected = whole if limit >= len(whole) else whole[:limit] + "..."
    assert report.field_outcomes[0].reasoning == expected


def test_error_breakdown(every_outcome: Any, report_on: Any, failing_judge: Any) -> None:
    report = report_on(every_outcome, judge=failing_judge)
    errors = report.outcomes.error_breakdown
    failed = [r for r in report.field_outcomes if not r.passed]
    assert errors.by_metric_type == Counter(r.metric_id for r in failed)
    assert errors.by_path_prefix["map"] == 2
    assert errors.by_reason == {
        "extracted_absent": 4,
        "gold_absent": 2,
        "value_mismatch": 2,
        "mismatch": 1,
        "judge_error": 1,
        "semantic_mismatch": 1,
    }
    assert {g.category: g.count for g in errors.details} == errors.by_reason
    assert all(len(g.paths) == g.count for g in errors.details)


def test_nothing_failed(worked: Any, report_on: Any) -> None:
    report = report_on((worked.schema, worked.gold, worked.gold))
    assert report.outcomes.error_breakdown is None
    assert report.outcomes.llm_stats is None
    assert "fields pass" in repr(report)
    assert "failed" not in repr(report)


def test_hashes_depend_on_content_alone(cv: Any, report_on: Any) -> None:
    turned = dict(reversed(cv.gold.items()))
    one, two = report_on(cv), report_on((cv.schema, turned, cv.extracted))
    assert (one.schema_hash, one.gold_hash) == (two.schema_hash, two.gold_hash)
    assert one.gold_hash != one.extracted_hash
    assert len(one.gold_hash) == 8
    assert int(one.gold_hash, 16) >= 0


def test_the_evaluation_is_kept_but_not_compared(cv: Any) -> None:
    ev = xb.evaluate(*cv)
    builder = ReportBuilder(ReportConfig(output_name="a"))
    report = builder.from_evaluation(ev)
    assert report.evaluation is ev
    assert "evaluation=" not in repr(report)
    assert "<strong>Report a</strong>" in report._repr_html_()
    with pytest.raises(AttributeError):
        report.output_name = "b"  # type: ignore[misc]


def test_a_report_is_a_plain_record(cv: Any, report_on: Any) -> None:
    from dataclasses import asdict

    report = report_on(cv)
    record = asdict(report)
    assert record["outcomes"]["total_passed"] == 11
    assert record["field_outcomes"][0]["metric_id"] == "string_exact"


def test_nothing_is_evaluated_again(cv: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from extractbench_nb.engine.traversal import Traversal

    ev = xb.evaluate(*cv)
    monkeypatch.delattr(Traversal, "descend")
    assert ReportBuilder().from_evaluation(ev).outcomes.total_passed == 11


def test_a_pickled_evaluation_gives_the_same_report(cv: Any) -> None:
    import pickle

    ev = xb.evaluate(*cv)
    builder = ReportBuilder()
    one, two = (builder.from_evaluation(e) for e in (ev, pickle.loads(pickle.dumps(ev))))  # noqa: S301
    assert (one.outcomes, one.field_outcomes) == (two.outcomes, two.field_outcomes)
    assert one.array_breakdowns == two.array_breakdowns


def test_frames_of_the_evaluation_do_not_change(cv: Any, report_on: Any) -> None:
    ev = xb.evaluate(*cv)
    before = ev.fields
    ReportBuilder().from_evaluation(ev)
    pd.testing.assert_frame_equal(ev.fields, before)
