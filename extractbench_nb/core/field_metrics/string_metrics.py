"""Metrics for strings and dates, from two JSON values to a bool or a similarity in [0, 1].

Values that are not strings are compared by their JSON text.
"""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from typing import Any, cast

from rapidfuzz.distance import Levenshtein

from extractbench_nb.core.field_metrics.estimates import equal_codes, judged_texts
from extractbench_nb.core.field_metrics.registry import README, REGISTRY, Metric, Param, built_in
from extractbench_nb.core.text.dates import Precision, dates_equal, parse_date
from extractbench_nb.core.values.json_values import json_text
from extractbench_nb.support.folding import normal_url, normalize_value

_SHORT_TEXT = 256
_TEXT, _EQUAL = ("string", "any"), "score is 1"


@built_in(
    _TEXT,
    _EQUAL,
    README,
    "equal text",
    estimate=equal_codes,
    reflexive={str},
    use="identifiers, codes",
    by_format={"uri": "string_url"},
)
def string_exact(gold: Any, predicted: Any) -> bool:
    r"""Compare texts character by character, including case and white space.

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


@built_in(
    _TEXT,
    _EQUAL,
    README,
    "equal text after case folding",
    estimate=equal_codes,
    reflexive={str},
    use="enums, units, status words",
)
def string_case_insensitive(gold: Any, predicted: Any) -> bool:
    r"""Compare texts character by character after Unicode case folding.

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


@built_in(
    _TEXT,
    _EQUAL,
    "extractbench_nb",
    "equal text, ignoring white space, punctuation, case and Unicode variants",
    estimate=judged_texts,
    reflexive={str},
    use="text, ignoring case, spacing, punctuation and Unicode variants",
)
def string_normalized(gold: Any, predicted: Any) -> bool:
    r"""Compare texts, ignoring case, white space, punctuation, accents and Unicode variants.

    Characters that change a value are not ignored: currency and mathematical signs, percent and
    degree signs, ``.,:/`` between digits, ``#`` after a word, and a hyphen before a digit or at the
    end of the text. A text that consists only of punctuation is compared unchanged.

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
    gold_text, predicted_text = json_text(gold), json_text(predicted)
    return gold_text == predicted_text or _normal(gold_text) == _normal(predicted_text)


def _normal(text: str) -> str:
    return _normal_of_short(text) if len(text) <= _SHORT_TEXT else normalize_value(text)


# an alignment compares each text with many others
_normal_of_short = lru_cache(maxsize=8_192)(normalize_value)


@built_in(
    _TEXT,
    "similarity >= threshold",
    "ExtractBench paper, Table 4: Levenshtein",
    "normalised Levenshtein similarity",
    reflexive={str},
    use="names with typos",
    preset={"threshold": 0.8, "case_sensitive": False},
)
def string_fuzzy(
    gold: Any, predicted: Any, *, threshold: float = 0.8, case_sensitive: bool = False
) -> float:
    r"""Compute the normalised Levenshtein similarity, 1 minus the share of edited characters.

    Parameters
    ----------
    threshold : float, optional
        The lowest similarity that passes, in [0, 1].
    case_sensitive : bool, optional
        Whether differences in case count as edits.

    Notes
    -----
    .. math::

        s(g, p) = 1 - \frac{\operatorname{lev}(g, p)}{\max(|g|, |p|)}

    lev is the smallest number of insertions, deletions and replacements that turn one text into the
    other. Two empty strings have a similarity of 1.

    Examples
    --------
    >>> string_fuzzy("kitten", "sitting")
    0.5714285714285714
    """
    del threshold
    texts = [json_text(gold), json_text(predicted)]
    if not case_sensitive:
        texts = [text.casefold() for text in texts]
    return float(Levenshtein.normalized_similarity(*texts))


@built_in(_TEXT, _EQUAL, README, "same web address", use="web addresses")
def string_url(gold: Any, predicted: Any) -> bool:
    r"""Compare web addresses, ignoring scheme, ``www.``, host case, default port and final slash.

    The path, query and fragment must be equal, including their case.

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


@built_in(
    _TEXT,
    "same date at the precision",
    "extractbench_nb",
    "dates in any common format",
    {"precision": {"choices": ("day", "month", "year")}},
    estimate=judged_texts,
    use="dates in any common format",
    preset={"precision": "day"},
)
def date(gold: Any, predicted: Any, *, precision: str = "day") -> bool:
    r"""Compare dates in any common format.

    If neither value is a date, both are compared by ``string_normalized``; if only one is, they
    count as different. If the day and month of a date can be exchanged, as in ``03/04/2024``, both
    readings are accepted. If the other date is ambiguous as well, both are read in the same order.

    Parameters
    ----------
    precision : str, optional
        The smallest unit in which the dates must agree: ``day``, ``month`` or ``year``.

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
    gold_date, predicted_date = parse_date(json_text(gold)), parse_date(json_text(predicted))
    if gold_date is None and predicted_date is None:
        return string_normalized(gold, predicted)
    if gold_date is None or predicted_date is None:
        return False
    return dates_equal(gold_date, predicted_date, cast(Precision, precision))


# --- what a judge decides -----------------------------------------------------------------------

#: Params of every judged metric. All but the first concern judges that are language models.
JUDGE_PARAMS = (
    Param(
        "pass_threshold",
        "number",
        0.7,
        0.0,
        1.0,
        meaning="The lowest score that passes, in [0, 1].",
    ),
    Param(
        "model",
        "string",
        meaning="The LiteLLM id of a model that decides this field instead of the evaluation's "
        "judge. If that is the offline judge, no model is called and one warning is issued.",
    ),
    Param("additional_instructions", "string", meaning="Text to add to the prompt."),
    Param(
        "prompt_template",
        "string",
        meaning="A prompt of your own, with ``{gold}`` and ``{predicted}``.",
    ),
    Param("temperature", "number", minimum=0.0, meaning="The sampling temperature of the model."),
    Param("max_tokens", "number", minimum=1, meaning="The maximum length of the model's answer."),
)
_JUDGE_FORMULA = """

Notes
-----
.. math::

    s(g, p) = J(g, p) \\in [0, 1]

J is the judge's score. Two equal values score 1, and the judge is not called for them unless the
field has a ``prompt_template``.
"""


_SEMANTIC = Metric(
    "string_semantic",
    None,
    _TEXT,
    JUDGE_PARAMS,
    "the judge's score >= pass_threshold",
    "ExtractBench paper, Table 4",
    "same meaning, as decided by a judge",
    "pass_threshold",
    "Ask the judge whether two texts have the same meaning." + _JUDGE_FORMULA,
    judged=True,
    estimate=judged_texts,
    use="free text; the default for strings",
    default_for="string",
)
REGISTRY.add(_SEMANTIC)
REGISTRY.add(
    replace(
        _SEMANTIC,
        name="string_llm",
        applies_to=("any",),
        source=README,
        summary="same value, as decided by a judge",
        doc="Ask the judge whether two values are the same, given the field's description.\n\n"
        "The offline judge treats this metric like ``string_semantic``, whereas a model gets a "
        "different prompt." + _JUDGE_FORMULA,
        use="anything a judge should decide",
        default_for=None,
    )
)
