"""Values as valid JSON, and as text shortened to a width."""

from __future__ import annotations

import json
import math
import re
import unicodedata
from math import isnan
from typing import Any


def dollars(amount: float | None) -> str:
    """Write an amount in US dollars: with cents from $1 on, below with two significant digits.

    Examples
    --------
    >>> dollars(12.345), dollars(0.00047), dollars(0)
    ('$12.35', '$0.00047', '$0')
    >>> dollars(None), dollars(float("nan"))
    ('an unknown amount', 'an unknown amount')
    """
    if amount is None or isnan(amount):
        return "an unknown amount"
    if amount >= 1:
        return f"${amount:,.2f}"
    digits = float(f"{amount:.2g}") if amount >= 1e-7 else amount  # noqa: PLR2004 - 0.0000001
    return "$" + (f"{digits:.8f}".rstrip("0").rstrip(".") or "0")


def ratio_text(value: float, digits: int = 3) -> str:
    """Write a number from 0 to 1; only an exact 1 is written as one, and only an exact 0 as zero.

    Examples
    --------
    >>> [ratio_text(value) for value in (0, 0.0001, 0.8714, 0.999667, 1)]
    ['0.000', '0.001', '0.871', '0.999', '1.000']
    """
    text = f"{value:.{digits}f}"
    if 0 < value < 1 and float(text) in (0, 1):
        return f"{abs(float(text) - 10**-digits):.{digits}f}"
    return text


#: Levels of containers kept in a report; deeper containers are replaced by a short text.
_LEVELS = 200
#: Longer integers are written in hexadecimal: Python refuses to print more than 4,300 digits.
_MOST_BITS = 14_000
#: Characters that are not printable but kept: line ends, tabs, joiners of scripts and emoji.
_KEPT = "\n\t\u200c\u200d"


def document_json(value: Any, levels: int = _LEVELS) -> Any:
    """Turn any value of a document into one that JSON can represent."""
    if isinstance(value, dict | list | tuple):
        if not levels:
            return "… nested too deep"
        if isinstance(value, dict):
            return {_text_of(key): document_json(v, levels - 1) for key, v in value.items()}
        return [document_json(v, levels - 1) for v in value]
    if isinstance(value, int) and value.bit_length() > _MOST_BITS:
        return hex(value)
    if isinstance(value, float) and not math.isfinite(value):
        return json.dumps(value)
    is_json = value is None or isinstance(value, str | int | float)
    return value if is_json else _text_of(value)


def _text_of(value: Any) -> str:
    try:
        return str(value)
    except Exception:  # noqa: BLE001 - a foreign object may raise anything
        return object.__repr__(value)


def value_text(value: Any) -> str:
    """Write a value as text: a string unchanged, null as the empty string, all else as JSON."""
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    return json.dumps(document_json(value), ensure_ascii=False)


def clean(text: str) -> str:
    """Replace control characters, bidi overrides and surrogates by U+FFFD."""
    if text.isprintable():
        return text
    return "".join(
        c if c.isprintable() or c in _KEPT else " " if c.isspace() else "\ufffd" for c in text
    )


def cut(text: str, limit: int) -> str:
    """Cut a text to `limit` characters; a cut text ends in an ellipsis."""
    return text if len(text) <= limit else text[: limit - 1] + "…"


def trimmed(text: str, limit: int) -> str:
    """Clean a text of a document and cut it to `limit` characters."""
    return cut(clean(text[: limit + 1]), limit)


def one_line(text: str, limit: int = 80) -> str:
    """Write a text of a document on one line of at most `limit` characters, cleaned.

    Examples
    --------
    >>> one_line("Total   assets")
    'Total assets'
    """
    return cut(" ".join(clean(text[: 4 * limit]).split()), limit)


def code_text(text: str, limit: int = 60) -> str:
    """Write a text of a document as Markdown code on one line; nothing in it ends the code."""
    return "`" + one_line(text, limit).replace("`", "'") + "`"


def accepted_text(cell: Any, limit: int = 80) -> str:
    """Say which alternative scored, from a cell of ``accepted_as``; empty if gold did."""
    if not isinstance(cell, str):
        return ""
    try:
        value = json.loads(cell)
    except (ValueError, RecursionError):  # of a file that has been altered
        value = cell
    return f"accepted as {'absent' if value is None else one_line(value_text(value), limit)}"


def plural(number: int, noun: str) -> str:
    """Write a number with its noun: ``1 run``, ``4 runs``."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def columns(text: str) -> int:
    """Count the columns that a text takes in a terminal; East Asian characters take two."""
    if text.isascii():
        return len(text)
    return sum(map(_columns, text))


def _columns(character: str) -> int:
    if unicodedata.combining(character):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def fitted(text: str, width: int) -> str:
    """Write a text of a document on one line of at most `width` columns."""
    line = " ".join(clean(text[: 4 * width]).split())
    if columns(line) <= width and len(text) <= 4 * width:
        return line
    start, used = "", 1  # the ellipsis takes one column
    for character in line:
        used += _columns(character)
        if used > width:
            break
        start += character
    return start + "…"


_ENTITIES = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;", "|": "&#124;", "`": "&#96;"})
_MARKUP = re.compile(r"[\\*\[\]~$]|(?<![^\W_])_|_(?![^\W_])")


def markdown_cell(text: str, limit: int) -> str:
    """Escape a text for a cell: line ends, pipes, code, HTML and emphasis."""
    line = " ".join(trimmed(text, limit).split())
    marked = _MARKUP.sub(r"\\\g<0>", line).translate(_ENTITIES)
    return re.sub(r"(https?|ftp|www)(?=:|\.)", r"\1&#8203;", marked, flags=re.IGNORECASE)
