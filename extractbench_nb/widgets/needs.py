"""Libraries that only the notebook needs, and what to say where they are missing."""

from __future__ import annotations

from importlib.util import find_spec

from extractbench_nb.errors import ConfigError

__all__ = ["notebook_libraries"]


def notebook_libraries() -> None:
    """Refuse to go on without ipywidgets and anywidget.

    Raises
    ------
    ConfigError
        One of them is not installed; names the command that installs it.
    """
    missing = [name for name in ("ipywidgets", "anywidget") if find_spec(name) is None]
    if missing:
        raise ConfigError(
            None,
            f"{' and '.join(missing)}: not installed; views need "
            f"`pip install {' '.join(missing)}`, or `pip install -e '.[notebook]'` in a clone of "
            "the repository",
        )
