"""Accepted alternatives: other values that are right too, of scalars and of whole array items.

Users give them as a frame, records or a file; they are checked against gold. The scorer takes the
best of the gold value and its alternatives (`Scorer.score`); items are replaced before
their array is aligned (`ItemComparer.choose_alternatives`).
"""

from __future__ import annotations

import csv
import json
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

import pandas as pd

from extractbench_nb.core.frames import Column, FrameSpec, as_pandas
from extractbench_nb.core.pairing import resolve_union
from extractbench_nb.core.schema.schema_nodes import MISSING, Node, Schema
from extractbench_nb.core.values import (
    PATH_STEP,
    equality_key,
    json_type,
    member,
    plain_levels,
    private_copy,
    read_document,
    step_key,
)
from extractbench_nb.errors import InputError, nearest, no_column
from extractbench_nb.support.files import reading
from extractbench_nb.support.pandas_helpers import is_missing
from extractbench_nb.support.wording import one_line

ACCEPTED_COLUMNS = FrameSpec(
    "accepted",
    "one row per accepted alternative",
    (
        Column("document", "string", "document id", nullable=True),
        Column("path", "string", "instance path, with the indices in gold"),
        Column("value", "object", "another correct value; None if it may be absent", nullable=True),
        Column("note", "string", "reason", nullable=True),
    ),
)
_LONGEST = 60
_KINDS = {"array": "an array", "object": "an object"}


class Alternative(NamedTuple):
    """One accepted alternative; ``where`` is its row, as errors call it."""

    document: str | None
    path: str
    value: Any
    note: str | None
    where: str

    def refuse(self, problem: str) -> NoReturn:
        """Raise `InputError` with the row and what is wrong with it."""
        document = "" if self.document is None else f"document {self.document!r}, "
        path = one_line(self.path, _LONGEST)
        raise InputError(f"accepted, {self.where} ({document}path {path!r}): {problem}")


# --- reading ----------------------------------------------------------------------------------


class Accepted(tuple[Alternative, ...]):
    """Accepted alternatives, in the order in which they are given."""

    __slots__ = ()

    @classmethod
    def read(cls, source: Any) -> Accepted:
        """Read them from a frame, records or a file; None has none."""
        if source is None:
            return cls()
        if isinstance(source, cls):
            return source
        name, rows, is_csv = "accepted", as_pandas(source), False
        if isinstance(rows, str | Path):
            name, path = f"accepted file {str(rows)!r}", Path(rows)
            is_csv = path.suffix.lower() == ".csv"
            if not is_csv and path.suffix.lower() != ".json":
                raise InputError(f"accepted is {str(path)!r}; expected a file named .csv or .json")
            rows = _csv_rows(path, name) if is_csv else read_document(path, name)
        if isinstance(rows, pd.DataFrame):
            for column in ("path", "value"):
                if column not in rows:
                    raise InputError(f"{name} has {no_column(column, rows)}")
            rows = rows.astype(object).to_dict("records")
        if not isinstance(rows, list):
            expected = "a frame or a list of dicts with path and value, or a CSV or JSON file"
            raise InputError(f"{name} is a {type(rows).__name__}; expected {expected} of them")
        return cls(_alternative(f"row {n}", row, is_csv) for n, row in enumerate(rows))

    def frame(self) -> pd.DataFrame:
        """Return one row per alternative: document, path, value, note."""
        return ACCEPTED_COLUMNS.from_rows(row[:-1] for row in self)

    def by_document(self, documents: Collection[str]) -> dict[str, Accepted]:
        """Group them by their document, which must be one of `documents`."""
        rows_of: dict[str, list[Alternative]] = defaultdict(list)
        for row in self:
            if row.document is None:
                row.refuse("document is missing; expected a document id")
            if row.document not in documents:
                row.refuse(f"unknown document; {nearest(row.document, documents)}")
            rows_of[row.document].append(row)
        return {document: Accepted(rows) for document, rows in rows_of.items()}

    def of_one_document(self) -> Accepted:
        """Return them; refuse alternatives for several documents where one is evaluated."""
        documents = {row.document for row in self if row.document is not None}
        if len(documents) > 1:
            problem = f"accepted has rows for {len(documents)} documents"
            raise InputError(f"{problem}; select those of the document that is evaluated")
        return self


_MORE_CELLS = "more cells than the first line names"


def _csv_rows(path: Path, name: str) -> list[dict[str, Any]]:
    try:
        with reading(name, path), path.open(encoding="utf-8-sig", newline="") as file:
            return list(csv.DictReader(file, restkey=_MORE_CELLS))
    except (UnicodeDecodeError, csv.Error) as error:
        raise InputError(f"{name} is not readable CSV: {error}") from None


def _alternative(where: str, record: Any, is_csv: bool) -> Alternative:
    """Check one row, in which values are JSON text if it is CSV; other columns are ignored."""
    if not isinstance(record, Mapping) or not {"path", "value"} <= set(record):
        shown = one_line(repr(record), _LONGEST)
        raise InputError(f"accepted, {where} is {shown}; expected an object with path and value")
    path, value = record["path"], record["value"]
    if not isinstance(path, str):
        raise InputError(f"accepted, {where}: path is {path!r}; expected a path such as '$.total'")
    document, note = (
        None if is_missing(cell) or cell == "" else str(cell)
        for cell in map(record.get, ("document", "note"))
    )
    row = Alternative(document, path, private_copy(value, "accepted"), note, where)
    if _MORE_CELLS in record:
        row.refuse(f"it has {_MORE_CELLS}")
    if is_csv:
        try:
            return row._replace(value=json.loads(value or ""))
        except (ValueError, RecursionError):
            shown = one_line(value or "", _LONGEST)
            row.refuse(f"value is {shown!r}; expected JSON text, null or a text in quotes")
    if (value is not None and is_missing(value)) or plain_levels([row.value]) is None:
        row.refuse(f"value is {one_line(repr(value), _LONGEST)}; expected a JSON value")
    return row


