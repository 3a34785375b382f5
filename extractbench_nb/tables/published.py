"""Tables 2 and 3 of the paper, as printed."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from extractbench_nb.errors import InputError

__all__ = ["pubtables"]

_DETECTION = (
    ("DETR-R18", "TD", 0.995, 0.988, 0.966, 0.981),
    ("DETR-R18", "TSR + FA", 0.971, 0.948, 0.912, 0.942),
)
_SIMILARITY = (
    ("simple", 44_355, 0.995, 0.995, 0.992, 0.947),
    ("complex", 49_479, 0.975, 0.983, 0.966, 0.909),
    ("all", 93_834, 0.985, 0.989, 0.978, 0.927),
)
_TABLES = {
    2: (_DETECTION, ("model", "task", "AP50", "AP75", "AP", "AR")),
    3: (_SIMILARITY, ("split", "tables", "top", "con", "loc", "rawloc")),
}


def pubtables(number: int) -> pd.DataFrame:
    """Return a table of results of the GriTS paper.

    Parameters
    ----------
    number : int
        2: object detection of the paper's models; 3: their grid table similarity.

    Returns
    -------
    pandas.DataFrame
        As printed, to three digits. Table 3 has a row for each split (simple, complex, all), and
        below them ``all (from the parts)``: the mean of the two splits by their sizes, which needs
        no model and is a check of the printed row.

    Raises
    ------
    InputError
        The paper has no such table of results.

    References
    ----------
    B. Smock, R. Pesala, R. Abraham, "PubTables-1M: Towards comprehensive table extraction from
    unstructured documents" (2022), Tables 2 and 3.

    Examples
    --------
    >>> pubtables(3).set_index("split")["top"].round(4).to_dict()
    {'simple': 0.995, 'complex': 0.975, 'all': 0.985, 'all (from the parts)': 0.9845}
    """
    asked: Any = number
    if not isinstance(asked, int | np.integer) or asked not in _TABLES:
        raise InputError(f"there is no table {number!r} of results; choose 2 or 3")
    rows, columns = _TABLES[number]
    found = pd.DataFrame(list(rows), columns=list(columns))
    if "split" in found:
        parts = found.iloc[:2]
        weights = parts["tables"] / parts["tables"].sum()
        means = {name: float((parts[name] * weights).sum()) for name in columns[2:]}
        both = {"split": "all (from the parts)", "tables": int(parts["tables"].sum()), **means}
        found = pd.concat([found, pd.DataFrame([both])], ignore_index=True)
    return found
