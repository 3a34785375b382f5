"""Corrections of gold in the evidence view, without a page."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import extractbench_nb as xb
from extractbench_nb.gold.correction_rows import corrections
from extractbench_nb.gold.versions import apply
from extractbench_nb.views.evidence_view import EvidenceView
from tests.widgets.evidence.test_view import DOCUMENT, attributes, text_of
from tests.widgets.hostile import HOSTILE, Twin


@pytest.fixture(scope="module")
def ds() -> Any:
    return xb.load_dataset()


@pytest.fixture(scope="module")
def ev(ds: Any) -> Any:
    gold = ds.gold(DOCUMENT)
    predicted = copy.deepcopy(gold) | {"heading": "Who Drives the Day Tram?", "outlet": "Notes"}
    predicted["page_count"] = None
    predicted["contributors"] = [
        {"name": "Somebody Entirely Different", "institution": "Elsewhere"},
        predicted["contributors"][1] | {"institution": "Verrin Bus Company"},
        predicted["contributors"][0],
    ]
    predicted["references"] = predicted["references"][1:]
    return xb.evaluate(ds.schema("preprint"), gold, predicted)


@pytest.fixture
def view(ds: Any, ev: Any) -> EvidenceView:
    return EvidenceView(ds, DOCUMENT, ev, editable=True)


def choose(view: EvidenceView, path: str, side: str = "gold") -> EvidenceView:
    view.side, view.selected_path = side, path
    return view


def edits(view: EvidenceView) -> list[Any]:
    return [list(row) for row in view.edits[["path", "op", "old", "new"]].itertuples(index=False)]


def type_value(view: EvidenceView, path: str, text: str) -> None:
    view.perform("draft", text)
    view.perform("save", path)


def test_a_predicted_value_is_accepted_and_the_correction_applied(
    view: EvidenceView, ds: Any, ev: Any, tmp_path: Path
) -> None:
    choose(view, "$.heading", "predicted")
    view.perform("why", "read again")
    view.perform("accept", "$.heading")
    choose(view, "$.outlet", "predicted").perform("accept", "$.outlet")
    old = ds.gold(DOCUMENT)["heading"]
    assert edits(view) == [
        ["$.heading", "replace", old, "Who Drives the Day Tram?"],
        ["$.outlet", "replace", None, "Notes"],
    ]
    found = corrections(view, who="ada")
    assert found["document"].tolist() == [DOCUMENT] * 2
    assert found["who"].tolist() == ["ada", "ada"]
    assert found["why"].fillna("").tolist() == ["read again", ""]
    assert found["when"].str.match(r"\d{4}-").all()
    new = apply(ds, view, tmp_path / "v1")
    assert new.gold(DOCUMENT)["outlet"] == "Notes"
    assert ev.inputs.gold["outlet"] is None  # the view's own inputs are as they were
    assert ds.gold(DOCUMENT)["heading"] == old


def test_values_are_typed_as_json(view: EvidenceView) -> None:
    choose(view, "$.page_count")
    gold = view._edits.gold["page_count"]  # type: ignore[union-attr]
    for text, said, new in (
        ("12", "", 12),
        ('"12"', "The schema expects number, not text", "12"),
        ("[1]", "The schema expects number, not array", [1]),
    ):
        view.perform("draft", text)
        assert said in text_of(view, "edits", live=True)
        view.perform("save", "$.page_count")
        assert edits(view) == [["$.page_count", "replace", gold, new]]
        assert repr(view.edits.loc[0, "new"]) == repr(new)
    for text in ("abc", "NaN", "[1", "", "  ", "9" * 5000, "x" * 200_000, "[" * 100_000):
        view.perform("draft", text)
        view.perform("save", "$.page_count")
        assert len(text_of(view, "edits", live=True)) > 0
        assert edits(view)[0][3] == [1], text[:9]  # the last that was saved
    view.perform("draft", "abc")
    assert "is 'abc'; expected JSON; a text needs quotes" in text_of(view, "edits", live=True)
    assert "abc" in attributes(view, "edits", "value")


def test_the_same_value_is_no_correction_and_undo_takes_one_back(view: EvidenceView) -> None:
    choose(view, "$.heading")
    type_value(view, "$.heading", json.dumps(view._edits.gold["heading"]))  # type: ignore[union-attr]
    assert edits(view) == []
    type_value(view, "$.heading", '"A"')
    type_value(view, "$.heading", '"B"')
    choose(view, "$.kind").perform("remove", "$.kind")
    assert [row[:2] + row[3:] for row in edits(view)] == [
        ["$.heading", "replace", "B"],
        ["$.kind", "remove", pd.NA],
    ]
    view.perform("undo", "$.heading")  # from the list, while another value is chosen
    assert [row[0] for row in edits(view)] == ["$.kind"]
    type_value(view, "$.kind", json.dumps(view._edits.gold["kind"]))  # type: ignore[union-attr]
    assert edits(view) == []


def test_items_that_only_one_side_has_are_corrected_as_a_whole(view: EvidenceView) -> None:
    # predicted contributor 0 has no partner; 1 and 2 are those of gold, in another order
    choose(view, "$.contributors[0].name", "predicted")
    assert "Add the predicted item to gold" in text_of(view, "edits", live=True)
    view.perform("accept", "$.contributors[+0]")
    choose(view, "$.contributors[1].institution", "predicted")
    view.perform("accept", "$.contributors[1].institution")
    choose(view, "$.references[0].work_title")
    assert "Remove the item from gold" in text_of(view, "edits", live=True)
    view.perform("remove", "$.references[0]")
    assert [row[:2] + row[3:] for row in edits(view)] == [
        ["$.contributors[+0]", "add",
         {"name": "Somebody Entirely Different", "institution": "Elsewhere"}],
        ["$.contributors[1].institution", "add", "Verrin Bus Company"],
        ["$.references[0]", "remove", pd.NA],
    ]  # fmt: skip


def test_after_the_corrections_gold_is_what_was_accepted(
    view: EvidenceView, ds: Any, ev: Any, tmp_path: Path
) -> None:
    """Accepting or removing every failure makes the prediction right."""
    for row in range(len(view._rows)):
        side = "gold" if view._rows[row]["gold"] is not None else "predicted"
        if view._rows[row]["outcome"] in ("correct", "both_absent", "matched", ""):
            continue
        view.perform("value", [row, side])
        place = view._place()
        assert place is not None
        view.perform("accept", place.path)
        if place.path not in view.edits["path"].tolist():
            view.perform("remove", place.path)
    corrected = apply(ds, view, tmp_path / "v1").gold(DOCUMENT)
    again = xb.evaluate(ds.schema("preprint"), corrected, ev.inputs.predicted)
    assert again.summary["pass_rate"] == 1
    assert ev.summary["pass_rate"] < 1


def test_bad_messages_change_nothing(view: EvidenceView) -> None:
    before = view.edits
    view.selected_path = ""
    for name in ("draft", "save", "accept", "remove", "undo", "why"):
        for value in (None, 3, "", "$.heading", "$.nothing", ["$"], {}):
            view.perform(name, value)  # nothing is chosen
    choose(view, "$.heading")
    for name in ("save", "accept", "remove", "undo"):
        for value in ("$.nothing", "$.kind", 3, ["$"], {}):
            view.perform(name, value)
    view.perform("draft", 3)
    view.perform("why", ["x"])
    pd.testing.assert_frame_equal(view.edits, before)


def test_gold_alone_can_be_corrected_and_values_alone_cannot(ds: Any) -> None:
    view = choose(EvidenceView(ds, DOCUMENT, editable=True), "$.heading")
    assert "Accept" not in text_of(view, "edits", live=True)
    type_value(view, "$.heading", '"New"')
    assert [row[3] for row in edits(view)] == ["New"]
    for other in (
        EvidenceView(ds, DOCUMENT, {"heading": "x"}, editable=True),
        EvidenceView(ds, DOCUMENT),  # opened by another view, whose way back would lose them
    ):
        other.selected_path = "$.heading"
        other.perform("draft", '"New"')
        other.perform("save", "$.heading")
        assert len(other.edits) == 0
        assert text_of(other, "edits", live=True) == ""


def test_two_views_of_one_document_do_not_mix(ds: Any, ev: Any) -> None:
    one, two = (EvidenceView(ds, DOCUMENT, ev, editable=True) for _ in "ab")
    choose(one, "$.heading").perform("draft", '"typed"')
    choose(one, "$.heading").perform("save", "$.heading")
    choose(two, "$.heading")
    assert (len(one.edits), len(two.edits)) == (1, 0)
    assert '"typed"' not in attributes(two, "edits", "value")


def test_the_static_twin_lists_corrections_and_has_no_controls(view: EvidenceView) -> None:
    choose(view, "$.heading")
    hostile = {name: text for name, text in HOSTILE.items() if name != "long"}
    type_value(view, "$.heading", json.dumps(hostile))
    html = view.to_html()
    twin = Twin(html)
    assert "1 correction" in twin.text
    for tag in ("<textarea", "<button", "<input", "Correct gold"):
        assert tag not in html
    assert "Undo" not in twin.text
    assert not any(text in html for name, text in HOSTILE.items() if name in ("script", "onerror"))
