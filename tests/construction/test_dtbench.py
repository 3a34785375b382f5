"""Gold against itself and against a shuffled copy, and BM25, on tables of DTBench."""

import json
import os
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from extractbench_nb.construction.comparing import compare
from extractbench_nb.construction.retrieval import evidence_recall

FOLDER = os.environ.get("EXTRACTBENCH_CONFORMANCE")
TABLES = Path(str(FOLDER)).parent / "aoe" / "dtbench"
pytestmark = pytest.mark.skipif(not TABLES.is_dir(), reason="needs the tables of DTBench")


class Case(NamedTuple):
    name: str
    rows: list[dict[str, Any]]
    key: str
    query: str
    documents: dict[str, str]


def cases() -> list[Case]:
    found = []
    for path in sorted(TABLES.glob("*.json")):
        case = json.loads(path.read_text(encoding="utf-8"))
        gold = case["ground_truth"][0]
        names = [name[0] if isinstance(name, list) else name for name in gold["header"]]
        rows = [
            {
                name: cell["value"] if isinstance(cell, dict) else cell
                for name, cell in zip(names, row, strict=True)
            }
            for row in gold["data"]
        ]
        titles = " ".join(dict.fromkeys((gold["title"], gold["table_title"])))
        documents = {str(n): text for n, text in enumerate(case["document"])}
        query = f"{titles}: {', '.join(names)}"
        found.append(Case(path.stem, rows, gold["primary_key"], query, documents))
    return found


def test_gold_against_itself() -> None:
    found = cases()
    assert len(found) == 11
    for case in found:
        keys = [case.key] if case.key in case.rows[0] else None
        for other in (
            case.rows,
            case.rows[::-1],
            [dict(reversed(row.items())) for row in case.rows],
        ):
            result = compare(case.rows, other, keys=keys)
            assert result.summary[["cell_f1", "row_f1"]].tolist() == [1.0, 1.0], case.name


def test_bm25() -> None:
    """Near 0.775 with 50 chunks and 0.933 with 250: the mean, and over all cells."""
    by_k = []
    for case in cases():
        gold = compare(case.rows, case.rows).gold
        recall = evidence_recall(gold, case.documents, k=[50, 250], query=case.query)
        by_k.append(recall.by_k)
    mean = [sum(frame["recall"][i] for frame in by_k) / len(by_k) for i in (0, 1)]
    counts = [sum(frame[["retrieved", "in_documents"]].loc[i] for frame in by_k) for i in (0, 1)]
    pooled = [one["retrieved"] / one["in_documents"] for one in counts]
    assert mean == pytest.approx([0.773, 0.958], abs=1e-3)
    assert pooled == pytest.approx([0.754, 0.947], abs=1e-3)
