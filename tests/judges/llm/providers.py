"""Servers on 127.0.0.1 that speak OpenAI's, Anthropic's and Gemini's protocols, byte by byte.

Independent of `tests.llm_server`: what is sent for a request is any bytes at all, in pieces, after
which the connection stays open, is closed, is reset, or hangs.
"""

import asyncio
import gzip
import json
import socket
import struct
import threading
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any, Self

from tests.waiting import PATIENCE

#: What each provider is asked as: a model that LiteLLM has a price for, and where its key is.
PROVIDERS = {
    "openai": ("openai/gpt-4o-mini", "OPENAI_API_KEY"),
    "anthropic": ("anthropic/claude-haiku-4-5", "ANTHROPIC_API_KEY"),
    "gemini": ("gemini/gemini-2.5-flash", "GEMINI_API_KEY"),
}
VERDICT = json.dumps({"score": 0.25, "reasoning": "because"})


@dataclass(frozen=True)
class Wire:
    """What goes back for one request, and how the connection ends."""

    head: bytes = b""
    pieces: Callable[[], Iterable[bytes]] = tuple
    end: str = "open"  # open, closed, reset, hang


@dataclass(frozen=True)
class Asked:
    """One request as it came in."""

    provider: str
    path: str
    headers: dict[str, str]
    body: Any


def http(
    body: bytes | Callable[[], Iterable[bytes]] = b"",
    status: int = 200,
    kind: str = "application/json",
    length: int | None = None,
    **headers: str,
) -> Wire:
    """Write a response; an underscore in a header's name stands for a hyphen."""
    if isinstance(body, bytes):
        length = len(body) if length is None else length
    named = {"content-type": kind, "content-length": str(length)}
    named |= {name.replace("_", "-"): value for name, value in headers.items()}
    lines = [f"HTTP/1.1 {status} Scripted", *(f"{k}: {v}" for k, v in named.items()), "", ""]
    pieces = (lambda: (body,)) if isinstance(body, bytes) else body
    return Wire("\r\n".join(lines).encode(), pieces)


def said(provider: str, text: str | None = VERDICT, usage: Any = ...) -> dict[str, Any]:
    """Say something as a provider does; `usage` is (prompt, completion), anything else, or ...."""
    counts = (100, 10) if usage is ... else usage
    prompt, completion = counts if isinstance(counts, tuple) else (None, None)
    body: dict[str, Any]
    if provider == "openai":
        message = {"role": "assistant", "content": text}
        choice = {"index": 0, "message": message, "finish_reason": "stop"}
        body = {"id": "c", "object": "chat.completion", "created": 0, "model": "gpt-4o-mini"}
        body |= {"choices": [choice]}
        name, total = "usage", {"prompt_tokens": prompt, "completion_tokens": completion}
    elif provider == "anthropic":
        body = {"id": "m", "type": "message", "role": "assistant", "model": "claude-haiku-4-5"}
        content = [] if text is None else [{"type": "text", "text": text}]
        body |= {"content": content, "stop_reason": "end_turn"}
        name, total = "usage", {"input_tokens": prompt, "output_tokens": completion}
    else:
        parts = [] if text is None else [{"text": text}]
        content = {"role": "model", "parts": parts}
        body = {"candidates": [{"content": content, "finishReason": "STOP", "index": 0}]}
        name = "usageMetadata"
        total = {"promptTokenCount": prompt, "candidatesTokenCount": completion}
    if isinstance(counts, tuple):
        if provider != "anthropic":
            whole = sum(counts) if all(isinstance(n, int) for n in counts) else prompt
            total["total_tokens" if provider == "openai" else "totalTokenCount"] = whole
        body[name] = total
    elif counts is not None:
        body[name] = counts
    return body


def answered(provider: str, **options: Any) -> Wire:
    """Send what `said` says."""
    return http(json.dumps(said(provider, **options)).encode())


