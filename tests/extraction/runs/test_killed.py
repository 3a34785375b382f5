"""A run that is killed and taken up in another process: the same folder, nothing asked twice."""

import json
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from extractbench_nb.errors import InputError
from extractbench_nb.runs import extracting as runs
from extractbench_nb.runs.dataset import Dataset
from extractbench_nb.runs.folders import Run
from tests.extraction.runs.conftest import Extract, asked_about, said_about
from tests.llm_server import HANG, LLMServer, Reply, Request, failure
from tests.loaded import begin_extract
from tests.waiting import PATIENCE, wait_until

PROGRAM = """
import signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell may have it ignored
import extractbench_nb as xb
from extractbench_nb.runs.extracting import extract
model = xb.LLM("openai/test-model", api_base=sys.argv[2], max_concurrency=4, retry_wait=0.0)
extract(xb.load_dataset("sample"), model=model, folder=sys.argv[1], mode=sys.argv[3],
        progress=False)
"""


def begin(folder: Path, server: LLMServer, mode: str) -> subprocess.Popen[bytes]:
    arguments = [sys.executable, "-c", PROGRAM, str(folder), server.url, mode]
    return subprocess.Popen(arguments, stderr=subprocess.DEVNULL)


def wait_for(folder: Path, count: int, is_over: Callable[[], object]) -> None:
    """Wait until so many outputs are there, or the process is through."""
    wait_until(lambda: is_over() or len(list(folder.glob("*.meta.json"))) >= count)


def finish(folder: Path, server: LLMServer, mode: str) -> None:
    """Let a run end in another process."""
    process = begin_extract(str(folder), server.url, mode)
    process.join(PATIENCE)
    assert process.exitcode == 0


def contents(folder: Path) -> dict[str, Any]:
    """Return all that a folder holds, but for what the clock says."""
    found: dict[str, Any] = {}
    for path in sorted(folder.iterdir()):
        if path.suffix != ".json":
            found[path.name] = path.read_bytes()
            continue
        value = json.loads(path.read_text())
        for name in ("begun", "ended", "latency_seconds"):
            value.pop(name, None)
        found[path.name] = value
    return found


def reply_about(document: str) -> Reply:
    """Answer well, in part, not at all or with an error: whatever is asked about."""
    replies = [
        Reply(said_about(document)),
        Reply('{"cut": "of', finish_reason="length"),
        failure(400, "A maximum of 100 PDF pages may be provided."),
        Reply(None),
        Reply(said_about(document) * 2_000),
    ]
    return replies[sum(document.encode()) % len(replies)]


def mixed(request: Request) -> Reply:
    return reply_about(asked_about(request))


@pytest.fixture
def server() -> Iterator[LLMServer]:
    with LLMServer(mixed) as running:
        yield running


def test_interrupted_half_way(
    run: Extract, server: LLMServer, dataset: Dataset, tmp_path: Path
) -> None:
    mode = "structured"
    whole = run(mode=mode, folder=tmp_path / "whole")
    asked = Counter(map(asked_about, server.requests))
    assert asked == Counter(dataset.listing["document"])
    server.forget()
    half = set(sorted(asked)[::2])

    server.respond = lambda request: mixed(request) if asked_about(request) in half else HANG
    folder = tmp_path / "killed"
    first = begin(folder, server, mode)

    def hang() -> bool:  # four at once, so that the run ends there at the latest
        others = [r for r in list(server.requests) if asked_about(r) not in half]
        return len(others) >= 4 or first.poll() is not None

    wait_until(hang)
    done = {asked_about(r) for r in list(server.requests)} & half
    wait_for(folder, len(done), lambda: first.poll() is not None)
    first.send_signal(signal.SIGINT)
    assert first.wait(PATIENCE) == -signal.SIGINT
    assert set(Run.open(folder).documents) == done
    assert Run.open(folder).description["ended"] is None

    server.respond = mixed
    finish(folder, server, mode)
    again = Counter(map(asked_about, server.requests))
    assert {again[document] for document in done} == {1}
    assert again.total() == len(asked) + 4
    assert contents(folder) == contents(whole.folder)


def few(count: int) -> Callable[[Request], Reply]:
    """Answer so many requests, and leave the others waiting."""
    left = iter(range(count))
    return lambda request: HANG if next(left, None) is None else mixed(request)


def test_killed_again_and_again(
    run: Extract, server: LLMServer, dataset: Dataset, tmp_path: Path
) -> None:
    folder = tmp_path / "killed"
    finished: set[str] = set()
    rounds = 0
    while len(finished) < len(dataset.listing):
        rounds += 1
        before = len(server.requests)
        server.respond = few(7)
        process = begin_extract(str(folder), server.url, "prompt")
        wait_for(
            folder,
            min(len(finished) + 5, len(dataset.listing)),
            lambda process=process: not process.is_alive(),
        )
        process.kill()
        process.join(PATIENCE)
        now = Run.open(folder)
        assert not finished & set(map(asked_about, server.requests[before:]))
        finished = set(now.documents)
        assert all(now.read(one).raw == reply_about(one).content for one in finished)
    assert 2 <= rounds <= 3
    server.respond = mixed
    finish(folder, server, "prompt")
    whole = run(folder=tmp_path / "whole")
    assert contents(folder) == contents(whole.folder)
    assert Run.open(folder).description["ended"] is not None


@pytest.mark.parametrize("is_over", [False, True])
def test_two_processes_that_begin_the_same_run(
    *,
    run: Extract,
    server: LLMServer,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    is_over: bool,
) -> None:
    """The other process begins after this one found that the folder holds no run."""
    server.respond = mixed if is_over else lambda _: HANG
    begun, before = [], runs.read_texts

    def read_texts(*given: Any) -> Any:
        found = before(*given)
        process = begin_extract(str(tmp_path / "run"), server.url, "prompt")
        begun.append(process)
        if is_over:
            process.join(PATIENCE)
        else:
            wait_until(lambda: len(server.requests) >= 4 or not process.is_alive())
        return found

    monkeypatch.setattr(runs, "read_texts", read_texts)
    try:
        if is_over:
            assert run().unasked == []
        else:
            with pytest.raises(InputError, match="being written by another extract"):
                run()
    finally:
        begun[0].kill()
        begun[0].join(PATIENCE)
    assert len(server.requests) == len(set(map(asked_about, server.requests)))
