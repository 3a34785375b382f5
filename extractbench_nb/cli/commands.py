"""The commands: evaluate, report, batch, compare, gate, construct, and lists of what is there."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable
from numbers import Integral
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from extractbench_nb._version import __version__
from extractbench_nb.cli.construct import construct
from extractbench_nb.cli.gate import gate
from extractbench_nb.cli.output import (
    OrderedGroup,
    accepted_option,
    json_option,
    one_line_errors,
    plain,
    print_frame,
    print_json,
    print_table,
    print_text,
    records,
    scoring_options,
    statistics_options,
)
from extractbench_nb.core import Evaluation
from extractbench_nb.core.values import canonical
from extractbench_nb.errors import InputError
from extractbench_nb.support.files import write_texts
from extractbench_nb.support.wording import cut, plural

if TYPE_CHECKING:
    import pandas as pd

    from extractbench_nb.runs import Evaluations

__all__ = ["COMMAND", "commands", "one_line_errors"]

# --- options and output -----------------------------------------------------------------------

COMMAND = "extractbench-nb"
_FILE = click.Path(path_type=Path)
_HELP = """Evaluate structured extraction: predicted JSON against gold JSON and a JSON Schema.

\b
First steps, on the sample dataset that comes with the package:
  extractbench-nb datasets sample
  extractbench-nb batch sample
To save and compare results, install the extra batch:
  extractbench-nb batch sample --save-to results
  extractbench-nb compare results
