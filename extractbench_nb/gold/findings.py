"""`audit`: possible errors of gold by kind, as frames and a card."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple

import pandas as pd

from extractbench_nb.core.frames import Column, DescribedFrames, FrameSpec
from extractbench_nb.core.schema import MISSING, parse_schema
from extractbench_nb.core.values import scalars
from extractbench_nb.errors import ExtractBenchError, InputError, UnavailableError, nearest
from extractbench_nb.gold.checks import CHECKS, Finding, Subject, find_values
from extractbench_nb.pdf import PdfText, read_pages
from extractbench_nb.runs import Dataset
from extractbench_nb.support.cards import card_html, card_table, element
from extractbench_nb.support.concurrency import progress_bar
from extractbench_nb.support.wording import one_line, plural

SEVERITIES = ("error", "warning", "info")


class Kind(NamedTuple):
    """One kind of finding.

    An ``error`` is an unusable file or a value that violates the schema, a ``warning`` usually a
    mistake of the annotation; ``info`` is a matter of style, or uncertain.
    """

    name: str
    severity: str
    meaning: str


_KINDS = (
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
    Kind("contradicting_item", "warning", "an item that equals an earlier one but for a number"),
    Kind("malformed_date", "warning", "looks like a date, but is not a valid one"),
    Kind("shifted_date", "warning", "midnight in another time zone, written as the previous day"),
    Kind("odd_date_style", "warning", "a date in another format than the schema's"),
    Kind("broken_word", "warning", "a word split in two, as at the end of a line"),
    Kind("unlike_pdf", "warning", "the PDF has a similar text or number, but not this one"),
    Kind("not_in_pdf", "info", "the text of the PDF has nothing similar"),
    Kind("field_not_quoted", "info", "most values of this field are not in the PDFs"),
)

#: Every kind by name, in the order of the findings of a document.
KINDS = {kind.name: kind for kind in _KINDS}
_RANK = {name: rank for rank, name in enumerate(KINDS)}

_DOMAIN = Column("domain", "string", "name of the domain folder")
_IDS = (
    Column("document", "string", "document id"),
    _DOMAIN,
    Column("schema", "string", "schema id"),
)
_KIND = Column("kind", "string", "what is suspected; `Audit.kinds()` lists them")
_SEVERITY = Column("severity", "string", "severity of the finding", ", ".join(SEVERITIES))

AUDIT_COLUMNS = FrameSpec(
    "findings",
    "one row per finding, ordered by document, kind and position",
    (
        *_IDS,
        Column("path", "string", "instance path in the gold JSON, `$` for the files"),
        Column("field", "string", "the path without indices"),
        _KIND,
        _SEVERITY,
        Column("message", "string", "what was found"),
        Column("value", "object", "the gold value", nullable=True),
        Column("suggestion", "string", "probable intention, or the nearest text", nullable=True),
        Column("page", "Int64", "page of the PDF with the suggestion", "1 or more", nullable=True),
    ),
)

SUMMARY_COLUMNS = FrameSpec(
    "summary",
    "one row per domain and kind that occurs, by domain and the order of `Audit.kinds()`",
    (
        _DOMAIN,
        _KIND,
        _SEVERITY,
        Column("findings", "int64", "findings", "1 or more"),
        Column("documents", "int64", "documents with such a finding", "1 or more"),
        Column("fields", "int64", "fields with such a finding", "1 or more"),
    ),
)

AUDITED_COLUMNS = FrameSpec(
    "documents",
    "one row per document, in the dataset's order",
    (
        *_IDS,
        Column("readable", "bool", "whether the gold JSON could be read"),
        Column("values", "Int64", "leaf values in gold, without nulls", "0 or more", True),
        Column("pages", "Int64", "pages of the PDF, if it was read", "0 or more", True),
        Column("looked_up", "int64", "values looked up in the PDF", "0 or more"),
        Column("found", "int64", "values that were found in the PDF", "0 or more"),
        *(Column(f"{s}s", "int64", f"findings of severity {s}", "0 or more") for s in SEVERITIES),
    ),
)


@dataclass(frozen=True, repr=False, eq=False)
class Audit(DescribedFrames):
    """The findings of a dataset audit, some of them false alarms; made by `audit`.

    Attributes
    ----------
    dataset : str
        The dataset's name.
    findings : pandas.DataFrame
        One row per finding (see `Audit.columns`).
    documents : pandas.DataFrame
        One row per document: what was read, looked up, found and suspected.
    """

    _specs = (AUDIT_COLUMNS, SUMMARY_COLUMNS, AUDITED_COLUMNS)

    dataset: str
    findings: pd.DataFrame
    documents: pd.DataFrame

    @property
    def summary(self) -> pd.DataFrame:
        """Numbers of findings, documents and fields; one row per domain and kind."""
        groups = self.findings.groupby(["domain", "kind", "severity"], sort=False)
        counts = groups.agg(
            findings=("path", "size"),
            documents=("document", "nunique"),
            fields=("field", "nunique"),
        ).reset_index()
        counts["rank"] = counts["kind"].map(_RANK)
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

    def __repr__(self) -> str:
        """Write the counts by kind and domain as text."""
        counts = self._counts()
        return self._head() + (f"\n{counts.to_string(index=False)}" if len(counts) else "")

    def _repr_html_(self) -> str:
        """Write the same as static HTML; every text is escaped."""
        counts = self._counts()
        heads = [one_line(str(name), 40) for name in counts.columns]
        rows = [list(map(str, row)) for row in counts.itertuples(index=False)]
        counted = card_table(heads, rows, len(heads) - 2)
        note = "Some findings are false alarms. .findings lists them, Audit.kinds() the kinds."
        return card_html(self._head(), counted, element("div", note, "xb-desc"), limit=300)

    def _counts(self) -> pd.DataFrame:
        """Return findings by severity and kind (in the order of the kinds) and domain."""
        wide = self.summary.pivot_table(
            index="kind", columns="domain", values="findings", aggfunc="sum", fill_value=0
        )
        wide = wide.reindex([kind for kind in KINDS if kind in wide.index]).iloc[:, :_MOST_DOMAINS]
        wide.insert(0, "severity", [KINDS[str(kind)].severity for kind in wide.index])
        return wide.reset_index()

    def _head(self) -> str:
        totals = self.documents.sum(numeric_only=True)
        looked_up, found = totals["looked_up"], totals["found"]
        parts = [
            plural(len(self.documents), "document"),
            plural(totals["errors"], "error"),
            plural(totals["warnings"], "warning"),
            plural(totals["infos"], "note"),
        ]
        share = f"; {found:,} of {looked_up:,} values looked up are in the PDFs"
        return f"Audit of {self.dataset!r}: {', '.join(parts)}{share if looked_up else ''}"


_MOST_DOMAINS = 12
#: A field with fewer of its values in the PDFs is not a quotation of them.
_QUOTED_SHARE, _FEWEST_SOUGHT = 0.5, 4


def audit(
    dataset: Dataset,
    *,
    documents: str | Iterable[str] | None = None,
    progress: bool = False,
) -> Audit:
    """Search a dataset for possible errors in its annotation.

    Gold is checked against its schema, itself and the text of its PDF.

    Parameters
    ----------
    dataset : Dataset
        As `load_dataset` returns it. A gold file, schema or PDF that cannot be read is a finding.
    documents : str or iterable of str, optional
        Ids of the documents to check; all by default.
    progress : bool, optional
        Whether to show a progress bar.

    Returns
    -------
    Audit
        ``.findings``, ``.summary`` and ``.documents``.

    Raises
    ------
    InputError
        A document is unknown, or `dataset` is not a dataset.

    Notes
    -----
    A text is found in a PDF if its letters and digits occur there in sequence; a text of twelve
    words or more also in pieces of four words or more. A number is found with thousands separators,
    in words, or in another scale; a date in any form. Fields of which less than half of the values
    are found get one finding of kind ``field_not_quoted`` per document instead of one per value.

    Examples
    --------
    >>> import extractbench_nb as xb
    >>> from extractbench_nb.gold import audit
    >>> audit(xb.load_dataset("sample"), documents="solvane_revolving_credit")
    Audit of 'sample': 1 document, 0 errors, 0 warnings, 0 notes;
    18 of 18 values looked up are in the PDFs
    """
    if not isinstance(dataset, Dataset):
        raise InputError(f"pass a Dataset as load_dataset returns it, found {dataset!r:.80}")
    listing = dataset.listing
    if documents is not None:
        names = [documents] if isinstance(documents, str) else list(documents)
        known = listing["document"].tolist()
        for name in names:
            if name not in known:
                problem = f"documents: {dataset.name!r} has no {name!r}"
                raise InputError(f"{problem}; {nearest(name, known)}")
        listing = listing[listing["document"].isin(names)]
    rows = list(listing.itertuples(index=False))
    shown = progress_bar(rows, shown=progress, desc="audit", unit="document")
    checked = [_checked(dataset, row) for row in shown]
    unquoted = _unquoted_fields(checked)
    finding_rows, document_rows = [], []
    for document in checked:
        findings = _merged(document, unquoted)
        severities = [KINDS[finding.kind].severity for finding in findings]
        finding_rows += [
            document.about | finding._asdict() | {"severity": severity}
            for finding, severity in zip(findings, severities, strict=True)
        ]
        found = sum(finding is None for _, finding in document.looked_up)
        counts = {f"{severity}s": severities.count(severity) for severity in SEVERITIES}
        counts |= {"looked_up": len(document.looked_up), "found": found}
        document_rows.append(document.about | counts)
    return Audit(
        dataset.name,
        AUDIT_COLUMNS.from_records(finding_rows),
        AUDITED_COLUMNS.from_records(document_rows),
    )


class _Checked(NamedTuple):
    """What was found in one document, and what it is: the first columns of its row.

    `looked_up` has the definition of every value that was looked up in the PDF, and a finding if it
    is not there.
    """

    about: dict[str, Any]
    findings: list[Finding]
    looked_up: list[tuple[str, Finding | None]]


def _checked(dataset: Dataset, row: Any) -> _Checked:
    """Read one document and run all checks over it."""
    about = {name: getattr(row, name) for name in ("document", "domain", "schema")}
    about |= {"readable": True, "values": None, "pages": None}
    checked = _Checked(about, [], [])

    def add(kind: str, message: str) -> None:
        checked.findings.append(Finding("$", "", kind, message))

    def read(kind: str, read_file: Callable[[], Any]) -> Any:
        try:
            return read_file()
        except UnavailableError:
            raise
        except ExtractBenchError as error:
            add(kind, str(error))
            return MISSING

    pdf = None
    if not row.has_pdf:
        add("pdf_missing", "there is no PDF beside the gold file")
    else:
        path = dataset.pdf_path(row.document)
        pages = read("pdf_unreadable", lambda: read_pages(path))
        if pages is not MISSING:
            pdf = PdfText(pages)
            about["pages"] = pdf.pages
        if pdf is not None and not pdf.words:
            add("pdf_without_text", f"no text on {plural(pdf.pages, 'page')}")
            pdf = None
    gold = read("gold_unreadable", lambda: dataset.gold(row.document))
    about["readable"] = gold is not MISSING
    schema = read("schema_unreadable", lambda: parse_schema(dataset.schema(row.schema)))
    if gold is MISSING or schema is MISSING:
        return checked
    about["values"] = sum(1 for _ in scalars(gold))
    subject = Subject(schema, gold, pdf)
    for check in CHECKS:
        checked.findings.extend(check(subject))
    checked.looked_up.extend((place.definition, found) for place, found in find_values(subject))
    return checked


def _unquoted_fields(checked: Iterable[_Checked]) -> frozenset[tuple[str, str]]:
    """Return the fields (schema, definition) with less than half of all values in the PDFs."""
    quoted = defaultdict(list)
    for document in checked:
        for name, finding in document.looked_up:
            quoted[document.about["schema"], name].append(finding is None)
    rare = {
        key
        for key, is_found in quoted.items()
        if len(is_found) >= _FEWEST_SOUGHT and sum(is_found) < _QUOTED_SHARE * len(is_found)
    }
    # an undeclared key is taken for the declared ones of the same name
    return frozenset(rare | {(schema, name.rsplit("/", 1)[-1]) for schema, name in rare})


def _merged(checked: _Checked, unquoted: frozenset[tuple[str, str]]) -> list[Finding]:
    """Return a document's findings by kind; those of an unquoted field are merged into one."""
    findings = list(checked.findings)
    missing: dict[str, list[Finding]] = defaultdict(list)
    for name, finding in checked.looked_up:
        if finding is not None:
            is_unquoted = (checked.about["schema"], name) in unquoted
            (missing[name] if is_unquoted else findings).append(finding)
    for name, of_field in missing.items():
        sought = sum(other == name for other, _ in checked.looked_up)
        message = (
            f"{len(of_field)} of {sought} values of {name} are not in the PDF, nor are most "
            "values of other documents in theirs"
        )
        first = of_field[0]._replace(kind="field_not_quoted", message=message)
        findings.append(first._replace(suggestion=None, page=None))
    return sorted(findings, key=lambda finding: _RANK[finding.kind])
