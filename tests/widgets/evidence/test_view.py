"""The evidence view without a page: what is listed, what is found, what Python can set."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import pandas as pd
import pypdfium2
import pytest
import traitlets
from reportlab.pdfgen import canvas

import extractbench_nb as xb
from extractbench_nb.pdf.evidence import leaves
from extractbench_nb.support.nodes import static_html
from extractbench_nb.views.evidence_view import (
    EvidenceView,
    kept_rows,
    places,
    side_values,
    value_rows,
)
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


def text_of(view: EvidenceView, name: str, *, live: bool = False) -> str:
    """Text of a part as static HTML or, without a space, as the page has it."""
    tree = view.draw()[name]
    return text(tree) if live else Twin(static_html(tree)).text


def text(tree: Any) -> str:
    return tree if isinstance(tree, str) else "".join(map(text, tree.children))


def attributes(view: EvidenceView, name: str, attribute: str) -> list[str]:
    def found(tree: Any) -> list[str]:
        if isinstance(tree, str):
            return []
        below = [value for child in tree.children for value in found(child)]
        return [*([tree.attributes[attribute]] if attribute in tree.attributes else []), *below]

    return found(view.draw()[name])


@pytest.fixture(scope="module")
def some_words(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A PDF of two words."""
    return write_pdf(tmp_path_factory.mktemp("pdf") / "a.pdf", ["some words"])


SIDE = {"predicted": side_values(LEAVES)}


def test_rows_say_what_was_found() -> None:
    rows = [tuple(row["predicted"].values()) for row in value_rows(SIDE)]
    assert rows == [
        ("$.a", "Acme  Inc.\n", "found", 3, 0.9877),
        ("$.b[0]", 12, "found", 1, 0.02),
        ("$.c", None, "not_sought", None, None),
        ("$.d", "Nowhere", "not_found", None, None),
    ]


@pytest.mark.parametrize(
    "finding, text, kept",
    [
        ("", "", [0, 1, 2, 3]),
        ("found", "", [0, 1]),
        ("not_found", "", [3]),
        ("", "ACME", [0]),
        ("", "b[0", [1]),
        ("found", "nowhere", []),
    ],
)
def test_rows_are_filtered(finding: str, text: str, kept: list[int]) -> None:
    found = kept_rows(value_rows(SIDE), {"predicted": finding}, text=text)
    assert found == kept


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
    view = EvidenceView(None, path, {"name": "Blue Harbour Trust"}, path="")
    assert (view.page, view.selected_path) == (1, "")
    view.selected_path = "$.name"
    assert view.page == 3
    assert view.sought == "Blue Harbour Trust"
    assert text_of(view, "sheet").startswith("Place 1 of 1 · page 3 · score 1.00")
    assert attributes(view, "sheet", "class").count("xb-place xb-chosen") == 1


def test_a_missing_value_is_an_answer(view: EvidenceView) -> None:
    view.side = "predicted"
    view.selected_path = "$.heading"
    assert len(view.evidence) == 0
    assert text_of(view, "sheet").startswith("Not found in the document.Who Drives the Day Tram?")


def test_gold_and_predicted_are_two_sides(view: EvidenceView) -> None:
    view.selected_path = "$.heading"
    view.side = "gold"
    assert view.selected_path == "$.heading"  # the same place on the other side
    assert str(view.sought).startswith("Who Takes the Night Bus")
    assert len(view.evidence) > 0
    assert "gold values: 28 found" in repr(view)


def test_gold_and_predicted_stand_side_by_side_with_outcome_and_place(view: EvidenceView) -> None:
    row = next(row for row in view.rows.itertuples() if row.gold_path == "$.heading")
    assert (row.outcome, row.predicted_value) == ("incorrect", "Who Drives the Day Tram?")
    assert (row.gold_finding, row.gold_page, row.predicted_finding) == ("found", 1, "not_found")
    said = text_of(view, "values")
    assert "$.heading ≠ incorrectWho Takes the Night Bus" in said
    assert "● page 1 · 1.00Who Drives the Day Tram?○ not found" in said


