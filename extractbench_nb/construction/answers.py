"""`read_answer`: the one table in the answer of a model, a file or an object, as texts."""

from __future__ import annotations

import csv
import re
from collections.abc import Sequence
from dataclasses import dataclass
from io import StringIO
from itertools import chain, count
from pathlib import Path
from typing import Any

import pandas as pd

from extractbench_nb.core.frames import as_pandas
from extractbench_nb.errors import InputError
from extractbench_nb.support.files import read_text
from extractbench_nb.support.wording import one_line, plural
from extractbench_nb.tables import read_table, table_of_csv

#: Why there is no table.
FAILURES = ("no_answer", "no_table")

_FENCE = re.compile(
    r"```[ \t]*(?P<label>[\w+.-]*)[^\S\n]*\n(?P<inside>.*?)(?P<end>```|\Z)", re.DOTALL
)
_THOUGHTS = re.compile(r"</?think(?:ing)?>", re.IGNORECASE)
_ANSWER = re.compile(r"<(output|answer)>(.*?)(?:</\1>|\Z)", re.DOTALL | re.IGNORECASE)
#: Formats that `read_table` reads, by how they start; and the line of dashes of Markdown.
_OTHER_STARTS = ("[", "{", "|", "<")
_RULE = re.compile(r"^[ \t|:]*+-{2,}+[-: ]*+\|[-:| ]*+$", re.MULTILINE)
_END_OF_SENTENCE = (".", "。", ":", "\uff1a")
_FIRST_DIGITS = re.compile(r"[¥$€£]?[+-]?\d{1,3}(?:,\d{3})*")
_MORE_DIGITS = re.compile(r"\d{3}(?:\.\d+)?%?")


@dataclass(frozen=True)
class Reading:
    """A table as texts; made by `read_answer`.

    ``columns`` has the texts of each column by its name and is empty without a table, ``size`` is
    the number of rows. ``problems`` lists repairs and irregularities; ``failure`` is
    ``no_answer`` or ``no_table`` if there is no table; ``text`` is the text that was read, or None.
    """

    columns: dict[str, list[str]]
    size: int
    problems: tuple[str, ...] = ()
    failure: str | None = None
    text: str | None = None

    @property
    def frame(self) -> pd.DataFrame:
        """The texts as a frame."""
        return pd.DataFrame(self.columns, index=range(self.size), dtype=object)

    @property
    def direct(self) -> bool:
        """Whether AOE's released code reads the answer without a model ("direct")."""
        if self.text is None:
            return self.failure is None
        return fenced_frame(self.text)[1] is not None

    @property
    def mapped(self) -> bool:
        """Whether rules, rather than a model, find a table with rows ("mapped")."""
        return self.size > 0


def fenced_frame(answer: str) -> tuple[bool, pd.DataFrame | None]:
    """Read an answer as AOE's released code does (commit 282e688d).

    Returns whether there is a fence that is labelled csv, and the table in the last one. If there
    are thoughts, that code reads them in place of the answer.
    """
    thoughts = re.search("<think>(.*?)</think>", answer, re.DOTALL)
    blocks = re.findall("```csv(.*?)```", thoughts[1] if thoughts else answer, re.DOTALL)
    return bool(blocks), read_csv(blocks[-1].strip()) if blocks else None


def read_csv(text: str) -> pd.DataFrame | None:
    """Read CSV as ``pandas.read_csv`` does by default; None if that fails."""
    try:
        return pd.read_csv(StringIO(text))
    except (ValueError, OverflowError):  # errors of the parser are ValueErrors
        return None


def read_answer(given: Any, name: str = "predicted") -> Reading:
    r"""Read one table from an answer, a file or an object.

    Parameters
    ----------
    given : str, pathlib.Path, pandas.DataFrame, list, dict, Table or None
        The raw answer of a model: a str is always text, never a file name. A file; a frame; or
        anything else that `read_table` reads.
    name : str, optional
        Name of the table in error messages.

    Returns
    -------
    Reading
        The table, and what was repaired. An answer without a table has a ``failure`` and raises no
        error.

    Raises
    ------
    InputError
        A file cannot be read, or the object cannot contain a table.

    Examples
    --------
    >>> found = read_answer("<think>k,v</think>Here it is:\n```csv\nk,v\na,1,234\n")
    >>> found.frame.values.tolist()
    [['a', '1,234']]
    >>> found.problems
    ('thoughts left out', 'the code fence never ends', '1 row: thousands separators unquoted')
    """
    given = as_pandas(given)
    if isinstance(given, Path) and given.suffix.lower() in (".csv", ".tsv", ".txt", ".md"):
        given = read_text(given, name)
    text, problems = given if isinstance(given, str) else None, list[str]()
    try:
        if isinstance(given, pd.DataFrame) and given.columns.empty:
            raise _NoTable("no_table", f"{name} is a frame without columns")
        if given is None or (isinstance(given, list) and not given):
            raise _NoTable("no_answer", f"{name} is empty")
        rows = _of_table(given, name, problems) if text is None else _of_text(text, name, problems)
        columns = _columns(rows, problems)
    except _NoTable as problem:
        failure, message = problem.args
        return Reading({}, 0, (*problems, message), failure, text)
    return Reading(columns, len(rows) - 1, tuple(problems), None, text)


