"""`estimate_cost`: what an evaluation with models would cost, before any request."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from math import isnan
from typing import Any

import pandas as pd

from extractbench_nb.core import Aligner, Profile, Run, choose_alignment
from extractbench_nb.core.frames import Column, DescribedFrames, FrameSpec
from extractbench_nb.core.schema import MISSING, Schema
from extractbench_nb.core.text import Judge, choose_judge
from extractbench_nb.errors import InputError
from extractbench_nb.judges import (
    LLMAligner,
    Notes,
    PlannedCall,
    RehearsedAligner,
    list_price,
    rehearsing,
)
from extractbench_nb.runs.dataset import Documents
from extractbench_nb.runs.inputs import evaluated_source, read_output, read_runs
from extractbench_nb.support.cards import TextCard
from extractbench_nb.support.concurrency import run_anywhere
from extractbench_nb.support.pandas_helpers import known_sums
from extractbench_nb.support.wording import dollars, plural

_MOST = 8
_NAMES = 200


def _dollars(value: float) -> str:
    return "cost unknown: the model has no list price" if isnan(value) else dollars(value)


ESTIMATE_COLUMNS = FrameSpec(
    "calls",
    "one row per call of a model that would be made",
    (
        Column("run", "string", "the run; missing for a single document", nullable=True),
        Column("document", "string", "the document; missing for a single one", nullable=True),
        Column("field", "string", "path without indices"),
        Column("metric", "string", "metric that needs the call; array_llm for an alignment"),
        Column("model", "string", "LiteLLM id of the model"),
        Column("cached", "bool", "whether the answer is cached or known from an earlier call"),
        Column("prompt_tokens", "int64", "tokens in the prompt, as counted by GPT-2", "0 and up"),
        Column("completion_tokens", "int64", "tokens in a typical answer", "0 and up"),
        Column("cost_usd", "Float64", "cost at list prices; 0 if cached", "0 and up", True),
        Column("highest_cost_usd", "Float64", "cost of an answer of max_tokens", "0 and up", True),
    ),
)

_TOTALS = ("prompt_tokens", "completion_tokens", "cost_usd", "highest_cost_usd")

#: Run, document, and a call about them.
Row = tuple[str | None, str | None, PlannedCall]


class CostEstimate(TextCard, DescribedFrames):
    """The model calls that an evaluation would make, and their cost.

    Made by `estimate_cost`.

    Attributes
    ----------
    unknown : tuple of str
        Names of judges whose requests cannot be predicted; the estimate does not include them.
    """

    _specs = (ESTIMATE_COLUMNS,)

    def __init__(self, calls: pd.DataFrame, unknown: tuple[str, ...] = ()) -> None:
        self._calls = calls
        self.unknown = unknown

    @property
    def calls(self) -> pd.DataFrame:
        """One row per call; see `columns`."""
        return self._calls.copy()

    @property
    def summary(self) -> pd.Series:
        """Totals: calls, cached, requests, prompt_tokens, completion_tokens, cost_usd, ...

        ``calls`` is the number of rows that `Evaluation.judge_calls` would have. ``requests`` are
        the calls that are not cached; tokens and costs are those of the requests. A cost is NaN if
        a model has no price.
        """
        return self._counted().sum(skipna=False).rename("summary")

    @property
    def by_field(self) -> pd.DataFrame:
        """The totals for each field, metric and model, most expensive first."""
        keys = ["field", "metric", "model"]
        groups = [self._calls[key] for key in keys]
        frame = known_sums(self._counted(), groups, sort=False).reset_index()
        frame = frame.astype(dict.fromkeys(keys, "string"))
        order = ["cost_usd", "prompt_tokens"]
        return frame.sort_values(order, ascending=False, kind="stable", ignore_index=True)

    def _counted(self) -> pd.DataFrame:
        """Return what each call adds to the totals; a cached one needs no tokens."""
        calls = self._calls
        asked = ~calls["cached"]
        counts = pd.DataFrame({"calls": 1, "cached": calls["cached"], "requests": asked})
        return counts.join(calls[list(_TOTALS)].where(asked, 0)).astype("float64")

    def __repr__(self) -> str:
        """Write the totals and the most expensive fields."""
        total, by_field = self.summary, self.by_field
        cost = _dollars(total["cost_usd"])
        if total["cost_usd"] > 0:
            cost = f"about {cost}, at most {_dollars(total['highest_cost_usd'])}"
        cached = f", {total['cached']:,.0f} of them cached" if total["cached"] else ""
        counts = f"{plural(int(total['calls']), 'model call')}{cached}"
        requests = plural(int(total["requests"]), "request")
        tokens = f"{total['prompt_tokens']:,.0f} prompt tokens"
        lines = [f"CostEstimate: {counts}; {requests}, {tokens}; {cost}"]
        lines += [
            f"{row['field']} ({row['metric']}, {row['model']}): "
            f"{plural(int(row['requests']), 'request')}, {_dollars(row['cost_usd'])}"
            for row in by_field.head(_MOST).to_dict("records")
        ]
        if len(by_field) > _MOST:
            lines.append(f"… {len(by_field) - _MOST} more; .by_field has them")
        if self.unknown:
            names = ", ".join(self.unknown)[:_NAMES]
            lines.append(f"not included: requests of {names}, which are not known")
        return "\n  ".join(lines)


def estimate_cost(  # noqa: PLR0913 - the options of evaluate and of evaluate_runs
    schema_or_runs: Any,
    gold: Any = MISSING,
    predicted: Any = MISSING,
    *,
    dataset: Documents | None = None,
    judge: str | Judge = "offline",
    alignment: str | Aligner = "optimal",
    profile: str | Profile = "strict",
) -> CostEstimate:
    """Estimate an evaluation's requests to language models and their cost, without making any.

    Parameters
    ----------
    schema_or_runs : object
        The schema of one document, with `gold` and `predicted`, in a form that `evaluate` accepts;
        or the runs that `evaluate_runs` takes, without them.
    gold, predicted : object, optional
        See `evaluate`.
    dataset : Dataset, optional
        See `evaluate_runs`.
    judge, alignment, profile : object, optional
        See `evaluate`. No key is needed.

    Returns
    -------
    CostEstimate
        ``summary``, ``by_field`` and ``calls``, one row per call.

    Raises
    ------
    InputError, SchemaError, ConfigError
        See `evaluate` and `evaluate_runs`.
    UnavailableError
        LiteLLM, whose price list is used, is not installed.

    Notes
    -----
    Questions are composed as they would be asked, and looked up in the judge's cache. Tokens are
    counted with GPT-2's tokenizer. A typical verdict is assumed to have 75 tokens; models that
    reason first need more, up to ``max_tokens``, on which ``highest_cost_usd`` is based. Questions
    that follow an unreadable answer, or the first round of a large array, are not included. If the
    answers of an LLM alignment are not cached, items are paired offline, which underestimates the
    cost.

    Examples
    --------
    >>> schema = {"type": "object", "properties": {"name": {"type": "string"}}}
    >>> estimate_cost(schema, {"name": "Ann"}, {"name": "Anne"})
    CostEstimate: 0 model calls; 0 requests, 0 prompt tokens; $0
    """
    sides = {"gold": gold, "predicted": predicted}
    missing = [name for name, value in sides.items() if value is MISSING]
    profile, judge, notes = Profile.named(profile), choose_judge(judge), Notes()
    aligner = choose_alignment(alignment, judge)
    if isinstance(aligner, LLMAligner):
        aligner = RehearsedAligner(aligner, notes, profile)
    rehearsal = rehearsing(judge, notes)
    rows: list[Row] = []

    def rehearse(
        run: str | None, document: str | None, schema: Any, gold: Any, predicted: Any
    ) -> None:
        """Evaluate one document with a judge that only takes notes."""
        before = len(notes.calls)
        traversal = Run(schema, gold, predicted, rehearsal, aligner, profile).traversal
        if traversal.is_open:
            run_anywhere(traversal.settle())
        rows.extend((run, document, call) for call in notes.calls[before:])

    if isinstance(schema_or_runs, Mapping | Schema) or len(missing) < len(sides):
        if missing:
            names = " and ".join(missing)
            raise InputError(f"{names} missing; a schema is followed by gold and predicted")
        rehearse(None, None, schema_or_runs, gold, predicted)
    else:
        plan = read_runs(schema_or_runs, dataset)
        for cell in plan.cells:
            gold = plan.gold(cell)
            predicted = evaluated_source(read_output(cell.predicted), gold)
            rehearse(cell.run, cell.document, plan.schemas[cell.schema_key], gold, predicted)
    return CostEstimate(_frame(rows), tuple(sorted(notes.unknown)))


def _frame(rows: Sequence[Row]) -> pd.DataFrame:
    price = cache(list_price)

    def cells(run: str | None, document: str | None, call: PlannedCall) -> tuple[Any, ...]:
        about = (call.field or "$", call.metric, call.model, call.cached)
        tokens = (call.prompt_tokens, call.answer_tokens)
        most = (call.prompt_tokens, call.most_tokens)
        costs = [0.0 if call.cached else price(call.model, *counts) for counts in (tokens, most)]
        return (run, document, *about, *tokens, *costs)

    return ESTIMATE_COLUMNS.from_rows([cells(*row) for row in rows])
