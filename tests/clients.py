"""Options of a model in one `LLM`, as runs take it."""

from dataclasses import fields
from typing import Any

from extractbench_nb.judges import LLM

_CLIENT = [option.name for option in fields(LLM)[1:]]


def with_llm(options: dict[str, Any]) -> dict[str, Any]:
    """Move the options of a client into the model, an id, that they are for."""
    client = {name: value for name, value in options.items() if name in _CLIENT}
    others = {name: value for name, value in options.items() if name not in _CLIENT}
    return others | {"model": LLM(options["model"], **({"max_concurrency": 4} | client))}
