"""The view of a table comparison without a page: rows, columns, cells, documents."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import traitlets

import extractbench_nb as xb
from extractbench_nb.construction.comparing import TableComparison, compare
from extractbench_nb.construction.retrieval import Retriever
from extractbench_nb.errors import InputError
from extractbench_nb.views.construction_view import ConstructionView
from tests.widgets.hostile import HOSTILE, Twin

GOLD = """name,year,sales,city
Acme Holding,2020,10,Oslo
Northwind Trading Group,2021,20,Rome
Zenith,2022,30,Bern
Only Gold,2023,40,
"""
PREDICTED = """Name,sales,year,chief
Zenith,31,2022,Ann
Acme Holding,10,2020,
Northwind Traders Group,20,2021,
Only Predicted,50,2024,
"""
DOCUMENTS = {
    "report": "Zenith sold 30 units in 2022. Its offices are in Bern.",
    "press": "Zenith sold 31 units, it says. Unlike Acme Holding.",
    "other": "There are 31 days in May.",
}


@pytest.fixture(scope="module")
def comparison() -> TableComparison:
    return compare(GOLD, PREDICTED, keys="name")


@pytest.fixture
def view(comparison: TableComparison) -> ConstructionView:
    return ConstructionView(comparison, documents=DOCUMENTS)


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


def shown(view: ConstructionView) -> list[list[str]]:
    """By side, what the rows begin with."""
    tables = nodes(view.draw()["tables"], "table")
    return [[text(row.children[0]) for row in nodes(table, "tr")[1:]] for table in tables]


def heads(view: ConstructionView) -> list[list[str]]:
    """By side, the names of the columns."""
    parts = nodes(view.draw()["tables"], "thead")
    return [[text(head) for head in nodes(part, "tr")[0].children[1:]] for part in parts]


def cell(view: ConstructionView) -> str:
    return text(view.draw()["cell"])


def large(rows: int = 100) -> ConstructionView:
    columns = [f"c{n}" for n in range(34)]
    gold = pd.DataFrame({"name": [f"row {n}" for n in range(rows)], **dict.fromkeys(columns, "1")})
    return ConstructionView(compare(gold, gold.drop(index=50), keys="name"))


# --- what is shown -----------------------------------------------------------------------------


def test_matched_rows_stand_on_one_line(view: ConstructionView) -> None:
    left, right = shown(view)
    assert left == ["0 → 1", "− 1", "2 → 0", "− 3", "", ""]
    assert right == ["0 → 1", "", "2 → 0", "", "+ 2", "+ 3"]


def test_aligned_columns_have_one_place(view: ConstructionView) -> None:
    left, right = heads(view)
    assert left == ["name key", "year", "sales", "− city", ""]
    assert right == ["≈ Name key", "year", "sales", "", "+ chief"]


def test_rows_that_lost_nothing_can_be_left_out(view: ConstructionView) -> None:
    gold = "name,n\na,1\nb,2\n"
    view = ConstructionView(compare(gold, "name,n\na,1\nb,3\n", keys="name"))
    view.perform("set:only_differing", True)
    assert shown(view)[0] == ["1 → 1"]
    assert view.rows["gold_row"].tolist() == [1]
    view.selected = ["gold", 0, "n"]
    assert not view.only_differing
    same = ConstructionView(compare(gold, gold, keys="name"))
    same.only_differing = True
    assert "No row differs" in Twin(same.to_html()).text


# --- what is chosen ----------------------------------------------------------------------------


def test_a_chosen_cell_shows_both_texts_and_why(view: ConstructionView) -> None:
    view.perform("cell", ["predicted", 0, 2])
    said = cell(view)
    for words in ("gold row 2, sales and predicted row 0, sales", "incorrect", "number_differs"):
        assert words in said
    tables = view.draw()["tables"]
    marked = {
        name: cell.attributes["send"]
        for cell in nodes(tables, "td")
        for name in ("aria-selected", "aria-current")
        if name in cell.attributes
    }
    assert marked == {"aria-current": ["gold", 2, 2], "aria-selected": ["predicted", 0, 2]}


@pytest.mark.parametrize(
    "selected, words",
    [
        (["gold", 0, "name"], "a key: it names the row"),
        (["gold", 3, "sales"], "row_missed"),
        (["predicted", 3, "sales"], "row_spurious"),
        (["gold", 2, "city"], "column_missing"),
        (["predicted", 0, "chief"], "column_extra"),
        (["predicted", 1, "Name"], "renamed: Name, aligned by normalised"),
    ],
)
def test_each_kind_of_cell_says_what_it_is(
    view: ConstructionView, selected: list[Any], words: str
) -> None:
    view.selected = selected
    assert words in cell(view)


@pytest.mark.parametrize(
    "value",
    [["glod", 0, "sales"], ["gold", 0, "sale"], ["predicted", 0, "city"], ["gold", 4, "sales"], 1],
)
def test_what_is_no_cell_is_refused(view: ConstructionView, value: Any) -> None:
    view.selected = ["gold", 0, "sales"]
    with pytest.raises(traitlets.TraitError, match=r"no cell .*, such as \['gold', 0, 'name'\]"):
        view.selected = value
    assert view.selected == ["gold", 0, "sales"]


# --- documents ---------------------------------------------------------------------------------


def test_chunks_that_hold_the_texts_are_shown(view: ConstructionView) -> None:
    view.selected = ["gold", 2, "sales"]
    titles = [text(node) for node in nodes(view.draw()["cell"], "summary")]
    # of the two chunks with 31, that which names the row comes first
    assert titles == ["report, chunk 0", "press, chunk 0", "other, chunk 0"]
    marks = [text(node) for node in nodes(view.draw()["cell"], "mark")]
    assert marks[-3:] == ["30", "31", "31"]
    assert "gold text in the documents: in 1 chunk of 1 document" in cell(view)
    view.selected = ["gold", 1, "sales"]
    assert "in no chunk as it is written" in cell(view)


def test_ranks_are_those_of_the_retriever(comparison: TableComparison) -> None:
    view = ConstructionView(comparison, documents=DOCUMENTS, retriever=Retriever(k=1))
    view.selected = ["gold", 2, "sales"]
    titles = [text(node) for node in nodes(view.draw()["cell"], "summary")]
    assert {title.split("; ")[1] for title in titles} == {
        "retrieved as 1 of 1",
        "not among 1 retrieved",
    }


def test_options_that_do_not_go_together_are_refused(comparison: TableComparison) -> None:
    with pytest.raises(InputError, match="goes with documents"):
        ConstructionView(comparison, retriever="bm25")
    with pytest.raises(InputError, match="second argument beside TableComparison"):
        xb.show(comparison, comparison)


# --- pages -------------------------------------------------------------------------------------


def test_large_tables_are_turned_page_by_page() -> None:
    view = large()
    for said in ("rows 1 to 40 of 100", "columns 1 to 30 of 35"):
        assert said in text(view.draw()["page"])
    view.perform("set:page", 1)
    view.perform("set:column_page", 1)
    left, right = shown(view)
    assert left[9:12] == ["49 → 49", "− 50", "51 → 50"]
    assert right[10] == ""
    assert "rows 41 to 80 of 100; columns 31 to 35 of 35." in Twin(view.to_html()).text
    view.selected = ["predicted", 98, "name"]
    assert (view.page, view.column_page) == (2, 0)


# --- code --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "state",
    [
        {},
        {"only_differing": True},
        {"selected": ["gold", 2, "sales"]},
        {"selected": ["gold", 2, "name"]},
        {"selected": ["predicted", 0, "chief"]},
    ],
)
def test_the_code_gives_what_is_shown(
    view: ConstructionView, comparison: TableComparison, state: dict[str, Any]
) -> None:
    for name, value in state.items():
        setattr(view, name, value)
    found = eval(view.code, {"comparison": comparison})  # noqa: S307 - ours
    if "selected" in state:
        assert len(found) == 1
        assert found.iloc[0]["gold_row"] == 2
    else:
        pd.testing.assert_frame_equal(found, view.rows)


# --- the static twin ---------------------------------------------------------------------------


def test_the_twin_has_scores_tables_and_the_chosen_cell(view: ConstructionView) -> None:
    view.selected = ["gold", 2, "sales"]
    twin = Twin(view.to_html())
    twin.check()
    for words in ("Profile strict", "cell f1", "− 3", "number_differs", "sold 30 units"):
        assert words in twin.text
    assert not {"button", "input", "select"} & set(twin.tags)
    data, _ = view._repr_mimebundle_()
    assert data["text/plain"].startswith("Table construction · strict · cell F1 0.")


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_texts_stay_text(name: str) -> None:
    bad = HOSTILE[name][:20_000]
    named = "x" if name == "surrogate" else bad  # pandas has no such names of columns
    gold = pd.DataFrame({"name": ["x"], "text": pd.Series([bad], dtype=object), named: ["1"]})
    other = gold.assign(text=pd.Series([f"{bad}!"], dtype=object))
    view = ConstructionView(compare(gold, other, keys="name"), documents={bad[:50]: bad})
    view.selected = ["gold", 0, "text"]
    Twin(view.to_html()).check()
    assert "\\u202e" not in view._p1 + view._p2


@pytest.mark.parametrize("predicted", ["", "no table here", "<think>\nname", "name,year\n"])
@pytest.mark.parametrize("profile", ["strict", "aoe"])
def test_answers_without_rows_are_no_error(predicted: str, profile: str) -> None:
    view = ConstructionView(compare(GOLD, predicted, keys="name", profile=profile))
    Twin(view.to_html()).check()
    view.selected = ["gold", 0, "sales"]
    Twin(view.to_html()).check()


def test_show_takes_comparisons_and_saves_pages(
    comparison: TableComparison, tmp_path: Path
) -> None:
    view = xb.show(comparison, documents=DOCUMENTS, retriever="bm25", name="found['x']")
    page = view.save(tmp_path / "comparison.html").read_text(encoding="utf-8")
    assert page.startswith("<!DOCTYPE html>")
    assert "Northwind Trading Group" in page
    assert view.code == "found['x'].matches"
