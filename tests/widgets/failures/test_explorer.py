"""The failure explorer without a page: selections, values, failure modes, twin, hostile text."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import traitlets

import extractbench_nb as xb
from extractbench_nb.support.nodes import Node
from extractbench_nb.views.failures_view import FailureExplorer
from extractbench_nb.views.static import score_text
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


def words(tree: Node | str) -> str:
    """The text of a part as the page has it."""
    if isinstance(tree, str):
        return tree
    if "static" in tree.attributes:
        return ""
    return " ".join(" ".join(map(words, tree.children)).split())


def ran(code: str, **frames: pd.DataFrame) -> Any:
    return eval(code, frames)  # noqa: S307 - what the view writes to be pasted


def shown(view: FailureExplorer, part: str = "values") -> str:
    return words(view.trees()[part])


def sent(view: FailureExplorer) -> int:
    """Characters that the page is made of."""
    return sum(len(getattr(view, f"_p{at}")) for at in range(view._slots))


def chosen(view: FailureExplorer) -> Any:
    """Places of the chosen lines on the page."""
    found = re.search(r'"data-chosen":"(.*?)"', view._p0)
    assert found
    return json.loads(found.group(1))


def titles(view: FailureExplorer, side: str = "rows") -> list[str]:
    return [line.title for line in getattr(view._shown_grid(), side).lines]


# --- selection ---------------------------------------------------------------------------------


def test_a_click_chooses_a_cell_by_name() -> None:
    view = explorer()
    seen: list[Any] = []
    view.observe(lambda change: seen.append(change["new"]), "selected_cell")
    view.perform("cell", [1, 2])
    assert seen == [("a", "d1")]
    assert view.selected_block == (("a",), ("d1",))
    assert view.selection.index.tolist() == [0, 3]
    assert chosen(view) == [[1], [2]]
    assert shown(view).count("$.a") == 1
    assert "Selection: 2 rows, 2 not passed" in shown(view, "modes")


def test_python_chooses_a_cell_on_the_page() -> None:
    view = explorer()
    view.selected_cell = ("a", "d2")
    assert chosen(view) == [[1], [1]]
    assert view.selection.index.tolist() == [1]
    view.selected_cell = ()
    assert chosen(view) == []
    assert len(view.selection) == 5


def test_a_block_is_several_cells_and_no_single_one() -> None:
    view = explorer()
    view.selected_cell = ("a", "d2")
    view.perform("block", [2, 2, 1, 2])
    assert view.selected_cell == ()
    assert view.selected_block == (("a", "b"), ("d1",))
    assert view.selection.index.tolist() == [0, 2, 3, 4]
    view.selected_block = ("a", ["d1", "d2"])
    assert chosen(view) == [[1], [1, 2]]


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
    assert "the filters leave nothing" in shown(view)


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
    "event, value",
    [
        *(("cell", value) for value in ([7, 1], [-1, 1], [1], [0, 0], [None, {}], "x", None)),
        *(("block", value) for value in ([1, 1, 1], [1, 1, 9.5, 1], {}, [9, 9, 9, 9])),
        *(("set:row_page", value) for value in ("1", None, [1])),
        *(("mode", value) for value in ([0, 0], [99, None, None], ["a", None, None], [-1, 0, 0])),
        *(
            ("open", value)
            for value in (["evaluation", 99], ["x", 0], [0], None, ["evaluation", -1])
        ),
        *(("pick", value) for value in (["run", 9], ["rows", 1], ["selected_block", 0], [[], 0])),
        *(("set:among", ["run", "r1"]), ("set:measure", "x"), ("set:run", "r9"), ("set:text", 3)),
        *(("set:selected_block", []), ("nothing", None)),
    ],
)
def test_a_page_that_sends_nonsense_changes_nothing(event: str, value: Any) -> None:
    view = explorer()
    before = view.location, view._p0, view._p1, view._p2, view._p3
    view.perform(event, value)
    assert (view.location, view._p0, view._p1, view._p2, view._p3) == before


# --- axes and pages ----------------------------------------------------------------------------


def test_an_axis_that_the_other_side_has_changes_places_with_it() -> None:
    view = explorer()
    view.selected_cell = ("a", "d1")
    view.rows = "document"
    assert (view.rows, view.columns) == ("document", "field")
    assert view.selected_block == view.selected_cell == ()
    view.columns = "run"
    assert (view.rows, view.columns) == ("document", "run")
    assert "document by run" in view._p1


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


def test_documents_of_schemas_of_their_own_are_not_worth_an_axis() -> None:
    fields = frame(
        *(row(run=run, schema=f"s{at}", document=f"d{at}") for at in range(5) for run in "ab")
    )
    assert explorer(fields).columns == "run"


@pytest.mark.parametrize("rows, columns", [("field", "run"), ("run", "field"), ("document", "run")])
def test_one_document_is_not_worth_an_axis(rows: str, columns: str) -> None:
    view = explorer(FIELDS[FIELDS["document"] == "d1"], rows=rows)
    assert (view.rows, view.columns) == (rows, columns)


@pytest.mark.parametrize(
    "options, message",
    [
        ({"rows": "fields"}, "rows is 'fields'; did you mean 'field'"),
        ({"columns": "doc"}, "columns is 'doc'; "),
        ({"measure": "f1"}, "measure is 'f1'; expected one of outcome, pass_rate, score"),
        ({"rows": "run", "columns": "run"}, "rows and columns are both 'run'"),
        ({"name": "a b"}, "name is 'a b'"),
    ],
)
def test_wrong_options_are_refused(options: dict[str, str], message: str) -> None:
    with pytest.raises(xb.InputError, match=message):
        explorer(**options)


def test_pages_turn_and_python_finds_the_page_of_a_cell() -> None:
    fields = frame(*(row(field=f"f{i:03}", document=f"d{i % 45:02}") for i in range(135)))
    view = explorer(fields)
    view.row_order = view.column_order = "name"
    view.perform("set:row_page", 1)
    assert titles(view)[0] == "f060"
    view.selected_cell = ("f134", "d44")
    assert "f134" in titles(view)
    assert "d44" in titles(view, "columns")
    view.find = "f0"
    assert titles(view)[0] == "f000"


def test_a_header_takes_its_line_on_all_pages() -> None:
    fields = frame(*(row(field="a", document=f"d{i:02}") for i in range(45)), row(field="b"))
    view = explorer(fields)
    view.perform("cell", [1, 0])
    assert [len(names) for names in view.selected_block] == [1, 45]
    assert len(view.selection) == 45
    view.perform("cell", [0, 1])
    assert view.selected_block == (("a",), ("d00",))
    view.perform("block", [1, 0, 2, 0])
    assert [len(names) for names in view.selected_block] == [2, 46]


def test_values_turn_pages_and_show_all_of_one() -> None:
    fields = frame(*(row(path=f"$.a[{i}]", gold="g" * 3000) for i in range(30)))
    view = explorer(fields)
    view.selected_cell = ("a", "d1")
    assert "paths 1 to 20 of 30" in shown(view)
    view.perform("set:value_page", 1)
    assert "$.a[20]" in shown(view)
    view.perform("whole", 25)
    assert "g" * 3000 in shown(view)
    assert shown(view).count("Show all") == 9


# --- what is said ------------------------------------------------------------------------------


def test_the_headline_counts_what_is_shown() -> None:
    view = explorer()
    assert (
        "2 fields · 2 documents · 2 runs · 1 of 3 outputs invalid: all their fields fail · "
        "1 field failed by every run · 1 row not counted"
    ) in shown(view, "page")
    view.valid_only = True
    assert "· 1 field failed by every run" in shown(view, "page")
    view.find = "b"
    assert "1 field · 1 document · 1 run" in shown(view, "page")
    view.find, view.inside_arrays = "", True
    assert "not included" not in shown(view, "page")


def test_filters_that_leave_nothing_can_be_cleared() -> None:
    view = explorer()
    assert "Clear filters" not in shown(view, "page")
    view.find, view.valid_only = "no such field", True
    assert "Clear the filters." in shown(view, "page")
    assert "Clear filters" in shown(view, "page")
    view.perform("unfiltered")
    assert (view.find, view.valid_only) == ("", False)
    assert view._places.size


@pytest.mark.parametrize(
    "source, traits, message",
    [
        (FIELDS.iloc[:0], {}, "No field was evaluated"),
        (FIELDS.iloc[5:], {}, "No row is counted; show those that are not counted too"),
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
    assert message in shown(view, "page")
    assert shown(view, "grid") == ""
    twin = Twin(view.to_html())
    twin.check()
    assert message in twin.text
    assert len(view.selection) == 0


# --- static twin -------------------------------------------------------------------------------


def test_the_twin_says_in_words_what_colours_show(tmp_path: Path) -> None:
    view = explorer()
    view.selected_cell = ("a", "d1")
    twin = Twin(view.to_html())
    twin.check()
    for words in (
        "a ✗",
        "0.00",
        "0.50⊘",
        "failed by every run",
        "·",
        "≠ incorrect",
        "cat",
        "cut",
        "2 of 2 rows not passed",
    ):
        assert words in twin.text
    view.measure = "outcome"
    assert "≠ 2/2" in Twin(view.to_html()).text
    assert view.to_html() in view.save(tmp_path / "x.html").read_text(encoding="utf-8")


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
    assert len(html) < 80_000


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
        view.perform("cell", [1, 1])
        Twin(view.to_html()).check()
        assert sent(view) < 60_000
    if "run" in slots:
        view.perform("pick", ["run", 0])
        view.schema = text
        assert view.run == text
        assert len(view.selection) == 1
        view.perform("pick", ["reason", view._coded.columns["reason"].names.index(text)])
        view.modes_by = "domain"
        view.perform("mode", [None, None, 0])
        Twin(view.to_html()).check()
        assert sent(view) < 60_000
    view.perform("whole", int(view._coded.keys[0]))
    assert sent(view) < 700_000


def test_a_hostile_search_is_text() -> None:
    view = explorer()
    for text in HOSTILE.values():
        view.find = text
        Twin(view.to_html()).check()
        view.find, view.text = "", text
        Twin(view.to_html()).check()
        view.text = ""


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


# --- runs side by side -------------------------------------------------------------------------

RUNS = frame(
    *(row(run=run, field="a", gold="cat", predicted="cat") for run in ("r1", "r2", "r3")),
    *(
        row(run=run, field="b", gold="cat", predicted=value, outcome="incorrect", reason="mismatch")
        for run, value in (("r1", "cot"), ("r2", "cut"), ("r3", "dog"))
    ),
    row(run="r1", field="c", gold="sun", predicted="son", outcome="incorrect", reason="mismatch"),
    *(row(run=run, field="c", gold="sun", predicted="sun") for run in ("r2", "r3")),
    row(run="r1", field="d", gold="elm"),
    row(run="r2", field="d", gold="elm", outcome="omission", predicted_state="missing"),
)


def listed(view: FailureExplorer) -> list[str]:
    return re.findall(r"\$\.\w", shown(view))


def test_gold_is_there_once_and_each_run_beside_it() -> None:
    view = explorer(RUNS, rows="field", columns="run")
    view.selected_block = (["a", "b", "c", "d"], ["r1", "r2", "r3"])
    assert listed(view) == ["$.b", "$.c", "$.d", "$.a"]
    text = shown(view)
    assert text.count("sun") == 2  # gold, and once the answer of two runs that are right
    assert "r2 r3 sun ✓ correct" in text
    assert '<mark class="xb-changed">o</mark>' in view.to_html()


def test_a_cell_of_one_run_has_the_others_for_comparison() -> None:
    view = explorer(RUNS, rows="field", columns="run")
    view.selected_cell = ("c", "r2")
    assert len(view.selection) == 1
    assert "gold sun r1 s o n ≠ incorrect" in shown(view)
    assert "0 of 1 row not passed" in shown(view)


@pytest.mark.parametrize(
    "traits, expected",
    [
        ({"compare": "disagree"}, ["$.c", "$.d"]),
        ({"compare": "all_wrong"}, ["$.b"]),
        ({"a": "r1", "b": "r2", "compare": "gained"}, ["$.c"]),
        ({"a": "r1", "b": "r2", "compare": "lost"}, ["$.d"]),
        ({"a": "r1", "b": "r3", "compare": "disagree"}, ["$.c"]),
        ({"a": "r3", "failures_only": True}, ["$.b"]),
        ({"failures_only": True}, ["$.b", "$.c", "$.d"]),
        ({"outcome": "omission"}, ["$.d"]),
        ({"reason": "mismatch"}, ["$.b", "$.c"]),
        ({"metric": "string_exact"}, ["$.b", "$.c", "$.d", "$.a"]),
        ({"text": " SON"}, ["$.c"]),
        ({"text": "$.d"}, ["$.d"]),
        ({"among": ("run", "r2"), "failures_only": True}, ["$.b", "$.d"]),
    ],
)
def test_values_are_filtered_and_sorted(traits: dict[str, Any], expected: list[str]) -> None:
    view = explorer(RUNS, columns="run")
    for name, value in traits.items():
        setattr(view, name, value)
    assert listed(view) == expected
    assert ran(view.code, fields=RUNS).equals(view.selection)
    view.perform("all")
    view.perform("unfiltered")
    view.a = view.b = None
    assert len(view.selection) == len(RUNS)


def test_rows_of_several_metrics_have_one_value() -> None:
    fields = frame(row(metric="x"), row(metric="y", outcome="incorrect", predicted="z"))
    view = explorer(fields)
    view.selected_cell = ("a", "d1")
    assert listed(view) == ["$.a"]
    assert "1.00 · x" in shown(view)
    assert "0.00 · y" in shown(view)


def test_two_runs_are_compared_cell_by_cell() -> None:
    view = explorer(RUNS)
    view.perform("pick", ["a", 0])
    view.perform("pick", ["b", 1])
    assert (view.a, view.b) == ("r1", "r2")
    assert view.selection["run"].unique().tolist() == ["r1", "r2"]
    assert titles(view) == ["d", "c", "a", "b"]  # lost, gained, and the same
    page = shown(view, "page")
    assert "1 value gained, 1 lost" in page
    assert "0.500 r1 → 0.500 r2" in page
    assert "−1.00" in shown(view, "grid")
    assert "+1.00" in shown(view, "grid")
    view.perform("differences", True)
    assert titles(view) == ["d", "c"]
    assert "0.500 r1 → 0.500 r2" in shown(view, "page")  # of all values
    assert listed(view) == ["$.c", "$.d"]  # without a click
    assert ran(view.code, fields=RUNS).equals(view.selection)
    view.perform("differences", False)
    view.columns = "run"  # a run's own mean is no difference
    assert [line.score for line in view._shown_grid().columns.lines] == [0.5, 0.5]
    Twin(view.to_html()).check()


def test_versions_of_several_runs_are_paired_by_run(outputs: Any) -> None:
    before = RUNS.drop(columns="version", errors="ignore")
    right = before["field"] == "b"
    after = before.assign(
        score=before["score"].where(~right, 1.0), passed=before["passed"].where(~right, True)
    )
    view = explorer({"before": before, "after": after})
    assert (view.a, view.b) == ("before", "after")
    assert "3 values gained, 0 lost" in shown(view, "page")
    view.perform("differences", True)
    assert view.selection["run"].tolist() == ["r1", "r2", "r3"] * 2
    assert "before" in shown(view)
    frames = {
        name: type("Batch", (), {"fields": fields})
        for name, fields in (("before", before), ("after", after))
    }
    assert ran(view.code, evs=frames, pd=pd)["run"].tolist() == view.selection["run"].tolist()


def test_made_up_keys_do_not_come_first() -> None:
    fields = frame(
        *(row(field=f"x{at}", outcome="hallucination", reason="undeclared") for at in range(3)),
        row(field="a", outcome="incorrect"),
        row(field="b"),
    )
    view = explorer(fields)
    assert titles(view) == ["a", "b", "x0", "x1", "x2"]


# --- failure modes -----------------------------------------------------------------------------


def test_every_count_of_a_mode_opens_its_rows() -> None:
    view = explorer(RUNS, columns="run")
    assert "all 5 100% 2 100% 2 100% 1 100%" in shown(view, "modes")
    assert "mismatch · string exact 4 80%" in shown(view, "modes")
    tree = view.trees()["modes"]
    cells: list[tuple[Any, str]] = []

    def collect(node: Node | str) -> None:
        if isinstance(node, Node):
            if node.attributes.get("do") == "mode":
                cells.append((node.attributes["send"], str(node.children[0])))
            for child in node.children:
                collect(child)

    collect(tree)
    assert len(cells) > 6
    for mode, count in cells:
        view.perform("mode", mode)
        assert len(view.selection) == int(count)
        assert ran(view.code, fields=RUNS).equals(view.selection)


def test_modes_are_counted_by_any_column() -> None:
    view = explorer(RUNS, columns="run")
    view.modes_by = "field"
    assert "reason · metric all b c d" in shown(view, "modes")
    view.perform("mode", [None, None, view._coded.places["field"]["b"]])
    assert view.among == ("field", "b")
    assert len(view.selection) == 3
    assert "Not only" not in shown(view)
    view.perform("mode", None)
    assert view.among == ()
    fields = RUNS.assign(mismatch=pd.array(["case"] * len(RUNS), dtype="string"))
    view = explorer(fields, columns="run")
    view.modes_by = "mismatch"
    assert "reason · metric all case" in shown(view, "modes")
    view.mismatch = "case"
    assert len(view.selection) == len(RUNS)


# --- one ranking -------------------------------------------------------------------------------


def test_worst_first_ranks_all_schemas_together() -> None:
    fields = frame(
        row(schema="s", field="a", outcome="incorrect"),
        row(schema="s", field="b"),
        row(schema="t", field="c", outcome="incorrect", score=0.5),
        row(schema="t", field="d", outcome="omission", score=0.1),
    )
    view = explorer(fields)
    assert titles(view) == ["a", "d", "c", "b"]


# --- arrays and other views --------------------------------------------------------------------

SCHEMA = {
    "type": "object",
    "properties": {
        "title": {"type": "string"},
        "people": {
            "type": "array",
            "items": {"type": "object", "properties": {"name": {"type": "string"}}},
        },
    },
}
GOLD = {"title": "A", "people": [{"name": f"person number {i}"} for i in range(20)]}


@pytest.fixture(scope="module")
def outputs() -> dict[str, dict[str, xb.Evaluation]]:
    wrong = {"title": "B", "people": [*GOLD["people"][:15], {"name": "someone else"}]}
    good, bad = xb.evaluate(SCHEMA, GOLD, GOLD), xb.evaluate(SCHEMA, GOLD, wrong)
    return {"r1": {"d": good, "e": good}, "r2": {"d": bad, "e": good}}


def test_arrays_are_counts_with_a_way_to_the_matches(outputs: Any) -> None:
    view = explorer(outputs)
    view.inside_arrays = True  # `strict` counts the items' fields in place of the array
    view.selected_cell = ("people", "d")
    text = shown(view)
    assert "20 items" in text
    assert "15 matched, 5 missed, 1 spurious" in text
    assert "matches" in text
    assert "person number" not in text
    assert "15 matched, 5 missed, 1 spurious" in Twin(view.to_html()).text


def test_a_value_opens_its_output_and_the_way_back(outputs: Any) -> None:
    view = explorer(outputs)
    view.selected_cell = ("title", "d")
    at = int(view.selection.index[view.selection["run"] == "r2"][0])
    view.perform("open", ["evaluation", at])
    (opened,) = view.trail
    assert opened.selected_row == "$.title"
    assert "r2 · d" in opened.title
    there = json.loads(json.dumps(view.location))
    assert there["output"] == ["r2", "d"]
    view.perform("back", 0)
    assert view.trail == ()
    again = explorer(outputs)
    again.location = there
    assert again.location == there
    assert again.trail[0].selected_row == "$.title"
    again.location = {"selected_block": [["people"], ["e"]]}
    assert again.trail == ()
    assert again.selected_cell == ("people", "e")


def test_the_filters_of_a_count_end_with_the_next_cell(outputs: Any) -> None:
    view = explorer(outputs)
    view.perform("cell", [1, 0])
    view.perform("mode", [None, None, 0])
    assert view.failures_only
    assert view.among
    view.perform("cell", [2, 1])
    assert (view.failures_only, view.among, view.reason, view.metric) == (False, (), "", "")
    view.failures_only = True  # chosen by the reader: it stays
    view.perform("cell", [1, 1])
    assert view.failures_only


def test_the_way_down_to_the_page_and_back() -> None:
    ds = xb.load_dataset()
    evs = xb.evaluate_runs(ds, progress=False)
    view = explorer(evs, dataset=ds)
    view.schema = "rowing"
    view.selected_cell = ("races", "eastmere_summer_regatta_2031")
    fields = evs.fields
    of = (fields["run"] == "heron-vision") & (fields["document"] == view.selected_cell[1])
    races = int(fields.index[of & (fields["path"] == "$.races")][0])
    view.perform("open", ["evaluation", races])
    view.perform("matches", "$.races")
    output, matches = view.trail
    matches.selected_pair = (0, 0)
    there = json.loads(json.dumps(view.location))
    assert [step["view"] for step in there["trail"]] == ["evaluation", "matches"]
    view.perform("back", None)
    assert view.trail == (output,)
    again = explorer(evs, dataset=ds)
    again.location = there
    assert again.location == there
    assert again.trail[1].selected_pair == (0, 0)
    Twin(again.to_html()).check()
    again.perform("back", 0)
    regatta = int(fields.index[of & (fields["path"] == "$.regatta")][0])
    again.perform("open", ["evidence", regatta])
    assert again.trail[0].selected_path == "$.regatta"
    assert "on its page" in again.to_html() or "Evidence" in again.to_html()
    assert again.location["trail"] == [
        {"view": "evidence", "path": "$.regatta", "side": "predicted"}
    ]


def test_what_cannot_be_opened_says_why() -> None:
    view = explorer()
    view.selected_cell = ("a", "d1")
    view.perform("open", ["evaluation", 0])
    assert view.trail == ()
    assert "Outputs open only where evaluations are explored" in shown(view)
    with pytest.raises(xb.InputError, match="location"):
        view.location = {"selected": 3}


def test_code_names_the_source() -> None:
    view = explorer(name="results")
    view.selected_cell = ("a", "d1")
    assert view.code == (
        'results[lambda f: f["counted"] & (f["field"] == \'a\') & (f["document"] == \'d1\')]'
    )
    view.failed_by_every_run = True
    assert ran(view.code, results=FIELDS).equals(view.selection)
