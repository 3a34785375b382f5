"""The command `gate`: whether a candidate is worse than a baseline, as exit status and summary."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from extractbench_nb.cli.output import (
    FAILED,
    accepted_option,
    fail,
    plain,
    print_json,
    print_text,
    records,
    scoring_options,
    statistics_options,
)
from extractbench_nb.core import PROFILES
from extractbench_nb.errors import ExtractBenchError, InputError, UnavailableError
from extractbench_nb.stats import MEASURES

if TYPE_CHECKING:
    from extractbench_nb.stats import Regressions

_FILE = click.Path(path_type=Path)
#: Exit statuses of `gate`, those of diff: the candidate fails; the two cannot be compared.
_REGRESSED, _NOT_COMPARED = 1, 2
#: Regressions that the text lists.
_MOST = 10
#: An argument of `regressions` in an error message, and the character after it.
_ARGUMENT = re.compile(r"\b(run|baseline_run)=(.?)")


@click.command()
@click.argument("baseline", type=_FILE)
@click.argument("candidate", type=_FILE)
@click.option(
    "--max-drop",
    default=0.02,
    show_default=True,
    type=click.FloatRange(0, 1),
    help="Largest acceptable drop in the mean score, from 0 to 1.",
)
@click.option(
    "--measure",
    default=MEASURES[0],
    show_default=True,
    type=click.Choice(MEASURES),
    help="Score that determines the verdict.",
)
@click.option(
    "--strict", is_flag=True, help="Exit with status 1 also if the verdict is inconclusive."
)
@click.option("--run", metavar="NAME", help="Run in CANDIDATE, if there are several.")
@click.option("--baseline-run", metavar="NAME", help="Run in BASELINE, if there are several.")
@click.option(
    "--dataset",
    metavar="NAME",
    help="Source of schemas and gold data, if the folders contain outputs: sample, extractbench "
    "or a folder.",
)
@click.option(
    "--summary", type=_FILE, metavar="FILE", help="Write a Markdown summary to this file."
)
@click.option(
    "--github", is_flag=True, help="Append the summary to the file named by GITHUB_STEP_SUMMARY."
)
@statistics_options
@accepted_option
@scoring_options
def gate(
    baseline: Path,
    candidate: Path,
    *,
    strict: bool,
    as_json: bool,
    **options: Any,
) -> None:
    """Fail if a candidate is worse than a baseline.

    BASELINE and CANDIDATE are folders with results saved by `batch --save-to`. With --dataset,
    they can also be folders of outputs (RUN/DOCUMENT.json). Unless --profile is given, these are
    evaluated with the profile of the other side's results.

    \b
    Verdict and exit status:
      pass          0  the interval excludes a drop of more than --max-drop
      fail          1  the score dropped significantly and by more than that, or outputs are missing
      inconclusive  0  neither, often for lack of documents (1 with --strict)
      error         2  the two sides cannot be compared
    """  # noqa: D301 - click reads the backspace
    source = click.get_current_context().get_parameter_source
    if source("profile") != ParameterSource.COMMANDLINE:
        options["profile"] = None
    if options["dataset"] is None:
        for name in ("profile", "judge", "accepted"):
            if source(name) == ParameterSource.COMMANDLINE:
                raise click.UsageError(f"--{name} needs --dataset; saved results have theirs.")
    try:
        found = _compared(baseline, candidate, options)
    except (ExtractBenchError, OSError) as error:
        problem = _ARGUMENT.sub(_as_option, str(error))
        fail(problem, FAILED if isinstance(error, UnavailableError) else _NOT_COMPARED)
    if as_json:
        about = {"verdict": found.verdict, "reason": found.reason, "notes": list(found.notes)}
        scores = {str(name): plain(value) for name, value in found.summary.items()}
        frames = {name: records(getattr(found, name)) for name in ("by_document", "fields")}
        print_json({**about, "summary": scores, **frames})
    else:
        print_text(repr(found))
        if (found.fields["verdict"] == "regressed").sum() > _MOST:
            print_text("  --json has all rows, --summary FILE the first 25 as Markdown")
    if found.verdict == "fail" or (strict and found.verdict == "inconclusive"):
        sys.exit(_REGRESSED)


def _as_option(argument: re.Match[str]) -> str:
    """Write an argument of a function as an option: ``run='a'`` becomes ``--run 'a'``."""
    name, after = argument.groups()
    return f"--{name.replace('_', '-')}{after if after in ('', ':') else f' {after}'}"


def _compared(baseline: Path, candidate: Path, options: dict[str, Any]) -> Regressions:
    from extractbench_nb.runs import evaluate_runs, load_dataset, load_evaluations
    from extractbench_nb.stats import regressions
    from extractbench_nb.support.files import write_texts

    names = ("dataset", "summary", "github", "profile", "judge", "accepted")
    dataset, summary, github, *scoring = (options.pop(name) for name in names)
    step = os.environ.get("GITHUB_STEP_SUMMARY")
    if github and not step:
        raise InputError("--github: the variable GITHUB_STEP_SUMMARY is not set")
    sources: list[Any] = [baseline, candidate]
    gold = None if dataset is None else load_dataset(dataset)
    how = dict(zip(names[3:], scoring, strict=True))
    if how["profile"] is None:
        saved = next((folder for folder in sources if (folder / "batch.json").exists()), None)
        name = None if saved is None else load_evaluations(saved).meta["profile"]
        how["profile"] = name if name in PROFILES else "strict"
    for side, folder in enumerate(sources):
        if not folder.is_dir() or (folder / "batch.json").exists():
            continue
        if gold is None:
            raise InputError(
                f"no batch.json in {str(folder)!r}, so it holds no saved results; if it holds "
                "outputs, name their dataset with --dataset"
            )
        sources[side] = evaluate_runs(folder, dataset=gold, progress=False, **how)
    found = regressions(*sources, **options)
    if summary is not None:
        write_texts({summary: found.to_markdown()})
    if step and github:
        with Path(step).open("a", encoding="utf-8") as file:
            file.write(found.to_markdown() + "\n")
    return found
