"""Arrays of an evaluation as tables."""

from __future__ import annotations

from extractbench_nb.errors import InputError
from extractbench_nb.evaluation import Evaluation
from extractbench_nb.evaluation.arrays import chosen_array
from extractbench_nb.grits import Table
from extractbench_nb.grits.reading.records import tables_of_arrays

__all__ = ["array_tables"]


def array_tables(ev: Evaluation, path: str | None = None) -> tuple[Table, Table]:
    """Return an array of objects as two tables, gold and predicted, for `grits`.

    Parameters
    ----------
    ev : Evaluation
        An evaluation.
    path : str, optional
        The array, as `show_matches` takes it: ``$.authors``, ``authors``. None where the
        evaluation has one array.

    Returns
    -------
    tuple of Table
        A header row of keys, a row an item in its own order. Columns are in the order of gold's
        keys, then those that were made up; a key that no item of a side has is no column of it. An
        item that is no object is a row without texts but for its own, in a column ``value``.

    Raises
    ------
    InputError
        `ev` is no `Evaluation`; no array is meant, or more than one.

    Examples
    --------
    >>> import extractbench_nb as xb
    >>> items = {"type": "object", "properties": {"year": {"type": "integer"}}}
    >>> schema = {"type": "object", "properties": {"rows": {"type": "array", "items": items}}}
    >>> ev = xb.evaluate(schema, {"rows": [{"year": 1}, {"year": 2}]}, {"rows": [{"year": 2}]})
    >>> xb.grits(*array_tables(ev)).scores["fscore"].round(2).to_dict()
    {'top': 0.8, 'con': 0.8}
    """
    if not isinstance(ev, Evaluation):
        raise InputError(f"ev is {type(ev).__name__}; expected an Evaluation, as of `evaluate`")
    chosen = chosen_array(ev.arrays, path)
    rows = ev.matches[ev.matches["path"] == chosen]
    gold, predicted = (
        rows[rows[f"{side}_index"].notna()].sort_values(f"{side}_index")[side]
        for side in ("gold", "predicted")
    )
    return tables_of_arrays(gold, predicted)
