"""How complex documents are: schema breadth and depth, length, output volume, fields."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Literal, NamedTuple

import pandas as pd

from extractbench_nb.benchmark.published import DOMAIN_OF_SCHEMA, rows_of
from extractbench_nb.core import pair_up
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
    count_gold,
    shipped_schemas,
    shipped_statistics,
    shipped_table,
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
        One row per document, or one row per schema of the dataset (the paper's domains). A single
        schema is always one row.

    Returns
    -------
    pandas.DataFrame
        For a dataset the columns of `COMPLEXITY_COLUMNS` or `DOMAIN_COLUMNS`, for a schema keys and
        depth. ``attrs["source"]`` names what was measured: ``"shipped statistics"``, the dataset's
        name or ``"schema"``. Tokens are GPT-2 tokens; a PDF of scanned pages has none. Figures of a
        missing or broken file are NA, and not part of totals and averages.

    Raises
    ------
    InputError
        If `by` is neither ``"document"`` nor ``"domain"``.
    DatasetError
        If a schema file of the dataset cannot be read.
    SchemaError
        If a schema cannot be used.

    Notes
    -----
    Tables 1, 2 and 6 and Figure 2 of the ExtractBench paper. No single definition
    reproduces its column `Fields`; see `field_definitions`.

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
        sizes = [schema_complexity(ds_or_schema.schema(s)) for s in ds_or_schema.schemas["schema"]]
        keys, depth = [size.keys for size in sizes], [size.depth for size in sizes]
        documents = ds_or_schema.documents
        schemas = ds_or_schema.schemas.assign(keys=keys, depth=depth)
    if by == "domain":
        frame = DOMAIN_COLUMNS.from_rows(
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


def _domain_row(schema: Any, group: pd.DataFrame) -> tuple[Any, ...]:
    averaged = (group[name].dropna() for name in _AVERAGED)
    means = (int(values.sum()) / len(values) if len(values) else None for values in averaged)
    both = group.dropna(subset=["pdf_tokens", "gold_tokens"])
    gold_tokens = int(both["gold_tokens"].sum())
    return (
        *(schema.domain, schema.schema, len(group), int(group["pages"].notna().sum())),
        *(schema.keys, schema.depth, int(group["pages"].sum()), int(group["gold_values"].sum())),
        *means,
        int(both["pdf_tokens"].sum()) / gold_tokens if gold_tokens else None,
    )


FIELD_COLUMNS = FrameSpec(
    "field_definitions",
    "one row per definition and schema",
    (
        Column("definition", "string", "short name of the definition"),
        Column("counts", "string", "what it counts in a document"),
        SCHEMA,
        Column("documents", "int64", "documents counted", "1 and up"),
        Column("mean", "Float64", "average per document", "any"),
        Column("published", "Float64", "Table 6, where the paper has the schema", "", True),
        Column("difference", "Float64", "mean - published", "", True),
        Column("matches", "boolean", "equal after rounding to one decimal", "", True),
    ),
)


class _Value(NamedTuple):
    """A value of a document with its path, ``[]`` for any index, and what contains it."""

    path: tuple[str, ...]
    value: Any
    in_array: bool
    is_item: bool
    of_first_item: bool


#: What `Fields` may count: name and meaning of each candidate.
DEFINITIONS: Mapping[str, str] = {
    "leaves_outside": "leaf values that no array holds",
    "leaves_outside_not_null": "leaf values that no array holds, without nulls",
    "leaves_and_arrays_outside": "leaf values that no array holds, and such arrays",
    "members_outside": "members of objects that no array holds, containers included",
    "top_members": "members of the document itself",
    "leaves": "leaf values anywhere",
    "leaf_members": "leaf values that are members of an object",
    "leaves_less_items": "leaf values less array items",
    "leaf_paths": "paths of leaf values, indices left out",
    "leaf_member_paths": "paths of leaf values that are members of an object, indices left out",
    "leaf_member_paths_not_null": "the same without nulls",
    "declared_leaf_member_paths": "the same, declared by the schema",
    "leaf_member_names": "names of members that hold leaf values",
    "first_items": "leaf values that are members, in the first item of each array only",
    "schema_keys": "keys of the schema",
    "schema_keys_outside": "keys of the schema that no array holds",
    "schema_keys_less_arrays": "keys of the schema less its arrays",
    "scored": "scored fields, arrays included",
    "scored_no_arrays": "scored fields, arrays left out",
    "scored_no_arrays_present": "scored fields with a gold value, arrays left out",
}


def count_fields(gold: Any, schema: Any) -> dict[str, int]:
    """Count the fields of one document by every definition of `DEFINITIONS`.

    Examples
    --------
    >>> tags = {"type": "object", "properties": {"tags": {"type": "array"}}}
    >>> count_fields({"tags": ["a", "b"]}, tags)["leaves"]
    2
    """
    counts, values = count_gold(gold), list(_values(gold))
    leaves = [v for v in values if not isinstance(v.value, dict | list)]
    members = [v for v in values if v.path and not v.is_item]
    outside = [v for v in values if not v.in_array]
    leaf_members = [v for v in leaves if v.path and not v.is_item]
    member_paths = {v.path for v in leaf_members}
    parsed = parse_schema(schema)
    nodes, keys = list(parsed.nodes()), schema_complexity(parsed).keys
    declared = {tuple(re.findall(r"\[\]|[^.\[\]]+", node.field)) for node in nodes}
    scored = pair_up(parsed.root, gold, gold)
    scalars = [point for point in scored if point.node.kind != "array"]
    return {
        "leaves_outside": counts.fields,
        "leaves_outside_not_null": sum(not v.in_array and v.value is not None for v in leaves),
        "leaves_and_arrays_outside": sum(not isinstance(v.value, dict) for v in outside),
        "members_outside": sum(not v.in_array for v in members),
        "top_members": sum(len(v.path) == 1 for v in members),
        "leaves": counts.gold_values,
        "leaf_members": len(leaf_members),
        "leaves_less_items": counts.gold_values - counts.array_items,
        "leaf_paths": len({v.path for v in leaves}),
        "leaf_member_paths": len(member_paths),
        "leaf_member_paths_not_null": len({v.path for v in leaf_members if v.value is not None}),
        "declared_leaf_member_paths": len(member_paths & declared),
        "leaf_member_names": len({path[-1] for path in member_paths}),
        "first_items": sum(v.of_first_item for v in leaf_members),
        "schema_keys": keys,
        "schema_keys_outside": keys_outside_arrays(parsed),
        "schema_keys_less_arrays": keys - sum(node.kind == "array" for node in nodes),
        "scored": len(scored),
        "scored_no_arrays": len(scalars),
        "scored_no_arrays_present": sum(
            isinstance(point.gold, str | bool | int | float) for point in scalars
        ),
    }


#: Table 6 prints one decimal: half a unit of it, and a little more for halves rounded either way.
_ROUNDING = 0.0501


def field_definitions(ds: Dataset | None = None) -> pd.DataFrame:
    """Compare candidate definitions of the paper's column `Fields` (Table 6) with its values.

    No definition reproduces more than two of the five published averages. These reproduce one
    each: leaf values outside arrays, the definition of this package (credit, 11.2); paths of
    members with leaf values (research, 10.3); keys of the schema outside arrays, although four of
    the five released documents do not have them (sports, 4.0); keys of the schema without its
    arrays (10-K/Q, 317.0). No definition gives the 8.9 of resumes.

    Parameters
    ----------
    ds : Dataset, optional
        A dataset to count. By default the shipped counts of the released dataset.

    Returns
    -------
    pandas.DataFrame
        One row per definition and schema (see `FIELD_COLUMNS`). ``attrs["source"]`` names what was
        counted.

    Raises
    ------
    DatasetError
        If a schema or gold file of `ds` cannot be read.

    Examples
    --------
    >>> tried = field_definitions()
    >>> int(tried.groupby("definition")["matches"].sum().max())
    2
    """
    shipped = "benchmark/data/fields.csv"
    counts = shipped_table(shipped) if ds is None else _count_dataset(ds)
    printed = {f.row: f.value for f in rows_of("6") if f.column == "fields"}
    rows = []
    for name, meaning in DEFINITIONS.items():
        for schema_id, values in counts.groupby("schema", sort=False)[name]:
            schema = str(schema_id)
            mean = int(values.sum()) / len(values)
            published = printed.get(DOMAIN_OF_SCHEMA.get(schema, ""))
            difference = None if published is None else mean - published
            matches = None if difference is None else abs(difference) < _ROUNDING
            row = (name, meaning, schema, len(values), mean, published, difference, matches)
            rows.append(row)
    frame = FIELD_COLUMNS.from_rows(rows)
    frame.attrs["source"] = _SHIPPED if ds is None else ds.name
    return frame


def _count_dataset(ds: Dataset) -> pd.DataFrame:
    pairs = list(zip(ds.listing["document"], ds.listing["schema"], strict=True))
    schemas = {schema: parse_schema(ds.schema(schema)) for _, schema in pairs}
    rows = [
        {"document": document, "schema": schema} | count_fields(ds.gold(document), schemas[schema])
        for document, schema in pairs
    ]
    return pd.DataFrame(rows, columns=["document", "schema", *DEFINITIONS])


def _values(gold: Any) -> Iterator[_Value]:
    """Yield a document's values, containers included."""
    stack = [_Value((), gold, in_array=False, is_item=False, of_first_item=True)]
    while stack:
        parent = stack.pop()
        yield parent
        if isinstance(parent.value, dict):
            for key, value in parent.value.items():
                path = (*parent.path, key)
                stack.append(_Value(path, value, parent.in_array, False, parent.of_first_item))
        elif isinstance(parent.value, list):
            path = (*parent.path, "[]")
            for index, value in enumerate(parent.value):
                first = parent.of_first_item and index == 0
                stack.append(_Value(path, value, True, True, first))


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
    return SchemaComplexity(_count(nodes), max(node.depth for node in nodes))


