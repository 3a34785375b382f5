"""The built-in metrics, in the order of lists: of strings, dates, numbers, booleans and arrays.

A metric maps two JSON values that are present to a bool or a similarity in [0, 1]. Values of other
types than its own are compared by their JSON text. A text is read as a number, but a boolean is
none. Items of arrays are aligned, and nodes are left out, by the engine.
"""

from __future__ import annotations

import math
from dataclasses import replace
from functools import lru_cache
from typing import Any, cast

from rapidfuzz.distance import Levenshtein

from extractbench_nb.core.field_metrics.estimates import equal_codes, judged_texts, near_numbers
from extractbench_nb.core.field_metrics.registry import README, REGISTRY, Metric, Param, built_in
from extractbench_nb.core.registered import registered
from extractbench_nb.core.text.dates import Precision, dates_equal, parse_date
from extractbench_nb.core.text.quantities import as_number
from extractbench_nb.core.values import canonical_unordered, json_text
from extractbench_nb.support.folding import normal_url, normalize_value
from extractbench_nb.support.foreign_values import as_written

_SHORT_TEXT = 256
_TEXT = ("string", "any")


@built_in(
    _TEXT,
    "equal text",
    estimate=equal_codes,
    reflexive={str},
    use="identifiers, codes",
    by_format={"uri": "string_url"},
    equal_formula=r"g = p",
)
def string_exact(gold: Any, predicted: Any) -> bool:
    r"""Compare texts character by character, including case and white space.

    Examples
    --------
    >>> string_exact("INV-7", "INV-7"), string_exact("INV-7", "inv-7"), string_exact("a", "a ")
    (True, False, False)
    """
    return json_text(gold) == json_text(predicted)


@built_in(
    _TEXT,
    "equal text after case folding",
    estimate=equal_codes,
    reflexive={str},
    use="enums, units, status words",
    equal_formula=r"\operatorname{fold}(g) = \operatorname{fold}(p)",
)
def string_case_insensitive(gold: Any, predicted: Any) -> bool:
    r"""Compare texts character by character after Unicode case folding.

    Examples
    --------
    >>> string_case_insensitive("Straße", "STRASSE"), string_case_insensitive("USD", "US D")
    (True, False)
    """
    return json_text(gold).casefold() == json_text(predicted).casefold()


@built_in(
    _TEXT,
    "equal text, ignoring white space, punctuation, case and Unicode variants",
    source="extractbench_nb",
    estimate=judged_texts,
    reflexive={str},
    use="text, ignoring case, spacing, punctuation and Unicode variants",
    equal_formula=r"\operatorname{normal}(g) = \operatorname{normal}(p)",
)
def string_normalized(gold: Any, predicted: Any) -> bool:
    r"""Compare texts, ignoring case, white space, punctuation, accents and Unicode variants.

    Characters that change a value are not ignored: currency and mathematical signs, percent and
    degree signs, ``.,:/`` between digits, ``#`` after a word, and a hyphen before a digit or at the
    end of the text. A text that consists only of punctuation is compared unchanged.

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
    "normalised Levenshtein similarity",
    pass_rule="similarity >= threshold",
    source="ExtractBench paper, Table 4: Levenshtein",
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


@built_in(
    _TEXT,
    "same web address",
    use="web addresses",
    equal_formula=r"\operatorname{url}(g) = \operatorname{url}(p)",
)
def string_url(gold: Any, predicted: Any) -> bool:
    r"""Compare web addresses, ignoring scheme, ``www.``, host case, default port and final slash.

    The path, query and fragment must be equal, including their case.

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
    "dates in any common format",
    pass_rule="same date at the precision",
    source="extractbench_nb",
    params={"precision": {"choices": ("day", "month", "year")}},
    estimate=judged_texts,
    use="dates in any common format",
    preset={"precision": "day"},
    equal_formula=r"\text{year, month and day agree, up to the precision}",
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

J is the judge's score. Two equal values score 1: no model is asked about them unless the field has
a ``prompt_template``. A judge of your own also compares equal values.
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


