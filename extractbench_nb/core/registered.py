"""What the core finds without importing it: the package's `__init__` says where it is."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from extractbench_nb.errors import UnavailableError

_PLACES: dict[str, str] = {}


def register(**places: str) -> None:
    """Say where the functions of higher layers are, by the names under which the core calls them.

    Parameters
    ----------
    **places : str
        As ``module:name``. ``model_judge(model)`` gives a judge, ``model_aligner()`` an aligner,
        ``table_grits(gold, predicted, measure, variant)`` a score, ``mismatch_frame(fields)`` the
        frame of wrong values, ``frame_html(frame)`` its HTML, ``write_report(evaluation, folder)``
        and ``write_parquet(evaluation, folder)`` the folder.
    """
    _PLACES.update(places)


def registered(name: str) -> Any:
    """Return what is registered under a name; its module is imported now.

    Raises
    ------
    UnavailableError
        The core is used without the rest of the package.
    """
    if name not in _PLACES:
        raise UnavailableError(f"{name} is not in the core; import extractbench_nb, which adds it")
    module, _, attribute = _PLACES[name].partition(":")
    return getattr(import_module(module), attribute)
