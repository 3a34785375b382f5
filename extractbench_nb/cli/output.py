"""What commands print, for people and for machines, how they fail, and options that they share."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

import click

from extractbench_nb.core import PROFILES
from extractbench_nb.errors import ExtractBenchError
from extractbench_nb.support.moved import moved_hint
from extractbench_nb.support.wording import document_json

if TYPE_CHECKING:
    import pandas as pd

_Function = TypeVar("_Function", bound=Callable[..., Any])


class OrderedGroup(click.Group):
    """Lists commands in the order of their definition; names the successors of those that went."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names in that order."""
        return list(self.commands)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find a command; if it has moved or gone, the error says what to use."""
        hint = moved_hint(f"{ctx.command_path} {args[0]}")
        if hint:
            ctx.fail(hint)
        return super().resolve_command(ctx, args)


json_option = click.option(
    "--json", "as_json", is_flag=True, help="Print the results as one JSON document."
)
judge_option = click.option(
    "--judge",
    default="offline",
    show_default=True,
    metavar="NAME",
    help="Judge that compares the meaning of texts; 'offline' uses rules, not a model.",
)

profile_option = click.option(
    "--profile",
    type=click.Choice(list(PROFILES)),
    default="strict",
    show_default=True,
    help="Scoring rules; to compare them, use the command `profiles`.",
)


def scoring_options(command: _Function) -> _Function:
    """Add the options of every evaluation: profile, judge, and JSON output."""
    return profile_option(judge_option(json_option(command)))


accepted_option = click.option(
    "--accepted",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="JSON or CSV file with additional correct values, by document and path.",
)


def statistics_options(command: _Function) -> _Function:
    """Add the options of intervals: confidence and seed."""
    confidence = click.option(
        "--confidence",
        default=0.95,
        show_default=True,
        type=click.FloatRange(0, 1, min_open=True, max_open=True),
        help="Confidence level for intervals.",
    )
    seed = click.option("--seed", default=0, show_default=True, help="Seed for the resampling.")
    return confidence(seed(command))


#: Exit statuses: could not do what was asked; interrupted (as shells report SIGINT).
FAILED, INTERRUPTED = 1, 130


def print_text(text: str) -> None:
    """Print text that may come from documents; control characters are replaced."""
    click.echo("".join(c if c.isprintable() or c in "\n\t" else "\ufffd" for c in text))


def print_table(table: pd.DataFrame) -> None:
    """Print a frame; a missing cell is a dash."""
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
    """Turn a frame into JSON objects, one per row."""
    rows = frame.astype(object).to_dict("records")
    return [{str(name): plain(cell) for name, cell in row.items()} for row in rows]


def plain(cell: Any) -> Any:
    """Turn a cell into valid JSON: NaN and missing become null, unknown types their text."""
    import pandas as pd

    value = cell.item() if hasattr(cell, "item") else cell
    if value is pd.NA or value is pd.NaT or (isinstance(value, float) and not isfinite(value)):
        return None
    return document_json(value)


@contextmanager
def one_line_errors() -> Iterator[None]:
    """Report an expected error as one line on standard error, and exit with its status."""
    try:
        yield
    except click.ClickException as error:
        error.show()
        sys.exit(error.exit_code)
    except (click.Abort, KeyboardInterrupt):
        fail("interrupted", INTERRUPTED)
    except BrokenPipeError:  # the reader has gone, as in `... | head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(FAILED)
    except (ExtractBenchError, OSError) as error:
        fail(str(error), FAILED)


def fail(problem: str, status: int) -> NoReturn:
    """Print a problem as one line on standard error, and exit."""
    line = " ".join(problem.split())
    click.echo("error: " + "".join(c if c.isprintable() else "?" for c in line), err=True)
    sys.exit(status)
