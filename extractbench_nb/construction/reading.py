"""Tables from model answers, files and frames, with every repair and problem named.

`read_answer` reads what `compare` takes. A table of AOE's kind has one header row and texts below
it; `read_table` of `tables` reads the forms other than CSV.
"""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from io import StringIO
from itertools import chain
from pathlib import Path
from typing import Any

import pandas as pd

from extractbench_nb._json import read_text
from extractbench_nb.construction.released_texts import released_answer
from extractbench_nb.display.text import one_line, plural
from extractbench_nb.errors import InputError
from extractbench_nb.tables.cells import Table
from extractbench_nb.tables.formats import seen_csv, table_of_csv
from extractbench_nb.tables.reading import read_table, text_of, texts_of

#: Repairs and problems of a reading, in the order in which they can arise: kind, what it means.
READING_KINDS = {
    "bom": "a byte order mark was removed",
    "thoughts": "the thoughts before the answer were left out",
    "thoughts_unclosed": "the thoughts never end; what follows them was read",
    "fence_missing": "the table stands in no code fence",
    "fence_label": "the code fence is not labelled csv",
    "fence_unclosed": "the code fence never ends; the answer may be cut off",
    "several_tables": "of several tables in the answer the last one was read",
    "other_format": "the table is Markdown, HTML or JSON, not CSV",
    "other_delimiter": "fields are separated by another character than commas",
    "mended": "the text of the table was repaired",
    "thousands_joined": "numbers with unquoted thousands separators were put together",
    "thousands_ambiguous": "unquoted thousands separators can be put together in several ways",
    "index_column": "a column that only numbers the rows was left out",
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
#: Those after which there is no table.
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
_MOST_WAYS = 64
#: A number of this many groups of digits is the longest that is put together.
_MOST_PARTS = 6
_MOST_FIELD = 10_000_000


@dataclass(frozen=True)
class Reading:
    """A table as read: texts, and what was repaired.

    Attributes
    ----------
    columns : dict of str to list of str
        The texts of each column by its name; none if there is no table.
    size : int
        Number of rows.
    notes : list of tuple of str
        Kind, of `READING_KINDS`, and message.
    failure : str or None
        Why there is no table: ``no_answer``, ``no_table`` or ``unreadable``.
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
        """Whether AOE's released code reads the answer without a model's help ("direct")."""
        if self.text is None:
            return self.failure is None
        return released_answer(self.text).frame is not None

    @property
    def mapped(self) -> bool:
        """Whether there is a table with rows ("mapped"), by rules here and not by a model."""
        return self.failure is None and self.size > 0

    @property
    def failure_mode(self) -> str | None:
        """What kept the answer from being direct: of `READING_KINDS`; None if it is direct."""
        if self.direct:
            return None
        kinds = {kind for kind, _ in self.notes}
        if self.failure or self.text is None or released_answer(self.text).found:
            return self.failure or "unreadable"
        telling = ("thoughts", "fence_unclosed", "other_format")
        for kind in telling:
            if kind in kinds:
                return kind
        return "fence_label" if _FENCED in self.text else "fence_missing"


def read_answer(given: Any, name: str = "predicted") -> Reading:
    r"""Read one table from whatever holds it, and name every repair.

    Parameters
    ----------
    given : str, pathlib.Path, pandas.DataFrame, list, dict, Table or None
        The raw answer of a model: a str is always text, never a file name. A file; a frame; or
        anything else that `read_table` reads.
    name : str, optional
        What messages call it.

    Returns
    -------
    Reading
        Without a table there is a ``failure``, not an error.

    Raises
    ------
    InputError
        A file cannot be read, or the object is none that holds a table.

    Examples
    --------
    >>> found = read_answer("<think>k,v</think>Here it is:\n```csv\nk,v\na,1,234\n")
    >>> found.frame.values.tolist(), [kind for kind, _ in found.notes]
    ([['a', '1,234']], ['thoughts', 'fence_unclosed', 'thousands_joined'])
    """
    if given is None:
        return _failed("no_answer", f"{name} is None", None)
    if isinstance(given, pd.DataFrame):
        return _of_frame(given)
    if isinstance(given, Path) and given.suffix.lower() in (".csv", ".tsv", ".txt", ".md"):
        given = read_text(given, name)
    if isinstance(given, str):
        return _of_text(str.__str__(given), name)
    if isinstance(given, list | tuple) and not given:
        return _failed("no_answer", f"{name} is empty", None)
    return _of_table(read_table(given, name=name), [], None)


def _failed(kind: str, message: str, text: str | None, notes: Sequence[Any] = ()) -> Reading:
    return Reading({}, 0, [*notes, (kind, message)], kind, text)


def _of_frame(frame: pd.DataFrame) -> Reading:
    """Write the values of a frame; an index of plain positions does not become a column."""
    index: pd.Index[Any] = frame.index
    is_named = index.nlevels > 1 or index.name is not None
    if is_named or index.inferred_type not in ("integer", "empty"):
        frame = frame.reset_index()
    header = [text_of(column) for column in frame.columns]
    columns = [texts_of(frame.iloc[:, n].array) for n in range(frame.shape[1])]
    return _named(header, list(map(list, zip(*columns, strict=True))), [], None)


def _of_table(table: Table, notes: list[tuple[str, str]], text: str | None) -> Reading:
    rows = table.texts if table.cells else []
    notes += [("mended", note) for note in table.notes]
    if not rows:
        return _failed("no_table", "the table is empty", text, notes)
    return _named(rows[0], rows[1:], notes, text)


# --- answers ------------------------------------------------------------------------------------


def _of_text(text: str, name: str) -> Reading:
    notes: list[tuple[str, str]] = []
    answer = text.removeprefix("\ufeff")
    if answer != text:
        notes.append(("bom", READING_KINDS["bom"]))
    answer = _without_thoughts(answer, notes)
    tagged = [match[2] for match in _ANSWER.finditer(answer) if match[2].strip()]
    answer = tagged[-1] if tagged else answer
    if not answer.strip():
        return _failed("no_answer", f"{name} is empty", text, notes)
    blocks = [match for match in _FENCE.finditer(answer) if match["inside"].strip()]
    tables = [block for block in blocks if block["label"].lower() not in _CODE]
    labelled = [block for block in tables if block["label"]]
    chosen = labelled or tables
    if len({block["inside"].strip() for block in chosen}) > 1:
        notes.append(("several_tables", f"{len(chosen)} tables; the last one was read"))
    if chosen:
        block = chosen[-1]
        if block["end"] != _FENCED:
            notes.append(("fence_unclosed", READING_KINDS["fence_unclosed"]))
        return _of_block(block["inside"], block["label"].lower(), notes, text, name)
    if _FENCED in text:
        notes.append(("fence_missing", "the code fence holds no table"))
    elif tagged or not _looks_bare(answer):
        notes.append(("fence_missing", READING_KINDS["fence_missing"]))
    return _of_block(answer.replace(_FENCED, ""), "", notes, text, name)


def _without_thoughts(answer: str, notes: list[tuple[str, str]]) -> str:
    ends = list(_CLOSED.finditer(answer))
    if ends:
        notes.append(("thoughts", READING_KINDS["thoughts"]))
        return answer[ends[-1].end() :]
    begin = _OPEN.search(answer)
    if begin is not None:
        notes.append(("thoughts_unclosed", READING_KINDS["thoughts_unclosed"]))
        return answer[: begin.start()] + answer[begin.end() :]
    return answer


def _looks_bare(text: str) -> bool:
    """Whether a text is nothing but CSV, as a file is."""
    return "," in text.strip("\r\n").split("\n", 1)[0]


def _of_block(
    block: str, label: str, notes: list[tuple[str, str]], text: str, name: str
) -> Reading:
    """Read the part of an answer that holds the table."""
    plain = block.strip("\r\n")
    is_other = label in _OTHER_FORMATS or (label in ("", "text", "csv") and _is_other(plain))
    if not is_other:
        delimiter, part = _delimiter(plain, label)
        if delimiter is not None:
            if part != plain:
                notes.append(("mended", "text around the records was left out"))
            if delimiter != ",":
                notes.append(("other_delimiter", f"fields are separated by {delimiter!r}"))
            return _of_csv(part, delimiter, notes, text)
    try:
        table = read_table(plain, name=name)
    except InputError as error:
        kind = "unreadable" if is_other else "no_table"
        return _failed(kind, one_line(str(error), 200), text, notes)
    if is_other:
        notes.append(("other_format", READING_KINDS["other_format"]))
    return _of_table(table, notes, text)


def _is_other(text: str) -> bool:
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


# --- CSV ----------------------------------------------------------------------------------------


def _of_csv(text: str, delimiter: str, notes: list[tuple[str, str]], whole: str) -> Reading:
    before = csv.field_size_limit(_MOST_FIELD)
    try:
        rows = [row for row in _records(text, delimiter) if any(map(str.strip, row))]
        if text.count('"') % 2:  # a quote that never closes would swallow the rows below it
            table = table_of_csv(text, "table", delimiter)
            rows = table.texts if table.cells else []
            notes += [("mended", note) for note in table.notes]
    except (csv.Error, InputError) as error:
        return _failed("unreadable", str(error), whole, notes)
    finally:
        csv.field_size_limit(before)
    if not rows:
        return _failed("no_table", "the block is empty", whole, notes)
    header, body = [cell.strip() for cell in rows[0]], rows[1:]
    repeated = [row for row in body if [cell.strip() for cell in row] == header]
    if repeated and len(header) > 1:
        notes.append(("header_repeated", f"{plural(len(repeated), 'row')} left out"))
        body = [row for row in body if [cell.strip() for cell in row] != header]
    if delimiter == ",":
        body = _with_thousands(body, len(header), notes)
    header, body = _without_index(header, body, notes)
    return _named(header, _evened(header, body, notes), notes, whole)


def _with_thousands(
    body: list[list[str]], width: int, notes: list[tuple[str, str]]
) -> list[list[str]]:
    """Put numbers together that commas have split, where that gives the header's width."""
    joined, unclear, found = 0, 0, []
    for row in body:
        ways = _joinings(row, width) if width < len(row) <= _MOST_PARTS * width else []
        if ways:
            joined += 1
            unclear += len(ways) > 1
            row = ways[0]  # noqa: PLW2901
        found.append(row)
    if joined:
        notes.append(("thousands_joined", f"{plural(joined, 'row')} repaired"))
    if unclear:
        notes.append(("thousands_ambiguous", f"{plural(unclear, 'row')}: the first way was taken"))
    return found


def _joinings(row: Sequence[str], width: int) -> list[list[str]]:
    """Return the ways to join neighbouring groups of digits so that a row has `width` fields."""
    ways: list[tuple[list[str], int]] = [([], 0)]
    while ways and min(at for _, at in ways) < len(row):
        longer: list[tuple[list[str], int]] = []
        for done, at in ways:
            if at == len(row):
                longer.append((done, at))
                continue
            stops = [at + 1]
            if _FEW_DIGITS.fullmatch(row[at].strip()):
                stop = at + 1
                while stop < len(row) and _GROUP.fullmatch(row[stop].strip()):
                    stop += 1
                    stops.append(stop)
                    if "." in row[stop - 1]:
                        break
            for stop in reversed(stops):
                fields = [*done, ",".join(cell.strip() for cell in row[at:stop])]
                if len(fields) <= width and len(row) - stop >= 0:
                    longer.append((fields, stop))
        ways = longer[: _MOST_WAYS * width]
    return [done for done, _ in ways if len(done) == width][:_MOST_WAYS]


def _without_index(
    header: list[str], body: list[list[str]], notes: list[tuple[str, str]]
) -> tuple[list[str], list[list[str]]]:
    """Leave out a first column that only numbers the rows, named or not, or blank last fields."""
    if not body:
        return header, body
    width = len(header)
    are_longer = all(len(row) == width + 1 for row in body)
    if are_longer and not any(row[-1].strip() for row in body):
        return header, [row[:-1] for row in body]
    numbers = [row[0].strip() for row in body if row]
    counted = [list(map(str, range(start, start + len(body)))) for start in (0, 1)]
    if numbers not in counted:
        return header, body
    if are_longer:
        notes.append(("index_column", READING_KINDS["index_column"]))
        return header, [row[1:] for row in body]
    if width > 1 and header[0].casefold() in ("", "unnamed: 0", "index", "#"):
        notes.append(("index_column", READING_KINDS["index_column"]))
        return header[1:], [row[1:] for row in body]
    return header, body


def _evened(
    header: list[str], body: list[list[str]], notes: list[tuple[str, str]]
) -> list[list[str]]:
    while header and not header[-1] and not any(any(row[len(header) - 1 :]) for row in body):
        header.pop()
        body = [row[: len(header)] for row in body]
    width = len(header)
    longest = max(map(len, body), default=width)
    long = sum(len(row) > width for row in body)
    short = sum(len(row) < width for row in body)
    if long:
        notes.append(("row_too_long", f"{plural(long, 'row')} of {len(body)}"))
        header += [""] * (longest - width)
    if short:
        notes.append(("row_too_short", f"{plural(short, 'row')} of {len(body)}"))
    return [row + [""] * (len(header) - len(row)) for row in body]


def _named(
    header: Sequence[str], body: list[list[str]], notes: list[tuple[str, str]], text: str | None
) -> Reading:
    """Make the reading, with a name of its own for each column."""
    names = [" ".join(name.split()) for name in header]
    blank = [n for n, name in enumerate(names) if not name]
    if blank and "row_too_long" not in {kind for kind, _ in notes}:
        notes.append(("blank_header", f"{plural(len(blank), 'column')} without a name"))
    counts = Counter(name for name in names if name)
    repeated = [name for name, count in counts.items() if count > 1]
    if repeated:
        shown = ", ".join(map(repr, repeated))
        notes.append(("duplicate_header", f"{one_line(shown, 120)} stand several times"))
        _order_repeated(names, body, repeated)
    taken = {name for name, count in counts.items() if count == 1}
    for n in chain(_places(names, repeated), blank):
        base = names[n] or f"column {n + 1}"
        names[n] = _free(base, taken)
        taken.add(names[n])
    if not body:
        notes.append(("no_rows", READING_KINDS["no_rows"]))
    texts = map(list, zip(*body, strict=True)) if body else ([] for _ in names)
    return Reading(dict(zip(names, texts, strict=True)), len(body), notes, None, text)


def _places(names: Sequence[str], repeated: Sequence[str]) -> list[int]:
    return [n for name in repeated for n, other in enumerate(names) if other == name]


def _free(base: str, taken: set[str]) -> str:
    if base not in taken:
        return base
    numbers: Callable[[int], str] = f"{base} ({{}})".format
    return next(name for name in map(numbers, range(2, len(taken) + 3)) if name not in taken)


def _order_repeated(names: list[str], body: list[list[str]], repeated: Sequence[str]) -> None:
    """Sort columns of the same name by content, so that their order does not matter."""
    for name in repeated:
        places = [n for n, other in enumerate(names) if other == name]
        order = sorted(places, key=lambda n: sorted(row[n] for row in body))
        for row in body:
            cells = [row[n] for n in order]
            for n, cell in zip(places, cells, strict=True):
                row[n] = cell
