"""Parts of schemas that the tests of evaluation share."""

from typing import Any

#: A text that is compared character by character.
STRING = {"type": "string", "evaluation_config": "string_exact"}
NUMBER = {"type": "number"}
NULL = {"type": "null"}


def obj(**properties: Any) -> dict[str, Any]:
    """Return the schema of an object with these properties."""
    return {"type": "object", "properties": properties}


def arr(items: Any, config: Any = None) -> dict[str, Any]:
    """Return the schema of an array, with its own ``evaluation_config`` if there is one."""
    return {"type": "array", "items": items} | ({"evaluation_config": config} if config else {})
