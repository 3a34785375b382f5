"""`agreement`: how far annotators of the same documents agree, and where not."""

from __future__ import annotations

import copy
import math
import os
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import pandas as pd

from extractbench_nb._frames import Column, FrameSpec
from extractbench_nb._json import (
    PATH_STEP,
    canonical_unordered,
    count_values,
    equality_key,
    read_document,
    step_key,
    value_at,
)
from extractbench_nb.benchmark.dataset import GOLD_SUFFIX, Dataset, list_files, load_dataset
from extractbench_nb.display.html import card_html, cell, document_text, table_of, table_row
from extractbench_nb.display.text import one_line, plural
from extractbench_nb.engine.profiles import get_profile
from extractbench_nb.engine.scoring import Scorer
from extractbench_nb.errors import DatasetError, InputError
from extractbench_nb.evaluation.api import evaluate
from extractbench_nb.evaluation.frames import item_pairs, partner_path
from extractbench_nb.evaluation.result import Evaluation
from extractbench_nb.judges.choosing import choose_judge
from extractbench_nb.schema.nodes import MISSING, Node, Schema
from extractbench_nb.schema.parse import parse_schema
from extractbench_nb.stats.intervals import (
    DIGITS,
    Drawing,
    Interval,
    Numbers,
    counts_drawn,
    resampled_interval,
    with_range,
)

_COUNTS = (
    Column("units", "int64", "slots that two annotators or more annotated", "1 and up"),
    Column("disagreed", "int64", "of these, slots on which not all agree", "0 to units"),
    Column("alpha", "Float64", "Krippendorff's alpha; NA if all say the same", "up to 1", True),
    Column("low", "Float64", "lower end of its interval over documents", "", True),
    Column("high", "Float64", "upper end", "", True),
    Column("method", "string", "of the interval", "BCa, percentile, undefined"),
)
FIELDS = FrameSpec(
    "fields",
    "one row per field, lowest alpha first",
    (
        Column("schema", "string", "schema id; missing where one schema is for all", "", True),
        Column("field", "string", "path without indices"),
        Column("documents", "int64", "documents that have such a slot", "1 and up"),
        *_COUNTS,
    ),
)
DISAGREEMENTS = FrameSpec(
    "disagreements",
    "one row per slot or array item on which annotators disagree; a column for each annotator "
    "stands before `majority`",
    (
        Column("document", "string", "document id"),
        Column("schema", "string", "schema id; missing where one schema is for all", "", True),
        Column("path", "string", "instance path in the gold of the first annotator"),
        Column("field", "string", "path without indices"),
        Column("majority", "object", "what more than half say; NA without a majority", "", True),
        Column("op", "string", "makes the first annotator agree; NA for nothing", "", True),
        Column("old", "object", "what the first annotator has", "JSON", True),
        Column("new", "object", "what the first annotator should have", "JSON", True),
    ),
)
#: Steps of a field: ``authors[].name``, ``m.*``.
_FIELD_STEP = re.compile(r"\.?[^.\[\]]+|\[\]")
_ROUNDS = 5
_SHOWN = 8


_Change: TypeAlias = tuple[Any, Any, Any]
_NO_CHANGE: _Change = (pd.NA, pd.NA, pd.NA)


class _Slot(NamedTuple):
    """What annotators say about one place: a value each, None where they leave it empty."""

    document: str
    schema: str | None
    path: str
    field: str
    node: Node | None
    values: dict[str, Any]


