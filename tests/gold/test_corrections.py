"""Corrections as a frame and in CSV files."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from extractbench_nb.core.values import bracketed, member
from extractbench_nb.errors import InputError
from extractbench_nb.gold.versions import CORRECTIONS, corrections, save_corrections

COLUMNS = CORRECTIONS.names


def frame(*rows: dict[str, Any]) -> pd.DataFrame:
    names = list(dict.fromkeys(name for row in rows for name in row))
    cells = {name: [row.get(name, pd.NA) for row in rows] for name in names}
    return pd.DataFrame({name: pd.Series(c, dtype=object) for name, c in cells.items()})


def one(**row: Any) -> pd.DataFrame:
    return frame({"document": "a", "path": "$.x", "new": 1} | row)


def written(found: pd.DataFrame) -> list[Any]:
    """Return the cells such that 1 and True, 1 and 1.0, NA and None differ."""
    return [[repr(cell) for cell in row] for row in found.itertuples(index=False)]


def test_a_frame_becomes_complete() -> None:
    found = corrections(
        frame(
            {"document": "a", "path": "$.x", "new": None, "who": "bo"},
            {"document": "a", "path": "$.l[-]", "new": {"k": [1]}},
            {"document": "b", "path": "$.l[+2]", "new": "", "op": "add"},
            {"document": "b", "path": "$.y", "op": "remove", "old": None},
        ),
        who="ada",
        why="read again",
    )
    assert list(found) == COLUMNS
    assert found["op"].tolist() == ["replace", "add", "add", "remove"]
    assert written(found[["old", "new"]]) == [
        ["<NA>", "None"],
        ["<NA>", "{'k': [1]}"],
        ["<NA>", "''"],
        ["None", "<NA>"],
    ]
    assert found["who"].tolist() == ["bo", "ada", "ada", "ada"]
    assert set(found["why"]) == {"read again"}
    assert found["when"].isna().all()


def test_the_source_is_not_changed_and_not_shared() -> None:
    value = {"k": [1]}
    source = one(new=value)
    before = source.copy(deep=True)
    found = corrections(source, who="ada")
    found.loc[0, "new"]["k"].append(2)
    assert value == {"k": [1]}
    pd.testing.assert_frame_equal(source, before)


def test_a_frame_of_suspects_is_a_source() -> None:
    suspects = frame(
        {"path": "$.a", "kind": "differs_from_gold", "gold": 1, "consensus": 2},
        {"path": "$.b", "kind": "empty_in_gold", "gold": None, "consensus": "x"},
        {"path": "$.c[+4]", "kind": "item_missing_in_gold", "gold": None, "consensus": {"k": 1}},
    ).assign(document="d", runs=5, score=0.5)
    found = corrections(suspects)
    assert found[["path", "op", "new"]].to_numpy().tolist() == [
        ["$.a", "replace", 2],
        ["$.b", "add", "x"],
        ["$.c[+4]", "add", {"k": 1}],
    ]
    assert found["old"].tolist() == [1, pd.NA, pd.NA]


BAD = {
    "no column path": (pd.DataFrame({"document": ["a"], "new": [1]}), "no column 'path'"),
    "no column new": (pd.DataFrame({"document": ["a"], "path": ["$"]}),
                      "no column 'new'; it has document, path"),
    "a column misspelt": (pd.DataFrame({"document": ["a"], "path": ["$"], "nwe": [1]}),
                          "no column 'new'; did you mean 'nwe'"),
    "unknown op": (one(op="repalce"), "did you mean 'replace'"),
    "not a path": (one(path="x.y"), r"path is 'x.y'; expected an instance path"),
    "half a path": (one(path="$.x["), "expected an instance path"),
    "pointer": (one(path="/x"), "expected an instance path"),
    "document": (one(document=3), "document is 3; expected a text"),
    "no new": (one(new=pd.NA), "new is missing; .*null is None"),
    "NaN": (one(new=[float("nan")]), "new is list; expected JSON"),
    "infinite": (one(new=float("inf")), "expected JSON"),
    "a class": (one(new=object()), "expected JSON"),
    "a set": (one(new={1}), "expected JSON"),
    "huge": (one(new=10**5000), "expected JSON"),
    "remove root": (one(op="remove", path="$"), "the root cannot be removed"),
    "add below an added item": (one(path="$.l[+1].k"), r"add it as a whole .* at \[-\]"),
    "replace the end": (one(path="$.l[-]", op="replace"), r"gold has no such item"),
    "who": (one(who=3), "who is 3"),
    "twice": (frame(*[{"document": "a", "path": p, "new": 1} for p in ("$.x", "$['x']")]),
              r"row 1 \('a', \$\['x'\]\) and corrections row 0 .* one correction per value"),
    "below": (frame(*[{"document": "a", "path": p, "new": 1} for p in ("$.x", "$.x[0].y")]),
              "row 1 .* and corrections row 0"),
    "above": (frame(*[{"document": "a", "path": p, "new": 1} for p in ("$.x[0].y", "$.x")]),
              "row 1 .* and corrections row 0"),
    "root and below": (frame(*[{"document": "a", "path": p, "new": 1} for p in ("$.x", "$")]),
                       "one correction per value"),
    "a type": (3, "corrections are int; expected a frame"),
    "no file": ("x.csv", "x.csv' cannot be read"),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD)
def test_bad_input_is_one_error_that_names_the_row(name: str) -> None:
    source, message = BAD[name]
    with pytest.raises(InputError, match=message):
        corrections(source)


# --- round trips ------------------------------------------------------------------------------

TEXTS = st.one_of(
    st.sampled_from(
        ["", "null", "12", '"', "=1+1", "'=1", "-5", "@x", "\r", "a\nb", "\ufeff", "é"]
    ),
    st.text(max_size=8),
)
VALUES = st.recursive(
    st.one_of(
        st.none(),
        st.booleans(),
        st.integers(),
        st.sampled_from([2**63, 10**40, 1.0, -0.0, 1e300, 0.1]),
        st.floats(allow_nan=False, allow_infinity=False),
        TEXTS,
    ),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=5,
)
REMARKS = st.one_of(st.just(pd.NA), TEXTS.filter(bool))


@st.composite
def frames(draw: st.DrawFn) -> pd.DataFrame:
    rows = []
    keys = draw(st.lists(TEXTS, min_size=1, max_size=4, unique=True))
    for key in keys:
        op = draw(st.sampled_from(["replace", "add", "remove"]))
        path = "$" + (member(key) if draw(st.booleans()) else bracketed(key))
        old, new = draw(VALUES | st.just(pd.NA)), draw(VALUES)
        if op == "add":
            old, path = pd.NA, path + draw(st.sampled_from(["", "[-]"]))
        row = {"document": draw(st.sampled_from(["a", "b c"])), "path": path, "op": op, "old": old}
        row |= {"new": pd.NA if op == "remove" else new}
        rows.append(row | {name: draw(REMARKS) for name in ("who", "when", "why")})
    return frame(*rows)


@given(frames())
def test_csv_and_back_gives_the_same_frame(
    tmp_path_factory: pytest.TempPathFactory, source: pd.DataFrame
) -> None:
    target = tmp_path_factory.getbasetemp() / "round.csv"
    expected = corrections(source)
    again = corrections(save_corrections(source, target))
    assert written(again) == written(expected)
    pd.testing.assert_series_equal(again.dtypes, expected.dtypes)


def test_no_cell_of_the_csv_file_is_a_formula(tmp_path: Path) -> None:
    source = one(document="=a", who="+1", when="-1", why="@sum(1)", old="=1+1", new="\t=2")
    file = save_corrections(source, tmp_path / "x.csv")
    text = file.read_text(encoding="utf-8-sig")
    rows = list(csv.reader(text.splitlines()))
    assert rows[1] == ["'=a", "$.x", "replace", '"=1+1"', '"\\t=2"', "'+1", "'-1", "'@sum(1)"]


CSV = {
    "a text without quotes": ("new\na,$.x,abc", "row 2: new is 'abc'; expected JSON; a text needs"),
    "NaN": ("new\na,$.x,NaN", "expected JSON"),
    "cut off": ('new\na,$.x,"[1"', r"new is '\[1'; expected JSON"),
    "a column": ("value\na,$.x,1", "no column 'new'"),
    "cells": ("new\na,$.x", "row 2 has 2 cells; expected 3"),
    "quote": ('new\na,$.x,"1', "is not CSV"),
    "no new": ("new\na,$.x,", "new is missing"),
}


@pytest.mark.parametrize("name", CSV)
def test_bad_csv_is_one_error(tmp_path: Path, name: str) -> None:
    text, message = CSV[name]
    file = tmp_path / "x.csv"
    file.write_text(f"document,path,{text}\n", encoding="utf-8")
    with pytest.raises(InputError, match=message):
        corrections(file)
