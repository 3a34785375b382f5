"""Frames whose columns are declared once: name, dtype, range, meaning."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, wraps
from typing import Any, ClassVar, Protocol, TypeVar, cast, runtime_checkable

import numpy as np
import pandas as pd
from pandas.api.types import pandas_dtype

from extractbench_nb.core.registered import registered
from extractbench_nb.support.foreign_values import as_pandas as as_pandas  # noqa: PLC0414 - for other rooms
from extractbench_nb.support.pandas_helpers import COPIES, own_copy


@dataclass(frozen=True, slots=True)
class Column:
    """One column of a result frame: its pandas dtype, meaning, and range in words.

    A missing cell is ``pd.NA``, or any Python value in ``object`` columns.
    """

    name: str
    dtype: str
    meaning: str
    values: str = ""
    nullable: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class FrameSpec:
    """A result frame: the meaning of a row, and the columns in order."""

    name: str
    grain: str
    columns: tuple[Column, ...]

    @property
    def names(self) -> list[str]:
        """Column names in order."""
        return [column.name for column in self.columns]

    @property
    def measures(self) -> tuple[str, ...]:
        """Names of the columns that hold scores in [0, 1]."""
        return tuple(column.name for column in self.columns if column.values == "0 to 1")

    def build(self, data: Mapping[str, Sequence[Any]] | None = None) -> pd.DataFrame:
        """Make the frame, with the declared columns, order and dtypes, also when it is empty."""
        data = data or {}
        index = pd.RangeIndex(len(next(iter(data.values()), ())))
        cells = [_array(data.get(c.name, ()), c.dtype, index) for c in self.columns]
        frame = pd.DataFrame(dict(enumerate(cells)), index, copy=False)
        frame.columns = _header(self).view()
        return frame

    def from_rows(self, rows: Iterable[Sequence[Any]]) -> pd.DataFrame:
        """Make the frame from rows with one cell per column in the declared order."""
        cells = list(zip(*rows, strict=True)) or [()] * len(self.columns)
        return self.build({c.name: values for c, values in zip(self.columns, cells, strict=True)})

    def from_records(self, records: Iterable[Mapping[str, Any]] | pd.DataFrame) -> pd.DataFrame:
        """Make the frame from records or a wider frame; a key that a record lacks is missing."""
        if isinstance(records, pd.DataFrame):
            cells = records.astype(object).where(records.notna(), None)
            return self.build({name: cells[name].tolist() for name in self.names})
        rows = list(records)
        return self.build({name: [row.get(name) for row in rows] for name in self.names})

    def describe(self) -> pd.DataFrame:
        """Return the declaration itself as a frame: one row per column."""
        rows = [(c.name, c.dtype, c.values, c.nullable, c.meaning) for c in self.columns]
        return pd.DataFrame(rows, columns=["column", "dtype", "values", "nullable", "meaning"])


@cache
def _header(spec: FrameSpec) -> pd.Index:
    """Return the names of columns as pandas keeps them, which takes longer than a short column."""
    return pd.Index(spec.names)


class _AnyFrame(type):
    """Takes every DataFrame for one: tests compare frames of results with plain frames."""

    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, pd.DataFrame)


class ShownFrame(pd.DataFrame, metaclass=_AnyFrame):
    """A frame of a result, which a notebook shows with its texts on the left and 3 decimals.

    What pandas makes of it is a plain DataFrame.
    """

    @property
    def _constructor(self) -> type[pd.DataFrame]:
        return pd.DataFrame

    def _repr_html_(self) -> str | None:
        if not pd.get_option("display.notebook_repr_html"):
            return None
        html: str = registered("frame_html")(self)
        return html


class DescribedFrames:
    """A result with frames whose columns are declared in ``_specs``."""

    _specs: ClassVar[tuple[FrameSpec, ...]]

    @classmethod
    def spec(cls, frame: str) -> FrameSpec:
        """Return the declared columns of one frame, such as ``fields``."""
        return next(spec for spec in cls._specs if spec.name == frame)

    @classmethod
    def columns(cls) -> pd.DataFrame:
        """Describe every column of every frame, one row per column."""
        frames = [spec.describe().assign(frame=spec.name) for spec in cls._specs]
        return pd.concat(frames, ignore_index=True)


_Result = TypeVar("_Result")
_Frame = TypeVar("_Frame", pd.DataFrame, pd.Series)


def built_once(build: Callable[[_Result], _Frame]) -> Callable[[_Result], _Frame]:
    """Build a frame of a result at its first access, and return a copy of it at each one."""
    name = f"_{build.__name__}"

    @wraps(build)
    def frame(result: _Result) -> _Frame:
        frames: dict[str, _Frame] = vars(result)
        if name not in frames:
            frames[name] = build(result)
        built: Any = frames[name]
        shown: Any = ShownFrame(built, copy=COPIES) if built.ndim > 1 else own_copy(built)
        return cast("_Frame", shown)

    return frame


_IDS = (
    Column("run", "string", "name of the run", nullable=True),
    Column("document", "string", "document id", nullable=True),
)
#: What `ScoredResult.rows` has at least; beside them ``counted`` says which rows enter the scores.
ROW_COLUMNS = FrameSpec(
    "rows",
    "one row per scored value of a run and document",
    (
        *_IDS,
        Column("outcome", "string", "result, as in `Evaluation.fields`"),
        Column("score", "Float64", "score; missing without a verdict", "0 to 1", True),
        Column("passed", "boolean", "whether the score passes", nullable=True),
        Column("gold", "object", "gold value", nullable=True),
        Column("predicted", "object", "predicted value", nullable=True),
    ),
)

SCORE_COLUMNS = FrameSpec(
    "scores",
    "one row per run, document and measure",
    (
        *_IDS,
        Column("measure", "string", "name of the score, such as pass_rate or grits_con"),
        Column("score", "float64", "value of the score; NaN if undefined", "0 to 1", True),
    ),
)


@runtime_checkable
class ScoredResult(Protocol):
    """What statistics and views take: anything that was scored, whatever it is made of.

    ``rows`` has the columns `ROW_COLUMNS` and any others, ``scores`` those of `SCORE_COLUMNS`;
    ``summary`` has one entry per measure, or one row per run and document.
    """

    @property
    def rows(self) -> pd.DataFrame:
        """One row per scored value."""

    @property
    def scores(self) -> pd.DataFrame:
        """One row per run, document and measure."""

    @property
    def summary(self) -> pd.Series | pd.DataFrame:
        """The measures of all."""


def scores_of(summary: pd.DataFrame, measures: Sequence[str]) -> pd.DataFrame:
    """Return the scores of outputs, one row each, as `SCORE_COLUMNS`."""
    ids = [column.name for column in _IDS]
    long = summary[[*ids, *measures]].melt(ids, var_name="measure", value_name="score")
    return SCORE_COLUMNS.from_records(long)


#: Python storage: text from documents may hold lone surrogates, which Arrow cannot.
TEXT = pd.StringDtype("python")
#: Arrays of dtypes with a mask for missing cells, and the values under the mask.
_MASKED: dict[str, tuple[Any, Any]] = {
    "Float64": (pd.arrays.FloatingArray, 0.0),
    "Int64": (pd.arrays.IntegerArray, 0),
    "boolean": (pd.arrays.BooleanArray, False),
}


def _array(values: Sequence[Any], dtype: str, index: pd.RangeIndex) -> Any:
    if dtype in _MASKED:
        kind, filler = _MASKED[dtype]
        mask = np.array([v is None for v in values], dtype=bool)
        filled = [filler if v is None else v for v in values] if mask.any() else values
        return kind(np.array(filled, dtype=type(filler)), mask)
    if dtype.startswith("datetime64["):  # counted since 1970 in UTC
        return pd.Series(values, index, dtype="Int64").astype(pandas_dtype(dtype))
    if dtype not in ("object", "string"):
        return np.array(values, dtype=dtype)
    cells = np.fromiter(values, dtype=object, count=len(values))
    # a bare array of texts would become text in a column of objects
    if dtype == "string":
        return pd.array(cells, dtype=TEXT)
    return pd.Series(cells, index, dtype=object, copy=False)
