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
from extractbench_nb.core.values import json_text
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
    r"""Compare character by character, case included; nothing is stripped.

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
    r"""Compare after Unicode case folding; nothing is stripped.

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
    "equal text; white space, punctuation, case and Unicode aside",
    estimate=judged_texts,
    reflexive={str},
    use="text; case, spacing, punctuation and Unicode aside",
)
def string_normalized(gold: Any, predicted: Any) -> bool:
    r"""Compare texts; case, white space, punctuation, accents and Unicode variants are ignored.

    Marks that make another value are compared: signs of currency and mathematics, percent and
    degree signs, ``.,:/`` between digits, ``#`` after a word, and a hyphen before a digit or at the
    end of the text. A text of punctuation alone is compared unchanged.

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
    r"""Normalised Levenshtein similarity: one minus the share of characters to edit.

    Parameters
    ----------
    threshold : float, optional
        Lowest similarity in [0, 1] that passes.
    case_sensitive : bool, optional
        Whether case counts.

    Notes
    -----
    .. math::

        s(g, p) = 1 - \frac{\operatorname{lev}(g, p)}{\max(|g|, |p|)}

    lev is the least number of inserted, deleted and replaced characters; two empty strings are 1.

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
    r"""Compare web addresses; scheme, ``www.``, host case, default port, last slash are ignored.

    The case of the path, the query and the fragment count.

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

    If neither value is a date, ``string_normalized`` compares them; if only one is, they differ. If
    day and month can be exchanged, as in ``03/04/2024``, both readings are accepted, unless the
    other value is ambiguous too: then both are read in the same order.

    Parameters
    ----------
    precision : str, optional
        ``day``, ``month`` or ``year``: the smallest unit in which they must agree.

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
    Param("pass_threshold", "number", 0.7, 0.0, 1.0, meaning="Lowest score in [0, 1] that passes."),
    Param(
        "model",
        "string",
        meaning="LiteLLM id of the model that decides this field, in place of the evaluation's "
        "judge. The offline judge asks no model and warns once.",
    ),
    Param("additional_instructions", "string", meaning="Text that is added to the prompt."),
    Param("prompt_template", "string", meaning="Your prompt, with ``{gold}`` and ``{predicted}``."),
    Param("temperature", "number", minimum=0.0, meaning="Of the model."),
    Param("max_tokens", "number", minimum=1, meaning="Limit of the model's answer."),
)
_JUDGE_FORMULA = """

Notes
-----
.. math::

    s(g, p) = J(g, p) \\in [0, 1]

J is the score of the judge. It is not asked about two equal values, which score 1, unless the
field has a ``prompt_template``.
"""


_SEMANTIC = Metric(
    "string_semantic",
    None,
    _TEXT,
    JUDGE_PARAMS,
    "the judge's score >= pass_threshold",
    "ExtractBench paper, Table 4",
    "same meaning, as a judge sees it",
    "pass_threshold",
    "Ask the judge whether two texts mean the same." + _JUDGE_FORMULA,
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
        summary="same by a judge's verdict",
        doc="Ask the judge whether two values are the same, by the field's description.\n\n"
        "The offline judge decides it as it decides ``string_semantic``; a model gets another "
        "prompt." + _JUDGE_FORMULA,
        use="anything a judge should decide",
        default_for=None,
    )
)
