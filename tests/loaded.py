"""Processes that are forked from one that has LiteLLM loaded: to import it takes each 3 seconds.

Such a process dies as any other. What a new interpreter does is tested as well, once per subject.
"""

import multiprocessing
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing.connection import Connection
from multiprocessing.context import ForkServerContext, ForkServerProcess
from typing import TextIO

from tests.waiting import PATIENCE


def loaded_context() -> ForkServerContext:
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["tests.preloaded"])
    return context


@dataclass
class Script:
    """A script that runs in a process of its own, and what it reads and writes."""

    process: ForkServerProcess
    stdin: TextIO
    stdout: TextIO

    def result(self) -> str:
        """Let it end well, and return what else it writes, its complaints included."""
        self.stdin.close()
        text = self.stdout.read()
        self.process.join(PATIENCE)
        assert self.process.exitcode == 0, text
        return text


@contextmanager
def loaded_script(code: str, *arguments: str) -> Iterator[Script]:
    """Run a script with arguments; it does not outlive the block."""
    read_in, write_in = multiprocessing.Pipe(duplex=False)
    read_out, write_out = multiprocessing.Pipe(duplex=False)
    given = code, arguments, dict(os.environ), read_in, write_out
    process = loaded_context().Process(target=_run, args=given)
    process.start()
    for theirs in (read_in, write_out):
        theirs.close()
    with (
        os.fdopen(os.dup(write_in.fileno()), "w") as stdin,
        os.fdopen(os.dup(read_out.fileno())) as stdout,
    ):
        for ours in (write_in, read_out):
            ours.close()
        try:
            yield Script(process, stdin, stdout)
        finally:
            process.kill()
            process.join(PATIENCE)


def _run(
    code: str,
    arguments: tuple[str, ...],
    environment: dict[str, str],
    read: Connection,
    write: Connection,
) -> None:
    for connection, places in ((read, [0]), (write, [1, 2])):
        for place in places:
            os.dup2(connection.fileno(), place)
        connection.close()
    sys.stdin = os.fdopen(0, closefd=False)
    sys.argv = ["-c", *arguments]
    os.environ.clear()
    os.environ.update(environment)
    exec(code, {"__name__": "__main__"})  # noqa: S102 - a script of a test


def begin_extract(folder: str, url: str, mode: str) -> ForkServerProcess:
    """Begin a run over the sample in a process of its own."""
    process = loaded_context().Process(target=_extract, args=(folder, url, mode))
    process.start()
    return process


def _extract(folder: str, url: str, mode: str) -> None:
    from extractbench_nb.judges import LLM
    from extractbench_nb.runs.dataset import load_dataset
    from extractbench_nb.runs.extracting import extract

    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
    model = LLM("openai/test-model", api_base=url, max_concurrency=4, retry_wait=0.0)
    extract(load_dataset("sample"), model=model, folder=folder, mode=mode, progress=False)
