"""Alignment by a model: what it is asked, what its answers become, and what a failure is."""

import asyncio
import copy
import json
import random
from collections.abc import Callable, Iterator
from typing import Any

import pandas as pd
import pytest

import extractbench_nb as xb
from extractbench_nb.judges import LLMJudge
from extractbench_nb.support.token_counts import count_tokens
from tests.judges.llm.aligning import alignment, asks_to_align, knowing, shown
from tests.llm_server import (
    EMPTY,
    MARK,
    LLMServer,
    Reply,
    Request,
)

EXACT = {"type": "string", "evaluation_config": "string_exact"}
WORK = {
    "type": "object",
    "properties": {
        "id": EXACT,
        "title": {"type": "string", "evaluation_config": "string_fuzzy"},
        "year": {"type": "integer"},
    },
}
MakeJudge = Callable[..., LLMJudge]


def listing(items: Any = WORK, **params: Any) -> dict[str, Any]:
    config = {"metrics": [{"metric_id": "array_llm", "params": params}]}
    return {
        "type": "object",
        "properties": {"works": {"type": "array", "items": items, "evaluation_config": config}},
    }


def works(count: int, seed: int = 1) -> list[dict[str, Any]]:
    rng = random.Random(seed)
    letters = "abcdefghijklmnopqrstuvwxyz"

    def word() -> str:
        return "".join(rng.choices(letters, k=rng.randint(3, 9)))

    return [
        {
            "id": f"w{i:04d}",
            "title": " ".join(word() for _ in range(rng.randint(3, 8))),
            "year": rng.randint(1950, 2025),
        }
        for i in range(count)
    ]


def edited(items: list[dict[str, Any]], seed: int = 2) -> list[dict[str, Any]]:
    """Change something in most items but not the id, and shuffle them."""
    rng = random.Random(seed)
    items = copy.deepcopy(items)
    for item in items:
        change = rng.randrange(4)
        if change == 1:
            item["year"] += 1
        elif change == 2:
            item["title"] = item["title"][:-2] + "zz"
        elif change == 3:
            item["title"] = item["title"].upper()
            item["year"] -= 7
    rng.shuffle(items)
    return items


@pytest.fixture
def server() -> Iterator[LLMServer]:
    with LLMServer(knowing(lambda item: item["id"])) as running:
        yield running


def run(
    judge: Any, gold: Any, predicted: Any, schema: Any = None, **more: Any
) -> xb.core.Evaluation:
    options = {"judge": judge, "alignment": "llm"} | more
    return xb.evaluate(schema or listing(), {"works": gold}, {"works": predicted}, **options)


def same_frames(one: xb.core.Evaluation, two: xb.core.Evaluation) -> None:
    for name in ("fields", "arrays", "matches"):
        pd.testing.assert_frame_equal(getattr(one, name), getattr(two, name), obj=name)


def test_a_small_array_is_one_call_and_equals_the_optimum(
    server: LLMServer, make: MakeJudge
) -> None:
    gold = works(9)
    predicted = edited(gold)[:8]
    ev = run(make(), gold, predicted)
    same_frames(ev, run("offline", gold, predicted, alignment="optimal"))
    assert len(server.requests) == 1
    ours, theirs = shown(server.requests[0])
    equal = [item for item in gold if item in predicted]
    assert list(ours.values()) == [item for item in gold if item not in equal]
    assert list(theirs.values()) == [item for item in predicted if item not in equal]
    assert all(gold[i] == item for i, item in ours.items())
    calls = ev.judge_calls
    assert calls[["path", "metric", "attempts", "cached"]].to_numpy().tolist() == [
        ["$.works", "array_llm", 1, False]
    ]
    assert calls["error"].isna().all()
    assert ev.summary["llm_calls"] == 1
    assert ev.meta["alignment"] == "llm(openai/test-model)"


def test_the_request_has_the_fields_with_their_metrics(server: LLMServer, make: MakeJudge) -> None:
    items = {
        "type": "object",
        "properties": {
            "id": EXACT | {"description": "what it is called"},
            "price": {
                "type": "number",
                "evaluation_config": {
                    "metrics": [{"metric_id": "number_tolerance", "params": {"tolerance": 0.05}}]
                },
            },
            "note": {"type": "string", "evaluation_config": "skip"},
            "sizes": {"type": "array", "items": {"type": ["integer", "null"]}},
        },
    }
    gold = [{"id": "a", "price": 1.0}, {"id": "b", "price": 2.0}]
    judge = make(additional_instructions="Prices are in euros.")
    run(judge, gold, [{"id": "b", "price": 3.0}], listing(items))
    asked = server.requests[0]
    lines = [json.loads(line) for line in asked.quoted["fields"].splitlines()]
    known = {line["field"]: (line["type"], line["compared_by"]) for line in lines}
    assert known["id"] == ("string", {"string_exact": {}})
    assert known["price"][1]["number_tolerance"]["tolerance"] == 0.05
    assert "sizes" in known
    assert "sizes[]" in known
    assert "note" not in known
    assert lines[0]["description"] == "what it is called"
    assert json.loads(asked.quoted["list"]) == {"field": "works"}
    assert "Prices are in euros." in asked.text
    assert set(asked.body["messages"][0]) == {"role", "content"}


