"""Reports on built tables: what they show of a comparison and of a batch, and their files."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import extractbench_nb as xb
from extractbench_nb.construction.comparing import compare
from extractbench_nb.construction.table_batches import TableEvaluations, evaluate_tables
from extractbench_nb.construction.table_dataset import load

GOLD = "name,n,unit\na,1,kg\nb,2,kg\n"
PREDICTED = "name,n\na,7\nc,<script>alert(1)</script>\n"
FILES = ["cells.csv", "report.html", "report.json", "summary.txt"]


@pytest.fixture(scope="module")
def sample() -> TableEvaluations:
    return evaluate_tables(load(), progress=False)


def saved(tables: Any, folder: Path, **options: Any) -> dict[str, Any]:
    xb.views.write_report(tables, folder, **options)
    files: dict[str, Any] = {p.name: p.read_text(encoding="utf-8") for p in folder.iterdir()}
    assert sorted(files) == FILES
    return files | {"report.json": json.loads(files["report.json"])}


def test_a_comparison_with_its_losses(tmp_path: Path) -> None:
    tables = compare(GOLD, PREDICTED, keys="name")
    files = saved(tables, tmp_path)
    report = files["report.json"]
    recall = next(row for row in report["losses"] if row["side"] == "recall")
    assert [recall[k] for k in ("of", "columns", "rows", "cells", "right")] == [4, 1, 2, 1, 0]
    assert files["summary.txt"] == f"{report['output_name']}\n{tables!r}\n"
    assert files["report.html"].count("<script>") == 1  # its own
    assert "&lt;script&gt;alert(1)" in files["report.html"]
    assert [row["path"] for row in report["cells"]] == tables.cells["path"].tolist()
    rows = list(csv.DictReader(files["cells.csv"].splitlines()))
    assert [row["outcome"] for row in rows] == tables.cells["outcome"].tolist()


def test_a_batch_by_run_with_retrieval(sample: TableEvaluations, tmp_path: Path) -> None:
    recalls = {t.id: xb.construction.evidence_recall(t, k=1) for t in load()}
    losses = sample.losses(recalls)
    files = saved(sample, tmp_path, losses=losses)
    assert len(files["report.json"]["scores"]) == len(sample.summary)
    shown = pd.DataFrame(files["report.json"]["losses"]).set_index(["run", "side"])
    for run, part in sample.summary.groupby("run"):
        assert shown.loc[(run, "recall"), "of"] == part["gold_cells"].sum()
        assert run in files["report.html"]
    retrieval = losses[losses["stage"] == "retrieval"].groupby(["run", "side"])["lost"].sum()
    assert shown["retrieval"].sort_index().tolist() == pytest.approx(retrieval.tolist())
    assert retrieval.sum() > 0


@pytest.mark.parametrize("predicted", [GOLD, "no table", "name,n,unit\n"])
def test_nothing_to_show_in_a_section(predicted: str, tmp_path: Path) -> None:
    files = saved(compare(GOLD, predicted, keys="name"), tmp_path)
    assert "Where points were lost" in files["report.html"]
    empty = 'id="cells">Cells <span class="xb-quiet">0<'
    assert (empty in files["report.html"]) == (predicted == GOLD)