class _NoTable(Exception):  # noqa: N818 - a result
    """There is no table: kind of failure and message."""


def _of_table(given: Any, name: str, problems: list[str]) -> list[list[str]]:
    table = read_table(given, name=name)
    problems += table.notes
    if not table.cells:
        raise _NoTable("no_table", f"{name} is an empty table")
    return table.texts


def _of_text(text: str, name: str, problems: list[str]) -> list[list[str]]:
    """Find the table in an answer: after the thoughts, in tags, in the last code fence."""
    marks = list(_THOUGHTS.finditer(text))
    answer = text[marks[-1].end() :] if marks else text.removeprefix("\ufeff")
    if marks:
        problems.append("thoughts left out")
    tagged = [match[2] for match in _ANSWER.finditer(answer) if match[2].strip()]
    answer = tagged[-1] if tagged else answer
    if not answer.strip():
        raise _NoTable("no_answer", f"{name} is empty")
    blocks = [match for match in _FENCE.finditer(answer) if match["inside"].strip()]
    tables = [block for block in blocks if block["label"].lower() == "csv"] or blocks
    if len({block["inside"].strip() for block in tables}) > 1:
        problems.append(f"the last of {len(tables)} tables was read")
    if tables and not tables[-1]["end"]:
        problems.append("the code fence never ends")
    label = tables[-1]["label"].lower() if tables else ""
    block = (tables[-1]["inside"] if tables else answer.replace("```", "")).strip("\r\n")
    if _is_csv(block, label):
        return _of_csv(block, name, problems)
    try:
        return _of_table(block, name, problems)
    except InputError as error:
        raise _NoTable("no_table", one_line(str(error), 320)) from None


def _is_csv(block: str, label: str) -> bool:
    """Whether a text is CSV and nothing else: `read_table` finds CSV between lines of prose."""
    if block.lstrip().startswith(_OTHER_STARTS) or _RULE.search(block):
        return False
    lines = [line for line in block.splitlines() if line.strip()]
    if label == "csv" or (len(lines) > 1 and all(len(line.split()) == 1 for line in lines)):
        return True
    return bool(lines) and "," in lines[0] and not lines[0].rstrip().endswith(_END_OF_SENTENCE)


def _of_csv(text: str, name: str, problems: list[str]) -> list[list[str]]:
    """Read CSV, and give all rows as many fields; nothing that is filled is lost."""
    header = text.lstrip().split("\n", 1)[0]
    best = max(",;\t", key=header.count)
    delimiter = "," if "," in header or best not in header else best
    try:
        if text.count('"') % 2:  # a quote that never closes would swallow the rows below it
            table = table_of_csv(text, name, delimiter)
            problems += table.notes
            rows = table.texts
        else:
            lines = StringIO(text, newline="")
            rows = list(csv.reader(lines, delimiter=delimiter, skipinitialspace=True))
    except (csv.Error, InputError) as error:
        raise _NoTable("no_table", str(error)) from None
    rows = [row for row in rows if any(map(str.strip, row))]
    if not rows:
        raise _NoTable("no_table", f"{name} is an empty table")
    width = len(rows[0])
    joined = [_with_thousands(row, width) if delimiter == "," else row for row in rows]
    filled = max(n for row in joined for n, cell in enumerate(row, 1) if cell.strip())
    for wrong, what in (
        (
            sum(one is not row for one, row in zip(joined, rows, strict=True)),
            "thousands separators unquoted",
        ),
        (
            sum(len(row) > width for row in joined) if filled > width else 0,
            "more fields than the header",
        ),
        (sum(len(row) < min(width, filled) for row in joined), "fewer fields than the header"),
    ):
        if wrong:
            problems.append(f"{plural(wrong, 'row')}: {what}")
    return [(row + [""] * filled)[:filled] for row in joined]


def _with_thousands(row: list[str], width: int) -> list[str]:
    """Put numbers together that commas have split, from the left, if that gives the width."""
    parts, at = list(row), 0
    while len(parts) > width and at < len(parts) - 1:
        first, second = parts[at].strip(), parts[at + 1].strip()
        if _FIRST_DIGITS.fullmatch(first) and _MORE_DIGITS.fullmatch(second):
            parts[at : at + 2] = [f"{first},{second}"]
        else:
            at += 1
    return parts if len(parts) == width < len(row) else row


def _columns(rows: Sequence[Sequence[str]], problems: list[str]) -> dict[str, list[str]]:
    """Return the texts of each column; columns without a name of their own get a number."""
    names, columns = [" ".join(name.split()) for name in rows[0]], dict[str, list[str]]()
    for n, name in enumerate(names):
        base = name or f"column {n + 1}"
        others = (f"{base} ({number})" for number in count(2))
        taken = {*columns, *(set(names[n + 1 :]) - {name})}
        own = next(one for one in chain([base], others) if one not in taken)
        columns[own] = [row[n] for row in rows[1:]]
    if list(columns) != names:
        renamed = ", ".join(repr(name) for name in columns if name not in names)
        problems.append(f"columns without a name of their own: {one_line(renamed, 120)}")
    if len(rows) == 1:
        problems.append("a header without rows")
    return columns