@pytest.mark.parametrize(
    "gold, predicted",
    [
        pytest.param([], [], id="empty"),
        pytest.param(works(3), [], id="all missed"),
        pytest.param([], works(3), id="all spurious"),
        pytest.param(works(5), list(reversed(works(5))), id="equal, in another order"),
        pytest.param(works(1), works(1, seed=5), id="one and one"),
        pytest.param(works(5), works(4), id="equal but for one that is missed"),
        pytest.param(works(5), [*works(4), *works(1, seed=5)], id="all equal but one"),
    ],
)
def test_what_needs_no_model(server: LLMServer, make: MakeJudge, gold: Any, predicted: Any) -> None:
    ev = run(make(), gold, predicted)
    same_frames(ev, run("offline", gold, predicted, alignment="optimal"))
    assert server.requests == []
    assert ev.summary["llm_calls"] == 0


def test_arrays_in_arrays_are_aligned_from_the_outside(server: LLMServer, make: MakeJudge) -> None:
    inner = {"type": "array", "items": WORK}
    schema = listing({"type": "object", "properties": {"id": EXACT, "works": inner}})
    gold = [{"id": f"g{i}", "works": works(4, seed=i)} for i in range(3)]
    predicted = copy.deepcopy(gold)[::-1]
    for item in predicted:
        item["works"].reverse()
        item["works"][0]["year"] = item["works"][3]["year"] = 0
    ev = run(make(), gold, predicted, schema)
    same_frames(ev, run("offline", gold, predicted, schema, alignment="optimal"))
    lists = [json.loads(request.quoted["list"])["field"] for request in server.requests]
    assert lists == ["works"] + ["works[].works"] * (len(lists) - 1)
    assert len(lists) == 4
    assert ev.judge_calls["path"].tolist() == [
        "$.works",
        *(f"$.works[{i}].works" for i in range(3)),
    ]


@pytest.mark.parametrize(
    "schema, gold, predicted",
    [
        pytest.param(
            {"type": "array", "items": EXACT}, ["a", "b", "c"], ["A", "c", "x"], id="texts"
        ),
        pytest.param(
            {"type": "array", "prefixItems": [EXACT, EXACT], "items": EXACT},
            ["x", "y", "a", "b"],
            ["y", "x", "b", "c"],
            id="prefix",
        ),
        pytest.param(
            {
                "anyOf": [
                    {"type": "object", "additionalProperties": {"type": "array", "items": WORK}},
                    {"type": "null"},
                ],
                "evaluation_config": "array_llm",
            },
            {"k": works(2), "l": works(2, seed=3)},
            {"k": edited(works(2)), "m": edited(works(2, seed=3))},
            id="map",
        ),
    ],
)
def test_other_arrays(make: MakeJudge, schema: Any, gold: Any, predicted: Any) -> None:
    whole = {"type": "object", "properties": {"works": schema}}
    with LLMServer(knowing(_identity)) as server:
        ev = run(make(api_base=server.url), gold, predicted, whole)
        assert len(ev.arrays) == 1
        for request in server.requests:
            ours, theirs = shown(request)
            assert set(map(_identity, ours.values())) & set(map(_identity, theirs.values()))
    offline = run("offline", gold, predicted, whole, alignment="optimal")
    assert ev.arrays["matched"].tolist() == offline.arrays["matched"].tolist()


def _identity(item: Any) -> Any:
    if isinstance(item, dict):
        return _identity(item["item"]) if "item" in item else item["id"]
    return item.casefold()


