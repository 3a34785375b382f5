"""Validity against length: bins, counts, intervals, correlation."""

from typing import Any

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binomtest

from extractbench_nb.errors import InputError
from extractbench_nb.stats.failures import (
    LENGTH_COLUMNS,
    validity_by_length,
)


class Listed:
    """A dataset of which only the documents' figures are asked for."""

    def __init__(self, lengths: list[int | None]) -> None:
        names = [f"d{number}" for number in range(len(lengths))]
        figures = pd.array(lengths, dtype="Int64")
        self.documents = pd.DataFrame({"document": names, "gold_tokens": figures})

    def schema(self, schema_id: str, /) -> Any:
        raise AssertionError(schema_id)

    def gold(self, document_id: str, /) -> Any:
        raise AssertionError(document_id)


def tried(*runs: tuple[str, list[bool]]) -> pd.DataFrame:
    rows = [(run, f"d{n}", ok) for run, valid in runs for n, ok in enumerate(valid)]
    return pd.DataFrame(rows, columns=["run", "document", "valid"])


# --- bins --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "lengths, bins, ends",
    [
        ([1, 2, 3, 4, 5, 6], 3, [(1, 2, 2), (3, 4, 2), (5, 6, 2)]),
        ([6, 5, 4, 3, 2, 1], 3, [(1, 2, 2), (3, 4, 2), (5, 6, 2)]),
        ([1, 2, 3, 4, 5], 1, [(1, 5, 5)]),
        ([1, 2, 3, 4, 5], 2, [(1, 3, 3), (4, 5, 2)]),
        ([1, 2, 3], 5, [(1, 1, 1), (2, 2, 1), (3, 3, 1)]),
        ([7, 7, 9, 9], 5, [(7, 7, 2), (9, 9, 2)]),
        ([7, 7, 7], 5, [(7, 7, 3)]),
        ([1, 1, 1, 1, 1, 2, 3, 4], 3, [(1, 1, 5), (2, 2, 1), (3, 4, 2)]),  # equal ones together
        ([1, 2, 3, 9, 9, 9, 9, 9], 2, [(1, 3, 3), (9, 9, 5)]),  # most are equal
        ([9, 9, 9, 9, 9, 10, 11, 12], 2, [(9, 9, 5), (10, 12, 3)]),
        ([1, 2, 3, 9, 9, 9, 9, 9], 3, [(1, 2, 2), (3, 3, 1), (9, 9, 5)]),
        ([1, 5, 5, 5, 5, 5, 9], 2, [(1, 5, 6), (9, 9, 1)]),
        ([0, 0, 5, 6], 2, [(0, 0, 2), (5, 6, 2)]),
        ([1, None, 2, None], 2, [(1, 1, 1), (2, 2, 1), (None, None, 2)]),
        ([None], 2, [(None, None, 1)]),
    ],
)
def test_bins(lengths: list[int | None], bins: int, ends: list[Any]) -> None:
    found = validity_by_length(tried(("a", [True] * len(lengths))), Listed(lengths), bins=bins)
    shown = found[["shortest", "longest", "attempts"]].astype(object)
    assert [tuple(None if v is pd.NA else v for v in row) for row in shown.to_numpy()] == ends
    numbers: list[Any] = list(range(1, len(ends) + 1))
    if None in lengths:
        numbers[-1] = pd.NA
    assert found["bin"].tolist() == numbers


def test_a_row_says_what_is_in_its_bin() -> None:
    attempts = tried(("a", [True, True, False, False]), ("b", [True, False, True, False]))
    found = validity_by_length(attempts, Listed([10, 20, 40, 80]), bins=2)
    assert validity_by_length(attempts, Listed([1, 2, 3, 90]), bins=1)["median"].item() == 2.5
    assert list(found.columns) == LENGTH_COLUMNS.names
    assert found["measure"].tolist() == ["gold_tokens"] * 2
    assert found["median"].tolist() == [15, 60]
    assert found["documents"].tolist() == [2, 2]
    assert found["attempts"].tolist() == [4, 4]
    assert found["valid"].tolist() == [3, 1]
    assert found["share"].tolist() == [0.75, 0.25]
    by_run = validity_by_length(attempts, Listed([10, 20, 40, 80]), bins=2, by="run")
    assert list(by_run.columns) == ["run", *LENGTH_COLUMNS.names]
    assert by_run[["run", "bin", "valid", "attempts"]].to_numpy().tolist() == [
        ["a", 1, 2, 2],
        ["a", 2, 0, 2],
        ["b", 1, 1, 2],
        ["b", 2, 1, 2],
    ]


def test_bins_are_of_documents_however_many_runs_have_each() -> None:
    once, often = tried(("a", [True] * 6)), tried(*((run, [True] * 3) for run in "bcdefg"))
    found = validity_by_length(pd.concat([once, often]), Listed([1, 2, 3, 4, 5, 6]), bins=2)
    assert found["documents"].tolist() == [3, 3]
    assert found["attempts"].tolist() == [3 + 18, 3]


