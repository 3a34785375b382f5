"""A server on this machine that returns the sample's answers about tables, with OpenAI's protocol.

It stands in for models that build tables, rate them, and embed texts. Notebook 06 uses it.
"""

from __future__ import annotations

import json
import re
from typing import Any

from recorded_model import RecordedModel
from sklearn.feature_extraction.text import HashingVectorizer

from extractbench_nb.construction import TableDataset

#: The ratings of every table: those that AOE's README prints for its example.
RATINGS = {"intent": 85, "columns": 80, "content": 75, "format": 80}
_MARK = re.compile(r'"mark_code" of your answer is (\w+)')


def embed(texts: list[str]) -> list[list[float]]:
    """Count groups of three characters, in place of a model of embeddings."""
    trigrams = HashingVectorizer(analyzer="char_wb", ngram_range=(3, 3), n_features=4096)
    vectors: list[list[float]] = trigrams.transform(texts).toarray().tolist()
    return vectors


class RecordedTables(RecordedModel):
    """A server that answers with a run of the sample, by the query in the prompt."""

    def __init__(self, dataset: TableDataset, run: str) -> None:
        answers = dataset.runs.query("run == @run").set_index("table")["predicted"]
        self._answers = {
            task.query: answers[task.id].read_text(encoding="utf-8") for task in dataset
        }
        super().__init__()

    def reply(self, request: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        """Return status and body for a request: embeddings, ratings, or the answer to its query."""
        if "input" in request:
            rows = [
                {"index": n, "object": "embedding", "embedding": vector}
                for n, vector in enumerate(embed(request["input"]))
            ]
            return 200, {"object": "list", "data": rows, "model": request["model"]}
        prompt = "\n".join(message["content"] for message in request["messages"])
        text = next(answer for query, answer in self._answers.items() if query in prompt)
        mark = _MARK.search(prompt)
        if mark is not None:  # a question for a rating
            text = json.dumps({"mark_code": mark[1], **RATINGS})
        message = {"role": "assistant", "content": text}
        choice = {"index": 0, "message": message, "finish_reason": "stop"}
        body = {"id": "recorded", "object": "chat.completion", "created": 0, "choices": [choice]}
        return 200, {**body, "model": request["model"]}
