"""What is known of each domain: the dataset's figures, added up from one row a document."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

import pandas as pd

from extractbench_nb.benchmark.dataset import Dataset
from extractbench_nb.benchmark.paper.measures import (
    measure_gold,
    measure_growth_metric,
    shipped_gold,
)
from extractbench_nb.benchmark.paper.names import DOMAINS, SCHEMAS
from extractbench_nb.benchmark.statistics import shipped_schemas, shipped_statistics
from extractbench_nb.errors import InputError
from extractbench_nb.schema.complexity import schema_complexity

__all__ = ["Facts", "facts_of"]

SHIPPED = "shipped statistics"

#: Fields of the definition ``growth_metric`` in the released 10-K/Q schema.
_GROWTH_METRIC = 8


@dataclass(frozen=True)
class Facts:
    """Figures by domain.

    Attributes
    ----------
    frame : pandas.DataFrame
        One row a document: document, domain (the paper's), pages, gold_values, array_items, fields,
        gold_tokens, pdf_tokens, scored, scored_released, present, citations, violations.
    keys, depth : mapping of str to int
        By domain, of the schema.
    growth_metric : int
        Properties of the definition that Figure 1 shows.
    source : str
        ``"shipped statistics"`` or the dataset's name.
    """

    frame: pd.DataFrame
    keys: Mapping[str, int]
    depth: Mapping[str, int]
    growth_metric: int
    source: str

    @property
    def documents(self) -> dict[str, int]:
        """Number of documents by domain."""
        return {domain: int((self.frame["domain"] == domain).sum()) for domain in DOMAINS}

    @property
    def scored(self) -> dict[str, int]:
        """Scored fields a document, by domain."""
        return {domain: int(self.of(domain, "scored").max()) for domain in DOMAINS}

    @property
    def scored_released(self) -> dict[str, int]:
        """Fields a document that the published package scores, by domain."""
        return {domain: int(self.of(domain, "scored_released").max()) for domain in DOMAINS}

    def of(self, domain: str, column: str) -> pd.Series[Any]:
        """Return a column of one domain's documents; a document without PDF has no pages."""
        return self.frame.loc[self.frame["domain"] == domain, column]

    def total(self, domain: str, column: str) -> float | None:
        """Return a domain's total; None where a document's figure is unknown."""
        values = self.of(domain, column)
        return None if values.isna().any() else float(values.sum())

    def mean(self, domain: str, column: str) -> float | None:
        """Return a domain's average a document; None where a document's figure is unknown."""
        total = self.total(domain, column)
        return None if total is None else total / len(self.of(domain, column))

    def figure(self, domain: str, name: str) -> float | None:
        """Return a domain's documents, keys or depth, or an average a document.

        Parameters
        ----------
        domain : str
            One of the paper's domains.
        name : str
            ``documents``, ``keys``, ``depth``, ``pages``, ``tokens``, ``fields`` or
            ``array_items``.

        Returns
        -------
        float or None
            None where a document's figure is unknown.
        """
        own = {"documents": self.documents, "keys": self.keys, "depth": self.depth}
        if name in own:
            return own[name][domain]
        return self.mean(domain, "gold_tokens" if name == "tokens" else name)


def facts_of(dataset: Dataset | None = None) -> Facts:
    """Gather the figures of a dataset.

    Parameters
    ----------
    dataset : Dataset, optional
        The released dataset, read and counted anew. The shipped statistics by default.

    Returns
    -------
    Facts
        By domain.

    Raises
    ------
    InputError
        The dataset lacks one of the paper's schemas.
    """
    return _shipped() if dataset is None else _measured(dataset)


@cache
def _shipped() -> Facts:
    sizes = shipped_schemas().set_index("schema")[["keys", "depth"]].to_dict("index")
    return Facts(
        _joined(shipped_statistics(), shipped_gold()),
        {domain: sizes[schema]["keys"] for domain, schema in SCHEMAS.items()},
        {domain: sizes[schema]["depth"] for domain, schema in SCHEMAS.items()},
        _GROWTH_METRIC,
        SHIPPED,
    )


def _measured(dataset: Dataset) -> Facts:
    _check_schemas(dataset)
    sizes = {d: schema_complexity(dataset.schema(s)) for d, s in SCHEMAS.items()}
    return Facts(
        _joined(dataset.documents, measure_gold(dataset)),
        {domain: size.keys for domain, size in sizes.items()},
        {domain: size.depth for domain, size in sizes.items()},
        measure_growth_metric(dataset),
        f"dataset {dataset.name!r}",
    )


def _check_schemas(dataset: Dataset) -> None:
    found, wanted = set(dataset.schemas["schema"]), set(SCHEMAS.values())
    if found != wanted:
        raise InputError(
            f"dataset {dataset.name!r} has the schemas {', '.join(sorted(found))}: the paper's "
            f"tables need those of the released one, {', '.join(sorted(wanted))}"
        )


def _joined(statistics: pd.DataFrame, gold: pd.DataFrame) -> pd.DataFrame:
    domain_of = {schema: domain for domain, schema in SCHEMAS.items()}
    names = ["document", "schema", "pages", "gold_values", "array_items", "fields"]
    counted = statistics[[*names, "gold_tokens", "pdf_tokens"]]
    frame = counted.merge(gold, on=["document", "schema"])
    frame.insert(1, "domain", [domain_of[schema] for schema in frame["schema"]])
    return frame
