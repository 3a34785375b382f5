"""Parts of tables: a share that is kept at random is what recall says; the printed figures."""

import re
from typing import Any

import pandas as pd
import pytest

import extractbench_nb as xb
from extractbench_nb.tables.paper import KEEP_COLUMNS, KEEP_MODES


def table(number: int, rows: int, columns: int) -> pd.DataFrame:
    """A table without two cells alike."""
    lines = [[f"t{number} {r}/{c}" for c in range(columns)] for r in range(rows - 1)]
    return pd.DataFrame(lines, columns=[f"t{number} head {c}" for c in range(columns)])


TABLES = [table(n, 6 + n % 20, 3 + n % 7) for n in range(60)]


@pytest.fixture(scope="module")
def curves() -> pd.DataFrame:
    return xb.tables.keep_curves(TABLES, rates=[0.0, 0.3, 0.6, 0.9, 1.0])


def test_recall_is_the_share_that_is_kept(curves: pd.DataFrame) -> None:
    con = curves[curves["metric"] == "grits_con"].set_index(["mode", "x"])
    for x in (0.3, 0.6, 0.9):
        for mode in ("rows", "columns"):
            assert con.loc[(mode, x), "recall"] == pytest.approx(x, abs=0.05)
            assert con.loc[(mode, x), "score"] == pytest.approx(2 * x / (1 + x), abs=0.08)
        assert con.loc[("both", x), "recall"] == pytest.approx(x * x, abs=0.05)


def test_an_alignment_finds_all_that_was_kept(curves: pd.DataFrame) -> None:
    """No two cells are alike: content finds what was kept, and topology cannot find less."""
    wide = curves.pivot_table(index=["mode", "x"], columns="metric", values="score")
    assert wide["grits_con"].to_numpy() == pytest.approx(wide["ideal"].to_numpy())
    assert (wide["grits_top"] >= wide["ideal"] - 1e-9).all()


def test_the_ends(curves: pd.DataFrame) -> None:
    assert curves.columns.tolist() == KEEP_COLUMNS.names
    assert set(curves["mode"]) == set(KEEP_MODES)
    none, all_ = (curves[curves["x"] == x] for x in (0.0, 1.0))
    assert none[["score", "precision", "recall"]].drop_duplicates().to_numpy().tolist() == [
        [0.0, 1.0, 0.0]
    ]
    assert all_[["score", "recall"]].to_numpy() == pytest.approx(1.0)
    assert (curves["tables"] == len(TABLES)).all()


def test_all_metrics_fall_with_what_is_lost() -> None:
    names = ["adjacency", "bleu", "teds", "teds_structure"]
    found = xb.tables.keep_curves(TABLES[:12], metrics=names, rates=[0.3, 0.7, 1.0], modes=["rows"])
    wide = found.pivot_table(index="x", columns="metric", values="score")
    assert wide.loc[1.0].to_numpy() == pytest.approx(1.0)
    assert (wide.loc[0.3, names] < wide.loc[0.7, names]).all()


CELL = {"row_nums": [0], "column_nums": [0], "text": "a"}


@pytest.mark.parametrize(
    "tables, options, message",
    [
        (xb.tables.read_table([CELL]), {}, "tables is Table; expected a list of tables"),
        (TABLES[:1], {"rates": []}, "rates is ..; expected one or more numbers from 0 to 1"),
        ([], {}, "tables: expected at least one table"),
        ([[]], {}, "tables: expected at least one table, and no table without rows"),
        (TABLES[:1], {"modes": ["row"]}, "no 'row'; did you mean 'rows'"),
        (TABLES[:1], {"rates": [1.5]}, "rates is .1.5.; expected one or more numbers"),
        (TABLES[:1], {"metrics": ["tedds"]}, "no 'tedds'; did you mean 'teds'"),
    ],
)
def test_bad_input(tables: Any, options: dict[str, Any], message: str) -> None:
    with pytest.raises(xb.InputError, match=message):
        xb.tables.keep_curves(tables, **options)


def test_the_mean_of_the_parts_is_the_printed_one() -> None:
    """To the third digit, as far as three digits of the parts allow."""
    found = xb.tables.pubtables(3).set_index("split")
    parts, printed = found.loc["all (from the parts)"], found.loc["all"]
    assert parts.tolist() == pytest.approx(printed.tolist(), abs=0.001)
    assert xb.tables.pubtables(2)["task"].tolist() == ["TD", "TSR + FA"]


def test_statistics_of_the_data_set() -> None:
    found = xb.tables.pubtables("statistics").set_index("id")
    assert found.loc["tables", "recomputed"] == 947_642
    assert found["agrees"].value_counts().to_dict() == {True: 15, False: 1}
    errata = xb.tables.pubtables("errata").set_index("id")
    assert errata.index.is_unique
    # an erratum that is a figure has the figure of the statistics
    shares = found["recomputed"].astype(float)
    assert errata.loc["over-fintabnet", "recomputed"] == f"{shares['over-fintabnet']:.1f}"
    adjusted = f"{shares['adjusted-of-complex']:.1%}"
    assert errata.loc["adjusted-of-complex", "recomputed"] == adjusted


@pytest.mark.parametrize("number", [4, [3], None, True])
def test_no_such_table(number: Any) -> None:
    message = re.escape(f"no table {number!r} of results; choose 2, 3, 'statistics' or 'errata'")
    with pytest.raises(xb.InputError, match=message):
        xb.tables.pubtables(number)
