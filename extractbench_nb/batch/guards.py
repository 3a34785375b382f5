"""Which folders results may be written to: asked before any work."""

from __future__ import annotations

from pathlib import Path

from extractbench_nb._json import read_document
from extractbench_nb.batch.files import DESCRIPTION, DIGEST, NAMES
from extractbench_nb.batch.store import DATABASE
from extractbench_nb.errors import InputError

__all__ = ["refuse_file", "refuse_foreign", "refuse_occupied", "refuse_unfinishable"]


def refuse_file(folder: Path, option: str = "folder") -> None:
    """Raise `InputError` where there is a file in place of a folder."""
    if folder.exists() and not folder.is_dir():
        raise InputError(f"{option} {str(folder)!r} is a file, not a folder")


def refuse_occupied(folder: Path, option: str = "folder") -> None:
    """Raise `InputError` where a folder holds files of a batch."""
    refuse_file(folder, option)
    found = next((name for name in (DATABASE, *NAMES) if (folder / name).exists()), None)
    if found is None:
        return
    hint = f"take it up with resume={str(folder)!r}, or " if found == DATABASE else ""
    raise InputError(
        f"{option} {str(folder)!r} holds a batch already ({found}); {hint}use another folder"
    )


def refuse_foreign(folder: Path) -> None:
    """Raise `InputError` where a folder holds what `Evaluations.save` must not replace.

    Parameters
    ----------
    folder : pathlib.Path
        What an earlier `save` wrote there may be replaced; a batch that can be taken up, and files
        of the same names that others wrote, may not. Other files do not matter.
    """
    refuse_file(folder)
    if (folder / DATABASE).exists():
        refuse_occupied(folder)
    for name in NAMES:
        path = folder / name
        if path.exists() and not _is_ours(path):
            raise InputError(
                f"folder {str(folder)!r} holds a file {name!r} that is no saved result; "
                "use another folder"
            )


def _is_ours(path: Path) -> bool:
    import pyarrow as pa
    import pyarrow.parquet as pq

    if path.name == DESCRIPTION:
        try:
            found = read_document(path, "batch")
        except InputError:
            return False
        return isinstance(found, dict) and "extractbench_nb" in found
    try:
        return DIGEST in (pq.read_metadata(path).metadata or {})
    except (OSError, pa.ArrowException):
        return False


def refuse_unfinishable(folder: Path) -> None:
    """Raise `InputError` where a folder holds results, but not what is needed to take them up."""
    refuse_file(folder, "resume")
    if (folder / DESCRIPTION).exists() and not (folder / DATABASE).exists():
        raise InputError(
            f"resume {str(folder)!r} holds saved results and no {DATABASE}; only a folder that "
            "save_to or resume wrote can be taken up"
        )