# --- numbers and booleans ---------------------------------------------------------------------

_NUMERIC = ("number", "integer", "any")
_PARSE = {
    "choices": ("plain", "lenient"),
    "meaning": "``plain`` accepts texts that are written like JSON numbers. ``lenient`` also "
    "accepts thousands separators, currency signs, percentages, units, scale words, and "
    "parentheses for negative numbers.",
}


def _both(gold: Any, predicted: Any, parse: str) -> tuple[int | float, int | float] | bool:
    """Return both numbers, or the verdict where they are not both numbers."""
    one, two = as_number(gold, parse), as_number(predicted, parse)
    if one is None and two is None:
        return json_text(gold).strip() == json_text(predicted).strip()
    if one is None or two is None:
        return False
    return one, two


def _same(one: int | float, two: int | float) -> bool:
    return one == two or (one != one and two != two)  # noqa: PLR0124 - NaN equals only NaN


@built_in(
    _NUMERIC,
    "equal numbers",
    pass_rule="gold == predicted",
    params={"parse": _PARSE},
    estimate=equal_codes,
    reflexive={int, float},
    use="counts, amounts that must not be rounded",
    equal_formula=r"g = p",
)
def number_exact(gold: Any, predicted: Any, *, parse: str = "plain") -> bool:
    r"""Compare values as numbers, so that ``1``, ``1.0`` and ``"1"`` are equal.

    Examples
    --------
    >>> number_exact(1, 1.0), number_exact(1200, "1,200"), number_exact(0.1 + 0.2, 0.3)
    (True, False, False)
    >>> number_exact(1200, "EUR 1,200.00", parse="lenient")
    True
    """
    pair = _both(gold, predicted, parse)
    return pair if isinstance(pair, bool) else _same(*pair)


@built_in(
    _NUMERIC,
    "numbers within a relative margin",
    pass_rule="|gold - predicted| <= tolerance * |gold|",
    source="ExtractBench paper, Table 4 and appendix C",
    params={
        "tolerance": {"minimum": 0.0},
        "mode": {"choices": ("relative", "absolute")},
        "parse": _PARSE,
    },
    estimate=near_numbers,
    reflexive={int, float},
    use="reported values; the default for numbers",
    preset={"tolerance": 0.001},
    default_for="number",
)
def number_tolerance(
    gold: Any,
    predicted: Any,
    *,
    tolerance: float = 0.001,
    mode: str = "relative",
    parse: str = "plain",
) -> bool:
    r"""Accept numbers within a relative or absolute margin.

    In relative mode, a gold value of 0 accepts only 0. NaN and infinities equal only themselves.

    Parameters
    ----------
    tolerance : float, optional
        The margin: a share of the gold value (0.001 is 0.1%), or a distance if `mode` is
        ``absolute``.
    mode : str, optional
        ``relative``, as in the ExtractBench paper (Table 4 and appendix C), or ``absolute``.

    Notes
    -----
    .. math::

        s(g, p) = \begin{cases} 1 & \text{if } |g - p| \leq m \\ 0 & \text{otherwise} \end{cases}
        \qquad m = \begin{cases} \tau\,|g| & \text{relative} \\ \tau & \text{absolute} \end{cases}

    Examples
    --------
    >>> number_tolerance(1_000_000, 1_000_500), number_tolerance(0.0005, 0.0010)
    (True, False)
    """
    pair = _both(gold, predicted, parse)
    if isinstance(pair, bool):
        return pair
    one, two = pair
    if _same(one, two):
        return True
    if not (_is_finite(one) and _is_finite(two)):
        return False
    try:
        gap = abs(one - two)
        margin = tolerance * abs(one) if mode == "relative" else tolerance
        if not math.isclose(gap, margin, rel_tol=1e-9) and math.isfinite(gap + margin):
            return gap <= margin
    except OverflowError:
        pass
    # at the edge, or beyond the range of floats: decide exactly, by the numbers as written
    first, second, share = as_written(one), as_written(two), as_written(tolerance)
    return abs(first - second) <= (share * abs(first) if mode == "relative" else share)


