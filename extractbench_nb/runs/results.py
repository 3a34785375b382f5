"""`Evaluations`: the frames of many evaluations, concatenated; saved batches read back."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd

from extractbench_nb.core import (
    RULES,
    Evaluation,
    Inputs,
    Rule,
    evaluate,
    find_causes,
    mismatch_frame,
    read_predicted,
)
from extractbench_nb.core.frames import Column, DescribedFrames, FrameSpec, ShownFrame, scores_of
from extractbench_nb.core.values import private_copy, read_document
from extractbench_nb.errors import InputError, nearest, needs
from extractbench_nb.runs.inputs import IDS, SUMMARY, Cell, Plan, read_output
from extractbench_nb.runs.storage import (
    DESCRIPTION,
    FRAMES,
    NAMES,
    SETTINGS,
    MemoryStorage,
    check_folder,
    led_by_ids,
    read_description,
    remove_description,
    summary_spec,
    to_frame,
    write_files,
)
from extractbench_nb.support.cards import TextCard
from extractbench_nb.support.files import (
    make_folder,
    reading,
    refuse_irregular,
    replacing,
)
from extractbench_nb.support.pandas_helpers import own_copy
from extractbench_nb.support.wording import dollars, one_line, plural, ratio_text

BATCH_RULES = led_by_ids("rules")
MISMATCHES = led_by_ids("mismatches")
MISSING_PAIRS = FrameSpec("missing", "one row per output that other runs have", IDS)
#: Entries of the summary that are averaged over documents; the others are added up.
UNITS = SUMMARY.measures


def _over_documents(how: str, *, units: bool) -> tuple[Column, ...]:
    columns = (column for column in SUMMARY.columns if (column.name in UNITS) is units)
    return tuple(replace(c, meaning=f"{how} over documents: {c.meaning}") for c in columns)


_POOLED = "passed / evaluated over all documents; missing if nothing is evaluated"
BY_RUN = FrameSpec(
    "by_run",
    "one row per run",
    (
        Column("run", "string", "name of the run"),
        Column("documents", "int64", "outputs of the run, including invalid ones", "1 and up"),
        Column("invalid", "int64", "outputs that are not JSON, empty or absent", "0 and up"),
        Column("missing", "int64", "documents that only other runs have", "0 and up"),
        *_over_documents("mean", units=True),
        Column("pooled_pass_rate", "Float64", _POOLED, "0 to 1", True),
        *_over_documents("sum", units=False),
    ),
)


# --- results in a folder --------------------------------------------------------------------------


@dataclass(frozen=True)
class FolderSource:
    """The results in a folder, read from its files when they are asked for.

    ``digest`` is the one of the batch that was loaded: files of another one are refused.
    """

    folder: Path
    extras: Sequence[Sequence[str]]
    digest: str

    def frame(self, name: str) -> pd.DataFrame:
        """Read a frame from its Parquet file."""
        pa, pq = needs("pyarrow", "batch"), needs("pyarrow.parquet", "batch")
        path = self.folder / f"{name}.parquet"
        spec = summary_spec(self.extras) if name == "summary" else FRAMES[name]
        self._refuse_other()
        refuse_irregular(path, "frame")
        try:
            with pq.ParquetFile(path, page_checksum_verification=True) as file:
                table = file.read()
            table.validate(full=True)
            frame = to_frame(table, spec)
        except (OSError, pa.ArrowException, ValueError, LookupError, TypeError) as error:
            raise InputError(f"{str(path)!r} cannot be read: {error}") from error
        self._refuse_other()
        return frame

    def save(self, folder: Path) -> None:
        """Copy the files."""
        self._refuse_other()
        check_folder(folder, "folder")
        make_folder(folder)
        with ExitStack() as stack:
            for name in NAMES:
                source, target = self.folder / name, stack.enter_context(replacing(folder / name))
                with reading(f"frame file {str(source)!r}", source):
                    shutil.copyfile(source, target)
            self._refuse_other()
            remove_description(folder)

    def _refuse_other(self) -> None:
        """Raise `InputError` if another batch is in the folder; without a description, too."""
        if read_description(self.folder).get("digest") != self.digest:
            folder = str(self.folder)
            raise InputError(
                f"{folder!r} has been rewritten since it was loaded; load it again: "
                f"load_evaluations({folder!r})"
            )


def load_evaluations(folder: str | Path) -> Evaluations:
    """Read results from a folder written by `evaluate_runs` or `Evaluations.save`.

    Parameters
    ----------
    folder : str or pathlib.Path
        With ``batch.json`` and the Parquet files.

    Returns
    -------
    Evaluations
        Frames are read on first use, which raises `InputError` if the folder has been rewritten
        since. An output cannot be evaluated again, because the inputs are not in the folder.

    Raises
    ------
    InputError
        There is no such folder, no finished batch in it, or one of another format.
    """
    path = Path(folder)
    needs("pyarrow.parquet", "batch")
    about = read_description(path)
    try:
        summary_spec(about["extras"])
        source = FolderSource(path, about["extras"], about["digest"])
        return Evaluations(source, {**meta_of(about), "folder": str(path)})
    except (LookupError, TypeError, ValueError) as error:
        problem = f"{str(path / DESCRIPTION)!r} does not describe a batch"
        raise InputError(f"{problem}: {type(error).__name__}: {error}") from error


def meta_of(description: Mapping[str, Any]) -> dict[str, Any]:
    """Return what ``Evaluations.meta`` takes from the description of a batch."""
    names = ("judge", "alignment", "extractbench_nb", "outputs", "runs", "documents", "accepted")
    entries = {name: description[name] for name in names}
    settings = {name: description.get(name) for name in SETTINGS}
    settings["accepted"] = description["alternatives"]
    inputs = {"schemas": description.get("schemas", {}), "settings": settings}
    return {"profile": description["profile"]["name"], **entries, **inputs}


def _outcomes(plan: Plan, rules: Sequence[Rule]) -> Iterator[tuple[Any, ...]]:
    """Run rules over gold and outputs, in this process; the runs share gold."""
    of_golds: dict[Any, list[tuple[Rule, Any]]] = {}
    for cell in plan.cells:
        gold = cell.document if cell.gold is None else cell.gold
        key = gold if isinstance(gold, str | Path) else id(gold), cell.schema, cell.schema_key
        if key not in of_golds:
            names = plan.schemas[cell.schema_key].names(cell.schema)
            wanted = [made for made in rules if made.is_for(names)]
            value = read_document(plan.gold(cell), "gold") if wanted else None
            of_golds[key] = [(made, made.check(value)) for made in wanted]
        if of_golds[key]:
            output = read_output(cell.predicted)
            value, problem = read_predicted(output.source)
            is_read = output.message is None and problem is None
            for made, of_gold in of_golds[key]:
                yield (*cell.ids, *made.row(of_gold, made.check(value) if is_read else None))


# --- the results ----------------------------------------------------------------------------------

_MOST_RUNS = 20
#: The cause of the scores is not looked up in the fields of larger batches.
_MOST_FIELDS = 200_000
_LONGEST = 40
_SCORES = ("pass_rate", "overall_score", "field_score")


def _notes(by_run: pd.DataFrame, missing: pd.DataFrame) -> list[str]:
    notes = []
    invalid = int(by_run["invalid"].sum())
    if invalid:
        notes.append(f"{plural(invalid, 'output')} invalid; none of the fields counts as passed")
    if len(missing):
        lacking = f"{plural(len(missing), 'output')} that other runs have are missing"
        notes.append(f"{lacking} and not in any mean; .missing has them")
    errors = int(by_run["judge_errors"].sum())
    if errors:
        notes.append(f"{plural(errors, 'field')} without a verdict: pass_rate is a lower bound")
    calls = int(by_run["llm_calls"].sum())
    if calls:
        cost = by_run["llm_cost_usd"].sum(skipna=False)
        notes.append(f"{plural(calls, 'model call')}, {dollars(cost)} at list prices")
    return notes


@dataclass(frozen=True, repr=False, eq=False)
class Evaluations(TextCard, DescribedFrames):
    """The results of many evaluations.

    Made by `evaluate_runs` and `load_evaluations`; frozen. The frames ``fields``, ``arrays``,
    ``matches`` and ``judge_calls`` are those of `Evaluation`, led by run, document, domain and
    schema. Each access returns a copy. Frames on disk are read on first use, which raises
    `InputError` if the files have been rewritten since.
    """

    _specs = (
        *FRAMES.values(),
        MISMATCHES,
        BY_RUN,
        MISSING_PAIRS,
        BATCH_RULES,
    )

    _source: MemoryStorage | FolderSource
    _meta: Mapping[str, Any]
    _plan: Plan | None = None
    _options: Mapping[str, Any] = field(default_factory=dict)

    def __getstate__(self) -> dict[str, Any]:
        """Pickle the results, without the inputs."""
        return {"_source": self._source, "_meta": self._meta, "_plan": None, "_options": {}}

    @property
    def fields(self) -> pd.DataFrame:
        """One row per evaluated field and metric, in each run and document."""
        return self._frame("fields")

    @property
    def arrays(self) -> pd.DataFrame:
        """One row per array, in each run and document."""
        return self._frame("arrays")

    @property
    def matches(self) -> pd.DataFrame:
        """One row per gold item and per spurious predicted item, in each run and document."""
        return self._frame("matches")

    @property
    def judge_calls(self) -> pd.DataFrame:
        """One row per call of a model, in each run and document; empty for rule-based judges."""
        return self._frame("judge_calls")

    @property
    def rows(self) -> pd.DataFrame:
        """The frame `fields`, under the name that it has in every `ScoredResult`."""
        return self.fields

    @property
    def scores(self) -> pd.DataFrame:
        """One row per run, document and measure of `summary`."""
        return scores_of(self.summary, UNITS)

    @property
    def summary(self) -> pd.DataFrame:
        """One row per run and document."""
        return self._frame("summary")

    @property
    def mismatches(self) -> pd.DataFrame:
        """One row per wrong value, in each run and document, with its path and kind of mismatch."""
        return self._frame("mismatches")

    @property
    def rules(self) -> pd.DataFrame:
        """One row per run, document and rule that applies to its schema (see `rule`).

        The registered rules are run in this process on first use, and again after a change. That is
        an `InputError` if the results were loaded or unpickled.
        """
        rules = tuple(RULES.values())
        if rules and self._plan is None:
            raise InputError(
                "the inputs of loaded or unpickled results are not available; call "
                "evaluate_runs(..., resume=folder), which evaluates nothing again, or "
                "gold.check_rules(outputs, dataset)"
            )
        kept: tuple[Any, pd.DataFrame] | None = self.__dict__.get("_checked")
        if kept is None or kept[0] != rules:
            rows = _outcomes(self._plan, rules) if rules and self._plan is not None else ()
            kept = self.__dict__["_checked"] = rules, BATCH_RULES.from_rows(rows)
        return ShownFrame(own_copy(kept[1]))

    @property
    def by_run(self) -> pd.DataFrame:
        """One row per run, in the order of the runs."""
        summary = self.summary
        groups = summary.groupby("run", sort=False)
        strict_sum = partial(pd.Series.sum, skipna=False)  # missing if any value is missing
        how: dict[str, Any] = {
            c.name: "mean" if c.name in UNITS else strict_sum if c.nullable else "sum"
            for c in BY_RUN.columns
            if c.name in Evaluation.spec("summary").names
        }
        table = groups.agg(how)
        table["documents"] = groups.size()
        table["invalid"] = (~summary["valid"]).groupby(summary["run"]).sum()
        absent = self.missing["run"].value_counts()
        table["missing"] = absent.reindex(table.index, fill_value=0)
        table = table.reset_index()
        evaluated = table["evaluated"].tolist()
        pooled = [p / n if n else None for p, n in zip(table["passed"], evaluated, strict=True)]
        cells = {name: table[name].tolist() for name in BY_RUN.names if name in table}
        return ShownFrame(BY_RUN.build({**cells, "pooled_pass_rate": pooled}))

    @property
    def missing(self) -> pd.DataFrame:
        """One row per output that is missing in a run but exists in another."""
        summary, keys = self.summary, ["run", "document"]
        documents = summary.drop_duplicates("document")[["document", "domain", "schema"]]
        pairs = summary[["run"]].drop_duplicates().merge(documents, how="cross")
        evaluated = pd.MultiIndex.from_frame(summary[keys])
        is_evaluated = pd.MultiIndex.from_frame(pairs[keys]).isin(evaluated)
        return pairs[~is_evaluated].reset_index(drop=True)

    @property
    def meta(self) -> dict[str, Any]:
        """The profile, judge, alignment, versions, and the number of outputs that were evaluated.

        ``settings`` are those on which verdicts depend, ``schemas`` the digests of the schemas by
        label.
        """
        return dict(self._meta)

    def evaluation(self, run: str | int, document: str | int) -> Evaluation:
        """Evaluate one output again and return its full result.

        Parameters
        ----------
        run, document : str or int
            Values of ``summary["run"]`` and ``summary["document"]``.

        Returns
        -------
        Evaluation
            As `evaluate` returns it; ``meta`` has ``run``, ``document`` and ``schema``, too.

        Raises
        ------
        InputError
            No such output, or the results were loaded or unpickled and have no inputs.
        """
        plan, cell = self._cell(run, document)
        if cell.predicted is None:
            raise InputError(f"{cell.name}: it has no output to evaluate")
        schema, accepted = plan.schemas[cell.schema_key], plan.accepted.get(cell.document)
        options = {**self._options, "accepted": accepted}
        ev = evaluate(schema, plan.gold(cell), cell.predicted, **options)
        return ev.labelled(run=cell.run, document=cell.document, schema=cell.schema)

    def inputs(self, run: str | int, document: str | int) -> Inputs:
        """Return the inputs of the evaluation of one output, without evaluating it again.

        Parameters
        ----------
        run, document : str or int
            Values of ``summary["run"]`` and ``summary["document"]``.

        Returns
        -------
        Inputs
            The parsed schema, gold, the predicted value (the text if it does not parse, None if
            there is none), and the parser's message.

        Raises
        ------
        InputError
            As `evaluation`, or gold cannot be read.
        """
        plan, cell = self._cell(run, document)
        gold = private_copy(read_document(plan.gold(cell), "gold"), "gold")
        return Inputs(plan.schemas[cell.schema_key], gold, *read_predicted(cell.predicted))

    def _cell(self, run: str | int, document: str | int) -> tuple[Plan, Cell]:
        """Return the inputs of the batch and those of one output."""
        run, document = str(run), str(document)
        summary = self.summary
        if run not in (runs := summary["run"].unique().tolist()):
            raise InputError(f"no run {run!r}; {nearest(run, runs)}")
        if document not in (of_run := summary.query("run == @run")["document"].tolist()):
            hint = nearest(document, of_run)
            raise InputError(f"run {run!r} has no document {document!r}; {hint}")
        if self._plan is None:
            raise InputError(
                f"the inputs of run {run!r}, document {document!r} are not available, because the "
                "results were loaded or unpickled; results of evaluate_runs(..., resume=folder) "
                "have theirs"
            )
        wanted = (run, document)
        cells = (cell for cell in self._plan.cells if (cell.run, cell.document) == wanted)
        return self._plan, next(cells)

    def save(self, folder: str | Path) -> Path:
        """Write the results to a folder, from which `load_evaluations` can read them.

        Parameters
        ----------
        folder : str or pathlib.Path
            Created if it does not exist. What `save` wrote there before is replaced.

        Returns
        -------
        pathlib.Path
            The folder.

        Raises
        ------
        InputError
            The folder contains a batch that can be resumed, or files that `save` did not write.
        OutputError
            A file cannot be written.
        """
        path = Path(folder)
        if isinstance(self._source, FolderSource):
            self._source.save(path)
        else:
            check_folder(path, "folder")
            description = self._source.description
            write_files(make_folder(path), self._source.results(), description)
        return path

    def _frame(self, name: str) -> pd.DataFrame:
        """Return a copy of a frame; it is built on first use and cached."""
        frames = self.__dict__.setdefault("_frames", {})
        if name not in frames:
            is_stored = name != "mismatches"
            frames[name] = self._source.frame(name) if is_stored else mismatch_frame(self.fields)
        cached: pd.DataFrame = frames[name]
        return ShownFrame(own_copy(cached))

    def __len__(self) -> int:
        """Count the outputs."""
        return len(self.summary)

    def __repr__(self) -> str:
        """Write one line of scores per run."""
        by_run = self.by_run
        shown = by_run.head(_MOST_RUNS)
        names = [one_line(run, _LONGEST) for run in shown["run"]]
        width = max(map(len, names), default=0)
        lines = [self._title()]
        for run, row in zip(names, shown.to_dict("records"), strict=True):
            scores = " · ".join(
                f"{name} {'n/a' if pd.isna(row[name]) else ratio_text(row[name])}"
                for name in _SCORES
            )
            counts = [plural(row["documents"], "document")]
            counts.extend(f"{row[name]} {name}" for name in ("invalid", "missing") if row[name])
            lines.append(f"{run:<{width}}  {scores} · {', '.join(counts)}")
        if len(by_run) > _MOST_RUNS:
            lines.append(f"… {len(by_run) - _MOST_RUNS} more runs; .by_run has them")
        if 0 < self.summary["evaluated"].sum() <= _MOST_FIELDS and (why := find_causes(self).text):
            lines.append(f"pass_rate {why}")
        return "\n  ".join([*lines, *_notes(by_run, self.missing)])

    def _title(self) -> str:
        nouns = ("run", "document", "output")
        counts = ", ".join(plural(self._meta[f"{noun}s"], noun) for noun in nouns)
        return f"Evaluations ({one_line(self._meta['profile'], _LONGEST)}): {counts}"
