"""What AOE's released code reads from texts of models, and `RecordedAnswers`, which repeats them.

Answers with tables, gold's records, replies of judges of rows, cells and whole tables, and the
length of prompts, as of commit 282e688d.
"""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from io import StringIO
from typing import Any, NamedTuple

import pandas as pd

from extractbench_nb.errors import InputError
from extractbench_nb.judges.base import JudgeError, Verdict


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
        The tag around thoughts. If there are thoughts, the released code reads them in place of the
        answer.

    Returns
    -------
    ReleasedAnswer
        The table, or the problem if there is none.

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
    """Read CSV as ``pandas.read_csv`` does by default; None if that fails."""
    try:
        return pd.read_csv(StringIO(text))
    except (ValueError, OverflowError):  # errors of the parser are ValueErrors
        return None


def gold_table(answers: Sequence[Mapping[str, Any]]) -> pd.DataFrame:
    """Write gold's records as CSV and read them, as the released code does; lists become JSON.

    The keys of the first record are the columns. Where a later one has another key, or there is no
    record, the released code stops: an `InputError`.

    Examples
    --------
    >>> gold_table([{"a": 1, "b": 2}, {"a": 3}])["b"].tolist()
    [2.0, nan]
    """
    records = list(answers)
    if not records or not records[0]:
        raise InputError("gold has no records; expected at least one, with a key")
    buffer = StringIO(newline="")
    writer = csv.DictWriter(buffer, fieldnames=list(records[0]))
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

    Twice the tokens of the answer are left free. A negative limit cuts from the end.

    Examples
    --------
    >>> len(released_truncation("x" * 30_000, "microsoft/phi-4", 1_000))
    14384
    """
    limit = CONTEXTS.get(model, _OTHER_CONTEXT) - 2 * max_tokens
    return prompt[:limit] if len(prompt) > limit else prompt


# --- replies of judges ----------------------------------------------------------------------------

_OUTPUT = re.compile(r"<output>(.*?)</output>", re.IGNORECASE | re.DOTALL)
_MOST_REQUESTS = 3


def read_row_reply(reply: str | None) -> str | None:
    """Read the key that a judge of rows names; None if there are no tags.

    Examples
    --------
    >>> read_row_reply("It is <output> Report 2020 </output>."), read_row_reply("no idea")
    ('Report 2020', None)
    """
    match = _OUTPUT.search(reply or "")
    return match[1].strip() if match else None


def read_cell_reply(replies: Iterable[str | None]) -> tuple[float | None, int]:
    """Read the score that a judge of cells gives, cut to 0 to 1, and count the requests.

    Up to three times, a reply that cannot be read (None: a request that failed) is followed by
    another request.

    Examples
    --------
    >>> read_cell_reply(["<output>high</output>", "<output>0.3</output>"])
    (0.3, 2)
    """
    requests = 0
    for requests, reply in zip(range(1, _MOST_REQUESTS + 1), replies, strict=False):
        try:
            return max(0.0, min(1.0, float(read_row_reply(reply) or ""))), requests
        except ValueError:
            continue
    return None, requests


class Quality(NamedTuple):
    """The four scores of a judge of whole tables, each 0 to 100, and their weighted mean.

    Parameters
    ----------
    scores : tuple of int or None
        Intent, columns, content and format; None for one that cannot be read.
    total : float
        (2 intent + 3 columns + 3 content + 2 format) / 10; a score that is missing counts as 0.
    kept : bool
        Whether all four were read; the released code asks again for others.
    """

    scores: tuple[int | None, ...]
    total: float
    kept: bool


#: The parts of a quality score, in order, and their weights.
QUALITY_PARTS = ("intent", "columns", "content", "format")
_QUALITY_WEIGHTS = (2, 3, 3, 2)


def quality_of(scores: Sequence[int | None]) -> Quality:
    """Weigh four scores; a missing one counts as 0."""
    total = sum(w * (s or 0) for w, s in zip(_QUALITY_WEIGHTS, scores, strict=True)) / 10
    return Quality(tuple(scores), total, None not in scores)


def read_quality_reply(reply: str | None) -> Quality:
    """Read the four scores of AOE's quality judge, ``<score1>`` to ``<score4>``.

    Examples
    --------
    >>> tags = "<score1>85</score1> <score2>80</score2> <score3>75</score3> <score4>80</score4>"
    >>> read_quality_reply(tags).total
    79.5
    """
    found = [re.search(rf"<score{n}>(\d+)</score{n}>", reply or "") for n in range(1, 5)]
    return quality_of([None if match is None else int(match[1]) for match in found])


class RecordedAnswers:
    """A judge that returns recorded answers, to compare with results published elsewhere.

    Parameters
    ----------
    rows : mapping or callable, optional
        Reply to the question which key of gold a predicted key means, by the predicted key;
        ``"*"`` holds for all others. A callable gets the predicted key and gold's keys.
    cells : mapping, callable or float, optional
        Score (0 to 1) of two texts by ``"column|gold|predicted"``, or ``"*"`` for all others; None
        for no verdict. A callable gets column, gold and predicted; a number is the score of all.
    name : str, optional
        Name shown in results.

    Examples
    --------
    >>> RecordedAnswers({"*": "<output>None</output>"}, 0.5).score_cell("note", "x", "X")
    0.5
    """

    def __init__(self, rows: Any = None, cells: Any = None, name: str = "recorded answers") -> None:
        self._rows, self._cells, self.name = rows or {}, cells, name

    def match_key(self, key: str, keys: Sequence[str]) -> str | None:
        """Return the recorded reply on a predicted key.

        Parameters
        ----------
        key : str
            The predicted key.
        keys : sequence of str
            The keys of gold.

        Returns
        -------
        str or None
            The reply, with the key in ``<output>`` tags.
        """
        rows = self._rows
        reply: str | None
        reply = rows(key, keys) if callable(rows) else rows.get(key, rows.get("*"))
        return reply

    def score_cell(self, column: str, gold: str, predicted: str) -> float | None:
        """Return the recorded score of two texts.

        Parameters
        ----------
        column : str
            The name of the column.
        gold, predicted : str
            The texts.

        Returns
        -------
        float or None
            The score, 0 to 1, or None without a verdict.
        """
        score: float | None = self._cells
        if callable(self._cells):
            score = self._cells(column, gold, predicted)
        elif isinstance(self._cells, Mapping):
            score = self._cells.get(f"{column}|{gold}|{predicted}", self._cells.get("*"))
        return score

    def compare(self, gold: str, predicted: str) -> Any:
        """Judge two texts without a column.

        Parameters
        ----------
        gold, predicted : str
            The texts.

        Returns
        -------
        Verdict
            A verdict with the recorded score.

        Raises
        ------
        JudgeError
            No score is recorded.
        """
        score = self.score_cell("", gold, predicted)
        if score is None:
            raise JudgeError("no recorded score", reason="not_recorded")
        return Verdict(score, "recorded")
