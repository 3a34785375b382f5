"""Corrections of gold in the evidence view: what a value is replaced by, checked and listed."""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from functools import cached_property
from typing import Any, NamedTuple

import pandas as pd

from extractbench_nb.core.schema import MISSING, Schema
from extractbench_nb.core.schema import Node as SchemaNode
from extractbench_nb.core.values import equality_key, json_type, value_at
from extractbench_nb.errors import InputError
from extractbench_nb.gold import (
    CORRECTIONS,
    Correction,
    cell_value,
    conflicting,
    corrections,
)
from extractbench_nb.support.nodes import Node, h
from extractbench_nb.support.wording import one_line, plural, value_text
from extractbench_nb.views.controls import breakable, button, more

_LONGEST, _MOST_LISTED = 120, 50
_LONGEST_TEXT = 100_000
_ITEM = re.compile(r"\[(\d+)\]")
_KEY = re.compile(r"\['(?:[^'\\]|\\.)*'\]", re.DOTALL)
_NAMES = {"string": "text", "boolean": "true or false"}


def item_pairs(matches: pd.DataFrame) -> dict[str, int | None]:
    """Return the predicted index of each gold item, by its path; None for a missed one."""
    names = ["path", "gold_index", "predicted_index"]
    return {
        f"{path}[{gold}]": None if predicted is pd.NA else int(predicted)
        for path, gold, predicted in matches[names].itertuples(index=False)
        if gold is not pd.NA
    }


def partner_path(path: str, pairs: Mapping[str, int | None]) -> str | None:
    """Return the predicted path that belongs to one of gold; None below a missed item."""
    written, end = "", 0
    for step in _ITEM.finditer(path):
        index = pairs.get(path[: step.end()], int(step[1]))
        if index is None:
            return None
        written += path[end : step.start()] + f"[{index}]"
        end = step.end()
    return written + path[end:]


class GoldPlace(NamedTuple):
    """A value that can be corrected: its path in gold, gold's value, and the predicted one.

    A value that a side does not have is `MISSING`. Below an item that only one side has, the item
    is the value.
    """

    path: str
    gold: Any
    predicted: Any

    @property
    def text(self) -> str:
        """Gold's value as JSON; empty where it has none."""
        return "" if self.gold is MISSING else json.dumps(self.gold, ensure_ascii=False)


