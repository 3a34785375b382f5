"""What OpenAI, Anthropic and Gemini send, byte by byte; `tests.llm_server` sends it."""

import json
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

from tests.llm_server import MARK, Wire

#: What each provider is asked as: a model that LiteLLM has a price for, and where its key is.
PROVIDERS = {
    "openai": ("openai/gpt-4o-mini", "OPENAI_API_KEY"),
    "anthropic": ("anthropic/claude-haiku-4-5", "ANTHROPIC_API_KEY"),
    "gemini": ("gemini/gemini-2.5-flash", "GEMINI_API_KEY"),
}
VERDICT = json.dumps({"mark_code": MARK, "score": 0.25, "reasoning": "because"})


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
    if provider in ("openai", "azure"):
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


def hanging(wire: Wire) -> Wire:
    """Say that much, and then nothing more."""
    return replace(wire, end="hang")
