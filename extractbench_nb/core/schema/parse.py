"""`parse_schema`: from whatever a user gives as a schema to the AST."""

from __future__ import annotations

import copyreg
import json
import warnings
from collections.abc import Hashable, Mapping
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any, Protocol, TypeAlias

from extractbench_nb.core.field_metrics.registry import REGISTRY, Registry
from extractbench_nb.core.schema.evaluation_config import (
    SKIP,
    check_types,
    for_format,
    parse_config,
)
from extractbench_nb.core.schema.outline import TOO_DEEP, Outline
from extractbench_nb.core.schema.schema_nodes import Node, Schema
from extractbench_nb.core.schema.subschemas import KEYWORDS, STRUCTURE_OR_REF, all_schemas, short
from extractbench_nb.core.values import (
    escape_pointer,
    json_type,
    plain_levels,
    private_copy,
    read_document,
    unescape_pointer,
)
from extractbench_nb.errors import ConfigError, InputError, SchemaError, nearest
from extractbench_nb.support.foreign_values import is_model

#: Keys under which a schema may be wrapped together with a name or a description.
ENVELOPES = ("schema_definition", "schema", "json_schema")
#: Keyword at the root of a schema: configs that replace those of nodes, by field.
BY_FIELD = "evaluation_config_by_field"
#: Levels of the objects and lists that a schema is written in.
MAX_WRITTEN_LEVELS = 600


class JsonSchemaWriter(Protocol):
    """What is asked of a ``pydantic.TypeAdapter``."""

    def json_schema(self, *, by_alias: bool, mode: Any) -> dict[str, Any]:
        """Return the JSON Schema of the type."""
        ...


#: What can be given as a schema; a class is one of a Pydantic model.
SchemaSource: TypeAlias = Mapping[str, Any] | str | Path | Schema | type[Any] | JsonSchemaWriter


def parse_schema(
    schema: SchemaSource,
    *,
    metrics: Mapping[str, Any] | None = None,
) -> Schema:
    """Parse a JSON Schema with ``evaluation_config`` annotations into a typed AST.

    Parameters
    ----------
    schema : dict, str, pathlib.Path, Schema, Pydantic model class or TypeAdapter
        The schema, JSON text, a file, or a parsed schema (returned unchanged). Of a Pydantic model
        class or a TypeAdapter the input schema is used (``mode="validation"``), with
        ``evaluation_config`` from ``json_schema_extra``.
    metrics : mapping from str, optional
        Other metrics for some fields, named as in the column ``field``: ``total``,
        ``lines[].amount``. The name of a preset or a metric, a function with ``@metric``, or an
        ``evaluation_config``.

    Returns
    -------
    Schema
        With a readable repr, ``.to_frame()`` and a foldable tree in notebooks.

    Raises
    ------
    SchemaError
        The schema cannot be read; names the JSON Pointer, what was found, what is expected.
    ConfigError
        An ``evaluation_config`` names something unknown or has invalid params; a metric is for a
        field that does not exist or whose type it cannot compare.
    InputError
        The file cannot be read, the text is not JSON, or a function is not registered.

    Notes
    -----
    ``Schema.document`` contains `metrics` under ``evaluation_config_by_field``, a keyword at the
    root that can also be written by hand. It changes one field even if several share a ``$ref``.

    Examples
    --------
    >>> document = {"type": "object", "properties": {"tags": {"type": "array"}}}
    >>> parse_schema(document).to_frame()[["field", "type", "metric"]].values.tolist()[1]
    ['tags', 'array', 'array_llm']
    >>> parse_schema(document, metrics={"tags": "set_f1"})
    $ object
    └─ tags: array · set_f1
       └─ []: any
    """
    if metrics is not None:
        return with_metrics(parse_schema(schema), metrics)
    if isinstance(schema, Schema):
        return schema
    document: Any = schema
    if not issubclass(type(schema), Mapping):
        is_text = issubclass(type(schema), str | Path | bytes | bytearray)
        document = read_document(schema, "schema") if is_text else model_schema(schema)
    levels = plain_levels([document])
    if levels is None or levels > MAX_WRITTEN_LEVELS:
        try:
            document = private_copy(document, "schema", MAX_WRITTEN_LEVELS)
        except InputError as error:
            raise SchemaError("", str(error)) from None
    envelope = None
    while isinstance(document, Mapping):
        # a schema may stand under a key, beside a name or a ``response_format`` type
        bare = document.get("type") == "json_schema" or STRUCTURE_OR_REF.isdisjoint(document)
        wrapping = [key for key in ENVELOPES if isinstance(document.get(key), Mapping)]
        if not bare or not wrapping:
            break
        envelope = wrapping[0]
        document = document[envelope]
    else:
        expected = "an object (a JSON Schema), a Pydantic model class or a TypeAdapter"
        kind = json_type(document)
        found = f"a {type(document).__name__}" if kind == "unknown" else kind
        raise SchemaError("", f"found {found}; expected {expected}")
    try:
        # JSON Schema allows anything under keys it does not know, but where none says what a value
        # is, somebody has passed another document; an open schema may have words about it alone
        strange = [key for key in document if key not in _ABOUT and not str(key).startswith("x-")]
        known = document.keys() & _KEYWORDS
        # in older drafts too a list of items is one of schemas, and seldom stands alone
        if strange and (not known or (known == {"items"} and isinstance(document["items"], list))):
            keys = ", ".join(map(short, strange[:_MOST_NAMED]))
            keys += ", ..." if len(strange) > _MOST_NAMED else ""
            expected = "'type', 'properties' or another keyword of JSON Schema; is this a document?"
            raise SchemaError("", f"found the keys {keys}; expected {expected}")
        return schema_of(document, envelope)
    except SchemaError as error:
        if not isinstance(schema, Path):
            raise
        problem = f"{error.problem} (schema file {str(schema)!r})"
        raise type(error)(error.pointer, problem) from None


