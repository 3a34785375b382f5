"""`evaluate` and `evaluate_async`: one prediction against gold.

`Run` reads the inputs, chooses judge and alignment, and lets the engine compare; its result is an
`Evaluation`.
"""

from __future__ import annotations

import json
import time
import warnings
from collections.abc import Callable, Collection, Mapping
from dataclasses import is_dataclass
from functools import partial
from pathlib import Path
from typing import Any

from extractbench_nb.core.accepted import Accepted, Alternatives, alternatives_of
from extractbench_nb.core.evaluation_frames import NOTHING_SCORED, Note, ignored_params
from extractbench_nb.core.field_metrics.registry import REGISTRY
from extractbench_nb.core.profile_rules import Profile
from extractbench_nb.core.registered import registered
from extractbench_nb.core.result import Evaluation, Inputs
from extractbench_nb.core.rollup import decide, null_pass_rate
from extractbench_nb.core.schema.parse import SchemaSource, parse_schema
from extractbench_nb.core.schema.schema_nodes import Node, Schema
from extractbench_nb.core.scoring import Scored, Scorer
from extractbench_nb.core.text.judging import Judge
from extractbench_nb.core.text.offline_judge import choose_judge, judge_of_document
from extractbench_nb.core.traversal import ROOT, Aligner, Leaf, ModelAligner, Traversal
from extractbench_nb.core.values import (
    UNLABELED,
    file_hint,
    json_type,
    member,
    parser_problem,
    plain_levels,
    private_copy,
    read_document,
)
from extractbench_nb.errors import ConfigError, InputError
from extractbench_nb.support.files import read_text
from extractbench_nb.support.wording import plural

#: Levels of containers beyond which Python's stack may end wherever a document is looked at.
MOST_LEVELS = 250
#: Levels of containers that a predicted document keeps where it is too deep to be compared.
MAX_DEPTH = 100
_TOO_DEEP = "… nested too deep"


def evaluate(  # noqa: PLR0913 - one flat call is what users write; the options are keywords
    schema: SchemaSource,
    gold: Any,
    predicted: Any,
    *,
    judge: str | Judge = "offline",
    alignment: str | Aligner = "optimal",
    profile: str | Profile = "strict",
    metrics: Mapping[str, Any] | None = None,
    accepted: Any = None,
) -> Evaluation:
    """Compare a predicted document with gold, field by field, using the schema's metrics.

    Parameters
    ----------
    schema : dict, str, pathlib.Path, Schema, Pydantic model class or TypeAdapter
        JSON Schema with ``evaluation_config`` annotations: a dict, JSON text, a file, a parsed
        schema, or a class or adapter that can generate one; see `parse_schema`.
    gold : object
        The correct document: a value, a ``pathlib.Path`` (a file) or a ``str`` (JSON text).
        Instances of Pydantic models are converted by ``model_dump(mode="json")``, without computed
        fields and with decimals as numbers.
    predicted : object
        The model's output, in the same forms. Malformed output does not stop the evaluation; text
        that is not JSON becomes one structural row at the root.
    judge : str or Judge, optional
        The judge that decides whether two texts have the same meaning. ``"offline"`` uses rules and
        is deterministic; a LiteLLM model id such as ``"openai/gpt-4o-mini"`` uses that model (see
        `LLMJudge`).
    alignment : str, LLMAligner or callable, optional
        How predicted array items are paired with gold items. ``"optimal"`` finds the best
        one-to-one assignment; if the schema declares a ``key``, items with equal keys are paired
        first. ``"llm"`` uses a model (see `LLMAligner`). A function ``(gold items, predicted items,
        item node) -> index pairs`` is also possible, even an ``async def``; its pairs are kept, no
        matter how much the items differ.
    profile : str or Profile, optional
        The scoring rules. ``"strict"`` counts each field of array items and penalises invented
        values; use ``"paper"`` to compare numbers with the paper's. `profiles` compares the rules.
    metrics : mapping from str, optional
        Other metrics for some fields, such as ``{"lines[].amount": "number_exact"}``; see
        `parse_schema`.
    accepted : pandas.DataFrame, list of dict, str or pathlib.Path, optional
        Additional correct values: a frame or records with ``path`` (the instance path in gold),
        ``value`` and, optionally, ``document`` and ``note``, or the name of such a JSON or CSV
        file. See the Notes.

    Returns
    -------
    Evaluation
        The result, with the frames ``fields``, ``arrays``, ``matches`` and ``warnings``, and with
        ``summary``, whose scores are in [0, 1].

    Raises
    ------
    SchemaError, ConfigError
        The schema cannot be read, contains an unknown metric or an invalid param, or is not a
        schema but, for example, the gold document.
    InputError
        Gold is not JSON, or is None or a list although the schema declares an object. A prediction
        contains a dataclass, a file cannot be read, or an option is unknown. The path of an
        accepted value is neither a scalar nor an array item in gold, or its type fits neither the
        schema nor gold.

    Warns
    -----
    UserWarning
        `predicted` is not JSON text but looks like the name of a JSON file.

    See Also
    --------
    evaluate_runs : The same for many documents and runs.
    Evaluation.columns : The columns of the frames.
    profiles : The rules of each profile.

    Notes
    -----
    The semantics follow sections 3.2 to 3.4 of the ExtractBench paper. The function can be called
    in scripts and in notebook cells, in which an event loop is running.

    Accepted values replace a scalar or a whole array item. If null is accepted, a scalar may be
    absent. Among gold and its alternatives, a value that passes is preferred, then the one with the
    highest score, and gold if they tie. An array item is compared either with gold or with one
    alternative, never with a mix of both, and this is decided before the array is aligned. The
    column ``accepted_as`` in ``fields`` and ``matches`` gives the alternative that was used. To
    declare equivalent values in the schema, use
    ``evaluation_config: {"accepted": [["USA", "United States"]]}``.

    Examples
    --------
    >>> schema = {"type": "object", "properties": {"year": {"type": "integer"}}}
    >>> evaluate(schema, {"year": 2024}, {"year": 2025}).fields[["path", "outcome"]].values.tolist()
    [['$.year', 'incorrect']]
    """
    options = judge, alignment, profile
    run = Run(schema, gold, predicted, *options, metrics=metrics, accepted=accepted)
    if run.traversal.is_open:
        from extractbench_nb.support.concurrency import run_anywhere

        run_anywhere(run.traversal.settle())
    return run.finish()


