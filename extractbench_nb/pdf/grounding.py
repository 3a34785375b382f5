"""`grounded` and `ground_values`: which values of a result or document are in the PDF."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
import pandas as pd

from extractbench_nb._frames import Column, FrameSpec
from extractbench_nb._json import member
from extractbench_nb.batch.results import Evaluations
from extractbench_nb.errors import InputError, MissingPdfError
from extractbench_nb.evaluation.result import Evaluation
from extractbench_nb.language.text import is_placeholder
from extractbench_nb.pdf.evidence import specificity
from extractbench_nb.pdf.images import HasPdfs, pdf_of
from extractbench_nb.pdf.index import DocumentIndex, index_of
from extractbench_nb.pdf.search import is_sought, search
from extractbench_nb.stats.intervals import Drawing, counts_drawn

__all__ = [
    "GROUNDED_COLUMNS",
    "LEAF_COLUMNS",
    "SHARE_COLUMNS",
    "Grounds",
    "ground_values",
    "grounded",
    "is_asked",
    "leaves",
    "look_up",
    "shares",
]


_FEWEST_DOCUMENTS = 5
_DRAWING = Drawing(confidence=0.95, resamples=9_999, seed=0)

SHARE_COLUMNS = FrameSpec(
    "evidence_shares",
    "one row a group of counts",
    (
        Column("documents", "int64", "documents of the group", "1 and up"),
        Column("sought", "int64", "leaves or values that were looked for", "1 and up"),
        Column("share", "float64", "found, of all of the group together", "[0, 1]"),
        Column("lowest", "float64", "the share in the document that has the lowest", "[0, 1]"),
        Column("highest", "float64", "the share in the document that has the highest", "[0, 1]"),
        Column(
            "low",
            "Float64",
            "95 % bootstrap interval over documents, lower end; missing below five documents",
            "[0, 1]",
            True,
        ),
        Column("high", "Float64", "upper end", "[0, 1]", True),
    ),
)


def shares(
    counts: pd.DataFrame, by: Sequence[str], *, found: str = "found", sought: str = "values"
) -> pd.DataFrame:
    """Turn counts into shares, with what they differ by between documents.

    Notes
    -----
    Documents are drawn with replacement, 9,999 times; the interval is from the 2.5th to the 97.5th
    percentile of the shares (percentile bootstrap). Below five documents it would say nothing.
    """
    groups = counts.groupby(list(by), sort=False)
    rows = {key: _share(group, found, sought) for key, group in groups}
    frame = SHARE_COLUMNS.from_rows(rows.values())
    return frame.set_axis(pd.MultiIndex.from_tuples(list(rows), names=list(by)), axis=0)


def _share(group: pd.DataFrame, found: str, sought: str) -> tuple[Any, ...]:
    each = group.groupby("document", sort=False)[[found, sought]].sum()
    parts, wholes = each[found].to_numpy(float), each[sought].to_numpy(float)
    ratios = parts / wholes
    low, high = _interval(parts, wholes) if len(each) >= _FEWEST_DOCUMENTS else (None, None)
    total = int(wholes.sum())
    return len(each), total, parts.sum() / total, ratios.min(), ratios.max(), low, high


def _interval(parts: Any, wholes: Any) -> tuple[float, float]:
    drawn = np.vstack(list(counts_drawn(len(parts), _DRAWING)))
    low, high = np.quantile(drawn @ parts / (drawn @ wholes), _DRAWING.tails)
    return float(low), float(high)


Side = Literal["predicted", "gold"]
_SIDES = ("predicted", "gold")
_DEEPEST = 25_000

GROUNDED_COLUMNS = FrameSpec(
    "grounded",
    "one row a value",
    (
        Column(
            "grounded",
            "boolean",
            "whether the value stands in the PDF; missing where it cannot be looked for",
            nullable=True,
        ),
        Column("evidence_page", "Int64", "page of the best place, from 1", "1 and up", True),
        Column("evidence_score", "Float64", "score of the best place", "[0, 1]", True),
    ),
)

LEAF_COLUMNS = FrameSpec(
    "leaves",
    "one row a leaf of a JSON value",
    (
        Column("path", "string", "instance path, `$.authors[2].name`"),
        Column("field", "string", "the path without indices, `authors[].name`"),
        Column("value", "object", "the leaf; None is null", nullable=True),
        *GROUNDED_COLUMNS.columns,
    ),
)


class Grounds(NamedTuple):
    """What is known about one value.

    Attributes
    ----------
    grounded : bool or None
        Whether it stands in the PDF; None if it cannot be looked for.
    page : int or None
        Page of the best place, counted from 1.
    score : float or None
        Score of the best place.
    """

    grounded: bool | None = None
    page: int | None = None
    score: float | None = None


def grounded(
    result: Evaluation | Evaluations | pd.DataFrame,
    ds: HasPdfs | None,
    document: str | Path | None = None,
    *,
    side: Side = "predicted",
    min_score: float = 0.0,
) -> pd.DataFrame:
    """Check for each field whether its value is in the PDF, without a model.

    A value that is nowhere in the document was made up, calculated, or put in other words. A value
    that is there may still be the wrong one.

    Parameters
    ----------
    result : Evaluation, Evaluations or pandas.DataFrame
        A result, or rows of its ``fields``.
    ds : Dataset or None
        As `load_dataset` returns it; None if `document` is a path.
    document : str, pathlib.Path or None, optional
        The id of a document, or the path of any PDF. None: the column ``document`` of the result
        tells it row by row, and each PDF is read once.
    side : {"predicted", "gold"}, optional
        Whose values.
    min_score : float, optional
        The score that a place must have to count, in [0, 1]; see `find_evidence`.

    Returns
    -------
    pandas.DataFrame
        The rows of ``fields`` and, beside them, grounded, evidence_page and evidence_score (see
        `GROUNDED_COLUMNS`). All three are missing for null, booleans, arrays, objects, texts
        without a letter or digit, words that stand for nothing (``NA``), and where the PDF is
        absent or has no text.

    Raises
    ------
    InputError
        There is neither a document nor a column ``document``; or `side` or `min_score` is
        something else; or the PDF cannot be read.
    DatasetError
        The dataset has no such document.
    MissingPdfError
        The `document` has no PDF.

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
    if side not in _SIDES:
        raise InputError(f"side={side!r}; expected one of {', '.join(map(repr, _SIDES))}")
    _check_score(min_score)
    fields = _fields(result, side)
    if document is not None:
        index = index_of(pdf_of(ds, document))
        found = look_up(fields[side], index, min_score)
    else:
        found = _by_document(fields, ds, side, min_score)
    return fields.assign(**_columns(found, fields.index))


