"""Corrections in files: CSV for spreadsheets, and JSON Patch (RFC 6902) for programs."""

from __future__ import annotations

import csv
import io
import json
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from copy import deepcopy
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from extractbench_nb._files import reading
from extractbench_nb._frames import Column, FrameSpec
from extractbench_nb._json import (
    PATH_STEP,
    canonical,
    escape_pointer,
    json_type,
    member,
    read_text,
    step_key,
    unescape_pointer,
)
from extractbench_nb.display.text import one_line
from extractbench_nb.errors import InputError, nearest

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

#: Where a corrected dataset keeps its log and its patches.
LOG_FOLDER, LOG, PATCH_SUFFIX = "corrections", "log.csv", ".patch.json"
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


# --- JSON Patch -------------------------------------------------------------------------------


def patch_rows(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """Read the operations of a JSON Patch as rows; all paths are those before the first."""
    name, document = f"patch {path.name!r}", path.name.removesuffix(PATCH_SUFFIX)
    try:
        patch = json.loads(read_text(path, "patch"), parse_constant=_refuse)
    except (ValueError, RecursionError) as error:
        raise InputError(f"{name} is not JSON: {error}") from None
    if not isinstance(patch, list):
        raise InputError(f"{name} is of type {json_type(patch)}; expected an array of operations")
    tested: dict[str, Any] = {}
    removed: dict[str, int] = {}
    for at, operation in enumerate(patch):
        where = f"{name} operation {at}"
        if not isinstance(operation, dict) or not isinstance(operation.get("path"), str):
            raise InputError(f"{where} is {one_line(canonical(operation))}; expected op and path")
        op, pointer = operation.get("op"), operation["path"]
        if op not in (*OPS, "test"):
            raise InputError(f"{where}: op is {op!r}; {nearest(op, (*OPS, 'test'))}")
        if (op != "remove") != ("value" in operation):
            raise InputError(f"{where}: {op!r} {'needs a' if op != 'remove' else 'has no'} value")
        if op == "test":
            tested[pointer] = operation["value"]
            continue
        yield (
            where,
            {
                "document": document,
                "path": _instance_path(pointer, removed, where),
                "op": op,
                "old": tested.pop(pointer, pd.NA),
                "new": operation.get("value", pd.NA),
                **{key: operation.get(key) for key in REMARKS},
            },
        )
        above, _, last = pointer.rpartition("/")
        if op == "remove" and last.isdecimal():
            removed[above] = int(last)
    if tested:
        raise InputError(f"{name}: the test of {next(iter(tested))!r} has no operation after it")


def _instance_path(pointer: str, removed: Mapping[str, int], where: str) -> str:
    """Write a JSON Pointer as an instance path."""
    if pointer and not pointer.startswith("/"):
        raise InputError(f"{where}: path is {pointer!r}; expected a JSON Pointer, '/items/2/name'")
    path, above = "$", ""
    for token in pointer.split("/")[1:]:
        key = unescape_pointer(token)
        is_index = key == "-" or (key.isascii() and key.isdecimal())
        if key.isdecimal() and int(key) >= removed.get(above, math.inf):
            raise InputError(
                f"{where}: {pointer!r} may have moved, as {above}/{removed[above]} was removed "
                "before; remove items from the last to the first, after all other operations"
            )
        path += f"[{key}]" if is_index else member(key)
        above += f"/{token}"
    return path


def in_patch_order(rows: Iterable[tuple[Steps, Correction]]) -> list[tuple[Steps, Correction]]:
    """Order corrections such that none moves the place of a later one: removals come last."""

    def last_first(row: tuple[Steps, Correction]) -> list[tuple[int, str]]:
        return [(int(s), "") if str(s).isdecimal() else (-1, str(s)) for s in row[0]]

    rows = list(rows)
    removals = sorted((row for row in rows if row[1].op == "remove"), key=last_first, reverse=True)
    return [row for row in rows if row[1].op != "remove"] + removals


def operations(steps: Steps, row: Correction) -> Iterator[dict[str, Any]]:
    """Write a correction as operations of a JSON Patch."""
    tokens = ("-" if step == END else escape_pointer(str(step)) for step in steps)
    path = "".join(f"/{token}" for token in tokens)
    if row.old is not pd.NA and row.op != "add":
        yield {"op": "test", "path": path, "value": row.old}
    value = {} if row.op == "remove" else {"value": row.new}
    remarks = {name: getattr(row, name) for name in REMARKS}
    told = {name: text for name, text in remarks.items() if text is not pd.NA}
    yield {"op": row.op, "path": path, **value, **told}


def patched(document: Any, patch: Iterable[Mapping[str, Any]]) -> Any:
    """Return a document to which operations of corrections, which fit it, are applied."""
    document = deepcopy(document)
    for operation in patch:
        if not operation["path"]:
            document = operation.get("value", document)
            continue
        *above, last = map(unescape_pointer, operation["path"].split("/")[1:])
        target = document
        for step in above:
            target = target[int(step) if isinstance(target, list) else step]
        key: Any = last
        if isinstance(target, list):
            key = len(target) if last == "-" else int(last)
        if operation["op"] == "remove":
            del target[key]
        elif operation["op"] == "add" and isinstance(target, list):
            target.insert(key, operation["value"])
        elif operation["op"] in ("add", "replace"):
            target[key] = operation["value"]
    return document


def patch_text(operations: Sequence[Mapping[str, Any]]) -> str:
    """Write one operation per line."""
    lines = ",\n".join(json.dumps(operation, ensure_ascii=False) for operation in operations)
    return f"[\n{lines}\n]\n"
