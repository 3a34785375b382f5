"""What a worker does: it evaluates the outputs of one chunk, several at a time where they wait."""

from __future__ import annotations

import asyncio
import traceback
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from extractbench_nb._json import read_document
from extractbench_nb._loops import run_anywhere
from extractbench_nb.batch.outputs import Output, read_output
from extractbench_nb.batch.rows import invalid_rows, is_settled, packed_rows, rows_of
from extractbench_nb.errors import ExtractBenchError
from extractbench_nb.evaluation import Evaluation
from extractbench_nb.evaluation.api import Run
from extractbench_nb.inputs import Aligner
from extractbench_nb.judges.base import Judge
from extractbench_nb.profiles import Profile
from extractbench_nb.schema.nodes import Schema

__all__ = ["Context", "Done", "Failed", "Finished", "Task", "failure", "run_chunk"]


class Task(NamedTuple):
    """One output to evaluate: its place in the batch, the key of its schema, and its inputs."""

    place: int
    schema: str
    gold: Any
    predicted: Any


class Finished(NamedTuple):
    """One evaluated output: the row of the summary, and the packed rows of each part.

    ``settled`` is False where a metric gave no verdict; another time it may.
    """

    place: int
    summary: tuple[Any, ...]
    parts: dict[str, bytes]
    settled: bool


class Failed(NamedTuple):
    """An output that could not be evaluated, and why."""

    place: int
    problem: str
    trace: str | None


#: What became of a chunk.
Done = list[Finished | Failed]


@dataclass(frozen=True)
class Context:
    """What all chunks share: the options, and the schemas by key."""

    judge: str | Judge
    alignment: str | Aligner
    profile: Profile
    max_concurrency: int
    schemas: dict[str, Schema]


def run_chunk(context: Context, tasks: Sequence[Task]) -> Done:
    """Evaluate the outputs of a chunk, also where an event loop is running (a notebook cell).

    Parameters
    ----------
    context : Context
        The options and schemas.
    tasks : sequence of Task
        What to evaluate.

    Returns
    -------
    list of Finished or Failed
        One a task, in their order. Nothing that goes wrong with one keeps the others from it.
    """
    return run_anywhere(_run_all(context, tasks))


async def _run_all(context: Context, tasks: Sequence[Task]) -> Done:
    gate = asyncio.Semaphore(context.max_concurrency)

    async def run(task: Task) -> Finished | Failed:
        async with gate:
            return await _run_one(context, task)

    return list(await asyncio.gather(*map(run, tasks)))


async def _run_one(context: Context, task: Task) -> Finished | Failed:
    try:
        output = read_output(task.predicted)
        evaluation = await _evaluate(context, task, output)
        if output.message is None:
            outcome, (parts, scores) = "evaluated", rows_of(evaluation)
        else:
            outcome, (parts, scores) = "invalid", invalid_rows(evaluation, output.message)
        summary = (outcome, output.message, output.line, output.column, *scores)
        return Finished(task.place, summary, packed_rows(parts), is_settled(evaluation))
    except Exception as error:  # noqa: BLE001 - an aligner may raise anything; it is told where
        return failure(task.place, error)


def failure(place: int, error: Exception) -> Failed:
    """Tell what went wrong with an output; with the traceback where it is no error of ours."""
    if isinstance(error, ExtractBenchError):
        return Failed(place, str(error), None)
    trace = "".join(traceback.format_exception(error))
    return Failed(place, f"{type(error).__name__}: {error}", trace)


async def _evaluate(context: Context, task: Task, output: Output) -> Evaluation:
    """Evaluate one output; an invalid one as an empty prediction."""
    predicted = output.source
    if output.message is not None:
        predicted = {} if isinstance(read_document(task.gold, "gold"), dict) else None
    run = Run(
        context.schemas[task.schema],
        task.gold,
        predicted,
        judge=context.judge,
        alignment=context.alignment,
        profile=context.profile,
        checked=True,
    )
    return await run.complete()
