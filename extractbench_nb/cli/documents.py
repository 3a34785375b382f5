"""Commands for one document: ``evaluate`` and ``report``."""

from __future__ import annotations

import sys
from numbers import Integral
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from extractbench_nb._json import canonical
from extractbench_nb.cli.group import FILE, commands, document_files, scoring_options
from extractbench_nb.cli.output import counts_and_scores, print_json, print_text, records
from extractbench_nb.errors import InputError
from extractbench_nb.evaluation.card import scores_text

if TYPE_CHECKING:
    from extractbench_nb.evaluation import Evaluation

#: Arrays and wrong values that are printed, and characters of each side.
_MOST, _LONGEST = 20, 60
_FAILURE = ("path", "outcome", "gold", "predicted")


@commands.command()
@document_files
@scoring_options
@click.option(
    "--fail-under",
    type=click.FloatRange(0, 1),
    metavar="SCORE",
    help="Exit with 1 where overall_score is below SCORE (0 to 1).",
)
def evaluate(*, as_json: bool, fail_under: float | None, **inputs: Any) -> None:
    """Score one document.

    Compares PREDICTED with GOLD as SCHEMA says, and prints what is wrong. The three are JSON files;
    PREDICTED may be - for standard input, and may be broken JSON.
    """
    ev = _evaluated(**inputs)
    if as_json:
        frames = {name: records(getattr(ev, name)) for name in ("fields", "arrays", "matches")}
        warnings = records(ev.warnings)
        print_json({"summary": counts_and_scores(ev.summary), **frames, "warnings": warnings})
    else:
        print_text(scores_text(ev))
        if ev.inputs.problem is not None:
            print_text(f"  not JSON: {ev.inputs.problem}")
        _print_arrays(ev)
        _print_failures(ev)
        _print_warnings(ev)
    if fail_under is not None:
        _check(ev, fail_under)


@commands.command()
@document_files
@click.option(
    "-o",
    "--output",
    type=FILE,
    default=Path("outputs"),
    show_default=True,
    help="Folder for reports; each gets a folder of its own in it.",
)
@click.option("--name", help="Name of the report's folder; from time and content by default.")
@scoring_options
def report(*, output: Path, name: str | None, as_json: bool, **inputs: Any) -> None:
    """Write a report on one document.

    Compares PREDICTED with GOLD as SCHEMA says, and writes report.html, report.json, summary.txt,
    fields.csv and fields.md. Prints the folder that holds them.
    """
    from extractbench_nb.report import ReportBuilder, ReportConfig

    builder = ReportBuilder(ReportConfig(output_dir=output, output_name=name))
    built = builder.from_evaluation(_evaluated(**inputs))
    folder = builder.save(built)
    if as_json:
        print_json({"folder": str(folder), "summary": counts_and_scores(built.evaluation.summary)})
    else:
        print_text(str(folder))


def _evaluated(schema: Path, gold: Path, predicted: Path, profile: str, judge: str) -> Evaluation:
    from extractbench_nb.evaluation import evaluate as evaluate_one

    source = _standard_input() if str(predicted) == "-" else predicted
    return evaluate_one(schema, gold, source, profile=profile, judge=judge)


def _standard_input() -> str:
    return sys.stdin.buffer.read().decode("utf-8-sig", "replace")


def _check(ev: Evaluation, least: float) -> None:
    score = float(ev.summary["overall_score"])
    if not ev.summary["evaluated"]:
        raise InputError("no field is scored, so there is no score to check")
    if score < least:
        raise InputError(f"overall_score is {score:.4f}, below {least:g}")


def _print_arrays(ev: Evaluation) -> None:
    arrays = ev.arrays
    off = (arrays["missed"] + arrays["spurious"] > 0).fillna(True)
    differ = arrays[off.astype(bool)]
    for a in differ.head(_MOST).itertuples():
        counts = f"{a.matched} of {a.gold_items} matched, {a.missed} missed, {a.spurious} spurious"
        if not isinstance(a.matched, Integral):
            counts = f"{a.gold_items} and {a.predicted_items} items were not aligned"
        print_text(f"  {'array':<13} {a.path}: {counts}")
    if len(differ) > _MOST:
        print_text(f"  ... {len(differ) - _MOST} more arrays that differ; --json has all")


def _print_failures(ev: Evaluation) -> None:
    """Print the values that are wrong, those inside of array items included."""
    fields = ev.fields
    wrong = fields[~fields["passed"].fillna(False).astype(bool)]
    wrong = wrong[~wrong["path"].isin(ev.arrays["path"])]
    for path, outcome, gold, predicted in wrong[list(_FAILURE)].head(_MOST).itertuples(index=False):
        print_text(f"  {outcome:<13} {path}: {_short(gold)} -> {_short(predicted)}")
    if len(wrong) > _MOST:
        print_text(f"  ... {len(wrong) - _MOST} more; --json has all")


def _short(value: Any) -> str:
    text = canonical(value)
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"


def _print_warnings(ev: Evaluation) -> None:
    counts = ev.warnings[["side", "kind"]].value_counts(sort=False).reset_index()
    for side, kind, count in counts.itertuples(index=False):
        print_text(f"  warning: {side}: {count} x {kind}")
