"""The failure explorer without a page: selections, values, ways to other views, hostile text."""

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


def shown(view: FailureExplorer, part: str = "values") -> str:
    return words(view.trees()[part])


def listed(view: FailureExplorer) -> list[str]:
    return re.findall(r"\$\.\w", shown(view))


def ran(code: str, **frames: Any) -> Any:
    return eval(code, frames)  # noqa: S307 - what the view writes to be pasted


def chosen(view: FailureExplorer) -> Any:
    """Places of the chosen lines on the page."""
    found = re.search(r'"data-chosen":"(.*?)"', view._p0)
    assert found
    return json.loads(found.group(1))


def sent(view: FailureExplorer) -> int:
    return sum(len(getattr(view, f"_p{at}")) for at in range(view._slots))


# --- selection ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "place, cell, rows, marked",
    [
        ([1, 2], ("a", "d1"), [0, 3], [[1], [2]]),
        ([1, 0], ("a", None), [0, 1, 3], [[1], [1, 2]]),  # the name of a line takes all of it
        ([0, 1], (None, "d2"), [1], [[1, 2], [1]]),
    ],
)
def test_a_click_chooses_a_cell_or_a_line(
    place: list[int], cell: Any, rows: list[int], marked: Any
) -> None:
    view = explorer()
    seen: list[Any] = []
    view.observe(lambda change: seen.append(change["new"]), "selected_cell")
    view.perform("cell", place)
    assert seen == [cell]
    assert view.selection.index.tolist() == rows
    assert chosen(view) == marked
    pd.testing.assert_frame_equal(ran(view.code, fields=FIELDS), view.selection)
    view.perform("clear")
    assert view.selected_cell == ()
    assert len(view.selection) == 5


def test_the_selection_has_the_rows_of_the_source_with_their_index() -> None:
    fields = FIELDS.set_index(FIELDS.index * 10)
    before = fields.copy(deep=True)
    view = explorer(fields, name="results")
    view.selected_cell = ("a", "d1")
    pd.testing.assert_frame_equal(view.selection, fields.loc[[0, 30]])
    mine = view.selection
    mine["score"] = 1.0
    pd.testing.assert_frame_equal(fields, before)
    assert view.code == (
        'results[lambda f: f["counted"] & (f["field"] == \'a\') & (f["document"] == \'d1\')]'
    )


@pytest.mark.parametrize(
    "trait, value, message",
    [
        ("selected_cell", ("aa", "d1"), r"field is 'aa'; did you mean 'a'|expected one of"),
        ("selected_cell", ("a", "d9"), r"document is 'd9'; expected one of d1, d2"),
        ("selected_cell", ("a",), r"selected_cell is \(row, column\) or empty; found \('a',\)"),
        ("selected_cell", (["a"], "d1"), r"field is \['a'\]"),
        ("rows", "feild", "rows is 'feild'; did you mean 'field'"),
        ("measure", "scores", "measure is 'scores'; did you mean 'score'"),
        ("compare", "gained", "compare is 'gained'"),  # of two runs only
        ("schema", "t", "schema is 't'; expected s"),
        ("a", "r3", "a is 'r3'; expected one of r1, r2"),
        ("reason", "mach", "reason is 'mach'; did you mean 'match'"),
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
        *(("open", value) for value in (["evaluation", 99], ["x", 0], [0], ["evaluation", -1])),
        *(("pick", value) for value in (["a", 9], ["rows", 1], ["selected_cell", 0], [[], 0])),
        *(("set:measure", "x"), ("set:schema", "t"), ("set:text", 3), ("set:row_page", "1")),
        *(("set:selected_cell", []), ("nothing", None)),
    ],
)
def test_a_page_that_sends_nonsense_changes_nothing(event: str, value: Any) -> None:
    view = explorer()
    before = view.location, view._p0, view._p1, view._p2
    view.perform(event, value)
    assert (view.location, view._p0, view._p1, view._p2) == before


