"""The view without a page: what can be assigned, what follows, the static twin, hostile texts."""

from __future__ import annotations

import re
from typing import Any

import pandas as pd
import pytest
import traitlets

import extractbench_nb as xb
from extractbench_nb.views.evaluation_view import EvaluationView
from tests.widgets.evaluation.test_model import EXACT, GOLD, PREDICTED, SCHEMA, Judge, an_object
from tests.widgets.hostile import HOSTILE, Twin


@pytest.fixture(scope="module")
def ev() -> xb.core.Evaluation:
    return xb.evaluate(SCHEMA, GOLD, PREDICTED, judge=Judge())


@pytest.fixture
def view(ev: xb.core.Evaluation) -> EvaluationView:
    view = EvaluationView(ev)
    view.sort = "document"
    return view


@pytest.fixture(scope="module")
def long() -> xb.core.Evaluation:
    """An evaluation of 1,000 rows, two of which fail."""
    names = [f"k{i}" for i in range(1000)]
    gold = dict.fromkeys(names, "x")
    schema = an_object(**dict.fromkeys(names, EXACT))
    return xb.evaluate(schema, gold, {**gold, "k700": "y", "k900": "y"})


def listed(view: EvaluationView) -> list[str]:
    """The paths of the rows that the page shows."""
    rows = [row for row in view._shown["_p3"].children if getattr(row, "tag", "") == "div"]
    written = re.findall(r'<code class="xb-path">(.*?)</code>', "".join(map(_html, rows)))
    return [re.sub("<.*?>", "", path) for path in written]


def _html(node: Any) -> str:
    """Write a tree with what only a live page has."""
    if isinstance(node, str):
        return node
    inside = "".join(map(_html, node.children))
    return f'<{node.tag} class="{node.attributes.get("class", "")}">{inside}</{node.tag}>'


def text_of(view: EvaluationView) -> str:
    return Twin(view.to_html()).text


# --- nodes and filters -------------------------------------------------------------------------


def test_a_click_in_the_tree_arrives_and_a_second_one_shows_all(view: EvaluationView) -> None:
    at = next(at for at, node in enumerate(view._tree.nodes) if node.field == "g")
    view.perform("node", at)
    assert view.selected_path == "$.properties.g"
    assert view.rows["path"].tolist() == ["$.g"]
    view.perform("node", at)
    assert view.selected_path == ""
    assert len(view.rows) == 14


PAIRED = ["$.lines[0].item", "$.lines[0].n", "$.lines[1].item", "$.lines[1].n"]
SPURIOUS = ["$.lines[+2].item", "$.lines[+2].n"]


@pytest.mark.parametrize(
    "trait, value, paths",
    [
        ("outcome", "hallucination", ["$.c", *SPURIOUS]),
        ("reason", "not_alike", ["$.f"]),
        ("metric", "array_llm", ["$.lines"]),
        ("text", "northWIND", ["$.g"]),
        ("only_counted", True, [*[f"$.{name}" for name in "abcdefg"], *PAIRED, *SPURIOUS]),
        (
            "only_failed",
            True,
            [*[f"$.{name}" for name in (*"bcef", "lines")], "$.lines[0].n", *SPURIOUS],
        ),
    ],
)
def test_a_filter_of_the_page_leaves_rows_and_is_cleared(
    view: EvaluationView, trait: str, value: Any, paths: list[str]
) -> None:
    view.perform(f"set:{trait}", value)
    assert getattr(view, trait) == value
    assert view.rows["path"].tolist() == paths
    there = [p for p in paths if not ("$.lines" in paths and p.startswith("$.lines["))]
    assert sorted(listed(view)) == sorted(there)  # those in an array are under its row
    view.perform("clear")
    assert getattr(view, trait) == getattr(EvaluationView, trait).default_value
    assert len(view.rows) == 14


def test_failures_come_first(ev: xb.core.Evaluation) -> None:
    view = EvaluationView(ev)
    passed = view.rows["passed"]
    assert view.sort == "failures"
    assert passed.isna().iloc[0]  # what has no verdict is looked at first
    assert passed.iloc[1:].is_monotonic_increasing
    assert view.rows["path"].iloc[1:6].tolist() == [
        "$.b",
        "$.c",
        "$.f",
        "$.lines[0].n",
        SPURIOUS[0],
    ]


def _nodes(node: Any) -> list[Any]:
    if isinstance(node, str):
        return []
    return [node, *(found for child in node.children for found in _nodes(child))]


