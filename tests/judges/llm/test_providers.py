"""The same fault of any provider is the same failure: its kind, the requests, what is charged."""

import asyncio
import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import extractbench_nb as xb
from extractbench_nb.core.text.judging import JudgeCall, JudgeError, Question
from tests.judges.llm.providers import (
    PROVIDERS,
    answered,
    cut,
    hanging,
    http,
    refused,
    said,
)
from tests.llm_server import UNTIL_IT_HANGS, LLMServer, Wire, hanging_ends
from tests.waiting import PATIENCE

KEY = "marked+key/5f2c9a7d41e8b3"
FREE, TOLD, BOUND = "free", "told", "bound"  # what a budget is charged for one request
PAGE = b"<html><body>Log in to the gateway</body></html>"
STATUSES = {
    **dict.fromkeys((400, 422), "bad_request"),
    401: "bad_key",
    402: "quota",
    403: "forbidden",
    404: "not_found",
    413: "context_window",
    408: "timeout",
    429: "rate_limit",
    **dict.fromkeys((500, 503, 529), "server_error"),
}
ONCE = {"bad_request", "bad_key", "forbidden", "not_found", "quota", "context_window"}
Make = Callable[[str], Wire]


def body(provider: str) -> bytes:
    return json.dumps(said(provider)).encode()


#: Fault by name: what is sent, the failure's reason (None for a verdict), what is charged.
FAULTS: dict[str, tuple[Make, str | None, str]] = {
    "nothing wrong": (answered, None, TOLD),
    "HTML": (lambda _: http(PAGE, kind="text/html"), "server_error", BOUND),
    "HTML with an error": (lambda _: http(PAGE, 502, "text/html"), "server_error", FREE),
    "no body": (lambda _: http(b""), "server_error", BOUND),
    "cut JSON": (lambda p: http(body(p)[:-20]), "server_error", BOUND),
    "an empty object": (lambda _: http(b"{}"), "server_error", BOUND),
    "an error that reports success": (
        lambda _: http(b'{"error": {"message": "overloaded"}}'),
        "server_error",
        BOUND,
    ),
    "broken compression": (
        lambda _: http(b"nope", content_encoding="gzip"),
        "connection",
        BOUND,
    ),
    "no HTTP": (lambda _: Wire(b"SSH-2.0-OpenSSH_9\r\n", end="closed"), "connection", BOUND),
    "reset": (lambda _: Wire(end="reset"), "connection", BOUND),
    **{
        f"cut after {stage}": (lambda p, s=stage: cut(answered(p), s), "connection", BOUND)
        for stage in ("nothing", "body")
    },
    "hanging": (lambda _: Wire(end="hang"), "timeout", BOUND),
    "hanging in the body": (
        lambda p: hanging(Wire(cut(answered(p), "body").head)),
        "timeout",
        BOUND,
    ),
    "no text": (lambda p: answered(p, text=None), "empty", TOLD),
    "empty usage": (lambda p: answered(p, usage={}), None, BOUND),
    "negative usage": (lambda p: answered(p, usage=(-100, -10)), None, BOUND),
}


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
        assert judge.model.spent_usd == call.cost_usd > 0
    else:
        assert call.cost_usd is None
        # at least a whole answer of max_tokens each, and no more than twice that
        most = judge.model.spent_usd / count / dearest(provider)
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


@pytest.mark.parametrize("status, reason", STATUSES.items())
@pytest.mark.parametrize("provider", PROVIDERS)
def test_a_status_of_any_provider_is_the_same_failure(
    provider: str, status: int, reason: str, server: LLMServer
) -> None:
    server.forget()
    server.script(*[refused(provider, status)] * (1 if reason in ONCE else 2))
    judge = judge_of(provider, server)
    assert (asked(judge)[0], judge.model.spent_usd) == (reason, 0)
    assert len(server.requests) == (1 if reason in ONCE else 2)


@pytest.mark.parametrize("provider", PROVIDERS)
def test_where_nothing_listens_nothing_is_charged(provider: str, server: LLMServer) -> None:
    judge = judge_of(provider, server, api_base="http://127.0.0.1:9/v1")
    assert asked(judge)[0] == "connection"
    assert judge.model.spent_usd == 0


# --- redirects ----------------------------------------------------------------------------------


@pytest.mark.parametrize("status", [302, 307])
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
            assert (found, len(server.requests), judge.model.spent_usd) == ("redirect", 1, 0)
            assert "redirects to http://" in str(call.error)
            assert "api_base" in str(call.error)
            assert "secret" not in str(call.error)
            assert asked(judge) == (
                found,
                call._replace(attempts=0, latency_seconds=pytest.approx(0, abs=PATIENCE)),
            )
        assert not other.requests


OTHERS = ("groq/m", "mistral/m", "openrouter/m", "azure_ai/m", "hosted_vllm/m", "ollama_chat/m")


@pytest.mark.parametrize("model", OTHERS)
def test_other_providers_are_asked_through_our_client_too(model: str, server: LLMServer) -> None:
    server.forget()
    server.script(http(status=307, location="http://127.0.0.1:9/v1"))
    llm = xb.LLM(model, api_base=server.url, cache=False, retry_wait=0.0)
    judge = xb.judges.LLMJudge(llm)
    assert (asked(judge)[0], len(server.requests)) == ("redirect", 1)


# --- the budget ---------------------------------------------------------------------------------
