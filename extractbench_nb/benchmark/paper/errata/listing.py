"""`errata`: everything that does not add up, computed when it is asked for."""

from __future__ import annotations

from collections.abc import Iterator

import pandas as pd

from extractbench_nb._frames import Column, FrameSpec
from extractbench_nb.benchmark.dataset import Dataset
from extractbench_nb.benchmark.paper.errata.finding import SEVERITIES, Finding
from extractbench_nb.benchmark.paper.errata.gold import gold
from extractbench_nb.benchmark.paper.errata.scores import scores
from extractbench_nb.benchmark.paper.errata.software import software
from extractbench_nb.benchmark.paper.errata.totals import totals
from extractbench_nb.benchmark.paper.errata.wording import wording
from extractbench_nb.benchmark.paper.facts import Facts, facts_of

__all__ = ["ERRATA_COLUMNS", "errata"]

ERRATA_COLUMNS = FrameSpec(
    "errata",
    "one row a thing that does not add up",
    (
        Column("id", "string", "short name"),
        Column("where", "string", "table, figure, section, or what is compared with what"),
        Column("published", "string", "what is printed or said"),
        Column("recomputed", "string", "what comes out"),
        Column("difference", "Float64", "recomputed - published, for numbers", "", True),
        Column("explanation", "string", "why, with the numbers behind it"),
        Column("severity", "string", "how much hangs on it", ", ".join(SEVERITIES)),
        Column("check", "string", "what to look at, or to call"),
    ),
)


def errata(*, dataset: Dataset | None = None) -> pd.DataFrame:
    """List what does not add up in the paper, its README, the dataset and the published package.

    Every number is computed from the published figures, the dataset's statistics and the
    evaluator at the time of the call.

    Parameters
    ----------
    dataset : Dataset, optional
        The released dataset, read and counted anew; the shipped statistics by default.

    Returns
    -------
    pandas.DataFrame
        One row an erratum, the gravest first: id, where, published, recomputed, difference,
        explanation, severity (``high``: a result or conclusion changes; ``medium``: a printed
        figure or a rule is wrong; ``low``: wording, marks, small differences), check.

    Examples
    --------
    >>> frame = errata().set_index("id")
    >>> frame.loc["structured-research-total", ["published", "recomputed"]].tolist()
    ['14.7%', '24.5%']
    """
    found = sorted(_all(facts_of(dataset)), key=lambda row: SEVERITIES.index(row.severity))
    columns = zip(*found, strict=True)
    return ERRATA_COLUMNS.build(dict(zip(Finding._fields, columns, strict=True)))


def _all(facts: Facts) -> Iterator[Finding]:
    for chapter in (scores, totals, wording, gold, software):
        yield from chapter(facts)
