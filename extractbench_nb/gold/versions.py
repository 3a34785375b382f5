"""Corrections of gold: rows of a frame, file or view; versions of a dataset; effect on scores."""

from __future__ import annotations

import csv
import io
import json
import os
import re
import shutil
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from copy import deepcopy
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from extractbench_nb.core.frames import Column, FrameSpec
from extractbench_nb.core.schema import MISSING
from extractbench_nb.core.values import PATH_STEP, canonical, equality_key, private_copy, step_key
from extractbench_nb.errors import InputError, OutputError, nearest, no_column
from extractbench_nb.runs import Dataset, load_dataset
from extractbench_nb.stats import MEASURES, compare_runs, gather, refuse_two_profiles
from extractbench_nb.support.files import make_folder, new_folder, read_text, reading, write_texts
from extractbench_nb.support.pandas_helpers import is_missing
from extractbench_nb.support.wording import one_line, plural

OPS = ("replace", "add", "remove")
CORRECTIONS = FrameSpec(
    "corrections",
    "one row per correction, in the order of the source",
    (
        Column("document", "string", "document id"),
        Column("path", "string", "path in the old gold data; `[-]` is after the last item"),
        Column("op", "string", "what is done at the path", ", ".join(OPS)),
        Column("old", "object", "old gold value; NA if not stated, None for null", "JSON", True),
        Column("new", "object", "corrected value; NA if removed, None for null", "JSON", True),
        Column("who", "string", "person who made the correction", "", True),
        Column("when", "string", "time of the correction", "ISO 8601", True),
        Column("why", "string", "reason", "", True),
    ),
)
HISTORY = FrameSpec(
    "history",
    "one row per correction that was applied, oldest first",
    (
        Column("version", "int64", "number of times that corrections were applied", "1 and up"),
        *CORRECTIONS.columns,
    ),
)
EFFECT = FrameSpec(
    "effect",
    "one row per run and measure",
    (
        Column("run", "string", "the run"),
        Column("measure", "string", "a column of `summary`"),
        Column("documents", "int64", "documents in both results, which are resampled", "1 and up"),
        Column("changed", "int64", "documents whose score changed", "0 to documents"),
        Column("before", "float64", "mean over documents before the correction"),
        Column("after", "float64", "mean over documents after the correction"),
        Column("difference", "float64", "after - before"),
        Column("low", "Float64", "lower limit of its interval, if documents suffice", "", True),
        Column("high", "Float64", "upper limit of its interval", "", True),
        Column("method", "string", "method of the interval", "as in `compare_runs`"),
    ),
)

#: Where a corrected dataset keeps its log.
LOG = Path("corrections", "log.csv")
#: The index behind the last item of an array.
_END = -1
Steps = tuple[str | int, ...]


class Correction(NamedTuple):
    """One row of `CORRECTIONS`; what is missing is NA, and None is JSON's null."""

    document: str
    path: str
    op: str
    old: Any
    new: Any
    who: Any
    when: Any
    why: Any

    @property
    def steps(self) -> Steps:
        """The keys and indices of the path; `_END` for an added item."""
        steps = PATH_STEP.finditer(self.path)
        return tuple(_END if _is_added(step) else step_key(step) for step in steps)


def _is_added(step: re.Match[str]) -> bool:
    return (step[3] or "").startswith(("-", "+"))


def corrections(source: Any, *, who: str | None = None, why: str | None = None) -> pd.DataFrame:
    """Read and check corrections of the gold data.

    Parameters
    ----------
    source : view, pandas.DataFrame, str or pathlib.Path
        The view of `show_evidence`; a frame with columns document, path, new, and optionally op,
        old, who, when, why; a frame of `suspects`; a CSV file of `save_corrections`.
    who, why : str, optional
        Author and reason where `source` states none.

    Returns
    -------
    pandas.DataFrame
        One row per correction, see `CORRECTIONS`.

    Raises
    ------
    InputError
        A file cannot be read, a column is missing, a cell is not valid, or one correction is at or
        below the path of another.

    Notes
    -----
    Paths are those of ``Evaluation.fields``; all refer to gold before the corrections. ``add``
    adds a key (``$.address.city``), or an item after the last one (``$.items[-]``, or the path of
    a spurious item in ``fields``, ``$.items[+3]``). The default op is ``add`` for a path that ends
    in such an index, else ``replace``.

    Examples
    --------
    >>> frame = pd.DataFrame({"document": "q2", "path": ["$.total", "$.lines[-]"], "new": [7, 1]})
    >>> corrections(frame, who="ada")[["path", "op", "new", "who"]]
             path       op new  who
    0     $.total  replace   7  ada
    1  $.lines[-]      add   1  ada
    """
    return CORRECTIONS.from_rows(_read_corrections(source, who, why))


