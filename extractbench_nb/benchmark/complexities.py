"""How complex a dataset's documents are: schema breadth and depth, length, and output volume."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal, NamedTuple

import pandas as pd

from extractbench_nb._frames import Column, FrameSpec
from extractbench_nb.benchmark.dataset import Dataset
from extractbench_nb.benchmark.statistics import shipped_schemas, shipped_statistics
from extractbench_nb.errors import InputError, nearest
from extractbench_nb.schema.complexity import SchemaComplexity, schema_complexity
from extractbench_nb.schema.nodes import Schema

__all__ = ["COMPLEXITY_COLUMNS", "DOMAIN_COLUMNS", "SCHEMA_SIZE_COLUMNS", "complexity"]


_KEYS = Column("keys", "int64", "scored leaves of the schema", "0 and up")
_DEPTH = Column("depth", "int64", "deepest nesting of the schema", "0 and up")

COMPLEXITY_COLUMNS = FrameSpec(
    "complexity",
    "one row a document, ordered by domain, schema and document",
    (
        Column("document", "string", "document id"),
        Column("domain", "string", "name of the domain folder"),
        Column("schema", "string", "schema id"),
        _KEYS,
        _DEPTH,
        Column("pages", "Int64", "pages of the PDF", "1 and up", True),
        Column("gold_values", "Int64", "leaf values of gold, nulls included", "0 and up", True),
        Column("gold_tokens", "Int64", "GPT-2 tokens of the gold file", "0 and up", True),
        Column("fields", "Int64", "leaf values of gold that no array holds", "0 and up", True),
        Column("array_items", "Int64", "items of gold's arrays, nested ones too", "0 and up", True),
        Column("pdf_tokens", "Int64", "GPT-2 tokens of the PDF's text layer", "0 and up", True),
        Column("compression", "Float64", "pdf_tokens / gold_tokens", "0 and up", True),
    ),
)

DOMAIN_COLUMNS = FrameSpec(
    "domain_complexity",
    "one row a schema, which is what the paper calls a domain, ordered by domain and schema",
    (
        Column("domain", "string", "name of the domain folder"),
        Column("schema", "string", "schema id"),
        Column("documents", "int64", "documents", "0 and up"),
        Column("with_pdf", "int64", "documents whose PDF could be read", "0 to documents"),
        _KEYS,
        _DEPTH,
        Column("pages", "Int64", "pages of all readable PDFs", "0 and up"),
        Column("gold_values", "Int64", "leaf values of all golds", "0 and up"),
        Column("mean_pages", "Float64", "average over readable PDFs", "1 and up", True),
        Column("mean_gold_tokens", "Float64", "average a document", "0 and up", True),
        Column("mean_fields", "Float64", "average a document", "0 and up", True),
        Column("mean_array_items", "Float64", "average a document", "0 and up", True),
        Column("mean_pdf_tokens", "Float64", "average over readable PDFs", "0 and up", True),
        Column("compression", "Float64", "PDF tokens / gold tokens, both readable", "", True),
    ),
)

SCHEMA_SIZE_COLUMNS = FrameSpec("schema_size", "one row: the schema", (_KEYS, _DEPTH))

_SHIPPED = "shipped statistics"


class _Measured(NamedTuple):
    """What is known of a dataset: a frame of its documents, and the size of each schema."""

    documents: pd.DataFrame
    domains: Mapping[str, str]
    sizes: Mapping[str, SchemaComplexity]
    source: str


def complexity(
    ds_or_schema: Dataset | Schema | Mapping[str, Any] | str | Path | None = None,
    *,
    by: Literal["document", "domain"] = "document",
) -> pd.DataFrame:
    """Measure how complex a dataset or a schema is.

    Parameters
    ----------
    ds_or_schema : Dataset, Schema, dict, str or pathlib.Path, optional
        A dataset, or a schema as `parse_schema` takes it. By default the released ExtractBench
        dataset, from shipped statistics: the dataset itself is not needed.
    by : {"document", "domain"}, optional
        One row per document, or one a schema of the dataset, which is what the paper calls a
        domain. A schema of its own is one row in any case.

    Returns
    -------
    pandas.DataFrame
        Of a dataset: see `COMPLEXITY_COLUMNS` and `DOMAIN_COLUMNS`. Of a schema: keys and depth.
        ``attrs["source"]`` says what was measured: ``"shipped statistics"``, the dataset's name or
        ``"schema"``. Tokens are GPT-2's; a PDF of scanned pages has none. What a missing or broken
        file would tell is missing, and left out of totals and averages.

    Raises
    ------
    InputError
        If `by` is something else.
    DatasetError
        If a schema file of the dataset cannot be read.
    SchemaError
        If a schema cannot be used.

    Notes
    -----
    Tables 1, 2 and 6 and Figure 2 of the ExtractBench paper. Its `Fields` follow no one
    definition; see `field_definitions`.

    Examples
    --------
    >>> domains = complexity(by="domain").set_index("schema")
    >>> domains.loc["credit_agreement", ["keys", "depth", "pages"]].tolist()
    [13, 3, 1368]
    >>> complexity({"type": "object", "properties": {"name": {"type": "string"}}})
       keys  depth
    0     1      1
    """
    if by not in _VIEWS:
        raise InputError(f"by={by!r}: {nearest(by, _VIEWS)}")
    if ds_or_schema is not None and not isinstance(ds_or_schema, Dataset):
        return _of_schema(ds_or_schema)
    measured = _shipped() if ds_or_schema is None else _measured(ds_or_schema)
    frame = _VIEWS[by](measured)
    frame.attrs["source"] = measured.source
    return frame


def _of_schema(schema: Schema | Mapping[str, Any] | str | Path) -> pd.DataFrame:
    size = schema_complexity(schema)
    frame = SCHEMA_SIZE_COLUMNS.build({"keys": [size.keys], "depth": [size.depth]})
    frame.attrs["source"] = "schema"
    return frame


def _shipped() -> _Measured:
    table = shipped_schemas()
    sizes = map(SchemaComplexity, table["keys"], table["depth"])
    domains = dict(zip(table["schema"], table["domain"], strict=True))
    return _Measured(
        shipped_statistics(), domains, dict(zip(table["schema"], sizes, strict=True)), _SHIPPED
    )


def _measured(ds: Dataset) -> _Measured:
    schemas = ds.schemas
    sizes = {schema: schema_complexity(ds.schema(schema)) for schema in schemas["schema"]}
    domains = dict(zip(schemas["schema"], schemas["domain"], strict=True))
    return _Measured(ds.documents, domains, sizes, ds.name)


def _by_document(measured: _Measured) -> pd.DataFrame:
    documents = measured.documents
    sizes = [measured.sizes[schema] for schema in documents["schema"]]
    tokens = documents["gold_tokens"]
    columns = documents.assign(
        keys=[size.keys for size in sizes],
        depth=[size.depth for size in sizes],
        compression=documents["pdf_tokens"] / tokens.mask(tokens == 0),
    )
    return columns[COMPLEXITY_COLUMNS.names].astype(_SIZE_TYPES)


_SIZE_TYPES = {"keys": "int64", "depth": "int64", "compression": "Float64"}


def _by_domain(measured: _Measured) -> pd.DataFrame:
    documents = measured.documents
    rows = [
        _domain_row(
            measured.domains[schema], schema, size, documents[documents["schema"] == schema]
        )
        for schema, size in measured.sizes.items()
    ]
    cells = zip(*rows, strict=True) if rows else ((),) * len(DOMAIN_COLUMNS.columns)
    return DOMAIN_COLUMNS.build(dict(zip(DOMAIN_COLUMNS.names, cells, strict=True)))


def _domain_row(
    domain: str, schema: str, size: SchemaComplexity, own: pd.DataFrame
) -> tuple[Any, ...]:
    both = own.dropna(subset=["pdf_tokens", "gold_tokens"])
    gold_tokens = int(both["gold_tokens"].sum())
    return (
        domain,
        schema,
        len(own),
        int(own["pages"].notna().sum()),
        *size,
        int(own["pages"].sum()),
        int(own["gold_values"].sum()),
        *(_mean(own[name]) for name in _AVERAGED),
        int(both["pdf_tokens"].sum()) / gold_tokens if gold_tokens else None,
    )


_AVERAGED = ("pages", "gold_tokens", "fields", "array_items", "pdf_tokens")


def _mean(values: pd.Series[Any]) -> float | None:
    known = values.dropna()
    return int(known.sum()) / len(known) if len(known) else None


_VIEWS: Mapping[str, Callable[[_Measured], pd.DataFrame]] = MappingProxyType(
    {"document": _by_document, "domain": _by_domain}
)
