"""What the folder of a simulation keeps beside its outputs: the profile, the seed, the record."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from extractbench_nb._files import read_own_json, write_texts
from extractbench_nb.errors import InputError
from extractbench_nb.extraction.model_profiles import ModelProfile

__all__ = ["SIMULATION_FILE", "Kept", "columns_of", "read_kept", "write_kept"]

SIMULATION_FILE = "simulation.json"

Columns = Mapping[str, list[Any]]


class Kept(NamedTuple):
    """What is kept; of the outputs all but their texts and metas, which the run has."""

    profile: ModelProfile
    seed: int | str
    outputs: Columns
    record: Columns


def columns_of(frame: pd.DataFrame, *without: str) -> Columns:
    """Return the cells of a frame by column, a missing one as None, but for the columns named."""
    return {
        str(name): [None if cell is pd.NA else cell for cell in frame[name].tolist()]
        for name in frame.columns
        if name not in without
    }


def write_kept(folder: Path, kept: Kept) -> None:
    """Write ``simulation.json``.

    Parameters
    ----------
    folder : pathlib.Path
        Of the run.
    kept : Kept
        What is to be in it.

    Raises
    ------
    OutputError
        It cannot be written.
    """
    profile = {one.name: getattr(kept.profile, one.name) for one in fields(kept.profile)}
    found = {**kept._asdict(), "profile": profile}
    text = json.dumps(found, default=_plain)
    write_texts({folder / SIMULATION_FILE: f"{text}\n"})


def _plain(value: Any) -> Any:
    """Return a mapping or number of any kind as one of JSON's."""
    return dict(value) if isinstance(value, Mapping) else float(value)


def read_kept(folder: Path) -> Kept:
    """Read ``simulation.json``.

    Parameters
    ----------
    folder : pathlib.Path
        Of the run.

    Returns
    -------
    Kept
        What was written.

    Raises
    ------
    InputError
        There is none, or it says what no simulation does.
    """
    path = folder / SIMULATION_FILE
    if not path.is_file():
        raise InputError(f"no simulation in {str(folder)!r}: expected a folder with {path.name}")
    found = read_own_json(path, "simulation")
    try:
        kept = Kept(**{**found, "profile": ModelProfile(**found["profile"])})
    except (TypeError, KeyError, InputError) as error:
        raise InputError(f"{str(path)!r} describes no simulation: {error}") from None
    for name, columns in (("outputs", kept.outputs), ("record", kept.record)):
        if not _are_columns(columns):
            raise InputError(f"{str(path)!r} describes no simulation: {name} has no columns")
    return kept


def _are_columns(found: object) -> bool:
    return isinstance(found, dict) and all(isinstance(cells, list) for cells in found.values())
