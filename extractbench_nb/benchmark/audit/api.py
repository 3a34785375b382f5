"""`audit`: look a dataset over for what its annotation may have got wrong."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

from extractbench_nb._progress import progress_bar
from extractbench_nb.benchmark.audit.checks import Checked, check_document
from extractbench_nb.benchmark.audit.kinds import KINDS, SEVERITIES, Finding, chosen_kinds
from extractbench_nb.benchmark.audit.result import AUDIT_COLUMNS, AUDITED_COLUMNS, Audit
from extractbench_nb.benchmark.dataset import Dataset
from extractbench_nb.errors import InputError

__all__ = ["audit"]

_FEWEST_SOUGHT = 4
_QUOTED_SHARE = 0.5
_ORDER = {kind: i for i, kind in enumerate(KINDS)}


def audit(
    ds: Dataset, *, kinds: str | Iterable[str] | None = None, progress: bool = False
) -> Audit:
    """Look a dataset over for what its annotation may have got wrong.

    Gold is held against its schema, against itself and against the text of its PDF. What comes
    out are suspects, each with the nearest text or form as a suggestion where there is one.

    Parameters
    ----------
    ds : Dataset
        As `load_dataset` returns it. A gold file, schema or PDF that cannot be read is a finding.
    kinds : str or iterable of str, optional
        What to look for, by the names in `Audit.kinds()`. Everything by default. PDFs are read
        only where a kind needs them.
    progress : bool, optional
        Whether to show a progress bar.

    Returns
    -------
    Audit
        ``.findings``, ``.summary`` and ``.documents``.

    Raises
    ------
    InputError
        A kind is unknown, or `ds` is no dataset.

    Notes
    -----
    A text is found in a PDF if its letters and digits stand there in a row, whatever the case,
    spacing, punctuation, accents and line breaks; a text of twelve words or more also if it
    stands there in pieces of four words or more. A number is found if the PDF has it in any scale
    from thousandths of millions to billions, with thousands separators, or in words; a date in
    any form. Fields of which less than half of the values are found (labels, codes, calculated
    values) get one finding of kind ``field_not_quoted`` a document, not one a value.

    Examples
    --------
    >>> import extractbench_nb as xb
    >>> from extractbench_nb.benchmark.audit import audit
    >>> audit(xb.load_dataset("sample"), kinds=["malformed_date", "unlike_pdf"])
    Audit of 'sample': 14 documents, 0 errors, 0 warnings, 0 notes;
    1,470 of 1,470 values looked up stand in the PDFs
    """
    if not isinstance(ds, Dataset):
        raise InputError(f"ds: pass a Dataset as load_dataset returns it, found {ds!r:.80}")
    wanted = chosen_kinds(kinds)
    rows = list(ds.listing.itertuples(index=False))
    shown = progress_bar(rows, shown=progress, desc="audit", unit="document")
    checked = [check_document(ds, row, wanted) for row in shown]
    unquoted = _unquoted_fields(checked)
    found = [(one, f) for one in checked for f in _settled(one, unquoted) if f.kind in wanted]
    return Audit(ds.name, _findings_frame(found), _documents_frame(checked, found))


def _unquoted_fields(checked: Sequence[Checked]) -> frozenset[tuple[str, str]]:
    """Return schema and definition of which less than half of all values were found."""
    sought: Counter[tuple[str, str]] = Counter()
    found: Counter[tuple[str, str]] = Counter()
    for one in checked:
        for name, count in one.sought.items():
            sought[one.schema, name] += count
            found[one.schema, name] += one.found[name]
    rare = {
        key
        for key, count in sought.items()
        if count >= _FEWEST_SOUGHT and found[key] < _QUOTED_SHARE * count
    }
    # an undeclared key means what the declared ones of its name mean
    return frozenset(rare | {(schema, name.rsplit("/", 1)[-1]) for schema, name in rare})


def _settled(one: Checked, unquoted: frozenset[tuple[str, str]]) -> list[Finding]:
    """Return a document's findings in order, with one for each field that is not quoted."""
    findings = list(one.findings)
    told: dict[str, Finding] = {}
    for definition, finding in one.not_found:
        if (one.schema, definition) in unquoted:
            told.setdefault(definition, finding)
        else:
            findings.append(finding)
    findings += [_field_finding(one, *entry) for entry in told.items()]
    return sorted(findings, key=lambda finding: _ORDER[finding.kind])


def _field_finding(one: Checked, definition: str, first: Finding) -> Finding:
    sought = one.sought[definition]
    message = (
        f"{sought - one.found[definition]} of {sought} values of {definition} are not in "
        "the PDF, nor are most in other documents: not quoted"
    )
    return first._replace(kind="field_not_quoted", message=message, suggestion=None, page=None)


def _findings_frame(found: Sequence[tuple[Checked, Finding]]) -> Any:
    rows = [
        (c.document, c.domain, c.schema, f.path, f.field, f.kind, KINDS[f.kind].severity,
         f.message, f.value, f.suggestion, f.page)
        for c, f in found
    ]  # fmt: skip
    return AUDIT_COLUMNS.from_rows(rows)


def _documents_frame(checked: Sequence[Checked], found: Sequence[tuple[Checked, Finding]]) -> Any:
    counts = Counter((id(c), KINDS[f.kind].severity) for c, f in found)
    rows = [
        (c.document, c.domain, c.schema, c.gold_readable, c.values, c.pages, c.text_length,
         c.sought.total(), c.found.total(), *(counts[id(c), name] for name in SEVERITIES))
        for c in checked
    ]  # fmt: skip
    return AUDITED_COLUMNS.from_rows(rows)
