"""Corrections: their columns, CSV files for spreadsheets, and how they change a document."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Iterable, Iterator, Sequence
from copy import deepcopy
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from extractbench_nb.core.frames import Column, FrameSpec
from extractbench_nb.core.values import PATH_STEP, step_key
from extractbench_nb.errors import InputError, nearest
from extractbench_nb.support.files import reading
from extractbench_nb.support.wording import one_line

OPS = ("replace", "add", "remove")

CORRECTIONS = FrameSpec(
    "corrections",
    "one row per correction, in the order of the source",
    (
        Column("document", "string", "document id"),
        Column("path", "string", "instance path in gold as it was; `[-]` is behind the last item"),
        Column("op", "string", "what is done at the path", ", ".join(OPS)),
        Column("old", "object", "gold's value; NA if not stated, None is null", "JSON", True),
        Column("new", "object", "the corrected value; NA if removed, None is null", "JSON", True),
        Column("who", "string", "who made it", "", True),
        Column("when", "string", "when it was made", "ISO 8601", True),
        Column("why", "string", "why", "", True),
    ),
)
HISTORY = FrameSpec(
    "history",
    "one row per correction that was applied, oldest first",
    (
        Column("version", "int64", "how often corrections were applied", "1 and up"),
        *CORRECTIONS.columns,
    ),
)

#: Where a corrected dataset keeps its log.
LOG_FOLDER, LOG = "corrections", "log.csv"
REMARKS = ("who", "when", "why")
#: The index behind the last item of an array.
END = -1
Steps = tuple[str | int, ...]


class Correction(NamedTuple):
    """One row of `CORRECTIONS`; what is missing is NA, and None is JSON's null."""

    document: str
    path: str
    op: str
    old: Any
    new: Any
    who: Any
    when: Any
    why: Any

    @property
    def steps(self) -> Steps:
        """The keys and indices of the path."""
        steps = PATH_STEP.finditer(self.path)
        return tuple(END if adds(step[0]) else step_key(step) for step in steps)


def adds(path: str) -> bool:
    """Whether a path, or its only step, is the place behind the last item of an array."""
    return path.endswith("[-]") or _ADDED.search(path) is not None


_ADDED = re.compile(r"\[\+\d+\]\Z")


# --- CSV --------------------------------------------------------------------------------------

_VALUES = ("old", "new")
#: A cell that begins with one of these is a formula in a spreadsheet.
_FORMULA = tuple("=+-@\t\r")
_LONGEST_CELL = 100_000_000


def csv_text(spec: FrameSpec, rows: Iterable[Sequence[Any]]) -> str:
    """Write rows as CSV; the byte-order mark tells a spreadsheet that it is UTF-8."""
    out = io.StringIO(newline="")
    writer = csv.writer(out, lineterminator="\r\n")
    writer.writerow(spec.names)
    for row in rows:
        writer.writerow(
            "" if cell is pd.NA else _value_cell(cell) if name in _VALUES else _text_cell(str(cell))
            for name, cell in zip(spec.names, row, strict=True)
        )
    return "\ufeff" + out.getvalue()


def _value_cell(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def _text_cell(text: str) -> str:
    is_quoted = text.startswith("'") and text[1:].lstrip("'").startswith(_FORMULA)
    return "'" + text if text.startswith(_FORMULA) or is_quoted else text


def csv_rows(path: Path, spec: FrameSpec) -> Iterator[tuple[str, dict[str, Any]]]:
    """Read the rows of a CSV file."""
    name = f"corrections file {str(path)!r}"
    limit = csv.field_size_limit(_LONGEST_CELL)
    try:
        with reading(name), path.open(encoding="utf-8-sig", newline="") as file:
            lines = list(csv.reader(file, strict=True))
    except (csv.Error, UnicodeDecodeError) as error:
        raise InputError(f"{name} is not CSV in UTF-8: {error}") from None
    finally:
        csv.field_size_limit(limit)
    header = lines[0] if lines else []
    for column in spec.names:
        if column not in header and column not in ("op", "old", *REMARKS):
            raise InputError(f"{name}: no column {column!r}; {nearest(column, header)}")
    for at, cells in enumerate(lines[1:], 2):
        if not any(cells):
            continue
        where = f"{name} row {at}"
        if len(cells) != len(header):
            raise InputError(f"{where} has {len(cells)} cells; expected {len(header)}")
        row: dict[str, Any] = {}
        for column, cell in zip(header, cells, strict=True):
            if column in _VALUES:
                row[column] = pd.NA if cell == "" else cell_value(cell, f"{where}: {column}")
            elif column in spec.names:
                quoted = cell.startswith("'") and cell.lstrip("'").startswith(_FORMULA)
                row[column] = cell[1:] if quoted else cell
        row["op"] = row.get("op") or ("add" if adds(row["path"]) else "replace")
        yield where, row


def cell_value(text: str, what: str) -> Any:
    """Read JSON that a person wrote; NaN and infinities are not JSON."""
    try:
        return json.loads(text, parse_constant=_refuse)
    except (ValueError, RecursionError):
        hint = "; a text needs quotes" if text[:1] not in '"[{' else ""
        raise InputError(f"{what} is {one_line(text, 60)!r}; expected JSON{hint}") from None


def _refuse(constant: str) -> Any:
    raise ValueError(f"{constant} is not JSON")


# --- what they do -----------------------------------------------------------------------------


def in_patch_order(rows: Iterable[tuple[Steps, Correction]]) -> list[tuple[Steps, Correction]]:
    """Order corrections such that none moves the place of a later one: removals come last."""

    def last_first(row: tuple[Steps, Correction]) -> list[tuple[int, str]]:
        return [(int(s), "") if str(s).isdecimal() else (-1, str(s)) for s in row[0]]

    rows = list(rows)
    removals = sorted((row for row in rows if row[1].op == "remove"), key=last_first, reverse=True)
    return [row for row in rows if row[1].op != "remove"] + removals


def patched(document: Any, rows: Iterable[tuple[Steps, Correction]]) -> Any:
    """Return a document to which corrections, which fit it and are in order, are applied."""
    document = deepcopy(document)
    for steps, row in rows:
        if not steps:
            document = row.new
            continue
        *above, last = steps
        target: Any = document
        for step in above:
            target = target[step]
        if row.op == "remove":
            del target[last]
        elif last == END and isinstance(target, list):
            target.append(row.new)
        else:
            target[last] = row.new
    return document