@dataclass(frozen=True, repr=False, eq=False)
class AnnotatorAgreement:
    """Agreement of annotators. Made by `agreement`; every frame is a copy.

    Attributes
    ----------
    annotators : tuple of str
        Their names, as given.
    documents : int
        Documents that two annotators or more annotated.
    left_out : int
        Documents that only one annotated.
    units : int
        Slots that were compared.
    drawing : Drawing
        Confidence, number of resamples and seed.
    alpha : float
        Krippendorff's alpha over all fields, up to 1; NaN if it is not defined.
    low, high : float or None
        Ends of its bootstrap interval over documents; None if it is not defined.
    method : str
        Method of that interval: ``BCa``, ``percentile`` or ``undefined``.
    """

    annotators: tuple[str, ...]
    documents: int
    left_out: int
    units: int
    drawing: Drawing
    alpha: float
    low: float | None
    high: float | None
    method: str
    _fields: pd.DataFrame
    _disagreements: pd.DataFrame

    @property
    def fields(self) -> pd.DataFrame:
        """One row per field: alpha, its interval, and counts; lowest alpha first."""
        return self._fields.copy()

    @property
    def disagreements(self) -> pd.DataFrame:
        """One row per slot or array item on which annotators disagree; see `agreement`."""
        return self._disagreements.copy()

    def __repr__(self) -> str:
        """Write alpha, counts, and the fields with the lowest alpha."""
        rows = self._fields.head(_SHOWN).to_dict("records")
        fields = (f"{one_line(r['field'], 40)}: {_alpha_text(r)}, {_units_text(r)}" for r in rows)
        return "\n  ".join([self._head(), self._counts(), *fields])

    def _repr_html_(self) -> str:
        """Write the same as HTML; every text is escaped."""
        heads = [cell(name, tag="th") for name in ("field", "alpha", "slots")]
        rows = (
            table_row(
                [
                    cell(document_text(row["field"], 80)),
                    cell(_alpha_text(row), "xb-num"),
                    cell(_units_text(row), "xb-num"),
                ]
            )
            for row in self._fields.head(_SHOWN).to_dict("records")
        )
        counts = f"<div>{document_text(self._counts(), 200)}</div>"
        return card_html(self._head(), counts, table_of(heads, rows))

    def _head(self) -> str:
        value = with_range(self.alpha, self.low, self.high)
        alpha = f"Krippendorff's alpha {value}" if not math.isnan(self.alpha) else "alpha undefined"
        return f"Agreement of {plural(len(self.annotators), 'annotator')}: {alpha}"

    def _counts(self) -> str:
        disagreed = int(self._fields["disagreed"].sum())
        text = f"{plural(self.documents, 'document')}, {plural(self.units, 'slot')}, "
        text += f"{disagreed:,} with a disagreement"
        return text + (f"; {self.left_out} documents of one annotator" if self.left_out else "")


def _alpha_text(row: Mapping[Any, Any]) -> str:
    if row["alpha"] is pd.NA:
        return "undefined"
    return str(with_range(row["alpha"], row["low"], row["high"]))


def _units_text(row: Mapping[Any, Any]) -> str:
    return f"{row['disagreed']:,} of {row['units']:,} disagreed"


