"""From what a user calls a judge to the judge, and from any kind of judge to its verdict."""

from __future__ import annotations

import inspect
from typing import Any

from extractbench_nb._json import json_text
from extractbench_nb.errors import InputError, nearest
from extractbench_nb.judges.base import Judge, Question
from extractbench_nb.judges.offline import OfflineJudge

__all__ = ["choose_judge", "judge_of_document", "verdict_of"]


def choose_judge(judge: str | Judge, what: str = "judge") -> Judge:
    """Return the judge that an option names.

    Parameters
    ----------
    judge : str or Judge
        ``offline``, the LiteLLM id of a model, or an object with a name and ``compare``.
    what : str, optional
        The option, for the error.

    Returns
    -------
    Judge
        The judge.

    Raises
    ------
    InputError
        It is none.

    Examples
    --------
    >>> choose_judge("openai/gpt-4o-mini")
    LLMJudge('openai/gpt-4o-mini')
    """
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
    from extractbench_nb.judges.llm import LLMJudge

    return LLMJudge(judge)


def judge_of_document(judge: Judge, gold: Any, predicted: Any) -> Judge:
    """Tell a judge, if it wants to know, which documents are compared.

    Parameters
    ----------
    judge : Judge
        One with a method ``for_document(gold, predicted)`` returns the judge for these.
    gold, predicted : object
        The two documents.

    Returns
    -------
    Judge
        That one, or the judge itself.
    """
    of = getattr(judge, "for_document", None)
    found: Judge = judge if of is None else of(gold, predicted)
    return found


async def verdict_of(judge: Judge, question: Question) -> Any:
    """Let any judge decide a question.

    Parameters
    ----------
    judge : Judge
        One with a method ``ask`` gets the question; another one both values as texts.
    question : Question
        The values, and what the schema says of the field.

    Returns
    -------
    Verdict
        Or what the judge gave in its place.
    """
    ask = getattr(judge, "ask", None)
    if callable(ask):
        return await ask(question)
    found: Any = judge.compare(json_text(question.gold), json_text(question.predicted))
    return await found if inspect.isawaitable(found) else found
