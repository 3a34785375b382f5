"""Tables from model answers, files and frames, with every repair and problem named.

`read_answer` reads what `compare` takes. A table of AOE's kind has one header row and texts below
it; `read_table` of `tables` reads the forms other than CSV.
"""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from io import StringIO
from itertools import chain, count
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from extractbench_nb.construction.table_rules import TableRules
from extractbench_nb.core.frames import as_pandas
from extractbench_nb.errors import InputError
from extractbench_nb.support.files import read_text
from extractbench_nb.support.wording import one_line, plural
from extractbench_nb.tables import Table, read_table, seen_csv, table_of_csv, text_of, texts_of

#: Repairs and problems of a reading, in the order in which they can arise: kind, what it means.
READING_KINDS = {
    "bom": "a byte order mark was removed",
    "thoughts": "the thoughts before the answer were left out",
    "thoughts_unclosed": "the thoughts never end; what follows them was read",
    "fence_missing": "the table is not in a code fence",
    "fence_label": "the code fence is not labelled csv",
    "fence_unclosed": "the code fence never ends; the answer may be cut off",
    "several_tables": "of several tables in the answer the last one was read",
    "other_format": "the table is Markdown, HTML or JSON, not CSV",
    "other_delimiter": "fields are separated by another character than commas",
    "mended": "the text of the table was repaired",
    "thousands_joined": "numbers with unquoted thousands separators were put together",
    "thousands_ambiguous": "unquoted thousands separators can be put together in several ways",
    "row_too_long": "a row has more fields than the header; they are in columns of their own",
    "row_too_short": "a row has fewer fields than the header",
    "header_repeated": "rows that repeat the header were left out",
    "duplicate_header": "columns have the same name; they got numbers",
    "blank_header": "columns have no name; they got numbers",
    "no_rows": "there is a header, and no row below it",
    "no_answer": "there is no answer",
    "no_table": "no table was found",
    "unreadable": "the table cannot be read",
}
#: One warning: side, path, kind, message, value.
Note = tuple[str, str, str, str, Any]
#: The kinds without a table.
FAILURES = ("no_answer", "no_table", "unreadable")

_FENCE = re.compile(
    r"```[ \t]*(?P<label>[\w+.-]*)[^\S\n]*\n(?P<inside>.*?)(?P<end>```|\Z)", re.DOTALL
)
_FENCED = "```"
_OPEN = re.compile(r"<think(?:ing)?>", re.IGNORECASE)
_CLOSED = re.compile(r"</think(?:ing)?>", re.IGNORECASE)
_ANSWER = re.compile(r"<(output|answer)>(.*?)(?:</\1>|\Z)", re.DOTALL | re.IGNORECASE)
_CODE = ("python", "py", "sql", "bash", "sh", "r", "yaml", "xml-schema")
_OTHER_FORMATS = {"json", "jsonl", "ndjson", "markdown", "md", "html", "xml"}
_FEW_DIGITS, _GROUP = re.compile(r"[¥$€£]?[+-]?\d{1,3}"), re.compile(r"\d{3}(?:\.\d+)?%?")
#: The line of dashes below the header of a Markdown table.
_RULE = re.compile(r"^[ \t|:]*+-{2,}+[-: ]*+\|[-:| ]*+$", re.MULTILINE)
#: A number of this many groups of digits is the longest that is put together.
_MOST_PARTS = 6
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


class Tables(NamedTuple):
    """The two tables of a comparison as texts, and the roles of gold's columns."""

    gold: Reading
    predicted: Reading
    keys: list[str]
    values: list[str]
    numeric: list[str]
    #: Number of compared columns that were asked for, those that gold lacks included.
    configured: int
    rules: TableRules


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
    reader = _Reader(name, str.__str__(given) if isinstance(given, str) else None)
    if given is None:
        return reader.failed("no_answer", f"{name} is None")
    if reader.text is not None:
        return reader.of_answer(reader.text)
    if isinstance(given, pd.DataFrame):
        return reader.of_frame(given)
    if isinstance(given, list | tuple) and not given:
        return reader.failed("no_answer", f"{name} is empty")
    return reader.of_table(read_table(given, name=name))