class Edits:
    """The corrections of one document's gold, by path, in the order in which they were made."""

    def __init__(
        self, document: str, gold: Any, predicted: Any, matches: pd.DataFrame | None, schema: Any
    ) -> None:
        self.document, self.gold, self.predicted = document, gold, predicted
        self._schema: Schema | None = schema
        pairs = {} if matches is None else item_pairs(matches)
        self._missed = {path for path, at in pairs.items() if at is None}
        self._gold_item = {(path[: path.rindex("[")], at): path for path, at in pairs.items()}
        self._arrays = frozenset() if matches is None else frozenset(matches["path"])
        self.rows: dict[str, Correction] = {}

    @property
    def frame(self) -> pd.DataFrame:
        """One row per correction, as `corrections` returns it."""
        return CORRECTIONS.from_rows(copy.deepcopy([*self.rows.values()]))

    def place(self, row: Mapping[str, Any]) -> GoldPlace:
        """Return what can be corrected for a row of the list."""
        ours, theirs = row.get("gold"), row.get("predicted")
        there = MISSING if theirs is None else value_at(self.predicted, theirs["path"], MISSING)
        if ours is not None:
            path = ours["path"]
            for step in _ITEM.finditer(path):
                if path[: step.end()] in self._missed:
                    path, there = path[: step.end()], MISSING
                    break
            return GoldPlace(path, value_at(self.gold, path, MISSING), there)
        path, own = self._gold_path(theirs["path"] if theirs is not None else "$")
        return GoldPlace(
            path, value_at(self.gold, path, MISSING), value_at(self.predicted, own, MISSING)
        )

    def _gold_path(self, path: str) -> tuple[str, str]:
        """Return the path in gold of a predicted value, and the path of what it stands for."""
        written, end = "", 0
        for step in _ITEM.finditer(path):
            written += path[end : step.start()]
            if written in self._arrays:
                item = self._gold_item.get((written, int(step[1])))
                if item is None:
                    return f"{written}[+{step[1]}]", path[: step.end()]
                written = item
            else:
                written += step[0]
            end = step.end()
        return written + path[end:], path

    def read(self, place: GoldPlace, text: str) -> tuple[Any, str]:
        """Return the value that a text states, and what is wrong with it; MISSING if not JSON."""
        if not text.strip():
            return MISSING, "Empty: write JSON, or remove the value from gold."
        if len(text) > _LONGEST_TEXT:
            return MISSING, f"More than {_LONGEST_TEXT:,} characters."
        try:
            value = cell_value(text, "This")
        except InputError as error:
            return MISSING, f"{error}."
        return value, self.warning(place, value)

    def warning(self, place: GoldPlace, value: Any) -> str:
        """Say if a value has a type that the schema does not allow there."""
        node = self._nodes.get(_field(place.path))
        if node is None:
            return "The schema does not declare this; it is not scored."
        if node.kind == "union":
            return ""
        found = json_type(value)
        if found == "null":
            return "" if node.nullable else "The schema does not allow null here."
        allowed = [node.kind] if node.kind in ("array", "object") else sorted(node.types)
        whole = isinstance(value, int) or (isinstance(value, float) and value.is_integer())
        is_allowed = found in allowed or (found == "number" and "integer" in allowed and whole)
        if is_allowed or not allowed:
            return ""
        names = " or ".join(_NAMES.get(name, name) for name in allowed)
        return f"The schema expects {names}, not {_NAMES.get(found, found)}."

    @cached_property
    def _nodes(self) -> dict[str, SchemaNode]:
        return {} if self._schema is None else {n.field: n for n in self._schema.nodes()}

    def put(self, place: GoldPlace, new: Any, why: str) -> str:
        """Make or replace the correction of a place, MISSING to remove; return what prevents it."""
        self.rows.pop(place.path, None)
        is_same = new is place.gold or (
            MISSING not in (new, place.gold) and equality_key(new) == equality_key(place.gold)
        )
        if is_same:
            return ""
        op = "remove" if new is MISSING else "add" if place.gold is MISSING else "replace"
        row = pd.DataFrame(
            {
                "document": [self.document],
                "path": [place.path],
                "op": [op],
                **{
                    name: pd.Series([pd.NA if value is MISSING else value], dtype=object)
                    for name, value in (("old", place.gold), ("new", new))
                },
                "when": [datetime.now(UTC).isoformat(timespec="seconds")],
                "why": [why],
            }
        )
        try:
            checked = Correction(*next(corrections(row).itertuples(index=False)))
        except InputError as error:
            return str(error)
        other = conflicting(checked, {row.identity: row.path for row in self.rows.values()})
        if other is not None:
            return f"There is a correction of {one_line(other)}; undo it first."
        self.rows[place.path] = checked
        return ""

    # --- what is drawn --------------------------------------------------------------------------

    def editor(self, place: GoldPlace, text: str, said: str, why: str) -> Node:
        """Draw the controls for the correction of a place."""
        is_item = place.path.endswith("]") and place.gold is MISSING
        path = place.path
        accept = "Add the predicted item to gold" if is_item else "Accept the predicted value"
        rows = min(8, 1 + len(text) // 50 + text.count("\n"))
        return h(
            "div",
            h("p", h("b", "Correct gold "), breakable(path), cls="xb-head"),
            h(
                "textarea",
                do="draft",
                value=text,
                rows=rows,
                spellcheck="false",
                aria_label="Gold value as JSON",
                aria_describedby="xb-said-of-gold",
                key=f"value {path}",
            ),
            h("p", said, role="status", id="xb-said-of-gold", cls="xb-problem", key="said"),
            h(
                "p",
                button("Save", "save", path, key="save"),
                button(accept, "accept", path, key="accept")
                if place.predicted is not MISSING
                else None,
                button(f"Remove {_last(path)} from gold", "remove", path, key="remove")
                if place.gold is not MISSING and path != "$"
                else None,
                button("Undo", "undo", path, key="undo") if path in self.rows else None,
                cls="xb-controls",
                key="buttons",
            ),
            h(
                "label",
                "Why ",
                h("input", type="text", do="why", value=why, placeholder="optional"),
                cls="xb-control",
                key=f"why {path}",
            ),
            cls="xb-editor",
            role="group",
            aria_label="Correct gold",
            live=True,
        )

    def listed(self) -> Node | None:
        """List the corrections."""
        if not self.rows:
            return None
        rows = list(self.rows.values())[-_MOST_LISTED:]
        items = [
            h(
                "li",
                breakable(row.path),
                h("span", f" {change_text(row)}", dir="auto"),
                h("span", f" · {one_line(row.why, _LONGEST)}", cls="xb-quiet")
                if row.why is not pd.NA
                else None,
                " ",
                button("Undo", "undo", row.path, aria_label=f"Undo {one_line(row.path)}"),
                key=row.path,
            )
            for row in rows
        ]
        return h(
            "div",
            h("p", h("b", plural(len(self.rows), "correction")), role="status"),
            h("ul", items),
            more(len(self.rows) - len(rows), "earlier corrections"),
            cls="xb-edits",
        )


def change_text(row: Correction) -> str:
    """Write what a correction does."""
    new = "" if row.new is pd.NA else _text(row.new)
    if row.op == "remove":
        return f"{_text(row.old)} → removed"
    return f"{'added' if row.old is pd.NA else _text(row.old)} → {new}"


def _text(value: Any) -> str:
    return one_line("null" if value is None else value_text(value), _LONGEST)


def _last(path: str) -> str:
    """Say what is removed: an item, or a value."""
    return "the item" if path.endswith("]") and not path.endswith("']") else "the value"


def _field(path: str) -> str:
    """Write the field of a path in gold: without indices, and map keys as ``*``."""
    field = re.sub(r"\[\+?\d+\]", "[]", _KEY.sub(".*", path)).removeprefix("$")
    return field.removeprefix(".")


def edits_of(document: str, sides: Iterable[str], subject: Any, ds: Any) -> Edits | None:
    """Return the edits of a view, none yet; None if it has no gold."""
    if "gold" not in sides:
        return None
    if subject is not None:
        inputs = subject.inputs
        return Edits(document, inputs.gold, inputs.predicted, subject.matches, subject.schema)
    from extractbench_nb.core.schema import parse_schema

    listed = ds.listing
    schema_id = listed.loc[listed["document"] == document, "schema"].iloc[0]
    return Edits(document, ds.gold(document), MISSING, None, parse_schema(ds.schema(schema_id)))
