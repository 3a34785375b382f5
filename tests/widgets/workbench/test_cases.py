"""Cases from frames, tuples and evaluations; what cannot be read says why."""

from __future__ import annotations

import datetime as dt
from typing import Any

import pandas as pd
import pytest

import extractbench_nb as xb
from extractbench_nb.core.schema.schema_nodes import MISSING
from extractbench_nb.errors import InputError
from extractbench_nb.views.workbench_model import Cases, read_cases
from extractbench_nb.views.workbench_view import Workbench

SCHEMA = {
    "type": "object",
    "properties": {
        "name": {
            "type": "string",
            "evaluation_config": {
                "metrics": [{"metric_id": "string_exact"}, {"metric_id": "string_fuzzy"}]
            },
        },
        "year": {"type": "integer"},
        "size": {"type": ["number", "string"], "evaluation_config": "number_exact"},
        "open": {"type": "boolean"},
        "tags": {"type": "array", "items": {"type": "string"}},
    },
}
GOLD = {"name": "Ada", "year": 1843, "size": 3, "open": True, "tags": ["a", "b"]}
PREDICTED = {"year": "1843", "size": "3", "open": None, "tags": ["b"]}
STRING, NUMBER = ("string",), ("number",)


@pytest.fixture(scope="module")
def ev() -> xb.core.Evaluation:
    return xb.evaluate(SCHEMA, GOLD, PREDICTED)


def cells(cases: Cases) -> list[Any]:
    """Gold, predicted, types and expected of each case; None for no label."""
    rows = cases.pairs.astype(object)
    return [tuple(None if v is pd.NA else v for v in row) for row in rows.itertuples(index=False)]


@pytest.mark.parametrize(
    "source, expected",
    [
        ([], []),
        ([("a", "b")], [("a", "b", STRING, None)]),
        (
            [("a", "b", True), ["c", None]],
            [("a", "b", STRING, True), ("c", None, STRING, None)],
        ),
        (((1, 2.5, 0),), [(1, 2.5, NUMBER, False)]),
        ([(None, "x")], [(None, "x", (), None)]),
        ([({"a": 1}, {"a": 2})], [({"a": 1}, {"a": 2}, (), None)]),
        ([([1, 2], [2])], [([1, 2], [2], ("array",), None)]),
        (
            pd.DataFrame({"gold": [1.5, None], "predicted": ["a", None]}),
            [(1.5, "a", NUMBER, None), (None, None, (), None)],
        ),
        (
            pd.DataFrame({"gold": ["x"], "predicted": ["y"], "expected": pd.array([pd.NA])}),
            [("x", "y", STRING, None)],
        ),
    ],
)
def test_cases_are_read(source: Any, expected: list[Any]) -> None:
    found = read_cases(source)
    assert cells(found) == expected
    assert len(found.more) == len(expected)


def test_further_columns_are_kept_in_order_and_values_are_copied() -> None:
    gold = ["a"]
    frame = pd.DataFrame(
        {"page": [3], "gold": [gold], "expected": [True], "predicted": ["b"], "why": ["typo"]},
        index=[7],
    )
    found = read_cases(frame)
    gold.append("b")
    assert found.more.to_dict("list") == {"page": [3], "why": ["typo"]}
    assert cells(found) == [(["a"], "b", ("array",), True)]


@pytest.mark.parametrize(
    "source, words",
    [
        (pd.DataFrame({"gold": [1], "pred": [2]}), "no column 'predicted'; did you mean 'pred'"),
        ([("a",)], "case 0 has 1 parts; expected (gold, predicted)"),
        ([("a", "b"), ("a", "b", True, 1)], "case 1 has 4 parts"),
        ([("a", "b", "yes")], "case 0: expected is 'yes'; expected True"),
        ([("a", "b", 2)], "case 0: expected is 2"),
        ([(dt.date(2031, 1, 1), "b")], "gold at $['case 0'] is a date; expected a JSON value"),
        ("gold.csv", "cases is str; expected a DataFrame"),
        (7, "cases is int; expected a DataFrame"),
    ],
)
def test_what_cannot_be_read_says_why(source: Any, words: str) -> None:
    with pytest.raises(InputError) as caught:
        Workbench("string_exact", source)
    assert words in str(caught.value)


# --- evaluations -------------------------------------------------------------------------------


def test_a_field_with_several_metrics_is_one_case(ev: xb.core.Evaluation) -> None:
    found = read_cases(ev, field="name")
    assert cells(found) == [("Ada", MISSING, STRING, None)]
    assert found.more.to_dict("list") == {"path": ["$.name"]}


@pytest.mark.parametrize(
    "kinds, paths",
    [
        ((), ["$.name", "$.year", "$.size", "$.open", "$.tags", "$.tags[1]", "$.tags[0]"]),
        (("string",), ["$.name", "$.tags[1]", "$.tags[0]"]),
        (("number",), ["$.year", "$.size"]),
        (("array", "boolean"), ["$.open", "$.tags"]),
    ],
)
def test_values_of_the_types_that_are_meant(
    ev: xb.core.Evaluation, kinds: tuple[str, ...], paths: list[str]
) -> None:
    assert read_cases(ev, kinds=kinds).more["path"].tolist() == paths


@pytest.mark.parametrize("field, types", [("year", NUMBER), ("size", ("number", "string"))])
def test_a_type_that_the_schema_allowed_is_allowed(
    ev: xb.core.Evaluation, field: str, types: tuple[str, ...]
) -> None:
    assert read_cases(ev, field=field).pairs["types"].tolist() == [types]


def test_runs_and_documents_name_the_cases(ev: xb.core.Evaluation) -> None:
    found = read_cases({"one": {"d1": ev}, "two": {"d1": ev}}, field="year")
    assert found.more.to_dict("list") == {
        "run": ["one", "two"],
        "document": ["d1", "d1"],
        "path": ["$.year", "$.year"],
    }


@pytest.mark.parametrize(
    "source, field, words",
    [
        ("ev", "nam", "there is no field 'nam'; did you mean 'name'?"),
        ([("a", "b")], "name", "field='name': the cases are not fields"),
    ],
)
def test_a_field_that_is_not_there(
    ev: xb.core.Evaluation, source: Any, field: str, words: str
) -> None:
    with pytest.raises(InputError) as caught:
        read_cases(ev if source == "ev" else source, field=field)
    assert words in str(caught.value)


def test_below_a_broken_container_nothing_is_predicted() -> None:
    inner = {"type": "object", "properties": {"now": {"type": "number"}}}
    schema = {"type": "object", "properties": {"cash": inner}}
    ev = xb.evaluate(schema, {"cash": {"now": 5}}, {"cash": 5})
    assert read_cases(ev, kinds={"number"}).pairs["predicted"].tolist() == [MISSING]
