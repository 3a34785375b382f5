"""Pairs of tables as they are given: a list, a mapping by name, or a DataFrame."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import pandas as pd

from extractbench_nb.errors import InputError

__all__ = ["Pair", "Pairs", "read_pairs"]

_SIDES = ("true", "predicted")


class Pair(NamedTuple):
    """Two tables that are not read yet, and where they stand."""

    place: int
    name: str
    true: Any
    predicted: Any


class Pairs(NamedTuple):
    """All pairs, and a frame with a row for each: ``document`` and what else was told of it."""

    pairs: list[Pair]
    about: pd.DataFrame


def read_pairs(given: Any, taken: Sequence[str]) -> Pairs:
    """Read pairs of tables.

    Parameters
    ----------
    given : DataFrame, mapping or iterable of (true, predicted)
        What `evaluate_tables` is given.
    taken : sequence of str
        Names that columns of the user's cannot have.

    Returns
    -------
    Pairs
        In the order given.

    Raises
    ------
    InputError
        It is none of these, or empty, or a column is missing or has a name that is taken.
    """
    if isinstance(given, pd.DataFrame):
        return _of_frame(given, taken)
    if isinstance(given, Mapping):
        names, pairs = list(map(str, given)), list(given.values())
    elif isinstance(given, Iterable) and not isinstance(given, str | bytes):
        pairs = list(given)
        names = [str(n) for n in range(len(pairs))]
    else:
        raise InputError(
            f"pairs is {type(given).__name__}; expected a list of (true, predicted), a dict from "
            "name to such a pair, or a DataFrame with columns true and predicted"
        )
    if not pairs:
        raise InputError("pairs: there is none")
    about = pd.DataFrame({"document": pd.array(names, dtype="string")})
    return Pairs(list(_checked(zip(names, pairs, strict=True))), about)


def _of_frame(given: pd.DataFrame, taken: Sequence[str]) -> Pairs:
    missing = [side for side in _SIDES if side not in given.columns]
    if missing:
        raise InputError(f"pairs: there is no column {missing[0]!r}")
    others = [name for name in given.columns if name not in _SIDES]
    for name in others:
        if name in taken:
            raise InputError(f"pairs: column {name!r} is one of the result; rename it")
    if given.empty:
        raise InputError("pairs: there is none")
    about = given[others].reset_index(drop=True)
    if "document" not in others:
        about.insert(0, "document", pd.Series(list(map(str, given.index)), dtype="string"))
    names = about["document"].astype(str).tolist()
    pairs = zip(given["true"], given["predicted"], strict=True)
    return Pairs(list(_checked(zip(names, pairs, strict=True))), about)


def _checked(named: Iterable[tuple[str, Any]]) -> Iterator[Pair]:
    for place, (name, pair) in enumerate(named):
        if not isinstance(pair, tuple | list) or len(pair) != len(_SIDES):
            raise InputError(f"pairs, {name!r}: expected (true, predicted)")
        yield Pair(place, name, *pair)
