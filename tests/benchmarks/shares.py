"""Where the time goes: the shares of the package's parts in a piece of work."""

import signal
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

import extractbench_nb

ROOT = Path(extractbench_nb.__file__).parent
#: CPU seconds between two looks at the stack.
STEP = 0.002
#: Parts of the package by the start of a module's path below it; the longest that fits counts.
PARTS = {
    "": "other",
    "_frames.py": "frames",
    "_json.py": "reading",
    "batch/": "batch",
    "batch/rows.py": "frames",
    "benchmark/": "reading",
    "engine/": "walk",
    "engine/assignment.py": "alignment",
    "engine/bounds.py": "alignment",
    "engine/pairing.py": "alignment",
    "engine/proxy.py": "alignment",
    "engine/similarity.py": "alignment",
    "evaluation/": "frames",
    "evaluation/api.py": "reading",
    "evaluation/warnings.py": "warnings",
    "field_metrics/": "metrics",
    "judges/": "judge",
    "language/": "judge",
    "schema/": "schema",
}


@contextmanager
def sampled() -> Iterator[Counter[str]]:
    """Collect CPU seconds by part while the block runs; only in the main thread.

    Every `STEP` the innermost frame of the package gets the CPU time since the last look. What
    it calls in libraries is so its own, also where one call takes longer than a step.
    """
    seconds: Counter[str] = Counter()
    last = time.process_time()

    def look(_: int, frame: FrameType | None) -> None:
        nonlocal last
        now = time.process_time()
        seconds[_part(frame)] += now - last
        last = now

    before = signal.signal(signal.SIGPROF, look)
    signal.setitimer(signal.ITIMER_PROF, STEP, STEP)
    try:
        yield seconds
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def _part(frame: FrameType | None) -> str:
    while frame is not None:
        path = Path(frame.f_code.co_filename)
        if path.is_relative_to(ROOT):
            module = path.relative_to(ROOT).as_posix()
            return PARTS[max(filter(module.startswith, PARTS), key=len)]
        frame = frame.f_back
    return "libraries"


def shares(work: Callable[[], Any]) -> str:
    """Do some work and return its parts, the largest first: ``"judge 41 %, walk 20 %, ..."``."""
    with sampled() as seconds:
        work()
    total = sum(seconds.values()) or 1.0
    return ", ".join(f"{part} {value / total:.0%}" for part, value in seconds.most_common())
