"""Metrics for whole arrays, and ``skip``. Items are aligned, and nodes left out, by the engine."""

from __future__ import annotations

from typing import Any

from extractbench_nb.core.field_metrics.registry import REGISTRY, Metric, Param, built_in
from extractbench_nb.core.field_metrics.string_metrics import JUDGE_PARAMS
from extractbench_nb.core.registered import registered
from extractbench_nb.core.values.json_values import canonical_unordered, json_text
from extractbench_nb.support.folding import normalize_value

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
    "F1 >= pass_threshold",
    "extractbench_nb",
    "F1 of two sets of scalars",
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
    "f-score >= pass_threshold",
    "after Smock et al. 2022, section 6",
    "grid table similarity of an array of flat objects",
    {
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
