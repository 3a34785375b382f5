"""`extract` in processes that are forked from one that has LiteLLM loaded: each would need seconds.

Such a process dies as any other; what a new interpreter does is in `test_killed_half_way`.
"""

import multiprocessing
import os
from multiprocessing.context import ForkServerProcess

from extractbench_nb.benchmark.dataset import load_dataset
from extractbench_nb.extraction.runs import extract


def _extract(folder: str, url: str, mode: str) -> None:
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
    options = {"mode": mode, "retry_wait": 0.0, "progress": False}
    extract(
        load_dataset("sample"), model="openai/test-model", folder=folder, api_base=url, **options
    )


def begin_loaded(folder: str, url: str, mode: str) -> ForkServerProcess:
    """Begin a run in a process of its own."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([__name__, "tests.extraction.runs.preloaded"])
    process = context.Process(target=_extract, args=(folder, url, mode))
    process.start()
    return process
