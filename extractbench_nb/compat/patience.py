"""How the evaluator of the published form calls metrics that wait: a timeout, and new attempts."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from math import isfinite
from typing import Any

from extractbench_nb.errors import InputError
from extractbench_nb.scoring import CALLER

__all__ = ["AsyncEvaluationConfig", "patience"]

Call = Callable[[], Awaitable[Any]]

#: Mistakes in a metric's code; another attempt would end the same way.
_MISTAKES = (
    ArithmeticError,
    AssertionError,
    AttributeError,
    LookupError,
    NameError,
    NotImplementedError,
    SyntaxError,
    TypeError,
)


@dataclass
class AsyncEvaluationConfig:
    """How metrics that wait (those that are classes or ``async`` functions) are called.

    Parameters
    ----------
    metric_timeout_seconds : float or None, optional
        Seconds that one attempt may take, more than 0; None for no limit.
    n_max_retries : int, optional
        Attempts in all, 1 or more. A mistake in the metric's code, a `TypeError` for example,
        gets no second one.
    sleep_base_seconds_for_retry : float, optional
        Seconds to wait after the first attempt; after the second twice as many, and so on.
    max_sleep_time_seconds : float, optional
        Seconds to wait at most.
    parallel_traversal : bool, optional
        Whether metrics wait at the same time, or one after the other.

    Raises
    ------
    InputError
        A number is out of range.

    Examples
    --------
    >>> AsyncEvaluationConfig(metric_timeout_seconds=5, n_max_retries=1).parallel_traversal
    True
    """

    metric_timeout_seconds: float | None = 60
    n_max_retries: int = 3
    sleep_base_seconds_for_retry: float = 3
    max_sleep_time_seconds: float = 30
    parallel_traversal: bool = True

    def __post_init__(self) -> None:
        """Check the ranges."""
        checks = (
            ("metric_timeout_seconds", 0.0, False),
            ("n_max_retries", 1.0, True),
            ("sleep_base_seconds_for_retry", 0.0, True),
            ("max_sleep_time_seconds", 0.0, True),
        )
        for name, least, included in checks:
            value = getattr(self, name)
            if value is None and name == "metric_timeout_seconds":
                continue
            if not _is_number(value) or value < least or (value == least and not included):
                bound = f"{least:g} or more" if included else f"more than {least:g}"
                raise InputError(f"{name} is {value!r}; expected a number that is {bound}")


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and isfinite(value)


@contextmanager
def patience(config: AsyncEvaluationConfig) -> Iterator[None]:
    """Have the evaluations that begin here call metrics as `config` says.

    Parameters
    ----------
    config : AsyncEvaluationConfig
        Timeout and attempts.

    Yields
    ------
    None
        While it holds; for the current task and what it starts only.
    """
    token = CALLER.set(_Caller(config))
    try:
        yield
    finally:
        CALLER.reset(token)


class _Caller:
    """Calls one metric after the other, or all at once, each as often as it takes."""

    def __init__(self, config: AsyncEvaluationConfig) -> None:
        self.config = config
        self.turn = None if config.parallel_traversal else asyncio.Lock()

    async def __call__(self, call: Call) -> Any:
        from tenacity import AsyncRetrying, retry_if_not_exception_type, stop_after_attempt
        from tenacity.wait import wait_incrementing

        pause = self.config.sleep_base_seconds_for_retry
        attempts = AsyncRetrying(
            stop=stop_after_attempt(self.config.n_max_retries),
            wait=wait_incrementing(pause, pause, self.config.max_sleep_time_seconds),
            retry=retry_if_not_exception_type(_MISTAKES),
            reraise=True,
        )
        async with self.turn or nullcontext():
            return await attempts(self._once, call)

    async def _once(self, call: Call) -> Any:
        limit = self.config.metric_timeout_seconds
        scope = asyncio.timeout(limit)
        try:
            async with scope:
                return await call()
        except TimeoutError:
            if scope.expired():
                raise TimeoutError(f"no result within {limit:g} seconds") from None
            raise
