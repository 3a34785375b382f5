"""How an error response is read: its reason, its words, and how long to wait."""

from typing import Any

import pytest

from extractbench_nb.judges.client import failure_of_response


@pytest.mark.parametrize(
    "body, problem",
    [
        ('{"error": {"message": "no credit\\n left"}}', "no credit left"),
        ('[{"error": {"message": "in a list"}}]', "in a list"),
        ('{"error": "a text"}', "a text"),
        ('{"message": 5}', '{"message": 5}'),
        ("<html>Gateway</html>", "<html>Gateway</html>"),
        ("", "HTTP status 400"),
        ("[" * 50_000, "[" * 499 + "…"),
        ('{"error": {"message": "key=abcdefgh12345"}}', "key=[hidden]"),
        ("broken Traceback (most recent call last): ...", "broken"),
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
        (429, "too many tokens per minute", "rate_limit"),
        (500, '{"error": {"code": "insufficient_quota"}}', "server_error"),
    ],
)
def test_the_reason_of_a_response(status: int, body: str, reason: str) -> None:
    assert failure_of_response(status, {}, body).reason == reason


INFO = '{"error": {"details": [{"@type": "RetryInfo", "retryDelay": "7.5s"}]}}'


@pytest.mark.parametrize(
    "after, body, seconds, transient",
    [
        ("7", "", 7, True),
        ("", INFO, 7.5, True),
        ("30", INFO, 30, True),
        ("", "", 0, True),
        ("soon", '{"retryDelay": "7 apples"}', 0, True),
        ("-7", "", 0, True),
        ("inf", "", 0, True),
        ("1.2.3", "", 0, True),
        ("86400", "", 86400, False),
    ],
)
def test_what_a_provider_asks_to_wait(
    after: str, body: str, seconds: float, transient: bool
) -> None:
    headers: Any = {"retry-after": after} if after else {}
    for status in (429, 503):
        failure = failure_of_response(status, headers, body)
        assert (failure.retry_after, failure.transient) == (seconds, transient)
