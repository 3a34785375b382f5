"""The same fault of any provider is the same failure: its kind, the requests, what is charged."""

import asyncio
import json
from collections.abc import Callable, Iterator
from email.utils import formatdate
from typing import Any

import pytest

import extractbench_nb as xb
from extractbench_nb.core.text.judging import JudgeCall, JudgeError, Question
from extractbench_nb.judges.call_failures import Failure
from extractbench_nb.judges.client import BACKGROUND, ModelRequest, complete
from tests.judges.llm.providers import (
    PROVIDERS,
    answered,
    bomb,
    cut,
    hanging,
    http,
    large,
    refused,
    said,
)
from tests.llm_server import UNTIL_IT_HANGS, LLMServer, Wire, hanging_ends
from tests.waiting import PATIENCE

KEY = "marked+key/5f2c9a7d41e8b3"
FREE, TOLD, BOUND = "free", "told", "bound"  # what a budget is charged for one request
PAGE = b"<html><body>Log in to the gateway</body></html>"
STATUSES = {
    **dict.fromkeys((400, 405, 415, 422, 424, 426, 428, 431, 451, 498, 499), "bad_request"),
    401: "bad_key",
    402: "quota",
    403: "forbidden",
    404: "not_found",
    413: "context_window",
    408: "timeout",
    409: "conflict",
    425: "too_early",
    429: "rate_limit",
    **dict.fromkeys((500, 501, 502, 503, 504, 505, 507, 508), "server_error"),
    **dict.fromkeys((520, 522, 524, 529, 530, 599), "server_error"),
}
ONCE = {"bad_request", "bad_key", "forbidden", "not_found", "quota", "context_window"}
Make = Callable[[str], Wire]


def body(provider: str) -> bytes:
    return json.dumps(said(provider)).encode()


def emptied(value: Any) -> Make:
    """Answer without choices, in the word of each provider."""
    names = {"openai": "choices", "gemini": "candidates"}
    return lambda p: http(json.dumps(said(p) | {names[p]: value}).encode())


#: Fault by name: what is sent, the failure's reason (None for a verdict), what is charged.
FAULTS: dict[str, tuple[Make, str | None, str]] = {
    "nothing wrong": (answered, None, TOLD),
    "text of another type": (lambda p: http(body(p), kind="text/plain"), None, TOLD),
    "text of no type": (lambda p: http(body(p), kind=""), None, TOLD),
    "HTML": (lambda _: http(PAGE, kind="text/html"), "server_error", BOUND),
    "HTML that says it is JSON": (lambda _: http(PAGE), "server_error", BOUND),
    "HTML with an error": (lambda _: http(PAGE, 502, "text/html"), "server_error", FREE),
    "no body": (lambda _: http(b""), "server_error", BOUND),
    "no content": (lambda _: Wire(b"HTTP/1.1 204 No\r\n\r\n"), "server_error", BOUND),
    "bytes": (lambda _: http(b"\xff\xfe\x00{"), "server_error", BOUND),
    "cut JSON": (lambda p: http(body(p)[:-20]), "server_error", BOUND),
    "null": (lambda _: http(b"null"), "server_error", BOUND),
    "a list": (lambda _: http(b"[]"), "server_error", BOUND),
    "an empty object": (lambda _: http(b"{}"), "server_error", BOUND),
    "an error that reports success": (
        lambda _: http(b'{"error": {"message": "overloaded"}}'),
        "server_error",
        BOUND,
    ),
    "broken compression": (
        lambda _: http(b"nope", content_encoding="gzip"),
        "server_error",
        BOUND,
    ),
    "unknown compression": (lambda _: http(b"x", content_encoding="br"), "server_error", BOUND),
    "compressed twice": (
        lambda _: http(b"x", content_encoding="gzip, gzip"),
        "server_error",
        BOUND,
    ),
    "a bomb": (lambda _: bomb(60_000_000), "server_error", BOUND),
    "100 MB": (lambda _: large(100_000_000), "server_error", BOUND),
    "no HTTP": (lambda _: Wire(b"SSH-2.0-OpenSSH_9\r\n", end="closed"), "connection", BOUND),
    "reset": (lambda _: Wire(end="reset"), "connection", BOUND),
    **{
        f"cut after {stage}": (lambda p, s=stage: cut(answered(p), s), "connection", BOUND)
        for stage in ("nothing", "status", "headers", "body")
    },
    "hanging": (lambda _: Wire(end="hang"), "timeout", BOUND),
    "hanging in the body": (
        lambda p: hanging(Wire(cut(answered(p), "body").head)),
        "timeout",
        BOUND,
    ),
    "no text": (lambda p: answered(p, text=None), "empty", TOLD),
    "empty usage": (lambda p: answered(p, usage={}), None, BOUND),
    "usage of nothing": (lambda p: answered(p, usage=(0, 0)), None, BOUND),
    "negative usage": (lambda p: answered(p, usage=(-100, -10)), None, BOUND),
    "huge usage": (lambda p: answered(p, usage=(10**30, 10**30)), None, BOUND),
}
#: What only some providers have, or LiteLLM reads for some only.
PARTIAL: list[tuple[str, Make, str | None, str]] = [
    ("openai", lambda p: answered(p, usage=None), None, BOUND),
    # LiteLLM cannot read these providers' answers without a usage
    ("anthropic", lambda p: answered(p, usage=None), "server_error", BOUND),
    ("gemini", lambda p: answered(p, usage=None), "server_error", BOUND),
    ("openai", emptied([]), "server_error", BOUND),
    ("openai", emptied(None), "server_error", BOUND),
    ("gemini", emptied([]), "server_error", BOUND),
    ("gemini", emptied(None), "server_error", BOUND),
]


