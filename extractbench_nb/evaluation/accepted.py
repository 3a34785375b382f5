"""Accepted alternatives as users give them: a frame, records or a file; checked against gold."""

from __future__ import annotations

import csv
import json
import re
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from extractbench_nb._files import reading
from extractbench_nb._frames import Column, FrameSpec, as_pandas
from extractbench_nb._json import (
    BRACKETED,
    equality_key,
    json_type,
    member,
    plain_levels,
    private_copy,
    read_document,
)
from extractbench_nb.display.text import one_line
from extractbench_nb.engine.accepted import Alternatives, Steps
from extractbench_nb.engine.pairing import resolve_union
from extractbench_nb.engine.similarity import is_aligned
from extractbench_nb.errors import InputError, nearest
from extractbench_nb.schema.nodes import MISSING, Node, Schema

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
_NAMES = ACCEPTED_COLUMNS.names
_LONGEST = 60
_MOST_SHOWN = 3


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


def read_accepted(source: Any) -> tuple[Alternative, ...]:
    """Read alternatives from a frame, records or a file; None has none."""
    if source is None:
        return ()
    if isinstance(source, tuple) and all(type(row) is Alternative for row in source):
        return source
    source = as_pandas(source)
    records: list[tuple[str, Any]]
    if isinstance(source, str | Path):
        records = _read_file(Path(source))
    elif isinstance(source, pd.DataFrame):
        _check_names(source.columns, "accepted")
        columns = {name: source[name].tolist() for name in _NAMES if name in source.columns}
        rows = zip(*columns.values(), strict=True)
        records = [(f"row {n}", dict(zip(columns, row, strict=True))) for n, row in enumerate(rows)]
    elif isinstance(source, list):
        records = [(f"row {n}", row) for n, row in enumerate(source)]
    else:
        raise InputError(
            f"accepted is a {type(source).__name__}; expected a frame or a list of dicts with "
            "path and value, or a CSV or JSON file of them"
        )
    return tuple(_alternative(where, record) for where, record in records)


def _read_file(path: Path) -> list[tuple[str, Any]]:
    suffix = path.suffix.lower()
    if suffix not in (".csv", ".json"):
        raise InputError(f"accepted is {str(path)!r}; expected a file named .csv or .json")
    if suffix == ".json":
        found = read_document(path, "accepted")
        if not isinstance(found, list):
            raise InputError(
                f"accepted file {str(path)!r} holds JSON of type {json_type(found)}; expected a "
                "list of objects with path and value"
            )
        return [(f"row {n}", row) for n, row in enumerate(found)]
    try:
        with (
            reading(f"accepted file {str(path)!r}"),
            path.open(encoding="utf-8-sig", newline="") as file,
        ):
            reader = csv.DictReader(file)
            _check_names(reader.fieldnames or (), f"accepted file {str(path)!r}")
            return [(f"line {reader.line_num}", _of_line(row, reader.line_num)) for row in reader]
    except (UnicodeDecodeError, csv.Error) as error:
        raise InputError(f"accepted file {str(path)!r} is not readable CSV: {error}") from None


def _of_line(row: Mapping[Any, Any], line: int) -> dict[str, Any]:
    """Read the JSON text of a value in CSV; other empty cells are missing."""
    text = row.get("value") or ""
    if None in row:
        raise InputError(f"accepted, line {line}: has more cells than the first line names")
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        example = json.dumps(text) if text else "null"
        raise InputError(
            f"accepted, line {line}: value is {one_line(text, _LONGEST)!r}; expected JSON text, "
            f"such as {one_line(example, _LONGEST)}"
        ) from None
    return {name: row[name] or None for name in row if name != "value"} | {"value": value}


def _check_names(names: Any, what: str) -> None:
    found = list(names)
    for name in ("path", "value"):
        if name not in found:
            listed = ", ".join(map(str, found)) or "none"
            raise InputError(f"{what} has no column {name!r}; found {listed}")


def _alternative(where: str, record: Any) -> Alternative:
    """Check one row; other columns are ignored."""
    if not isinstance(record, Mapping) or not {"path", "value"} <= set(record):
        shown = one_line(repr(record), _LONGEST)
        raise InputError(f"accepted, {where} is {shown}; expected an object with path and value")
    path = record["path"]
    document, note = (_cell(record.get(name)) for name in ("document", "note"))
    value = record["value"]
    if not isinstance(path, str) or not path:
        raise InputError(f"accepted, {where}: path is {path!r}; expected a path such as '$.total'")
    if value is not None and _cell(value) is None:
        raise InputError(
            f"accepted, {where} (path {one_line(path, _LONGEST)!r}): value is {value!r}; expected "
            "a JSON value ('may be absent' is None, in a column of dtype object)"
        )
    found = Alternative(
        None if document is None else str(document),
        path,
        private_copy(value, "accepted"),
        None if note is None else str(note),
        where,
    )
    if plain_levels([found.value]) is None:
        raise InputError(f"{found.name}: value is a {type(value).__name__}; expected a JSON value")
    return found


def _cell(value: Any) -> Any:
    """Return a cell of a frame; what is missing is None."""
    return None if pd.api.types.is_scalar(value) and pd.isna(value) else value


