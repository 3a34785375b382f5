"""Quality control of annotated tables: complexity, aligned texts, contents, outliers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import zip_longest
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pandas as pd

from extractbench_nb._frames import Column, FrameSpec, as_pandas
from extractbench_nb.errors import InputError, nearest
from extractbench_nb.tables.cells import Cell, Table, is_share, is_whole
from extractbench_nb.tables.grid_similarity import row_extents
from extractbench_nb.tables.reading import read_table


def is_complex(table: Any) -> bool:
    """Return whether a table is complex: whether a cell covers several rows or columns.

    Parameters
    ----------
    table : Table, or an input of `read_table`
        The table; canonicalize it first to compare with the paper's counts.

    Returns
    -------
    bool
        False for a simple table. Projected row headers and blank cells count like any other cell.

    Raises
    ------
    InputError
        The table is invalid.

    Notes
    -----
    Sections 3 and 7 of the paper that `canonicalize` names: complex tables are those with any
    spanning cells; 52.7 % of PubTables-1M, and 40.1 % before canonicalization.

    Examples
    --------
    >>> is_complex([{"row_nums": [0], "column_nums": [0, 1], "text": "Sales"}])
    True
    """
    return any(_spans(cell) for cell in read_table(table).rebuilt().cells)


def count_objects(table: Any) -> int:
    """Count the objects of a table that a structure detector has to find.

    Parameters
    ----------
    table : Table, or an input of `read_table`
        The table.

    Returns
    -------
    int
        1 for the table, 1 per row, 1 per column, 1 for the column header if there is one, 1 per
        projected row header, and 1 per cell that spans several rows or columns and is not a
        projected row header; 0 for an empty table.

    Raises
    ------
    InputError
        The table is invalid.

    Notes
    -----
    The classes of section 5 of the paper that `canonicalize` names; section 4 caps the objects of a
    table at 100. The paper does not say whether a projected row header is a spanning cell as well;
    here it is counted once.

    Examples
    --------
    >>> rows = [["Item", "Sales"], ["Paper", "5"]]
    >>> import pandas as pd
    >>> count_objects(pd.DataFrame(rows[1:], columns=rows[0]))  # table, 2 rows, 2 columns, header
    6
    """
    found: Table = read_table(table).rebuilt()
    if not found.size:
        return 0
    has_header = any(cell.is_header for cell in found.cells)
    objects = sum(cell.is_projected or _spans(cell) for cell in found.cells)
    return 1 + sum(found.grid.shape) + has_header + objects


def _spans(cell: Cell) -> bool:
    return len(cell.rows) * len(cell.columns) > 1


TEXT_ALIGNMENT_COLUMNS = FrameSpec(
    "text_alignment",
    "one row per column of the alignment: a token of either text, or of both",
    (
        Column("kind", "string", "what it is", "match, mismatch, insert, delete"),
        Column("a", "string", "token of the first text; NA where one is inserted", nullable=True),
        Column("b", "string", "token of the second text; NA where one is deleted", nullable=True),
        Column("a_at", "Int64", "its number in the first text", "0 and up", nullable=True),
        Column("b_at", "Int64", "its number in the second text", "0 and up", nullable=True),
    ),
)

CONTENT_COLUMNS = FrameSpec(
    "content",
    "one row per cell of two tables with the same cells",
    (
        Column("row", "int64", "the first row it covers", "0 and up"),
        Column("column", "int64", "the first column it covers", "0 and up"),
        Column("true", "string", "its text in the one table"),
        Column("predicted", "string", "its text in the other"),
        Column("distance", "float64", "Levenshtein distance over the longer length", "0 to 1"),
        Column("exceeds", "bool", "whether the distance is greater than the limit"),
    ),
)

TABLE_CHECK_COLUMNS = FrameSpec(
    "table_checks",
    "one row per table",
    (
        Column("table", "int64", "its number", "0 and up"),
        Column("rows_overlap", "boolean", "whether rows overlap; NA without boxes", nullable=True),
        Column("columns_overlap", "boolean", "the same of columns", nullable=True),
        Column(
            "objects",
            "Int64",
            "table, rows, columns, headers, spanning cells; NA where it cannot be read",
            "0 and up",
            nullable=True,
        ),
        Column(
            "content_distance",
            "Float64",
            "mean distance of the cells' texts from the source's; NA without one that fits",
            "0 to 1",
            nullable=True,
        ),
        Column("kept", "bool", "whether the table passes all checks"),
        Column("reason", "string", "why it does not; empty where it does"),
    ),
)

_UNITS = ("character", "word")
#: Maximum number of pairs of tokens to align; each takes one byte.
_MOST_PAIRS = 1 << 28
#: Largest absolute score of a token; sums of such scores stay exact.
_MOST_SCORE = 1_000_000
_Tokens: TypeAlias = npt.NDArray[np.int64]
_Given: TypeAlias = Iterable[Mapping[str, Any] | Cell] | Table


def align_texts(
    a: str, b: str, *, unit: str = "character", match: int = 1, mismatch: int = -1, gap: int = -1
) -> pd.DataFrame:
    """Align two texts globally (Needleman and Wunsch).

    Parameters
    ----------
    a, b : str
        Two texts.
    unit : str, optional
        The tokens: ``"character"``, or ``"word"`` (between white space).
    match, mismatch, gap : int, optional
        Scores of two equal tokens, two different ones, and a token without a partner, -1,000,000 to
        1,000,000. The alignment with the highest sum is chosen.

    Returns
    -------
    pandas.DataFrame
        One row per column of the alignment: kind (match, mismatch, insert: only in `b`, delete:
        only in `a`), a, b (tokens), a_at, b_at (their positions, from 0). Of several best
        alignments, the one found by tracing back from the end, preferring pairs to deletions, and
        deletions to insertions.

    Raises
    ------
    InputError
        An argument is invalid, or the texts have more than 2^28 pairs of tokens.

    Notes
    -----
    The paper aligns the text of a PDF with that of the XML of the same article in this way (section
    4 of "PubTables-1M", 2022); it does not state its scores. This function takes one byte per pair
    of tokens, and about a second for texts of 10,000 characters.

    Examples
    --------
    >>> align_texts("self-made", "selfmade")["kind"].value_counts().to_dict()
    {'match': 8, 'delete': 1}
    """
    if unit not in _UNITS:
        raise InputError(f"unit is {unit!r}; {nearest(str(unit), _UNITS)}")
    for name, text in (("a", a), ("b", b)):
        if not isinstance(text, str):
            raise InputError(f"{name} is {type(text).__name__}; expected a str")
    one, other = (text if unit == "character" else text.split() for text in (a, b))
    for name, value in (("match", match), ("mismatch", mismatch), ("gap", gap)):
        if abs(_checked_whole(value, name)) > _MOST_SCORE:
            raise InputError(
                f"{name} is out of range; expected a whole number from {-_MOST_SCORE:,} to "
                f"{_MOST_SCORE:,}"
            )
    if len(one) * len(other) > _MOST_PAIRS:
        raise InputError(
            f"a and b have {len(one):,} x {len(other):,} {unit}s; at most {_MOST_PAIRS:,} pairs "
            "can be aligned: align words, or parts"
        )
    codes, _ = pd.factorize(pd.Series([*one, *other], dtype=object))
    steps = _steps(codes[: len(one)], codes[len(one) :], int(match), int(mismatch), int(gap))
    rows: list[tuple[Any, ...]] = []
    row, column = len(one), len(other)
    while row or column:
        step = steps[row, column]
        row -= step != _INSERT
        column -= step != _DELETE
        if step == _INSERT:
            rows.append(("insert", None, other[column], None, column))
        elif step == _DELETE:
            rows.append(("delete", one[row], None, row, None))
        else:
            kind = "match" if one[row] == other[column] else "mismatch"
            rows.append((kind, one[row], other[column], row, column))
    return TEXT_ALIGNMENT_COLUMNS.from_rows(rows[::-1])


def _checked_whole(value: Any, name: str) -> int:
    if not is_whole(value):
        raise InputError(f"{name} is {value!r}; expected a whole number")
    return int(value)


_PAIR, _DELETE, _INSERT = 0, 1, 2


def _steps(
    one: _Tokens, other: _Tokens, match: int, mismatch: int, gap: int
) -> npt.NDArray[np.uint8]:
    """Return the last step of the best alignment of every two beginnings."""
    steps = np.full((len(one) + 1, len(other) + 1), _INSERT, dtype=np.uint8)
    steps[1:, 0] = _DELETE
    inserted = np.arange(len(other) + 1, dtype=np.int64) * gap
    last = inserted
    for row, token in enumerate(one, 1):
        paired = last[:-1] + np.where(other == token, match, mismatch)
        deleted = last + gap
        best = deleted.copy()
        np.maximum(deleted[1:], paired, out=best[1:])
        # the best score at an earlier column, followed by insertions only
        best = np.maximum.accumulate(best - inserted) + inserted
        line = steps[row, 1:]
        line[best[1:] == deleted[1:]] = _DELETE
        line[best[1:] == paired] = _PAIR
        last = best
    return steps


def check_content(true: _Given, predicted: _Given, *, limit: float = 0.05) -> pd.DataFrame:
    """Compare the texts of two tables that have the same cells, cell by cell.

    Parameters
    ----------
    true, predicted : iterable of dict, or Table
        Two tables, as for `grits`; for example with the texts of a PDF, and with those of its
        source.
    limit : float, optional
        Maximum accepted distance, 0 to 1.

    Returns
    -------
    pandas.DataFrame
        One row per cell, by row and column: row, column, true, predicted (texts), distance (edit
        distance / length of the longer text, 0 to 1), exceeds (bool). The paper's check is on the
        mean: ``check_content(...)["distance"].mean() <= 0.05``.

    Raises
    ------
    InputError
        A table is invalid, the tables do not have the same cells, or the limit is not between 0 and
        1.

    Examples
    --------
    >>> cell = {"row_nums": [0], "column_nums": [0]}
    >>> check_content([cell | {"text": "Sales"}], [cell | {"text": "Sale"}])["distance"].item()
    0.2
    """
    limit = _checked_limit(limit)
    one, other = read_table(true, name="true"), read_table(predicted, name="predicted")
    rows = _compared(one.rebuilt(), other.rebuilt())
    return CONTENT_COLUMNS.from_rows((*row, row[-1] > limit) for row in rows)


def _checked_limit(limit: Any) -> float:
    if not is_share(limit):
        raise InputError(f"limit is {limit!r}; expected a number from 0 to 1")
    return float(limit)


def _compared(true: Table, predicted: Table) -> list[tuple[int, int, str, str, float]]:
    """Return first row and column, both texts and their distance, cell by cell."""
    from rapidfuzz.distance import Levenshtein

    found = []
    pairs = zip_longest(*(sorted(table.cells, key=_lines) for table in (true, predicted)))
    for cell, other in pairs:
        if cell is None or other is None or _lines(cell) != _lines(other):
            rows, columns = min(_lines(c) for c in (cell, other) if c is not None)
            raise InputError(
                "the tables do not have the same cells: only one has a cell over rows "
                f"{[*rows]} and columns {[*columns]}"
            )
        distance = Levenshtein.normalized_distance(cell.text, other.text)
        found.append((cell.rows[0], cell.columns[0], cell.text, other.text, distance))
    return found


def _lines(cell: Cell) -> tuple[tuple[int, ...], tuple[int, ...]]:
    return cell.rows, cell.columns


def check_tables(
    tables: Iterable[_Given],
    sources: Iterable[_Given | None] | None = None,
    *,
    max_objects: int = 100,
    limit: float = 0.05,
) -> pd.DataFrame:
    """Apply the paper's quality control: decide which tables are kept, with the reason if not.

    Parameters
    ----------
    tables : iterable of tables
        Each as for `grits`.
    sources : iterable of tables or None, optional
        For each table, a table with the same cells and the texts of another source, or None. By
        default no table has a source.
    max_objects : int, optional
        Maximum number of objects of a table, as `count_objects` counts them.
    limit : float, optional
        Maximum mean distance between the texts of a table and of its source, 0 to 1.

    Returns
    -------
    pandas.DataFrame
        One row per table: table, rows_overlap, columns_overlap, objects, content_distance, kept,
        reason. Rows overlap if the y-ranges of cells that span one row only do; columns likewise. A
        table that cannot be read, or whose source cannot be read or has other cells, is not kept,
        and the reason says why.

    Raises
    ------
    InputError
        A number is invalid, a single table is given instead of a list, or the numbers of tables and
        sources differ.

    Notes
    -----
    Section 4, "Quality control", of Smock, Pesala and Abraham, "PubTables-1M" (2022), whose limits
    are the defaults. A distance is that of `check_content`, averaged over all cells.

    Examples
    --------
    >>> cells = [
    ...     {"row_nums": [0], "column_nums": [0], "bbox": [0, 0, 9, 5]},
    ...     {"row_nums": [1], "column_nums": [0], "bbox": [0, 4, 9, 9]},
    ... ]
    >>> check_tables([cells])["reason"].item()
    'rows overlap'
    """
    limit, most = _checked_limit(limit), _checked_whole(max_objects, "max_objects")
    listed = list_of_tables(tables, "tables")
    others = [None] * len(listed) if sources is None else list_of_tables(sources, "sources")
    if len(others) != len(listed):
        raise InputError(f"there are {len(listed)} tables and {len(others)} sources")
    pairs = zip(listed, others, strict=True)
    rows = ((n, *_checked(table, source, most, limit)) for n, (table, source) in enumerate(pairs))
    return TABLE_CHECK_COLUMNS.from_rows(rows)


def list_of_tables(given: Any, name: str) -> list[Any]:
    """Return the given tables as a list; a single table is refused."""
    single = f"{name} is a single table; put it into a list: [table]"
    if isinstance(as_pandas(given), Table | pd.DataFrame | str | Path):
        raise InputError(single)
    if isinstance(given, bytes | bytearray | Mapping | Cell) or not isinstance(given, Iterable):
        raise InputError(f"{name} is {type(given).__name__}; expected a list of tables")
    tables = list(given)
    # a list of cells, or of objects, is one table too
    if tables and all(isinstance(item, Mapping | Cell) for item in tables):
        raise InputError(single)
    return tables


def _checked(
    given: _Given, source: _Given | None, most: int, limit: float
) -> tuple[bool | None, bool | None, int | None, float | None, bool, str]:
    try:
        table = read_table(given).rebuilt()
    except InputError as error:
        return None, None, None, None, False, str(error)
    rows, columns = _overlap(table, 1), _overlap(table.transposed(), 0)
    objects, distance, problem = count_objects(table), None, ""
    if source is not None:
        try:
            other = read_table(source, name="source").rebuilt()
            distances = [distance for *_, distance in _compared(table, other)]
            distance = float(np.mean(distances)) if distances else 0.0
        except InputError as error:
            problem = str(error) if str(error).startswith("source") else f"source: {error}"
    reasons = {
        "rows overlap": rows,
        "columns overlap": columns,
        f"more than {most} objects": objects > most,
        f"contents differ by more than {limit:g}": distance is not None and distance > limit,
        problem: problem,
    }
    reason = "; ".join(text for text, holds in reasons.items() if holds)
    return rows, columns, objects, distance, not reason, reason


def _overlap(table: Table, axis: int) -> bool | None:
    """Say whether any two rows overlap; None if no cell that lies in one row has a box."""
    extents = row_extents(table, axis)
    extents = extents[~np.isnan(extents[:, 0])]
    if not len(extents):
        return None
    low, high = extents[np.argsort(extents[:, 0], kind="stable")].T
    return bool((np.maximum.accumulate(high)[:-1] > low[1:]).any())
