"""`find_evidence`: where a value stands in a document's PDF."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from extractbench_nb._frames import Column, FrameSpec
from extractbench_nb.benchmark.pdf import opened
from extractbench_nb.errors import InputError
from extractbench_nb.evidence.boxes import lines_of
from extractbench_nb.evidence.hits import WRITTEN, Hit
from extractbench_nb.evidence.index import DocumentIndex, Excerpt, index_of
from extractbench_nb.evidence.search import is_sought, search, sought
from extractbench_nb.evidence.sources import HasPdfs, pdf_of
from extractbench_nb.evidence.telling import telling

__all__ = ["EVIDENCE_COLUMNS", "STATUSES", "find_evidence"]

STATUSES = ("found", "not_found", "no_text_layer", "nothing_to_find")

EVIDENCE_COLUMNS = FrameSpec(
    "evidence",
    "one row a line of a place where the value stands",
    (
        Column("hit", "int64", "which place: 1 is the best", "1 and up"),
        Column("line", "int64", "which line of it", "1 and up"),
        Column("page", "int64", "page of the PDF, counted from 1", "1 and up"),
        Column("x0", "float64", "left, in points from the left; before any rotation of the page"),
        Column("y0", "float64", "bottom, in points from the bottom"),
        Column("x1", "float64", "right, in points"),
        Column("y1", "float64", "top, in points"),
        Column("text", "string", "what stands in this line, as the PDF has it"),
        Column("context", "string", "the words around the place"),
        Column("written", "string", "how the value stands there", ", ".join(WRITTEN)),
        Column("similarity", "float64", "how much what stands there is like the value", "(0, 1]"),
        Column("score", "float64", "similarity, less what chance would find", "[0, 1]"),
    ),
)


def find_evidence(
    ds: HasPdfs | None, document: str | Path, value: Any, *, limit: int = 20
) -> pd.DataFrame:
    r"""Find where a value stands in a document's PDF.

    Parameters
    ----------
    ds : Dataset or None
        As `load_dataset` returns it; None where `document` is a path.
    document : str or pathlib.Path
        The id of a document, or the path of any PDF.
    value : str, int, float or datetime.date
        What to look for.
    limit : int, optional
        The most places to return, 1 and up; the best ones.

    Returns
    -------
    pandas.DataFrame
        One row a line of a place (see `EVIDENCE_COLUMNS`), the best places first, then in the
        order of the document: hit, line, page, x0, y0, x1, y1, text, context, written,
        similarity, score. Without rows where the value is not found. ``attrs["status"]`` says
        why: ``found``, ``not_found``, ``no_text_layer`` (the pages are pictures: nothing can be
        found) or ``nothing_to_find`` (a text without a letter or digit).
        ``attrs["places"]`` is how many places there are, ``attrs["pages"]`` and
        ``attrs["pages_without_text"]`` count pages.

    Raises
    ------
    InputError
        The value is null, a boolean, an array, an object, NaN or infinite; `limit` is below 1;
        or the PDF cannot be read.
    DatasetError
        The dataset has no such document.
    MissingPdfError
        The document has no PDF.

    Notes
    -----
    Texts are found whatever their case, spacing, punctuation, accents and line breaks; numbers in
    thousands, millions and percent too; dates in every written form. The similarity is 1 for
    these, less for another sign, a scale that nobody states, words in another order or spelling.

    The score is the similarity times :math:`1 / (1 + \lambda)`, where :math:`\lambda` is how often
    the value would stand by chance in another document like this one: all but 0 for a 1, nearly 1
    for a name or 1,234.5. It is estimated from how many numbers and words the document has and how
    common the value is, not learned from data. In the published dataset 0.3 % of the values with a
    score of 0.9 or more stand in a PDF of another domain too, and 52 % of those below 0.1.

    Examples
    --------
    >>> import extractbench_nb as xb
    >>> from extractbench_nb.evidence import find_evidence
    >>> ds = xb.load_dataset()
    >>> found = find_evidence(ds, "night bus demand", "2029-12-01")
    >>> found[["page", "text", "written"]].values.tolist()
    [[1, '1 December 2029', 'date']]
    >>> find_evidence(ds, "night bus demand", "Airships").attrs["status"]
    'not_found'
    """
    _check_limit(limit)
    wanted = sought(value)
    path = pdf_of(ds, document)
    index = index_of(path)
    hits = search(wanted, index) if is_sought(wanted) else []
    shown = hits[:limit]
    weight = telling(wanted, index) if shown else 0.0
    frame = _frame(list(_rows(path, index, shown, weight)))
    frame.attrs |= {
        "status": _status(wanted, index, hits),
        "places": len(hits),
        "pages": index.pages,
        "pages_without_text": index.pages_without_text,
    }
    return frame


def _check_limit(limit: object) -> None:
    if isinstance(limit, bool) or not isinstance(limit, int) or limit < 1:
        raise InputError(f"limit={limit!r}; expected a whole number, 1 or more")


def _status(wanted: Any, index: DocumentIndex, hits: Sequence[Hit]) -> str:
    if hits:
        return "found"
    if not index.words:
        return "no_text_layer"
    return "not_found" if is_sought(wanted) else "nothing_to_find"


def _rows(
    path: Path, index: DocumentIndex, hits: Sequence[Hit], weight: float
) -> Iterator[tuple[Any, ...]]:
    excerpts: list[Excerpt] = []
    owners: list[int] = []
    for number, hit in enumerate(hits):
        for span in hit.spans:
            found = index.excerpts(*span)
            excerpts += found
            owners += [number] * len(found)
    if not excerpts:
        return
    with opened(path) as pdf:
        lines = lines_of(pdf, excerpts)
    counts = [0] * len(hits)
    for number, group in zip(owners, lines, strict=True):
        hit = hits[number]
        for line in group:
            counts[number] += 1
            place = (number + 1, counts[number], line.excerpt.page, *line.box)
            texts = index.original(line.excerpt), index.context(hit.start, hit.end)
            yield (*place, *texts, hit.written, hit.similarity, hit.similarity * weight)


def _frame(rows: Sequence[tuple[Any, ...]]) -> pd.DataFrame:
    cells = list(zip(*rows, strict=True)) if rows else [()] * len(EVIDENCE_COLUMNS.columns)
    return EVIDENCE_COLUMNS.build(dict(zip(EVIDENCE_COLUMNS.names, cells, strict=True)))