def ground_values(
    ds: HasPdfs | None, document: str | Path, value: Any, *, min_score: float = 0.0
) -> pd.DataFrame:
    """Check for each leaf of a JSON value whether it is in the PDF.

    Parameters
    ----------
    ds : Dataset or None
        As `load_dataset` returns it; None if `document` is a path.
    document : str or pathlib.Path
        The id of a document, or the path of any PDF.
    value : object
        A parsed JSON value, such as a gold document or a model's output.
    min_score : float, optional
        The score that a place must have to count, in [0, 1]; see `find_evidence`.

    Returns
    -------
    pandas.DataFrame
        One row per leaf, in document order (see `LEAF_COLUMNS`): path, field, value, grounded,
        evidence_page, evidence_score. An empty array or object has none.

    Raises
    ------
    InputError
        `min_score` is not a number in [0, 1], or the PDF cannot be read.
    DatasetError
        The dataset has no such document.
    MissingPdfError
        The document has no PDF.

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
    index = index_of(pdf_of(ds, document))
    rows = list(leaves(value))
    found = look_up([leaf for *_, leaf in rows], index, min_score)
    cells = list(zip(*rows, strict=True)) if rows else [()] * 3
    sides = list(zip(*found, strict=True)) if found else [()] * 3
    return LEAF_COLUMNS.build(dict(zip(LEAF_COLUMNS.names, (*cells, *sides), strict=True)))


def leaves(value: Any) -> Iterator[tuple[str, str, Any]]:
    """Walk the leaves of a JSON value."""
    stack: list[tuple[str, str, Any, int]] = [("$", "", value, 0)]
    while stack:
        path, field, top, level = stack.pop()
        if level > _DEEPEST:
            raise InputError(f"value: nested deeper than {_DEEPEST:,} levels, or it holds itself")
        if isinstance(top, dict):
            steps = [(member(str(key)), inner) for key, inner in top.items()]
            stack += [
                (path + s, (field + s).removeprefix("."), v, level + 1) for s, v in reversed(steps)
            ]
        elif isinstance(top, list | tuple):
            items = list(enumerate(top))
            stack += [(f"{path}[{i}]", f"{field}[]", v, level + 1) for i, v in reversed(items)]
        else:
            yield path, field or "$", top


def _check_score(min_score: object) -> None:
    if not isinstance(min_score, int | float) or not 0 <= min_score <= 1:
        raise InputError(f"min_score={min_score!r}; expected a number from 0 to 1")


def _fields(result: Any, side: str) -> pd.DataFrame:
    fields = result if isinstance(result, pd.DataFrame) else getattr(result, "fields", None)
    if not isinstance(fields, pd.DataFrame) or side not in fields:
        raise InputError(
            f"result: expected an Evaluation, Evaluations or rows of their fields with a column "
            f"{side!r}, found {type(result).__name__}"
        )
    return fields


def _by_document(
    fields: pd.DataFrame, ds: HasPdfs | None, side: str, min_score: float
) -> list[Grounds]:
    if "document" not in fields:
        raise InputError(
            "document: the rows have no column 'document'; pass the id of their document, or the "
            "pathlib.Path of a PDF"
        )
    found = [Grounds()] * len(fields)
    for document, places in fields.groupby("document", sort=False).indices.items():
        try:
            index = index_of(pdf_of(ds, document))
        except MissingPdfError:
            continue
        values = fields[side].iloc[places]
        for place, grounds in zip(places, look_up(values, index, min_score), strict=True):
            found[place] = grounds
    return found


def is_asked(value: Any) -> bool:
    """Say whether a leaf says something that can be looked for."""
    return is_sought(value) and not (isinstance(value, str) and is_placeholder(value))


def look_up(values: Iterable[Any], index: DocumentIndex, min_score: float = 0.0) -> list[Grounds]:
    """Look values up, each different one once."""
    known: dict[Hashable, Grounds] = {}
    found = []
    for value in values:
        if not index.words or not is_asked(value):
            found.append(Grounds())
            continue
        key = (isinstance(value, str), value)
        if key not in known:
            known[key] = _grounds(value, index, min_score)
        found.append(known[key])
    return found


def _grounds(value: str | float, index: DocumentIndex, min_score: float) -> Grounds:
    hits = search(value, index)
    score = hits[0].similarity * specificity(value, index) if hits else 0.0
    if not hits or score < min_score:
        return Grounds(False)
    return Grounds(True, index.page_of(hits[0].start), score)


def _columns(found: Sequence[Grounds], rows: pd.Index[Any]) -> dict[str, pd.Series[Any]]:
    cells = list(zip(*found, strict=True)) if found else [()] * 3
    frame = GROUNDED_COLUMNS.build(dict(zip(GROUNDED_COLUMNS.names, cells, strict=True)))
    return {name: frame[name].set_axis(rows) for name in GROUNDED_COLUMNS.names}
