"""All checks of one document: read its files, then run every check that is wanted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from extractbench_nb.benchmark.audit.conformance import (
    find_empty_required,
    find_undeclared,
    find_violations,
)
from extractbench_nb.benchmark.audit.dates import find_date_faults
from extractbench_nb.benchmark.audit.entries import (
    find_duplicates,
    find_placeholders,
    find_split_items,
)
from extractbench_nb.benchmark.audit.kinds import Finding
from extractbench_nb.benchmark.audit.lookup import find_values
from extractbench_nb.benchmark.audit.pdftext import PdfText
from extractbench_nb.benchmark.audit.places import Place, Subject, walk
from extractbench_nb.benchmark.audit.variants import find_variants
from extractbench_nb.benchmark.audit.wording import find_wording_faults
from extractbench_nb.benchmark.pdf import read_pages
from extractbench_nb.errors import ExtractBenchError
from extractbench_nb.schema.nodes import Schema
from extractbench_nb.schema.parse import parse_schema

if TYPE_CHECKING:
    from extractbench_nb.benchmark.dataset import Dataset

__all__ = ["Checked", "check_document"]

Check = Callable[[Subject], Iterator[Finding]]


class _Rule(NamedTuple):
    check: Check
    kinds: frozenset[str]


_RULES: tuple[_Rule, ...] = (
    _Rule(find_violations, frozenset(("schema_violation", "wrong_type", "text_for_object"))),
    _Rule(find_undeclared, frozenset(("undeclared_key", "item_index"))),
    _Rule(find_empty_required, frozenset(("empty_required",))),
    _Rule(find_placeholders, frozenset(("placeholder",))),
    _Rule(find_duplicates, frozenset(("duplicate_item", "contradicting_item"))),
    _Rule(find_split_items, frozenset(("split_item",))),
    _Rule(find_date_faults, frozenset(("malformed_date", "shifted_date", "odd_date_style"))),
    _Rule(
        find_wording_faults,
        frozenset(
            ("glued_words", "broken_word", "line_break", "trailing_punctuation", "stray_whitespace")
        ),
    ),
    _Rule(find_variants, frozenset(("spelling_variant", "case_variant"))),
)
_LOOKUP = frozenset(("unlike_pdf", "not_in_pdf", "field_not_quoted"))
_USE_PDF = _LOOKUP | {"glued_words", "broken_word"}
_PDF_KINDS = frozenset(("pdf_missing", "pdf_unreadable", "pdf_without_text"))


@dataclass
class Checked:
    """What was found in one document.

    Attributes
    ----------
    document, domain, schema : str
        Which document.
    findings : list of Finding
        From everything but the look-up.
    not_found : list of tuple of (str, Finding)
        Values that were looked up in the PDF and not found, each with its definition.
    sought, found : Counter
        Values looked up and found, by definition.
    gold_readable : bool
        Whether the gold file could be used.
    pages, text_length, values : int or None
        Pages and characters of the PDF, leaf values of the gold JSON; None where not read.
    """

    document: str
    domain: str
    schema: str
    findings: list[Finding] = field(default_factory=list)
    not_found: list[tuple[str, Finding]] = field(default_factory=list)
    sought: Counter[str] = field(default_factory=Counter)
    found: Counter[str] = field(default_factory=Counter)
    gold_readable: bool = True
    pages: int | None = None
    text_length: int | None = None
    values: int | None = None


def check_document(dataset: Dataset, row: Any, kinds: frozenset[str]) -> Checked:
    """Run the wanted checks over one document.

    Parameters
    ----------
    dataset : Dataset
        The dataset.
    row : object
        A row of its `documents`, with document, domain, schema and has_pdf.
    kinds : frozenset of str
        Names of the kinds that are wanted.

    Returns
    -------
    Checked
        A file that cannot be used is a finding.
    """
    checked = Checked(row.document, row.domain, row.schema)
    pdf = _read_pdf(dataset, row, kinds, checked)
    gold = _read(checked, "gold_unreadable", lambda: dataset.gold(row.document))
    checked.gold_readable = gold is not _UNREADABLE
    schema = _read(checked, "schema_unreadable", lambda: parse_schema(dataset.schema(row.schema)))
    if gold is _UNREADABLE or schema is _UNREADABLE:
        return checked
    subject = _subject(schema, gold, pdf)
    checked.values = sum(_is_leaf(place) for place in subject.places)
    for rule in _RULES:
        if rule.kinds & kinds:
            checked.findings += rule.check(subject)
    if kinds & _LOOKUP:
        _look_up(subject, checked)
    return checked


_UNREADABLE = object()


def _subject(schema: Schema, gold: Any, pdf: PdfText | None) -> Subject:
    return Subject(schema, gold, tuple(walk(schema, gold)), pdf)


def _is_leaf(place: Place) -> bool:
    return place.value is not None and not isinstance(place.value, dict | list)


def _read(checked: Checked, kind: str, read: Callable[[], Any]) -> Any:
    try:
        return read()
    except ExtractBenchError as error:
        checked.findings.append(Finding("$", "", kind, str(error)))
        return _UNREADABLE


def _read_pdf(
    dataset: Dataset, row: Any, kinds: frozenset[str], checked: Checked
) -> PdfText | None:
    """Read the PDF where a wanted kind needs it."""
    if not kinds & (_USE_PDF | _PDF_KINDS):
        return None
    if not row.has_pdf:
        message = "there is no PDF beside the gold file"
        checked.findings.append(Finding("$", "", "pdf_missing", message))
        return None
    pages = _read(checked, "pdf_unreadable", lambda: read_pages(dataset.pdf_path(row.document)))
    if pages is _UNREADABLE:
        return None
    pdf = PdfText(pages)
    checked.pages, checked.text_length = pdf.pages, len(pdf.text)
    if pdf.words:
        return pdf
    message = f"no text on its {pdf.pages} page{'s' if pdf.pages > 1 else ''}: scanned or drawn"
    checked.findings.append(Finding("$", "", "pdf_without_text", message))
    return None


def _look_up(subject: Subject, checked: Checked) -> None:
    for place, finding in find_values(subject):
        checked.sought[place.definition] += 1
        if finding is None:
            checked.found[place.definition] += 1
        else:
            checked.not_found.append((place.definition, finding))
