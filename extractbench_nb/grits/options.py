"""Options that several functions of tables share, checked."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from extractbench_nb.errors import InputError, nearest

__all__ = ["checked_names", "checked_variant"]


def checked_names(given: Any, known: Iterable[str], what: str = "metrics") -> list[str]:
    """Return the names that are asked for.

    Parameters
    ----------
    given : str or sequence of str
        One name, or several.
    known : iterable of str
        All names.
    what : str, optional
        The parameter, for errors.

    Returns
    -------
    list of str
        In the order of `known`.

    Raises
    ------
    InputError
        There is none, or one that is not known.
    """
    names = list(known)
    if not isinstance(given, Iterable):
        raise InputError(f"{what} is {given!r}; choose among {', '.join(names)}")
    asked = [given] if isinstance(given, str) else list(given)
    for name in asked:
        if name not in names:
            raise InputError(f"{what}: no {name!r}; {nearest(str(name), names)}")
    if not asked:
        raise InputError(f"{what} is empty; choose among {', '.join(names)}")
    return [name for name in names if name in asked]


def checked_variant(given: Any, known: Iterable[str]) -> str:
    """Return the variant of grid table similarity.

    Parameters
    ----------
    given : str
        One of `known`.
    known : iterable of str
        All variants.

    Returns
    -------
    str
        The same.

    Raises
    ------
    InputError
        It is not known.
    """
    names = list(known)
    if not isinstance(given, str) or given not in names:
        raise InputError(f"variant is {given!r}; {nearest(str(given), names)}")
    return given
