"""Large arrays are aligned by an estimate: it must not lose pairs that the metrics would match."""

import datetime as dt
import gc
import random
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import extractbench_nb as xb
from extractbench_nb.core import alignment as assignment
from extractbench_nb.core.evaluation import Run
from extractbench_nb.core.field_metrics import estimates

FIRST = "Anna Bert Carla Dmitri Elena Farid Greta Hugo Ines Jonas".split()
LAST = "Stone Brook Field Hill Wood Marsh Lake Heath Moor Dale".split()
DAYS = [dt.date(1990, 1, 1) + dt.timedelta(days=11 * k) for k in range(400)]

Rewrite = tuple[list[Any], Callable[[Any], Any], dict[str, Any]]

REWRITES: dict[str, Rewrite] = {
    "names": (
        [f"{a} {b}" for a in FIRST for b in LAST],
        lambda name: f"{name.split()[1]}, {name[0]}.",
        {"type": "string"},
    ),
    "long dates": (DAYS, lambda d: d.strftime("%B %d, %Y"), {"type": "string"}),
    "US dates": (DAYS, lambda d: d.strftime("%m/%d/%Y"), {"type": "string"}),
    "dates by metric": (
        DAYS,
        lambda d: d.strftime("%d %b %Y"),
        {"type": "string", "evaluation_config": "date"},
    ),
    "money": (
        [f"${1000 + 7 * k:,}.00" for k in range(400)],
        lambda text: f"USD {text[1:-3].replace(',', '')}",
        {"type": "string"},
    ),
    "numbers": (
        [1000.0 * 1.01**k for k in range(400)],
        lambda n: n * 1.0005,
        {"type": "number"},
    ),
    "wide numbers": (
        [1000.0 * 1.2**k for k in range(60)],
        lambda n: n * 1.04,
        {
            "type": "number",
            "evaluation_config": {"metric_id": "number_tolerance", "params": {"tolerance": 0.05}},
        },
    ),
}


