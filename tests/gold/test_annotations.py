"""Annotations: marked, replaced, removed, saved, read, and refused where they make no sense."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from extractbench_nb.errors import InputError, OutputError
from extractbench_nb.gold.annotations import DECISIONS, Annotations

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(), inner, max_size=2),
    max_leaves=5,
)


def test_a_mark_is_one_row_and_is_replaced() -> None:
    found = Annotations()
    row = {"run": "r", "document": "d", "path": "$.a", "metric": "m", "gold": 1}
    found.mark(row, "gold_wrong", "first")
    found.mark(pd.Series({**row, "predicted": [2]}), "acceptable")
    found.mark({**row, "run": "s"}, "confirmed")
    assert found.frame["decision"].tolist() == ["acceptable", "confirmed"]
    assert found.frame["predicted"].tolist() == [[2], None]
    assert found.get("r", "d", "$.a", "m") == ("acceptable", "")
    found.mark(row, "")
    assert found.get("r", "d", "$.a", "m") == ("", "")
    assert (len(found), repr(found)) == (1, "Annotations(1 confirmed)")


@given(st.lists(st.tuples(st.text(), st.sampled_from(sorted(DECISIONS)), st.text(), JSON)))
def test_what_is_saved_is_read(tmp_path_factory: Any, marks: list[Any]) -> None:
    path = tmp_path_factory.mktemp("a") / "annotations.json"
    written = Annotations(path)
    for name, decision, note, value in marks:
        written.mark({"path": f"$.{name}", "gold": value}, decision, note)
    again = Annotations(path)
    assert len(again) == len({name for name, *_ in marks})
    for name, *_ in marks:
        clean = name.encode("utf-8", "backslashreplace").decode()
        assert again.get("", "", f"$.{clean}", "") == written.get("", "", f"$.{name}", "")


def test_the_file_follows_each_change_and_is_readable(tmp_path: Path) -> None:
    path = tmp_path / "annotations.json"
    found = Annotations(path)
    assert not path.exists()
    found.mark({"path": "$.ü"}, "gold_wrong", "page 3")
    assert json.loads(path.read_text(encoding="utf-8"))[0]["path"] == "$.ü"
    found.mark({"path": "$.ü"}, "")
    assert json.loads(path.read_text(encoding="utf-8")) == []


@pytest.mark.parametrize(
    "arguments, message",
    [
        (("$.a", "gold_rong"), "decision is 'gold_rong'; did you mean 'gold_wrong'"),
        (("a", "confirmed"), r"path is 'a'; expected an instance path, '\$.total'"),
        (("$.a", "confirmed", "x" * 10_001), "the note has 10,001 characters"),
        (("$.a", "confirmed", None), "note is None; expected a str"),
    ],
)
def test_marks_that_make_no_sense_are_refused(arguments: Any, message: str) -> None:
    path, decision, *note = arguments
    found = Annotations()
    with pytest.raises(InputError, match=message):
        found.mark({"path": path}, decision, *note)
    assert len(found) == 0


@pytest.mark.parametrize(
    "content, message",
    [
        ("{", "is not JSON"),
        ("{}", "annotations are dict; expected a list"),
        ("[1]", r"annotations\[0\] is int; expected an object"),
        ('[{"path": "$.a"}]', r"annotations\[0\]: decision is ''"),
        ('[{"path": "$.a", "decison": "confirmed"}]', "no key 'decison'; did you mean 'decision'"),
        ('[{"path": 1, "decision": "confirmed"}]', "path is 1; expected a str"),
    ],
)
def test_files_that_are_something_else_are_refused_and_kept(
    tmp_path: Path, content: str, message: str
) -> None:
    path = tmp_path / "annotations.json"
    path.write_text(content)
    with pytest.raises(InputError, match=message):
        Annotations(path)
    assert path.read_text() == content


def test_a_file_that_cannot_be_written_loses_nothing(tmp_path: Path) -> None:
    found = Annotations(tmp_path / "none" / "annotations.json")
    with pytest.raises(OutputError):
        found.mark({"path": "$.a"}, "confirmed")
    assert len(found) == 1
