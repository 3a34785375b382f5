"""Each number of a report, on documents small enough to count by hand."""

import json
import os
import pickle
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

import extractbench_nb as xb
from extractbench_nb.compat.published_reports import read_report
from extractbench_nb.compat.reports import ReportBuilder, ReportConfig
from extractbench_nb.core.text.judging import JudgeCall, JudgeError, Question
from tests.report.conftest import FailingJudge, an_object, report_on, texts


@pytest.mark.parametrize("profile", ["paper", "strict"])
def test_totals_are_those_of_the_evaluation(every_outcome, profile):
    ev = xb.evaluate(*every_outcome, profile=profile, judge=FailingJudge())
    report = ReportBuilder().from_evaluation(ev)
    summary, o, counted = ev.summary, report.outcomes, ev.fields.query("counted")
    assert report.evaluation is ev
    assert report.overall_score == summary.overall_score
    assert report.field_score == summary.field_score
    assert report.overall_pass_rate == o.pass_rate == summary.pass_rate
    assert (o.total_evaluated, o.total_passed) == (summary.evaluated, summary.passed)
    assert o.total_failed == summary.evaluated - summary.passed
    assert report.summary.judge_errors == summary.judge_errors > 0
    assert len(report.field_outcomes) == len(counted)
    cells = ("true_positive", "false_positive", "false_negative", "true_negative")
    assert sum(o.confusion[cell] for cell in cells) == counted["score"].notna().sum()
    for counts in (o.pass_by_metric, o.pass_by_type, o.pass_by_required):
        assert sum(sum(c.values()) for c in counts.values()) == len(counted)
        assert sum(c["passed"] for c in counts.values()) == counted["passed"].fillna(False).sum()
    assert report.warnings == ev.warnings[["side", "path", "kind", "message"]].to_dict("records")


def test_outcomes_by_hand(every_outcome):
    report = report_on(every_outcome, judge=FailingJudge())
    o, confusion = report.outcomes, report.outcomes.confusion
    # passed: right, k.1, one metric of two; both absent: nothing; invented: invented, k3
    assert [*confusion.values()][:4] == [3, 2, 8, 1]
    assert (confusion.precision, confusion.recall) == (3 / 5, 3 / 11)
    assert confusion.f1 == pytest.approx(2 * (3 / 5) * (3 / 11) / (3 / 5 + 3 / 11))
    assert o.pass_by_required == {
        "required": {"passed": 1, "failed": 2},
        "optional": {"passed": 3, "failed": 9},
    }
    assert o.pass_by_metric["string_fuzzy"] == {"passed": 1, "failed": 0}
    assert o.pass_by_type["integer"] == {"passed": 1, "failed": 3}
    errors, failed = o.error_breakdown, [r for r in report.field_outcomes if not r.passed]
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
    assert report.gold_stats.missing_count == 1  # k3
    assert report.extracted_stats.missing_count == 4  # omitted, needed, k2, inner.leaf


def test_rows_have_the_words_of_extract_bench(every_outcome):
    report = report_on(every_outcome, judge=FailingJudge())
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
    assert "no answer" in unjudged.reasoning


def test_strict_counts_items_and_still_lists_their_arrays(every_outcome):
    ev = xb.evaluate(*every_outcome, profile="strict")
    report = ReportBuilder().from_evaluation(ev)
    paths = {r.normalized_path: r.path for r in report.field_outcomes}
    top = "$.properties.rows.items"
    assert paths["rows[0].code"] == top + "[0].properties.code"
    assert paths["rows[0].tags[1]"] == top + "[0].properties.tags.items[1]"
    assert paths["rows[+2].code"] == top + "[+2].properties.code"
    assert paths["extra.deep[0]"] == "$.extra.deep[0]"
    assert "rows" not in paths
    (rows,) = report.arrays
    assert (rows.path, rows.counted, rows.matched) == ("$.rows", False, 1)
    assert [pair.failed_fields for pair in rows.matches if pair.failed_fields] == [["rows[].tags"]]


PREFIX = {"type": "array", "prefixItems": [{"type": "integer"}, {"type": "integer"}]}


@pytest.mark.parametrize(
    "schema, document, paths",
    [
        ({"type": "integer"}, 1, ["$"]),
        (an_object({"t": PREFIX}), {"t": [1, 2]},
         ["$.properties.t.prefixItems[0]", "$.properties.t.prefixItems[1]"]),
        (an_object({"a b": an_object(texts("x.y"))}), {"a b": {"x.y": "z"}},
         ["$.properties['a b'].properties['x.y']"]),
        (an_object({"u": {"anyOf": [an_object(texts("x")), {"type": "null"}]}}), {"u": {"x": "z"}},
         ["$.properties.u.anyOf[0].properties.x"]),
    ],
)  # fmt: skip
def test_paths(schema, document, paths):
    ev = xb.evaluate(schema, document, document, profile="strict")
    report = ReportBuilder().from_evaluation(ev)
    assert [row.path for row in report.field_outcomes] == paths


