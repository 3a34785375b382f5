"""Answers of models as tables: each repair has a name, and nothing is lost."""

from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from extractbench_nb.construction.answers import READING_KINDS, read_answer
from extractbench_nb.construction.comparing import compare
from extractbench_nb.errors import InputError

TABLE = "k,v\na,1\nb,2"
ROWS = [["a", "1"], ["b", "2"]]

#: Answer, rows, kinds of notes, and what keeps the answer from being direct.
CASES: list[tuple[str, str, list[list[str]], list[str], str | None]] = [
    ("fenced", f"```csv\n{TABLE}\n```", ROWS, [], None),
    ("plain", TABLE, ROWS, [], "fence_missing"),
    ("other label", f"```\n{TABLE}\n```", ROWS, [], "fence_label"),
    ("upper case", f"```CSV\n{TABLE}\n```", ROWS, [], "fence_label"),
    ("unclosed", f"```csv\n{TABLE}", ROWS, ["fence_unclosed"], "fence_unclosed"),
    ("output tags", f"<output>```csv\n{TABLE}\n```</output>", ROWS, [], None),
    ("thoughts", f"<think>k,v?</think>```csv\n{TABLE}\n```", ROWS, ["thoughts"], "thoughts"),
    (
        "table in thoughts",
        f"<think>```csv\nx,y\n1,2\n```</think>\n```csv\n{TABLE}\n```",
        ROWS,
        ["thoughts"],
        None,
    ),
    ("unclosed thoughts", f"<think>hm\n```csv\n{TABLE}\n```", ROWS, ["thoughts"], None),
    (
        "two tables",
        f"```csv\nk,v\nx,9\n```\ncorrected:\n```csv\n{TABLE}\n```",
        ROWS,
        ["several_tables"],
        None,
    ),
    ("the same table twice", f"```csv\n{TABLE}\n```\n```csv\n{TABLE}\n```", ROWS, [], None),
    ("code", f"```python\nprint(1)\n```\n```csv\n{TABLE}\n```", ROWS, [], None),
    (
        "Markdown",
        "| k | v |\n|---|---|\n| a | 1 |\n| b | 2 |",
        ROWS,
        ["fence_missing", "other_format"],
        "other_format",
    ),
    (
        "JSON",
        '```json\n[{"k": "a", "v": 1}, {"k": "b", "v": 2}]\n```',
        ROWS,
        ["other_format"],
        "other_format",
    ),
    (
        "HTML",
        "<table><tr><th>k</th><th>v</th></tr><tr><td>a</td><td>1</td></tr></table>",
        ROWS[:1],
        ["fence_missing", "other_format"],
        "other_format",
    ),
    ("semicolons", "```csv\nk;v\na;1\nb;2\n```", ROWS, ["other_delimiter"], None),
    (
        "prose around it",
        f"Here is the table that you asked for:\n\n{TABLE}\n",
        ROWS,
        ["fence_missing", "mended"],
        "fence_missing",
    ),
    ("byte order mark", f"\ufeff{TABLE}", ROWS, [], "fence_missing"),
    (
        "unquoted thousands",
        "k,v,w\na,1,234,x\nb,12,345,678,y",
        [["a", "1,234", "x"], ["b", "12,345,678", "y"]],
        ["thousands_joined"],
        "fence_missing",
    ),
    (
        "ambiguous thousands",
        "k,v,w\na,1,234,567",
        [["a", "1,234", "567"]],
        ["thousands_joined"],
        "fence_missing",
    ),
    (
        "more fields than names",
        "k,v\na,1,x\nb,2,y",
        [["a", "1", "x"], ["b", "2", "y"]],
        ["row_too_long"],
        "fence_missing",
    ),
    (
        "fewer fields than names",
        "k,v\na\nb,2",
        [["a", ""], ["b", "2"]],
        ["row_too_short"],
        "fence_missing",
    ),
    ("commas at the ends", "k,v,\na,1,\nb,2,", ROWS, [], "fence_missing"),
    (
        "header twice the same",
        "k,v,v\na,1,5\nb,2,6",
        [["a", "1", "5"], ["b", "2", "6"]],
        ["duplicate_header"],
        "fence_missing",
    ),
    ("blank lines", "k,v\n\na,1\n\n\nb,2\n", ROWS, [], "fence_missing"),
    ("Windows lines", "k,v\r\na,1\r\nb,2\r\n", ROWS, [], "fence_missing"),
    (
        "quote that never closes",
        'k,v\n"a,1\nb,2',
        [['"a', "1"], ["b", "2"]],
        ["mended"],
        "fence_missing",
    ),
    ("leading zeros", "k,v\n007,1", [["007", "1"]], [], "fence_missing"),
    ("no rows", "k,v\n", [], ["no_rows"], "fence_missing"),
    ("nothing", "", [], ["no_answer"], "no_answer"),
    ("thoughts alone", "<think>hm</think>", [], ["thoughts", "no_answer"], "no_answer"),
    ("refusal", "I cannot do that.", [], ["fence_missing", "no_table"], "no_table"),
]


