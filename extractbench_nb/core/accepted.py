"""Accepted alternatives: other values that are right too, of scalars and of whole array items.

Users give them as a frame, records or a file; they are checked against gold. The scorer takes the
best of gold's value and its alternatives (`Scorer.best_reading`); items are replaced before their
array is aligned (`ItemComparer.readings`).
"""

from __future__ import annotations

import csv
import json
import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from extractbench_nb.core.frames import Column, FrameSpec, as_pandas
from extractbench_nb.core.pairing import resolve_union
from extractbench_nb.core.schema.schema_nodes import MISSING, Node, Schema
from extractbench_nb.core.values.json_values import (
    BRACKETED,
    equality_key,
    json_type,
    member,
    plain_levels,
    private_copy,
    read_document,
)
from extractbench_nb.errors import InputError, nearest
from extractbench_nb.support.files import reading
from extractbench_nb.support.wording import one_line

ACCEPTED_COLUMNS = FrameSpec(
    "accepted",
    "one row per accepted alternative",
    (
        Column("document", "string", "document id", nullable=True),
        Column("path", "string", "instance path in gold, with gold's indices"),
        Column("value", "object", "what is right there too; None: it may be absent", nullable=True),
        Column("note", "string", "why", nullable=True),
    ),
)
_LONGEST = 60
_MOST_SHOWN = 3


_Steps = tuple[str | int, ...]


class Alternative(NamedTuple):
    """One accepted alternative; ``where`` is its row, as errors call it."""

    document: str | None
    path: str
    value: Any
    note: str | None
    where: str

    @property
    def name(self) -> str:
        """The row, the document and the path, for errors."""
        document = "" if self.document is None else f"document {self.document!r}, "
        return f"accepted, {self.where} ({document}path {one_line(self.path, _LONGEST)!r})"


# --- reading ----------------------------------------------------------------------------------


class Accepted(tuple[Alternative, ...]):
    """Accepted alternatives, in the order in which they are given."""

    __slots__ = ()

    @classmethod
    def read(cls, source: Any) -> Accepted:
        """Read them from a frame, records or a file; None has none."""
        if source is None:
            return cls()
        return source if isinstance(source, cls) else cls(_read(source))

    def frame(self) -> pd.DataFrame:
        """Return one row per alternative: document, path, value, note."""
        return ACCEPTED_COLUMNS.from_rows(row[:-1] for row in self)

    def by_document(self, documents: Collection[str]) -> dict[str, Accepted]:
        """Group them by their document, which must be one of `documents`."""
        found: dict[str, list[Alternative]] = defaultdict(list)
        for row in self:
            if row.document is None:
                raise InputError(f"{row.name}: document is missing; expected a document id")
            if row.document not in documents:
                hint = nearest(row.document, documents)
                raise InputError(f"{row.name}: unknown document; {hint}")
            found[row.document].append(row)
        return {document: Accepted(some) for document, some in found.items()}

    def of_one_document(self) -> Accepted:
        """Return them; refuse alternatives for several documents where one is evaluated."""
        documents = sorted({row.document for row in self if row.document is not None})
        if len(documents) > 1:
            shown = ", ".join(repr(one_line(name, _LONGEST)) for name in documents[:_MOST_SHOWN])
            raise InputError(
                f"accepted has rows for {len(documents)} documents ({shown}); select those of the "
                "document that is evaluated"
            )
        return self


def _read(source: Any) -> Iterator[Alternative]:
    source = as_pandas(source)
    records: Iterable[tuple[str, Any]]
    if isinstance(source, str | Path):
        records = _read_file(Path(source))
    elif isinstance(source, pd.DataFrame):
        _check_names(source.columns, "accepted")
        columns = [name for name in ACCEPTED_COLUMNS.names if name in source.columns]
        rows = zip(*(source[name].tolist() for name in columns), strict=True)
        records = _numbered(dict(zip(columns, row, strict=True)) for row in rows)
    elif isinstance(source, list):
        records = _numbered(source)
    else:
        raise InputError(
            f"accepted is a {type(source).__name__}; expected a frame or a list of dicts with "
            "path and value, or a CSV or JSON file of them"
        )
    return (_alternative(where, record) for where, record in records)


def _numbered(rows: Iterable[Any]) -> Iterator[tuple[str, Any]]:
    return ((f"row {number}", row) for number, row in enumerate(rows))


def _read_file(path: Path) -> Iterable[tuple[str, Any]]:
    name, suffix = f"accepted file {str(path)!r}", path.suffix.lower()
    if suffix == ".json":
        document = read_document(path, "accepted")
        if not isinstance(document, list):
            kind = json_type(document)
            expected = "expected a list of objects with path and value"
            raise InputError(f"{name} holds JSON of type {kind}; {expected}")
        return _numbered(document)
    if suffix != ".csv":
        raise InputError(f"accepted is {str(path)!r}; expected a file named .csv or .json")
    try:
        with reading(name), path.open(encoding="utf-8-sig", newline="") as file:
            reader = csv.DictReader(file)
            _check_names(reader.fieldnames or (), name)
            return [(f"line {reader.line_num}", _of_line(row, reader.line_num)) for row in reader]
    except (UnicodeDecodeError, csv.Error) as error:
        raise InputError(f"{name} is not readable CSV: {error}") from None


