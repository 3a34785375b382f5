"""Search for one value in the text of a PDF: as a text, as a number, as a date."""

from __future__ import annotations

import math
from collections.abc import Iterator
from datetime import date
from itertools import islice
from typing import Any

import pandas as pd

from extractbench_nb.benchmark.audit.pdftext import squash
from extractbench_nb.errors import InputError
from extractbench_nb.evidence.amounts import amount_of, find_currency, find_number, has_percent
from extractbench_nb.evidence.days import date_of, find_date
from extractbench_nb.evidence.hits import Hit, without_overlaps
from extractbench_nb.evidence.index import DocumentIndex
from extractbench_nb.evidence.texts import find_text

__all__ = ["is_sought", "search", "sought"]

_MOST_HITS = 5_000
_EXACT = 2**53
_NO_PERCENT = 0.9


def is_sought(value: Any) -> bool:
    """Say whether a value can be looked for at all.

    Parameters
    ----------
    value : object
        A JSON value.

    Returns
    -------
    bool
        True for finite numbers, and for texts with a letter or digit.
    """
    if isinstance(value, str):
        return any(map(str.isalnum, value))
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return isinstance(value, int) or math.isfinite(value)


def sought(value: Any) -> str | float:
    """Check a value that a caller wants to be looked for.

    Parameters
    ----------
    value : object
        A text or number; dates and NumPy scalars are turned into them.

    Returns
    -------
    str, int or float
        The value.

    Raises
    ------
    InputError
        It is null, a boolean, an array, an object, NaN or infinite.
    """
    if isinstance(value, date) and value is not pd.NaT:
        return value.isoformat()
    plain = value.item() if type(value).__module__ == "numpy" and hasattr(value, "item") else value
    if isinstance(plain, str) or is_sought(plain):
        return plain  # type: ignore[no-any-return]
    raise InputError(
        f"value: {value!r:.80} cannot be looked for; expected a text, a finite number or a date. "
        "ground_values looks for what an array or object holds"
    )


def search(value: str | float, index: DocumentIndex) -> list[Hit]:
    """Find every place where a value stands.

    Parameters
    ----------
    value : str, int or float
        As `sought` returns it.
    index : DocumentIndex
        The text.

    Returns
    -------
    list of Hit
        The most similar first, then in the order of the text; no two overlap. 5,000 at most.
    """
    found = _of_text(value, index) if isinstance(value, str) else _of_number(value, index)
    return without_overlaps(found)


def _of_number(value: float, index: DocumentIndex) -> Iterator[Hit]:
    if abs(value) > _EXACT and isinstance(value, int):
        digits = str(abs(value))  # a float would not keep them
        return islice(find_text(digits, digits, index, exactly=True), _MOST_HITS)
    return islice(find_number(value, index), _MOST_HITS)


def _of_text(text: str, index: DocumentIndex) -> Iterator[Hit]:
    dated, amount = date_of(text), amount_of(text)
    if dated is not None:
        yield from islice(find_date(*dated, index), _MOST_HITS)
    elif amount is not None:
        value, unit = amount
        for hit in islice(find_number(value, index), _MOST_HITS):
            fits = unit != "%" or has_percent(hit, index)
            yield hit if fits else hit._replace(similarity=hit.similarity * _NO_PERCENT)
    if amount is None or amount[1]:
        exactly = dated is not None or amount is not None
        yield from islice(find_text(text, squash(text), index, exactly=exactly), _MOST_HITS)
    yield from islice(find_currency(text, index), _MOST_HITS)
