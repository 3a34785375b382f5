"""Metrics for whole arrays, and ``skip``. Items are aligned, and nodes left out, by the engine."""

from __future__ import annotations

from typing import Any

from extractbench_nb.core.field_metrics.registry import REGISTRY, Metric, Param, built_in
from extractbench_nb.core.field_metrics.string_metrics import JUDGE_PARAMS
from extractbench_nb.core.registered import registered
from extractbench_nb.core.values import canonical_unordered, json_text
from extractbench_nb.support.folding import normalize_value

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
    "F1 >= pass_threshold",
    "extractbench_nb",
    "F1 of two sets of scalars",
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
