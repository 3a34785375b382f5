"""`corrections`: changes of gold as one checked frame, their files, and what they change."""

from __future__ import annotations

import csv
import io
import json
import math
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from extractbench_nb.core.frames import Column, FrameSpec
from extractbench_nb.core.values import PATH_STEP, canonical, private_copy, step_key
from extractbench_nb.errors import InputError, nearest, no_column
from extractbench_nb.support.files import reading, write_texts
from extractbench_nb.support.pandas_helpers import is_missing
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
    out, dumps = io.StringIO(newline=""), partial(json.dumps, ensure_ascii=False)
    writer = csv.writer(out, lineterminator="\r\n")
    writer.writerow(spec.names)
    for row in rows:
        writer.writerow(
            "" if cell is pd.NA else dumps(cell) if name in _VALUES else _text_cell(str(cell))
            for name, cell in zip(spec.names, row, strict=True)
        )
    return "\ufeff" + out.getvalue()


def _text_cell(text: str) -> str:
    is_quoted = text.startswith("'") and text[1:].lstrip("'").startswith(_FORMULA)
    return "'" + text if text.startswith(_FORMULA) or is_quoted else text


def csv_rows(path: Path, spec: FrameSpec) -> Iterator[tuple[str, dict[str, Any]]]:
    """Read the rows of a CSV file."""
    name = f"corrections file {str(path)!r}"
    limit = csv.field_size_limit(_LONGEST_CELL)
    try:
        with reading(name, path), path.open(encoding="utf-8-sig", newline="") as file:
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


# --- from any source ------------------------------------------------------------------------------


def corrections(source: Any, *, who: str | None = None, why: str | None = None) -> pd.DataFrame:
    """Read corrections of gold and check them.

    Parameters
    ----------
    source : view, pandas.DataFrame, str or pathlib.Path
        The view of `show_evidence`, with its edits. A frame with columns document, path, new, and
        optionally op, old, who, when, why; a frame of `suspects` is one. A CSV file that
        `save_corrections` wrote, or the log of a corrected dataset. Other columns are ignored.
    who, why : str, optional
        Author and reason of the corrections for which `source` states none.

    Returns
    -------
    pandas.DataFrame
        One row per correction: document, path, op, old, new, who, when, why. In ``old`` and
        ``new``, None is JSON's null, and NA means that nothing is stated.

    Raises
    ------
    InputError
        A file cannot be read; a column is missing; an op is unknown; a value is not JSON; the root
        is to be removed; or two corrections are of one path, or one is below the other. The message
        names the row.

    Notes
    -----
    Paths are those of ``Evaluation.fields``; all refer to gold before the corrections. ``add``
    adds a key (``$.address.city``), or an item after the last one (``$.items[-]``, or the path of
    a spurious item in ``fields``, ``$.items[+3]``). The default op is ``add`` for a path that ends
    in such an index, else ``replace``.

    Examples
    --------
    >>> frame = pd.DataFrame({"document": "q2", "path": ["$.total", "$.lines[-]"], "new": [7, 1]})
    >>> corrections(frame, who="ada")[["path", "op", "new", "who"]]
             path       op new  who
    0     $.total  replace   7  ada
    1  $.lines[-]      add   1  ada
    """
    return CORRECTIONS.from_rows(read_corrections(source, who, why))


def save_corrections(source: Any, path: str | Path) -> Path:
    """Write corrections to a CSV file that people can review and `corrections` reads again.

    Parameters
    ----------
    source : view, pandas.DataFrame, str or pathlib.Path
        What `corrections` takes.
    path : str or pathlib.Path
        A file that ends in ``.csv``. It is replaced if it exists.

    Returns
    -------
    pathlib.Path
        The file.

    Raises
    ------
    InputError
        The corrections are not valid, or the name of the file does not end in ``.csv``.
    OutputError
        A file cannot be written; what was there before is unchanged.

    Notes
    -----
    In the CSV file ``old`` and ``new`` are JSON: ``"12"`` is a text and ``12`` a number, ``null``
    is null, and an empty cell states nothing. Other cells that a spreadsheet would take for a
    formula begin with an apostrophe, which is removed when the file is read.

    Examples
    --------
    >>> from tempfile import mkdtemp
    >>> frame = pd.DataFrame({"document": ["q2"], "path": ["$.total"], "old": ["7"], "new": ["8"]})
    >>> file = save_corrections(frame, Path(mkdtemp()) / "review.csv")
    >>> file.read_text(encoding="utf-8-sig").splitlines()[1].replace('"', "'")
    "q2,$.total,replace,'''7''','''8''',,,"
    >>> corrections(file)["new"].tolist()
    ['8']
    """
    target = Path(path)
    if target.suffix.lower() != ".csv":
        raise InputError(f"path is {str(path)!r}; expected the name of a .csv file")
    write_texts({target: csv_text(CORRECTIONS, read_corrections(source, None, None))})
    return target


# --- reading ----------------------------------------------------------------------------------


def read_corrections(source: Any, who: str | None, why: str | None) -> list[Correction]:
    """Read and check the rows of any source."""
    defaults = {"who": who, "why": why}
    found: list[Correction] = []
    places: dict[str, dict[Steps, str]] = defaultdict(dict)
    for where, row in _rows(source):
        correction = checked(where, row, defaults)
        named = f"{where} ({correction.document!r}, {one_line(correction.path)})"
        conflict = conflicting(correction, places[correction.document])
        if conflict is not None:
            raise InputError(f"{named} and {conflict}; expected one correction per value")
        places[correction.document][identity(correction)] = named
        found.append(correction)
    return found