def save_corrections(source: Any, path: str | Path) -> Path:
    """Write corrections to a CSV file for review, which `corrections` can read.

    Parameters
    ----------
    source : view, pandas.DataFrame, str or pathlib.Path
        What `corrections` takes.
    path : str or pathlib.Path
        The file; it is replaced if it exists.

    Returns
    -------
    pathlib.Path
        The file.

    Raises
    ------
    InputError, OutputError
        The corrections are not valid, or the file cannot be written.

    Notes
    -----
    In the CSV file ``old`` and ``new`` are JSON: ``"12"`` is a text and ``12`` a number; an empty
    cell states nothing. Other cells that would be a formula begin with an apostrophe.

    Examples
    --------
    >>> from tempfile import mkdtemp
    >>> frame = pd.DataFrame({"document": ["q2"], "path": ["$.total"], "old": ["7"], "new": ["8"]})
    >>> file = save_corrections(frame, Path(mkdtemp()) / "review.csv")
    >>> corrections(file)[["path", "op", "old", "new"]].values.tolist()
    [['$.total', 'replace', '7', '8']]
    """
    target = Path(path)
    write_texts({target: _csv_text(CORRECTIONS, _read_corrections(source, None, None))})
    return target


# --- rows of any source -----------------------------------------------------------------------


def _read_corrections(source: Any, who: str | None, why: str | None) -> list[Correction]:
    """Read the rows of a source; check each one, and that none is at, above or below another."""
    found: list[Correction] = []
    named_at: dict[tuple[str, ...], str] = {}
    named_below: dict[tuple[str, ...], str] = {}
    for at, (where, row) in enumerate(_rows(source)):
        correction = _checked(where, row, {"who": who, "why": why})
        named = f"{where} ({correction.document!r}, {one_line(correction.path)})"
        steps = [str(step) for step in correction.steps]
        if correction.steps[-1:] == (_END,):
            steps[-1] = f"[-]{at}"  # several items may be added to one array
        place = (correction.document, *steps)
        prefixes = [place[:depth] for depth in range(1, len(place) + 1)]
        conflict = named_below.get(place) or next(filter(None, map(named_at.get, prefixes)), None)
        if conflict is not None:
            raise InputError(f"{named} and {conflict}; expected one correction per value")
        named_at[place] = named
        named_below |= dict.fromkeys(prefixes, named)
        found.append(correction)
    return found


def _rows(source: Any) -> Iterator[tuple[str, Mapping[Any, Any]]]:
    """Yield the name and the cells of each row."""
    edits = getattr(source, "edits", None)
    source = edits if isinstance(edits, pd.DataFrame) else source
    if isinstance(source, str | Path):
        yield from _csv_rows(Path(source), CORRECTIONS)
        return
    if not isinstance(source, pd.DataFrame):
        kind = type(source).__name__
        raise InputError(f"corrections are {kind}; expected a frame, a view or a CSV file")
    if "new" not in source and {"consensus", "gold", "kind"} <= set(source.columns):
        is_other = source["kind"] == "differs_from_gold"  # a suspect: its consensus becomes gold
        op, old = np.where(is_other, "replace", "add"), source["gold"].astype(object)
        source = source.assign(op=op, old=old.where(is_other, pd.NA), new=source["consensus"])
    for name in ("document", "path", *(() if "op" in source else ("new",))):
        if name not in source:  # removals need no value
            raise InputError(f"corrections: {no_column(name, source)}")
    # `to_dict` would make NA None, which is null
    for at, cells in enumerate(zip(*(source[name].tolist() for name in source), strict=True)):
        yield f"corrections row {at}", dict(zip(source, cells, strict=True))


