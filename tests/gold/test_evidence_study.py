"""The shipped figures on real documents: counted anew in part, and as the page tells them."""

import os
from collections.abc import Iterator
from pathlib import Path

import pandas as pd
import pytest

from extractbench_nb import load_dataset
from extractbench_nb.benchmark.statistics import shipped_frame
from extractbench_nb.errors import InputError
from extractbench_nb.pdf.evidence import find_evidence
from scripts.make_evidence import (
    AGAINST,
    BAND_COLUMNS,
    BANDS,
    COUNT_COLUMNS,
    KINDS,
    MISSING_COLUMNS,
    SHARE_COLUMNS,
    count_evidence,
    shares,
)

VARIABLE = "EXTRACTBENCH_DATASET"
PAGE = Path(__file__).parents[2] / "docs" / "howto" / "evidence.md"
COUNTS, BANDED, MISSING = (
    shipped_frame(f"data/{spec.name}.csv", spec)
    for spec in (COUNT_COLUMNS, BAND_COLUMNS, MISSING_COLUMNS)
)
SCORES = {"found": "any score", "found_half": "0.5 and up", "found_nine": "0.9 and up"}


def percent(share: float) -> str:
    return "0%" if share == 0 else f"{share:.1%}"


def interval(row: pd.Series) -> str:
    return "" if pd.isna(row["low"]) else f"{percent(row['low'])} to {percent(row['high'])}"


def own_leaves() -> Iterator[str]:
    own = COUNTS[COUNTS["against"] == "own"]
    both = pd.concat([own, own.assign(domain="all")])
    table = shares(both, ["domain"], found="leaves_found", sought="leaves")
    for (domain,), row in table.iterrows():
        span = f"{percent(row['lowest'])} to {percent(row['highest'])}"
        yield (
            f"| {domain} | {row['documents']} | {row['sought']:,} | {percent(row['share'])} | "
            f"{span} | {interval(row)} |"
        )


def by_domain() -> Iterator[str]:
    both = pd.concat([COUNTS, COUNTS.assign(domain="all")])
    for found, meaning in SCORES.items():
        table = shares(both, ["domain", "against"], found=found)
        for domain in both["domain"].unique():
            cells = [percent(table.loc[(domain, against), "share"]) for against in AGAINST]
            yield f"| {meaning} | {domain} | " + " | ".join(cells) + " |"
        spans = [interval(table.loc[("all", against)]) for against in AGAINST]
        yield f"| {meaning} | *95 % interval* | " + " | ".join(spans) + " |"


def by_kind() -> Iterator[str]:
    tables = [shares(COUNTS, ["kind", "against"], found=found) for found in SCORES][:2]
    for kind in KINDS:
        sought = tables[0].loc[(kind, "own"), "sought"]
        cells = [percent(t.loc[(kind, against), "share"]) for t in tables for against in AGAINST]
        yield f"| {kind} | {sought:,} | " + " | ".join(cells) + " |"


def by_band() -> Iterator[str]:
    table = shares(BANDED, ["band", "against"])
    for band in BANDS:
        sought = table.loc[(band, "same domain"), "sought"]
        cells = [
            cell
            for against in AGAINST[1:]
            for row in [table.loc[(band, against)]]
            for cell in (percent(row["share"]), interval(row))
        ]
        yield f"| {band} | {sought:,} | " + " | ".join(cells) + " |"


def not_found() -> Iterator[str]:
    groups = MISSING.groupby(["domain", "key"])
    table = groups.agg(documents=("document", "nunique"), leaves=("leaves", "sum"),
                       missing=("missing", "sum"))  # fmt: skip
    ordered = table.sort_values("missing", ascending=False, kind="stable")
    for (domain, key), (documents, leaves, missing) in ordered.iterrows():
        yield f"| {domain} | `{key}` | {documents} | {leaves:,} | {missing:,} |"


@pytest.mark.parametrize("table", [own_leaves, by_domain, by_kind, by_band, not_found])
def test_the_page_tells_the_shipped_figures(table) -> None:
    lines = PAGE.read_text("utf-8").splitlines()
    for expected in table():
        assert any(line.startswith(expected) for line in lines), expected


def test_the_page_has_no_other_rows() -> None:
    tables = (own_leaves, by_domain, by_kind, by_band, not_found)
    expected = sum(len(list(table())) for table in tables)
    rows = [line for line in PAGE.read_text("utf-8").splitlines() if line.startswith("| ")]
    assert len(rows) == expected + len(tables), "and a heading each"


def test_the_page_tells_how_much_was_looked_up() -> None:
    page = " ".join(PAGE.read_text("utf-8").split())
    own = COUNTS[COUNTS["against"] == "own"]
    assert f"{own['leaves'].sum():,} leaves" in page
    assert f"{own['values'].sum():,} different values" in page
    assert f"{own['document'].nunique()} documents" in page


def test_the_score_separates_a_document_from_others() -> None:
    """What is told of the score holds for the shipped counts, whatever their exact figures."""
    table = shares(BANDED, ["band", "against"])["share"]
    for against in AGAINST[1:]:
        chance = [table[band, against] for band in BANDS]
        assert chance == sorted(chance, reverse=True)
    assert table["0.9 and up", "other domains"] < 0.01
    assert table["below 0.1", "other domains"] > 0.4


def test_find_evidence_tells_the_shipped_figures() -> None:
    table = shares(BANDED, ["band", "against"])["share"]
    told = " ".join(str(find_evidence.__doc__).split())
    assert f"published dataset {100 * table['0.9 and up', 'other domains']:.1f} % of" in told
    assert f"and {100 * table['below 0.1', 'other domains']:.0f} % of those below 0.1" in told


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


def test_a_document_without_text_cannot_be_studied() -> None:
    if not os.environ.get(VARIABLE):
        pytest.skip(f"{VARIABLE} is not set: no real documents")
    with pytest.raises(InputError, match="'Resume-IT' has no PDF with text"):
        count_evidence(load_dataset("extractbench"), "Resume-IT")
