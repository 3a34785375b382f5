"""Alignment against brute force over all assignments; shuffles; large arrays; ties."""

from __future__ import annotations

import copy
import itertools
import random
import string
import tracemalloc
from collections.abc import Callable
from typing import Any

import pytest

import extractbench_nb as xb
from tests.waiting import calls_of

#: With this threshold every pair keeps its similarity, however low it is.
ALWAYS = {"metric_id": "array_llm", "params": {"align_threshold": 0.0}}


def arr(items: Any) -> dict[str, Any]:
    return {"type": "array", "items": items, "evaluation_config": ALWAYS}


def obj(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties}


EXACT = {"type": "string", "evaluation_config": "string_exact"}
FUZZY = {"type": "string", "evaluation_config": "string_fuzzy"}
NUMBER = {"type": "number"}
INNER = obj(x=EXACT, y={"type": "integer"})
KINDS: dict[str, Any] = {
    "flat objects": obj(a=EXACT, b=NUMBER, c=FUZZY),
    "semantic objects": obj(a={"type": "string"}, b=NUMBER),
    "fuzzy scalars": FUZZY,
    "exact scalars": EXACT,
    "numbers": NUMBER,
    "arrays of scalars": obj(a=EXACT, t=arr(EXACT)),
    "arrays of objects": obj(a=EXACT, t=arr(INNER)),
    "arrays of arrays": arr(arr(EXACT)),
    "nullable": obj(a={"anyOf": [EXACT, {"type": "null"}]}, b={"type": ["integer", "null"]}),
}


def word(rng: random.Random) -> str:
    return "".join(rng.choice("abc") for _ in range(rng.randint(1, 4)))


def value(schema: Any, rng: random.Random) -> Any:
    """Make a random document; few different values, so that there are ties and near misses."""
    if "anyOf" in schema or isinstance(schema["type"], list):
        if rng.random() < 0.3:
            return None
        return word(rng) if "anyOf" in schema else rng.randint(0, 2)
    if schema["type"] == "object":
        return {
            name: value(part, rng)
            for name, part in schema["properties"].items()
            if rng.random() < 0.9
        }
    if schema["type"] == "array":
        return [value(schema["items"], rng) for _ in range(rng.randint(0, 3))]
    if schema["type"] == "number":
        return rng.choice([0, 1, 1.0005, 2, 100, 100.05])
    return rng.randint(0, 2) if schema["type"] == "integer" else word(rng)


def pairwise(items: Any, gold: list[Any], predicted: list[Any]) -> list[list[tuple[bool, float]]]:
    """Whether two items match, and their similarity, each evaluated as an array of one."""
    schema = {"type": "object", "additionalProperties": arr(items)}
    ours = {f"{i}-{j}": [g] for i, g in enumerate(gold) for j in range(len(predicted))}
    theirs = {f"{i}-{j}": [p] for i in range(len(gold)) for j, p in enumerate(predicted)}
    rows = xb.evaluate(schema, ours, theirs).matches.groupby("path").first()
    found = [[rows.loc[f"$['{i}-{j}']"] for j in range(len(predicted))] for i in range(len(gold))]
    return [[(r["status"] == "matched", float(r["similarity"])) for r in row] for row in found]


def brute_force(worth: list[list[tuple[bool, float]]], least: float) -> tuple[int, float]:
    """Matched pairs and total similarity of the best of all assignments.

    Pairs that do not match and are less similar than `least` take no part.
    """
    worth = [
        [pair if pair[0] or pair[1] >= least else (False, 0.0) for pair in row] for row in worth
    ]
    if len(worth) > len(worth[0]):
        worth = [list(column) for column in zip(*worth, strict=True)]
    return max(
        (
            sum(worth[i][j][0] for i, j in enumerate(chosen)),
            round(sum(worth[i][j][1] for i, j in enumerate(chosen)), 9),
        )
        for chosen in itertools.permutations(range(len(worth[0])), len(worth))
    )


