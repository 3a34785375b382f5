"""The command for saved notebooks: ``static``."""

from __future__ import annotations

from pathlib import Path

import click

from extractbench_nb.cli.group import FILE, commands
from extractbench_nb.cli.output import print_text


@commands.command()
@click.argument("notebooks", type=FILE, nargs=-1, required=True)
def static(notebooks: tuple[Path, ...]) -> None:
    """Keep the static part of views.

    Drops the live part of each view in saved NOTEBOOKS, which are replaced. A reopened or exported
    notebook then shows the static twins.
    """
    from extractbench_nb.widgets.keeping import keep_static

    for path in notebooks:
        changed = keep_static(path)
        print_text(f"{path}: {changed} view{'' if changed == 1 else 's'}")
