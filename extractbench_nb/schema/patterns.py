"""Regular expressions from schemas: searched with a limit, since some take time without end."""

from __future__ import annotations

import warnings
from functools import lru_cache
from typing import Any

__all__ = ["Patterns"]

#: Seconds of processor time for one search. Patterns that do not backtrack need microseconds.
_SECONDS = 0.05
#: A pattern that took longer once is tried on texts of at most so many characters.
_SHORT = 16


class Patterns:
    """Searches texts for patterns; one that takes too long or cannot be read is given up.

    An instance remembers what it gave up, so that the time it takes does not grow with the number
    of texts.
    """

    def __init__(self) -> None:
        self._longest: dict[str, int] = {}

    def search(self, pattern: str, text: str) -> bool:
        """Say whether a text contains what a pattern describes.

        Parameters
        ----------
        pattern : str
            A regular expression, as ECMA 262 and `re` write it, Unicode classes included.
        text : str
            Where to search.

        Returns
        -------
        bool
            True if it matches somewhere.

        Raises
        ------
        ValueError
            The pattern cannot be read, or it takes more than 0.05 seconds.
        """
        if len(text) > self._longest.get(pattern, len(text)):
            raise ValueError(f"pattern {pattern[:60]!r} was given up")
        try:
            return _compiled(pattern).search(text, timeout=_SECONDS) is not None
        except TimeoutError:
            self._longest[pattern] = _SHORT
            raise ValueError(f"pattern {pattern[:60]!r} takes too long") from None
        except ValueError:
            self._longest[pattern] = -1
            raise

    def matches(self, pattern: str, text: str) -> bool:
        """Say whether a pattern matches; one that is given up does not."""
        try:
            return self.search(pattern, text)
        except ValueError:
            return False


@lru_cache(maxsize=4096)
def _compiled(pattern: str) -> Any:
    import regex

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of constructs that may change their meaning some day
        try:
            return regex.compile(pattern)
        except (regex.error, RecursionError, OverflowError) as error:
            raise ValueError(f"pattern {pattern[:60]!r} cannot be read: {error}") from None