def _checked(where: str, row: Mapping[Any, Any], remarks: Mapping[str, Any] = {}) -> Correction:
    """Check the cells of a row; `remarks` stand for who, when and why that it does not state."""
    cells = {name: row.get(name, pd.NA) for name in CORRECTIONS.names}
    steps = list(PATH_STEP.finditer(path := str(cells["path"])))
    defaults = {"op": "add" if steps and _is_added(steps[-1]) else "replace", **remarks}
    for name in ("document", "path", "op", "who", "when", "why"):
        if is_missing(cells[name]) or cells[name] == "":
            cells[name] = defaults.get(name)
        is_text = isinstance(cells[name], str) and cells[name]
        if not is_text and (cells[name] is not None or name in ("document", "path")):
            raise InputError(f"{where}: {name} is {row.get(name)!r}; expected a text")
        cells[name] = pd.NA if cells[name] is None else cells[name]
    op = cells["op"]
    where += f" ({cells['document']!r}, {one_line(path)})"
    if op not in OPS:
        raise InputError(f"{where}: op is {op!r}; {nearest(op, OPS)}")
    if not path.startswith("$") or PATH_STEP.sub("", path) != "$":
        raise InputError(f"{where}: path is {path!r}; expected an instance path, '$.items[2].name'")
    if op == "remove" and not steps:
        raise InputError(f"{where}: the root cannot be removed; replace it")
    if any(map(_is_added, steps if op != "add" else steps[:-1])):
        raise InputError(f"{where}: gold has no such item; add it as a whole with op 'add' at [-]")
    for name in ("old", "new"):
        cells[name] = _json_value(cells[name], f"{where}: {name}")
    if op == "remove":
        cells["new"] = pd.NA
    elif cells["new"] is pd.NA:
        hint = "null is None in a column of dtype object"
        raise InputError(f"{where}: new is missing; expected JSON ({hint}), or op 'remove'")
    return Correction(**cells)


def _json_value(value: Any, what: str) -> Any:
    """Return a copy of a JSON value; NA if nothing is stated, which None is not."""
    if value is not None and is_missing(value):
        return pd.NA
    copied = private_copy(value, what)
    try:
        json.dumps(copied, allow_nan=False)
    except (TypeError, ValueError, RecursionError):
        raise InputError(f"{what} is {type(value).__name__}; expected JSON") from None
    return copied


# --- CSV --------------------------------------------------------------------------------------

#: A cell that begins like this is a formula in a spreadsheet, or had an apostrophe already.
_FORMULA = re.compile(r"'*[=+\-@\t\r]")
_LONGEST_CELL = 100_000_000


def _csv_text(spec: FrameSpec, rows: Iterable[Sequence[Any]]) -> str:
    """Write rows as CSV; the byte-order mark tells a spreadsheet that it is UTF-8."""

    def cell_text(column: str, cell: Any) -> str:
        if cell is pd.NA:
            return ""
        if column in ("old", "new"):
            return json.dumps(cell, ensure_ascii=False)
        return f"'{cell}" if _FORMULA.match(str(cell)) else str(cell)

    out = io.StringIO(newline="")
    writer = csv.writer(out, lineterminator="\r\n")
    writer.writerow(spec.names)
    writer.writerows(map(cell_text, spec.names, row) for row in rows)
    return "\ufeff" + out.getvalue()


