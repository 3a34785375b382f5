"""Polars and Arrow frames wherever a pandas one goes in: the same results, or one error."""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from pandas.testing import assert_frame_equal

import extractbench_nb as xb
from extractbench_nb.core.frames import as_pandas

MAKERS: dict[str, Callable[[dict[str, list[Any]]], Any]] = {
    "polars": pl.DataFrame,
    "arrow": pa.table,
    "record batch": lambda columns: pa.table(columns).to_batches()[0],
}


@pytest.fixture(params=MAKERS)
def make(request: pytest.FixtureRequest) -> Callable[[dict[str, list[Any]]], Any]:
    return MAKERS[request.param]


CELLS: list[tuple[str, list[Any], list[Any]]] = [
    ("int64", [1, 2], [1, 2]),
    ("Int64", [2**60 + 1, None], [2**60 + 1, pd.NA]),
    ("bool", [True, False], [True, False]),
    ("boolean", [True, None], [True, pd.NA]),
    ("float64", [1.5, 2.0], [1.5, 2.0]),
    ("object", [{"a": 1, "b": [{"c": None}]}, None], [{"a": 1, "b": [{"c": None}]}, None]),
    ("object", [[1, None], []], [[1, None], []]),
    ("object", [dt.date(2024, 5, 6), None], [dt.date(2024, 5, 6), None]),
    ("object", [Decimal("1.50"), None], [Decimal("1.50"), None]),
]


@pytest.mark.parametrize("dtype, cells, expected", CELLS, ids=lambda v: str(v)[:20])
def test_cells_keep_value_and_type(make: Any, dtype: str, cells: Any, expected: Any) -> None:
    frame = as_pandas(make({"x": cells}))
    assert (frame.columns.tolist(), str(frame["x"].dtype)) == (["x"], dtype)
    assert repr(frame["x"].tolist()) == repr(expected)
    assert list(map(type, frame["x"].tolist())) == list(map(type, expected))


def test_a_map_with_a_key_twice_is_one_error() -> None:
    twice = pa.array([[("k", 1), ("k", 2)]], pa.map_(pa.string(), pa.int64()))
    with pytest.raises(xb.InputError, match=r"column 'm': a map has the key .*k.* twice"):
        as_pandas(pa.table({"m": twice}))


SCHEMA = {
    "title": "bill",
    "type": "object",
    "properties": {
        "seller": {"type": "string"},
        "total": {"type": "number"},
        "lines": {
            "type": "array",
            "items": {"type": "object", "properties": {"n": {"type": "integer"}}},
        },
    },
}
GOLD = {"seller": "Ann", "total": 2.5, "lines": [{"n": 1}, {"n": 2}]}
WRONG = {"seller": "Ann", "total": 9.5, "lines": [{"n": 1}, {"n": 3}]}
COLUMNS: dict[str, list[Any]] = {
    "run": ["a", "b"],
    "document": ["d", "d"],
    "predicted": [GOLD, WRONG],
    "gold": [GOLD, GOLD],
    "temperature": [0.5, 1.0],
    "seed": [1, None],
}


def in_pandas(columns: dict[str, list[Any]]) -> pd.DataFrame:
    return pd.DataFrame({name: pd.Series(cells, dtype=object) for name, cells in columns.items()})


def test_runs(make: Any) -> None:
    expected = xb.evaluate_runs(in_pandas(COLUMNS), schema=SCHEMA, progress=False)
    evs = xb.evaluate_runs(make(COLUMNS), schema=SCHEMA, progress=False)
    assert_frame_equal(evs.fields, expected.fields)
    assert evs.summary["seed"].tolist() == [1, pd.NA]
    texts = COLUMNS | {name: list(map(json.dumps, COLUMNS[name])) for name in ("gold", "predicted")}
    texts["schema"] = [json.dumps(SCHEMA)] * 2
    assert_frame_equal(xb.evaluate_runs(make(texts), progress=False).fields, expected.fields)
    for bad in ({"run": ["a"]}, make({"run": ["a"]})):
        with pytest.raises(xb.InputError, match="runs "):
            xb.evaluate_runs(bad, schema=SCHEMA, progress=False)


@pytest.fixture(scope="module")
def fields() -> pd.DataFrame:
    return xb.evaluate_runs(xb.load_dataset("sample"), progress=False).fields


@pytest.fixture(scope="module")
def other(fields: pd.DataFrame) -> Any:
    """The fields as Polars reads them from a file: values as JSON text."""
    texts = {name: fields[name].map(json.dumps) for name in ("gold", "predicted")}
    return pl.from_arrow(pa.Table.from_pandas(fields.assign(**texts)))


USES: dict[str, Callable[[Any], Any]] = {
    "breakdown": lambda fields: xb.breakdown(fields, "domain"),
    "difficulty": lambda fields: xb.difficulty(fields).drop(columns="best_run"),
    "agreement": lambda fields: xb.agreement(fields, fields).table,
    "list": lambda fields: xb.breakdown([fields], "run").astype({"run": "string"}),
    "mapping": lambda fields: (
        xb.breakdown({"a": fields[fields["run"] == "quill-mini"]}, "metric")
        if isinstance(fields, pd.DataFrame)
        else xb.breakdown({"a": fields.filter(pl.col("run") == "quill-mini")}, "metric")
    ),
}


@pytest.mark.parametrize("name", USES)
def test_results_as_frames(name: str, fields: pd.DataFrame, other: Any) -> None:
    assert_frame_equal(USES[name](other), USES[name](fields), check_dtype=False)
