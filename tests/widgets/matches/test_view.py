"""The view of matches without a page: arrays by name, selection, thresholds, static twin."""

from __future__ import annotations

import itertools
import json
import pickle
import re
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import traitlets

import extractbench_nb as xb
from extractbench_nb.widgets.matches_view import MatchesView
from tests.waiting import PATIENCE
from tests.widgets.hostile import HOSTILE, ONE_OF_EACH, Twin

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
def ev() -> xb.evaluation.Evaluation:
    return xb.evaluate(SCHEMA, GOLD, PREDICTED)


@pytest.fixture
def view(ev: xb.evaluation.Evaluation) -> MatchesView:
    return MatchesView(ev, "people")


def clicked(pane: Any, **content: Any) -> None:
    """Send what the page sends."""
    pane._handle_custom_msg(content, [])


def shown(view: MatchesView) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(view._pairs.data)
    return found


# --- which array -------------------------------------------------------------------------------


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
    ev: xb.evaluation.Evaluation, path: str, found: str
) -> None:
    assert MatchesView(ev, path).path == found


@pytest.mark.parametrize(
    "path, told",
    [
        ("$.poeple", r"there is no array '\$.poeple'; did you mean '\$.people'"),
        (None, r"path is None, but there are \d arrays: '\$.people', '\$.people\[0\].tags'"),
        ("people[].tags", r"field 'people\[\].tags' has 2 arrays: .*; pass the path of one"),
        (3, r"path is 3; expected the path of an array, such as '\$.people'"),
        ("", "there is no array ''"),
        ("x" * 1_000_000, "there is no array 'x+…'"),
    ],
)
def test_another_name_is_refused_with_the_nearest(
    ev: xb.evaluation.Evaluation, path: Any, told: str
) -> None:
    with pytest.raises(xb.InputError, match=told) as raised:
        MatchesView(ev, path)
    assert len(str(raised.value)) < 2_000


def test_the_only_array_needs_no_name() -> None:
    one = {"type": "object", "properties": {"rows": {"type": "array", "items": TEXT}}}
    assert MatchesView(xb.evaluate(one, {"rows": ["a"]}, {})).path == "$.rows"
    with pytest.raises(xb.InputError, match="has no arrays"):
        MatchesView(xb.evaluate(one, {}, {}))


def test_an_array_at_the_root_is_shown() -> None:
    ev = xb.evaluate({"type": "array", "items": TEXT}, ["abc", "d"], ["abcd"])
    view = MatchesView(ev)
    assert view.path == "$"
    view.thresholds = {"[]": 0.9, "align_threshold": 0.0}
    assert view.matches["status"].tolist() == ["partial", "missed"]
    view.selected_pair = (0, 0)
    assert json.loads(view._detail.data)["rows"][0]["verdict"]["score"] == 0.75


@pytest.mark.parametrize("subject", [{}, None, pd.DataFrame()])
def test_anything_but_an_evaluation_is_refused(subject: Any) -> None:
    with pytest.raises(xb.InputError, match=r"expected one Evaluation"):
        MatchesView(subject)


def test_the_picker_and_the_trait_change_together(view: MatchesView) -> None:
    view.selected_pair = (0, 1)
    view.thresholds = {"align_threshold": 0.9}
    view._picker.value = "$.people[1].tags"
    assert view.path == "$.people[1].tags"
    assert (view.selected_pair, view.thresholds) == (None, {})
    view.path = "keywords"
    assert view._picker.value == "$.keywords"
    assert "$.keywords" in repr(view)
    with pytest.raises(traitlets.TraitError, match=r"did you mean '\$.keywords'"):
        view.path = "$.keyword"
    assert view.path == "$.keywords"


def test_many_arrays_are_offered_up_to_a_number() -> None:
    gold = {"people": [{"name": str(i), "tags": ["t"]} for i in range(400)]}
    view = MatchesView(xb.evaluate(SCHEMA, gold, gold), "people[399].tags")
    offered = [path for _, path in view._picker.options]
    assert len(offered) == 201
    assert {"$.people", "$.people[399].tags"} <= set(offered)


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
    assert view._pairs.selected == (None if found is None else list(found))