@pytest.mark.parametrize("least", [0.0, 0.2, 0.5])
@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("kind", KINDS)
def test_brute_force(kind: str, seed: int, least: float) -> None:
    rng = random.Random(f"{kind}{seed}")
    items = KINDS[kind]
    array = arr(items)
    if least:
        params = {} if least == 0.5 else {"align_threshold": least}  # 0.5 by default
        array["evaluation_config"] = {"metric_id": "array_llm", "params": params}
    schema = xb.schema.parse_schema(obj(r=array))
    gold = [value(items, rng) for _ in range(rng.randint(1, 6))]
    predicted = [value(items, rng) for _ in range(rng.randint(1, 6))]
    for i in range(min(len(gold), len(predicted))):
        if rng.random() < 0.4:
            predicted[i] = copy.deepcopy(gold[i])
    rng.shuffle(predicted)
    worth = pairwise(items, gold, predicted)
    ev = xb.evaluate(schema, {"r": gold}, {"r": predicted})
    top = ev.matches[ev.matches["path"] == "$.r"]
    pairs = top.dropna(subset=["gold_index", "predicted_index"])
    total = round(float(pairs["similarity"].sum()), 9)
    matched, similarity = brute_force(worth, least)
    assert ev.arrays.loc[0, "matched"] == matched
    assert total == pytest.approx(similarity, abs=1e-6)
    for row in pairs.itertuples():
        ours = worth[row.gold_index][row.predicted_index]
        assert (row.status == "matched", row.similarity) == (ours[0], pytest.approx(ours[1]))


def shuffled(document: Any, rng: random.Random) -> Any:
    if isinstance(document, dict):
        return {k: shuffled(v, rng) for k, v in document.items()}
    if isinstance(document, list):
        items = [shuffled(v, rng) for v in document]
        rng.shuffle(items)
        return items
    return document


SCORES = ["matched", "missed", "spurious", "differing", "score"]


def outcome(ev: Any) -> tuple[Any, ...]:
    arrays = ev.arrays.groupby("field", sort=True)[SCORES].sum().astype(float).round(9)
    statuses = ev.matches.groupby("status").size().to_dict()
    outcomes = ev.fields.groupby(["field", "outcome"]).size().to_dict()
    summary = {name: round(float(entry), 12) for name, entry in ev.summary.items()}
    return summary, arrays.to_numpy().tolist(), statuses, outcomes


@pytest.mark.parametrize("profile", ["paper", "strict"])
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("kind", KINDS)
def test_shuffling_at_any_depth_changes_no_score(kind: str, seed: int, profile: str) -> None:
    rng = random.Random(f"shuffle{kind}{seed}")
    items = KINDS[kind]
    schema = xb.schema.parse_schema(obj(r=arr(items)))
    gold = {"r": [value(items, rng) for _ in range(6)]}
    predicted = {"r": [value(items, rng) for _ in range(7)]}
    expected = outcome(xb.evaluate(schema, gold, predicted, profile=profile))
    for _ in range(3):
        ev = xb.evaluate(schema, shuffled(gold, rng), shuffled(predicted, rng), profile=profile)
        assert outcome(ev)[:3] == expected[:3]


def test_ties_go_by_canonical_json_not_by_position() -> None:
    schema = xb.schema.parse_schema(obj(r=arr(obj(a=EXACT, b=EXACT))))
    gold = {"r": [{"a": "1", "b": "2"}]}
    items = [{"a": "1", "b": text} for text in "zxy"]
    chosen = set()
    for order in itertools.permutations(items):
        ev = xb.evaluate(schema, gold, {"r": list(order)})
        chosen.add(str(ev.matches.loc[0, "predicted"]))
    assert len(chosen) == 1


@pytest.mark.parametrize("profile", ["paper", "strict"])
def test_an_item_that_fits_nowhere_takes_no_partner_away(profile: str) -> None:
    """Pairs below ``align_threshold`` once took part in the assignment, and were then dropped."""
    items = obj(**{name: {"type": "integer"} for name in "abcdef"})
    rows = [dict(zip("abcdef", row, strict=True)) for row in (
        (2, 1, 0, 0, 2, 2), (1, 2, 0, 0, 0, 2), (0, 1, 0, 0, 1, 1), (2, 0, 1, 2, 2, 0)
    )]  # fmt: skip
    schema = obj(r={"type": "array", "items": items})
    alone, both = (
        xb.evaluate(schema, {"r": rows[:2]}, {"r": predicted}, profile=profile)
        for predicted in (rows[2:3], rows[2:])
    )
    pairs = [ev.arrays.loc[0, "differing"] for ev in (alone, both)]
    assert pairs == [1, 1]