def keys_outside_arrays(schema: SchemaSource) -> int:
    """Count the keys of a schema that are outside all arrays.

    Examples
    --------
    >>> tags = {"type": "array", "items": {"type": "string"}}
    >>> keys_outside_arrays({"type": "object", "properties": {"tags": tags, "date": {}}})
    1
    """
    return _count(list(parse_schema(schema).nodes()), into_arrays=False)


def _count(nodes: list[Node], *, into_arrays: bool = True) -> int:
    """Return the number of keys of the first node; in `nodes` parents come before children."""
    keys: dict[int, int] = {}
    for node in reversed(nodes):
        left_out = not into_arrays and _is_array(node)
        keys[id(node)] = 0 if left_out else _keys(node, keys)
    return keys[id(nodes[0])]


def _is_array(node: Node) -> bool:
    """Whether a node is an array wherever it is not null."""
    if node.kind != "union":
        return node.kind == "array"
    branches = [b.kind for b in node.children.branches if b.kind != "null"]
    return bool(branches) and set(branches) == {"array"}


def _keys(node: Node, counted: Mapping[int, int]) -> int:
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
    return keys or int(node.config is not None or node.kind in _SCORED_WITHOUT_CONFIG)


#: Values of any type are scored by the type they have.
_SCORED_WITHOUT_CONFIG = ("any",)
