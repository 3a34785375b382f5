"""The corruption does what the benchmarks say it does. Nothing is timed here."""

import copy
import random

import pytest

from tests.benchmarks.workloads import citation_objects, corrupted, edited, leaves, nested


def test_shares():
    gold = {"rows": [{"a": f"text {i}", "b": i, "c": None} for i in range(2000)]}
    before = copy.deepcopy(gold)
    found = corrupted(gold, random.Random(1))
    assert gold == before
    assert found == corrupted(gold, random.Random(1))
    rows = found["rows"]
    assert sum(map(len, rows)) == pytest.approx(6000 * 0.9, rel=0.02)
    texts = {row["a"] for row in gold["rows"]}
    changed = [row["a"] for row in rows if "a" in row and row["a"] not in texts]
    assert len(changed) == pytest.approx(2000 * 0.9 * 0.1, rel=0.2)
    assert [row.get("b") for row in rows] != sorted(row.get("b", 0) for row in rows)
    assert all(isinstance(row.get("b", 0), int) for row in rows)


def test_required_keys_stay_outside_arrays():
    gold = {"kept": 1, "rows": [{"kept": 1}] * 500}
    for seed in range(50):
        found = corrupted(gold, random.Random(seed), kept=frozenset({"kept"}))
        assert found["kept"] == 1
    assert {} in found["rows"]


@pytest.mark.parametrize("text", ["", "x", "two words", "a longer text of seven words here"])
def test_every_edit_is_one(text):
    found = [edited(text, random.Random(seed)) for seed in range(200)]
    assert text not in found
    assert all(found)


def test_every_object_is_edited():
    items = citation_objects(50)
    gold, predicted = items.case.gold["items"], items.case.predicted["items"]
    assert all(
        gold[i]["title"] != p["title"] for i, p in zip(items.origins, predicted, strict=True)
    )


def test_every_leaf_is_changed():
    case = nested(5, 3, lambda rng: f"leaf {rng.randrange(10**6)}")
    gold, predicted = set(leaves(case.gold)), list(leaves(case.predicted))
    assert len(predicted) == 243
    assert not gold.intersection(predicted)