@pytest.mark.parametrize(
    "answer, rows, kinds, mode", [c[1:] for c in CASES], ids=[c[0] for c in CASES]
)
def test_answers(answer: str, rows: list[list[str]], kinds: list[str], mode: str | None) -> None:
    found = read_answer(answer)
    assert found.frame.to_numpy().tolist() == rows
    assert [kind for kind, _ in found.notes] == kinds
    assert found.failure_mode == mode
    assert found.direct is (mode is None)
    assert found.mapped is bool(rows)
    assert {kind for kind, _ in found.notes} <= READING_KINDS.keys()


def test_names_of_columns_are_unique() -> None:
    found = read_answer("k,v,v,,v (2)\na,2,1,x,3\n")
    assert list(found.columns) == ["k", "v", "v (3)", "column 4", "v (2)"]
    assert found.columns["v"] == ["1"]  # in the order of the content


@pytest.mark.parametrize(
    "given",
    [
        [{"k": "a", "v": 1}, {"k": "b", "v": 2}],
        [["k", "v"], ["a", 1], ["b", 2.0]],
        {"k": ["a", "b"], "v": [1, 2]},
        pd.DataFrame({"k": ["a", "b"], "v": [1, 2]}),
        pd.DataFrame({"v": [1, 2]}, index=pd.Index(["a", "b"], name="k")),
    ],
)
def test_other_inputs(given: Any) -> None:
    assert read_answer(given).frame.to_numpy().tolist() == ROWS
    assert compare(TABLE, given, keys="k").summary["cell_f1"] == 1.0


@pytest.mark.parametrize("suffix", [".csv", ".tsv", ".txt", ".json"])
def test_files(tmp_path: Path, suffix: str) -> None:
    texts = {".tsv": TABLE.replace(",", "\t"), ".json": '[{"k": "a", "v": 1}, {"k": "b", "v": 2}]'}
    path = tmp_path / f"table{suffix}"
    path.write_text(texts.get(suffix, TABLE), encoding="utf-8")
    assert read_answer(path).frame.to_numpy().tolist() == ROWS


def test_other_objects_are_errors() -> None:
    with pytest.raises(InputError, match="predicted is int"):
        read_answer(3)
    with pytest.raises(InputError, match="missing"):
        read_answer(Path("missing.csv"))


def test_a_frame_without_columns_is_no_table() -> None:
    found = compare(TABLE, pd.DataFrame(), keys="k")
    assert found.meta["failure_mode"] == "no_table"
    assert found.cells["outcome"].unique().tolist() == ["structural"]


def test_gold_that_is_the_name_of_a_file_is_explained() -> None:
    with pytest.raises(InputError, match=r"'gold\.csv'.* pass a file as pathlib\.Path"):
        compare("gold.csv", TABLE)


@pytest.mark.parametrize(
    "gold, kinds",
    [
        ("k,v\n,1\nb,2\n", ["blank_key"]),
        ("k,v\nN/A,1\nb,2\n", ["blank_key"]),
        ("k,v\na,1\na,2\n", ["duplicate_key"]),
        ("k,v\n", ["no_rows"]),
    ],
)
def test_odd_keys_are_warnings(gold: str, kinds: list[str]) -> None:
    found = compare(gold, gold, keys="k")
    assert found.summary["cell_f1"] == 1.0
    assert found.warnings.query("side == 'gold'")["kind"].tolist() == kinds
