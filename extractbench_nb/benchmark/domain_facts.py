"""Figures of the released dataset by domain: shipped statistics, or counted anew."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any

import pandas as pd

from extractbench_nb.benchmark.complexities import schema_sizes
from extractbench_nb.benchmark.paper_cells import DOMAINS, SCHEMAS
from extractbench_nb.benchmark.published import DOMAIN_OF_SCHEMA
from extractbench_nb.core import evaluate
from extractbench_nb.core.frames import Column, FrameSpec
from extractbench_nb.errors import InputError
from extractbench_nb.runs import (
    Dataset,
    shipped_frame,
    shipped_schemas,
    shipped_statistics,
)

GOLD_COLUMNS = FrameSpec(
    "gold",
    "one row per document of the released dataset",
    (
        Column("document", "string", "document id"),
        Column("schema", "string", "schema id"),
        Column("scored", "int64", "fields that are scored, by the paper's rules", "1 and up"),
        Column("present", "int64", "scored fields for which gold has a value", "0 to scored"),
        Column("citations", "Int64", "items of `citations`; missing elsewhere", "0 and up", True),
        Column("violations", "int64", "violations of the document's own schema", "0 and up"),
    ),
)


def gold_figures(dataset: Dataset | None = None) -> pd.DataFrame:
    """Count scored fields, citations and schema violations of each gold document.

    Parameters
    ----------
    dataset : Dataset, optional
        A dataset to count. By default the shipped counts of the released dataset.

    Returns
    -------
    pandas.DataFrame
        One row per document; see `GOLD_COLUMNS`. Fields are those that profile ``paper`` scores,
        violations those of the document's own JSON Schema, Draft 2020-12.

    Raises
    ------
    DatasetError
        If a schema or gold file of `dataset` cannot be read.

    Examples
    --------
    >>> int(gold_figures()["scored"].sum())
    691
    """
    if dataset is None:
        return shipped_frame("benchmark/data/gold.csv", GOLD_COLUMNS)
    rows = []
    for document, schema_id in zip(
        dataset.listing["document"], dataset.listing["schema"], strict=True
    ):
        counts = _gold_counts(dataset.schema(schema_id), dataset.gold(document))
        rows.append((document, schema_id, *counts))
    return GOLD_COLUMNS.from_rows(rows)


def _gold_counts(schema: Mapping[str, Any], gold: Any) -> tuple[Any, ...]:
    from jsonschema import Draft202012Validator

    fields = evaluate(schema, gold, gold, profile="paper").fields
    counted = fields[fields["counted"]]
    cited = gold.get("citations") if isinstance(gold, dict) else None
    violations = Draft202012Validator(schema.get("schema_definition", schema)).iter_errors(gold)
    return (
        len(counted),
        int((counted["gold_state"] == "present").sum()),
        len(cited) if isinstance(cited, list) else None,
        sum(1 for _ in violations),
    )


def measure_growth_metric(dataset: Dataset) -> int:
    """Count the properties of the definition ``growth_metric`` in the 10-K/Q schema."""
    schema = dataset.schema("10kq")
    return len(schema.get("schema_definition", schema)["$defs"]["growth_metric"]["properties"])


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


@cache
def _shipped() -> Facts:
    return _joined(shipped_statistics(), shipped_schemas(), None)


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
    return _joined(dataset.documents, schema_sizes(dataset), dataset)


def _joined(documents: pd.DataFrame, sizes: pd.DataFrame, dataset: Dataset | None) -> Facts:
    names = ["document", "schema", "pages", "gold_values", "array_items", "fields"]
    frame = documents[[*names, "gold_tokens", "pdf_tokens"]]
    frame = frame.merge(gold_figures(dataset), on=["document", "schema"])
    frame.insert(1, "domain", frame["schema"].map(DOMAIN_OF_SCHEMA).astype(object))
    by_domain = sizes.set_index(sizes["schema"].map(DOMAIN_OF_SCHEMA)).loc[list(DOMAINS)]
    source = "shipped statistics" if dataset is None else f"dataset {dataset.name!r}"
    growth = _GROWTH_METRIC if dataset is None else measure_growth_metric(dataset)
    keys, depth = (dict(zip(DOMAINS, by_domain[n], strict=True)) for n in ("keys", "depth"))
    return Facts(frame, keys, depth, growth, source)
