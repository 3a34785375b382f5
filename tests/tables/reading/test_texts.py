"""CSV and Markdown: what is one, how it is divided, what is mended."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from extractbench_nb.errors import InputError
from extractbench_nb.tables.reading import read_table
from extractbench_nb.tables.table_formats import table_of_markdown

NO_DELIMITER = ("no delimiter found: each line is one field",)
CSV = {
    "commas": ("a,b\n1,2", [["a", "b"], ["1", "2"]], ()),
    "tabs": ("a\tb\n1, 2\t3\n", [["a", "b"], ["1, 2", "3"]], ()),
    "thousands": (
        'a;b\n"1,000,000";2\n3;4',
        [["a", "b"], ["1,000,000", "2"], ["3", "4"]],
        (),
    ),
    "quotes": ('a,"b ""c"""\r\n"x\ny","z,"\r\n', [["a", 'b "c"'], ["x\ny", "z,"]], ()),
    "a quote that swallows lines": (
        'Y;S\n1;"a x\n2;b\n',
        [["Y", "S"], ["1", '"a x'], ["2", "b"]],
        ("quote that never closes, read as a character",),
    ),
    "byte-order mark, empty lines": ("\ufeffa,b\n\n1,2\n\n", [["a", "b"], ["1", "2"]], ()),
    "white space stays": ("a, b\n1 ,2", [["a", "b"], ["1 ", "2"]], ()),
    "short row": (
        "a,b,c\n1\n1,2,3",
        [["a", "b", "c"], ["1", "", ""], ["1", "2", "3"]],
        ("row 1: 2 positions without a cell, filled",),
    ),
    "long row": (
        "a,b\n1,2\n1,2,3",
        [["a", "b", ""], ["1", "2", ""], ["1", "2", "3"]],
        (
            "row 0: 1 position without a cell, filled",
            "row 1: 1 position without a cell, filled",
        ),
    ),
    "one line": ("a,b", [["a", "b"]], ()),
    "semicolons, more commas": (
        "Umsatz, netto;Kosten, brutto\n1,5;2,5\n3,5;4,5",
        [["Umsatz, netto", "Kosten, brutto"], ["1,5", "2,5"], ["3,5", "4,5"]],
        (),
    ),
    "semicolons in quotes": ('"a;b","c;d"\n"1;2","3;4"', [["a;b", "c;d"], ["1;2", "3;4"]], ()),
    "a quote after a space": (
        'Name, Note\nA, "x, y"\nB,  "z"\n "C" ,"d, ""e"""',
        [["Name", "Note"], ["A", "x, y"], ["B", "z"], ["C ", 'd, "e"']],
        (),
    ),
}


@pytest.mark.parametrize("text, texts, notes", CSV.values(), ids=CSV)
def test_csv(text: str, texts: list[list[str]], notes: tuple[str, ...]) -> None:
    table = read_table(text)
    assert table.texts == texts
    assert table.notes == notes
    assert all(cell.is_header == (cell.rows == (0,)) for cell in table.cells)
    assert read_table(text, format="csv").texts == texts


@pytest.mark.parametrize(
    "text, texts",
    [("a\n1\n2", [["a"], ["1"], ["2"]]), ("a\n1,2\n3\n4", [["a"], ["1,2"], ["3"], ["4"]])],
)
def test_one_column_must_be_called_csv(text: str, texts: list[list[str]]) -> None:
    table = read_table(text, format="csv")
    assert table.texts == texts
    assert table.notes == NO_DELIMITER
    with pytest.raises(InputError, match=r'no table was found; .*format="csv"'):
        read_table(text)


AFTER = "left out after the records: "
BEFORE = "left out before the records: "
OUTSIDE = {
    "a sentence in the last line": ("a,b\n1,2\nThat is all.", (AFTER + "'That is all.'",)),
    "a title": ("# Sales\na,b\n1,2", (BEFORE + "'# Sales'",)),
}


@pytest.mark.parametrize("text, notes", OUTSIDE.values(), ids=OUTSIDE)
def test_lines_around_csv(text: str, notes: tuple[str, ...]) -> None:
    table = read_table(text)
    assert table.texts == [["a", "b"], ["1", "2"]]
    assert table.notes == notes


@pytest.mark.parametrize(
    "text",
    [
        "There are no tables in the document | please check the page number",
        "There are no tables | please check the page",
        "I looked | for a table.",
        "Sorry about this, to all.\nSorry, I am so.\nSorry, I do so.",
    ],
)
def test_prose_with_delimiters_is_no_table(text: str) -> None:
    with pytest.raises(InputError, match="no table was found"):
        read_table(text)


