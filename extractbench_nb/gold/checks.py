"""`audit`: schema violations, undeclared keys, and all other checks of gold files."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from extractbench_nb.core import undeclared, violations
from extractbench_nb.core.schema import MISSING, parse_schema
from extractbench_nb.core.values import json_type, scalars
from extractbench_nb.errors import ExtractBenchError, InputError, UnavailableError, nearest
from extractbench_nb.gold import entries
from extractbench_nb.gold.entries import INDEX_KEYS, Place, Subject
from extractbench_nb.gold.findings import (
    AUDIT_COLUMNS,
    AUDITED_COLUMNS,
    KINDS,
    RANK,
    SEVERITIES,
    Audit,
    Finding,
    chosen_kinds,
)
from extractbench_nb.gold.lookup import find_date_faults, find_values
from extractbench_nb.pdf import PdfText, read_pages
from extractbench_nb.runs import Dataset
from extractbench_nb.support.concurrency import progress_bar
from extractbench_nb.support.wording import plural

_TYPE_KEYWORDS = frozenset(("type", "anyOf", "oneOf"))


def find_violations(subject: Subject) -> Iterator[Finding]:
    """Find violations of JSON Schema Draft 2020-12; wrong types have a kind of their own."""
    places = {place.path: place for place in subject.places}
    for path, keyword, message, value in violations(subject.schema, subject.gold):
        place = places.get(path)
        field, node = (place.field, place.node) if place is not None else ("", None)
        type_ = json_type(value)
        if keyword not in _TYPE_KEYWORDS or node is None or type_ in node.types:
            yield Finding(path, field, "schema_violation", message, value)
            continue
        wants_object = "object" in node.types and not node.types & {"string", "array"}
        kind = "text_for_object" if isinstance(value, str) and wants_object else "wrong_type"
        article = "" if type_ == "null" else "an " if type_[0] in "aio" else "a "
        as_text = type_ == "number" and "string" in node.types and kind == "wrong_type"
        difference = f"found {article}{type_}, the schema has {node.label}"
        yield Finding(path, field, kind, difference, value, f'"{value}"' if as_text else None)


def find_undeclared(subject: Subject) -> Iterator[Finding]:
    """Find keys that the schema does not declare; keys below them are not reported.

    A key that holds the item's own index is reported once for all items of the array.
    """
    paths = {"$" + p.path for p in undeclared(subject.schema.root, subject.gold, subject.gold)}
    index_keys: dict[str, list[Place]] = defaultdict(list)
    for place in subject.places:
        if place.path not in paths:
            continue
        item_index = re.search(r"\[(\d+)\]\.\w+\Z", place.path)
        is_index = (
            place.key in INDEX_KEYS
            and item_index is not None
            and type(place.value) is int
            and place.value - int(item_index[1]) in (0, 1)  # counted from 0 or from 1
        )
        if is_index:
            index_keys[place.field].append(place)
        else:
            yield place.finding("undeclared_key", "the schema does not declare this key")
    for field_path, places in index_keys.items():
        message = f"{len(places)} items carry their own index, which the schema does not declare"
        yield Finding(places[0].path, field_path, "item_index", message, places[0].value)


def find_empty_required(subject: Subject) -> Iterator[Finding]:
    """Find required keys whose value is empty: ``""``, blanks, ``[]``, ``{}``.

    A null is not reported: it is a violation if the schema forbids it, and a value otherwise.
    """
    for place in subject.places:
        value = place.value.strip() if isinstance(place.value, str) else place.value
        if place.node is not None and place.node.required and value in ("", [], {}):
            yield place.finding("empty_required", f"required, but an empty {json_type(value)}")


#: The checks of one document, and the kinds of finding that each can yield.
_RULES: tuple[tuple[Callable[[Subject], Iterator[Finding]], str], ...] = (
    (find_violations, "schema_violation wrong_type text_for_object"),
    (find_undeclared, "undeclared_key item_index"),
    (find_empty_required, "empty_required"),
    (entries.find_placeholders, "placeholder"),
    (entries.find_duplicates, "duplicate_item contradicting_item"),
    (entries.find_split_items, "split_item"),
    (find_date_faults, "malformed_date shifted_date odd_date_style"),
    (
        entries.find_wording_faults,
        "glued_words broken_word line_break trailing_punctuation stray_whitespace",
    ),
)
_LOOKUP = frozenset(("unlike_pdf", "not_in_pdf", "field_not_quoted"))
_USE_PDF = _LOOKUP | {
    *("glued_words", "broken_word"),
    *("pdf_missing", "pdf_unreadable", "pdf_without_text"),
}


@dataclass
class Checked:
    """What was found in one document.

    `looked_up` has the definition of every value that was looked up in the PDF, and a finding if it
    is not there. `pages` of the PDF and `values` (leaves of gold) are None if they were not read.
    """

    document: str
    domain: str
    schema: str
    findings: list[Finding] = field(default_factory=list)
    looked_up: list[tuple[str, Finding | None]] = field(default_factory=list)
    gold_readable: bool = True
    pages: int | None = None
    values: int | None = None

    def read(self, kind: str, read: Callable[[], Any]) -> Any:
        """Read a file; a failure is a finding, and `MISSING`."""
        try:
            return read()
        except UnavailableError:
            raise
        except ExtractBenchError as error:
            self.findings.append(Finding("$", "", kind, str(error)))
            return MISSING


def check_document(dataset: Dataset, row: Any, kinds: frozenset[str]) -> Checked:
    """Run the wanted checks over one document."""
    checked = Checked(row.document, row.domain, row.schema)
    pdf = None
    if kinds & _USE_PDF and not row.has_pdf:
        message = "there is no PDF beside the gold file"
        checked.findings.append(Finding("$", "", "pdf_missing", message))
    elif kinds & _USE_PDF:
        path = dataset.pdf_path(row.document)
        pages = checked.read("pdf_unreadable", lambda: read_pages(path))
        if pages is not MISSING:
            pdf = PdfText(pages)
            checked.pages = pdf.pages
        if pdf is not None and not pdf.words:
            message = f"no text on {plural(pdf.pages, 'page')}: scanned or drawn"
            checked.findings.append(Finding("$", "", "pdf_without_text", message))
            pdf = None
    gold = checked.read("gold_unreadable", lambda: dataset.gold(row.document))
    checked.gold_readable = gold is not MISSING
    schema = checked.read("schema_unreadable", lambda: parse_schema(dataset.schema(row.schema)))
    if gold is MISSING or schema is MISSING:
        return checked
    subject = Subject(schema, gold, tuple(entries.walk(schema, gold)), pdf)
    checked.values = sum(1 for _ in scalars(gold))
    for check, names in _RULES:
        if not kinds.isdisjoint(names.split()):
            checked.findings += check(subject)
    if kinds & _LOOKUP:
        checked.looked_up = [(place.definition, found) for place, found in find_values(subject)]
    return checked


_FEWEST_SOUGHT = 4
_QUOTED_SHARE = 0.5


def audit(
    ds: Dataset,
    *,
    kinds: str | Iterable[str] | None = None,
    documents: str | Iterable[str] | None = None,
    progress: bool = False,
) -> Audit:
    """Search a dataset for possible errors in its annotation.

    Gold is checked against its schema, itself and the text of its PDF. A finding is a suspicious
    value, with the nearest text or form as a suggestion if there is one.

    Parameters
    ----------
    ds : Dataset
        As `load_dataset` returns it. A gold file, schema or PDF that cannot be read is a finding.
    kinds : str or iterable of str, optional
        Kinds of findings to look for, as `Audit.kinds` lists them; all by default. PDFs are read
        only if a kind needs them.
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
        A kind or a document is unknown, or `ds` is not a dataset.

    Notes
    -----
    A text is found in a PDF if its letters and digits occur there in sequence, regardless of case,
    spacing, punctuation, accents and line breaks; a text of twelve words or more also if it occurs
    there in pieces of four words or more. A number is found if the PDF has it with thousands
    separators, in words, or in another scale, such as thousands or millions; a date in any form.
    Fields of which less than half of the values are found (labels, codes, calculated values) get
    one finding of kind ``field_not_quoted`` per document instead of one per value.

    Examples
    --------
    >>> import extractbench_nb as xb
    >>> from extractbench_nb.gold import audit
    >>> audit(xb.load_dataset("sample"), kinds=["malformed_date", "unlike_pdf"])
    Audit of 'sample': 14 documents, 0 errors, 0 warnings, 0 notes;
    1,470 of 1,470 values looked up are in the PDFs
    """
    if not isinstance(ds, Dataset):
        raise InputError(f"ds: pass a Dataset as load_dataset returns it, found {ds!r:.80}")
    wanted, listing = chosen_kinds(kinds), ds.listing
    if documents is not None:
        names = [documents] if isinstance(documents, str) else list(documents)
        known = listing["document"].tolist()
        for name in names:
            if name not in known:
                raise InputError(f"documents: {ds.name!r} has no {name!r}; {nearest(name, known)}")
        listing = listing[listing["document"].isin(names)]
    rows = list(listing.itertuples(index=False))
    shown = progress_bar(rows, shown=progress, desc="audit", unit="document")
    checked = [check_document(ds, row, wanted) for row in shown]
    unquoted = _unquoted_fields(checked)
    finding_rows, document_rows = [], []
    for c in checked:
        findings = [f for f in _merged(c, unquoted) if f.kind in wanted]
        severities = [KINDS[f.kind].severity for f in findings]
        finding_rows += [
            (c.document, c.domain, c.schema, f.path, f.field, f.kind, severity, f.message,
             f.value, f.suggestion, f.page)
            for f, severity in zip(findings, severities, strict=True)
        ]  # fmt: skip
        in_pdf = sum(finding is None for _, finding in c.looked_up)
        document_rows.append(
            (c.document, c.domain, c.schema, c.gold_readable, c.values, c.pages,
             len(c.looked_up), in_pdf, *map(severities.count, SEVERITIES))
        )  # fmt: skip
    return Audit(
        ds.name, AUDIT_COLUMNS.from_rows(finding_rows), AUDITED_COLUMNS.from_rows(document_rows)
    )


def _unquoted_fields(checked: Sequence[Checked]) -> frozenset[tuple[str, str]]:
    """Return the fields (schema, definition) with less than half of all values in the PDFs."""
    quoted = defaultdict(list)
    for document in checked:
        for name, finding in document.looked_up:
            quoted[document.schema, name].append(finding is None)
    rare = {
        key
        for key, is_found in quoted.items()
        if len(is_found) >= _FEWEST_SOUGHT and sum(is_found) < _QUOTED_SHARE * len(is_found)
    }
    # an undeclared key is taken for the declared ones of the same name
    return frozenset(rare | {(schema, name.rsplit("/", 1)[-1]) for schema, name in rare})


def _merged(checked: Checked, unquoted: frozenset[tuple[str, str]]) -> list[Finding]:
    """Return a document's findings by kind; those of an unquoted field are merged into one."""
    findings, missing = list(checked.findings), defaultdict(list)
    for name, finding in checked.looked_up:
        if finding is not None and (checked.schema, name) in unquoted:
            missing[name].append(finding)
        elif finding is not None:
            findings.append(finding)
    for name, of_field in missing.items():
        sought = sum(other == name for other, _ in checked.looked_up)
        message = (
            f"{len(of_field)} of {sought} values of {name} are not in the PDF, nor are most "
            "values of other documents in theirs"
        )
        first = of_field[0]._replace(kind="field_not_quoted", message=message)
        findings.append(first._replace(suggestion=None, page=None))
    return sorted(findings, key=lambda finding: RANK[finding.kind])