def test_the_code_is_what_the_rows_are(view: EvaluationView, ev: xb.core.Evaluation) -> None:
    view.only_failed, view.selected_path = True, "lines"
    found = eval(view.code, {"ev": ev})  # noqa: S307 - the code is what is tested
    pd.testing.assert_frame_equal(found, view.rows)
    copied = [node.attributes.get("copy") for node in _nodes(view._shown["_p3"])]
    assert view.code in copied


def test_hits_are_marked_in_paths_and_values(view: EvaluationView) -> None:
    view.text = "NORTH"
    assert view.to_html().count('<mark class="xb-found">North</mark>') == 2
    view.text = "lines[1"
    assert '<mark class="xb-found">lines[1</mark>' in view.to_html()


# --- the chosen row ----------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["$.g", "g"])
def test_a_field_is_chosen_by_path_or_name(view: EvaluationView, name: str) -> None:
    view.selected_row = name
    assert view.selected_row == "$.g"
    assert "string_fuzzy (threshold=0.7" in text_of(view)
    view.selected_row = ""
    assert "string_fuzzy (threshold=0.7" not in text_of(view)


def test_a_click_on_a_row_opens_it_beside_and_a_second_one_closes_it(view: EvaluationView) -> None:
    seen: list[str] = []
    view.observe(lambda change: seen.append(change["new"]), "selected_row")
    view.perform("row", 1)
    assert "string_exact" in view._p4
    view.perform("row", 1)
    view.perform("row", 2)
    view.perform("row", None)
    assert seen == ["$.b", "", "$.c", ""]


@pytest.mark.parametrize("sent", [99, -7, "1", True, 1.0])
def test_a_row_that_does_not_exist_is_not_chosen(view: EvaluationView, sent: Any) -> None:
    view.selected_row = "$.a"
    for event in ("row", "node", "matches", "page"):
        view.perform(event, sent)
    assert (view.selected_row, view.selected_path, view.trail) == ("$.a", "", ())


def test_the_second_metric_of_a_path_can_be_chosen() -> None:
    two = {"metrics": [{"metric_id": "string_fuzzy"}, {"metric_id": "string_exact"}]}
    schema = an_object(a=EXACT | {"evaluation_config": two})
    view = EvaluationView(xb.evaluate(schema, {"a": "x"}, {"a": "y"}))
    view.perform("row", 1)
    assert view.selected_row == "$.a"
    assert "ev.fields.loc[[1]]" in text_of(view)
    view.perform("row", 0)
    assert "ev.fields.loc[[0]]" in text_of(view)


def test_a_row_that_the_filters_take_away_is_left(view: EvaluationView) -> None:
    view.selected_row = "$.b"
    view.only_failed = True
    assert view.selected_row == "$.b"
    view.outcome = "hallucination"
    assert view.selected_row == ""


def test_choosing_a_hidden_row_clears_what_hides_it(view: EvaluationView) -> None:
    view.selected_path, view.outcome = "lines", "incorrect"
    view.selected_row = "$.a"
    assert (view.selected_path, view.outcome) == ("", "")
    assert "$.a" in listed(view)
    assert view.selected_row == "$.a"


def test_the_page_turns_to_the_chosen_row(long: xb.core.Evaluation) -> None:
    view = EvaluationView(long)
    view.sort = "document"
    view.selected_row = "k700"
    assert view.page == 17
    assert "$.k700" in listed(view)
    view.sort = "failures"
    assert view.page == 0
    assert listed(view)[:2] == ["$.k700", "$.k900"]
    view.selected_row = ""
    view.perform("set:page", 24)
    assert listed(view)[-1] == "$.k999"
    view.perform("set:page", 99)
    assert view.page == 24
    view.only_failed = True
    assert (view.page, len(listed(view))) == (0, 2)


def test_more_of_a_value_is_shown_when_asked_for() -> None:
    text = "word " * 1000
    view = EvaluationView(xb.evaluate(an_object(a=EXACT), {"a": text}, {"a": text}))
    view.selected_row = "$.a"
    assert "… 3,000 more characters" in text_of(view)
    view.perform("whole")
    assert "more characters" not in text_of(view)
    view.only_failed = True
    view.perform("whole")  # a click that came late
    assert view.selected_row == ""


