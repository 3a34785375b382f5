"""Answers of models as tables: nothing is lost, and what was repaired is said."""

from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from extractbench_nb.construction.answers import read_answer
from extractbench_nb.construction.comparing import compare
from extractbench_nb.errors import InputError

TABLE = "k,v\na,1\nb,2"
ROWS = [["a", "1"], ["b", "2"]]
FENCED = f"```csv\n{TABLE}\n```"

#: Answer, rows, whether AOE's code reads it, and a part of each problem.
CASES: dict[str, tuple[str, list[list[str]], bool, list[str]]] = {
    "fenced": (FENCED, ROWS, True, []),
    "plain": (TABLE, ROWS, False, []),
    "other label": (f"```\n{TABLE}\n```", ROWS, False, []),
    "unclosed": (f"```csv\n{TABLE}", ROWS, False, ["never ends"]),
    "output tags": (f"<output>{FENCED}</output>", ROWS, True, []),
    "thoughts": (f"<think>k,v?</think>{FENCED}", ROWS, False, ["thoughts"]),
    "table in thoughts": (f"<think>```csv\nx\n1\n```</think>{FENCED}", ROWS, True, ["thoughts"]),
    "unclosed thoughts": (f"<think>hm\n{FENCED}", ROWS, True, ["thoughts"]),
    "two tables": (f"```csv\nk,v\nx,9\n```\nor\n{FENCED}", ROWS, True, ["the last of 2"]),
    "the same table twice": (f"{FENCED}\n{FENCED}", ROWS, True, []),
    "code": (f"```python\nprint(1)\n```\n{FENCED}", ROWS, True, []),
    "Markdown": ("| k | v |\n|---|---|\n| a | 1 |\n| b | 2 |", ROWS, False, []),
    "JSON": ('```json\n[{"k": "a", "v": 1}, {"k": "b", "v": 2}]\n```', ROWS, False, []),
    "semicolons": ("```csv\nk;v\na;1\nb;2\n```", ROWS, True, []),
    "prose": (f"Here is the table that you asked for:\n\n{TABLE}\n", ROWS, False, ["left out"]),
    "byte order mark": (f"\ufeff{TABLE}", ROWS, False, []),
    "thousands": (
        "k,v,w\na,1,234,x\nb,12,345,678,y",
        [["a", "1,234", "x"], ["b", "12,345,678", "y"]],
        False,
        ["2 rows: thousands"],
    ),
    "more fields": (
        "k,v\na,1,x\nb,2,y",
        [["a", "1", "x"], ["b", "2", "y"]],
        False,
        ["2 rows: more fields", "'column 3'"],
    ),
    "fewer fields": ("k,v\na\nb,2", [["a", ""], ["b", "2"]], False, ["1 row: fewer"]),
    "commas at the ends": ("k,v,\na,1,\nb,2,", ROWS, False, []),
    "blank lines, Windows": ("k,v\r\n\r\na,1\r\nb,2\r\n", ROWS, False, []),
    "open quote": ('k,v\n"a,1\nb,2', [['"a', "1"], ["b", "2"]], False, ["never closes"]),
    "no rows": ("k,v\n", [], False, ["a header without rows"]),
    "nothing": ("", [], False, ["is empty"]),
    "thoughts alone": ("<think>hm</think>", [], False, ["thoughts", "is empty"]),
    "refusal": ("I cannot do that.", [], False, ["no table"]),
}


@pytest.mark.parametrize("name", CASES)
def test_answers(name: str) -> None:
    answer, rows, is_direct, problems = CASES[name]
    found = read_answer(answer)
    assert found.frame.to_numpy().tolist() == rows
    assert (found.direct, found.mapped) == (is_direct, bool(rows))
    assert len(found.problems) == len(problems), found.problems
    for part, problem in zip(problems, found.problems, strict=True):
        assert part in problem


def test_names_of_columns_are_unique() -> None:
    found = read_answer("k,v,v,,v (2)\na,2,1,x,3\n")
    assert list(found.columns) == ["k", "v", "v (3)", "column 4", "v (2)"]


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
    assert compare(TABLE, given, keys="k").summary["cell_f1"] == 1.0


@pytest.mark.parametrize("suffix", [".csv", ".tsv", ".txt", ".json"])
def test_files(tmp_path: Path, suffix: str) -> None:
    texts = {".tsv": TABLE.replace(",", "\t"), ".json": '[{"k": "a", "v": 1}, {"k": "b", "v": 2}]'}
    path = tmp_path / f"table{suffix}"
    path.write_text(texts.get(suffix, TABLE), encoding="utf-8")
    assert read_answer(path).frame.to_numpy().tolist() == ROWS


def test_what_is_no_table() -> None:
    with pytest.raises(InputError, match="predicted is int"):
        read_answer(3)
    with pytest.raises(InputError, match="missing"):
        read_answer(Path("missing.csv"))
    with pytest.raises(InputError, match=r"'gold\.csv'.* pass a file as pathlib\.Path"):
        compare("gold.csv", TABLE)
    found = compare(TABLE, pd.DataFrame(), keys="k")
    assert found.cells["outcome"].unique().tolist() == ["structural"]


@pytest.mark.parametrize(
    "gold", ["k,v\n,1\nb,2\n", "k,v\nN/A,1\nb,2\n", "k,v\na,1\na,2\n", "k,v\n"]
)
def test_odd_keys_equal_themselves(gold: str) -> None:
    assert compare(gold, gold, keys="k").summary["cell_f1"] == 1.0
