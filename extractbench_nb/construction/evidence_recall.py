"""Where points were lost: `evidence_recall`, without a model, and `losses`, stage by stage."""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_right
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any, TypeAlias

import pandas as pd

from extractbench_nb.construction.retrieval import (
    DEFAULT_K,
    METHODS,
    UNSPACED,
    Chunk,
    Documents,
    Retriever,
    check_k,
    texts_of,
)
from extractbench_nb.construction.table_dataset import TableTask
from extractbench_nb.core.frames import Column, FrameSpec, as_pandas
from extractbench_nb.errors import InputError
from extractbench_nb.support.wording import plural
from extractbench_nb.tables import text_of

STATUSES = ("retrieved", "missed", "cut", "absent")

CELL_COLUMNS = FrameSpec(
    "cells",
    "one row per gold cell that is not empty, row by row",
    (
        Column("row", "int64", "row of the gold table", "0 and up"),
        Column("column", "string", "column of the gold table"),
        Column("value", "string", "the cell as written in gold"),
        Column(
            *("status", "string"),
            "retrieved; missed: in a chunk that was not retrieved; cut: in a document, but in no "
            "single chunk; absent: in no document as written in gold",
            ", ".join(STATUSES),
        ),
        Column("rank", "Int64", "rank of the first chunk that holds it", "1 and up", True),
        Column("document", "string", "document of that chunk, else one that holds it", "", True),
        Column("chunk", "Int64", "number of that chunk in its document", "0 and up", True),
        Column("documents", "int64", "documents that hold the value", "0 and up"),
    ),
)

RECALL_COLUMNS = FrameSpec(
    "by_k",
    "one row per number of chunks, ascending",
    (
        Column("k", "int64", "chunks that are considered", "1 and up"),
        Column("cells", "int64", "gold cells that are not empty", "0 and up"),
        Column("in_documents", "int64", "cells whose value is in a document", "0 to cells"),
        Column("retrieved", "int64", "cells whose value is in a considered chunk"),
        Column("recall", "Float64", "retrieved / in_documents", "0 to 1", True),
    ),
)

#: A retriever of yours: documents and query to chunk texts, best first.
Ranking: TypeAlias = Callable[[Mapping[str, str], str], Iterable[str]]


@dataclass(frozen=True, repr=False)
class EvidenceRecall:
    """The gold cells that a retriever found; made by `evidence_recall`.

    Attributes
    ----------
    cells : pandas.DataFrame
        One row per gold cell that is not empty, with the largest `k` (see `CELL_COLUMNS`).
    by_k : pandas.DataFrame
        One row per `k` (see `RECALL_COLUMNS`).
    """

    cells: pd.DataFrame
    by_k: pd.DataFrame

    @property
    def recall(self) -> float | None:
        """Recall with the largest `k`, 0 to 1; None if no value is in a document."""
        value = self.by_k["recall"].iloc[-1]
        return None if pd.isna(value) else float(value)

    def __repr__(self) -> str:
        """Return the recall of every `k`."""
        absent = int((self.cells["status"] == "absent").sum())
        cells = plural(len(self.cells), "gold cell")
        lines = [f"EvidenceRecall of {cells}, {absent} of them in no document"]
        for row in self.by_k.to_dict("records"):
            share = "" if pd.isna(row["recall"]) else f"  {row['recall']:.3f}"
            lines.append(
                f"  {row['k']:>5} chunks: {row['retrieved']} of {row['in_documents']}{share}"
            )
        return "\n".join(lines)


