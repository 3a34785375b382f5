"""Whatever a document holds comes back from Arrow and Parquet as it was."""

import json
import math
import tempfile
from pathlib import Path

import pandas as pd
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from extractbench_nb.runs import evaluate_runs, load_evaluations
from extractbench_nb.runs.inputs import value_to_text

NAMES = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
#: Any text; two surrogates in succession would be one character in JSON.
TEXTS = NAMES | st.sampled_from(["\ud800", "a\udfff\\", "\\ud800", "\x1ad800"])
SCALARS = st.one_of(
    st.none(), st.booleans(), st.integers(), st.integers(2**63, 2**200), st.floats(), TEXTS
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=6,
)


def identical(one, other):
    """Equality that takes NaN for NaN, and neither 1 for 1.0 nor 0.0 for -0.0."""
    if type(one) is not type(other):
        return False
    if isinstance(one, dict):
        return identical(list(one.items()), list(other.items()))
    if isinstance(one, (list, tuple)):
        return len(one) == len(other) and all(map(identical, one, other))
    if isinstance(one, float):
        both = math.copysign(1, one), math.copysign(1, other)
        return (math.isnan(one) and math.isnan(other)) or (one == other and both[0] == both[1])
    return one == other


@given(VALUES)
def test_values_are_undone(value):
    text = value_to_text(value)
    assert identical(json.loads(text) if text is not None else None, value)


def nested(levels):
    value = []
    for _ in range(levels):
        value = [value]
    return value


CYCLE = []
CYCLE.append(CYCLE)


@pytest.mark.parametrize(
    "value",
    [nested(5_000), CYCLE, 10**5000, {(1, 2): 3}, {1: {2, 3}}, object, [pd.Timestamp(0)]],
    ids=["deep", "cycle", "huge", "tuple key", "set", "class", "time"],
)
def test_what_json_cannot_hold_becomes_something_it_can(value):
    json.loads(value_to_text(value))


def test_equal_containers_are_separate_objects(frame_of, tmp_path):
    schema = {"type": "object", "properties": {"tags": {"type": "array", "items": {}}}}
    tags = {"tags": ["a", "b"]}
    evs = evaluate_runs(
        frame_of(("r", "d", tags), ("s", "d", tags), schema=schema, gold=tags), progress=False
    )
    for results in (evs, load_evaluations(evs.save(tmp_path / "b"))):
        values = results.fields.query("path == '$.tags'")["predicted"].tolist()
        values[0].append("c")
        assert values[1:] == [["a", "b"]]


#: A map: its keys go into paths, its values into cells.
MAP = {
    "type": "object",
    "properties": {
        "m": {"type": "object", "additionalProperties": {"type": ["string", "number", "array"]}},
        "l": {"type": "array", "items": {"type": "object", "properties": {"a": {}}}},
    },
}


@settings(deadline=None, max_examples=10)
@given(NAMES, st.dictionaries(NAMES, VALUES, max_size=3), st.lists(VALUES, max_size=3), NAMES)
def test_saved_and_loaded_results_are_equal(key, theirs, items, name):
    gold = {"m": {key: "x"}, "l": [{"a": key}]}
    predicted = {"m": theirs, "l": [{"a": item} for item in items]}
    cells = {"run": ["r" + name, "s"], "document": ["d", "d" + name], "own": [name, None]}
    runs = pd.DataFrame({k: pd.Series(v, dtype=object) for k, v in cells.items()})
    runs["predicted"] = pd.Series([predicted, key], dtype=object)
    runs["gold"] = pd.Series([gold, gold], dtype=object)
    runs["schema"] = pd.Series([MAP, MAP], dtype=object)
    with tempfile.TemporaryDirectory() as folder:
        evs = evaluate_runs(runs, progress=False)
        evs.save(Path(folder) / "a")
        streamed = evaluate_runs(runs, progress=False, save_to=Path(folder) / "b")
        for other in (load_evaluations(Path(folder) / "a"), streamed):
            for frame in ("fields", "arrays", "matches", "summary", "by_run", "missing"):
                one, two = getattr(evs, frame), getattr(other, frame)
                values = [c for c in one.columns if c in ("gold", "predicted")]
                pd.testing.assert_frame_equal(one.drop(columns=values), two.drop(columns=values))
                for column in values:
                    assert all(map(identical, one[column].tolist(), two[column].tolist()))
        for file in ("fields", "arrays", "matches", "summary", "batch"):
            suffix = "json" if file == "batch" else "parquet"
            paths = [Path(folder) / side / f"{file}.{suffix}" for side in "ab"]
            assert paths[0].read_bytes() == paths[1].read_bytes()


def test_files_tell_what_readers_need_to_know(frame_of, tmp_path):
    evs = evaluate_runs(frame_of(("r", "d", '{"seller": "\\ud800"}')), progress=False)
    table = pq.read_table(evs.save(tmp_path / "b") / "fields.parquet")
    about = json.loads(table.schema.metadata[b"extractbench_nb"])
    assert about["json"] == ["gold", "predicted"]
    row = table.to_pandas().set_index("path").loc["$.seller"]
    assert row.predicted == '"\\ud800"'
    assert json.loads(row.gold) == "Northwind Paper"
    assert evs.fields.set_index("path").predicted["$.seller"] == "\ud800"