def agreement(
    golds: Mapping[str, Any],
    *,
    schema: Any = None,
    dataset: Dataset | str | Path | None = None,
    confidence: float = 0.95,
    resamples: int = 9999,
    seed: int = 0,
) -> AnnotatorAgreement:
    """Compare the gold of several annotators of the same documents.

    Parameters
    ----------
    golds : mapping
        From annotator to their gold: a Dataset, a folder in its layout, a folder of
        ``{document}.json`` or ``{document}.gold.json``, or a mapping from document to value or
        ``pathlib.Path``. Two annotators or more.
    schema : dict, str, pathlib.Path or Schema, optional
        The schema of all documents, as `evaluate` takes it.
    dataset : Dataset, str or pathlib.Path, optional
        Where schemas come from. Without both, from the first Dataset in `golds`.
    confidence : float, optional
        Of the intervals, between 0 and 1.
    resamples : int, optional
        Bootstrap resamples of documents, 100 and up.
    seed : int, optional
        The same seed gives the same intervals.

    Returns
    -------
    AnnotatorAgreement
        ``alpha`` and its interval, ``fields``, and ``disagreements``: document, schema, path,
        field, ``value_`` and the name of each annotator (None where they leave the slot empty, NA
        where they did not annotate the document), majority, op, old, new. The rows with an `op`
        are corrections of the first annotator's gold:
        ``corrections(found.disagreements.dropna(subset="op"))``.

    Raises
    ------
    InputError
        Fewer than two annotators, no document in common, no schema, or gold that is not JSON.
    SchemaError, ConfigError
        The schema cannot be read.

    Notes
    -----
    A slot is a leaf that profile ``strict`` counts. Array items are aligned as `evaluate` does: the
    annotator with the most values of a document begins, and the items of each other one are aligned
    with those so far; what has no partner is appended. Neither the order of annotators nor that of
    array items matters. Two values agree if the metric of the field says so, in one direction or
    the other, with the offline judge; values that are linked by others of the same slot agree too.

    An annotator who leaves a slot empty (missing, null or an empty array) says "absent", which is a
    category; one who did not annotate the document is missing data. A slot outside of arrays that
    all leave empty is an agreement.

    Alpha is 1 - observed / expected disagreement for nominal data [1]_. Each group of values that
    agree in a slot is the category of its most frequent value in the field. Over all fields,
    observed and expected disagreement are added up, so that values of different fields are never
    expected in each other's place. Documents are resampled.

    References
    ----------
    .. [1] K. Krippendorff, Content Analysis, 4th ed. (2018), chapter 12.

    Examples
    --------
    >>> tags = {"type": "array", "items": {"type": "string"}}
    >>> schema = {"type": "object", "properties": {"year": {"type": "integer"}, "tags": tags}}
    >>> ada = {"a": {"year": 2020, "tags": ["x", "y"]}, "b": {"year": 2021}}
    >>> bo = {"a": {"year": 2020, "tags": ["y"]}, "b": {"year": 2022}}
    >>> cy = {"b": {"year": 2022}}
    >>> found = agreement({"ada": ada, "bo": bo, "cy": cy}, schema=schema)
    >>> found.units, round(found.alpha, 3)
    (5, 0.455)
    >>> found.disagreements[["document", "path", "majority", "op", "new"]]
      document       path majority       op   new
    0        a  $.tags[0]     <NA>     <NA>  <NA>
    1        b     $.year     2022  replace  2022
    """
    drawing = Drawing(confidence, resamples, seed)
    given: object = golds
    if not isinstance(given, Mapping) or len(given) <= 1:
        raise InputError("golds: expected a mapping from annotator to gold, two annotators or more")
    names = tuple(golds)
    sources = {name: _source(name, source) for name, source in golds.items()}
    schemas = _Schemas(schema, dataset, [s for s in sources.values() if isinstance(s, Dataset)])
    by_document: dict[str, dict[str, Any]] = defaultdict(dict)
    for name, found in sources.items():
        for document, gold in _documents(name, found):
            by_document[document][name] = gold
    several = {name: found for name, found in by_document.items() if len(found) > 1}
    if not several:
        raise InputError("golds: no document was annotated by two annotators")
    slots: list[_Slot] = []
    rows: list[tuple[Any, ...]] = []
    for document in sorted(several):
        merged = _Merged(document, *schemas.of(document), several[document])
        slots += merged.slots
        rows += merged.disagreements(names)
    scores = _Alphas(slots, schemas.agree, drawing)
    alpha, interval = scores.overall()
    columns = list(DISAGREEMENTS.columns)
    own = [Column(f"value_{name}", "object", f"what {name} has", "JSON", True) for name in names]
    spec = FrameSpec("disagreements", DISAGREEMENTS.grain, (*columns[:4], *own, *columns[4:]))
    fields = FIELDS.from_rows(scores.fields())
    return AnnotatorAgreement(
        names,
        len(several),
        len(by_document) - len(several),
        len(slots),
        drawing,
        alpha,
        *interval,
        fields.sort_values("alpha", kind="stable", ignore_index=True),
        spec.from_rows(rows),
    )


# --- what annotators wrote --------------------------------------------------------------------


