"""LiteLLM where extract-bench's own tests replace its client."""

import litellm

__all__ = ["litellm"]
