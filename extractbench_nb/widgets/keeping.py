"""`keep_static`: a saved notebook that shows the static twins of its views."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from extractbench_nb._files import write_texts
from extractbench_nb._json import read_text
from extractbench_nb.errors import InputError

__all__ = ["WIDGET", "drop_live_part", "keep_static"]

WIDGET = "application/vnd.jupyter.widget-view+json"


def keep_static(notebook: str | Path, target: str | Path | None = None) -> int:
    """Drop the live part of every view in a saved notebook, so that its static twin is shown.

    A notebook keeps both parts of a view. Where there is no kernel behind it, the live part hides
    the other: a reopened or exported notebook shows an error or nothing.

    Parameters
    ----------
    notebook : str or pathlib.Path
        The ``.ipynb`` file.
    target : str, pathlib.Path or None, optional
        Where to write; None replaces `notebook`.

    Returns
    -------
    int
        How many outputs were changed. Widgets without a static twin, those of other packages, stay
        as they are; the state of widgets is dropped where none of them is left.

    Raises
    ------
    InputError
        The file cannot be read, or is no notebook.
    OutputError
        The file cannot be written; what was there before is as it was.
    """
    source = Path(notebook)
    content = _read(source)
    changed = left = 0
    for cell in content["cells"]:
        for output in cell.get("outputs", ()):
            data = output.get("data", {})
            changed += drop_live_part(data)
            left += WIDGET in data
    if not left:
        content.get("metadata", {}).pop("widgets", None)
    text = json.dumps(content, ensure_ascii=False, indent=1) + "\n"
    write_texts({source if target is None else Path(target): text})
    return changed


def drop_live_part(data: dict[str, Any]) -> bool:
    """Drop the live part of one output where there is a static twin beside it.

    Parameters
    ----------
    data : dict
        The MIME bundle of the output; it is changed.

    Returns
    -------
    bool
        Whether there was such a part.
    """
    if WIDGET not in data or "text/html" not in data:
        return False
    del data[WIDGET]
    return True


def _read(path: Path) -> dict[str, Any]:
    text = read_text(path, "notebook")
    try:
        content = json.loads(text)
    except json.JSONDecodeError as error:
        raise InputError(f"{str(path)!r} is no notebook: {error}") from None
    if not isinstance(content, dict) or not isinstance(content.get("cells"), list):
        raise InputError(f"{str(path)!r} is no notebook: it has no list of cells")
    return content
