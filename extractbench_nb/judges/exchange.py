"""What goes over the wire for one request, seen before LiteLLM reads it.

LiteLLM words the same fault differently for each provider, follows redirects with the key in its
headers, and reads responses of any size. Its asynchronous requests to all providers pass
`httpx.AsyncClient.send`: those of this package are watched there, and no others.
"""

from __future__ import annotations

import asyncio
from contextvars import ContextVar
from dataclasses import dataclass
from functools import partial
from typing import Any

from extractbench_nb.judges.failures import Failure, asked_wait, problem_of
from extractbench_nb.judges.scrub import scrub

__all__ = ["EXCHANGE", "Exchange", "watch_exchanges"]

#: Bytes of a decoded response; the longest answers of models have a tenth of it.
_LARGEST = 32 * 2**20
#: At most one of these: in others, and in several, a kilobyte may hold gigabytes.
_ENCODINGS = ("", "identity", "gzip", "deflate")
_DECODED = ("content-encoding", "content-length", "transfer-encoding")
_MOST_REDIRECTS = 3
_ERRORS = 400
#: Characters; aiohttp's errors may quote all headers.
_LONGEST_CAUSE = 120


@dataclass
class Exchange:
    """What is known of one request to a server.

    Parameters
    ----------
    sent : bool
        Whether it may have reached the server, which then may bill it.
    status : int or None
        HTTP status of the response.
    wait : float
        Seconds that an error response asks to wait; 0 where it does not.
    failure : Failure or None
        Why the response cannot be read; LiteLLM raises its own error for it.
    stopped : bool
        Whether nobody waits for it any more.
    """

    sent: bool = False
    status: int | None = None
    wait: float = 0.0
    failure: Failure | None = None
    stopped: bool = False

    @property
    def succeeded(self) -> bool:
        """Whether the server reports success."""
        return self.status is not None and self.status // 100 == 2  # noqa: PLR2004 - HTTP's class

    def fail(self, reason: str, problem: str, *, transient: bool = True) -> Failure:
        """Keep the reason for a missing response, and return it to be raised."""
        self.failure = Failure(reason, problem, transient=transient, billed=self.sent)
        return self.failure


#: Set while a request of this package is made.
EXCHANGE: ContextVar[Exchange | None] = ContextVar("EXCHANGE", default=None)


def watch_exchanges() -> None:
    """Watch the requests that are made while `EXCHANGE` is set; others stay as they are.

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
            raise  # the response is there
        except httpx.RequestError as error:
            raise _broken(error, exchange) from None

    def unredirected(client: Any, request: Any, **options: Any) -> Any:
        if EXCHANGE.get() is not None:
            options["follow_redirects"] = False
        return send_blocking(client, request, **options)

    for kind, method in ((httpx.AsyncClient, watched), (httpx.Client, unredirected)):
        setattr(kind, "send", method)  # noqa: B010 - mypy refuses the assignment


async def _followed(send: Any, request: Any) -> Any:
    """Send a request, and again where its own server redirects to."""
    response = await send(request)
    for _ in range(_MOST_REDIRECTS):
        following = response.next_request
        if following is None or _origin(following) != _origin(request):
            break
        await response.aclose()
        response = await send(following)
    return response


async def _read(response: Any, exchange: Exchange) -> Any:
    """Read a response within its limits, into one that is decoded."""
    from httpx import Response

    exchange.status = response.status_code
    encoding = response.headers.get("content-encoding", "").strip().lower()
    body = bytearray()
    try:
        if response.next_request is not None:
            exchange.sent = False  # to the right server
            where, status = _origin(response.next_request), response.status_code
            raise exchange.fail(
                "redirect",
                f"the server redirects to {where} (HTTP status {status}), which would be sent the "
                "key and the texts; if that is the right server, name it by api_base",
                transient=False,
            )
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


def _broken(error: Exception, exchange: Exchange) -> Failure:
    """Tell a timeout from a cut connection, and whether there was one at all."""
    import httpx

    never = (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout)
    # aiohttp reports a connection that is reset by the same error as one that is refused
    reset = type(error.__cause__).__name__ == "ClientOSError"
    exchange.sent = reset or not isinstance(error, never)
    if isinstance(error, httpx.TimeoutException):
        return exchange.fail("timeout", problem_of(error) or "no answer in time")
    words = "the connection broke" if exchange.sent else "no connection"
    return exchange.fail("connection", f"{words}: {problem_of(error)[:_LONGEST_CAUSE]}")


def _origin(request: Any) -> str:
    """Return scheme, host and port: what a redirect must not change."""
    url = request.url
    port = "" if url.port is None else f":{url.port}"
    return scrub(f"{url.scheme}://{url.host}{port}")
