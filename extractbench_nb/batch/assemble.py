"""One finished output, and the rows that it gives to the frames of a batch."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from extractbench_nb._frames import Column, FrameSpec
from extractbench_nb.batch.arrow import arrow_schema, record_batch, unpack
from extractbench_nb.batch.columns import FRAMES, IDS, PARTS, SUMMARIES

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["Result", "part_batch", "summary_batch", "summary_spec"]

_ID_SPEC = FrameSpec("ids", "one output", IDS)


class Result(NamedTuple):
    """One finished output: run, document, domain, schema; its summary row; packed rows."""

    ids: tuple[str, str, str | None, str]
    extras: tuple[Any, ...]
    summary: tuple[Any, ...]
    parts: Mapping[str, bytes]


def summary_spec(extras: Sequence[Column]) -> FrameSpec:
    """Return the columns of ``summary``, those of the user's last."""
    return FrameSpec("summary", SUMMARIES.grain, (*SUMMARIES.columns, *extras))


def summary_batch(spec: FrameSpec, results: Iterable[Result]) -> pa.RecordBatch:
    """Make the rows of ``summary``."""
    return record_batch(spec, [(*r.ids, *r.summary, *r.extras) for r in results])


def part_batch(name: str, result: Result) -> pa.RecordBatch:
    """Unpack the rows of one part of a result, led by run, document, domain and schema."""
    import pyarrow as pa

    rows = unpack(result.parts[name], PARTS[name])
    texts = record_batch(_ID_SPEC, [result.ids]).columns
    leading = [pa.repeat(text[0], rows.num_rows) for text in texts]
    schema = arrow_schema(FRAMES[name])
    return pa.RecordBatch.from_arrays([*leading, *rows.columns], schema=schema)
