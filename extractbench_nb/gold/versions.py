"""`apply`: a new version of a dataset with corrected gold, its log, and the effect on scores."""

from __future__ import annotations

import json
import os
import re
import shutil
import warnings
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import suppress
from copy import deepcopy
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path
from typing import Any

import pandas as pd

from extractbench_nb.core.frames import Column, FrameSpec
from extractbench_nb.core.schema import MISSING, Validation, parse_schema
from extractbench_nb.core.values import PATH_STEP, canonical, equality_key
from extractbench_nb.errors import InputError, OutputError, nearest
from extractbench_nb.gold.correction_rows import (
    END,
    HISTORY,
    Correction,
    Steps,
    checked,
    csv_rows,
    csv_text,
    read_corrections,
)
from extractbench_nb.runs import (
    ACCEPTED_FILES,
    LICENCE_FILES,
    RUN_FOLDER,
    Dataset,
    load_dataset,
)
from extractbench_nb.stats import compare_runs, gather, refuse_two_profiles
from extractbench_nb.support.files import make_folder, new_folder, read_text, write_texts
from extractbench_nb.support.wording import one_line, plural

#: Where a corrected dataset keeps its log.
LOG = Path("corrections", "log.csv")
_MOST_PROBLEMS = 5

EFFECT = FrameSpec(
    "effect",
    "one row per run and measure",
    (
        Column("run", "string", "the run"),
        Column("measure", "string", "a column of `summary`"),
        Column("documents", "int64", "documents that both have; they are resampled", "1 and up"),
        Column("changed", "int64", "documents whose score changed", "0 to documents"),
        Column("before", "float64", "mean over documents before"),
        Column("after", "float64", "mean over documents after"),
        Column("difference", "float64", "after minus before"),
        Column("low", "Float64", "lower end of its interval; missing for few documents", "", True),
        Column("high", "Float64", "upper end", "", True),
        Column("method", "string", "of the interval", "as in `compare_runs`"),
    ),
)


