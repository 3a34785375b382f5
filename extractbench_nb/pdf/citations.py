"""Whether outputs that cite pages took each value from where they say."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from extractbench_nb.core.frames import Column, FrameSpec, as_pandas
from extractbench_nb.errors import InputError, MissingPdfError, no_column
from extractbench_nb.pdf.evidence import is_asked
from extractbench_nb.pdf.page_images import Box, HasPdfs, lines_of, pdf_of
from extractbench_nb.pdf.page_text import Excerpt, index_of
from extractbench_nb.pdf.search import search, sought

CITED = ("right_place", "elsewhere", "not_printed", "wrong_value", "unknown")

CITATION_COLUMNS = FrameSpec(
    "citations",
    "one row per citation of an output",
    (
        Column("run", "string", "run, if the result has several", nullable=True),
        Column("document", "string", "document id", nullable=True),
        Column("path", "string", "instance path of the value, as it was cited"),
        Column("field", "string", "path without indices; missing if it is no field", nullable=True),
        Column("predicted", "object", "the value that cites", nullable=True),
        Column("passed", "boolean", "whether the value is right", nullable=True),
        Column("page", "int64", "cited page, counted from 1", "1 and up"),
        Column("on_page", "boolean", "whether the value is printed on that page", nullable=True),
        Column("in_box", "boolean", "whether it is printed in the cited box", nullable=True),
        Column("found_page", "Int64", "page of its best occurrence", "1 and up", True),
        Column("chance", "Float64", "share of the pages on which it is printed", "0 to 1", True),
        Column("verdict", "string", "what the citation is worth", ", ".join(CITED)),
    ),
)

_BOX = ("x0", "y0", "x1", "y1")


class _Places(NamedTuple):
    """Where a value is printed: the excerpts by page, the best one first, of a PDF."""

    excerpts: Mapping[int, list[Excerpt]]
    path: Path
    pages: int


def score_citations(
    result: Any, citations: Any, ds: HasPdfs | None, document: str | Path | None = None
) -> pd.DataFrame:
    """Check where outputs say that their values come from, without annotated places.

    Parameters
    ----------
    result : Evaluation, Evaluations or pandas.DataFrame
        A result, or rows of its ``fields``.
    citations : pandas.DataFrame
        One row per citation: ``path`` of the value in the output and ``page``, counted from 1;
        ``run`` and ``document`` where the result has several; optionally a box ``x0``, ``y0``,
        ``x1``, ``y1`` in PDF points from the bottom left. A value may cite several places.
    ds : Dataset or None
        As `load_dataset` returns it; None if `document` is a path.
    document : str, pathlib.Path or None, optional
        The id of the document, or the path of any PDF. By default the column ``document`` names
        the document of each row.

    Returns
    -------
    pandas.DataFrame
        One row per citation in their order, see `CITATION_COLUMNS`. ``verdict`` is ``right_place``
        (a right value that is printed on the cited page, and in the box if there is one),
        ``elsewhere`` (a right value that is printed in the document, but not there),
        ``not_printed`` (a right value that is not found), ``wrong_value``, or ``unknown``: no
        verdict on the value, or nothing to look up (null, booleans, pages without text).

    Raises
    ------
    InputError
        A column is missing, a page is no whole number from 1 on, a box is not complete, or no
        citation names a value of the result.
    DatasetError
        The document is not in the dataset.

    Notes
    -----
    A page is compared, not a passage: a short number is on many pages, and a citation of one of
    them is right by chance. ``chance`` says how easily; leave out values whose ``chance`` is high.

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
    result, cited = as_pandas(result), as_pandas(citations)
    fields: Any = result if isinstance(result, pd.DataFrame) else getattr(result, "fields", None)
    if not isinstance(fields, pd.DataFrame) or not isinstance(cited, pd.DataFrame):
        kinds = f"{type(result).__name__} and {type(citations).__name__}"
        raise InputError(f"expected a result and a frame of citations, found {kinds}")
    keys = [name for name in ("run", "document") if name in fields and name in cited]
    for column in ("path", "page"):
        if column not in cited:
            raise InputError(f"citations: {no_column(column, cited)}")
    for key in ("run", "document"):
        if key in fields and key not in cited and len(set(fields[key])) > 1:
            raise InputError(f"citations: the result has several {key}s; add a column {key!r}")
    if document is None and "document" not in cited:
        raise InputError("document: pass the id of the document, or add a column 'document'")
    values = _values(fields, keys)
    places: dict[Any, _Places | None] = {}
    rows = []
    for row in cited.to_dict("records"):
        page, box = _page_of(row), _box_of(row)
        value = values.get((*(str(row[key]) for key in keys), row["path"]))
        name: Any = row["document"] if document is None else document
        field, predicted, passed = (None, None, None) if value is None else value
        found = _places_of(ds, name, predicted, places) if value is not None else None
        rows.append(
            {
                "run": row.get("run"),
                "document": str(name),
                "path": row["path"],
                "field": field,
                "predicted": predicted,
                "passed": passed,
                "page": page,
                **_checked(found, passed, page, box),
            }
        )
    if rows and not any(row["field"] for row in rows):
        raise InputError(
            f"citations: no path is one of the result; the first is {rows[0]['path']!r}"
        )
    return CITATION_COLUMNS.from_records(rows)


