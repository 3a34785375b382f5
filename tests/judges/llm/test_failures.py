"""How an error is worded, and how long to wait before the next attempt."""

from typing import Any

import pytest

from extractbench_nb.judges import call_failures
from extractbench_nb.judges.call_failures import Failure, failure_of_error, failure_of_response
from extractbench_nb.judges.calls import pause_after


class RaisedError(Exception):
    def __init__(self, text: str, **attributes: Any) -> None:
        super().__init__(text)
        vars(self).update(attributes)


@pytest.mark.parametrize(
    "body, problem",
    [
        ('{"error": {"message": "no credit\\n left"}}', "no credit left"),
        ('[{"error": {"message": "in a list"}}]', "in a list"),
        ('{"error": "a text"}', "a text"),
        ('{"detail": "FastAPI\'s"}', "FastAPI's"),
        ('{"message": 5}', '{"message": 5}'),
        ("<html>Gateway</html>", "<html>Gateway</html>"),
        ("", "HTTP status 400"),
        ("[" * 50_000, "[" * 500 + "…"),
        ('{"error": {"message": "key=abcdefgh12345"}}', "key=[hidden]"),
    ],
)
def test_the_message_of_a_response(body: str, problem: str) -> None:
    failure = failure_of_response(400, {}, body)
    assert (failure.reason, failure.problem, failure.transient) == ("bad_request", problem, False)


@pytest.mark.parametrize(
    "status, body, reason",
    [
        (429, '{"error": {"code": "insufficient_quota"}}', "quota"),
        (400, '{"error": {"code": "context_length_exceeded"}}', "context_window"),
        (400, "prompt is too long: 9 tokens > 8 maximum", "context_window"),
        (400, "The input token count (9) exceeds the maximum number of tokens", "context_window"),
        (429, "too many tokens per minute", "rate_limit"),
        (500, '{"error": {"code": "insufficient_quota"}}', "server_error"),
    ],
)
def test_the_reason_of_a_response(status: int, body: str, reason: str) -> None:
    assert failure_of_response(status, {}, body).reason == reason


def test_an_error_of_litellm_is_one_short_line(monkeypatch: pytest.MonkeyPatch) -> None:
    text = (
        "litellm.APIError: APIError: OpenAIException - a\n b Traceback (most recent call last): c"
    )
    assert failure_of_error(RaisedError(text, status_code=500)).problem == "a b"
    assert len(failure_of_error(RaisedError("x" * 9_999, status_code=500)).problem) == 501
    unknown = failure_of_error(ValueError("boom"))
    assert (unknown.reason, unknown.problem, unknown.transient) == ("model_failed", "boom", False)
    lengths: list[int] = []
    monkeypatch.setattr(call_failures, "scrub", lambda text: lengths.append(len(text)) or text)
    failure_of_error(RaisedError("x" * 10_000_000, status_code=500))
    assert lengths == [20_000]


@pytest.mark.parametrize(
    "name, status, reason",
    [
        ("ContextWindowExceededError", 400, "context_window"),
        ("BadRequestError", 400, "bad_request"),
        ("RateLimitError", 429, "rate_limit"),
        ("APIConnectionError", None, "model_failed"),
    ],
)
def test_the_reason_of_an_error_of_litellm(name: str, status: int | None, reason: str) -> None:
    error = type(name, (RaisedError,), {})("too much", status_code=status)
    failure = failure_of_error(error)
    assert (failure.reason, failure.problem) == (reason, "too much")


def test_waits_double_with_jitter_and_heed_the_provider() -> None:
    usual, patient = Failure("x", "x"), Failure("x", "x", retry_after=30.0)
    for number, least in ((1, 1), (2, 2), (3, 4), (4, 8)):
        waits = [pause_after(number, usual, 1.0) for _ in range(50)]
        assert least <= min(waits) < max(waits) <= least + 1
    assert pause_after(1, patient, 1.0) == 30.0
    assert pause_after(10**9, usual, 1.0) <= 301
    assert pause_after(3, usual, 0.0) == 0