def _source(name: str, source: Any) -> Dataset | Mapping[str, Any]:
    if isinstance(source, Dataset | Mapping):
        return source
    if not isinstance(source, str | os.PathLike):
        raise InputError(
            f"golds[{name!r}] is {type(source).__name__}; expected a Dataset, a folder, or a "
            "mapping from document to value"
        )
    folder = Path(source).expanduser()
    files = {path.name: path for path in list_files(folder, ".json")}
    if files:
        suffix = len(GOLD_SUFFIX)
        return {
            name[:-suffix] if name.endswith(GOLD_SUFFIX) else path.stem: path
            for name, path in files.items()
        }
    return load_dataset(folder)


def _documents(name: str, source: Dataset | Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    if isinstance(source, Dataset):
        for document in source.listing["document"]:
            yield document, source.gold(document)
        return
    for document, value in source.items():
        what = f"gold of {name!r} for {document!r}"
        yield str(document), read_document(value, what) if isinstance(value, Path) else value


class _Schemas:
    """The schema of each document, and whether two values of a node agree."""

    def __init__(self, schema: Any, dataset: Any, datasets: Sequence[Dataset]) -> None:
        if schema is not None and dataset is not None:
            raise InputError("schema and dataset are both set; pass one of them")
        if isinstance(dataset, str | os.PathLike):
            dataset = load_dataset(dataset)
        self._all = None if schema is None else parse_schema(schema)
        self._datasets = [dataset] if dataset is not None else datasets
        if self._all is None and not self._datasets:
            raise InputError("golds: no schema; pass schema= or dataset=")
        self._parsed: dict[str, Schema] = {}
        self._scorer = Scorer(get_profile("strict"), choose_judge("offline"))

    def of(self, document: str) -> tuple[str | None, Schema, Any]:
        """Return the id of a document's schema, the schema, and `agree`."""
        if self._all is not None:
            return None, self._all, self.agree
        for dataset in self._datasets:
            listed = dataset.listing
            for schema in listed.loc[listed["document"] == document, "schema"]:
                if schema not in self._parsed:
                    self._parsed[schema] = parse_schema(dataset.schema(schema))
                return schema, self._parsed[schema], self.agree
        raise DatasetError(f"no dataset has document {document!r}, so its schema is unknown")

    def agree(self, node: Node | None, a: Any, b: Any) -> bool:
        """Whether two values are the same by the node's metrics, in one direction or the other."""
        if equality_key(a) == equality_key(b):
            return True
        if node is None or a is None or b is None or isinstance(a, dict | list | None):
            return False
        if isinstance(b, dict | list):
            return False
        return any(
            all(getattr(v, "passed", None) is True for v in self._scorer.verdicts(node, *pair))
            for pair in ((a, b), (b, a))
        )


# --- one document -----------------------------------------------------------------------------


class _Merged:
    """The golds of one document, with the items of their arrays aligned.

    All of them are evaluated against one document that has every item of any of them; its paths are
    those of the slots.
    """

    def __init__(
        self,
        document: str,
        schema_id: str | None,
        schema: Schema,
        agree: Any,
        golds: Mapping[str, Any],
    ) -> None:
        self.document, self.schema_id, self.agree = document, schema_id, agree
        self.golds = golds
        order = sorted(golds, key=lambda name: (-count_values(golds[name]), _text(golds[name])))
        union = copy.deepcopy(golds[order[0]])
        for _ in range(_ROUNDS):
            self.results: dict[str, Evaluation] = {}
            grown = False
            for name in order:
                result = self.results[name] = evaluate(schema, union, golds[name], profile="strict")
                grown = _append_items(union, result.matches) or grown
            if not grown:
                break
        self.pairs = {name: item_pairs(ev.matches) for name, ev in self.results.items()}
        self.union = union
        self.nodes = {node.schema_path: node for node in schema.nodes()}
        self.slots = list(self._slots())

    def _slots(self) -> Iterator[_Slot]:
        told: dict[str, tuple[str, str]] = {}
        values: dict[str, dict[str, Any]] = defaultdict(dict)
        names = ["path", "predicted_path", "field", "schema_path", "predicted", "predicted_state"]
        for name, ev in self.results.items():
            rows = ev.fields[ev.fields["counted"]]
            for path, own, field, schema_path, value, state in rows[names].itertuples(index=False):
                if schema_path not in self.nodes:
                    continue  # not declared, so not scored
                place = path if own is pd.NA else own
                # a text in the place of an object stands for each of its fields
                said = value_at(self.golds[name], place, MISSING)
                is_said = state == "present" and said is not MISSING
                key = f"{path} {name}" if "[+" in path else path
                told.setdefault(key, (field, schema_path))
                values[key][name] = value if is_said else None
        for key, (field, schema_path) in told.items():
            said = {name: values[key].get(name) for name in self.golds}
            path, node = key.partition(" ")[0] if "[+" in key else key, self.nodes[schema_path]
            yield _Slot(self.document, self.schema_id, path, field, node, said)

    def disagreements(self, names: Sequence[str]) -> Iterator[tuple[Any, ...]]:
        """Yield a row for each slot and array item on which annotators disagree.

        Below an item, only those who have the item are asked.
        """
        met: set[str] = set()
        removed: list[str] = []
        for slot in self.slots:
            holders = list(self.golds)
            for item in self._items(slot.path):
                having = [name for name in holders if self._own(name, item) is not None]
                if item not in met and len(having) < len(holders):
                    yield self._item_row(slot, item, holders, having, names, removed)
                met.add(item)
                holders = having
            said = {name: slot.values[name] for name in holders}
            groups = grouped(said, slot.node, self.agree)
            if len(groups) > 1:
                yield self._slot_row(slot, groups, names, removed)

    def _items(self, path: str) -> list[str]:
        """Return the paths of the array items that a path leads through, outer before inner."""
        starts = (path[: step.end()] for step in PATH_STEP.finditer(path))
        return [start for start in starts if any(start in pairs for pairs in self.pairs.values())]

    def _own(self, name: str, path: str) -> str | None:
        """Return an annotator's own path of a place; None below an item that they lack."""
        return partner_path(path, self.pairs[name])

    def _item_row(
        self,
        slot: _Slot,
        item: str,
        holders: Sequence[str],
        having: Sequence[str],
        names: Sequence[str],
        removed: list[str],
    ) -> tuple[Any, ...]:
        values = {name: value_at(self.golds[name], self._own(name, item) or "") for name in having}
        majority: Any = pd.NA
        if 2 * len(having) != len(holders):
            majority = most_common(values.values()) if 2 * len(having) > len(holders) else None
        first = names[0]
        op, old, new = _NO_CHANGE
        if first in holders and majority is not pd.NA and not _below(item, removed):
            if first in having and majority is None:
                op, old = "remove", values[first]
                removed.append(item)
            elif first not in having and majority is not None:
                array = self._own(first, item.rpartition("[")[0])
                if array is not None and _can_hold(self.golds[first], f"{array}[-]"):
                    op, new = "add", majority
        steps = len(PATH_STEP.findall(item))
        field = "".join(_FIELD_STEP.findall(slot.field)[:steps])
        said = [values.get(name) if name in self.golds else pd.NA for name in names]
        path = self._written(first, item)
        return (self.document, self.schema_id, path, field, *said, majority, op, old, new)

    def _slot_row(
        self, slot: _Slot, groups: list[list[str]], names: Sequence[str], removed: list[str]
    ) -> tuple[Any, ...]:
        voters = sum(map(len, groups))
        largest = max(groups, key=len)
        first = names[0]
        op, old, new = _NO_CHANGE
        majority: Any = pd.NA
        if 2 * len(largest) > voters:
            majority = most_common(slot.values[name] for name in largest)
            others = [name for group in groups for name in group if group is not largest]
            if first in others and not _below(slot.path, removed):
                op, old, new = self._change(first, slot, largest, majority)
        said = [slot.values[name] if name in self.golds else pd.NA for name in names]
        path = self._written(first, slot.path)
        head = (self.document, self.schema_id, path, slot.field)
        return (*head, *said, majority, op, old, new)

    def _change(self, first: str, slot: _Slot, agreed: Sequence[str], majority: Any) -> _Change:
        """Return op, old and new that give the first annotator the value of the majority."""
        own = self._own(first, slot.path)
        has = value_at(self.golds[first], own or "?", MISSING)
        said = slot.values[first]
        if own is None or (said is not None and has != said):  # a place that has no path of its own
            return _NO_CHANGE
        if has is MISSING and not _can_hold(self.golds[first], own):
            return _NO_CHANGE
        if has is MISSING:
            return "add", pd.NA, majority
        if majority is None:
            places = {name: self._own(name, slot.path) or "?" for name in agreed}
            left = (value_at(self.golds[name], own, MISSING) for name, own in places.items())
            written = [value for value in left if value is not MISSING]
            return ("replace", has, written[0]) if written else ("remove", has, pd.NA)
        return "replace", has, majority

    def _written(self, first: str, path: str) -> str:
        """Write a path as the first annotator's gold has it; an item that it lacks is ``[+3]``."""
        own = self._own(first, path) if first in self.golds else path
        if own is not None:
            return own
        item = next(item for item in self._items(path) if self._own(first, item) is None)
        array, _, index = item.rpartition("[")
        return f"{self._own(first, array)}[+{index}{path[len(item) :]}"


def _below(path: str, items: Iterable[str]) -> bool:
    return any(path.startswith(item) for item in items)


def _can_hold(gold: Any, path: str) -> bool:
    """Whether nothing but objects and arrays, or nothing at all, is above a path."""
    value = gold
    for step in PATH_STEP.finditer(path):
        key = step_key(step)
        if not isinstance(value, dict if isinstance(key, str) else list):
            return value is None and key in (-1, str(key))
        value = value_at(value, f"${step[0]}")
    return True


def grouped(values: Mapping[str, Any], node: Node | None, agree: Any) -> list[list[str]]:
    """Group annotators whose values agree, directly or through those of others."""
    groups: list[list[str]] = []
    for name, value in values.items():
        linked = [group for group in groups if any(agree(node, values[n], value) for n in group)]
        groups = [group for group in groups if group not in linked]
        groups.append([name, *(n for group in linked for n in group)])
    return groups


def most_common(values: Iterable[Any]) -> Any:
    """Return the most frequent value; of several, the first by its text."""
    found = list(values)
    counts = Counter(map(equality_key, found))
    return min(found, key=lambda value: (-counts[equality_key(value)], _text(value)))


def _text(value: Any) -> str:
    return canonical_unordered(value)


def _append_items(union: Any, matches: pd.DataFrame) -> bool:
    """Append the items of an annotator that have no partner."""
    spurious = matches[matches["status"] == "spurious"]
    grown = False
    for path, item in spurious[["path", "predicted"]].itertuples(index=False):
        array = None if "[+" in path else _array_at(union, path)
        if array is not None:
            array.append(copy.deepcopy(item))
            grown = True
    return grown


def _array_at(value: Any, path: str) -> list[Any] | None:
    """Return the array at a path, made where nothing is there; None where something else is."""
    steps = list(map(step_key, PATH_STEP.finditer(path)))
    for at, step in enumerate(steps):
        if isinstance(value, dict) and isinstance(step, str):
            if value.get(step) is None:
                value[step] = [] if at == len(steps) - 1 else {}
            value = value[step]
        elif isinstance(value, list) and isinstance(step, int) and step < len(value):
            value = value[step]
        else:
            return None
    return value if isinstance(value, list) else None


# --- alpha ------------------------------------------------------------------------------------


class _Alphas:
    """Krippendorff's alpha for nominal data, per field and over all, with documents resampled.

    With n values in all, n_c of category c, and in slot u m_u values, n_uc of category c: the
    observed disagreement is the sum of n_uc (m_u - n_uc) / (m_u - 1), the expected one the sum of
    n_c (n - n_c) / (n - 1). Both need only sums over documents, and for n_c squared the products of
    pairs of documents, so a resample costs little.
    """

    def __init__(self, slots: Sequence[_Slot], agree: Any, drawing: Drawing) -> None:
        documents = {name: at for at, name in enumerate(dict.fromkeys(s.document for s in slots))}
        self.drawing, self.size = drawing, len(documents)
        by_field: dict[tuple[Any, str], list[_Slot]] = defaultdict(list)
        for slot in slots:
            by_field[slot.schema, slot.field].append(slot)
        self.keys = list(by_field)
        self.units = [len(found) for found in by_field.values()]
        self.disagreed: list[int] = []
        self.observed = np.zeros((len(by_field), self.size))
        self.values = np.zeros((len(by_field), self.size))
        self.products = np.zeros((len(by_field), self.size, self.size))
        for at, found in enumerate(by_field.values()):
            counts = Counter(equality_key(v) for slot in found for v in slot.values.values())
            table: dict[Any, Numbers] = defaultdict(lambda: np.zeros(self.size))
            disagreed = 0
            for slot in found:
                document, groups = documents[slot.document], grouped(slot.values, slot.node, agree)
                disagreed += len(groups) > 1
                total = len(slot.values)
                self.values[at, document] += total
                for group in groups:
                    said = [slot.values[name] for name in group]
                    usual = min(said, key=lambda v: (-counts[equality_key(v)], _text(v)))
                    table[equality_key(usual)][document] += len(group)
                    share = len(group) * (total - len(group)) / (total - 1)
                    self.observed[at, document] += share
            self.disagreed.append(disagreed)
            categories = np.array(list(table.values()))
            self.products[at] = categories.T @ categories
        self.drawn = np.ones((0, self.size))
        if self.size > 1:
            self.drawn = np.vstack(list(counts_drawn(self.size, drawing)))

    def overall(self) -> tuple[float, Interval]:
        """Return alpha over all fields and its interval."""
        return self._scored(range(len(self.keys)))

    def fields(self) -> Iterator[tuple[Any, ...]]:
        """Yield the rows of `FIELDS`."""
        for at, (schema, field) in enumerate(self.keys):
            alpha, interval = self._scored([at])
            documents = int(np.count_nonzero(self.values[at]))
            counts = self.units[at], self.disagreed[at]
            known = None if math.isnan(alpha) else alpha
            yield schema, field, documents, *counts, known, *interval

    def _scored(self, fields: Sequence[int]) -> tuple[float, Interval]:
        value = float(self._alpha(fields, np.ones((1, self.size)))[0])
        there = self.values[list(fields)].any(axis=0)
        undefined = Interval(None, None, "undefined")
        if math.isnan(value) or there.sum() <= 1:
            return value, undefined
        resampled = self._alpha(fields, self.drawn)
        if np.isnan(resampled).all():
            return value, undefined
        left_out = self._alpha(fields, (1 - np.eye(self.size))[there])
        times = np.ones(len(left_out))
        return value, resampled_interval(value, resampled, left_out, times, self.drawing)

    def _alpha(self, fields: Sequence[int], weights: Numbers) -> Numbers:
        """Return alpha for each row of weights of the documents."""
        observed, expected = np.zeros(len(weights)), np.zeros(len(weights))
        for at in fields:
            total = weights @ self.values[at]
            squares = ((weights @ self.products[at]) * weights).sum(axis=1)
            observed += weights @ self.observed[at]
            expected += np.where(total > 1, (total**2 - squares) / np.maximum(total - 1, 1), 0)
        with np.errstate(invalid="ignore", divide="ignore"):
            alpha = np.where(expected > 0, 1 - observed / expected, np.nan)
        return np.asarray(np.round(alpha, DIGITS), dtype=np.float64)
