"""The frame to work on, from whatever holds it: a result, a frame, a mapping or a list of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import pandas as pd

from extractbench_nb.errors import InputError, nearest
from extractbench_nb.evaluation.frames import SUMMARY

__all__ = ["TEXT", "gather", "known_columns", "label", "refuse_missing", "with_extra_columns"]

#: Python storage: names of runs and documents may hold lone surrogates, which Arrow cannot.
TEXT = pd.StringDtype("python")

_LEVELS = ("run", "document")


def gather(source: object, part: str) -> pd.DataFrame:
    """Return one frame of results.

    Parameters
    ----------
    source : object
        A DataFrame, which is returned as it is; an object with the attribute `part` (an
        `Evaluation`, a batch); a mapping from run to such a source, or from run to a mapping from
        document to `Evaluation`; or a list of sources. The evaluations of a list are numbered as
        documents.
    part : str
        ``"fields"`` or ``"summary"``.

    Returns
    -------
    pandas.DataFrame
        The rows of all sources. The keys of mappings are in the columns ``run`` and ``document``.

    Raises
    ------
    InputError
        The source holds no such frame, is empty, or a key stands for several runs or documents.
    """
    return _frame(source, part, _LEVELS)


def _frame(source: object, part: str, levels: tuple[str, ...]) -> pd.DataFrame:
    if isinstance(source, pd.DataFrame):
        return source
    if isinstance(source, Mapping):
        return _from_mapping(source, part, levels)
    if isinstance(source, list | tuple):
        return _from_list(source, part, levels)
    found = getattr(source, part, None)
    if isinstance(found, pd.Series):
        return _one_row(found, source)
    if isinstance(found, pd.DataFrame):
        return found
    raise InputError(
        f"{type(source).__name__} has no frame {part!r}; pass an Evaluation, the results of a "
        "batch, a DataFrame, a mapping from run to one of these, or a list of them"
    )


def _one_row(summary: pd.Series, evaluation: object) -> pd.DataFrame:
    """Return the summary of a single evaluation as a batch has it."""
    problem = getattr(getattr(evaluation, "inputs", None), "problem", None)
    row = {str(name): [value] for name, value in summary.items()}
    return pd.DataFrame(row | {"outcome": ["invalid" if problem else "evaluated"]})


def _from_mapping(source: Mapping[Any, object], part: str, levels: tuple[str, ...]) -> pd.DataFrame:
    if not levels:
        raise InputError("a mapping goes from run to document to Evaluation, and no deeper")
    _refuse_empty(source, "mapping")
    frames = []
    for key, value in source.items():
        frame = _frame(value, part, levels[1:])
        _refuse_several(frame, levels[0], key)
        frames.append(frame.assign(**{levels[0]: pd.array([str(key)] * len(frame), dtype=TEXT)}))
    return pd.concat(frames, ignore_index=True)


def _from_list(source: Sequence[object], part: str, levels: tuple[str, ...]) -> pd.DataFrame:
    _refuse_empty(source, type(source).__name__)
    frames = []
    for number, value in enumerate(source):
        frame = _frame(value, part, levels)
        if "document" not in frame.columns and not isinstance(value, pd.DataFrame):
            frame = frame.assign(document=pd.array([str(number)] * len(frame), dtype=TEXT))
        frames.append(frame)
    return pd.concat(frames, ignore_index=True)


def _refuse_empty(source: Mapping[Any, object] | Sequence[object], kind: str) -> None:
    if not source:
        raise InputError(f"an empty {kind} holds no results")


def _refuse_several(frame: pd.DataFrame, level: str, key: object) -> None:
    found = list(frame[level].unique()) if level in frame.columns else []
    if len(found) > 1:
        names = ", ".join(repr(str(name)) for name in found[:4])
        raise InputError(
            f"{key!r} would stand for {len(found)} {level}s ({names}); "
            f"pass one {level} a key, or one DataFrame with a column of your own to tell them apart"
        )


def with_extra_columns(fields: pd.DataFrame, source: object, names: Iterable[str]) -> pd.DataFrame:
    """Add columns that a batch keeps in its summary only, such as a model's temperature.

    Parameters
    ----------
    fields : pandas.DataFrame
        The rows of `source`.
    source : object
        Where a frame ``summary`` with run and document may be.
    names : iterable of str
        Columns that are asked for.

    Returns
    -------
    pandas.DataFrame
        The same frame where nothing is to be added.
    """
    summary = getattr(source, "summary", None)
    if not isinstance(summary, pd.DataFrame):
        return fields
    extra = [n for n in names if n not in fields.columns and n in summary.columns]
    extra = [n for n in extra if n not in SUMMARY.names]
    if not extra:
        return fields
    keys = list(_LEVELS)
    return fields.merge(summary[[*keys, *extra]], on=keys, how="left", validate="many_to_one")


def known_columns(
    by: str | Iterable[str], frame: pd.DataFrame, *, without: Iterable[str] = ()
) -> list[str]:
    """Return the columns that `by` names, each once, or raise `InputError` with the nearest names.

    Parameters
    ----------
    by : str or iterable of str
        One name, or several.
    frame : pandas.DataFrame
        Where the columns have to be.
    without : iterable of str, optional
        Columns that are no groups.

    Returns
    -------
    list of str
        The names, in the order given.

    Raises
    ------
    InputError
        A name is not a column, or none is given.
    """
    names = [by] if isinstance(by, str) else list(dict.fromkeys(by))
    if not names:
        raise InputError("`by` is empty; name a column, for example 'run'")
    known = [str(c) for c in frame.columns if c not in set(without)]
    for name in names:
        if name not in known:
            raise InputError(f"there is no column {name!r} to group by; {nearest(name, known)}")
    return names


def refuse_missing(frame: pd.DataFrame, names: Iterable[str], what: str = "fields") -> None:
    """Raise `InputError` that names a column which a frame does not have, if any."""
    given: object = frame
    if not isinstance(given, pd.DataFrame):
        raise InputError(f"{what} is {type(given).__name__}; expected a DataFrame")
    for name in names:
        if name not in frame.columns:
            known = [str(c) for c in frame.columns]
            raise InputError(f"{what}: there is no column {name!r}; {nearest(name, known)}")


def label(key: object) -> str:
    """Write a group's key as text: a tuple's parts joined by `` / ``."""
    return " / ".join(str(part) for part in key) if isinstance(key, tuple) else str(key)
