"""The view of matches without a page: arrays by name, selection, thresholds, static twin."""

from __future__ import annotations

import copy
from typing import Any

import pandas as pd
import pytest
import traitlets

import extractbench_nb as xb
from extractbench_nb.views.matches_view import MatchesView
from tests.widgets.hostile import HOSTILE, Twin

TEXT = {"type": "string", "evaluation_config": "string_fuzzy"}
PERSON = {
    "type": "object",
    "properties": {"name": TEXT, "tags": {"type": "array", "items": TEXT}},
}
SCHEMA = {
    "type": "object",
    "properties": {
        "people": {"type": "array", "items": PERSON},
        "keywords": {"type": "array", "items": TEXT},
        "odd name": {"type": "array", "items": TEXT},
    },
}
GOLD = {
    "people": [
        {"name": "Ada Lovelace", "tags": ["a"]},
        {"name": "Grace Hopper", "tags": ["b", "c"]},
        {"name": "Nobody at all", "tags": []},
    ],
    "keywords": ["x"],
    "odd name": [],
}
PREDICTED = {
    "people": [
        {"name": "Grace Hoper", "tags": ["b", "d"]},
        {"name": "Ada Lovelace", "tags": ["a"]},
        {"name": "QQQ", "tags": ["zz"]},
    ],
    "keywords": [],
    "odd name": ["y"],
}


@pytest.fixture(scope="module")
def ev() -> xb.core.Evaluation:
    return xb.evaluate(SCHEMA, GOLD, PREDICTED)


@pytest.fixture
def view(ev: xb.core.Evaluation) -> MatchesView:
    return MatchesView(ev, "people")


def text(view: MatchesView) -> str:
    """What a reader of the static twin sees."""
    twin = Twin(view.to_html())
    twin.check()
    return twin.text


def sent(view: MatchesView) -> int:
    """How many characters the page was sent."""
    return sum(len(getattr(view, f"_p{at}")) for at in range(4))


def numbers(count: int, change: Any = None) -> xb.core.Evaluation:
    one = {
        "type": "object",
        "properties": {"rows": {"type": "array", "items": {"type": "integer"}}},
    }
    values = list(range(count))
    return xb.evaluate(one, {"rows": values}, {"rows": change(values) if change else values})


# --- which array -------------------------------------------------------------------------------


@pytest.mark.parametrize("subject", [{}, None, pd.DataFrame()])
def test_anything_but_an_evaluation_is_refused(subject: Any) -> None:
    with pytest.raises(xb.InputError, match=r"expected one Evaluation"):
        MatchesView(subject)


def test_another_array_starts_afresh(view: MatchesView) -> None:
    view.selected_pair = (0, 1)
    view.thresholds = {"align_threshold": 0.9}
    view.perform("set:path", "$.people[1].tags")
    assert view.path == "$.people[1].tags"
    assert (view.selected_pair, view.thresholds) == (None, {})
    view.path = "keywords"
    assert view.path == "$.keywords"
    assert "$.keywords" in repr(view)
    with pytest.raises(traitlets.TraitError, match=r"did you mean '\$.keywords'"):
        view.path = "$.keyword"
    assert view.path == "$.keywords"


# --- what is chosen ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "pair, found",
    [
        ((0, 1), (0, 1)),
        ([0, 1], (0, 1)),
        ((0, None), (0, 1)),
        ((None, 1), (0, 1)),
        ((2, None), (2, None)),
        ((None, 2), (None, 2)),
        (None, None),
    ],
)
def test_a_pair_is_chosen_by_both_indices_or_one(view: MatchesView, pair: Any, found: Any) -> None:
    view.selected_pair = pair
    assert view.selected_pair == found
    said = text(view)
    assert ("array_llm" in said or "not scored" in said) == (found is not None)
    assert ("predicted missing" in said) == (found == (2, None))
    assert ("gold missing" in said) == (found == (None, 2))


@pytest.mark.parametrize("pair", [(0, 0), (99, None), (None, None), "ab", 1, (1.5, 2)])
def test_what_is_no_pair_is_refused(view: MatchesView, pair: Any) -> None:
    view.selected_pair = (0, 1)
    with pytest.raises(traitlets.TraitError, match=r"no pair .* expected \(gold index"):
        view.selected_pair = pair
    assert view.selected_pair == (0, 1)


@pytest.mark.parametrize(
    "event, value",
    [
        *(("pair", value) for value in ([77, None], ["1", None], 1, None)),
        *(("set:page", -1), ("set:status", "odd"), ("set:sort", ""), ("set:path", "$.no")),
        *(("align", 2), ("align", "0.5"), ("pass", True), ("page", 0), ("other", None)),
        ("set:thresholds", {"align_threshold": 0.1}),
    ],
)
def test_events_without_sense_do_nothing(view: MatchesView, event: str, value: Any) -> None:
    before = view.to_html()
    view.perform(event, value)
    assert view.to_html() == before