# --- against gold -----------------------------------------------------------------------------


def alternatives_of(rows: Sequence[Alternative], schema: Schema, gold: Any) -> Alternatives:
    """Look up the scalars and items of gold that rows are for; repeated values are ignored.

    No container in `gold` may occur twice, and it must outlive the result.
    """
    alternatives = Alternatives()
    for row in rows:
        value, node, holder, key = _place(row, schema.root, gold)
        _check_value(row, value, node, is_item=isinstance(key, int))
        side: dict[int, Any] = alternatives.items if isinstance(key, int) else alternatives.scalars
        values = side.setdefault(id(holder), {}).setdefault(key, [])
        if equality_key(row.value) not in map(equality_key, (value, *values)):
            values.append(row.value)
    return alternatives


def _place(row: Alternative, root: Node, gold: Any) -> tuple[Any, Node, Any, int | str]:
    """Follow a path through gold and the schema; the key of a declared property may be missing.

    Returns the gold value, its node, and what holds it: the array of an item and its index; for a
    scalar the document or the innermost item around it, and the path from there.
    """
    steps = list(PATH_STEP.finditer(row.path))
    is_path = row.path.startswith("$") and PATH_STEP.sub("", row.path) == "$"
    if not is_path or any(step[3] and not step[3].isdigit() for step in steps):
        row.refuse("expected a path as in fields, such as '$.lines[2].amount'")
    node: Node | None = root
    value, path, entry, suffix = gold, "$", gold, ""
    holder: tuple[Any, int | str] = gold, ""
    for step in steps:
        key, above = step_key(step), value
        if node is not None and node.kind == "union":
            node = resolve_union(node, value, MISSING)
        is_item = isinstance(value, list) and isinstance(key, int) and key < len(value)
        if is_item and node is not None and node.kind == "array" and not node.is_aligned:
            row.refuse(f"the metric of {path} compares the array as a whole, not its items")
        node = None if node is None else _declared_below(node, key)
        if is_item or (isinstance(value, dict) and isinstance(key, str) and key in value):
            value = value[key]
        elif isinstance(value, dict) and step is steps[-1] and node is not None:
            value = MISSING  # a declared property that gold leaves out
        else:
            known = value if isinstance(value, dict) else ()
            near = nearest(row.path, [path + member(str(name)) for name in known])
            row.refuse(f"gold has no such path; {near if known else f'the last one is {path}'}")
        written = f"[{key}]" if isinstance(key, int) else member(key)
        path += written
        entry, suffix = (value, "") if is_item else (entry, suffix + written)
        holder = (above, key) if is_item else (entry, suffix)
    if node is None:
        row.refuse("the schema does not declare this path, so it is not scored")
    return value, node, *holder


def _declared_below(node: Node, key: int | str) -> Node | None:
    """Return the node of a key or an index, if the schema declares it."""
    if isinstance(key, int):
        return node.item(key) if node.kind in ("object", "array") else None
    if node.kind == "object":
        return node.children.properties.get(key) or node.children.entry(key)
    return node if node.kind == "array" and node.flattened else None


def _check_value(row: Alternative, own: Any, node: Node, *, is_item: bool) -> None:
    """Refuse a value of a type that neither the schema nor gold has."""
    kind, own_kind = json_type(row.value), json_type(own)
    if not is_item and own_kind in _KINDS:
        expected = "expected the path of a single value or of an array item"
        row.refuse(f"gold has {_KINDS[own_kind]} there; {expected}")
    fits = not node.types or kind in node.types or kind == own_kind
    if kind == "null":
        fits = node.nullable or not is_item
    elif kind in _KINDS:
        fits = fits and is_item
    if not fits:
        shown = f"{one_line(repr(row.value), _LONGEST)}, {_KINDS.get(kind, f'a {kind}')}"
        row.refuse(f"value is {shown}; expected {node.label}")


# --- by the containers of gold ---------------------------------------------------------------


@dataclass(slots=True)
class Alternatives:
    """The alternatives of one gold document, by the ids of the containers that hold its values."""

    #: By a document or an item, and the path of a scalar from there.
    scalars: dict[int, dict[str, Sequence[Any]]] = field(default_factory=dict)
    #: By an array, and the index of an item.
    items: dict[int, dict[int, Sequence[Any]]] = field(default_factory=dict)

    def of_scalars(self, entry: Any) -> Mapping[str, Sequence[Any]]:
        """Return those of the scalars of a document or an item, by their path from there."""
        return self.scalars.get(id(entry), _NONE) if self.scalars else _NONE

    def of_items(self, array: Any) -> Mapping[int, Sequence[Any]]:
        """Return those of the items of an array, or of a map of arrays, by position."""
        if not self.items or not isinstance(array, dict):
            return self.items.get(id(array), {})
        positions, start = {}, 0
        for inner in array.values():
            own = self.items.get(id(inner), {})
            positions.update({start + index: values for index, values in own.items()})
            start += len(inner) if isinstance(inner, list) else inner is not None
        return positions


_NONE: Mapping[str, Sequence[Any]] = {}


def class_members(node: Node, gold: Any) -> tuple[Any, ...]:
    """Return the other values that the schema declares to be equivalent to gold at a node."""
    config = node.config
    if config is None or not config.accepted or isinstance(gold, dict | list):
        return ()
    own = equality_key(None if gold is MISSING else gold)
    for members in config.accepted:
        keys = [equality_key(value) for value in members]
        if own in keys:
            return tuple(v for v, key in zip(members, keys, strict=True) if key != own)
    return ()
