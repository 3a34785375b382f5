"""Many pairs of tables: in every form, over processes, with what cannot be read."""

from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from pandas.testing import assert_frame_equal

import extractbench_nb as xb
from extractbench_nb.tables.evaluating import TABLE_SCORE_COLUMNS
from extractbench_nb.tables.table_metrics import TABLE_METRICS

TRUE = "Year,Sales\n2023,10\n2024,12"
HTML = "<table><tr><th>Year</th><th colspan=2>Sales</th></tr><tr><td>1<td>2<td>3</tr></table>"


def frame(*names: str) -> pd.DataFrame:
    """Models by documents; the second model has lost a row of each."""
    rows = [
        {"model": model, "document": name, "true": TRUE, "predicted": predicted}
        for model, predicted in (("a", TRUE), ("b", TRUE.rpartition("\n")[0]))
        for name in names
    ]
    return pd.DataFrame(rows)


def scores(found: Any, measure: str) -> list[Any]:
    of_measure = found.scores[found.scores["measure"] == measure]
    return [None if pd.isna(score) else score for score in of_measure["score"]]


def test_scores_are_those_of_compare_tables() -> None:
    pairs = [(TRUE, TRUE.replace("12", "13")), (HTML, HTML.replace("3", "")), (TRUE, HTML)]
    names = [name for name in TABLE_METRICS if not name.endswith("loc")]
    found = xb.tables.evaluate_tables(pairs, metrics=names)
    assert found.scores.columns.tolist() == TABLE_SCORE_COLUMNS.names
    for place, pair in enumerate(pairs):
        own = found.scores[found.scores["document"] == str(place)].set_index("measure")
        expected = xb.tables.compare_tables(*pair, names).iloc[:, :3]
        own = own[expected.columns].rename_axis("metric")
        assert_frame_equal(own, expected, check_index_type=False)
    assert found.scores["complex"].tolist() == [n for n in (False, True, False) for _ in names]


def cells(text: str, size: int) -> list[dict[str, Any]]:
    return [
        {"row_nums": [r], "column_nums": [0], "text": text, "bbox": [0, r, 5, r + 1]}
        for r in range(size)
    ]


def test_workers_change_nothing() -> None:
    pairs = {f"t{n}": (cells("x", 3 + n % 4), cells("xy", 3)) for n in range(40)}
    pairs["broken"] = (cells("x", 2), "nothing to see")
    one, two = (xb.tables.evaluate_tables(pairs, n_jobs=n) for n in (1, 2))
    assert one.scores.equals(two.scores)
    assert one.scores["document"].tolist() == [name for name in pairs for _ in range(2)]


BOXED = cells("x", 2)


def test_location() -> None:
    found = xb.tables.evaluate_tables([(BOXED, BOXED), (BOXED, TRUE)], metrics="grits_loc")
    assert scores(found, "grits_loc") == [1.0, None]
    assert "a predicted cell has no bbox" in found.scores["problem"][1]
    assert found.summary["grits_loc"] == 1
    with pytest.raises(xb.InputError, match=r"1: true, cell 0 has no bbox, which the metric 'loc'"):
        xb.tables.evaluate_tables([(BOXED, BOXED), (TRUE, TRUE)], metrics="grits_loc")


@pytest.mark.parametrize(
    "predicted, problem",
    [
        ("I see no table there.", "no table was found"),
        ([{"row_nums": [2], "column_nums": [0]}], "no cell covers row 0"),
        (Path("not-there.csv"), "not-there.csv"),
    ],
)
def test_what_a_model_makes_up_scores_nothing(predicted: Any, problem: str) -> None:
    found = xb.tables.evaluate_tables([(TRUE, TRUE), (TRUE, predicted)])
    assert found.scores["readable"].tolist() == [True, True, False, False]
    assert problem in found.scores["problem"].iloc[-1]
    assert scores(found, "grits_con") == [1.0, 0.0]
    expected = {"tables": 2, "unreadable": 1, "grits_con": 0.5, "grits_con_micro": 2 * 6 / (6 + 12)}
    assert found.summary[[*expected]].tolist() == pytest.approx([*expected.values()])
    assert repr(found).endswith(
        "2 tables; mean grits_top 0.500, grits_con 0.500; 1 unreadable, scored 0)"
    )


def test_columns_of_the_user() -> None:
    found = xb.tables.evaluate_tables(frame(*map(str, range(6))))
    means = found.scores.groupby(["model", "measure"])["score"].mean()
    assert means["a", "grits_con"] == 1.0
    assert means["b", "grits_con"] == pytest.approx(2 * 4 / (4 + 6))


def test_models_can_be_compared() -> None:
    runs = {
        model: xb.tables.evaluate_tables(rows.drop(columns="model"), metrics=["grits_con"])
        for model, rows in frame(*map(str, range(8))).groupby("model")
    }
    compared = xb.compare_runs(runs, measures=["grits_con"])
    assert compared.differences["b_minus_a"].tolist() == pytest.approx([0.2])


@pytest.mark.parametrize(
    "pairs, options, message",
    [
        (5, {}, "pairs is int; expected a list of .true, predicted."),
        ([], {}, "pairs is empty"),
        ([(TRUE,)], {}, "pairs, '0': expected .true, predicted."),
        (pd.DataFrame({"true": [TRUE]}), {}, "no column 'predicted'; it has true"),
        (
            frame("x").assign(recall=1),
            {},
            "column 'recall' is also a column of the result; rename it",
        ),
        ({"one": ("none", TRUE)}, {}, "one, true is the text 'none'"),
        ([(TRUE, TRUE)], {"metrics": "grits_co"}, "no 'grits_co'; did you mean 'grits_con'"),
        ([(TRUE, TRUE)], {"variant": "papre"}, "variant is 'papre'; did you mean 'paper'"),
    ],
)
def test_bad_input(pairs: Any, options: dict[str, Any], message: str) -> None:
    with pytest.raises(xb.InputError, match=message):
        xb.tables.evaluate_tables(pairs, **options)


# --- arrays of an evaluation, as tables ---

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
    with pytest.raises(xb.InputError, match="2 arrays fit"):
        xb.tables.array_tables(ev)
    with pytest.raises(xb.InputError, match="there is no array 'row'; did you mean"):
        xb.tables.array_tables(ev, "row")


@pytest.mark.parametrize("ev", [None, YEARS, "ev", xb.tables.read_table("Year,Sales")])
def test_only_an_evaluation_has_arrays(ev: Any) -> None:
    with pytest.raises(xb.InputError, match=f"ev is {type(ev).__name__}; expected an Evaluation"):
        xb.tables.array_tables(ev)