@pytest.fixture(scope="module")
def server() -> Iterator[LLMServer]:
    """One server for all: clients are kept by address, and are slow to make."""
    with LLMServer(lambda request: answered(request.provider)) as running:
        yield running


@pytest.fixture(autouse=True)
def keys(monkeypatch: pytest.MonkeyPatch) -> None:
    for _, variable in PROVIDERS.values():
        monkeypatch.setenv(variable, KEY)


def judge_of(provider: str, server: LLMServer, **options: Any) -> xb.judges.LLMJudge:
    usual = {"api_base": server.base(provider), "cache": False, "retry_wait": 0.0}
    usual |= {"max_attempts": 2, "budget_usd": 10.0, "timeout": PATIENCE}
    return xb.judges.LLMJudge(xb.LLM(PROVIDERS[provider][0], **(usual | options)))


def asked(judge: xb.judges.LLMJudge) -> tuple[str | None, JudgeCall]:
    """Return the reason of the failure, None for a verdict, and the call."""
    try:
        return None, asyncio.run(judge.ask(Question("a", "b"))).calls[0]
    except JudgeError as caught:
        error = caught
    assert KEY not in f"{error!r} {error.calls!r} {judge!r}"
    return error.reason, error.calls[0]


def check(provider: str, server: LLMServer, wire: Wire, reason: str | None, charge: str) -> None:
    server.forget()
    count = 1 if reason is None or reason in ONCE else 2
    server.script(*[wire] * count)
    judge = judge_of(provider, server, timeout=UNTIL_IT_HANGS)
    with hanging_ends(server):
        found, call = asked(judge)
    assert (found, len(server.requests), call.attempts) == (reason, count, count)
    if charge == TOLD:
        assert judge.spent_usd == call.cost_usd > 0
    else:
        assert call.cost_usd is None
        # at least a whole answer of max_tokens each, and no more than twice that
        most = judge.spent_usd / count / dearest(provider)
        assert 1 <= most < 2 if charge == BOUND else most == 0


def dearest(provider: str) -> float:
    """Return what an answer of the usual max_tokens costs."""
    from extractbench_nb.judges.client import list_price

    price = list_price(PROVIDERS[provider][0], 0, 2048)
    assert price
    return price


@pytest.mark.parametrize("fault, reason, charge", FAULTS.values(), ids=FAULTS)
@pytest.mark.parametrize("provider", PROVIDERS)
def test_a_fault_of_any_provider_is_the_same_failure(
    provider: str, fault: Make, reason: str | None, charge: str, server: LLMServer
) -> None:
    check(provider, server, fault(provider), reason, charge)


@pytest.mark.parametrize("provider, fault, reason, charge", PARTIAL)
def test_a_fault_of_some_providers(
    provider: str, fault: Make, reason: str | None, charge: str, server: LLMServer
) -> None:
    check(provider, server, fault(provider), reason, charge)


