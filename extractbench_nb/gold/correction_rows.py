"""`corrections`: changes of gold as rows, whether of a frame, of a CSV file or of a view."""

from __future__ import annotations

import csv
import io
import json
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
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

_VALUES, _REMARKS = ("old", "new"), ("who", "when", "why")
#: The index behind the last item of an array.
END = -1
_ADDED = re.compile(r"\[(-|\+\d+)\]\Z")
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
        return tuple(END if _ADDED.match(step[0]) else step_key(step) for step in steps)

    @property
    def identity(self) -> Steps:
        """The steps as texts, equal for equal places; `END`, or ``+3]`` for an added item."""
        steps, added = tuple(map(str, self.steps)), _ADDED.search(self.path)
        if added is None:
            return steps
        return (*steps[:-1], END if added[1] == "-" else f"{added[1]}]")


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


# --- rows of any source -----------------------------------------------------------------------


def read_corrections(source: Any, who: str | None, why: str | None) -> list[Correction]:
    """Read the rows of a source and check them, each by itself and against the others."""
    found: list[Correction] = []
    places: dict[str, dict[Steps, str]] = defaultdict(dict)
    for where, row in _rows(source):
        correction = checked(where, row, {"who": who, "why": why})
        named = f"{where} ({correction.document!r}, {one_line(correction.path)})"
        conflict = conflicting(correction, places[correction.document])
        if conflict is not None:
            raise InputError(f"{named} and {conflict}; expected one correction per value")
        places[correction.document][correction.identity] = named
        found.append(correction)
    return found


def conflicting(correction: Correction, others: Mapping[Steps, str]) -> str | None:
    """Return what `others` has for the place of a correction, for a value above or below it."""
    own = correction.identity
    for place, named in others.items():
        depth = min(len(own), len(place))
        if own[:depth] == place[:depth] and not (own == place and own[-1:] == (END,)):
            return named
    return None


