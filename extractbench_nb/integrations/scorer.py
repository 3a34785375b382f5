"""`as_scorer`, an evaluation as a small callable, and adapters for other tools.

An adapter imports its tool when it is called.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from inspect import signature
from math import isnan
from pathlib import Path
from typing import Any

from extractbench_nb.core import Aligner, Evaluation, Profile, choose_alignment, evaluate_async
from extractbench_nb.core.schema import Schema, parse_schema
from extractbench_nb.core.text import Judge, choose_judge
from extractbench_nb.errors import InputError, nearest, needs
from extractbench_nb.stats import feedback, values_text
from extractbench_nb.support.model_json import readable_output
from extractbench_nb.support.wording import code_text, one_line, plural

#: Entries of ``Evaluation.summary`` that can be a scorer's value.
SCORES = ("pass_rate", "overall_score", "field_score")
_MOST_LINES = 8
_LONGEST = 160
_MOST_COMPONENTS = 50


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
        The `feedback` on the output and the rules that it breaks, as short Markdown.
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
    """A scorer that compares outputs with gold. Made by `as_scorer`."""

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
        """Score an output like ``scorer(output, gold)``, awaiting judges that call models.

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
            "summary": {k: None if isnan(v) else v for k, v in summary.items()},
            "failed_fields": [row["path"] for row in ev.worst(len(ev.fields))],
            "rules_broken": broken["rule"].tolist(),
        }
        if problem is not None:
            metadata["problem"] = problem
        lines = [_head(ev, self._score, value)]
        if problem is None:
            lines += str(feedback(ev, most=_MOST_LINES)).splitlines()[1:]
        for row in broken.to_dict("records"):
            paths = ", ".join(code_text(path) for path in row["paths_predicted"][:3])
            lines.append(f"- rule {code_text(row['rule'])} is broken{': ' if paths else ''}{paths}")
        return ScoredOutput(value, bool(passed), "\n".join(lines), metadata, ev)


def _head(ev: Evaluation, score: str, value: float) -> str:
    summary = ev.summary
    if ev.inputs.problem is not None:
        return f"The output is not JSON: {one_line(ev.inputs.problem, _LONGEST)}"
    if not summary["evaluated"]:
        return "No field is scored: the scores say nothing."
    passes = f"{summary['passed']:.0f} of {plural(int(summary['evaluated']), 'field')} pass"
    return f"{score} {value:.3f}: {passes}"


def _field_line(row: Mapping[str, Any]) -> str:
    """Write a row of ``fields`` as Markdown: path, outcome, both values."""
    return f"{code_text(row['path'])}: {row['outcome']} ({row['reason']}); {values_text(row)}"


