"""HTTP requests and responses as they are, before LiteLLM interprets them.

LiteLLM words the same error differently for each provider, follows redirects with the key in its
headers, and reads responses of any size. All its asynchronous requests pass through
`httpx.AsyncClient.send`; those of this package, and no others, are checked there.
"""

from __future__ import annotations

import asyncio
import math
import os
import re
import time
from collections.abc import Mapping
from contextlib import suppress
from contextvars import ContextVar
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from functools import partial
from typing import Any

_HIDDEN = "[hidden]"
_SECRET_NAME = re.compile(r"KEY|TOKEN|SECRET|PASSW|CREDENTIAL", re.IGNORECASE)
_MIN_SECRET = 8
#: Longer texts are cut; messages and answers are shorter.
_LONGEST = 250_000
_FORMS = re.compile(
    r"(?<![A-Za-z0-9])(?:sk|pk|gsk|xai|hf|r8|nvapi)[-_][A-Za-z0-9_*.-]{8,}"
    r"|AIza[\w-]{20,}"
    r"|(?i:(?<=bearer ))[\w.~+/=-]{8,}"
    r"|(?i:(?<=key=)|(?<=token=))[\w.~+/%-]{8,}"
    r"|(?<=://)[^/@\s]+(?=@)"
)


def scrub(text: str) -> str:
    """Replace keys in a text."""
    if len(text) > _LONGEST:  # a key must not be cut in two
        text = text[: max(text.rfind(" ", 0, _LONGEST), _LONGEST // 2)] + "…"
    secrets = {
        value
        for name, value in os.environ.items()
        if len(value) >= _MIN_SECRET and _SECRET_NAME.search(name)
    }
    for secret in sorted(secrets, key=len, reverse=True):  # a secret may be part of another
        text = text.replace(secret, _HIDDEN)
    return _FORMS.sub(_HIDDEN, text)


#: Seconds; a provider that asks to wait longer than this is not asked again.
LONGEST_WAIT = 300.0

_LONGEST_TEXT = 500
#: Characters of a message or body that are looked at.
_MOST_READ = 20_000
_NAMES = re.compile(r"^(?:(?:litellm\.)?\w*(?:Error|Exception|Timeout)(?::| -) )+")
_REFUSED = {
    401: "bad_key",
    402: "quota",
    403: "forbidden",
    404: "not_found",
    413: "context_window",
}
_PASSING = {408: "timeout", 409: "conflict", 425: "too_early", 429: "rate_limit"}
_SUCCESS, _SERVER_ERROR = 2, 500
#: Waiting times in response bodies: Gemini's RetryInfo, and text ("try again in 1m2.5s").
_RETRY_INFO = re.compile(r'"retryDelay"\s*:\s*"([\d.]{1,20}s)"')
_IN_WORDS = re.compile(
    r"(?:try again|retry)\s+(?:in|after)\s+((?:[\d.]{1,20}\s?(?:ms|h|m|s)[a-z]{0,11}\s?)+)",
    re.IGNORECASE,
)
_PART = re.compile(r"([\d.]+)\s?(ms|milli|h|m|s)", re.IGNORECASE)
_UNITS = {"ms": 0.001, "milli": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}


class Failure(Exception):  # noqa: N818 - callers convert it to a `JudgeError`
    """A request without an answer.

    `reason` is an identifier, `problem` a description without keys. `transient`: another attempt
    may succeed, after `retry_after` seconds if the provider asks for that. `billed`: the provider
    may bill the request nevertheless.
    """

    def __init__(
        self,
        reason: str,
        problem: str,
        *,
        transient: bool = False,
        retry_after: float = 0.0,
        billed: bool = False,
    ) -> None:
        self.reason = reason
        self.problem = problem
        self.transient = transient
        self.retry_after = retry_after
        self.billed = billed
        super().__init__(f"{reason}: {problem}")


def failure_of(error: Exception, status: int | None = None, wait: float = 0.0) -> Failure:
    """Convert an error of LiteLLM."""
    status = getattr(error, "status_code", None) if status is None else status
    text = problem_of(error)
    if type(error).__name__ == "ContextWindowExceededError":
        return Failure("context_window", text)
    body = getattr(error, "body", None)
    if isinstance(body, Mapping) and body.get("code") == "insufficient_quota":
        return Failure("quota", text)
    if not isinstance(status, int):
        return Failure("model_failed", text)
    if status not in _PASSING and status < _SERVER_ERROR:
        return Failure(_REFUSED.get(status, "bad_request"), text)
    if wait > LONGEST_WAIT:
        text = f"{text} (the provider asks to wait {wait:,.0f} s)"
    reason = _PASSING.get(status, "server_error")
    return Failure(reason, text, transient=wait <= LONGEST_WAIT, retry_after=wait)


def asked_wait(headers: Mapping[str, str], body: str) -> float:
    """Read how many seconds a response asks to wait, from its headers or body."""
    after = headers.get("retry-after", "")
    found = [_seconds(headers.get("retry-after-ms", "")) / 1000, _seconds(after)]
    with suppress(ValueError, OverflowError):  # it is not a date
        found.append(max(parsedate_to_datetime(after).timestamp() - time.time(), 0.0))
    for pattern in (_RETRY_INFO, _IN_WORDS):
        said = pattern.search(body[:_MOST_READ])
        parts = _PART.findall(said[1]) if said else []
        found.append(sum(_seconds(number) * _UNITS[unit.lower()] for number, unit in parts))
    return next(filter(None, found), 0.0)


def _seconds(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        return 0.0
    return max(value, 0.0) if math.isfinite(value) else 0.0


def problem_of(error: BaseException) -> str:
    """Return the message of an error in one short line, without keys and without a traceback."""
    message = scrub(str(error)[:_MOST_READ]).partition("Traceback (most recent call last)")[0]
    text = _NAMES.sub("", " ".join(message.split()))
    return text if len(text) <= _LONGEST_TEXT else text[:_LONGEST_TEXT] + "…"


#: Bytes of a decoded response; the longest answers of models have a tenth of it.
_LARGEST = 32 * 2**20
#: At most one of these is accepted: otherwise a kilobyte may expand to gigabytes.
_ENCODINGS = ("", "identity", "gzip", "deflate")
_DECODED = ("content-encoding", "content-length", "transfer-encoding")
_MOST_REDIRECTS = 3
_ERRORS = 400
#: Characters; aiohttp's errors may quote all headers.
_LONGEST_CAUSE = 120


@dataclass
class Exchange:
    """State of one request to a server.

    `sent`: it may have reached the server, which then may bill it. `status` and `wait` (seconds)
    are those of the response. `failure`: why the response cannot be read; LiteLLM raises its own
    error for it. `stopped`: the caller no longer waits for it.
    """

    sent: bool = False
    status: int | None = None
    wait: float = 0.0
    failure: Failure | None = None
    stopped: bool = False

    @property
    def succeeded(self) -> bool:
        """Whether there is a response, and its status is a success."""
        return self.status is not None and self.status // 100 == _SUCCESS

    def fail(self, reason: str, problem: str, *, transient: bool = True) -> Failure:
        """Store the reason for a missing response, and return it to be raised."""
        self.failure = Failure(reason, problem, transient=transient, billed=self.sent)
        return self.failure


#: Set while a request of this package is made.
EXCHANGE: ContextVar[Exchange | None] = ContextVar("EXCHANGE", default=None)


def watch_exchanges() -> None:
    """Record requests that are made while `EXCHANGE` is set; others are not affected.

    Calling it again changes nothing: each further layer would follow the redirects of the one
    below, and a redirect loop would take 4**n requests.
    """
    import httpx

    if httpx.AsyncClient.send.__module__ == __name__:
        return
    send, send_blocking = httpx.AsyncClient.send, httpx.Client.send

    async def watched(client: Any, request: Any, **options: Any) -> Any:
        exchange = EXCHANGE.get()
        if exchange is None:
            return await send(client, request, **options)
        if exchange.stopped:
            raise asyncio.CancelledError
        streamed = options.pop("stream", False)
        request.headers["accept-encoding"] = "gzip, deflate"
        exchange.sent, exchange.status, exchange.wait, exchange.failure = True, None, 0.0, None
        options |= {"stream": True, "follow_redirects": False}
        try:
            response = await _followed(partial(send, client, **options), request)
            return response if streamed else await _read(response, exchange)
        except httpx.DecodingError:
            raise  # the response has arrived
        except httpx.RequestError as error:
            raise _broken(error, exchange) from None

    def unredirected(client: Any, request: Any, **options: Any) -> Any:
        if EXCHANGE.get() is not None:
            options["follow_redirects"] = False
        return send_blocking(client, request, **options)

    for kind, method in ((httpx.AsyncClient, watched), (httpx.Client, unredirected)):
        setattr(kind, "send", method)  # noqa: B010 - mypy refuses the assignment


async def _followed(send: Any, request: Any) -> Any:
    """Send a request, and follow redirects within its own server."""
    response = await send(request)
    for _ in range(_MOST_REDIRECTS):
        following = response.next_request
        if following is None or _origin(following) != _origin(request):
            break
        await response.aclose()
        response = await send(following)
    return response


async def _read(response: Any, exchange: Exchange) -> Any:
    """Read a response of limited size, and return it decoded."""
    from httpx import Response

    exchange.status = response.status_code
    encoding = response.headers.get("content-encoding", "").strip().lower()
    body = bytearray()
    try:
        if response.next_request is not None:
            exchange.sent = False  # the server that should answer did not receive it
            raise exchange.fail("redirect", _redirect_problem(response), transient=False)
        if encoding not in _ENCODINGS:
            raise exchange.fail("server_error", f"the response is encoded as {encoding[:40]!r}")
        async for piece in response.aiter_bytes():
            body += piece
            if len(body) > _LARGEST:
                raise exchange.fail("server_error", f"the response exceeds {_LARGEST:,} bytes")
    finally:
        await response.aclose()
    if exchange.status >= _ERRORS:
        exchange.wait = asked_wait(response.headers, bytes(body).decode("utf-8", "replace"))
    headers = [pair for pair in response.headers.multi_items() if pair[0] not in _DECODED]
    extensions = {k: v for k, v in response.extensions.items() if k != "network_stream"}
    about = {"request": response.request, "extensions": extensions}
    return Response(response.status_code, headers=headers, content=bytes(body), **about)


def _redirect_problem(response: Any) -> str:
    target, status = _origin(response.next_request), response.status_code
    if target == _origin(response.request):
        return f"the server redirects more than {_MOST_REDIRECTS} times (HTTP status {status})"
    return (
        f"the server redirects to {target} (HTTP status {status}), which would receive the key and "
        "the texts; if that is the right server, set api_base to it"
    )


def _broken(error: Exception, exchange: Exchange) -> Failure:
    """Record whether the request was sent, and return a timeout or a connection failure."""
    import httpx

    never_connected = (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout)
    # a connection that was reset comes as the same httpx error as one that was refused
    was_reset = type(error.__cause__).__name__ == "ClientOSError"
    exchange.sent = was_reset or not isinstance(error, never_connected)
    if isinstance(error, httpx.TimeoutException):
        return exchange.fail("timeout", problem_of(error) or "no answer in time")
    problem = "the connection broke" if exchange.sent else "no connection"
    return exchange.fail("connection", f"{problem}: {problem_of(error)[:_LONGEST_CAUSE]}")


def _origin(request: Any) -> str:
    """Return scheme, host and port: what a redirect must not change."""
    url = request.url
    port = "" if url.port is None else f":{url.port}"
    return scrub(f"{url.scheme}://{url.host}{port}")
