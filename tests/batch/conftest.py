import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import extractbench_nb as xb
from extractbench_nb.runs.results import Evaluations

FRAMES = ("fields", "arrays", "matches", "judge_calls", "summary", "by_run", "missing")

LINE = {"type": "object", "properties": {"item": {"type": "string"}, "count": {"type": "integer"}}}
SCHEMA = {
    "title": "invoice",
    "type": "object",
    "properties": {
        "seller": {"type": "string"},
        "total": {"type": "number"},
        "note": {"type": "string"},
        "lines": {"type": "array", "items": LINE},
    },
}
GOLD = {
    "seller": "Northwind Paper",
    "total": 12.5,
    "note": None,
    "lines": [{"item": "Envelope", "count": 2}, {"item": "Folder", "count": 3}],
}


@pytest.fixture(scope="session")
def sample() -> xb.runs.Dataset:
    return xb.load_dataset("sample")


@pytest.fixture
def frame_of() -> Callable[..., pd.DataFrame]:
    """Rows of one schema and gold: from ``(run, document, predicted)`` triples."""

    def make(*rows: tuple[str, str, Any], schema: Any = SCHEMA, gold: Any = GOLD) -> pd.DataFrame:
        columns = {
            name: pd.Series([row[place] for row in rows], dtype=object)
            for place, name in enumerate(("run", "document", "predicted"))
        }
        same = pd.Series([schema] * len(rows), dtype=object)
        golds = pd.Series([gold] * len(rows), dtype=object)
        return pd.DataFrame({**columns, "schema": same, "gold": golds})

    return make


@pytest.fixture
def runs_folder(tmp_path: Path) -> Callable[[dict[str, Any]], Path]:
    """Files by their paths below a folder of runs; bytes are written as they are."""

    def make(files: dict[str, Any]) -> Path:
        for name, content in files.items():
            path = tmp_path / "runs" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            text = content if isinstance(content, bytes) else json.dumps(content).encode()
            path.write_bytes(text)
        return tmp_path / "runs"

    return make


class Small:
    """The least that a dataset has to have: three documents, one schema."""

    documents = pd.DataFrame(
        {"document": ["one", "two", "three"], "domain": ["a", "b", pd.NA], "schema": ["bill"] * 3}
    )

    def schema(self, schema_id: str) -> Any:
        assert schema_id == "bill"
        return SCHEMA

    def gold(self, document_id: str) -> Any:
        return {**GOLD, "note": document_id}


@pytest.fixture
def small() -> Small:
    return Small()


@pytest.fixture
def same() -> Callable[[Evaluations, Evaluations], None]:
    """Assert that two results have equal frames."""

    def check(one: Evaluations, other: Evaluations) -> None:
        for name in FRAMES:
            pd.testing.assert_frame_equal(getattr(one, name), getattr(other, name))

    return check
