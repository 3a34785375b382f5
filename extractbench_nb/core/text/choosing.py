"""Choosing a judge from what the user passes, and asking it."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any

from extractbench_nb.core.registered import registered
from extractbench_nb.core.text.judging import Judge, Question
from extractbench_nb.core.text.offline_judge import OfflineJudge
from extractbench_nb.core.values.json_values import json_text
from extractbench_nb.errors import InputError, nearest


def choose_judge(judge: str | Judge, what: str = "judge") -> Judge:
    """Return the judge that an option names."""
    if not isinstance(judge, str):
        named = isinstance(getattr(judge, "name", None), str)
        if isinstance(judge, type) or not callable(getattr(judge, "compare", None)) or not named:
            raise InputError(
                f"{what} is {judge!r}; expected 'offline', the id of a model, such as "
                "'openai/gpt-4o-mini', or an object with a name and a method "
                "compare(gold, predicted) that returns a Verdict"
            )
        return judge
    if judge == "offline":
        return OfflineJudge()
    if "/" not in judge:
        unknown = "unknown judge" if what == "judge" else f"{what} is"
        raise InputError(
            f"{unknown} {judge!r}; {nearest(judge, ['offline'])}; a model is named with its "
            "provider, 'openai/gpt-4o-mini'"
        )
    chosen: Judge = registered("model_judge")(judge)
    return chosen


def judge_of_document(judge: Judge, gold: Any, predicted: Any) -> Judge:
    """Return the judge for the two documents that are compared."""
    for_document = getattr(judge, "for_document", None)
    chosen: Judge = judge if for_document is None else for_document(gold, predicted)
    return chosen


async def verdict_of(judge: Judge, question: Question) -> Any:
    """Return a judge's verdict: from ``ask`` if it has one, else from ``compare``."""
    ask = getattr(judge, "ask", None)
    if callable(ask):
        return await ask(question)
    found: Any = judge.compare(json_text(question.gold), json_text(question.predicted))
    return await found if inspect.isawaitable(found) else found


def fingerprint_of(judge: Judge) -> Any:
    """Return what a judge's verdicts depend on, if it has a fingerprint."""
    return getattr(judge, "fingerprint", None)


def check_judge(judge: Judge, params: Mapping[str, Any]) -> None:
    """Run a judge's own check, if it has one, before any work."""
    check = getattr(judge, "check", None)
    if check is not None:
        check(params)
