"""Requests without an answer: why, whether to try again, and texts without keys."""

from __future__ import annotations

import json
import math
import os
import re
import time
from collections.abc import Mapping
from contextlib import suppress
from contextvars import ContextVar
from dataclasses import KW_ONLY, dataclass
from email.utils import parsedate_to_datetime

from extractbench_nb.judges.environment import KEYS_OF_FILES

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
        for name, value in (*os.environ.items(), *KEYS_OF_FILES.items())
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
_REFUSED = {401: "bad_key", 402: "quota", 403: "forbidden", 404: "not_found"}
_REFUSED[413] = "context_window"
_PASSING = {408: "timeout", 409: "conflict", 425: "too_early", 429: "rate_limit"}
_SERVER_ERROR = 500
_CODES = {"insufficient_quota": "quota", "context_length_exceeded": "context_window"}
_TOO_LONG = re.compile(
    r"context.?(?:length|window)|(?:prompt|input) is too long|too many tokens"
    r"|token count.{0,40}exceed",
    re.IGNORECASE,
)
#: Waiting times in response bodies: Gemini's RetryInfo, and text ("try again in 1m2.5s").
_RETRY_INFO = re.compile(r'"retryDelay"\s*:\s*"([\d.]{1,20}s)"')
_IN_WORDS = re.compile(
    r"(?:try again|retry)\s+(?:in|after)\s+((?:[\d.]{1,20}\s?(?:ms|h|m|s)[a-z]{0,11}\s?)+)",
    re.IGNORECASE,
)
_PART = re.compile(r"([\d.]+)\s?(ms|milli|h|m|s)", re.IGNORECASE)
_UNITS = {"ms": 0.001, "milli": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}


@dataclass(eq=False)
class Failure(Exception):  # noqa: N818 - callers convert it to a `JudgeError`
    """A request without an answer.

    `reason` is an identifier, `problem` a description without keys. `transient`: another attempt
    may succeed, after `retry_after` seconds if the provider asks for that. `billed`: the provider
    may bill the request nevertheless.
    """

    reason: str
    problem: str
    _: KW_ONLY
    transient: bool = False
    retry_after: float = 0.0
    billed: bool = False

    def __str__(self) -> str:
        """Write reason and problem."""
        return f"{self.reason}: {self.problem}"


@dataclass(eq=False)
class Failed(BaseException):
    """Carries a `Failure` to the caller of LiteLLM.

    It is no `Exception`: LiteLLM and the providers' clients would catch, reword and print that.
    """

    failure: Failure


@dataclass
class Exchange:
    """State of one request: it may have reached the server, a success came, nobody waits for it."""

    sent: bool = False
    answered: bool = False
    stopped: bool = False


#: Set while a request is made.
EXCHANGE: ContextVar[Exchange | None] = ContextVar("EXCHANGE", default=None)


def failure_of_response(status: int, headers: Mapping[str, str], body: str) -> Failure:
    """Convert a response that is an error; providers have their own forms of it."""
    body, document = body[:_MOST_READ], None
    with suppress(ValueError, RecursionError):
        document = json.loads(body)
    if isinstance(document, list) and document:  # Gemini's may be in a list
        document = document[0]
    error = document.get("error", document) if isinstance(document, dict) else None
    details = error if isinstance(error, dict) else {"message": error}
    texts = (details.get("message"), details.get("detail"), body)
    message = next((text for text in texts if isinstance(text, str) and text.strip()), "")
    text = shortened(message) or f"HTTP status {status}"
    reason = _CODES.get(str(details.get("code")))
    if reason is None and status not in _PASSING and _TOO_LONG.search(text):
        reason = "context_window"
    return _by_status(status, text, headers, body, reason)


def failure_of_error(error: Exception) -> Failure:
    """Convert an error of LiteLLM, where no response of a server was seen."""
    status, text = getattr(error, "status_code", None), problem_of(error)
    too_long = type(error).__name__ == "ContextWindowExceededError"
    if too_long or not isinstance(status, int):
        return Failure("context_window" if too_long else "model_failed", text)
    headers = getattr(getattr(error, "response", None), "headers", None)
    return _by_status(status, text, headers or {}, text)


def _by_status(
    status: int, text: str, headers: Mapping[str, str], body: str, reason: str | None = None
) -> Failure:
    if status < _SERVER_ERROR and (reason is not None or status not in _PASSING):
        return Failure(reason or _REFUSED.get(status, "bad_request"), text)
    wait = asked_wait(headers, body)
    if wait > LONGEST_WAIT:
        text = f"{text} (the provider asks to wait {wait:,.0f} s)"
    reason = _PASSING.get(status, "server_error")
    return Failure(reason, text, transient=wait <= LONGEST_WAIT, retry_after=wait)


def asked_wait(headers: Mapping[str, str], body: str) -> float:
    """Read how many seconds a response asks to wait, from its headers or body."""
    after = headers.get("retry-after", "")
    waits = [_seconds(headers.get("retry-after-ms", "")) / 1000, _seconds(after)]
    with suppress(ValueError, OverflowError):  # it is not a date
        waits.append(max(parsedate_to_datetime(after).timestamp() - time.time(), 0.0))
    for match in filter(None, (_RETRY_INFO.search(body), _IN_WORDS.search(body))):
        parts = _PART.findall(match[1])
        waits.append(sum(_seconds(number) * _UNITS[unit.lower()] for number, unit in parts))
    return next(filter(None, waits), 0.0)


def _seconds(text: str) -> float:
    with suppress(ValueError):
        return max(float(text), 0.0) if math.isfinite(float(text)) else 0.0
    return 0.0


def problem_of(error: BaseException) -> str:
    """Return the message of an error in one short line, without keys and without a traceback."""
    message = str(error)[:_MOST_READ].partition("Traceback (most recent call last)")[0]
    return _NAMES.sub("", shortened(message))


def shortened(message: str) -> str:
    """Return a message as one short line without keys."""
    text = " ".join(scrub(message).split())
    return text if len(text) <= _LONGEST_TEXT else text[:_LONGEST_TEXT] + "…"
