"""AOE's numbers as its released code computed them, and our named outcomes where it stops."""

import json
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from extractbench_nb.construction import RecordedAnswers, compare, released_answer, rules_of
from extractbench_nb.construction.replies import (
    CONTEXTS,
    gold_table,
    read_cell_reply,
    read_quality_reply,
    released_truncation,
)
from extractbench_nb.errors import InputError

FOLDER = os.environ.get("EXTRACTBENCH_CONFORMANCE")
pytestmark = pytest.mark.skipif(FOLDER is None, reason="needs the recorded cases")

#: Our names of the released code's parameters.
NAMES = {
    "key_suffix_to_remove": "key_suffix",
    "fuzzy_threshold": "threshold",
    "numeric_tolerance": "numeric_tolerance",
    "llm_failure_score": "failure_score",
}
TOLERANCE = 1e-9


def lines(name: str) -> list[Any]:
    text = (Path(str(FOLDER)) / name).read_text(encoding="utf-8")
    return [json.loads(line) for line in text.splitlines()]


def of_kind(kind: str) -> list[Any]:
    return [case for case in lines("aoe_pipeline_dev.jsonl") if case["kind"] == kind]


def same(one: Any, other: Any) -> bool:
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(same(one[k], other[k]) for k in one)
    if isinstance(one, float | int) and isinstance(other, float | int):
        return abs(one - other) <= TOLERANCE
    return bool(one == other)


def differences(expected: dict[str, Any], found: dict[str, Any]) -> dict[str, Any]:
    names = expected.keys() | found.keys()
    both = {name: (expected.get(name), found.get(name)) for name in names}
    return {name: pair for name, pair in both.items() if not same(*pair)}


def no_row(key: str, keys: Sequence[str]) -> str:
    return "<output>None</output>"


def without_md(key: str, keys: Sequence[str]) -> str:
    return f"<output>{key.replace('.md', '')}</output>"


ROWS: dict[str, tuple[dict[str, Any], Callable[[str, Sequence[str]], str]]] = {
    "exact": ({"rows": "exact"}, no_row),
    "llm_assisted_none": ({}, no_row),
    "llm_assisted_strip_md": ({}, without_md),
    "llm_assisted_none_no_thefuzz": ({"fuzzy_installed": False}, no_row),
}


def compared(case: dict[str, Any], judge: Any, **changes: Any) -> Any:
    changes |= {NAMES[name]: value for name, value in case["params"].items()}
    return compare(
        case["gold_csv"],
        case["pred_csv"],
        keys=case["key_columns"],
        values=case["target_value_columns"],
        numeric=case["numeric_columns"],
        judge=judge,
        profile=rules_of("aoe-282e688d", **changes),
    )


def test_scores() -> None:
    wrong, seen = [], 0
    for case in lines("aoe_dev.jsonl"):
        for method, expected in case["expected"].items():
            row, cell = method.split("/")
            changes, replies = ROWS[row]
            judge = RecordedAnswers(replies, 0.5)
            cells = "judge" if cell == "llm_half" else cell
            seen += 1
            if "raises" in expected:
                with pytest.raises(InputError, match="keys"):
                    compared(case, judge, cells=cells, **changes)
                continue
            result = compared(case, judge, cells=cells, **changes)
            pairs = result.rows.dropna(subset=["gold_row", "predicted_row"])
            found = pairs[["predicted_row", "gold_row"]].astype(int).to_numpy().tolist()
            expected["matched_pairs"].sort()
            different = differences(expected, {**result.released, "matched_pairs": sorted(found)})
            for name in ("cell_f1", "cell_precision", "cell_recall", "row_f1", "column_recall"):
                assert result.summary[name] == pytest.approx(expected[name], abs=TOLERANCE)
            if different:
                wrong.append((case["id"], method, different))
    assert seen > 700
    assert not wrong, wrong[:3]


def test_judged() -> None:
    cases = of_kind("judged")
    for case in cases:
        given = case["input"]
        asked: dict[str, list[Any]] = {"rows": [], "cells": []}

        class Listening(RecordedAnswers):
            def match_key(self, key: str, keys: Sequence[str]) -> str | None:
                asked["rows"].append(key)  # noqa: B023
                return super().match_key(key, keys)

            def score_cell(self, column: str, gold: str, predicted: str) -> float | None:
                asked["cells"].append([column, gold, predicted])  # noqa: B023
                return super().score_cell(column, gold, predicted)

        result = compared(given, Listening(given["row_replies"], given["cell_replies"]))
        expected = case["expected"]
        assert not differences(expected["scores"], result.released), case["id"]
        pairs = result.rows.dropna(subset=["gold_row", "predicted_row"])
        found = pairs[["predicted_row", "gold_row"]].astype(int).to_numpy().tolist()
        assert sorted(found) == sorted(expected["matched_pairs"]), case["id"]
        assert asked == expected["asked"], case["id"]
    assert len(cases) > 20


def test_cell_replies() -> None:
    for case in of_kind("cell_reply"):
        replies = [None if isinstance(r, dict) else r for r in case["input"]["replies"]]
        assert read_cell_reply(replies) == (
            case["expected"]["score"],
            case["expected"]["requests"],
        ), case


def test_quality() -> None:
    for case in of_kind("quality"):
        found, expected = read_quality_reply(case["input"]["reply"]), case["expected"]
        scores = [expected["scores"][f"score{n}"] for n in range(1, 5)]
        assert list(found.scores) == scores
        assert found.kept is expected["kept"]
        assert found.total == pytest.approx(expected["total"], abs=TOLERANCE)


def test_truncation() -> None:
    for case in of_kind("truncate"):
        given, expected = case["input"], case["expected"]
        assert CONTEXTS.get(given["model"], 32_000) == expected["model_limit"]
        prompt = "x" * given["characters"]
        kept = released_truncation(prompt, given["model"], given["max_tokens"])
        assert len(kept) == expected["kept"]


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
        found = released_answer(case["input"]["text"], case["input"]["think_tag"])
        read = {None: "frame", "no_csv": "no_csv", "unreadable": "error"}[found.problem]
        assert case["expected"] == {
            "csv_text": found.csv_text,
            "status": "csv_found" if found.found else "csv_not_found",
            "frame": plain(found.frame),
            "read": read,
            "widths": "ok" if found.even else "ValueError",
        }, case["id"]
    assert len(cases) > 25


def test_gold() -> None:
    for case in of_kind("gold"):
        answers, expected = case["input"]["answers"], case["expected"]
        if "raises" in expected:
            with pytest.raises(InputError, match="gold"):
                gold_table(answers)
            continue
        frame = gold_table(answers)
        assert plain(frame) == expected["frame"]
        assert frame.to_csv(index=False) == expected["text"]
