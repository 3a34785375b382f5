"""The numbers and lines that the README of ExtractBench shows."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from extractbench_nb.report.builder import ReportBuilder, ReportConfig
from extractbench_nb.report.formats import summary_text

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
    Items: 3 matched, 0 missed, 0 spurious
    P=1.000 R=1.000 F1=1.000
"""
WORK = """\
  workExperience [FAIL] score=0.667
    Items: 2 matched, 1 missed, 1 spurious
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


def test_worked_example(worked: Any, report_on: Any) -> None:
    report = report_on(worked)
    assert report.field_score == pytest.approx((1 + 1 + 0.8) / 3)
    assert report.overall_score == pytest.approx((1 + 1 + 10 * 0.8) / 12)


def test_summary_sample(cv: Any, report_on: Any) -> None:
    report = report_on(cv)
    assert f"{report.overall_score:.3f}" == "0.909"
    assert f"{report.field_score:.3f}" == "0.897"
    assert f"{report.overall_pass_rate:.1%}" == "84.6%"
    assert (report.outcomes.total_evaluated, report.outcomes.total_passed) == (13, 11)
    arrays = {a.normalized_path: a for a in report.array_breakdowns}
    assert arrays["languages"].matched == 3
    work = arrays["workExperience"]
    assert (work.matched, work.missed_gold, work.spurious_pred, work.partial) == (2, 1, 1, 0)
    assert work.precision == work.recall == work.f1 == pytest.approx(2 / 3)
    assert [item.gold_value["company"] for item in work.missed_items] == ["Harbour Works"]
    assert [item.extracted_value["company"] for item in work.spurious_items] == ["Quay Ltd"]
    assert [item.gold_index for item in work.matched_items] == [0, 1]
    rows = {row.normalized_path: row for row in report.field_outcomes}
    assert (rows["other"].reason, rows["other"].outcome) == ("gold_empty_array", "hallucination")
    assert rows["name"].matched is rows["name"].f1 is None
    assert rows["workExperience"].missed_gold == 1


@pytest.mark.parametrize("block", [SUMMARY, WORK, FAILED])
def test_summary_lines(cv: Any, report_on: Any, block: str) -> None:
    assert block in summary_text(report_on(cv))


def test_report_snippet(cv: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    config = ReportConfig(output_dir=tmp_path, output_name="nvidia-10k-extract-gemini-flash")
    builder = ReportBuilder(config)
    report = builder.build(*cv)
    output_path = builder.save(report)
    assert output_path == tmp_path / "nvidia-10k-extract-gemini-flash"
    assert {path.name for path in output_path.iterdir()} == {
        "report.json",
        "summary.txt",
        "fields.csv",
        "fields.md",
        "report.html",
    }
    assert capsys.readouterr() == ("", "")


def test_batch_snippet(cv: Any, tmp_path: Path) -> None:
    """`build_async` in a loop of the user's, and `build` in a cell where a loop runs."""

    async def cell() -> tuple[Any, Any]:
        builder = ReportBuilder(ReportConfig(output_dir=tmp_path, output_name="a"))
        return await builder.build_async(*cv), builder.build(*cv)

    awaited, built = asyncio.run(cell())
    assert awaited.field_outcomes == built.field_outcomes
    assert awaited.outcomes == built.outcomes == ReportBuilder().build(*cv).outcomes
