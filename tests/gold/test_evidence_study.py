"""The shipped figures on real documents: counted anew in part, and as the page tells them."""

import os

import pandas as pd
import pytest

from extractbench_nb import load_dataset
from extractbench_nb.benchmark.statistics import shipped_frame
from scripts.make_evidence import (
    AGAINST,
    BAND_COLUMNS,
    BANDS,
    COUNT_COLUMNS,
    MISSING_COLUMNS,
    SHARE_COLUMNS,
    count_evidence,
    shares,
)

VARIABLE = "EXTRACTBENCH_DATASET"
COUNTS, BANDED, MISSING = (
    shipped_frame(f"data/{spec.name}.csv", spec)
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


def test_shares_of_counts_known_by_hand() -> None:
    counts = pd.DataFrame(
        {"document": list("aabbc"), "group": list("xyxyx"), "found": [1, 5, 3, 5, 0],
         "values": [2, 5, 4, 5, 4]}
    )  # fmt: skip
    table = shares(counts, ["group"])
    assert table.columns.tolist() == SHARE_COLUMNS.names
    assert table.loc[("x",)].iloc[:5].tolist() == [3, 10, 0.4, 0.0, 0.75]
    assert table.loc[("y",), "share"] == 1
    assert table["low"].isna().all(), "three documents have no interval"
    more = pd.concat([counts.assign(document=counts["document"] + str(n)) for n in range(4)])
    low, high = shares(more, ["group"]).loc[("x",), ["low", "high"]]
    assert 0 < low < 0.4 < high < 1
    assert len(shares(counts.iloc[:0], ["group"])) == 0


@pytest.mark.parametrize("document", ["ma_2023_sw_M-table3", "Resume-Academic02"])
def test_a_document_is_counted_as_shipped(document: str) -> None:
    if not os.environ.get(VARIABLE):
        pytest.skip(f"{VARIABLE} is not set: no real documents")
    found = count_evidence(load_dataset("extractbench"), document)
    for shipped, frame in zip((COUNTS, BANDED, MISSING), found, strict=True):
        expected = shipped[shipped["document"] == document].reset_index(drop=True)
        pd.testing.assert_frame_equal(frame, expected)


def test_the_sample_can_be_studied_too() -> None:
    counts, bands, missing = count_evidence(load_dataset(), "brindlemoor_10q_q2_fy2031")
    own = counts[counts["against"] == "own"]
    assert set(counts["against"]) == set(AGAINST)
    assert (counts["leaves_found"] <= counts["leaves"]).all()
    assert (counts["found_nine"] <= counts["found_half"]).all()
    assert (counts["found_half"] <= counts["found"]).all()
    assert own["leaves"].sum() - own["leaves_found"].sum() == missing["missing"].sum()
    same = bands[bands["against"] == "same domain"]
    assert same["values"].sum() == own["found"].sum()
