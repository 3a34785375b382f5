"""What a user hands over to `evaluate`: options checked, a prediction read whatever it is."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from extractbench_nb._json import json_type, member, parser_problem, read_text
from extractbench_nb.alignment.assignment import OptimalAligner
from extractbench_nb.errors import InputError, nearest
from extractbench_nb.judges.base import Judge
from extractbench_nb.judges.offline import OfflineJudge
from extractbench_nb.metrics import REGISTRY
from extractbench_nb.profiles import Profile
from extractbench_nb.schema.nodes import Node, Schema
from extractbench_nb.schema.parse import parse_schema
from extractbench_nb.scoring import Scorer

__all__ = [
    "MAX_DEPTH",
    "Aligner",
    "check_judge",
    "choose_aligner",
    "choose_judge",
    "cut",
    "depth",
    "private_copy",
    "read_predicted",
    "read_schema",
    "refuse_non_json",
]

#: A matcher of the user's: (gold items, predicted items, item node) to index pairs.
Aligner = Callable[[Sequence[Any], Sequence[Any], Node], Iterable[tuple[int, int]]]
Align = Callable[[Node, list[Any], list[Any]], list[tuple[int, int]]]

#: Levels of containers that a predicted document keeps where it is too deep to be compared.
MAX_DEPTH = 100
_TOO_DEEP = "… nested too deep"


def read_schema(schema: Any, profile: Profile) -> Schema:
    """Parse a schema under the rules of a profile."""
    rules = (profile.released_schema, profile.url_rule)
    if isinstance(schema, Schema) and (schema.released, schema.url_rule) != rules:
        schema = dict(schema.document)
    return parse_schema(schema, released=profile.released_schema, url_rule=profile.url_rule)


def choose_judge(judge: str | Judge) -> Judge:
    """Return the judge that an option names, or raise `InputError`."""
    if not isinstance(judge, str):
        named = isinstance(getattr(judge, "name", None), str)
        if isinstance(judge, type) or not callable(getattr(judge, "compare", None)) or not named:
            raise InputError(
                f"judge is {judge!r}; expected 'offline' or an object with a name and a method "
                "compare(gold, predicted) that returns a Verdict"
            )
        return judge
    if judge == "offline":
        return OfflineJudge()
    if "/" not in judge:
        raise InputError(
            f"unknown judge {judge!r}; {nearest(judge, ['offline'])}; a model is named with its "
            "provider, 'openai/gpt-4o-mini'"
        )
    from extractbench_nb.judges.llm import LLMJudge

    model: Any = LLMJudge(judge)  # whose verdicts are awaited
    return model  # type: ignore[no-any-return]


def check_judge(judge: Judge, schema: Schema) -> None:
    """Let a judge that asks models say what is missing, before anything is asked.

    Parameters
    ----------
    judge : Judge
        One with a method ``check(params)`` is checked for each field that it is to decide.
    schema : Schema
        The parsed schema.

    Raises
    ------
    InputError, ConfigError
        No key, no such provider, a param that cannot be used.
    """
    check = getattr(judge, "check", None)
    if check is None:
        return
    check()
    configs = {id(node.config): node.config for node in schema.nodes() if node.config is not None}
    for config in configs.values():
        for spec in config.metrics:
            entry = REGISTRY.entries.get(spec.metric_id)
            if entry is not None and entry.judged and spec.params:
                check(spec.params)


def choose_aligner(alignment: str | Aligner, scorer: Scorer) -> Align:
    """Return the aligner that an option names, or raise `InputError`."""
    if alignment == "optimal":
        return OptimalAligner(scorer)
    if isinstance(alignment, str) or not callable(alignment):
        raise InputError(
            f"alignment is {alignment!r}; expected 'optimal' or a function "
            "(gold items, predicted items, item node) -> index pairs"
        )
    return lambda node, gold, predicted: _checked_pairs(alignment, node, gold, predicted)


def _checked_pairs(
    align: Aligner, node: Node, gold: list[Any], predicted: list[Any]
) -> list[tuple[int, int]]:
    items = node.children.items or node
    found = align(list(gold), list(predicted), items)
    try:
        pairs = [(int(i), int(j)) for i, j in found]
    except (TypeError, ValueError):
        raise InputError(
            f"alignment of {node.field!r} gave {found!r}; expected pairs of indices"
        ) from None
    for side, count, name in ((0, len(gold), "gold"), (1, len(predicted), "predicted")):
        indices = [pair[side] for pair in pairs]
        bad = [i for i in indices if not 0 <= i < count]
        if bad or len(set(indices)) < len(indices):
            raise InputError(
                f"alignment of {node.field!r} gave {name} indices {indices!r}; "
                f"expected each at most once, from 0 to {count - 1}"
            )
    return sorted(pairs)


def read_predicted(source: Any) -> tuple[Any, str | None]:
    """Read what a model said; a text that is no JSON is no error here.

    Parameters
    ----------
    source : object
        A ``pathlib.Path`` (a file), a ``str`` (JSON text) or the value itself.

    Returns
    -------
    tuple of (object, str or None)
        The value and None; or the text and the parser's message with its position.

    Raises
    ------
    InputError
        The file cannot be read at all.
    """
    if isinstance(source, Path):
        try:
            source = read_text(source, "predicted")
        except InputError as error:
            if "not UTF-8" in str(error):
                return source.read_bytes().decode("utf-8", "replace"), str(error)
            raise
    if not isinstance(source, str):
        return source, None
    try:
        return json.loads(source.removeprefix("\ufeff")), None
    except json.JSONDecodeError as error:
        return source, parser_problem(error, source)
    except (RecursionError, ValueError) as error:
        return source, str(error)


def private_copy(value: Any) -> Any:
    """Copy a document, so that the result does not change when the caller's value does.

    Parameters
    ----------
    value : object
        A JSON value; mappings, tuples, numpy arrays and scalars are taken for what they hold.

    Returns
    -------
    object
        Dicts, lists and scalars. What JSON cannot hold stays as it is.
    """
    try:
        return _copy(value)
    except RecursionError:
        return value


def _copy(value: Any) -> Any:
    if type(value) is dict:
        return {k: _copy(v) for k, v in value.items()}
    if type(value) is list:
        return [_copy(v) for v in value]
    return value if type(value) in _SCALARS else _plain(value)


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {k: _copy(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [_copy(v) for v in value]
    if isinstance(value, np.ndarray | np.generic):
        return _copy(value.tolist())
    return value


_SCALARS = {str, int, float, bool, type(None)}


def refuse_non_json(gold: Any) -> None:
    """Raise `InputError` for the first value in gold that JSON cannot hold, with its path."""
    stack = [("$", gold)]
    while stack:
        path, value = stack.pop()
        if isinstance(value, dict):
            stack.extend((path + member(str(k)), v) for k, v in value.items())
        elif isinstance(value, list):
            stack.extend((f"{path}[{i}]", v) for i, v in enumerate(value))
        elif json_type(value) == "unknown":
            raise InputError(
                f"gold at {path} is a {type(value).__name__}; expected a JSON value "
                "(str, int, float, bool, None, list or dict)"
            )


def depth(value: Any) -> int:
    """Count the levels of containers in a document."""
    deepest, stack = 0, [(value, 1)]
    while stack:
        top, level = stack.pop()
        if isinstance(top, dict | list):
            deepest = max(deepest, level)
            stack.extend((v, level + 1) for v in (top.values() if isinstance(top, dict) else top))
    return deepest


def cut(value: Any, levels: int) -> Any:
    """Copy a document with everything below `levels` containers replaced by a short text."""
    if isinstance(value, dict):
        return {k: cut(v, levels - 1) for k, v in value.items()} if levels else _TOO_DEEP
    if isinstance(value, list):
        return [cut(v, levels - 1) for v in value] if levels else _TOO_DEEP
    return value
