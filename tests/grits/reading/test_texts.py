"""CSV and Markdown: what is one, how it is divided, what is mended."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from extractbench_nb.errors import InputError
from extractbench_nb.grits.reading import read_table

NO_DELIMITER = ("no delimiter found: each line is one field",)
CSV = {
    "commas": ("a,b\n1,2", [["a", "b"], ["1", "2"]], ()),
    "semicolons, decimal commas": ("a;b\n1,5;2,5", [["a", "b"], ["1,5", "2,5"]], ()),
    "tabs": ("a\tb\n1, 2\t3\n", [["a", "b"], ["1, 2", "3"]], ()),
    "bars": ("a|b\n1|2", [["a", "b"], ["1", "2"]], ()),
    "thousands": (
        'a;b\n"1,000,000";2\n3;4',
        [["a", "b"], ["1,000,000", "2"], ["3", "4"]],
        (),
    ),
    "quotes": ('a,"b ""c"""\r\n"x\ny","z,"\r\n', [["a", 'b "c"'], ["x\ny", "z,"]], ()),
    "byte-order mark, empty lines": ("\ufeffa,b\n\n1,2\n\n", [["a", "b"], ["1", "2"]], ()),
    "old line ends": ("a,b\r1,2\r", [["a", "b"], ["1", "2"]], ()),
    "white space stays": ("a, b\n1 ,2", [["a", " b"], ["1 ", "2"]], ()),
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
    "NUL and surrogate": ("a,b\n\0,\ud800", [["a", "b"], ["\0", "\ud800"]], ()),
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
    with pytest.raises(InputError, match=r'no table is seen; .* pass format="csv"'):
        read_table(text)


MARKDOWN = {
    "a row of dashes that does not fit": (
        "| a | b | c |\n|---|---|\n| 1 | 2 | 3 |",
        [["a", "b", "c"], ["1", "2", "3"]],
        ("row of dashes with 2 columns below a header with 3",),
    ),
    "a row of dashes that does not fit, without bars around": (
        "a|b|c\n--|--\n1|2|3",
        [["a", "b", "c"], ["1", "2", "3"]],
        ("row of dashes with 2 columns below a header with 3",),
    ),
    "no row of dashes": (
        "Here:\n| a | b |\n| 1 | 2 |\nBye",
        [["a", "b"], ["1", "2"]],
        ("no row of dashes: the first row is taken for the header",),
    ),
    "in a quote": (
        "> Here:\n>\n> | a | b |\n> |---|---|\n> | 1 | >2 |",
        [["a", "b"], ["1", ">2"]],
        ("table in a quote",),
    ),
    "no quote": ("a | b\n--|--\n>1 | 2", [["a", "b"], [">1", "2"]], ()),
    "bars around": ("| a | b |\n|---|---|\n| 1 | 2 |", [["a", "b"], ["1", "2"]], ()),
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
        (),
    ),
    "fence, CRLF": ("```markdown\r\n| a |\r\n|---|\r\n| 1 |\r\n```", [["a"], ["1"]], ()),
    "dashes in the body": ("| a |\n|---|\n| b |\n|---|\n| c |", [["a"], ["b"], ["---"], ["c"]], ()),
    "no rows": ("| a | b |\n|---|---|", [["a", "b"]], ()),
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


def test_markdown_without_a_header() -> None:
    table = read_table("Here:\n|---|---|\n| 1 | 2 |")
    assert table.texts == [["1", "2"]]
    assert table.notes == ("no header above the row of dashes",)
    assert not any(cell.is_header for cell in table.cells)


def test_a_line_below_a_sentence_with_a_bar_is_no_row_of_dashes() -> None:
    with pytest.raises(InputError, match="no table is seen"):
        read_table("Rows | columns\n---\nmore")


ERRORS = {
    "no pipe table": (
        "markdown",
        "a,b\n1,2",
        "table: no pipe table in 'a,b 1,2'; expected a header",
    ),
    "two pipe tables": ("markdown", "|a|\n|-|\n\n|b|\n|-|\n", "table holds 2 tables; expected one"),
    "too long a field": ("csv", '"' + "x" * 200_000, "no CSV text that can be read: field larger"),
    "too many rows": ("csv", "a\n" * 1_000_001, "has 1,000,001 rows x 1 columns; expected at most"),
    "too many columns": (
        "markdown",
        "|" * 2_000_001 + "\n" + "|-" * 2_000_000 + "|",
        "expected at",
    ),
}


@pytest.mark.parametrize("form, text, message", ERRORS.values(), ids=ERRORS)
def test_errors(form: str, text: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        read_table(text, format=form)


def test_an_empty_text_is_an_empty_csv() -> None:
    assert read_table("", format="csv").grid.shape == (1, 0)


FIELDS = st.text("ab,;|\"'\n\r -:\\\0\ud800", max_size=6)


@settings(max_examples=200, deadline=None)
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
