"""The head of the view: scores, counts, what to know to trust them, and warnings."""

from __future__ import annotations

from typing import Any, NamedTuple

import pandas as pd

from extractbench_nb.evaluation import Evaluation
from extractbench_nb.evaluation.card import outcome_counts
from extractbench_nb.widgets.evaluation.words import line, short_path, words
from extractbench_nb.widgets.static import MARKS

__all__ = ["Head", "Warnings", "head"]

_SCORES = ("overall_score", "field_score", "pass_rate")
_MOST_GROUPS = 30
_MOST_EXAMPLES = 5
_BEGINNING = 400


class Warnings(NamedTuple):
    """Warnings of one side and kind: how many, and the first of them as (path, message)."""

    side: str
    kind: str
    number: int
    examples: tuple[tuple[str, str], ...]


class Head(NamedTuple):
    """What stands above the fields.

    ``scores`` are in [0, 1], None where nothing is scored; ``counts`` are of counted rows.
    ``problem`` is the parser's message and the beginning of a text that is no JSON.
    """

    title: str
    scores: tuple[tuple[str, float | None], ...]
    passes: str
    counts: tuple[tuple[str, int], ...]
    notes: tuple[str, ...]
    problem: tuple[str, str] | None
    warnings: tuple[Warnings, ...]
    warned: int


def head(ev: Evaluation) -> Head:
    """Sum up an evaluation.

    Parameters
    ----------
    ev : Evaluation
        The evaluation.

    Returns
    -------
    Head
        Scores, counts, and what the reader must know to trust them.
    """
    summary, meta, counted = ev.summary, ev.meta, outcome_counts(ev)
    evaluated = int(summary["evaluated"])
    problem = ev.inputs.problem
    title = f"Evaluation · profile {meta['profile']} · judge {meta['judge']}"
    return Head(
        title=line(title),
        scores=tuple(
            (name.replace("_", " "), float(summary[name]) if evaluated else None)
            for name in _SCORES
        ),
        passes=f"{summary['passed']:,.0f} of {evaluated:,} fields pass",
        counts=tuple((name, counted[name]) for name in MARKS if name in counted),
        notes=tuple(_notes(summary)),
        problem=None if problem is None else (line(problem), _beginning(ev.inputs.predicted)),
        warnings=_warnings(ev.warnings),
        warned=len(ev.warnings),
    )


def _notes(summary: pd.Series) -> list[str]:
    notes = []
    if not summary["evaluated"]:
        notes.append("No field is scored: there is nothing to tell right from wrong.")
    if summary["judge_errors"]:
        errors, judged = int(summary["judge_errors"]), int(summary["judged"])
        verdict = f"; {summary['pass_rate_judged']:.1%} of the judged fields pass" if judged else ""
        notes.append(
            f"{errors:,} field{' has' if errors == 1 else 's have'} no verdict, because a judge or "
            f"metric failed: the pass rate is a lower bound{verdict}."
        )
    if summary["gold_coverage"] < 1:
        notes.append(f"The schema declares only {summary['gold_coverage']:.1%} of gold's values.")
    return notes


def _warnings(found: pd.DataFrame) -> tuple[Warnings, ...]:
    groups: list[Any] = list(found.groupby(["side", "kind"], sort=False))[:_MOST_GROUPS]
    return tuple(
        Warnings(
            str(side),
            line(kind),
            len(group),
            tuple(
                (short_path(path), line(message))
                for path, message in group[["path", "message"]].head(_MOST_EXAMPLES).to_numpy()
            ),
        )
        for (side, kind), group in groups
    )


def _beginning(text: object) -> str:
    return words(text, _BEGINNING) if isinstance(text, str) else ""
