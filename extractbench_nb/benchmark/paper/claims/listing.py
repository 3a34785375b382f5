"""`claims`: the statements of section 4.2, tested on the paper's own counts."""

from __future__ import annotations

from collections.abc import Iterator

import pandas as pd

from extractbench_nb._frames import Column, FrameSpec
from extractbench_nb.benchmark.paper.claims.claim import VERDICTS, Claim
from extractbench_nb.benchmark.paper.claims.factors import about_factors
from extractbench_nb.benchmark.paper.claims.failing import about_failures
from extractbench_nb.benchmark.paper.facts import Facts, facts_of

__all__ = ["CLAIM_COLUMNS", "claims"]

CLAIM_COLUMNS = FrameSpec(
    "claims",
    "one row a claim",
    (
        Column("id", "string", "short name"),
        Column("where", "string", "section and paragraph"),
        Column("claim", "string", "what is claimed, in our words and so that it can be tested"),
        Column("evidence", "string", "the figures it is tested on"),
        Column("p_value", "Float64", "exact, two-sided for correlations", "0 to 1", True),
        Column("verdict", "string", "what the counts say", ", ".join(VERDICTS)),
        Column("reason", "string", "why this verdict"),
    ),
)


def claims() -> pd.DataFrame:
    """Test the paper's claims about complexity and failure on its own published counts.

    Five domains are five points. A factor of the schema or the documents has one value a domain, so
    whatever is concluded rests on n = 5: the smallest exact two-sided p-value is 2/120 = 0.017,
    0.083 after correction for the five factors that are compared, and the factors go together.
    Attempts of six models on the same documents are not independent either. A claim is
    ``supported`` only where the counts show it directly or an exact test over the domains does,
    whichever domain is left out.

    Returns
    -------
    pandas.DataFrame
        One row a claim: id, where, claim, evidence, p_value, verdict (``supported``, ``weak``,
        ``not identifiable``, ``contradicted``), reason.

    See Also
    --------
    correlations : The rank correlations behind it.
    regressions : Logistic regressions, one a factor.

    Examples
    --------
    >>> frame = claims().set_index("id")
    >>> frame.loc["breadth-dominant", "verdict"]
    'not identifiable'
    """
    rows = list(_all(facts_of()))
    columns = zip(*rows, strict=True)
    return CLAIM_COLUMNS.build(dict(zip(Claim._fields, columns, strict=True)))


def _all(facts: Facts) -> Iterator[Claim]:
    yield from about_factors(facts)
    yield from about_failures(facts)
