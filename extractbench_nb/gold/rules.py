"""`check_rules`: cross-field rules over gold files, or over outputs without gold."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pandas as pd

from extractbench_nb.core import RULES, Rule, as_rule, read_predicted
from extractbench_nb.core.frames import Column, FrameSpec
from extractbench_nb.core.schema import parse_schema
from extractbench_nb.errors import ExtractBenchError, InputError, nearest, no_column
from extractbench_nb.runs import Dataset, frame_of_runs, read_bytes, read_output
from extractbench_nb.support.model_json import unwrapped
from extractbench_nb.support.pandas_helpers import is_missing
from extractbench_nb.support.wording import cut

CHECKED_COLUMNS = FrameSpec(
    "checked_rules",
    "one row per document (and run) and rule that applies to it",
    (
        Column("run", "string", "name of the run; missing for gold", nullable=True),
        Column("document", "string", "document id"),
        Column("schema", "string", "schema id or title, if known", nullable=True),
        Column("rule", "string", "name of the rule"),
        Column("applies_to", "string", "patterns for schema names; `*` matches every schema"),
        Column("outcome", "string", "result; missing if unreadable", Rule.OUTCOMES, True),
        Column("paths", "object", "instance paths that break the rule, a tuple"),
        Column("message", "string", "reason for a missing verdict", nullable=True),
    ),
)


def check_rules(source: Any, dataset: Dataset | None = None, rules: Any = None) -> pd.DataFrame:
    """Run cross-field rules over the gold files of a dataset, or over outputs without gold.

    Parameters
    ----------
    source : Dataset, pandas.DataFrame, str, pathlib.Path or object with ``outputs``
        A dataset, for its gold files; or outputs: a frame with the columns document and predicted
        (or raw, with code fences), and optionally run and schema; a folder laid out as
        ``run/document.json``; a run of `extract`.
    dataset : Dataset, optional
        The dataset with the schemas of the outputs, if they are not a column.
    rules : str, callable or iterable of these, optional
        Names of registered rules, or functions in a form that `rule` accepts; by default all
        registered ones that apply to the document's schema.

    Returns
    -------
    pandas.DataFrame
        One row per document and rule that applies to it; see `CHECKED_COLUMNS`. An output that is
        not JSON has the outcome NA, with the parser's message.

    Raises
    ------
    InputError
        A rule is unknown, none is registered or none applies to a document, a column is missing, or
        a document is not in the dataset.

    Warns
    -----
    UserWarning
        Registered rules apply to no document: ``applies_to`` names another schema.

    Examples
    --------
    >>> outputs = pd.DataFrame({"document": ["a", "b"], "predicted": ['{"n": 1}', '{"n": -1}']})
    >>> def n_is_positive(doc):
    ...     return [] if doc["n"] > 0 else "$.n"
    >>> check_rules(outputs, rules=n_is_positive)[["document", "outcome", "paths"]].values.tolist()
    [['a', 'holds', ()], ['b', 'broken', ('$.n',)]]
    """
    chosen = _chosen(rules)
    if not chosen:
        raise InputError("no rule is registered; define one with @xb.rule, or pass rules=")
    is_gold = isinstance(source, Dataset)
    names_of = _schema_names(source if is_gold else dataset)
    documents = [
        (run, document, names_of(document, schema), value, problem)
        for run, document, schema, value, problem in (_golds if is_gold else _outputs)(source)
    ]
    if rules is None and documents:
        _refuse_unused(chosen, [names for _, _, names, _, _ in documents])
    rows = []
    for run, document, names, value, problem in documents:
        for rule in chosen:
            if rule.is_for(names) or not (names or rules is None):
                outcome = rule.check(value) if problem is None else (None, (), problem)
                label = next(iter(names), None)
                rows.append((run, document, label, rule.name, rule.patterns, *outcome))
    return CHECKED_COLUMNS.from_rows(rows)


def _chosen(rules: Any) -> list[Rule]:
    """Return rules given by name or as functions; all registered ones by default."""
    items = [rules] if isinstance(rules, str) or callable(rules) else rules
    if items is None:
        return list(RULES.values())
    chosen = []
    for item in items if isinstance(items, Iterable) else [items]:
        if isinstance(item, str) and item not in RULES:
            raise InputError(f"unknown rule {item!r}; {nearest(item, RULES)}")
        if not isinstance(item, str) and not callable(item):
            raise InputError(f"rules has {item!r}; expected names of rules or functions")
        if isinstance(item, str):
            chosen.append(RULES[item])
        else:
            registered = (rule for rule in RULES.values() if rule.function is item)
            chosen.append(next(registered, None) or as_rule(item))
    return chosen


def _refuse_unused(chosen: list[Rule], schemas: list[tuple[str, ...]]) -> None:
    """Warn of rules that apply to no known schema; raise `InputError` if all are such."""
    unused = [rule for rule in chosen if not any(map(rule.is_for, schemas))]
    known = ", ".join(dict.fromkeys(name for names in schemas for name in names))
    about = f"{cut(', '.join(f'{rule.name} ({rule.patterns})' for rule in unused), 200)}; "
    if len(unused) == len(chosen):
        about += f"the schemas are {known}" if known else "no schema is known; pass dataset="
        raise InputError(f"no rule applies to a document: {about}")
    if unused and known:
        problem = f"rules that apply to no document: {about}the schemas are {cut(known, 200)}"
        warnings.warn(problem, stacklevel=3)


_Document = tuple[str | None, str, Any, Any, str | None]


def _golds(dataset: Dataset) -> Iterator[_Document]:
    """Yield run, document, schema, value and problem of gold files."""
    for document in dataset.listing["document"]:
        value, problem = None, None
        try:
            value = dataset.gold(document)
        except ExtractBenchError as error:
            problem = str(error)
        yield None, document, None, value, problem


def _outputs(source: Any) -> Iterator[_Document]:
    """Yield run, document, schema, value and problem of outputs."""
    outputs = getattr(source, "outputs", None)
    frame = frame_of_runs(outputs if isinstance(outputs, pd.DataFrame) else source)
    text = "raw" if "raw" in frame and "predicted" not in frame else "predicted"
    for name in ("document", text):
        if name not in frame.columns:
            raise InputError(f"source has {no_column(name, frame)}")
    for row in frame.to_dict("records"):
        output, run = row[text], row.get("run")
        if text == "raw":
            output = read_bytes(output) if isinstance(output, Path) else output
            output = output.decode("utf-8", "replace") if isinstance(output, bytes) else output
            output = unwrapped(output)[0] if isinstance(output, str) else output
        found = read_output(None if is_missing(output) else output)
        value, problem = None, found.message
        if problem is None:
            value, problem = read_predicted(found.source)
        run = None if is_missing(run) else str(run)
        yield run, str(row["document"]), row.get("schema"), value, problem


def _schema_names(dataset: Dataset | None) -> Callable[[str, Any], tuple[str, ...]]:
    """Return a function from a document and its schema to the names by which rules know it.

    A schema is an id of the dataset, what `parse_schema` takes, or nothing for that of the dataset.
    """
    listed: dict[Any, str] = {}
    if dataset is not None:
        listed = dataset.listing.set_index("document")["schema"].to_dict()

    @cache
    def read(schema: str | Path) -> tuple[str, ...]:
        if isinstance(schema, Path):
            label = schema.name.removesuffix(".json").removesuffix("-schema")
            return parse_schema(schema).names(label)
        if schema.lstrip().startswith("{"):
            return parse_schema(schema).names()
        is_listed = dataset is not None and schema in listed.values()
        return parse_schema(dataset.schema(schema) if dataset and is_listed else {}).names(schema)

    def names(document: str, schema: Any) -> tuple[str, ...]:
        if is_missing(schema) and dataset is None:
            return ()
        if is_missing(schema) and document not in listed:
            hint = nearest(document, listed)
            raise InputError(f"the dataset has no document {document!r}; {hint}")
        schema = listed[document] if is_missing(schema) else schema
        return read(schema) if isinstance(schema, str | Path) else parse_schema(schema).names()

    return names