@pytest.mark.parametrize(
    "pair, told",
    [
        ((0, 0), r"no pair \(0, 0\); there is \(0, 1\) and \(1, 0\)"),
        (
            (99, None),
            r"no pair \(99, None\); there are 3 gold and 3 predicted items, counted from 0",
        ),
        ((None, None), "no pair"),
        ((2, 2), "no pair"),
        ((True, None), "expected"),
        ("ab", "expected"),
        (1, r"selected_pair is 1; expected \(gold index, predicted index\)"),
        ((1.0, 2), "expected"),
    ],
)
def test_what_is_no_pair_is_refused(view: MatchesView, pair: Any, told: str) -> None:
    view.selected_pair = (0, 1)
    with pytest.raises(traitlets.TraitError, match=told):
        view.selected_pair = pair
    assert view.selected_pair == (0, 1)


@pytest.mark.parametrize(
    "side, index, found",
    [("gold", 1, (1, 0)), ("predicted", 1, (0, 1)), ("predicted", 2, (None, 2))],
)
def test_a_click_arrives_as_a_pair(
    view: MatchesView, side: str, index: int, found: tuple[Any, Any]
) -> None:
    seen: list[Any] = []
    view.observe(lambda change: seen.append(change["new"]), "selected_pair")
    clicked(view._pairs, kind="select", side=side, index=index)
    assert seen == [found]


@pytest.mark.parametrize(
    "content",
    [
        {"kind": "select", "side": "gold", "index": 77},
        {"kind": "select", "side": "gold", "index": "1"},
        {"kind": "select"},
        {"kind": "page", "page": 5},
        {"kind": "page", "page": -1},
        {"kind": "page", "page": None},
        {"kind": "other"},
    ],
)
def test_messages_without_sense_do_nothing(view: MatchesView, content: dict[str, Any]) -> None:
    before = view.to_html()
    clicked(view._pairs, **content)
    clicked(view._detail, kind="whole", at="1")
    assert view.to_html() == before


def test_the_chosen_item_stays_chosen_at_other_thresholds(view: MatchesView) -> None:
    view.selected_pair = (1, 0)
    assert view.matches["status"].tolist()[1] == "partial"
    view.thresholds = {"align_threshold": 0.9}
    assert view.selected_pair == (1, None)
    assert "proposed predicted item 0" in view.to_html()
    view.thresholds = {}
    assert view.selected_pair == (1, 0)


def test_all_of_a_value_is_sent_when_it_is_asked_for() -> None:
    one = {"type": "object", "properties": {"rows": {"type": "array", "items": TEXT}}}
    text = "long " * 10_000
    view = MatchesView(xb.evaluate(one, {"rows": [text]}, {"rows": [text]}))
    view.selected_pair = (0, 0)
    assert len(view._detail.data) < 4_000
    clicked(view._detail, kind="whole", at=0)
    assert len(view._detail.data) > 100_000
    view.selected_pair = None
    view.selected_pair = (0, 0)
    assert len(view._detail.data) < 4_000


# --- thresholds --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "values, told",
    [
        (
            {"align_treshold": 0.5},
            "there is no threshold 'align_treshold'; did you mean 'align_threshold'",
        ),
        ({"align_threshold": 1.5}, "align_threshold is 1.5; expected a number from 0 to 1"),
        ({"align_threshold": True}, "align_threshold is True"),
        ({"align_threshold": "0.5"}, "align_threshold is '0.5'"),
        ({"align_threshold": float("nan")}, "align_threshold is nan"),
    ],
)
def test_other_thresholds_are_refused(view: MatchesView, values: Any, told: str) -> None:
    with pytest.raises(traitlets.TraitError, match=told):
        view.thresholds = values
    assert view.thresholds == {}


def test_the_slider_changes_counts_and_rows(view: MatchesView) -> None:
    before = view.summary
    view._slider.value = 0.9
    assert view.thresholds == {"align_threshold": 0.9}
    assert (before["partial"], view.summary["partial"]) == (1, 0)
    counts = json.loads(view._counts.data)
    assert [name for name, _, _ in counts["rows"]] == ["as evaluated", "now"]
    assert counts["rows"][1][2][counts["heads"].index("partial")]
    assert counts["told"].startswith("Changed: align_threshold 0.50 → 0.90.")
    assert [c["status"] for c in shown(view)["left"]] == ["matched", "missed", "missed"]
    view._reset.click()
    assert view.thresholds == {}
    assert view._slider.value == 0.5
    assert view.summary["partial"] == 1


def test_the_slider_shows_the_threshold_that_is_chosen(view: MatchesView) -> None:
    view.thresholds = {"people[].name": 0.95}
    view._knob.value = "people[].name"
    assert view._slider.value == 0.95
    view._knob.value = "pass_threshold"
    assert view._slider.value == 0.7
    assert view.thresholds == {"people[].name": 0.95}
    view._slider.value = 0.2
    assert view.thresholds == {"people[].name": 0.95, "pass_threshold": 0.2}


