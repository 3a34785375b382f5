"""Reports on built tables: what they show of a comparison and of a batch, and their files."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import extractbench_nb as xb
from extractbench_nb.construction import TableEvaluations, compare, evaluate_tables, load
from extractbench_nb.report import ReportBuilder, ReportConfig

GOLD = "name,n,unit\na,1,kg\nb,2,kg\n"
PREDICTED = "name,n\na,7\nc,<script>alert(1)</script>\n"
FILES = ("cells.csv", "cells.md", "report.html", "report.json", "summary.txt")


@pytest.fixture(scope="module")
def sample() -> TableEvaluations:
    return evaluate_tables(load(), progress=False)


def saved(found: Any, folder: Path, **options: Any) -> dict[str, str]:
    builder = ReportBuilder(ReportConfig(output_dir=folder, output_name="r"))
    path = builder.save(builder.from_tables(found, **options))
    return {file.name: file.read_text(encoding="utf-8") for file in path.iterdir()}


def test_a_comparison_is_reported_with_its_losses(tmp_path: Path) -> None:
    found = compare(GOLD, PREDICTED, keys="name")
    report = ReportBuilder().from_tables(found)
    recall = report.losses.set_index("side").loc["recall"]
    assert recall[["of", "columns", "rows", "cells", "right"]].tolist() == [4, 1, 2, 1, 0]
    sections = {title: frame for title, _, frame in report.sections}
    assert sections["Columns"]["column"].tolist() == ["n", "unit"]
    assert sections["Rows"]["status"].tolist() == ["matched", "missed", "spurious"]
    assert len(sections["Cells"]) == len(found.cells)
    files = saved(found, tmp_path)
    assert tuple(sorted(files)) == FILES
    assert "WHERE POINTS WERE LOST (2)" in files["summary.txt"]
    assert "<script>" not in files["report.html"]
    assert "&lt;script&gt;alert(1)" in files["report.html"]
    assert "<script>" not in files["cells.md"]
    written = json.loads(files["report.json"])
    assert [row["path"] for row in written["cells"]] == found.cells["path"].tolist()
    assert written["losses"][0]["columns"] == 1
    rows = list(csv.DictReader(files["cells.csv"].splitlines()))
    assert [row["outcome"] for row in rows] == found.cells["outcome"].tolist()


def test_a_batch_is_reported_by_run(sample: TableEvaluations, tmp_path: Path) -> None:
    report = ReportBuilder().from_tables(sample)
    assert len(report.scores) == 9
    lost = report.losses.set_index(["run", "side"])
    for run, part in sample.summary.groupby("run"):
        assert lost.loc[(run, "recall"), "of"] == part["gold_cells"].sum()
        assert lost.loc[(run, "recall"), "right"] == pytest.approx(part["score_sum"].sum())
    page = saved(sample, tmp_path)["report.html"]
    assert all(run in page for run in lost.index.get_level_values("run"))
    assert 'id="where-points-were-lost"' in page


def test_what_was_not_retrieved_has_a_column(sample: TableEvaluations) -> None:
    recalls = {t.id: xb.construction.evidence_recall(t, k=1) for t in load()}
    losses = sample.losses(recalls)
    report = ReportBuilder().from_tables(sample, losses)
    by_hand = losses[losses["stage"] == "retrieval"].groupby(["run", "side"])["lost"].sum()
    shown = report.losses.set_index(["run", "side"])["retrieval"]
    pd.testing.assert_series_equal(shown.sort_index(), by_hand, check_names=False)
    assert shown.sum() > 0


def test_rules_without_losses_are_reported_too(tmp_path: Path) -> None:
    found = compare(GOLD, PREDICTED, keys="name", profile="aoe")
    files = saved(found, tmp_path)
    assert "counts some rows several times" in files["report.html"]
    assert json.loads(files["report.json"])["losses"] == []


@pytest.mark.parametrize("predicted", [GOLD, "no table", "name,n,unit\n"])
def test_nothing_to_show_in_a_section(predicted: str, tmp_path: Path) -> None:
    files = saved(compare(GOLD, predicted, keys="name"), tmp_path)
    assert "Where points were lost" in files["report.html"]
    assert ("CELLS (0)" in files["summary.txt"]) == (predicted == GOLD)


def test_each_switch_leaves_out_its_file(tmp_path: Path) -> None:
    config = ReportConfig(tmp_path, "r", save_html=False, save_csv=False)
    builder = ReportBuilder(config)
    folder = builder.save(builder.from_tables(compare(GOLD, PREDICTED, keys="name")))
    names = sorted(file.name for file in folder.iterdir())
    assert names == ["cells.md", "report.json", "summary.txt"]