def refused(provider: str, status: int, message: str = "scripted", **more: Any) -> Wire:
    """Send an error as a provider does; `details` go into its body, other words are headers."""
    details = more.pop("details", None)
    error: dict[str, Any] = {"message": message}
    if provider == "gemini":
        error |= {"code": status, "status": "SCRIPTED"}
    else:
        error |= {"type": "scripted"}
    error |= {} if details is None else {"details": details}
    body = {"error": error} | ({"type": "error"} if provider == "anthropic" else {})
    return http(json.dumps(body).encode(), status, **more)


def bomb(size: int) -> Wire:
    """Send blanks, compressed a thousand times smaller."""
    return http(gzip.compress(b" " * size), content_encoding="gzip")


def large(size: int) -> Wire:
    """Send that many bytes of one JSON text, in pieces."""
    piece = b"x" * 65_536

    def pieces() -> Iterator[bytes]:
        yield b'"'
        for _ in range(size // len(piece)):
            yield piece
        yield b"x" * (size % len(piece) - 2) + b'"'

    return http(pieces, length=size)


def cut(wire: Wire, after: str) -> Wire:
    """Break off: before anything is said, within the headers, after them, within the body."""
    body = b"".join(wire.pieces())
    whole = {
        "nothing": b"",
        "status": wire.head[:20],
        "headers": wire.head,
        "body": wire.head + body[: len(body) // 2],
    }[after]
    return Wire(whole, end="closed")


class ProviderServer:
    """The server; the path of a request selects the protocol.

    Parameters
    ----------
    respond : callable
        What to send for a request when the script is used up; by default a good verdict.
    """

    def __init__(self, respond: Callable[[Asked], Wire] = lambda a: answered(a.provider)) -> None:
        self.respond = respond
        self.requests: list[Asked] = []
        self.on_hanging: Callable[[], object] = lambda: None
        self._script: list[Wire] = []
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._run, name="provider-server", daemon=True)
        self._ready = threading.Event()
        self.port = 0

    def script(self, *wires: Wire) -> None:
        """Send these for the next requests, one each, and nothing that is left of others."""
        self._script[:] = wires

    def base(self, provider: str) -> str:
        """Return what to give as api_base."""
        return f"http://127.0.0.1:{self.port}" + ("/v1" if provider == "openai" else "")

    def __enter__(self) -> Self:
        self._thread.start()
        assert self._ready.wait(PATIENCE)
        return self

    def __exit__(self, *_: object) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(PATIENCE)

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        serve = asyncio.start_server(self._connection, "127.0.0.1", 0, backlog=256)
        server = self._loop.run_until_complete(serve)
        self.port = server.sockets[0].getsockname()[1]
        self._loop.call_soon(self._ready.set)
        self._loop.run_forever()
        server.close()
        tasks = asyncio.all_tasks(self._loop)
        for task in tasks:
            task.cancel()
        self._loop.run_until_complete(asyncio.gather(*tasks, return_exceptions=True))
        self._loop.close()

    async def _connection(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while (asked := await _read(reader)) is not None:
                self.requests.append(asked)
                wire = self._script.pop(0) if self._script else self.respond(asked)
                writer.write(wire.head)
                for piece in wire.pieces():
                    writer.write(piece)
                    await writer.drain()
                await writer.drain()
                if wire.end != "open":
                    break
            else:
                return
            if wire.end == "hang":
                self.on_hanging()
                await asyncio.sleep(PATIENCE)
            elif wire.end == "reset":
                kept = writer.get_extra_info("socket")
                kept.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        except (ConnectionError, asyncio.CancelledError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()


async def _read(reader: asyncio.StreamReader) -> Asked | None:
    try:
        head = await reader.readuntil(b"\r\n\r\n")
    except asyncio.IncompleteReadError:
        return None
    first, *lines = head.decode("latin-1").split("\r\n")
    pairs = (line.partition(":") for line in lines if line)
    headers = {name.strip().lower(): value.strip() for name, _, value in pairs}
    raw = await reader.readexactly(int(headers.get("content-length", 0)))
    path = first.split(" ")[1]
    provider = "anthropic" if "/messages" in path else "openai"
    return Asked(
        "gemini" if ":generateContent" in path else provider,
        path,
        headers,
        json.loads(raw) if raw else None,
    )


def hanging(wire: Wire) -> Wire:
    """Say that much, and then nothing more."""
    return replace(wire, end="hang")
