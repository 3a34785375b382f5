"""Keys and depth of schemas, complexity of datasets, and what `Fields` may have counted."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from extractbench_nb import InputError, SchemaError, load_dataset
from extractbench_nb.benchmark.complexities import (
    COMPLEXITY_COLUMNS,
    DOMAIN_COLUMNS,
    complexity,
    schema_complexity,
)
from extractbench_nb.core.schema import parse_schema
from extractbench_nb.runs.dataset import EXTRACTBENCH_VARIABLE
from scripts.field_definitions import COUNTS, count_dataset, field_definitions

needs_dataset = pytest.mark.skipif(
    not os.environ.get(EXTRACTBENCH_VARIABLE),
    reason=f"the published dataset is not here: set {EXTRACTBENCH_VARIABLE} to its folder",
)

TEXT = {"type": "string"}
SKIP = {"type": "string", "evaluation_config": "skip"}
TREE = {"$defs": {"t": {"type": "object", "properties": {"name": TEXT, "below": {
    "type": "array", "items": {"$ref": "#/$defs/t"}}}}}, "$ref": "#/$defs/t"}  # fmt: skip
LOOP = {"$defs": {"a": {"type": "object", "properties": {"b": {"$ref": "#/$defs/b"}}},
                  "b": {"type": "object", "properties": {"a": {"$ref": "#/$defs/a"}, "c": TEXT}}},
        "$ref": "#/$defs/a"}  # fmt: skip
SHARED = {"$defs": {"d": {"type": "object", "properties": {"x": TEXT, "y": TEXT}}},
          "properties": {"one": {"$ref": "#/$defs/d"}, "two": {"$ref": "#/$defs/d"}},
          "type": "object"}  # fmt: skip


def an_object(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties}


def an_array(items: Any) -> dict[str, Any]:
    return {"type": "array", "items": items}


# --- schemas -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "schema, keys, depth",
    [
        (TEXT, 1, 0),
        (SKIP, 0, 0),
        ({"type": "null"}, 0, 0),
        ({}, 1, 0),
        ({"type": "object"}, 0, 0),
        ({"type": "array"}, 1, 1),
        (an_object(a=TEXT, b=TEXT), 2, 1),
        (an_object(a=TEXT, b=SKIP, c=an_object()), 1, 1),
        (an_array(TEXT), 1, 1),
        (an_array(an_object(a=TEXT, b=TEXT)), 2, 2),
        (an_array(an_array(an_array(TEXT))), 1, 3),
        ({**an_array(an_object(a=TEXT)), "evaluation_config": "skip"}, 0, 2),
        ({"type": "array", "prefixItems": [TEXT, an_object(a=TEXT, b=TEXT)]}, 3, 2),
        ({"type": "array", "prefixItems": [TEXT, TEXT], "items": False}, 2, 1),
        (an_array({}), 1, 1),
        ({"type": "object", "additionalProperties": True}, 1, 1),
        ({"type": "object", "additionalProperties": {}}, 1, 1),
        ({"type": "object", "additionalProperties": an_object(a=TEXT, b=TEXT)}, 2, 2),
        ({"anyOf": [TEXT, {"type": "integer"}, {"type": "null"}]}, 1, 0),
        ({"type": ["string", "integer", "null"]}, 1, 0),
        ({"anyOf": [an_object(a=TEXT, b=TEXT), an_object(c=TEXT), TEXT]}, 2, 1),
        ({"oneOf": [an_array(TEXT), an_object(a=an_object(b=TEXT))]}, 1, 2),
        ({"schema_definition": an_object(a=TEXT)}, 1, 1),
        (SHARED, 4, 2),
        (TREE, 2, 2),
        (LOOP, 1, 2),
        ({"$defs": {"t": an_array({"$ref": "#/$defs/t"})}, "$ref": "#/$defs/t"}, 1, 1),
    ],
)
def test_schema_complexity(schema: dict[str, Any], keys: int, depth: int) -> None:
    assert schema_complexity(schema) == (keys, depth)


def grown(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """Schemas around schemas, each with its keys and depth."""
    parts = st.lists(inner, min_size=1, max_size=4)
    return st.one_of(
        parts.map(
            lambda found: (
                an_object(**{f"p{i}": part for i, (part, _, _) in enumerate(found)}),
                sum(keys for _, keys, _ in found),
                1 + max(depth for _, _, depth in found),
            )
        ),
        parts.map(
            lambda found: (
                {"anyOf": [part for part, _, _ in found]},
                max(keys for _, keys, _ in found),
                max(depth for _, _, depth in found),
            )
        ),
        inner.map(lambda found: (an_array(found[0]), found[1], 1 + found[2])),
        inner.map(
            lambda found: (
                {"type": "object", "additionalProperties": found[0]},
                found[1],
                1 + found[2],
            )
        ),
    )


scalar_schemas = st.sampled_from(["string", "number", "integer", "boolean"]).map(
    lambda kind: ({"type": kind}, 1, 0)
)


@given(st.recursive(scalar_schemas, grown, max_leaves=12))
def test_complexity_is_what_the_schema_was_made_of(made: tuple[dict[str, Any], int, int]) -> None:
    schema, keys, depth = made
    assert schema_complexity(schema) == (keys, depth)


# Table 1 of the paper.
PUBLISHED = {
    "swimming": (12, 6),
    "credit_agreement": (13, 3),
    "research": (16, 5),
    "resume": (31, 4),
    "10kq": (369, 4),
}


# --- datasets ------------------------------------------------------------------------------


@needs_dataset
@pytest.mark.parametrize("by", ["document", "domain"])
def test_the_dataset_and_its_shipped_figures_agree(by: Any) -> None:
    measured, shipped = complexity(load_dataset("extractbench"), by=by), complexity(by=by)
    assert measured.equals(shipped)
    assert (measured.attrs["source"], shipped.attrs["source"]) == (
        "extractbench",
        "shipped statistics",
    )


def test_domains_of_the_released_dataset() -> None:
    domains = complexity(by="domain").set_index("schema")
    assert {schema: (row["keys"], row["depth"]) for schema, row in domains.iterrows()} == PUBLISHED
    assert domains["documents"].tolist() == [6, 7, 10, 7, 5]
    assert domains["with_pdf"].tolist() == [5, 7, 10, 7, 5]
    assert domains["pages"].tolist() == [106, 422, 1368, 21, 15]
    assert domains["gold_values"].tolist() == [2003, 9071, 269, 1007, 522]
    assert domains["mean_gold_tokens"].round().tolist() == [25370, 24418, 883, 3184, 3416]
    assert domains["mean_array_items"].round(1).tolist() == [310.3, 183.0, 15.7, 43.4, 19.8]
    assert domains["compression"].round(1).tolist() == [2.6, 1.8, 97.5, 0.5, 0.2]


@pytest.mark.parametrize("source", [None, "sample"])
def test_domains_are_the_documents_added_up(source: str | None) -> None:
    measured = load_dataset(source) if source else None
    documents, domains = complexity(measured), complexity(measured, by="domain")
    assert domains["schema"].tolist() == documents["schema"].unique().tolist()
    for row in domains.itertuples():
        own = documents[documents["schema"] == row.schema]
        assert own[["keys", "depth"]].drop_duplicates().values.tolist() == [[row.keys, row.depth]]
        assert row.gold_values == own["gold_values"].sum()
        assert row.mean_fields == pytest.approx(own["fields"].mean())
        assert row.mean_pages * row.with_pdf == pytest.approx(row.pages)
        assert own["compression"].min() <= row.compression <= own["compression"].max()


def test_frames_have_their_declared_dtypes(tmp_path: Path) -> None:
    (tmp_path / "d" / "s").mkdir(parents=True)
    (tmp_path / "d" / "s" / "s-schema.json").write_text('{"type": "string"}')
    empty = load_dataset(tmp_path)
    for spec, frames in (
        (COMPLEXITY_COLUMNS, (complexity(), complexity(empty))),
        (DOMAIN_COLUMNS, (complexity(by="domain"), complexity(empty, by="domain"))),
    ):
        declared = [(column.name, column.dtype) for column in spec.columns]
        for frame in frames:
            assert [(name, str(dtype)) for name, dtype in frame.dtypes.items()] == declared
            assert isinstance(frame.index, pd.RangeIndex)
    assert len(complexity(empty)) == 0
    assert complexity(empty, by="domain")["documents"].tolist() == [0]


def test_what_cannot_be_read_is_missing_and_left_out(tmp_path: Path) -> None:
    folder = tmp_path / "d" / "s"
    (folder / "pdf+gold").mkdir(parents=True)
    (folder / "s-schema.json").write_text('{"type": "string"}')
    (folder / "pdf+gold" / "a.gold.json").write_text('["x", "y"]')
    (folder / "pdf+gold" / "b.gold.json").write_text("{")
    (folder / "pdf+gold" / "b.pdf").write_bytes(b"no PDF")
    dataset = load_dataset(tmp_path)
    assert complexity(dataset)["array_items"].isna().tolist() == [False, True]
    domain = complexity(dataset, by="domain").loc[0]
    assert (domain["documents"], domain["with_pdf"], domain["mean_array_items"]) == (2, 0, 2.0)
    assert domain[["mean_pages", "mean_pdf_tokens", "compression"]].isna().all()


def test_a_schema_of_its_own(tmp_path: Path) -> None:
    frame = complexity(parse_schema(TREE), by="domain")
    assert frame.to_dict("records") == [{"keys": 2, "depth": 2}]
    assert frame.attrs["source"] == "schema"
    (tmp_path / "s.json").write_text('{"type": "array"}')
    assert complexity(tmp_path / "s.json").to_numpy().tolist() == [[1, 1]]
    with pytest.raises(SchemaError):
        complexity({"type": "strnig"})
    with pytest.raises(InputError, match=r"by='domians': did you mean 'domain'"):
        complexity(by="domians")  # type: ignore[arg-type]


# --- fields --------------------------------------------------------------------------------


@needs_dataset
def test_fields_are_counted_as_shipped() -> None:
    counted = count_dataset(load_dataset("extractbench"))
    pd.testing.assert_frame_equal(counted, pd.read_csv(COUNTS))


def test_no_definition_of_a_field_gives_the_papers_column() -> None:
    """What the note of Table 6 and the erratum say."""
    tried = field_definitions(pd.read_csv(COUNTS))
    assert (tried["definition"].nunique(), tried["schema"].nunique()) == (20, 5)
    assert tried.groupby("definition")["matches"].sum().max() == 2
    assert set(tried.loc[tried["matches"], "schema"]) == {*PUBLISHED} - {"resume"}
