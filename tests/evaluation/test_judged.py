"""A judge that fails is not a verdict; metrics of the user's; running event loops; alignments."""

from __future__ import annotations

import asyncio
from typing import Any

import pandas as pd
import pytest

import extractbench_nb as xb
from extractbench_nb.core.text.judging import Verdict
from tests.evaluation.schemas import STRING, obj


def using(metric: str, **params: Any) -> dict[str, Any]:
    return {"type": "string", "evaluation_config": {"metric_id": metric, "params": params}}


def boom(gold: Any, predicted: Any) -> float:
    raise TimeoutError("no answer")


async def boom_later(gold: Any, predicted: Any) -> float:
    await asyncio.sleep(0)
    raise TimeoutError("no answer")


FAILURES = [
    pytest.param(boom, "TimeoutError: no answer", id="raises"),
    pytest.param(boom_later, "TimeoutError: no answer", id="raises later"),
    pytest.param(lambda gold, predicted: 1.5, "returned 1.5", id="above 1"),
    pytest.param(lambda gold, predicted: -0.1, "returned -0.1", id="below 0"),
    pytest.param(lambda gold, predicted: float("nan"), "returned nan", id="nan"),
    pytest.param(lambda gold, predicted: None, "returned None", id="None"),
    pytest.param(lambda gold, predicted: "yes", "returned 'yes'", id="text"),
    pytest.param(lambda gold, predicted: {"score": 1}, "returned {'score': 1}", id="dict"),
    pytest.param(
        lambda gold, predicted: xb.MetricScore(0.6, "close"), "passed='close'", id="no verdict"
    ),
]


@pytest.mark.parametrize("function, message", FAILURES)
def test_failure_is_no_verdict(function: Any, message: str) -> None:
    xb.metric("failing")(function)
    schema = obj(a=using("failing"), b=STRING, c=STRING)
    gold = {"a": "1", "b": "2", "c": "3"}
    ev = xb.evaluate(schema, gold, {**gold, "c": "9"})
    row = ev.fields.set_index("path").loc["$.a"]
    assert (row["outcome"], row["reason"]) == ("judge_error", "metric_error")
    assert ev.fields["score"].isna().tolist() == [True, False, False]
    assert ev.fields["passed"].isna().tolist() == [True, False, False]
    assert message in row["reasoning"]
    s = ev.summary
    assert (s["evaluated"], s["judged"], s["passed"], s["failed"], s["judge_errors"]) == (
        3,
        2,
        1,
        1,
        1,
    )
    assert s["pass_rate"] == pytest.approx(1 / 3)
    assert s["pass_rate_judged"] == 0.5
    assert "without a verdict" in repr(ev)
    assert "lower bound" in ev._repr_html_()


@pytest.mark.parametrize("function", [boom, boom_later])
def test_a_failing_judge_never_raises_a_score(function: Any) -> None:
    xb.metric("failing")(function)
    gold = {"a": "1", "r": [{"k": "1", "n": "2"}, {"k": "3", "n": "4"}]}
    up = obj(a=STRING, r={"type": "array", "items": obj(k=STRING, n=STRING)})
    down = obj(a=using("failing"), r={"type": "array", "items": obj(k=using("failing"), n=STRING)})
    right, failed = xb.evaluate(up, gold, gold).summary, xb.evaluate(down, gold, gold).summary
    for name in ("overall_score", "field_score", "pass_rate"):
        assert failed[name] <= right[name]
    assert failed["evaluated"] == right["evaluated"]


def changed(gold: Any, predicted: Any) -> float:
    """Change both sides, as a metric of a user's may do by sorting."""
    for value in (gold, predicted):
        if isinstance(value, list):
            value.reverse()
            value.pop()
    return 1.0


async def changed_later(gold: Any, predicted: Any) -> float:
    """Do the same later."""
    return changed(gold, predicted)


@pytest.mark.parametrize("profile", ["paper", "strict"])
@pytest.mark.parametrize("function", [changed, changed_later])
def test_a_metric_may_change_the_values_that_it_gets(function: Any, profile: str) -> None:
    xb.metric("changing")(function)
    xb.metric("constant")(lambda gold, predicted: 1.0)
    gold, predicted = {"p": ["a", "b", "c"]}, {"p": ["b"]}
    evs = [
        xb.evaluate(obj(p={**using(name), "type": "array"}), gold, predicted, profile=profile)
        for name in ("changing", "constant")
    ]
    for name in ("fields", "arrays", "matches"):
        frames = [getattr(ev, name).drop(columns="metric", errors="ignore") for ev in evs]
        pd.testing.assert_frame_equal(*frames)
    assert gold == {"p": ["a", "b", "c"]}


