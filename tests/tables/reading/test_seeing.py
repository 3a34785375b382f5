"""What is seen in a text: the table, whatever is around it, and no table where there is none."""

import json
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from extractbench_nb.errors import InputError
from extractbench_nb.tables.reading import read_table

TABLE = [["a", "b"], ["1", "2"]]

NO_TABLE = {
    "a refusal": "Sorry, I could not find\nany table in this document.",
    "lines that agree": "Unfortunately, I cannot do this.\nHowever, there is something else.",
    "lines that agree, and do not end": (
        "I looked at the page, but I could not find\nany table in it, so that nothing\nis said, so"
    ),
    "semicolons": "I looked at it; nothing is there.\nI looked again; still nothing there.",
    "great numbers": "Revenue was 1,000\nCosts were 2,000",
    "one great number": "1,234",
    "lists": "- apples, pears\n- plums, figs\n- nuts, grapes",
    "numbered lists": "1. apples, pears\n2. plums, figs",
    "records that do not agree": "a,b\n1\n1,2,3\n1,2,3,4",
    "a refusal in a fence": "```\nSorry, no table\nis here.\n```",
}


@pytest.mark.parametrize("text", NO_TABLE.values(), ids=NO_TABLE)
def test_prose_is_no_table(text: str) -> None:
    with pytest.raises(
        InputError,
        match=r'in which no table was found; .* xb.tables.read_table\(text, format="csv"\)',
    ):
        read_table(text)


LEFT_OUT = "left out before the records: "
CSV: dict[str, tuple[str, list[list[str]], tuple[str, ...]]] = {
    "commas with spaces": ("Name, Age\nAnn, 30\nBob, 41", [["Name", "Age"]], ()),
    "sentences with numbers": (
        "It was, so they said, 1\nThen it was, they say, 2\nThen there were, one said, 3",
        [["It was", "so they said", "1"]],
        (),
    ),
    "a line before, with commas": (
        "Here is the table, as you asked:\na,b\n1,2",
        TABLE,
        (LEFT_OUT + "'Here is the table, as you asked:'",),
    ),
    "lines before and after": (
        "Of course!\nHere it is:\n\na;b\n1;2\n\nLet me know, if there is more.",
        TABLE,
        (
            LEFT_OUT + "'Of course! Here it is:'",
            "left out after the records: 'Let me know, if there is more.'",
        ),
    ),
    "a total after an empty line": (
        "a,b\n1,2\n\nTotal",
        [*TABLE, ["Total", ""]],
        ("row 2: 1 position without a cell, filled",),
    ),
    "line ends in quotes": ('"Sales\nof 2020",b\n1,2', [["Sales\nof 2020", "b"], ["1", "2"]], ()),
}


@pytest.mark.parametrize("text, texts, notes", CSV.values(), ids=CSV)
def test_csv(text: str, texts: list[list[str]], notes: tuple[str, ...]) -> None:
    table = read_table(text)
    assert table.texts[: len(texts)] == texts
    assert table.notes == notes


INSIDE = {
    "csv": "a,b\n1,2",
    "json": '[{"a": 1, "b": 2}]',
    "html": "<table><tr><th>a</th><th>b</th></tr><tr><td>1</td><td>2</td></tr></table>",
    "markdown": "| a | b |\n|---|---|\n| 1 | 2 |",
}
AROUND = {
    "alone": "{fence}\n{inside}\n{end}",
    "with a label": "{fence}{label}\n{inside}\n{end}",
    "with prose": "Sure, here it is:\n\n{fence}{label}\n{inside}\n{end}\n\nWell, that is, all.",
    "not closed": "Here:\n{fence}{label}\n{inside}",
    "after words": "Here: {fence}{label}\n{inside}\n{end}\n",
    "beside a fence without a table": "```\npip install\n```\n{fence}\n{inside}\n{end}",
}


@pytest.mark.parametrize("fence", ["```", "~~~~"])
@pytest.mark.parametrize("around", AROUND.values(), ids=AROUND)
@pytest.mark.parametrize("label", INSIDE)
@pytest.mark.parametrize("line_end", ["\n", "\r\n"], ids=["lf", "crlf"])
def test_code_fences(label: str, around: str, fence: str, line_end: str) -> None:
    text = around.format(fence=fence, label=label, inside=INSIDE[label], end=fence)
    table = read_table(text.replace("\n", line_end))
    assert table.texts == TABLE
    assert table.notes == ()