def test_statistics_of_schema_documents_and_coverage():
    node = an_object({"n": {"type": "integer"}, "next": {"$ref": "#/$defs/node"}}, required=["n"])
    schema = {
        **an_object(
            {
                "list": {"type": "array", "items": {"$ref": "#/$defs/node"}},
                "gone": {"type": "string"},
                "never": {"anyOf": [{"type": "number"}, {"type": "null"}]},
                "inner": an_object({"x": {}}, required=["x"]),
            },
            required=["list", "inner", "gone", "never"],
        ),
        "$defs": {"node": node},
    }
    gold = {"list": [1, [2], {}], "gone": None, "inner": {"x": 1.5}, "e": [], "n": {"k.1": True}}
    extracted = {"inner": {"y": 2}, "e": [], "n": {"k.1": 3}}
    report = ReportBuilder().build(schema, gold, extracted)
    stats = report.schema_stats
    assert stats.counts_by_type == {
        "object": 4,
        "array": 1,
        "integer": 1,
        "string": 1,
        "anyof": 1,
        "number": 1,
        "null": 1,
        "any": 1,
    }
    assert stats.total_nodes == sum(stats.counts_by_type.values())
    assert stats.required_by_type == {"array": 1, "string": 1, "anyof": 1, "object": 1} | {
        "integer": 1, "any": 1
    }  # fmt: skip
    assert (stats.required_keys_count, stats.optional_by_type) == (6, {"object": 1})
    assert report.gold_stats == {
        "label": "gold",
        "total_keys": 7,
        "counts_by_type": {"array": 2, "null": 1, "object": 2, "number": 1, "boolean": 1},
        "array_stats": {
            "array_field_count": 3,
            "total_items": 4,
            "min_length": 0,
            "median_length": 1,
            "max_length": 3,
        },
        "null_count": 1,
        "missing_count": report.gold_stats.missing_count,
    }
    assert ReportBuilder().build(schema, {}, {}).gold_stats.array_stats is None
    assert report.coverage == {
        "present_in_both": 2,
        "missing_in_extracted": 4,
        "spurious_in_extracted": 1,
        "required_missing": 3,
        "missing_paths": ["gone", "inner.x", "list[0]", "list[1][0]"],
        "spurious_paths": ["inner.y"],
        "required_missing_paths": ["gone", "inner.x", "list"],
    }


# --- judges -----------------------------------------------------------------------------------


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


def test_calls_by_model(tmp_path):
    names = ("down", "new", "old")
    schema = an_object({n: {"type": "string"} for n in names})
    documents = (schema, {n: n for n in names}, dict.fromkeys(names, "other"))
    builder = ReportBuilder(ReportConfig(tmp_path, "r", judge=Models()))
    report = builder.build(*documents)
    stats = report.outcomes.llm_stats
    assert (stats.call_count, stats.judged_fields, stats.cost_usd) == (5, 2, None)
    one = {"calls": 3, "cached": 0, "failed": 1, "requests": 7}
    two = {"calls": 2, "cached": 1, "failed": 0, "requests": 1}
    assert stats.by_model == {
        "p/one": {**one, "prompt_tokens": 70, "completion_tokens": 8, "cost_usd": 1},
        "p/two": {**two, "prompt_tokens": 0, "completion_tokens": 0, "cost_usd": None},
    }
    page = (builder.save(report) / "report.html").read_text(encoding="utf-8")
    assert "5 calls of a language model, an unknown amount" in page


# --- the README -------------------------------------------------------------------------------


def test_worked_example_of_the_readme():
    items = {"type": "array", "items": texts("x")["x"]}
    schema = an_object({**texts("name"), "age": {"type": "integer"}, "items": items})
    gold = {"name": "Ada", "age": 36, "items": [f"item {i}" for i in range(10)]}
    extracted = {**gold, "items": [*gold["items"][:8], "o", "p"]}
    report = ReportBuilder().build(schema, gold, extracted)
    assert report.field_score == pytest.approx((1 + 1 + 0.8) / 3)
    assert report.overall_score == pytest.approx((1 + 1 + 10 * 0.8) / 12)
    found = report.field_outcomes[2].array_breakdown
    assert found.pop("matched_items") == gold["items"][:8]
    assert found.pop("missed_gold_items") == ["item 8", "item 9"]
    assert found.pop("spurious_pred_items") == ["o", "p"]
    assert found == {
        "matched": 8,
        "missed_gold": 2,
        "spurious_pred": 2,
        "precision": 0.8,
        "recall": 0.8,
        "f1": pytest.approx(0.8),
    }


SUMMARY = """\
OVERALL RESULTS
----------------------------------------
  Overall Score: 0.909 (item-weighted)
  Field Score: 0.897 (flat average)
  Pass Rate: 84.6%
  Evaluated: 13 fields (11 passed, 2 failed)

ARRAY BREAKDOWN
----------------------------------------
  languages [PASS] score=1.000
    Items: 3 matched, 0 differing, 0 missed, 0 spurious
    P=1.000 R=1.000 F1=1.000
"""
WORK = """\
  workExperience [FAIL] score=0.667
    Items: 2 matched, 0 differing, 1 missed, 1 spurious
    P=0.667 R=0.667 F1=0.667
"""
FAILED = """\
FAILED FIELDS (first 10)
----------------------------------------
  other
    Metric: array_llm, Score: 0.000
    Reason: gold_empty_array
  workExperience
    Metric: array_llm, Score: 0.667
"""