MARKDOWN = {
    "no bars around": ("a | b\n:-- | --:\n1 | 2", [["a", "b"], ["1", "2"]], ()),
    "one column": ("| a |\n| - |\n| 1 |", [["a"], ["1"]], ()),
    "escaped bars": (
        "| a \\| b | c |\n|---|---|\n| \\\\ | 2 |",
        [["a | b", "c"], ["\\\\", "2"]],
        (),
    ),
    "empty cells": ("|  | b |\n|---|---|\n| 1 |  |\n||2|", [["", "b"], ["1", ""], ["", "2"]], ()),
    "br": ("| a<br>b |\n|---|\n| c<BR />d |", [["a b"], ["c d"]], ()),
    "text around": (
        "# Sales\n\nHere, as you asked:\n\n| a |\n|---|\n| 1 |\n\nThat - is | all.",
        [["a"], ["1"]],
        (
            "left out before the table: '# Sales Here, as you asked:'",
            "left out after the table: 'That - is | all.'",
        ),
    ),
    "dashes in the body": ("| a |\n|---|\n| b |\n|---|\n| c |", [["a"], ["b"], ["---"], ["c"]], ()),
    "ragged": (
        "| a | b |\n|---|---|\n| 1 |\n| 1 | 2 | 3 |",
        [["a", "b", ""], ["1", "", ""], ["1", "2", "3"]],
        (
            "row 0: 1 position without a cell, filled",
            "row 1: 2 positions without a cell, filled",
        ),
    ),
}


@pytest.mark.parametrize("text, texts, notes", MARKDOWN.values(), ids=MARKDOWN)
def test_markdown(text: str, texts: list[list[str]], notes: tuple[str, ...]) -> None:
    table = read_table(text)
    assert table.texts == texts
    assert table.notes == notes
    assert all(cell.is_header == (cell.rows == (0,)) for cell in table.cells)


SHOWN = {
    "**a**": "a",
    "__a b__": "a b",
    "*a*": "a",
    "_a_": "a",
    "***a***": "a",
    "**_a_**": "a",
    "a<br>b": "a b",
    "a&nbsp;&lt;b&gt;": "a <b>",
    "0.5**": "0.5**",
    "*p < 5": "*p < 5",
    "*p *q*": "*p q",
    "* a": "* a",
    "2 * 3 * 4": "2 * 3 * 4",
    "a_b_c a*b*c": "a_b_c a*b*c",
    "a <name> <1": "a <name> <1",
    "**": "**",
}


@pytest.mark.parametrize("text, shown", SHOWN.items())
def test_tidy_markdown_is_as_it_is_shown(text: str, shown: str) -> None:
    written = f"| {text} |\n|---|\n| {text} |"
    assert table_of_markdown(written, "table", tidy=True).texts[1][0].split() == shown.split()
    plain = text.replace("<br>", " ")
    assert table_of_markdown(written, "table").texts == [[plain], [plain]]


ERRORS = {
    "no pipe table": (
        "markdown",
        "a,b\n1,2",
        "table: no pipe table in 'a,b 1,2'; expected a header",
    ),
    "two pipe tables": ("markdown", "|a|\n|-|\n\n|b|\n|-|\n", "table holds 2 tables; expected one"),
    "too long a field": ("csv", '"' + "x" * 200_000, "table cannot be read as CSV: field larger"),
    "too many rows": (
        "csv",
        "a," * 1000 + "\n" + "a,b\n" * 1000,
        "has 1,001 rows x 1,001 columns; expected",
    ),
}


@pytest.mark.parametrize("form, text, message", ERRORS.values(), ids=ERRORS)
def test_errors(form: str, text: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        read_table(text, format=form)


FIELDS = st.text("ab,;|\"'\n\r -:\\\0\ud800", max_size=6)


@settings(max_examples=100, deadline=None)
@given(st.lists(FIELDS, max_size=12).map("\n".join), st.sampled_from([None, "csv", "markdown"]))
def test_any_text_is_a_whole_table_or_an_input_error(text: str, form: str | None) -> None:
    try:
        table = read_table(text, format=form)
    except InputError:
        return
    assert sorted(set(table.grid.ravel().tolist())) == list(range(len(table.cells)))


@settings(max_examples=100, deadline=None)
@given(
    st.integers(1, 4).flatmap(
        lambda width: st.lists(
            st.lists(
                st.text("ab|\\- ,1", max_size=5).map(str.strip), min_size=width, max_size=width
            ),
            min_size=1,
            max_size=5,
        )
    )
)
def test_markdown_that_is_written_is_read(rows: list[list[str]]) -> None:
    rows = [[text.replace("\\", "/") for text in row] for row in rows]
    lines = ["| " + " | ".join(text.replace("|", "\\|") for text in row) + " |" for row in rows]
    lines.insert(1, "|" + "---|" * len(rows[0]))
    assert read_table("\n".join(lines), format="markdown").texts == rows
