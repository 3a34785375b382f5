"""Outputs of models: strict parsing, failures by name, repair, and one row per attempt.

An output is valid, as the paper defines it (section 4), if it parses and conforms to the schema. A
byte-order mark and a code fence are removed before parsing; whether the text is valid as received
is reported separately.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Hashable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import pandas as pd

from extractbench_nb.core.frames import Column, FrameSpec
from extractbench_nb.core.schema import Schema, Validation, parse_schema
from extractbench_nb.core.values import json_type, read_document
from extractbench_nb.errors import InputError, nearest
from extractbench_nb.runs.dataset import DatasetLike, documents_of
from extractbench_nb.runs.inputs import frame_of_runs, read_bytes
from extractbench_nb.support.model_json import fault_of, read_cut_off, repaired, unwrapped
from extractbench_nb.support.pandas_helpers import refuse_missing

#: How an output can fail, in the order of the checks. The paper (Table 7) names empty_response,
#: trailing_comma, page_limit, truncated_json and context_length.
FAILURES = (
    *("none", "page_limit", "context_length", "schema_rejected", "refused", "rate_limited"),
    *("timeout", "other", "empty_response", "trailing_comma", "truncated_json", "malformed_json"),
    *("not_an_object", "schema_violation"),
)

_OF_CALLS = frozenset(FAILURES[1:8])
_CUT_OFF = ("length", "max_tokens", "MAX_TOKENS")
_FILTERED = ("content_filter", "refusal", "SAFETY")
_BOM = "\ufeff"
_AROUND = 40


@dataclass(frozen=True)
class ParsedOutput:
    """The result of parsing one output; made by `parse_output`.

    Attributes
    ----------
    value : object
        The parsed JSON; None if the text does not parse (or is ``null``, see `parses`).
    failure : str
        One of `FAILURES`; ``none`` for a valid output. ``message`` describes it.
    line, column, offset : int or None
        Position of the failure in the text as received: line and column from 1, offset in
        characters from 0. ``excerpt`` is the text around it.
    parses, conforms : bool or None
        Whether the text parses without byte-order mark and code fence; whether the value fits the
        schema, except for violations that gold has at the same place of the schema.
    parses_strictly, conforms_strictly : bool or None
        Whether Python's ``json`` parses the text as received, and the value fits the schema without
        exception. Both ``conforms`` are None without a schema or a value.
    wrapper : str
        What was removed before parsing: ``""``, ``bom``, ``fence`` or both.
    """

    value: Any = None
    failure: str = "none"
    message: str | None = None
    line: int | None = None
    column: int | None = None
    offset: int | None = None
    excerpt: str | None = field(default=None, repr=False)
    parses: bool = False
    conforms: bool | None = None
    parses_strictly: bool = False
    conforms_strictly: bool | None = None
    wrapper: str = ""

    @property
    def valid(self) -> bool:
        """Whether the output is valid by the paper's definition: it parses and fits the schema."""
        return self.failure == "none"


def parse_output(
    raw: str | bytes | None,
    meta: Mapping[str, Any] | None = None,
    schema: Any = None,
    *,
    gold: Any = None,
) -> ParsedOutput:
    """Parse a model's answer and classify the failure, if there is one.

    Parameters
    ----------
    raw : str, bytes or None
        The text exactly as received; None if there was none. No text raises an error.
    meta : mapping, optional
        Details of the call: ``finish_reason``, and ``error`` with its ``reason`` if it failed.
    schema : schema, optional
        The schema that the value must fit, in a form that `evaluate` takes.
    gold : object, optional
        The gold document: violations that it has at the same place of the schema are ignored.

    Returns
    -------
    ParsedOutput
        The value, or the failure with its position.

    Raises
    ------
    SchemaError
        The schema cannot be read.

    Examples
    --------
    >>> parse_output('{"total": 12,}').failure
    'trailing_comma'
    >>> found = parse_output('{"total": 12', {"finish_reason": "length"})
    >>> found.failure, found.line, found.column
    ('truncated_json', 1, 13)
    """
    gold = read_document(gold, "gold")
    allowed = None if schema is None else Conformance(parse_schema(schema), gold)
    return read_output(raw, meta or {}, allowed)


