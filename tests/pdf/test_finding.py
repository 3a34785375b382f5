"""Places in PDFs: boxes, lines, pages, words around, and what is said where there are none."""

import os
from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Any

import pypdfium2
import pytest
from hypothesis import given
from hypothesis import strategies as st
from matplotlib import get_data_path
from reportlab.pdfbase import pdfmetrics
from reportlab.pdfbase.cidfonts import UnicodeCIDFont
from reportlab.pdfbase.ttfonts import TTFont

from extractbench_nb import load_dataset
from extractbench_nb.errors import DatasetError, InputError
from extractbench_nb.pdf.evidence import EVIDENCE_COLUMNS, find_evidence, ground_values
from extractbench_nb.pdf.page_text import PdfText, index_of, positions
from extractbench_nb.pdf.pages import read_layers
from extractbench_nb.runs.dataset import Dataset

Write = Callable[..., Path]
SAMPLE = load_dataset()
VARIABLE = "EXTRACTBENCH_DATASET"
DOCUMENT = "night bus demand"

text_of_pages = st.text(
    st.one_of(
        st.sampled_from("ab A.-\n\r\x02\ufffe\u00ad½ﬁéß´¨\u0301\u3000字\ud800"), st.characters()
    )
)


@given(text_of_pages)
def test_each_character_of_the_normalised_text_has_a_place_in_the_page(page: str) -> None:
    text, places = positions(page)
    assert text == PdfText([page]).text
    assert len(places) == len(text)
    assert places == sorted(places)
    assert all(0 <= place < len(page) for place in places)


@pytest.mark.parametrize("document", SAMPLE.listing["document"])
def test_layers_hold_the_characters_of_pdfium(document: str) -> None:
    path = SAMPLE.pdf_path(document)
    layers = read_layers(path)
    pdf = pypdfium2.PdfDocument(path)
    for number, layer in enumerate(layers):
        characters = pdf[number].get_textpage()
        assert len(layer) == characters.count_chars()
        for i in range(0, len(layer), 97):
            unicode = pypdfium2.raw.FPDFText_GetUnicode(characters, i)
            assert layer[i] == chr(unicode) or (layer[i], unicode) == ("\ufffe", 2)
    pdf.close()


def test_boxes_are_where_the_text_was_drawn(write_pdf: Write) -> None:
    path = write_pdf([(100, 700, "before"), (100, 500, "A value"), (300, 500, "beside")])
    row = find_evidence(None, path, "A value").loc[0]
    assert (row["page"], row["line"], row["text"]) == (1, 1, "A value")
    assert row["x0"] == pytest.approx(100, abs=1)
    assert row["x1"] == pytest.approx(100 + 41, abs=3)
    assert row["y0"] < 500 < row["y1"]
    assert row["y1"] - row["y0"] == pytest.approx(12, abs=4)
    assert row["context"] == "before A value beside"


def test_a_hit_has_one_row_a_line_and_a_page(write_pdf: Write) -> None:
    first = [(100, 700, "The quick brown fox"), (100, 686, "jumps over the"), (100, 672, "lazy")]
    path = write_pdf(first, [(100, 700, "dog and more")])
    found = find_evidence(None, path, "quick brown fox jumps over the lazy dog")
    assert found["hit"].tolist() == [1, 1, 1, 1]
    assert found["line"].tolist() == [1, 2, 3, 4]
    assert found["page"].tolist() == [1, 1, 1, 2]
    assert found["text"].tolist() == ["quick brown fox", "jumps over the", "lazy", "dog"]
    assert found["y1"].iloc[:3].is_monotonic_decreasing


def test_a_word_cut_at_the_end_of_a_line_has_two_boxes(write_pdf: Write) -> None:
    path = write_pdf([(100, 700, "about trans-"), (100, 686, "formers")])
    found = find_evidence(None, path, "transformers")
    assert [text.rstrip("-\ufffe\x02") for text in found["text"]] == ["trans", "formers"]


@pytest.mark.parametrize(
    "font, drawn, value, stands",
    [
        ("STSong-Light", ["来自北京大学的研究", "论文，第二行"], "北京大学", ["北京大学"]),
        ("STSong-Light", ["来自北京大学的研究", "论文，第二行"], "研究论文", ["研究", "论文"]),
        ("DejaVu", ["ةرهاقلا ةعماج"], "جامعة القاهرة", ["جامعة القاهرة"]),
        ("DejaVu", ["naïve Société"], "Naive societe", ["naïve Société"]),
    ],
)
def test_other_scripts_are_found_in_a_pdf(
    write_pdf: Write, font: str, drawn: list[str], value: str, stands: list[str]
) -> None:
    """Arabic is drawn from left to right, as PDFs have it."""
    if font == "DejaVu":
        pdfmetrics.registerFont(TTFont(font, f"{get_data_path()}/fonts/ttf/DejaVuSans.ttf"))
    else:
        pdfmetrics.registerFont(UnicodeCIDFont(font))
    path = write_pdf([(100, 700 - 16 * i, text) for i, text in enumerate(drawn)], font=font)
    found = find_evidence(None, path, value)
    assert found["text"].tolist() == stands
    assert found["similarity"].tolist() == [1.0] * len(stands)
    assert (found["x1"] - found["x0"] >= 12).all()