class _Reader:
    """Reads one table, and notes the repairs; `text` is the answer that holds it, if one does."""

    def __init__(self, name: str, text: str | None) -> None:
        self.name, self.text = name, text
        self.notes: list[tuple[str, str]] = []

    def note(self, kind: str, message: str = "") -> None:
        self.notes.append((kind, message or READING_KINDS[kind]))

    def failed(self, kind: str, message: str) -> Reading:
        self.note(kind, message)
        return Reading({}, 0, self.notes, kind, self.text)

    def of_frame(self, frame: pd.DataFrame) -> Reading:
        """Write the values of a frame; an index of plain positions does not become a column."""
        if frame.empty and not len(frame.columns):
            return self.failed("no_table", f"{self.name} is a frame without columns")
        index: pd.Index[Any] = frame.index
        is_named = index.nlevels > 1 or index.name is not None
        if is_named or index.inferred_type not in ("integer", "empty"):
            frame = frame.reset_index()
        header = [text_of(column) for column in frame.columns]
        columns = [texts_of(frame.iloc[:, n].array) for n in range(frame.shape[1])]
        return self.named(header, list(map(list, zip(*columns, strict=True))))

    def of_table(self, table: Table) -> Reading:
        rows = self.rows_of(table)
        return (
            self.named(rows[0], rows[1:]) if rows else self.failed("no_table", "the table is empty")
        )

    def rows_of(self, table: Table) -> list[list[str]]:
        self.notes += [("mended", note) for note in table.notes]
        return table.texts if table.cells else []

    def of_answer(self, text: str) -> Reading:
        """Find the table in an answer: after the thoughts, in tags, in the last code fence."""
        answer = text.removeprefix("\ufeff")
        if answer != text:
            self.note("bom")
        ends, begin = list(_CLOSED.finditer(answer)), _OPEN.search(answer)
        if ends:
            self.note("thoughts")
            answer = answer[ends[-1].end() :]
        elif begin is not None:
            self.note("thoughts_unclosed")
            answer = answer[: begin.start()] + answer[begin.end() :]
        tagged = [match[2] for match in _ANSWER.finditer(answer) if match[2].strip()]
        answer = tagged[-1] if tagged else answer
        if not answer.strip():
            return self.failed("no_answer", f"{self.name} is empty")
        blocks = [match for match in _FENCE.finditer(answer) if match["inside"].strip()]
        tables = [block for block in blocks if block["label"].lower() not in _CODE]
        chosen = [block for block in tables if block["label"]] or tables
        if len({block["inside"].strip() for block in chosen}) > 1:
            self.note("several_tables", f"{len(chosen)} tables; the last one was read")
        if chosen:
            if chosen[-1]["end"] != _FENCED:
                self.note("fence_unclosed")
            return self.of_block(chosen[-1]["inside"], chosen[-1]["label"].lower())
        is_bare = "," in answer.strip("\r\n").split("\n", 1)[0]  # nothing but CSV, as a file is
        if _FENCED in answer:
            self.note("fence_missing", "the code fence holds no table")
        elif tagged or not is_bare or _FENCED in text:  # a fence in the thoughts is none
            self.note("fence_missing")
        return self.of_block(answer.replace(_FENCED, ""), "")

    def of_block(self, block: str, label: str) -> Reading:
        """Read the part of an answer that holds the table: CSV here, other formats in `tables`."""
        plain = block.strip("\r\n")
        is_other = label in _OTHER_FORMATS or (label in ("", "text", "csv") and _is_other(plain))
        if not is_other:
            delimiter, part = _delimiter(plain, label)
            if delimiter is not None:
                if part != plain:
                    self.note("mended", "text around the records was left out")
                if delimiter != ",":
                    self.note("other_delimiter", f"fields are separated by {delimiter!r}")
                return self.of_csv(part, delimiter)
        try:
            table = read_table(plain, name=self.name)
        except InputError as error:
            return self.failed("unreadable" if is_other else "no_table", one_line(str(error), 320))
        if is_other:
            self.note("other_format")
        return self.of_table(table)

    def of_csv(self, text: str, delimiter: str) -> Reading:
        before = csv.field_size_limit(_MOST_FIELD)
        try:
            rows = [row for row in _records(text, delimiter) if any(map(str.strip, row))]
            if text.count('"') % 2:  # a quote that never closes would swallow the rows below it
                rows = self.rows_of(table_of_csv(text, "table", delimiter))
        except (csv.Error, InputError) as error:
            return self.failed("unreadable", str(error))
        finally:
            csv.field_size_limit(before)
        if not rows:
            return self.failed("no_table", "the block is empty")
        header, body = [cell.strip() for cell in rows[0]], rows[1:]
        others = [row for row in body if [cell.strip() for cell in row] != header]
        if len(others) < len(body) and len(header) > 1:
            self.note("header_repeated", f"{plural(len(body) - len(others), 'row')} left out")
            body = others
        if delimiter == ",":
            body = self.with_thousands(body, len(header))
        are_longer = bool(body) and all(len(row) == len(header) + 1 for row in body)
        if are_longer and not any(row[-1].strip() for row in body):  # a comma at the end of each
            body = [row[:-1] for row in body]
        return self.named(*self.evened(header, body))

    def with_thousands(self, body: list[list[str]], width: int) -> list[list[str]]:
        """Put numbers together that commas have split, where that gives the header's width."""
        joined, unclear, found = 0, 0, []
        for row in body:
            first, ways = None, 0
            if width < len(row) <= _MOST_PARTS * width:
                first, ways = _joinings(row, width)
            joined += ways > 0
            unclear += ways > 1
            found.append(row if first is None else first)
        if joined:
            self.note("thousands_joined", f"{plural(joined, 'row')} repaired")
        if unclear:
            self.note("thousands_ambiguous", f"{plural(unclear, 'row')}: the first way was taken")
        return found

    def evened(self, header: list[str], body: list[list[str]]) -> tuple[list[str], list[list[str]]]:
        """Give all rows as many fields as there are columns; nothing that is filled is lost."""
        while header and not header[-1] and not any(any(row[len(header) - 1 :]) for row in body):
            header = header[:-1]
            body = [row[: len(header)] for row in body]
        width = len(header)
        long = sum(len(row) > width for row in body)
        short = sum(len(row) < width for row in body)
        if long:
            self.note("row_too_long", f"{plural(long, 'row')} of {len(body)}")
            header = header + [""] * (max(map(len, body)) - width)
        if short:
            self.note("row_too_short", f"{plural(short, 'row')} of {len(body)}")
        return header, [row + [""] * (len(header) - len(row)) for row in body]

    def named(self, header: Sequence[str], body: list[list[str]]) -> Reading:
        """Make the reading, with a name of its own for each column."""
        names = [" ".join(name.split()) for name in header]
        blank = [n for n, name in enumerate(names) if not name]
        if blank and "row_too_long" not in dict(self.notes):
            self.note("blank_header", f"{plural(len(blank), 'column')} without a name")
        counts = Counter(name for name in names if name)
        repeated = [name for name, times in counts.items() if times > 1]
        places = [[n for n, other in enumerate(names) if other == name] for name in repeated]
        if repeated:
            shown = one_line(", ".join(map(repr, repeated)), 120)
            self.note("duplicate_header", f"{shown} stand several times")
        for same in places:  # sorted by content, so that the order of the columns does not matter
            order = sorted(same, key=lambda n: sorted(row[n] for row in body))
            body = [_moved(row, order, same) for row in body]
        taken = {name for name, times in counts.items() if times == 1}
        for n in (*chain(*places), *blank):
            base = names[n] or f"column {n + 1}"
            free = chain([base], (f"{base} ({number})" for number in count(2)))
            names[n] = next(name for name in free if name not in taken)
            taken.add(names[n])
        if not body:
            self.note("no_rows")
        texts = map(list, zip(*body, strict=True)) if body else ([] for _ in names)
        columns = dict(zip(names, texts, strict=True))
        return Reading(columns, len(body), self.notes, None, self.text)