def test_more_similarity_goes_before_more_pairs() -> None:
    """One pair that has 9 of 10 fields in common is better than two that have 3."""
    items = obj(**{f"f{n}": {"type": "integer"} for n in range(10)})
    array = {**arr(items), "evaluation_config": {
        "metric_id": "array_llm", "params": {"align_threshold": 0.2}}}  # fmt: skip
    rows = [{f"f{n}": int(digit) for n, digit in enumerate(digits)} for digits in
            ("0000000000", "0005555555", "0000000001", "7777000777")]  # fmt: skip
    ev = xb.evaluate(obj(r=array), {"r": rows[:2]}, {"r": rows[2:]})
    pairs = ev.matches.dropna(subset=["gold_index", "predicted_index"])
    assert pairs["similarity"].tolist() == [0.9]


DUPLICATES = [("aabb", "ab", 2, 2, 0), ("ab", "aabb", 2, 0, 2), ("aaa", "aa", 2, 1, 0),
              ("abab", "baba", 4, 0, 0), ("aab", "abb", 2, 0, 0)]  # fmt: skip


@pytest.mark.parametrize("gold, predicted, matched, missed, spurious", DUPLICATES)
@pytest.mark.parametrize("items", [EXACT, obj(k=EXACT)], ids=["scalars", "objects"])
def test_duplicates(
    gold: str, predicted: str, matched: int, missed: int, spurious: int, items: Any
) -> None:
    def make(letters: str) -> dict[str, Any]:
        return {"r": [c if items is EXACT else {"k": c} for c in letters]}

    ev = xb.evaluate(obj(r=arr(items)), make(gold), make(predicted))
    assert ev.arrays.loc[0, ["matched", "missed", "spurious"]].tolist() == [
        matched, missed, spurious,
    ]  # fmt: skip


def test_more_matched_pairs_go_before_more_similarity() -> None:
    """One match and a poor pair are better than two near misses of greater total similarity."""
    items = obj(a=EXACT, b=EXACT, c=EXACT)
    gold = [{"a": "1", "b": "1", "c": "1"}, {"a": "1", "b": "1", "c": "2"}]
    predicted = [{"a": "1", "b": "1", "c": "2"}, {"a": "9", "b": "9", "c": "2"}]
    ev = xb.evaluate(obj(r=arr(items)), {"r": gold}, {"r": predicted})
    assert ev.matches["status"].tolist() == ["differing", "matched"]


DEPTH = 5


def nest(depth: int) -> Any:
    schema: Any = obj(v=EXACT)
    for _ in range(depth):
        schema = obj(c=arr(schema))
    return schema


def tree(depth: int, path: str = "") -> Any:
    if depth == 0:
        return {"v": path}
    return {"c": [tree(depth - 1, path + letter) for letter in "xyz"]}


def edit_leaves(node: Any, change: Callable[[str], str]) -> Any:
    if "v" in node:
        return {"v": change(node["v"])}
    return {"c": [edit_leaves(child, change) for child in node["c"]]}


def test_243_leaves_nested_five_arrays_deep() -> None:
    schema, gold = xb.schema.parse_schema(nest(DEPTH)), tree(DEPTH)
    rng = random.Random(5)
    ev = xb.evaluate(schema, gold, shuffled(gold, rng))
    assert ev.summary["overall_score"] == 1
    assert len(ev.fields) == 243 + 1 + 3 + 9 + 27 + 81
    changed = edit_leaves(gold, lambda v: v if v[-1] == "x" else v + "!")
    predicted = shuffled(changed, rng)
    ev, calls = calls_of(lambda: xb.evaluate(schema, gold, predicted))
    assert calls < 1_000_000, "400,000 with imports; all 9 ** 5 pairs would be millions"
    leaves = ev.fields[ev.fields["field"].str.endswith(".v")]
    assert leaves["outcome"].value_counts().to_dict() == {"correct": 81, "incorrect": 162}
    for row in leaves[leaves["outcome"] == "correct"].itertuples():
        assert row.gold == row.predicted
    inner = ev.arrays[ev.arrays["path"].str.count("c") == DEPTH]
    assert inner["matched"].tolist() == [1] * 81


