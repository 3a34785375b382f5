"""Twelve errors for a copy of the sample's gold, for notebook 03."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

import extractbench_nb as xb

ERRORS = pd.DataFrame(
    [
        ("pellworth_bridge_loan", "$.money.principal.value", "replace", 4250000.5),  # a digit lost
        ("brindlemoor_10q_q2_fy2031", "$.income.gross_profit.now", "replace", 188210),
        ("castellan_10k_fy2030", "$.income.net_sales.now", "replace", 8130.9),  # of last year
        ("moss drift tidal turbines", "$.page_count", "replace", 21),
        ("harrowgate_term_facility", "$.calendar.repay_by", "replace", "2035-11-06"),
        ("eastmere_summer_regatta_2031", "$.races[0].entries[2].finish", "replace", "7:15.19"),
        ("cv_tobias_wendelin", "$.applicant.home.town", "replace", None),  # left empty
        ("harrowgate_term_facility", "$.money.secured", "replace", None),
        ("cv_marisol_etxeberria", "$.posts[0].duties[2]", "remove", None),  # items left out
        ("solvane_revolving_credit", "$.signatories.creditors[4]", "remove", None),
        ("night bus demand", "$.references[0].written_by[1]", "remove", None),
        ("eastmere_summer_regatta_2031", "$.races[0].entries[5]", "remove", None),
    ],
    columns=["document", "path", "op", "new"],
)


def plant(dataset: xb.runs.Dataset, folder: Path) -> xb.runs.Dataset:
    """Write a copy of the dataset with the errors."""
    return xb.gold.apply(dataset, ERRORS, folder, who="annotator")


def found(suspects: pd.DataFrame) -> pd.DataFrame:
    """Return the errors, and whether a suspect names the same value, or the same array."""
    places = set(zip(suspects["document"], suspects["path"], strict=True))
    removed = ERRORS["op"].eq("remove")
    paths = ERRORS["path"].where(~removed, ERRORS["path"].str.rpartition("[")[0] + "[-]")
    rows = zip(ERRORS["document"], paths, strict=True)
    return ERRORS.assign(found=[place in places for place in rows])