def _moved(row: Sequence[str], order: Sequence[int], places: Sequence[int]) -> list[str]:
    """Return a row with the cells of some places in another order."""
    moved = dict(zip(places, (row[n] for n in order), strict=True))
    return [moved.get(n, cell) for n, cell in enumerate(row)]


def _is_other(text: str) -> bool:
    """Whether a text is JSON, Markdown or HTML rather than CSV."""
    first = text.lstrip()
    return first.startswith(("[", "{", "|", "<table", "<html", "<!DOCTYPE")) or bool(
        _RULE.search(text)
    )


def _delimiter(text: str, label: str) -> tuple[str | None, str]:
    """Return the delimiter of CSV and the part of a text that holds it, or None."""
    header = text.lstrip().split("\n", 1)[0]
    if label == "csv" or (label == "" and "," in header and _is_csv(text)):
        counts = Counter({one: header.count(one) for one in ",;\t"})
        best = max(counts, key=counts.__getitem__)
        return (best if counts[best] and not counts[","] else ","), text
    seen = seen_csv(text)
    if seen is not None and seen.delimiter != "|":
        return seen.delimiter, seen.text
    lines = [line for line in text.splitlines() if line.strip()]
    is_list = len(lines) > 1 and all(len(line.split()) == 1 for line in lines)
    return (",", text) if is_list else (None, text)


