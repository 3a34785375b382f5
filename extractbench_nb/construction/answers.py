"""Tables from model answers, files and frames, with every repair and problem named.

`read_answer` reads what `compare` takes. A table of AOE's kind has one header row and texts below
it; `read_table` of `tables` reads the forms other than CSV.
"""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from io import StringIO
from itertools import chain, count
from pathlib import Path
from typing import Any

import pandas as pd

from extractbench_nb.core.frames import as_pandas
from extractbench_nb.errors import InputError
from extractbench_nb.support.files import read_text
from extractbench_nb.support.wording import one_line, plural
from extractbench_nb.tables import read_table, seen_csv, table_of_csv, text_of, texts_of

#: Repairs and problems of a reading: kind, what it means.
READING_KINDS = {
    "thoughts": "the thoughts before the answer were left out",
    "fence_missing": "the table is not in a code fence",
    "fence_label": "the code fence is not labelled csv",
    "fence_unclosed": "the code fence never ends; the answer may be cut off",
    "several_tables": "of several tables in the answer the last one was read",
    "other_format": "the table is Markdown, HTML or JSON, not CSV",
    "other_delimiter": "fields are separated by another character than commas",
    "mended": "the text of the table was repaired",
    "thousands_joined": "numbers with unquoted thousands separators were put together",
    "row_too_long": "a row has more fields than the header; they are in columns of their own",
    "row_too_short": "a row has fewer fields than the header",
    "duplicate_header": "columns have the same name; they got numbers",
    "blank_header": "columns have no name; they got numbers",
    "no_rows": "there is a header, and no row below it",
    "no_answer": "there is no answer",
    "no_table": "no table was found",
    "unreadable": "the table cannot be read",
}
#: The kinds without a table.
FAILURES = ("no_answer", "no_table", "unreadable")

_FENCED = "```"
_FENCE = re.compile(
    r"```[ \t]*(?P<label>[\w+.-]*)[^\S\n]*\n(?P<inside>.*?)(?P<end>```|\Z)", re.DOTALL
)
_THOUGHTS = re.compile(r"</?think(?:ing)?>", re.IGNORECASE)
_ANSWER = re.compile(r"<(output|answer)>(.*?)(?:</\1>|\Z)", re.DOTALL | re.IGNORECASE)
_CODE = ("python", "py", "sql", "bash", "sh", "r", "yaml")
_OTHER_FORMATS = ("json", "jsonl", "ndjson", "markdown", "md", "html", "xml")
_OTHER_STARTS = ("[", "{", "|", "<table", "<html", "<!DOCTYPE")
#: The line of dashes below the header of a Markdown table.
_RULE = re.compile(r"^[ \t|:]*+-{2,}+[-: ]*+\|[-:| ]*+$", re.MULTILINE)
_FIRST_DIGITS = re.compile(r"[¥$€£]?[+-]?\d{1,3}(?:,\d{3})*")
_MORE_DIGITS = re.compile(r"\d{3}(?:\.\d+)?%?")
_MOST_FIELD = 10_000_000


@dataclass(frozen=True)
class Reading:
    """A table as texts, with its repairs; made by `read_answer`.

    Attributes
    ----------
    columns : dict of str to list of str
        The texts of each column by its name; empty if there is no table.
    size : int
        Number of rows.
    notes : list of tuple of str
        The repairs: kind, of `READING_KINDS`, and message.
    failure : str or None
        The reason if there is no table: ``no_answer``, ``no_table`` or ``unreadable``.
    text : str or None
        The text that was read; None if the table was not a text.
    """

    columns: dict[str, list[str]]
    size: int
    notes: list[tuple[str, str]] = field(default_factory=list)
    failure: str | None = None
    text: str | None = None

    @property
    def frame(self) -> pd.DataFrame:
        """The texts as a frame."""
        return pd.DataFrame(
            {name: pd.Series(texts, dtype=object) for name, texts in self.columns.items()}
        )

    @property
    def direct(self) -> bool:
        """Whether AOE's released code reads the answer without a model ("direct")."""
        return self.failure_mode is None

    @property
    def mapped(self) -> bool:
        """Whether there is a table with rows ("mapped"); decided by rules, not by a model."""
        return self.failure is None and self.size > 0

    @cached_property
    def failure_mode(self) -> str | None:
        """The reason why the answer is not direct, of `READING_KINDS`; None if it is."""
        if self.text is None:
            return self.failure
        is_fenced, frame = fenced_frame(self.text)
        if frame is not None:
            return None
        if self.failure or is_fenced:
            return self.failure or "unreadable"
        kinds = {kind for kind, _ in self.notes}
        for kind in ("thoughts", "fence_unclosed", "other_format"):
            if kind in kinds:
                return kind
        return "fence_label" if _FENCED in self.text else "fence_missing"


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
    r"""Read one table from an answer, a file or an object, and list every repair.

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
        The table and its repairs. An answer without a table has a ``failure`` and raises no error.

    Raises
    ------
    InputError
        A file cannot be read, or the object cannot hold a table.

    Examples
    --------
    >>> found = read_answer("<think>k,v</think>Here it is:\n```csv\nk,v\na,1,234\n")
    >>> found.frame.values.tolist(), [kind for kind, _ in found.notes]
    ([['a', '1,234']], ['thoughts', 'fence_unclosed', 'thousands_joined'])
    """
    given = as_pandas(given)
    if isinstance(given, Path) and given.suffix.lower() in (".csv", ".tsv", ".txt", ".md"):
        given = read_text(given, name)
    text, notes = given if isinstance(given, str) else None, _Notes()
    try:
        if text is not None:
            rows = _rows_of_answer(text.removeprefix("\ufeff"), name, notes)
        elif isinstance(given, pd.DataFrame):
            rows = _rows_of_frame(given, name)
        elif given is None or (isinstance(given, list | tuple) and not given):
            raise _NoTable("no_answer", f"{name} is empty")
        else:
            rows = _rows_of_table(given, name, notes)
        columns = _columns(rows, notes)
    except _NoTable as problem:
        kind, message = problem.args
        notes.add(kind, message)
        return Reading({}, 0, notes, kind, text)
    return Reading(columns, len(rows) - 1, notes, None, text)