def test_a_value_that_the_schema_does_not_have_is_scored_in_strict_only(some_words: Path) -> None:
    schema = {"type": "object", "properties": {"a": {"type": "string"}}}
    documents = schema, {"a": "words"}, {"a": "words", "b": "some"}
    view = EvidenceView(None, some_words, xb.evaluate(*documents, profile="paper"))
    assert "$.b not scored missingsome● page 1" in text_of(view, "values").replace("◐", "●")
    view = EvidenceView(None, some_words, xb.evaluate(*documents))
    said = text_of(view, "values").replace("◐", "●")
    assert "$.b + hallucination missingsome● page 1" in said
    assert "not scored" not in text_of(EvidenceView(None, some_words, {"b": "some"}), "values")


def test_rows_are_kept_by_outcome_and_by_finding_on_either_side(view: EvidenceView) -> None:
    assert len(view.rows) == 32
    for trait, value, left in (
        ("outcome", "failed", ["$.heading"]),
        ("outcome", "incorrect", ["$.heading"]),
        ("predicted_finding", "not_found", ["$.heading"]),
        ("gold_finding", "not_found", []),
        ("text", "DAY TRAM", ["$.heading"]),
    ):
        view.perform(f"set:{trait}", value)
        assert list(view.rows.get("gold_path", [])) == left, trait
        view.perform("clear")
        assert len(view.rows) == 32


@pytest.mark.parametrize(
    "profile, spurious, missed, undeclared",
    [("paper", "spurious", "missed", ""), ("strict", "hallucination", "omission", "hallucination")],
)
def test_items_are_paired_as_they_were_aligned(
    profile: str, spurious: str, missed: str, undeclared: str
) -> None:
    schema = {
        "type": "object",
        "properties": {
            "people": {
                "type": "array",
                "items": {
                    "type": "object",
                    "properties": {"name": {"type": "string"}, "born": {"type": "integer"}},
                },
            }
        },
    }
    gold = {
        "people": [{"name": "Ada Okafor", "born": 1981}, {"name": "Bo Lindqvist", "born": 1990}]
    }
    predicted = {
        "people": [
            {"name": "Zed Quist", "born": 7},
            {"name": "Bo Lindqvist", "born": 1991, "x": 1},
        ]
    }
    ev = xb.evaluate(schema, gold, predicted, profile=profile)
    sides = {
        name: [{"path": path} for path, *_ in leaves(value)]
        for name, value in (("gold", gold), ("predicted", predicted))
    }
    found = [
        (row["outcome"], *(row[side] and row[side]["path"] for side in ("gold", "predicted")))
        for row in value_rows(sides, ev)
    ]
    assert found == [
        (spurious, None, "$.people[0].name"),
        (spurious, None, "$.people[0].born"),
        (missed, "$.people[0].name", None),
        (missed, "$.people[0].born", None),
        ("correct", "$.people[1].name", "$.people[1].name"),
        ("incorrect", "$.people[1].born", "$.people[1].born"),
        (undeclared, None, "$.people[1].x"),
    ]


def test_a_spurious_value_does_not_take_the_outcome_of_gold_at_its_index() -> None:
    items = {"type": "object", "properties": {"name": {"type": "string"}}}
    words = {"type": "array", "items": {"type": "string"}}
    schema = {
        "type": "object",
        "properties": {"who": {"type": "array", "items": items}, "tags": words},
    }
    gold = {"who": [{"name": "Verrin Transit Authority"}], "tags": ["bus"]}
    predicted = {"who": [{"name": "Night bus"}], "tags": ["zzzzzz"]}
    ev = xb.evaluate(schema, gold, predicted, profile="strict")
    sides = {
        name: [{"path": path} for path, *_ in leaves(value)]
        for name, value in (("gold", gold), ("predicted", predicted))
    }
    rows = value_rows(sides, ev)
    found = {
        (row["outcome"], side, row[side]["path"]) for row in rows for side in sides if row[side]
    }
    assert found == {
        ("omission", "gold", "$.who[0].name"),
        ("hallucination", "predicted", "$.who[0].name"),
        ("omission", "gold", "$.tags[0]"),
        ("hallucination", "predicted", "$.tags[0]"),
    }


