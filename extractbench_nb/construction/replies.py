"""Replies of AOE's judge of rows, cells and whole tables; `RecordedAnswers` repeats them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from extractbench_nb.judges.base import JudgeError, Verdict

_OUTPUT = re.compile(r"<output>(.*?)</output>", re.IGNORECASE | re.DOTALL)


def read_row_reply(reply: str | None) -> str | None:
    """Read the key that a judge of rows names.

    Parameters
    ----------
    reply : str or None
        A reply with the key in ``<output>`` tags.

    Returns
    -------
    str or None
        The key, which may be empty or ``None``; None if there are no tags.

    Examples
    --------
    >>> read_row_reply("It is <output> Report 2020 </output>."), read_row_reply("no idea")
    ('Report 2020', None)
    """
    match = _OUTPUT.search(reply or "")
    return match[1].strip() if match else None


def read_cell_reply(replies: Iterable[str | None], attempts: int = 3) -> tuple[float | None, int]:
    """Read the score that a judge of cells gives, asking again while it cannot be read.

    Parameters
    ----------
    replies : iterable of str or None
        The replies in order; None for a request that failed.
    attempts : int, optional
        Maximum number of requests.

    Returns
    -------
    tuple of (float or None, int)
        The score, cut to 0 to 1, or None; and the number of requests.

    Examples
    --------
    >>> read_cell_reply(["<output>high</output>", "<output>0.3</output>"])
    (0.3, 2)
    """
    requests = 0
    for reply in replies:
        if requests == attempts:
            break
        requests += 1
        match = _OUTPUT.search(reply or "")
        if match is None:
            continue
        try:
            return max(0.0, min(1.0, float(match[1].strip()))), requests
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
    """Read the four scores of AOE's quality judge.

    Parameters
    ----------
    reply : str or None
        A reply with ``<score1>`` to ``<score4>``.

    Returns
    -------
    Quality
        With the weighted mean.

    Examples
    --------
    >>> tags = "<score1>85</score1> <score2>80</score2> <score3>75</score3> <score4>80</score4>"
    >>> read_quality_reply(tags).total
    79.5
    """
    found = [re.search(rf"<score{n}>(\d+)</score{n}>", reply or "") for n in range(1, 5)]
    return quality_of([None if match is None else int(match[1]) for match in found])


class RecordedAnswers:
    """A judge that gives recorded answers, for comparisons with results published elsewhere.

    Parameters
    ----------
    rows : mapping or callable, optional
        Reply to the question which key of gold a predicted key means, by the predicted key;
        ``"*"`` holds for all others. A callable gets the predicted key and gold's keys.
    cells : mapping, callable or float, optional
        Score of two texts by ``"column|gold|predicted"``, or ``"*"``; None for no verdict. A
        callable gets column, gold and predicted; a number is the score of all.
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
            Those of gold.

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
            With the recorded score.

        Raises
        ------
        JudgeError
            There is none.
        """
        score = self.score_cell("", gold, predicted)
        if score is None:
            raise JudgeError("no recorded score", reason="not_recorded")
        return Verdict(score, "recorded")
