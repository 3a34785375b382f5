"""The errors that providers give in place of an answer, in the words they use."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

__all__ = ["CALL_FAILURES", "PROVIDERS", "call_error"]

PROVIDERS = ("openai", "anthropic", "google")

_ANY = "any"

#: Message by failure and provider; ``any`` where they say the same, or one of them is known.
_MESSAGES: Mapping[str, Mapping[str, str]] = MappingProxyType(
    {
        "page_limit": {
            "anthropic": "messages.0.content.0.pdf.source.base64.data: A maximum of 100 PDF pages "
            "may be provided.",
            "google": "The document contains too many pages, which exceeds the supported page "
            "limit of 1000.",
            _ANY: "The file has more pages than this model accepts.",
        },
        "context_length": {
            "openai": "This model's maximum context length is 128000 tokens. However, your "
            "messages resulted in 161022 tokens. Please reduce the length of the messages.",
            "anthropic": "prompt is too long: 213861 tokens > 200000 maximum",
            "google": "The input token count (1180222) exceeds the maximum number of tokens "
            "allowed (1048576).",
        },
        "schema_rejected": {
            "openai": "Invalid schema for response_format 'extraction': In context=(), "
            "'additionalProperties' is required to be supplied and to be false.",
            "anthropic": "output_config.format.schema: Invalid schema: The compiled grammar is too "
            "large, which would cause performance issues.",
            "google": "The specified schema produces a constraint that has too many states for "
            "serving.",
        },
        "refused": {
            "openai": "Your request was rejected as a result of our safety system.",
            "anthropic": "Output blocked by content filtering policy",
            "google": "The response was blocked: PROHIBITED_CONTENT.",
        },
        "rate_limited": {
            "openai": "Rate limit reached on tokens per min (TPM): Limit 30000, Used 28911, "
            "Requested 17206.",
            "anthropic": "This request would exceed your organization's rate limit of 30,000 "
            "input tokens per minute.",
            "google": "Resource has been exhausted (e.g. check quota).",
        },
        "timeout": {_ANY: "Request timed out."},
        "other": {_ANY: "The server had an error while processing your request."},
    }
)

#: Failures that are errors of the call: there is no text.
CALL_FAILURES = tuple(_MESSAGES)

#: The word for an error where it is not the failure's own.
_REASONS = {"other": "server_error"}


def call_error(failure: str, provider: str) -> dict[str, str]:
    """Return the error of a call that gave no answer.

    Parameters
    ----------
    failure : str
        One of `CALL_FAILURES`.
    provider : str
        One of `PROVIDERS`.

    Returns
    -------
    dict
        ``reason`` and ``message``, as in an output's meta.

    Examples
    --------
    >>> call_error("context_length", "anthropic")["message"]
    'prompt is too long: 213861 tokens > 200000 maximum'
    """
    said = _MESSAGES[failure]
    message = said.get(provider) or said.get(_ANY) or next(iter(said.values()))
    return {"reason": _REASONS.get(failure, failure), "message": message}