def test_the_first_failing_value_that_was_found_is_chosen(ds: Any, ev: Any) -> None:
    view = EvidenceView(ds, "night bus demand", ev)
    failing = set(ev.fields.loc[~ev.fields["passed"].fillna(value=False), "path"])
    assert view.selected_path in failing
    assert "Place 1 of" in Twin(view.to_html()).text
    assert EvidenceView(ds, "night bus demand", ev, path="$.summary").selected_path == "$.summary"


def test_a_value_of_a_row_is_chosen_on_its_side(view: EvidenceView) -> None:
    at = next(i for i, row in enumerate(view._rows) if row["gold"]["path"] == "$.heading")
    view.perform("value", [at, "gold"])
    assert (view.side, view.selected_path, view.page) == ("gold", "$.heading", 1)
    assert str(view.sought).startswith("Who Takes")
    view.perform("value", [at, "predicted"])
    assert (view.side, view.sought) == ("predicted", "Who Drives the Day Tram?")


def test_any_text_can_be_searched_for_in_the_pdf(view: EvidenceView) -> None:
    view.selected_path = "$.summary"
    view.perform("sought", " Old Gasworks ")  # typed into the box
    assert view.sought == "Old Gasworks"
    assert view.selected_path == ""
    assert view.evidence["text"].tolist() == ["Old Gasworks"]
    assert len(view.rows) == 32  # it does not filter the list
    view.perform("sought", "")
    assert view.sought is None


def test_events_of_the_page_are_checked(view: EvidenceView) -> None:
    view.side = "predicted"
    view.selected_path = "$.contributors[0].name"
    for event, value in (
        *((event, value) for event in ("place", "list", "value") for value in ("x", None, [1], {})),
        *(("place", value) for value in (0, 99, -1, True)),
        *(
            ("value", value)
            for value in ([-1, "gold"], [10**9, "gold"], [0, "left"], [0, ["gold"]])
        ),
        *(("set:page", value) for value in (0, 2, "1", None)),
        *(("set:zoom", value) for value in ("", "17", 100)),
        ("set:outcome", "wrong"),
        ("set:gold_finding", 1),
        ("set:side", "gold"),
        ("sought", 5),
        ("list", 10**30),
    ):
        view.perform(event, value)
    assert (view.page, view.zoom, view.outcome, view.side) == (1, "fit", "", "predicted")
    assert view.selected_path == "$.contributors[0].name"


def test_places_are_walked(tmp_path: Path) -> None:
    path = write_pdf(tmp_path / "a.pdf", ["Blue Harbour Trust"], ["x"], ["Blue Harbour Trust"])
    view = EvidenceView(None, path, {"name": "Blue Harbour Trust"})
    view.selected_path = "$.name"
    seen = [view.page]
    for at in (2, 3, 1):
        view.perform("place", at)
        seen.append(view.page)
    assert seen == [1, 3, 3, 1]
    view.perform("set:page", 2)
    assert view.page == 2


