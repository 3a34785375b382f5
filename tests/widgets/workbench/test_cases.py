"""Cases from frames, tuples and evaluations; what cannot be read says why."""

from __future__ import annotations

import datetime as dt
from typing import Any

import numpy as np
import pandas as pd
import pytest

import extractbench_nb as xb
from extractbench_nb.core.schema.schema_nodes import MISSING
from extractbench_nb.errors import InputError
from extractbench_nb.views.workbench_cases import Case
from extractbench_nb.views.workbench_model import Cases, read_cases

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


@pytest.fixture(scope="module")
def ev() -> xb.core.Evaluation:
    return xb.evaluate(SCHEMA, GOLD, PREDICTED)


def pairs(cases: Cases) -> list[tuple[Any, Any]]:
    return [(case.gold, case.predicted) for case in cases.rows]


@pytest.mark.parametrize(
    "source, expected",
    [
        ([], []),
        ([("a", "b")], [Case("a", "b", ("string",))]),
        (
            [("a", "b", True), ["c", None]],
            [Case("a", "b", ("string",), True), Case("c", None, ("string",))],
        ),
        (((1, 2.5, 0),), [Case(1, 2.5, ("number",), False)]),
        ([(None, "x")], [Case(None, "x")]),
        ([({"a": 1}, {"a": 2})], [Case({"a": 1}, {"a": 2})]),
        ([([1, 2], [2])], [Case([1, 2], [2], ("array",))]),
        (
            pd.DataFrame({"gold": [1.5, np.nan], "predicted": ["a", None]}),
            [Case(1.5, "a", ("number",)), Case(None, None)],
        ),
        (
            pd.DataFrame({"gold": ["x"], "predicted": ["y"], "expected": pd.array([pd.NA])}),
            [Case("x", "y", ("string",))],
        ),
    ],
)
def test_cases_are_read(source: Any, expected: list[Case]) -> None:
    found = read_cases(source)
    assert list(found.rows) == expected
    assert len(found) == len(found.more) == len(expected)


def test_a_nan_that_was_put_there_stays() -> None:
    frame = pd.DataFrame({"gold": [float("nan"), "x", 3], "predicted": 1}, dtype=object)
    gold = read_cases(frame).rows[0].gold
    assert gold != gold  # noqa: PLR0124 - only NaN differs from itself
    texts = frame.head(2)  # what read_csv of pandas 2 makes of a gap between texts
    assert read_cases(texts).rows[0].gold is None


def test_further_columns_are_kept_in_order() -> None:
    frame = pd.DataFrame(
        {"page": [3], "gold": ["a"], "expected": [True], "predicted": ["b"], "why": ["typo"]},
        index=[7],
    )
    found = read_cases(frame)
    assert found.more.to_dict("list") == {"page": [3], "why": ["typo"]}
    assert found.labelled


def test_the_callers_values_can_change_afterwards() -> None:
    gold = ["a"]
    found = read_cases([(gold, gold)])
    gold.append("b")
    assert pairs(found) == [(["a"], ["a"])]


@pytest.mark.parametrize(
    "source, words",
    [
        (pd.DataFrame({"gold": [1], "pred": [2]}), "no column 'predicted'; did you mean 'pred'"),
        ([("a",)], "case 0 has 1 parts; expected (gold, predicted)"),
        ([("a", "b"), ("a", "b", True, 1)], "case 1 has 4 parts"),
        ([("a", "b", "yes")], "case 0: expected is 'yes'; expected True"),
        ([("a", "b", 2)], "case 0: expected is 2"),
        ([(dt.date(2031, 1, 1), "b")], "case 0: gold at $ is a date; expected a JSON value"),
        ("gold.csv", "cases is str; expected a DataFrame"),
        (7, "cases is int; expected a DataFrame"),
    ],
)
def test_what_cannot_be_read_says_why(source: Any, words: str) -> None:
    with pytest.raises(InputError) as caught:
        read_cases(source)
    assert words in str(caught.value)


# --- evaluations -------------------------------------------------------------------------------


def test_a_field_with_several_metrics_is_one_case(ev: xb.core.Evaluation) -> None:
    found = read_cases(ev, field="name")
    assert found.rows == (Case("Ada", MISSING, ("string",)),)
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


@pytest.mark.parametrize("field, types", [("year", ("number",)), ("size", ("number", "string"))])
def test_a_type_that_the_schema_allowed_is_allowed(
    ev: xb.core.Evaluation, field: str, types: tuple[str, ...]
) -> None:
    assert read_cases(ev, field=field).rows[0].types == types


def test_runs_and_documents_name_the_cases(ev: xb.core.Evaluation) -> None:
    found = read_cases({"one": {"d1": ev}, "two": {"d1": ev}}, field="year")
    assert found.more.to_dict("list") == {
        "run": ["one", "two"],
        "document": ["d1", "d1"],
        "path": ["$.year", "$.year"],
    }


def test_a_frame_of_fields_may_carry_labels(ev: xb.core.Evaluation) -> None:
    fields = ev.fields.assign(expected=True)
    assert {case.expected for case in read_cases(fields).rows} == {True}


@pytest.mark.parametrize(
    "source, field, words",
    [
        ("ev", "nam", "there is no field 'nam'; did you mean 'name'?"),
        ([("a", "b")], "name", "field='name' chooses among the fields of an Evaluation"),
    ],
)
def test_a_field_that_is_not_there(
    ev: xb.core.Evaluation, source: Any, field: str, words: str
) -> None:
    with pytest.raises(InputError) as caught:
        read_cases(ev if source == "ev" else source, field=field)
    assert words in str(caught.value)