def evidence_recall(
    gold: pd.DataFrame | TableTask,
    documents: Documents | None = None,
    retriever: str | Retriever | Ranking = "bm25",
    k: int | Sequence[int] = DEFAULT_K,
    *,
    query: str | None = None,
) -> EvidenceRecall:
    """Measure how many gold cells are in the chunks that a retriever finds.

    A cell is found if a chunk holds its text, bounded by other characters than letters and
    digits. Case, width, white space and thousands separators do not count. A value that occurs by
    chance counts as well, so that short values (years, counts) make the recall optimistic.

    Parameters
    ----------
    gold : pandas.DataFrame or TableTask
        The gold table, keys included.
    documents : TableTask, dict, str or path, optional
        The documents: a task, texts or files by name, or a folder; those of the task by default.
    retriever : str, Retriever or callable, optional
        ``"bm25"``, a `Retriever`, or a function of the texts by name and the query that returns
        the texts of chunks, best first. The retriever's own `k` is not used.
    k : int or list of int, optional
        Number of best chunks to consider; a list gives one recall each.
    query : str, optional
        The query; by default that of the task, else the names of the columns.

    Returns
    -------
    EvidenceRecall
        The cells, each with the chunk that holds it, and the recall of every `k`.

    Raises
    ------
    InputError
        If an argument has a wrong type or is out of range.

    Examples
    --------
    >>> from extractbench_nb.construction import evidence_recall, load
    >>> evidence_recall(load()["retailer_results"], k=[2, 5, 10])
    EvidenceRecall of 29 gold cells, 1 of them in no document
          2 chunks: 12 of 28  0.429
          5 chunks: 18 of 28  0.643
         10 chunks: 28 of 28  1.000
    """
    if isinstance(gold, TableTask):
        documents = gold if documents is None else documents
        query = gold.query if query is None else query
        gold = gold.gold
    gold = as_pandas(gold)
    if not isinstance(gold, pd.DataFrame):
        raise InputError(f"gold is {type(gold).__name__}; expected a DataFrame or a TableTask")
    if documents is None:
        raise InputError("documents are missing; pass them, or a TableTask as gold")
    query = " ".join(map(str, gold.columns)) if query is None else query
    counts = sorted({check_k(one) for one in (k if isinstance(k, Sequence) else [k])})
    if not counts:
        raise InputError("k is empty; expected at least one number of chunks")
    texts = texts_of(documents)
    chunks, selected = _select(retriever, texts, query, counts)
    cells = [
        (row, str(column), text)
        for row, values in enumerate(gold.itertuples(index=False, name=None))
        for column, text in zip(gold.columns, map(text_of, values), strict=True)
        if text.strip()
    ]
    values = {value for _, _, value in cells}
    in_documents, in_chunks = (
        {value: holders.of(value) for value in values}
        for holders in (Holders(list(texts.values())), Holders([text for *_, text in chunks]))
    )
    places, names, rows = selected[counts[-1]], list(texts), []
    ranks = {place: rank for rank, place in enumerate(places, 1)}
    for row, column, value in cells:
        inside, holding = in_documents[value], in_chunks[value]
        rank = min((ranks[place] for place in holding if place in ranks), default=None)
        document: str | None = None
        number: int | None = None
        if holding:
            status = "missed" if rank is None else "retrieved"
            document, number = chunks[holding[0] if rank is None else places[rank - 1]][:2]
        else:
            status = "cut" if inside else "absent"
            document = names[inside[0]] if inside else None
        rows.append((row, column, value, status, rank, document, number, len(inside)))
    known = sum(bool(in_documents[value]) for *_, value in cells)
    recalls = []
    for count in counts:
        kept = set(selected[count])
        hits = sum(not kept.isdisjoint(in_chunks[value]) for *_, value in cells)
        recalls.append((count, len(cells), known, hits, hits / known if known else None))
    return EvidenceRecall(CELL_COLUMNS.from_rows(rows), RECALL_COLUMNS.from_rows(recalls))


_Chunks: TypeAlias = list[tuple[str | None, int | None, str]]


def _select(
    retriever: str | Retriever | Ranking, texts: Mapping[str, str], query: str, counts: list[int]
) -> tuple[_Chunks, dict[int, list[int]]]:
    """Return chunks (document, number, text), and those that are selected for each count."""
    if isinstance(retriever, str):
        retriever = Retriever(retriever)
    if isinstance(retriever, Retriever):
        index = retriever.index(texts)
        places = {chunk: place for place, chunk in enumerate(index.chunks)}
        selected = {n: [places[chunk] for chunk, _ in index.select(query, n)] for n in counts}
        return list(index.chunks), selected
    if not callable(retriever):
        raise InputError(
            f"retriever is {type(retriever).__name__}; expected a method "
            f"({', '.join(map(repr, METHODS))}), a Retriever, or a function"
        )
    found: Iterable[Any] = retriever(texts, query)
    given = [chunk.text if isinstance(chunk, Chunk) else chunk for chunk in found]
    if not all(isinstance(text, str) for text in given):
        raise InputError("the retriever returned something else than texts")
    holds = ((next((name for name, t in texts.items() if one in t), None), one) for one in given)
    chunks: _Chunks = [(name, None, one) for name, one in holds]
    return chunks, {count: list(range(min(count, len(chunks)))) for count in counts}


#: Thousands separators.
_SEPARATOR = re.compile(r"(?<=\d),(?=\d{3}(?!\d))")
_UNSPACED = re.compile(f"[{UNSPACED}]")
_BREAK = "\n"


def plain(text: str) -> str:
    r"""Return a text as it is compared: without case, width, thousands separators, line breaks.

    Examples
    --------
    >>> plain("Revenue:\n1,284.6")
    'revenue: 1284.6'
    """
    folded = unicodedata.normalize("NFKC", text).casefold()
    return _SEPARATOR.sub("", " ".join(folded.split()))


class Holders:
    """Texts in which values are looked up; ``of(value)`` has the places of those that hold it."""

    def __init__(self, texts: Sequence[str]) -> None:
        parts = list(map(plain, texts))
        self._whole = _BREAK.join(["", *parts, ""])  # a value has no line break
        self._starts = [0, *accumulate(len(part) + 1 for part in parts)]

    def of(self, value: str) -> list[int]:
        """Return the places of the texts that hold a value, ascending."""
        value = plain(value)
        found: dict[int, None] = {}
        at = self._whole.find(value) if value else -1
        while at >= 0:
            end = at + len(value)
            before, after = self._whole[max(0, at - 2) : at], self._whole[end : end + 2]
            # a part of a longer word or number is another value
            if not (_continues(value[0], before[::-1]) or _continues(value[-1], after)):
                found[bisect_right(self._starts, at - 1) - 1] = None
            at = self._whole.find(value, at + 1)
        return list(found)


def _continues(edge: str, beyond: str) -> bool:
    """Whether the characters beyond the edge of a value belong to the same word or number."""
    if not edge.isalnum() or _UNSPACED.match(edge):
        return False
    if edge.isdigit() and len(beyond) > 1 and beyond[0] in ".," and beyond[1].isdigit():
        return True
    return beyond[:1].isalnum() and not _UNSPACED.match(beyond)
