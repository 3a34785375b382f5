"""The view of two tables without a page: metric, selection, pages, static twin."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import traitlets

import extractbench_nb as xb
from extractbench_nb.errors import InputError
from extractbench_nb.tables.drawing import GriTS
from extractbench_nb.tables.grid_similarity import grits
from extractbench_nb.widgets.tables_view import TableView
from tests.widgets.hostile import HOSTILE, Twin
from tests.widgets.tables.tables import PREDICTED, TRUE, plain


@pytest.fixture(scope="module")
def result() -> GriTS:
    return grits(TRUE, PREDICTED)


@pytest.fixture
def view(result: GriTS) -> TableView:
    return TableView(result)


def shown(view: TableView) -> Any:
    return json.loads(view._grids.data)


def pair(view: TableView) -> Any:
    return json.loads(view._pair.data)


def texts(side: Any) -> str:
    return "".join(text for _, text in side)


def clicked(pane: Any, **content: Any) -> None:
    """Send what the page sends."""
    pane._handle_custom_msg(content, [])


def large() -> TableView:
    cells = [[f"{r} {c}" for c in range(35)] for r in range(100)]
    return TableView(grits(plain(cells), plain(cells[:50] + cells[51:]), metrics="con"))


# --- what is shown -----------------------------------------------------------------------------


@pytest.mark.parametrize("subject", [None, {}, [], pd.DataFrame()])
def test_anything_but_a_result_is_refused(subject: Any) -> None:
    with pytest.raises(InputError, match="expected a GriTS"):
        TableView(subject)


def test_content_is_shown_first_where_it_was_computed(view: TableView) -> None:
    assert view.metric == "con"
    assert TableView(grits(TRUE, PREDICTED, metrics="top")).metric == "top"


def test_scores_say_which_metric_is_shown(view: TableView, result: GriTS) -> None:
    view.metric = "top"
    scores = json.loads(view._scores.data)
    assert scores["heads"] == ["fscore", "precision", "recall", "upper bound"]
    expected = [f"{number:.3f}" for number in result.scores.loc["con"]]
    assert scores["rows"][1] == ["con", "content", expected, False]
    assert scores["rows"][0][3]


def test_both_sides_have_their_lines_at_one_height(view: TableView) -> None:
    left, right = shown(view)["sides"]
    assert [line[0] for line in left["lines"]] == [0, 1, 2, 3, 4, 5, 6, None]
    assert [line[0] for line in right["lines"]] == [0, 1, None, 2, 3, None, 4, 5]
    assert [head[3] for head in left["heads"]] == ["0 → 0", "1 → 1", "2 → 2", "3 → 3", "– 4"]
    assert right["shape"] == [6, 4]


def test_the_frames_have_each_line_once(view: TableView) -> None:
    assert view.rows["true"].dropna().tolist() == list(range(7))
    assert view.rows["predicted"].dropna().tolist() == list(range(6))
    assert view.columns["predicted"].isna().tolist() == [False] * 4 + [True]
    assert view.rows["similarity"].tolist()[5] == 0.0


def test_rows_that_do_not_differ_can_be_left_out() -> None:
    cells = [[str(n), "x"] for n in range(100)]
    view = TableView(grits(plain(cells), plain([*cells[:60], ["60", "y"], *cells[61:]])))
    view.page = 2
    view.only_differing = True
    assert view.rows["true"].tolist() == [60]
    assert (view.page, view._filter.value) == (0, True)
    view.selected = ["true", 3, 0]  # a row that was left out
    assert not view.only_differing
    assert len(view.rows) == 100
    view._filter.value = True
    assert view.only_differing


def test_where_nothing_differs_the_view_says_so() -> None:
    view = TableView(grits(TRUE, TRUE))
    view.only_differing = True
    assert "No row differs" in shown(view)["empty"]
    assert "No row differs" in Twin(view.to_html()).text
    assert len(view.rows) == 0


@pytest.mark.parametrize("metric", ["top", "con"])
def test_the_picker_and_the_trait_change_together(view: TableView, metric: str) -> None:
    view._metrics.value = metric
    assert view.metric == metric
    assert metric in repr(view)
    with pytest.raises(traitlets.TraitError, match="metric is 'cno'; did you mean 'con'"):
        view.metric = "cno"
    assert view._metrics.value == metric


# --- what is chosen ----------------------------------------------------------------------------


def test_the_chosen_cell_stands_beside_its_partner(view: TableView) -> None:
    view.selected = ("predicted", 4, 2)
    assert view._grids.selected == ["predicted", 4, 2]
    model = pair(view)
    expected = "True row 6, column 2 and predicted row 4, column 2: similarity 0.86 (con)"
    assert model["title"] == expected
    assert model["rows"][0][1] == [
        [["same", "30"], ["changed", "."], ["same", "2"]],
        [["same", "30"], ["same", "2"]],
    ]
    assert model["rows"][1][1][0] == [["same", "row 6, column 2"]]


@pytest.mark.parametrize(
    "selected, title, note",
    [
        (["true", 3, 4], "True row 3, column 4", "column 4 has none in the predicted table"),
        (["true", 5, 0], "True row 5, column 0", "row 5 has none in the predicted table"),
        (["true", 5, 4], "True row 5", "row 5 and column 4 have none in the predicted table"),
        (["predicted", 5, 0], "Predicted row 5, column 0", "row 5 has none in the true table"),
    ],
)
def test_a_cell_without_a_partner_says_why(
    view: TableView, selected: list[Any], title: str, note: str
) -> None:
    view.selected = selected
    model = pair(view)
    assert model["title"].startswith(title)
    assert note in model["note"]
    assert model["sides"] == [selected[0]]
    assert all(len(values) == 1 for _, values in model["rows"])


def test_a_spanning_cell_tells_of_all_its_positions(view: TableView) -> None:
    view.selected = ["true", 0, 4]
    assert pair(view)["others"] == (
        "Positions of the true cell (row, column): (0, 3) with (0, 3) 0.92; "
        "(0, 4) without a partner."
    )
    view.selected = ["true", 3, 0]
    assert pair(view)["others"] == ""


def test_boxes_and_kinds_are_told() -> None:
    cells = [
        {"row_nums": [0], "column_nums": [0], "text": "", "bbox": [0, 0, 10.5, 4]},
        {"row_nums": [1], "column_nums": [0], "text": "b", "bbox": [0, 4, 9, 8]},
    ]
    header = cells[0] | {"is_column_header": True}
    view = TableView(grits([header, cells[1]], cells))
    view.metric = "loc"
    view.selected = ["true", 0, 0]
    told = {name: [texts(side) for side in values] for name, values in pair(view)["rows"]}
    assert told["box"] == ["0, 0, 10.5, 4"] * 2
    assert told["kind"] == ["column header", ""]
    assert told["text"] == ["no text", "no text"]


@pytest.mark.parametrize(
    "value, told",
    [
        (["ture", 0, 0], "no side 'ture'; did you mean 'true'"),
        (["true", 7, 0], "no row 7, column 0; the true table has 7 rows and 5 columns"),
        (["predicted", 0, -1], "the predicted table has 6 rows and 4 columns"),
        (["true", 0], "expected"),
        (["true", True, 0], "expected"),
        (["true", 0.0, 0], "expected"),
        ("abc", r"selected is 'abc'; expected \[side, row, column\]"),
        (3, "expected"),
    ],
)
def test_what_is_no_position_is_refused(view: TableView, value: Any, told: str) -> None:
    view.selected = ["true", 0, 0]
    with pytest.raises(traitlets.TraitError, match=told):
        view.selected = value
    assert view.selected == ["true", 0, 0]


def test_a_click_arrives_and_nonsense_does_not(view: TableView) -> None:
    seen: list[Any] = []
    view.observe(lambda change: seen.append(change["new"]), "selected")
    view._grids.selected = ["true", 1, 2]
    view._grids.selected = ["true", 99, 2]
    assert view._grids.selected == ["true", 1, 2]
    view._grids.selected = {"side": "true"}
    view._grids.selected = None
    assert seen == [["true", 1, 2], None]
    assert "Choose a cell" in pair(view)["empty"]


def test_the_chosen_position_stays_with_another_metric(view: TableView) -> None:
    view.selected = ["true", 0, 1]
    view.metric = "top"
    assert view.selected == ["true", 0, 1]
    assert "(top)" in pair(view)["title"]


def test_all_of_a_text_is_sent_when_it_is_asked_for() -> None:
    text = "long " * 10_000
    view = TableView(grits(plain([[text]]), plain([[text + "!"]])))
    view.selected = ["true", 0, 0]
    assert pair(view)["hidden"] == 48_001
    clicked(view._pair, kind="whole")
    assert len(view._pair.data) > 100_000
    assert len(view._grids.data) < 3_000


# --- pages -------------------------------------------------------------------------------------


def test_large_tables_are_turned_page_by_page() -> None:
    view = large()
    model = shown(view)
    assert model["rows"] == {"first": 0, "last": 40, "total": 100, "number": 0, "pages": 3}
    assert model["columns"]["pages"] == 2
    clicked(view._grids, kind="page", axis="rows", to=1)
    clicked(view._grids, kind="page", axis="columns", to=1)
    assert (view.page, view.column_page) == (1, 1)
    left, right = shown(view)["sides"]
    assert [head[0] for head in left["heads"]] == [30, 31, 32, 33, 34]
    assert (left["before"], left["after"]) == ([39, 29], [80, None])
    assert right["after"] == [79, None]
    assert left["lines"][10][4][0][4] == "alone"


@pytest.mark.parametrize("selected, pages", [(["true", 99, 0], (2, 0)), (["true", 0, 34], (0, 1))])
def test_python_turns_to_the_chosen_position(selected: list[Any], pages: Any) -> None:
    view = large()
    view.selected = selected
    assert (view.page, view.column_page) == pages


@pytest.mark.parametrize("to, page", [(7, 2), (-1, 0), (1, 1)])
def test_a_page_that_is_not_there_is_the_nearest(to: int, page: int) -> None:
    view = large()
    view.page = to
    assert view.page == page


@pytest.mark.parametrize(
    "content",
    [
        {"kind": "page", "axis": "rows", "to": "1"},
        {"kind": "page", "axis": "metric", "to": 1},
        {"kind": "page"},
        {"kind": "other"},
    ],
)
def test_messages_without_sense_do_nothing(content: dict[str, Any]) -> None:
    view = large()
    before = view._grids.data
    clicked(view._grids, **content)
    assert view._grids.data == before


# --- the static twin ---------------------------------------------------------------------------


def test_the_twin_has_scores_grids_and_the_pair(view: TableView) -> None:
    view.selected = ["true", 6, 2]
    twin = Twin(view.to_html())
    twin.check()
    expected = ("con (shown)", "West –", "Total +", "similarity 0.86 (con)", "by content (con)")
    for text in expected:
        assert text in twin.text
    data, _ = view._repr_mimebundle_()
    assert data["text/html"] == view.to_html()
    assert data["text/plain"].startswith("Tables · GriTS(top 0.763, con 0.633")


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_texts_stay_text(name: str) -> None:
    text = HOSTILE[name][:20_000]
    view = TableView(grits(plain([["x", text]]), plain([["x", text[::-1]]])))
    view.selected = ["true", 0, 1]
    Twin(view.to_html()).check()
    assert "\u202e" not in json.loads(view._grids.data)["sides"][0]["lines"][0][4][1][-1]


@pytest.mark.parametrize(
    "true, predicted", [([], []), ([["a"]], []), ([], [["a"]]), ([["a"]], [["b"]])]
)
def test_small_tables_are_no_error(true: Any, predicted: Any) -> None:
    view = TableView(grits(plain(true), plain(predicted)))
    Twin(view.to_html()).check()
    for side, cells in (("true", true), ("predicted", predicted)):
        if cells:
            view.selected = [side, 0, 0]
            Twin(view.to_html()).check()
        else:
            with pytest.raises(traitlets.TraitError, match="0 rows and 0 columns"):
                view.selected = [side, 0, 0]
    assert bool(shown(view)["empty"]) == (not true and not predicted)


def test_the_twin_is_saved_as_a_page(view: TableView, tmp_path: Path) -> None:
    page = view.save(tmp_path / "tables.html").read_text(encoding="utf-8")
    assert page.startswith("<!DOCTYPE html>")
    assert "Sales in 2O22" in page


@pytest.mark.parametrize("kind", ["Table", "Canonical", "TableScores"])
def test_what_shows_itself_is_told_apart_from_schemas(kind: str) -> None:
    made = {
        "Table": xb.tables.read_table("a,b\n1,2"),
        "Canonical": xb.tables.canonicalize("a,b\n1,2"),
        "TableScores": xb.tables.evaluate_tables([("a,b\n1,2", "a,b\n1,2")]),
    }
    with pytest.raises(xb.InputError, match=f"subject is of type {kind}, which shows itself"):
        xb.show(made[kind])
    assert made[kind]._repr_html_()
