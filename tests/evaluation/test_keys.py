"""Items with equal keys are paired, whatever their similarity."""

from __future__ import annotations

import random
from typing import Any

import pytest

import extractbench_nb as xb

EXACT = {"type": "string", "evaluation_config": "string_exact"}
ITEM = {
    "type": "object",
    "properties": {"name": {"type": "string"}, "code": EXACT, "a": EXACT, "b": EXACT, "c": EXACT},
}


def schema(key: Any = None, **params: Any) -> dict[str, Any]:
    params |= {} if key is None else {"key": key}
    config = {"metric_id": "array_llm", "params": params}
    rows = {"type": "array", "items": ITEM, "evaluation_config": config}
    return {"type": "object", "properties": {"rows": rows}}


def row(letters: str, **values: Any) -> dict[str, Any]:
    return values | dict(zip("abc", letters, strict=True))


def pairs(ev: xb.core.Evaluation) -> list[tuple[int, int, str]]:
    found = ev.matches.dropna(subset=["gold_index", "predicted_index"])
    columns = (found[name].tolist() for name in ("gold_index", "predicted_index", "status"))
    return list(zip(*columns, strict=True))


JANE = {"name": "Jane Q. Doe"}
CASES: dict[str, tuple[Any, list[Any], list[Any], list[tuple[int, int, str]]]] = {
    "unlike in all else": (
        "code", [row("xyz", code="1"), row("uvw", code="2")],
        [row("abc", code="2"), row("def", code="1")], [(0, 1, "differing"), (1, 0, "differing")],
    ),
    "alone": ("code", [row("xyz", code="1")], [row("abc", code="1")], [(0, 0, "differing")]),
    "by the metric of the field": (
        "name", [row("xyz", **JANE), row("uvw", name="Ann")],
        [row("abc", name="Zoe"), row("def", name="J. Q. Doe")], [(0, 1, "differing")],
    ),
    "the same JSON before the metric": (
        "name", [row("xyz", **JANE)], [row("xyz", name="J. Q. Doe"), row("abc", **JANE)],
        [(0, 1, "differing")],
    ),
    "the most similar of several": (
        "code", [row("xyz", code="1")], [row("abc", code="1"), row("xyz", code="1")],
        [(0, 1, "matched")],
    ),
    "as many as there are": (
        "code", [row("xyz", code="1"), row("uvw", code="1")],
        [row("uvz", code="1"), row("abc", code="1")], [(0, 1, "differing"), (1, 0, "differing")],
    ),
    "absent": ("code", [row("xyz"), row("uvw", code="1")], [row("xyz"), row("abc", code="1")],
               [(0, 0, "matched"), (1, 1, "differing")]),
    "null": ("code", [row("xyz", code=None)], [row("abc", code=None)], []),
    "no partner": ("code", [row("xyz", code="1")], [row("xyz", code="2")], [(0, 0, "differing")]),
    "composite": (
        ["name", "code"], [row("xyz", name="Ann", code="1"), row("uvw", name="Ann", code="2")],
        [row("abc", name="Ann", code="2"), row("def", name="Ann", code="1")],
        [(0, 1, "differing"), (1, 0, "differing")],
    ),
    "half of a composite": (
        ["name", "code"], [row("xyz", name="Ann", code="1")], [row("abc", name="Ann", code="9")],
        [],
    ),
}  # fmt: skip


@pytest.mark.parametrize("profile", ["paper", "strict"])
@pytest.mark.parametrize("key, gold, predicted, expected", CASES.values(), ids=CASES)
def test_keys(key: Any, gold: Any, predicted: Any, expected: Any, profile: str) -> None:
    ev = xb.evaluate(schema(key), {"rows": gold}, {"rows": predicted}, profile=profile)
    assert pairs(ev) == expected


def test_without_keys_unlike_items_are_apart() -> None:
    ev = xb.evaluate(schema(), {"rows": [row("xyz", code="1")]}, {"rows": [row("abc", code="1")]})
    assert pairs(ev) == []


def test_many_keys_in_any_order() -> None:
    rng = random.Random(1)
    names = [f"{first} {last}" for first in ("Ann", "Bob", "Eve") for last in "ABCDEFGHIJKLMNOPQ"]
    gold = [row("xyz", name=f"{name}son", code=str(i)) for i, name in enumerate(names * 4)]
    predicted = [(i, row("abc", name=item["name"].upper(), code=item["code"]))
                 for i, item in enumerate(gold)]  # fmt: skip
    rng.shuffle(predicted)
    documents = {"rows": gold}, {"rows": [item for _, item in predicted]}
    for key in ("code", ["name", "code"]):
        found = pairs(xb.evaluate(schema(key), *documents))
        assert {(i, predicted[j][0]) for i, j, _ in found} == {(i, i) for i in range(len(gold))}


@pytest.mark.parametrize("key", ["cod", ["code", "nothing"], 3, [], [1]])
def test_bad_keys(key: Any) -> None:
    rows = {"rows": [row("xyz", code="1"), row("uvw", code="2")]}
    with pytest.raises(xb.ConfigError, match="#/properties/rows"):
        xb.evaluate(schema(key), rows, {"rows": [row("abc", code="1")]})


def test_the_pairs_of_a_matcher_stand() -> None:
    rows = {"rows": [row("xyz", code="1")]}, {"rows": [row("abc", code="2")]}
    ev = xb.evaluate(schema(), *rows, alignment=lambda gold, predicted, node: [(0, 0)])
    assert pairs(ev) == [(0, 0, "differing")]
