"""Answers, gold and prompts as AOE's released code reads and writes them (commit 282e688d)."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from io import StringIO
from typing import Any

import pandas as pd

from extractbench_nb.errors import InputError


@dataclass(frozen=True)
class ReleasedAnswer:
    """What the released code finds in a model's answer.

    Attributes
    ----------
    csv_text : str
        The last block of CSV; without one the whole text.
    found : bool
        Whether there is a block of CSV.
    frame : pandas.DataFrame or None
        The table; None if there is no block, or it cannot be read.
    even : bool
        Whether all lines have as many fields as the header.
    problem : str or None
        ``no_csv`` or ``unreadable``; None if there is a table.
    """

    csv_text: str
    found: bool
    frame: pd.DataFrame | None
    even: bool
    problem: str | None


def released_answer(text: str, think_tag: str = "think") -> ReleasedAnswer:
    r"""Find the table in a model's answer as the released code does.

    Parameters
    ----------
    text : str
        The answer.
    think_tag : str, optional
        The tag around thoughts. Where there are thoughts, they are read in place of the answer.

    Returns
    -------
    ReleasedAnswer
        With the table, if there is one.

    Examples
    --------
    >>> released_answer("<think>hm</think>\n```csv\nk,v\na,1\n```").problem
    'no_csv'
    """
    tag = re.escape(think_tag)
    thoughts = re.search(rf"<{tag}>(.*?)</{tag}>", text, re.DOTALL)
    looked_at = thoughts[1] if thoughts else text
    blocks = re.findall(r"```csv(.*?)```", looked_at, re.DOTALL)
    csv_text = (blocks[-1] if blocks else looked_at).strip()
    even = _is_even(csv_text)
    if not blocks:
        return ReleasedAnswer(csv_text, False, None, even, "no_csv")
    frame = read_csv(csv_text)
    return ReleasedAnswer(csv_text, True, frame, even, None if frame is not None else "unreadable")


def _is_even(text: str) -> bool:
    try:
        widths = {len(row) for row in csv.reader(StringIO(text))}
    except csv.Error:
        return False
    return len(widths) == 1


def read_csv(text: str) -> pd.DataFrame | None:
    """Read CSV as ``pandas.read_csv`` does by default; None if that fails.

    Parameters
    ----------
    text : str
        CSV.

    Returns
    -------
    pandas.DataFrame or None
        The table.
    """
    try:
        return pd.read_csv(StringIO(text))
    except (ValueError, OverflowError):  # errors of the parser are ValueErrors
        return None


def gold_table(answers: Sequence[Mapping[str, Any]]) -> pd.DataFrame:
    """Write gold's records as CSV and read them, as the released code does.

    Parameters
    ----------
    answers : sequence of dict
        Gold's records; the keys of the first one are the columns. Lists become JSON.

    Returns
    -------
    pandas.DataFrame
        The table, with the types that ``pandas.read_csv`` infers.

    Raises
    ------
    InputError
        There is no record, or a later one has another key; the released code stops there too.

    Examples
    --------
    >>> gold_table([{"a": 1, "b": 2}, {"a": 3}])["b"].tolist()
    [2.0, nan]
    """
    records = list(answers)
    if not records or not records[0]:
        raise InputError("gold has no records; expected at least one, with a key")
    columns = list(records[0])
    buffer = StringIO(newline="")
    writer = csv.DictWriter(buffer, fieldnames=columns)
    writer.writeheader()
    for number, record in enumerate(records):
        more = [key for key in record if key not in records[0]]
        if more:
            raise InputError(
                f"gold, record {number} has the key {more[0]!r}, which record 0 has not"
            )
        as_json = {
            key: json.dumps(value, ensure_ascii=False) if isinstance(value, list) else value
            for key, value in record.items()
        }
        writer.writerow(as_json)
    return pd.read_csv(StringIO(buffer.getvalue()))


#: Context in characters that the released code assumes, by the name of the model.
CONTEXTS = {
    "Llama-2-7b-chat-hf": 4_096,
    "Llama-3-8B-Instruct": 8_192,
    "Llama-3.1-8B-Instruct": 131_072,
    "Mistral-7B-Instruct-v0.3": 26_768,
    "Phi-3-mini": 131_072,
    "Phi-4-mini-instruct": 131_072,
    "Qwen2.5-72B-Instruct-GPTQ-Int4": 32_768,
    "deepseek/deepseek-r1": 163_840,
    "deepseek/deepseek-r1-distill-llama-70b": 131_072,
    "glm-4-9b-chat": 131_072,
    "google/gemini-2.5-flash-preview": 1_048_000,
    "microsoft/phi-3.5-mini-128k-instruct": 131_072,
    "microsoft/phi-4": 16_384,
    "qwen/qwen3-32b": 38_000,
    "qwen/qwq-32b": 131_072,
}
_OTHER_CONTEXT = 32_000


def released_truncation(prompt: str, model: str, max_tokens: int) -> str:
    """Cut a prompt as the released code does: it counts characters as if they were tokens.

    Parameters
    ----------
    prompt : str
        The prompt.
    model : str
        Name of the model, of `CONTEXTS`; others have 32,000.
    max_tokens : int
        Maximum number of tokens of the answer; twice as many are left free.

    Returns
    -------
    str
        The beginning of the prompt. A negative limit cuts from the end.

    Examples
    --------
    >>> len(released_truncation("x" * 30_000, "microsoft/phi-4", 1_000))
    14384
    """
    limit = CONTEXTS.get(model, _OTHER_CONTEXT) - 2 * max_tokens
    return prompt[:limit] if len(prompt) > limit else prompt
