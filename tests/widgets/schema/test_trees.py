"""The view model of the schema's tree: nodes, counts, and which rows count for which node."""

from __future__ import annotations

from typing import Any

import pandas as pd
import pytest

import extractbench_nb as xb
from extractbench_nb.views.schema_view import schema_tree, tallies

SCHEMA: dict[str, Any] = {
    "type": "object",
    "required": ["name"],
    "properties": {
        "name": {
            "type": "string",
            "evaluation_config": "string_exact",
            "description": "Full\nname",
        },
        "a.b": {"type": ["integer", "null"]},
        "people": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {
                    "n": {"type": "string", "evaluation_config": "string_exact"},
                    "kids": {"type": "array", "items": {"$ref": "#/$defs/Kid"}},
                },
            },
        },
        "address": {"$ref": "#/$defs/Address"},
    },
    "$defs": {
        "Address": {"type": "object", "properties": {"city": {"type": "string"}}},
        "Kid": {
            "type": "object",
            "properties": {
                "n": {"type": "string", "evaluation_config": "string_exact"},
                "kids": {"type": "array", "items": {"$ref": "#/$defs/Kid"}},
            },
        },
    },
}
GOLD: dict[str, Any] = {
    "name": "Ada",
    "a.b": 1,
    "people": [{"n": "x", "kids": [{"n": "y", "kids": [{"n": "z"}]}]}],
    "address": {"city": "Bern"},
}


def nodes(source: object = None) -> dict[str, Any]:
    return {node.field: node for node in schema_tree(xb.schema.parse_schema(SCHEMA), source)}


def test_the_tree_has_the_nodes_of_the_frame_in_its_order() -> None:
    schema = xb.schema.parse_schema(SCHEMA)
    assert [n.path for n in schema_tree(schema)] == schema.to_frame()["schema_path"].tolist()


@pytest.mark.parametrize(
    "field, notes",
    [
        ("$", ("12 nodes",)),
        ("name", ("required", "string_exact")),
        ("address", ("1 node", "→ #/$defs/Address")),
        ("people", ("7 nodes", "array_llm")),
        ("people[].kids[].kids[]", ("↻ #/$defs/Kid",)),
    ],
)
def test_notes_say_what_a_reader_looks_for(field: str, notes: tuple[str, ...]) -> None:
    assert nodes()[field].notes == notes


def test_rows_count_for_their_node_and_all_above() -> None:
    predicted = GOLD | {"name": "Bob", "address": {}}
    found = nodes(xb.evaluate(SCHEMA, GOLD, predicted))
    assert found["name"].counts == (("incorrect", 1),)
    assert found["address"].counts == (("omission", 1),)
    assert found["people"].counts == (("correct", 3),)  # the names of three people
    assert found["$"].counts == (("correct", 4), ("incorrect", 1), ("omission", 1))
    assert found["$"].score == pytest.approx(4 / 6)
    found = nodes(xb.evaluate(SCHEMA, GOLD, predicted, profile="paper"))
    assert found["people"].counts == (("correct", 1),)  # the array itself is what counts
    assert found["$"].counts == (("correct", 2), ("incorrect", 1), ("omission", 1))
    assert found["$"].score == 0.5


def test_rows_below_a_recursive_node_count_for_it() -> None:
    found = nodes(xb.evaluate(SCHEMA, GOLD, GOLD))
    assert ("correct", 1) in found["people[].kids[].kids[]"].counts  # …kids[].kids[].n


def test_undeclared_values_count_for_the_root() -> None:
    ev = xb.evaluate(SCHEMA, GOLD, GOLD | {"more": 1}, profile="strict")
    assert dict(nodes(ev)["$"].counts)["hallucination"] == 1


def test_a_node_without_a_verdict_has_no_score() -> None:
    frame = xb.evaluate(SCHEMA, GOLD, GOLD).fields
    frame["score"] = None
    assert tallies({"$", "$.properties.name"}, frame)["$"][0] is None


def results_of(*schemas: dict[str, Any]) -> Any:
    """Each schema with one document: the first all right, the others all wrong."""
    rows = []
    for at, schema in enumerate(schemas):
        gold = dict.fromkeys(schema["properties"], "right")
        said = gold if at == 0 else dict.fromkeys(gold, "nothing of it")
        fields = xb.evaluate(schema, gold, said).fields
        rows.append(fields.assign(run="r", document=f"d{at}", schema=f"s{at}"))
    return pd.concat(rows, ignore_index=True)


def of_texts(*names: str) -> dict[str, Any]:
    text = {"type": "string", "evaluation_config": "string_exact"}
    return {"type": "object", "properties": dict.fromkeys(names, text)}


def test_rows_of_other_schemas_do_not_count() -> None:
    ours, theirs = of_texts("title", "year"), of_texts("title", "venue")
    tree = schema_tree(xb.schema.parse_schema(ours), results_of(ours, theirs))
    assert {node.field: node.score for node in tree} == {"$": 1.0, "title": 1.0, "year": 1.0}


@pytest.mark.parametrize(
    "names, message",
    [
        (("other",), r"'s0', 's1'; 0 of them fit"),
        (("title", "venue", "year"), r"'s0', 's1'; 2 of them fit"),
    ],
)
def test_results_that_do_not_tell_their_schema_are_refused(
    names: tuple[str, ...], message: str
) -> None:
    frame = results_of(of_texts("title", "year"), of_texts("title", "venue"))
    with pytest.raises(xb.InputError, match=message):
        schema_tree(xb.schema.parse_schema(of_texts(*names)), frame)
    one = frame[frame["schema"] == "s0"]
    if "title" in names:
        assert schema_tree(xb.schema.parse_schema(of_texts(*names)), one)[0].score == 1.0


def test_an_evaluation_of_another_schema_is_refused() -> None:
    ev = xb.evaluate(of_texts("a"), {"a": "x"}, {"a": "x"})
    with pytest.raises(xb.InputError, match="of another schema"):
        schema_tree(xb.schema.parse_schema(of_texts("b")), ev)


def test_the_sample_runs_show_each_schema_with_its_own_rows() -> None:
    ds = xb.load_dataset()
    evs = xb.evaluate_runs(ds, progress=False)
    for name, rows in evs.fields[evs.fields["counted"]].groupby("schema"):
        root = schema_tree(xb.schema.parse_schema(ds.schema(name)), evs)[0]
        assert sum(n for _, n in root.counts) == len(rows)
        assert root.score == pytest.approx(rows["score"].mean())
