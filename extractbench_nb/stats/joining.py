"""Rows of two sides that speak of the same thing, brought together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import pandas as pd

from extractbench_nb.breakdowns.sources import TEXT, refuse_missing
from extractbench_nb.errors import InputError

__all__ = ["Joined", "join_verdicts"]

_SIDES = ("a", "b")


@dataclass(frozen=True, slots=True)
class Joined:
    """Rows of both sides in the same order, and how many found no partner.

    Attributes
    ----------
    a, b : pandas.DataFrame
        The rows that both have, in the order of the first side.
    keys : tuple of str
        The columns they were joined on.
    documents : ndarray of shape (rows,)
        A number a document.
    only_a, only_b : int
        Rows without a partner.
    """

    a: pd.DataFrame
    b: pd.DataFrame
    keys: tuple[str, ...]
    documents: npt.NDArray[np.int64]
    only_a: int
    only_b: int

    def select(self, rows: npt.NDArray[np.bool_]) -> Joined:
        """Return some of the rows, as a mask tells which."""
        places = np.flatnonzero(rows)
        a, b = (side.iloc[places] for side in (self.a, self.b))
        return replace(self, a=a, b=b, documents=self.documents[places])


def join_verdicts(
    a: pd.DataFrame, b: pd.DataFrame, on: str, names: Sequence[str] = ("path", "metric")
) -> Joined:
    """Join the rows of two sides on their keys.

    Parameters
    ----------
    a, b : pandas.DataFrame
        Rows of the form of ``fields``.
    on : str
        The column that is compared; both need it.
    names : sequence of str, optional
        The columns that tell the rows of a document apart; both need them.

    Returns
    -------
    Joined
        The rows that both have. Rows of a side with equal keys are told apart by their order.

    Raises
    ------
    InputError
        A column is missing, one side only says which of several runs or documents a row is of, or
        no row has a partner.
    """
    for frame, side in zip((a, b), _SIDES, strict=True):
        refuse_missing(frame, (*names, on), f"fields of {side}")
    keys = [*_identities(a, b), *names]
    codes, others = _codes(a, b, keys)
    places = pd.Index(others).get_indexer(pd.Index(codes))
    found = np.flatnonzero(places >= 0)
    if not len(found):
        raise InputError(
            f"no row is on both sides (joined on {', '.join(keys)}); {_has(a, b, keys)}"
        )
    document = pd.factorize(a["document"])[0] if "document" in keys else np.zeros(len(a), np.int64)
    return Joined(
        a.iloc[found],
        b.iloc[places[found]],
        tuple(keys),
        document[found].astype(np.int64),
        len(a) - len(found),
        len(b) - len(found),
    )


def _identities(a: pd.DataFrame, b: pd.DataFrame) -> list[str]:
    """Return those of run and document that rows have to share."""
    names = []
    for name in ("run", "document"):
        counts = [f[name].nunique() if name in f.columns else None for f in (a, b)]
        if None in counts:
            _refuse_unnamed(name, counts)
        elif name == "document" or counts != [1, 1]:
            names.append(name)
    return names


def _refuse_unnamed(name: str, counts: list[int | None]) -> None:
    for side, count in zip(_SIDES, counts, strict=True):
        if count is not None and count > 1:
            other = _SIDES[1 - _SIDES.index(side)]
            raise InputError(
                f"{side} has {count} {name}s and {other} does not say which {name} its rows are "
                f"of; add a column {name!r} to {other}, or pass one {name} of {side}"
            )


def _codes(
    a: pd.DataFrame, b: pd.DataFrame, keys: list[str]
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Give each row the number of its keys; rows of a side with equal keys get several."""
    codes = np.zeros(len(a) + len(b), dtype=np.int64)
    for name in keys:
        texts = np.concatenate([frame[name].astype(TEXT).to_numpy(object) for frame in (a, b)])
        numbers, words = pd.factorize(texts, use_na_sentinel=False)
        codes = pd.factorize(codes * len(words) + numbers)[0]
    sides = [codes[: len(a)], codes[len(a) :]]
    times = [pd.Series(side).groupby(side).cumcount().to_numpy() for side in sides]
    most = max(int(t.max(initial=0)) for t in times) + 1
    first, second = (side * most + time for side, time in zip(sides, times, strict=True))
    return first, second


def _has(a: pd.DataFrame, b: pd.DataFrame, keys: list[str]) -> str:
    """Say what both sides have under the first key in which they share nothing."""
    for name in keys:
        values = [list(dict.fromkeys(frame[name].astype(str))) for frame in (a, b)]
        if not set(values[0]) & set(values[1]):
            parts = [
                f"{side} has {name} {', '.join(map(repr, found[:3]))}{' …' if found[3:] else ''}"
                if found
                else f"{side} has no rows"
                for side, found in zip(_SIDES, values, strict=True)
            ]
            return ", ".join(parts)
    return "each key occurs on both sides, but never together"