@pytest.mark.parametrize("name", ["string_exact", "array_llm", "skip", "string_semantic"])
def test_a_built_in_metric_is_not_replaced(name: str) -> None:
    before = xb.metrics()
    with pytest.raises(xb.ConfigError, match=f"'{name}' is a built-in metric; choose another name"):
        xb.metric(name)(lambda gold, predicted: 1)
    pd.testing.assert_frame_equal(xb.metrics(), before)


@pytest.mark.parametrize("function", [boom, boom_later])
def test_an_item_with_an_unresolved_field_is_not_matched(function: Any) -> None:
    xb.metric("failing")(function)
    schema = obj(r={"type": "array", "items": obj(k=using("failing"), n=STRING, m=STRING)})
    gold = {"r": [{"k": "1", "n": "2", "m": "3"}, {"n": "4", "m": "5"}]}
    ev = xb.evaluate(schema, gold, gold, profile="paper")
    assert ev.matches["status"].tolist() == ["differing", "matched"]
    assert ev.arrays.loc[0, ["matched", "missed", "spurious"]].tolist() == [1, 0, 0]
    top = ev.fields.iloc[0]
    assert (top["outcome"], top["reason"]) == ("judge_error", "judge_error_in_items")
    assert (top["score"], top["passed"]) == (0.5, pd.NA)  # what is certain; it may yet pass
    assert "1 of 2 aligned pairs" in top["reasoning"]
    assert "the first: " in top["reasoning"]
    counts = ["judged", "judge_errors", "passed", "failed"]
    assert ev.summary[counts].tolist() == [0, 1, 0, 0]
    assert xb.evaluate(schema, gold, gold).summary[counts].tolist() == [4, 1, 4, 0]


def test_an_open_verdict_deep_inside_leaves_every_array_above_open() -> None:
    xb.metric("failing")(boom)
    inner = {"type": "array", "items": obj(k=using("failing"))}
    inner["items"]["properties"]["n"] = STRING
    schema = obj(r={"type": "array", "items": obj(s=inner, n=STRING)})
    gold = {"r": [{"n": "one", "s": [{"k": "1", "n": "two"}]}]}
    ev = xb.evaluate(schema, gold, gold)
    arrays = ev.fields[ev.fields["metric"] == "array_llm"]
    assert arrays["outcome"].tolist() == ["judge_error", "judge_error"]
    assert ev.summary[["judged", "judge_errors", "passed"]].tolist() == [2, 1, 2]
    paper = xb.evaluate(schema, gold, gold, profile="paper").summary
    assert paper[["judged", "judge_errors"]].tolist() == [0, 1]


def test_an_array_that_open_verdicts_cannot_save_has_a_verdict() -> None:
    xb.metric("failing")(boom)
    schema = obj(r={"type": "array", "items": obj(k=using("failing"), n=STRING)})
    gold = {"r": [{"n": "one"}, {"n": "two"}, {"n": "three"}, {"n": "four", "k": "4"}]}
    ev = xb.evaluate(schema, gold, {"r": gold["r"][2:]}, profile="paper")
    top = ev.fields.iloc[0]
    assert (top["outcome"], top["score"], top["passed"]) == ("incorrect", 0.25, False)
    assert top["reason"] == "judge_error_in_items"


def test_states_never_ask_the_judge() -> None:
    xb.metric("failing")(boom)
    ev = xb.evaluate(obj(a=using("failing"), b=using("failing")), {"a": "1"}, {"b": "2"})
    assert ev.fields["outcome"].tolist() == ["omission", "hallucination"]


class Judge:
    name = "mine"

    def __init__(self, score: Any) -> None:
        self.score = score
        self.calls: list[tuple[str, str]] = []

    def compare(self, gold: str, predicted: str) -> Verdict:
        self.calls.append((gold, predicted))
        if isinstance(self.score, Exception):
            raise self.score
        return Verdict(self.score, "because", "in my own words")