MADE = {form: f"<think>Is it\n{INSIDE['csv']}?</think>\n{text}" for form, text in INSIDE.items()}
THOUGHTS = {
    **MADE,
}


@pytest.mark.parametrize("text", THOUGHTS.values(), ids=THOUGHTS)
def test_thoughts_are_left_out(text: str) -> None:
    table = read_table(text)
    assert table.texts == TABLE
    assert table.notes == ("thoughts left out",)


LABELS: dict[str, tuple[str, list[list[str]]]] = {
    "tsv": ("```tsv\na,b\tc\n1,2,3\t4\n```", [["a,b", "c"], ["1,2,3", "4"]]),
    "md": ("```md\n| a |\n|---|\n| `<td>` |\n```", [["a"], ["`<td>`"]]),
    "a label that is not so": (f"```html\n{INSIDE['markdown']}\n```", TABLE),
    "python first": (f"```python\n[[1, 2], [3, 4]]\n```\n```csv\n{INSIDE['csv']}\n```", TABLE),
    "sql after": (f"```\n{INSIDE['csv']}\n```\n```sql\nselect a,b\nfrom c,d\n```", TABLE),
}


@pytest.mark.parametrize("text, texts", LABELS.values(), ids=LABELS)
def test_labels_of_fences(text: str, texts: list[list[str]]) -> None:
    table = read_table(text)
    assert table.texts == texts
    assert set(table.notes) <= {"no delimiter found: each line is one field"}


def test_two_fences_with_tables_are_two_tables() -> None:
    with pytest.raises(InputError, match="table holds 2 tables; expected one"):
        read_table("```\na,b\n1,2\n```\nand\n```\na,b\n1,2\n```")


RECORDS = st.lists(
    st.fixed_dictionaries({"a": st.text(max_size=4), "b": st.integers() | st.none()}), min_size=2
)


@settings(max_examples=80, deadline=None)
@given(RECORDS)
def test_json_lines_are_the_array_of_their_lines(items: list[dict[str, Any]]) -> None:
    lines = "\n".join(map(json.dumps, items))
    assert read_table(lines).texts == read_table(items).texts


BAD_JSON = {
    "two arrays": ('{"a": [{}], "b": [{}]}', "table is an object with 2 arrays; expect"),
    "too long to be mended": (
        '[{"a": 1}, {"a"' * 2000,
        "table is not JSON: Expecting ':' delimiter",
    ),
}