# --- what is refused ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    "trait, value, said",
    [
        ("selected_path", "line", r"no node 'line'; did you mean 'lines"),
        ("selected_row", "$.lines[0].m", r"no field .* did you mean '\$\.lines\[0\]\.n'"),
        ("outcome", "omision", r"outcome is 'omision'; did you mean 'omission'"),
        ("reason", "items_differs", r"reason is 'items_differs'; did you mean 'items_differ'"),
        ("metric", "array_lm", r"metric is 'array_lm'; did you mean 'array_llm'"),
        ("sort", "worst", r"sort is 'worst'"),
    ],
)
def test_what_does_not_exist_is_refused(
    view: EvaluationView, trait: str, value: str, said: str
) -> None:
    before = getattr(view, trait)
    with pytest.raises(traitlets.TraitError, match=said):
        setattr(view, trait, value)
    view.perform(f"set:{trait}", value)  # from the page: ignored
    assert getattr(view, trait) == before
    assert len(view.rows) == 14


# --- titles ------------------------------------------------------------------------------------


def test_the_title_names_run_and_document_where_they_are_known(
    ev: xb.core.Evaluation,
) -> None:
    assert EvaluationView(ev, name="evs[2]").title == "evs[2]"
    named = EvaluationView(ev.labelled(run="quill", document="invoice 7"))
    assert named.title == "run quill, document invoice 7"
    assert "Evaluation of run quill, document invoice 7 · 6 of 13 counted fields" in text_of(named)
    assert EvaluationView(ev, title="Quill on invoices").title == "Quill on invoices"
    assert "run" not in ev.meta


# --- the static twin ---------------------------------------------------------------------------


def test_the_twin_reads_without_style(view: EvaluationView) -> None:
    twin = Twin(view.to_html())
    twin.check()
    for words in (
        *("6 of 13 counted fields pass", "overall score 0.4", "✓ correct 5", "profile strict"),
        *("1 field without a verdict", "1 warning, such as"),
        "Rows 1 to 8 of 8; 6 more in arrays: xb.show_matches(ev, path)",
        *("− omission predicted missing", "$.lines array_llm, not counted", "n/a"),
    ):
        assert words in twin.text


def test_the_twin_is_of_what_is_shown(view: EvaluationView) -> None:
    view.outcome, view.selected_row = "hallucination", "$.c"
    text = text_of(view)
    assert "Rows 1 to 3 of 3: outcome hallucination" in text
    assert "ev.fields.loc[[2]]" in text
    view.clear()
    view.text = "nowhere"
    assert "No field matches; clear the filters." in text_of(view)


def test_the_twin_of_a_long_list_has_the_failures_and_counts_the_rest(
    long: xb.core.Evaluation,
) -> None:
    html = EvaluationView(long, name="best").to_html()
    text = Twin(html).text
    assert "$.k700" in text
    assert "$.k900" in text
    assert "… 960 more rows; best.fields has them" in text
    assert "… 701 more nodes" in text
    assert len(html) < 180_000  # colours are in the elements, for pages without style sheets


@pytest.mark.parametrize("attack", HOSTILE)
def test_hostile_texts_stay_texts(attack: str) -> None:
    text = HOSTILE[attack]

    class Attacker:
        name = text

        def compare(self, gold: str, predicted: str) -> Any:
            return xb.judges.Verdict(0.1, "other", text)

    judged = {"type": "string", "description": text, "evaluation_config": "string_semantic"}
    schema = an_object(**{text: judged, "map": an_object() | {"additionalProperties": EXACT}})
    gold = {text: text, "map": {text: text}, text + "!": 1}
    ev = xb.evaluate(schema, gold, {text: "y", "map": {text + "z": text}}, judge=Attacker())
    view = EvaluationView(ev)
    for label in ev.fields.index:
        view.perform("row", int(label))
        twin = Twin(view.to_html())
        twin.check()
        assert len(view.to_html()) < 120_000
        sent = [getattr(view, name) for name in view._shown]
        assert all(part.isascii() for part in sent)
        assert sum(map(len, sent)) < 150_000


# --- what the row of an array leads to ------------------------------------------------------------


def test_matches_know_the_variable_and_the_pdf() -> None:
    gold, predicted = {"a": ["x", "y"]}, {"a": ["x", "z"]}
    schema = an_object(a={"type": "array", "items": EXACT})
    view = EvaluationView(xb.evaluate(schema, gold, predicted), name="mine", pdf="report.pdf")
    view.perform("matches", "$.a")
    (matches,) = view.trail
    assert "mine" in matches.code
    assert matches._pdf == "report.pdf"