def test_large_arrays_are_asked_in_batches(server: LLMServer, make: MakeJudge) -> None:
    gold = works(500)
    predicted = edited(gold)[:480]
    limit = 8_000
    aligner = xb.judges.LLMAligner(make(), max_prompt_tokens=limit)
    ev = run("offline", gold, predicted, alignment=aligner)
    offline = run("offline", gold, predicted, alignment="optimal")
    same_frames(ev, offline)
    assert 200 < ev.arrays["matched"][0] < 480
    tokens = [sum(count_tokens(m["content"]) for m in r.body["messages"]) for r in server.requests]
    assert max(tokens) <= limit
    assert 2 <= len(server.requests) <= 12
    # each item that is not simply equal is shown a few times: not once for each other one
    changed = sum(item not in predicted for item in gold)
    shown_at = [len(theirs) for theirs in (shown(r)[1] for r in server.requests)]
    assert sum(shown_at) <= 4 * changed
    server.forget()
    again = run("offline", gold, predicted, alignment=aligner)
    same_frames(again, ev)
    assert server.requests == []
    assert again.judge_calls["cached"].all()
    assert again.summary["llm_cost_usd"] == 0


def test_items_that_two_batches_want_go_to_one_and_the_other_is_asked_again(
    make: MakeJudge,
) -> None:
    """A model that takes the first predicted item for every gold item it is shown first."""
    gold = works(60)
    predicted = edited(gold)

    def greedy(request: Request) -> str:
        ours, theirs = shown(request)
        return alignment([(min(ours), min(theirs))], ours, theirs)

    with LLMServer(greedy) as server:
        aligner = xb.judges.LLMAligner(make(api_base=server.url), max_prompt_tokens=2_500)
        ev = run("offline", gold, predicted, alignment=aligner)
        assert len(server.requests) > 2
        seen: set[tuple[int, int]] = set()
        for request in server.requests:
            ours, theirs = shown(request)
            now = {(i, j) for i in ours for j in theirs}
            assert not seen & now  # nothing is asked twice
            seen |= now
    found = ev.matches.dropna(subset=["gold_index", "predicted_index"])
    assert found["gold_index"].is_unique
    assert found["predicted_index"].is_unique


def pairs_answer(pairs: Any, **more: Any) -> Reply:
    answer = {"mark_code": MARK, "pairs": pairs, "missed_gold": [], "spurious_predicted": []} | more
    return Reply(json.dumps(answer))


MARKED = '{"mark_code": "' + MARK + '", "pairs": %s}'
GOOD = [[0, 1], [1, 0], [2, 2]]
REPAIRED = [
    pytest.param(pairs_answer(GOOD), id="as asked"),
    pytest.param(Reply(f"```json\n{MARKED % GOOD}\n```"), id="fenced"),
    pytest.param(pairs_answer([*GOOD[::-1]]), id="in another order"),
]
REFUSED = [
    pytest.param(pairs_answer([[0, 1], [1, 3]]), "was not shown", id="an index too many"),
    pytest.param(pairs_answer([[-1, 0]]), "was not shown", id="an index below zero"),
    pytest.param(pairs_answer([[0, 1], [1, 1]]), "stands in two pairs", id="predicted twice"),
    pytest.param(pairs_answer([[0, 1], [0, 2]]), "stands in two pairs", id="gold twice"),
    pytest.param(pairs_answer([[0]]), "is not a pair", id="half a pair"),
    pytest.param(pairs_answer([[True, 1]]), "is not a pair", id="a boolean"),
    pytest.param(pairs_answer([[0.5, 1]]), "is not a pair", id="half an index"),
    pytest.param(pairs_answer("all"), '"pairs" is not a list', id="a word for pairs"),
    pytest.param(Reply("All of them match."), 'object with "pairs"', id="prose"),
    pytest.param(Reply(f"{MARKED % [[0, 1]]} or {MARKED % []}"), "differ", id="two answers"),
    pytest.param(Reply(json.dumps({"pairs": GOOD})), "mark_code", id="no code"),
    pytest.param(EMPTY, "has no text", id="nothing"),
]


def three(seed: int = 1) -> tuple[list[Any], list[Any]]:
    gold = works(3, seed)
    predicted = [gold[1] | {"year": 1}, gold[0] | {"year": 2}, gold[2] | {"title": "other"}]
    return gold, predicted


@pytest.mark.parametrize("reply", REPAIRED)
def test_answers_that_can_be_used(server: LLMServer, make: MakeJudge, reply: Reply) -> None:
    server.script(reply)
    ev = run(make(), *three())
    assert len(server.requests) == 1
    assert ev.matches["predicted_index"].tolist() == [1, 0, 2]


@pytest.mark.parametrize("reply, problem", REFUSED)
def test_answers_that_cannot_be_used_are_asked_again_once(
    server: LLMServer, make: MakeJudge, reply: Reply, problem: str
) -> None:
    server.script(reply)
    ev = run(make(), *three())
    assert len(server.requests) == 2
    assert problem in server.requests[1].prompt
    assert ev.matches["predicted_index"].tolist() == [1, 0, 2]
    assert ev.judge_calls["attempts"].tolist() == [2]

    server.forget()
    server.script(reply, reply)
    ev = run(make(), *three(seed=7))
    assert len(server.requests) == 2
    unaligned(ev, "empty" if reply is EMPTY else "unparsable")
    assert problem in ev.fields["reasoning"][0]
    assert problem in ev.judge_calls["error"][0]


