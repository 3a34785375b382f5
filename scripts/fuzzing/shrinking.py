"""Make a failing case smaller while its failure stays."""

from __future__ import annotations

import copy
import dataclasses
import json
from collections.abc import Callable, Iterator
from typing import Any

from fuzzing.documents import PYTHON, places, put, resolve
from fuzzing.properties import Case
from fuzzing.schemas import subschemas

ATTEMPTS = 600


def size(case: Case) -> int:
    """The length of a case as JSON."""
    return len(json.dumps([case.schema, case.gold, case.predicted, case.added]))


def shrink(case: Case, fails: Callable[[Case], bool], attempts: int = ATTEMPTS) -> Case:
    """The smallest case found, greedily, for which `fails` still holds."""
    progress = True
    while progress and attempts > 0:
        progress = False
        for candidate in smaller_cases(case):
            if size(candidate) >= size(case) or (case.legal and not is_legal(candidate.schema)):
                continue
            attempts -= 1
            if fails(candidate):
                case, progress = candidate, True
                break
            if attempts <= 0:
                break
    return case


def smaller_cases(case: Case) -> Iterator[Case]:
    """Simpler variants of a case, the boldest first."""
    for key in sorted({*_keys(case.schema), *_keys(case.gold), *_keys(case.predicted)}):
        yield dataclasses.replace(
            case,
            schema=_without(case.schema, key),
            gold=_without(case.gold, key),
            predicted=_without(case.predicted, key),
        )
    if case.predicted != case.gold:
        yield dataclasses.replace(case, predicted=copy.deepcopy(case.gold))
    for index in range(len(case.added)):
        yield dataclasses.replace(case, added=case.added[:index] + case.added[index + 1 :])
    for name in ("schema", "predicted", "gold"):
        for value in smaller(getattr(case, name)):
            yield dataclasses.replace(case, **{name: value})
    for index, (at, value) in enumerate(case.added):
        for less in smaller(value):
            rest = case.added[:index], case.added[index + 1 :]
            yield dataclasses.replace(case, added=[*rest[0], [at, less], *rest[1]])


def smaller(document: Any) -> Iterator[Any]:
    """Simpler variants of a JSON value: a part left out, replaced by its own part, or plain."""
    found = sorted(places(document), key=lambda node: -len(json.dumps(node[1])))
    for at, value in found:
        if at:
            yield _dropped(document, at)
        for inner in _parts(value):
            yield put(copy.deepcopy(document), at, copy.deepcopy(inner))
        for plain in _plain(value):
            yield put(copy.deepcopy(document), at, plain)


def _parts(value: Any) -> list[Any]:
    if isinstance(value, dict) and PYTHON not in value:
        return list(value.values())
    return list(value) if isinstance(value, list) else []


def _plain(value: Any) -> list[Any]:
    if isinstance(value, str) and len(value) > 1:
        return ["", "x", value[: len(value) // 2], value[:-1]]
    if isinstance(value, dict) and value and PYTHON not in value:
        return [{}, 1]
    if isinstance(value, list) and value:
        return [[], 1]
    return [1] if isinstance(value, float) else []


def _dropped(document: Any, at: tuple[str | int, ...]) -> Any:
    document = copy.deepcopy(document)
    parent = document
    for step in at[:-1]:
        parent = parent[step]
    del parent[at[-1]]
    return document


def _keys(document: Any) -> Iterator[str]:
    for at, _ in places(document):
        if at and isinstance(at[-1], str):
            yield at[-1]


def _without(document: Any, key: str) -> Any:
    """The document without a key, at any depth."""
    if isinstance(document, dict):
        rest = {k: _without(v, key) for k, v in document.items() if k != key}
        if isinstance(rest.get("required"), list):
            rest["required"] = [name for name in rest["required"] if name != key]
        return rest
    return [_without(item, key) for item in document] if isinstance(document, list) else document


def is_legal(schema: Any) -> bool:
    """Whether a schema fits its draft, its references lead somewhere and end at data."""
    from jsonschema import Draft202012Validator, SchemaError
    from jsonschema.validators import validator_for

    try:
        validator_for(schema, default=Draft202012Validator).check_schema(schema)
    except (SchemaError, TypeError, AttributeError):
        tuples = any(isinstance(node.get("items"), list) for node in subschemas(schema))
        if not tuples or not isinstance(schema, dict) or "$schema" in schema:
            return False
    nodes, done = subschemas(schema), set[int]()
    return not any(_leads_nowhere(n, schema) or _cyclic(n, schema, (), done) for n in nodes)


def _leads_nowhere(node: dict[str, Any], root: Any) -> bool:
    return "$ref" in node and resolve(node, root) in ({}, None)


def _cyclic(node: Any, root: Any, above: tuple[int, ...], done: set[int]) -> bool:
    """Whether a schema needs itself before any data is read; `done` has those that do not."""
    if not isinstance(node, dict) or id(node) in done:
        return False
    if id(node) in above:
        return True
    lists = [node[word] for word in ("anyOf", "oneOf", "allOf") if isinstance(node.get(word), list)]
    inner = [part for parts in lists for part in parts]
    if "$ref" in node:
        inner.append(resolve(node, root, steps=1))
    cyclic = any(_cyclic(part, root, (*above, id(node)), done) for part in inner)
    if not cyclic:
        done.add(id(node))
    return cyclic
