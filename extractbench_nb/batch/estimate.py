"""What an evaluation with models would cost, before any of them is asked."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pandas as pd

from extractbench_nb._frames import Column, FrameSpec
from extractbench_nb._json import read_document
from extractbench_nb._loops import run_anywhere
from extractbench_nb.alignment.assignment import OptimalAligner
from extractbench_nb.alignment.llm import ALIGNING, Alignment, LLMAligner, array_params
from extractbench_nb.alignment.questions import ALIGNMENT_SCHEMA
from extractbench_nb.batch.estimate_card import estimate_html, estimate_text
from extractbench_nb.batch.inputs import Documents, read_runs
from extractbench_nb.batch.outputs import read_output
from extractbench_nb.errors import InputError
from extractbench_nb.evaluation.api import Run
from extractbench_nb.inputs import Aligner, choose_alignment, choose_judge
from extractbench_nb.judges.base import Judge, JudgeError
from extractbench_nb.judges.client import list_price
from extractbench_nb.judges.offline import OfflineJudge
from extractbench_nb.judges.rehearsal import PlannedCall, rehearsing
from extractbench_nb.profiles import Profile, get_profile
from extractbench_nb.schema.nodes import Node, Schema
from extractbench_nb.scoring import Scorer

__all__ = ["ESTIMATE_COLUMNS", "CostEstimate", "estimate_cost"]

ESTIMATE_COLUMNS = FrameSpec(
    "calls",
    "one row a call of a model that would be made",
    (
        Column("run", "string", "the run; missing for a single document", nullable=True),
        Column("document", "string", "the document; likewise", nullable=True),
        Column("field", "string", "path with the indices taken out"),
        Column("metric", "string", "metric that asks; array_llm for an alignment"),
        Column("model", "string", "LiteLLM id of the model"),
        Column("cached", "bool", "whether the answer is at hand, or the same is asked before"),
        Column("prompt_tokens", "int64", "tokens to ask, as GPT-2 counts", "0 and up"),
        Column("completion_tokens", "int64", "tokens of a usual answer", "0 and up"),
        Column("cost_usd", "Float64", "at list prices; 0 if cached", "0 and up", True),
        Column("highest_cost_usd", "Float64", "if the answer has max_tokens", "0 and up", True),
    ),
)

_NOTHING: Mapping[str, Any] = {}

#: Who is asked about, and what is to be asked.
Row = tuple[str | None, str | None, PlannedCall]


class CostEstimate:
    """What an evaluation would ask models for; made by `estimate_cost`.

    Parameters
    ----------
    calls : pandas.DataFrame
        One row a call.

    Attributes
    ----------
    calls, by_field, summary : pandas.DataFrame, pandas.DataFrame, pandas.Series
        See the properties.
    """

    def __init__(self, calls: pd.DataFrame) -> None:
        self._calls = calls

    @property
    def calls(self) -> pd.DataFrame:
        """One row a call; see `columns`."""
        return self._calls.copy()

    @property
    def summary(self) -> pd.Series:
        """Totals: calls, cached, requests, prompt_tokens, completion_tokens, cost_usd, ...

        ``calls`` is what `Evaluation.judge_calls` would have rows for. ``requests`` are those that
        are not cached, and tokens and costs are theirs alone. A cost is NaN where a model has no
        price.
        """
        return _totals(self._calls).rename("summary")

    @property
    def by_field(self) -> pd.DataFrame:
        """The totals for each field, metric and model, the dearest first."""
        keys = ["field", "metric", "model"]
        parts = {key: _totals(part) for key, part in self._calls.groupby(keys, sort=False)}
        frame = pd.DataFrame(list(parts.values()))
        frame.insert(0, keys[0], pd.Series([key[0] for key in parts], dtype="string"))
        for place, name in enumerate(keys[1:], 1):
            frame.insert(place, name, pd.Series([key[place] for key in parts], dtype="string"))
        if frame.empty:
            return frame
        order = ["cost_usd", "prompt_tokens"]
        return frame.sort_values(order, ascending=False, kind="stable", ignore_index=True)

    @staticmethod
    def columns() -> pd.DataFrame:
        """Describe the columns of `calls`.

        Returns
        -------
        pandas.DataFrame
            One row a column: frame, column, dtype, meaning, values, nullable.
        """
        return ESTIMATE_COLUMNS.describe()

    def __repr__(self) -> str:
        """Say how many calls, and what they cost."""
        return estimate_text(self)

    def _repr_html_(self) -> str:
        return estimate_html(self)


_TOTALS = ("prompt_tokens", "completion_tokens", "cost_usd", "highest_cost_usd")


def _totals(calls: pd.DataFrame) -> pd.Series:
    asked = calls[~calls["cached"]]
    found = {"calls": len(calls), "cached": int(calls["cached"].sum()), "requests": len(asked)}
    sums = asked[list(_TOTALS)].astype("Float64").sum(skipna=False)
    return pd.Series(found | sums.to_dict()).astype("Float64").astype("float64")


def estimate_cost(  # noqa: PLR0913 - the options of evaluate and of evaluate_runs
    schema_or_runs: Any,
    gold: Any = None,
    predicted: Any = None,
    *,
    dataset: Documents | None = None,
    judge: str | Judge = "offline",
    alignment: str | Aligner = "optimal",
    profile: str | Profile = "paper",
) -> CostEstimate:
    """Estimate what an evaluation would ask language models, and what that costs; ask nobody.

    Parameters
    ----------
    schema_or_runs : object
        The schema of one document, with `gold` and `predicted`, as `evaluate` takes it; or the
        runs that `evaluate_runs` takes, without them.
    gold, predicted : object, optional
        See `evaluate`.
    dataset : Dataset, optional
        See `evaluate_runs`.
    judge, alignment, profile : object, optional
        See `evaluate`. No key is needed.

    Returns
    -------
    CostEstimate
        ``summary``, ``by_field`` and ``calls``, one row a call.

    Raises
    ------
    InputError, SchemaError, ConfigError
        See `evaluate` and `evaluate_runs`; or LiteLLM, whose price list is used, is not installed.

    Notes
    -----
    The questions are written down as they would be asked, and looked up in the judge's cache.
    Tokens are counted as GPT-2 does, which for such texts is a little more than newer models need.
    A usual verdict is taken to have 60 tokens; models that think first need more, up to
    ``max_tokens``, for which ``highest_cost_usd`` stands. Questions that are asked again because an
    answer cannot be read are not in it. Arrays inside of others are taken as the offline alignment
    pairs their items, and of large arrays the first round is counted.

    Examples
    --------
    >>> schema = {"type": "object", "properties": {"name": {"type": "string"}}}
    >>> estimate_cost(schema, {"name": "Ann"}, {"name": "Anne"})
    CostEstimate: 0 calls of models; 0 requests, 0 tokens to ask; 0 USD
    """
    given = (gold is not None) + (predicted is not None)
    is_schema = isinstance(schema_or_runs, Mapping | Schema) or given
    if is_schema and gold is None:
        raise InputError("gold is missing; a schema is followed by gold and predicted")
    options = _Options(choose_judge(judge), alignment, get_profile(profile))
    if is_schema:
        rows = list(options.rows(None, None, schema_or_runs, gold, predicted))
    else:
        rows = list(_rows_of_runs(schema_or_runs, dataset, options))
    return CostEstimate(_frame(rows))


def _rows_of_runs(runs: Any, dataset: Documents | None, options: _Options) -> Iterator[Row]:
    plan = read_runs(runs, dataset, options.profile)
    for cell in plan.cells:
        output, gold = read_output(cell.predicted), plan.gold(cell)
        predicted = output.source
        if output.message is not None:
            predicted = {} if isinstance(read_document(gold, "gold"), dict) else None
        schema = plan.schemas[cell.schema_key]
        yield from options.rows(cell.run, cell.document, schema, gold, predicted)


class _Options:
    """How all documents would be evaluated, and what has been noted so far."""

    def __init__(self, judge: Judge, alignment: str | Aligner, profile: Profile) -> None:
        self.profile = profile
        self._asked: set[Any] = set()
        self._judge = judge
        self._alignment = choose_alignment(alignment, judge)

    def rows(
        self, run: str | None, document: str | None, schema: Any, gold: Any, predicted: Any
    ) -> list[Row]:
        """Go through one document as `evaluate` does, with nobody there to answer."""
        noted: list[PlannedCall] = []
        alignment = self._alignment
        if isinstance(alignment, LLMAligner):
            alignment = _Rehearsed(alignment, noted, self._asked, self.profile)
        judge = rehearsing(self._judge, noted.append, self._asked)
        work = Run(schema, gold, predicted, judge, alignment, self.profile)
        if work.pending:
            run_anywhere(work.settle())
        return [(run, document, call) for call in noted]


class _Rehearsed(LLMAligner):
    """Notes what would be asked about arrays, and goes on with the pairs of the offline aligner."""

    def __init__(
        self, aligner: LLMAligner, noted: list[PlannedCall], asked: set[Any], profile: Profile
    ) -> None:
        super().__init__(
            aligner.judge,
            max_prompt_tokens=aligner.max_prompt_tokens,
            candidates=aligner.candidates,
        )
        self._noted, self._asked = noted, asked
        self._optimal = OptimalAligner(Scorer(profile, OfflineJudge()))

    def check(self, params: Mapping[str, Any] = _NOTHING) -> None:
        """Check the params; no key is needed."""
        assert self.judge is not None  # noqa: S101 - made from an aligner that knows whom to ask
        self.judge.settings_for(params)

    async def align(self, node: Node, gold: Sequence[Any], predicted: Sequence[Any]) -> Alignment:
        try:
            for one in self.questions(node, gold, predicted):
                await self._ask(node, one.messages, one.answer_tokens)
        except JudgeError:  # it cannot be asked at all
            return Alignment([])
        return Alignment(self._optimal(node, gold, predicted))

    async def _ask(self, node: Node, messages: Any, answer_tokens: int) -> None:
        def note(call: PlannedCall) -> None:
            usual = min(answer_tokens, call.most_tokens)
            known = call._replace(field=node.field or "$", metric=ALIGNING, answer_tokens=usual)
            self._noted.append(known)

        judge: Any = rehearsing(self.judge, note, self._asked)  # type: ignore[arg-type]
        try:
            await judge.answer(messages, _nothing, ALIGNMENT_SCHEMA, params=array_params(node))
        except JudgeError:
            return


def _nothing(_: str | None) -> None:
    """Read nothing: a replay may have an answer, which is of no interest here."""


def _frame(rows: Sequence[Row]) -> pd.DataFrame:
    prices: dict[tuple[str, int, int], float | None] = {}

    def price(call: PlannedCall, answer_tokens: int) -> float | None:
        key = (call.model, call.prompt_tokens, answer_tokens)
        if key not in prices:
            prices[key] = list_price(*key)
        return 0.0 if call.cached else prices[key]

    cells = [
        (
            run,
            document,
            call.field or "$",
            call.metric,
            call.model,
            call.cached,
            call.prompt_tokens,
            call.answer_tokens,
            price(call, call.answer_tokens),
            price(call, call.most_tokens),
        )
        for run, document, call in rows
    ]
    columns = list(zip(*cells, strict=True)) if cells else [()] * len(ESTIMATE_COLUMNS.columns)
    return ESTIMATE_COLUMNS.build(dict(zip(ESTIMATE_COLUMNS.names, columns, strict=True)))
