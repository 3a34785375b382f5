"""The view of two tables without a page: metric, selection, pages, static twin."""

from __future__ import annotations

from typing import Any

import pandas as pd
import pytest
import traitlets

import extractbench_nb as xb
from extractbench_nb.errors import InputError
from extractbench_nb.tables.grid_similarity import GriTS, grits
from extractbench_nb.views.tables_view import TableView
from tests.widgets.hostile import HOSTILE, Twin
from tests.widgets.tables.tables import PREDICTED, TRUE, plain


@pytest.fixture(scope="module")
def result() -> GriTS:
    return grits(TRUE, PREDICTED)


@pytest.fixture
def view(result: GriTS) -> TableView:
    return TableView(result)


def text(node: Any) -> str:
    """All text of a tree."""
    return node if isinstance(node, str) else "".join(map(text, node.children))


def nodes(node: Any, tag: str) -> list[Any]:
    """The elements of a kind in a tree, in order."""
    if isinstance(node, str):
        return []
    return [
        *([node] if node.tag == tag else []),
        *(n for c in node.children for n in nodes(c, tag)),
    ]


def shown(view: TableView) -> list[list[str]]:
    """By side, what the rows begin with."""
    tables = nodes(view.draw()["tables"], "table")
    return [[text(row.children[0]) for row in nodes(table, "tr")[1:]] for table in tables]


def pair(view: TableView) -> str:
    return text(view.draw()["cell"])


def chosen(view: TableView) -> list[tuple[str, Any]]:
    """The cells that are marked, and how."""
    return [
        (name, cell.attributes["send"])
        for cell in nodes(view.draw()["tables"], "td")
        for name in ("aria-selected", "aria-current")
        if name in cell.attributes
    ]


def large() -> TableView:
    cells = [[f"{r} {c}" for c in range(35)] for r in range(100)]
    return TableView(grits(plain(cells), plain(cells[:50] + cells[51:]), metrics="con"))


# --- what is shown -----------------------------------------------------------------------------


@pytest.mark.parametrize("subject", [None, {}, [], pd.DataFrame()])
def test_anything_but_a_result_is_refused(subject: Any) -> None:
    with pytest.raises(InputError, match="expected a GriTS"):
        TableView(subject)


def test_both_sides_have_their_lines_at_one_height(view: TableView) -> None:
    pairs = ["0 → 0", "1 → 1", None, "3 → 2", "4 → 3", None, "6 → 4", None]
    lost, extra = {2: "– 2", 5: "– 5", 7: ""}, {2: "", 5: "", 7: "+ 5"}
    left, right = shown(view)
    assert left == [line or lost[at] for at, line in enumerate(pairs)]
    assert right == [line or extra[at] for at, line in enumerate(pairs)]
    heads = nodes(view.draw()["tables"], "thead")
    assert text(heads[0]) == "0 → 01 → 12 → 23 → 3– 4"


def test_rows_that_do_not_differ_can_be_left_out() -> None:
    cells = [[str(n), "x"] for n in range(100)]
    view = TableView(grits(plain(cells), plain([*cells[:60], ["60", "y"], *cells[61:]])))
    view.page = 2
    view.perform("set:only_differing", True)
    assert (view.page, shown(view)) == (0, [["60 → 60"]] * 2)
    view.selected = ["true", 3, 0]  # a row that was left out
    assert not view.only_differing


@pytest.mark.parametrize("metric", ["top", "con"])
def test_the_metric_can_be_chosen(view: TableView, metric: str) -> None:
    view.perform("set:metric", metric)
    assert view.metric == metric
    assert metric in repr(view)
    with pytest.raises(traitlets.TraitError, match="metric is 'cno'; did you mean 'con'"):
        view.metric = "cno"
    view.perform("set:metric", "cno")
    assert view.metric == metric


# --- what is chosen ----------------------------------------------------------------------------


def test_the_chosen_cell_stands_beside_its_partner(view: TableView) -> None:
    view.selected = ("predicted", 4, 2)
    assert view.selected == ["predicted", 4, 2]
    assert chosen(view) == [
        ("aria-current", ["true", 6, 2]),
        ("aria-selected", ["predicted", 4, 2]),
    ]
    expected = "True row 6, column 2 and predicted row 4, column 2: similarity 0.86 (con)"
    assert pair(view).startswith(expected)
    assert "row 6, column 2" in pair(view)
    assert [text(mark) for mark in nodes(view.draw()["cell"], "mark")] == ["."]


@pytest.mark.parametrize("selected", [["true", 3, 4], ["true", 5, 0], ["predicted", 5, 0]])
def test_a_cell_without_a_partner_says_so(view: TableView, selected: list[Any]) -> None:
    view.selected = selected
    side, row, column = selected
    assert pair(view).startswith(f"{side.capitalize()} row {row}, column {column}: no partner")
    assert [name for name, _ in chosen(view)] == ["aria-selected"]


@pytest.mark.parametrize(
    "value", [["ture", 0, 0], ["true", 7, 0], ["predicted", 0, -1], ["true", "0", 0], "abc"]
)
def test_what_is_no_position_is_refused(view: TableView, value: Any) -> None:
    view.selected = ["true", 0, 0]
    with pytest.raises(traitlets.TraitError, match=r"no cell .*; expected \[side, row, column\]"):
        view.selected = value
    assert view.selected == ["true", 0, 0]


def test_a_click_arrives_and_nonsense_does_not(view: TableView) -> None:
    seen: list[Any] = []
    view.observe(lambda change: seen.append(change["new"]), "selected")
    for position in (["true", 1, 2], ["true", 99, 2], {"side": "true"}, "true"):
        view.perform("cell", position)
    assert seen == [["true", 1, 2]]
    view.perform("clear")
    assert seen == [["true", 1, 2], None]
    assert "Choose a cell" in pair(view)


# --- pages -------------------------------------------------------------------------------------


def test_large_tables_are_turned_page_by_page() -> None:
    view = large()
    for said in ("rows 1 to 40 of 100", "columns 1 to 30 of 35"):
        assert said in text(view.draw()["page"])
    view.perform("set:page", 1)
    view.perform("set:column_page", 1)
    assert (view.page, view.column_page) == (1, 1)
    left, right = shown(view)
    assert left[9:12] == ["49 → 49", "– 50", "51 → 50"]
    assert right[10] == ""
    assert "rows 41 to 80 of 100; columns 31 to 35 of 35." in Twin(view.to_html()).text


@pytest.mark.parametrize("selected, pages", [(["true", 99, 0], (2, 0)), (["true", 0, 34], (0, 1))])
def test_python_turns_to_the_chosen_position(selected: list[Any], pages: Any) -> None:
    view = large()
    view.selected = selected
    assert (view.page, view.column_page) == pages


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
    bad = HOSTILE[name][:20_000]
    view = TableView(grits(plain([["x", bad]]), plain([["x", bad[::-1]]])))
    view.selected = ["true", 0, 1]
    Twin(view.to_html()).check()
    assert "\\u202e" not in view._p1 + view._p2


@pytest.mark.parametrize("kind", ["Table", "Canonical"])
def test_what_shows_itself_is_told_apart_from_schemas(kind: str) -> None:
    made = {
        "Table": xb.tables.read_table("a,b\n1,2"),
        "Canonical": xb.tables.canonicalize("a,b\n1,2"),
    }
    with pytest.raises(xb.SchemaError, match=f"found a {kind}"):
        xb.show(made[kind])
