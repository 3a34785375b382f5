"""Where points were lost: sums that agree with the scores, and the stage of each loss."""

from __future__ import annotations

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from extractbench_nb.construction.comparing import TableComparison, compare
from extractbench_nb.construction.retrieval import evidence_recall
from extractbench_nb.construction.table_dataset import load
from extractbench_nb.errors import InputError

GOLD = "name,n,unit\na,1,kg\nb,2,kg\n"


def lost(comparison: TableComparison, side: str) -> dict[str, float]:
    frame = comparison.losses()
    part = frame[(frame["side"] == side) & (frame["lost"] != 0)]
    return dict(zip(part["stage"], part["lost"], strict=True))


@pytest.mark.parametrize(
    "predicted, recall, precision",
    [
        (GOLD, {}, {}),
        ("no table", {"answer": 4}, {}),
        ("name,n\na,1\nb,2\n", {"columns": 2}, {"columns": 2}),
        ("name,n,unit,more\na,1,kg,x\nb,2,kg,\n", {}, {"columns": 1}),
        ("name,n,unit\na,1,kg\n", {"rows": 2}, {}),
        ("name,n,unit\na,1,kg\nb,2,kg\nzzz,3,kg\n", {}, {"rows": 2}),
        ("name,n,unit\na,7,kg\nb,2,\n", {"cells": 2}, {"cells": 2}),
        ("title,n,unit\na,1,kg\nb,2,kg\n", {"keys": 4}, {"keys": 6}),
        ("name,n\na,7\n", {"columns": 1, "rows": 2, "cells": 1}, {"columns": 1, "cells": 1}),
    ],
)
def test_each_loss_has_its_stage(
    predicted: str, recall: dict[str, float], precision: dict[str, float]
) -> None:
    found = compare(GOLD, predicted, keys="name")
    assert lost(found, "recall") == recall
    assert lost(found, "precision") == precision


_TABLES = st.lists(
    st.tuples(st.sampled_from("abcd"), st.sampled_from(["1", "2", ""]), st.sampled_from("xy")),
    max_size=5,
)


@settings(max_examples=50, deadline=None)
@given(gold=_TABLES, predicted=_TABLES)
def test_what_is_left_is_precision_and_recall(gold, predicted) -> None:
    ours = pd.DataFrame(gold, columns=["name", "n", "x"], dtype=object)
    theirs = pd.DataFrame(predicted, columns=["name", "n", "y"], dtype=object)
    found = compare(ours, theirs, keys="name")
    frame = found.losses()
    for side in ("recall", "precision"):
        part = frame[frame["side"] == side]
        assert part["left"].iloc[-1] == pytest.approx(found.summary["score_sum"])
        if not pd.isna(part["share"].iloc[-1]):
            assert part["share"].iloc[-1] == pytest.approx(found.summary[f"cell_{side}"])


def test_what_was_not_retrieved_is_lost_there() -> None:
    task = load()["retailer_results"]
    empty = task.gold.assign(revenue_musd="", stores="")
    found = compare(task.gold, empty, keys=list(task.keys))
    recall = evidence_recall(task, k=2)
    stages = found.losses(recall).query("side == 'recall'").set_index("stage")["lost"]
    cells = found.cells.merge(
        recall.cells, left_on=["gold_row", "column"], right_on=["row", "column"]
    )
    unread = cells[(cells["score"] < 1) & (cells["status"] != "retrieved")]
    assert stages["retrieval"] == len(unread) > 0
    assert stages["retrieval"] + stages["cells"] == 10


def test_aoe_is_refused() -> None:
    with pytest.raises(InputError, match="profile='strict'"):
        compare(GOLD, GOLD, keys="name", profile="aoe").losses()
