"""One call for one document: the text as received, and how it went in words that are kept."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Mapping
from typing import Any

from extractbench_nb.extraction.folders import Output
from extractbench_nb.judges.asking import Desk
from extractbench_nb.judges.client import Completion, ModelRequest
from extractbench_nb.judges.failures import Failure
from extractbench_nb.judges.scrub import scrub

__all__ = ["PASSING", "REASONS", "NotAskedError", "call_model", "reason_of"]

#: Why a call gave no output; the first five say something of the model, the others of the day.
REASONS = (
    "page_limit",
    "context_length",
    "schema_rejected",
    "refused",
    "other",
    "rate_limited",
    "timeout",
    "server_error",
    "connection",
    "bad_key",
    "not_found",
)
#: After these a document is asked about again when its run is taken up.
PASSING = REASONS[5:]

_WORDS = {
    "context_window": "context_length",
    "rate_limit": "rate_limited",
    "quota": "rate_limited",
    "timeout": "timeout",
    "server_error": "server_error",
    "conflict": "server_error",
    "too_early": "server_error",
    "connection": "connection",
    "bad_key": "bad_key",
    "forbidden": "bad_key",
    "not_found": "not_found",
    "redirect": "not_found",
}
_LIMIT = r"(?:maximum|limit|exceed\w*|too many|more than|at most)"
_PAGES = re.compile(
    rf"page limit|more pages than|{_LIMIT}\b.{{0,60}}\bpages\b|\bpages\b.{{0,60}}\b{_LIMIT}",
    re.IGNORECASE,
)
_CONTEXT = re.compile(
    r"context.(?:length|window)|(?:prompt|input|request) is too long|token count|too many tokens"
    r"|maximum.{0,40}tokens|tokens.{0,40}(?:maximum|limit)",
    re.IGNORECASE,
)
_SCHEMA = re.compile(r"schema|too many states|compiled grammar", re.IGNORECASE)
_NO_MODE = re.compile(
    r"response_format.{0,60}not supported (?:with|by|for) this model", re.IGNORECASE
)
_POLICY = re.compile(
    r"content.?(?:policy|filter|management)|safety (?:system|polic)|usage polic|blocked",
    re.IGNORECASE,
)
_FILTERED = "content_filter"
_LONGEST_REFUSAL = 500
#: No model writes so much; a server may.
_LONGEST = 50_000_000
_SHORTEST_KEY = 16
_NO_ANSWER: Mapping[str, None] = dict.fromkeys(
    ("finish_reason", "prompt_tokens", "completion_tokens", "cost_usd")
)


class NotAskedError(Exception):
    """Nothing was asked: the budget is spent, or nobody is there."""


class _Clock:
    """Counts attempts, and times the last one."""

    def __init__(self) -> None:
        self.attempts = 0
        self._begun = time.perf_counter()

    def attempt(self) -> None:
        self.attempts += 1
        self._begun = time.perf_counter()

    @property
    def seconds(self) -> float:
        return round(time.perf_counter() - self._begun, 3)


async def call_model(desk: Desk, request: ModelRequest, document_input: str) -> Output:
    """Ask about one document; a call that fails is an output too.

    Parameters
    ----------
    desk : Desk
        Where requests wait under a budget; on the loop of `HOME`.
    request : ModelRequest
        What to ask.
    document_input : str
        ``"file"`` or ``"text"``, for the meta.

    Returns
    -------
    Output
        The text as received and the meta: finish_reason, prompt_tokens, completion_tokens,
        cost_usd, latency_seconds (of the last request), error (None, or a reason of `REASONS` and
        a message), input, attempts. A key that stands in the text is written ``[hidden]``.

    Raises
    ------
    NotAskedError
        The rest of the budget is less than the call may cost, or the key was refused before; says
        which.
    """
    clock = _Clock()
    raw: str | None = None
    try:
        said = await desk.say(request, clock)
    except Failure as failure:
        if clock.attempts == 0 or failure.reason == "budget":
            raise NotAskedError(str(failure)) from None
        reason = reason_of(failure, structured=request.schema is not None)
        found: dict[str, Any] = {**_NO_ANSWER, "error": _error(reason, failure.problem)}
    else:
        found = _meta(said)
        if said.text is not None and len(said.text) > _LONGEST:
            message = f"the answer has {len(said.text):,} characters; {_LONGEST:,} are kept at most"
            found["error"] = _error("other", message)
        elif said.text is not None:
            raw = _without_keys(said.text)
    error = found.pop("error")
    timing = {"latency_seconds": clock.seconds, "error": error}
    return Output(raw, {**found, **timing, "input": document_input, "attempts": clock.attempts})


def reason_of(failure: Failure, *, structured: bool) -> str:
    """Name why a call gave no output.

    Parameters
    ----------
    failure : Failure
        What `complete` found.
    structured : bool
        Whether the request had a schema, which can be rejected.

    Returns
    -------
    str
        One of `REASONS`; a request that was refused is told apart by the provider's words.

    Examples
    --------
    >>> said = Failure("bad_request", "A maximum of 100 PDF pages may be provided.")
    >>> reason_of(said, structured=False)
    'page_limit'
    """
    known = _WORDS.get(failure.reason)
    if known is not None:
        return known
    text = failure.problem
    if structured and _SCHEMA.search(text) and not _NO_MODE.search(text):
        return "schema_rejected"
    if _PAGES.search(text):
        return "page_limit"
    if _CONTEXT.search(text):
        return "context_length"
    return "refused" if _POLICY.search(text) else "other"


def _meta(said: Completion) -> dict[str, Any]:
    return {
        "finish_reason": said.finish_reason,
        "prompt_tokens": said.prompt_tokens,
        "completion_tokens": said.completion_tokens,
        "cost_usd": said.cost_usd,
        "error": _refusal(said),
    }


def _refusal(said: Completion) -> dict[str, str] | None:
    if said.refusal is not None:
        return _error("refused", scrub(said.refusal)[:_LONGEST_REFUSAL])
    if said.finish_reason == _FILTERED:
        return _error("refused", f"the answer was withheld: finish_reason is {_FILTERED!r}")
    return None


def _error(reason: str, message: str) -> dict[str, str]:
    return {"reason": reason, "message": message}


def _without_keys(text: str) -> str:
    """Take out keys, which a server may quote; nothing else of a text is changed."""
    for name, value in os.environ.items():
        if name.endswith("_API_KEY") and len(value) >= _SHORTEST_KEY:
            text = text.replace(value, "[hidden]")
    return text
