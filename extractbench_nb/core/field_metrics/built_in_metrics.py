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
    equal=r"g = p",
)
def string_exact(gold: Any, predicted: Any) -> bool:
    r"""Compare character by character, case included; nothing is stripped.

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
    equal=r"\operatorname{fold}(g) = \operatorname{fold}(p)",
)
def string_case_insensitive(gold: Any, predicted: Any) -> bool:
    r"""Compare after Unicode case folding; nothing is stripped.

    Examples
    --------
    >>> string_case_insensitive("Straße", "STRASSE"), string_case_insensitive("USD", "US D")
    (True, False)
    """
    return json_text(gold).casefold() == json_text(predicted).casefold()


@built_in(
    _TEXT,
    "equal text; white space, punctuation, case and Unicode aside",
    source="extractbench_nb",
    estimate=judged_texts,
    reflexive={str},
    use="text; case, spacing, punctuation and Unicode aside",
    equal=r"\operatorname{normal}(g) = \operatorname{normal}(p)",
)
def string_normalized(gold: Any, predicted: Any) -> bool:
    r"""Compare texts; case, white space, punctuation, accents and Unicode variants are ignored.

    Marks that make another value are compared: signs of currency and mathematics, percent and
    degree signs, ``.,:/`` between digits, ``#`` after a word, and a hyphen before a digit or at the
    end of the text. A text of punctuation alone is compared unchanged.

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


@built_in(
    _TEXT,
    "same web address",
    use="web addresses",
    equal=r"\operatorname{url}(g) = \operatorname{url}(p)",
)
def string_url(gold: Any, predicted: Any) -> bool:
    r"""Compare web addresses; scheme, ``www.``, host case, default port, last slash are ignored.

    The case of the path, the query and the fragment count.

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
    equal=r"\text{year, month and day agree, up to the precision}",
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


# --- numbers and booleans ---------------------------------------------------------------------

_NUMERIC = ("number", "integer", "any")
_PARSE = {
    "choices": ("plain", "lenient"),
    "meaning": "``plain`` reads texts as JSON writes numbers, ``lenient`` also thousands "
    "separators, currency signs, percent, units, scale words, and parentheses for negatives.",
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
    equal=r"g = p",
)
def number_exact(gold: Any, predicted: Any, *, parse: str = "plain") -> bool:
    r"""Compare as numbers: ``1``, ``1.0`` and ``"1"`` are equal.

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
    use="reported values; default for numbers",
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
    r"""Accept numbers within a margin, a share of gold or a distance.

    Gold 0 needs exactly 0 in relative mode. NaN and infinities equal nothing but themselves.

    Parameters
    ----------
    tolerance : float, optional
        The margin: a share of gold (0.001 is 0.1 %), or the distance itself where `mode` is
        ``absolute``.
    mode : str, optional
        ``relative`` (ExtractBench paper, Table 4 and appendix C) or ``absolute``.

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
    equal=r"g = p \text{ and both are whole}",
)
def integer_exact(gold: Any, predicted: Any, *, parse: str = "plain") -> bool:
    r"""Compare as integers: ``3``, ``3.0`` and ``"3"`` are equal, ``3.7`` is not an integer.

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
    equal=r"g = p",
)
def boolean_exact(gold: Any, predicted: Any) -> bool:
    r"""Compare booleans; the words ``true`` and ``false`` count as such, numbers do not.

    Two values that are not booleans are compared by their JSON text.

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

_ARRAY = r"""Align items one to one; an item matches if each of its fields passes its own metric.

Alignment maximises the number of matched pairs, then their similarity, whatever the order of the
items. A pair in which one field fails is partial: one missed and one spurious item. Profile
``strict`` scores the array by F1 and counts the fields of its items in its place.

Notes
-----
.. math::

    s(G, P) = \frac{\text{matched}}{|G|} \qquad s_{\text{strict}}(G, P) =
        \frac{2 \cdot \text{matched}}{{|G|} + {|P|}}

The params from ``model`` on are used only with ``alignment="llm"``.
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
                meaning="Lowest similarity in [0, 1] of a pair that is partial, not missed.",
            ),
            Param(
                "key",
                "names",
                meaning="Fields of the items that identify them. Items with equal keys are paired, "
                "whatever their similarity: keys that are the same JSON, then keys that the "
                "metrics of these fields pass. Items without a key, and those without a partner, "
                "are aligned by similarity.",
            ),
        ),
        "matched / gold items >= pass_threshold",
        "ExtractBench paper, section 3.4",
        "items aligned one to one, each item field by its own metric",
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
    use="arrays of scalars, order and repetition aside",
)
def set_f1(
    gold: Any, predicted: Any, *, pass_threshold: float = 0.7, normalize_text: bool = True
) -> float:
    r"""F1 of two arrays as sets of values; order and repetition are ignored.

    An object counts as its canonical JSON text. Two empty arrays score 1.

    Parameters
    ----------
    pass_threshold : float, optional
        Lowest score in [0, 1] that passes.
    normalize_text : bool, optional
        Whether texts are compared as `string_normalized` does: without case, white space,
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
    r"""Grid table similarity of two arrays of flat objects: one row per object, one column per key.

    A column is compared with the one of the same key; a key that only one side has counts as
    missing or made up. Rows are aligned in order, unlike the items of an alignment.

    A cell that holds an object or an array is compared as a whole, and never as text: it scores 1
    if the other cell is of the same type and has the same values at the same places, else 0. Nulls
    and empty objects and arrays within it do not count. An item that is not an object is a row with
    one cell. Texts stay as they are, null and a missing key are empty, other values are written as
    by `read_table`: 1.0 is 1. The keys determine the columns, so that the score is exact, not a
    lower bound; two empty arrays score 1.

    Parameters
    ----------
    pass_threshold : float, optional
        Lowest score in [0, 1] that passes.
    measure : str, optional
        ``"con"``: content; ``"top"``: the shape alone.
    variant : str, optional
        How texts are compared, as in `grits`.

    Notes
    -----
    .. math::

        s(G, P) = \frac{2 \sum_{i,j} f(\tilde{G}_{ij}, \tilde{P}_{ij})}{{|G|} + {|P|}}

    The sum is over the cells of the aligned rows and columns, f is the similarity of two cells
    (under ``con`` that of their texts), and the bars count all cells.

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
