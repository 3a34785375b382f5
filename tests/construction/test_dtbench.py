"""Gold against itself, and against a shuffled copy, on tables of DTBench."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from extractbench_nb.construction import compare

FOLDER = os.environ.get("EXTRACTBENCH_CONFORMANCE")
TABLES = Path(str(FOLDER)).parent / "aoe" / "dtbench"
pytestmark = pytest.mark.skipif(not TABLES.is_dir(), reason="needs the tables of DTBench")


def gold_tables() -> list[tuple[str, list[dict[str, Any]], str]]:
    found = []
    for path in sorted(TABLES.glob("*.json")):
        table = json.loads(path.read_text(encoding="utf-8"))["ground_truth"][0]
        names = [name[0] if isinstance(name, list) else name for name in table["header"]]
        rows = [
            {name: cell["value"] for name, cell in zip(names, row, strict=True)}
            for row in table["data"]
        ]
        found.append((path.stem, rows, table["primary_key"]))
    return found


def test_gold_against_itself() -> None:
    found = gold_tables()
    assert len(found) == 11
    repeated = []
    for name, rows, key in found:
        keys = [key] if key in rows[0] else None
        for other in (rows, rows[::-1], [dict(reversed(row.items())) for row in rows]):
            result = compare(rows, other, keys=keys)
            assert result.summary["cell_f1"] == 1.0, name
            assert result.summary["row_f1"] == 1.0, name
        if "duplicate_key" in set(result.warnings["kind"]):
            repeated.append(name)
    assert len(repeated) == 1


def test_proposed_keys_tell_rows_apart() -> None:
    for name, rows, key in gold_tables():
        proposed = compare(rows, rows).meta["keys"]
        texts = [tuple(str(row[column]) for column in proposed) for row in rows]
        assert len(set(texts)) == len(rows) or key in proposed, (name, proposed, key)