def _is_csv(text: str) -> bool:
    """Whether most records have the header's number of fields, or one of them more or less."""
    try:
        rows = [row for row in _records(text, ",") if row]
    except csv.Error:
        return True  # the reading names the problem
    if not rows:
        return False
    width, body = len(rows[0]), rows[1:]
    near = sum(width - 1 <= len(row) <= 2 * width + 1 and len(row) > 1 for row in body)
    is_prose = any(cell.rstrip().endswith((".", "。", ":", "\uff1a")) for cell in rows[0][-1:])
    return 2 * near >= len(body) and not is_prose


def _records(text: str, delimiter: str) -> Iterable[list[str]]:
    return csv.reader(StringIO(text, newline=""), delimiter=delimiter, skipinitialspace=True)


def _joinings(row: Sequence[str], width: int) -> tuple[list[str] | None, int]:
    """Join neighbouring groups of digits so that a row has `width` fields.

    Returns the way whose first numbers are the longest, and how many ways there are.
    """
    # by place in the row and number of fields from there on: where the first one ends, and ways
    ends: list[dict[int, tuple[int, int]]] = [{} for _ in row] + [{0: (len(row), 1)}]
    for at in reversed(range(len(row))):
        stops = [at + 1]
        if _FEW_DIGITS.fullmatch(row[at].strip()):
            while stops[-1] < len(row) and _GROUP.fullmatch(row[stops[-1]].strip()):
                stops.append(stops[-1] + 1)
                if "." in row[stops[-1] - 1]:
                    break
        for stop in stops:
            for fields, (_, ways) in ends[stop].items():
                others = ends[at].get(fields + 1, (0, 0))[1]
                ends[at][fields + 1] = stop, ways + others
    if width not in ends[0]:
        return None, 0
    joined, at = list[str](), 0
    while at < len(row):
        stop, _ = ends[at][width - len(joined)]
        joined.append(",".join(cell.strip() for cell in row[at:stop]))
        at = stop
    return joined, ends[0][width][1]
