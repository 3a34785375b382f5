"""DataFrames as a notebook shows them: what is on the left, what is cut, and what is escaped."""

import re
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import extractbench_nb as xb
from extractbench_nb.errors import InputError
from extractbench_nb.views.formatting import frame_html

CELL = re.compile(r'<t[dh] style="text-align: (left|right);([^"]*)"[^>]*>(.*?)</t')


def cells(frame: pd.DataFrame, **options: Any) -> list[list[tuple[str, bool]]]:
    """Return text and side of the cells of each row: True is left."""
    rows = re.findall(r"<tr.*?</tr>", frame_html(frame, **options), re.DOTALL)
    return [[(text, side == "left") for side, _, text in CELL.findall(row)] for row in rows]


@pytest.mark.parametrize(
    "values, left",
    [
        ([1, 2], False),
        ([0.5, None], False),
        (pd.array([True, None], dtype="boolean"), False),
        (pd.array([1, None], dtype="Int64"), False),
        (["1,998", "62.5%"], False),
        (["<1×", "–", "", "2.6×", "$0.12", "-3"], False),
        ([None, None], False),
        (np.array([1, 2.5, None], dtype=object), False),
        (["a", None], True),
        (["3", "three"], True),
        (["2025-04-06"], True),
        (["13/0.9k"], True),
        ([{"a": 1}], True),
        ([(), ("x",)], True),
        ([1, "x"], True),
        (pd.Categorical(["low", "high"]), True),
    ],
)
def test_texts_are_on_the_left_and_numbers_on_the_right(values: Any, left: bool) -> None:
    head, *rows = cells(pd.DataFrame({"column": values}))
    assert head == [("", False), ("column", left)]
    assert {row[1][1] for row in rows} == {left}


def test_only_names_are_whole_where_a_width_is_given() -> None:
    long = "a very long text " * 9 + "."
    frame = pd.DataFrame({"run": [long], "gold": [long], "score": [0.123456]}, index=[long])
    (index, run, gold, score) = cells(frame, width=20)[1]
    assert [index[0], run[0]] == [long, long]
    assert gold[0] == "a very long text a …"
    assert score[0] == "0.123"
    assert cells(frame, width=None)[1][2][0] == long


def test_short_names_stay_on_one_line_and_long_texts_have_room() -> None:
    frame = pd.DataFrame({"run": ["heron-vision"], "path": ["$." + "a" * 60], "gold": ["a b"]})
    styles = [style for _, style, _ in CELL.findall(frame_html(frame))]
    assert styles == [*("", " white-space: nowrap;", " min-width: 14em;", "")] * 2


def test_rows_of_several_levels_keep_their_sides() -> None:
    frame = pd.DataFrame({"k": ["a", "a"], "i": [1, 2], "v": [3, 4], "t": ["x", "y"]})
    _, names, first, second = cells(frame.set_index(["k", "i"]))
    assert [side for _, side in names] == [True, False, False, True]
    assert first == [("a", True), ("1", False), ("3", False), ("x", True)]
    assert second == [("2", False), ("4", False), ("y", True)]


def test_heads_over_several_columns_are_left_alone() -> None:
    heads = pd.MultiIndex.from_product([["top"], ["n", "t"]])
    _, below, row = cells(pd.DataFrame([[1, "x"]], columns=heads))
    assert below == [("", False), ("n", False), ("t", True)]
    assert row == [("0", False), ("1", False), ("x", True)]


def test_a_large_frame_is_shortened_as_by_pandas() -> None:
    tall, broad = pd.DataFrame({"n": range(100)}), pd.DataFrame([["x"] * 30])
    assert "100 rows × 1 columns" in frame_html(tall)
    assert len(cells(tall)) == pd.get_option("display.min_rows") + 2
    with pd.option_context("display.max_columns", 20):
        assert "1 rows × 30 columns" in frame_html(broad)


@given(st.lists(st.text(st.characters(exclude_categories=["Cs"])), max_size=3))
def test_no_text_becomes_markup(texts: list[str]) -> None:
    hostile = [*texts, "</td><script>alert(1)</script><td>"]
    frame = pd.DataFrame({"gold": hostile, "run": hostile}, index=hostile)
    before = frame.copy()
    assert set(re.findall(r"</?(\w+)", frame_html(frame))) <= {
        *("div", "style", "table", "thead", "tbody", "tr", "th", "td")
    }
    pd.testing.assert_frame_equal(frame, before)


@pytest.mark.parametrize("frame", [pd.DataFrame(), pd.DataFrame({"a": []}), pd.DataFrame([1])])
def test_empty_and_nameless_frames_are_shown(frame: pd.DataFrame) -> None:
    assert frame_html(frame).count("<table") == 1


@pytest.mark.parametrize("width", [1, 0, -4])
def test_a_width_below_two_is_refused(width: int) -> None:
    with pytest.raises(InputError, match=f"width: expected 2 or more .* found {width}"):
        xb.views.format_frames(width)


def test_a_notebook_shows_frames_so_after_it_was_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    shell = pytest.importorskip("IPython.core.interactiveshell").InteractiveShell()
    monkeypatch.setattr("IPython.get_ipython", lambda: shell)
    render = shell.display_formatter.formatters["text/html"]
    frame = pd.DataFrame({"run": ["r" * 70]})
    assert "text-align: left" not in render(frame)
    xb.views.format_frames()
    assert 'left; min-width: 14em;">' + "r" * 70 in render(frame)
    assert "text-align: left" not in (frame._repr_html_() or "")


def test_frames_of_results_are_shown_for_reading_and_stay_frames() -> None:
    schema = {"type": "object", "properties": {"a": {"type": "number"}, "b": {"type": "string"}}}
    ev = xb.evaluate(schema, {"a": 1, "b": "x"}, {"a": 2, "b": "x"})
    fields = ev.fields
    heads = re.findall(r"<th[^>]*>([a-z_]+)</th>", fields._repr_html_())
    assert heads[:6] == ["path", "outcome", "reason", "gold", "predicted", "score"]
    assert ">0.000<" in fields._repr_html_()
    assert list(fields) == list(xb.core.Evaluation.spec("fields").names)
    assert type(fields.head(1)) is type(fields[["path"]]) is type(fields.copy()) is pd.DataFrame
    pd.testing.assert_frame_equal(fields.copy(), fields)
    pd.testing.assert_frame_equal(fields, fields.copy())
    with pd.option_context("display.notebook_repr_html", False):
        assert fields._repr_html_() is None
