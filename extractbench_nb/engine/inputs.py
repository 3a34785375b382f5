"""Inputs of `evaluate`: options are checked, predictions are read without raising."""

from __future__ import annotations

import inspect
import json
from collections.abc import Awaitable, Callable, Collection, Iterable, Sequence
from dataclasses import is_dataclass
from datetime import date, time, timedelta
from decimal import Decimal
from enum import Enum
from operator import index
from pathlib import Path, PurePath
from typing import Any
from uuid import UUID

from extractbench_nb._json import (
    Unreadable,
    json_type,
    member,
    parser_problem,
    private_copy,
    read_text,
)
from extractbench_nb.engine.assignment import OptimalAligner
from extractbench_nb.engine.llm_alignment import ALIGNING, Alignment, LLMAligner
from extractbench_nb.engine.profiles import Profile
from extractbench_nb.engine.scoring import Scorer
from extractbench_nb.engine.similarity import is_aligned
from extractbench_nb.errors import ConfigError, InputError
from extractbench_nb.field_metrics.registry import REGISTRY
from extractbench_nb.judges.base import Judge
from extractbench_nb.schema.nodes import Node, Schema
from extractbench_nb.schema.parse import parse_schema

#: A matcher of the user's: (gold items, predicted items, item node) to index pairs.
Aligner = (
    Callable[[Sequence[Any], Sequence[Any], Node], Iterable[tuple[int, int]]]
    | Callable[[Sequence[Any], Sequence[Any], Node], Awaitable[Iterable[tuple[int, int]]]]
    | LLMAligner
)
Align = Callable[[Node, list[Any], list[Any]], list[tuple[int, int]]]
AwaitedAlign = Callable[[Node, list[Any], list[Any]], Awaitable[Alignment]]

#: Levels of containers that a predicted document keeps where it is too deep to be compared.
MAX_DEPTH = 100
_TOO_DEEP = "… nested too deep"


def read_schema(schema: Any, profile: Profile) -> Schema:
    """Parse a schema under the rules of a profile."""
    rules = (profile.package_010_schema, profile.url_rule)
    if isinstance(schema, Schema) and (schema.released, schema.url_rule) != rules:
        schema = dict(schema.document)
    return parse_schema(schema, released=profile.package_010_schema, url_rule=profile.url_rule)


def check_models(judge: Judge, alignment: str | Aligner, schema: Schema) -> None:
    """Let a judge and an aligner that ask models say what is missing, before anything is asked."""
    check = getattr(judge, "check", None)
    if check is not None:
        judged = {name for name, entry in REGISTRY.entries.items() if entry.judged}
        _check_fields(check, schema, judged)
    if isinstance(alignment, LLMAligner):
        _check_fields(alignment.check, schema, {ALIGNING})


def _check_fields(check: Callable[..., None], schema: Schema, metrics: Collection[str]) -> None:
    check()
    configs = {id(n.config): (n.pointer, n.config) for n in reversed([*schema.nodes()])}
    for pointer, config in configs.values():
        for spec in config.metrics if config is not None else ():
            if spec.metric_id in metrics and spec.params:
                try:
                    check(spec.params)
                except ConfigError as error:
                    raise ConfigError(pointer + "/evaluation_config", error.problem) from None


def choose_alignment(alignment: str | Aligner, judge: Judge) -> str | Aligner:
    """Return ``"optimal"``, an aligner that knows whom to ask, or the user's own matcher."""
    if alignment == "llm":
        alignment = LLMAligner()
    if isinstance(alignment, LLMAligner):
        return alignment.asking(judge)
    is_matcher = callable(alignment) and not isinstance(alignment, type)
    if alignment != "optimal" and not is_matcher:
        known = "'optimal', 'llm', an LLMAligner or a function "
        raise InputError(
            f"alignment is {alignment!r}; expected {known}"
            "(gold items, predicted items, item node) -> index pairs"
        )
    return alignment


