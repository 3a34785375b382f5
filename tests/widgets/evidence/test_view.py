"""The evidence view without a page: what is listed, found, chosen and corrected."""

from __future__ import annotations

import copy
import json
import shutil
from pathlib import Path
from typing import Any

import pandas as pd
import pypdfium2
import pytest
import traitlets
from reportlab.pdfgen import canvas

import extractbench_nb as xb
from extractbench_nb.support.nodes import static_html
from extractbench_nb.views.evidence_view import EvidenceView
from tests.widgets.hostile import HOSTILE, Twin

DOCUMENT = "night bus demand"
PEOPLE = {
    "type": "array",
    "items": {
        "type": "object",
        "properties": {"name": {"type": "string"}, "born": {"type": "integer"}},
    },
}
TAGS = {"type": "array", "items": {"type": "string"}}


@pytest.fixture(scope="module")
def ds() -> Any:
    return xb.load_dataset()


@pytest.fixture(scope="module")
def ev(ds: Any) -> Any:
    """One heading is wrong, contributors are in another order, one is made up, one work missing."""
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


def text_of(view: EvidenceView, name: str) -> str:
    """The text of a part on the page, live or static."""

    def text(tree: Any) -> str:
        return tree if isinstance(tree, str) else "".join(map(text, tree.children))

    return text(view.draw()[name])


def attributes(view: EvidenceView, name: str, attribute: str) -> list[str]:
    def found(tree: Any) -> list[str]:
        if isinstance(tree, str):
            return []
        below = [value for child in tree.children for value in found(child)]
        return [*([tree.attributes[attribute]] if attribute in tree.attributes else []), *below]

    return found(view.draw()[name])


def choose(view: EvidenceView, path: str, side: str = "gold") -> EvidenceView:
    view.side, view.selected_path = side, path
    return view


# --- what is listed ----------------------------------------------------------------------------


def pairs(path: Path, properties: dict[str, Any], *values: Any, profile: str) -> list[Any]:
    """The outcome and the paths of both sides, of each row of the view."""
    ev = xb.evaluate({"type": "object", "properties": properties}, *values, profile=profile)
    view = EvidenceView(None, path, ev)
    view.shown = ""
    rows = view.rows[["outcome", "gold_path", "predicted_path"]].fillna("")
    return [tuple(row) for row in rows.itertuples(index=False)]


@pytest.mark.parametrize(
    "profile, spurious, missed, undeclared",
    [("paper", "spurious", "missed", ""), ("strict", "hallucination", "omission", "hallucination")],
)
def test_items_are_paired_as_they_were_aligned(
    some_words: Path, profile: str, spurious: str, missed: str, undeclared: str
) -> None:
    gold = [{"name": "Ada Okafor", "born": 1981}, {"name": "Bo Lindqvist", "born": 1990}]
    predicted = [{"name": "Zed Quist", "born": 7}, {"name": "Bo Lindqvist", "born": 1991, "x": 1}]
    assert pairs(
        some_words, {"p": PEOPLE}, {"p": gold}, {"p": predicted, "y": 2}, profile=profile
    ) == [
        (spurious, "", "$.p[0].name"),
        (spurious, "", "$.p[0].born"),
        (missed, "$.p[0].name", ""),
        (missed, "$.p[0].born", ""),
        ("correct", "$.p[1].name", "$.p[1].name"),
        ("incorrect", "$.p[1].born", "$.p[1].born"),
        (undeclared, "", "$.p[1].x"),
        (undeclared, "", "$.y"),
    ]


def test_a_spurious_value_does_not_take_the_outcome_of_gold_at_its_index(some_words: Path) -> None:
    sides = {"p": [{"name": "Verrin"}], "tags": ["bus"]}, {"p": [{"name": "x"}], "tags": ["zzzz"]}
    found = pairs(some_words, {"p": PEOPLE, "tags": TAGS}, *sides, profile="strict")
    assert sorted(found) == [
        ("hallucination", "", "$.p[0].name"),
        ("hallucination", "", "$.tags[0]"),
        ("omission", "$.p[0].name", ""),
        ("omission", "$.tags[0]", ""),
    ]


def test_both_sides_have_value_outcome_and_place(view: EvidenceView) -> None:
    row = next(row for row in view.rows.itertuples() if row.gold_path == "$.heading")
    assert (row.outcome, row.predicted_value) == ("incorrect", "Who Drives the Day Tram?")
    assert (row.gold_finding, row.gold_page, row.predicted_finding) == ("found", 1, "not_found")
    said = text_of(view, "values")
    assert "$.heading ≠ incorrectWho Takes the Night Bus" in said
    assert "● page 1 · 1.00Who Drives the Day Tram?○ not found" in said


