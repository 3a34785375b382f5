"""A sample of findings to be judged by hand, and the share of them that is real."""

from __future__ import annotations

import pandas as pd

from extractbench_nb.benchmark.audit.kinds import KINDS
from extractbench_nb.benchmark.audit.result import Audit
from extractbench_nb.errors import InputError

__all__ = ["sample_findings"]


def sample_findings(audit: Audit, n: int = 60, *, seed: int = 0) -> pd.DataFrame:
    """Draw findings to be judged by hand, spread over the kinds.

    Every kind gets an equal part; what a rare kind cannot fill goes to the others in turn. Within
    a kind each finding has the same chance.

    Parameters
    ----------
    audit : Audit
        The audit.
    n : int, optional
        How many, 1 or more; all findings where there are fewer.
    seed : int, optional
        Of the random order; the same seed draws the same findings.

    Returns
    -------
    pandas.DataFrame
        Rows of `Audit.findings`, their index kept, in their order; and a column ``weight``, the
        number of findings of its kind that each row stands for.

    Raises
    ------
    InputError
        `n` is less than 1.
    """
    if n < 1:
        raise InputError(f"n: at least one finding, found {n!r}")
    findings = audit.findings
    shuffled = findings.sample(frac=1, random_state=seed)
    turn = shuffled.groupby("kind").cumcount()
    rank = shuffled["kind"].map({kind: i for i, kind in enumerate(KINDS)})
    order = pd.DataFrame({"turn": turn, "rank": rank}).sort_values(["turn", "rank"])
    chosen = findings.loc[sorted(order.index[:n])].copy()
    totals, drawn = findings["kind"].value_counts(), chosen["kind"].value_counts()
    chosen["weight"] = [float(totals[kind] / drawn[kind]) for kind in chosen["kind"]]
    return chosen
