"""Facts by domain: statistics of the dataset, and the counts that the paper prints."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import product
from typing import Any, NamedTuple

import pandas as pd

from extractbench_nb._frames import Column, FrameSpec
from extractbench_nb.benchmark.dataset import Dataset
from extractbench_nb.benchmark.published import DOMAIN_OF_SCHEMA
from extractbench_nb.benchmark.statistics import shipped_frame, shipped_schemas, shipped_statistics
from extractbench_nb.errors import InputError
from extractbench_nb.evaluation.api import evaluate
from extractbench_nb.paper.cells import (
    CLAUDE,
    DOMAIN_TABLES,
    DOMAINS,
    GPT,
    MODELS,
    SCHEMAS,
    printed,
    value_of,
)
from extractbench_nb.schema.complexity import schema_complexity

GOLD_COLUMNS = FrameSpec(
    "gold",
    "one row per document of the released dataset",
    (
        Column("document", "string", "document id"),
        Column("schema", "string", "schema id"),
        Column("scored", "int64", "fields that are scored, by the paper's rules", "1 and up"),
        Column("scored_released", "int64", "fields the published package 0.1.0 scores", "1 and up"),
        Column("present", "int64", "scored fields for which gold has a value", "0 to scored"),
        Column("citations", "Int64", "items of `citations`; missing elsewhere", "0 and up", True),
        Column("violations", "int64", "violations of the document's own schema", "0 and up"),
    ),
)

#: Counts of the gold documents that were measured, by a hash of schema and gold.
_GOLD_COUNTS: dict[bytes, tuple[Any, ...]] = {}


def shipped_gold() -> pd.DataFrame:
    """Return the shipped figures of the released dataset's gold (see `GOLD_COLUMNS`)."""
    return shipped_frame("data/gold.csv", GOLD_COLUMNS)


def measure_gold(dataset: Dataset) -> pd.DataFrame:
    """Count fields, citations and schema violations of each gold document."""
    rows = []
    for document, schema_id in zip(
        dataset.listing["document"], dataset.listing["schema"], strict=True
    ):
        schema, gold = dataset.schema(schema_id), dataset.gold(document)
        content = hashlib.sha256(json.dumps([schema, gold]).encode()).digest()
        if content not in _GOLD_COUNTS:  # each table of the paper asks for all documents
            _GOLD_COUNTS[content] = _gold_counts(schema, gold)
        rows.append((document, schema_id, *_GOLD_COUNTS[content]))
    return GOLD_COLUMNS.from_rows(rows)


def _gold_counts(schema: Mapping[str, Any], gold: Any) -> tuple[Any, ...]:
    from jsonschema import Draft202012Validator

    fields = evaluate(schema, gold, gold).fields
    counted = fields[fields["counted"]]
    released = evaluate(schema, gold, gold, profile="extract-bench-0.1.0").fields
    cited = gold.get("citations") if isinstance(gold, dict) else None
    violations = Draft202012Validator(schema.get("schema_definition", schema)).iter_errors(gold)
    return (
        len(counted),
        len(released[released["counted"]]),
        int((counted["gold_state"] == "present").sum()),
        len(cited) if isinstance(cited, list) else None,
        sum(1 for _ in violations),
    )


def measure_growth_metric(dataset: Dataset) -> int:
    """Count the properties of the definition ``growth_metric`` in the 10-K/Q schema."""
    schema = dataset.schema("10kq")
    plain = schema.get("schema_definition", schema)
    return len(plain["$defs"]["growth_metric"]["properties"])


#: Fields of the definition ``growth_metric`` in the released 10-K/Q schema.
_GROWTH_METRIC = 8


