"""To do something soon, once, however often it is asked for."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

__all__ = ["Soon"]


class Soon:
    """Calls a function a moment after the last time that it was asked for.

    A held arrow key or a dragged handle asks many times a second; the page is drawn once they are
    heeded. Without an event loop, as in a script, the function is called at once.

    Parameters
    ----------
    act : callable
        The function.
    wait : float, optional
        Seconds.
    """

    def __init__(self, act: Callable[[], None], wait: float = 0.02) -> None:
        self._act, self._wait = act, wait
        self._timer: asyncio.TimerHandle | None = None

    def __call__(self) -> None:
        """Ask for it."""
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:
            self._act()
            return
        if self._timer is not None:
            self._timer.cancel()
        self._timer = loop.call_later(self._wait, self._act)
