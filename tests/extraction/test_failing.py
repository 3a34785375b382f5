"""How outputs fail: counted by any columns, and by the place where a text breaks."""

from collections import Counter
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import extractbench_nb as xb
from extractbench_nb.errors import InputError
from extractbench_nb.runs.outputs import FAILURES
from extractbench_nb.stats.failures import POSITION_COLUMNS, failure_modes, failure_positions
from tests.extraction.conftest import sample

#: One row per attempt: mode, run, domain, failure.
ROWS = [
    ("prompt", "a", "x", "none"),
    ("prompt", "a", "x", "trailing_comma"),
    ("prompt", "b", "y", "empty_response"),
    ("structured", "b", "x", "none"),
    ("structured", "a", "y", "empty_response"),
    ("prompt", "a", "x", "trailing_comma"),
    ("prompt", "b", "x", "none"),
]
TABLE = pd.DataFrame(ROWS, columns=["mode", "run", "domain", "failure"])


# --- by any columns ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "by, columns, cells",
    [
        ("run", ["a", "b", "total"], [[1, 1, 2], [2, 0, 2], [3, 1, 4]]),
        ("mode", ["prompt", "structured", "total"], [[1, 1, 2], [2, 0, 2], [3, 1, 4]]),
        (["run"], ["a", "b", "total"], [[1, 1, 2], [2, 0, 2], [3, 1, 4]]),
        (
            ("run", "domain"),
            [("a", "x"), ("a", "y"), ("b", "x"), ("b", "y"), ("total", "")],
            [[0, 1, 0, 1, 2], [2, 0, 0, 0, 2], [2, 1, 0, 1, 4]],
        ),
        (
            ["mode", "run", "domain"],
            [
                ("prompt", "a", "x"),
                ("prompt", "b", "x"),
                ("prompt", "b", "y"),
                ("structured", "a", "y"),
                ("structured", "b", "x"),
                ("total", "", ""),
            ],
            [[0, 0, 1, 1, 0, 2], [2, 0, 0, 0, 0, 2], [2, 0, 1, 1, 0, 4]],
        ),
    ],
)
def test_each_group_has_its_column(by: Any, columns: list[Any], cells: list[list[int]]) -> None:
    found = failure_modes(TABLE, by)
    assert found.index.tolist() == ["empty_response", "trailing_comma", "total"]
    assert found.columns.tolist() == columns
    assert found.columns.names == ([by] if isinstance(by, str) else list(by))
    assert found.to_numpy().tolist() == cells
    assert (found.dtypes == np.int64).all()


@pytest.mark.parametrize(
    "change, by, problem",
    [
        (lambda t: t, "modl", "by is 'modl'; did you mean 'mode'"),
        (lambda t: t, ["run", "modl"], "by is 'modl'; did you mean 'mode'"),
        (
            lambda t: t.assign(value=1),
            "failure",
            "by is 'failure', which does not name groups; name another",
        ),
        (
            lambda t: t,
            ["run", "failure"],
            "by is 'failure', which does not name groups; name another",
        ),
        (lambda t: t, ["run", ["x"]], r"by is \['x'\]; expected one of domain, mode, run"),
        (lambda _: None, "run", "attempts is NoneType; expected a DataFrame"),
        (lambda t: t, [], "by is empty; name a column"),
        (lambda t: t, None, "by is None; name a column"),
        (lambda t: t, 7, "by is 7; expected one of"),
        (lambda t: t.drop(columns="failure"), "run", "no column 'failure'"),
        (lambda t: t.assign(failure="empty"), "run", "unknown failure 'empty'; expected one of"),
        (lambda t: t.assign(failure=pd.NA), "run", "unknown failure <NA>"),
    ],
)
def test_what_cannot_be_counted(change: Any, by: Any, problem: str) -> None:
    with pytest.raises(InputError, match=problem):
        failure_modes(change(TABLE), by)


ATTEMPTS = st.lists(
    st.tuples(st.sampled_from("abc"), st.sampled_from(["x", "y", None]), st.sampled_from(FAILURES)),
    min_size=1,
    max_size=30,
)


@given(ATTEMPTS, st.randoms())
@settings(max_examples=30)
def test_counts_add_up_in_any_order(rows: list[tuple[str, str | None, str]], random: Any) -> None:
    names = ["run", "domain", "failure"]
    table = pd.DataFrame(rows, columns=names)
    found = failure_modes(table, ["run", "domain"])
    counts = Counter((run, domain, failure) for run, domain, failure in rows)
    for place, (run, domain) in enumerate(found.columns[:-1]):
        known = None if pd.isna(domain) else domain
        for failure in found.index[:-1]:
            assert found.loc[failure].iloc[place] == counts[run, known, failure]
    failed = sum(failure != "none" for _, _, failure in rows)
    assert found.iloc[-1, -1] == failed == found.iloc[:-1, :-1].to_numpy().sum()
    assert len(found.columns) - 1 == len({row[:2] for row in rows})
    shuffled = pd.DataFrame(random.sample(rows, len(rows)), columns=names)
    again = failure_modes(shuffled, ["run", "domain"])
    assert again.sum().sort_index().tolist() == found.sum().sort_index().tolist()
    assert again.iloc[:, -1].equals(found.iloc[:, -1])


