"""AOE's published figures, and what contradicts them.

Sources: the results tables of AOE's README (github tianyumyum/AOE, commits 0a45831 and 282e688d),
its dataset card, and the abstract of arXiv 2507.16271. Numbers were typed from there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pandas as pd

from extractbench_nb.construction.table_dataset import shipped
from extractbench_nb.core.frames import Column, FrameSpec
from extractbench_nb.errors import InputError, nearest
from extractbench_nb.support.moved import moved_names

__all__ = ["errata", "published"]

if not TYPE_CHECKING:  # type checkers would accept any name
    __getattr__ = moved_names(__name__)

#: Results with chain of thought, results with retrieval, statistics of the dataset, the text.
PARTS = ("cot", "rag", "domains", "text")

ERRATA_COLUMNS = FrameSpec(
    "errata",
    "one row per erratum, highest severity first",
    (
        Column("id", "string", "unique name"),
        Column("where", "string", "source of the contradiction"),
        Column("published", "string", "what is printed"),
        Column("recomputed", "string", "what follows from the other figures"),
        Column("explanation", "string", "why they differ"),
        Column(
            *("severity", "string"),
            "high: a result changes; medium: a figure or a rule is wrong; low: small differences",
            "high, medium, low",
        ),
    ),
)


def published(table: str) -> pd.DataFrame:
    """Return a table as it is printed.

    Parameters
    ----------
    table : str
        ``"cot"``: results with and without chain of thought. ``"rag"``: with and without
        retrieval. ``"domains"``: the dataset's statistics. ``"text"``: numbers of the texts.

    Returns
    -------
    pandas.DataFrame
        Index: model and setting, domain, or an id. One column per figure; percentages as 85.4.

    Raises
    ------
    InputError
        If the table is unknown.

    Examples
    --------
    >>> published("rag").loc["Qwen +RAG+CoT", "academic llm_score"].item()
    77.08
    """
    if table not in PARTS:
        raise InputError(f"no table {table!r}; {nearest(table, PARTS)}")
    figures = shipped("aoe_figures")
    cells: dict[str, dict[str, Any]] = {}
    for figure in figures[figures["table"] == table].to_dict("records"):
        value = float(figure["value"]) if figure["value"] else figure["printed"]
        cells.setdefault(figure["row"], {})[figure["column"]] = value
    frame = pd.DataFrame.from_dict(cells, orient="index")
    frame.index.name = "row"
    frame.attrs["source"] = "github tianyumyum/AOE, its dataset card, arXiv 2507.16271"
    return frame


def errata() -> pd.DataFrame:
    """List contradictions in AOE's README, dataset card and abstract.

    Returns
    -------
    pandas.DataFrame
        One row per erratum, highest severity first (see `ERRATA_COLUMNS`): id, where, published,
        recomputed, explanation, severity.

    Examples
    --------
    >>> frame = errata().set_index("id")
    >>> frame.loc["impossible-pass-rates", ["published", "recomputed"]].tolist()
    ['36 pass rates', '14 impossible']
    """
    return ERRATA_COLUMNS.from_records(shipped("aoe_errata"))
