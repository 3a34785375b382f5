"""AOE's numbers as its released code computed them, and our named outcomes where it stops."""

import json
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from extractbench_nb.construction.answers import fenced_frame, read_answer
from extractbench_nb.construction.comparing import compare
from extractbench_nb.construction.retrieval import split_documents
from extractbench_nb.construction.table_dataset import load
from extractbench_nb.construction.table_rules import rules_of
from extractbench_nb.errors import InputError
from tests.construction.recorded_judge import Recorded, no_row, without_md

FOLDER = os.environ.get("EXTRACTBENCH_CONFORMANCE")
pytestmark = pytest.mark.skipif(FOLDER is None, reason="needs the recorded cases")

#: Our names of the released code's parameters.
PARAMETERS = {
    "key_suffix_to_remove": "key_suffix",
    "fuzzy_threshold": "threshold",
    "numeric_tolerance": "numeric_tolerance",
    "llm_failure_score": "failure_score",
}
#: Its names of our scores, where they differ.
SCORES = {
    "num_gold_rows": "gold_rows",
    "num_original_mapped_rows": "predicted_rows",
    "num_matched_rows": "matched_rows",
    "tp_score_sum": "score_sum",
    "total_gold_target_cells": "gold_cells",
    "total_mapped_target_cells_corresp_gold_schema": "predicted_cells",
    "average_cell_score_in_matched": "average_cell_score",
    **{f"cell_{name}": f"cell_{name}" for name in ("f1", "precision", "recall")},
    **{f"row_{name}": f"row_{name}" for name in ("f1", "precision", "recall")},
    "column_recall": "column_recall",
}
ROWS: dict[str, tuple[dict[str, Any], Any]] = {
    "exact": ({"rows": "exact"}, no_row),
    "llm_assisted_none": ({}, no_row),
    "llm_assisted_strip_md": ({}, without_md),
    "llm_assisted_none_no_thefuzz": ({"threshold": 101}, no_row),
}


def lines(name: str) -> list[Any]:
    text = (Path(str(FOLDER)) / name).read_text(encoding="utf-8")
    return [json.loads(line) for line in text.splitlines()]


def of_kind(kind: str) -> list[Any]:
    return [case for case in lines("aoe_pipeline_dev.jsonl") if case["kind"] == kind]


def compared(case: Mapping[str, Any], judge: Any, **changes: Any) -> Any:
    changes = {PARAMETERS[name]: value for name, value in case["params"].items()} | changes
    return compare(
        case["gold_csv"],
        case["pred_csv"],
        keys=case["key_columns"],
        values=case["target_value_columns"],
        numeric=case["numeric_columns"],
        judge=judge,
        profile=rules_of("aoe", **changes),
    )


def differences(result: Any, judge: Recorded, expected: Mapping[str, Any], pairs: Any) -> list[str]:
    """Name the scores and counts that are not the recorded ones."""
    wrong = [
        name
        for name, ours in SCORES.items()
        if result.summary[ours] != pytest.approx(expected[name], abs=1e-9)
    ]
    matched = result.matches.dropna(subset=["gold_row", "predicted_row"])
    found = matched[["predicted_row", "gold_row"]].astype(int).to_numpy().tolist()
    if sorted(found) != sorted(pairs):
        wrong.append("matched_pairs")
    rules = matched["rule"].value_counts()
    for rule, name in {"exact": "by_exact", "fuzzy": "by_fuzzy", "judge": "by_llm"}.items():
        if rules.get(rule, 0) != expected["row_match_stats"][name]:
            wrong.append(name)
    for asked, name in ((judge.rows, "row_match_stats"), (judge.cells, "cell_eval_stats")):
        if len(asked) != expected[name]["calls"]:
            wrong.append(name)
    return wrong


def test_scores() -> None:
    wrong, seen = [], 0
    for case in lines("aoe_dev.jsonl"):
        for method, expected in case["expected"].items():
            row, cell = method.split("/")
            changes, replies = ROWS[row]
            judge = Recorded(replies, 0.5)
            cells = "judge" if cell == "llm_half" else cell
            seen += 1
            if "raises" in expected:
                with pytest.raises(InputError, match="keys"):
                    compared(case, judge, cells=cells, **changes)
                continue
            result = compared(case, judge, cells=cells, **changes)
            different = differences(result, judge, expected, expected["matched_pairs"])
            if different:
                wrong.append((case["id"], method, different))
    assert seen > 700
    assert not wrong, wrong[:3]


def test_judged() -> None:
    cases = of_kind("judged")
    for case in cases:
        given, expected = case["input"], case["expected"]
        judge = Recorded(given["row_replies"], given["cell_replies"])
        result = compared(given, judge)
        assert not differences(result, judge, expected["scores"], expected["matched_pairs"]), case
        assert {"rows": judge.rows, "cells": judge.cells} == expected["asked"], case["id"]
    assert len(cases) > 20


def plain(frame: pd.DataFrame | None) -> dict[str, Any] | None:
    if frame is None:
        return None
    rows = frame.astype(object).to_numpy().tolist()
    return {
        "columns": list(frame.columns),
        # texts were objects in the pandas of the recording
        "dtypes": [str(dtype).replace("str", "object") for dtype in frame.dtypes],
        "index": [None if pd.isna(label) else label for label in frame.index],
        "rows": [[None if pd.isna(value) else value for value in row] for row in rows],
    }


def test_answers() -> None:
    cases = of_kind("parse")
    for case in cases:
        text, expected = case["input"]["text"], case["expected"]
        is_fenced, frame = fenced_frame(text)
        assert is_fenced is (expected["status"] == "csv_found"), case["id"]
        assert plain(frame) == expected["frame"], case["id"]
        assert read_answer(text).direct is (expected["frame"] is not None), case["id"]
    assert len(cases) > 25


def test_chunks() -> None:
    for case in of_kind("split"):
        given = case["input"]
        sizes = {"chunk_size": given["chunk_size"], "overlap": given["chunk_overlap"]}
        found = split_documents({"d": given["text"]}, **sizes)
        assert [chunk.text for chunk in found] == case["expected"]["chunks"]


def test_chunks_of_legal_records(tmp_path: Path) -> None:
    for case in of_kind("split_legal"):
        record = {"record_id": "legal_1_1_zh", "answers": [{"案件名": "甲"}], **case["input"]}
        path = tmp_path / "all_AOE_tables.jsonl"
        path.write_text(json.dumps(record), encoding="utf-8")
        (task,) = load(path)
        # the released code indents the lines of a case
        texts = {
            name: re.sub("\n(?=入库编号：|案件详情：)", "\n" + " " * 20, text)
            for name, text in task.texts.items()
        }
        found = split_documents(texts)
        assert [chunk.document for chunk in found] == case["expected"]["sources"]
        assert [len(chunk.text) for chunk in found] == case["expected"]["lengths"]


def test_laws_that_gold_cites(tmp_path: Path) -> None:
    (tmp_path / "law_docx").mkdir()
    for case in of_kind("law_names"):
        for name in case["expected"]["names"]:
            (tmp_path / "law_docx" / f"{name}.docx").touch()
        answers = [{"案件名": "甲", "关联索引": texts} for texts in case["input"]["references"]]
        record = {"record_id": "legal_1_0_zh", "answers": answers, "input_doc": []}
        (tmp_path / "all_AOE_tables.jsonl").write_text(json.dumps(record), encoding="utf-8")
        (task,) = load(tmp_path)
        laws = [name.removesuffix(".docx") for name in task.documents]
        assert laws == case["expected"]["names"], case["id"]