async def evaluate_async(  # noqa: PLR0913 - as evaluate
    schema: SchemaSource,
    gold: Any,
    predicted: Any,
    *,
    judge: str | Judge = "offline",
    alignment: str | Aligner = "optimal",
    profile: str | Profile = "strict",
    metrics: Mapping[str, Any] | None = None,
    accepted: Any = None,
) -> Evaluation:
    """Evaluate like `evaluate`, awaiting asynchronous metrics and judges.

    Parameters
    ----------
    schema, gold, predicted : object
        See `evaluate`.
    judge, alignment, profile, metrics, accepted : object, optional
        See `evaluate`.

    Returns
    -------
    Evaluation
        The same as `evaluate` returns.
    """
    options = judge, alignment, profile
    run = Run(schema, gold, predicted, *options, metrics=metrics, accepted=accepted)
    return await run.complete()


class Run:
    """One evaluation. Creating it reads the inputs and scores all that need not be awaited.

    `complete` awaits the rest; `finish` returns the result. With `checked`, the caller has already
    checked judge and alignment.
    """

    def __init__(  # noqa: PLR0913 - the options of evaluate
        self,
        schema: Any,
        gold: Any,
        predicted: Any,
        judge: str | Judge,
        alignment: str | Aligner,
        profile: str | Profile,
        *,
        metrics: Mapping[str, Any] | None = None,
        checked: bool = False,
        accepted: Any = None,
    ) -> None:
        self.started = time.perf_counter()
        rows = Accepted() if accepted is None else Accepted.read(accepted).of_one_document()
        self.profile = Profile.named(profile)
        self.schema = parse_schema(schema, metrics=metrics)
        root = self.schema.root
        self.notes: list[Note] = []
        self.gold = private_copy(read_document(gold, "gold"), "gold")
        levels = refuse_non_json(self.gold, "gold", self.notes)
        if not isinstance(self.gold, dict):
            refuse_mistakes(root, self.gold)
        self.predicted, self.problem = read_predicted(predicted)
        chosen, predicted_levels = choose_judge(judge), 0
        if self.problem is None:
            predicted_levels = refuse_non_json(self.predicted, "predicted", self.notes)
            chosen = judge_of_document(chosen, self.gold, self.predicted)
        elif not checked and file_hint(str(self.predicted)):
            # told at the line that calls `evaluate`
            warnings.warn(f"predicted: {self.problem}", stacklevel=3)
        aligner = alignment if alignment == "optimal" else choose_alignment(alignment, chosen)
        if not checked:
            self.check_models(chosen, aligner, self.schema)
        alternatives = Alternatives()
        if rows and self.problem is None:
            alternatives = alternatives_of(rows, self.schema, self.gold)
        self.scorer = Scorer(self.profile, chosen, alternatives)
        self.traversal = Traversal(self.scorer, aligner)
        name = aligner.name if isinstance(aligner, ModelAligner) else "callable"
        self.meta: dict[str, Any] = {
            "profile": self.profile.name,
            "judge": chosen.name,
            "alignment": aligner if isinstance(aligner, str) else name,
            "seconds": 0.0,  # known when the result is built
        }
        if isinstance(schema, Path):
            self.meta["schema"] = schema.name.removesuffix(".json").removesuffix("-schema")
        if self.problem is not None:  # one failing field, the whole document
            verdict = Scored("json", 0.0, False, "structural", "unparsable_json", self.problem)
            leaf = Leaf(root, ROOT, self.gold, self.predicted, True, [verdict], root.weight)
            self.traversal.top.children.append(leaf)
            return
        too_deep = InputError(f"gold has {levels} levels of objects and arrays; that is too deep")
        if levels > MOST_LEVELS:
            raise too_deep
        if predicted_levels > (most := max(MAX_DEPTH, levels)):
            self.predicted = cut(self.predicted, most)
            self.notes.append(("predicted", "$", "too_deep", f"cut below {most} levels", None))
        try:
            self.traversal.descend(root, self.gold, self.predicted)
        except RecursionError:
            raise too_deep from None

    @staticmethod
    def check_models(judge: Judge, alignment: str | Aligner, schema: Schema) -> None:
        """Check judge and aligner that ask models, for example their keys, before any request.

        The defaults are checked first, then the params that the schema declares for their metrics.
        """
        checks: list[tuple[Callable[..., None], Collection[str]]] = []
        if (check := getattr(judge, "check", None)) is not None:
            checks.append((check, {n for n, entry in REGISTRY.entries.items() if entry.judged}))
        if isinstance(alignment, ModelAligner):
            checks.append((alignment.check, {REGISTRY.built_in_that("aligns").name}))
        for check, names in checks:
            check()
            # nodes may share a config: reversed, so that errors name the first of them
            configs = {id(n.config): (n.pointer, n.config) for n in reversed([*schema.nodes()])}
            for pointer, config in configs.values():
                for spec in config.metrics if config is not None else ():
                    if spec.metric_id in names and spec.params:
                        try:
                            check(spec.params)
                        except ConfigError as error:
                            at = pointer + "/evaluation_config"
                            raise ConfigError(at, error.problem) from None

    async def complete(self) -> Evaluation:
        """Await open verdicts and alignments, and build the result."""
        await self.traversal.settle()
        return self.finish()

    def finish(self) -> Evaluation:
        """Build the result, once no verdict is open."""
        walk, root = self.traversal, self.schema.root
        if self.problem is None:
            decide(walk, self.profile)
        if self.scorer.ignored_params:
            self.notes.append(ignored_params(self.scorer.ignored_params))
        if not walk.top.children:
            self.notes.append(NOTHING_SCORED)
        return Evaluation(
            tuple(walk.top.children),
            self.profile,
            Inputs(self.schema, self.gold, self.predicted, self.problem),
            self.meta | {"seconds": time.perf_counter() - self.started},
            tuple(self.notes),
            partial(null_pass_rate, walk, root, self.gold, self.profile),
        )