@pytest.mark.parametrize(
    "source, options, axes",
    [
        (FIELDS, {}, ("field", "document")),
        (FIELDS, {"rows": "document"}, ("document", "run")),
        (FIELDS, {"rows": "run", "columns": "field"}, ("run", "field")),
        (FIELDS[FIELDS["document"] == "d1"], {}, ("field", "run")),
        (  # documents of schemas of their own are not worth an axis
            frame(*(row(run=r, schema=f"s{n}", document=f"d{n}") for n in range(5) for r in "ab")),
            {},
            ("field", "run"),
        ),
    ],
)
def test_axes(source: Any, options: dict[str, str], axes: tuple[str, str]) -> None:
    view = explorer(source, **options)
    assert (view.rows, view.columns) == axes
    view.perform("cell", [1, 1])
    view.rows = axes[1]  # they change places
    assert (view.rows, view.columns, view.selected_cell) == (axes[1], axes[0], ())


@pytest.mark.parametrize(
    "options, message",
    [
        ({"rows": "fields"}, "rows is 'fields'; did you mean 'field'"),
        ({"measure": "f1"}, "measure is 'f1'; expected one of pass_rate, score"),
        ({"rows": "run", "columns": "run"}, "rows and columns are both 'run'"),
        ({"name": "a b"}, "name is 'a b'"),
    ],
)
def test_wrong_options_are_refused(options: dict[str, str], message: str) -> None:
    with pytest.raises(xb.InputError, match=message):
        explorer(**options)


# --- what is said ------------------------------------------------------------------------------


def test_the_headline_counts_what_is_shown() -> None:
    view = explorer()
    about = "2 fields · 2 documents · 2 runs · 1 of 3 outputs invalid · 1 row not counted"
    assert about in shown(view, "page")
    view.valid_only = True
    assert "1 row not counted · without invalid outputs" in shown(view, "page")


@pytest.mark.parametrize(
    "source, message",
    [
        (FIELDS.iloc[:0], "No row is counted; show those that are not counted too"),
        (FIELDS.iloc[5:], "No row is counted; show those that are not counted too"),
        (FIELDS.iloc[4:5], "No field matches: without invalid outputs. Clear the filters."),
    ],
)
def test_where_nothing_is_shown_it_says_why(source: pd.DataFrame, message: str) -> None:
    view = explorer(source)
    view.valid_only = True
    twin = Twin(view.to_html())
    twin.check()
    assert message in twin.text
    assert len(view.selection) == 0
    view.perform("clear", True)
    assert not view.valid_only


def test_the_twin_says_in_words_what_colours_show(tmp_path: Path) -> None:
    view = explorer()
    view.selected_cell = ("a", "d1")
    twin = Twin(view.to_html())
    twin.check()
    for text in ("0.00", "0.50", "·", "≠ incorrect", "cat", "cut", "2 of 2 rows not passed"):
        assert text in twin.text
    assert view.to_html() in view.save(tmp_path / "x.html").read_text(encoding="utf-8")
    many = explorer(frame(*(row(field=f"f{i % 100}", document=f"d{i}") for i in range(1000))))
    assert "… 60 more fields… 376 more documents" in Twin(many.to_html()).text
    assert len(many.to_html()) < 200_000


@pytest.mark.parametrize(
    "score, text",
    [(0.0, "0.00"), (1e-9, "0.01"), (0.625, "0.63"), (0.999, "0.99"), (1.0, "1.00"), (None, "n/a")],
)
def test_only_one_is_written_as_one(score: float | None, text: str) -> None:
    assert score_text(score) == text


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
    for rows, columns in (("run", "field"), ("document", "run")):
        view.rows, view.columns = rows, columns
        view.perform("cell", [1, 1])
        Twin(view.to_html()).check()
        assert sent(view) < 60_000
    if "run" in slots:
        view.schema = text
        view.perform("pick", ["reason", 0])
        view.text = text
        assert len(view.selection) == 1
        Twin(view.to_html()).check()
        view.text = ""
    view.perform("whole", int(view._rows.keys[0]))
    assert sent(view) < 700_000


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


def test_gold_is_there_once_and_each_answer_beside_it_failures_first() -> None:
    view = explorer(RUNS, columns="run")
    assert listed(view) == ["$.b", "$.c", "$.d", "$.a"]  # without a click
    text = shown(view)
    assert text.count("sun") == 2  # gold, and once the answer of two runs that are right
    assert "r2 r3 sun ✓ correct" in text
    assert '<mark class="xb-changed">o</mark>' in view.to_html()
    view.selected_cell = ("c", "r2")
    assert len(view.selection) == 1
    assert "gold sun r1 s o n ≠ incorrect" in shown(view)  # the others for comparison
    assert "0 of 1 row not passed" in shown(view)