@pytest.mark.parametrize(
    "rotation, crop", [(0, (50, 300, 500, 780)), (180, None), (270, (50, 300, 500, 780))]
)
def test_boxes_are_those_of_the_page_before_it_was_turned(
    write_pdf: Write, rotation: int, crop: tuple[float, float, float, float] | None
) -> None:
    page = [(100, 700, "Northwind Paper Company")]
    plain = find_evidence(None, write_pdf(page), "Northwind Paper Company")
    turned = write_pdf(page, name="turned.pdf", rotation=rotation, crop=crop)
    found = find_evidence(None, turned, "Northwind Paper Company")
    corners = ["x0", "y0", "x1", "y1"]
    assert found.loc[0, corners].tolist() == pytest.approx(plain.loc[0, corners].tolist(), abs=0.1)


def test_what_a_crop_box_hides_is_not_found(write_pdf: Write) -> None:
    page = [(100, 700, "Northwind"), (100, 100, "Southwind")]
    path = write_pdf(page, crop=(50, 300, 500, 780))
    assert find_evidence(None, path, "Northwind").attrs["status"] == "found"
    assert find_evidence(None, path, "Southwind").attrs["status"] == "not_found"


@pytest.mark.parametrize(
    "value, status",
    [("Night bus", "found"), ("Airships", "not_found"), ("—", "nothing_to_find"),
     ("", "nothing_to_find"), (1, "found"), (987654321, "not_found")],
)  # fmt: skip
def test_the_status_says_why_there_are_rows_or_none(value: Any, status: str) -> None:
    found = find_evidence(SAMPLE, DOCUMENT, value)
    assert found.attrs["status"] == status
    assert (len(found) > 0) == (status == "found")
    assert found.columns.tolist() == EVIDENCE_COLUMNS.names
    assert found.dtypes.equals(find_evidence(SAMPLE, DOCUMENT, "Night bus").dtypes)
    assert found.attrs["pages"] == 1
    assert found.attrs["pages_without_text"] == 0


def test_a_pdf_without_text_is_told_from_one_without_the_value(write_pdf: Write) -> None:
    empty = find_evidence(None, write_pdf([], []), "Night bus")
    assert empty.attrs == {
        "status": "no_text_layer", "places": 0, "pages": 2, "pages_without_text": 2,
    }  # fmt: skip
    half = find_evidence(None, write_pdf([], [(90, 90, "day")], name="half.pdf"), "Night bus")
    assert half.attrs == {
        "status": "not_found", "places": 0, "pages": 2, "pages_without_text": 1,
    }  # fmt: skip


def test_dates_may_be_date_objects() -> None:
    found = find_evidence(SAMPLE, DOCUMENT, date(2029, 12, 1))
    assert found["text"].tolist() == ["1 December 2029"]


def test_a_changed_file_is_read_again(write_pdf: Write) -> None:
    path = write_pdf([(100, 700, "Northwind")])
    assert len(find_evidence(None, path, "Northwind")) == 1
    write_pdf([(100, 700, "Southwind")])
    os.utime(path, (1, 1))
    assert len(find_evidence(None, path, "Northwind")) == 0
    assert index_of(path) is index_of(path)


@pytest.mark.parametrize(
    "ds, document, value, options, error, message",
    [
        (SAMPLE, DOCUMENT, None, {}, InputError, "None cannot be searched for; expected a text"),
        (SAMPLE, DOCUMENT, ["a"], {}, InputError, "For an array or object use ground_values"),
        (SAMPLE, DOCUMENT, "a", {"limit": 0}, InputError, "limit=0; expected 1 or more"),
        (SAMPLE, "night bus", "a", {}, DatasetError, "no document 'night bus'; did you mean"),
        (SAMPLE, 7, "a", {}, InputError, "expected the id of a document or the pathlib.Path"),
        (None, DOCUMENT, "a", {}, InputError, "for a PDF of your own pass document=pathlib.Path"),
        (None, Path("no such.pdf"), "a", {}, InputError, "'no such.pdf' cannot be read: No such"),
        (None, Path(__file__), "a", {}, InputError, "cannot be read: Failed to load document"),
    ],
)  # fmt: skip
def test_errors_say_what_would_be_right(
    ds: Dataset | None,
    document: Any,
    value: Any,
    options: dict[str, Any],
    error: type[Exception],
    message: str,
) -> None:
    with pytest.raises(error, match=message):
        find_evidence(ds, document, value, **options)


def test_nearly_all_of_the_sample_is_found() -> None:
    """The sample's gold was written together with its PDFs."""
    for document in SAMPLE.listing["document"]:
        found = ground_values(SAMPLE, document, SAMPLE.gold(document))
        share = found["grounded"].dropna().mean()
        assert share > 0.8, found[~found["grounded"].fillna(True)]
