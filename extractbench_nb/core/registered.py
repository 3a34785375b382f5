"""What the core finds without importing it: the package's `__init__` registers it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from extractbench_nb.errors import UnavailableError

_FUNCTIONS: dict[str, Callable[..., Any]] = {}


def register(**functions: Callable[..., Any]) -> None:
    """Register functions of higher layers by the names under which the core calls them.

    Parameters
    ----------
    **functions : callable
        ``model_judge(model)`` gives a judge, ``model_aligner()`` an aligner, ``table_grits(gold,
        predicted, measure, variant)`` a score, ``mismatch_frame(fields)`` the frame of wrong
        values, ``frame_html(frame)`` its HTML, ``write_report(evaluation, folder)`` and
        ``write_parquet(evaluation, folder)`` the folder.
    """
    _FUNCTIONS.update(functions)


def registered(name: str) -> Callable[..., Any]:
    """Return the function that is registered under a name.

    Raises
    ------
    UnavailableError
        The core is used without the rest of the package.
    """
    if name not in _FUNCTIONS:
        raise UnavailableError(f"{name} is not in the core; import extractbench_nb, which adds it")
    return _FUNCTIONS[name]