# --- options ------------------------------------------------------------------------------------


def choose_alignment(alignment: str | Aligner, judge: Judge) -> str | Aligner:
    """Return ``"optimal"``, an `LLMAligner` bound to the judge, or the user's matcher."""
    if alignment == "llm":
        alignment = registered("model_aligner")()
    if isinstance(alignment, ModelAligner) and not isinstance(alignment, type):
        return alignment.asking(judge)
    is_matcher = callable(alignment) and not isinstance(alignment, type)
    if alignment != "optimal" and not is_matcher:
        raise InputError(
            f"alignment is {alignment!r}; expected 'optimal', 'llm', an LLMAligner or a function "
            "(gold items, predicted items, item node) -> index pairs"
        )
    return alignment


# --- documents ----------------------------------------------------------------------------------


def read_predicted(source: Any) -> tuple[Any, str | None]:
    """Read a prediction; text that is not JSON is not an error here."""
    if issubclass(type(source), Path):
        try:
            source = read_text(source, "predicted")
        except InputError as error:
            if "not UTF-8" in str(error):
                return source.read_bytes().decode("utf-8", "replace"), str(error)
            raise
    if not issubclass(type(source), str):
        try:
            return private_copy(source, "predicted"), None
        except InputError as error:
            return f"<{type(source).__name__}>", str(error)
    source = str.__str__(source)
    try:
        return json.loads(source.removeprefix("\ufeff")), None
    except json.JSONDecodeError as error:
        fence = "a code fence, which xb.read_outputs removes: " if "```" in source[:_FENCE] else ""
        return source, fence + parser_problem(error, source)
    except (RecursionError, ValueError) as error:
        return source, str(error)


