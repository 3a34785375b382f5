"""The course of a batch: what is finished is left alone, the rest goes out and comes in."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pandas as pd

from extractbench_nb._progress import progress_bar
from extractbench_nb.batch.columns import OWN_SUMMARY
from extractbench_nb.batch.files import write_files
from extractbench_nb.batch.inputs import Plan
from extractbench_nb.batch.keepers import Keeper, MemoryKeeper, StoreKeeper
from extractbench_nb.batch.memory import MemorySource
from extractbench_nb.batch.outputs import ABSENT
from extractbench_nb.batch.results import Evaluations, Source
from extractbench_nb.batch.saved import FolderSource
from extractbench_nb.batch.schedule import Pool, Runner, Work
from extractbench_nb.batch.settings import custom_metrics, settings_of
from extractbench_nb.batch.store import open_store
from extractbench_nb.batch.worker import Context, Done, Failed, Finished, Task, failure
from extractbench_nb.errors import InputError
from extractbench_nb.evaluation import Evaluation, evaluate
from extractbench_nb.inputs import (
    Aligner,
    check_alignment,
    check_judge,
    choose_alignment,
    choose_judge,
)
from extractbench_nb.judges.base import Judge
from extractbench_nb.profiles import Profile

__all__ = ["Batch", "Options", "meta_of"]

_SHOWN = 3
_PASS_RATE = OWN_SUMMARY.names.index("pass_rate")


@dataclass(frozen=True)
class Options:
    """How outputs are evaluated; see `evaluate_runs`.

    Parameters
    ----------
    judge, alignment : object
        As the user gave them.
    profile : Profile
        The rules.
    max_concurrency : int
        Documents at a time in each worker.
    """

    judge: str | Judge
    alignment: str | Aligner
    profile: Profile
    max_concurrency: int

    def check(self) -> None:
        """Raise `InputError` for an option that cannot be used, before any work."""
        choose_alignment(self.alignment, choose_judge(self.judge))
        limit: Any = self.max_concurrency
        if type(limit) is not int or limit < 1:
            raise InputError(f"max_concurrency is {limit!r}; expected 1 or more")


@dataclass(frozen=True)
class Batch:
    """One call of `evaluate_runs`.

    Parameters
    ----------
    plan : Plan
        What to evaluate.
    options : Options
        How.
    pool : Pool
        Who does it.
    progress : bool
        Whether to show a progress bar.
    """

    plan: Plan
    options: Options
    pool: Pool
    progress: bool

    def in_memory(self) -> Evaluations:
        """Evaluate, and keep the results in memory."""
        keeper = MemoryKeeper(self.plan)
        work, description = self._prepare()
        counts = self._run(work, keeper)
        source = MemorySource(tuple(keeper.results()), self.plan.extras, description)
        return self._results(source, description, counts)

    def in_folder(self, folder: Path) -> Evaluations:
        """Evaluate what the folder does not have yet, and write the files."""
        work, description = self._prepare()
        with open_store(folder, description) as store:
            keeper = StoreKeeper(self.plan, store)
            counts = self._run(work, keeper)
            digest = write_files(folder, keeper.results(), self.plan.extras, description)
        source = FolderSource(folder, self.plan.extras, digest)
        return self._results(source, description, {**counts, "folder": str(folder)})

    def _prepare(self) -> tuple[Work, dict[str, Any]]:
        options, schemas = self.options, dict(self.plan.schemas)
        judge = choose_judge(options.judge)
        alignment = choose_alignment(options.alignment, judge)
        for schema in schemas.values():
            check_judge(judge, schema)
            check_alignment(alignment, schema)
        metrics = custom_metrics(schemas.values())
        context = Context(judge, alignment, options.profile, options.max_concurrency, schemas)
        cells = self.plan.cells
        description = {
            **settings_of(options.profile, judge, alignment, metrics),
            "outputs": len(cells),
            "runs": len({cell.run for cell in cells}),
            "documents": len({cell.document for cell in cells}),
        }
        return Work(context, metrics, len(cells)), description

    def _run(self, work: Work, keeper: Keeper) -> dict[str, Any]:
        started = time.perf_counter()
        bar = progress_bar(shown=self.progress, total=work.count, unit="doc", desc="evaluate")
        with bar, self.pool.runner(work) as evaluate_tasks:
            course = Course(self.plan, keeper, bar)
            course.run(evaluate_tasks)
        return {
            "evaluated": course.evaluated,
            "reused": course.reused,
            "seconds": time.perf_counter() - started,
        }

    def _results(
        self, source: Source, description: Mapping[str, Any], counts: Mapping[str, Any]
    ) -> Evaluations:
        versions = {"pandas": pd.__version__, "python": sys.version.split()[0]}
        meta = {**meta_of(description), **counts, **versions}
        return Evaluations(source, meta, self._evaluate_again)

    def _evaluate_again(self, run: str, document: str) -> Evaluation:
        wanted = (run, document)
        cell = next(cell for cell in self.plan.cells if (cell.run, cell.document) == wanted)
        if cell.predicted is ABSENT:
            raise InputError(f"{cell.name}: there is no output to evaluate")
        options = self.options
        return evaluate(
            self.plan.schemas[cell.schema_key],
            self.plan.gold(cell),
            cell.predicted,
            judge=options.judge,
            alignment=options.alignment,
            profile=options.profile,
        )


def meta_of(description: Mapping[str, Any]) -> dict[str, Any]:
    """Return what ``Evaluations.meta`` says of a batch, from its description."""
    names = ("judge", "alignment", "extractbench_nb", "outputs", "runs", "documents")
    kept = {name: description[name] for name in names}
    return {"profile": description["profile"]["name"], **kept}


@dataclass
class Course:
    """One batch on its way.

    Parameters
    ----------
    plan : Plan
        What there is to do.
    keeper : Keeper
        Keeps what is finished.
    bar : tqdm
        Shows how far it is.

    Attributes
    ----------
    evaluated, reused : int
        Outputs that were evaluated now, and that were finished before.
    failed : list of Failed
        What went wrong; nothing new goes out after the first.
    """

    plan: Plan
    keeper: Keeper
    bar: Any
    evaluated: int = 0
    reused: int = 0
    failed: list[Failed] = field(default_factory=list)
    _passed: float = 0.0

    def run(self, evaluate: Runner) -> None:
        """Send out all that is not finished, and keep what comes back."""
        for done in evaluate(self._tasks()):
            self._take(done)
        if self.failed:
            raise self._error()

    def _tasks(self) -> Iterator[Task]:
        for place in range(len(self.plan.cells)):
            if self.failed:
                return
            try:
                task = self._task(place)
            except Exception as error:  # noqa: BLE001 - a dataset may raise anything
                self.failed.append(failure(place, error))
                return
            if task is not None:
                yield task

    def _task(self, place: int) -> Task | None:
        """Make the task of an output; None where it is finished already."""
        if self.keeper.has(place):
            self.reused += 1
            self.bar.update()
            return None
        cell = self.plan.cells[place]
        return Task(place, cell.schema_key, self.plan.gold(cell), cell.predicted)

    def _take(self, done: Done) -> None:
        finished = [item for item in done if isinstance(item, Finished)]
        self.failed.extend(item for item in done if isinstance(item, Failed))
        self.keeper.keep(finished)
        self.evaluated += len(finished)
        self._passed += sum(item.summary[_PASS_RATE] for item in finished)
        if self.evaluated:
            self.bar.set_postfix(pass_rate=f"{self._passed / self.evaluated:.3f}", refresh=False)
        self.bar.update(len(finished))

    def _error(self) -> InputError:
        """Name the first output that failed, and how many others did."""
        first = min(self.failed, key=lambda failed: failed.place)
        same = [f for f in self.failed if f.problem == first.problem]
        cells = [self.plan.cells[f.place].name for f in sorted(same)[:_SHOWN]]
        more = f" and {len(same) - _SHOWN} more" if len(same) > _SHOWN else ""
        error = InputError(f"{'; '.join(cells)}{more}: {first.problem}")
        if first.trace:
            error.add_note(first.trace)
        return error