@pytest.mark.parametrize(
    "score, passed", [(1.0, True), (0.7, True), (0.69, False), (0.0, False)], ids=str
)
def test_a_judge_of_the_users_own(score: float, passed: bool) -> None:
    judge = Judge(score)
    ev = xb.evaluate(obj(a={"type": "string"}), {"a": "x"}, {"a": "y"}, judge=judge)
    row = ev.fields.iloc[0]
    assert [row["score"], row["passed"], row["reason"], row["reasoning"]] == [
        score, passed, "because", "in my own words",
    ]  # fmt: skip
    assert judge.calls == [("x", "y")]
    assert ev.meta["judge"] == "mine"


MEMBERS = ["A*", "A", "UTC+1", "UTC-1", "kb", "kB", "Low", "LOW"]


@pytest.mark.parametrize(
    "gold, predicted",
    [("A*", "A"), ("UTC+1", "UTC-1"), ("kb", "kB"), ("Low", "LOW"), ("Low", "Low")],
)
@pytest.mark.parametrize("profile", ["paper", "strict"])
@pytest.mark.parametrize("config", [{}, using("string_semantic"), using("string_llm")])
def test_two_members_of_an_enum_are_never_the_same(
    gold: str, predicted: str, profile: str, config: Any
) -> None:
    field = {"type": "string", **config, "enum": MEMBERS}
    judge = Judge(1.0)
    for schema in (field, {"type": "array", "items": field}):
        values = ([gold], [predicted]) if schema is not field else (gold, predicted)
        ev = xb.evaluate(obj(a=schema), *({"a": v} for v in values), profile=profile, judge=judge)
        assert ev.summary.pass_rate == float(gold == predicted)


@pytest.mark.parametrize(
    "gold, predicted, profile", [("low", "Low", "paper"), ("low", "LOW", "strict")]
)
def test_what_is_no_member_of_an_enum_is_judged(gold: str, predicted: str, profile: str) -> None:
    field = {"type": "string", **using("string_semantic"), "enum": MEMBERS}
    ev = xb.evaluate(obj(a=field), {"a": gold}, {"a": predicted}, profile=profile)
    assert ev.summary.pass_rate == 1.0


ARRAY = {"type": "array", "items": {"type": "object"}, "evaluation_config": "string_llm"}
WHOLE = [
    pytest.param(ARRAY, [{"k": "Acme"}], [{"k": "Bolt"}], "paper", id="paper"),
    pytest.param(ARRAY, [{"k": "Acme"}], [{"k": "Bolt"}], "strict", id="strict"),
    pytest.param(ARRAY, [1, 2], [[1], 2], "paper", id="nested otherwise, an array"),
]


@pytest.mark.parametrize("schema, gold, predicted, profile", WHOLE)
def test_a_container_that_is_wrong_scores_nothing_for_its_text(
    schema: Any, gold: Any, predicted: Any, profile: str
) -> None:
    """Its similarity would rise with whatever is added to the prediction."""
    ev = xb.evaluate(obj(a=schema), {"a": gold}, {"a": predicted}, profile=profile)
    row = ev.fields.set_index("path").loc["$.a"]
    assert row[["metric", "score", "outcome"]].tolist() == ["string_llm", 0.0, "incorrect"]


def test_a_container_keeps_the_score_of_a_judge_of_the_users_own() -> None:
    ev = xb.evaluate(obj(a=ARRAY), {"a": [{}]}, {"a": [{"k": 1}]}, judge=Judge(0.4))
    assert ev.fields.set_index("path").loc["$.a", "score"] == 0.4


def test_a_judge_that_raises() -> None:
    judge = Judge(ConnectionError("down"))
    ev = xb.evaluate(obj(a={"type": "string"}), {"a": "x"}, {"a": "y"}, judge=judge)
    assert ev.fields["outcome"].tolist() == ["judge_error"]
    assert "ConnectionError: down" in ev.fields.loc[0, "reasoning"]


def test_pass_threshold_of_a_judged_field() -> None:
    schema = obj(a=using("string_semantic", pass_threshold=0.9))
    ev = xb.evaluate(schema, {"a": "x"}, {"a": "y"}, judge=Judge(0.8))
    assert ev.fields[["score", "passed"]].to_numpy().tolist() == [[0.8, False]]


def test_the_offline_judge_ignores_model_with_one_warning() -> None:
    schema = obj(a=using("string_semantic", model="m"), b=using("string_llm", model="m"))
    ev = xb.evaluate(schema, {"a": "1", "b": "2"}, {"a": "1", "b": "2"})
    found = ev.warnings[ev.warnings["kind"] == "ignored_param"]
    assert len(found) == 1
    assert "2 nodes" in found.iloc[0]["message"]
    assert ev.summary["llm_calls"] == 0


