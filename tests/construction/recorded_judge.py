"""A judge that gives recorded answers to AOE's two questions, and keeps what it was asked."""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from extractbench_nb.core.text.judging import JudgeError, Verdict

Replies = Mapping[str, str] | Callable[[str, Sequence[str]], str]


def no_row(key: str, keys: Sequence[str]) -> str:
    return "<output>None</output>"


def without_md(key: str, keys: Sequence[str]) -> str:
    return f"<output>{key.replace('.md', '')}</output>"


class Recorded:
    """Replies by predicted key, scores by ``column|gold|predicted``; ``*`` holds for all others."""

    name = "recorded"

    def __init__(self, replies: Replies | None = None, scores: Any = None) -> None:
        self._replies, self._scores = replies or {}, scores
        self.rows: list[str] = []
        self.cells: list[list[str]] = []

    def match_key(self, key: str, keys: Sequence[str]) -> str | None:
        self.rows.append(key)
        replies = self._replies
        reply = replies(key, keys) if callable(replies) else replies.get(key, replies.get("*", ""))
        named = re.search("<output>(.*?)</output>", reply, re.DOTALL)
        return named and named[1].strip()

    def score_cell(self, column: str, gold: str, predicted: str) -> float | None:
        self.cells.append([column, gold, predicted])
        scores = self._scores
        if isinstance(scores, Mapping):
            scores = scores.get(f"{column}|{gold}|{predicted}", scores.get("*"))
        return scores

    def compare(self, gold: str, predicted: str) -> Verdict:
        score = self.score_cell("", gold, predicted)
        if score is None:
            raise JudgeError("no recorded score", reason="not_recorded")
        return Verdict(score, "recorded")