def as_scorer(
    schema: Any,
    *,
    judge: str | Judge = "offline",
    alignment: str | Aligner = "optimal",
    profile: str | Profile = "strict",
    score: str = "pass_rate",
    threshold: float | None = None,
) -> DocumentScorer:
    """Create a scorer for other tools, which is a callable ``(output, gold)``.

    Outputs that cannot be read score 0; no output raises an exception.

    Parameters
    ----------
    schema : dict, str, pathlib.Path or Schema
        See `evaluate`.
    judge, alignment, profile : object, optional
        See `evaluate`.
    score : str, optional
        ``"pass_rate"``, ``"overall_score"`` or ``"field_score"``: the entry of
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
    pass_rate 0.000: 0 of 1 field pass
    - 1 x `year` a few letters or a digit off (cost 1.000): copy it as printed, character by \
character; e.g. `$.year` gold `2024`, predicted `2025`
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


def inspect_scorer(schema: Any, **options: Any) -> Any:
    """Score the completion of a sample against its target, the JSON text of gold.

    Parameters
    ----------
    schema : dict, str, pathlib.Path or Schema
        See `as_scorer`.
    **options : object
        Options of `as_scorer`: judge, alignment, profile, score, threshold.

    Returns
    -------
    inspect_ai.scorer.Scorer
        With the metrics mean and stderr. A score has the value in [0, 1], the explanation, and
        metadata with ``passed``. A target that is not JSON is an error of its sample.

    Raises
    ------
    InputError
        An option is unknown.
    UnavailableError
        Inspect AI is not installed.
    SchemaError, ConfigError
        The schema cannot be read.
    """
    inspect_ai = needs("inspect_ai.scorer", "inspect")
    score = as_scorer(schema, **options)

    async def score_sample(state: Any, target: Any) -> Any:
        output = state.output.completion
        found = await score.score_async(output, target.text)
        return inspect_ai.Score(
            value=found.value,
            answer=output,
            explanation=found.explanation,
            metadata={"passed": found.passed, **found.metadata},
        )

    metrics = [inspect_ai.mean(), inspect_ai.stderr()]
    return inspect_ai.scorer(metrics=metrics, name="extraction_scorer")(lambda: score_sample)()


def mlflow_scorer(
    schema: Any, *, name: str = "extraction", key: str = "expected_response", **options: Any
) -> Any:
    """Score outputs against ``expectations[key]``.

    Parameters
    ----------
    schema : dict, str, pathlib.Path or Schema
        See `as_scorer`.
    name : str, optional
        Name of the feedback.
    key : str, optional
        The expectation that contains gold: a JSON value or JSON text.
    **options : object
        Options of `as_scorer`: judge, alignment, profile, score, threshold.

    Returns
    -------
    mlflow.genai.scorers.Scorer
        It gives two of ``mlflow.entities.Feedback`` per row, both with the explanation as
        rationale: ``name``, the value in [0, 1], and ``name_passed``, a bool. Without gold, the
        feedback of a row is an error.

    Raises
    ------
    InputError
        An option is unknown.
    UnavailableError
        MLflow is not installed.
    """
    scorers = needs("mlflow.genai.scorers", "mlflow")
    feedback = needs("mlflow.entities", "mlflow").Feedback
    score = as_scorer(schema, **options)

    def score_row(*, outputs: Any, expectations: dict[str, Any] | None = None) -> Any:
        if key not in (expectations or {}):
            raise InputError(f"expectations has no {key!r}; expected the gold document there")
        found = score(outputs, (expectations or {})[key])
        texts = {k: v if isinstance(v, str) else json.dumps(v) for k, v in found.metadata.items()}
        values = {name: found.value, f"{name}_passed": found.passed}
        about = {"rationale": found.explanation, "metadata": texts}
        return [feedback(name=k, value=v, **about) for k, v in values.items()]

    return scorers.scorer(score_row, name=name)


def get_assert(output: Any, context: Mapping[str, Any]) -> dict[str, Any]:
    """Score an output against gold, as a Python assertion for promptfoo.

    Parameters
    ----------
    output : str or object
        The provider's output.
    context : mapping
        ``config`` of the assertion has ``schema`` (a file, or the schema itself), optionally
        ``gold`` (name of the variable with gold, ``"gold"`` by default), and options of
        `as_scorer`. ``vars`` has the variables of the test.

    Returns
    -------
    dict
        A GradingResult: pass, score, reason, namedScores, and componentResults, one per field that
        failed (50 at most).

    Raises
    ------
    InputError
        The config has no schema or an unknown key, or the test has no gold. promptfoo
        reports it as an error.
    """
    options, variables = dict(context.get("config") or {}), context.get("vars") or {}
    schema, name = options.pop("schema", None), options.pop("gold", "gold")
    if schema is None or name not in variables:
        problem = "config has no 'schema'" if schema is None else f"vars has no {name!r}"
        raise InputError(f"{problem}; expected the schema in config and gold in vars")
    known = signature(as_scorer).parameters
    if unknown := next((key for key in options if key not in known), None):
        hint = nearest(unknown, ["gold", *known])
        raise InputError(f"config has an unknown key {unknown!r}; {hint}")
    is_file = isinstance(schema, str) and not schema.lstrip().startswith("{")
    source = Path(schema.removeprefix("file://")) if is_file else schema
    found = as_scorer(source, **options)(output, variables[name])
    failed = found.evaluation.worst(_MOST_COMPONENTS) if found.evaluation is not None else []
    parts = [{"pass": False, "score": r["score"] or 0.0, "reason": _field_line(r)} for r in failed]
    summary = found.metadata.get("summary", {})
    return {
        "pass": found.passed,
        "score": found.value,
        "reason": found.explanation,
        "namedScores": {name: summary[name] for name in SCORES if name in summary},
        "componentResults": parts,
    }