def record(rng: random.Random, i: int) -> dict[str, Any]:
    letters = string.ascii_lowercase
    words = ["".join(rng.choices(letters, k=rng.randint(3, 9))) for _ in range(8)]
    return {
        "title": " ".join(words),
        "year": rng.randint(1950, 2025),
        "pages": round(rng.random() * 900, 1),
        "authors": [{"name": f"{w.title()} {words[0].title()}"} for w in words[:3]],
        "id": f"ref-{i:04d}",
    }


RECORD = obj(
    title=FUZZY,
    year={"type": "integer"},
    pages=NUMBER,
    authors=arr(obj(name=FUZZY)),
    id=EXACT,
)
EDITS: dict[str, Callable[[dict[str, Any]], dict[str, Any]]] = {
    "nothing": lambda r: r,
    "id": lambda r: {**r, "id": "ref-none"},
    "title typo": lambda r: {**r, "title": r["title"][1:] + "e"},
    "year dropped": lambda r: {k: v for k, v in r.items() if k != "year"},
    "author dropped": lambda r: {**r, "authors": r["authors"][1:]},
    "two fields": lambda r: {**r, "pages": r["pages"] + 50, "id": "ref-none"},
}


def test_large_array_recovers_a_known_permutation() -> None:
    rng = random.Random(11)
    gold = [record(rng, i) for i in range(300)]
    kept = rng.sample(range(300), 270)
    names = list(EDITS)
    predicted = [(i, EDITS[names[n % len(names)]](gold[i])) for n, i in enumerate(kept)]
    predicted += [(-1, record(rng, 5_000 + n)) for n in range(10)]
    rng.shuffle(predicted)
    schema = xb.schema.parse_schema(obj(r={"type": "array", "items": RECORD}))
    tracemalloc.start()
    ev, calls = calls_of(lambda: xb.evaluate(schema, {"r": gold}, {"r": [p for _, p in predicted]}))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    top = ev.matches[ev.matches["path"] == "$.r"]
    pairs = top[top["status"].isin(["matched", "differing"])]
    truth = {i: j for j, (i, _) in enumerate(predicted) if i >= 0}
    assert dict(zip(pairs["gold_index"], pairs["predicted_index"], strict=True)) == truth
    row = ev.arrays.iloc[0]
    assert row[["gold_items", "predicted_items"]].tolist() == [300, 280]
    assert row[["matched", "differing"]].sum() == 270
    # of each six edits three still match: nothing, a typo, and two of three authors (F1 is 0.8)
    assert row["matched"] == 135
    assert calls < 1_500_000, "700,000 as it is; all pairs of fields would be 10 times as many"
    assert peak < 200_000_000


def test_large_array_shuffled_changes_no_score() -> None:
    rng = random.Random(12)
    gold = {"r": [record(rng, i) for i in range(90)]}
    predicted = {"r": [EDITS[list(EDITS)[i % 6]](r) for i, r in enumerate(gold["r"])]}
    schema = xb.schema.parse_schema(obj(r={"type": "array", "items": RECORD}))
    expected = outcome(xb.evaluate(schema, gold, predicted))
    for _ in range(2):
        ev = xb.evaluate(schema, shuffled(gold, rng), shuffled(predicted, rng))
        assert outcome(ev)[:3] == expected[:3]


def test_large_array_of_texts() -> None:
    rng = random.Random(13)
    gold = [record(rng, i)["title"] for i in range(400)]
    predicted = [t if i % 10 else t.replace(t.split()[3], "zzz") for i, t in enumerate(gold)]
    order = rng.sample(range(400), 400)
    schema = xb.schema.parse_schema(obj(r={"type": "array", "items": EXACT}))
    ev = xb.evaluate(schema, {"r": gold}, {"r": [predicted[i] for i in order]})
    assert ev.arrays.loc[0, ["matched", "missed", "spurious"]].tolist() == [360, 40, 40]