def test_failures_are_listed_first_and_chips_filter(view: EvidenceView, ev: Any) -> None:
    assert (view.shown, len(view.rows)) == ("failed", ev.summary["failed"])
    view.perform("toggle:shown", "failed")
    everything = len(view.rows)
    assert view.shown == ""
    for name, column, value in (
        ("incorrect", "outcome", "incorrect"),
        ("predicted_not_found", "predicted_finding", "not_found"),
    ):
        view.perform("toggle:shown", name)
        assert 0 < len(view.rows) < everything
        assert set(view.rows[column]) == {value}
    view.perform("toggle:shown", view.shown)
    view.perform("set:text", "DAY TRAM")
    assert view.rows["gold_path"].tolist() == ["$.heading"]


def test_citations_have_their_verdicts(ds: Any, ev: Any) -> None:
    cited = pd.DataFrame(
        [("$.summary", 1), ("$.heading", 1), ("$.kind", 9)], columns=["path", "page"]
    )
    view = EvidenceView(ds, DOCUMENT, ev, citations=cited)
    for shown, path, said in (
        ("right_place", "$.summary", "cites page 1: right place"),
        ("wrong_value", "$.heading", "cites page 1: wrong value"),
        ("elsewhere", "$.kind", "cites page 9: elsewhere"),
    ):
        view.shown = shown
        assert view.rows["predicted_path"].tolist() == [path]
        assert said in text_of(view, "values")


def test_gold_alone_and_values_alone(ds: Any, some_words: Path) -> None:
    view = EvidenceView(ds, DOCUMENT)
    assert (view.side, view.shown, len(view.values)) == ("gold", "", len(view.rows))
    other = EvidenceView(None, some_words, {"a": "words", "b": "nothing", "c": None})
    assert other.rows["predicted_finding"].tolist() == ["found", "not_found", "not_searched"]
    assert "not scored" not in text_of(other, "values")


def test_many_values_are_paged(some_words: Path) -> None:
    view = EvidenceView(None, some_words, [f"value {i}" for i in range(250)])
    assert "values 1 to 100 of 250" in text_of(view, "values")
    view.perform("list", 1)
    assert "values 101 to 200 of 250" in text_of(view, "values")
    view.selected_path = "$[249]"
    assert "values 201 to 250 of 250" in text_of(view, "values")
    assert "… 230 more values" in Twin(view.to_html()).text


def test_without_a_pdf_values_are_listed(ds: Any, ev: Any, tmp_path: Path) -> None:
    shutil.copytree(ds.root, tmp_path / "sample")
    for pdf in (tmp_path / "sample").rglob("*.pdf"):
        pdf.unlink()
    view = EvidenceView(xb.load_dataset(tmp_path / "sample"), DOCUMENT, ev, editable=True)
    assert len(view.values) > len(view.rows) > 0
    choose(view, "$.heading").perform("save", "predicted")
    assert len(view.edits) == 1
    twin = Twin(view.to_html())
    twin.check()
    assert "no PDF" in twin.text
    assert "expected" in twin.text


def test_an_empty_document_and_a_picture_say_so(tmp_path: Path) -> None:
    path = write_pdf(tmp_path / "a.pdf", [])
    empty = EvidenceView(None, path, {})
    assert "No values." in text_of(empty, "values")
    Twin(empty.to_html()).check()
    assert "pictures without text" in text_of(EvidenceView(None, path, {"a": "b"}), "sheet")


# --- what is chosen ----------------------------------------------------------------------------


def test_the_first_failing_value_is_chosen_where_it_was_found(view: EvidenceView, ev: Any) -> None:
    first = ev.fields.loc[ev.fields["path"] == view.selected_path, "passed"]
    assert (view.side, view.selected_path, first.tolist()) == ("gold", "$.heading", [False])
    assert text_of(view, "sheet").startswith("Place 1 of 1 · page 1 · score 1.00Who Takes")
    assert "Place 1 of" in Twin(view.to_html()).text
    given = EvidenceView(view._ds, DOCUMENT, ev, path="$.summary", side="gold")
    assert (given.selected_path, given.side, given.shown) == ("$.summary", "gold", "")
    assert EvidenceView(view._ds, DOCUMENT, ev, path="").selected_path == ""