def by_document(
    rows: Sequence[Alternative], documents: Collection[str]
) -> dict[str, tuple[Alternative, ...]]:
    """Group alternatives by their document, which must be one of `documents`."""
    found: dict[str, list[Alternative]] = defaultdict(list)
    for row in rows:
        if row.document is None:
            raise InputError(f"{row.name}: document is missing; expected a document id")
        if row.document not in documents:
            raise InputError(f"{row.name}: unknown document; {nearest(row.document, documents)}")
        found[row.document].append(row)
    return {document: tuple(some) for document, some in found.items()}


def of_one_document(rows: tuple[Alternative, ...]) -> tuple[Alternative, ...]:
    """Refuse alternatives for several documents where one is evaluated."""
    documents = sorted({row.document for row in rows if row.document is not None})
    if len(documents) > 1:
        shown = ", ".join(repr(one_line(name, _LONGEST)) for name in documents[:_MOST_SHOWN])
        raise InputError(
            f"accepted has rows for {len(documents)} documents ({shown}); select those of the "
            "document that is evaluated"
        )
    return rows


# --- against gold -----------------------------------------------------------------------------

_STEP = re.compile(r"\.([A-Za-z_$][\w$-]*)|\[(\d+)\]|" + BRACKETED.pattern, re.DOTALL)


def alternatives_of(rows: Sequence[Alternative], schema: Schema, gold: Any) -> Alternatives | None:
    """Find the places of alternatives in gold; what equals gold or is there twice is ignored."""
    values: dict[Steps, list[Any]] = defaultdict(list)
    for row in rows:
        steps = _steps(row)
        own, node = _place(row, steps, schema.root, gold)
        _check_type(row, steps, own, node)
        _check_keys(row, row.value, node, [own], row.path)
        known = [equality_key(value) for value in (own, *values[steps])]
        if equality_key(row.value) not in known:
            values[steps].append(row.value)
    found = {steps: some for steps, some in values.items() if some}
    return Alternatives(gold, found) if found else None


def _steps(row: Alternative) -> Steps:
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


def _place(row: Alternative, steps: Steps, root: Node, gold: Any) -> tuple[Any, Node]:
    """Return gold's value at a path and its node; the key of a declared property may be missing."""
    node: Node | None = root
    value, path = gold, "$"
    for number, step in enumerate(steps):
        if node is not None and node.kind == "union":
            node = resolve_union(node, value, MISSING)
        below = _below(node, step)
        if isinstance(value, list) and isinstance(step, int) and step < len(value):
            if node is not None and node.kind == "array" and not is_aligned(node):
                raise InputError(
                    f"{row.name}: the metric of {path} compares the array as a whole; expected an "
                    "alternative for the whole array"
                )
            value = value[step]
        elif isinstance(value, dict) and isinstance(step, str) and step in value:
            value = value[step]
        elif isinstance(value, dict) and number == len(steps) - 1 and below is not None:
            value = MISSING  # a declared property that gold leaves out
        else:
            raise InputError(f"{row.name}: gold has no such path; {_near(row.path, path, value)}")
        path += f"[{step}]" if isinstance(step, int) else member(step)
        node = below
    if node is None:
        raise InputError(f"{row.name}: the schema does not declare this path, so it is not scored")
    return value, node


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


def _check_type(row: Alternative, steps: Steps, own: Any, node: Node) -> None:
    """Refuse a value of a type that neither the schema nor gold has there."""
    kind = json_type(row.value)
    if kind == "null":
        if steps and isinstance(steps[-1], int) and not node.nullable:
            raise InputError(
                f"{row.name}: value is null, but items are not nullable; expected the array "
                "without the item, as an alternative of the array"
            )
        return
    if node.types and kind not in node.types and kind != json_type(own):
        shown = one_line(repr(row.value), _LONGEST)
        article = "an" if kind in ("array", "object") else "a"
        raise InputError(f"{row.name}: value is {shown}, {article} {kind}; expected {node.label}")


def _check_keys(
    row: Alternative, value: Any, node: Node | None, golds: Sequence[Any], path: str
) -> None:
    """Refuse a key that neither the schema declares nor gold has there: it would not be scored.

    `golds` are gold's values at the place; in an array, all of its items.
    """
    if node is not None and node.kind == "union":
        node = resolve_union(node, value, MISSING)
    if node is None or node.kind not in ("object", "array"):
        return
    if isinstance(value, list):
        inner = [item for gold in golds if isinstance(gold, list) for item in gold]
        for index, item in enumerate(value):
            _check_keys(row, item, node.item(index), inner, f"{path}[{index}]")
    if not isinstance(value, dict):
        return
    objects = [gold for gold in golds if isinstance(gold, dict)]
    is_open = node.keywords.get("additionalProperties") is True
    for key, member_value in value.items():
        below = _below(node, key)
        if below is None and not is_open and all(key not in gold for gold in objects):
            known = [*node.children.properties, *{key: None for gold in objects for key in gold}]
            raise InputError(
                f"{row.name}: value has the key {one_line(key, _LONGEST)!r}, which the schema does "
                f"not declare at {one_line(path, _LONGEST)}; {nearest(key, dict.fromkeys(known))}"
            )
        inner = [gold[key] for gold in objects if key in gold]
        _check_keys(row, member_value, below, inner, path + member(key))
