"""`evaluate` and `evaluate_async`: one prediction against gold."""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from extractbench_nb._concurrency import run_anywhere
from extractbench_nb._json import private_copy, read_document
from extractbench_nb.engine.inputs import (
    MAX_DEPTH,
    Aligner,
    check_models,
    choose_aligner,
    choose_alignment,
    cut,
    depth,
    read_predicted,
    read_schema,
    refuse_non_json,
)
from extractbench_nb.engine.llm_alignment import LLMAligner
from extractbench_nb.engine.profiles import Profile, get_profile
from extractbench_nb.engine.records import Leaf
from extractbench_nb.engine.scoring import Scored, Scorer
from extractbench_nb.engine.traversal import ROOT, Traversal
from extractbench_nb.errors import InputError
from extractbench_nb.evaluation.result import Evaluation, Inputs
from extractbench_nb.evaluation.warnings import NOTHING_SCORED, Note, ignored_params
from extractbench_nb.judges.base import Judge
from extractbench_nb.judges.choosing import choose_judge, judge_of_document
from extractbench_nb.schema.nodes import Schema

#: Levels of containers beyond which Python's stack may end wherever a document is looked at.
MOST_LEVELS = 250


def evaluate(
    schema: Mapping[str, Any] | str | Path | Schema,
    gold: Any,
    predicted: Any,
    *,
    judge: str | Judge = "offline",
    alignment: str | Aligner = "optimal",
    profile: str | Profile = "paper",
) -> Evaluation:
    """Compare a predicted document with gold, field by field, as the schema says.

    Parameters
    ----------
    schema : dict, str, pathlib.Path or Schema
        JSON Schema with ``evaluation_config`` annotations: a dict, JSON text, a file, or parsed.
    gold : object
        The correct document: a value, a ``pathlib.Path`` (a file) or a ``str`` (JSON text).
    predicted : object
        The model's answer, in the same forms. No answer stops the evaluation; text that does not
        parse is one structural row at the root.
    judge : str or Judge, optional
        Decides whether two texts mean the same. ``"offline"`` is deterministic; a LiteLLM model id
        such as ``"openai/gpt-4o-mini"`` asks that model, see `LLMJudge`.
    alignment : str, LLMAligner or callable, optional
        How predicted items are paired with gold items. ``"optimal"`` compares all; ``"llm"`` asks a
        model, see `LLMAligner`. A function ``(gold items, predicted items, item node) -> index
        pairs``, which may be an ``async def``, is a matcher of your own.
    profile : str or Profile, optional
        The rules: ``"paper"``, ``"strict"``, ``"extract-bench-0.1.0"`` or
        ``"extract-bench-readme"``; `profiles` shows them side by side.

    Returns
    -------
    Evaluation
        With ``.fields``, ``.arrays``, ``.matches``, ``.summary`` and ``.warnings``.

    Raises
    ------
    SchemaError, ConfigError
        The schema cannot be read.
    InputError
        Gold is not JSON, a prediction holds a Pydantic model or a dataclass, a file cannot be read,
        or an option is unknown.

    Notes
    -----
    The semantics follow sections 3.2 to 3.4 of the ExtractBench paper. It works the same in a
    script and in a notebook cell, where an event loop is running.

    Examples
    --------
    >>> schema = {"type": "object", "properties": {"year": {"type": "integer"}}}
    >>> evaluate(schema, {"year": 2024}, {"year": 2025}).fields[["path", "outcome"]].values.tolist()
    [['$.year', 'incorrect']]
    """
    run = Run(schema, gold, predicted, judge, alignment, profile)
    if run.traversal.is_open:
        run_anywhere(run.traversal.settle())
    return run.finish()


async def evaluate_async(
    schema: Mapping[str, Any] | str | Path | Schema,
    gold: Any,
    predicted: Any,
    *,
    judge: str | Judge = "offline",
    alignment: str | Aligner = "optimal",
    profile: str | Profile = "paper",
) -> Evaluation:
    """Evaluate as `evaluate` does, awaiting asynchronous metrics and judges.

    Parameters
    ----------
    schema, gold, predicted : object
        See `evaluate`.
    judge, alignment, profile : object, optional
        See `evaluate`.

    Returns
    -------
    Evaluation
        The same as `evaluate` returns.
    """
    return await Run(schema, gold, predicted, judge, alignment, profile).complete()


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
        checked: bool = False,
    ) -> None:
        self.started = time.perf_counter()
        self.profile = get_profile(profile)
        self.schema = read_schema(schema, self.profile)
        self.gold = private_copy(read_document(gold, "gold"), "gold")
        refuse_non_json(self.gold)
        self.predicted, self.problem = read_predicted(predicted)
        chosen = choose_judge(judge)
        if self.problem is None:
            refuse_non_json(self.predicted, "predicted")
            chosen = judge_of_document(chosen, self.gold, self.predicted)
        self.scorer = Scorer(self.profile, chosen)
        self.alignment = choose_alignment(alignment, chosen)
        if not checked:
            check_models(chosen, self.alignment, self.schema)
        self.traversal = Traversal(self.scorer, choose_aligner(self.alignment, self.scorer))
        self.notes: list[Note] = []
        if self.problem is None:
            self._descend()
        else:  # one failing field, the whole document
            verdict = Scored("json", 0.0, False, "structural", "unparsable_json", self.problem)
            leaf = Leaf(self.schema.root, ROOT, self.gold, self.predicted, True, [verdict])
            self.traversal.top.children.append(leaf)

    def _descend(self) -> None:
        """Go down; a prediction that is nested too deep for that is cut, and that is noted."""
        levels = depth(self.gold)
        too_deep = InputError(f"gold has {levels} levels of objects and arrays; that is too deep")
        if levels > MOST_LEVELS:
            raise too_deep
        most = max(MAX_DEPTH, min(levels, 2 * MAX_DEPTH))
        # where alignments are awaited, most of the way down comes later; so do the warnings
        can_try = depth(self.predicted) <= (most if self.traversal.waits else MOST_LEVELS)
        for limit in (None, most, MAX_DEPTH) if can_try else (most, MAX_DEPTH):
            if limit is not None:
                self.predicted = cut(self.predicted, limit)
                self.traversal = Traversal(self.scorer, choose_aligner(self.alignment, self.scorer))
                self.notes = [("predicted", "$", "too_deep", f"cut below {limit} levels", None)]
            try:
                self.traversal.descend(self.schema.root, self.gold, self.predicted)
            except RecursionError:
                continue
            return
        raise too_deep

    async def complete(self) -> Evaluation:
        """Await what is open, and finish."""
        await self.traversal.settle()
        return self.finish()

    def finish(self) -> Evaluation:
        """Roll the verdicts up, once none is open."""
        if self.problem is None:
            self.traversal.finish(self.schema.root, self.gold, self.predicted)
        alignment = self.alignment
        if not isinstance(alignment, str):
            alignment = alignment.name if isinstance(alignment, LLMAligner) else "callable"
        meta = {
            "profile": self.profile.name,
            "judge": self.scorer.judge.name,
            "alignment": alignment,
            "seconds": time.perf_counter() - self.started,
        }
        if self.scorer.ignored_params:
            self.notes.append(ignored_params(self.scorer.ignored_params))
        if not self.traversal.top.children:
            self.notes.append(NOTHING_SCORED)
        inputs = Inputs(self.schema, self.gold, self.predicted, self.problem)
        return Evaluation(self.traversal.top.children, self.profile, inputs, meta, self.notes)