def read_output(
    raw: str | bytes | None, meta: Mapping[str, Any], allowed: Conformance | None
) -> ParsedOutput:
    """Read one output; without a schema it must be an object. See `parse_output`."""
    if error := meta.get("error"):
        return _failed_call(error if isinstance(error, Mapping) else {"message": str(error)})
    found = _parsed(raw, meta)
    message: str | None = None
    if found.parses:
        if allowed is not None:
            strictly, conforms, message = allowed.fits(found.value)
            found = replace(found, conforms=conforms, conforms_strictly=strictly)
        types = None if allowed is None else allowed.schema.root.types
        if not isinstance(found.value, dict) and (not types or "object" in types):
            kind = json_type(found.value)
            found = replace(found, failure="not_an_object", message=f"it is of type {kind}")
        elif found.conforms is False:
            found = replace(found, failure="schema_violation", message=message)
    formal = found.failure not in ("none", "schema_violation")
    if formal and meta.get("finish_reason") in _FILTERED:
        return replace(found, failure="refused", message="the provider cut the answer off")
    return found


def _failed_call(error: Mapping[str, Any]) -> ParsedOutput:
    reason, message = error.get("reason"), error.get("message")
    if reason in _OF_CALLS:
        return ParsedOutput(failure=reason, message=None if message is None else str(message))
    words = [str(word) for word in (reason, message) if word not in (None, "other")]
    return ParsedOutput(failure="other", message=": ".join(words) or None)


def _parsed(raw: str | bytes | None, meta: Mapping[str, Any]) -> ParsedOutput:
    """Parse a text without its wrapper, and name its failure if there is one."""
    text = raw if isinstance(raw, str) else ""
    if isinstance(raw, bytes | bytearray):
        try:
            text = raw.decode("utf-8")
        except UnicodeDecodeError as error:
            before = raw[: error.start].decode("utf-8")
            text = before + raw[error.start :].decode("utf-8", "replace")
            return _placed("malformed_json", f"not UTF-8: {error.reason}", text, len(before))
    if not text.strip().strip(_BOM):
        return ParsedOutput(failure="empty_response", message="there is no text")
    inner, start, wrapper = unwrapped(text)
    try:
        value = json.loads(inner)
    except json.JSONDecodeError as error:
        cut_off = meta.get("finish_reason") in _CUT_OFF
        failure, position = fault_of(inner, cut_off=cut_off) or ("malformed_json", error.pos)
        return _placed(failure, error.msg, text, start + position, wrapper)
    except (RecursionError, ValueError) as error:  # ValueError: a number of too many digits
        too_deep = isinstance(error, RecursionError)
        message = "it is nested too deep" if too_deep else str(error)
        return _placed("malformed_json", message, text, start, wrapper)
    return ParsedOutput(value, parses=True, parses_strictly=not wrapper, wrapper=wrapper)


def _placed(failure: str, message: str, text: str, offset: int, wrapper: str = "") -> ParsedOutput:
    return ParsedOutput(
        failure=failure,
        message=message,
        line=text.count("\n", 0, offset) + 1,
        column=offset - text.rfind("\n", 0, offset),
        offset=offset,
        excerpt=text[max(0, offset - _AROUND) : offset + _AROUND],
        wrapper=wrapper,
    )


# --- schema violations --------------------------------------------------------------------------

_LONGEST_MESSAGE = 300


class Conformance:
    """Finds violations of a schema, except those that gold has at the same place of the schema."""

    def __init__(self, schema: Schema, gold: Any = None) -> None:
        self.schema, self._gold = schema, gold
        self._validation = Validation(schema.document)

    @cached_property
    def _forgiven(self) -> set[Hashable]:
        return set() if self._gold is None else {place for place, _ in self._violations(self._gold)}

    def fits(self, value: Any) -> tuple[bool, bool, str | None]:
        """Return whether a document fits strictly, whether it fits as far as gold does, why not."""
        strictly = True
        for place, message in self._violations(value):
            strictly = False
            if place not in self._forgiven:
                return False, False, message
        return strictly, True, None

    def _violations(self, value: Any) -> Iterator[tuple[Hashable, str]]:
        """Yield the place of each violation in the schema, and a message."""
        for error in self._validation.iter_errors(value):
            message = f"{error.json_path}: {error.message}"[:_LONGEST_MESSAGE]
            unsure = error.validator == "not_validated"
            yield message if unsure else tuple(error.absolute_schema_path), message


