"""Cross-field rules over a batch: one row per run, document and rule."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from extractbench_nb.core import (
    RULES,
    Rule,
    RuleOutcome,
    read_predicted,
    schema_names,
)
from extractbench_nb.core.values import read_document
from extractbench_nb.runs.inputs import Cell, Plan, read_output
from extractbench_nb.runs.rows import BATCH_RULES
from extractbench_nb.support.files import source_hash


class CheckedRules(NamedTuple):
    """The outcomes of rules over a batch; ``sources`` has a hash of each rule's source."""

    sources: Mapping[str, str]
    rows: tuple[tuple[Any, ...], ...]

    def frame(self) -> pd.DataFrame:
        """Make the frame ``rules`` of a batch."""
        return BATCH_RULES.from_rows(self.rows)


def check_batch(plan: Plan) -> CheckedRules | None:
    """Run the registered rules over gold and outputs, in this process; None without rules.

    Gold is checked once for all runs.
    """
    rules = tuple(RULES.values())
    if not rules:
        return None
    rows: list[tuple[Any, ...]] = []
    checked: dict[Any, list[tuple[Rule, RuleOutcome]]] = {}
    for cell in plan.cells:
        key = (_gold_key(cell), cell.schema, cell.schema_key)
        if key not in checked:
            names = schema_names(plan.schemas[cell.schema_key].document, cell.schema)
            wanted = [made for made in rules if made.is_for(names)]
            gold = read_document(plan.gold(cell), "gold") if wanted else None
            checked[key] = [(made, made.check(gold)) for made in wanted]
        if checked[key]:
            output = read_output(cell.predicted)
            value, problem = read_predicted(output.source)
            is_read = output.message is None and problem is None
            for made, of_gold in checked[key]:
                of_output = made.check(value) if is_read else None
                rows.append((*cell.ids, *made.row(of_gold, of_output)))
    return CheckedRules({made.name: source_hash(made.function) for made in rules}, tuple(rows))


def _gold_key(cell: Cell) -> Any:
    """Return what two cells share only if they have the same gold."""
    if cell.gold is None:
        return cell.document
    return cell.gold if isinstance(cell.gold, str | Path) else id(cell.gold)