def test_a_value_is_chosen_on_either_side(view: EvidenceView) -> None:
    at = next(row.number for row in view._rows if row.path == "$.heading")
    view.perform("value", [at, "predicted"])
    assert (view.side, view.selected_path) == ("predicted", "$.heading")
    assert text_of(view, "sheet").startswith("Not found in the document.Who Drives the Day Tram?")
    assert len(view.evidence) == 0
    view.side = "gold"  # the same place on the other side
    assert (view.selected_path, len(view.evidence) > 0) == ("$.heading", True)
    choose(view, "$.page_count", "predicted")
    assert "Not searched: null" in text_of(view, "sheet")
    assert view.shown == "failed"
    choose(view, "$.summary")  # a right value: all are listed, so that this one is
    assert view.shown == ""


def test_places_are_walked_with_their_pages(tmp_path: Path) -> None:
    trust = ["Blue Harbour", "Lighting Trust"]
    path = write_pdf(tmp_path / "a.pdf", trust, ["x"], ["Blue Harbour"])
    values = {"name": "Blue Harbour Lighting Trust", "short": "Blue Harbour"}
    view = EvidenceView(None, path, values)
    assert (view.selected_path, view.page) == ("$.name", 1)
    assert attributes(view, "sheet", "class").count("xb-place xb-chosen") == 2  # its two lines
    view.selected_path = "$.short"
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
        styles = [at for at in attributes(view, "sheet", "style") if at.startswith("left")]
        found.append([float(text.split(":")[1][:-1]) for text in styles[0].split(";")])
    left, top, width, height = found[0]
    assert (left, top) == pytest.approx((10, 10.3), abs=1)
    right, bottom = 100 - left - width, 100 - top - height
    assert found[1] == pytest.approx([bottom, left, height, width], abs=0.5)
    assert found[2] == pytest.approx([right, bottom, width, height], abs=0.5)
    assert found[3] == pytest.approx([top, right, height, width], abs=0.5)


def test_the_picture_of_a_page_is_sent_only_when_it_changes(view: EvidenceView) -> None:
    picture = view._shown["_p4"]
    assert "width:100%" in view._p3
    view.perform("set:zoom", "100")
    assert "width:794px" in view._p3
    view.perform("set:text", "heading")
    choose(view, "$.summary")
    assert view._shown["_p4"] is picture
    view.zoom = "200"
    assert "width:1587px" in view._p3
    assert view._shown["_p4"] is not picture


def test_the_selection_is_code(view: EvidenceView, ds: Any) -> None:
    for path in ("$.heading", "$.summary", "$.page_count"):
        choose(view, path)
        assert eval(view.code, {"xb": xb, "ds": ds}).equals(view.evidence)  # noqa: S307


@pytest.mark.parametrize(
    "name, value, message",
    [
        ("selected_path", "$.headin", "did you mean '\\$.heading'"),
        ("side", "left", "expected one of gold, predicted"),
        ("shown", "wrong", "did you mean 'wrong_value'"),
    ],
)
def test_what_cannot_be_is_refused(view: EvidenceView, name: str, value: Any, message: str) -> None:
    before = getattr(view, name)
    with pytest.raises(traitlets.TraitError, match=message):
        setattr(view, name, value)
    assert getattr(view, name) == before


def test_events_of_the_page_are_checked(view: EvidenceView) -> None:
    choose(view, "$.heading")
    before = view.to_html()
    for event, values in {
        "place": ("x", None, [1], 0, 99, -1, True),
        "list": ("x", None, [1]),
        "value": ("x", None, {}, [-1, "gold"], [10**9, "gold"], [0, "left"], [0, ["gold"]]),
        "chip": ("nothing", ["failed"], None),
        "set:page": (0, 2, "1", None),
        "set:zoom": ("", "17", 100),
        "set:side": ("predicted",),
        "draft": (3, ["x"]),
        "save": (["x"], {}, None),  # nothing was typed
    }.items():
        for value in values:
            view.perform(event, value)
    view.perform("place", 1)
    assert (view.to_html(), len(view.edits)) == (before, 0)


# --- corrections -------------------------------------------------------------------------------


def edits(view: EvidenceView) -> list[Any]:
    return [list(row) for row in view.edits[["path", "op", "new"]].itertuples(index=False)]


def type_value(view: EvidenceView, text: str) -> None:
    view.perform("draft", text)
    view.perform("save", None)


