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


def rows(view: Workbench) -> list[int]:
    """The cases that the page shows."""
    return [node.attributes["send"] for node in every(view, do="case")]


def every(view: Workbench, **attributes: Any) -> list[Node]:
    """All elements of the page that have some attributes."""

    def below(node: Node) -> Iterator[Node]:
        yield node
        for child in node.children:
            if isinstance(child, Node):
                yield from below(child)

    wanted = attributes.items()
    nodes = [node for tree in view.trees().values() for node in below(tree)]
    return [
        node
        for node in nodes
        if wanted <= {k: v for k, v in node.attributes.items() if k in attributes}.items()
    ]


def controls(view: Workbench) -> dict[str, Node]:
    """The controls of params, by their labels."""
    kinds = ("xb-control", "xb-control xb-slider")
    labels = [label for kind in kinds for label in every(view, **{"class": kind})]
    found = {}
    for label in labels:
        words = "".join(child for child in label.children if isinstance(child, str)).strip()
        for child in label.children:
            if isinstance(child, Node) and str(child.attributes.get("do")).startswith("param:"):
                found[words] = child
    return found


def change(view: Workbench, name: str, value: Any) -> None:
    """Change a param as the page does."""
    view.perform(controls(view)[name].attributes["do"], value)


def click(view: Workbench, value: str) -> None:
    """Click where the curve has a value."""
    place = next(n for n in every(view, do="value") if words(n).startswith(f"{value}: "))
    view.perform("value", place.attributes["send"])


def words(node: Node) -> str:
    return "".join(c if isinstance(c, str) else words(c) for c in node.children)


# --- params ------------------------------------------------------------------------------------


def test_params_are_assigned_and_the_page_follows(view: Workbench) -> None:
    view.params = {"threshold": 0.95}
    assert view.params == {"threshold": 0.95, "case_sensitive": False}
    assert controls(view)["threshold"].attributes["aria-valuetext"] == "0.95"
    assert view.results["flip"].dropna().to_dict() == {0: "lost"}
    shown = Twin(view.to_html()).text
    assert "string_fuzzy(threshold=0.95" in shown
    assert '"threshold": 0.95' in shown


def test_a_control_changes_the_params(view: Workbench) -> None:
    change(view, "threshold", 60)
    change(view, "case_sensitive", True)
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
    click(view, "0.61")
    assert view.params["threshold"] == 0.61


@pytest.mark.parametrize(
    "name, value",
    [
        ("param:0", 101),
        ("param:0", -1),
        ("param:0", 0.5),
        ("param:0", True),
        ("param:0", "50"),
        ("param:0", None),
        ("param:1", "yes"),
        ("param:7", 1),
        ("param:", 1),
        ("param", [0, 1]),
        ("value", 101),
        ("value", -1),
        ("value", "1"),
        ("value", None),
        ("case", 5),
        ("case", [0]),
        ("set:params", {"threshold": 0.1}),
        ("set:page", "2"),
        ("set:shown", "nothing"),
        ("set:over", "case_sensitive"),
        ("over", 1),
        ("over", -1),
    ],
)
def test_a_message_that_makes_no_sense_changes_nothing(
    view: Workbench, name: str, value: Any
) -> None:
    before = view.to_html()
    view.perform(name, value)
    assert view.params == {"threshold": 0.8, "case_sensitive": False}
    assert view.to_html() == before


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
        nothing: Any = None,
    ) -> float:
        return float(gold[:n] == predicted[:n]) if weight > 1 else 0.0

    view = Workbench(taking, NAMES)
    kinds = {name: node.attributes.get("type") for name, node in controls(view).items()}
    assert kinds == {
        "threshold": "range",
        "weight": "range",
        "n": "number",
        "fold": "checkbox",
        "mode": "text",
    }
    assert "No control, set in Python: extra, nothing" in view.to_html()
    change(view, "weight", 0)
    assert view.params["weight"] == 0.0
    change(view, "n", 1)
    change(view, "mode", "letters")
    assert (view.params["n"], view.params["mode"]) == (1, "letters")
    view.params = {"weight": 3.25, "nothing": "x", "extra": (2, 3)}
    assert controls(view)["weight"].attributes["aria-valuetext"] == "3.25"
    assert view.config["params"]["nothing"] == "x"
    view.reset()
    assert view.params["n"] == 3
    assert "nothing" not in view.params


