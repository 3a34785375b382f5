"""`Comparison`: scores and differences with their intervals, and how they are shown."""

from __future__ import annotations

from dataclasses import dataclass

import pandas as pd

from extractbench_nb._frames import Column, FrameSpec, describe_frames
from extractbench_nb.stats.card import card_html, card_text
from extractbench_nb.stats.drawing import Drawing
from extractbench_nb.stats.tables import latex, markdown

__all__ = [
    "DIFFERENCE_COLUMNS",
    "DOMAIN_COLUMNS",
    "DOMAIN_DIFFERENCE_COLUMNS",
    "SCORE_COLUMNS",
    "Comparison",
]

_SCORES = (
    Column("group", "string", "what is compared: a run, or the values of `by`"),
    Column("measure", "string", "a column of `summary`"),
    Column(
        "documents", "int64", "documents with an output; they are what is resampled", "1 and up"
    ),
    Column(
        "outputs", "int64", "outputs for them; several of one document are averaged", "1 and up"
    ),
    Column("invalid", "int64", "outputs that did not parse; their scores are 0", "0 to outputs"),
    Column("mean", "float64", "mean over documents"),
    Column("low", "Float64", "lower end of its interval; missing for a single document", "", True),
    Column("high", "Float64", "upper end", "", True),
    Column("method", "string", "of the interval", "BCa, percentile, all equal, one document"),
)

_DIFFERENCES = (
    Column("a", "string", "first group, or the baseline"),
    Column("b", "string", "second group"),
    Column("measure", "string", "a column of `summary`"),
    Column("documents", "int64", "documents that both have; the rest is of these", "0 and up"),
    Column("only_a", "int64", "documents that only a has", "0 and up"),
    Column("only_b", "int64", "documents that only b has", "0 and up"),
    Column("mean_a", "Float64", "mean of a", "", True),
    Column("mean_b", "Float64", "mean of b", "", True),
    Column("b_minus_a", "Float64", "mean difference; positive where b is higher", "", True),
    Column("low", "Float64", "lower end of its interval", "", True),
    Column("high", "Float64", "upper end", "", True),
    Column("method", "string", "of the interval", "BCa, percentile, all equal, one document", True),
    Column("a_higher", "int64", "documents in which a is higher", "0 to documents"),
    Column("b_higher", "int64", "documents in which b is higher", "0 to documents"),
    Column("p_value", "Float64", "two-sided sign-flip test of the paired differences", "", True),
    Column("p_method", "string", "all sign flips, or a sample of them", "exact, sampled", True),
    Column("p_holm", "Float64", "p_value after Holm's correction within the measure", "", True),
    Column("significant", "boolean", "whether p_holm is at most 1 - confidence", "", True),
    Column(
        "detectable", "Float64", "true difference that is found with 80 % probability", "", True
    ),
)

_DOMAIN = Column("domain", "string", "domain of the documents")

SCORE_COLUMNS = FrameSpec("scores", "one row a group and measure", _SCORES)
DIFFERENCE_COLUMNS = FrameSpec("differences", "one row a pair and measure", _DIFFERENCES)
DOMAIN_COLUMNS = FrameSpec("domains", "one row a domain, group and measure", (_DOMAIN, *_SCORES))
DOMAIN_DIFFERENCE_COLUMNS = FrameSpec(
    "domain_differences", "one row a domain, pair and measure", (_DOMAIN, *_DIFFERENCES)
)


@dataclass(frozen=True, repr=False, eq=False)
class Comparison:
    """Scores of several groups with their intervals, and which differences are more than noise.

    Made by `compare_runs`. Every frame is a copy. In a notebook it shows itself as a table with
    interval plots.

    Attributes
    ----------
    by : tuple of str
        The columns that make a group.
    measures : tuple of str
        What is compared.
    baseline : str or None
        The group that all others are compared with; None where all pairs are.
    drawing : Drawing
        Confidence, number of resamples and seed.
    """

    by: tuple[str, ...]
    measures: tuple[str, ...]
    baseline: str | None
    drawing: Drawing
    _scores: pd.DataFrame
    _differences: pd.DataFrame
    _domains: pd.DataFrame
    _domain_differences: pd.DataFrame

    @property
    def scores(self) -> pd.DataFrame:
        """One row a group and measure: the mean over documents and its interval."""
        return self._scores.copy()

    @property
    def differences(self) -> pd.DataFrame:
        """One row a pair and measure: ``b_minus_a`` over the documents that both have."""
        return self._differences.copy()

    @property
    def domains(self) -> pd.DataFrame:
        """`scores` domain by domain; documents without a domain are in no row."""
        return self._domains.copy()

    @property
    def domain_differences(self) -> pd.DataFrame:
        """`differences` domain by domain, corrected over all pairs and domains of a measure."""
        return self._domain_differences.copy()

    @staticmethod
    def columns() -> pd.DataFrame:
        """Describe every column of every frame.

        Returns
        -------
        pandas.DataFrame
            One row a column: column, dtype, values, nullable, meaning, frame.
        """
        specs = [SCORE_COLUMNS, DIFFERENCE_COLUMNS, DOMAIN_COLUMNS, DOMAIN_DIFFERENCE_COLUMNS]
        return describe_frames(specs)

    def to_markdown(self, table: str = "scores", *, digits: int = 3) -> str:
        """Write one frame as a Markdown table.

        Parameters
        ----------
        table : str, optional
            ``scores``, ``differences``, ``domains`` or ``domain_differences``.
        digits : int, optional
            Digits after the point.

        Returns
        -------
        str
            The table; every mean is followed by its interval.

        Raises
        ------
        InputError
            There is no such table.
        """
        return markdown(self, table, digits)

    def to_latex(self, table: str = "scores", *, digits: int = 3) -> str:
        """Write one frame as a LaTeX ``tabular`` with the rules of booktabs.

        Parameters
        ----------
        table : str, optional
            ``scores``, ``differences``, ``domains`` or ``domain_differences``.
        digits : int, optional
            Digits after the point.

        Returns
        -------
        str
            The table; every mean is followed by its interval, and names are escaped.

        Raises
        ------
        InputError
            There is no such table.
        """
        return latex(self, table, digits)

    def __repr__(self) -> str:
        """Write scores with their intervals, and how many differences are more than noise."""
        return card_text(self)

    def _repr_html_(self) -> str:
        return card_html(self)
