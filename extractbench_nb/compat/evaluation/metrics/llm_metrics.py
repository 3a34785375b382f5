"""LiteLLM under the name by which extract-bench's own tests replace its client."""

from typing import Any

from extractbench_nb.errors import needs


def __getattr__(name: str) -> Any:
    """Import LiteLLM on first use; it belongs to an extra."""
    if name == "litellm":
        return needs("litellm", "llm")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
