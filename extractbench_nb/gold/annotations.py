"""`Annotations`: what people decided about failed fields, with their notes."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from extractbench_nb.core.frames import Column, FrameSpec
from extractbench_nb.errors import InputError, nearest
from extractbench_nb.support.files import read_own_json, write_texts
from extractbench_nb.support.wording import document_json

#: What a person may decide about a field, and what it means.
DECISIONS: dict[str, str] = {
    "gold_wrong": "the gold value is wrong",
    "acceptable": "both values are right; the predicted one should be accepted",
    "judge_wrong": "gold is right, and the judge or metric decided wrongly",
    "confirmed": "the verdict is right",
}

ANNOTATIONS = FrameSpec(
    "annotations",
    "one row per annotated field of an output",
    (
        Column("run", "str", "the run; empty for a single evaluation"),
        Column("document", "str", "the document; empty for a single evaluation"),
        Column("path", "str", "instance path of the field"),
        Column("metric", "str", "the metric whose verdict it is"),
        Column("decision", "str", "what was decided", ", ".join(DECISIONS)),
        Column("note", "str", "a note; empty for none"),
        Column("gold", "object", "the gold value when it was annotated", nullable=True),
        Column("predicted", "object", "the predicted value then", nullable=True),
    ),
)
_KEYS = ("run", "document", "path", "metric")
_TEXTS = (*_KEYS, "decision", "note")
_LONGEST_NOTE = 10_000


class Annotations:
    """Decisions of reviewers about fields, kept in memory and, if a path is given, in a file.

    Parameters
    ----------
    path : str or pathlib.Path, optional
        A JSON file, which is read if it exists and written at each change. By default nothing is
        written.

    Raises
    ------
    InputError
        The file cannot be read, or does not hold annotations.

    Examples
    --------
    >>> annotations = Annotations()
    >>> annotations.mark({"path": "$.total", "gold": 1240}, "gold_wrong", "page 3 says 12,400")
    >>> annotations.frame[["path", "decision", "note"]]
          path    decision                note
    0  $.total  gold_wrong  page 3 says 12,400
    """

    def __init__(self, path: str | Path | None = None) -> None:
        self._path = None if path is None else Path(path)
        self._rows: dict[tuple[str, ...], dict[str, Any]] = {}
        if self._path is not None and self._path.exists():
            self._rows = {
                _key(row): row for row in _checked(read_own_json(self._path, "annotations"))
            }

    def mark(self, row: Mapping[str, Any] | pd.Series, decision: str, note: str = "") -> None:
        """Annotate a field; an earlier annotation of the same field is replaced.

        Parameters
        ----------
        row : mapping or pandas.Series
            A row of ``fields``: path, and optionally run, document, metric, gold, predicted.
        decision : str
            One of `DECISIONS`; empty removes the annotation.
        note : str, optional
            Why, in up to 10,000 characters.

        Raises
        ------
        InputError
            The decision is unknown, the row has no path, or the note is too long.
        OutputError
            The file cannot be written; the annotation is kept in memory.
        """
        kept = {name: row.get(name, "") for name in _KEYS} | {"decision": decision, "note": note}
        kept |= {side: document_json(row.get(side)) for side in ("gold", "predicted")}
        if decision:
            _check(kept, "mark")
            self._rows[_key(kept)] = kept
        else:
            self._rows.pop(_key(kept), None)
        if self._path is not None:
            self.save(self._path)

    def get(self, run: str, document: str, path: str, metric: str) -> tuple[str, str]:
        """Return the decision about a field.

        Parameters
        ----------
        run, document, path, metric : str
            The field, as in the columns of `frame`.

        Returns
        -------
        tuple of (str, str)
            The decision and the note; both are empty if there is none.
        """
        row = self._rows.get((run, document, path, metric), {})
        return row.get("decision", ""), row.get("note", "")

    @property
    def frame(self) -> pd.DataFrame:
        """One row per annotated field (see `ANNOTATIONS`), in order of annotation."""
        return ANNOTATIONS.from_records(self._rows.values())

    def save(self, path: str | Path) -> Path:
        """Write all annotations to a JSON file, which `Annotations` reads.

        Parameters
        ----------
        path : str or pathlib.Path
            The file; it is replaced if it exists.

        Returns
        -------
        pathlib.Path
            The file.

        Raises
        ------
        OutputError
            The file cannot be written; an existing file is unchanged.
        """
        target = Path(path)
        text = json.dumps(list(self._rows.values()), ensure_ascii=False, indent=1)
        write_texts({target: text + "\n"})
        return target

    def __len__(self) -> int:
        """Return the number of annotated fields."""
        return len(self._rows)

    def __repr__(self) -> str:
        """Return the numbers of annotations by decision."""
        counts = self.frame["decision"].value_counts()
        numbers = ", ".join(f"{counts[name]} {name}" for name in DECISIONS if name in counts)
        return f"Annotations({numbers or 'none'})"


def _key(row: Mapping[str, Any]) -> tuple[str, ...]:
    return tuple(row[name] for name in _KEYS)


def _checked(content: Any) -> Iterator[dict[str, Any]]:
    if not isinstance(content, list):
        raise InputError(f"annotations are {type(content).__name__}; expected a list of objects")
    for at, row in enumerate(content):
        where = f"annotations[{at}]"
        if not isinstance(row, dict):
            raise InputError(f"{where} is {type(row).__name__}; expected an object")
        complete = dict.fromkeys(_TEXTS, "") | {"gold": None, "predicted": None} | row
        _check(complete, where)
        yield complete


def _check(row: Mapping[str, Any], where: str) -> None:
    for name in row:
        if name not in ANNOTATIONS.names:
            raise InputError(f"{where}: no key {name!r}; {nearest(name, ANNOTATIONS.names)}")
        if name in _TEXTS and not isinstance(row[name], str):
            raise InputError(f"{where}: {name} is {row[name]!r}; expected a str")
    if row["decision"] not in DECISIONS:
        problem = nearest(row["decision"], DECISIONS)
        raise InputError(f"{where}: decision is {row['decision']!r}; {problem}")
    if not row["path"].startswith("$"):
        raise InputError(f"{where}: path is {row['path']!r}; expected an instance path, '$.total'")
    if len(row["note"]) > _LONGEST_NOTE:
        raise InputError(
            f"{where}: the note has {len(row['note']):,} characters; expected at most "
            f"{_LONGEST_NOTE:,}"
        )