def test_corrections_are_accepted_typed_removed_and_undone(view: EvidenceView, ds: Any) -> None:
    choose(view, "$.heading", "predicted").perform("save", "predicted")
    choose(view, "$.outlet", "predicted").perform("save", "predicted")  # gold has null
    type_value(choose(view, "$.kind"), "")
    type_value(choose(view, "$.summary"), '"A"')
    type_value(view, '"B"')
    assert edits(view) == [
        ["$.heading", "replace", "Who Drives the Day Tram?"],
        ["$.outlet", "replace", "Notes"],
        ["$.kind", "remove", pd.NA],
        ["$.summary", "replace", "B"],
    ]
    view.shown = "corrected"
    assert len(view.rows) == 4
    assert "→ removed" in text_of(view, "values")
    choose(view, "$.kind").perform("save", "gold")
    type_value(choose(view, "$.summary"), json.dumps(ds.gold(DOCUMENT)["summary"]))
    assert [row[0] for row in edits(view)] == ["$.heading", "$.outlet"]
    found = xb.gold.corrections(view, who="ada")
    assert found[["document", "who"]].drop_duplicates().values.tolist() == [[DOCUMENT, "ada"]]
    assert found["when"].str.match(r"\d{4}-").all()


@pytest.mark.parametrize("text", ["abc", "NaN", "[1", "9" * 5000, "[" * 100_000])
def test_what_is_not_json_stays_typed_and_is_refused(view: EvidenceView, text: str) -> None:
    type_value(choose(view, "$.page_count"), text)
    assert "expected JSON" in text_of(view, "editor")
    assert text in attributes(view, "editor", "value")
    assert edits(view) == []


def test_items_that_only_one_side_has_are_corrected_as_a_whole(view: EvidenceView) -> None:
    choose(view, "$.contributors[0].name", "predicted").perform("save", "predicted")
    choose(view, "$.contributors[1].institution", "predicted").perform("save", "predicted")
    type_value(choose(view, "$.references[0].work_title"), " ")
    different = {"name": "Somebody Entirely Different", "institution": "Elsewhere"}
    assert edits(view) == [
        ["$.contributors[+0]", "add", different],
        ["$.contributors[1].institution", "add", "Verrin Bus Company"],
        ["$.references[0]", "remove", pd.NA],
    ]


def test_after_the_corrections_gold_is_what_was_accepted(
    view: EvidenceView, ds: Any, ev: Any, tmp_path: Path
) -> None:
    """Accepting every failure makes the prediction right."""
    for row in view._rows:
        if "failed" in row.kinds():
            view.perform("value", [row.number, "predicted"])
            view.perform("save", "predicted")
    corrected = xb.gold.apply(ds, view, tmp_path / "v1").gold(DOCUMENT)
    again = xb.evaluate(ds.schema("preprint"), corrected, ev.inputs.predicted)
    assert again.summary["pass_rate"] == 1
    assert ev.summary["pass_rate"] < 1
    assert ds.gold(DOCUMENT) == ev.inputs.gold


def test_only_gold_can_be_corrected_and_only_where_the_view_is_not_closed(ds: Any, ev: Any) -> None:
    alone = choose(EvidenceView(ds, DOCUMENT, editable=True), "$.heading")
    assert "Accept" not in text_of(alone, "editor")
    type_value(alone, '"New"')
    assert edits(alone) == [["$.heading", "replace", "New"]]
    for other in (
        EvidenceView(ds, DOCUMENT, {"a": "x"}, editable=True),
        EvidenceView(ds, DOCUMENT),
    ):
        type_value(other, '"New"')
        assert (len(other.edits), text_of(other, "editor")) == (0, "")


def test_the_static_twin_has_corrections_and_no_controls(view: EvidenceView) -> None:
    hostile = {name: text for name, text in HOSTILE.items() if name != "long"}
    type_value(choose(view, "$.heading"), json.dumps(hostile))
    html = view.to_html()
    Twin(html).check()
    assert "→ {" in Twin(html).text
    assert not any(tag in html for tag in ("<textarea", "<button", "<input", "Correct gold"))


def test_hostile_values_stay_text(some_words: Path) -> None:
    view = EvidenceView(None, some_words, {t: [t, {"b": t}] for t in HOSTILE.values()})
    assert len(view._p2) < 200_000
    for path in view.values["path"][::2]:
        view.selected_path = path
        Twin(view.to_html()).check()
        assert len(view._p3) < 30_000
    Twin(static_html(view.draw()["values"])).check()
