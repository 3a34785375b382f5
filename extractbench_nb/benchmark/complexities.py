"""How complex documents are: schema breadth and depth, length, output volume."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, NamedTuple

import pandas as pd

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
    "one row per schema, which is what the paper calls a domain, ordered by domain and schema",
    (
        *(DOMAIN, SCHEMA),
        Column("documents", "int64", "documents", "0 and up"),
        Column("with_pdf", "int64", "documents whose PDF could be read", "0 to documents"),
        *(KEYS, DEPTH),
        Column("pages", "Int64", "pages of all readable PDFs", "0 and up"),
        Column("gold_values", "Int64", "leaf values of all golds", "0 and up"),
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
        A dataset, or a schema as `parse_schema` takes it. By default the released ExtractBench
        dataset, from shipped statistics: the dataset itself is not needed.
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
