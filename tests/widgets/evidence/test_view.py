"""The evidence view without a page: what is listed, what is found, what Python can set."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import traitlets
from reportlab.pdfgen import canvas

import extractbench_nb as xb
from extractbench_nb.widgets.evidence_view import EvidenceView, kept_rows, places, value_rows
from tests.widgets.hostile import HOSTILE, Twin

DOCUMENT = "night bus demand"
LEAVES = pd.DataFrame(
    {
        "path": ["$.a", "$.b[0]", "$.c", "$.d"],
        "value": ["Acme  Inc.\n", 12, None, "Nowhere"],
        "grounded": pd.array([True, True, pd.NA, False], dtype="boolean"),
        "evidence_page": pd.array([3, 1, pd.NA, pd.NA], dtype="Int64"),
        "evidence_score": pd.array([0.98765, 0.02, pd.NA, pd.NA], dtype="Float64"),
    }
)


@pytest.fixture(scope="module")
def ds() -> Any:
    return xb.load_dataset()


@pytest.fixture(scope="module")
def ev(ds: Any) -> Any:
    gold = ds.gold(DOCUMENT)
    predicted = copy.deepcopy(gold) | {"heading": "Who Drives the Day Tram?"}
    return xb.evaluate(ds.schema("preprint"), gold, predicted)


@pytest.fixture
def view(ds: Any, ev: Any) -> EvidenceView:
    return EvidenceView(ds, DOCUMENT, ev)


def write_pdf(path: Path, *pages: list[str]) -> Path:
    sheet = canvas.Canvas(str(path), pagesize=(400, 400))
    for lines in pages:
        for at, line in enumerate(lines):
            sheet.drawString(40, 350 - 20 * at, line)
        sheet.showPage()
    sheet.save()
    return path


@pytest.fixture(scope="module")
def some_words(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A PDF of two words."""
    return write_pdf(tmp_path_factory.mktemp("pdf") / "a.pdf", ["some words"])


def test_rows_say_what_was_found() -> None:
    rows = value_rows(LEAVES, {"$.d": "hallucination"})
    assert [tuple(row) for row in rows] == [
        ("$.a", "Acme Inc.", "found", 3, 0.9877, ""),
        ("$.b[0]", "12", "found", 1, 0.02, ""),
        ("$.c", "null", "not_sought", None, None, ""),
        ("$.d", "Nowhere", "not_found", None, None, "hallucination"),
    ]


@pytest.mark.parametrize(
    "finding, text, kept",
    [
        ("", "", ["$.a", "$.b[0]", "$.c", "$.d"]),
        ("found", "", ["$.a", "$.b[0]"]),
        ("not_found", "", ["$.d"]),
        ("", "ACME", ["$.a"]),
        ("", "b[0", ["$.b[0]"]),
        ("found", "nowhere", []),
    ],
)
def test_rows_are_filtered(finding: str, text: str, kept: list[str]) -> None:
    assert [row.path for row in kept_rows(value_rows(LEAVES), finding, text)] == kept


def test_lines_of_one_hit_are_one_place_a_page(tmp_path: Path) -> None:
    path = write_pdf(tmp_path / "a.pdf", ["Blue Harbour", "Lighting Trust"], ["Blue Harbour"])
    view = EvidenceView(
        None, path, {"name": "Blue Harbour Lighting Trust", "short": "Blue Harbour"}
    )
    view.selected_path = "$.name"
    found = places(view.evidence)
    assert [(p.page, len(p.boxes)) for p in found] == [(1, 2)]
    view.selected_path = "$.short"
    assert [p.page for p in places(view.evidence)] == [1, 2]


def test_the_chosen_value_brings_its_page(tmp_path: Path) -> None:
    path = write_pdf(tmp_path / "a.pdf", ["one"], ["two"], ["Blue Harbour Trust"])
    view = EvidenceView(None, path, {"name": "Blue Harbour Trust"})
    assert view.page == 1
    view.selected_path = "$.name"
    assert view.page == 3
    assert view.sought == "Blue Harbour Trust"
    assert json.loads(view._sheet.data)["alt"] == "Page 3, with the place marked"


def test_a_missing_value_is_an_answer(view: EvidenceView) -> None:
    view.selected_path = "$.heading"
    assert len(view.evidence) == 0
    shown = json.loads(view._sheet.data)
    assert shown["title"] == "Not found in the document."
    assert shown["missing"]


def test_null_cannot_be_looked_for(view: EvidenceView) -> None:
    view.selected_path = "$.outlet"
    assert json.loads(view._sheet.data)["title"].startswith("Cannot be looked for")


def test_gold_and_predicted_are_two_sides(view: EvidenceView) -> None:
    view.selected_path = "$.heading"
    view.side = "gold"
    assert view.selected_path == "$.heading"  # the same place on the other side
    assert str(view.sought).startswith("Who Takes the Night Bus")
    assert len(view.evidence) > 0
    assert "gold values: 28 found" in repr(view)


