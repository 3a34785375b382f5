"""The view without a page: what can be assigned, what follows, the static twin, hostile texts."""

from __future__ import annotations

import asyncio
import itertools
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import ipywidgets
import pandas as pd
import pytest
import traitlets

import extractbench_nb as xb
from extractbench_nb.errors import InputError
from extractbench_nb.widgets.workbench_view import PAGE, Debounced, Workbench
from tests.widgets.hostile import HOSTILE, ONE_OF_EACH, Twin
from tests.widgets.workbench.test_bench import NAMES

MANY = [(f"case {n}", f"case {n}" if n % 2 else f"CASE {n + 7}!") for n in range(1000)]


@pytest.fixture
def view() -> Workbench:
    return Workbench("string_fuzzy", NAMES)


@pytest.fixture(scope="module")
def many() -> Workbench:
    return Workbench("string_fuzzy", MANY)


def sent(pane: Any, trait: str = "data") -> Any:
    return json.loads(getattr(pane, trait) or "null")


def rows(view: Workbench) -> list[int]:
    """The cases that the page is sent."""
    return [row[0] for row in sent(view._cases)["rows"]]


def boxes(view: Workbench) -> dict[str, Any]:
    """The controls by their labels."""
    return {getattr(b, "description", None) or b.label: b for b in view._controls.values()}


def event(pane: Any, **content: Any) -> None:
    pane._handle_custom_msg(content, [])


# --- params ------------------------------------------------------------------------------------


def test_params_are_assigned_and_the_page_follows(view: Workbench) -> None:
    view.params = {"threshold": 0.95}
    assert view.params == {"threshold": 0.95, "case_sensitive": False}
    assert boxes(view)["threshold"].value == 0.95
    assert view.results["flip"].dropna().to_dict() == {0: "lost"}
    assert "threshold=0.95" in sent(view._summary)["rules"]
    assert '"threshold": 0.95' in sent(view._config)["text"]
    assert sent(view._config)["note"] == ""
    curve = sent(view._curve)
    assert curve["texts"][curve["at"]] == "0.95"
    assert curve["texts"][curve["baseline"]] == "0.8"


def test_a_control_changes_the_params(view: Workbench) -> None:
    boxes(view)["threshold"].set_state({"value": 0.6})
    boxes(view)["case_sensitive"].value = True
    assert view.params == {"threshold": 0.6, "case_sensitive": True}
    assert view.config == {"metric_id": "string_fuzzy", "params": view.params}


@pytest.mark.parametrize(
    "params, words",
    [
        ({"threshold": 1.5}, "threshold is 1.5; expected a number from 0 to 1"),
        ({"treshold": 0.5}, "did you mean 'threshold'?"),
        (0.5, "params"),
    ],
)
def test_params_that_are_wrong(view: Workbench, params: Any, words: str) -> None:
    with pytest.raises(traitlets.TraitError) as caught:
        view.params = params
    assert words in str(caught.value)
    assert view.params["threshold"] == 0.8


def test_a_click_on_the_curve_sets_the_threshold(view: Workbench) -> None:
    event(view._curve, kind="set", over="threshold", value=0.61, asked="a/1")
    assert view.params["threshold"] == 0.61
    assert sent(view._curve)["answered"] == "a/1"
    event(view._curve, kind="set", over="threshold", value=0.61, asked="a/2")
    assert sent(view._curve)["answered"] == "a/2"


@pytest.mark.parametrize(
    "content",
    [
        {"value": 5, "over": "threshold"},
        {"value": -1, "over": "threshold"},
        {"value": "0.5", "over": "threshold"},
        {"value": 0.5, "over": "case_sensitive"},
        {"value": 0.5, "over": "nothing"},
        {"value": 0.5, "over": ["threshold"]},
        {},
    ],
)
def test_a_message_that_makes_no_sense_changes_nothing(
    view: Workbench, content: dict[str, Any]
) -> None:
    event(view._curve, kind="set", **content)
    assert view.params == {"threshold": 0.8, "case_sensitive": False}