def apply(
    dataset: Dataset | str | Path,
    corrections: Any,
    folder: str | Path,
    *,
    who: str | None = None,
    why: str | None = None,
) -> Dataset:
    """Write a new version of a dataset in which gold is corrected; the dataset is not changed.

    Parameters
    ----------
    dataset : Dataset, str or pathlib.Path
        What `load_dataset` returns or takes. It may be a corrected version: its log is kept.
    corrections : view, pandas.DataFrame, str or pathlib.Path
        What `corrections` takes.
    folder : str or pathlib.Path
        Where the new version is written: a folder that does not exist, or an empty one, outside of
        the dataset.
    who, why : str, optional
        As in `corrections`.

    Returns
    -------
    Dataset
        The new version. Its folder has schemas, gold files, PDFs, licence and recorded runs of the
        dataset, and ``corrections/log.csv``, see `history`.

    Raises
    ------
    InputError
        A correction is not valid, does not fit gold (there is nothing at its path, or gold has
        another value than its ``old``, or its ``new`` already), or there are none. The message
        names up to five.
    DatasetError
        A document is unknown, or its gold is not JSON.
    OutputError
        The folder is not empty, lies within the dataset, or cannot be written. An incomplete
        version is removed.

    Warns
    -----
    UserWarning
        Corrected gold does not fit its schema at a place where it did before.

    Notes
    -----
    ``old`` is compared if it is stated. An ``add`` may name a key whose value in gold is empty
    (null, or an empty text, array or object), which it replaces; objects and arrays above it that
    are missing or null are made. Gold files that are not corrected are copied byte by byte, so that
    ``evaluate_runs(..., resume=...)`` evaluates corrected documents only. PDFs are hard links where
    the file system has them.

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
    for row in read_corrections(corrections, who, why):
        by_document[row.document].append(row._replace(when=now) if row.when is pd.NA else row)
    if not by_document:
        raise InputError("there are no corrections to apply")
    listing: Any = ds.listing.set_index("document")
    files: dict[Path, str] = {}
    applied: list[Correction] = []
    problems: list[str] = []
    breaks: list[str] = []
    for document, rows in by_document.items():
        gold = ds.gold(document)
        fitting = []
        for row in rows:
            try:
                fitting.append(_fitted(gold, row))
            except InputError as error:
                problems.append(f"document {document!r}, {one_line(row.path)}: {error}")
        if problems:
            continue
        corrected = patched(gold, fitting)
        schema, file = listing.loc[document, ["schema", "gold_path"]]
        breaks += _new_violations(document, ds.schema(schema), gold, corrected)
        files[file.relative_to(ds.root)] = _written_like(read_text(file, "gold"), corrected)
        applied += [row for _, row in fitting]
    problems += _moved_alternatives(ds, applied)
    if problems:
        raise InputError(_first_of(problems))
    earlier = history(ds)
    version = int(earlier["version"].max()) + 1 if len(earlier) else 1
    log = [*earlier.itertuples(index=False), *((version, *row) for row in applied)]
    files[LOG] = csv_text(HISTORY, log)
    with new_folder(target) as new:
        _copy_files(ds, new)
        make_folder((new / LOG).parent)
        write_texts({new / name: text for name, text in files.items()})
    if breaks:
        problem = "corrected gold does not fit its schema, where it did before"
        warnings.warn(f"{problem}:\n{_first_of(breaks)}", stacklevel=2)
    return load_dataset(target)


def _first_of(problems: Sequence[str]) -> str:
    """Write the first problems in a line each, and the number of the others."""
    more = len(problems) - _MOST_PROBLEMS
    return "\n".join([*problems[:_MOST_PROBLEMS], *([f"and {more} more"] if more > 0 else [])])


def _new_violations(document: str, schema: Any, was: Any, now: Any) -> Iterator[str]:
    """Describe what the schema forbids in corrected gold and allowed before; not nulls."""
    validation = Validation(parse_schema(schema).document)
    known = {(error.json_path, error.message) for error in validation.iter_errors(was)}
    for error in validation.iter_errors(now):
        if error.instance is not None and (error.json_path, error.message) not in known:
            yield f"document {document!r}, {one_line(f'{error.json_path}: {error.message}', 200)}"


def _moved_alternatives(ds: Dataset, applied: Sequence[Correction]) -> Iterator[str]:
    """Name accepted alternatives whose paths would point at other items, or at none."""
    removed = [row for row in applied if row.op == "remove"]
    others = ds.accepted[["document", "path"]].to_numpy().tolist() if removed else []
    for row in removed:
        # a removed item moves those behind it
        is_item = isinstance(row.steps[-1], int)
        start = row.path.rpartition("[")[0] + "[" if is_item else row.path
        for document, path in others:
            below = path.startswith(start) and (is_item or path[len(start) :][:1] in ("", ".", "["))
            if document == row.document and below:
                yield (
                    f"document {row.document!r}, {one_line(row.path)}: the dataset's accepted "
                    f"alternatives have {one_line(path)}, which would point elsewhere; "
                    "correct them first"
                )


def _written_like(text: str, value: Any) -> str:
    """Write JSON with the indentation of a text."""
    indent = re.search(r"^[{[]\s*?\n( +|\t+)", text)
    return json.dumps(value, ensure_ascii=False, indent=indent[1] if indent else 2) + "\n"


def _copy_files(ds: Dataset, new: Path) -> None:
    """Copy a dataset; PDFs are linked."""
    files = [*ds.schemas["schema_path"], *ds.listing["gold_path"], *ds.listing["pdf_path"].dropna()]
    others = (ds.root / name for name in (*LICENCE_FILES, *ACCEPTED_FILES))
    for path in (*files, *filter(Path.is_file, others)):
        copied = new / path.relative_to(ds.root)
        make_folder(copied.parent)
        if path.suffix.lower() == ".pdf":
            with suppress(OSError):
                os.link(path.resolve(), copied)
        if not copied.exists():
            shutil.copyfile(path, copied)
    if (ds.root / RUN_FOLDER).is_dir():
        shutil.copytree(ds.root / RUN_FOLDER, new / RUN_FOLDER, copy_function=shutil.copyfile)


def history(dataset: Dataset | str | Path) -> pd.DataFrame:
    """Return the log of a corrected dataset.

    Parameters
    ----------
    dataset : Dataset, str or pathlib.Path
        What `load_dataset` returns or takes.

    Returns
    -------
    pandas.DataFrame
        One row per correction that `apply` made, oldest first: version, from 1, then the columns of
        `corrections`. ``old`` is the earlier value of gold, NA if it had none. Empty for a dataset
        that was not corrected.

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
    for where, row in csv_rows(ds.root / LOG, HISTORY) if (ds.root / LOG).exists() else ():
        version = row["version"]
        if not version.isdecimal() or int(version) < 1:
            raise InputError(f"{where}: version is {version!r}; expected 1 or more")
        rows.append((int(version), *checked(where, row)))
    return HISTORY.from_rows(rows)


# --- corrections of one document ---------------------------------------------------------------


