"""Values and texts of documents as UTF-8 text and back, whatever they hold.

Values are written as JSON text. Arrow and Parquet want valid UTF-8, and document text may hold lone
surrogates: each is written as U+001A and four hexadecimal digits, and so is U+001A itself.
"""

from __future__ import annotations

import json
import re
from typing import Any

from extractbench_nb.inputs import MAX_DEPTH

__all__ = ["ESCAPE", "ESCAPING", "escape", "unescape", "value_from_text", "value_to_text"]

ESCAPE = "\x1a"
#: What readers of the files need to know.
ESCAPING = "a lone surrogate, or U+001A itself, is U+001A and four hexadecimal digits"

_TO_ESCAPE = re.compile("[\x1a\ud800-\udfff]")
_ESCAPED = re.compile("\x1a([0-9a-f]{4})")
_TOO_DEEP = "… nested too deep"
_encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), default=str).encode


def escape(text: str) -> str:
    r"""Replace what UTF-8 cannot hold.

    Parameters
    ----------
    text : str
        Any text.

    Returns
    -------
    str
        Text without surrogates; `unescape` gives the first text back.

    Examples
    --------
    >>> escape("a\ud800b") == "a\x1ad800b"
    True
    """
    return _TO_ESCAPE.sub(lambda found: f"{ESCAPE}{ord(found[0]):04x}", text)


def unescape(text: str) -> str:
    """Undo `escape`."""
    return _ESCAPED.sub(lambda found: chr(int(found[1], 16)), text) if ESCAPE in text else text


def value_to_text(value: Any) -> str | None:
    """Write a value as JSON text.

    Parameters
    ----------
    value : object
        A JSON value; NaN, infinities and integers of any usual size are kept. What JSON cannot hold
        becomes text.

    Returns
    -------
    str or None
        JSON text, surrogates as they are; None for None.
    """
    if value is None:
        return None
    try:
        return _encode(value)
    except (TypeError, ValueError, RecursionError):
        return _encode(_plain(value, MAX_DEPTH))


def value_from_text(text: str) -> Any:
    """Restore a value from what `value_to_text` wrote (without its escapes)."""
    return json.loads(text)


def _plain(value: Any, levels: int) -> Any:
    """Copy a value with only what a JSON encoder takes: text keys, numbers that can be written."""
    if isinstance(value, dict | list | tuple) and not levels:
        return _TOO_DEEP
    if isinstance(value, dict):
        return {str(key): _plain(part, levels - 1) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(part, levels - 1) for part in value]
    if isinstance(value, int):
        try:
            str(value)
        except ValueError:  # more digits than Python writes
            return hex(value)
    return value