def _rows(source: Any) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield the name and the cells of each row."""
    edits = getattr(source, "edits", None)
    source = edits if isinstance(edits, pd.DataFrame) else source
    if isinstance(source, str | Path):
        path = Path(source)
        if path.suffix.lower() != ".csv":
            raise InputError(
                f"corrections {str(path)!r}: expected a .csv file (a JSON Patch of an earlier "
                "version is not read; the log beside it, corrections/log.csv, has the same rows)"
            )
        yield from csv_rows(path, CORRECTIONS)
        return
    if not isinstance(source, pd.DataFrame):
        raise InputError(
            f"corrections are {type(source).__name__}; expected a frame, a view with edits, or the "
            "path of a file or folder"
        )
    is_suspects = "new" not in source and {"consensus", "kind"} <= set(source.columns)
    names = ["document", "path"]
    if is_suspects:
        names += ["gold", "consensus", "kind"]
    elif "op" not in source:  # removals need no value
        names.append("new")
    for name in names:
        if name not in source:
            raise InputError(f"corrections: {no_column(name, source)}")
    used = [name for name in dict.fromkeys((*CORRECTIONS.names, *names)) if name in source]
    for at, cells in enumerate(zip(*(source[name].tolist() for name in used), strict=True)):
        row = dict(zip(used, cells, strict=True))
        yield f"corrections row {at}", _from_suspect(row) if is_suspects else row


def _from_suspect(row: Mapping[str, Any]) -> dict[str, Any]:
    """Turn a row of `suspects` into a correction: its consensus becomes gold."""
    kind, path = str(row["kind"]), row["path"]
    correction = {"document": row["document"], "why": row.get("why"), "new": row["consensus"]}
    if kind == "item_missing_in_gold" and not str(path).endswith("]"):
        path = f"{path}[-]"
    if kind in ("item_missing_in_gold", "empty_in_gold"):
        return correction | {"path": path, "op": "add"}
    return correction | {"path": path, "op": "replace", "old": row["gold"]}


def checked(where: str, row: Mapping[str, Any], remarks: Mapping[str, Any] = {}) -> Correction:
    """Check the cells of a row; `remarks` stand for who, when and why that it does not state."""

    def text(name: str, cell: Any) -> str:
        cell = cell.isoformat() if isinstance(cell, datetime) else cell
        if not isinstance(cell, str) or not cell:
            raise InputError(f"{where}: {name} is {cell!r}; expected a text")
        return cell

    document, path = (text(name, row.get(name)) for name in ("document", "path"))
    where += f" ({document!r}, {one_line(path)})"
    op = row.get("op")
    if is_missing(op) or op == "":
        op = "add" if _ADDED.search(path) else "replace"
    if op not in OPS:
        raise InputError(f"{where}: op is {op!r}; {nearest(op, OPS)}")
    if not path.startswith("$") or PATH_STEP.sub("", path) != "$":
        raise InputError(f"{where}: path is {path!r}; expected an instance path, '$.items[2].name'")
    old, new = (_json_cell(row.get(name, pd.NA), f"{where}: {name}") for name in _VALUES)
    if op == "remove" and path == "$":
        raise InputError(f"{where}: the root cannot be removed; replace it")
    if op != "remove" and new is pd.NA:
        raise InputError(
            f"{where}: new is missing; expected a JSON value (null is None in a column of dtype "
            "object), or op 'remove'"
        )
    added = next((step for step in PATH_STEP.finditer(path) if _ADDED.match(step[0])), None)
    if added is not None and (op != "add" or added.end() != len(path)):
        raise InputError(
            f"{where}: gold has no such item; add it as a whole with op 'add' at "
            f"{path[: added.start()]}[-]"
        )
    stated = []
    for name in _REMARKS:
        cell = row.get(name)
        cell = remarks.get(name) if is_missing(cell) or cell == "" else cell
        stated.append(pd.NA if is_missing(cell) else text(name, cell))
    return Correction(document, path, op, old, pd.NA if op == "remove" else new, *stated)


def _json_cell(value: Any, what: str) -> Any:
    """Return a copy of a JSON value; NA if nothing is stated, which None is not."""
    if value is not None and is_missing(value):
        return pd.NA
    copied = private_copy(value, what)
    try:
        json.dumps(copied, allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        shown = "…" if isinstance(error, RecursionError) else one_line(canonical(copied), 60)
        raise InputError(f"{what} is {shown} ({type(value).__name__}); expected JSON") from None
    return copied


# --- CSV --------------------------------------------------------------------------------------

#: A cell that begins with one of these is a formula in a spreadsheet.
_FORMULA = tuple("=+-@\t\r")
#: A text that is written with an apostrophe before it, which is removed when it is read.
_QUOTED = re.compile(r"'+[=+\-@\t\r]")
_LONGEST_CELL = 100_000_000


def csv_text(spec: FrameSpec, rows: Iterable[Sequence[Any]]) -> str:
    """Write rows as CSV; the byte-order mark tells a spreadsheet that it is UTF-8."""
    out = io.StringIO(newline="")
    writer = csv.writer(out, lineterminator="\r\n")
    writer.writerow(spec.names)
    writer.writerows(
        [_cell_text(*cell) for cell in zip(spec.names, row, strict=True)] for row in rows
    )
    return "\ufeff" + out.getvalue()


def _cell_text(column: str, cell: Any) -> str:
    if cell is pd.NA:
        return ""
    if column in _VALUES:
        return json.dumps(cell, ensure_ascii=False)
    text = str(cell)
    return "'" + text if text.startswith(_FORMULA) or _QUOTED.match(text) else text


def csv_rows(path: Path, spec: FrameSpec) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the name and the cells of each row of a CSV file."""
    name = f"corrections file {str(path)!r}"
    limit = csv.field_size_limit(_LONGEST_CELL)
    try:
        with reading(name, path), path.open(encoding="utf-8-sig", newline="") as file:
            header, *lines = list(csv.reader(file, strict=True)) or [[]]
    except (csv.Error, UnicodeDecodeError) as error:
        raise InputError(f"{name} is not CSV in UTF-8: {error}") from None
    finally:
        csv.field_size_limit(limit)
    for column in spec.names:
        if column not in header and column not in ("op", "old", *_REMARKS):
            raise InputError(f"{name}: no column {column!r}; {nearest(column, header)}")
    for at, cells in enumerate(lines, 2):
        where = f"{name} row {at}"
        if any(cells) and len(cells) != len(header):
            raise InputError(f"{where} has {len(cells)} cells; expected {len(header)}")
        if any(cells):
            named = zip(header, cells, strict=True)
            yield where, {n: _read_cell(n, cell, where) for n, cell in named if n in spec.names}


def _read_cell(column: str, cell: str, where: str) -> Any:
    if column in _VALUES:
        return cell_value(cell, f"{where}: {column}") if cell else pd.NA
    return cell[1:] if _QUOTED.match(cell) else cell


def cell_value(text: str, what: str) -> Any:
    """Read JSON that a person wrote; NaN and infinities are not JSON."""

    def refuse(constant: str) -> Any:
        raise ValueError(f"{constant} is not JSON")

    try:
        return json.loads(text, parse_constant=refuse)
    except (ValueError, RecursionError):
        hint = "; a text needs quotes" if text[:1] not in '"[{' else ""
        raise InputError(f"{what} is {one_line(text, 60)!r}; expected JSON{hint}") from None