class _NoTable(Exception):  # noqa: N818 - a result
    """There is no table: kind of failure and message."""


class _Notes(list[tuple[str, str]]):
    """The repairs of a reading."""

    def add(self, kind: str, message: str = "") -> None:
        self.append((kind, message or READING_KINDS[kind]))


def _rows_of_frame(frame: pd.DataFrame, name: str) -> list[list[str]]:
    """Write the values of a frame; an index of plain positions does not become a column."""
    if frame.empty and not len(frame.columns):
        raise _NoTable("no_table", f"{name} is a frame without columns")
    index: pd.Index[Any] = frame.index
    is_named = index.nlevels > 1 or index.name is not None
    if is_named or index.inferred_type not in ("integer", "empty"):
        frame = frame.reset_index()
    columns = [texts_of(frame.iloc[:, n].array) for n in range(frame.shape[1])]
    return [list(map(text_of, frame.columns)), *map(list, zip(*columns, strict=True))]


def _rows_of_table(given: Any, name: str, notes: _Notes) -> list[list[str]]:
    table = read_table(given, name=name)
    for note in table.notes:
        notes.add("mended", note)
    if not table.cells:
        raise _NoTable("no_table", "the table is empty")
    return table.texts


# --- answers --------------------------------------------------------------------------------------


def _rows_of_answer(text: str, name: str, notes: _Notes) -> list[list[str]]:
    """Find the table in an answer: after the thoughts, in tags, in the last code fence."""
    marks = list(_THOUGHTS.finditer(text))
    answer = text[marks[-1].end() :] if marks else text
    if marks:
        is_closed = marks[-1][0].startswith("</")
        notes.add("thoughts", "" if is_closed else "the thoughts never end; what follows was read")
    tagged = [match[2] for match in _ANSWER.finditer(answer) if match[2].strip()]
    answer = tagged[-1] if tagged else answer
    if not answer.strip():
        raise _NoTable("no_answer", f"{name} is empty")
    blocks = [match for match in _FENCE.finditer(answer) if match["inside"].strip()]
    tables = [block for block in blocks if block["label"].lower() not in _CODE]
    chosen = [block for block in tables if block["label"]] or tables
    if len({block["inside"].strip() for block in chosen}) > 1:
        notes.add("several_tables", f"{len(chosen)} tables; the last one was read")
    if chosen:
        if chosen[-1]["end"] != _FENCED:
            notes.add("fence_unclosed")
        return _rows_of_block(chosen[-1]["inside"], chosen[-1]["label"].lower(), name, notes)
    is_bare = "," in answer.strip("\r\n").split("\n", 1)[0]  # nothing but CSV, as a file is
    if _FENCED in answer:
        notes.add("fence_missing", "the code fence holds no table")
    elif tagged or not is_bare or _FENCED in text:  # a fence in the thoughts is none
        notes.add("fence_missing")
    return _rows_of_block(answer.replace(_FENCED, ""), "", name, notes)


def _rows_of_block(block: str, label: str, name: str, notes: _Notes) -> list[list[str]]:
    """Read the part of an answer that holds the table: CSV here, other formats in `tables`."""
    plain = block.strip("\r\n")
    is_other = label in _OTHER_FORMATS or (
        label in ("", "text", "csv")
        and bool(plain.lstrip().startswith(_OTHER_STARTS) or _RULE.search(plain))
    )
    delimiter, part = (None, plain) if is_other else _delimiter(plain, label)
    if delimiter is not None:
        if part != plain:
            notes.add("mended", "text around the records was left out")
        if delimiter != ",":
            notes.add("other_delimiter", f"fields are separated by {delimiter!r}")
        return _rows_of_csv(part, delimiter, notes)
    try:
        rows = _rows_of_table(plain, name, notes)
    except InputError as error:
        kind = "unreadable" if is_other else "no_table"
        raise _NoTable(kind, one_line(str(error), 320)) from None
    if is_other:
        notes.add("other_format")
    return rows