def array_of(items: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": {"a": {"type": "array", "items": items}}}


@pytest.mark.parametrize("size", [20, 40, 60, 100, 400])
@pytest.mark.parametrize("name", REWRITES)
def test_every_rewritten_item_is_found(name: str, size: int) -> None:
    values, rewrite, items = REWRITES[name]
    values = values[:size]
    predicted = [rewrite(v) for v in values]
    random.Random(size).shuffle(predicted)
    gold = [v.isoformat() if isinstance(v, dt.date) else v for v in values]
    ev = xb.evaluate(array_of(items), {"a": gold}, {"a": predicted})
    assert ev.arrays.loc[0, "matched"] == len(gold)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("sparse", [0, 10**6])
@pytest.mark.parametrize("name", ["long dates", "US dates", "names"])
def test_decoys_with_the_text_of_another_item_take_no_partner(
    name: str, sparse: int, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each rewritten item has a decoy that has gold's own text, and another code."""
    monkeypatch.setattr(estimates, "_SPARSE", sparse)
    values, rewrite, text = REWRITES[name]
    values = values[:100]
    texts = [v.isoformat() if isinstance(v, dt.date) else v for v in values]
    gold = [{"text": t, "code": f"c{n}"} for n, t in enumerate(texts)]
    predicted = [{"text": rewrite(v), "code": f"c{n}"} for n, v in enumerate(values)]
    predicted += [{"text": t, "code": f"d{n}"} for n, t in enumerate(texts)]
    for n, side in enumerate((gold, predicted)):
        random.Random(seed + n).shuffle(side)
    code = {"type": "string", "evaluation_config": "string_exact"}
    items = {"type": "object", "properties": {"text": text, "code": code}}
    ev = xb.evaluate(array_of(items), {"a": gold}, {"a": predicted})
    row = ev.arrays.loc[0]
    assert (row["matched"], row["spurious"]) == (100, 100)


@pytest.mark.parametrize("name", ["long dates", "money", "names"])
def test_texts_on_both_sides_of_long_columns_are_estimated_as_in_short_ones(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    values, rewrite, _ = REWRITES[name]
    gold = [str(v) for v in values[:40]]
    predicted = [str(v) if n % 2 else rewrite(v) for n, v in enumerate(values[:60])]
    whole, whole_likely = estimates.judged_texts(gold, predicted, {})
    monkeypatch.setattr(estimates, "_SPARSE", 0)
    similar, likely = estimates.judged_texts(gold, predicted, {})
    ours, theirs = ([text in other for text in side] for side, other in
                    ((gold, predicted), (predicted, gold)))  # fmt: skip
    compared = ~np.logical_and.outer(ours, theirs) | (whole == 1.0)
    assert (similar <= whole).all()
    alike = compared & (whole >= estimates._CUTOFF_OF_MANY)
    assert (similar[alike] == whole[alike]).all()
    assert not similar[~compared].any()
    assert (likely == whole_likely).all()


@pytest.mark.parametrize(
    "gold, predicted, params",
    [
        (1000.0, 1001.0, {}),
        (1000.0, 999.0, {}),
        (-2000.0, -2002.0, {}),
        (4.0, 4.5, {"tolerance": 0.5, "mode": "absolute"}),
        (0.3, 0.4, {"tolerance": 0.1, "mode": "absolute"}),  # farther apart, in binary
    ],
)
def test_a_number_at_its_tolerance_is_a_likely_match(
    gold: float, predicted: float, params: dict[str, Any]
) -> None:
    config = {"metric_id": "number_tolerance", "params": params}
    items = {"type": "number", "evaluation_config": config}
    similar, likely = assignment.estimate(xb.schema.parse_schema(items).root, [gold], [predicted])
    assert (similar.tolist(), likely.tolist()) == ([[1.0]], [[True]])
    assert xb.evaluate(array_of(items), {"a": [gold]}, {"a": [predicted]}).arrays["matched"][0] == 1


@pytest.mark.parametrize("limit", [1, 10_000])
def test_beyond_memory_the_likeliest_are_paired(
    limit: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(assignment, "DENSE_PAIRS", limit)
    values, rewrite, items = REWRITES["numbers"]
    predicted = [rewrite(v) for v in values][::-1]
    ev = xb.evaluate(array_of(items), {"a": values}, {"a": predicted})
    assert ev.arrays.loc[0, "matched"] == len(values)


@pytest.mark.parametrize(
    "gold, predicted, most",
    [
        pytest.param(range(600), range(600, 612), 12 * 6, id="many in gold"),
        pytest.param(range(12), range(12, 612), 12 * 6, id="many predicted"),
        pytest.param([0] * 20, [1] * 20, 1, id="one pair of values"),
    ],
)
def test_few_pairs_are_compared(gold: Any, predicted: Any, most: int) -> None:
    calls = []

    @xb.metric
    def counting(gold: str, predicted: str) -> float:
        calls.append((gold, predicted))
        return 0.0

    words = ["".join(random.Random(n).choices("abcdef", k=12)) for n in range(612)]
    sides = (
        {"a": [{"text": words[k], "n": first + at} for at, k in enumerate(side)]}
        for first, side in ((0, gold), (1000, predicted))
    )
    items = {"type": "object", "properties": {"text": {"type": "string"}, "n": {"type": "integer"}}}
    xb.evaluate(array_of(items), *sides, metrics={"a[].text": counting}, profile="paper")
    assert 0 < len(calls) <= most


def test_a_model_that_loops_costs_only_its_items() -> None:
    gold = [f"{a} {b}" for a in FIRST for b in LAST]
    ev = xb.evaluate(
        array_of({"type": "string"}), {"a": gold}, {"a": gold[:50] + ["again"] * 50_000}
    )
    row = ev.arrays.loc[0]
    assert (row["matched"], row["missed"], row["spurious"]) == (50, 50, 50_000)


ENTRY = {
    "title": {"type": "string", "evaluation_config": "string_semantic"},
    "year": {"type": "integer"},
    "place": {"type": "string", "evaluation_config": "string_fuzzy"},
    "code": {"type": "string", "evaluation_config": "string_exact"},
    "amount": {"type": "number"},
    "names": {"type": "array", "items": {"type": "string"}},
}


def entry(rng: random.Random) -> dict[str, Any]:
    def words(count: int) -> str:
        return " ".join(rng.choices(FIRST + LAST, k=count))

    values = {
        "title": words(rng.randint(2, 9)),
        "year": rng.randint(2015, 2020),
        "place": words(2),
        "code": str(rng.randrange(10**5)),
        "amount": rng.randint(1, 50),
        "names": [words(2) for _ in range(rng.randint(0, 3))],
    }
    return {key: value for key, value in values.items() if rng.random() < 0.95}


def read_badly(item: dict[str, Any], rng: random.Random) -> dict[str, Any]:
    other = entry(rng)
    return {key: other.get(key, v) if rng.random() < 0.15 else v for key, v in item.items()}


def test_what_an_evaluation_remembers_goes_with_it() -> None:
    rng = random.Random(3)
    gold = [entry(rng) for _ in range(40)]
    case = array_of({"type": "object", "properties": ENTRY}), {"a": gold}
    predicted = {"a": [read_badly(item, rng) for item in gold]}
    xb.evaluate(*case, predicted)  # what stays in memory is built
    gc.collect()
    gc.disable()
    try:
        run = Run(*case, predicted, "offline", "optimal", "paper")
        run.finish()
        kept = weakref.ref(run.scorer), weakref.ref(run.traversal.align)
        del run
        assert [ref() for ref in kept] == [None, None]
    finally:
        gc.enable()


X, Y = {"x": 1}, {"y": 1}


@pytest.mark.parametrize(
    "gold, predicted, similar, likely",
    [
        ([X], [{"x": 2}], [[0]], [[False]]),
        ([X, Y], [X, {}], [[1, 0], [0, 0]], [[True, False], [False, False]]),
        ([{}], [{}, X], [[1, 0]], [[True, False]]),
        ([{"x": 3}, X], [X, {}, {"x": 3}], [[0, 0, 1], [1, 0, 0]], [[0, 0, 1], [1, 0, 0]]),
    ],
)
def test_absent_values_are_unlike_values_and_alike_among_themselves(
    gold: list[Any], predicted: list[Any], similar: Any, likely: Any
) -> None:
    integer = {"type": "integer"}
    node = xb.schema.parse_schema({"type": "object", "properties": {"x": integer, "y": integer}})
    found = assignment.estimate(node.root, gold, predicted)
    assert [matrix.tolist() for matrix in found] == [similar, likely]