def _values(fields: pd.DataFrame, keys: list[str]) -> dict[Any, tuple[Any, Any, Any]]:
    """Return field, value and verdict by path; a value passes if it does by all its metrics."""
    columns = [*keys, "path", "predicted_path", "field", "predicted", "passed"]
    values: dict[Any, tuple[Any, Any, Any]] = {}
    for *ids, path, own, field, predicted, passed in fields[columns].itertuples(index=False):
        key = (*map(str, ids), path if pd.isna(own) else own)
        verdict = None if pd.isna(passed) else bool(passed)
        before = values.get(key, (field, predicted, True))[2]
        both = None if verdict is None or before is None else verdict and before
        values[key] = field, predicted, both
    return values


def _page_of(row: Mapping[Any, Any]) -> int:
    page = row["page"]
    if pd.isna(page) or isinstance(page, bool) or int(page) != page or page < 1:
        raise InputError(f"citations: page of {row['path']!r} is {page!r}; expected 1 or more")
    return int(page)


def _box_of(row: Mapping[Any, Any]) -> Box | None:
    given = [row.get(name) for name in _BOX]
    missing = [side is None or pd.isna(side) for side in given]
    if all(missing):
        return None
    if any(missing):
        raise InputError(f"citations: the box of {row['path']!r} needs all of {', '.join(_BOX)}")
    x0, y0, x1, y1 = (float(side) for side in given if side is not None)
    return min(x0, x1), min(y0, y1), max(x0, x1), max(y0, y1)


def _places_of(
    ds: HasPdfs | None, document: Any, value: Any, known: dict[Any, _Places | None]
) -> _Places | None:
    """Return where a value is printed; None if it cannot be looked up."""
    if not is_asked(value):
        return None
    key = document, type(value), value
    if key not in known:
        known[key] = None
        with suppress(MissingPdfError):
            path = pdf_of(ds, document)
            index = index_of(path)
            if index.words:  # pages may be images
                excerpts: dict[int, list[Excerpt]] = {}
                for hit in search(sought(value), index):
                    for excerpt in (part for span in hit.spans for part in index.excerpts(*span)):
                        excerpts.setdefault(excerpt.page, []).append(excerpt)
                known[key] = _Places(excerpts, path, index.pages)
    return known[key]


def _checked(
    found: _Places | None, passed: bool | None, page: int, box: Box | None
) -> dict[str, Any]:
    """Return what is found at the cited place, and the verdict."""
    wrong = "wrong_value" if passed is False else "unknown"
    if found is None:
        return {"verdict": wrong}
    excerpts, in_box = found.excerpts.get(page, []), None
    if box is not None:
        lines = (line.box for excerpt in excerpts for line in lines_of(found.path, excerpt))
        in_box = any(_overlap(box, other) for other in lines)
    is_there = bool(excerpts) if in_box is None else in_box
    right = "right_place" if is_there else "elsewhere" if found.excerpts else "not_printed"
    return {
        "on_page": bool(excerpts),
        "in_box": in_box,
        "found_page": next(iter(found.excerpts), None),
        "chance": len(found.excerpts) / found.pages,
        "verdict": right if passed else wrong,
    }


def _overlap(a: Box, b: Box) -> bool:
    return a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3]