def test_declared_values_are_no_change(view: MatchesView) -> None:
    view.thresholds = {"align_threshold": 0.5, "people[].name": 0.9}
    assert view.thresholds == {"people[].name": 0.9}


def test_frames_and_the_evaluation_are_left_alone(
    ev: xb.evaluation.Evaluation, view: MatchesView
) -> None:
    matches, summary = view.matches, view.summary
    matches["status"], summary["matched"] = "spoilt", 99
    assert view.matches["status"].tolist() == ["matched", "partial", "missed", "spurious"]
    expected = ev.matches[ev.matches["path"] == "$.people"].reset_index(drop=True)
    pd.testing.assert_frame_equal(view.matches, expected)
    assert view.summary["matched"] == ev.arrays["matched"][0] == 1


def test_a_pickled_evaluation_is_shown_with_its_slider_off(ev: xb.evaluation.Evaluation) -> None:
    loaded = pickle.loads(pickle.dumps(ev))  # noqa: S301 - our own bytes
    view = MatchesView(loaded, "people")
    assert view._slider.disabled
    assert view._reset.disabled
    assert "without its records" in json.loads(view._counts.data)["told"]
    assert shown(view) == shown(MatchesView(ev, "people"))
    with pytest.raises(traitlets.TraitError, match="there are none to choose from"):
        view.thresholds = {"align_threshold": 0.4}
    view.path = "keywords"
    assert view._slider.disabled


# --- filters and pages -------------------------------------------------------------------------


def test_filters_leave_rows_and_a_filter_that_leaves_none_says_so(view: MatchesView) -> None:
    view._status.value = "partial"
    assert view.rows["status"].tolist() == ["partial"]
    view._text.value = "lovelace"
    assert view.rows.empty
    assert shown(view)["empty"] == "No item matches; clear the filters."
    assert "No item matches; clear the filters." in Twin(view.to_html()).text
    view._status.value = ""
    assert view.rows["gold_index"].tolist() == [0]


def test_the_status_filter_counts_and_stays_at_other_thresholds(view: MatchesView) -> None:
    view._status.value = "partial"
    view.thresholds = {"align_threshold": 0.9}
    assert view._status.value == "partial"
    assert view._status.options[0] == ("all (5)", "")
    assert view._status.options[2] == ("partial (0)", "partial")
    assert view.rows.empty


def test_python_turns_to_the_page_of_the_pair() -> None:
    one = {
        "type": "object",
        "properties": {"rows": {"type": "array", "items": {"type": "integer"}}},
    }
    values = {"rows": list(range(1000))}
    view = MatchesView(xb.evaluate(one, values, values))
    view.selected_pair = (500, None)
    page = shown(view)
    assert page["first"] <= 501 <= page["last"]
    clicked(view._pairs, kind="page", page=3)
    assert shown(view)["first"] == 76
    view._sort.value = "most alike first"
    assert shown(view)["first"] == 1
    assert len(view.rows) == 1000


# --- static twin -------------------------------------------------------------------------------


def test_the_bundle_has_a_live_and_a_static_part(view: MatchesView) -> None:
    data, _ = view._repr_mimebundle_()
    assert "application/vnd.jupyter.widget-view+json" in data
    assert (
        data["text/plain"]
        == repr(view)
        == (
            "Array matches · $.people · 3 gold, 3 predicted items · "
            "1 matched, 1 partial; 2 missed, 2 spurious"
        )
    )
    assert "Grace Hopper" in Twin(data["text/html"]).text


@pytest.mark.parametrize("mark", [0.0, 0.5, 1.0])
def test_the_title_counts_as_the_frame_of_arrays(view: MatchesView, mark: float) -> None:
    view.thresholds = {"align_threshold": mark}
    told = {status: int(n) for n, status in re.findall(r"(\d+) (\w+)", repr(view).split(" · ")[-1])}
    statuses = ["matched", "partial", "missed", "spurious"]
    assert told == {status: int(view.summary[status]) for status in statuses}


def test_the_twin_reads_without_style(view: MatchesView) -> None:
    view.selected_pair = (1, 0)
    view.thresholds = {"pass_threshold": 0.1}
    twin = Twin(view.to_html())
    twin.check()
    for told in (
        "pass_threshold 0.70 → 0.10",
        "≈ partial (tags)",
        "− missed",
        "+ spurious",
        "≠ tags: b · d",
        "Gold item 1 and predicted item 0: partial, similarity 0.7",
        "array_llm",
        "≠ incorrect (items_differ)",
    ):
        assert told in twin.text


