"""A language model's HTTP server on 127.0.0.1, for tests: OpenAI's protocol, scripted answers.

A real socket in a thread of its own, HTTP/1.1 with connections that stay open. What it answers is a
function of the request; a script of replies (faults, most of them) comes first, one a request. A
`Wire` is any bytes at all, in pieces, after which the connection stays open, is closed, is reset,
or hangs; so it can also speak the protocols of other providers (`tests.judges.llm.providers`).
"""

import asyncio
import json
import math
import re
import socket
import struct
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any, Protocol, Self

from tests.waiting import PATIENCE

#: The timeout of a client that asks one thing at a time and gives up once the server hangs; see
#: `hanging_ends`.
UNTIL_IT_HANGS = PATIENCE - 1
_NAMED = re.compile(r"of your answer is ([0-9a-f]{12}), which ends")
_BLOCK = re.compile(r"<(\w+)-([0-9a-f]+)>\n(.*?)\n</\1-\2>", re.DOTALL)
#: In an answer, stands for the mark of the question; the server puts that in its place.
MARK = "c0dec0dec0de"
_REASONS = {200: "OK", 400: "Bad Request", 401: "Unauthorized", 403: "Forbidden", 404: "Not Found"}


@dataclass(frozen=True)
class Request:
    """One request as it came in."""

    path: str
    headers: Mapping[str, str]
    body: Any

    @property
    def prompt(self) -> str:
        """The text of the last message."""
        return str(self.body["messages"][-1]["content"])

    @property
    def text(self) -> str:
        """All messages."""
        return "\n".join(str(message["content"]) for message in self.body["messages"])

    @property
    def provider(self) -> str:
        """Whose protocol it is, by its path."""
        provider = "anthropic" if "/messages" in self.path else "openai"
        return "gemini" if ":generateContent" in self.path else provider

    @property
    def mark(self) -> str:
        """What the names of the marks end with; a verdict names it."""
        return (_NAMED.findall(json.dumps(self.body)) or [MARK])[-1]

    @property
    def quoted(self) -> dict[str, str]:
        """What stands between marks, by the name of the mark."""
        return {name: text for name, _, text in _BLOCK.findall(self.text)}


@dataclass(frozen=True)
class Wire:
    """Bytes that go back for one request, and how the connection ends."""

    head: bytes = b""
    pieces: Callable[[], Iterable[bytes]] = tuple
    end: str = "open"  # open, closed, reset, hang


@dataclass(frozen=True)
class Reply:
    """What the server does with one request: an answer, an error, nothing, or a cut connection."""

    content: str | None = None
    status: int = 200
    message: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)
    delay: float = 0.0
    cut: bool = False
    hangs: bool = False
    body: Any = None
    finish_reason: str = "stop"
    tokens: tuple[int, int] = (100, 10)
    error_code: str | None = None
    wire: Wire | None = None


def answer(score: float, reasoning: str = "said so") -> Reply:
    """Give a well-formed verdict."""
    return Reply(json.dumps({"mark_code": MARK, "score": score, "reasoning": reasoning}))