def choose_aligner(alignment: str | Aligner, scorer: Scorer) -> Align | AwaitedAlign:
    """Return what aligns the items of an array; `alignment` is from `choose_alignment`."""
    if isinstance(alignment, str):
        return OptimalAligner(scorer)
    if isinstance(alignment, LLMAligner):
        aligner, optimal = alignment, OptimalAligner(scorer)

        async def asked(node: Node, gold: list[Any], predicted: list[Any]) -> Alignment:
            if is_aligned(node):
                return await aligner.align(node, gold, predicted)
            # nothing depends on it but rows
            return Alignment(optimal(node, gold, predicted))

        return asked

    match: Any = alignment

    def matched(node: Node, gold: list[Any], predicted: list[Any]) -> Any:
        return match(list(gold), list(predicted), node.children.items or node)

    call = getattr(match, "__call__", None)  # noqa: B004 - an object may have an async one
    if not (inspect.iscoroutinefunction(match) or inspect.iscoroutinefunction(call)):
        return lambda node, *sides: _checked_pairs(matched(node, *sides), node, *sides)

    async def awaited(node: Node, gold: list[Any], predicted: list[Any]) -> Alignment:
        found = await matched(node, gold, predicted)
        return Alignment(_checked_pairs(found, node, gold, predicted))

    return awaited


def _checked_pairs(
    found: Any, node: Node, gold: list[Any], predicted: list[Any]
) -> list[tuple[int, int]]:
    if inspect.isawaitable(found):
        if inspect.iscoroutine(found):
            found.close()
        raise InputError(
            f"alignment of {node.field!r} gave something to wait for; write it as an async def"
        )
    try:
        pairs = [(index(i), index(j)) for i, j in found]
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
    """Read a prediction; text that is not JSON is not an error here."""
    if issubclass(type(source), Path):
        try:
            source = read_text(source, "predicted")
        except InputError as error:
            if "not UTF-8" in str(error):
                return source.read_bytes().decode("utf-8", "replace"), str(error)
            raise
    if not issubclass(type(source), str):
        try:
            return private_copy(source, "predicted"), None
        except InputError as error:
            return Unreadable(type(source).__name__), str(error)
    source = str.__str__(source)
    try:
        return json.loads(source.removeprefix("\ufeff")), None
    except json.JSONDecodeError as error:
        return source, parser_problem(error, source)
    except (RecursionError, ValueError) as error:
        return source, str(error)


def refuse_non_json(document: Any, what: str = "gold") -> None:
    """Raise `InputError` for the first value that JSON cannot hold, with its path.

    In a prediction only Pydantic models and dataclasses are refused. Other values that JSON cannot
    hold stay: they have a type that no schema has.
    """
    stack: list[tuple[Any, Any]] = [((), document)]
    seen: set[int] = set()
    while stack:
        place, value = stack.pop()
        if isinstance(value, dict | list):
            if id(value) not in seen:
                seen.add(id(value))
                inner = value.items() if isinstance(value, dict) else enumerate(value)
                stack.extend([((place, value, key), below) for key, below in inner])
        elif json_type(value) == "unknown":
            is_record = not isinstance(value, _DUMPED) and bool(_plain_hint(value))
            if what == "gold" or is_record:
                name = value.name if isinstance(value, Unreadable) else type(value).__name__
                raise InputError(
                    f"{what} at {_path(place)} is a {name}; expected a JSON value "
                    f"(str, int, float, bool, None, list or dict){_plain_hint(value)}"
                )


def _path(place: Any) -> str:
    """Write the path of a place: the place of its container, the container, and its key there."""
    steps = []
    while place:
        place, container, key = place
        steps.append(f"[{key}]" if isinstance(container, list) else member(str(key)))
    return "$" + "".join(reversed(steps))


def _plain_hint(value: Any) -> str:
    """Say how a model, a dataclass or what is left in their dumps becomes a JSON value."""
    if callable(getattr(value, "model_dump", None)):
        return "; pass its model_dump(mode='json')"
    if isinstance(value, _DUMPED):
        return "; of a Pydantic model pass its model_dump(mode='json')"
    return "; pass dataclasses.asdict of it" if is_dataclass(value) else ""


#: What ``model_dump()`` keeps as Python objects.
_DUMPED = (Decimal, date, time, timedelta, UUID, Enum, PurePath, bytes, set, frozenset)


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