_KEYWORDS = KEYWORDS | STRUCTURE_OR_REF | {*ENVELOPES, "$schema"}
#: Keywords that only tell about a schema.
_ABOUT = frozenset("title description default examples deprecated readOnly writeOnly".split())
_ABOUT |= {"$comment", "$id", "id", "evaluation_config", BY_FIELD}
_MOST_NAMED = 5


def model_schema(source: Any) -> Any:
    """Return the JSON Schema of a Pydantic model class or ``TypeAdapter``; others as they are.

    It is the one of input, which model providers send. A secret, which every dump masks, is not
    scored unless its field has a config.
    """
    kind = type(source)
    if isinstance(source, type):
        write, name = getattr(source, "model_json_schema", None), source.__name__
    elif is_model(source):
        raise SchemaError("", f"found an instance of the model {kind.__name__}; pass the class")
    else:
        adapts = callable(getattr(kind, "validate_python", None))
        write, name = getattr(source, "json_schema", None) if adapts else None, kind.__name__
    if not callable(write):
        return source
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # defaults that JSON does not have
            document = private_copy(write(by_alias=True, mode="validation"))
    except Exception as error:  # noqa: BLE001 - hooks of the user's may raise anything
        reason = " ".join(str(error).split())
        raise SchemaError("", f"the model {name} has no JSON Schema: {reason}") from None
    for part in all_schemas(document):
        if part.get("format") == "password" and part.get("writeOnly") is True:
            part.setdefault("evaluation_config", SKIP)
    return document


def schema_of(document: Mapping[str, Any], envelope: str | None, *, checked: bool = True) -> Schema:
    """Read a document, once as long as the metrics are the same.

    One that was a schema before is not `checked`: another process may lack its metrics.
    """
    registry = REGISTRY if checked else None
    try:
        text = json.dumps(document, ensure_ascii=False)
    except (TypeError, ValueError, RecursionError):  # values that JSON does not have
        document = private_copy(document, "schema", MAX_WRITTEN_LEVELS)
        return Schema(read_root(document, registry), document, envelope)
    document = json.loads(text)
    if "patternProperties" in text:  # nodes remember which patterns took too long
        return Schema(read_root(document, registry), document, envelope)
    root = _known_root(text, checked, tuple(REGISTRY.entries.items()))
    return Schema(root, document, envelope)


@lru_cache(maxsize=64)
def _known_root(text: str, checked: bool, _: Hashable) -> Node:
    return read_root(json.loads(text), REGISTRY if checked else None)


def read_root(document: Mapping[str, Any], registry: Registry | None) -> Node:
    """Read the root of a schema, whose configs by field replace those of the nodes."""
    try:
        root = replace(Outline(document, registry).root, choices={})
    except RecursionError:
        raise SchemaError("", TOO_DEEP) from None
    configs = document.get(BY_FIELD, {})
    if not isinstance(configs, dict):
        expected = "expected an object from field to evaluation_config"
        raise ConfigError(f"/{BY_FIELD}", f"found {short(configs)}; {expected}")
    for field, written in configs.items():
        at, schema = f"/{BY_FIELD}/{escape_pointer(field)}", Schema(root, document)
        config = parse_config(written, at, registry)
        if config is None:
            raise ConfigError(at, f"found {written!r}; expected an evaluation_config")
        nodes = schema.nodes_of(field)
        if not nodes:
            hint = nearest(field, {node.field or "$" for node in schema.nodes()})
            raise ConfigError(at, f"there is no field {field!r}; {hint}")
        for node in nodes:
            if registry is not None:
                check_types(config, node.types, node.label, at)
            node.config, node.declared = for_format(config, node.keywords), True
    return root


def restore_schema(document: dict[str, Any], envelope: str | None) -> Schema:
    """Read a schema from its pickle."""
    return schema_of(document, envelope, checked=False)


copyreg.pickle(Schema, lambda schema: (restore_schema, (dict(schema.document), schema.envelope)))


def with_metrics(schema: Schema, metrics: Mapping[str, Any]) -> Schema:
    """Return the schema with other metrics for some fields."""
    if not isinstance(metrics, Mapping):
        raise InputError(f"metrics is {metrics!r}; expected a dict from field to metric")
    configs = {field: REGISTRY.config_of(metric) for field, metric in metrics.items()}
    document = {**schema.document, BY_FIELD: {**schema.document.get(BY_FIELD, {}), **configs}}
    try:
        return schema_of(document, schema.envelope)
    except ConfigError as error:
        _, _, place = (error.pointer or "").partition(f"/{BY_FIELD}/")
        where = f"metrics, {unescape_pointer(place)}" if place else BY_FIELD
        raise ConfigError(None, f"{where}: {error.problem}") from None