"""
_EPILOG = (
    "Exit status: 0 on success, 1 on failure (with the reason on standard error), 2 on wrong usage."
)
_Function = TypeVar("_Function", bound=Callable[..., Any])


@click.group(
    cls=OrderedGroup,
    help=_HELP,
    epilog=_EPILOG,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(__version__, "-V", "--version", prog_name=COMMAND)
def commands() -> None:
    """Hold the commands."""


def _document_files(command: _Function) -> _Function:
    for name in ("predicted", "gold", "schema"):
        command = click.argument(name, type=_FILE)(command)
    return command


_MEANS = ["pass_rate", "overall_score", "field_score"]


def _plain_values(summary: pd.Series) -> dict[str, Any]:
    return {str(name): plain(value) for name, value in summary.items()}


# --- one document -----------------------------------------------------------------------------

#: Largest number of arrays, or of wrong values, to print; and of characters of a value.
_MOST, _LONGEST = 20, 60
_FAILURE = ("path", "outcome", "gold", "predicted")


@commands.command()
@_document_files
@scoring_options
@click.option(
    "--fail-under",
    type=click.FloatRange(0, 1),
    metavar="SCORE",
    help="Exit with status 1 if the measure is below SCORE, or if no field is scored.",
)
@click.option(
    "--measure",
    type=click.Choice(_MEANS),
    default=_MEANS[0],
    show_default=True,
    help="The score that --fail-under checks.",
)
def evaluate(*, as_json: bool, fail_under: float | None, measure: str, **inputs: Any) -> None:
    """Score one document.

    Compares PREDICTED with GOLD by the metrics that SCHEMA declares, and prints scores and wrong
    values. All three are JSON files. PREDICTED may contain invalid JSON; pass - to read it from
    standard input.
    """
    ev = _evaluated(**inputs)
    if as_json:
        frames = {name: records(getattr(ev, name)) for name in ("fields", "arrays", "matches")}
        warnings = records(ev.warnings)
        print_json({"summary": _plain_values(ev.summary), **frames, "warnings": warnings})
    else:
        print_text(ev.scores_text())
        if ev.inputs.problem is not None:
            print_text(f"  not JSON: {ev.inputs.problem}")
        _print_arrays(ev)
        _print_failures(ev)
        counts = ev.warnings[["side", "kind"]].value_counts(sort=False).reset_index()
        for side, kind, count in counts.itertuples(index=False):
            print_text(f"  warning: {side}: {count} x {kind}")
    if fail_under is not None:
        if not ev.summary["evaluated"]:
            raise InputError("no field is scored, so there is no score to check")
        score = ev.summary[measure]
        if score < fail_under:
            profile = ev.meta["profile"]
            raise InputError(f"{measure} ({profile}) is {score:.4f}, below {fail_under:g}")


@commands.command()
@_document_files
@click.option(
    "-o",
    "--output",
    type=_FILE,
    default=Path("outputs"),
    show_default=True,
    help="Folder for reports; each report is written to a subfolder.",
)
@click.option("--name", help="Name of the subfolder; by default, derived from time and content.")
@scoring_options
def report(*, output: Path, name: str | None, as_json: bool, **inputs: Any) -> None:
    """Write a report on one document.

    Compares PREDICTED with GOLD by the metrics that SCHEMA declares, and writes report.html,
    report.json, summary.txt, fields.csv and fields.md. Prints the folder that contains them.
    """
    from extractbench_nb.compat import ReportBuilder, ReportConfig

    builder = ReportBuilder(ReportConfig(output_dir=output, output_name=name))
    built = builder.from_evaluation(_evaluated(**inputs))
    folder = builder.save(built)
    if as_json:
        print_json({"folder": str(folder), "summary": _plain_values(built.evaluation.summary)})
    else:
        print_text(str(folder))


def _evaluated(schema: Path, gold: Path, predicted: Path, profile: str, judge: str) -> Evaluation:
    from extractbench_nb.core import evaluate as evaluate_one

    source: Path | str = predicted
    if str(predicted) == "-":
        source = sys.stdin.buffer.read().decode("utf-8-sig", "replace")
    return evaluate_one(schema, gold, source, profile=profile, judge=judge)


def _print_arrays(ev: Evaluation) -> None:
    """Print the arrays with missed or spurious items, and those without an alignment."""
    arrays = ev.arrays
    unmatched = arrays["differing"] + arrays["missed"] + arrays["spurious"]
    differ = arrays[unmatched.isna() | (unmatched > 0)]
    for a in differ.head(_MOST).itertuples():
        counts = f"{a.matched} of {a.gold_items} matched, {a.differing} differing, "
        counts += f"{a.missed} missed, {a.spurious} spurious"
        if not isinstance(a.matched, Integral):  # without an alignment, counts are missing
            counts = f"{a.gold_items} and {a.predicted_items} items were not aligned"
        print_text(f"  {'array':<13} {a.path}: {counts}")
    if len(differ) > _MOST:
        print_text(f"  ... {len(differ) - _MOST} more arrays that differ; --json has all")


def _print_failures(ev: Evaluation) -> None:
    """Print the wrong values, including those inside array items."""
    fields = ev.fields
    wrong = fields[~fields["passed"].fillna(False).astype(bool)]
    wrong = wrong[~wrong["path"].isin(ev.arrays["path"])]
    for path, outcome, gold, predicted in wrong[list(_FAILURE)].head(_MOST).itertuples(index=False):
        sides = " -> ".join(cut(canonical(side), _LONGEST) for side in (gold, predicted))
        print_text(f"  {outcome:<13} {path}: {sides}")
    if len(wrong) > _MOST:
        print_text(f"  ... {len(wrong) - _MOST} more; --json has all")


# --- many documents ---------------------------------------------------------------------------

#: Largest number of documents without output to name per run.
_NAMED = 3
_COUNTS = ["evaluated", "passed", "omissions", "hallucinations", "structural", "judge_errors"]


@commands.command()
@click.argument("runs", metavar="RUNS")
@click.option(
    "--dataset",
    metavar="NAME",
    help="Source of schemas and gold data: sample, extractbench or a folder. Not needed if RUNS "
    "is itself a dataset with runs.",
)
@click.option("--gold", metavar="FOLDER", help="Folder with the gold data, as DOCUMENT.json.")
@click.option("--schema", type=_FILE, metavar="FILE", help="Schema for all documents.")
@click.option(
    "--save-to", type=_FILE, metavar="FOLDER", help="Save the results to this folder, as Parquet."
)
@click.option("--resume", is_flag=True, help="Continue the batch in the folder of --save-to.")
@click.option(
    "-j",
    "--jobs",
    "n_jobs",
    default=1,
    show_default=True,
    help="Maximum number of worker processes; -1 for one per core.",
)
@click.option(
    "--progress/--no-progress", default=True, help="Show a progress bar on standard error."
)
@click.option("--feedback", is_flag=True, help="List the failures of each run, costliest first.")
@click.option(
    "--failures", type=_FILE, metavar="FILE", help="Write all wrong values to this file, as JSONL."
)
@accepted_option
@scoring_options
def batch(
    runs: str,
    *,
    dataset: str | None,
    save_to: Path | None,
    resume: bool,
    progress: bool,
    as_json: bool,
    **options: Any,
) -> None:
    """Evaluate many model outputs.

    Prints one line per run. RUNS is a dataset with runs, or a folder that contains one subfolder
    per run, in which each output is named after its document (RUN/DOCUMENT.json). Outputs that are
    not JSON score 0. Without a dataset, pass --gold and --schema.
    """
    from extractbench_nb.runs import evaluate_runs, load_dataset
    from extractbench_nb.stats import feedback

    if resume and save_to is None:
        raise click.UsageError("--resume needs --save-to, the folder of the batch to continue.")
    files = [save_to / name for name in ("batch.json", "parts")] if save_to else []
    if not resume and any(file.exists() for file in files):
        raise InputError(
            f"{str(save_to)!r} holds a batch; continue it with --resume, or use another folder"
        )
    source: Any = Path(runs)
    known: Any = load_dataset(dataset) if dataset is not None else None
    if dataset is None and options["gold"] is None:
        source = known = _dataset_with_runs(runs)
    failures, wants_feedback = options.pop("failures"), options.pop("feedback")
    evs = evaluate_runs(
        source,
        dataset=known,
        progress=progress and sys.stderr.isatty(),
        save_to=None if resume else save_to,
        resume=save_to if resume else None,
        **options,
    )
    by_run, missing = evs.by_run, evs.missing
    if failures is not None:
        _write_failures(evs, failures)
    by_name = evs.fields.groupby("run") if wants_feedback else ()
    feedbacks = {str(run): feedback(fields) for run, fields in by_name}
    if as_json:
        found: dict[str, Any] = {"runs": records(by_run), "missing": records(missing)}
        if wants_feedback:
            found["feedback"] = {run: records(one.frame) for run, one in feedbacks.items()}
        print_json(found)
        return
    print_table(by_run[["run", "documents", "invalid", *_MEANS, *_COUNTS]])
    for name, lines in feedbacks.items():
        print_text(f"{name}: {lines}")
    for run, group in missing.groupby("run"):
        names = ", ".join(group["document"].head(_NAMED))
        names += ", ..." if len(group) > _NAMED else ""
        count = plural(len(group), "document")
        print_text(f"note: run {run} has no output for {count}: {names}")


def _write_failures(evs: Evaluations, path: Path) -> None:
    """Write one line of JSON per wrong value; of arrays, the items and their fields."""
    import pandas as pd

    place = ["run", "document", "path"]
    fields, arrays = evs.fields, pd.MultiIndex.from_frame(evs.arrays[place])
    wrong = ~fields["passed"].fillna(value=False).astype(bool)
    wrong &= ~pd.MultiIndex.from_frame(fields[place]).isin(arrays)
    rows = records(fields.loc[wrong, [*place, *_FAILURE[1:], "reason", "reasoning"]])
    write_texts({path: "".join(json.dumps(row) + "\n" for row in rows)})


def _dataset_with_runs(runs: str) -> Any:
    from extractbench_nb.errors import DatasetError
    from extractbench_nb.runs import NAMED_DATASETS, load_dataset

    if runs not in NAMED_DATASETS and not Path(runs).is_dir():
        raise InputError(f"{runs!r} is neither a folder of runs nor the name of a dataset")
    try:
        with_runs = load_dataset(runs)
    except DatasetError:
        if runs in NAMED_DATASETS:
            raise
        raise InputError(
            f"{runs!r} is not a dataset; give the dataset that has the schemas and gold of its "
            "documents with --dataset, or --gold and --schema"
        ) from None
    if with_runs.runs.empty:
        raise InputError(
            f"dataset {runs!r} has no runs; name a folder of runs and --dataset {runs}"
        )
    return with_runs


@commands.command()
@click.argument("folders", nargs=-1, required=True, type=_FILE, metavar="FOLDER...")
@click.option("--by", default="run", show_default=True, help="Column with the groups to compare.")
@click.option("--baseline", metavar="RUN", help="Compare all other runs with this one only.")
@click.option(
    "--measure",
    "measures",
    multiple=True,
    metavar="NAME",
    default=("pass_rate", "overall_score", "field_score"),
    show_default=True,
    help="Score to compare, from the summary; repeatable.",
)
@statistics_options
@json_option
def compare(folders: tuple[Path, ...], *, as_json: bool, **options: Any) -> None:
    """Compare runs, with confidence intervals.

    Prints means with intervals, and paired differences with p-values. FOLDER contains results
    saved by `batch --save-to`. The intervals resample documents rather than fields. If several
    folders contain runs with the same name, these are shown as FOLDER/RUN.
    """
    from extractbench_nb.stats import compare_runs

    comparison = compare_runs(_summaries(folders), **options)
    if as_json:
        names = ("scores", "differences")
        print_json({name: records(getattr(comparison, name)) for name in names})
    else:
        print_text(repr(comparison))


def _summaries(folders: Iterable[Path]) -> pd.DataFrame:
    """Concatenate the summaries of saved batches; equal run names get a prefix."""
    import pandas as pd

    from extractbench_nb.runs import load_evaluations
    from extractbench_nb.stats import refuse_two_profiles

    folders = list(dict.fromkeys(folders))
    batches = [load_evaluations(folder) for folder in folders]
    refuse_two_profiles(batches)
    frames = [found.summary for found in batches]
    summaries = pd.concat(frames, ignore_index=True)
    if summaries.duplicated(["run", "document"]).any():
        names = [folder.resolve().name for folder in folders]
        if len(set(names)) < len(names):  # folders of the same name: their paths differ
            names = [str(folder) for folder in folders]
        lengths = [len(frame) for frame in frames]
        prefixes = pd.Series(names, dtype="string").repeat(lengths).reset_index(drop=True)
        summaries["run"] = prefixes + "/" + summaries["run"]
    return summaries


commands.add_command(gate)
commands.add_command(construct)


# --- lists --------------------------------------------------------------------------------------

#: Columns of the documents' table.
_SHOWN = ("document", "domain", "schema", "pages", "gold_values", "array_items", "gold_tokens")
_COMPLETION_HELP = """Print a completion script.

