"""Commands for many documents: ``batch`` and ``compare``."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from extractbench_nb.cli.group import FILE, commands, json_option, scoring_options
from extractbench_nb.cli.output import (
    counts_and_scores,
    print_json,
    print_table,
    print_text,
    records,
)
from extractbench_nb.errors import InputError

if TYPE_CHECKING:
    import pandas as pd

    from extractbench_nb.batch import Evaluations

#: Documents without output that are named; the others are counted.
_NAMED = 3
_MEANS = ["overall_score", "field_score", "pass_rate"]
_COUNTS = ["evaluated", "passed", "omissions", "hallucinations", "structural", "judge_errors"]


@commands.command()
@click.argument("runs", metavar="RUNS")
@click.option(
    "--dataset",
    metavar="NAME",
    help="Where schemas and gold are: sample, extractbench or a folder. Not needed where RUNS is "
    "itself a dataset with runs.",
)
@click.option("--save-to", type=FILE, metavar="FOLDER", help="Write results there, as Parquet.")
@click.option("--resume", is_flag=True, help="Go on with what is in --save-to already.")
@click.option(
    "-j", "--jobs", default=1, show_default=True, help="Worker processes; -1: one a core."
)
@click.option("--progress/--no-progress", default=True, help="Show a bar on standard error.")
@scoring_options
def batch(runs: str, dataset: str | None, save_to: Path | None, **options: Any) -> None:
    """Evaluate many model outputs.

    Prints one line a run. RUNS is a folder that holds a folder for every run, with outputs named
    after their documents (RUN/DOCUMENT.json), or a dataset that has runs. Output that is not JSON
    counts as zero.
    """
    from extractbench_nb.batch import evaluate_runs

    if options["resume"] and save_to is None:
        raise click.UsageError("--resume needs --save-to, the folder to go on with.")
    if save_to is not None and not options["resume"] and _holds_a_batch(save_to):
        raise InputError(
            f"{str(save_to)!r} holds a batch; go on with it by --resume, or name another folder"
        )
    source, gold = _runs_and_dataset(runs, dataset)
    evs = evaluate_runs(
        source,
        dataset=gold,
        judge=options["judge"],
        profile=options["profile"],
        n_jobs=options["jobs"],
        progress=options["progress"] and sys.stderr.isatty(),
        save_to=None if options["resume"] else save_to,
        resume=save_to if options["resume"] else None,
    )
    _show_runs(evs, as_json=options["as_json"])


def _runs_and_dataset(runs: str, dataset: str | None) -> tuple[Any, Any]:
    from extractbench_nb.benchmark.dataset import NAMED_DATASETS, load_dataset
    from extractbench_nb.errors import DatasetError

    if dataset is not None:
        return Path(runs), load_dataset(dataset)
    if runs not in NAMED_DATASETS and not Path(runs).is_dir():
        raise InputError(f"no folder {runs!r} with runs, and no dataset of that name")
    try:
        found = load_dataset(runs)
    except DatasetError:
        if runs in NAMED_DATASETS:
            raise
        raise InputError(
            f"{runs!r} is not a dataset; where are schemas and gold of its documents? "
            "Name them with --dataset"
        ) from None
    if found.runs.empty:
        raise InputError(
            f"dataset {runs!r} has no runs; name a folder of runs and --dataset {runs}"
        )
    return found, found


def _holds_a_batch(folder: Path) -> bool:
    return (folder / "batch.json").exists() or (folder / "finished.sqlite").exists()


def _show_runs(evs: Evaluations, *, as_json: bool) -> None:
    table = evs.by_run
    missing = evs.missing
    if as_json:
        runs = [counts_and_scores(row) for row in records(table)]
        print_json({"runs": runs, "missing": records(missing)})
        return
    shown = table[["run", "documents", "invalid", *_MEANS, *_COUNTS]]
    print_table(shown.astype(dict.fromkeys(_COUNTS, "int64")))
    for run, group in missing.groupby("run"):
        names = ", ".join(group["document"].head(_NAMED))
        names += ", ..." if len(group) > _NAMED else ""
        print_text(f"note: run {run} has no output for {len(group)} documents: {names}")


@commands.command()
@click.argument("folders", nargs=-1, required=True, type=FILE, metavar="FOLDER...")
@click.option("--by", default="run", show_default=True, help="Column that names what is compared.")
@click.option("--baseline", metavar="RUN", help="Compare all others with this one only.")
@click.option(
    "--measure",
    "measures",
    multiple=True,
    metavar="NAME",
    default=("pass_rate", "overall_score", "field_score"),
    show_default=True,
    help="A score of the summary; repeatable.",
)
@click.option(
    "--confidence",
    default=0.95,
    show_default=True,
    type=click.FloatRange(0, 1, min_open=True, max_open=True),
    help="Of the intervals.",
)
@click.option("--seed", default=0, show_default=True, help="Of the resampling.")
@json_option
def compare(folders: tuple[Path, ...], measures: tuple[str, ...], **options: Any) -> None:
    """Tell runs from noise.

    Prints means with intervals, and paired differences with p-values. FOLDER is what
    `batch --save-to` wrote. Documents are resampled, not fields. Where runs of several folders have
    the same names, they are told apart as FOLDER/RUN.
    """
    from extractbench_nb.stats import compare_runs

    found = compare_runs(
        _summaries(folders),
        by=options["by"],
        baseline=options["baseline"],
        confidence=options["confidence"],
        seed=options["seed"],
        measures=measures,
    )
    if options["as_json"]:
        names = ("scores", "differences", "domains", "domain_differences")
        print_json({name: records(getattr(found, name)) for name in names})
    else:
        print_text(repr(found))


def _summaries(folders: Iterable[Path]) -> pd.DataFrame:
    import pandas as pd

    from extractbench_nb.batch import load_evaluations

    frames = [(folder, load_evaluations(folder).summary) for folder in dict.fromkeys(folders)]
    everything = pd.concat([frame for _, frame in frames], ignore_index=True)
    if not everything.duplicated(["run", "document"]).any():
        return everything
    names = _short_names([folder for folder, _ in frames])
    return pd.concat(
        [
            frame.assign(run=f"{name}/" + frame["run"])
            for name, (_, frame) in zip(names, frames, strict=True)
        ],
        ignore_index=True,
    )


def _short_names(folders: list[Path]) -> list[str]:
    """Name folders by their last part, or in full where two end alike."""
    ends = [folder.resolve().name for folder in folders]
    return ends if len(set(ends)) == len(ends) else [str(folder) for folder in folders]