def test_a_whole_number_takes_no_fraction(metric: Callable[..., Any]) -> None:
    @metric("letters")
    def letters(gold: str, predicted: str, *, n: int = 3) -> float:
        return float(gold[: int(n)] == predicted[: int(n)])

    view = Workbench(letters, NAMES)
    with pytest.raises(traitlets.TraitError, match=r"n is 3\.5; expected a whole number"):
        view.params = {"n": 3.5}
    assert controls(view)["n"].attributes["type"] == "number"
    change(view, "n", 2)
    assert view.params["n"] == 2


def test_a_value_that_is_refused_is_said(view: Workbench) -> None:
    def said() -> str:
        return words(every(view, role="status", **{"class": "xb-bad"})[0])

    change(view, "case_sensitive", "yes")
    assert said() == "string_fuzzy: case_sensitive is 'yes'; expected a boolean"
    assert view.params["case_sensitive"] is False
    change(view, "case_sensitive", True)
    assert said() == ""


def test_the_buttons(view: Workbench) -> None:
    view.params = {"threshold": 0.95}
    view.perform("baseline")
    assert view.baseline == "string_fuzzy(threshold=0.95, case_sensitive=False)"
    view.perform("reset")
    assert view.params["threshold"] == 0.8
    assert view.results["flip"].dropna().to_dict() == {0: "gained"}
    view.perform("rescore")
    assert view.results["flip"].dropna().to_dict() == {0: "gained"}


@pytest.mark.filterwarnings("ignore:metric 'mine' replaces")
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
    assert set(controls(view)) == {"threshold", "n"}
    assert view.over == "threshold"
    assert len(view.results["flip"].dropna()) == 3
    assert Workbench("mine", NAMES).results["flip"].isna().all()


# --- cases -------------------------------------------------------------------------------------


def view_text(view: Workbench) -> str:
    return Twin(view.to_html()).text


def test_it_opens_on_flips_and_failures(view: Workbench) -> None:
    assert rows(view) == [1, 4, 0, 2, 3]  # the metric is not asked about the last
    view.params = {"threshold": 0.95}
    assert rows(view) == [0, 1, 4, 2, 3]
    view.perform("chip", "lost")
    assert rows(view) == [0]
    view.perform("chip", "lost")
    view.perform("chip", "unseen")
    assert rows(view) == [3]
    assert "1 case decided before the metric" in view_text(view)


def test_what_is_compared_with_is_what_the_cases_bring() -> None:
    schema = {"type": "object", "properties": {name: {"type": "string"} for name in "abc"}}
    gold = {"a": "Moss Ltd", "b": "Paper", "c": "Tidal"}
    ev = xb.evaluate(schema, gold, {"a": "Moss Limited", "b": "Papers"})
    view = Workbench("string_exact", ev)
    assert view.baseline == "as evaluated"
    before = dict(zip(ev.fields["path"], ev.fields["passed"], strict=True))
    found = view.results
    assert found["baseline_passed"].tolist() == [before[path] for path in found["path"]]
    lost = found[found["flip"] == "lost"]
    assert lost["path"].tolist() == ["$.a"]
    assert "1 lost against as evaluated" in view_text(view)
    assert Workbench("string_exact", ev, baseline="string_fuzzy").baseline.startswith(
        "string_fuzzy"
    )
    frame = found[["gold", "predicted"]].assign(passed=[False, True, False])
    assert Workbench("string_exact", frame).results["flip"].dropna().tolist() == ["lost"]


def test_a_redefined_metric_is_scored_anew(metric: Callable[..., Any]) -> None:
    @metric("mine_again")
    def first(gold: str, predicted: str) -> float:
        return 1.0

    view = Workbench(first, NAMES)
    assert view.results["passed"].sum() == 4

    def second(gold: str, predicted: str) -> float:
        return 0.0

    with pytest.warns(UserWarning, match="replaces"):
        metric("mine_again")(second)

    assert view.results["flip"].eq("lost").sum() == 4
    view.perform("set:sort", "given")
    assert "0 gained, 4 lost" in view_text(view)


