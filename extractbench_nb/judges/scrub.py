"""Keeping keys out of what is shown, stored or raised."""

from __future__ import annotations

import os
import re
from urllib.parse import urlsplit

__all__ = ["holds_credentials", "scrub"]

_HIDDEN = "[hidden]"
_SECRET_NAME = re.compile(r"KEY|TOKEN|SECRET|PASSW|CREDENTIAL", re.IGNORECASE)
_MIN_SECRET = 8
#: Longer texts are cut: whatever is shown, raised or read as an answer is shorter.
_LONGEST = 250_000
_FORMS = re.compile(
    r"(?<![A-Za-z0-9])(?:sk|pk|gsk|xai|hf|r8|nvapi)[-_][A-Za-z0-9_*.-]{8,}"
    r"|AIza[\w-]{20,}"
    r"|(?i:(?<=bearer ))[\w.~+/=-]{8,}"
    r"|(?i:(?<=key=)|(?<=token=))[\w.~+/%-]{8,}"
    r"|(?<=://)[^/@\s]+(?=@)"
)


def scrub(text: str) -> str:
    """Take keys out of a text.

    Parameters
    ----------
    text : str
        Such as the message of a provider's error, which may quote headers and addresses.

    Returns
    -------
    str
        With ``[hidden]`` in place of the values of environment variables that are called key,
        token, secret, password or credential, and of what has the form of a key. Of a text of more
        than 250,000 characters the beginning.

    Examples
    --------
    >>> scrub("Incorrect API key provided: sk-abcdefgh12345678.")
    'Incorrect API key provided: [hidden]'
    """
    if len(text) > _LONGEST:  # a key must not be cut in two
        text = text[: max(text.rfind(" ", 0, _LONGEST), _LONGEST // 2)] + "…"
    for secret in _secrets():
        text = text.replace(secret, _HIDDEN)
    return _FORMS.sub(_HIDDEN, text)


def _secrets() -> list[str]:
    """Return the secrets of the environment, longest first: one may be part of another."""
    found = {
        value
        for name, value in os.environ.items()
        if len(value) >= _MIN_SECRET and _SECRET_NAME.search(name)
    }
    return sorted(found, key=len, reverse=True)


def holds_credentials(address: str) -> bool:
    """Say whether an address has a user, a password or a query in it.

    Parameters
    ----------
    address : str
        A URL.

    Returns
    -------
    bool
        Such an address must not be shown.
    """
    parts = urlsplit(address)
    return bool(parts.username or parts.password or parts.query)
