"""What became of the items of one array: as evaluated, and at other thresholds."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import pandas as pd

from extractbench_nb.alignment import OptimalAligner
from extractbench_nb.evaluate import Traversal
from extractbench_nb.evaluation import Evaluation
from extractbench_nb.evaluation.frames import array_frame, field_frame, in_order, match_frame
from extractbench_nb.judges.offline import OfflineJudge
from extractbench_nb.records import ArrayRecord, Paths
from extractbench_nb.report.texts import fitted
from extractbench_nb.scoring import Scorer
from extractbench_nb.widgets.matches.deciding import decided_anew
from extractbench_nb.widgets.matches.thresholds import (
    ALIGN,
    PASS,
    Knob,
    awaits,
    settings_of,
    thresholds_of,
    under,
)

__all__ = ["ArrayMatches", "Outcome"]

_MOST_KEPT = 4
_WIDEST_NAME = 80


class Outcome(NamedTuple):
    """What became of the items of an array.

    ``summary`` is the array's row of ``Evaluation.arrays``, ``matches`` and ``fields`` are the rows
    of these frames that belong to it. ``apart`` has the pairs that are too unlike to count: gold
    index to predicted index and similarity.
    """

    summary: pd.Series
    matches: pd.DataFrame
    fields: pd.DataFrame
    apart: Mapping[int, tuple[int, float]]


class ArrayMatches:
    """One array of an evaluation, whose thresholds can be tried.

    Parameters
    ----------
    ev : Evaluation
        The evaluation.
    path : str
        Instance path of the array.

    Attributes
    ----------
    knobs : list of Knob
        The thresholds that can be changed; none where the evaluation has no records any more.
    note : str
        What a reader must know about changed thresholds; empty where all is computed anew.
    evaluated : Outcome
        As evaluated.
    """

    def __init__(self, ev: Evaluation, path: str) -> None:
        self._ev = ev
        self._record = next((r for r in ev.array_records() if r.paths.gold == path), None)
        self.path = path
        self.knobs: list[Knob] = thresholds_of(self._record.node) if self._record else []
        self._again = _is_free(ev, self._record)
        self.note = _note(ev, self._record, self.knobs, self._again)
        self.evaluated = _as_evaluated(ev, path, self._record)
        self._realigned: dict[tuple[tuple[str, float], ...], ArrayRecord] = {}

    def at(self, values: Mapping[str, float]) -> Outcome:
        """Say what becomes of the items at other thresholds.

        Parameters
        ----------
        values : mapping of str to float
            Thresholds by key; those that are not given stay as declared.

        Returns
        -------
        Outcome
            Where only the array's own thresholds change, the recorded pairs are decided anew.
            Where thresholds of fields do, the items are aligned anew, if that asks nobody.
        """
        declared = {knob.key: knob.declared for knob in self.knobs}
        changed = {key: value for key, value in values.items() if declared[key] != value}
        if not changed or self._record is None:
            return self.evaluated
        record = self._record
        of_fields = {key: value for key, value in changed.items() if key not in (ALIGN, PASS)}
        if of_fields and self._again:
            record = self._aligned(of_fields)
        record = decided_anew(record, settings_of(self.knobs, changed), self._ev.profile)
        return self._outcome(record)

    def _aligned(self, values: Mapping[str, float]) -> ArrayRecord:
        """Align the items anew by the engine of `evaluate`; the last results are remembered."""
        key = tuple(sorted(values.items()))
        if key not in self._realigned:
            assert self._record is not None  # noqa: S101 - the caller checked
            node = under(self._record.node, settings_of(self.knobs, values))
            scorer = Scorer(self._ev.profile, OfflineJudge())
            walk = Traversal(scorer, OptimalAligner(scorer))
            walk.descend(node, self._record.gold, self._record.predicted)
            walk.finish(node, self._record.gold, self._record.predicted)
            walk.arrays[0].counted = self._record.counted
            if len(self._realigned) == _MOST_KEPT:
                del self._realigned[next(iter(self._realigned))]
            self._realigned[key] = walk.arrays[0]
        return self._realigned[key]

    def _outcome(self, record: ArrayRecord) -> Outcome:
        assert self._record is not None  # noqa: S101 - the caller checked
        base = self._record.paths
        inside = self._ev.profile.rows_inside_arrays
        array = _moved(array_frame([record]), base, record.paths).iloc[0]
        rows = in_order([record], one_sided=False, inside=inside)
        fields = _moved(field_frame(rows), base, record.paths)
        matches = _moved(match_frame([record]), base, record.paths)
        return Outcome(array, matches, fields, _apart(record))


def _is_free(ev: Evaluation, record: ArrayRecord | None) -> bool:
    """Whether to align anew asks nobody: no judge but ours, no function or awaited metric."""
    meta = ev.meta
    ours = (meta["judge"], meta["alignment"]) == ("offline", "optimal")
    return record is not None and ours and not awaits(record.node)


def _note(ev: Evaluation, record: ArrayRecord | None, knobs: list[Knob], is_free: bool) -> str:
    if record is None:
        return (
            "This evaluation was stored or copied without its records, so that thresholds "
            "cannot be changed. Evaluate again to try others."
        )
    if not knobs:
        return "No metric of this array or of its items has a threshold."
    if is_free:
        return ""
    judge = fitted(ev.meta["judge"], _WIDEST_NAME)
    asked = f"Judge {judge!r} is not asked again" if judge != "offline" else "Nothing is run again"
    return f"{asked}: pairs and scores stay as recorded, and thresholds are applied to them."


def _as_evaluated(ev: Evaluation, path: str, record: ArrayRecord | None) -> Outcome:
    arrays, matches, fields = ev.arrays, ev.matches, ev.fields
    paths = fields["path"]
    inside = (paths == path) | paths.str.startswith(path + "[")
    return Outcome(
        arrays[arrays["path"] == path].iloc[0],
        matches[matches["path"] == path].reset_index(drop=True),
        fields[inside.astype(bool)].reset_index(drop=True),
        _apart(record) if record is not None else {},
    )


def _apart(record: ArrayRecord) -> dict[int, tuple[int, float]]:
    return {
        pair.gold_index: (pair.predicted_index, pair.similarity)
        for pair in record.pairs
        if pair.status == "apart"
        and pair.gold_index is not None
        and pair.predicted_index is not None
        and pair.similarity is not None
    }


def _moved(frame: pd.DataFrame, base: Paths, start: Paths) -> pd.DataFrame:
    """Write the paths of records that begin at `start` as they are in the whole document."""
    if start == base:
        return frame
    cut = len(start.gold)
    here = [str(path) for path in frame["path"]]
    frame["path"] = _texts(base.gold + path[cut:] for path in here)
    if "predicted_path" in frame.columns:
        there = [
            (base.predicted or base.gold) + (other if isinstance(other, str) else path)[cut:]
            for path, other in zip(here, frame["predicted_path"], strict=True)
        ]
        same = zip(frame["path"], there, strict=True)
        frame["predicted_path"] = _texts(None if p == q else q for p, q in same)
    return frame


def _texts(values: Iterable[str | None]) -> Any:
    return pd.array(list(values), dtype=pd.StringDtype("python"))