def refuse_non_json(document: Any, what: str = "gold", notes: list[Note] | None = None) -> int:
    """Raise `InputError` for the first value that is not JSON; return the levels of containers.

    In a prediction only dataclasses and classes raise. Other values that are not JSON are added to
    `notes`, and fail as values of a wrong type. In gold `UNLABELED` stands for a value, but not for
    an item of an array.
    """
    levels = plain_levels([document])
    if levels is not None:
        return levels
    notes = [] if notes is None else notes
    stack: list[tuple[str, Any, int]] = [("$", document, 1)]
    seen: set[int] = set()
    deepest = 0
    while stack:
        path, value, level = stack.pop()
        if isinstance(value, dict | list):
            deepest = max(deepest, level)
            if id(value) in seen:
                continue
            seen.add(id(value))
            inner = (
                ((path + member(str(key)), child) for key, child in value.items())
                if isinstance(value, dict)
                else ((f"{path}[{n}]", child) for n, child in enumerate(value))
            )
            is_gold_array = what == "gold" and isinstance(value, list)
            if is_gold_array and any(child is UNLABELED for child in value):
                problem = f"gold at {path} has UNLABELED as an item; expected it under a key"
                raise InputError(problem)
            stack.extend((at, child, level + 1) for at, child in [*inner][::-1])
        elif value is UNLABELED and what == "gold":
            message = "gold does not say this value: it is not scored"
            notes.append((what, path, "unlabelled", message, None))
        elif json_type(value) == "unknown":
            name = type(value).__name__
            if what == "gold" or is_dataclass(value) or isinstance(value, type):
                raise InputError(
                    f"{what} at {path} is a {name}; expected a JSON value (str, int, float, bool, "
                    "None, list or dict), such as model_dump(mode='json') of a Pydantic model or "
                    "dataclasses.asdict of a dataclass"
                )
            if len(notes) < _MOST_NOTES:
                notes.append((what, path, "not_json", f"a {name} is not a JSON value", repr(value)))
    return deepest


def refuse_mistakes(root: Node, gold: Any) -> None:
    """Raise `InputError` where gold is None or several documents, whose score would say nothing."""
    if gold is None and "null" not in root.types and not root.nullable and root.kind != "any":
        raise InputError(f"gold is None; expected a document ({root.label})")
    is_list = isinstance(gold, list) and bool(gold) and all(isinstance(g, dict) for g in gold)
    if is_list and root.kind == "object":
        raise InputError(
            f"gold is a list of {plural(len(gold), 'object')}, the schema describes one object; "
            "evaluate takes one document, evaluate_runs takes many"
        )


_MOST_NOTES = 20
#: Characters of a text in which a code fence may begin.
_FENCE = 200


def cut(value: Any, levels: int) -> Any:
    """Copy a document with everything below `levels` containers replaced by a short text."""
    if isinstance(value, dict):
        return {k: cut(v, levels - 1) for k, v in value.items()} if levels else _TOO_DEEP
    if isinstance(value, list):
        return [cut(v, levels - 1) for v in value] if levels else _TOO_DEEP
    return value