# --- by place ----------------------------------------------------------------------------------


def broken(*rows: tuple[str, int | None, int]) -> pd.DataFrame:
    return pd.DataFrame(rows, columns=["failure", "offset", "characters"])


@pytest.mark.parametrize(
    "offset, characters, bins, counts",
    [
        (0, 100, 4, [1, 0, 0, 0, 0]),
        (24, 100, 4, [1, 0, 0, 0, 0]),
        (25, 100, 4, [0, 1, 0, 0, 0]),  # a border is where the next part begins
        (99, 100, 4, [0, 0, 0, 1, 0]),
        (100, 100, 4, [0, 0, 0, 1, 0]),  # past the last character
        (1, 3, 3, [0, 1, 0, 0]),
        (50, 100, 1, [1, 0]),
        (0, 0, 2, [1, 0, 0]),
        (2, 3, 10, [0] * 6 + [1] + [0] * 4),
        (None, 100, 2, [0, 0, 1]),
        (None, 0, 2, [0, 0, 1]),
    ],
)
def test_a_place_is_in_one_part(
    offset: int | None, characters: int, bins: int, counts: list[int]
) -> None:
    found = failure_positions(broken(("malformed_json", offset, characters)), bins=bins)
    assert found["attempts"].tolist() == counts
    assert found["share"].tolist() == [float(count) for count in counts]
    assert found["start"].iloc[:-1].tolist() == [part / bins for part in range(bins)]
    assert found["end"].iloc[-2] == 1
    assert found[["start", "end"]].iloc[-1].isna().all()


@pytest.mark.parametrize("end", ["", "\n" * 1000, "\n```\n" + " " * 500])
def test_a_text_that_was_cut_off_breaks_at_its_end(end: str) -> None:
    name = sample().documents["document"].iloc[0]
    start = "```json\n" if "`" in end else ""
    outputs = pd.DataFrame({"run": ["a"], "document": [name], "raw": [f'{start}{{"a": 1{end}']})
    attempts = xb.read_outputs(outputs.assign(meta=[{"finish_reason": "length"}]), sample())
    assert attempts["failure"].tolist() == ["truncated_json"]
    found = failure_positions(attempts, bins=4)
    assert found["attempts"].tolist() == [0, 0, 0, 1, 0]


@pytest.mark.parametrize(
    "table, problem",
    [
        (broken(("none", None, 3), ("other", 4, 3)), "row 1 breaks at 4 of 3 characters"),
        (broken(("other", -1, 3)), "row 0 breaks at -1 of 3"),
        (broken(("other", 12345678, 12345670)), "breaks at 12345678 of 12345670 characters"),
        (
            broken(("other", 12345678, 12345670), ("none", None, 3)),
            "breaks at 12345678 of 12345670 characters",
        ),
        (broken(("other", 3, None)).astype("object"), "row 0 breaks at 3 of 0"),  # type: ignore[arg-type]
        (broken(("other", 1, 3)).drop(columns="offset"), "no column 'offset'"),
        (broken(("strange", 1, 3)), "unknown failure 'strange'"),
    ],
)
def test_places_that_cannot_be(table: pd.DataFrame, problem: str) -> None:
    with pytest.raises(InputError, match=problem):
        failure_positions(table)
    for bins in (0, -1, 2.0, True, "10", None):
        with pytest.raises(InputError, match=r"bins=.*; expected a whole number of 1 or more"):
            failure_positions(table, bins=bins)  # type: ignore[arg-type]


PLACES = st.integers(0, 50).flatmap(
    lambda size: st.tuples(
        st.sampled_from(FAILURES), st.none() | st.integers(0, size), st.just(size)
    )
)


@given(st.lists(PLACES, max_size=30), st.integers(1, 12), st.randoms())
@settings(max_examples=30)
def test_parts_add_up_in_any_order(rows: list[Any], bins: int, random: Any) -> None:
    found = failure_positions(broken(*rows), bins=bins)
    assert list(found.columns) == POSITION_COLUMNS.names
    totals = Counter(failure for failure, _, _ in rows if failure != "none")
    assert found.groupby("failure")["attempts"].sum().to_dict() == totals
    np.testing.assert_allclose(found.groupby("failure")["share"].sum(), 1.0)
    assert len(found) == len(totals) * (bins + 1)
    without = found[found["start"].isna()].set_index("failure")["attempts"].to_dict()
    placeless = Counter(failure for failure, offset, _ in rows if offset is None)
    assert without == {name: placeless[name] for name in totals}
    again = failure_positions(broken(*random.sample(rows, len(rows))), bins=bins)
    pd.testing.assert_frame_equal(again, found)


# --- of outputs that were read ------------------------------------------------------------------
