"""The arrays of a document with the items that were matched, missed and invented."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import pandas as pd

from extractbench_nb.report.models import ArrayBreakdown, ArrayItem
from extractbench_nb.report.paths import is_outermost, normalized, schema_paths

__all__ = ["array_breakdowns"]


def array_breakdowns(
    arrays: pd.DataFrame, matches: pd.DataFrame, fields: pd.DataFrame
) -> list[ArrayBreakdown]:
    """Collect the arrays that stand in no other array.

    Parameters
    ----------
    arrays, matches, fields : pandas.DataFrame
        The frames of the evaluation.

    Returns
    -------
    list of ArrayBreakdown
        In document order.
    """
    outermost = [row for row in arrays.to_dict("records") if is_outermost(row["path"])]
    places = dict(zip(fields["path"], fields["schema_path"], strict=True))
    known = [_known(places.get(row["path"])) for row in outermost]
    full = schema_paths(
        (place, row["path"], "") for place, row in zip(known, outermost, strict=True)
    )
    items = _items(matches[matches["path"].isin([row["path"] for row in outermost])])
    return [
        _breakdown(row, path, items[row["path"]]) for row, path in zip(outermost, full, strict=True)
    ]


def _known(value: Any) -> Any:
    return None if value is pd.NA else value


def _items(matches: pd.DataFrame) -> dict[str, dict[str, list[ArrayItem]]]:
    found: defaultdict[str, dict[str, list[ArrayItem]]] = defaultdict(lambda: defaultdict(list))
    for row in matches.to_dict("records"):
        item = ArrayItem(
            gold_index=_known(row["gold_index"]),
            extracted_index=_known(row["predicted_index"]),
            similarity=_known(row["similarity"]),
            failed_fields=list(row["failed_fields"]),
            gold_value=row["gold"],
            extracted_value=row["predicted"],
        )
        found[row["path"]][row["status"]].append(item)
    return found


def _breakdown(row: dict[Any, Any], path: str, items: dict[str, list[ArrayItem]]) -> ArrayBreakdown:
    return ArrayBreakdown(
        path=path,
        normalized_path=normalized(row["path"]),
        counted=row["counted"],
        matched=_known(row["matched"]),
        missed_gold=_known(row["missed"]),
        spurious_pred=_known(row["spurious"]),
        partial=_known(row["partial"]),
        precision=_known(row["precision"]),
        recall=_known(row["recall"]),
        f1=_known(row["f1"]),
        score=_known(row["score"]),
        passed=_known(row["passed"]),
        matched_items=items["matched"],
        partial_items=items["partial"],
        missed_items=items["missed"],
        spurious_items=items["spurious"],
    )