@dataclass(frozen=True)
class Facts:
    """Figures by domain; `source` is ``"shipped statistics"`` or the dataset's name."""

    #: One row per document, with its statistics and the columns of `GOLD_COLUMNS`.
    frame: pd.DataFrame
    #: Keys and depth of the schemas, by domain.
    keys: Mapping[str, int]
    depth: Mapping[str, int]
    #: Properties of the definition that Figure 1 shows.
    growth_metric: int
    source: str

    @cached_property
    def documents(self) -> dict[str, int]:
        """Number of documents by domain."""
        return {domain: len(self.of(domain, "document")) for domain in DOMAINS}

    @cached_property
    def scored(self) -> dict[str, int]:
        """Scored fields per document, by domain."""
        return {domain: int(self.of(domain, "scored").max()) for domain in DOMAINS}

    @cached_property
    def scored_by_package_010(self) -> dict[str, int]:
        """Fields per document that the published package scores, by domain."""
        return {domain: int(self.of(domain, "scored_released").max()) for domain in DOMAINS}

    def of(self, domain: str, column: str) -> pd.Series[Any]:
        """Return a column of one domain's documents; a document without PDF has no pages."""
        return self.frame.loc[self.frame["domain"] == domain, column]

    def total(self, domain: str, column: str) -> float | None:
        """Return a domain's total; None if a document's figure is unknown."""
        values = self.of(domain, column)
        return None if values.isna().any() else float(values.sum())

    def figure(self, domain: str, name: str) -> float | None:
        """Return a domain's documents, keys or depth, or an average per document."""
        counts = {"documents": self.documents, "keys": self.keys, "depth": self.depth}
        if name in counts:
            return counts[name][domain]
        total = self.total(domain, "gold_tokens" if name == "tokens" else name)
        return None if total is None else total / self.documents[domain]


def facts_of(dataset: Dataset | None = None) -> Facts:
    """Gather the figures of a dataset, or the shipped ones."""
    if dataset is None:
        return _shipped()
    schemas, expected = set(dataset.schemas["schema"]), set(SCHEMAS.values())
    if schemas != expected:
        raise InputError(
            f"dataset {dataset.name!r} has the schemas {', '.join(sorted(schemas))}: the paper's "
            f"tables need those of the released one, {', '.join(sorted(expected))}"
        )
    sizes = {schema: schema_complexity(dataset.schema(schema))._asdict() for schema in expected}
    growth = measure_growth_metric(dataset)
    gold = measure_gold(dataset)
    return _joined(dataset.documents, gold, sizes, growth, f"dataset {dataset.name!r}")


@cache
def _shipped() -> Facts:
    sizes = shipped_schemas().set_index("schema")[["keys", "depth"]].to_dict("index")
    statistics, gold = shipped_statistics(), shipped_gold()
    return _joined(statistics, gold, sizes, _GROWTH_METRIC, "shipped statistics")


def _joined(
    statistics: pd.DataFrame, gold: pd.DataFrame, sizes: Mapping[Any, Any], growth: int, source: str
) -> Facts:
    names = ["document", "schema", "pages", "gold_values", "array_items", "fields"]
    frame = statistics[[*names, "gold_tokens", "pdf_tokens"]].merge(gold, on=["document", "schema"])
    frame.insert(1, "domain", [DOMAIN_OF_SCHEMA[schema] for schema in frame["schema"]])
    keys, depth = (
        {domain: sizes[schema][name] for domain, schema in SCHEMAS.items()}
        for name in ("keys", "depth")
    )
    return Facts(frame, keys, depth, growth, source)


MODES = ("prompt", "structured")
#: Source of counts without valid documents, which are not printed.
_INFERRED = "Table 8, the only count that fits"

COUNT_COLUMNS = FrameSpec(
    "counts",
    "one row per model and domain",
    (
        Column("model", "string", "model, as the appendix names it"),
        Column("domain", "string", "sports, credit, research, resumes or 10-K/Q"),
        Column("documents", "int64", "documents, one attempt each", "1 and up"),
        Column("valid", "Int64", "parseable outputs that fit the schema; not printed", "", True),
        Column("fields", "int64", "documents x keys, the denominator of the pass rate", "1 and up"),
        Column("passed", "int64", "passed fields; 0 for outputs that are not valid", "0 to fields"),
        Column("source", "string", "where the counts come from"),
    ),
)


