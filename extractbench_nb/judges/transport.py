"""The HTTP client for requests to models: a response that can be read, or a `Failure`.

LiteLLM words the same error differently for each provider, and its own clients follow redirects
with the key in the headers and read responses of any size. It is given this client instead.
"""

from __future__ import annotations

import asyncio
from typing import Any

import httpx

from extractbench_nb.judges.call_failures import (
    EXCHANGE,
    Exchange,
    Failed,
    Failure,
    failure_of_response,
    problem_of,
    scrub,
)

#: Bytes of a decoded response; the longest answers of models have a tenth of it.
_LARGEST = 32 * 2**20
#: At most one of these is accepted: otherwise a kilobyte may expand to gigabytes.
_ENCODINGS = ("", "identity", "gzip", "deflate")
_DECODED = ("content-encoding", "content-length", "transfer-encoding")
_MOST_REDIRECTS = 3
_ERRORS = 400
#: Errors before a server has the request, which then cannot bill it.
_UNSENT = (
    *(httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout, httpx.ProxyError),
    httpx.UnsupportedProtocol,
)


class ModelClient(httpx.AsyncClient):
    """Client that raises `Failed` for everything but a success of limited size.

    It follows redirects only within the server that was asked: another one would receive the key.
    """

    async def send(
        self, request: httpx.Request, *, stream: bool = False, **options: Any
    ) -> httpx.Response:
        """Send a request, and read the response whether or not it is to be streamed."""
        exchange = EXCHANGE.get() or Exchange()
        if exchange.stopped:
            raise asyncio.CancelledError
        exchange.sent = True
        request.headers["accept-encoding"] = "gzip, deflate"
        options |= {"stream": True, "follow_redirects": False}
        try:
            response = await super().send(request, **options)
            for _ in range(_MOST_REDIRECTS):
                following = response.next_request
                if following is None or _origin(following) != _origin(request):
                    break
                await response.aclose()
                response = await super().send(following, **options)
            read = await _read(response)
            exchange.answered = True
            return read
        except httpx.RequestError as error:
            text, sent = problem_of(error), not isinstance(error, _UNSENT)
            late = isinstance(error, httpx.TimeoutException)
        if not late:
            text = f"{'the connection broke' if sent else 'no connection'}: {text}"
        reason, text = ("timeout", text or "no answer in time") if late else ("connection", text)
        raise Failed(Failure(reason, text, transient=True, billed=sent))


async def _read(response: httpx.Response) -> httpx.Response:
    status, body = response.status_code, bytearray()
    encoding = response.headers.get("content-encoding", "").strip().lower()
    try:
        if response.next_request is not None:
            origins = map(_origin, (response.request, response.next_request))
            raise Failed(Failure("redirect", _redirect_problem(status, *origins)))
        if encoding not in _ENCODINGS:
            raise _unreadable(f"the response is encoded as {encoding[:40]!r}")
        async for piece in response.aiter_bytes():
            body += piece
            if len(body) > _LARGEST:
                raise _unreadable(f"the response exceeds {_LARGEST:,} bytes")
    except httpx.DecodingError as error:
        if status < _ERRORS:
            raise _unreadable(f"the response cannot be read: {problem_of(error)}") from None
    finally:
        await response.aclose()
    if status >= _ERRORS:
        text = bytes(body).decode("utf-8", "replace")
        raise Failed(failure_of_response(status, response.headers, text))
    headers = [pair for pair in response.headers.multi_items() if pair[0] not in _DECODED]
    read = httpx.Response(status, headers=headers, content=bytes(body), request=response.request)
    read.extensions |= {k: v for k, v in response.extensions.items() if k != "network_stream"}
    return read


def _unreadable(problem: str) -> Failed:
    return Failed(Failure("server_error", problem, transient=True, billed=True))


def _redirect_problem(status: int, source: str, target: str) -> str:
    if target == source:
        return f"the server redirects more than {_MOST_REDIRECTS} times (HTTP status {status})"
    return (
        f"the server redirects to {target} (HTTP status {status}), which would receive the key and "
        "the texts; if that is the right server, set api_base to it"
    )


def _origin(request: httpx.Request) -> str:
    """Return scheme, host and port: what a redirect must not change."""
    url = request.url
    port = "" if url.port is None else f":{url.port}"
    return scrub(f"{url.scheme}://{url.host}{port}")
