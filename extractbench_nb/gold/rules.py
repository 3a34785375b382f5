"""`check_rules`: cross-field rules over gold files, or over outputs without gold."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from extractbench_nb.core import RULES, Rule, as_rule, read_predicted
from extractbench_nb.core.frames import Column, FrameSpec
from extractbench_nb.core.schema import parse_schema
from extractbench_nb.errors import ExtractBenchError, InputError, nearest
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
        Column("applies_to", "string", "patterns of schema names; * is every schema"),
        Column("outcome", "string", "missing if the document cannot be read", Rule.OUTCOMES, True),
        Column("paths", "object", "instance paths at fault, as a tuple"),
        Column("message", "string", "why there is no verdict", nullable=True),
    ),
)


class _Document(NamedTuple):
    """One document: what it is called, the names of its schema, and its value or problem."""

    run: str | None
    name: str
    schema: tuple[str, ...]
    value: Any
    problem: str | None


def check_rules(source: Any, dataset: Dataset | None = None, rules: Any = None) -> pd.DataFrame:
    """Run cross-field rules over the gold files of a dataset, or over outputs without gold.

    Parameters
    ----------
    source : Dataset, pandas.DataFrame, str, pathlib.Path or object with ``outputs``
        A dataset: its gold files are checked. Or outputs: a frame with the columns document and
        predicted (or raw, from which a code fence is removed), and optionally run and schema; a
        folder laid out as ``run/document.json``; a run of `extract`.
    dataset : Dataset, optional
        The dataset with the schemas of the outputs, if they are not a column.
    rules : str, callable or iterable of these, optional
        Names of registered rules, or functions as `rule` takes them; all registered rules by
        default. A rule that is restricted to certain schemas is run on a document of unknown schema
        only if it is given here.

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
    documents = list(_golds(source) if is_gold else _outputs(source, dataset))
    if rules is None:
        _refuse_unused(chosen, documents)
    rows = []
    for run, name, schema, value, problem in documents:
        for made in chosen:
            if made.is_for(schema) or not (schema or rules is None):
                outcome = made.check(value) if problem is None else (None, (), problem)
                label = next(iter(schema), None)
                rows.append((run, name, label, made.name, made.patterns, *outcome))
    return CHECKED_COLUMNS.from_rows(rows)


def _chosen(rules: Any) -> tuple[Rule, ...]:
    """Return rules given by name or as functions; all registered ones by default."""
    if rules is None:
        return tuple(RULES.values())
    items = [rules] if isinstance(rules, str) or callable(rules) else rules
    if not isinstance(items, Iterable):
        raise InputError(f"rules is {rules!r}; expected names of rules or functions")
    chosen = []
    for item in items:
        if isinstance(item, str):
            if item not in RULES:
                raise InputError(f"unknown rule {item!r}; {nearest(item, RULES)}")
            chosen.append(RULES[item])
        elif callable(item):
            registered = (made for made in RULES.values() if made.function is item)
            chosen.append(next(registered, None) or as_rule(item))
        else:
            raise InputError(f"rules has {item!r}; expected names of rules or functions")
    return tuple(chosen)


def _refuse_unused(chosen: Iterable[Rule], documents: list[_Document]) -> None:
    """Warn of rules that apply to no known schema; raise `InputError` if all are such."""
    known = dict.fromkeys(name for document in documents for name in document.schema)
    unused = [made for made in chosen if not any(made.is_for(one.schema) for one in documents)]
    if not unused or not documents:
        return
    patterns = ", ".join(f"{made.name} ({made.patterns})" for made in unused)
    schemas = f"the schemas are {', '.join(known)}" if known else "no schema is known"
    if len(unused) == len([*chosen]):
        hint = "" if known else "; pass dataset=, a column schema, or rules="
        raise InputError(f"no rule applies to a document: {cut(patterns, 200)}; {schemas}{hint}")
    if known:
        problem = "rules that apply to no document"
        warnings.warn(f"{problem}: {cut(patterns, 200)}; {cut(schemas, 200)}", stacklevel=3)


def _golds(dataset: Dataset) -> Iterator[_Document]:
    names = _names_of_schemas(dataset)
    for row in dataset.listing.to_dict("records"):
        name, value, problem = str(row["document"]), None, None
        try:
            value = dataset.gold(name)
        except ExtractBenchError as error:
            problem = str(error)
        yield _Document(None, name, names(name, None), value, problem)


def _outputs(source: Any, dataset: Dataset | None) -> Iterator[_Document]:
    outputs = getattr(source, "outputs", None)
    frame = frame_of_runs(outputs if isinstance(outputs, pd.DataFrame) else source)
    text = next((name for name in ("predicted", "raw") if name in frame.columns), None)
    if "document" not in frame.columns or text is None:
        missing = "document" if text is not None else "predicted"
        raise InputError(f"source has no column {missing!r}; it has {', '.join(map(str, frame))}")
    names = _names_of_schemas(dataset)
    absent: list[Any] = [None] * len(frame)
    columns = [frame.get(name, absent) for name in ("run", "document", "schema", text)]
    for run, document, schema, output in zip(*columns, strict=True):
        name = str(document)
        value, problem = _read(output, is_raw=text == "raw")
        known = names(name, schema)
        yield _Document(None if is_missing(run) else str(run), name, known, value, problem)


def _read(output: Any, *, is_raw: bool) -> tuple[Any, str | None]:
    """Return the value of an output, or why there is none."""
    if is_raw and isinstance(output, Path):
        output = read_bytes(output)
    if isinstance(output, bytes):
        output = output.decode("utf-8", "replace")
    if is_raw and isinstance(output, str):
        output = unwrapped(output)[0]
    found = read_output(None if is_missing(output) else output)
    if found.message is not None:
        return None, found.message
    return read_predicted(found.source)


def _names_of_schemas(dataset: Dataset | None) -> Callable[[str, Any], tuple[str, ...]]:
    """Return a function that gives the names by which rules know the schema of a document.

    It takes the document and its schema: an id of the dataset, what `parse_schema` takes, or
    nothing for the schema in the dataset. Each file is read once.
    """
    listed: dict[str, str] = {}
    if dataset is not None:
        listed = dict(zip(dataset.listing["document"], dataset.listing["schema"], strict=True))
    known: dict[str | Path, tuple[str, ...]] = {}

    def names(document: str, schema: Any) -> tuple[str, ...]:
        if is_missing(schema):
            if dataset is None:
                return ()
            if document not in listed:
                hint = nearest(document, listed)
                raise InputError(f"the dataset has no document {document!r}; {hint}")
            schema = listed[document]
        if not isinstance(schema, str | Path):
            return parse_schema(schema).names()
        if schema not in known:
            labels: tuple[str, ...] = ()
            source: Any = schema
            if isinstance(schema, Path):
                labels = (schema.name.removesuffix(".json").removesuffix("-schema"),)
            elif not schema.lstrip().startswith("{"):
                labels, source = (schema,), {}
                if dataset is not None and schema in listed.values():
                    source = dataset.schema(schema)
            known[schema] = parse_schema(source).names(*labels)
        return known[schema]

    return names
