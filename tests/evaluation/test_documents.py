"""Copies of documents: the fast way for plain JSON gives what the careful way gives."""

from __future__ import annotations

from collections import OrderedDict
from decimal import Decimal
from random import Random
from typing import Any

import pandas as pd
import pytest

import extractbench_nb as xb
from extractbench_nb import InputError
from extractbench_nb.core import evaluation as api
from extractbench_nb.core import values as _json
from extractbench_nb.core.evaluation import refuse_non_json
from extractbench_nb.core.values import plain_levels, private_copy


class Text(str):
    __slots__ = ()


ODD = [(1, 2), Decimal(1), b"x", Text("s"), OrderedDict(b=[1]), {1}, object]


def document(rng: Random, depth: int, *, odd: bool) -> Any:
    kind = rng.random()
    if depth and kind < 0.3:
        keys = [3, None, Text("q")] if odd and rng.random() < 0.1 else "abcdef"
        entries = range(rng.randrange(4))
        return {rng.choice(keys): document(rng, depth - 1, odd=odd) for _ in entries}
    if depth and kind < 0.55:
        return [document(rng, depth - 1, odd=odd) for _ in range(rng.randrange(4))]
    return rng.choice(ODD) if odd and kind < 0.6 else rng.choice([1, 2.5, "x", None, True])


def looked_at(value: Any) -> list[str]:
    """What comes of a document: its copy, and its levels or why it is refused."""
    found = []
    for step in (private_copy, refuse_non_json, lambda v: refuse_non_json(v, "predicted")):
        try:
            found.append(repr(step(value)))
        except InputError as error:
            found.append(str(error))
    return found


@pytest.mark.parametrize("odd", [False, True])
def test_both_ways_agree(odd: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = Random(3)
    documents = [document(rng, 5, odd=odd) for _ in range(500)]
    shared: list[Any] = [[1], {"a": [2]}]
    documents += [shared * 2, {"a": shared, "b": shared}]
    fast = [looked_at(value) for value in documents]
    assert odd or all(plain_levels([value]) is not None for value in documents)
    for module in (_json, api):
        monkeypatch.setattr(module, "plain_levels", lambda *_, **__: None)
    assert fast == [looked_at(value) for value in documents]


def test_a_copy_shares_nothing() -> None:
    inner = [1]
    copy = private_copy({"a": inner, "b": {"c": inner}})
    inner.append(2)
    assert copy == {"a": [1], "b": {"c": [1]}}
    copy["a"].append(3)
    assert copy["b"] == {"c": [1]}


def test_a_document_inside_itself_is_refused() -> None:
    value: dict[str, Any] = {"a": [1]}
    value["b"] = [value]
    with pytest.raises(InputError, match="circular"):
        private_copy(value)


def test_levels_are_counted_however_many() -> None:
    value: Any = 1
    for levels in range(1, 801):
        value = [value] if levels % 2 else {"a": value}
        if levels % 200 == 0:
            assert refuse_non_json(value) == levels


OBJECT = {"type": "object", "properties": {"a": {"type": "string"}}}
MISTAKES: dict[str, tuple[Any, Any]] = {
    "schema and gold swapped": ({"a": "x"}, OBJECT),
    "gold as schema": ({"title": "Paper", "authors": []}, {"title": "Paper", "authors": []}),
    "an invoice as schema": ({"items": [{"description": "Pen", "price": 1}], "total": 1}, OBJECT),
    "several documents": (OBJECT, [{"a": "x"}, {"a": "y"}]),
    "no gold": (OBJECT, None),
    "a file name as gold": (OBJECT, "gold.json"),
    "a file name as schema": ("schema.json", {"a": "x"}),
}
LEGAL: dict[str, tuple[Any, Any]] = {
    **{
        f"an open schema: {schema}": (schema, {"a": "x"})
        for schema in (
            {},
            {"title": "Anything"},
            {"description": "anything", "x-note": 1},
            {"evaluation_config": "string_exact"},
            {"$schema": "https://json-schema.org/draft/2020-12/schema", "version": 1},
            {"not": {"type": "string"}},
            {"required": ["a"]},
            {"$defs": {"b": {"type": "string"}}},
            {"if": {"required": ["b"]}, "then": {"minProperties": 2}},
        )
    },
    "a document with properties": (OBJECT, {"a": "x", "properties": {}}),
    "an array at the root": ({"type": "array", "items": OBJECT}, [{"a": "x"}]),
    "null at the root": ({"type": ["object", "null"], **OBJECT, "nullable": True}, None),
    "gold of another type": (OBJECT, ["x"]),
}


@pytest.mark.parametrize("schema, gold", MISTAKES.values(), ids=MISTAKES)
def test_a_mistake_is_no_score(schema: Any, gold: Any) -> None:
    with pytest.raises(xb.ExtractBenchError):
        xb.evaluate(schema, gold, gold)


def test_gold_as_schema_is_refused_in_a_batch() -> None:
    gold = {"a": "x", "b": 1}
    row = {"run": "r", "document": "d", "schema": gold, "gold": gold, "predicted": gold}
    with pytest.raises(xb.SchemaError, match=r"found the keys 'a', 'b'.* is this a document"):
        xb.evaluate_runs(pd.DataFrame([row]), progress=False)


@pytest.mark.parametrize("schema, gold", LEGAL.values(), ids=LEGAL)
def test_unusual_documents_are_no_mistake(schema: Any, gold: Any) -> None:
    assert xb.evaluate(schema, gold, gold).summary["pass_rate"] == 1


def test_a_value_that_is_no_json_stops_no_evaluation() -> None:
    ev = xb.evaluate(OBJECT, {"a": "x"}, {"a": {"x"}})
    assert "not_json" in set(ev.warnings["kind"])
    assert ev.summary["pass_rate"] == 0


def test_a_metric_that_changes_its_values_changes_no_document() -> None:
    @xb.metric("empties", applies_to="array")
    def empties(gold: Any, predicted: Any) -> bool:
        gold.clear()
        return bool(predicted.clear())

    tags = {"type": "array", "evaluation_config": "empties"}
    document = {"tags": ["x"]}
    ev = xb.evaluate({"type": "object", "properties": {"tags": tags}}, document, document)
    xb.core.unregister("empties")
    assert ev.fields.loc[0, ["gold", "predicted"]].tolist() == [["x"], ["x"]]