def _csv_rows(path: Path, spec: FrameSpec) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the name and the cells of each row of a CSV file."""
    name = f"corrections file {str(path)!r}"
    limit = csv.field_size_limit(_LONGEST_CELL)
    try:
        with reading(name, path), path.open(encoding="utf-8-sig", newline="") as file:
            header, *lines = list(csv.reader(file, strict=True)) or [[]]
    except (csv.Error, UnicodeDecodeError) as error:
        raise InputError(f"{name} is not CSV in UTF-8: {error}") from None
    finally:
        csv.field_size_limit(limit)
    for column in ("version", "document", "path", "new"):
        if column in spec.names and column not in header:
            raise InputError(f"{name}: no column {column!r}; {nearest(column, header)}")
    for at, texts in enumerate(lines, 2):
        where, row = f"{name} row {at}", dict[str, Any](zip(header, texts, strict=False))
        if not any(texts):
            continue
        if len(texts) != len(header):
            raise InputError(f"{where} has {len(texts)} cells; expected {len(header)}")
        for column, text in row.items():
            if column in ("old", "new"):
                row[column] = cell_value(text, f"{where}: {column}") if text else pd.NA
            elif text.startswith("'") and _FORMULA.match(text):
                row[column] = text[1:]
        yield where, row


def cell_value(text: str, what: str) -> Any:
    """Read JSON that a person wrote; NaN and infinities are not JSON."""

    def refuse(constant: str) -> Any:
        raise ValueError(f"{constant} is not JSON")

    try:
        return json.loads(text, parse_constant=refuse)
    except (ValueError, RecursionError):
        hint = "; a text needs quotes" if text[:1] not in '"[{' else ""
        raise InputError(f"{what} is {one_line(text, 60)!r}; expected JSON{hint}") from None


# --- versions ---------------------------------------------------------------------------------


def apply(
    dataset: Dataset | str | Path,
    corrections: Any,
    folder: str | Path,
    *,
    who: str | None = None,
    why: str | None = None,
) -> Dataset:
    """Write a corrected copy of a dataset; the dataset itself is not changed.

    Parameters
    ----------
    dataset : Dataset, str or pathlib.Path
        What `load_dataset` returns or takes. It may be a corrected version: its log is kept.
    corrections : view, pandas.DataFrame, str or pathlib.Path
        What `corrections` takes.
    folder : str or pathlib.Path
        A folder that does not exist, or an empty one, outside of the dataset.
    who, why : str, optional
        As in `corrections`.

    Returns
    -------
    Dataset
        The new version: the files of the dataset, and ``corrections/log.csv``, see `history`.

    Raises
    ------
    InputError
        A correction is not valid or does not fit gold (there is nothing at its path, or gold has
        another value than its ``old``, or its ``new`` already), or there are none.
    DatasetError, OutputError
        A document is unknown or its gold is not JSON; or the folder cannot be written.

    Notes
    -----
    An ``add`` replaces an empty value, and makes objects and arrays above it that are missing or
    null. Gold files that are not corrected are copied byte by byte, so ``evaluate_runs(...,
    resume=...)`` evaluates corrected documents only. PDFs are hard links if possible.

    Examples
    --------
    >>> from tempfile import mkdtemp
    >>> ds = load_dataset()
    >>> frame = pd.DataFrame({"document": ["night bus demand"], "path": "$.heading", "new": "Day"})
    >>> new = apply(ds, frame, Path(mkdtemp()) / "v2", who="ada", why="misread")
    >>> new.gold("night bus demand")["heading"], history(new)[["version", "who"]].values.tolist()
    ('Day', [[1, 'ada']])
    """
    ds = dataset if isinstance(dataset, Dataset) else load_dataset(dataset)
    target = Path(folder).expanduser().absolute()
    if target.resolve().is_relative_to(ds.root.resolve()):
        raise OutputError(f"{str(target)!r} is within the dataset; expected a folder outside of it")
    now = datetime.now(UTC).isoformat(timespec="seconds")
    by_document: dict[str, list[Correction]] = defaultdict(list)
    for row in _read_corrections(corrections, who, why):
        by_document[row.document].append(row._replace(when=now) if row.when is pd.NA else row)
    if not by_document:
        raise InputError("there are no corrections to apply")
    files_of_gold = ds.listing.set_index("document")["gold_path"]
    files: dict[Path, str] = {}
    applied: list[Correction] = []
    for document, rows in by_document.items():
        gold, fitting = ds.gold(document), []
        for row in rows:
            try:
                _refuse_moved_alternatives(ds, row)
                fitting.append(_fitted(gold, row))
            except InputError as error:
                where = f"document {document!r}, {one_line(row.path)}"
                raise InputError(f"{where}: {error}") from None
        file = files_of_gold[document]
        indent = re.search(r"^[{[]\s*?\n( +|\t+)", read_text(file, "gold"))
        indentation = indent[1] if indent else 2
        text = json.dumps(_patched(gold, fitting), ensure_ascii=False, indent=indentation)
        files[file.relative_to(ds.root)] = text + "\n"
        applied += [row for _, row in fitting]
    earlier = history(ds)
    version = int(earlier["version"].max()) + 1 if len(earlier) else 1
    log = [*earlier.itertuples(index=False), *((version, *row) for row in applied)]
    files[LOG] = _csv_text(HISTORY, log)
    hidden: Any = shutil.ignore_patterns(".*")
    with new_folder(target) as new:
        shutil.copytree(
            ds.root, new, ignore=hidden, copy_function=_copy_or_link, dirs_exist_ok=True
        )
        make_folder((new / LOG).parent)
        write_texts({new / name: text for name, text in files.items()})
    return load_dataset(target)


def _refuse_moved_alternatives(ds: Dataset, row: Correction) -> None:
    """Refuse a removal after which accepted alternatives would be of other values, or of none."""
    if row.op != "remove" or ds.accepted.empty:
        return
    is_item = isinstance(row.steps[-1], int)  # those behind it move
    start = row.path.rpartition("[")[0] + "[" if is_item else row.path
    for path in ds.accepted.loc[ds.accepted["document"] == row.document, "path"]:
        if path.startswith(start) and (is_item or path[len(start) :][:1] in ("", ".", "[")):
            problem = f"the dataset's accepted alternatives have {one_line(path)}"
            raise InputError(f"{problem}, which would point elsewhere; correct them first")


def _copy_or_link(source: str, target: str) -> None:
    if source.lower().endswith(".pdf"):
        with suppress(OSError):
            os.link(Path(source).resolve(), target)
            return
    shutil.copyfile(source, target)


def history(dataset: Dataset | str | Path) -> pd.DataFrame:
    """Return the log of a corrected dataset.

    Parameters
    ----------
    dataset : Dataset, str or pathlib.Path
        What `load_dataset` returns or takes.

    Returns
    -------
    pandas.DataFrame
        One row per correction that `apply` made, oldest first, see `HISTORY`.

    Raises
    ------
    InputError
        The log cannot be read.

    Examples
    --------
    >>> len(history("sample"))
    0
    """
    ds = dataset if isinstance(dataset, Dataset) else load_dataset(dataset)
    rows = []
    for where, row in _csv_rows(ds.root / LOG, HISTORY) if (ds.root / LOG).exists() else ():
        if not row["version"].isdecimal():
            raise InputError(f"{where}: version is {row['version']!r}; expected 1 or more")
        rows.append((int(row["version"]), *_checked(where, row)))
    return HISTORY.from_rows(rows)


# --- corrections of one document ---------------------------------------------------------------


def _fitted(gold: Any, row: Correction) -> tuple[Steps, Correction]:
    """Return the steps of a correction as gold has them, and the correction with the gold value."""
    is_add = row.op == "add"
    steps: list[str | int] = []
    value, path = gold, "$"
    for step, match in zip(row.steps, PATH_STEP.finditer(row.path), strict=True):
        has = f"gold has {_shown(value)} at {one_line(path)}"
        is_last = match.end() == len(row.path)
        if isinstance(value, dict) and step != _END:
            key: str | int = str(step)  # an index may be the text of a key
            if key not in value and not is_add:
                raise InputError(f"{has}, no key {key!r}; {nearest(key, value)}")
            value = value.get(key, MISSING)
        elif isinstance(value, list) and isinstance(step, int):
            is_new = is_add and is_last
            if not (step in (_END, len(value)) if is_new else 0 <= step < len(value)):
                hint = f"; an item is added behind the last one, at {path}[-]" if is_new else ""
                raise InputError(f"{has}, no item {step}{hint}")
            key = _END if is_new else step
            value = MISSING if is_new else value[step]
        elif is_add and _is_absent(value) and (isinstance(step, str) or step == _END):
            key, value = step, MISSING  # what is above an added value is made
        else:
            raise InputError(f"{has}, so there is no {path}{match[0]}")
        steps.append(key)
        path += match[0]
    return tuple(steps), _with_old(row, value)


def _with_old(row: Correction, old: Any) -> Correction:
    """Check the old value of a correction against gold's, and put gold's in its place."""
    is_empty = old is MISSING or (old != 0 and not old)  # null, or an empty text or container
    if row.op == "add" and not is_empty:
        raise InputError(f"gold has {_shown(old)} there already; op 'replace' changes it")
    is_stated = row.old is not pd.NA and not (row.op == "add" and row.old is None)
    if is_stated and (old is MISSING or equality_key(row.old) != equality_key(old)):
        raise InputError(f"the correction is of {_shown(row.old)}, and gold has {_shown(old)}")
    if old is MISSING:
        return row._replace(old=pd.NA)
    if row.op != "remove" and equality_key(row.new) == equality_key(old):
        raise InputError(f"gold has {_shown(old)} already; leave this correction out")
    return row._replace(op="replace" if row.op == "add" else row.op, old=old)


def _is_absent(value: Any) -> bool:
    return value is None or value is MISSING


def _shown(value: Any) -> str:
    if isinstance(value, dict | list) and value:
        return plural(len(value), "key" if isinstance(value, dict) else "item")
    return "nothing" if value is MISSING else one_line(canonical(value), 80)


def _patched(gold: Any, rows: Sequence[tuple[Steps, Correction]]) -> Any:
    """Return a copy of gold with corrections that fit it.

    Removals come last, and later items first, so that none moves the place of another. An object or
    array that is missing or null is begun by the first value that is added to it.
    """

    def turn(row: tuple[Steps, Correction]) -> tuple[bool, list[int]]:
        is_removal = row[1].op == "remove"
        indices = [-step if isinstance(step, int) else 1 for step in row[0]]
        return is_removal, indices if is_removal else []

    root = {"$": deepcopy(gold)}
    for steps, row in sorted(rows, key=turn):
        target: Any = root
        for step, following in pairwise(("$", *steps)):
            if _is_absent(target.get(step) if isinstance(target, dict) else target[step]):
                target[step] = [] if following == _END else {}
            target = target[step]
        last = steps[-1] if steps else "$"
        if row.op == "remove":
            del target[last]
        elif last == _END:
            target.append(row.new)
        else:
            target[last] = row.new
    return root["$"]


# --- scores before and after ------------------------------------------------------------------


def effect(
    before: object,
    after: object,
    *,
    measures: str | Sequence[str] = MEASURES,
    confidence: float = 0.95,
    resamples: int = 9999,
    seed: int = 0,
) -> pd.DataFrame:
    """Compare the scores of runs before and after corrections of the gold data.

    Parameters
    ----------
    before, after : Evaluations, pandas.DataFrame, mapping or list
        Scores in a form that `compare_runs` accepts. Runs and documents of one of them are left
        out.
    measures, confidence, resamples, seed : optional
        As in `compare_runs`.

    Returns
    -------
    pandas.DataFrame
        One row per run and measure, with the paired interval of the difference. There is no test:
        gold was changed on purpose.

    Raises
    ------
    InputError
        There is no column run, no run is in both, or as for `compare_runs`.

    Examples
    --------
    >>> scores = pd.DataFrame({"run": "x", "document": [*"abcd"], "pass_rate": [.5, .5, .75, 1]})
    >>> corrected = scores.assign(pass_rate=[1, .5, .75, 1])
    >>> effect(scores, corrected, measures="pass_rate")[["changed", "before", "difference"]]
       changed  before  difference
    0        1  0.6875       0.125
    """
    refuse_two_profiles([before, after])
    frames = {"before": gather(before, "summary"), "after": gather(after, "summary")}
    for name, frame in frames.items():
        if "run" not in frame.columns:
            raise InputError(f"{name}: summary has no column 'run'; pass the results of a batch")
    runs_before, runs_after = (frame["run"].unique().tolist() for frame in frames.values())
    runs = [run for run in runs_before if run in runs_after]
    if not runs:
        raise InputError(f"no run is in both: {runs_before[:3]} before, {runs_after[:3]} after")
    drawing: dict[str, Any] = {"confidence": confidence, "resamples": resamples, "seed": seed}
    parts = []
    for run in runs:
        sides = {name: frame[frame["run"] == run] for name, frame in frames.items()}
        found = compare_runs(sides, measures=measures, baseline="before", **drawing).differences
        parts.append(found.assign(run=run, changed=found["a_higher"] + found["b_higher"]))
    rows = pd.concat(parts)
    rows[["low", "high"]] = rows[["low", "high"]].round(12) + 0.0  # neither -0.0 nor -1e-17
    renamed = {"mean_a": "before", "mean_b": "after", "b_minus_a": "difference"}
    return EFFECT.from_records(rows.rename(columns=renamed))
