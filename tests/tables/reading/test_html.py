"""HTML tables: read as the published code read them, mended where that code failed."""

import gzip
import json
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from extractbench_nb.errors import InputError
from extractbench_nb.tables.cells import Table
from extractbench_nb.tables.reading import read_table

FOLDER = os.environ.get("EXTRACTBENCH_CONFORMANCE")


def fields(table: Table) -> list[tuple[Any, ...]]:
    return [(list(c.rows), list(c.columns), c.text, c.is_header) for c in table.cells]


def recorded() -> list[tuple[str, Any, Any]]:
    """Text, the cells that the published code found, and whether its grid had a cell everywhere."""
    with gzip.open(Path(str(FOLDER)) / "grits_dev.jsonl.gz", "rt", encoding="utf-8") as lines:
        cases = [case for case in map(json.loads, lines) if case.get("true_html")]
    return [
        (case[f"{side}_html"], case["expected"]["html"][f"{side}_parsed_cells"], case["id"])
        for case in cases
        for side in ("true", "pred")
    ]


def is_whole(cells: Any) -> bool:
    covered = {(r, c) for cell in cells for r in cell["row_nums"] for c in cell["column_nums"]}
    rows, columns = (max(numbers) + 1 for numbers in zip(*covered, strict=True))
    usual = all(cell["row_nums"] and cell["column_nums"] for cell in cells)
    return usual and min(covered) >= (0, 0) and len(covered) == rows * columns


@pytest.mark.skipif(FOLDER is None, reason="needs the recorded cases")
def test_the_recorded_cells() -> None:
    seen = 0
    for text, cells, case in recorded():
        if cells and is_whole(cells):
            table = read_table(text, format="html")
            expected = [
                (c["row_nums"], c["column_nums"], c["cell_text"], c["is_column_header"])
                for c in cells
            ]
            assert fields(table) == expected, case
            assert table.notes == (), case
            seen += 1
    assert seen > 100


LAYOUTS = {
    "spans": (
        '<tr><td rowspan="2">a</td><td colspan="2">b</td></tr><tr><td>c<td>d',
        [["a", "b", "b"], ["a", "c", "d"]],
        (),
    ),
    "empty": ("<table></table>", [[]], ()),
    "no row": (
        "<table><td>a</td><tr><td>b</td></tr></table>",
        [["a"], ["b"]],
        ("row 0: cells outside of any row, given one",),
    ),
    "rows below the last tr": ('<tr><td rowspan="2">a</td></tr>', [["a"], ["a"]], ()),
    "rowspan beyond the last row": (
        '<table><tr><td rowspan="9">a</td><td>b</td></tr><tr><td>c</td></tr></table>',
        [["a", "b"], ["a", "c"]],
        ("row 0: rowspan 9 cut to 2, the last row",),
    ),
    "rowspan 0 ends with its group": (
        '<table><tbody><tr><td rowspan="0">a<td>b<tr><td>c</tbody><tfoot><tr><td>d<td>e</table>',
        [["a", "b"], ["a", "c"], ["d", "e"]],
        (),
    ),
    "colspan that is no number": (
        '<tr><td colspan="-2">a</td><td colspan="all">b</td></tr>',
        [["a", "b"]],
        (
            "row 0, column 0: colspan '-2' taken as 1",
            "row 0, column 1: colspan 'all' taken as 1",
        ),
    ),
    "overlap": (
        '<tr><td>a</td><td rowspan="2">b</td></tr><tr><td colspan="2">c</td></tr>',
        [["a", "b"], ["c", "c"]],
        ("row 1, column 0: the cell overlaps an earlier one, which it replaces there",),
    ),
    "nested": (
        "<table><tr><td>a<table><tr><td>b</td></tr></table></td></tr></table>",
        [["a b"], ["b"]],
        ("tables within cells: their cells are taken for cells of the outer table",),
    ),
}


@pytest.mark.parametrize("text, texts, notes", LAYOUTS.values(), ids=LAYOUTS)
def test_layout(text: str, texts: list[list[str]], notes: tuple[str, ...]) -> None:
    table = read_table(text)
    assert table.texts == texts
    assert table.notes == notes


@pytest.mark.parametrize("text", ["I use <td> here: {table}", "Here it is: {table} Well."])
def test_only_the_table_is_read(text: str) -> None:
    for inside in (
        "<table><tr><td>a</td><td>b</td></tr></table>",
        "<TABLE ><tr><td>a<td>b</TABLE\n>",
    ):
        table = read_table(text.format(table=inside))
        assert table.texts == [["a", "b"]]
        assert table.notes == ()
        assert read_table(text.format(table=inside), format="html").texts == table.texts