def test_the_twin_is_the_same_every_time(ev: xb.evaluation.Evaluation, tmp_path: Path) -> None:
    one, two = MatchesView(ev, "people"), MatchesView(ev, "people")
    assert one.to_html() == two.to_html()
    kept = one.save(tmp_path / "matches.html")
    assert one.to_html() in kept.read_text(encoding="utf-8")


def test_an_empty_pair_of_arrays_says_so() -> None:
    one = {"type": "object", "properties": {"rows": {"type": "array", "items": TEXT}}}
    view = MatchesView(xb.evaluate(one, {"rows": []}, {"rows": []}))
    twin = Twin(view.to_html())
    twin.check()
    assert "Both arrays are empty: there is nothing to match." in twin.text
    assert json.loads(view._detail.data) == {"empty": ""}


def test_a_thousand_items_are_cut_in_the_twin() -> None:
    one = {
        "type": "object",
        "properties": {"rows": {"type": "array", "items": {"type": "integer"}}},
    }
    values = {"rows": list(range(1000))}
    html = MatchesView(xb.evaluate(one, values, values)).to_html()
    assert "… 975 more rows" in Twin(html).text
    assert len(html) < 40_000


# --- hostile content ---------------------------------------------------------------------------


def attacked(slot: str, text: str) -> tuple[xb.evaluation.Evaluation, str]:
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
    [*itertools.product(["value"], HOSTILE), *itertools.product(SLOTS, ONE_OF_EACH)],
)
def test_hostile_texts_stay_text(slot: str, kind: str) -> None:
    ev, path = attacked(slot, HOSTILE[kind])
    view = MatchesView(ev, path)
    view.thresholds = dict.fromkeys(view._board.knobs, 0.4)
    for pair in (row.pair for row in view._board.rows):
        view.selected_pair = pair
        twin = Twin(view.to_html())
        twin.check()
        sent = sum(len(p.data) for p in (view._counts, view._pairs, view._detail))
        assert sent < 60_000
        assert len(view.to_html()) < 60_000
        clicked(view._detail, kind="whole", at=0)
        assert len(view._detail.data) < 1_500_000
    labels = [label for label, _ in (*view._picker.options, *view._knob.options)]
    assert all(len(label) < 300 for label in labels)
    json.dumps(labels).encode()
    assert len(repr(view)) < 400


def test_a_judges_words_and_names_stay_text() -> None:
    bad = "<script>window.hacked = 1</script>\x07\u202e\ud800"

    class Judge:
        name = bad

        def compare(self, gold: str, predicted: str) -> Any:
            return xb.judges.Verdict(0.6, bad, bad * 1000)

    judged = {"type": "string", "evaluation_config": "string_llm"}
    one = {"type": "object", "properties": {"rows": {"type": "array", "items": judged}}}
    view = MatchesView(xb.evaluate(one, {"rows": ["a"]}, {"rows": ["b"]}, judge=Judge()))
    view.selected_pair = (0, None)
    twin = Twin(view.to_html())
    twin.check()
    assert "is not asked again" in twin.text
    assert len(view._detail.data) < 10_000
    assert not any(c in json.loads(view._counts.data)["told"] for c in "\x07\u202e\ud800")


def test_messages_that_come_in_several_threads_are_handled_one_after_the_other(
    view: MatchesView, monkeypatch: pytest.MonkeyPatch
) -> None:
    """JupyterLab may send those of two controls to the main thread and to a subshell."""
    together, drawing = list[int](), list[None]()
    page_model = view._page_model

    def slowly() -> dict[str, Any]:
        drawing.append(None)
        model = page_model()
        time.sleep(0.002)
        together.append(len(drawing))
        drawing.pop()
        return model

    def sends(control: Any, name: str, values: list[Any]) -> Callable[[], None]:
        def send() -> None:
            for value in values * 20:
                data = {"method": "update", "state": {name: value}, "buffer_paths": []}
                control.comm.handle_msg({"content": {"data": data}, "buffers": []})

        return send

    def assigns() -> None:
        for align in (1.0, 0.5) * 20:
            view.thresholds = {"align_threshold": align}

    monkeypatch.setattr(view, "_page_model", slowly)
    acts = [
        sends(view._text, "value", ["Ada", ""]),
        sends(view._sort, "index", [2, 0]),
        assigns,
    ]
    threads = [threading.Thread(target=act) for act in acts]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE)
    assert len(together) > 100
    assert set(together) == {1}
    assert json.loads(view._pairs.data) == json.loads(json.dumps(page_model()))