def test_the_chosen_item_stays_chosen_at_other_thresholds(view: MatchesView) -> None:
    view.selected_pair = (1, 0)
    assert view.matches["status"].tolist()[1] == "differing"
    view.thresholds = {"align_threshold": 0.9}
    assert view.selected_pair == (1, None)
    view.thresholds = {}
    assert view.selected_pair == (1, 0)


def test_a_chosen_pair_is_shown_also_where_filters_would_hide_it(view: MatchesView) -> None:
    view.status, view.text = "spurious", "qqq"
    view.selected_pair = (0, None)
    assert (view.status, view.text, view.selected_pair) == ("", "", (0, 1))
    view.status = "missed"
    assert view.selected_pair is None


def test_a_pair_opens_from_the_view_of_the_evaluation(ev: xb.core.Evaluation) -> None:
    view = xb.show(ev)
    view.perform("matches", "$.people[1].tags")
    (opened,) = view.trail
    assert isinstance(opened, MatchesView)
    assert opened.path == "$.people[1].tags"
    view.perform("pair", [0, 0])
    assert opened.selected_pair == (0, 0)
    assert "Array matches · $.people[1].tags" in text(view)
    view.perform("back")
    assert view.trail == ()


def test_a_value_of_a_pair_opens_on_its_page(monkeypatch: pytest.MonkeyPatch) -> None:
    dataset = xb.load_dataset()
    document = "eastmere_summer_regatta_2031"
    gold = dataset.gold(document)
    predicted = copy.deepcopy(gold)
    del predicted["races"][0]["entries"][0]
    ev = xb.evaluate(dataset.schema("rowing"), gold, predicted)
    view = MatchesView(ev, "$.races[0].entries", pdf=dataset.pdf_path(document))
    opened: list[Any] = []
    monkeypatch.setattr(view, "open_view", lambda page, _: opened.append(page))
    view.perform("page", 0)
    for pair in ((1, 0), (0, None)):
        view.selected_pair = pair
        view.perform("page", 1)
    view.perform("page", 99)
    assert [(page.side, page.selected_path) for page in opened] == [
        ("gold", "$.races[0].entries[1].finish"),
        ("gold", "$.races[0].entries[0].finish"),
    ]


# --- thresholds --------------------------------------------------------------------------------


@pytest.mark.parametrize("name, value", [("align_treshold", 0.5), ("align_threshold", 1.5)])
def test_other_thresholds_are_refused(view: MatchesView, name: str, value: Any) -> None:
    with pytest.raises(traitlets.TraitError, match=f"has '{name}': {value}; expected a number"):
        view.thresholds = {name: value}
    assert view.thresholds == {}


def test_the_slider_changes_counts_and_rows(view: MatchesView) -> None:
    before = view.summary
    view.perform("align", 0.9)
    assert view.thresholds == {"align_threshold": 0.9}
    assert (before["differing"], view.summary["differing"]) == (1, 0)
    assert "Now: 1 matched, 0 differing, 2 missed, 2 spurious, precision 0.333" in text(view)
    assert view.rows["status"].tolist() == ["missed", "missed", "spurious", "spurious", "matched"]
    view.perform("declared")
    assert view.thresholds == {}
    assert view.summary["differing"] == 1


def test_frames_and_the_evaluation_are_left_alone(
    ev: xb.core.Evaluation, view: MatchesView
) -> None:
    matches, summary = view.matches, view.summary
    matches["status"], summary["matched"] = "spoilt", 99
    assert view.matches["status"].tolist() == ["matched", "differing", "missed", "spurious"]
    expected = ev.matches[ev.matches["path"] == "$.people"].reset_index(drop=True)
    pd.testing.assert_frame_equal(view.matches, expected)
    assert view.summary["matched"] == ev.arrays["matched"][0] == 1


# --- rows, filters and pages -------------------------------------------------------------------


def test_filters_leave_rows_and_a_filter_that_leaves_none_says_so(view: MatchesView) -> None:
    view.status = "differing"
    assert view.rows["status"].tolist() == ["differing"]
    view.text = "lovelace"
    assert view.rows.empty
    assert "No item matches; clear the filters." in text(view)
    view.status = ""
    assert view.rows["gold_index"].tolist() == [0]
    assert '<mark class="xb-found">Lovelace</mark>' in view.to_html()


def test_sums_of_failing_fields_filter_and_matched_pairs_are_folded() -> None:
    items = {"type": "object", "properties": {name: {"type": "string"} for name in "abcd"}}
    items["properties"]["n"] = {"type": "integer"}
    schema = {"type": "object", "properties": {"rows": {"type": "array", "items": items}}}
    gold = [
        {"a": f"hotel {at}", **dict.fromkeys("bcd", f"stay {at} of 12"), "n": None if at % 4 else 1}
        for at in range(12)
    ]
    other = [row | {"n": row["n"] or 0} for row in gold]
    other[1]["a"] = "hotel 1 in town"
    view = MatchesView(xb.evaluate(schema, {"rows": gold}, {"rows": other}))
    assert "3 of 12 gold items matched, 9 differing." in text(view)
    assert "Because 8 of 12 items fail only in n (gold null, predicted 0)" in text(view)
    assert view._board.sums == {"n": 9, "a": 1}
    assert [row.status for row in view._in_list] == ["differing"] * 9
    view.perform("unfold")
    assert [row.status for row in view._in_list][9:] == ["matched"] * 3
    view.perform("toggle:field", "a")
    assert view.field == "a"
    assert view.rows["gold_index"].tolist() == [1]
    view.perform("toggle:status", "differing")
    assert (view.status, len(view.rows)) == ("differing", 1)
    view.perform("clear")
    assert (view.status, view.field, len(view.rows)) == ("", "", 12)
    with pytest.raises(traitlets.TraitError, match="field is 'b'"):
        view.field = "b"