@pytest.mark.parametrize("status, reason", STATUSES.items())
@pytest.mark.parametrize("provider", PROVIDERS)
def test_a_status_of_any_provider_is_the_same_failure(
    provider: str, status: int, reason: str, server: LLMServer
) -> None:
    server.forget()
    server.script(*[refused(provider, status)] * (1 if reason in ONCE else 2))
    judge = judge_of(provider, server)
    assert (asked(judge)[0], judge.spent_usd) == (reason, 0)
    assert len(server.requests) == (1 if reason in ONCE else 2)


@pytest.mark.parametrize("provider", PROVIDERS)
def test_where_nothing_listens_nothing_is_charged(provider: str, server: LLMServer) -> None:
    judge = judge_of(provider, server, api_base="http://127.0.0.1:9/v1")
    assert asked(judge)[0] == "connection"
    assert judge.spent_usd == 0


# --- redirects ----------------------------------------------------------------------------------


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
@pytest.mark.parametrize("provider", PROVIDERS)
def test_nothing_is_sent_where_a_server_redirects_to(
    provider: str, status: int, server: LLMServer
) -> None:
    with LLMServer() as other:
        port = other.url.split(":")[2].removesuffix("/v1")
        for where in (f"http://127.0.0.1:{port}/v1", f"//localhost:{port}/?q=secret"):
            server.forget()
            server.script(http(status=status, location=where))
            judge = judge_of(provider, server)
            found, call = asked(judge)
            assert (found, len(server.requests), judge.spent_usd) == ("redirect", 1, 0)
            assert f":{port}" in str(call.error)
            assert "api_base" in str(call.error)
            assert "secret" not in str(call.error)
            assert asked(judge) == (
                found,
                call._replace(attempts=0, latency_seconds=pytest.approx(0, abs=PATIENCE)),
            )
        assert not other.requests


OTHERS = (
    *("groq/m", "mistral/m", "deepseek/m", "xai/m", "openrouter/m", "together_ai/m", "azure_ai/m"),
    *("fireworks_ai/m", "hosted_vllm/m", "ollama_chat/m", "lm_studio/m", "nvidia_nim/m"),
)


@pytest.mark.parametrize("model", OTHERS)
def test_other_providers_are_asked_through_our_client_too(model: str, server: LLMServer) -> None:
    server.forget()
    server.script(http(status=307, location="http://127.0.0.1:9/v1"))
    llm = xb.LLM(model, api_base=server.url, cache=False, retry_wait=0.0)
    judge = xb.judges.LLMJudge(llm)
    assert (asked(judge)[0], len(server.requests)) == ("redirect", 1)


@pytest.mark.parametrize("status", [307, 308])
@pytest.mark.parametrize("provider", PROVIDERS)
def test_a_redirect_within_a_server_is_followed(
    provider: str, status: int, server: LLMServer
) -> None:
    path = {"openai": "chat/completions", "anthropic": "messages", "gemini": "m:generateContent"}
    server.forget()
    server.script(http(status=status, location=f"/v2/{path[provider]}"))
    assert asked(judge_of(provider, server))[0] is None
    first, second = server.requests
    assert (second.path, second.body) == (f"/v2/{path[provider]}", first.body)
    server.forget()
    server.script(*[http(status=status, location="loop")] * 10)
    found, call = asked(judge_of(provider, server))
    assert found == "redirect"
    assert "redirects more than 3 times" in str(call.error)
    assert "api_base" not in str(call.error)
    assert len(server.requests) == 1 + 3


# --- how long to wait ---------------------------------------------------------------------------

INFO = {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "7.5s"}
HINTS: dict[str, tuple[dict[str, Any], float]] = {
    "seconds": ({"retry_after": "7"}, 7),
    "milliseconds": ({"retry_after_ms": "7500", "retry_after": "1"}, 7.5),
    "a zero, and words": ({"retry_after": "0", "message": "Try again in 2s."}, 2),
    "RetryInfo": ({"details": [{"@type": "x"}, INFO]}, 7.5),
    "in words": ({"message": "Rate limit reached. Please try again in 7.66s. Visit"}, 7.66),
    "in milliseconds": ({"message": "Please try again in 20ms."}, 0.02),
    "minutes": ({"message": "Please try again in 1m30s."}, 90),
    "in full": ({"message": "Please retry after 12 seconds."}, 12),
    "nothing": ({}, 0),
    "nonsense": ({"retry_after": "soon", "details": [{"retryDelay": "7 apples"}]}, 0),
    "negative": ({"retry_after": "-7"}, 0),
    "infinite": ({"retry_after": "inf", "retry_after_ms": "nan"}, 0),
    "a date that is past": ({"retry_after": formatdate(0, usegmt=True)}, 0),
    "no date": ({"retry_after": "Sun, 99 Nov 2026 10:00:00 GMT"}, 0),
}