def _delimiter(text: str, label: str) -> tuple[str | None, str]:
    """Return the delimiter of CSV and the part of a text that holds it, or None."""
    header = text.lstrip().split("\n", 1)[0]
    if label == "csv" or (label == "" and "," in header and _is_csv(text)):
        best = max(",;\t", key=header.count)
        return ("," if "," in header else best if best in header else ","), text
    seen = seen_csv(text)
    if seen is not None and seen.delimiter != "|":
        return seen.delimiter, seen.text
    lines = [line for line in text.splitlines() if line.strip()]
    is_list = len(lines) > 1 and all(len(line.split()) == 1 for line in lines)
    return (",", text) if is_list else (None, text)


def _is_csv(text: str) -> bool:
    """Whether most records have about the header's number of fields, and that is no sentence."""
    try:
        header, *body = filter(None, _records(text, ","))
    except csv.Error:
        return True  # the reading names the problem
    widths = range(max(2, len(header) - 1), 2 * len(header) + 2)
    near = sum(len(row) in widths for row in body)
    return 2 * near >= len(body) and not header[-1].rstrip().endswith((".", "。", ":", "\uff1a"))


def _records(text: str, delimiter: str) -> list[list[str]]:
    before = csv.field_size_limit(_MOST_FIELD)
    try:
        reader = csv.reader(StringIO(text, newline=""), delimiter=delimiter, skipinitialspace=True)
        return list(reader)
    finally:
        csv.field_size_limit(before)


def _rows_of_csv(text: str, delimiter: str, notes: _Notes) -> list[list[str]]:
    """Read CSV, and give all rows as many fields; nothing that is filled is lost."""
    try:
        rows = [row for row in _records(text, delimiter) if any(map(str.strip, row))]
        if text.count('"') % 2:  # a quote that never closes would swallow the rows below it
            table = table_of_csv(text, "table", delimiter)
            for note in table.notes:
                notes.add("mended", note)
            rows = table.texts if table.cells else []
    except (csv.Error, InputError) as error:
        raise _NoTable("unreadable", str(error)) from None
    if not rows:
        raise _NoTable("no_table", "the block is empty")
    header, body = [cell.strip() for cell in rows[0]], rows[1:]
    if delimiter == ",":
        joined = [_with_thousands(row, len(header)) for row in body]
        changed = sum(len(one) < len(row) for one, row in zip(joined, body, strict=True))
        if changed:
            notes.add("thousands_joined", f"{plural(changed, 'row')} repaired")
        body = joined
    filled = max((n for row in [header, *body] for n, cell in enumerate(row, 1) if cell.strip()))
    header, *body = (row[:filled] for row in [header, *body])  # commas at the ends of lines
    width = max(map(len, [header, *body]))
    for kind, flags in (
        ("row_too_long", [len(row) > len(header) for row in body]),
        ("row_too_short", [len(row) < len(header) for row in body]),
    ):
        if any(flags):
            notes.add(kind, f"{plural(sum(flags), 'row')} of {len(body)}")
    return [row + [""] * (width - len(row)) for row in [header, *body]]


def _with_thousands(row: list[str], width: int) -> list[str]:
    """Put numbers together that commas have split, from the left, if that gives the width."""
    parts, at = list(row), 0
    while len(parts) > width and at < len(parts) - 1:
        first, second = parts[at].strip(), parts[at + 1].strip()
        if _FIRST_DIGITS.fullmatch(first) and _MORE_DIGITS.fullmatch(second):
            parts[at : at + 2] = [f"{first},{second}"]
        else:
            at += 1
    return parts if len(parts) == width else row


def _columns(rows: Sequence[Sequence[str]], notes: _Notes) -> dict[str, list[str]]:
    """Return the texts of each column, with a name of its own for each."""
    names, body = [" ".join(name.split()) for name in rows[0]], rows[1:]
    texts = [[row[n] for row in body] for n in range(len(names))]
    counts = Counter(filter(None, names))
    repeated = [name for name, times in counts.items() if times > 1]
    blank = names.count("")
    if blank and "row_too_long" not in dict(notes):
        notes.add("blank_header", f"{plural(blank, 'column')} without a name")
    if repeated:
        shown = one_line(", ".join(map(repr, repeated)), 120)
        notes.add("duplicate_header", f"{shown} stand several times")
    if not body:
        notes.add("no_rows")
    same = [[n for n, other in enumerate(names) if other == name] for name in repeated]
    for places in same:  # sorted by content, so that the order of the columns does not matter
        ordered = sorted((texts[n] for n in places), key=sorted)
        for n, column in zip(places, ordered, strict=True):
            texts[n] = column
    taken = {name for name, times in counts.items() if times == 1}
    for n in (*chain(*same), *(n for n, name in enumerate(names) if not name)):
        base = names[n] or f"column {n + 1}"
        numbered = (f"{base} ({number})" for number in count(2))
        names[n] = next(name for name in chain([base], numbered) if name not in taken)
        taken.add(names[n])
    return dict(zip(names, texts, strict=True))