\b
bash:  eval "$(extractbench-nb completion bash)"    in ~/.bashrc
zsh:   eval "$(extractbench-nb completion zsh)"     in ~/.zshrc
fish:  extractbench-nb completion fish | source     in ~/.config/fish/config.fish
"""


@commands.command()
@click.argument("schema", type=_FILE)
@json_option
def schema(schema: Path, *, as_json: bool) -> None:
    """Print a schema as a tree.

    Prints every node in the file SCHEMA with its type, metric and params.
    """
    from extractbench_nb.core.schema import parse_schema

    tree = parse_schema(schema)
    if as_json:
        print_json(records(tree.to_frame()))
    else:
        print_text(repr(tree))


@commands.command()
@click.argument("name", required=False)
@json_option
def datasets(name: str | None, *, as_json: bool) -> None:
    """List datasets, or the documents in one dataset.

    NAME is sample, extractbench or a folder. Without NAME, the known datasets are listed.
    """
    from extractbench_nb.runs import load_dataset

    if name is None:
        _print_datasets(as_json=as_json)
        return
    dataset = load_dataset(name)
    if as_json:
        documents, runs = records(dataset.documents), records(dataset.runs)
        about = {"name": dataset.name, "root": str(dataset.root)}
        print_json({**about, "documents": documents, "runs": runs})
    else:
        shown = dataset.documents[list(_SHOWN)]
        print_text(repr(dataset))
        print_table(shown)


def _print_datasets(*, as_json: bool) -> None:
    from extractbench_nb.errors import DatasetError
    from extractbench_nb.runs import NAMED_DATASETS, load_dataset

    rows: list[dict[str, Any]] = []
    for name in NAMED_DATASETS:
        row: dict[str, Any] = {"name": name, "documents": None, "where": None, "problem": None}
        try:
            dataset = load_dataset(name)
            row |= {"documents": len(dataset.listing), "where": str(dataset.root)}
            text = f"{name}: {plural(len(dataset.listing), 'document')} in {row['where']}"
        except DatasetError as error:
            row["problem"] = str(error)
            text = f"{name}: not available; {error}"
        rows.append(row)
        if not as_json:
            print_text(text)
    if as_json:
        print_json(rows)


@commands.command()
@json_option
def metrics(*, as_json: bool) -> None:
    """List the metrics that an evaluation_config can select."""
    from extractbench_nb.core import metrics as all_metrics

    shown = ("metric", "applies_to", "pass_rule", "summary")
    print_frame(all_metrics(), as_json=as_json, shown=shown)


@commands.command()
@json_option
def profiles(*, as_json: bool) -> None:
    """Show the scoring rules of all profiles, side by side."""
    from extractbench_nb.core import profiles as all_rules

    print_frame(all_rules().reset_index(), as_json=as_json)


@commands.command()
@click.argument("notebooks", type=_FILE, nargs=-1, required=True)
def static(notebooks: tuple[Path, ...]) -> None:
    """Replace live views in notebooks with static HTML.

    Changes the files NOTEBOOKS. Each live view is saved together with a static copy, and this
    command makes reopened or exported notebooks show that copy instead.
    """
    from extractbench_nb.views import keep_static

    for path in notebooks:
        changed = keep_static(path)
        print_text(f"{path}: {changed} view{'' if changed == 1 else 's'}")


@commands.command(help=_COMPLETION_HELP)
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def completion(shell: str) -> None:
    """Print the completion script for a shell."""
    from click.shell_completion import get_completion_class

    script_class = get_completion_class(shell)
    assert script_class is not None  # noqa: S101 - click knows the three
    variable = f"_{COMMAND.upper().replace('-', '_')}_COMPLETE"
    print_text(script_class(commands, {}, COMMAND, variable).source())