def conflicting(correction: Correction, others: Mapping[Steps, Any]) -> Any:
    """Return what `others` has for the path of a correction, for a value above or below it."""
    own = identity(correction)
    if own[-1:] == (str(END),):
        others = {steps: other for steps, other in others.items() if steps != own}
    for depth in range(len(own) + 1):
        if own[:depth] in others:
            return others[own[:depth]]
    return next((other for steps, other in others.items() if steps[: len(own)] == own), None)


def identity(correction: Correction) -> Steps:
    """Return the steps of a path such that equal places are equal."""
    steps = tuple(map(str, correction.steps))
    if adds(correction.path) and not correction.path.endswith("[-]"):
        return (*steps[:-1], correction.path.rpartition("[")[2])  # each is another item
    return steps


def _rows(source: Any) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the name and the cells of each row."""
    edits = getattr(source, "edits", None)
    if isinstance(edits, pd.DataFrame):
        source = edits
    if isinstance(source, pd.DataFrame):
        yield from _frame_rows(source)
    elif isinstance(source, str | Path):
        path = Path(source)
        if path.suffix.lower() == ".csv":
            yield from csv_rows(path, CORRECTIONS)
        else:
            raise InputError(
                f"corrections {str(path)!r}: expected a .csv file (a JSON Patch of an earlier "
                "version is not read; the log beside it, corrections/log.csv, has the same rows)"
            )
    else:
        raise InputError(
            f"corrections are {type(source).__name__}; expected a frame, a view with edits, or the "
            "path of a file or folder"
        )


def _frame_rows(frame: pd.DataFrame) -> Iterator[tuple[str, dict[str, Any]]]:
    is_suspects = "new" not in frame and {"consensus", "kind"} <= set(frame.columns)
    names = ["document", "path"]
    if is_suspects:
        names += ["gold", "consensus", "kind"]
    elif "op" not in frame:  # removals need no value
        names.append("new")
    for name in names:
        if name not in frame:
            raise InputError(f"corrections: {no_column(name, frame)}")
    kept = [name for name in (*CORRECTIONS.names, *names) if name in frame]
    cells = [frame[name].tolist() for name in dict.fromkeys(kept)]
    for at, row in enumerate(zip(*cells, strict=True)):
        named = dict(zip(dict.fromkeys(kept), row, strict=True))
        if is_suspects:
            named = _from_suspect(named)
        yield f"corrections row {at}", named


def _from_suspect(row: dict[str, Any]) -> dict[str, Any]:
    """Turn a row of `suspects` into a correction: its consensus becomes gold."""
    kind, path = str(row["kind"]), row["path"]
    known = {"document": row["document"], "why": row.get("why"), "new": row["consensus"]}
    if kind == "item_missing_in_gold":
        is_item = isinstance(path, str) and path.endswith("]")
        return known | {"path": path if is_item else f"{path}[-]", "op": "add"}
    if kind == "empty_in_gold":
        return known | {"path": path, "op": "add"}
    return known | {"path": path, "op": "replace", "old": row["gold"]}


def _is_blank(cell: Any) -> bool:
    return is_missing(cell) or cell == ""


def _not_stated(value: Any) -> bool:
    return value is pd.NA or value is pd.NaT or (isinstance(value, float) and math.isnan(value))


def checked(where: str, row: Mapping[str, Any], remarks: Mapping[str, Any] = {}) -> Correction:
    """Check the cells of a row; `remarks` stand for who, when and why that it does not state."""
    document, path = (_checked_text(where, name, row.get(name)) for name in ("document", "path"))
    op = row.get("op")
    if _is_blank(op):
        op = "add" if adds(path) else "replace"
    where += f" ({document!r}, {one_line(path)})"
    if op not in OPS:
        raise InputError(f"{where}: op is {op!r}; {nearest(op, OPS)}")
    if not path.startswith("$") or PATH_STEP.sub("", path) != "$":
        raise InputError(f"{where}: path is {path!r}; expected an instance path, '$.items[2].name'")
    values = [row.get(name, pd.NA) for name in ("old", "new")]
    old, new = (
        pd.NA if _not_stated(value) else _json_value(value, f"{where}: {name}")
        for name, value in zip(("old", "new"), values, strict=True)
    )
    if op == "remove" and path == "$":
        raise InputError(f"{where}: the root cannot be removed; replace it")
    if op != "remove" and new is pd.NA:
        raise InputError(
            f"{where}: new is missing; expected a JSON value (null is None in a column of dtype "
            "object), or op 'remove'"
        )
    behind = [adds(step[0]) for step in PATH_STEP.finditer(path)]
    if any(behind) and (op != "add" or behind.index(True) + 1 != len(behind)):
        raise InputError(
            f"{where}: gold has no such item; add it as a whole with op 'add' at "
            f"{_array_of(path)}[-]"
        )
    stated = {n: remarks.get(n) if _is_blank(row.get(n)) else row[n] for n in REMARKS}
    others = [
        pd.NA if is_missing(cell) else _checked_text(where, name, cell)
        for name, cell in stated.items()
    ]
    return Correction(document, path, op, old, pd.NA if op == "remove" else new, *others)


def _checked_text(where: str, name: str, cell: Any) -> str:
    text = cell.isoformat() if isinstance(cell, datetime) else cell
    if not isinstance(text, str) or not text:
        raise InputError(f"{where}: {name} is {text!r}; expected a text")
    return text


def _array_of(path: str) -> str:
    """Return the path of the first array that an item is added to."""
    step = next(step for step in PATH_STEP.finditer(path) if adds(step[0]))
    return path[: step.start()]


def _json_value(value: Any, what: str) -> Any:
    copied = private_copy(value, what)
    try:
        json.dumps(copied, allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        shown = one_line(canonical(copied), 60) if not isinstance(error, RecursionError) else "…"
        raise InputError(f"{what} is {shown} ({type(value).__name__}); expected JSON") from None
    return copied
