"""What is sent: parameters as the model takes them."""

from tests.judges.llm.conftest import MakeJudge, ask, fail
from tests.llm_server import LLMServer


def test_models_that_can_are_held_to_the_schema(make: MakeJudge, server: LLMServer) -> None:
    ask(make("openai/gpt-4o-mini"))
    form = server.requests[0].body["response_format"]
    assert form["type"] == "json_schema"
    assert form["json_schema"]["strict"] is True
    assert form["json_schema"]["schema"]["required"] == ["mark_code", "reasoning", "score"]
    ask(make())
    assert "response_format" not in server.requests[1].body


def test_models_without_temperature_get_none(make: MakeJudge, server: LLMServer) -> None:
    ask(make("openai/o3-mini"))
    assert "temperature" not in server.requests[0].body


def test_what_it_cost(make: MakeJudge) -> None:
    judge = make("openai/gpt-4o-mini")
    first, again, unknown = ask(judge), ask(judge), ask(make())
    assert (first.calls[0].cost_usd, again.calls[0].cost_usd) == (2.1e-05, 0.0)
    assert unknown.calls[0].cost_usd is None
    assert judge.model.spent_usd == 2.1e-05
    assert sum(entry.cost_usd or 0 for entry in judge.model.cache.entries()) == 2.1e-05


def test_a_name_that_is_like_a_known_one_has_no_price(make: MakeJudge) -> None:
    """LiteLLM takes such a model for one of the family, at no cost at all."""
    judge = make("openai/my-own-claude-opus-4.5")
    assert ask(judge).calls[0].cost_usd is None
    assert judge.model.spent_usd == 0


def test_hostile_values_arrive(make: MakeJudge, server: LLMServer) -> None:
    values = [
        "\ud800",
        "\x00",
        "<script>alert(1)</script>",
        float("nan"),
        {"\udfff": [1, {}]},
        10**5000,
    ]
    for value in values:
        assert ask(make(), value, "x").score == 0.0
    assert len(server.requests) == len(values)


def test_values_nested_too_deep_are_no_verdict(make: MakeJudge, server: LLMServer) -> None:
    deep: list[object] = []
    for _ in range(100_000):
        deep = [deep]
    assert fail(make(), deep, "x").reason == "too_deep"
    assert not server.requests