class Tally(NamedTuple):
    """Counts added up over models and domains."""

    documents: int
    valid: int
    fields: int
    passed: int

    @property
    def invalid(self) -> int:
        """Documents without a valid output."""
        return self.documents - self.valid

    @property
    def validity(self) -> float:
        """Valid documents in percent."""
        return 100 * self.valid / self.documents

    @property
    def pass_rate(self) -> float:
        """Passed fields in percent of documents x keys."""
        return 100 * self.passed / self.fields


def counts(mode: str = "prompt") -> pd.DataFrame:
    """Return the printed counts from which the paper's results can be computed.

    Parameters
    ----------
    mode : str, optional
        ``"prompt"``: as Tables 9 to 13 print them. ``"structured"``: with structured outputs
        (Table 8). There the paper prints percentages with one decimal, each of which is given by
        exactly one whole number of fields, and no numbers of valid documents. Resumes and 10-K/Q
        had no valid output in that mode.

    Returns
    -------
    pandas.DataFrame
        One row per model and domain, 30 in all: model, domain, documents, valid (documents with a
        valid output; NA if unknown), fields (documents x schema keys), passed, source.

    Raises
    ------
    InputError
        If the mode is unknown.

    Examples
    --------
    >>> frame = counts()
    >>> int(frame["valid"].sum()), int(frame["passed"].sum()), int(frame["fields"].sum())
    (107, 844, 18516)
    """
    return COUNT_COLUMNS.from_records(
        {"model": model, "domain": domain, "source": source}
        | counted._asdict()
        | ({"valid": None} if source == _INFERRED else {})
        for (model, domain), (counted, source) in _counts(mode).items()
    )


def tally(
    mode: str = "prompt",
    *,
    models: tuple[str, ...] = MODELS,
    domains: tuple[str, ...] = DOMAINS,
) -> Tally:
    """Add the counts of some models on some domains; what is not printed adds nothing."""
    counted = [
        counts
        for (model, domain), (counts, _) in _counts(mode).items()
        if model in models and domain in domains
    ]
    return Tally(*map(sum, zip(*counted, strict=True)))


#: Models that are added up. ``able`` omits Claude where its page limit blocked it.
GROUPS: Mapping[str, tuple[str, ...]] = {
    "pooled": MODELS,
    "able": MODELS,
    "GPT": GPT,
    "Claude": CLAUDE,
    **{model: (model,) for model in MODELS},
}


def attempts(group: str, domain: str) -> Tally:
    """Return the counts of a group of models on a domain."""
    models = GROUPS[group]
    if group == "able" and domain == "credit":
        models = tuple(model for model in models if model not in CLAUDE)
    return tally(models=models, domains=(domain,))


@cache
def _counts(mode: str) -> Mapping[tuple[str, str], tuple[Tally, str]]:
    """Return the counts of each model and domain, and where they come from."""
    if mode not in MODES:
        raise InputError(f"unknown mode {mode!r}: expected 'prompt' or 'structured'")
    counts = {}
    for model, domain in product(MODELS, DOMAINS):
        table = DOMAIN_TABLES[domain]
        counted = Tally(*(int(value_of(table, model, column)) for column in Tally._fields))
        source = f"Table {table}"
        if mode == "structured" and domain in ("resumes", "10-K/Q"):
            counted, source = counted._replace(valid=0, passed=0), "Table 8, caption"
        elif mode == "structured":
            passed = inferred_passed(model, domain, counted.fields)
            counted, source = counted._replace(valid=0, passed=passed), _INFERRED
        counts[model, domain] = counted, source
    return counts


def inferred_passed(model: str, domain: str, fields: int) -> int:
    """Return the one count of passed fields that gives Table 8's printed percentage."""
    figure = printed(8, model, f"{domain} rate")
    percentage, rounding = figure.value or 0.0, 0.5 * 10.0 ** -(figure.digits or 0)
    low = math.ceil((percentage - rounding) * fields / 100 - 1e-9)
    high = math.floor((percentage + rounding) * fields / 100 + 1e-9)
    counts = list(range(max(low, 0), min(high, fields) + 1))
    if len(counts) != 1:
        raise ValueError(f"Table 8, {model}, {domain}: {counts} of {fields} give {figure.printed}")
    return counts[0]