@pytest.mark.parametrize(
    "traits, expected",
    [
        ({"compare": "disagree"}, ["$.c", "$.d"]),
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
        ({"inside_arrays": True, "valid_only": True, "schema": "s"}, ["$.b", "$.c", "$.d", "$.a"]),
    ],
)
def test_values_are_filtered_and_sorted(traits: dict[str, Any], expected: list[str]) -> None:
    view = explorer(RUNS, columns="run")
    with view.changing():
        for name, value in traits.items():
            setattr(view, name, value)
    assert listed(view) == expected
    assert ran(view.code, fields=RUNS).equals(view.selection)
    view.a = view.b = None
    view.perform("clear", True)
    assert len(view.selection) == len(RUNS)


def test_counts_of_reasons_and_kinds_filter() -> None:
    view = explorer(RUNS.assign(mismatch="case"), columns="run")
    assert shown(view).startswith("All cells: 5 of 11 rows not passed mismatch 4 match 1 case 5")
    view.perform("pick", ["reason", 1])
    assert (view.reason, len(view.selection)) == ("mismatch", 4)
    view.perform("pick", ["mismatch", 0])
    assert ran(view.code, fields=RUNS.assign(mismatch="case")).equals(view.selection)
    plain = explorer(FIELDS)
    plain.mismatch = plain._names_of("mismatch")[-1]
    assert ran(plain.code, fields=FIELDS).equals(plain.selection)


def test_verdicts_of_citations_are_a_column_to_filter_by() -> None:
    ds, document = xb.load_dataset(), "night bus demand"
    gold = ds.gold(document)
    ev = xb.evaluate(ds.schema("preprint"), gold, gold | {"kind": "Memo"})
    fields = ev.fields.assign(document=document)
    cites = [("$.heading", 1), ("$.heading", 2), ("$.issued", 2), ("$.kind", 1)]
    cited = pd.DataFrame(cites, columns=["path", "page"]).assign(document=document)
    view = explorer(fields, dataset=ds, citations=cited)
    verdicts = view.selection.set_index("path")["citation"].dropna().to_dict()
    scored = xb.pdf.score_citations(fields, cited, ds)
    first_wrong = scored[scored["verdict"] != "right_place"].drop_duplicates("path")
    assert verdicts == first_wrong.set_index("path")["verdict"].to_dict()
    assert "cited: elsewhere 2" in shown(view)
    view.citation = "wrong_value"
    assert view.selection["path"].tolist() == ["$.kind"]
    assert ran(view.code, fields=fields).equals(view.selection[[*fields.columns]])
    assert shown(view).endswith("value mismatch · other · cited: wrong value")


def test_a_saved_page_has_the_worst_path_of_all_cells_or_the_paths_of_one() -> None:
    view = explorer(RUNS, columns="run")
    assert len(set(re.findall(r"<b class=\"xb-code\"[^>]*>(.*?)</b>", view.to_html()))) == 1
    assert "… 3 more paths" in view.to_html()
    view.failures_only = True
    assert "more paths" not in view.to_html()


def test_rows_of_several_metrics_have_one_value() -> None:
    view = explorer(frame(row(metric="x"), row(metric="y", outcome="incorrect", predicted="z")))
    assert listed(view) == ["$.a"]
    assert "1.00 · x" in shown(view)
    assert "0.00 · y" in shown(view)


def test_long_values_are_cut_until_all_of_one_is_asked_for() -> None:
    fields = frame(*(row(path=f"$.a[{i}]", gold="g" * 3000) for i in range(30)))
    view = explorer(fields)
    assert "paths 1 to 20 of 30" in shown(view)
    view.perform("set:value_page", 1)
    assert "$.a[20]" in shown(view)
    assert "g" * 400 not in shown(view)
    view.perform("whole", int(view._rows.keys[25]))
    assert "g" * 3000 in shown(view)
    assert shown(view).count("Show all") == 9