def failure(status: int, message: str = "scripted", **headers: str) -> Reply:
    """Give an HTTP error; an underscore in a header's name stands for a hyphen."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return Reply(status=status, message=message, headers=named)


CUT = Reply(cut=True)
HANG = Reply(hangs=True)
EMPTY = Reply("")

Answer = Callable[[Request], Reply | Wire | str]


class LLMServer:
    """The server; started on entering the context, stopped with everything it began on leaving.

    Parameters
    ----------
    respond : callable
        What to answer once the script is used up: a `Reply`, or the text of the answer.
    latency : float
        Seconds that every answer takes; requests wait at the same time.
    """

    def __init__(self, respond: Answer = lambda _: answer(1.0), *, latency: float = 0.0) -> None:
        self.respond = respond
        self.latency = latency
        self.requests: list[Request] = []
        self.peak = 0
        self.connections = 0
        self.on_hanging: Callable[[], object] = lambda: None
        self._script: list[Reply] = []
        self._busy = 0
        self._held = 0.0
        self._lock = threading.Lock()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._run, name="llm-server", daemon=True)
        self._ready = threading.Event()
        self._free, self._never = asyncio.Event(), asyncio.Event()
        self._port = 0

    def script(self, *replies: Reply | Wire) -> None:
        """Answer the next requests with these, one each."""
        with self._lock:
            self._script.extend(map(_as_reply, replies))

    def hold(self, at_once: float = math.inf) -> None:
        """Keep answers back until so many requests are under way, or until `release`."""
        self._free.clear()
        self._held = at_once

    def release(self) -> None:
        """Give the answers that were kept back."""
        self._held = 0.0
        self._loop.call_soon_threadsafe(self._free.set)

    def forget(self) -> None:
        """Count from zero again."""
        with self._lock:
            self.requests.clear()
            self._script.clear()
            self.peak = 0

    @property
    def url(self) -> str:
        """What to give as api_base."""
        return f"http://127.0.0.1:{self._port}/v1"

    def base(self, provider: str) -> str:
        """What to give as api_base for the protocol of a provider."""
        return self.url if provider == "openai" else self.url.removesuffix("/v1")

    def __enter__(self) -> Self:
        self._thread.start()
        assert self._ready.wait(PATIENCE)
        return self

    def __exit__(self, *_: object) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(PATIENCE)
        assert not self._thread.is_alive()

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        server = self._loop.run_until_complete(
            asyncio.start_server(self._connection, "127.0.0.1", 0, backlog=256)
        )
        self._port = server.sockets[0].getsockname()[1]
        self._loop.call_soon(self._ready.set)
        self._loop.run_forever()
        server.close()
        tasks = asyncio.all_tasks(self._loop)
        for task in tasks:
            task.cancel()
        self._loop.run_until_complete(asyncio.gather(*tasks, return_exceptions=True))
        self._loop.run_until_complete(self._loop.shutdown_asyncgens())
        self._loop.close()

    async def _connection(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        try:
            while (request := await _read(reader)) is not None:
                if not await self._serve(request, writer):
                    break
        except (ConnectionError, asyncio.CancelledError):
            pass
        finally:
            writer.transport.abort()

    async def _serve(self, request: Request, writer: asyncio.StreamWriter) -> bool:
        with self._lock:
            self.requests.append(request)
            self._busy += 1
            self.peak = max(self.peak, self._busy)
            scripted = self._script.pop(0) if self._script else None
        try:
            reply = scripted or _as_reply(self.respond(request))
            if self._busy >= self._held:
                self._free.set()
            await self._free.wait()
            if reply.hangs:
                self.on_hanging()
                await self._never.wait()
            await asyncio.sleep(reply.delay or self.latency)
        finally:
            with self._lock:
                self._busy -= 1
        if reply.cut:
            return False
        if reply.wire is not None:
            return await self._send(request, reply.wire, writer)
        writer.write(_marked(request, _response(request, reply)))
        await writer.drain()
        return True

    async def _send(self, request: Request, wire: Wire, writer: asyncio.StreamWriter) -> bool:
        writer.write(wire.head)
        for piece in wire.pieces():
            writer.write(_marked(request, piece))
            await writer.drain()
        await writer.drain()
        if wire.end == "closed":
            writer.close()
            await writer.wait_closed()
        elif wire.end == "reset":
            connection = writer.get_extra_info("socket")
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        elif wire.end == "hang":
            self.on_hanging()
            await self._never.wait()
        return wire.end == "open"


def _marked(request: Request, sent: bytes) -> bytes:
    """Name the mark of the question, which has as many characters as `MARK`."""
    return sent.replace(MARK.encode(), request.mark.encode()) if MARK.encode() in sent else sent


def _as_reply(said: Reply | Wire | str) -> Reply:
    if isinstance(said, Wire):
        return Reply(wire=said)
    return Reply(said) if isinstance(said, str) else said


async def _read(reader: asyncio.StreamReader) -> Request | None:
    try:
        head = await reader.readuntil(b"\r\n\r\n")
    except asyncio.IncompleteReadError:
        return None
    first, *lines = head.decode("latin-1").split("\r\n")
    pairs = (line.partition(":") for line in lines if line)
    headers = {name.strip().lower(): value.strip() for name, _, value in pairs}
    raw = await reader.readexactly(int(headers.get("content-length", 0)))
    return Request(first.split(" ")[1], headers, json.loads(raw) if raw else None)


def _response(request: Request, reply: Reply) -> bytes:
    body = reply.body if reply.body is not None else _body(request, reply)
    payload = json.dumps(body).encode()
    headers = {
        "content-type": "application/json",
        "content-length": str(len(payload)),
        **reply.headers,
    }
    lines = [f"HTTP/1.1 {reply.status} {_REASONS.get(reply.status, 'Scripted')}"]
    lines += [f"{name}: {value}" for name, value in headers.items()]
    return "\r\n".join([*lines, "", ""]).encode("latin-1") + payload


def _body(request: Request, reply: Reply) -> dict[str, Any]:
    if reply.status != 200:
        return {"error": {"message": reply.message, "type": "scripted", "code": reply.error_code}}
    prompt, completion = reply.tokens
    message = {"role": "assistant", "content": reply.content}
    return {
        "id": "chatcmpl-test",
        "object": "chat.completion",
        "created": 0,
        "model": request.body["model"],
        "choices": [{"index": 0, "message": message, "finish_reason": reply.finish_reason}],
        "usage": {
            "prompt_tokens": prompt,
            "completion_tokens": completion,
            "total_tokens": prompt + completion,
        },
    }


class Hanging(Protocol):
    """A server that says when it hangs."""

    on_hanging: Callable[[], object]


@contextmanager
def hanging_ends(server: Hanging) -> Iterator[None]:
    """Let a client that waits `UNTIL_IT_HANGS` give up once the server hangs, not by the clock."""
    timeout, waiting = asyncio.timeout, []

    def kept(delay: float | None) -> asyncio.Timeout:
        scope = timeout(delay)
        if delay == UNTIL_IT_HANGS:
            waiting.append((asyncio.get_running_loop(), scope))
        return scope

    def over(loop: asyncio.AbstractEventLoop, scope: asyncio.Timeout) -> None:
        with suppress(RuntimeError):  # it has ended already
            scope.reschedule(loop.time())

    def end() -> None:
        ended = waiting.copy()  # the next attempt may begin meanwhile, in the loop's thread
        del waiting[: len(ended)]
        for loop, scope in ended:
            loop.call_soon_threadsafe(over, loop, scope)

    asyncio.timeout, server.on_hanging = kept, end
    try:
        yield
    finally:
        asyncio.timeout = timeout


def truthful(request: Request) -> Reply:
    """Judge as a model would that looks at nothing but the letters, in whatever case."""
    same = request.quoted["gold"].casefold() == request.quoted["predicted"].casefold()
    return answer(float(same), "equal" if same else "not equal")


def serve(latency: float) -> None:
    """Serve from a process of its own: the address first, then the counts for each line read."""
    with LLMServer(lambda _: answer(0.75), latency=latency) as server:
        sys.stdout.write(server.url + "\n")
        sys.stdout.flush()
        for _ in sys.stdin:
            sys.stdout.write(json.dumps([len(server.requests), server.peak]) + "\n")
            sys.stdout.flush()
            server.forget()


if __name__ == "__main__":
    serve(float(sys.argv[1]))
