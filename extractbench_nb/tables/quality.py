"""Quality control of annotated tables: complexity, aligned texts, contents, outliers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import zip_longest
from operator import attrgetter
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import pandas as pd

from extractbench_nb.core.frames import Column, FrameSpec, as_pandas
from extractbench_nb.errors import InputError
from extractbench_nb.tables.cells import Cell, Table, check_share, is_whole
from extractbench_nb.tables.grid_similarity import align, line_extents
from extractbench_nb.tables.reading import read_table


def is_complex(table: Table) -> bool:
    """Return whether a cell covers several rows or columns (sections 3 and 7 of the paper)."""
    return any(_spans(cell) for cell in table.cells)


def count_objects(table: Table) -> int:
    """Count the objects of a table that a structure detector has to find.

    The classes of section 5 of the paper; section 4 caps them at 100. The paper does not say
    whether a projected row header is a spanning cell as well; here it is counted once.
    """
    if not table.size:
        return 0
    has_header = any(cell.is_header for cell in table.cells)
    objects = sum(cell.is_projected or _spans(cell) for cell in table.cells)
    return 1 + sum(table.grid.shape) + has_header + objects


def _spans(cell: Cell) -> bool:
    return len(cell.rows) * len(cell.columns) > 1


TEXT_ALIGNMENT_COLUMNS = FrameSpec(
    "text_alignment",
    "one row per column of the alignment: a character of either text, or of both",
    (
        Column("kind", "string", "what it is", "match, mismatch, insert, delete"),
        Column("a", "string", "character of the first text; NA if inserted", nullable=True),
        Column("b", "string", "character of the second text; NA if deleted", nullable=True),
        Column("a_at", "Int64", "its number in the first text", "0 and up", nullable=True),
        Column("b_at", "Int64", "its number in the second text", "0 and up", nullable=True),
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

#: Maximum number of pairs of characters to align; each takes nine bytes.
_MOST_PAIRS = 1 << 27
_Given: TypeAlias = Iterable[Mapping[str, Any] | Cell] | Table


def align_texts(a: str, b: str) -> pd.DataFrame:
    """Align the characters of two texts globally (Needleman and Wunsch).

    Parameters
    ----------
    a, b : str
        Two texts.

    Returns
    -------
    pandas.DataFrame
        One row per column of the alignment: kind (match, mismatch, insert: only in `b`, delete:
        only in `a`), a, b (characters), a_at, b_at (their positions, from 0). A match scores 1, a
        mismatch and a character without a partner -1, and the sum is as high as possible. Of
        several best alignments, the one found by tracing back from the end, preferring pairs to
        deletions, and deletions to insertions.

    Raises
    ------
    InputError
        An argument is not a str, or the texts have more than 2^27 pairs of characters.

    Notes
    -----
    The paper aligns the text of a PDF with that of the XML of the same article in this way (section
    4 of "PubTables-1M", 2021); it does not state its scores. This function takes nine bytes per
    pair of characters, and about three seconds for texts of 10,000 characters.

    Examples
    --------
    >>> align_texts("self-made", "selfmade")["kind"].value_counts().to_dict()
    {'match': 8, 'delete': 1}
    """
    for name, text in (("a", a), ("b", b)):
        if not isinstance(text, str):
            raise InputError(f"{name} is {type(text).__name__}; expected a str")
    if len(a) * len(b) > _MOST_PAIRS:
        raise InputError(
            f"a and b have {len(a):,} x {len(b):,} characters; at most {_MOST_PAIRS:,} pairs "
            "can be aligned: align parts"
        )
    codes, _ = pd.factorize(pd.Series([*a, *b], dtype=object))
    # with 2 added for the two characters that it does not leave out, a pair is worth 3 or 1
    equal = codes[: len(a), None] == codes[None, len(a) :]
    pairs = align(np.where(equal, 3, 1).astype(np.uint8))
    rows: list[tuple[Any, ...]] = []
    row = column = 0
    for pair in (*zip(pairs.true.tolist(), pairs.predicted.tolist(), strict=True), None):
        ends = pair or (len(a), len(b))
        # left out before a pair: those of the second text were traced last
        rows += [("insert", None, b[n], None, n) for n in range(column, ends[1])]
        rows += [("delete", a[n], None, n, None) for n in range(row, ends[0])]
        if pair:
            row, column = ends
            kind = "match" if a[row] == b[column] else "mismatch"
            rows.append((kind, a[row], b[column], row, column))
        row, column = ends[0] + 1, ends[1] + 1
    return TEXT_ALIGNMENT_COLUMNS.from_rows(rows)


def _mean_distance(table: Table, source: Table) -> float:
    """Return the mean over the cells of the edit distance over the longer length."""
    from rapidfuzz.distance import Levenshtein

    pairs = list(zip_longest(*(sorted(side.cells, key=_LINES) for side in (table, source))))
    for pair in pairs:
        lines = [cell[:2] for cell in pair if cell is not None]
        if len(lines) == 1 or lines[0] != lines[1]:
            rows, columns = map(list, min(lines))
            raise InputError(
                "the tables do not have the same cells: only one has a cell over rows "
                f"{rows} and columns {columns}"
            )
    distances = [Levenshtein.normalized_distance(cell.text, other.text) for cell, other in pairs]
    return float(np.mean(distances)) if distances else 0.0


_LINES = attrgetter("rows", "columns")


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
        Maximum number of objects of a table: the table, its rows and columns, the column header if
        there is one, projected row headers, and other cells that span.
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
    Section 4, "Quality control", of Smock, Pesala and Abraham, "PubTables-1M" (2021), whose limits
    are the defaults. The distance is the Levenshtein distance over the longer length, averaged over
    all cells.

    Examples
    --------
    >>> cells = [
    ...     {"row_nums": [0], "column_nums": [0], "bbox": [0, 0, 9, 5]},
    ...     {"row_nums": [1], "column_nums": [0], "bbox": [0, 4, 9, 9]},
    ... ]
    >>> check_tables([cells])["reason"].item()
    'rows overlap'
    """
    check_share(limit, "limit")
    if not is_whole(max_objects):
        raise InputError(f"max_objects is {max_objects!r}; expected a whole number")
    listed = list_of_tables(tables, "tables")
    others = [None] * len(listed) if sources is None else list_of_tables(sources, "sources")
    if len(others) != len(listed):
        raise InputError(f"there are {len(listed)} tables and {len(others)} sources")
    return TABLE_CHECK_COLUMNS.from_rows(
        (n, *_checked(table, source, max_objects, float(limit)))
        for n, (table, source) in enumerate(zip(listed, others, strict=True))
    )


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
        table = read_table(given)
    except InputError as error:
        return None, None, None, None, False, str(error)
    rows, columns = _overlap(table, 1), _overlap(table, 0)
    objects, distance, problem = count_objects(table), None, ""
    if source is not None:
        try:
            other = read_table(source, name="source")
            distance = _mean_distance(table, other)
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
    """Say whether columns (axis 0) or rows (1) overlap; None if no cell in one only has a box."""
    extents = line_extents(table, axis)
    extents = extents[~np.isnan(extents[:, 0])]
    if not len(extents):
        return None
    low, high = extents[np.argsort(extents[:, 0], kind="stable")].T
    return bool((np.maximum.accumulate(high)[:-1] > low[1:]).any())
