"""`losses`: at which stage the points of a comparison were lost, from the answer to its cells."""

from __future__ import annotations

from typing import Protocol

import pandas as pd

from extractbench_nb._frames import Column, FrameSpec
from extractbench_nb.construction.evidence import EvidenceRecall
from extractbench_nb.construction.profiles import TableRules
from extractbench_nb.construction.reading import FAILURES
from extractbench_nb.errors import InputError

#: The stages, in the order in which a table is built and compared.
STAGES = ("answer", "retrieval", "columns", "keys", "rows", "cells")

LOSS_COLUMNS = FrameSpec(
    "losses",
    "one row per side and stage, in the order of the stages",
    (
        Column(
            "side",
            "string",
            "recall: of all gold cells; precision: of all predicted cells",
            "recall, precision",
        ),
        Column(
            "stage",
            "string",
            "answer: no table could be read; retrieval: the value was in no retrieved chunk; "
            "columns: missing or extra; keys: no row matches, as a key column is missing; "
            "rows: missed or spurious; cells: not right",
            ", ".join(STAGES),
        ),
        Column("lost", "float64", "points lost there, 1 per cell", "0 and up"),
        Column("left", "float64", "points left after this stage", "0 and up"),
        Column("share", "Float64", "left / all cells; at the end recall or precision", "", True),
    ),
)

_COLUMNS = ("column_missing", "column_judge_failed", "column_extra")
_ROWS = ("row_missed", "row_spurious", "row_judge_failed")


class Compared(Protocol):
    """What is needed of a `TableComparison`."""

    @property
    def cells(self) -> pd.DataFrame:
        """One row per cell."""

    @property
    def warnings(self) -> pd.DataFrame:
        """One row per warning."""

    @property
    def profile(self) -> TableRules:
        """The rules that were applied."""


def losses(comparison: Compared, recall: EvidenceRecall | None = None) -> pd.DataFrame:
    r"""Add up the points that were lost at each stage: retrieval, columns, keys, rows, cells.

    Parameters
    ----------
    comparison : TableComparison
        What `compare` returned, under ``strict`` or ``aoe-readme``.
    recall : EvidenceRecall, optional
        What `evidence_recall` returned for the same gold table. A gold cell that lost points, and
        whose value was in no retrieved chunk, then counts as lost by retrieval: no model could have
        read it. Chunks of another retriever than that of the run show what it could have cost.

    Returns
    -------
    pandas.DataFrame
        See `LOSS_COLUMNS`. The last ``left`` of either side is the sum of the scores.

    Raises
    ------
    InputError
        The comparison is by the released rules, whose sums count some rows several times.

    Examples
    --------
    >>> from extractbench_nb.construction import compare
    >>> gold = "name,n,unit\na,1,kg\nb,2,kg\n"
    >>> losses(compare(gold, "name,n\na,7\n", keys="name")).query("side == 'recall'")
         side    stage  lost  left  share
    0  recall   answer   0.0   4.0    1.0
    1  recall  columns   1.0   3.0   0.75
    2  recall     keys   0.0   3.0   0.75
    3  recall     rows   2.0   1.0   0.25
    4  recall    cells   1.0   0.0    0.0
    """
    if comparison.profile.released:
        raise InputError(
            f"the comparison is by {comparison.profile.name!r}, which counts some rows several "
            "times; call compare() with profile='strict'"
        )
    cells = comparison.cells
    cells["lost"] = 1.0 - cells["score"].astype("Float64").fillna(0.0).astype(float)
    reasons = cells["reason"].astype(object)
    cells["stage"] = "cells"
    cells.loc[reasons.isin(_COLUMNS), "stage"] = "columns"
    keys_missing = "key_missing" in comparison.warnings["kind"].tolist()
    cells.loc[reasons.isin(_ROWS), "stage"] = "keys" if keys_missing else "rows"
    cells.loc[reasons.isin(FAILURES), "stage"] = "answer"
    if recall is not None:
        found = recall.cells
        lacking = found[found["status"] != "retrieved"]
        unread = set(zip(lacking["row"], lacking["column"], strict=True))
        places = zip(cells["gold_row"], cells["column"], strict=True)
        is_unread = pd.Series([place in unread for place in places], index=cells.index, dtype=bool)
        cells.loc[is_unread & (cells["stage"] != "answer"), "stage"] = "retrieval"
    ours = cells["column"].notna()
    counted = ours | comparison.profile.count_extra_columns
    sides = {
        "recall": cells[cells["gold_row"].notna() & ours],
        "precision": cells[cells["predicted_row"].notna() & counted],
    }
    rows = []
    for side, part in sides.items():
        left = total = float(len(part))
        for stage in STAGES:
            if stage == "retrieval" and recall is None:
                continue
            lost = float(part.loc[part["stage"] == stage, "lost"].sum())
            left -= lost
            rows.append((side, stage, lost, left, left / total if total else None))
    return LOSS_COLUMNS.from_rows(rows)
