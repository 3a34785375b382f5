"""What the command line prints: text and tables, one JSON document, errors in one line."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from math import isfinite
from typing import TYPE_CHECKING, Any, NoReturn

import click

from extractbench_nb.errors import ExtractBenchError

if TYPE_CHECKING:
    import pandas as pd

__all__ = [
    "COUNTS",
    "counts_and_scores",
    "one_line_errors",
    "plain",
    "print_json",
    "print_table",
    "print_text",
    "records",
]

#: Exit statuses: could not do what was asked; interrupted (as shells report SIGINT).
FAILED, INTERRUPTED = 1, 130
#: Entries of a summary that count fields, documents or calls.
COUNTS = (
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


def records(frame: pd.DataFrame) -> list[dict[str, Any]]:
    """Turn a frame into JSON objects, one a row."""
    columns = {str(name): [plain(cell) for cell in frame[name]] for name in frame.columns}
    rows = zip(*columns.values(), strict=True)
    return [dict(zip(columns, row, strict=True)) for row in rows]


def counts_and_scores(summary: Mapping[Any, Any] | pd.Series) -> dict[str, Any]:
    """Write entries of a summary: counts as integers, scores as they are."""
    values = {str(name): plain(value) for name, value in summary.items()}
    counts = {n: int(v) for n, v in values.items() if n in COUNTS and v is not None}
    return values | counts


def plain(value: Any) -> Any:
    """Write a value in what JSON has: NaN and missing are null, other things are their text."""
    import pandas as pd

    if isinstance(value, Mapping):
        return {str(key): plain(cell) for key, cell in value.items()}
    if isinstance(value, list | tuple):
        return [plain(cell) for cell in value]
    if value is None or value is pd.NA or value is pd.NaT:
        return None
    value = value.item() if hasattr(value, "item") else value
    if isinstance(value, float):
        return value if isfinite(value) else None
    return value if isinstance(value, str | bool | int) else str(value)


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
