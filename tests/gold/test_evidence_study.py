"""The shipped figures on real documents: counted anew in part, and as the page tells them."""

import os

import pandas as pd
import pytest

from extractbench_nb import load_dataset
from extractbench_nb.runs.dataset_statistics import shipped_frame
from scripts.make_evidence import (
    AGAINST,
    BAND_COLUMNS,
    BANDS,
    COUNT_COLUMNS,
    MISSING_COLUMNS,
    count_evidence,
    shares,
)

VARIABLE = "EXTRACTBENCH_DATASET"
COUNTS, BANDED, MISSING = (
    shipped_frame(f"gold/data/{spec.name}.csv", spec)
    for spec in (COUNT_COLUMNS, BAND_COLUMNS, MISSING_COLUMNS)
)


def test_the_score_separates_a_document_from_others() -> None:
    """What is told of the score holds for the shipped counts, whatever their exact figures."""
    table = shares(BANDED, ["band", "against"])["share"]
    for against in AGAINST[1:]:
        chance = [table[band, against] for band in BANDS]
        assert chance == sorted(chance, reverse=True)
    assert table["0.9 and up", "other domains"] < 0.01
    assert table["below 0.1", "other domains"] > 0.4


@pytest.mark.parametrize("document", ["ma_2023_sw_M-table3", "Resume-Academic02"])
def test_a_document_is_counted_as_shipped(document: str) -> None:
    if not os.environ.get(VARIABLE):
        pytest.skip(f"{VARIABLE} is not set: no real documents")
    found = count_evidence(load_dataset("extractbench"), document)
    for shipped, frame in zip((COUNTS, BANDED, MISSING), found, strict=True):
        expected = shipped[shipped["document"] == document].reset_index(drop=True)
        pd.testing.assert_frame_equal(frame, expected)