def unaligned(ev: xb.core.Evaluation, reason: str) -> None:
    row = ev.fields.iloc[0]
    assert (row["outcome"], row["reason"]) == ("judge_error", reason)
    assert pd.isna(row["score"])
    assert pd.isna(row["passed"])
    assert ev.matches.empty
    array = ev.arrays.iloc[0]
    assert array[["matched", "differing", "missed", "spurious"]].isna().all()
    assert array[["precision", "recall", "f1", "score", "passed"]].isna().all()
    summary = ev.summary
    leaves = 3 * int(array["gold_items"] + array["predicted_items"])
    assert summary["evaluated"] == summary["judge_errors"] == leaves
    assert summary["judged"] == 0
    assert pd.isna(summary["pass_rate_judged"])
    assert summary["pass_rate"] == 0
    assert "judge_error" in repr(ev)
    assert "matched completely" not in ev._repr_html_()


@pytest.mark.parametrize("profile", ["paper", "strict"])
def test_a_failed_alignment_raises_no_pass_rate(
    server: LLMServer, make: MakeJudge, profile: str
) -> None:
    schema = listing()
    schema["properties"]["name"] = EXACT
    rng = random.Random(3)
    for _ in range(5):
        gold = {"name": "a", "works": works(rng.randint(2, 6), seed=rng.random())}
        predicted = {"name": "a", "works": [*edited(gold["works"])[1:], *works(rng.randint(0, 4))]}
        options = {"alignment": xb.judges.LLMAligner(make(cache=False)), "profile": profile}
        working = xb.evaluate(schema, gold, predicted, **options).summary
        asked = bool(server.requests)
        server.script(EMPTY, EMPTY)
        failing = xb.evaluate(schema, gold, predicted, **options).summary
        server.forget()
        assert failing["pass_rate"] <= working["pass_rate"]
        assert (failing["judge_errors"] > 0) == asked
        assert failing["judged"] + failing["judge_errors"] == failing["evaluated"]
        assert failing["evaluated"] >= working["evaluated"]


def test_params_of_the_array_override(server: LLMServer, make: MakeJudge) -> None:
    schema = listing(
        model="openai/another-model", max_tokens=300, additional_instructions="Look at the id only."
    )
    ev = run(make(), *three(), schema)
    body = server.requests[0].body
    assert body["model"] == "another-model"
    assert body["max_tokens"] == 300
    assert "Look at the id only." in server.requests[0].text
    assert ev.judge_calls["model"].tolist() == ["openai/another-model"]


def test_a_judge_that_is_a_model_is_asked_for_the_alignment_too(
    server: LLMServer, make: MakeJudge
) -> None:
    items = {"type": "object", "properties": {"id": {"type": "string"}}}
    gold = [{"id": "Anna"}, {"id": "Bob"}]
    server.respond = knowing(lambda item: item["id"].casefold())
    ev = run(make(), gold, [{"id": "BOB"}, {"id": "ANNA"}], listing(items))
    kinds = [asks_to_align(request) for request in server.requests]
    assert kinds == [True, False, False]
    assert ev.judge_calls["metric"].tolist() == ["array_llm", "string_semantic", "string_semantic"]
    assert ev.arrays["matched"].tolist() == [2]


async def by_id(gold: Any, predicted: Any, node: Any) -> list[tuple[int, int]]:
    await asyncio.sleep(0)
    theirs = {item["id"]: j for j, item in enumerate(predicted)}
    return [(i, theirs[item["id"]]) for i, item in enumerate(gold) if item["id"] in theirs]


def test_a_matcher_that_waits() -> None:
    gold, matcher = works(5), by_id
    ev = run("offline", gold, edited(gold), alignment=matcher)
    same_frames(ev, run("offline", gold, edited(gold), alignment="optimal"))
    assert ev.meta["alignment"] == "callable"
    again = asyncio.run(
        xb.evaluate_async(listing(), {"works": gold}, {"works": edited(gold)}, alignment=matcher)
    )
    same_frames(ev, again)


def test_answers_that_would_be_too_long_are_asked_in_batches(
    server: LLMServer, make: MakeJudge
) -> None:
    gold = works(60)
    ev = run(make(max_tokens=400), gold, edited(gold))
    assert len(server.requests) > 1
    for request in server.requests:
        assert sum(map(len, shown(request))) <= 50
    same_frames(ev, run("offline", gold, edited(gold), alignment="optimal"))
