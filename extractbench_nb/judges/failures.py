"""Why a request had no answer: a short word, a text without keys, and whether to try again."""

from __future__ import annotations

import math
import re
import time
from collections.abc import Mapping
from email.utils import parsedate_to_datetime
from typing import Any

from extractbench_nb.judges.scrub import scrub

__all__ = ["LONGEST_WAIT", "Failure", "asked_wait", "failure_of", "problem_of"]

#: Seconds; a provider that asks for more patience than this is not asked again.
LONGEST_WAIT = 300.0

_LONGEST_TEXT = 500
#: Characters of a message or body that are looked at.
_MOST_READ = 20_000
_NAMES = re.compile(r"^(?:(?:litellm\.)?\w*(?:Error|Exception|Timeout)(?::| -) )+")
_REFUSED = {401: "bad_key", 403: "forbidden", 404: "not_found"}
_PASSING = {408: "timeout", 409: "conflict", 425: "too_early", 429: "rate_limit"}
_SERVER_ERROR = 500
#: How long to wait, as bodies have it: Gemini's RetryInfo, and in words ("try again in 1m2.5s").
_RETRY_INFO = re.compile(r'"retryDelay"\s*:\s*"([\d.]{1,20}s)"')
_IN_WORDS = re.compile(
    r"(?:try again|retry)\s+(?:in|after)\s+((?:[\d.]{1,20}\s?(?:ms|h|m|s)[a-z]{0,11}\s?)+)",
    re.IGNORECASE,
)
_PART = re.compile(r"([\d.]+)\s?(ms|milli|h|m|s)", re.IGNORECASE)
_UNITS = {"ms": 0.001, "milli": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}


class Failure(Exception):  # noqa: N818 - it is a finding more than an error
    """A request had no answer.

    Parameters
    ----------
    reason : str
        Short machine word.
    problem : str
        In words, without keys.
    transient : bool
        Whether another attempt may help.
    retry_after : float
        Seconds that the provider asks to wait, 0 where it does not.
    billed : bool
        Whether the provider may bill the request all the same.
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

    def blame(self, key: str) -> Failure:
        """Return the same finding with where the refused key is from."""
        return Failure(self.reason, f"the key in {key} was refused: {self.problem}")


def failure_of(error: Exception, status: int | None = None, wait: float = 0.0) -> Failure:
    """Say what an error of LiteLLM means.

    Parameters
    ----------
    error : Exception
        What a request raised.
    status : int, optional
        HTTP status of the response; by default the one that LiteLLM gives the error.
    wait : float, optional
        Seconds that the response asks to wait.

    Returns
    -------
    Failure
        Rate limits, timeouts and trouble of the server are transient; what is wrong with the
        request or the key is not.
    """
    status = getattr(error, "status_code", None) if status is None else status
    text = problem_of(error)
    if type(error).__name__ == "ContextWindowExceededError":
        return Failure("context_window", text)
    if _code(error) == "insufficient_quota":
        return Failure("quota", text)
    if not isinstance(status, int):
        return Failure("model_failed", text)
    if status not in _PASSING and status < _SERVER_ERROR:
        return Failure(_REFUSED.get(status, "bad_request"), text)
    if wait > LONGEST_WAIT:
        text = f"{text} (asks to wait {wait:,.0f} s)"
    reason = _PASSING.get(status, "server_error")
    return Failure(reason, text, transient=wait <= LONGEST_WAIT, retry_after=wait)


def asked_wait(headers: Mapping[str, str], body: str) -> float:
    """Read how long a response asks to wait before the next request.

    Parameters
    ----------
    headers : mapping of str to str
        ``retry-after-ms``, else ``retry-after`` in seconds or as a date.
    body : str
        Else Gemini's ``retryDelay``, or words such as ``try again in 1m2.5s``.

    Returns
    -------
    float
        Seconds, 0 and up; 0 where it does not ask, or what it asks cannot be read.

    Examples
    --------
    >>> asked_wait({"retry-after-ms": "1500"}, "")
    1.5
    >>> asked_wait({}, "Rate limit reached. Please try again in 1m2.5s.")
    62.5
    """
    found = [_seconds(headers.get("retry-after-ms", "")) / 1000]
    found += [_seconds(headers.get("retry-after", "")) or _until(headers.get("retry-after", ""))]
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


def _until(date: str) -> float:
    try:
        return max(parsedate_to_datetime(date).timestamp() - time.time(), 0.0)
    except (ValueError, OverflowError):
        return 0.0


def _code(error: Exception) -> Any:
    body = getattr(error, "body", None)
    return body.get("code") if isinstance(body, Mapping) else None


def problem_of(error: Exception) -> str:
    """Return the message of an error in one short line, without keys and without a traceback."""
    message = scrub(str(error)[:_MOST_READ]).partition("Traceback (most recent call last)")[0]
    text = _NAMES.sub("", " ".join(message.split()))
    return text if len(text) <= _LONGEST_TEXT else text[:_LONGEST_TEXT] + "…"