def test_every_kind_of_param_has_its_control(metric: Callable[..., Any]) -> None:
    @metric("all")
    def every(
        gold: str,
        predicted: str,
        *,
        threshold: float = 0.5,
        weight: float = 2.0,
        n: int = 3,
        fold: bool = True,
        mode: str = "words",
        extra: tuple[int, ...] = (1,),
        nothing: Any = None,
    ) -> float:
        return float(gold[:n] == predicted[:n]) if weight > 1 else 0.0

    view = Workbench(every, NAMES)
    kinds = {name: type(box).__name__ for name, box in boxes(view).items()}
    assert kinds == {
        "threshold": "Slider",
        "weight": "Stops",
        "n": "BoundedIntText",
        "fold": "Checkbox",
        "mode": "Text",
    }
    assert sent(view._config)["note"] == "No control, set in Python: extra, nothing"
    boxes(view)["weight"].at = 0
    assert view.params["weight"] == 0.0
    boxes(view)["n"].value = 1
    view.params = {"weight": 3.25, "nothing": "x", "extra": (2, 3)}
    assert boxes(view)["weight"].texts[boxes(view)["weight"].at] == "3.25"
    assert view.config["params"]["nothing"] == "x"
    view.reset()
    assert view.params["n"] == 3
    assert "nothing" not in view.params


def test_the_params_of_a_margin() -> None:
    view = Workbench("number_tolerance", [(100, 100.4), (100, 102)])
    assert view.over == "tolerance"
    event(view._curve, kind="set", over="tolerance", value=0.005)
    boxes(view)["mode"].value = "absolute"
    assert view.params == {"tolerance": 0.005, "mode": "absolute", "parse": "plain"}
    view.over = "score"
    assert set(view.curve["param"]) == {"score"}
    with pytest.raises(traitlets.TraitError, match="over is 'nope'; expected one of score"):
        view.over = "nope"


def test_params_can_be_observed(view: Workbench) -> None:
    seen: list[float] = []
    view.observe(lambda change: seen.append(change["new"]["threshold"]), "params")
    view.params = {"threshold": 0.4}
    boxes(view)["threshold"].value = 0.3
    assert seen == [0.4, 0.3]


def test_the_buttons(view: Workbench) -> None:
    found = {b.description: b for b in _below(view) if isinstance(b, ipywidgets.Button)}
    view.params = {"threshold": 0.95}
    found["Use as baseline"].click()
    assert view.baseline == "string_fuzzy(threshold=0.95, case_sensitive=False)"
    found["Reset"].click()
    assert view.params["threshold"] == 0.8
    assert view.results["flip"].dropna().to_dict() == {0: "gained"}
    found["Score again"].click()
    assert view.results["flip"].dropna().to_dict() == {0: "gained"}


def _below(widget: Any) -> Iterator[Any]:
    for child in getattr(widget, "children", ()):
        yield child
        yield from _below(child)


def test_a_redefined_metric(metric: Callable[..., Any]) -> None:
    @metric("mine")
    def first(gold: str, predicted: str, *, threshold: float = 0.5, old: float = 1.0) -> float:
        return 0.0

    view = Workbench(first, NAMES)
    view.params = {"threshold": 0.25, "old": 2.0}
    view.over = "old"

    @metric("mine")
    def second(gold: str, predicted: str, *, threshold: float = 0.5, n: int = 2) -> float:
        return float(gold[:n] == predicted[:n])

    view.rescore()
    assert view.params == {"threshold": 0.25, "n": 2}
    assert list(boxes(view)) == ["threshold", "n"]
    assert view.over == "threshold"
    assert len(view.results["flip"].dropna()) == 3
    assert Workbench("mine", NAMES).results["flip"].isna().all()


# --- cases -------------------------------------------------------------------------------------


def test_filters_and_pages(many: Workbench) -> None:
    many.params = {"threshold": 0.1}
    many.shown, many.sort, many.text, many.page = "flips", "lowest", "case", 2
    places = many.selection.index.tolist()
    assert rows(many) == places[2 * PAGE : 3 * PAGE]
    assert sent(many._cases)["total"] == len(places) > 3 * PAGE
    many.text = "case 99"
    assert many.page == 0
    assert rows(many) == many.selection.index.tolist()
    many.shown, many.sort, many.text = "all", "given", ""
    event(many._cases, kind="turn", by=1)
    assert rows(many) == list(range(PAGE, 2 * PAGE))
    many.page = 10_000
    assert many.page == 1000 // PAGE - 1
    many.page = -3
    assert many.page == 0


@pytest.mark.parametrize(
    "name, value, words",
    [
        ("shown", "flip", "shown is 'flip'; did you mean 'flips'?"),
        ("sort", "low", "sort is 'low'; did you mean 'lowest'?"),
        ("selected_case", 5, "there is no case 5; there are 5, from 0"),
        ("selected_case", -1, "there is no case -1"),
    ],
)
def test_selections_that_are_not_there(view: Workbench, name: str, value: Any, words: str) -> None:
    with pytest.raises(traitlets.TraitError) as caught:
        setattr(view, name, value)
    assert words in str(caught.value)