@pytest.mark.parametrize("confidence", [0.5, 0.95, 0.999])
@pytest.mark.parametrize("valid", range(8))
def test_intervals_are_wilsons(valid: int, confidence: float) -> None:
    attempts = tried(("a", [number < valid for number in range(7)]))
    found = validity_by_length(attempts, Listed([5] * 7), confidence=confidence)
    low, high = binomtest(valid, 7).proportion_ci(confidence, method="wilson")
    assert found[["low", "high"]].iloc[0].tolist() == pytest.approx([low, high], abs=1e-9)
    assert found.eval("0 <= low <= share <= high <= 1").all()


@pytest.mark.parametrize("runs", [1, 2, 6])
def test_intervals_are_those_of_documents(runs: int) -> None:
    """Six runs of four documents say nothing of a 24th document."""
    one = [True, True, False, True]
    attempts = tried(*((f"r{number}", one) for number in range(runs)))
    row = validity_by_length(attempts, Listed([5] * 4)).iloc[0]
    low, high = binomtest(3, 4).proportion_ci(method="wilson")
    assert [row["low"], row["high"]] == pytest.approx([low, high], abs=1e-9)
    assert [row["attempts"], row["documents"]] == [4 * runs, 4]


RUNS = st.lists(
    st.lists(st.tuples(st.integers(0, 9), st.booleans()), min_size=1, max_size=12), max_size=4
)
FIGURES = st.lists(st.none() | st.integers(0, 30), min_size=10, max_size=10)


def _frame(runs: list[list[tuple[int, bool]]]) -> pd.DataFrame:
    rows = [
        (f"r{number}", f"d{document}", valid)
        for number, run in enumerate(runs)
        for document, valid in run
    ]
    frame = pd.DataFrame(rows, columns=["run", "document", "valid"])
    return frame.astype({"valid": bool})


@given(RUNS, FIGURES, st.integers(1, 6), st.randoms())
@settings(max_examples=30)
def test_attempts_add_up_in_any_order(
    runs: Any, figures: list[int | None], bins: int, random: Any
) -> None:
    attempts, dataset = _frame(runs), Listed(figures)
    found = validity_by_length(attempts, dataset, bins=bins)
    assert found["attempts"].sum() == len(attempts)
    assert found["valid"].sum() == attempts["valid"].sum()
    known = found[found["bin"].notna()]
    assert known["bin"].tolist() == list(range(1, len(known) + 1))
    lengths = dict(zip(dataset.documents["document"], figures, strict=True))
    different = {lengths[d] for d in attempts["document"]} - {None}
    assert len(known) == min(bins, len(different))
    assert (known["longest"].iloc[:-1].to_numpy() < known["shortest"].iloc[1:].to_numpy()).all()
    assert known["median"].between(known["shortest"], known["longest"]).all()
    order = random.sample(range(len(attempts)), len(attempts))
    again = validity_by_length(attempts.iloc[order], dataset, bins=bins)
    pd.testing.assert_frame_equal(again, found)
    parts = validity_by_length(attempts, dataset, bins=bins, by="run")
    sums = parts.groupby("bin", dropna=False)[["attempts", "valid"]].sum()
    assert sums.to_numpy().tolist() == found[["attempts", "valid"]].to_numpy().tolist()


# --- what is measured --------------------------------------------------------------------------


@pytest.mark.parametrize(
    "change, options, problem",
    [
        (None, {"of": "gold_token"}, "of is 'gold_token'; did you mean 'gold_tokens'"),
        (None, {"of": "pages"}, "dataset.documents: there is no column 'pages'"),
        (None, {"bins": 0}, "bins=0; expected a whole number of 1 or more"),
        (None, {"bins": 2.5}, "bins=2.5; expected a whole number"),
        (None, {"confidence": 1}, "confidence=1; it lies between 0 and 1"),
        (None, {"confidence": "x"}, "confidence='x'; it is a share"),
        (None, {"confidence": None}, "confidence=None; it is a share"),
        (None, {"by": ["run", ["x"]]}, r"by is \['x'\]; expected one of"),
        (lambda _: [], {}, "attempts is list; expected a DataFrame"),
        (None, {"by": "model"}, "by is 'model'; expected one of document, run, valid"),
        (None, {"by": "valid"}, "by is 'valid', a column of the result"),
        (None, {"by": []}, "by is empty"),
        (lambda f: f.assign(document="d 1"), {}, "unknown document 'd 1'; did you mean 'd1'"),
        (lambda f: f.drop(columns="valid"), {}, "attempts: there is no column 'valid'"),
    ],
)
def test_what_cannot_be_measured(change: Any, options: dict[str, Any], problem: str) -> None:
    attempts = tried(("a", [True, False]))
    given_ = attempts if change is None else change(attempts)
    with pytest.raises(InputError, match=problem.replace(".", r"\.")):
        validity_by_length(given_, Listed([1, 2]), **options)