def test_outcomes_of_the_evaluation_stand_beside_the_values(view: EvidenceView) -> None:
    table = json.loads(view._list.data)["table"]
    rows = {row[1]: dict(zip(table["columns"], row, strict=True)) for row in table["rows"]}
    assert rows["$.heading"]["outcome"] == "incorrect"
    assert rows["$.summary"]["outcome"] == "correct"


def test_any_value_can_be_looked_for(view: EvidenceView) -> None:
    view._asked.value = "Old Gasworks"  # typed into the box
    assert view.sought == "Old Gasworks"
    assert view.selected_path == ""
    assert view.evidence["text"].tolist() == ["Old Gasworks"]


def test_messages_of_the_page_are_checked(view: EvidenceView) -> None:
    view.selected_path = "$.contributors[0].name"
    for kind, by in [("place", 1), ("place", "x"), ("page", 1), ("page", -1), ("page", None)]:
        view._sheet._handle_custom_msg({"kind": kind, "by": by}, [])
    view._list._handle_custom_msg({"kind": "turn", "by": [1]}, [])
    view._list._handle_custom_msg("nonsense", [])
    view._list.selected = "999999"
    assert view.page == 1
    assert view.selected_path == "$.contributors[0].name"


def test_places_are_walked(tmp_path: Path) -> None:
    path = write_pdf(tmp_path / "a.pdf", ["Blue Harbour Trust"], ["x"], ["Blue Harbour Trust"])
    view = EvidenceView(None, path, {"name": "Blue Harbour Trust"})
    view.selected_path = "$.name"
    seen = [view.page]
    for by in (1, 1, -1):
        view._sheet._handle_custom_msg({"kind": "place", "by": by}, [])
        seen.append(view.page)
    assert seen == [1, 3, 3, 1]
    view._sheet._handle_custom_msg({"kind": "page", "by": 1}, [])
    assert view.page == 2


def test_what_cannot_be_is_refused(view: EvidenceView) -> None:
    for name, value, message in (
        ("selected_path", "$.headin", "did you mean '\\$.heading'"),
        ("page", 2, "pages 1 to 1"),
        ("page", 0, "pages 1 to 1"),
        ("side", "left", "'predicted' or 'gold'"),
    ):
        before = getattr(view, name)
        with pytest.raises(traitlets.TraitError, match=message):
            setattr(view, name, value)
        assert getattr(view, name) == before


def test_gold_is_what_is_shown_without_a_subject(ds: Any) -> None:
    view = EvidenceView(ds, DOCUMENT)
    assert view.side == "gold"
    assert len(view.values) == len(view._rows)


def test_a_path_needs_values(some_words: Path) -> None:
    with pytest.raises(xb.InputError, match="pass a JSON value"):
        EvidenceView(None, some_words)


def test_an_empty_document_and_a_picture_say_so(tmp_path: Path) -> None:
    path = write_pdf(tmp_path / "a.pdf", [])
    view = EvidenceView(None, path, {})
    assert json.loads(view._list.data)["empty"] == "There are no values."
    Twin(view.to_html()).check()
    view.sought = "anything"
    assert "pictures without text" in json.loads(view._sheet.data)["title"]


def test_the_twin_reads_without_style(view: EvidenceView) -> None:
    view.selected_path = "$.summary"
    twin = Twin(view.to_html())
    twin.check()
    assert "$.heading" in twin.text
    assert "not found" in twin.text
    assert "Place 1 of 1 · page 1" in twin.text
    assert twin.tags.count("img") == 1
    assert view.to_html() == view.to_html()


def test_many_values_are_paged(some_words: Path) -> None:
    view = EvidenceView(None, some_words, [f"value {i}" for i in range(250)])
    shown = json.loads(view._list.data)
    assert (shown["pages"], len(shown["table"]["rows"])) == (3, 100)
    view.selected_path = "$[249]"
    assert json.loads(view._list.data)["page"] == 3
    assert view._list.selected == "249"
    assert "Values 231 to 250 of 250" in Twin(view.to_html()).text


def test_hostile_values_stay_text(some_words: Path) -> None:
    view = EvidenceView(None, some_words, {t: [t, {"b": t}] for t in HOSTILE.values()})
    assert len(view._list.data) < 100_000
    for text, path in zip(HOSTILE.values(), view.values["path"][::2], strict=True):
        view.selected_path = path
        Twin(view.to_html()).check()
        assert len(view._sheet.data) < 30_000
        view.sought = text
        Twin(view.to_html()).check()


def test_what_is_no_json_is_refused(ds: Any) -> None:
    for subject in (object(), {1, 2}, ds):
        with pytest.raises(xb.InputError, match=r"expected one Evaluation, such as"):
            EvidenceView(ds, DOCUMENT, subject)