def test_marks_are_where_the_words_are(tmp_path: Path) -> None:
    path = write_pdf(tmp_path / "a.pdf", ["Blue Harbour Trust"])  # 50 points from the top of 400
    found = []
    for turn in (0, 90, 180, 270):
        reader = pypdfium2.PdfDocument(path)
        reader[0].set_rotation(turn)
        reader.save(tmp_path / f"{turn}.pdf")
        view = EvidenceView(None, tmp_path / f"{turn}.pdf", {"name": "Blue Harbour Trust"})
        view.selected_path = "$.name"
        styles = [at for at in attributes(view, "sheet", "style") if at.startswith("left")]
        found.append([float(text.split(":")[1][:-1]) for text in styles[0].split(";")])
    left, top, width, height = found[0]
    assert (left, top) == pytest.approx((10, 10.3), abs=1)
    right, bottom = 100 - left - width, 100 - top - height
    assert found[1] == pytest.approx([bottom, left, height, width], abs=0.5)
    assert found[2] == pytest.approx([right, bottom, width, height], abs=0.5)
    assert found[3] == pytest.approx([top, right, height, width], abs=0.5)


def test_the_page_is_zoomed_and_its_picture_is_sent_only_when_it_changes(
    view: EvidenceView,
) -> None:
    picture = view._shown["_p4"]
    assert "width:100%" in view._p3
    view.perform("set:zoom", "100")
    assert "width:794px" in view._p3
    view.perform("set:text", "heading")
    view.selected_path = "$.summary"
    assert view._shown["_p4"] is picture
    view.zoom = "200"
    assert "width:1587px" in view._p3
    assert len(view._p4) > len("data:image/png;base64,")
    assert view._shown["_p4"] is not picture


def test_the_selection_is_code(view: EvidenceView, ds: Any, ev: Any) -> None:
    names = {"xb": xb, "ds": ds, "ev": ev}
    assert eval(view.code, names).equals(view.evidence)  # noqa: S307
    view.selected_path, view.sought = "", None
    assert len(eval(view.code, names)) == len(ev.fields)  # noqa: S307
    view.selected_path = "$.summary"
    assert eval(view.code, names).equals(view.evidence)  # noqa: S307


def test_what_cannot_be_is_refused(view: EvidenceView) -> None:
    for name, value, message in (
        ("selected_path", "$.headin", "did you mean '\\$.heading'"),
        ("page", 2, "pages 1 to 1"),
        ("page", 0, "pages 1 to 1"),
        ("side", "left", "expected one of gold, predicted"),
    ):
        before = getattr(view, name)
        with pytest.raises(traitlets.TraitError, match=message):
            setattr(view, name, value)
        assert getattr(view, name) == before


def test_gold_is_what_is_shown_without_a_subject(ds: Any) -> None:
    view = EvidenceView(ds, DOCUMENT)
    assert view.side == "gold"
    assert len(view.values) == len(view.rows)


def test_an_empty_document_and_a_picture_say_so(tmp_path: Path) -> None:
    path = write_pdf(tmp_path / "a.pdf", [])
    view = EvidenceView(None, path, {})
    assert "There are no values." in text_of(view, "values")
    Twin(view.to_html()).check()
    view.sought = "anything"
    assert "pictures without text" in text_of(view, "sheet")


def test_many_values_are_paged(some_words: Path) -> None:
    view = EvidenceView(None, some_words, [f"value {i}" for i in range(250)])
    assert "values 1 to 100 of 250" in text_of(view, "values", live=True)
    view.perform("list", 1)
    assert "values 101 to 200 of 250" in text_of(view, "values", live=True)
    view.selected_path = "$[249]"
    assert "values 201 to 250 of 250" in text_of(view, "values", live=True)
    assert "Values 231 to 250 of 250" in Twin(view.to_html()).text


def test_hostile_values_stay_text(some_words: Path) -> None:
    view = EvidenceView(None, some_words, {t: [t, {"b": t}] for t in HOSTILE.values()})
    assert len(view._p2) < 200_000
    for text, path in zip(HOSTILE.values(), view.values["path"][::2], strict=True):
        view.selected_path = path
        Twin(view.to_html()).check()
        assert len(view._p3) < 30_000
        view.sought = text
        Twin(view.to_html()).check()
