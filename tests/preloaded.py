"""Imports LiteLLM and what uses it, in the process that `tests.loaded` has others forked from."""

from extractbench_nb.core.evaluation import evaluate
from extractbench_nb.judges.client import litellm
from extractbench_nb.runs.extracting import extract

__all__ = ["evaluate", "extract"]

litellm()
