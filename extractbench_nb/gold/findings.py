"""`Audit`: kinds of findings, their table and card, samples to be judged, shipped figures."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import pandas as pd

from extractbench_nb.core.frames import Column, DescribedFrames, FrameSpec
from extractbench_nb.errors import InputError, nearest
from extractbench_nb.runs import shipped_frame
from extractbench_nb.stats import Drawing, wilson_interval
from extractbench_nb.support.cards import card_html, card_table, element
from extractbench_nb.support.wording import one_line, plural

Severity = Literal["error", "warning", "info"]
SEVERITIES: tuple[Severity, ...] = ("error", "warning", "info")


class Kind(NamedTuple):
    """One kind of finding.

    An ``error`` is an unusable file or a value that violates the schema, a ``warning`` usually a
    mistake of the annotation; ``info`` is a matter of style, or uncertain.
    """

    name: str
    severity: Severity
    meaning: str


class Finding(NamedTuple):
    """A possible error, as a check yields it; `page` of the PDF has the suggestion."""

    path: str
    field: str
    kind: str
    message: str
    value: Any = None
    suggestion: str | None = None
    page: int | None = None


_ALL: tuple[Kind, ...] = (
    Kind("gold_unreadable", "error", "the gold file cannot be read as JSON"),
    Kind("schema_unreadable", "error", "the schema file is missing or not a schema"),
    Kind("pdf_missing", "error", "there is no PDF"),
    Kind("pdf_unreadable", "error", "the PDF cannot be opened"),
    Kind("pdf_without_text", "info", "the PDF has no text layer, so no value was looked up in it"),
    Kind("schema_violation", "error", "violates the schema: required, enum, format, range, ..."),
    Kind("wrong_type", "error", "a JSON type that the schema does not allow here"),
    Kind("text_for_object", "error", "text where the schema declares an object"),
    Kind("undeclared_key", "warning", "a key that the schema does not declare; it is not scored"),
    Kind("item_index", "info", "items with their own index under a key that is not declared"),
    Kind("empty_required", "warning", "a required key whose value is empty"),
    Kind("placeholder", "warning", "a placeholder such as NA in place of null"),
    Kind("duplicate_item", "warning", "an array item that equals an earlier one"),
    Kind(
        "contradicting_item", "warning", "an array item that equals an earlier one but for a number"
    ),
    Kind("split_item", "warning", "an array item that looks like the end of the previous one"),
    Kind("malformed_date", "warning", "looks like a date, but is not a valid one"),
    Kind("shifted_date", "warning", "midnight in another time zone, written as the previous day"),
    Kind("odd_date_style", "warning", "a date in another format than its siblings or the schema's"),
    Kind("glued_words", "warning", "two words without a space between them"),
    Kind("broken_word", "warning", "a word split in two, as at the end of a line"),
    Kind("line_break", "info", "a line break of the page in the middle of a sentence"),
    Kind("trailing_punctuation", "warning", "begins or ends with stray punctuation"),
    Kind("stray_whitespace", "info", "leading, trailing or double spaces"),
    Kind("unlike_pdf", "warning", "the PDF has a similar text or number, but not this one"),
    Kind("not_in_pdf", "info", "the text of the PDF has nothing similar"),
    Kind("field_not_quoted", "info", "most values of this field are not in the PDFs"),
)

#: Every kind by name, in the order of the findings of a document.
KINDS: dict[str, Kind] = {kind.name: kind for kind in _ALL}
#: The position of each kind in that order.
RANK = {kind: i for i, kind in enumerate(KINDS)}


def chosen_kinds(kinds: str | Iterable[str] | None) -> frozenset[str]:
    """Return the names of the chosen kinds; None chooses all."""
    if kinds is None:
        return frozenset(KINDS)
    names = [kinds] if isinstance(kinds, str) else list(kinds)
    for name in names:
        if name not in KINDS:
            raise InputError(f"kinds: no kind {name!r}; {nearest(name, KINDS)}")
    return frozenset(names)


_DOMAIN = Column("domain", "string", "name of the domain folder")
_IDS = (
    Column("document", "string", "document id"),
    _DOMAIN,
    Column("schema", "string", "schema id"),
)
_KIND = Column("kind", "string", "what is suspected; `Audit.kinds()` lists them")
_SEVERITY = Column("severity", "string", "how much it matters", ", ".join(SEVERITIES))

AUDIT_COLUMNS = FrameSpec(
    "findings",
    "one row per finding, ordered by document, kind and place in the document",
    (
        *_IDS,
        Column("path", "string", "instance path in the gold JSON, `$` for the files"),
        Column("field", "string", "the path without indices"),
        _KIND,
        _SEVERITY,
        Column("message", "string", "what was found"),
        Column("value", "object", "the gold value", nullable=True),
        Column("suggestion", "string", "what may be meant, or the nearest text", nullable=True),
        Column("page", "Int64", "page of the PDF with the suggestion", "1 or more", nullable=True),
    ),
)

SUMMARY_COLUMNS = FrameSpec(
    "summary",
    "one row per domain and kind that occurs, by domain and the order of `Audit.kinds()`",
    (
        _DOMAIN,
        Column("kind", "string", "what is suspected"),
        _SEVERITY,
        Column("findings", "int64", "findings", "1 or more"),
        Column("documents", "int64", "documents that have one", "1 or more"),
        Column("fields", "int64", "fields that have one", "1 or more"),
    ),
)

AUDITED_COLUMNS = FrameSpec(
    "documents",
    "one row per document, in the dataset's order",
    (
        *_IDS,
        Column("readable", "bool", "whether the gold JSON could be read"),
        Column(
            "values", "Int64", "leaf values of the gold JSON, nulls left out", "0 or more", True
        ),
        Column("pages", "Int64", "pages of the PDF, where it was read", "0 or more", True),
        Column("looked_up", "int64", "values looked up in the PDF", "0 or more"),
        Column("found", "int64", "of these, found", "0 or more"),
        *(Column(f"{s}s", "int64", f"findings of severity {s}", "0 or more") for s in SEVERITIES),
    ),
)


@dataclass(frozen=True, repr=False, eq=False)
class Audit(DescribedFrames):
    """The findings of an audit of a dataset; made by `audit`.

    Some of the suspected values are right. Each access to a frame returns a copy.

    Attributes
    ----------
    dataset : str
        The dataset's name.
    """

    _specs = (AUDIT_COLUMNS, SUMMARY_COLUMNS, AUDITED_COLUMNS)

    dataset: str
    _findings: pd.DataFrame
    _documents: pd.DataFrame

    @property
    def findings(self) -> pd.DataFrame:
        """One row per finding (see `Audit.columns`)."""
        return self._findings.copy()

    @property
    def documents(self) -> pd.DataFrame:
        """One row per document: what was read, looked up, found and suspected."""
        return self._documents.copy()

    @property
    def summary(self) -> pd.DataFrame:
        """Numbers of findings, documents and fields; one row per domain and kind."""
        groups = self._findings.groupby(["domain", "kind", "severity"], sort=False)
        counts = groups.agg(
            findings=("path", "size"),
            documents=("document", "nunique"),
            fields=("field", "nunique"),
        ).reset_index()
        counts["rank"] = counts["kind"].map(RANK)
        return SUMMARY_COLUMNS.from_records(counts.sort_values(["domain", "rank"], kind="stable"))

    @staticmethod
    def kinds() -> pd.DataFrame:
        """List the kinds of findings.

        Returns
        -------
        pandas.DataFrame
            One row per kind: kind, severity, meaning.
        """
        return pd.DataFrame(list(KINDS.values()), columns=["kind", "severity", "meaning"])

    def sample(self, n: int = 60, *, seed: int = 0) -> pd.DataFrame:
        """Draw findings to be judged by hand, evenly over the kinds.

        Every kind gets an equal share; what a rare kind cannot fill is divided among the others.
        All findings of a kind have the same probability.

        Parameters
        ----------
        n : int, optional
            Number of findings, 1 or more; all of them if there are fewer.
        seed : int, optional
            Seed of the random order; the same seed draws the same findings.

        Returns
        -------
        pandas.DataFrame
            Rows of `findings`, their index kept, in their order; and a column ``weight``, the
            number of findings of its kind that each row stands for.

        Raises
        ------
        InputError
            `n` is less than 1.

        Examples
        --------
        >>> import extractbench_nb as xb
        >>> found = xb.gold.audit(xb.load_dataset(), kinds="duplicate_item").sample(5)
        >>> len(found), found.columns[-1]
        (0, 'weight')
        """
        if n < 1:
            raise InputError(f"n: at least one finding, found {n!r}")
        findings = self.findings
        shuffled = findings.sample(frac=1, random_state=seed)
        turn = shuffled.groupby("kind").cumcount()
        rank = shuffled["kind"].map(RANK)
        order = pd.DataFrame({"turn": turn, "rank": rank}).sort_values(["turn", "rank"])
        chosen = findings.loc[sorted(order.index[:n])].copy()
        totals, drawn = findings["kind"].value_counts(), chosen["kind"].value_counts()
        chosen["weight"] = [float(totals[kind] / drawn[kind]) for kind in chosen["kind"]]
        return chosen

    def __repr__(self) -> str:
        """Write the counts by kind and domain as text."""
        lines, counts = [self._head()], self._counts()
        if len(counts):
            heads = "".join(f"{domain[:_WIDEST]:>15}" for domain in counts.columns)
            lines.append(" " * 32 + heads)
        for kind, numbers in counts.iterrows():
            cells = "".join(f"{n or '·':>15}" for n in numbers.tolist())
            lines.append(f"  {KINDS[str(kind)].severity:<8}{kind:<22}{cells}")
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        """Write the same as static HTML; every text is escaped."""
        counts = self._counts()
        rows = [
            [KINDS[str(kind)].severity, str(kind), *(str(n or "·") for n in numbers.tolist())]
            for kind, numbers in counts.iterrows()
        ]
        heads = [one_line(str(domain), 40) for domain in counts.columns]
        counted = card_table(["severity", "kind", *heads], rows, len(heads))
        note = "Some findings are false alarms. .findings lists them, Audit.kinds() the kinds."
        return card_html(self._head(), counted, element("div", note, "xb-desc"), limit=300)

    def _counts(self) -> pd.DataFrame:
        """Return findings by kind (rows, in the order of the kinds) and domain."""
        wide = self.summary.pivot_table(
            index="kind", columns="domain", values="findings", aggfunc="sum", fill_value=0
        )
        return wide.reindex([kind for kind in KINDS if kind in wide.index]).iloc[:, :_MOST_DOMAINS]

    def _head(self) -> str:
        totals = self._documents.sum(numeric_only=True)
        looked_up, found = totals["looked_up"], totals["found"]
        share = f"; {found:,} of {looked_up:,} values looked up are in the PDFs"
        return (
            f"Audit of {self.dataset!r}: {plural(len(self._documents), 'document')}, "
            f"{plural(totals['errors'], 'error')}, {plural(totals['warnings'], 'warning')}, "
            f"{plural(totals['infos'], 'note')}{share if looked_up else ''}"
        )


_MOST_DOMAINS = 12
_WIDEST = 14


# --- the released dataset -------------------------------------------------------------------------

_FINDINGS, _JUDGED = "gold/data/audit_findings.csv", "gold/data/audit_judged.csv"

_DECIDED = (
    Column("real", "int64", "gold or schema should change", "0 and up"),
    Column("no_fault", "int64", "both may stay", "0 and up"),
    Column("undecidable", "int64", "no document, or the schema does not say", "0 and up"),
)
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

    The sample is ``audit(ds).sample(60, seed=4)``: an equal number of every kind, not a
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
    judged = shipped_frame(_JUDGED, _FILE).set_index("kind")
    judged.insert(0, "findings", published_findings().groupby("kind")["findings"].sum())
    judged.insert(1, "drawn", judged[_FILE.names[1:]].sum(axis=1))
    if by == "severity":
        judged = judged.groupby([KINDS[str(kind)].severity for kind in judged.index]).sum()
        judged = judged.reindex(list(SEVERITIES))
        judged.loc["all"] = judged.sum()
    drawing = Drawing(confidence, resamples=100, seed=0)  # Wilson's interval draws nothing
    rows = []
    for group, findings, drawn, *decided in judged.itertuples():
        share = decided[0] / drawn
        low, high, _ = wilson_interval(share, drawn, drawing)
        rows.append((group, findings, drawn, *decided, share, low, high))
    return JUDGED_COLUMNS.from_rows(rows)
