"""How complex documents and schemas are; figures of the released dataset by domain."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any, Literal, NamedTuple

import pandas as pd

from extractbench_nb.benchmark.published import DOMAIN_OF_SCHEMA, DOMAINS, SCHEMAS
from extractbench_nb.core import evaluate
from extractbench_nb.core.frames import Column, FrameSpec
from extractbench_nb.core.schema import Node, SchemaSource, parse_schema
from extractbench_nb.errors import InputError, nearest
from extractbench_nb.runs import (
    DEPTH,
    DOCUMENT,
    DOMAIN,
    KEYS,
    SCHEMA,
    STATISTICS,
    Dataset,
    shipped_frame,
    shipped_schemas,
    shipped_statistics,
)

_STATISTICS = {column.name: column for column in STATISTICS}
_AVERAGED = ("pages", "gold_tokens", "fields", "array_items", "pdf_tokens")

COMPLEXITY_COLUMNS = FrameSpec(
    "complexity",
    "one row per document, ordered by domain, schema and document",
    (
        *(DOCUMENT, DOMAIN, SCHEMA, KEYS, DEPTH),
        *(_STATISTICS[name] for name in ("pages", "gold_values", "gold_tokens")),
        *(_STATISTICS[name] for name in ("fields", "array_items", "pdf_tokens")),
        Column("compression", "Float64", "pdf_tokens / gold_tokens", "0 and up", True),
    ),
)

DOMAIN_COLUMNS = FrameSpec(
    "domain_complexity",
    "one row per schema (a domain in the paper), ordered by domain and schema",
    (
        *(DOMAIN, SCHEMA),
        Column("documents", "int64", "documents", "0 and up"),
        Column("with_pdf", "int64", "documents whose PDF could be read", "0 to documents"),
        *(KEYS, DEPTH),
        Column("pages", "Int64", "pages of all readable PDFs", "0 and up"),
        Column("gold_values", "Int64", "leaf values in all gold documents", "0 and up"),
        Column("mean_pages", "Float64", "average over readable PDFs", "1 and up", True),
        Column("mean_gold_tokens", "Float64", "average per document", "0 and up", True),
        Column("mean_fields", "Float64", "average per document", "0 and up", True),
        Column("mean_array_items", "Float64", "average per document", "0 and up", True),
        Column("mean_pdf_tokens", "Float64", "average over readable PDFs", "0 and up", True),
        Column("compression", "Float64", "PDF tokens / gold tokens, both readable", "", True),
    ),
)

SCHEMA_SIZE_COLUMNS = FrameSpec("schema_size", "one row: the schema", (KEYS, DEPTH))

_SHIPPED = "shipped statistics"
_VIEWS = ("document", "domain")


def complexity(
    ds_or_schema: Dataset | SchemaSource | None = None,
    *,
    by: Literal["document", "domain"] = "document",
) -> pd.DataFrame:
    """Measure how complex a dataset or a schema is.

    Parameters
    ----------
    ds_or_schema : Dataset, Schema, dict, str or pathlib.Path, optional
        A dataset, or a schema in a form that `parse_schema` accepts. By default the released
        ExtractBench dataset, from shipped statistics: the dataset itself is not needed.
    by : {"document", "domain"}, optional
        One row per document, or one row per schema of the dataset (the paper's domains).

    Returns
    -------
    pandas.DataFrame
        For a dataset the columns of `COMPLEXITY_COLUMNS` or `DOMAIN_COLUMNS`, for a schema one row
        with keys and depth. ``attrs["source"]`` names what was measured. Tokens are GPT-2 tokens.
        Figures of a missing or broken file, and tokens of a PDF without text, are NA and not part
        of totals and averages.

    Raises
    ------
    InputError
        If `by` is neither ``"document"`` nor ``"domain"``.
    DatasetError, SchemaError
        If a schema cannot be read or used.

    Notes
    -----
    Tables 1, 2 and 6 and Figure 2 of the ExtractBench paper. Its column `Fields` has no definition:
    here it counts leaf values outside arrays.

    Examples
    --------
    >>> domains = complexity(by="domain").set_index("schema")[["keys", "depth", "pages"]]
    >>> domains.loc["credit_agreement"].tolist()
    [13, 3, 1368]
    >>> complexity({"type": "object", "properties": {"name": {"type": "string"}}})
       keys  depth
    0     1      1
    """
    if by not in _VIEWS:
        raise InputError(f"by={by!r}: {nearest(by, _VIEWS)}")
    if ds_or_schema is not None and not isinstance(ds_or_schema, Dataset):
        frame = SCHEMA_SIZE_COLUMNS.from_rows([schema_complexity(ds_or_schema)])
        frame.attrs["source"] = "schema"
        return frame
    if ds_or_schema is None:
        documents, schemas = shipped_statistics(), shipped_schemas()
    else:
        documents, schemas = ds_or_schema.documents, schema_sizes(ds_or_schema)
    if by == "domain":
        frame = DOMAIN_COLUMNS.from_records(
            _domain_row(row, documents[documents["schema"] == row.schema])
            for row in schemas.itertuples(index=False)
        )
    else:
        tokens = documents["gold_tokens"]
        sized = schemas.set_index("schema")
        frame = documents.assign(
            keys=documents["schema"].map(sized["keys"]),
            depth=documents["schema"].map(sized["depth"]),
            compression=documents["pdf_tokens"] / tokens.mask(tokens == 0),
        )[COMPLEXITY_COLUMNS.names]
        frame = frame.astype({"keys": "int64", "depth": "int64", "compression": "Float64"})
    frame.attrs["source"] = _SHIPPED if ds_or_schema is None else ds_or_schema.name
    return frame


def schema_sizes(dataset: Dataset) -> pd.DataFrame:
    """Return the schemas of a dataset with their keys and depth."""
    sizes = [schema_complexity(dataset.schema(name)) for name in dataset.schemas["schema"]]
    return pd.concat([dataset.schemas, pd.DataFrame(sizes)], axis=1)


def _domain_row(schema: Any, group: pd.DataFrame) -> dict[str, Any]:
    both = group.dropna(subset=["pdf_tokens", "gold_tokens"])
    read, gold = int(both["pdf_tokens"].sum()), int(both["gold_tokens"].sum())
    return {
        **schema._asdict(),
        "documents": len(group),
        "with_pdf": int(group["pages"].notna().sum()),
        "pages": int(group["pages"].sum()),
        "gold_values": int(group["gold_values"].sum()),
        **{f"mean_{n}": group[n].mean() if group[n].notna().any() else None for n in _AVERAGED},
        "compression": read / gold if gold else None,
    }


# --- keys and depth -------------------------------------------------------------------------------


class SchemaComplexity(NamedTuple):
    """Scored leaves of a schema, and the deepest nesting of a node; the root has depth 0."""

    keys: int
    depth: int


def schema_complexity(schema: SchemaSource) -> SchemaComplexity:
    """Return the number of keys of a schema and the depth of its deepest node.

    Examples
    --------
    >>> tags = {"type": "array", "items": {"type": "string"}}
    >>> date = {"anyOf": [{"type": "string"}, {"type": "integer"}, {"type": "null"}]}
    >>> schema_complexity({"type": "object", "properties": {"tags": tags, "date": date}})
    SchemaComplexity(keys=2, depth=2)
    """
    nodes = list(parse_schema(schema).nodes())
    keys: dict[int, int] = {}
    for node in reversed(nodes):  # children before their parents
        keys[id(node)] = keys_of(node, keys)
    return SchemaComplexity(keys[id(nodes[0])], max(node.depth for node in nodes))


def keys_of(node: Node, counted: Mapping[int, int]) -> int:
    """Return the keys of a node from those of its children, which are known by their ids."""
    if node.config is not None and node.config.skip:
        return 0
    items = node.children.items
    if isinstance(node.keywords.get("items"), Mapping):
        items = None  # declared, as the other children are
    children = (child for child in node.children if items is None or child is not items)
    below = [counted[id(child)] for child in children if id(child) in counted]
    if node.recursive and not below:  # not unfolded again
        return 0
    keys = max(below, default=0) if node.kind == "union" else sum(below)
    # values of any type are scored by the type they have
    return keys or int(node.config is not None or node.kind == "any")


GOLD_COLUMNS = FrameSpec(
    "gold",
    "one row per document of the released dataset",
    (
        Column("document", "string", "document id"),
        Column("schema", "string", "schema id"),
        Column("scored", "int64", "fields that are scored under the paper's rules", "1 and up"),
        Column("present", "int64", "scored fields with a gold value", "0 to scored"),
        Column("citations", "Int64", "items in `citations`; otherwise missing", "0 and up", True),
        Column("violations", "int64", "violations of the document's own schema", "0 and up"),
    ),
)


def gold_figures(dataset: Dataset | None = None) -> pd.DataFrame:
    """Count the scored fields, citations and schema violations in each gold document.

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
