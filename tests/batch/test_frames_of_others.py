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
from hypothesis import given
from hypothesis import strategies as st
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


@given(
    st.lists(
        st.fixed_dictionaries(
            {"name": st.none() | st.text("abc", max_size=3), "n": st.none() | st.integers(0, 9)}
        ),
        min_size=1,
        max_size=4,
    )
)
def test_structs_come_back_as_they_were(rows: list[dict[str, Any]]) -> None:
    frame = as_pandas(
        pl.DataFrame({"x": rows}, schema={"x": pl.Struct({"name": pl.String, "n": pl.Int64})})
    )
    assert frame["x"].tolist() == rows


def test_other_columns() -> None:
    table = pa.table(
        {
            "map": pa.array(
                [[("k", {"q": 1})], None], pa.map_(pa.string(), pa.struct({"q": pa.int64()}))
            ),
            "word": pa.array(["a", None]).dictionary_encode(),
            "view": pa.array(["a", "b"], pa.string_view()),
        }
    )
    cell = {
        "amount": Decimal("12.50"),
        "day": dt.date(2024, 5, 6),
        "at": dt.datetime(2024, 5, 6, 7),
    }
    expected = {"amount": 12.5, "day": "2024-05-06", "at": "2024-05-06T07:00:00"}
    for nested in (pa.table({"x": [[cell]]}), pl.DataFrame({"x": [[cell]]})):
        assert as_pandas(nested)["x"].tolist() == [[expected]]
    frame = as_pandas(table)
    assert frame["map"].tolist() == [{"k": {"q": 1}}, None]
    assert frame["word"].isna().tolist() == [False, True]
    assert frame["view"].tolist() == ["a", "b"]
    words = pl.DataFrame({"w": pl.Series(["a", None], dtype=pl.Enum(["a", "b"]))})
    assert as_pandas(words)["w"].isna().tolist() == [False, True]
    indexed = pa.Table.from_pandas(pd.DataFrame({"a": [1]}, index=["x"]))
    assert as_pandas(indexed).columns.tolist() == ["a"]
    twice = pa.table([pa.array([1]), pa.array(["x"])], names=["a", "a"])
    assert as_pandas(twice).columns.tolist() == ["a", "a"]
    assert as_pandas(pl.DataFrame()).shape == (0, 0)
    assert as_pandas(pl.DataFrame({"a": []})).columns.tolist() == ["a"]
    for same in (None, 5, "x", [1], pl.Series([1]), pd.Series([1]), pd.DataFrame({"a": [1]})):
        assert as_pandas(same) is same


@pytest.mark.parametrize(
    "frame, problem",
    [
        (
            pl.DataFrame({"o": pl.Series([{"a": 1}, "x"], dtype=pl.Object)}),
            "column 'o' is of the type Object, .*; write it as JSON text",
        ),
        (
            pa.table({"b": pa.array([b"ab"], pa.binary(2))}),
            "column 'b' is of the Arrow type fixed_size_binary.*; write it as JSON text",
        ),
        (
            pa.table({"m": pa.array([[("k", 1), ("k", 2)]], pa.map_(pa.string(), pa.int64()))}),
            "column 'm': a map has the key .*k.* twice",
        ),
    ],
    ids=["objects", "binary", "map"],
)
def test_what_arrow_cannot_hold_is_one_error(frame: Any, problem: str) -> None:
    with pytest.raises(xb.InputError, match=problem):
        as_pandas(frame)


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


def test_a_lazy_frame_is_collected() -> None:
    rows = {"run": ["r"], "document": ["d"], "predicted": ['{"a": 1}'], "gold": ['{"a": 1}']}
    schema = {"type": "object", "properties": {"a": {"type": "integer"}}}
    found = xb.evaluate_runs(pl.LazyFrame(rows), schema=schema, progress=False)
    assert found.summary["passed"].tolist() == [1]
    assert as_pandas(pl.LazyFrame(rows)).equals(as_pandas(pl.DataFrame(rows)))