def _of_line(row: Mapping[Any, Any], line: int) -> dict[str, Any]:
    """Read the JSON text of a value in CSV; other empty cells are missing."""
    text = row.get("value") or ""
    if None in row:
        raise InputError(f"accepted, line {line}: has more cells than the first line names")
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        example = one_line(json.dumps(text) if text else "null", _LONGEST)
        raise InputError(
            f"accepted, line {line}: value is {one_line(text, _LONGEST)!r}; expected JSON text, "
            f"such as {example}"
        ) from None
    return {name: row[name] or None for name in row if name != "value"} | {"value": value}


def _check_names(names: Iterable[Any], what: str) -> None:
    found = list(map(str, names))
    for name in ("path", "value"):
        if name not in found:
            raise InputError(f"{what} has no column {name!r}; found {', '.join(found) or 'none'}")


def _alternative(where: str, record: Any) -> Alternative:
    """Check one row; other columns are ignored."""
    if not isinstance(record, Mapping) or not {"path", "value"} <= set(record):
        shown = one_line(repr(record), _LONGEST)
        raise InputError(f"accepted, {where} is {shown}; expected an object with path and value")
    path, value = record["path"], record["value"]
    if not isinstance(path, str) or not path:
        raise InputError(f"accepted, {where}: path is {path!r}; expected a path such as '$.total'")
    document, note = (
        None if _is_missing(cell) else str(cell) for cell in map(record.get, ("document", "note"))
    )
    row = Alternative(document, path, private_copy(value, "accepted"), note, where)
    if value is not None and _is_missing(value):
        raise InputError(
            f"{row.name}: value is {value!r}; expected a JSON value ('may be absent' is None, in a "
            "column of dtype object)"
        )
    if plain_levels([row.value]) is None:
        raise InputError(f"{row.name}: value is a {type(value).__name__}; expected a JSON value")
    return row


def _is_missing(cell: Any) -> bool:
    return bool(pd.api.types.is_scalar(cell) and pd.isna(cell))


# --- against gold -----------------------------------------------------------------------------

_STEP = re.compile(r"\.([A-Za-z_$][\w$-]*)|\[(\d+)\]|" + BRACKETED.pattern, re.DOTALL)


def alternatives_of(rows: Sequence[Alternative], schema: Schema, gold: Any) -> Alternatives:
    """Find the scalars and items of gold that rows are for; repeated values are ignored."""
    scalars: dict[_Steps, list[Any]] = defaultdict(list)
    items: dict[_Steps, list[Any]] = defaultdict(list)
    for row in rows:
        steps = _steps(row)
        own, node, is_item = _place(row, steps, schema.root, gold)
        if not is_item and isinstance(own, dict | list):
            kind = json_type(own)
            article = "an" if kind in ("array", "object") else "a"
            raise InputError(
                f"{row.name}: gold has {article} {kind} there; expected the path of a single value "
                "or of an array item"
            )
        _check_value(row, own, node, is_item)
        values = items[steps] if is_item else scalars[steps]
        if equality_key(row.value) not in [equality_key(value) for value in (own, *values)]:
            values.append(row.value)
    scalars, items = ({s: some for s, some in side.items() if some} for side in (scalars, items))
    return Alternatives(gold, scalars, items)


def _steps(row: Alternative) -> _Steps:
    """Read a path; `$` is the document."""
    steps: list[str | int] = []
    at = 1
    while row.path.startswith("$") and (step := _STEP.match(row.path, at)):
        name, index, key = step.groups()
        if index is not None:
            steps.append(int(index))
        else:
            plain = re.sub(r"\\(.)", r"\1", key or "", flags=re.DOTALL)
            steps.append(plain if name is None else name)
        at = step.end()
    if not row.path.startswith("$") or at < len(row.path):
        raise InputError(f"{row.name}: expected a path as in fields, such as '$.lines[2].amount'")
    return tuple(steps)


def _place(row: Alternative, steps: _Steps, root: Node, gold: Any) -> tuple[Any, Node, bool]:
    """Return gold's value at a path, its node, and whether it is an array item.

    The key of a declared property may be missing.
    """
    node: Node | None = root
    value, path, is_item = gold, "$", False
    for number, step in enumerate(steps):
        if node is not None and node.kind == "union":
            node = resolve_union(node, value, MISSING)
        below = _below(node, step)
        is_item = isinstance(value, list) and isinstance(step, int) and step < len(value)
        if is_item and node is not None and node.kind == "array" and not node.is_aligned:
            raise InputError(
                f"{row.name}: the metric of {path} compares the array as a whole, so its items "
                "have no alternatives"
            )
        if is_item or (isinstance(value, dict) and isinstance(step, str) and step in value):
            value = value[step]
        elif isinstance(value, dict) and number == len(steps) - 1 and below is not None:
            value = MISSING  # a declared property that gold leaves out
        else:
            raise InputError(f"{row.name}: gold has no such path; {_near(row.path, path, value)}")
        path += f"[{step}]" if isinstance(step, int) else member(step)
        node = below
    if node is None:
        raise InputError(f"{row.name}: the schema does not declare this path, so it is not scored")
    return value, node, is_item


