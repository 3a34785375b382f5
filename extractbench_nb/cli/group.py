"""The command group, and the options that several commands share."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from extractbench_nb._version import __version__
from extractbench_nb.profiles import PROFILES

__all__ = ["COMMAND", "FILE", "commands", "document_files", "json_option", "scoring_options"]

COMMAND = "extractbench-nb"
_ORDER = "evaluate report batch compare schema datasets metrics profiles static completion"
FILE = click.Path(path_type=Path)
_HELP = """Evaluate structured extraction: predicted JSON against gold JSON and a JSON Schema.

\b
First steps, on the sample dataset that comes with the package:
  extractbench-nb datasets sample
  extractbench-nb batch sample --save-to results
  extractbench-nb compare results
"""
_EPILOG = (
    "Exit status: 0 if it did what was asked, 1 if it could not (one line on standard error says "
    "where and why), 2 if the call itself is wrong."
)
_Function = TypeVar("_Function", bound=Callable[..., Any])


class _Group(click.Group):
    """Lists commands in the order of a piece of work, not of the alphabet."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names, those that are not in the order last."""
        return sorted(self.commands, key=lambda name: (name not in _ORDER, _ORDER.find(name)))


@click.group(
    cls=_Group,
    help=_HELP,
    epilog=_EPILOG,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(__version__, "-V", "--version", prog_name=COMMAND)
def commands() -> None:
    """Gather the commands."""


def scoring_options(command: _Function) -> _Function:
    """Add what every evaluation takes: the profile, the judge, and JSON for machines."""
    for option in (
        json_option,
        click.option(
            "--judge",
            default="offline",
            show_default=True,
            metavar="NAME",
            help="Who decides that two texts mean the same; 'offline' is deterministic.",
        ),
        click.option(
            "--profile",
            type=click.Choice(list(PROFILES)),
            default="paper",
            show_default=True,
            help="The scoring rules; the command `profiles` shows them side by side.",
        ),
    ):
        command = option(command)
    return command


json_option = click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")


def document_files(command: _Function) -> _Function:
    """Add the three files that one evaluation takes."""
    for name in ("predicted", "gold", "schema"):
        command = click.argument(name, type=FILE)(command)
    return command