RETURNS = [
    pytest.param(True, 1.0, True, id="True"),
    pytest.param(False, 0.0, False, id="False"),
    pytest.param(1, 1.0, True, id="1"),
    pytest.param(0.5, 0.5, False, id="0.5"),
    pytest.param(xb.MetricScore(0.25, True, "why", "words"), 0.25, True, id="MetricScore"),
]


@pytest.mark.parametrize("result, score, passed", RETURNS)
@pytest.mark.parametrize("is_async", [False, True], ids=["sync", "async"])
def test_what_a_metric_may_return(result: Any, score: float, passed: bool, is_async: bool) -> None:
    async def later(gold: Any, predicted: Any) -> Any:
        await asyncio.sleep(0)
        return result

    xb.metric("mine")(later if is_async else lambda gold, predicted: result)
    row = xb.evaluate(obj(a=using("mine")), {"a": "1"}, {"a": "2"}).fields.iloc[0]
    assert [row["score"], row["passed"]] == [score, passed]
    if isinstance(result, xb.MetricScore):
        assert [row["reason"], row["reasoning"]] == ["why", "words"]


def test_running_the_cell_again_replaces_the_metric() -> None:
    xb.metric("mine")(lambda gold, predicted: 0.0)
    schema = xb.schema.parse_schema(obj(a=using("mine")))
    assert xb.evaluate(schema, {"a": "1"}, {"a": "1"}).summary["field_score"] == 0
    xb.metric("mine")(lambda gold, predicted: 1.0)
    assert xb.evaluate(schema, {"a": "1"}, {"a": "1"}).summary["field_score"] == 1


def test_bare_decorator_and_bad_signatures() -> None:
    @xb.metric
    def bare(gold: Any, predicted: Any) -> bool:
        return bool(gold == predicted)

    assert xb.evaluate(obj(a=using("bare")), {"a": "1"}, {"a": "1"}).summary["passed"] == 1
    with pytest.raises(xb.ConfigError, match="metric 'one' must take"):
        xb.metric("one")(lambda gold: 1.0)
    with pytest.raises(xb.ConfigError, match="param 'k' of metric 'two' needs a default"):
        xb.metric("two")(lambda gold, predicted, *, k: 1.0)
    with pytest.raises(xb.ConfigError, match="applies_to is 'strin'; did you mean 'string'"):
        xb.metric("three", applies_to="strin")


def test_array_metric_of_the_users_own() -> None:
    @xb.metric("same_length", applies_to="array")
    def same_length(gold: Any, predicted: Any) -> float:
        return float(len(gold) == len(predicted))

    schema = obj(a={"type": "array", "items": STRING, "evaluation_config": "same_length"})
    ev = xb.evaluate(schema, {"a": ["x", "y"]}, {"a": ["p", "q"]})
    assert ev.fields.loc[0, ["metric", "score", "passed"]].tolist() == ["same_length", 1.0, True]
    assert ev.arrays.loc[0, ["gold_items", "matched", "score"]].tolist() == [2, 0, 1.0]
    assert len(ev.matches) == 4


def test_evaluate_inside_a_running_loop_and_awaited() -> None:
    waiting = [0, 0]

    async def slow(gold: Any, predicted: Any) -> float:
        waiting[0] += 1
        waiting[1] = max(waiting)
        await asyncio.sleep(0.001)
        waiting[0] -= 1
        return float(gold == predicted)

    xb.metric("slow")(slow)
    item = obj(k=using("slow"))
    schema = obj(**{f"f{i}": using("slow") for i in range(20)}, r={"type": "array", "items": item})
    gold = {**{f"f{i}": "x" for i in range(20)}, "r": [{"k": "1"}, {"k": "2"}]}
    predicted = {**gold, "f3": "y", "r": [{"k": "2"}, {"k": "1"}]}

    async def cell() -> tuple[Any, Any]:
        return xb.evaluate(schema, gold, predicted), await xb.evaluate_async(
            schema, gold, predicted
        )

    plain = xb.evaluate(schema, gold, predicted)
    in_cell, awaited = asyncio.run(cell())
    for ev in (plain, in_cell, awaited):
        assert ev.summary["passed"] == 19 + 2
        assert ev.arrays.loc[0, "matched"] == 2
        assert ev.fields.equals(plain.fields)
    assert waiting[1] >= 20, "the calls wait at the same time"