def _fitted(gold: Any, row: Correction) -> tuple[Steps, Correction]:
    """Return the steps of a correction as gold has them, and the correction with gold's value."""
    value, path = gold, "$"
    steps: list[str | int] = []
    texts = [step[0] for step in PATH_STEP.finditer(row.path)]
    for step, text in zip(row.steps, texts, strict=True):
        # only an added value, or what is above it, may be absent
        may_add = row.op == "add" and len(steps) + 1 == len(texts)
        key, inner = step, MISSING
        if isinstance(value, dict) and step != END:
            key = str(step)  # an index may be the text of a key
            inner = value.get(key, MISSING)
            if inner is MISSING and row.op != "add":
                raise InputError(f"{_has(value, path)}, no key {key!r}; {nearest(key, value)}")
        elif isinstance(value, list) and isinstance(step, int):
            if may_add and step in (END, len(value)):
                key = END
            elif may_add:
                raise InputError(
                    f"{_has(value, path)}; an item is added behind the last one, at {path}[-]"
                )
            elif step >= len(value):
                raise InputError(f"{_has(value, path)}, no item {step}")
            else:
                inner = value[step]
        elif not (row.op == "add" and _is_absent(value) and (isinstance(step, str) or step == END)):
            raise InputError(f"{_has(value, path)}, so there is no {path}{text}")
        steps.append(key)
        value, path = inner, path + text
    return tuple(steps), _with_old(row, value)


def _with_old(row: Correction, old: Any) -> Correction:
    """Check the old value of a correction against gold's, and put gold's in its place."""
    is_empty = old is MISSING or (old != 0 and not old)  # null, or an empty text or container
    if row.op == "add" and not is_empty:
        raise InputError(f"gold has {_shown(old)} there already; op 'replace' changes it")
    is_stated = row.old is not pd.NA and not (row.op == "add" and row.old is None)
    if is_stated and (old is MISSING or equality_key(row.old) != equality_key(old)):
        raise InputError(
            f"the correction is of {_shown(row.old)}, and gold has {_shown(old)}: it was made "
            "for another version of gold"
        )
    if old is MISSING:
        return row._replace(old=pd.NA)
    if row.op != "remove" and equality_key(row.new) == equality_key(old):
        raise InputError(f"gold has {_shown(old)} already; leave this correction out")
    return row._replace(op="replace" if row.op == "add" else row.op, old=old)


def _is_absent(value: Any) -> bool:
    return value is None or value is MISSING


def _has(value: Any, path: str) -> str:
    text = _shown(value)
    if isinstance(value, dict | list):
        text = plural(len(value), "key" if isinstance(value, dict) else "item")
    return f"gold has {text} at {one_line(path)}"


def _shown(value: Any) -> str:
    return "nothing" if value is MISSING else one_line(canonical(value), 80)


def patched(gold: Any, rows: Sequence[tuple[Steps, Correction]]) -> Any:
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
                target[step] = [] if following == END else {}
            target = target[step]
        last = steps[-1] if steps else "$"
        if row.op == "remove":
            del target[last]
        elif last == END:
            target.append(row.new)
        else:
            target[last] = row.new
    return root["$"]


# --- scores before and after ------------------------------------------------------------------


def effect(
    before: object,
    after: object,
    *,
    measures: str | Sequence[str] = ("pass_rate", "overall_score", "field_score"),
    confidence: float = 0.95,
    resamples: int = 9999,
    seed: int = 0,
) -> pd.DataFrame:
    """Compare the scores of the same runs before and after gold was corrected.

    Parameters
    ----------
    before, after : Evaluations, pandas.DataFrame, mapping or list
        Scores as `compare_runs` takes them, with a column run. Runs and documents that are in one
        of them only are left out.
    measures : str or sequence of str, optional
        Columns of ``summary``.
    confidence : float, optional
        Confidence level of the intervals, between 0 and 1.
    resamples : int, optional
        Number of bootstrap resamples, 100 and up.
    seed : int, optional
        The same seed gives the same intervals.

    Returns
    -------
    pandas.DataFrame
        One row per run and measure: documents, changed, before, after, difference and its
        interval, which is that of `compare_runs`: paired, over documents. It covers documents that
        were not corrected, with a difference of 0. There is no test: gold was changed on purpose.

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
    both = frames["before"]["run"].isin(frames["after"]["run"])
    runs = frames["before"]["run"][both].unique()
    if not len(runs):
        names = (", ".join(map(repr, frame["run"].unique()[:3])) for frame in frames.values())
        raise InputError("no run is in both: before has {}, after has {}".format(*names))
    parts = []
    for run in runs:
        compared = compare_runs(
            {name: frame[frame["run"] == run] for name, frame in frames.items()},
            measures=measures,
            baseline="before",
            confidence=confidence,
            resamples=resamples,
            seed=seed,
        ).differences
        parts.append(compared.assign(run=run, changed=compared["a_higher"] + compared["b_higher"]))
    rows = pd.concat(parts)
    rows[["low", "high"]] = rows[["low", "high"]].round(12) + 0.0  # neither -0.0 nor -1e-17
    renamed = {"mean_a": "before", "mean_b": "after", "b_minus_a": "difference"}
    return EFFECT.from_records(rows.rename(columns=renamed))