@pytest.mark.parametrize("hint, seconds", HINTS.values(), ids=HINTS)
@pytest.mark.parametrize("status", [429, 503])
@pytest.mark.parametrize("provider", PROVIDERS)
def test_what_a_provider_asks_to_wait(
    provider: str, status: int, hint: dict[str, Any], seconds: float, server: LLMServer
) -> None:
    failure = fail(provider, server, refused(provider, status, **hint))
    assert failure.retry_after == pytest.approx(seconds)
    assert failure.transient


@pytest.mark.parametrize("provider", PROVIDERS)
def test_a_date_far_away_ends_the_attempts(provider: str, server: LLMServer) -> None:
    date = "Sun, 22 Nov 2099 10:00:00 GMT"
    failure = fail(provider, server, refused(provider, 429, retry_after=date))
    assert (failure.reason, failure.transient) == ("rate_limit", False)
    assert "asks to wait" in failure.problem


def fail(provider: str, server: LLMServer, wire: Wire) -> Failure:
    server.forget()
    server.script(wire)
    words = ({"role": "user", "content": "x"},)
    model, base = PROVIDERS[provider][0], server.base(provider)
    request = ModelRequest(model, words, 0.0, 10, PATIENCE, base, None, strict=False)

    async def main() -> Failure:
        with pytest.raises(Failure) as caught:
            await BACKGROUND.run(complete(request))
        return caught.value

    return asyncio.run(main())


# --- the budget ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "usages, tokens",
    [
        pytest.param((..., (50, 5)), (150, 15), id="both told"),
        pytest.param((..., {}), (None, None), id="the first"),
        pytest.param(({}, ...), (None, None), id="the second"),
        pytest.param(({}, {}), (None, None), id="neither"),
    ],
)
def test_tokens_of_two_answers_are_known_if_both_are_told(
    usages: Any, tokens: Any, server: LLMServer
) -> None:
    server.forget()
    unreadable = answered("openai", text="no verdict", usage=usages[0])
    server.script(unreadable, answered("openai", usage=usages[1]))
    reason, call = asked(judge_of("openai", server))
    assert (reason, len(server.requests), call.attempts) == (None, 2, 2)
    assert (call.prompt_tokens, call.completion_tokens) == tokens
    assert (call.cost_usd is None) == (None in tokens)


@pytest.mark.parametrize("at_once", [1, 8, 30])
@pytest.mark.parametrize("usage", [..., None, {}, (-9, -9)], ids=["told", "none", "empty", "less"])
def test_a_budget_holds_whatever_a_server_tells(
    usage: Any, at_once: int, server: LLMServer
) -> None:
    """Without a usage each answer is charged what it may have cost: 0.001 pays for none of 200."""
    names = [f"f{i}" for i in range(40)]
    schema = {"type": "object", "properties": {name: {"type": "string"} for name in names}}
    gold, predicted = ({name: f"{side} {name}" for name in names} for side in ("gold", "said"))
    server.respond = lambda a: answered(a.provider, usage=usage)
    server.forget()
    try:
        judge = judge_of("openai", server, budget_usd=0.01, max_concurrency=at_once)
        ev = xb.evaluate(schema, gold, predicted, judge=judge)
    finally:
        server.respond = lambda a: answered(a.provider)
    assert judge.spent_usd <= 0.01
    assert 0 < len(server.requests) == ev.summary["judged"]
    told = usage is ...
    assert len(server.requests) == 40 if told else len(server.requests) <= 8
    assert (ev.summary["llm_cost_usd"] > 0) == told  # else NaN: nobody knows
    assert set(ev.fields["reason"]) == ({"judged"} if told else {"judged", "budget"})
