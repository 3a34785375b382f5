"""The view without a page: what can be assigned, what follows, the static twin, hostile texts."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import traitlets

import extractbench_nb as xb
from extractbench_nb.errors import InputError
from extractbench_nb.support.nodes import Node
from extractbench_nb.views.workbench_view import PAGE, Workbench
from tests.widgets.hostile import HOSTILE, ONE_OF_EACH, Twin
from tests.widgets.workbench.test_bench import NAMES

MANY = [(f"case {n}", f"case {n}" if n % 2 else f"CASE {n + 7}!") for n in range(1000)]


@pytest.fixture
def view() -> Workbench:
    return Workbench("string_fuzzy", NAMES)


@pytest.fixture(scope="module")
def many() -> Workbench:
    return Workbench("string_fuzzy", MANY)


def below(node: Node) -> Iterator[Node]:
    """An element and all below it."""
    yield node
    for child in node.children:
        if isinstance(child, Node):
            yield from below(child)


def every(view: Workbench, part: str, **attributes: Any) -> list[Node]:
    """All elements of a part of the page that have some attributes."""
    return [
        n
        for n in below(view.trees()[part])
        if all(n.attributes.get(k) == v for k, v in attributes.items())
    ]


def rows(view: Workbench) -> list[int]:
    """The cases that the page shows."""
    return [node.attributes["send"] for node in every(view, "cases", do="case")]


def controls(view: Workbench) -> dict[str, Node]:
    """The controls of params, by their labels."""
    found = {}
    for label in below(view.trees()["params"]):
        for child in label.children if label.tag == "label" else ():
            if isinstance(child, Node) and "do" in child.attributes:
                found["".join(c for c in label.children if isinstance(c, str)).strip()] = child
    return found


def change(view: Workbench, name: str, value: Any) -> None:
    """Change a param as the page does."""
    view.perform(controls(view)[name].attributes["do"], value)


def words(view: Workbench) -> str:
    return Twin(view.to_html()).text


# --- params ------------------------------------------------------------------------------------


def test_params_are_assigned_or_moved_and_the_page_follows(view: Workbench) -> None:
    view.params = {"threshold": 0.95}
    assert view.params == {"threshold": 0.95, "case_sensitive": False}
    assert controls(view)["threshold"].attributes["value"] == 0.95
    assert view.results["flip"].dropna().to_dict() == {0: "lost"}
    assert "string_fuzzy(threshold=0.95" in words(view)
    change(view, "threshold", 0.6)
    change(view, "case_sensitive", True)
    assert view.config == {"metric_id": "string_fuzzy", "params": view.params}
    view.perform("spot", [0.612, 0.3])  # on the curve
    assert view.params == {"threshold": 0.61, "case_sensitive": True}
    view.perform("reset")
    assert view.params["threshold"] == 0.8
    with pytest.raises(traitlets.TraitError, match=r"threshold is 1\.5; expected a number from 0"):
        view.params = {"threshold": 1.5}
    assert view.params["threshold"] == 0.8


@pytest.mark.parametrize(
    "name, value",
    [
        *(("param:0", value) for value in (1.5, -1, "50", None, True)),
        *(("param:1", value) for value in ("yes", 7)),
        *(("param:7", 1), ("param:", 1), ("param", [0, 1])),
        *(("spot", value) for value in ([1.1, 0], [-0.1, 0], ["1", 0], 5, None, [0.5])),
        *(("case", value) for value in (5, [0], True)),
        *(("label", value) for value in (None, [0], [0, "x"], [9999, "p"], ["0", "p"], "pf")),
        *(("set:params", {"threshold": 0.1}), ("set:page", "2"), ("set:shown", "nonsense")),
        *(("chip", value) for value in ("nothing", ["lost"], None)),
    ],
)
def test_a_message_that_makes_no_sense_changes_nothing(
    view: Workbench, name: str, value: Any
) -> None:
    before = view.params, view.shown, view.page, view.selected_case, view.results.to_json()
    view.perform(name, value)
    assert (view.params, view.shown, view.page, view.selected_case) == before[:4]
    assert view.results.to_json() == before[4]


def test_every_kind_of_param_has_its_control(metric: Callable[..., Any]) -> None:
    @metric("all")
    def taking(
        gold: str,
        predicted: str,
        *,
        threshold: float = 0.5,
        weight: float = 2.0,
        n: int = 3,
        fold: bool = True,
        mode: str = "words",
        extra: tuple[int, ...] = (1,),
    ) -> float:
        return float(gold[:n] == predicted[:n]) if weight > 1 else 0.0

    view = Workbench(taking, NAMES)
    kinds = {name: node.attributes.get("type") for name, node in controls(view).items()}
    boxes = {"weight": "number", "n": "number", "fold": "checkbox", "mode": "text"}
    assert kinds == {"threshold": "range"} | boxes
    for name, value in (("weight", 0), ("n", 1.0), ("mode", "letters"), ("fold", False)):
        change(view, name, value)
        assert view.params[name] == value
    assert type(view.params["n"]) is int
    change(view, "n", 1.5)
    assert view.params["n"] == 1
    (said,) = every(view, "params", role="status")
    assert said.children == ("all: n is 1.5; expected a whole number",)
    assert set(controls(Workbench("date", NAMES))) == {"precision"}


@pytest.mark.filterwarnings("ignore:metric 'mine' replaces")
def test_a_redefined_metric_is_scored_anew(metric: Callable[..., Any]) -> None:
    @metric("mine")
    def first(gold: str, predicted: str, *, old: float = 1.0) -> float:
        return 1.0

    view = Workbench(first, NAMES)
    assert "0 gained, 0 lost" in words(view)

    @metric("mine")
    def second(gold: str, predicted: str, *, threshold: float = 0.5) -> float:
        return 0.0

    assert "0 gained, 4 lost" in words(view)  # shown again, or at the next event
    assert (view.params, set(controls(view))) == ({"threshold": 0.5}, {"threshold"})
    assert view.results["flip"].eq("lost").sum() == 4


# --- cases -------------------------------------------------------------------------------------


def test_it_opens_on_flips_and_failures_that_the_metric_sees(view: Workbench) -> None:
    assert rows(view) == [1, 4, 0, 2]
    assert "Case 1" in words(view)
    view.params = {"threshold": 0.95}
    assert rows(view) == [0, 1, 4, 2]
    assert "Case 0" in words(view)
    for shown, expected in (
        *(("lost", [0]), ("unseen", [3]), ("failed", [0, 1, 4]), ("passed", [2])),
        *(("disagreements", [0]), ("flips", [0]), ("gained", []), ("errors", [])),
    ):
        view.shown = shown
        assert rows(view) == view.selection.index.tolist() == expected
    view.perform("toggle:shown", "lost")
    view.perform("toggle:shown", "lost")
    assert view.shown == "seen"
    assert "Decided before the metric 1" in words(view)


def test_what_is_compared_with_is_what_the_cases_bring() -> None:
    schema = {"type": "object", "properties": {name: {"type": "string"} for name in "abc"}}
    gold = {"a": "Moss Ltd", "b": "Paper", "c": "Tidal"}
    ev = xb.evaluate(schema, gold, {"a": "Moss Limited", "b": "Papers"})
    view = Workbench("string_exact", ev)
    before = dict(zip(ev.fields["path"], ev.fields["passed"], strict=True))
    found = view.results
    assert found["baseline_passed"].tolist() == [before[path] for path in found["path"]]
    assert found.loc[found["flip"] == "lost", "path"].tolist() == ["$.a"]
    assert "1 lost against as evaluated" in words(view)
    other = Workbench("string_exact", ev, baseline="string_fuzzy")
    assert other.baseline.startswith("string_fuzzy")
    frame = found[["gold", "predicted"]].assign(passed=[False, True, False])
    assert Workbench("string_exact", frame).results["flip"].dropna().tolist() == ["lost"]


def test_an_exception_is_said_at_the_top(metric: Callable[..., Any]) -> None:
    @metric("moody")
    def moody(gold: str, predicted: str) -> float:
        if gold.startswith("A"):
            raise ValueError("not today")
        return 1.0

    view = Workbench(moody, NAMES)
    (trouble,) = every(view, "params", role="alert")
    assert trouble.children == ("1 case without a verdict: ValueError: not today",)
    assert rows(view)[0] == 1
    view.shown = "errors"
    assert rows(view) == [1]
    assert "Why" in words(view)


def test_cases_are_paged_and_chosen_on_the_page_and_in_python(many: Workbench) -> None:
    many.perform("set:page", 1)
    assert rows(many) == many.selection.index.tolist()[PAGE : 2 * PAGE]
    assert f": cases {PAGE + 1} to {2 * PAGE} of 1,000" in words(many)
    many.perform("case", 3)
    assert "Case 3" in words(many)
    many.selected_case = 777
    assert 777 in rows(many)
    assert "Case 777" in words(many)
    many.page = 10_000
    assert many.page == 1000 // PAGE - 1
    for name, value in (("shown", "flip"), ("selected_case", 1000), ("selected_case", -1)):
        with pytest.raises(traitlets.TraitError, match=r"did you mean 'flips'|there is no case"):
            setattr(many, name, value)


def test_the_cases_of_an_evaluation(evs: xb.runs.Evaluations) -> None:
    view = Workbench("number_tolerance", evs)
    assert {type(value) for value in view.results["gold"].dropna()} <= {int, float}
    assert view.results.columns[:3].tolist() == ["run", "document", "path"]
    field = evs.fields["field"].iloc[0]
    chosen = evs.fields[evs.fields["field"] == field].drop_duplicates(["run", "document", "path"])
    assert len(Workbench("string_fuzzy", evs, field=field).results) == len(chosen)


def test_the_curve_is_drawn_again_only_where_it_changed(view: Workbench) -> None:
    before = view.trees()["curve"]
    view.shown, view.selected_case = "failed", 1
    assert view.trees()["curve"] is before
    view.params = {"threshold": 0.5}
    assert view.trees()["curve"] is not before


def test_labels_by_key_and_the_choice_of_metric_follow() -> None:
    pairs = [("Acme Ltd", "ACME LTD")] * 16 + [("Acme Ltd", "Acne Ltd")] * 8
    view = Workbench("string_exact", pairs)
    for case in range(24):
        view.perform("label", [case, "p" if case < 16 else "f"])
        assert ("too few labels" in words(view)) == (case < 20), case
    assert "By the labels: string_case_insensitive agrees with 24 of 24" in words(view)
    assert view.results["expected"].tolist() == [True] * 16 + [False] * 8
    assert xb.stats.choose_metric(view.results).choices["right"].tolist() == [24]
    view.shown = "disagreements"
    assert len(view.selection) == 16
    for case in range(24):
        view.label(case, None)
    assert "By the labels" not in words(view)
    for label in ((99, True), (-1, True), (True, True), (0, "pass")):
        with pytest.raises(InputError, match=r"there is no case|expected True, False or None"):
            view.label(*label)


def test_the_twin_of_a_thousand_cases_is_small(many: Workbench, tmp_path: Path) -> None:
    assert f"… {1000 - PAGE} more cases" in many.to_html()
    assert len(many.to_html()) < 60_000
    assert "<script" not in many.to_html()
    assert many.save(tmp_path / "page.html").read_text().startswith("<!DOCTYPE html>")


# --- hostile texts -----------------------------------------------------------------------------


def _values(text: str, _: Any) -> Any:
    return Workbench("string_exact", [(text, "b"), ("a", text)])


def _item(text: str, _: Any) -> Any:
    return Workbench("set_f1", [([text, "a"], {"a": text})])


def _columns(text: str, _: Any) -> Any:
    name = text.encode("utf-8", "replace").decode()
    names = pd.Index(["gold", "predicted", name, name, "why"], dtype=object)
    return Workbench("string_exact", pd.DataFrame([[*"abcd", text]], columns=names, dtype=object))


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


def _param(text: str, metric: Any) -> Any:
    def noted(gold: str, predicted: str, *, note: str = "") -> float:
        return 0.5

    metric("noted")(noted)
    return Workbench({"metric_id": "noted", "params": {"note": text}}, [("a", "b")])


SLOTS = (_item, _columns, _error, _reasoning, _name, _param)


@pytest.mark.parametrize(
    "slot, kind",
    [*itertools.product([_values], HOSTILE), *itertools.product(SLOTS, ONE_OF_EACH)],
)
def test_hostile_texts_stay_texts_and_messages_small(
    slot: Any, kind: str, metric: Callable[..., Any]
) -> None:
    view = slot(HOSTILE[kind], metric)
    view.selected_case = 0
    Twin(view.to_html()).check()
    messages = [getattr(view, name) for name in view.keys if name.startswith("_p")]
    assert all(message.isascii() for message in messages)
    assert sum(map(len, messages)) < 60_000
    assert len(repr(view)) < 200
    assert "\n" not in repr(view)