def test_two_runs_are_compared_cell_by_cell() -> None:
    view = explorer(RUNS)
    view.perform("pick", ["a", 0])
    view.perform("pick", ["b", 1])
    assert view.selection["run"].unique().tolist() == ["r1", "r2"]
    assert view._heatmap.rows.index.tolist() == ["d", "c", "a", "b"]  # lost, gained, the same
    assert "0.500 r1 → 0.500 r2: 1 value gained, 1 lost" in shown(view, "page")
    assert "−1.00" in shown(view, "grid")
    assert "+1.00" in shown(view, "grid")
    view.perform("differences", True)
    assert view._heatmap.rows.index.tolist() == ["d", "c"]
    assert "0.500 r1 → 0.500 r2" in shown(view, "page")  # of all values
    view.columns = "run"  # a run's own mean is no difference
    assert view._heatmap.columns["score"].tolist() == [0.5, 0.5]
    view.compare, view.b = "gained", None
    assert view.compare == ""
    Twin(view.to_html()).check()


def test_versions_of_several_runs_are_paired_by_run() -> None:
    right = RUNS["field"] == "b"
    after = RUNS.assign(
        score=RUNS["score"].where(~right, 1.0), passed=RUNS["passed"].where(~right, True)
    )
    view = explorer({"before": RUNS, "after": after})
    assert (view.a, view.b) == ("before", "after")
    assert "3 values gained, 0 lost" in shown(view, "page")
    view.perform("differences", True)
    assert view.selection["run"].tolist() == ["r1", "r2", "r3"] * 2
    batch = type("Batch", (), {})
    frames = {}
    for name, fields in (("before", RUNS), ("after", after)):
        frames[name] = batch()
        frames[name].fields = fields
    assert ran(view.code, evs=frames, pd=pd)["run"].tolist() == view.selection["run"].tolist()


# --- arrays and other views --------------------------------------------------------------------

PEOPLE = {"type": "object", "properties": {"name": {"type": "string"}}}
SCHEMA = {
    "type": "object",
    "properties": {"title": {"type": "string"}, "people": {"type": "array", "items": PEOPLE}},
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
    assert "20 items" in shown(view)
    assert "person number" not in shown(view)
    assert "15 matched, 5 missed, 1 spurious" in Twin(view.to_html()).text
    view.perform("open", ["matches", int(view.selection.index[-1])])
    assert view.trail[0].path == "$.people"


def test_a_value_opens_its_output_and_the_way_back(outputs: Any) -> None:
    view = explorer(outputs)
    view.selected_cell = ("title", "d")
    at = int(view.selection.index[view.selection["run"] == "r2"][0])
    view.perform("open", ["evaluation", at])
    assert view.trail[0].selected_row == "$.title"
    there = json.loads(json.dumps(view.location))
    view.perform("back", 0)
    assert view.trail == ()
    again = explorer(outputs)
    again.location = there
    assert again.location == there
    assert "r2 · d" in again.trail[0].title
    again.location = {"selected_cell": ["people", "e"]}
    assert again.trail == ()
    assert again.selected_cell == ("people", "e")


def test_the_recorded_runs_of_the_sample_down_to_the_page() -> None:
    ds = xb.load_dataset()
    evs = xb.evaluate_runs(ds, progress=False)
    view = explorer(evs, dataset=ds)
    document = "eastmere_summer_regatta_2031"
    view.selected_cell = ("regatta", document)
    expected = evs.fields.query(f"field == 'regatta' and document == '{document}'")
    pd.testing.assert_frame_equal(view.selection, expected)
    pd.testing.assert_frame_equal(ran(view.code, evs=evs), expected)
    view.perform("open", ["evidence", int(expected.index[0])])
    assert (view.trail[0].kind, view.trail[0].selected_path) == ("evidence", "$.regatta")
    Twin(view.to_html()).check()


def test_what_cannot_be_opened_says_why() -> None:
    view = explorer()
    view.perform("open", ["evaluation", 0])
    assert view.trail == ()
    assert "Outputs open only where evaluations are explored" in shown(view)
    with pytest.raises(xb.InputError, match="location"):
        view.location = {"selected": 3}
