"""Output of the command line: text and tables, one JSON document, one-line errors."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

import click

from extractbench_nb._version import __version__
from extractbench_nb.display.text import document_json
from extractbench_nb.engine.profiles import PROFILES
from extractbench_nb.errors import ExtractBenchError

if TYPE_CHECKING:
    import pandas as pd

__all__ = [
    "COMMAND",
    "FILE",
    "commands",
    "counts_and_scores",
    "document_files",
    "json_option",
    "one_line_errors",
    "print_frame",
    "print_json",
    "print_table",
    "print_text",
    "records",
    "scoring_options",
]


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


#: Exit statuses: could not do what was asked; interrupted (as shells report SIGINT).
FAILED, INTERRUPTED = 1, 130
#: Entries of a summary that count fields, documents or calls.
_COUNTS = (
    "evaluated",
    "judged",
    "passed",
    "failed",
    "omissions",
    "hallucinations",
    "structural",
    "judge_errors",
    "llm_calls",
)


def print_text(text: str) -> None:
    """Print text that may come from documents; what a terminal would obey is replaced."""
    click.echo("".join(c if c.isprintable() or c in "\n\t" else "\ufffd" for c in text))


def print_table(table: pd.DataFrame) -> None:
    """Print a frame, a missing cell as a dash."""
    cells = table.astype(object).where(table.notna(), "-")
    print_text(cells.to_string(index=False, float_format="{:.3f}".format))


def print_json(value: Any) -> None:
    """Print one strict JSON document; ASCII, so that any terminal and any text survive."""
    click.echo(json.dumps(value, ensure_ascii=True, allow_nan=False, indent=2))


def print_frame(frame: pd.DataFrame, *, as_json: bool, shown: Sequence[str] | None = None) -> None:
    """Print a frame as JSON, or some of its columns as a table."""
    if as_json:
        print_json(records(frame))
    else:
        print_table(frame if shown is None else frame[list(shown)])


def records(frame: pd.DataFrame) -> list[dict[str, Any]]:
    """Turn a frame into JSON objects, one a row."""
    columns = {str(name): [_plain(cell) for cell in frame[name]] for name in frame.columns}
    rows = zip(*columns.values(), strict=True)
    return [dict(zip(columns, row, strict=True)) for row in rows]


def counts_and_scores(summary: Mapping[Any, Any] | pd.Series) -> dict[str, Any]:
    """Write entries of a summary: counts as integers, scores as they are."""
    values = {str(name): _plain(value) for name, value in summary.items()}
    counts = {n: int(v) for n, v in values.items() if n in _COUNTS and v is not None}
    return values | counts


def _plain(cell: Any) -> Any:
    """Write a cell in what JSON has: NaN and missing are null, other things are their text."""
    import pandas as pd

    value = cell.item() if hasattr(cell, "item") else cell
    if value is pd.NA or value is pd.NaT or (isinstance(value, float) and not isfinite(value)):
        return None
    return document_json(value)


@contextmanager
def one_line_errors() -> Iterator[None]:
    """Turn what can go wrong into one line on standard error and an exit status."""
    try:
        yield
    except click.ClickException as error:
        error.show()
        sys.exit(error.exit_code)
    except (click.Abort, KeyboardInterrupt):
        _fail("interrupted", INTERRUPTED)
    except BrokenPipeError:  # the reader has gone, as in `... | head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(FAILED)
    except (ExtractBenchError, OSError) as error:
        _fail(str(error), FAILED)


def _fail(problem: str, status: int) -> NoReturn:
    line = " ".join(problem.split())
    click.echo("error: " + "".join(c if c.isprintable() else "?" for c in line), err=True)
    sys.exit(status)
