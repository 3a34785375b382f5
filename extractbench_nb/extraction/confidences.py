"""Confidences in outputs: pairs of value and confidence, and log-probabilities of tokens."""

from __future__ import annotations

import json
import math
import re
from bisect import bisect_right
from collections.abc import Iterator, Mapping
from itertools import accumulate
from typing import Any, NamedTuple

import pandas as pd

from extractbench_nb._json import json_type, member, private_copy, read_document
from extractbench_nb._model_json import unwrapped
from extractbench_nb.errors import InputError, nearest
from extractbench_nb.extraction.parsing import parse_output
from extractbench_nb.extraction.reading import frame_of_outputs
from extractbench_nb.schema.nodes import Node
from extractbench_nb.schema.parse import parse_schema
from extractbench_nb.stats.confidences import CONFIDENCE_COLUMNS

_MOST_LEVELS = 250
_AROUND = 20


class SplitOutput(NamedTuple):
    """An output without its confidences, and the confidences (`CONFIDENCE_COLUMNS`)."""

    value: Any
    confidences: pd.DataFrame


def split_confidences(
    output: Any,
    schema: Any,
    *,
    run: str | None = None,
    document: str | None = None,
    value: str = "value",
    confidence: str = "confidence",
) -> SplitOutput:
    """Split an output with pairs of value and confidence into the plain output and a frame.

    Parameters
    ----------
    output : object, str or pathlib.Path
        The output: a value, JSON text or a file. It is not changed.
    schema : dict, str, pathlib.Path or Schema
        The schema of the plain output. If it declares an object with both keys, and the values have
        the declared types, that object is a value and not a pair.
    run, document : str, optional
        Values of these columns of the frame.
    value, confidence : str, optional
        The two keys of a pair. If the schema declares no object there, a pair may have other keys,
        such as a page, which are left out.

    Returns
    -------
    SplitOutput
        ``value``, the plain output, and ``confidences``, one row per pair. A pair whose confidence
        is null has no row; of pairs inside each other the innermost confidence counts.

    Raises
    ------
    InputError
        A confidence is not a number from 0 to 1, the two keys are equal, or the output is not JSON.
    SchemaError
        The schema cannot be read.

    Examples
    --------
    >>> schema = {"type": "object", "properties": {"total": {"type": "number"}}}
    >>> found = split_confidences({"total": {"value": 12, "confidence": 0.9}}, schema)
    >>> found.value, found.confidences[["path", "confidence"]].values.tolist()
    ({'total': 12}, [['$.total', 0.9]])
    """
    if value == confidence:
        raise InputError(f"value and confidence are both {value!r}; expected two different keys")
    rows: dict[str, float] = {}

    def plain(part: Any, nodes: list[Node], path: str, level: int) -> Any:
        nodes = [node for one in nodes for node in _alternatives(one)]
        if level > _MOST_LEVELS:
            return part
        if isinstance(part, dict):
            if _is_pair(part, nodes, (value, confidence)):
                stated = part[confidence]
                if stated is not None:
                    rows[path] = _checked(stated, path)  # of nested pairs the inner one
                return plain(part[value], nodes, path, level + 1)
            return {
                key: plain(inner, _below(nodes, key), path + member(key), level + 1)
                for key, inner in part.items()
            }
        if isinstance(part, list):
            return [
                plain(inner, _items(nodes, index), f"{path}[{index}]", level + 1)
                for index, inner in enumerate(part)
            ]
        return part

    document_value = private_copy(read_document(output, "output"), "output")
    result = plain(document_value, [parse_schema(schema).root], "$", 0)
    frame = CONFIDENCE_COLUMNS.from_rows(
        [(run, document, path, stated) for path, stated in rows.items()]
    )
    return SplitOutput(result, frame)


def _alternatives(node: Node) -> Iterator[Node]:
    """Yield the nodes that a value can have: the branches of a union, else the node."""
    if node.kind != "union":
        yield node
        return
    for branch in node.children.branches:
        yield from _alternatives(branch)


