"""`read_outputs`: one row per attempt, with its failure, its value, and the repaired value."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from extractbench_nb.core.frames import Column, FrameSpec, as_pandas
from extractbench_nb.core.schema import parse_schema
from extractbench_nb.core.values import read_document
from extractbench_nb.errors import InputError, nearest
from extractbench_nb.runs.inputs import read_bytes
from extractbench_nb.runs.parsing import (
    FAILURES,
    Conformance,
    ParsedOutput,
    parse_output,
    read_output,
)
from extractbench_nb.runs.plans import DatasetLike, documents_of
from extractbench_nb.support.model_json import read_cut_off, repaired, unwrapped
from extractbench_nb.support.pandas_helpers import refuse_missing


@dataclass(frozen=True)
class Repaired:
    """An output after repair; made by `repair_output`.

    Attributes
    ----------
    value : object
        The JSON value; None if there is none.
    text : str or None
        The repaired JSON; None if there is none.
    parsed : ParsedOutput
        The result of strict parsing.
    note : str or None
        Why the output could not be repaired.
    """

    value: Any
    text: str | None
    parsed: ParsedOutput
    note: str | None = None

    @property
    def repaired(self) -> bool:
        """Whether the value exists only because of the repair."""
        return self.text is not None and not self.parsed.parses


def repair_output(raw: str | bytes | None, *, seconds: float = 20.0) -> Repaired:
    """Read an output leniently, repairing formal errors.

    Parameters
    ----------
    raw : str, bytes or None
        The text as received.
    seconds : float, optional
        Time limit for the repair of a text of more than 10,000 characters.

    Returns
    -------
    Repaired
        Text that parses strictly is returned as it is. Text that was cut off is read up to the cut.
        Otherwise `json_repair` closes open brackets, removes trailing commas and prose, and adds
        quotes. Text without an object or array has no value. No text in `raw` raises an error.

    Notes
    -----
    A repaired value is a guess: for a truncated output it holds the values before the cut, and the
    last one may be incomplete. Scores of repaired outputs are hypothetical, not results of the
    model.

    Examples
    --------
    >>> repair_output('{"total": 12, "lines": [1, 2,').value
    {'total': 12, 'lines': [1, 2]}
    """
    parsed = parse_output(raw)
    if parsed.parses:
        return Repaired(parsed.value, json.dumps(parsed.value, ensure_ascii=False), parsed)
    text = raw.decode("utf-8", "replace") if isinstance(raw, bytes | bytearray) else raw or ""
    if parsed.failure == "empty_response":
        return Repaired(None, None, parsed, "there is no text")
    value = None
    if parsed.failure == "truncated_json":
        with suppress(ValueError):
            value = read_cut_off(unwrapped(text)[0])
    try:
        value = repaired(text, seconds) if value is None else value
        fixed = json.dumps(value, ensure_ascii=False)
    except subprocess.TimeoutExpired:
        return Repaired(None, None, parsed, f"it was not repaired within {seconds:g} s")
    except Exception as error:  # noqa: BLE001 - the library promises nothing
        return Repaired(None, None, parsed, f"json_repair failed: {type(error).__name__}: {error}")
    if not isinstance(value, dict | list) or not value:
        return Repaired(None, None, parsed, "it holds no object or array")
    return Repaired(value, fixed, parsed)


ATTEMPT_COLUMNS = FrameSpec(
    "attempts",
    "one row per attempt: a run and a document",
    (
        Column("run", "string", "run"),
        Column("document", "string", "document id"),
        Column("domain", "string", "domain of the dataset", nullable=True),
        Column("schema", "string", "schema id"),
        Column("failure", "string", "how it failed", ", ".join(FAILURES)),
        Column("valid", "bool", "parses, and fits the schema as far as gold does"),
        Column("parses", "bool", "parses without byte-order mark and code fence"),
        Column("conforms", "boolean", "fits the schema as far as gold does", nullable=True),
        Column("parses_strictly", "bool", "parses as received"),
        Column("conforms_strictly", "boolean", "fits the schema", nullable=True),
        Column("wrapper", "string", "what was removed", "bom, fence, bom and fence or nothing"),
        Column("message", "string", "what is wrong", nullable=True),
        Column("line", "Int64", "line of the failure", "1 and up", True),
        Column("column", "Int64", "column of the failure in its line", "1 and up", True),
        Column("offset", "Int64", "characters before the failure", "0 and up", True),
        Column("excerpt", "string", "the text around the failure", nullable=True),
        Column("characters", "int64", "length of the text", "0 and up"),
        Column("finish_reason", "string", "as the provider says", nullable=True),
        Column("value", "object", "the parsed JSON, where there is any", nullable=True),
        Column("raw", "object", "the text as received", nullable=True),
    ),
)

_NEEDED = ("run", "document")


def read_outputs(outputs: Any, dataset: DatasetLike) -> pd.DataFrame:
    """Parse the outputs of runs strictly, and name their failures.

    Parameters
    ----------
    outputs : pandas.DataFrame, or an object with ``outputs``, or a list of them
        Runs, or frames with the columns run, document and raw (a text, bytes, a ``pathlib.Path``,
        or None), or ``predicted`` in its place, as in ``dataset.runs``; optionally meta, see
        `parse_output`.
    dataset : Dataset, str or path
        Where schemas and gold come from; or what `load_dataset` takes.

    Returns
    -------
    pandas.DataFrame
        One row per attempt, in the order given; see `ATTEMPT_COLUMNS`.

    Raises
    ------
    InputError
        A column is missing, a run has a document twice, a document is not in the dataset, or a file
        cannot be read.

    Examples
    --------
    >>> import extractbench_nb as xb
    >>> ds = xb.load_dataset()
    >>> read_outputs(ds.runs, ds)["failure"].value_counts().head(2).to_dict()
    {'none': 29, 'schema_violation': 19}
    """
    frame = frame_of_outputs(outputs)
    dataset = documents_of(dataset)
    listing = {str(row["document"]): row for row in dataset.documents.to_dict("records")}
    allowed: dict[str, Conformance] = {}
    rows: list[list[Any]] = []
    metas = frame["meta"] if "meta" in frame.columns else [None] * len(frame)
    for run, name, source, about in zip(
        frame["run"], frame["document"], frame["raw"], metas, strict=True
    ):
        document, meta = str(name), about if isinstance(about, Mapping) else {}
        if document not in listing:
            raise InputError(f"unknown document {document!r}; {nearest(document, listing)}")
        domain, schema = listing[document]["domain"], listing[document]["schema"]
        if document not in allowed:
            gold = read_document(dataset.gold(document), "gold")
            allowed[document] = Conformance(parse_schema(dataset.schema(schema)), gold)
        raw = _raw(source)
        found = read_output(raw, meta, allowed[document])
        length = len(raw.decode("utf-8", "replace") if isinstance(raw, bytes) else raw or "")
        cells = vars(found) | {
            "run": str(run),
            "document": document,
            "domain": domain,
            "schema": schema,
            "valid": found.valid,
            "characters": length,
            "finish_reason": meta.get("finish_reason"),
            "raw": raw,
        }
        rows.append([cells[name] for name in ATTEMPT_COLUMNS.names])
    return ATTEMPT_COLUMNS.from_rows(rows)


def frame_of_outputs(outputs: Any) -> pd.DataFrame:
    """Return outputs of any kind as one frame, one row per attempt, with the texts in ``raw``."""
    frames: list[pd.DataFrame] = []
    for source in outputs if isinstance(outputs, list | tuple) and outputs else [outputs]:
        given = as_pandas(source)
        frame = given if isinstance(given, pd.DataFrame) else getattr(given, "outputs", None)
        if not isinstance(frame, pd.DataFrame):
            kind = type(source).__name__
            raise InputError(f"outputs is {kind}; expected a DataFrame, a run, or a list of them")
        refuse_missing(frame, _NEEDED, "outputs")
        if "raw" not in frame.columns:
            if "predicted" not in frame.columns:
                names = ", ".join(map(str, frame))
                raise InputError(f"outputs has no column 'raw'; it has {names}")
            frame = frame.rename(columns={"predicted": "raw"})
        frames.append(frame)
    frame = frames[0] if len(frames) == 1 else pd.concat(frames, ignore_index=True)
    twice = frame.duplicated(list(_NEEDED))
    if twice.any():
        run, document = frame.loc[twice, list(_NEEDED)].iloc[0]
        raise InputError(f"outputs has run {run!r}, document {document!r} more than once")
    return frame


def _raw(source: Any) -> str | bytes | None:
    if isinstance(source, Path):
        return read_bytes(source)
    if source is None or isinstance(source, str | bytes):
        return source
    if pd.isna(source):
        return None
    raise InputError(f"an output is a {type(source).__name__}; expected a text, bytes or a Path")


def predictions(attempts: pd.DataFrame) -> pd.DataFrame:
    """Return the values of valid attempts, None for others, as `evaluate_runs` takes them."""
    refuse_missing(attempts, ("run", "document", "valid", "value"), "attempts")
    pairs = zip(attempts["valid"], attempts["value"], strict=True)
    values = pd.Series([value if valid else None for valid, value in pairs], attempts.index, object)
    return attempts[["run", "document"]].assign(predicted=values)