def test_python_turns_to_the_page_of_the_pair() -> None:
    view = MatchesView(numbers(1000))
    view.sort = "pairs"
    view.selected_pair = (500, None)
    assert view.page == 20
    view.perform("set:page", 3)
    assert "500 → 500" not in text(view)
    view.selected_pair = None
    view.sort = "similarity"
    assert view.page == 0
    view.page = 10**9
    assert view.page == 39
    assert len(view.rows) == 1000


@pytest.mark.parametrize("sort", ["pairs", "similarity", "failing"])
@pytest.mark.parametrize("status, sought", [("", ""), ("missed", ""), ("", "A")])
@pytest.mark.parametrize("thresholds", [{}, {"align_threshold": 0.9}])
def test_the_code_is_what_the_rows_are(
    ev: xb.core.Evaluation,
    view: MatchesView,
    sort: str,
    status: str,
    sought: str,
    thresholds: Any,
) -> None:
    view.thresholds, view.sort, view.status, view.text = thresholds, sort, status, sought
    assert "\n" not in view.code
    found = eval(view.code, {"ev": ev, "view": view})  # noqa: S307 - the code is what is tested
    pd.testing.assert_frame_equal(found.reset_index(drop=True), view.rows)


# --- static twin -------------------------------------------------------------------------------


def test_a_thousand_items_are_cut_in_the_twin() -> None:
    html = MatchesView(numbers(1000)).to_html()
    assert "… 975 more rows" in Twin(html).text
    assert len(html) < 40_000


# --- hostile content ---------------------------------------------------------------------------


def attacked(slot: str, text: str) -> tuple[xb.core.Evaluation, str]:
    """An evaluation with a text in one slot, and the path of its array."""
    key = text if slot in ("key", "field") else "n"
    exact = {"type": "string", "evaluation_config": "string_exact"}
    item: dict[str, Any] = {"type": "object", "properties": {key: exact, "m": exact}}
    rows: dict[str, Any] = {"type": "array", "items": item}
    value = text if slot == "value" else "abc"
    gold: Any = [{key: value, "m": "same"}, {key: "only in gold" + value, "m": "x"}]
    predicted: Any = [{key: value + "!", "m": "same"}]
    if slot == "scalar":
        rows, gold, predicted = {"type": "array", "items": exact}, [text], [text + "!", text]
    if slot == "undeclared":
        predicted[0][text] = {text: [text]}
    if slot == "map":
        rows = {
            "anyOf": [
                {"type": "object", "additionalProperties": {"type": "array", "items": item}},
                {"type": "null"},
            ],
            "evaluation_config": "array_llm",
        }
        gold, predicted = {text: gold}, {text: predicted}
    name = text if slot == "field" else "rows"
    schema = {"type": "object", "properties": {name: rows}}
    ev = xb.evaluate(schema, {name: gold}, {name: predicted})
    return ev, str(ev.arrays["path"][0])


SLOTS = ("key", "field", "scalar", "undeclared", "map")


@pytest.mark.parametrize(
    "slot, kind",
    [*(("value", kind) for kind in HOSTILE), *((slot, "script") for slot in SLOTS)],
)
def test_hostile_texts_stay_text(slot: str, kind: str) -> None:
    ev, path = attacked(slot, HOSTILE[kind])
    view = MatchesView(ev, path)
    for pair in (row.pair for row in view._board.rows):
        view.selected_pair = pair
        twin = Twin(view.to_html())
        twin.check()
        assert sent(view) < 100_000
        assert len(view.to_html()) < 60_000
        view.perform("whole", 0)
        assert sent(view) < 1_600_000
    assert len(repr(view)) < 400


@pytest.mark.parametrize(
    "path, found",
    [
        ("$.people", "$.people"),
        ("people", "$.people"),
        ("people[]", "$.people"),
        ("$.people[]", "$.people"),
        ("$.people[1].tags", "$.people[1].tags"),
        ("people[1].tags", "$.people[1].tags"),
        ("$['odd name']", "$['odd name']"),
        ("['odd name']", "$['odd name']"),
    ],
)
def test_an_array_is_named_by_path_or_by_field(
    ev: xb.core.Evaluation, path: str, found: str
) -> None:
    assert MatchesView(ev, path).path == found
