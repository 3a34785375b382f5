"""Which array of an evaluation is meant: by its path, by its field, or because there is one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pandas as pd

from extractbench_nb._html import one_line
from extractbench_nb.errors import InputError, nearest

__all__ = ["chosen_array"]

_MOST_NAMED = 12
_LONGEST_NAME = 300


def chosen_array(arrays: pd.DataFrame, path: Any = None) -> str:
    """Return the instance path of the array that is meant.

    Parameters
    ----------
    arrays : pandas.DataFrame
        ``Evaluation.arrays``.
    path : str or None, optional
        ``$.authors``, ``authors`` or ``authors[]``; a field may have one array only. None where
        the evaluation has one array.

    Returns
    -------
    str
        The path.

    Raises
    ------
    InputError
        No array is meant, or more than one; the nearest or all paths are given.
    """
    paths = [str(p) for p in arrays["path"]]
    if not paths:
        raise InputError("the evaluation has no arrays: neither gold nor prediction has one")
    if path is None:
        if len(paths) > 1:
            raise InputError(f"path is None, but there are {len(paths):,} arrays: {_named(paths)}")
        return paths[0]
    if not isinstance(path, str):
        raise InputError(f"path is {path!r}; expected the path of an array, such as {paths[0]!r}")
    return _named_array(arrays, paths, path)


def _named_array(arrays: pd.DataFrame, paths: list[str], path: str) -> str:
    if path in paths:
        return path
    if f"$.{path}" in paths:
        return f"$.{path}"
    fields = [str(f) for f in arrays["field"]]
    wanted = {path, path.removesuffix("[]"), path.removeprefix("$.").removesuffix("[]")}
    found = [p for p, field in zip(paths, fields, strict=True) if field in wanted]
    if len(found) == 1:
        return found[0]
    shown = repr(one_line(path, _LONGEST_NAME))
    if found:
        raise InputError(
            f"field {shown} has {len(found):,} arrays: {_named(found)}; name one by its path"
        )
    near = nearest(path[:_LONGEST_NAME], {n for n in (*paths, *fields) if len(n) <= _LONGEST_NAME})
    raise InputError(f"there is no array {shown}; {near}")


def _named(paths: Sequence[str]) -> str:
    more = f" and {len(paths) - _MOST_NAMED:,} more" if len(paths) > _MOST_NAMED else ""
    return ", ".join(repr(one_line(p, _LONGEST_NAME)) for p in paths[:_MOST_NAMED]) + more