def test_disagreements_need_labels() -> None:
    view = Workbench("string_fuzzy", MANY[:3])
    with pytest.raises(traitlets.TraitError, match="shown is 'disagreements'"):
        view.shown = "disagreements"


def test_a_case_is_chosen_on_the_page_and_in_python(many: Workbench) -> None:
    many.shown, many.sort, many.text = "all", "given", ""
    many._cases.set_state({"selected": 3})
    assert many.selected_case == 3
    assert sent(many._cases, "detail")["case"] == 3
    many.selected_case = 777
    assert many.page == 777 // PAGE
    assert 777 in rows(many)
    many.selected_case = None
    assert many._cases.detail == ""


def test_a_long_value_is_sent_whole_on_request() -> None:
    view = Workbench("string_exact", [("x" * 200_000, "x")])
    view.selected_case = 0
    assert len(view._cases.detail) < 5_000
    event(view._cases, kind="whole")
    assert 100_000 < len(view._cases.detail) < 102_000


@pytest.mark.parametrize(
    "cases, settings, words",
    [
        ([], {}, "There are no cases"),
        (NAMES, {"shown": "flips"}, "change a param to see flips"),
        (NAMES, {"text": "nowhere"}, "No case matches"),
    ],
)
def test_an_empty_page_says_what_is_missing(
    cases: Any, settings: dict[str, str], words: str
) -> None:
    view = Workbench("string_fuzzy", cases)
    for name, value in settings.items():
        setattr(view, name, value)
    assert rows(view) == []
    assert words in sent(view._cases)["empty"]
    assert words in Twin(view.to_html()).text


def test_the_cases_of_an_evaluation(evs: xb.batch.Evaluations) -> None:
    view = Workbench("number_tolerance", evs)
    kinds = {type(value) for value in view.results["gold"].dropna()}
    assert kinds <= {int, float}
    assert view.results.columns[:3].tolist() == ["run", "document", "path"]
    field = evs.fields["field"].iloc[0]
    assert len(Workbench("string_fuzzy", evs, field=field).results) == len(
        evs.fields[evs.fields["field"] == field].drop_duplicates(["run", "document", "path"])
    )
    with pytest.raises(InputError, match="there is no field 'nope'"):
        Workbench("string_fuzzy", evs, field="nope")


# --- when it is drawn --------------------------------------------------------------------------


def test_many_changes_are_drawn_once() -> None:
    async def held_key() -> list[int]:
        drawn: list[int] = []
        soon = Debounced(lambda: drawn.append(1))
        for _ in range(20):
            soon()
        await asyncio.sleep(0.2)
        soon()
        await asyncio.sleep(0.2)
        return drawn

    assert asyncio.run(held_key()) == [1, 1]


def test_frames_are_right_before_the_page_is_drawn(view: Workbench) -> None:
    async def in_a_kernel() -> tuple[list[str], str, str]:
        view.params = {"threshold": 0.95}
        before = view._summary.data
        found = view.results["flip"].dropna().tolist(), view.to_html(), before
        await asyncio.sleep(0.3)
        return found

    flips, html, before = asyncio.run(in_a_kernel())
    assert flips == ["lost"]
    assert "threshold=0.95" in html
    assert "threshold=0.8" in json.loads(before)["rules"]
    assert "threshold=0.95" in sent(view._summary)["rules"]


# --- the static twin ---------------------------------------------------------------------------


def test_the_twin_says_what_is_shown(view: Workbench) -> None:
    view.params = {"threshold": 0.95}
    view.shown, view.selected_case = "flips", 0
    twin = Twin(view.to_html())
    twin.check()
    for words in (
        "Metric workbench · string_fuzzy · 5 cases",
        "Metric: string_fuzzy(threshold=0.95, case_sensitive=False)",
        "Baseline: string_fuzzy(threshold=0.8, case_sensitive=False)",
        "1 of 5 · 20.0%",
        "0.95 ← now",
        "0.8 ← baseline",
        "Only flips, as given",
        "▼ lost",
        "Case 0",
        "incorrect · value_mismatch",
    ):
        assert words in twin.text
    assert "Lantern" not in twin.text


