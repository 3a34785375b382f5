"""Metrics for whole arrays. ``array_llm`` names item alignment, which the engine does."""

from __future__ import annotations

from typing import Any

from extractbench_nb.core.field_metrics.estimates import judged_texts
from extractbench_nb.core.field_metrics.registry import README, REGISTRY, Metric, Param, built_in
from extractbench_nb.core.registered import registered
from extractbench_nb.core.values.json_values import canonical_unordered, json_text
from extractbench_nb.support.folding import normalize_value


def set_f1(
    gold: Any, predicted: Any, *, pass_threshold: float = 0.7, normalize_text: bool = True
) -> float:
    r"""F1 of two arrays as sets of values; order and repetition are ignored.

    Parameters
    ----------
    gold, predicted : list
        Arrays of scalars; an object counts as its canonical JSON text.
    pass_threshold : float, optional
        Score in [0, 1] that passes (used by the pass rule, not here).
    normalize_text : bool, optional
        Whether texts are compared as `string_normalized` does: without case, white space,
        punctuation and Unicode variants.

    Returns
    -------
    float
        In [0, 1]; 1 where both are empty.

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
    one, two = _as_set(gold, normalize_text), _as_set(predicted, normalize_text)
    if not one and not two:
        return 1.0
    return 2 * len(one & two) / (len(one) + len(two))


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


def table_grits(
    gold: Any,
    predicted: Any,
    *,
    measure: str = "con",
    variant: str = "paper",
    pass_threshold: float = 0.7,
) -> float:
    r"""Grid table similarity of two arrays of flat objects: one row per object, one column per key.

    A column is compared with the one of the same key; a key that only one side has counts as
    missing or made up. Rows are aligned in order, unlike the items of an alignment.

    A cell that holds an object or an array is compared as a whole, and never as text: it scores 1
    if the other cell is of the same type and has the same values at the same places, else 0. Nulls
    and empty objects and arrays within it do not count.

    Parameters
    ----------
    gold, predicted : list of dict
        Arrays; an item that is not an object is a row with one cell. Texts stay as they are, null
        and a missing key are empty, other values are written as by `read_table`: 1.0 is 1.
    measure : str, optional
        ``"con"``: content; ``"top"``: the shape alone.
    variant : str, optional
        How texts are compared, as in `grits`.
    pass_threshold : float, optional
        Score in [0, 1] that passes (used by the pass rule, not here).

    Returns
    -------
    float
        The F-score in [0, 1]; 1 where both are empty. The keys determine the columns, so that it
        is exact, not a lower bound.

    Raises
    ------
    InputError
        `measure` or `variant` is not known.

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


PASS_THRESHOLD = Param("pass_threshold", "number", 0.7, 0.0, 1.0)
#: Params of every judged metric. All but the first concern judges that are language models.
JUDGE_PARAMS = (
    PASS_THRESHOLD,
    Param("model", "string", None),
    Param("additional_instructions", "string", None),
    Param("prompt_template", "string", None),
    Param("structured_output_schema", "object", None),
    Param("temperature", "number", None, 0.0),
    Param("max_tokens", "number", None, 1),
)
_JUDGED = "the judge's score >= pass_threshold"

_JUDGE_PARAMETERS = """
Parameters
----------
pass_threshold : float, optional
    Lowest score in [0, 1] that passes.
model : str, optional
    LiteLLM id of the model that decides this field, in place of the evaluation's judge. The offline
    judge asks no model and warns once.
additional_instructions : str, optional
    Text that is added to the prompt.
prompt_template : str, optional
    Prompt of your own; it must hold ``{gold}`` and ``{predicted}``.
structured_output_schema : dict, optional
    JSON Schema of the model's answer; it must have a property ``score``.
temperature : float, optional
    Of the model.
max_tokens : int, optional
    Limit of the model's answer.
"""
_JUDGE_FORMULA = """
Notes
-----
.. math::

    s(g, p) = J(g, p) \\in [0, 1]

J is the score of the judge. It is not asked about two equal values, which score 1, unless the
field has a ``prompt_template``.
"""
_SEMANTIC = f"""Ask the judge whether two texts mean the same.
{_JUDGE_PARAMETERS}{_JUDGE_FORMULA}"""
_LLM = f"""Ask the judge whether two values are the same, by the field's description.

The offline judge decides it as it decides ``string_semantic``; a model gets another prompt.
{_JUDGE_PARAMETERS}{_JUDGE_FORMULA}"""
_ARRAY = f"""Align items one to one; an item matches if each of its fields passes its own metric.

Alignment maximises the number of matched pairs, then their similarity, whatever the order of the
items. A pair in which a field fails is differing. Profile
``strict`` scores the array by F1 and counts the fields of its items in its place.
{_JUDGE_PARAMETERS}align_threshold : float, optional
    Lowest similarity in [0, 1] of a pair of items that differ.
key : str or list of str, optional
    Fields of the items that identify them. Items with equal keys are paired, whatever their
    similarity: keys that are the same JSON, then keys that the metrics of these fields pass. Items
    without a key, and those without a partner, are aligned by similarity.

Notes
-----
.. math::

    s(G, P) = \\frac{{\\text{{matched}}}}{{|G|}} \\qquad s_{{\\text{{strict}}}}(G, P) =
        \\frac{{2 \\cdot \\text{{matched}}}}{{{{|G|}} + {{|P|}}}}

The params from ``model`` on are used only with ``alignment="llm"``.
"""

built_in(
    set_f1,
    ("array",),
    "F1 >= pass_threshold",
    "extractbench_nb",
    "F1 of two sets of scalars",
    PASS_THRESHOLD,
    Param("normalize_text", "boolean", True),
    threshold="pass_threshold",
)

for _entry in (
    Metric(
        "skip",
        None,
        ("any",),
        pass_rule="not scored",
        source="ExtractBench README, presets table",
        summary="leaves the node out",
        doc="Leave the node and everything below it out of the scores.",
    ),
    Metric(
        "string_semantic",
        None,
        ("string", "any"),
        JUDGE_PARAMS,
        _JUDGED,
        "ExtractBench paper, Table 4",
        "same meaning, as a judge sees it",
        judged=True,
        threshold="pass_threshold",
        doc=_SEMANTIC,
        estimate=judged_texts,
    ),
    Metric(
        "string_llm",
        None,
        ("any",),
        JUDGE_PARAMS,
        _JUDGED,
        README,
        "same by a judge's verdict",
        judged=True,
        threshold="pass_threshold",
        doc=_LLM,
        estimate=judged_texts,
    ),
    Metric(
        "array_llm",
        None,
        ("array",),
        (
            *JUDGE_PARAMS,
            Param("align_threshold", "number", 0.5, 0.0, 1.0),
            Param("key", "names"),
        ),
        "matched / gold items >= pass_threshold",
        "ExtractBench paper, section 3.4",
        "items aligned one to one, each item field by its own metric",
        threshold="pass_threshold",
        doc=_ARRAY,
    ),
):
    REGISTRY.add(_entry)

built_in(
    table_grits,
    ("array",),
    "f-score >= pass_threshold",
    "after Smock et al. 2022, section 6",
    "grid table similarity of an array of flat objects",
    PASS_THRESHOLD,
    Param("measure", "string", "con", choices=("con", "top")),
    Param("variant", "string", "paper", choices=("paper", "paper_substring", "released")),
    threshold="pass_threshold",
)