def test_summary_of_the_readme(cv, tmp_path):
    ev = xb.evaluate(*cv, profile="paper")
    text = (ev.save(tmp_path) / "summary.txt").read_text(encoding="utf-8")
    for block in (SUMMARY, WORK, FAILED):
        assert block in text


def test_a_pickled_evaluation_gives_the_same_report_and_none_changes(cv):
    ev = xb.evaluate(*cv)
    before = ev.fields
    one = ReportBuilder().from_evaluation(ev)
    two = ReportBuilder().from_evaluation(pickle.loads(pickle.dumps(ev)))  # noqa: S301
    assert {k: v for k, v in one.items() if k != "timestamp"} == {
        k: v for k, v in two.items() if k != "timestamp"
    }
    assert ev.fields.equals(before)
    turned = ReportBuilder().build(cv.schema, dict(reversed(cv.gold.items())), cv.extracted)
    assert (one.schema_hash, one.gold_hash) == (turned.schema_hash, turned.gold_hash)
    assert one.gold_hash != one.extracted_hash
    assert int(one.gold_hash, 16) >= 0
    assert repr(one).startswith("EvaluationReport '20")
    assert "<strong>Report 20" in one._repr_html_()
    with pytest.raises(AttributeError, match="no 'confusions' here"):
        one.outcomes.confusions  # noqa: B018


# --- reports of extract-bench -----------------------------------------------------------------

RUNS = os.environ.get("EXTRACTBENCH_RUNS")


def _missing_keys(theirs: Any, ours: Any, path: str = "") -> list[str]:
    if isinstance(theirs, list):
        return _missing_keys(theirs[0], ours[0], path + "[]") if theirs and ours else []
    if not isinstance(theirs, dict) or ours is None or path.endswith("value"):
        return []
    lost = [f"{path}.{key}" for key in theirs.keys() - ours.keys()]
    return lost + [
        key
        for name in theirs.keys() & ours.keys()
        if not name.endswith(("_by_type", "score_distribution"))
        for key in _missing_keys(theirs[name], ours[name], f"{path}.{name}")
    ]


@pytest.mark.skipif(not RUNS, reason="set EXTRACTBENCH_RUNS")
def test_recorded_reports_are_read_and_have_no_key_that_ours_lack(every_outcome):
    recorded = sorted(Path(str(RUNS)).glob("research/*/*.judge-report.json"))
    assert recorded
    ours = report_on(every_outcome, judge=FailingJudge())
    for path in recorded:
        read = json.loads(path.read_text(encoding="utf-8"))
        theirs = {**read, "outcomes": {**read["outcomes"], "error_breakdown": None}}
        for groups in ("pass_by_metric", "pass_by_type", "pass_by_required"):
            theirs["outcomes"][groups] = {}
        assert _missing_keys(theirs, ours) == [], path.name
        frame, arrays, summary = read_report(path)
        assert len(frame) == len(read["field_outcomes"])
        assert frame.passed.sum() == sum(r["passed"] for r in read["field_outcomes"])
        assert summary["overall_score"].item() == read["overall_score"]
        assert summary["passed"].item() == frame.passed.sum()
        assert arrays.empty  # 0.1.0 counted no items in these
        assert {"$.title", "$.authors", "$.citations"} <= set(frame.path)
    fields, _, summary = read_report(RUNS)
    assert len(summary) == len(recorded)
    assert summary[["run", "document"]].drop_duplicates().shape == (len(recorded), 2)
    assert fields.groupby(["run", "document"]).size().sum() == summary["evaluated"].sum()
    assert summary["judge_errors"].gt(0).sum() == 7


@pytest.mark.parametrize("text", ["[]", "{}", '{"field_outcomes": [1]}', "no JSON"])
def test_what_is_no_report_is_refused(text, tmp_path):
    file = tmp_path / "report.json"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(xb.InputError, match=r"report\.json"):
        read_report(file)


@pytest.mark.parametrize(
    "row, path",
    [
        ({"path": "$", "normalized_path": "$"}, "$"),
        ({"path": "$.properties.a.properties.b c", "normalized_path": "a.b c"}, "$.a['b c']"),
        ({"path": "$.properties.m.additionalProperties", "normalized_path": "m.additional"},
         "$.m.additional"),
    ],
)  # fmt: skip
def test_paths_of_extract_bench(row, path, tmp_path):
    whole = {**row, "metric_id": "string_exact", "score": 1.0, "passed": True}
    head = {"output_name": "r", "overall_score": 1.0, "overall_pass_rate": 1.0}
    file = tmp_path / "report.json"
    file.write_text(json.dumps({**head, "field_outcomes": [whole]}), encoding="utf-8")
    assert read_report(tmp_path).fields.path.tolist() == [path]