def _is_finite(number: int | float) -> bool:
    return isinstance(number, int) or math.isfinite(number)


@built_in(
    _NUMERIC,
    "equal whole numbers",
    pass_rule="int(gold) == int(predicted), both whole",
    params={"parse": _PARSE},
    estimate=equal_codes,
    reflexive={int, float},
    use="years, counts; the default for integers",
    default_for="integer",
    equal_formula=r"g = p \text{ and both are whole}",
)
def integer_exact(gold: Any, predicted: Any, *, parse: str = "plain") -> bool:
    r"""Compare values as integers, so that ``3``, ``3.0`` and ``"3"`` are equal.

    A value with a fraction, such as ``3.7``, is not an integer.

    Examples
    --------
    >>> integer_exact(3, 3.0), integer_exact(3, "3"), integer_exact(3, 3.7)
    (True, True, False)
    """
    pair = _both(gold, predicted, parse)
    if isinstance(pair, bool):
        return pair
    if all(_is_finite(n) and n == int(n) for n in pair):
        return int(pair[0]) == int(pair[1])
    return json_text(gold) == json_text(predicted)


@built_in(
    ("boolean", "any"),
    "equal booleans",
    pass_rule="gold == predicted",
    estimate=equal_codes,
    reflexive={bool},
    use="flags; the default for booleans",
    default_for="boolean",
    equal_formula=r"g = p",
)
def boolean_exact(gold: Any, predicted: Any) -> bool:
    r"""Compare booleans, accepting the words ``true`` and ``false`` but no numbers.

    Two values that are not booleans are compared as JSON text.

    Examples
    --------
    >>> boolean_exact(True, "TRUE"), boolean_exact(True, False), boolean_exact(True, 1)
    (True, False, False)
    """
    one, two = _as_boolean(gold), _as_boolean(predicted)
    if one is None and two is None:
        return json_text(gold) == json_text(predicted)
    return one is two


def _as_boolean(value: Any) -> bool | None:
    if isinstance(value, bool):
        return value
    words = {"true": True, "false": False}
    return words.get(value.strip().lower()) if isinstance(value, str) else None


# --- arrays, and what is not scored ------------------------------------------------------------

_ARRAY = r"""Align items one to one; a pair matches if each of its fields passes its own metric.

The alignment maximises first the number of matched pairs and then their similarity, regardless of
the order of the items. A pair with at least one failing field does not count as matched. In profile
``strict``, the array is scored by F1, and the fields of its items are counted instead of the array.

Notes
-----
.. math::

    s_{\text{strict}}(G, P) = \frac{2 \cdot \text{matched}}{{|G|} + {|P|}} \qquad
        s_{\text{paper}}(G, P) = \frac{\text{matched}}{|G|}

The params ``model`` to ``max_tokens`` are used only with ``alignment="llm"``.
"""

REGISTRY.add(
    Metric(
        "array_llm",
        None,
        ("array",),
        (
            *JUDGE_PARAMS,
            Param(
                "align_threshold",
                "number",
                0.5,
                0.0,
                1.0,
                meaning="The lowest similarity, in [0, 1], of a differing pair. Items that are "
                "less similar count as missed and spurious.",
            ),
            Param(
                "key",
                "names",
                meaning="The fields that identify an item. Items with equal keys are paired, no "
                "matter how similar they are: first if their keys are the same JSON, then if the "
                "keys pass the metrics of these fields. Items without a key or without a partner "
                "are aligned by similarity.",
            ),
        ),
        "score >= pass_threshold",
        "ExtractBench paper, section 3.4",
        "items aligned one to one, each field by its own metric",
        "pass_threshold",
        _ARRAY,
        aligns=True,
        use="arrays, aligned item by item; the default for arrays",
        default_for="array",
    )
)