def test_a_verdict_that_is_awaited_counts_by_its_weight_when_items_are_paired() -> None:
    async def later(gold: Any, predicted: Any) -> float:
        return 0.0

    xb.metric("later")(later)
    xb.metric("now")(lambda gold, predicted: 1.0 if predicted == "zzzzz" else 0.1)
    gold, predicted = [{"id": "1", "v": "alpha"}], [{"id": "1", "v": v} for v in ("alphx", "zzzzz")]
    for weight, partner in ((1.0, 1), (9.0, 0)):
        metrics = [{"metric_id": "now"}, {"metric_id": "later", "weight": weight}]
        field = {"type": "string", "evaluation_config": {"metrics": metrics}}
        schema = obj(a={"type": "array", "items": obj(id=STRING, v=field)})
        pairs = xb.evaluate(schema, {"a": gold}, {"a": predicted}).matches
        assert pairs["predicted_index"][pairs["gold_index"] == 0].tolist() == [partner]


LIST = obj(a={"type": "array", "items": STRING})
BOTH = ({"a": ["x", "y"]}, {"a": ["x", "y"]})


def test_alignment_of_the_users_own() -> None:
    seen: list[Any] = []

    def crossed(gold: Any, predicted: Any, node: Any) -> list[tuple[int, int]]:
        seen.append((list(gold), list(predicted), node.label))
        return [(0, 1), (1, 0)]

    ev = xb.evaluate(LIST, *BOTH, alignment=crossed)
    assert ev.arrays.loc[0, ["matched", "missed", "spurious"]].tolist() == [0, 0, 0]
    assert ev.arrays.loc[0, "differing"] == 2
    assert seen == [(["x", "y"], ["x", "y"], "string")]
    ev = xb.evaluate(
        LIST, *BOTH, alignment=lambda gold, predicted, node: zip((0,), (0,), strict=True)
    )
    assert ev.matches["status"].tolist() == ["matched", "missed", "spurious"]
    assert ev.meta["alignment"] == "callable"


BAD_ALIGNMENTS = [
    pytest.param(
        [(0, 5)], "returned predicted indices \\[5\\]; expected .* from 0 to 1", id="too far"
    ),
    pytest.param(
        [(-1, 0)], "returned gold indices \\[-1\\]; expected .* from 0 to 1", id="negative"
    ),
    pytest.param(
        [(0, 0), (0, 1)], "returned gold indices \\[0, 0\\]; expected each at most once", id="2"
    ),
    pytest.param(
        [(0, 1), (1, 1)], "returned predicted indices \\[1, 1\\]; expected each", id="2nd"
    ),
    pytest.param([(0,)], "alignment of 'a'", id="no pair"),
    pytest.param(None, "alignment of 'a'", id="None"),
    pytest.param(["ab"], "alignment of 'a'", id="texts"),
]


@pytest.mark.parametrize("pairs, message", BAD_ALIGNMENTS)
def test_alignment_with_bad_indices(pairs: Any, message: str) -> None:
    with pytest.raises(xb.InputError, match=message):
        xb.evaluate(LIST, *BOTH, alignment=lambda gold, predicted, node: pairs)


def two(gold: Any, predicted: Any) -> Any:
    """Take two arguments where three are given."""


async def failing(gold: Any, predicted: Any, node: Any) -> Any:
    """Fail as a user's code may."""
    raise ZeroDivisionError


OPTIONS = [
    pytest.param(
        {"alignment": "optimum"}, "alignment is 'optimum'; expected 'optimal'", id="align"
    ),
    pytest.param(
        {"profile": "papr"}, "unknown profile 'papr'; did you mean 'paper'?", id="profile"
    ),
    pytest.param(
        {"judge": "ofline"}, "unknown judge 'ofline'; did you mean 'offline'?", id="judge"
    ),
    pytest.param({"judge": 5}, "judge is 5; expected 'offline', the id of a model", id="judge 5"),
    pytest.param({"judge": object()}, "the id of a model.*or an object with a name", id="object"),
    pytest.param(
        {"judge": "gpt"}, "unknown judge 'gpt'.*a model is named with its provider", id="provider"
    ),
    pytest.param({"profile": ["paper"]}, r"unknown profile \['paper'\]", id="profiles"),
]


@pytest.mark.parametrize("options, message", OPTIONS)
def test_unknown_option(options: Any, message: str) -> None:
    with pytest.raises(xb.InputError, match=message):
        xb.evaluate(LIST, *BOTH, **options)


