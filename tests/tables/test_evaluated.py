"""Arrays of an evaluation, as tables."""

from typing import Any

import pytest

import extractbench_nb as xb

ITEM = {"type": "object", "properties": {"year": {"type": "integer"}, "sales": {"type": "number"}}}
ARRAY = {"type": "array", "items": ITEM}
SCHEMA = {"type": "object", "properties": {"rows": ARRAY, "more": ARRAY}}
YEARS = [{"year": 2023, "sales": 1.5}, {"year": 2024, "sales": 2}]


def tables(predicted: Any, path: str | None = "rows") -> tuple[xb.tables.Table, xb.tables.Table]:
    ev = xb.evaluate(SCHEMA, {"rows": YEARS}, {"rows": predicted})
    return xb.tables.array_tables(ev, path)


def test_rows_stay_in_their_own_order() -> None:
    gold, predicted = tables([{"sales": 2, "year": 2024}, {"year": 2023}])
    assert gold.texts == [["year", "sales"], ["2023", "1.5"], ["2024", "2"]]
    assert predicted.texts == [["year", "sales"], ["2024", "2"], ["2023", ""]]


def test_what_a_model_made_up_is_there() -> None:
    _, predicted = tables([{"region": "EU", "year": 2023}, "nothing", None, {}])
    assert predicted.texts == [
        ["year", "region", "value"],
        ["2023", "EU", ""],
        ["", "", "nothing"],
        ["", "", ""],
        ["", "", ""],
    ]


def test_which_array() -> None:
    ev = xb.evaluate(SCHEMA, {"rows": YEARS, "more": YEARS}, {"rows": YEARS, "more": []})
    assert xb.tables.array_tables(ev, "$.more")[1].size == 0
    with pytest.raises(xb.InputError, match="there are 2 arrays"):
        xb.tables.array_tables(ev)
    with pytest.raises(xb.InputError, match="there is no array 'row'; did you mean"):
        xb.tables.array_tables(ev, "row")


@pytest.mark.parametrize("ev", [None, YEARS, "ev", xb.tables.read_table("Year,Sales")])
def test_only_an_evaluation_has_arrays(ev: Any) -> None:
    with pytest.raises(xb.InputError, match=f"ev is {type(ev).__name__}; expected an Evaluation"):
        xb.tables.array_tables(ev)
