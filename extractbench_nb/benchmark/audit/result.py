"""`Audit`: what an audit found, as frames."""

from __future__ import annotations

from dataclasses import dataclass

import pandas as pd

from extractbench_nb._frames import Column, FrameSpec, describe_frames
from extractbench_nb.benchmark.audit.kinds import KINDS, SEVERITIES

__all__ = ["AUDITED_COLUMNS", "AUDIT_COLUMNS", "SUMMARY_COLUMNS", "Audit"]

_SEVERITY_VALUES = ", ".join(SEVERITIES)

AUDIT_COLUMNS = FrameSpec(
    "findings",
    "one row a finding, ordered by document, kind and place in the document",
    (
        Column("document", "string", "document id"),
        Column("domain", "string", "name of the domain folder"),
        Column("schema", "string", "schema id"),
        Column("path", "string", "instance path in the gold JSON, `$` for the files"),
        Column("field", "string", "the path without indices"),
        Column("kind", "string", "what is suspected; `Audit.kinds()` lists them"),
        Column("severity", "string", "how much it matters", _SEVERITY_VALUES),
        Column("message", "string", "what was found"),
        Column("value", "object", "the gold value", nullable=True),
        Column("suggestion", "string", "what may be meant, or the nearest text", nullable=True),
        Column("page", "Int64", "page of the PDF with the suggestion", "1 or more", nullable=True),
    ),
)

SUMMARY_COLUMNS = FrameSpec(
    "summary",
    "one row a domain and kind that occurs, by domain and the order of `Audit.kinds()`",
    (
        Column("domain", "string", "name of the domain folder"),
        Column("kind", "string", "what is suspected"),
        Column("severity", "string", "how much it matters", _SEVERITY_VALUES),
        Column("findings", "int64", "findings", "1 or more"),
        Column("documents", "int64", "documents that have one", "1 or more"),
        Column("fields", "int64", "fields that have one", "1 or more"),
    ),
)

AUDITED_COLUMNS = FrameSpec(
    "documents",
    "one row a document, in the dataset's order",
    (
        Column("document", "string", "document id"),
        Column("domain", "string", "name of the domain folder"),
        Column("schema", "string", "schema id"),
        Column("readable", "bool", "whether the gold JSON could be read"),
        Column(
            "values", "Int64", "leaf values of the gold JSON, nulls left out", "0 or more", True
        ),
        Column("pages", "Int64", "pages of the PDF, where it was read", "0 or more", True),
        Column("characters", "Int64", "characters of its text", "0 or more", True),
        Column("looked_up", "int64", "values looked up in the PDF", "0 or more"),
        Column("found", "int64", "of these, found", "0 or more"),
        Column("errors", "int64", "findings of severity error", "0 or more"),
        Column("warnings", "int64", "findings of severity warning", "0 or more"),
        Column("infos", "int64", "findings of severity info", "0 or more"),
    ),
)


@dataclass(frozen=True, repr=False, eq=False)
class Audit:
    """What an audit of a dataset found. Made by `audit`.

    The findings are suspects: some are right as they are. Frames are copies at every access, so
    changing one changes nothing here.

    Attributes
    ----------
    dataset : str
        The dataset's name.
    """

    dataset: str
    _findings: pd.DataFrame
    _documents: pd.DataFrame

    @property
    def findings(self) -> pd.DataFrame:
        """One row a finding (see `Audit.columns`)."""
        return self._findings.copy()

    @property
    def documents(self) -> pd.DataFrame:
        """One row a document: what was read, looked up, found and suspected."""
        return self._documents.copy()

    @property
    def summary(self) -> pd.DataFrame:
        """Findings, documents and fields by domain and kind."""
        groups = self._findings.groupby(["domain", "kind", "severity"], sort=False)
        counts = groups.agg(
            findings=("path", "size"),
            documents=("document", "nunique"),
            fields=("field", "nunique"),
        ).reset_index()
        rank = {kind: i for i, kind in enumerate(KINDS)}
        counts["rank"] = [rank[kind] for kind in counts["kind"]]
        counts = counts.sort_values(["domain", "rank"], kind="stable")
        return SUMMARY_COLUMNS.build(
            {name: counts[name].tolist() for name in SUMMARY_COLUMNS.names}
        )

    @staticmethod
    def kinds() -> pd.DataFrame:
        """List what an audit looks for.

        Returns
        -------
        pandas.DataFrame
            One row a kind: kind, severity, meaning.
        """
        return pd.DataFrame(list(KINDS.values()), columns=["kind", "severity", "meaning"])

    @staticmethod
    def columns() -> pd.DataFrame:
        """Describe every column of the three frames.

        Returns
        -------
        pandas.DataFrame
            One row a column: column, dtype, values, nullable, meaning, frame.
        """
        return describe_frames((AUDIT_COLUMNS, SUMMARY_COLUMNS, AUDITED_COLUMNS))

    def __repr__(self) -> str:
        """Write the counts by kind and domain as text."""
        from extractbench_nb.benchmark.audit.card import card_text

        return card_text(self)

    def _repr_html_(self) -> str:
        from extractbench_nb.benchmark.audit.card import card_html

        return card_html(self)
