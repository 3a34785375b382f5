"""`agreement`: how far annotators of the same documents agree, and where not."""

from __future__ import annotations

import math
import os
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from extractbench_nb._frames import Column, FrameSpec
from extractbench_nb._json import (
    equality_key,
    read_document,
)
from extractbench_nb.benchmark.dataset import GOLD_SUFFIX, Dataset, list_files, load_dataset
from extractbench_nb.display.html import card_html, cell, document_text, table_of, table_row
from extractbench_nb.display.text import one_line, plural
from extractbench_nb.engine.profiles import get_profile
from extractbench_nb.engine.scoring import Scorer
from extractbench_nb.errors import DatasetError, InputError
from extractbench_nb.gold.slots import Merged, Slot, grouped, text_key
from extractbench_nb.judges.choosing import choose_judge
from extractbench_nb.schema.nodes import Node, Schema
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
_SHOWN = 8


@dataclass(frozen=True, repr=False, eq=False)
class AnnotatorAgreement:
    """Agreement of annotators; made by `agreement`. Every frame is a copy.

    Attributes
    ----------
    annotators : tuple of str
        Names of the annotators, as given.
    documents : int
        Number of documents with two annotators or more.
    left_out : int
        Number of documents with a single annotator, which are not compared.
    units : int
        Number of slots that were compared; `agreement` defines a slot.
    drawing : Drawing
        Confidence, number of resamples and seed of the intervals.
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
        The gold of each annotator, by name; two annotators or more. Each is a Dataset, a folder in
        its layout, a folder of ``{document}.json`` or ``{document}.gold.json``, or a mapping from
        document to value or ``pathlib.Path``.
    schema : dict, str, pathlib.Path or Schema, optional
        The schema of all documents, as `evaluate` takes it.
    dataset : Dataset, str or pathlib.Path, optional
        The dataset that has the schemas. Without `schema` and `dataset`, the first Dataset in
        `golds`.
    confidence : float, optional
        Confidence level of the intervals, between 0 and 1.
    resamples : int, optional
        Number of bootstrap resamples of documents, 100 and up.
    seed : int, optional
        The same seed gives the same intervals.

    Returns
    -------
    AnnotatorAgreement
        ``alpha`` and its interval, ``fields``, and ``disagreements``: document, schema, path,
        field, ``value_`` and the name of each annotator (None if they leave the slot empty, NA if
        they did not annotate the document), majority, op, old, new. The rows with an `op` are
        corrections of the first annotator's gold:
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
    annotator with the most values in a document begins; the items of each other annotator are
    aligned with those collected so far, and items without a partner are appended. Neither the order
    of annotators nor that of array items matters. Two values agree if they pass the metric of the
    field in either direction, with the offline judge. Agreement is transitive within a slot.

    An empty slot (missing, null or an empty array) counts as the category "absent"; a document that
    an annotator did not annotate is missing data. If all leave a slot outside of arrays empty, they
    agree.

    Alpha is 1 - observed / expected disagreement for nominal data [1]_. Each group of values that
    agree in a slot is the category of its most frequent value in the field. Over all fields,
    observed and expected disagreement are summed by field, since values of different fields cannot
    be confused. The bootstrap resamples documents.

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
    slots: list[Slot] = []
    rows: list[tuple[Any, ...]] = []
    for document in sorted(several):
        merged = Merged(document, *schemas.of(document), several[document])
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


# --- alpha ------------------------------------------------------------------------------------


class _Alphas:
    """Krippendorff's alpha for nominal data, per field and over all, with documents resampled.

    With n values in all, n_c of category c, and in slot u m_u values, n_uc of category c: the
    observed disagreement is the sum of n_uc (m_u - n_uc) / (m_u - 1), the expected one the sum of
    n_c (n - n_c) / (n - 1). Both need only sums over documents, and for n_c squared the products of
    pairs of documents, so a resample costs little.
    """

    def __init__(self, slots: Sequence[Slot], agree: Any, drawing: Drawing) -> None:
        documents = {name: at for at, name in enumerate(dict.fromkeys(s.document for s in slots))}
        self.drawing, self.size = drawing, len(documents)
        by_field: dict[tuple[Any, str], list[Slot]] = defaultdict(list)
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
                    usual = min(said, key=lambda v: (-counts[equality_key(v)], text_key(v)))
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
