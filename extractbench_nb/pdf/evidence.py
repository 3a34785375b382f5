"""Which values are in a PDF, where, how unlikely a chance match is; and citations of outputs."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterable, Iterator
from contextlib import suppress
from functools import lru_cache
from numbers import Real
from pathlib import Path
from typing import Any, Literal, NamedTuple

import pandas as pd

from extractbench_nb.core.frames import Column, FrameSpec, as_pandas
from extractbench_nb.core.values import member, private_copy
from extractbench_nb.errors import InputError, MissingPdfError, nearest, no_column
from extractbench_nb.pdf.page_text import MOST_HITS, PdfText, index_of, shape_of
from extractbench_nb.pdf.pages import EDGES, Box, HasPdfs, lines_of, pdf_of
from extractbench_nb.pdf.search import (
    INEXACT,
    UNSPACED,
    WRITTEN,
    amount_of,
    date_of,
    is_sought,
    search,
    sought,
    spellings,
)
from extractbench_nb.support.folding import is_placeholder
from extractbench_nb.support.token_counts import gpt2

#: A document of some twenty pages; shorter ones count as that long.
_WORDS, _NUMBERS, _DATES = 10_000, 1_000, 10
_YEARS_IN_USE = 20
#: Unknown paths that a warning lists.
_LISTED = 3


def specificity(value: str | float, index: PdfText) -> float:
    r"""Return how unlikely a chance match of a value in a document is, in (0, 1].

    If the value truly occurs once, this is the share of occurrences that are not due to chance:
    :math:`1 / (1 + \lambda)`, :math:`\lambda` the expected number of chance occurrences in a
    similar document.

    Notes
    -----
    The estimate uses the counts of the document, but at least 10,000 words, 1,000 numbers and 10
    dates; it is not fitted to a dataset.

    *Numbers.* Of :math:`n` numbers with :math:`k` significant digits (trailing zeros are not) and
    one order of magnitude, :math:`n / (81 \cdot 10^{k-2})` would have these very digits
    (:math:`n / 9` where :math:`k = 1`). Years are one class, of twenty years in use, and dates are
    spread over as many. The scales in which a number may be written are added up.

    *Texts.* The words :math:`N` of the document, times the probability of the text by Zipf's law
    (Zipf 1949): a token of rank :math:`r` has :math:`1 / ((r + 1) H)`, :math:`H` the harmonic
    number that makes them add up to 1. Ranks are those of GPT-2's vocabulary (Radford et al.
    2019). The rarest token counts in full, the logarithms of the others by half, because words
    co-occur. Each Chinese character counts 6.6 nats, and each byte that is no token as rank 100.
    """
    return 1 / (1 + _expected(value, index))


def _expected(value: str | float, index: PdfText) -> float:
    if not isinstance(value, str):
        return _of_number(value, index)
    dated, amount = date_of(value), amount_of(value)
    if dated is not None:
        year, month, day = dated[0].year, dated[0].month, dated[0].day
        many = max(_DATES, sum(map(len, index.dated.values())))
        if month is None:
            return _of_number(year, index)
        return many / (_YEARS_IN_USE * (12 if day is None else 365))
    if amount is not None:
        return _of_number(amount.value, index)
    likeliest = max(map(_probability, {value, value.lower(), value.title()}))
    return max(_WORDS, len(index.words)) * likeliest


def _of_number(value: float, index: PdfText) -> float:
    size = float(min(abs(value), INEXACT)) if isinstance(value, int) else value
    many = max(1.0, _NUMBERS / max(1, index.shapes.total()))
    expected = 0.0
    for number, _ in spellings(size):
        digits, power = shape_of(number)
        # how many numbers have as many significant digits; 0 stands for years
        kinds = {0: _YEARS_IN_USE, 1: 9}.get(digits, 81.0 * 10 ** (digits - 2))
        expected += (index.shapes[digits, power] * many + 1) / kinds
    return expected


@lru_cache(maxsize=16_384)
def _probability(text: str) -> float:
    """Return the probability of a text: of its rarest token, and of the others by half."""
    text, harmonic, single_bytes = text[:400], math.log(50_000) + 0.5772, 256
    nats = [6.6 for _ in UNSPACED.findall(text)]
    rest = UNSPACED.sub(" ", text).strip()
    for token in gpt2().encode_ordinary(f" {rest}") if rest else ():
        rank = 100 if token < single_bytes else token - single_bytes
        nats.append(math.log((rank + 1) * harmonic))
    return math.exp(-(max(nats, default=0.0) + sum(nats)) / 2)


EVIDENCE_COLUMNS = FrameSpec(
    "evidence",
    "one row per line of an occurrence of the value",
    (
        Column("hit", "int64", "number of the occurrence; 1 is the best", "1 and up"),
        Column("line", "int64", "number of the line in the occurrence", "1 and up"),
        Column("page", "int64", "page of the PDF, counted from 1", "1 and up"),
        Column("x0", "float64", "left edge, in points from the left, before any rotation"),
        Column("y0", "float64", "bottom edge, in points from the bottom"),
        Column("x1", "float64", "right edge, in points"),
        Column("y1", "float64", "top edge, in points"),
        Column("text", "string", "text of this line in the PDF"),
        Column("context", "string", "the words around the occurrence"),
        Column("written", "string", "form in which the value occurs", ", ".join(WRITTEN)),
        Column("similarity", "float64", "similarity of the text to the value", "(0, 1]"),
        Column("score", "float64", "similarity, reduced by the odds of a chance match", "[0, 1]"),
    ),
)


def find_evidence(
    ds: HasPdfs | None, document: str | Path, value: Any, *, limit: int = 20
) -> pd.DataFrame:
    r"""Find the occurrences of a value in a document's PDF.

    Parameters
    ----------
    ds : Dataset or None
        As `load_dataset` returns it; None if `document` is a path.
    document : str or pathlib.Path
        The id of a document, or the path of any PDF.
    value : str, int, float or datetime.date
        The value to find.
    limit : int, optional
        Maximum number of occurrences to return, 1 and up; the best ones are kept.

    Returns
    -------
    pandas.DataFrame
        One row per line of an occurrence (see `EVIDENCE_COLUMNS`), the best ones first, then in the
        order of the document. ``attrs["status"]`` is ``found``, ``not_found``, ``no_text_layer`` or
        ``nothing_to_find`` (no letter or digit); ``attrs["places"]`` counts all occurrences.

    Raises
    ------
    InputError
        The value is not a text, a finite number or a date; `limit` is below 1; or the PDF cannot
        be read.
    DatasetError
        The document is not in the dataset, or has no PDF (`MissingPdfError`).

    Notes
    -----
    Texts are found regardless of case, spacing, punctuation, accents and line breaks; numbers also
    in thousands, millions and percent; dates in every written form. The similarity is 1 for these;
    each doubt takes a tenth off it, such as another sign, a scale, and words in another order. A
    text with another spelling has the share of equal letters, and one in pieces that of its words.
    The score is the similarity times the odds that this is no chance match (`specificity`): almost
    0 for the number 1, and nearly 1 for a name or 1,234.5.

    Examples
    --------
    >>> import extractbench_nb as xb
    >>> from extractbench_nb.pdf import find_evidence
    >>> ds = xb.load_dataset()
    >>> found = find_evidence(ds, "night bus demand", "2029-12-01")
    >>> found[["page", "text", "written"]].values.tolist()
    [[1, '1 December 2029', 'date']]
    >>> find_evidence(ds, "night bus demand", "Airships").attrs["status"]
    'not_found'
    """
    if limit < 1:
        raise InputError(f"limit={limit!r}; expected 1 or more")
    wanted = sought(value)
    path = pdf_of(ds, document)
    index = index_of(path)
    hits = search(wanted, index) if is_sought(wanted) else []
    weight = specificity(wanted, index) if hits else 0.0
    rows: list[Any] = []
    for number, hit in enumerate(hits[:limit], 1):
        excerpts = (excerpt for span in hit.spans for excerpt in index.excerpts(*span))
        lines = (line for excerpt in excerpts for line in lines_of(path, excerpt))
        context = index.context(*hit.spans[0])
        for order, (excerpt, box) in enumerate(lines, 1):
            texts = index.original(excerpt), context
            scores = hit.similarity, hit.similarity * weight
            rows.append((number, order, excerpt.page, *box, *texts, hit.written, *scores))
    frame = EVIDENCE_COLUMNS.from_rows(rows)
    status = "found" if hits else "not_found" if is_sought(wanted) else "nothing_to_find"
    frame.attrs |= {
        "status": status if hits or index.words else "no_text_layer",
        "places": len(hits),
        "pages": index.pages,
        "pages_without_text": index.pages_without_text,
    }
    return frame


GROUNDED_COLUMNS = FrameSpec(
    "grounded",
    "one row per value",
    (
        Column(
            "grounded",
            "boolean",
            "whether the value is in the PDF; missing if not searched",
            "",
            True,
        ),
        Column("evidence_page", "Int64", "page of the best occurrence, from 1", "1 and up", True),
        Column("evidence_score", "Float64", "score of the best occurrence", "[0, 1]", True),
    ),
)

LEAF_COLUMNS = FrameSpec(
    "leaves",
    "one row per leaf of a JSON value",
    (
        Column("path", "string", "instance path, `$.authors[2].name`"),
        Column("field", "string", "the path without indices, `authors[].name`"),
        Column("value", "object", "value of the leaf; None for null", nullable=True),
        *GROUNDED_COLUMNS.columns,
    ),
)


class Grounds(NamedTuple):
    """Whether a value is in a PDF (None if it cannot be searched), and its best occurrence."""

    grounded: bool | None = None
    page: int | None = None
    score: float | None = None


def grounded(
    result: Any,
    ds: HasPdfs | None,
    document: str | Path | None = None,
    *,
    side: Literal["predicted", "gold"] = "predicted",
    min_score: float = 0.0,
) -> pd.DataFrame:
    """Check for each field whether its value is in the PDF, without a model.

    A value that does not occur in the document was made up, calculated or rephrased. A value that
    occurs may still be the wrong one.

    Parameters
    ----------
    result : Evaluation, Evaluations or pandas.DataFrame
        A result, or rows of its ``fields``.
    ds : Dataset or None
        As `load_dataset` returns it; None if `document` is a path.
    document : str, pathlib.Path or None, optional
        The id of a document, or the path of any PDF; by default the column ``document``.
    side : {"predicted", "gold"}, optional
        The side whose values are looked up.
    min_score : float, optional
        Lowest score of an occurrence that counts, in [0, 1]; see `find_evidence`.

    Returns
    -------
    pandas.DataFrame
        The rows of ``fields`` with the columns grounded, evidence_page and evidence_score (see
        `GROUNDED_COLUMNS`), missing for null, booleans, arrays, objects, texts without a letter or
        digit, placeholders such as ``NA``, and if the PDF is missing or has no text.

    Raises
    ------
    InputError
        There is no document, `side` or `min_score` is invalid, or the PDF cannot be read.
    DatasetError
        The document is not in the dataset, or has no PDF (`MissingPdfError`).

    Examples
    --------
    >>> import extractbench_nb as xb
    >>> from extractbench_nb.pdf import grounded
    >>> ds = xb.load_dataset()
    >>> gold = ds.gold("night bus demand")
    >>> guess = gold | {"heading": "Who Drives the Day Tram?"}
    >>> ev = xb.evaluate(ds.schema("preprint"), gold, guess)
    >>> found = grounded(ev, ds, "night bus demand").set_index("path")["grounded"]
    >>> found[["$.heading", "$.summary", "$.outlet"]].tolist()
    [False, True, <NA>]
    """
    if side not in ("predicted", "gold"):
        raise InputError(f"side={side!r}; expected one of 'predicted', 'gold'")
    _check_score(min_score)
    fields = _fields_of(result, side)
    if document is None and "document" not in fields:
        raise InputError(
            "document: the rows have no column 'document'; pass the id of their document, or the "
            "pathlib.Path of a PDF"
        )
    names = fields["document"] if document is None else pd.Series(0, fields.index)
    found = [Grounds()] * len(fields)
    for name, rows in names.groupby(names, sort=False).indices.items():
        try:
            index = index_of(pdf_of(ds, name if document is None else document))
        except MissingPdfError:
            if document is not None:
                raise
            continue
        grounds = look_up(fields[side].iloc[rows], index, min_score)
        for row, ground in zip(rows, grounds, strict=True):
            found[row] = ground
    return fields.assign(**GROUNDED_COLUMNS.from_rows(found).set_axis(fields.index))


def _fields_of(result: Any, *columns: str) -> pd.DataFrame:
    result = as_pandas(result)
    fields: Any = result if isinstance(result, pd.DataFrame) else getattr(result, "fields", None)
    if not isinstance(fields, pd.DataFrame) or not set(columns) <= set(fields.columns):
        raise InputError(
            "result: expected an Evaluation, Evaluations or rows of their fields with the column "
            f"{', '.join(map(repr, columns))}, found {type(result).__name__}"
        )
    return fields


def ground_values(
    ds: HasPdfs | None, document: str | Path, value: Any, *, min_score: float = 0.0
) -> pd.DataFrame:
    """Check for each leaf of a JSON value whether it is in the PDF.

    Parameters
    ----------
    ds, document : Dataset or None, str or pathlib.Path
        As in `find_evidence`.
    value : object
        A parsed JSON value, such as a gold document or a model's output.
    min_score : float, optional
        Lowest score of an occurrence that counts, in [0, 1]; see `find_evidence`.

    Returns
    -------
    pandas.DataFrame
        One row per leaf, in document order, see `LEAF_COLUMNS`.

    Raises
    ------
    InputError
        `min_score` is not a number in [0, 1], the value contains itself, or the PDF cannot be read.
    DatasetError
        The document is not in the dataset, or has no PDF (`MissingPdfError`).

    Examples
    --------
    >>> import extractbench_nb as xb
    >>> from extractbench_nb.pdf import ground_values
    >>> ds = xb.load_dataset()
    >>> found = ground_values(ds, "night bus demand", {"topics": ["Night bus", "Airships"]})
    >>> found[["path", "grounded"]].values.tolist()
    [['$.topics[0]', True], ['$.topics[1]', False]]
    """
    _check_score(min_score)
    rows = list(leaves(value))
    found = look_up([leaf for *_, leaf in rows], index_of(pdf_of(ds, document)), min_score)
    return LEAF_COLUMNS.from_rows((*row, *end) for row, end in zip(rows, found, strict=True))


def leaves(value: Any) -> Iterator[tuple[str, str, Any]]:
    """Walk the leaves of a JSON value: their path, field and value."""
    stack: list[tuple[str, str, Any]] = [("$", "", private_copy(value, "value"))]
    while stack:
        path, field, top = stack.pop()
        if isinstance(top, dict):
            inner = [(member(str(key)), member(str(key)), part) for key, part in top.items()]
        elif isinstance(top, list | tuple):
            inner = [(f"[{i}]", "[]", item) for i, item in enumerate(top)]
        else:
            yield path, field or "$", top
            continue
        for step, name, part in reversed(inner):
            stack.append((path + step, (field + name).removeprefix("."), part))


def _check_score(min_score: object) -> None:
    if not isinstance(min_score, int | float) or not 0 <= min_score <= 1:
        raise InputError(f"min_score={min_score!r}; expected a number from 0 to 1")


def is_asked(value: Any) -> bool:
    """Say whether a leaf has a value that can be searched."""
    return is_sought(value) and not (isinstance(value, str) and is_placeholder(value))


def look_up(values: Iterable[Any], index: PdfText, min_score: float = 0.0) -> list[Grounds]:
    """Look values up; equal values are searched once."""

    @lru_cache(maxsize=None, typed=True)
    def grounds(value: str | float) -> Grounds:
        hits = search(value, index)
        score = hits[0].similarity * specificity(value, index) if hits else 0.0
        if not hits or score < min_score:
            return Grounds(False)
        return Grounds(True, index.page_of(hits[0].start), score)

    is_readable = bool(index.words)
    return [grounds(value) if is_readable and is_asked(value) else Grounds() for value in values]


# --- citations --------------------------------------------------------------------------------

CITED = ("right_place", "elsewhere", "not_printed", "wrong_value", "unknown")

CITATION_COLUMNS = FrameSpec(
    "citations",
    "one row per citation of an output",
    (
        Column("run", "string", "run, if the result has several", nullable=True),
        Column("document", "string", "document id", nullable=True),
        Column("path", "string", "instance path of the value, as cited"),
        Column("field", "string", "path without indices; missing if not a field", nullable=True),
        Column("predicted", "object", "the value with the citation", nullable=True),
        Column("passed", "boolean", "whether the value is right", nullable=True),
        Column("page", "int64", "cited page, counted from 1", "1 and up"),
        Column("on_page", "boolean", "whether the value is printed on that page", nullable=True),
        Column("in_box", "boolean", "whether it is printed in the cited box", nullable=True),
        Column("found_page", "Int64", "page of its best occurrence", "1 and up", True),
        Column("chance", "Float64", "share of pages on which the value is printed", "0 to 1", True),
        Column("verdict", "string", "verdict on the citation", ", ".join(CITED)),
    ),
)


def score_citations(
    result: Any, citations: Any, ds: HasPdfs | None, document: str | Path | None = None
) -> pd.DataFrame:
    """Check the citations of outputs against the PDF, without annotated positions.

    Parameters
    ----------
    result : Evaluation, Evaluations or pandas.DataFrame
        A result, or rows of its ``fields``.
    citations : pandas.DataFrame
        One row per citation: ``path`` of the value in the output and ``page``, counted from 1;
        ``run`` and ``document`` where the result has several; optionally a box ``x0``, ``y0``,
        ``x1``, ``y1`` in PDF points from the bottom left. A value may cite several places.
    ds, document : optional
        As in `grounded`.

    Returns
    -------
    pandas.DataFrame
        One row per citation in their order, see `CITATION_COLUMNS`. ``verdict`` is ``right_place``
        (a right value that is printed on the cited page, and in the box if there is one),
        ``elsewhere`` (one that is printed, but not there), ``not_printed`` (one that is not found),
        ``wrong_value``, or ``unknown`` (no verdict on the value, or nothing to look up). A warning
        lists paths that the result does not have.

    Raises
    ------
    InputError
        A column is missing, a page or box is invalid, or no citation names a value of the result.
    DatasetError
        The document is not in the dataset.

    Notes
    -----
    A short number is on many pages, and a citation of one of them is right by chance: leave out
    values whose ``chance`` is high.

    Examples
    --------
    >>> import pandas as pd
    >>> import extractbench_nb as xb
    >>> ds = xb.load_dataset()
    >>> gold = ds.gold("night bus demand")
    >>> ev = xb.evaluate(ds.schema("preprint"), gold, gold | {"kind": "Memo"})
    >>> cites = [("$.heading", 1), ("$.issued", 2), ("$.kind", 1)]
    >>> found = score_citations(
    ...     ev, pd.DataFrame(cites, columns=["path", "page"]), ds, "night bus demand"
    ... )
    >>> found["verdict"].tolist()
    ['right_place', 'elsewhere', 'wrong_value']
    """
    fields = _fields_of(result, "path", "predicted", "passed")
    cited = as_pandas(citations)
    if not isinstance(cited, pd.DataFrame):
        raise InputError(f"citations: expected a frame, found {type(citations).__name__}")
    for column in ("path", "page"):
        if column not in cited:
            raise InputError(f"citations: {no_column(column, cited)}")
    for key in ("run", "document"):
        if key in fields and key not in cited and len(set(fields[key])) > 1:
            raise InputError(f"citations: the result has several {key}s; add a column {key!r}")
    if document is None and "document" not in cited:
        raise InputError("document: pass the id of the document, or add a column 'document'")
    keys = [name for name in ("run", "document") if name in fields and name in cited]
    own = fields.assign(path=fields["predicted_path"].fillna(fields["path"]))
    values = {
        tuple(map(str, key)): rows
        for key, rows in own.groupby([*keys, "path"], sort=False, dropna=False)
    }

    @lru_cache(maxsize=None, typed=True)
    def places(document: Any, value: Any) -> pd.DataFrame | None:
        with suppress(MissingPdfError):
            return find_evidence(ds, document, value, limit=MOST_HITS)
        return None

    rows = []
    for row in cited.to_dict("records"):
        page, box = _place_of(row)
        of_value = values.get((*(str(row[key]) for key in keys), row["path"]))
        field, predicted, passed = None, None, None
        if of_value is not None:  # a value passes if it does by all its metrics
            field, predicted = of_value[["field", "predicted"]].iloc[-1]
            verdicts = of_value["passed"]
            passed = None if verdicts.isna().any() else bool(verdicts.all())
        name: Any = row["document"] if document is None else document
        found = places(name, predicted) if is_asked(predicted) else None
        about = {"run": row.get("run"), "document": str(name), "path": row["path"], "page": page}
        about |= {"field": field, "predicted": predicted, "passed": passed}
        rows.append(about | _checked(found, passed, page, box))
    if rows and not any(row["field"] for row in rows):
        raise InputError(
            f"citations: no {', '.join([*keys, 'path'])} is one of the result; the first is "
            f"{', '.join(repr(rows[0][name]) for name in [*keys, 'path'])}"
        )
    if unknown := list(dict.fromkeys(row["path"] for row in rows if row["field"] is None)):
        more = f" and {len(unknown) - _LISTED:,} more" if len(unknown) > _LISTED else ""
        problem = f"citations: not in the result: {', '.join(map(repr, unknown[:_LISTED]))}{more}"
        warnings.warn(f"{problem}; {nearest(unknown[0], set(own['path']))}", stacklevel=2)
    return CITATION_COLUMNS.from_records(rows)


def _place_of(row: dict[Any, Any]) -> tuple[int, Box | None]:
    """Return the page of a citation, and its box if it has one."""
    page, given = row["page"], [row.get(name) for name in EDGES]
    is_number = isinstance(page, Real)
    if not is_number or page % 1 or page < 1:
        raise InputError(f"citations: page of {row['path']!r} is {page!r}; expected 1 or more")
    sides = [float(side) for side in given if side is not None and not pd.isna(side)]
    if sides and len(sides) < len(EDGES):
        raise InputError(f"citations: the box of {row['path']!r} needs all of {', '.join(EDGES)}")
    if not sides:
        return int(page), None
    x0, y0, x1, y1 = sides
    return int(page), (min(x0, x1), min(y0, y1), max(x0, x1), max(y0, y1))


def _checked(
    found: pd.DataFrame | None, passed: bool | None, page: int, box: Box | None
) -> dict[str, Any]:
    """Return what is found at the cited place, and the verdict."""
    wrong = "wrong_value" if passed is False else "unknown"
    if found is None or found.attrs["status"] == "no_text_layer":
        return {"verdict": wrong}
    there, in_box = found[found["page"] == page], None
    if box is not None:
        left, low, right, high = box
        across = (left < there["x1"]) & (there["x0"] < right)
        in_box = bool((across & (low < there["y1"]) & (there["y0"] < high)).any())
    on_page = len(there) > 0
    is_there = on_page if in_box is None else in_box
    verdict = "right_place" if is_there else "elsewhere" if len(found) else "not_printed"
    return {
        "on_page": on_page,
        "in_box": in_box,
        "found_page": found["page"].iloc[0] if len(found) else None,
        "chance": found["page"].nunique() / found.attrs["pages"],
        "verdict": verdict if passed else wrong,
    }