def _below(nodes: list[Node], key: str) -> list[Node]:
    found = (node.children.properties.get(key) or node.children.entry(key) for node in nodes)
    return [node for node in found if node is not None]


def _items(nodes: list[Node], index: int) -> list[Node]:
    found = (node.item(index) for node in nodes)
    return [node for node in found if node is not None]


def _is_pair(part: Mapping[str, Any], nodes: list[Node], keys: tuple[str, str]) -> bool:
    """Whether an object is a pair of value and confidence, and not a value of the schema."""
    if any(key not in part for key in keys) or isinstance(part[keys[1]], dict | list):
        return False
    takes_objects = any(not node.types or "object" in node.types for node in nodes)
    if len(part) > len(keys) and (takes_objects or not nodes):
        return False
    for node in nodes:
        below = [_below([node], key) for key in keys]
        if all(
            any(not one.types or json_type(part[key]) in one.types for one in found)
            for key, found in zip(keys, below, strict=True)
        ):
            return False
    return True


def _checked(stated: Any, path: str) -> float:
    is_number = isinstance(stated, int | float) and not isinstance(stated, bool)
    if not is_number or not 0 <= stated <= 1:
        raise InputError(f"at {path}: confidence is {stated!r}; expected a number from 0 to 1")
    return float(stated)


# --- log-probabilities ----------------------------------------------------------------------------

HOW = ("mean", "min", "product")


def token_confidences(outputs: Any, *, how: str = "mean") -> pd.DataFrame:
    """Read confidences of values from the log-probabilities of their tokens.

    Parameters
    ----------
    outputs : Run, pandas.DataFrame, or a list of them
        Runs of ``extract(..., logprobs=True)``, or frames with the columns run, document, raw and
        meta. ``meta["logprobs"]`` is an object with the lists ``tokens``, texts that spell raw,
        and ``logprobs``, natural logarithms.
    how : {"mean", "min", "product"}, optional
        How the probabilities of the tokens of a value are combined: their geometric mean, which
        does not depend on the length; their minimum; or their product, the probability of this text
        given all text before it.

    Returns
    -------
    pandas.DataFrame
        Confidences (`CONFIDENCE_COLUMNS`), one row per scalar and empty container of the outputs
        that are JSON and have log-probabilities.

    Raises
    ------
    InputError
        No output has log-probabilities, the tokens of one do not spell its text, a column is
        missing, or `how` is unknown.

    Notes
    -----
    A token belongs to a value if it has a character of it in common; the quotes around a text do
    not count. Tokens that end inside a multibyte character are joined with the following ones when
    a run is written. Of a repeated key the last value counts, as in Python. The probabilities of
    alternative spellings of the same value are not added, so that long values seem less certain
    than they are.

    Examples
    --------
    >>> meta = {"logprobs": {"tokens": ['{"a": ', "1", "2", "}"], "logprobs": [0, -0.1, -0.3, 0]}}
    >>> row = {"run": "r", "document": "d", "raw": '{"a": 12}', "meta": meta}
    >>> token_confidences(pd.DataFrame([row]), how="min")[["path", "confidence"]].values.tolist()
    [['$.a', 0.7408182206817179]]
    """
    if how not in HOW:
        raise InputError(f"how is {how!r}; {nearest(how, HOW)}")
    frame = frame_of_outputs(outputs)
    metas = frame["meta"] if "meta" in frame.columns else [None] * len(frame)
    texts = frame["raw"] if "raw" in frame.columns else [None] * len(frame)
    rows: list[tuple[str, str, str, float]] = []
    found = False
    for run, document, raw, meta in zip(frame["run"], frame["document"], texts, metas, strict=True):
        tokens = meta.get("logprobs") if isinstance(meta, Mapping) else None
        if tokens is None:
            continue
        found = True
        if isinstance(raw, str) and parse_output(raw).parses:
            where = f"run {run!r}, document {document!r}"
            ends, logs = _aligned(raw, tokens, where)
            for path, begin, end in value_spans(raw):
                first = bisect_right(ends, begin)
                own = logs[first : bisect_right(ends, end - 1) + 1]
                rows.append((str(run), str(document), path, _joined(own, how)))
    if not found:
        raise InputError(
            "no output has log-probabilities; call the model with extract(..., logprobs=True)"
        )
    return CONFIDENCE_COLUMNS.from_rows(rows)


