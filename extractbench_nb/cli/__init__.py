"""Run evaluations on the command line; see ``extractbench-nb --help``."""

from __future__ import annotations

from typing import NoReturn

__all__ = ["main"]


def main(arguments: list[str] | None = None) -> NoReturn:
    """Run a command and exit.

    Parameters
    ----------
    arguments : list of str, optional
        What follows the command's name; ``sys.argv`` by default.

    Raises
    ------
    SystemExit
        Always; 0 if the command did what was asked, 1 if it could not, 2 for a usage error, 130 if
        it was interrupted.
    """
    import sys

    from extractbench_nb.cli.commands import COMMAND, commands, one_line_errors

    with one_line_errors():
        commands.main(arguments, prog_name=COMMAND, standalone_mode=False)
        sys.stdout.flush()
    sys.exit(0)
