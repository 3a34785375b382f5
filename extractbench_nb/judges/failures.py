"""Why a request had no answer: a short word, a text without keys, and whether to try again."""

from __future__ import annotations

import math
import re
import time
from collections.abc import Mapping
from email.utils import parsedate_to_datetime
from typing import Any

from extractbench_nb.judges.scrub import scrub

__all__ = ["LONGEST_WAIT", "Failure", "failure_of"]

#: Seconds; a provider that asks for more patience than this is not asked again.
LONGEST_WAIT = 300.0

_LONGEST_TEXT = 500
_NAMES = re.compile(r"^(?:(?:litellm\.)?\w*(?:Error|Exception|Timeout)(?::| -) )+")
_REFUSED = {401: "bad_key", 403: "forbidden", 404: "not_found"}
_PASSING = {408: "timeout", 409: "conflict", 425: "too_early", 429: "rate_limit"}
_SERVER_ERROR = 500


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
    """

    def __init__(
        self, reason: str, problem: str, *, transient: bool = False, retry_after: float = 0.0
    ) -> None:
        self.reason = reason
        self.problem = problem
        self.transient = transient
        self.retry_after = retry_after
        super().__init__(f"{reason}: {problem}")

    def blame(self, key: str) -> Failure:
        """Return the same finding with where the refused key is from."""
        return Failure(self.reason, f"the key in {key} was refused: {self.problem}")


def failure_of(error: Exception) -> Failure:
    """Say what an error of LiteLLM means.

    Parameters
    ----------
    error : Exception
        What a request raised.

    Returns
    -------
    Failure
        Rate limits, timeouts, trouble of the server and cut connections are transient; what is
        wrong with the request or the key is not.
    """
    status = getattr(error, "status_code", None)
    text = _text(error)
    if type(error).__name__ == "ContextWindowExceededError":
        return Failure("context_window", text)
    if _code(error) == "insufficient_quota":
        return Failure("quota", text)
    if not isinstance(status, int):
        return Failure("model_failed", text)
    if status in _PASSING or status >= _SERVER_ERROR:
        return _transient(status, text, error)
    return Failure(_REFUSED.get(status, "bad_request"), text)


def _transient(status: int, text: str, error: Exception) -> Failure:
    wait = _retry_after(getattr(error, "litellm_response_headers", None))
    cut = "Connection error" in text
    reason = _PASSING.get(status, "connection" if cut else "server_error")
    if wait > LONGEST_WAIT:
        text = f"{text} (asks to wait {wait:,.0f} s)"
    return Failure(reason, text, transient=wait <= LONGEST_WAIT, retry_after=wait)


def _retry_after(headers: Mapping[str, str] | None) -> float:
    """Read the header of that name: seconds, or a date."""
    value = (headers or {}).get("retry-after")
    if value is None:
        return 0.0
    try:
        seconds = float(value)
    except ValueError:
        try:
            seconds = parsedate_to_datetime(value).timestamp() - time.time()
        except ValueError:
            return 0.0
    return max(seconds, 0.0) if math.isfinite(seconds) else 0.0


def _code(error: Exception) -> Any:
    body = getattr(error, "body", None)
    return body.get("code") if isinstance(body, Mapping) else None


def _text(error: Exception) -> str:
    """Return the provider's message in one line, without keys and without a traceback."""
    message = scrub(str(error)).partition("Traceback (most recent call last)")[0]
    text = _NAMES.sub("", " ".join(message.split()))
    return text if len(text) <= _LONGEST_TEXT else text[:_LONGEST_TEXT] + "…"