def _near(wanted: str, path: str, value: Any) -> str:
    """Suggest paths below the last one that gold has."""
    if isinstance(value, dict):
        return nearest(wanted, [path + member(str(key)) for key in value])
    if isinstance(value, list) and value:
        return f"{path} has the items 0 to {len(value) - 1}"
    return f"{path} is {one_line(repr(value), _LONGEST)}"


def _below(node: Node | None, step: str | int) -> Node | None:
    """Return the node of a key or an index; a flattened map of arrays has that of its items."""
    if node is None or node.kind not in ("object", "array"):
        return None
    if isinstance(step, int):
        return node.item(step)
    if node.kind == "array":
        return node if node.flattened else None
    return node.children.properties.get(step) or node.children.entry(step)


def _check_value(row: Alternative, own: Any, node: Node, is_item: bool) -> None:
    """Refuse a value of a type that neither the schema nor gold has, and a misspelt key."""
    kind = json_type(row.value)
    fits = not node.types or kind in node.types or kind == json_type(own)
    if kind == "null":
        fits = node.nullable or not is_item
    elif kind in ("array", "object"):
        fits = fits and is_item
    if not fits:
        shown = one_line(repr(row.value), _LONGEST)
        article = "an" if kind in ("array", "object") else "a"
        raise InputError(f"{row.name}: value is {shown}, {article} {kind}; expected {node.label}")
    if node.kind == "union":
        node = resolve_union(node, row.value, MISSING)
    known = {**node.children.properties, **(own if isinstance(own, dict) else {})}
    is_open = node.kind != "object" or node.keywords.get("additionalProperties") is True
    for key in row.value if isinstance(row.value, dict) and not is_open else ():
        if key not in known and node.children.entry(key) is None:
            raise InputError(
                f"{row.name}: value has the key {one_line(key, _LONGEST)!r}, which the schema does "
                f"not declare; {nearest(key, known)}"
            )


# --- by the containers of gold ---------------------------------------------------------------


def normal_path(path: str) -> str:
    """Write the keys of maps as those of properties: ``['key']`` becomes ``.key``."""
    if "['" not in path:
        return path
    return BRACKETED.sub(lambda m: member(re.sub(r"\\(.)", r"\1", m[1], flags=re.DOTALL)), path)


class Alternatives:
    """The alternatives of one gold document, by the objects and arrays that hold its values.

    Parameters
    ----------
    gold : object
        The document; no container in it may occur twice, and it must outlive this object.
    scalars, items : mapping, optional
        The alternatives of scalars and of array items, by the keys and indices that lead there.
    """

    def __init__(
        self,
        gold: Any = None,
        scalars: Mapping[tuple[str | int, ...], Sequence[Any]] | None = None,
        items: Mapping[tuple[str | int, ...], Sequence[Any]] | None = None,
    ) -> None:
        #: Of scalars: by the document or the innermost item around them, and the path from there.
        self._scalars: dict[int, dict[str, Sequence[Any]]] = {}
        self._items: dict[int, dict[int, Sequence[Any]]] = {}
        for steps, values in (scalars or {}).items():
            at = max((n for n, step in enumerate(steps, 1) if isinstance(step, int)), default=0)
            suffix = "".join(member(str(step)) for step in steps[at:])
            self._scalars.setdefault(id(_value_at(gold, steps[:at])), {})[suffix] = values
        for steps, values in (items or {}).items():
            *above, index = steps
            self._items.setdefault(id(_value_at(gold, above)), {})[int(index)] = values

    def of_scalars(self, entry: Any) -> Mapping[str, Sequence[Any]]:
        """Return those of the scalars of a document or an item, by their path from there."""
        return self._scalars.get(id(entry), _NONE) if self._scalars else _NONE

    def of_items(self, array: Any) -> Mapping[int, Sequence[Any]]:
        """Return those of the items of an array, or of a map of arrays, by position."""
        if not self._items or not isinstance(array, dict):
            return self._items.get(id(array), {})
        positions, start = {}, 0
        for inner in array.values():
            own = self._items.get(id(inner), {})
            positions.update({start + index: values for index, values in own.items()})
            start += len(inner) if isinstance(inner, list) else inner is not None
        return positions


_NONE: Mapping[str, Sequence[Any]] = {}


def _value_at(value: Any, steps: Sequence[str | int]) -> Any:
    for step in steps:
        value = value[step]
    return value


def class_members(node: Node, gold: Any) -> tuple[Any, ...]:
    """Return the other values that the schema declares to mean the same as gold's at a node."""
    config = node.config
    if config is None or not config.accepted or isinstance(gold, dict | list):
        return ()
    own = equality_key(None if gold is MISSING else gold)
    for members in config.accepted:
        keys = [equality_key(value) for value in members]
        if own in keys:
            return tuple(v for v, key in zip(members, keys, strict=True) if key != own)
    return ()
