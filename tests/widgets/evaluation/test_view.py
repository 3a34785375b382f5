"""The view without a page: what can be assigned, what follows, the static twin, hostile texts."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import traitlets

import extractbench_nb as xb
from extractbench_nb.errors import InputError
from extractbench_nb.widgets.evaluation_view import EvaluationView
from tests.widgets.evaluation.test_model import EXACT, GOLD, PREDICTED, SCHEMA, Judge, an_object
from tests.widgets.hostile import HOSTILE, Twin


@pytest.fixture(scope="module")
def ev() -> xb.evaluation.Evaluation:
    return xb.evaluate(SCHEMA, GOLD, PREDICTED, judge=Judge())


@pytest.fixture
def view(ev: xb.evaluation.Evaluation) -> EvaluationView:
    return EvaluationView(ev)


@pytest.fixture(scope="module")
def long() -> xb.evaluation.Evaluation:
    """An evaluation of 1,000 rows, two of which fail."""
    names = [f"k{i}" for i in range(1000)]
    gold = dict.fromkeys(names, "x")
    schema = an_object(**dict.fromkeys(names, EXACT))
    return xb.evaluate(schema, gold, {**gold, "k700": "y", "k900": "y"})


def listed(view: EvaluationView) -> list[str]:
    """The paths that the page is sent."""
    return [row[3] for row in json.loads(view._list.data)["rows"]]


def whole(view: EvaluationView) -> Any:
    return json.loads(view._whole.data)


# --- nodes and filters -------------------------------------------------------------------------


def test_a_node_leaves_its_fields(view: EvaluationView) -> None:
    view.selected_path = "lines[]"
    assert view.selected_path == "$.properties.lines.items"
    assert view._tree.path == view.selected_path
    assert listed(view) == view.rows["path"].tolist()
    assert {path.rpartition(".")[0] for path in listed(view)} == {"$.lines[0]", "$.lines[1]"}


def test_a_click_in_the_tree_arrives(view: EvaluationView) -> None:
    view._tree.set_state({"selected": "$.properties.g"})
    assert view.selected_path == "$.properties.g"
    assert view.rows["path"].tolist() == ["$.g"]


@pytest.mark.parametrize(
    "trait, value, paths",
    [
        ("outcome", "hallucination", ["$.c"]),
        ("metric", "array_llm", ["$.lines"]),
        ("text", "northWIND", ["$.g"]),
        ("only_counted", True, [f"$.{name}" for name in (*"abcdefg", "lines")]),
        ("only_failed", True, [f"$.{name}" for name in (*"bcef", "lines")] + ["$.lines[0].n"]),
    ],
)
def test_filters_and_their_controls(
    view: EvaluationView, trait: str, value: Any, paths: list[str]
) -> None:
    setattr(view, trait, value)
    assert listed(view) == view.rows["path"].tolist() == paths
    bar = view.children[1]
    assert value in [getattr(control, "value", None) for control in bar.children]
    bar.children[-1].click()  # the button that clears
    assert getattr(view, trait) == getattr(EvaluationView, trait).default_value
    assert len(view.rows) == 12


def test_a_control_narrows_the_rows(view: EvaluationView) -> None:
    find = next(c for c in view.children[1].children if c.description == "Find")
    find.set_state({"value": "made"})  # what the page sends
    assert (view.text, listed(view)) == ("made", ["$.c"])


def test_rows_keep_their_labels_and_are_a_copy(
    view: EvaluationView, ev: xb.evaluation.Evaluation
) -> None:
    view.worst_first = True
    rows = view.rows
    pd.testing.assert_frame_equal(rows.sort_index(), ev.fields)
    assert rows["score"].isna().iloc[0]
    assert rows["score"].iloc[1:].is_monotonic_increasing
    rows.loc[:, "path"] = "changed"
    assert view.rows["path"].iloc[0] != "changed"


def test_the_code_is_what_the_rows_are(view: EvaluationView, ev: xb.evaluation.Evaluation) -> None:
    view.only_failed, view.selected_path = True, "lines"
    found = eval(view.code, {"ev": ev})  # noqa: S307 - the code is what is tested
    pd.testing.assert_frame_equal(found, view.rows)
    assert json.loads(view._list.data)["code"] == view.code


# --- the chosen row ----------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["$.g", "g"])
def test_a_field_is_chosen_by_path_or_name(view: EvaluationView, name: str) -> None:
    view.selected_row = name
    assert view.selected_row == "$.g"
    assert whole(view)["path"] == "$.g"
    assert view._list.chosen == view.rows.index[view.rows["path"] == "$.g"][0]
    view.selected_row = ""
    assert whole(view) is None
    assert view._list.chosen == -1


def test_a_click_on_a_row_arrives(view: EvaluationView) -> None:
    seen: list[str] = []
    view.observe(lambda change: seen.append(change["new"]), "selected_row")
    view._list.set_state({"chosen": 1})  # what the page sends
    assert seen == ["$.b"]
    assert whole(view)["gold"][1] == [["same", "x"]]


@pytest.mark.parametrize("sent", [99, -7])
def test_a_row_that_does_not_exist_is_none(view: EvaluationView, sent: int) -> None:
    view.selected_row = "$.a"
    view._list.set_state({"chosen": sent})
    assert (view.selected_row, view._list.chosen) == ("", -1)


def test_the_second_metric_of_a_path_can_be_chosen() -> None:
    two = {"metrics": [{"metric_id": "string_fuzzy"}, {"metric_id": "string_exact"}]}
    schema = an_object(a=EXACT | {"evaluation_config": two})
    view = EvaluationView(xb.evaluate(schema, {"a": "x"}, {"a": "y"}))
    view._list.set_state({"chosen": 1})
    assert view.selected_row == "$.a"
    assert dict(whole(view)["facts"])["metric"] == "string_exact"
    view._list.set_state({"chosen": 0})
    assert dict(whole(view)["facts"])["metric"].startswith("string_fuzzy")


def test_a_row_that_the_filters_take_away_is_left(view: EvaluationView) -> None:
    view.selected_row = "$.b"
    view.only_failed = True
    assert view.selected_row == "$.b"
    view.outcome = "hallucination"
    assert view.selected_row == ""
    assert whole(view) is None


def test_choosing_a_hidden_row_clears_what_hides_it(view: EvaluationView) -> None:
    view.selected_path, view.outcome, view.worst_first = "lines", "incorrect", True
    view.selected_row = "$.a"
    assert (view.selected_path, view.outcome, view.worst_first) == ("", "", True)
    assert "$.a" in listed(view)
    assert view.selected_row == "$.a"


def test_the_page_turns_to_the_chosen_row(long: xb.evaluation.Evaluation) -> None:
    view = EvaluationView(long)
    view.selected_row = "k700"
    assert view._list.number == 14
    assert listed(view)[0] == "$.k700"
    view.worst_first = True
    assert view._list.number == 0
    assert listed(view)[:2] == ["$.k700", "$.k900"]
    view.selected_row = ""
    view._list.set_state({"number": 19})
    assert listed(view)[-1] == "$.k999"
    view.only_failed = True
    assert (view._list.number, len(listed(view))) == (0, 2)


def test_more_of_a_value_is_sent_when_asked_for() -> None:
    text = "word " * 1000
    view = EvaluationView(xb.evaluate(an_object(a=EXACT), {"a": text}, {"a": text}))
    view.selected_row = "$.a"
    assert whole(view)["gold"][2] == 3000
    view._whole._handle_custom_msg({"kind": "show_all"}, [])
    assert whole(view)["gold"][2] == 0
    view.only_failed = True
    view._whole._handle_custom_msg({"kind": "show_all"}, [])  # a click that came late
    assert whole(view) is None


# --- what is refused ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    "trait, value, said",
    [
        ("selected_path", "line", r"no node 'line'; did you mean 'lines"),
        ("selected_row", "$.lines[0].m", r"no field .* did you mean '\$\.lines\[0\]\.n'"),
        ("outcome", "omision", r"outcome is 'omision'; did you mean 'omission'"),
        ("metric", "array_lm", r"metric is 'array_lm'; did you mean 'array_llm'"),
        ("text", "half \ud800", r"text is 'half \\ud800'; expected printable text"),
    ],
)
def test_what_does_not_exist_is_refused(
    view: EvaluationView, trait: str, value: str, said: str
) -> None:
    with pytest.raises(traitlets.TraitError, match=said):
        setattr(view, trait, value)
    assert getattr(view, trait) == ""
    assert len(view.rows) == 12


def test_a_name_that_is_no_name_is_refused(ev: xb.evaluation.Evaluation) -> None:
    with pytest.raises(InputError, match="expected the variable of the evaluation"):
        EvaluationView(ev, name="my evaluation")


# --- the static twin ---------------------------------------------------------------------------


def test_the_bundle_has_a_live_and_a_static_part(view: EvaluationView) -> None:
    data, _ = view._repr_mimebundle_()
    assert "application/vnd.jupyter.widget-view+json" in data
    assert data["text/plain"] == "Evaluation · 3 of 8 fields pass · 12 of 12 rows shown"
    assert data["text/html"] == view.to_html()


def test_the_twin_reads_without_style(view: EvaluationView) -> None:
    twin = Twin(view.to_html())
    twin.check()
    for words in (
        *("3 of 8 fields pass", "overall score 0.4", "2 correct, 1 both absent, 2 incorrect"),
        *("1 field has no verdict", "1 warning", "gold: undeclared, 1", "Fields 1 to 12 of 12"),
        *("− omission predicted missing", "$.lines[0].n integer_exact, not counted", "n/a"),
    ):
        assert words in twin.text


def test_the_twin_is_of_what_is_shown(view: EvaluationView) -> None:
    view.outcome, view.selected_row = "hallucination", "$.c"
    text = Twin(view.to_html()).text
    assert "Fields 1 to 1 of 1 (of 12 in all: hallucination)" in text
    assert "Selected: $.c" in text
    assert 'ev.fields[ev.fields["path"] == "$.c"]' in text
    view.clear()
    view.text = "nowhere"
    assert "No field matches; clear the filters." in Twin(view.to_html()).text


def test_the_twin_of_a_long_list_counts_the_rest(long: xb.evaluation.Evaluation) -> None:
    html = EvaluationView(long, name="best").to_html()
    assert "… 950 more rows; best.fields has them all" in Twin(html).text
    assert "… 801 more nodes" in Twin(html).text
    assert len(html) < 100_000


def test_the_twin_of_a_prediction_that_is_no_json() -> None:
    ev = xb.evaluate(SCHEMA, GOLD, "{'a': <b>1</b>}")
    twin = Twin(EvaluationView(ev).to_html())
    twin.check()
    assert "The prediction is not JSON: Expecting property name" in twin.text
    assert "{'a': <b>1</b>}" in twin.text


def test_the_twin_where_nothing_is_scored() -> None:
    skipped = an_object(a=EXACT | {"evaluation_config": "skip"})
    view = EvaluationView(xb.evaluate(skipped, {"a": "x"}, {"a": "y"}))
    text = Twin(view.to_html()).text
    assert "overall score n/a" in text
    assert "The schema scores no field of this document." in text
    assert view.rows.empty


def test_the_twin_is_the_same_every_time(ev: xb.evaluation.Evaluation, tmp_path: Path) -> None:
    one, two = EvaluationView(ev), EvaluationView(ev)
    assert one.to_html() == two.to_html()
    kept = one.save(tmp_path / "evaluation.html")
    assert one.to_html() in kept.read_text(encoding="utf-8")


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
        view._list.set_state({"chosen": int(label)})
        twin = Twin(view.to_html())
        twin.check()
        assert len(view.to_html()) < 100_000
    for pane in (view._head, view._tree, view._list, view._whole):
        assert pane.data.isascii()
        assert len(pane.data) < 60_000
