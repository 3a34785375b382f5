"""Imports LiteLLM, in the process that `tests.extraction.runs.loaded` has others forked from."""

from extractbench_nb.judges.client import litellm

litellm()