def test_filters_and_pages(many: Workbench) -> None:
    many.params = {"threshold": 0.1}
    many.shown, many.sort, many.text, many.page = "flips", "lowest", "case", 2
    places = many.selection.index.tolist()
    assert rows(many) == places[2 * PAGE : 3 * PAGE]
    first = 2 * PAGE + 1
    assert f": cases {first} to {first + PAGE - 1} of {len(places)}" in view_text(many)
    assert len(places) > 3 * PAGE
    many.text = "case 99"
    assert many.page == 0
    assert rows(many) == many.selection.index.tolist()
    many.shown, many.sort, many.text = "all", "given", ""
    many.perform("set:page", 1)
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
    many.perform("case", 3)
    assert many.selected_case == 3
    assert "Case 3" in view_text(many)
    many.selected_case = 777
    assert many.page == 777 // PAGE
    assert 777 in rows(many)
    many.page = 0
    assert "Case 777" in view_text(many)  # below the table
    many.perform("case", 777)
    assert many.selected_case is None
    assert "Case 777" not in view_text(many)


def test_a_long_value_is_shown_whole_on_request() -> None:
    view = Workbench("string_exact", [("x" * 200_000, "x")])
    view.selected_case = 0
    assert view.to_html().count("x") < 5_000
    view.perform("whole")
    assert 100_000 < view.to_html().count("x") < 105_000


def test_the_cases_of_an_evaluation(evs: xb.runs.Evaluations) -> None:
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


def test_the_curve_is_drawn_again_only_where_it_changed(view: Workbench) -> None:
    before = view.trees()["curve"]
    view.text = "acme"
    view.selected_case = 1
    assert view.trees()["curve"] is before
    view.params = {"threshold": 0.5}
    assert view.trees()["curve"] is not before


# --- the static twin ---------------------------------------------------------------------------


def test_the_twin_of_a_thousand_cases_is_small(many: Workbench, tmp_path: Path) -> None:
    many.shown, many.text = "all", ""
    assert f"… {1000 - PAGE} more cases" in many.to_html()
    assert len(many.to_html()) < 60_000
    page = many.save(tmp_path / "page.html").read_text()
    assert page.startswith("<!DOCTYPE html>")
    assert "<script" not in many.to_html()


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
    messages = [getattr(view, name) for name in view.keys if name.startswith("_p")]
    assert all(message.isascii() for message in messages)
    assert sum(map(len, messages)) < 60_000
    assert len(repr(view)) < 200
    assert "\n" not in repr(view)


def test_a_key_labels_a_case_and_the_choice_of_metric_follows() -> None:
    pairs = [("Acme Ltd", "ACME LTD")] * 16 + [("Acme Ltd", "Acne Ltd")] * 8
    view = Workbench("string_exact", pairs)
    for case in range(24):
        view.perform("label", [case, "p" if case < 16 else "f"])
        text = words(view.trees()["head"])
        assert ("too few labels" in text) == (case < 20), case
    assert "By the labels: string_case_insensitive agrees with 24 of 24" in text
    assert view.results["expected"].tolist() == [True] * 16 + [False] * 8
    assert xb.stats.choose_metric(view.results).choices["right"].tolist() == [24]
    view.shown = "disagreements"
    assert len(view.selection) == 16
    for case in range(24):
        view.label(case, None)
    assert (view.shown, view.results["expected"].isna().all()) == ("all", True)
    assert "By the labels" not in words(view.trees()["head"])


@pytest.mark.parametrize("asked", [None, [0], [0, "x"], [9999, "p"], ["0", "p"], [0, ["p"]], "pf"])
def test_a_label_that_cannot_be_is_ignored(view: Workbench, asked: Any) -> None:
    before = view.results["expected"]
    view.perform("label", asked)
    pd.testing.assert_series_equal(view.results["expected"], before)


@pytest.mark.parametrize("label", [(99, True), (-1, True), (True, True), (0, "pass")])
def test_a_label_from_python_is_checked(view: Workbench, label: Any) -> None:
    with pytest.raises(InputError, match=r"there is no case|expected True, False or None"):
        view.label(*label)