# --- repair, and many attempts --------------------------------------------------------------------


@dataclass(frozen=True)
class Repaired:
    """An output after repair; made by `repair_output`.

    ``value`` and ``text`` are the repaired JSON, None if there is none; ``parsed`` is the result of
    strict parsing, and ``note`` explains why the output could not be repaired.
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
    """Parse an output leniently, repairing formal errors.

    Parameters
    ----------
    raw : str, bytes or None
        The text as received. No text raises an error.
    seconds : float, optional
        Time limit for the repair of a text of more than 10,000 characters.

    Returns
    -------
    Repaired
        Text that parses strictly is returned unchanged. Truncated text is read up to the cut.
        Otherwise `json_repair` closes open brackets, removes trailing commas and prose, and adds
        quotes. A repaired value is a guess, and its score is not a result of the model.

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
        Column("failure", "string", "kind of failure", ", ".join(FAILURES)),
        Column("valid", "bool", "whether it parses, and conforms as far as gold does"),
        Column("parses", "bool", "whether it parses without byte-order mark and fence"),
        Column("conforms", "boolean", "whether it conforms as far as gold does", nullable=True),
        Column("parses_strictly", "bool", "whether it parses as received"),
        Column("conforms_strictly", "boolean", "whether it conforms to the schema", nullable=True),
        Column("wrapper", "string", "what was removed", "bom, fence, bom and fence or nothing"),
        Column("message", "string", "what is wrong", nullable=True),
        Column("line", "Int64", "line of the failure", "1 and up", True),
        Column("column", "Int64", "column of the failure in its line", "1 and up", True),
        Column("offset", "Int64", "characters before the failure", "0 and up", True),
        Column("excerpt", "string", "the text around the failure", nullable=True),
        Column("characters", "int64", "length of the text", "0 and up"),
        Column("finish_reason", "string", "why the output ended (provider)", nullable=True),
        Column("value", "object", "the parsed JSON, if any", nullable=True),
        Column("raw", "object", "the text as received", nullable=True),
    ),
)

_NEEDED = ("run", "document")


def read_outputs(outputs: Any, dataset: DatasetLike) -> pd.DataFrame:
    """Parse the outputs of runs strictly and classify their failures.

    Parameters
    ----------
    outputs : pandas.DataFrame, Run, str, pathlib.Path, Dataset, or a list of them
        Runs of `extract`, folders and datasets in a form that `evaluate_runs` accepts, or frames
        with the columns run, document and raw (a text, bytes, a ``pathlib.Path``, or None), or
        ``predicted`` in its place; optionally meta, see `parse_output`.
    dataset : Dataset, str or path
        The source of schemas and gold, or what `load_dataset` takes.

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
    records: list[dict[str, Any]] = []
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
        own = {
            "run": str(run),
            "document": document,
            "domain": domain,
            "schema": schema,
            "valid": found.valid,
            "characters": length,
            "finish_reason": meta.get("finish_reason"),
            "raw": raw,
        }
        records.append(vars(found) | own)
    return ATTEMPT_COLUMNS.from_records(records)


def frame_of_outputs(outputs: Any) -> pd.DataFrame:
    """Return outputs of any kind as one frame, one row per attempt, with the texts in ``raw``."""
    frame = frame_of_runs(outputs, "raw", "outputs")
    refuse_missing(frame, _NEEDED, "outputs")
    if "raw" not in frame.columns:
        raise InputError(f"outputs has no column 'raw'; it has {', '.join(map(str, frame))}")
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
    """Return the values of valid attempts, None for others, for `evaluate_runs`."""
    refuse_missing(attempts, ("run", "document", "valid", "value"), "attempts")
    pairs = zip(attempts["valid"], attempts["value"], strict=True)
    values = pd.Series([value if valid else None for valid, value in pairs], attempts.index, object)
    return attempts[["run", "document"]].assign(predicted=values)