class Later:
    """The offline judge, but one has to wait for it."""

    name = "later"

    def __init__(self) -> None:
        self.waiting = self.most = 0

    async def compare(self, gold: str, predicted: str) -> Verdict:
        self.waiting += 1
        self.most = max(self.most, self.waiting)
        await asyncio.sleep(0)
        self.waiting -= 1
        return xb.judges.OfflineJudge().compare(gold, predicted)


@pytest.mark.parametrize("run", ["quill-mini", "heron-vision"])
def test_a_judge_may_be_awaited(run: str) -> None:
    dataset = xb.load_dataset()
    runs = dataset.runs[dataset.runs["run"] == run]
    judge = Later()
    now = xb.evaluate_runs(runs, dataset=dataset, progress=False)
    later = xb.evaluate_runs(runs, dataset=dataset, judge=judge, progress=False)
    for name in ("fields", "arrays", "matches", "summary"):
        pd.testing.assert_frame_equal(getattr(later, name), getattr(now, name))
    assert judge.most > 1


def test_a_judge_that_is_awaited_is_given_gold_first() -> None:
    class Prefix:
        name = "prefix"

        async def compare(self, gold: str, predicted: str) -> Verdict:
            return Verdict(float(predicted.startswith(gold)), "prefix")

    schema = {"type": "object", "properties": {"a": {"type": "string"}}}
    ev = xb.evaluate(schema, {"a": "x"}, {"a": "xy"}, judge=Prefix())
    assert ev.summary["pass_rate"] == 1


def test_a_judge_that_fails_later_is_no_verdict() -> None:
    class Down:
        name = "down"

        async def compare(self, gold: str, predicted: str) -> Verdict:
            raise TimeoutError("no answer")

    schema = obj(a={"type": "string"}, r={"type": "array", "items": obj(b={"type": "string"})})
    document = {"a": "one", "r": [{"b": "two"}]}
    ev = xb.evaluate(schema, document, {"a": "1", "r": [{"b": "2"}]}, judge=Down())
    assert ev.fields["outcome"].tolist()[0] == "judge_error"
    assert ev.summary["pass_rate"] == 0.0


def test_a_metric_is_removed_or_replaced() -> None:
    @xb.metric("mine")
    def first(gold: Any, predicted: Any) -> bool:
        return True

    with pytest.warns(UserWarning, match="mine"):

        @xb.metric("mine")
        def second(gold: Any, predicted: Any) -> bool:
            return False

    documents = obj(a=using("mine")), {"a": "1"}, {"a": "1"}
    assert xb.evaluate(*documents).summary["pass_rate"] == 0
    xb.core.unregister("mine")
    assert "mine" not in set(xb.metrics()["metric"])
    for gone in ("mine", "string_exact"):
        with pytest.raises(xb.ConfigError):
            xb.core.unregister(gone)
    with pytest.raises(xb.ConfigError):
        xb.evaluate(*documents)


def test_an_awaited_verdict_counts_in_an_alignment_by_the_similarity_of_the_texts() -> None:
    """One likely match and a poor pair are better than two near misses, of more similarity."""

    @xb.metric
    async def later(gold: str, predicted: str) -> float:
        return float(gold in predicted)

    items = obj(**dict.fromkeys("abd", using("string_exact")), c=using("later"))
    text = "a title of several words"
    gold = [dict(zip("abcd", ("1", "1", c, "1"), strict=True)) for c in ("zzz", text)]
    predicted = [gold[1] | {"c": f"{text}s"}, gold[1] | {"a": "9", "b": "9"}]
    ev = xb.evaluate(obj(r={"type": "array", "items": items}), {"r": gold}, {"r": predicted})
    pairs = ev.matches.query("status == 'matched'")[["gold_index", "predicted_index"]]
    assert pairs.to_numpy().tolist() == [[1, 0]]


@pytest.mark.parametrize(
    "gold, predicted, passes",
    [
        (["a 1", "b 2"], ["A 1", "b 2"], True),
        ([{"k": "a 1"}], [{"k": "A 1"}], True),
        ([["a 1"], "b 2"], ["a 1", "b 2"], False),
    ],
)
def test_an_array_that_is_judged_as_a_whole_has_the_same_shape(
    gold: Any, predicted: Any, passes: bool
) -> None:
    schema = obj(a={"type": "array", "items": {}, "evaluation_config": "string_semantic"})
    ev = xb.evaluate(schema, {"a": gold}, {"a": predicted}, profile="paper")
    assert ev.fields.set_index("path")["passed"]["$.a"] == passes