TEXTS = {
    "white space": ("<tr><td>  a\n b </td></tr>", "  a\n b "),
    "pieces": ("<tr><td><b>10</b>.<i>5</i></td></tr>", "10 . 5"),
    "comment": ("<tr><td>a<!-- no -->b</td></tr>", "ab"),
    "br": ("<tr><td>a<br/>b</td></tr>", "a b"),
    "entities": ("<tr><td>&lt;5&amp;&#8211;</td></tr>", "<5&–"),
    "declared entity": ('<!DOCTYPE t [<!ENTITY a "b">]><tr><td>&a;</td></tr>', "&a;"),
    "script": ("<tr><td>a<script>if (1 < 2) b</script><style>c</style><br></td></tr>", "a"),
    "script, well-formed": (
        "<tr><td>a<script>1</script><style>c</style><template><b>d</b></template></td></tr>",
        "a",
    ),
    "namespace": ('<table xmlns="http://www.w3.org/1999/xhtml"><tr><td>a</td></tr></table>', "a"),
    "around": ("Here it is:\n```html\n<table><tr><td>a</td></tr></table>\n```\nBye", "a"),
}


@pytest.mark.parametrize("text, expected", TEXTS.values(), ids=TEXTS)
def test_text_of_a_cell(text: str, expected: str) -> None:
    table = read_table(text)
    assert table.texts == [[expected]]
    assert table.notes == ()
    assert read_table(text, format="html").texts == [[expected]]


TIDY = {
    "white space": ("  a\n\t b\xa0c ", "a b c"),
    "within a line": ("H<sub>2</sub>O and <b>10</b>.<i>5</i><unknown>%</unknown>", "H2O and 10.5%"),
    "white space at an element": ("a <b>b</b> c", "a b c"),
    "br": ("a<br/>b", "a b"),
    "blocks": ("<p>a</p><p>b</p><div>c</div><ul><li>d</li><li>e</li></ul>f", "a b c d e f"),
}


@pytest.mark.parametrize("after", ["</td></tr>", "<br>"], ids=["strictly", "leniently"])
@pytest.mark.parametrize("text, expected", TIDY.values(), ids=TIDY)
def test_tidy_texts_are_as_they_are_shown(text: str, expected: str, after: str) -> None:
    assert read_table(f"<tr><td>{text}{after}", tidy=True).texts == [[expected]]


@pytest.mark.parametrize("after", ["</table>", ""], ids=["strictly", "leniently"])
def test_headers_are_th_or_in_thead(after: str) -> None:
    table = read_table(
        "<table><thead><tr><th>a</th><td>b</td></tr></thead>"
        "<tbody><tr><th>c</th><td>d</td></tr></tbody>" + after
    )
    assert [c.text for c in table.cells if c.is_header] == ["a", "b", "c"]


ERRORS = {
    "two": ("<table><tr><td>a</table><table></table>", "table holds 2 tables; expected one"),
    "two between prose": (
        "First: <table><tr><td>a</td></tr></table> and <td>: <table><tr><td>b</td></tr></table>.",
        "table holds 2 tables; expected one",
    ),
}


@pytest.mark.parametrize("text, message", ERRORS.values(), ids=ERRORS)
def test_no_table_or_several(text: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        read_table(text, format="html")


HOSTILE = {
    "rows": "<table>" + "<tr>" * 50_000 + "<td colspan=1000>",
    "spans": '<table><tr><td colspan="1000000000" rowspan="1000000000">a' + "<tr><td>" * 2000,
}


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
def test_great_tables_are_refused(text: str) -> None:
    with pytest.raises(InputError, match=r"at most 1,000,000 positions"):
        read_table(text)


PIECES = [
    *("<table>", "</table>", "<tr>", "</tr>", "<td>", "</td>", "<th>", "</th>", "<thead>"),
    *("</thead>", "<tbody>", "<TD COLSPAN=2>", '<td rowspan="3">', "<td rowspan=0>", "<br>"),
    *('<td colspan="0">', "<td colspan=x rowspan=-1>", "<td rowspan=70000>", "&nbsp;", "&amp;"),
    *("<!--", "-->", "<![CDATA[", "]]>", "<?xml ", "<!DOCTYPE html>", "a", " ", "\n", "<", ">"),
    *("&", "\0", "\x01", "\ud800", "\ufeff", "<script>", "<h:td>", "</h:td>", "|", "---", ","),
]
HTML = st.lists(st.sampled_from(PIECES) | st.text(max_size=3), max_size=30).map("".join)


@settings(max_examples=200, deadline=None)
@given(HTML)
def test_any_text_is_a_whole_table_or_an_input_error(text: str) -> None:
    for form in ("html", None):
        try:
            table = read_table(text, format=form)
        except InputError:
            continue
        assert sorted(set(table.grid.ravel().tolist())) == list(range(len(table.cells)))
        starts = [(c.rows[0], c.columns[0]) for c in table.cells]
        assert starts == sorted(starts)


def test_tags_in_any_case() -> None:
    plain = '<table><tr><th>a</th><td colspan="2">b</td></tr><tr><td>1</td><td>2</td></tr></table>'
    cells = read_table(plain).cells
    mixed = plain.replace("tr>", "TR>").replace("colspan", "ColSpan")
    capitals = mixed.replace("<td", "<TD").replace("</td", "</TD")
    for text in (mixed, capitals, mixed.replace("table", "Table")):
        assert read_table(text).cells == cells