def test_the_twin_is_the_same_each_time(view: Workbench) -> None:
    again = Workbench("string_fuzzy", NAMES)
    assert view.to_html() == again.to_html()
    assert repr(view) == repr(again) == "Metric workbench · string_fuzzy · 5 cases"


def test_the_twin_of_a_thousand_cases_is_small(many: Workbench, tmp_path: Path) -> None:
    many.shown, many.text = "all", ""
    assert f"… {1000 - PAGE} more cases" in many.to_html()
    assert len(many.to_html()) < 60_000
    page = many.save(tmp_path / "page.html").read_text()
    assert page.startswith("<!DOCTYPE html>")
    assert "<script" not in page


def test_the_bundle_has_a_twin(view: Workbench) -> None:
    bundle = view._repr_mimebundle_()
    data = bundle[0] if isinstance(bundle, tuple) else bundle
    assert data["text/html"] == view.to_html()
    assert data["text/plain"] == repr(view)


# --- hostile texts -----------------------------------------------------------------------------


def _gold(text: str, _: Any) -> Any:
    return Workbench("string_exact", [(text, "b"), ("a", "b")])


def _predicted(text: str, _: Any) -> Any:
    return Workbench("string_exact", [("a", text)])


def _item(text: str, _: Any) -> Any:
    return Workbench("set_f1", [([text, "a"], {"a": text})])


def _column(text: str, _: Any) -> Any:
    names = pd.Index(["gold", "predicted", text, text], dtype=object)
    frame = pd.DataFrame([["a", "b", "c", "d"]], columns=names, dtype=object)
    return Workbench("string_exact", frame)


def _label(text: str, _: Any) -> Any:
    frame = pd.DataFrame({"why": [text], "gold": ["a"], "predicted": ["b"]}, dtype=object)
    return Workbench("string_exact", frame)


def _error(text: str, metric: Any) -> Any:
    def failing(gold: str, predicted: str, *, note: str = "") -> float:
        raise ValueError(text)

    return Workbench(metric("failing")(failing), [("a", "b")], baseline="string_exact")


def _reasoning(text: str, metric: Any) -> Any:
    def wordy(gold: str, predicted: str) -> xb.MetricScore:
        return xb.MetricScore(0.5, reason=text, reasoning=text)

    return Workbench(metric("wordy")(wordy), [("a", "b")])


def _name(text: str, metric: Any) -> Any:
    def named(gold: str, predicted: str, *, threshold: float = 0.5) -> float:
        return 0.5

    metric(text)(named)
    return Workbench(text, [("a", "b")])


def _several(text: str, metric: Any) -> Any:
    def named(gold: str, predicted: str, *, weight: float = 0.5) -> float:
        return weight

    metric(text)(named)
    return Workbench({"metrics": [text, "string_exact"]}, [("a", "b")])


def _param(text: str, metric: Any) -> Any:
    def noted(gold: str, predicted: str, *, note: str = "") -> float:
        return 0.5

    metric("noted")(noted)
    return Workbench({"metric_id": "noted", "params": {"note": text}}, [("a", "b")])


SLOTS = (_predicted, _item, _column, _label, _error, _reasoning, _name, _several, _param)


@pytest.mark.parametrize(
    "slot, kind",
    [*itertools.product([_gold], HOSTILE), *itertools.product(SLOTS, ONE_OF_EACH)],
)
def test_hostile_texts_stay_texts_and_messages_small(
    slot: Any, kind: str, metric: Callable[..., Any]
) -> None:
    view = slot(HOSTILE[kind], metric)
    view.selected_case = 0
    Twin(view.to_html()).check()
    panes = (view._summary, view._config, view._curve, view._cases)
    messages = [view._cases.detail, *(pane.data for pane in panes)]
    assert all(message.isascii() for message in messages)
    assert sum(map(len, messages)) < 60_000
    for box in (*view._controls.values(), view._over):
        state = {name: v for name, v in box.get_state().items() if name not in ("_esm", "_css")}
        assert len(json.dumps(state, default=str, ensure_ascii=False).encode()) < 10_000
    assert len(repr(view)) < 200
    assert "\n" not in repr(view)


@pytest.mark.parametrize("value", [float("nan"), float("inf"), 10**400, {"a": {"b": [None]}}, True])
def test_values_that_are_odd(value: Any) -> None:
    view = Workbench("string_exact", [(value, value), ("a", value)])
    view.selected_case = 1
    Twin(view.to_html()).check()
    assert view.results["passed"].tolist()[0]
