"""The failure explorer without a page: selections both ways, static twin, hostile content."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import traitlets

import extractbench_nb as xb
from extractbench_nb.widgets.failures_view import BarsPane, FailureExplorer, HeatPane, ValuesPane
from extractbench_nb.widgets.static import score_text
from tests.widgets.failures.frames import frame, row
from tests.widgets.hostile import HOSTILE, Twin

FIELDS = frame(
    row(field="a", document="d1", run="r1", outcome="incorrect", gold="cat", predicted="cut"),
    row(field="a", document="d2", run="r1", outcome="omission", predicted_state="missing"),
    row(field="b", document="d1", run="r1"),
    row(field="a", document="d1", run="r2", outcome="incorrect", gold="cat", predicted="cot"),
    row(field="b", document="d1", run="r2", outcome="structural", reason="invalid_output"),
    row(field="c[].x", document="d2", run="r2", counted=False),
)


def explorer(source: Any = FIELDS, **options: Any) -> FailureExplorer:
    return FailureExplorer(source, **options)


def pane(view: FailureExplorer, kind: type) -> Any:
    return next(part for part in view.children[1].children if isinstance(part, kind))


def model(view: FailureExplorer, kind: type = HeatPane) -> Any:
    return json.loads(pane(view, kind).data)


def click(view: FailureExplorer, block: Any) -> None:
    """What the page sends when cells are chosen."""
    pane(view, HeatPane).set_state({"block": block})


def send(view: FailureExplorer, part: type, **content: Any) -> None:
    pane(view, part)._handle_custom_msg(content, [])


def titles(view: FailureExplorer, side: str = "rows") -> list[str]:
    shown = model(view)[side]
    at = shown["columns"].index("title")
    return [line[at] for line in shown["rows"]]


# --- selection ---------------------------------------------------------------------------------


def test_a_click_chooses_a_cell_by_name() -> None:
    view = explorer()
    seen: list[Any] = []
    view.observe(lambda change: seen.append(change["new"]), "selected_cell")
    click(view, [[0], [0]])
    assert seen == [("a", "d1")]
    assert view.selected_block == (("a",), ("d1",))
    assert view.selection.index.tolist() == [0, 3]
    assert [line[3] for line in model(view, ValuesPane)["rows"]["rows"]] == ["$.a", "$.a"]
    assert model(view, BarsPane)["title"] == "Selection: 2 rows"


def test_python_chooses_a_cell_on_the_page() -> None:
    view = explorer()
    view.selected_cell = ("a", "d2")
    assert pane(view, HeatPane).block == [[0], [1]]
    assert view.selection.index.tolist() == [1]
    view.selected_cell = ()
    assert pane(view, HeatPane).block == []
    assert len(view.selection) == 5


def test_a_block_is_several_cells_and_no_single_one() -> None:
    view = explorer()
    view.selected_cell = ("a", "d2")
    click(view, [[0, 1], [0]])
    assert view.selected_cell == ()
    assert view.selected_block == (("a", "b"), ("d1",))
    assert view.selection.index.tolist() == [0, 2, 3, 4]
    view.selected_block = ("a", ["d1", "d2"])
    assert pane(view, HeatPane).block == [[0], [0, 1]]


def test_the_selection_has_the_rows_of_the_source_with_their_index() -> None:
    fields = FIELDS.set_index(FIELDS.index * 10)
    view = explorer(fields)
    view.selected_cell = ("a", "d1")
    pd.testing.assert_frame_equal(view.selection, fields.loc[[0, 30]])


def test_filters_hold_for_the_selection_too() -> None:
    view = explorer()
    view.selected_cell = ("b", "d1")
    assert len(view.selection) == 2
    view.valid_only = True
    assert view.selection.index.tolist() == [2]
    view.run = "r2"
    assert len(view.selection) == 0
    assert "the filters leave nothing" in model(view, ValuesPane)["title"]


@pytest.mark.parametrize(
    "trait, value, message",
    [
        ("selected_cell", ("aa", "d1"), r"field is 'aa'; did you mean 'a'|expected one of"),
        ("selected_cell", ("a", "d9"), r"document is 'd9'; expected one of d1, d2"),
        ("selected_cell", ("a",), r"selected_cell is \(row, column\) or empty; found \('a',\)"),
        ("selected_block", (["a", "q"], ["d1"]), "field is 'q'"),
        ("selected_block", ([1], ["d1"]), "field is 1"),
        ("selected_block", (["a"],), r"selected_block is \(names of rows, names of columns\)"),
        ("selected_block", (1, 2), r"selected_block is \(names of rows, .*; found \(1, 2\)"),
        ("selected_block", (["a"], 3), r"or empty; found \(\['a'\], 3\)"),
        ("selected_block", (None, ["d1"]), r"or empty; found \(None, \['d1'\]\)"),
        ("selected_block", ([["a"]], ["d1"]), r"field is \['a'\]"),
        ("selected_block", ([{}], ["d1"]), r"field is \{\}"),
        ("selected_block", (["a"], ["d1"], []), r"or empty; found"),
        ("selected_block", 3, "expected a tuple"),
        ("selected_cell", (["a"], "d1"), r"field is \['a'\]"),
        ("selected_cell", (1, 2), "field is 1"),
        ("rows", "feild", "rows is 'feild'; did you mean 'field'"),
        ("measure", "scores", "measure is 'scores'; did you mean 'score'"),
        ("row_order", "best", "row_order is 'best'"),
        ("schema", "t", "schema is 't'; expected s"),
        ("run", "r3", "run is 'r3'; expected one of r1, r2"),
    ],
)
def test_what_there_is_not_is_refused_with_the_nearest_names(
    trait: str, value: Any, message: str
) -> None:
    view = explorer()
    before = getattr(view, trait)
    with pytest.raises(traitlets.TraitError, match=message):
        setattr(view, trait, value)
    assert getattr(view, trait) == before
    assert len(view.selection) == 5


@pytest.mark.parametrize(
    "block", [[[7], [0]], [[-1], [0]], [[0], []], [[0]], [["a"], ["d1"]], [[None], [{}]]]
)
def test_a_page_that_sends_nonsense_chooses_nothing(block: Any) -> None:
    view = explorer()
    click(view, block)
    assert view.selected_block == ()


@pytest.mark.parametrize(
    "content",
    [
        {"kind": "page", "axis": "rows", "to": "1"},
        {"kind": "page", "axis": "rows", "to": True},
        {"kind": "page", "axis": "x", "to": 1},
        {"kind": "page", "axis": [], "to": 1},
        {"kind": "page", "axis": "rows", "to": -3},
        {"kind": "line", "axis": "rows", "code": 99},
        {"kind": "line", "axis": "rows", "code": -1},
        {"kind": "line"},
        {"kind": []},
    ],
)
def test_odd_messages_change_nothing(content: Any) -> None:
    view = explorer()
    before = model(view)
    send(view, HeatPane, **content)
    assert (model(view), view.selected_block) == (before, ())


# --- axes and pages ----------------------------------------------------------------------------


def test_an_axis_that_the_other_side_has_changes_places_with_it() -> None:
    view = explorer()
    view.selected_cell = ("a", "d1")
    view.rows = "document"
    assert (view.rows, view.columns) == ("document", "field")
    assert view.selected_block == view.selected_cell == ()
    view.columns = "run"
    assert (view.rows, view.columns) == ("document", "run")
    assert model(view)["axes"] == ["document", "run"]


@pytest.mark.parametrize(
    "options, axes",
    [
        ({}, ("field", "document")),
        ({"rows": "document"}, ("document", "run")),
        ({"rows": "run"}, ("run", "document")),
        ({"rows": "run", "columns": "field"}, ("run", "field")),
    ],
)
def test_axes_by_default(options: dict[str, str], axes: tuple[str, str]) -> None:
    view = explorer(**options)
    assert (view.rows, view.columns) == axes


@pytest.mark.parametrize("rows, columns", [("field", "run"), ("run", "field"), ("document", "run")])
def test_one_document_is_not_worth_an_axis(rows: str, columns: str) -> None:
    view = explorer(FIELDS[FIELDS["document"] == "d1"], rows=rows)
    assert (view.rows, view.columns) == (rows, columns)


@pytest.mark.parametrize(
    "options, message",
    [
        ({"rows": "fields"}, "rows='fields': did you mean 'field'"),
        ({"columns": "doc"}, "columns='doc': "),
        ({"measure": "f1"}, "measure='f1': expected one of outcome, pass_rate, score"),
        ({"rows": "run", "columns": "run"}, "rows and columns are both 'run'"),
    ],
)
def test_wrong_options_are_refused(options: dict[str, str], message: str) -> None:
    with pytest.raises(xb.InputError, match=message):
        explorer(**options)


def test_pages_turn_and_python_finds_the_page_of_a_cell() -> None:
    fields = frame(*(row(field=f"f{i:03}", document=f"d{i % 45:02}") for i in range(135)))
    view = explorer(fields)
    view.row_order = view.column_order = "name"
    send(view, HeatPane, kind="page", axis="rows", to=1)
    assert titles(view)[0] == "f060"
    view.selected_cell = ("f134", "d44")
    assert "f134" in titles(view)
    assert "d44" in titles(view, "columns")
    view.find = "f0"
    assert titles(view)[0] == "f000"


def test_a_header_takes_its_line_on_all_pages() -> None:
    fields = frame(*(row(field="a", document=f"d{i:02}") for i in range(45)), row(field="b"))
    view = explorer(fields)
    send(view, HeatPane, kind="line", axis="rows", code=0)
    assert [len(names) for names in view.selected_block] == [1, 45]
    assert len(view.selection) == 45
    send(view, HeatPane, kind="line", axis="columns", code=0)
    assert view.selected_block == (("a",), ("d00",))


def test_values_turn_pages_and_show_all_of_one() -> None:
    fields = frame(*(row(path=f"$.a[{i}]", gold="g" * 3000) for i in range(30)))
    view = explorer(fields)
    view.selected_cell = ("a", "d1")
    send(view, ValuesPane, kind="values", to=1)
    assert model(view, ValuesPane)["first"] == 20
    send(view, ValuesPane, kind="whole", at=25)
    rows = model(view, ValuesPane)["rows"]
    whole = [line[rows["columns"].index("whole")] for line in rows["rows"]]
    assert whole == [at == 5 for at in range(10)]


# --- what is said ------------------------------------------------------------------------------


def test_the_headline_counts_what_is_shown() -> None:
    view = explorer()
    assert model(view)["headline"] == [
        "2 fields",
        "2 documents",
        "2 runs",
        "1 of 3 outputs invalid: all their fields fail",
        "1 field failed by every run",
    ]
    view.valid_only = True
    assert model(view)["headline"][-1] == "1 field failed by every run"
    view.find = "b"
    assert model(view)["headline"] == ["1 field", "1 document", "1 run"]


@pytest.mark.parametrize(
    "source, traits, message",
    [
        (FIELDS.iloc[:0], {}, "No field was evaluated"),
        (FIELDS.iloc[5:], {}, "Every row is inside an array; show the fields inside arrays"),
        (FIELDS, {"find": "q"}, "No field matches: fields with 'q' in their name. Clear the filt"),
        (FIELDS, {"run": "r1", "find": "q"}, "No field matches: run r1, fields with 'q' in their"),
    ],
)
def test_where_nothing_is_shown_it_says_why(
    source: pd.DataFrame, traits: dict[str, Any], message: str
) -> None:
    view = explorer(source)
    for name, value in traits.items():
        setattr(view, name, value)
    assert model(view)["empty"].startswith(message)
    assert model(view)["cells"] == []
    twin = Twin(view.to_html())
    twin.check()
    assert message in twin.text
    assert len(view.selection) == 0


# --- static twin -------------------------------------------------------------------------------


def test_the_bundle_has_a_live_and_a_static_part() -> None:
    data, _ = explorer()._repr_mimebundle_()
    assert "application/vnd.jupyter.widget-view+json" in data
    assert data["text/plain"] == "Failures · 3 fields · 2 documents · 2 runs · 6 rows"
    assert "Rows: fields, worst first." in Twin(data["text/html"]).text


def test_the_twin_says_in_words_what_colours_show(tmp_path: Path) -> None:
    view = explorer()
    view.selected_cell = ("a", "d1")
    twin = Twin(view.to_html())
    twin.check()
    for words in (
        "a ✗",
        "0.00",
        "0.50⊘",
        "·",
        "2 incorrect",
        "cat",
        "cut",
        "2 of 2 rows not passed",
    ):
        assert words in twin.text
    view.measure = "outcome"
    assert "≠ 2/2" in Twin(view.to_html()).text
    assert view.to_html() in view.save(tmp_path / "x.html").read_text(encoding="utf-8")


def test_the_twin_is_the_same_every_time() -> None:
    assert explorer().to_html() == explorer().to_html()


def test_the_twin_says_what_all_is() -> None:
    view = explorer(rows="run")
    said = "mean score; of a run, mean over documents; of a document, mean over runs"
    assert model(view)["every"] == f"all: {said}"
    assert f"All: {said}." in Twin(view.to_html()).text
    view.measure = "outcome"
    assert model(view)["every"].startswith("all: pass rate; of a run")
    view.columns = "field"
    assert "of a field, mean over documents and runs" in Twin(view.to_html()).text


def test_shares_are_labelled_by_what_they_are_of() -> None:
    view = explorer(FIELDS.assign(domain="law"))
    groups = {group["by"]: group["measure"] for group in model(view, BarsPane)["groups"]}
    assert groups == {
        "outcome": "share of rows",
        "domain": "share of rows that pass",
        "run": "pass rate, mean over documents",
    }
    text = Twin(view.to_html()).text
    assert "share of rows that pass; outcomes of rows" in text
    assert "pass rate, mean over documents; outcomes of rows" in text


def test_columns_whose_names_have_no_room_are_numbered() -> None:
    documents = [f"a_long_name_of_a_report_{i:02}" for i in range(8)]
    fields = frame(
        *(row(document=name) for name in documents[1:]),
        row(document=documents[0], outcome="omission"),
    )
    html = explorer(fields).to_html()
    heads = re.findall(r'<th scope="col"[^>]*><span>([^<]*)</span>', html)
    assert heads == [str(i) for i in range(1, 9)]
    named = re.findall(r"<li><span>([^<]*)</span></li>", html)
    assert named == [f"{documents[0]} · 0.00", *(f"{name} · 1.00" for name in documents[1:])]
    few = explorer(fields[:2]).to_html()
    assert re.findall(r'<th scope="col"[^>]*><span>([^<]*)</span>', few) == documents[1:3]


@pytest.mark.parametrize(
    "score, text",
    [
        *((0.0, "0.00"), (1e-9, "0.01"), (0.004, "0.01"), (0.125, "0.13"), (0.5, "0.50")),
        *((0.625, "0.63"), (0.995, "0.99"), (0.999999, "0.99"), (1.0, "1.00")),
        *((None, "n/a"), (float("nan"), "n/a")),
    ],
)
def test_only_one_is_written_as_one(score: float | None, text: str) -> None:
    assert score_text(score) == text


def test_the_twin_has_a_budget() -> None:
    fields = frame(*(row(field=f"f{i % 100}", document=f"d{i}") for i in range(1000)))
    view = explorer(fields)
    html = view.to_html()
    assert "… 60 more fields, … 580 more documents" in Twin(html).text
    assert len(html) < 60_000


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
@pytest.mark.parametrize(
    "slots",
    [
        ("run", "document", "domain", "schema", "field", "path", "metric", "reason", "reasoning"),
        ("gold",),
        ("predicted",),
    ],
    ids=["names", "gold", "predicted"],
)
def test_hostile_content_is_text_in_every_slot(slots: tuple[str, ...], text: str) -> None:
    fields = frame(
        row(**dict.fromkeys(slots, text), outcome="incorrect"),
        row(run="r2", document="d2", schema="t", domain="x"),
    )
    view = explorer(fields)
    for rows, columns in (("field", "document"), ("run", "field"), ("document", "run")):
        view.rows, view.columns = rows, columns
        click(view, [[0], [0]])
        Twin(view.to_html()).check()
        for part in (HeatPane, ValuesPane, BarsPane):
            assert len(pane(view, part).data) < 30_000
    if "run" in slots:
        view.run = view.schema = text
        assert len(view.selection) == 1
        Twin(view.to_html()).check()
    send(view, ValuesPane, kind="whole", at=0)
    assert len(pane(view, ValuesPane).data) < 700_000


def test_a_hostile_search_is_text() -> None:
    view = explorer()
    for text in HOSTILE.values():
        view.find = text
        Twin(view.to_html()).check()
        assert len(pane(view, HeatPane).data) < 20_000


@pytest.mark.parametrize("values", [{"a": {"b": [[1] * 300] * 300}}, ["x"] * 100_000])
def test_huge_values_are_small_messages(values: Any) -> None:
    view = explorer(frame(row(gold=values, predicted=values, outcome="incorrect")))
    view.selected_cell = ("a", "d1")
    assert len(pane(view, ValuesPane).data) < 20_000


def test_the_source_is_not_changed() -> None:
    before = FIELDS.copy(deep=True)
    view = explorer()
    view.selected_cell = ("a", "d1")
    mine = view.selection
    mine["score"] = 1.0
    pd.testing.assert_frame_equal(FIELDS, before)


def test_the_recorded_runs_of_the_sample() -> None:
    evs = xb.evaluate_runs(xb.load_dataset(), progress=False)
    view = explorer(evs)
    view.selected_cell = ("balance.cash.now", "brindlemoor_10q_q2_fy2031")
    expected = evs.fields.query(
        "field == 'balance.cash.now' and document == 'brindlemoor_10q_q2_fy2031'"
    )
    pd.testing.assert_frame_equal(view.selection, expected)
    Twin(view.to_html()).check()