def _joined(logs: list[float], how: str) -> float:
    total = sum(logs)
    chosen = {"mean": total / max(len(logs), 1), "min": min(logs, default=0.0), "product": total}
    return math.exp(min(chosen[how], 0.0))


def _aligned(raw: str, given: Any, where: str) -> tuple[list[int], list[float]]:
    """Return where each token ends in a text, and the log-probabilities."""
    lists = given if isinstance(given, Mapping) else {}
    tokens, logs = lists.get("tokens"), lists.get("logprobs")
    well_formed = (
        isinstance(tokens, list)
        and isinstance(logs, list)
        and len(tokens) == len(logs)
        and all(isinstance(token, str) for token in tokens)
        and all(type(log) in (int, float) and not math.isnan(log) for log in logs)
    )
    if not well_formed or tokens is None or logs is None:
        raise InputError(
            f"{where}: logprobs is {str(given)[:60]!r}; expected an object with lists tokens and "
            "logprobs of equal length, of texts and numbers"
        )
    spelled = "".join(tokens)
    before = spelled.find(raw)  # white space and tokens that mark the end may be left out of raw
    if before < 0:
        pairs = zip(spelled, raw, strict=False)
        at = next((i for i, (a, b) in enumerate(pairs) if a != b), min(len(spelled), len(raw)))
        raise InputError(
            f"{where}: the tokens do not spell the text: at character {at} they have "
            f"{spelled[at : at + _AROUND]!r}, the text has {raw[at : at + _AROUND]!r}"
        )
    return [end - before for end in accumulate(map(len, tokens))], logs


_MARK = re.compile(r'"(?:[^"\\]|\\.)*+"|[\[\]{}]|[^\s\[\]{},:"]+', re.DOTALL)


def value_spans(raw: str) -> list[tuple[str, int, int]]:
    """Return path, begin and end of each scalar and empty container in a text that is JSON.

    The span of a text is without its quotes, unless it is empty. A byte-order mark and a code fence
    around the JSON are left out.

    Examples
    --------
    >>> value_spans('{"a": ["x", 12], "a": []}')
    [('$.a', 22, 24)]
    """
    inner, start, _ = unwrapped(raw)
    root: list[Any] = []
    stack: list[Any] = [root]
    keys: list[str | None] = [None]
    begun: list[int] = []

    def put(node: Any) -> None:
        if isinstance(stack[-1], list):
            stack[-1].append(node)
        else:
            stack[-1][keys[-1]] = node
            keys[-1] = None

    for mark in _MARK.finditer(inner):
        text, (begin, end) = mark[0], mark.span()
        if text in ("{", "["):
            begun.append(begin)
            stack.append({} if text == "{" else [])
            keys.append(None)
        elif text in ("}", "]"):
            closed, opened = stack.pop(), begun.pop()
            keys.pop()
            put(closed or (opened + start, end + start))
        elif isinstance(stack[-1], dict) and keys[-1] is None:
            keys[-1] = json.loads(text)
        else:
            quotes = text[0] == '"' and len(text) > 2  # noqa: PLR2004 - an empty text is its quotes
            put((begin + start + quotes, end + start - quotes))
    spans, waiting = [], [("$", root[0])]
    while waiting:
        path, node = waiting.pop()
        if isinstance(node, tuple):
            spans.append((path, *node))
            continue
        if isinstance(node, dict):
            named = [(path + member(key), one) for key, one in node.items()]
        else:
            named = [(f"{path}[{index}]", one) for index, one in enumerate(node)]
        waiting.extend(reversed(named))
    return spans
