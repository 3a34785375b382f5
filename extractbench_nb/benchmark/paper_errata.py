"""Errata and claims: their texts, and what the notebooks computed of them."""

from __future__ import annotations

import pandas as pd

from extractbench_nb.core.frames import Column, FrameSpec
from extractbench_nb.runs import shipped_frame

SEVERITIES = ("high", "medium", "low")
#: Whose erratum it is.
ABOUT = ("paper", "dataset", "package 0.1.0", "package README")
VERDICTS = ("supported", "weak", "not identifiable", "contradicted")

_CELL = "notebook and cell that computes it, `11_baseline_tables#02-09`"

ERRATA_COLUMNS = FrameSpec(
    "errata",
    "one row per erratum",
    (
        Column("id", "string", "short name"),
        Column("about", "string", "whose erratum it is", ", ".join(ABOUT)),
        Column("where", "string", "table, figure or section; in comparisons, both sources"),
        Column("published", "string", "the printed figure or statement"),
        Column("recomputed", "string", "the recomputed figure or finding"),
        Column("difference", "Float64", "recomputed - published, for numbers", "", True),
        Column("explanation", "string", "why, with the numbers behind it"),
        Column("severity", "string", "effect on the results", ", ".join(SEVERITIES)),
        Column("check", "string", f"source or function call; for the paper {_CELL}"),
    ),
)

CLAIM_COLUMNS = FrameSpec(
    "claims",
    "one row per claim",
    (
        Column("id", "string", "short name"),
        Column("where", "string", "section and paragraph"),
        Column("claim", "string", "what is claimed, in our words and so that it can be tested"),
        Column("verdict", "string", "what the published counts show", ", ".join(VERDICTS)),
        Column("evidence", "string", "the figures behind the verdict"),
        Column("reason", "string", "why this verdict, and what qualifies it"),
        Column("check", "string", _CELL),
    ),
)


def errata() -> pd.DataFrame:
    """List contradictions in the paper, its README, the dataset and the published package.

    Returns
    -------
    pandas.DataFrame
        One row per erratum, highest severity first, then by ``about``; see `ERRATA_COLUMNS`.
        Severity is ``high`` (a result or conclusion changes), ``medium`` (a printed figure or a
        rule is wrong) or ``low`` (wording, marks, small differences); ``check`` is the cell of a
        notebook that computes the figure and compares it with this table.

    Examples
    --------
    >>> frame = errata().set_index("id")
    >>> frame.loc["structured-research-total", ["published", "recomputed"]].tolist()
    ['14.7%', '24.5%']
    """
    return shipped_frame("benchmark/data/errata.csv", ERRATA_COLUMNS)


def claims() -> pd.DataFrame:
    """List the paper's claims about models, complexity and failure, with verdicts.

    Five domains are five points: a factor of the schema or the documents has one value per domain,
    the smallest exact p-value is 2/120, and the factors are correlated. ``weak`` and ``not
    identifiable`` describe these data, not the claim.

    Returns
    -------
    pandas.DataFrame
        One row per claim; see `CLAIM_COLUMNS`. Verdicts: ``supported`` (the counts show it, or an
        exact test does), ``weak`` (as claimed, but possibly by chance), ``not identifiable`` (these
        data cannot decide), ``contradicted``.

    Examples
    --------
    >>> frame = claims().set_index("id")
    >>> frame.loc["breadth-dominant", ["verdict", "evidence"]].tolist()
    ['not identifiable', 'strongest in 17 of 36 analyses']
    """
    return shipped_frame("benchmark/data/claims.csv", CLAIM_COLUMNS)
