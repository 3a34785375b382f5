"""`as_scorer`: an evaluation as a small callable, as other tools expect a scorer."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from math import isnan
from typing import Any

from extractbench_nb.core import Aligner, Evaluation, Profile, choose_alignment, evaluate_async
from extractbench_nb.core.schema import Schema, parse_schema
from extractbench_nb.core.text import Judge, choose_judge
from extractbench_nb.core.values import json_text
from extractbench_nb.errors import InputError, nearest
from extractbench_nb.support.model_json import readable_output
from extractbench_nb.support.wording import one_line, plural

#: Entries of ``Evaluation.summary`` that can be a scorer's value.
SCORES = ("overall_score", "field_score", "pass_rate")
_MOST_FIELDS = 8
_LONGEST = 80


@dataclass(frozen=True)
class ScoredOutput:
    """The score of one output.

    Attributes
    ----------
    value : float
        The score, in [0, 1]; 0 for an output that cannot be read.
    passed : bool
        Whether the value reaches the threshold; without a threshold, whether every field passes.
    explanation : str
        Which fields failed and which rules are broken, as short Markdown.
    metadata : dict
        Name of the score, the entries of ``summary``, profile, judge, paths of the failed fields,
        names of the rules that the output breaks. JSON values.
    evaluation : Evaluation or None
        The evaluation; None if the output is of a class that cannot be compared.
    """

    value: float
    passed: bool
    explanation: str
    metadata: dict[str, Any] = field(repr=False)
    evaluation: Evaluation | None = field(default=None, repr=False, compare=False)


class DocumentScorer:
    """A scorer of outputs against gold. Made by `as_scorer`."""

    def __init__(
        self,
        schema: Schema,
        judge: Judge,
        alignment: str | Aligner,
        profile: Profile,
        score: str,
        threshold: float | None,
    ) -> None:
        self._schema = schema
        self._options: dict[str, Any] = {
            "judge": judge,
            "alignment": alignment,
            "profile": profile,
        }
        self._score, self._threshold = score, threshold

    def __call__(self, output: Any, gold: Any) -> ScoredOutput:
        """Score an output, in a script or in a notebook cell.

        Parameters
        ----------
        output : object
            The model's output: text, from which a code fence is removed, or a JSON value. Output
            that cannot be read scores 0.
        gold : object
            The correct document: a value, a ``pathlib.Path`` (a file) or a ``str`` (JSON text).

        Returns
        -------
        ScoredOutput
            Value, verdict and explanation.

        Raises
        ------
        InputError
            Gold is not JSON.
        """
        from extractbench_nb.support.concurrency import run_anywhere

        return run_anywhere(self.score_async(output, gold))

    async def score_async(self, output: Any, gold: Any) -> ScoredOutput:
        """Score an output as ``scorer(output, gold)`` does, awaiting judges that ask models.

        Parameters
        ----------
        output, gold : object
            See ``__call__``.

        Returns
        -------
        ScoredOutput
            Value, verdict and explanation.
        """
        try:
            found = await evaluate_async(
                self._schema, gold, readable_output(output), **self._options
            )
        except InputError as error:
            problem = str(error)
        else:
            return self._scored(found)
        await evaluate_async(self._schema, gold, {}, **self._options)  # raises if gold is at fault
        metadata = {"score": self._score, "problem": problem}
        return ScoredOutput(0.0, passed=False, explanation=problem, metadata=metadata)

    def _scored(self, ev: Evaluation) -> ScoredOutput:
        summary, problem = ev.summary, ev.inputs.problem
        value = float(summary[self._score])
        passed = problem is None and summary["passed"] == summary["evaluated"]
        if self._threshold is not None:
            passed = problem is None and value >= self._threshold
        rules = ev.rules
        broken = rules[rules["outcome_predicted"].eq("broken")]
        metadata = {
            "score": self._score,
            "profile": ev.meta["profile"],
            "judge": ev.meta["judge"],
            "summary": {k: None if isnan(v) else float(v) for k, v in summary.items()},
            "failed_fields": [row["path"] for row in ev.worst(len(ev.fields))],
            "rules_broken": broken["rule"].tolist(),
        }
        if problem is not None:
            metadata["problem"] = problem
        lines = [_head(ev, self._score, value), *_failed(ev)]
        for row in broken.to_dict("records"):
            paths = ", ".join(_code(path) for path in row["paths_predicted"][:3])
            lines.append(f"- rule {_code(row['rule'])} is broken{': ' if paths else ''}{paths}")
        return ScoredOutput(value, bool(passed), "\n".join(lines), metadata, ev)


def _head(ev: Evaluation, score: str, value: float) -> str:
    summary = ev.summary
    if ev.inputs.problem is not None:
        return f"The output is not JSON: {one_line(ev.inputs.problem, 2 * _LONGEST)}"
    if not summary["evaluated"]:
        return "No field is scored: the scores say nothing."
    passes = f"{summary['passed']:.0f} of {plural(int(summary['evaluated']), 'field')} pass"
    return f"{score} {value:.3f}: {passes}"


def _failed(ev: Evaluation) -> Iterator[str]:
    """Write one line per field that did not pass, up to a number."""
    if ev.inputs.problem is not None:
        return
    for row in ev.worst(_MOST_FIELDS):
        yield f"- {field_line(row)}"
    hidden = int(ev.summary["evaluated"] - ev.summary["passed"]) - _MOST_FIELDS
    if hidden > 0:
        yield f"- {hidden} more"


def field_line(row: Mapping[str, Any]) -> str:
    """Write a row of ``fields`` as Markdown: path, outcome, both values."""
    sides = ", ".join(f"{side} {_value(row[side])}" for side in ("gold", "predicted"))
    return f"{_code(row['path'])}: {row['outcome']} ({row['reason']}); {sides}"


def _value(value: Any) -> str:
    if isinstance(value, list):
        return plural(len(value), "item")
    return "absent" if value is None else _code(json_text(value))


def _code(text: str) -> str:
    """Write a text of a document as code on one line; nothing in it ends the code."""
    return "`" + one_line(text, _LONGEST).replace("`", "'") + "`"


def as_scorer(
    schema: Any,
    *,
    judge: str | Judge = "offline",
    alignment: str | Aligner = "optimal",
    profile: str | Profile = "paper",
    score: str = "overall_score",
    threshold: float | None = None,
) -> DocumentScorer:
    """Make a scorer for other tools, a callable ``(output, gold)``.

    Output that cannot be read scores 0; no output raises an exception.

    Parameters
    ----------
    schema : dict, str, pathlib.Path or Schema
        See `evaluate`.
    judge, alignment, profile : object, optional
        See `evaluate`.
    score : str, optional
        ``"overall_score"``, ``"field_score"`` or ``"pass_rate"``: the entry of
        ``Evaluation.summary`` that is the value.
    threshold : float, optional
        The lowest value that passes, in [0, 1]; by default an output passes if every field does.

    Returns
    -------
    DocumentScorer
        ``scorer(output, gold)`` returns a `ScoredOutput` with ``value``, ``passed``,
        ``explanation``, ``metadata`` and ``evaluation``; ``await scorer.score_async(output, gold)``
        is for code that runs in an event loop.

    Raises
    ------
    SchemaError, ConfigError
        The schema cannot be read.
    InputError
        An option is unknown.

    Examples
    --------
    >>> schema = {"type": "object", "properties": {"year": {"type": "integer"}}}
    >>> found = as_scorer(schema)('{"year": 2025}', {"year": 2024})
    >>> found.value, found.passed
    (0.0, False)
    >>> print(found.explanation)
    overall_score 0.000: 0 of 1 field pass
    - `$.year`: incorrect (value_mismatch); gold `2024`, predicted `2025`
    """
    if score not in SCORES:
        raise InputError(f"score is {score!r}; {nearest(score, SCORES)}")
    is_number = isinstance(threshold, int | float) and not isinstance(threshold, bool)
    if threshold is not None and not (is_number and 0 <= threshold <= 1):
        raise InputError(f"threshold is {threshold!r}; expected a number from 0 to 1")
    rules = Profile.named(profile)
    chosen = choose_judge(judge)
    aligner = choose_alignment(alignment, chosen)
    parsed = parse_schema(schema)
    return DocumentScorer(parsed, chosen, aligner, rules, score, threshold)
