"""Questions to a model, written down and their answers read; who answers is another's business.

The judge that asks a model and the one that looks answers up share this: the same options and the
same question give the same request, and so the same key.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from typing import Any, TypeVar

from extractbench_nb.judges.answers import ANSWER_SCHEMA, read_answer
from extractbench_nb.judges.asking import Asked
from extractbench_nb.judges.base import JudgeCall, JudgeError, Question, Verdict
from extractbench_nb.judges.prompts import Message, judge_messages
from extractbench_nb.judges.settings import Settings
from extractbench_nb.judges.voting import gather_verdicts, pass_mark, take_vote

__all__ = ["Answerer", "ask_anything", "judge_values"]

T = TypeVar("T")

#: Finds an answer that can be read, or raises `JudgeError`.
Answerer = Callable[[Asked], Awaitable[JudgeCall]]

_REASON = "judged"


async def judge_values(
    settings: Settings, question: Question, answer: Answerer, sample: int | None = None
) -> Verdict:
    """Judge the two values of a field.

    Parameters
    ----------
    settings : Settings
        The judge's options.
    question : Question
        The values, and what the schema says of the field.
    answer : callable
        Finds the answers.
    sample : int, optional
        Which of several answers to the same question. By default the vote over as many as the
        options say, from 0 on.

    Returns
    -------
    Verdict
        With the call behind it, or all of them.

    Raises
    ------
    JudgeError
        There is no answer that can be read, or too few for the vote.
    ConfigError
        A param of the field cannot be used.
    """
    if sample is not None or settings.n == 1:
        return await _one(settings, question, answer, sample or 0)
    found = await gather_verdicts(
        _one(settings, question, answer, nth) for nth in range(settings.n)
    )
    for result in found:
        if isinstance(result, Exception) and not isinstance(result, JudgeError):
            raise result  # it cannot be asked at all
    names = [f"answer {nth}" for nth in range(1, settings.n + 1)]
    return take_vote(list(zip(names, found, strict=True)), settings.vote, pass_mark(question))


async def _one(settings: Settings, question: Question, answer: Answerer, sample: int) -> Verdict:
    field = settings.for_field(question.params)
    schema = ANSWER_SCHEMA if field.schema is None else field.schema
    try:
        messages = judge_messages(
            question,
            schema=schema,
            template=field.template,
            instructions=field.settings.additional_instructions,
        )
    except RecursionError:
        raise JudgeError("the values are nested too deep", reason="too_deep") from None
    read = partial(read_answer, schema=field.schema)
    asked = Asked(field.settings, messages, read, schema, field.schema is None, sample)
    call = await answer(asked)
    score, reasoning = read(call.answer)
    return Verdict(score, _REASON, reasoning, (call._replace(score=score),))


async def ask_anything(  # noqa: PLR0913 - what is asked, and who answers
    settings: Settings,
    messages: Sequence[Message],
    read: Callable[[str | None], T],
    schema: Mapping[str, Any],
    answer: Answerer,
    *,
    params: Mapping[str, Any],
    sample: int,
) -> tuple[T, JudgeCall]:
    """Put any messages to a model.

    Parameters
    ----------
    settings : Settings
        The judge's options.
    messages, read, schema, params, sample : object
        See `LLMJudge.answer`.
    answer : callable
        Finds the answer.

    Returns
    -------
    tuple of (object, JudgeCall)
        What `read` returned, and the call.

    Raises
    ------
    JudgeError
        There is no answer that can be read.
    """
    own = settings.for_field(params).settings
    call = await answer(Asked(own, tuple(messages), read, schema, True, sample))
    return read(call.answer), call
