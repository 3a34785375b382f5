"""Reports on every output of the sample dataset and on recorded outputs of real models."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

import extractbench_nb as xb
from extractbench_nb.display.text import columns
from extractbench_nb.report.builder import ReportBuilder, ReportConfig
from extractbench_nb.report.formats import json_text, summary_text
from extractbench_nb.report.html import html_text

FILES = {"report.json", "summary.txt", "fields.csv", "fields.md", "report.html"}


def check_report(report: Any, read: Any) -> None:
    """The totals are the evaluation's, and the JSON has every row."""
    summary, o = report.evaluation.summary, report.outcomes
    assert (o.total_evaluated, o.total_passed) == (summary["evaluated"], summary["passed"])
    assert sum(vars(o.split).values()) == o.total_failed
    judged = [r for r in report.field_outcomes if r.score is not None]
    assert sum(vars(o.confusion).values()) == len(judged)
    assert len(read["field_outcomes"]) == len(report.field_outcomes)
    assert all(columns(line) <= 80 for line in summary_text(report).splitlines())
    for array in report.array_breakdowns:
        items = [array.matched_items, array.partial_items, array.missed_items]
        items.append(array.spurious_items)
        matched, partial, missed, spurious = map(len, items)
        assert (matched, partial) == (array.matched, array.partial)
        assert (missed + partial, spurious + partial) == (array.missed_gold, array.spurious_pred)


def check_folder(report: Any, folder: Path, strict_json: Any) -> None:
    """All files are there and can be read back; the page is not too large."""
    assert {path.name for path in folder.iterdir()} == FILES
    check_report(report, strict_json((folder / "report.json").read_text(encoding="utf-8")))
    assert (folder / "report.html").stat().st_size < 2_000_000


def test_sample_outputs(sample_outputs: Any, profile: str, strict_json: Any) -> None:
    """All outputs by the default profile, a quarter of them by the others."""
    assert len(sample_outputs) >= 56
    builder = ReportBuilder(ReportConfig(profile=profile))
    problems = 0
    for _, documents in sample_outputs[:: 1 if profile == "paper" else 4]:
        report = builder.build(*documents)
        check_report(report, strict_json(json_text(report)))
        problems += report.problem is not None
    assert problems >= (3 if profile == "paper" else 0)


def test_sample_outputs_are_saved(sample_outputs: Any, tmp_path: Path, strict_json: Any) -> None:
    for name, documents in sample_outputs[::4]:
        builder = ReportBuilder(ReportConfig(output_dir=tmp_path, output_name=name))
        report = builder.build(*documents)
        check_folder(report, builder.save(report), strict_json)


def recorded() -> list[Path]:
    folders = os.environ.get("EXTRACTBENCH_RUNS"), os.environ.get("EXTRACTBENCH_DATASET")
    return sorted(Path(folders[0]).glob("research/*/*.pred.json")) if all(folders) else []


@pytest.mark.skipif(not recorded(), reason="set EXTRACTBENCH_RUNS and EXTRACTBENCH_DATASET")
def test_recorded_outputs(tmp_path: Path, strict_json: Any) -> None:
    """One run; the largest has 1,081 citations."""
    research = Path(os.environ["EXTRACTBENCH_DATASET"]) / "academic" / "research"
    run = recorded()[0].parent
    outputs = [path for path in recorded() if path.parent == run]
    assert len(outputs) >= 5
    for output in outputs:
        name = output.name.removesuffix(".pred.json")
        gold = research / "pdf+gold" / f"{name}.gold.json"
        ev = xb.evaluate(research / "research-schema.json", gold, output)
        report = ReportBuilder().from_evaluation(ev)
        check_folder(report, ev.save(tmp_path / name), strict_json)


def test_ten_thousand_rows(tmp_path: Path, strict_json: Any) -> None:
    """A huge document stays a page that opens fast; the other files hold all of it."""
    item = {"type": "object", "properties": {f"f{i}": {"type": "integer"} for i in range(9)}}
    schema = {"type": "object", "properties": {"rows": {"type": "array", "items": item}}}
    gold = {"rows": [{f"f{i}": 10 * n + i for i in range(9)} for n in range(1_000)]}
    extracted = {"rows": [dict(row, f3=-1) if n % 2 else row for n, row in enumerate(gold["rows"])]}
    ev = xb.evaluate(schema, gold, extracted, profile="strict")
    report = ReportBuilder().from_evaluation(ev)
    assert len(report.field_outcomes) == 9_000
    folder = ev.save(tmp_path)
    check_folder(report, folder, strict_json)
    page = (folder / "report.html").read_text(encoding="utf-8")
    assert "8000 more in fields.csv" in page
    assert "300 more in fields.csv" in page
    assert "480 more in report.json" in page
    assert len((folder / "fields.csv").read_text(encoding="utf-8").splitlines()) == 9_001
    assert len(json.loads((folder / "report.json").read_text())["field_outcomes"]) == 9_000


def test_a_page_of_long_texts_is_bounded() -> None:
    """Many arrays of many items of many keys with long texts: all budgets at once."""
    text = {"type": "string", "evaluation_config": "string_exact"}
    item = {"type": "object", "properties": {f"k{i}": text for i in range(12)}}
    names = [f"list{i}" for i in range(70)]
    array = {"type": "array", "items": item}
    schema = {"type": "object", "properties": dict.fromkeys(names, array)}
    rows = [{f"k{i}": f"{n} {i} " + "long text " * 50 for i in range(12)} for n in range(12)]
    gold = dict.fromkeys(names, rows)
    changed = [{**row, "k3": "short"} for row in rows]
    extracted = dict.fromkeys(names, changed)
    report = ReportBuilder().build(schema, gold, extracted)
    page = html_text(report)
    assert "10 more in report.json" in page
    assert "more keys" not in page
    assert 100 < page.count('class="places"') <= 400
    assert len(page) < 3_000_000
    page = html_text(ReportBuilder().build(schema, gold, {}))
    assert "4 more keys" in page
    assert 100 < page.count('class="places"') <= 400
    assert len(page) < 3_000_000
