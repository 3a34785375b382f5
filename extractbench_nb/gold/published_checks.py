"""What the audit finds in the released dataset, and how much of it is real, as shipped figures."""

from __future__ import annotations

import pandas as pd

from extractbench_nb.core.frames import Column, FrameSpec
from extractbench_nb.errors import InputError, nearest
from extractbench_nb.gold.findings import KINDS, SUMMARY_COLUMNS
from extractbench_nb.runs import shipped_frame
from extractbench_nb.stats import Drawing, wilson_interval

_FINDINGS, _JUDGED = "gold/data/audit_findings.csv", "gold/data/audit_judged.csv"
_COUNTS = ("real", "no_fault", "undecidable")

_DECIDED = (
    Column("real", "int64", "gold or schema should change", "0 and up"),
    Column("no_fault", "int64", "both may stay", "0 and up"),
    Column("undecidable", "int64", "no document, or the schema does not say", "0 and up"),
)
_KIND = Column("kind", "string", "what is suspected; `Audit.kinds()` lists them")
_FILE = FrameSpec("judged_kinds", "one row per kind", (_KIND, *_DECIDED))

JUDGED_COLUMNS = FrameSpec(
    "judged_findings",
    "one row per severity or kind, in the order of `Audit.kinds()`; severities end in all",
    (
        Column("group", "string", "severity or kind"),
        Column("findings", "int64", "findings in the released dataset", "1 and up"),
        Column("drawn", "int64", "of these, judged by a reader", "1 and up"),
        *_DECIDED,
        Column("precision", "float64", "real / drawn", "[0, 1]"),
        Column("low", "float64", "lower end of its interval (Wilson)", "[0, 1]"),
        Column("high", "float64", "upper end of its interval (Wilson)", "[0, 1]"),
    ),
)


def published_findings() -> pd.DataFrame:
    """Return the shipped counts of the findings of `audit` in the released ExtractBench dataset.

    Returns
    -------
    pandas.DataFrame
        The frame of ``audit(ds).summary``: one row per domain and kind that occurs, with the
        numbers of findings, documents and fields.

    Examples
    --------
    >>> counts = published_findings()
    >>> int(counts["findings"].sum())
    2929
    """
    return shipped_frame(_FINDINGS, SUMMARY_COLUMNS)


def judged_findings(by: str = "severity", *, confidence: float = 0.95) -> pd.DataFrame:
    """Return how many findings of a judged sample of the released dataset are real.

    The sample is ``sample_findings(audit(ds), 60, seed=4)``: an equal number of every kind, not a
    random sample of findings. A finding that could not be decided counts as not real.

    Parameters
    ----------
    by : str, optional
        ``"severity"`` or ``"kind"``.
    confidence : float, optional
        Confidence level of the intervals, between 0 and 1.

    Returns
    -------
    pandas.DataFrame
        One row per severity, and one for all, or one row per kind: group, findings, drawn, real,
        no_fault, undecidable, precision, low, high.

    Raises
    ------
    InputError
        `by` is unknown, or `confidence` is out of range.

    Examples
    --------
    >>> judged_findings().set_index("group")["precision"].round(2).to_dict()
    {'error': 0.9, 'warning': 0.85, 'info': 0.41, 'all': 0.73}
    """
    if by not in ("severity", "kind"):
        raise InputError(f"by={by!r}: {nearest(by, ('severity', 'kind'))}")
    if not 0 < confidence < 1:
        raise InputError(f"confidence: expected a number between 0 and 1, found {confidence!r}")
    judged = shipped_frame(_JUDGED, _FILE).set_index("kind")
    judged.insert(0, "findings", published_findings().groupby("kind")["findings"].sum())
    judged.insert(1, "drawn", judged[list(_COUNTS)].sum(axis=1))
    if by == "severity":
        judged = judged.groupby([KINDS[str(kind)].severity for kind in judged.index]).sum()
        judged = judged.reindex(["error", "warning", "info"])
        judged.loc["all"] = judged.sum()
    drawing = Drawing(confidence, resamples=100, seed=0)  # Wilson's interval draws nothing
    rows = []
    for row in judged.itertuples():
        group, findings, drawn, *decided = row
        share = decided[0] / drawn
        low, high, _ = wilson_interval(share, drawn, drawing)
        rows.append((group, findings, drawn, *decided, share, low, high))
    return JUDGED_COLUMNS.from_rows(rows)