@pytest.mark.parametrize("text, message", BAD_JSON.values(), ids=BAD_JSON)
def test_json_that_is_no_table(text: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        read_table(text, format="json")


@settings(max_examples=80, deadline=None)
@example([{"a": "\f", "b": None}, {"a": "", "b": None}], True, 1)
@example([{"a": '\\"', "b": None}, {"a": "{", "b": 1}], True, 9)
@example([{"a": "\U0001f600", "b": None}, {"a": "\U0001f600", "b": 1}], True, 15)
@given(RECORDS, st.booleans(), st.integers(0))
def test_json_cut_off_anywhere_keeps_what_was_whole(
    items: list[dict[str, Any]], is_ascii: bool, more: int
) -> None:
    begun = [json.dumps(items[: n + 1], ensure_ascii=is_ascii)[:-1] for n in range(len(items))]
    cut = begun[-1][: len(begun[0]) + more % (len(begun[-1]) - len(begun[0]) + 1)]
    found, whole = read_table(cut).texts, read_table(items).texts
    kept = 1 + sum(len(text) <= len(cut) for text in begun)
    assert found[:kept] == whole[:kept]
    assert len(found) <= kept + 1


FOUR, MENDED = [["a"], ["1"], ["2"], ["3"]], "JSON mended"
BEFORE, AFTER = "left out before the JSON: ", "left out after the JSON: "
#: Text, the texts of the table, and notes.
JSON: dict[str, tuple[str, list[list[str]], tuple[str, ...]]] = {
    "rows": ('[["a", "b"], [1, 2]]', TABLE, ()),
    "an object": ('{"title": "x", "rows": [{"a": 1.0, "b": 2}], "notes": ["y"]}', TABLE, ()),
    "before": ('Here is it: [{"a": 1, "b": 2}]', TABLE, (BEFORE + "'Here is it:'",)),
    "after": ('[{"a": 1, "b": 2}] and so on', TABLE, (AFTER + "'and so on'",)),
    "both": (
        'Here is, as asked:\n[\n {"a": 1,\n "b": 2}]\nHope it helps, bye.',
        TABLE,
        (BEFORE + "'Here is, as asked:'", AFTER + "'Hope it helps, bye.'"),
    ),
    "a line end in a text": ('[{"a": "x\ny\\f"}]', [["a"], ["x\ny\f"]], ()),
    "cut off": ('[{"a": 1, "b": 2}', TABLE, (MENDED,)),
    "cut off in a fence": ('```json\n[{"a": 1, "b": 2}, ', TABLE, (MENDED,)),
    "an object of Python": ("{'rows': [{'a': 1, 'b': 2}], 'note': None}", TABLE, (MENDED,)),
    "the last line cut off": ('{"a": 1}\n{"a": 2}\n{"a": 3', FOUR, (MENDED,)),
    "cut off in a key": ('{"a": 1}\n{"a": 2}\n{"a": 3}\n{"a', FOUR, (MENDED,)),
    "commas between lines": ('{"a": 1},\n{"a": 2},\n{"a": 3}', FOUR, ()),
    "a bracket in a text": ('[{"a": "{"', [["a"], ["{"]], (MENDED,)),
    "an item that is begun": ('[{"a": 1}, {"b', [["a"], ["1"]], (MENDED,)),
    "an item with a key": ('[{"a": 1}, {"b": ', [["a"], ["1"]], (MENDED,)),
    "a row that is begun": ('[["a"], ["1"], [', [["a"], ["1"]], (MENDED,)),
    "a word that is begun": ('[{"a": 1, "b": fal', [["a"], ["1"]], (MENDED,)),
}


@pytest.mark.parametrize("text, texts, notes", JSON.values(), ids=JSON)
def test_json(text: str, texts: list[list[str]], notes: tuple[str, ...]) -> None:
    for form in (None, "json"):
        table = read_table(text, format=form)
        assert table.texts == texts
        assert table.notes == notes


FIRST = {
    "a tag of tables in prose, markdown": f"No <table> is here\n\n{INSIDE['markdown']}",
    "a tag of cells in prose, csv": f"Without <td > it is:\n{INSIDE['csv']}",
    "a tag of cells first": "<td>a<td>b<tr><td>1<td>2",
}


@pytest.mark.parametrize("text", FIRST.values(), ids=FIRST)
def test_what_is_seen_first(text: str) -> None:
    assert read_table(text).texts == TABLE


@pytest.mark.parametrize(
    "text",
    [
        "```\n" * 50_000,
        "\n" * 500_000 + "a",
        "[\n" * 50_000,
        "|" + "-" * 200_000 + "x",
        '"' * 99_999 + "\na,b",
        "!" * 100_000 + "\n" + ". " * 100_000,
        "<think>" * 50_000,
        "`<" * 100_000,
        "`<td" * 50_000 + "<table",
        "</table" * 50_000 + "<tr" * 10,
        "<a" * 100_000 + ":",
        ":" + " " * 200_000 + "x",
        "x: [" * 50_000,
        "{'" * 100_000,
        "```csv\n" * 50_000 + '"' * 2 + "x" * 200_000,
        "|a b|\nsome words\n" * 25_000,
        json.dumps(json.dumps(['{"a": "b"}'] * 20_000))[1:],
        '[{"a": ' + json.dumps(json.dumps(["b"] * 50_000)) + ", a",
        "[{'a" + '"' * 200_000,
        '[{"a": "' + "\\" * 200_001 + ", a",
        "words, words" + ".)" * 100_000 + "x\nand, b",
    ],
    ids=range(21),
)
def test_long_texts_are_refused_soon(text: str) -> None:
    """A quadratic search would need minutes."""
    with pytest.raises(InputError):
        read_table(text)
