"""Metrics for strings and dates. Values that are not strings are compared by their JSON text."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, Literal, cast

from rapidfuzz.distance import Levenshtein

from extractbench_nb.core.field_metrics.estimates import equal_codes, judged_texts
from extractbench_nb.core.field_metrics.registry import README, Param, built_in
from extractbench_nb.core.text.dates import dates_equal, parse_date
from extractbench_nb.core.values.json_values import json_text
from extractbench_nb.support.folding import normal_url, normalize_value

_SHORT_TEXT = 256


def string_exact(gold: Any, predicted: Any) -> bool:
    r"""Compare character by character, case included; nothing is stripped.

    Parameters
    ----------
    gold, predicted : object
        The values; JSON text is compared where they are not strings.

    Returns
    -------
    bool
        Whether they are equal.

    Notes
    -----
    .. math::

        s(g, p) = \begin{cases} 1 & \text{if } g = p \\ 0 & \text{otherwise} \end{cases}

    Examples
    --------
    >>> string_exact("INV-7", "INV-7"), string_exact("INV-7", "inv-7"), string_exact("a", "a ")
    (True, False, False)
    """
    return json_text(gold) == json_text(predicted)


def string_case_insensitive(gold: Any, predicted: Any) -> bool:
    r"""Compare after Unicode case folding; nothing is stripped.

    Parameters
    ----------
    gold, predicted : object
        The values; JSON text is compared where they are not strings.

    Returns
    -------
    bool
        Whether they are equal.

    Notes
    -----
    .. math::

        s(g, p) = \begin{cases} 1 & \text{if } \operatorname{fold}(g) = \operatorname{fold}(p)
            \\ 0 & \text{otherwise} \end{cases}

    Examples
    --------
    >>> string_case_insensitive("Straße", "STRASSE"), string_case_insensitive("USD", "US D")
    (True, False)
    """
    return json_text(gold).casefold() == json_text(predicted).casefold()


def string_normalized(gold: Any, predicted: Any) -> bool:
    r"""Compare texts; case, white space, punctuation, accents and Unicode variants are ignored.

    Marks that make another value are compared: signs of currency and mathematics, percent and
    degree signs, ``.,:/`` between digits, ``#`` after a word, and a hyphen before a digit or at the
    end of the text. A text of punctuation alone is compared as it is.

    Parameters
    ----------
    gold, predicted : object
        The values; JSON text is compared where they are not strings.

    Returns
    -------
    bool
        Whether they are equal.

    Notes
    -----
    .. math::

        s(g, p) = \begin{cases} 1 & \text{if } \operatorname{normal}(g) = \operatorname{normal}(p)
            \\ 0 & \text{otherwise} \end{cases}

    Examples
    --------
    >>> string_normalized("  State-of-the-Art ", "state of the art")
    True
    >>> string_normalized("1.5", "1,5"), string_normalized("BBB+", "BBB-")
    (False, False)
    """
    ours, theirs = json_text(gold), json_text(predicted)
    return ours == theirs or _normal(ours) == _normal(theirs)


def _normal(text: str) -> str:
    return _normal_of_short(text) if len(text) <= _SHORT_TEXT else normalize_value(text)


# an alignment compares each text with many others
_normal_of_short = lru_cache(maxsize=8_192)(normalize_value)


def string_fuzzy(
    gold: Any, predicted: Any, *, threshold: float = 0.8, case_sensitive: bool = False
) -> float:
    r"""Normalised Levenshtein similarity: one minus the share of characters to edit.

    Parameters
    ----------
    gold, predicted : object
        The values; JSON text is compared where they are not strings.
    threshold : float, optional
        Similarity in [0, 1] that passes (used by the pass rule, not here).
    case_sensitive : bool, optional
        Whether case counts.

    Returns
    -------
    float
        Similarity in [0, 1]; two empty strings are 1.

    Notes
    -----
    .. math::

        s(g, p) = 1 - \frac{\operatorname{lev}(g, p)}{\max(|g|, |p|)}

    lev is the least number of inserted, deleted and replaced characters.

    Examples
    --------
    >>> string_fuzzy("kitten", "sitting")
    0.5714285714285714
    """
    del threshold
    ours, theirs = json_text(gold), json_text(predicted)
    if not case_sensitive:
        ours, theirs = ours.casefold(), theirs.casefold()
    return float(Levenshtein.normalized_similarity(ours, theirs))


def string_url(gold: Any, predicted: Any) -> bool:
    r"""Compare web addresses; scheme, ``www.``, host case, default port, last slash are ignored.

    The case of the path, the query and the fragment count.

    Parameters
    ----------
    gold, predicted : object
        The values; JSON text is compared where they are not strings.

    Returns
    -------
    bool
        Whether they are equal.

    Notes
    -----
    .. math::

        s(g, p) = \begin{cases} 1 & \text{if } \operatorname{url}(g) = \operatorname{url}(p)
            \\ 0 & \text{otherwise} \end{cases}

    Examples
    --------
    >>> string_url("https://www.Example.com/a/", "http://example.com/a")
    True
    >>> string_url("example.com/a", "example.com/A"), string_url("example.com?q=1", "example.com")
    (False, False)
    """
    return normal_url(json_text(gold)) == normal_url(json_text(predicted))


def date(gold: Any, predicted: Any, *, precision: str = "day") -> bool:
    r"""Compare dates in any common format.

    If neither value is a date, they are compared as ``string_normalized`` does; if only one is,
    they differ. Where day and month can be exchanged, as in ``03/04/2024``, both readings are
    accepted, unless the other value can be read in two ways too: then both are read in one order.

    Parameters
    ----------
    gold, predicted : object
        ``2025-04-06``, ``6 Apr 2025``, ``April 6th, 2025``, ``2025-04``, ``2025``, ...
    precision : str, optional
        ``day``, ``month`` or ``year``: the smallest unit in which they must agree.

    Returns
    -------
    bool
        Whether they are the same date.

    Notes
    -----
    .. math::

        s(g, p) = \begin{cases} 1 & \text{if year, month and day agree, up to the precision} \\
            0 & \text{otherwise} \end{cases}

    Examples
    --------
    >>> date("2025-04-06", "6 Apr 2025"), date("2025-04-06", "2025-04-07", precision="month")
    (True, True)
    """
    ours, theirs = parse_date(json_text(gold)), parse_date(json_text(predicted))
    if ours is None and theirs is None:
        return string_normalized(gold, predicted)
    if ours is None or theirs is None:
        return False
    return dates_equal(ours, theirs, cast(Literal["day", "month", "year"], precision))


_TEXT, _EQUAL = ("string", "any"), "score is 1"

built_in(
    string_exact,
    _TEXT,
    _EQUAL,
    README,
    "equal text",
    estimate=equal_codes,
    reflexive={str},
)
built_in(
    string_case_insensitive,
    _TEXT,
    _EQUAL,
    README,
    "equal text after case folding",
    estimate=equal_codes,
    reflexive={str},
)
built_in(
    string_normalized,
    _TEXT,
    _EQUAL,
    "extractbench_nb",
    "equal text; white space, punctuation, case and Unicode aside",
    estimate=judged_texts,
    reflexive={str},
)
built_in(
    string_fuzzy,
    _TEXT,
    "similarity >= threshold",
    "ExtractBench paper, Table 4: Levenshtein",
    "normalised Levenshtein similarity",
    Param("threshold", "number", 0.8, 0.0, 1.0),
    Param("case_sensitive", "boolean", False),
    threshold="threshold",
    reflexive={str},
)
built_in(string_url, _TEXT, _EQUAL, README, "same web address")
built_in(
    date,
    _TEXT,
    "same date at the precision",
    "extractbench_nb",
    "dates in any common format",
    Param("precision", "string", "day", choices=("day", "month", "year")),
    estimate=judged_texts,
)
