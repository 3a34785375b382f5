"""Runs kept as files: a folder laid out as ``run/document.json``."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from extractbench_nb.errors import InputError

__all__ = ["check_readable", "read_folder"]

SUFFIX = ".json"
_LAYOUT = "expected the layout run/document.json"


def read_folder(folder: Path) -> pd.DataFrame:
    """List the outputs of a folder, ordered by run and document.

    Parameters
    ----------
    folder : pathlib.Path
        With one folder a run; names that begin with a dot are left out, and so is what is no JSON
        beside the runs.

    Returns
    -------
    pandas.DataFrame
        One row an output: run, document, predicted (its path).

    Raises
    ------
    InputError
        No such folder, a file where none belongs, no runs, or a run without outputs.
    """
    if not folder.is_dir():
        found = "a file" if folder.exists() else "nothing"
        raise InputError(f"runs: found {found} at {str(folder)!r}; expected a folder of runs")
    rows: list[tuple[str, str, Path]] = []
    for run in _visible(folder):
        if run.is_dir():
            rows.extend((run.name, path.name.removesuffix(SUFFIX), path) for path in _outputs(run))
        elif run.name.endswith(SUFFIX):
            raise InputError(f"{str(run)!r} is not in the folder of a run; {_LAYOUT}")
    if not rows:
        raise InputError(f"runs: no folder of a run in {str(folder)!r}; {_LAYOUT}")
    names = ("run", "document", "predicted")
    columns = zip(names, zip(*rows, strict=True), strict=True)
    return pd.DataFrame({name: pd.Series(cells, dtype=object) for name, cells in columns})


def _outputs(run: Path) -> list[Path]:
    outputs = _visible(run)
    for path in outputs:
        if not path.name.endswith(SUFFIX):
            found = "a folder" if path.is_dir() else "a file without .json"
            raise InputError(f"{str(path)!r} is {found}; {_LAYOUT}")
    if not outputs:
        raise InputError(
            f"no outputs in the folder {str(run)!r} of run {run.name!r}; {_LAYOUT}; remove the "
            "folder where the run has none"
        )
    return outputs


def _visible(folder: Path) -> list[Path]:
    try:
        entries = [entry for entry in folder.iterdir() if not entry.name.startswith(".")]
    except OSError as error:
        problem = error.strerror or str(error)
        raise InputError(f"runs folder {str(folder)!r} cannot be read: {problem}") from None
    return sorted(entries, key=lambda entry: entry.name)


def check_readable(path: Path, where: str) -> None:
    """Raise `InputError` where a file cannot be opened, before any work is done.

    Parameters
    ----------
    path : pathlib.Path
        The file.
    where : str
        What names it, such as a row.
    """
    try:
        with path.open("rb"):
            pass
    except OSError as error:
        problem = error.strerror or str(error)
        raise InputError(f"{where}: file {str(path)!r} cannot be read: {problem}") from None