@built_in(
    ("array",),
    "F1 of two sets of scalars",
    pass_rule="F1 >= pass_threshold",
    source="extractbench_nb",
    use="arrays of scalars, ignoring order and repetition",
)
def set_f1(
    gold: Any, predicted: Any, *, pass_threshold: float = 0.7, normalize_text: bool = True
) -> float:
    r"""Compute the F1 score of two arrays as sets, ignoring order and repetition.

    Objects are compared by their canonical JSON text. Two empty arrays score 1.

    Parameters
    ----------
    pass_threshold : float, optional
        The lowest score that passes, in [0, 1].
    normalize_text : bool, optional
        Whether to compare texts like `string_normalized`, which ignores case, white space,
        punctuation and Unicode variants.

    Notes
    -----
    .. math::

        s(G, P) = \frac{2\,|G \cap P|}{{|G|} + {|P|}}

    Examples
    --------
    >>> set_f1(["Python", "SQL"], ["sql", "python", "R"])
    0.8
    """
    del pass_threshold
    gold_set, predicted_set = _as_set(gold, normalize_text), _as_set(predicted, normalize_text)
    size = len(gold_set) + len(predicted_set)
    return 2 * len(gold_set & predicted_set) / size if size else 1.0


def _as_set(value: Any, normalize_text: bool) -> set[str]:
    items = value if isinstance(value, list | tuple) else [value]
    return {_key(item, normalize_text) for item in items}


def _key(item: Any, normalize_text: bool) -> str:
    """Return a key that equal items share; a text and another value never share one."""
    if isinstance(item, str):
        return "s:" + (normalize_value(item) or item if normalize_text else item)
    if isinstance(item, float) and item.is_integer():
        item = int(item)
    return "v:" + (canonical_unordered(item) if isinstance(item, dict | list) else json_text(item))


@built_in(
    ("array",),
    "grid table similarity of an array of flat objects",
    pass_rule="f-score >= pass_threshold",
    source="after Smock et al. 2022, section 6",
    params={
        "measure": {"choices": ("con", "top")},
        "variant": {"choices": ("paper", "paper_substring", "released")},
    },
)
def table_grits(
    gold: Any,
    predicted: Any,
    *,
    pass_threshold: float = 0.7,
    measure: str = "con",
    variant: str = "paper",
) -> float:
    r"""Compute the grid table similarity of two arrays of flat objects.

    Each object is a row, and each key a column. Columns with the same key are compared; a key that
    occurs on only one side counts as a missing or spurious column. Unlike in ``array_llm``, rows
    are aligned in order.

    A cell that contains an object or an array is compared as a whole. It scores 1 if the other cell
    has the same type and the same values at the same paths, and 0 otherwise. Nulls, empty objects
    and empty arrays inside it are ignored. An item that is not an object counts as a row with one
    cell. Texts are compared unchanged, nulls and missing keys count as empty cells, and other
    values are written as by `read_table`, which turns 1.0 into 1. Because the keys determine the
    columns, the score is exact rather than a lower bound. Two empty arrays score 1.

    Parameters
    ----------
    pass_threshold : float, optional
        The lowest score that passes, in [0, 1].
    measure : str, optional
        What is compared: ``"con"`` for the content, ``"top"`` for the shape alone.
    variant : str, optional
        How texts are compared; see `grits`.

    Notes
    -----
    .. math::

        s(G, P) = \frac{2 \sum_{i,j} f(\tilde{G}_{ij}, \tilde{P}_{ij})}{{|G|} + {|P|}}

    The sum is taken over the cells of the aligned rows and columns. f is the similarity of two
    cells (for ``con``, the similarity of their texts), and the bars denote the number of cells.

    Examples
    --------
    >>> year = [{"year": 2023, "sales": 10}, {"year": 2024, "sales": 12}]
    >>> table_grits(year, year[1:]), table_grits(year, [{"jahr": 2023, "sales": 10}])
    (0.6666666666666666, 0.3333333333333333)
    """
    del pass_threshold
    return float(registered("table_grits")(gold, predicted, measure, variant))


REGISTRY.add(
    Metric(
        "skip",
        None,
        ("any",),
        (),
        "not scored",
        "ExtractBench README, presets table",
        "leaves the node out",
        doc="Leave the node and everything below it out of the scores.",
        skips=True,
        use="nodes that are not scored",
    )
)
