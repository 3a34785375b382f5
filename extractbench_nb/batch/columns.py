"""The frames of a batch: the columns of one evaluation, led by run, document, domain and schema."""

from __future__ import annotations

from typing import Final

from extractbench_nb._frames import Column, FrameSpec
from extractbench_nb.evaluation.frames import (
    ARRAY_COLUMNS,
    CALL_COLUMNS,
    FIELD_COLUMNS,
    MATCH_COLUMNS,
    SUMMARY,
)

__all__ = [
    "BY_RUN",
    "FRAMES",
    "IDS",
    "MISSING_PAIRS",
    "OUTCOME",
    "OWN_SUMMARY",
    "PARTS",
    "SUMMARIES",
    "UNITS",
]

#: What says which output a row is about.
IDS = (
    Column("run", "string", "name of the run, mostly a model's name"),
    Column("document", "string", "document id"),
    Column("domain", "string", "domain of the document, where it is known", nullable=True),
    Column("schema", "string", "schema id, or the schema's title or hash"),
)

#: What became of an output as a whole.
OUTCOME = (
    Column("outcome", "string", "whether the output could be evaluated", "evaluated, invalid"),
    Column("message", "string", "why an output is invalid, the parser's words", nullable=True),
    Column("line", "Int64", "line at which the parser gave up", "1 and up", True),
    Column("column", "Int64", "character in that line", "1 and up", True),
)

#: The frames of one evaluation that have many rows, by their names.
PARTS: Final = {
    spec.name: spec for spec in (FIELD_COLUMNS, ARRAY_COLUMNS, MATCH_COLUMNS, CALL_COLUMNS)
}

OWN_SUMMARY = FrameSpec("summary", "one row a run and document", (*OUTCOME, *SUMMARY.columns))
SUMMARIES = FrameSpec("summary", "one row a run and document", (*IDS, *OWN_SUMMARY.columns))

FRAMES: Final = {
    **{
        name: FrameSpec(name, f"{spec.grain}, in each run and document", (*IDS, *spec.columns))
        for name, spec in PARTS.items()
    },
    "summary": SUMMARIES,
}

MISSING_PAIRS = FrameSpec("missing", "one row an output that other runs have", IDS)

#: Entries of the summary that are averaged over documents; the others are added up.
UNITS = ("overall_score", "field_score", "pass_rate", "pass_rate_judged", "gold_coverage")

BY_RUN = FrameSpec(
    "by_run",
    "one row a run",
    (
        Column("run", "string", "name of the run"),
        Column("documents", "int64", "outputs of the run, invalid ones included", "1 and up"),
        Column("invalid", "int64", "outputs that are no JSON, empty or absent", "0 and up"),
        Column("missing", "int64", "documents that only other runs have", "0 and up"),
        *(
            Column(c.name, c.dtype, f"mean over documents: {c.meaning}", c.values, c.nullable)
            for c in SUMMARY.columns
            if c.name in UNITS
        ),
        Column(
            "pooled_pass_rate",
            "Float64",
            "passed / evaluated, all documents together; missing where nothing is evaluated",
            "0 to 1",
            True,
        ),
        *(
            Column(c.name, c.dtype, f"sum over documents: {c.meaning}", c.values, c.nullable)
            for c in SUMMARY.columns
            if c.name not in UNITS
        ),
    ),
)
