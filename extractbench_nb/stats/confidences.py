"""Confidences: checked frames, values with their verdicts, and the agreement between runs."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from extractbench_nb.core import Profile, read_predicted
from extractbench_nb.core.frames import TEXT, Column, FrameSpec, as_pandas
from extractbench_nb.core.text import Judge
from extractbench_nb.errors import InputError, nearest
from extractbench_nb.stats.breakdowns import gather
from extractbench_nb.stats.intervals import Drawing, Numbers, weights_drawn
from extractbench_nb.support.pandas_helpers import is_missing, refuse_missing

if TYPE_CHECKING:
    from scipy.sparse import csr_array

    from extractbench_nb.runs import Documents

CONFIDENCE_COLUMNS = FrameSpec(
    "confidences",
    "one row per value of an output, or per output where the path is missing",
    (
        Column("run", "string", "run; missing if there is only one", nullable=True),
        Column("document", "string", "document; missing if there is only one", nullable=True),
        Column(
            "path", "string", "instance path in the output; missing: the whole output", "", True
        ),
        Column("confidence", "float64", "probability that the value is right", "0 to 1"),
    ),
)

_IDS = ["run", "document", "path"]
_NEEDED = ("path", "predicted_path", "predicted_state", "field", "passed", "counted")
_FEWEST_RUNS = 2


def read_confidences(source: object) -> pd.DataFrame:
    """Check confidences, and return them as `CONFIDENCE_COLUMNS` declares them.

    The path is ``$`` where there is none.
    """
    frame = as_pandas(source)
    refuse_missing(frame, ("confidence",), "confidences")
    if frame.empty:
        raise InputError("confidences has no rows")
    columns = {name: _texts(frame, name) for name in _IDS}
    columns["path"] = [path or "$" for path in columns["path"]]
    columns["confidence"] = frame["confidence"].tolist()
    again = pd.DataFrame(columns)[_IDS].duplicated()
    for number, (repeated, *ids, value) in enumerate(zip(again, *columns.values(), strict=True)):
        is_number = isinstance(value, int | float | np.number) and not isinstance(value, bool)
        if not is_number or not 0 <= value <= 1:
            problem = f"confidence is {value!r}; expected a number from 0 to 1"
        elif repeated:
            problem = "there is an earlier row for it; expected one row each"
        else:
            continue
        named = ", ".join(f"{n} {c!r}" for n, c in zip(_IDS, ids, strict=True) if c is not None)
        raise InputError(f"confidences, row {number} ({named}): {problem}")
    return CONFIDENCE_COLUMNS.build(columns)


def _texts(frame: pd.DataFrame, name: str) -> list[str | None]:
    """Return a column of names as texts; None where it is missing."""
    cells = frame[name].tolist() if name in frame.columns else [None] * len(frame)
    return [None if pd.isna(cell) else str(cell) for cell in cells]


@dataclass(frozen=True, eq=False)
class JudgedValues:
    """Values with a verdict: counted rows of `fields`, one per node, and their confidences.

    ``rows`` has all columns of `fields`, ``wrong`` (bool), ``confidence`` (float64, NaN without
    one) and ``cluster`` (the number of the document). ``confidences`` is the checked frame.
    ``unused`` counts its rows that belong to no row of `fields`.
    """

    rows: pd.DataFrame
    confidences: pd.DataFrame
    unused: int

    @property
    def known(self) -> pd.DataFrame:
        """The values that have a confidence."""
        return self.rows.dropna(subset="confidence").reset_index(drop=True)

    @property
    def without(self) -> int:
        """Number of counted values without a confidence."""
        return int(self.rows["confidence"].isna().sum())


def judged_values(evaluations: object, confidences: object = None) -> JudgedValues:
    """Join confidences with verdicts; without any, the agreement between runs is computed."""
    fields = gather(evaluations, "fields")
    refuse_missing(fields, _NEEDED)
    rows = counted_nodes(fields)
    if rows.empty:
        raise InputError("fields: no counted value has a verdict")
    own_paths = _own_paths(rows)
    if confidences is None:
        outputs = _outputs_of(evaluations)
        profile = getattr(evaluations, "meta", {}).get("profile", "strict")
        confidences = run_agreement(outputs, profile=profile)
    elif isinstance(confidences, str):
        refuse_missing(rows, (confidences,))
        stated = rows[["run", "document"]].assign(
            path=pd.array(own_paths, dtype=TEXT), confidence=rows[confidences]
        )
        confidences = stated.dropna(subset=["path", "confidence"])
    read = read_confidences(confidences)
    for name in ("run", "document"):
        _align_ids(rows, read, name)
    ids = [tuple(key) for key in read[_IDS].astype(object).fillna("").to_numpy()]
    numbers = {key: number for number, key in enumerate(ids)}
    outputs_of_rows = rows[["run", "document"]].astype(object).fillna("").to_numpy()
    matched = [
        numbers.get((run, document, path), numbers.get((run, document, "$"), -1))
        for (run, document), path in zip(outputs_of_rows, own_paths, strict=True)
    ]
    used = set(matched) - {-1}
    if not used:
        path = next((path for path in read["path"] if path != "$"), "$")
        hint = nearest(path, {path for path in own_paths if path is not None})
        raise InputError(f"confidences: none belongs to a value of fields; path {path!r}: {hint}")
    # the last one is that of -1
    rows["confidence"] = np.append(read["confidence"].to_numpy(), np.nan)[matched]
    rows["cluster"] = pd.factorize(rows["document"].astype(object), use_na_sentinel=False)[0]
    return JudgedValues(rows, read, len(read) - len(used))


def counted_nodes(fields: pd.DataFrame) -> pd.DataFrame:
    """Return one row per counted node that has a verdict: it passes if all its metrics pass."""
    rows = fields[fields["counted"].astype(bool)].reset_index(drop=True)
    for name in ("run", "document"):
        rows[name] = pd.array(_texts(rows, name), dtype=TEXT)
    keys = ["run", "document", "path", "predicted_path"]
    passed = rows["passed"].astype("boolean")
    rows = rows.assign(wrong=(passed == False).fillna(value=False), open=passed.isna())  # noqa: E712
    nodes = rows.groupby(keys, dropna=False, sort=False)[["wrong", "open"]].transform("any")
    rows[["wrong", "open"]] = nodes.astype(bool)
    rows = rows[~rows.duplicated(keys) & (rows["wrong"] | ~rows["open"])]
    return rows.drop(columns="open").reset_index(drop=True)


def _own_paths(rows: pd.DataFrame) -> list[str | None]:
    """Return the path of each value in the output; None for a value that an array item lacks.

    The path of such a value has an index of gold, which does not say where the output lacks it.
    """
    own = rows["predicted_path"].fillna(rows["path"]).astype(object)
    is_lacking = rows["predicted_state"].eq("missing") & own.str.contains(r"\[\+?\d+\]")
    return [None if no else path for path, no in zip(own, is_lacking, strict=True)]


def _align_ids(rows: pd.DataFrame, read: pd.DataFrame, name: str) -> None:
    """Make run or document of the confidences those of the values, or raise `InputError`."""
    known = rows[name].dropna().unique().tolist()
    given = read[name].dropna().unique().tolist()
    if not known and len(given) > 1:
        raise InputError(f"confidences: {len(given)} {name}s, but fields has no column {name}")
    if not known or (not given and len(known) == 1):  # one evaluation, or one run or document
        read[name] = pd.array((known or [None]) * len(read), dtype=TEXT)
    if known and read[name].isna().any():
        raise InputError(
            f"confidences: {name} is missing, but the results have {len(known)} {name}s; "
            f"add a column {name!r}"
        )
    for one in given if known else ():
        if one not in known:
            hint = f"{nearest(one, known)}; drop the rows of other {name}s"
            raise InputError(f"confidences: unknown {name} {one!r}; {hint}")


# --- agreement between runs -----------------------------------------------------------------------


def run_agreement(
    runs: Any,
    *,
    dataset: Documents | None = None,
    judge: str | Judge = "offline",
    profile: str | Profile = "strict",
    n_jobs: int = 1,
    progress: bool = False,
) -> pd.DataFrame:
    """Use the agreement between runs as confidence, without gold.

    Each output is evaluated against the output of every other run on the same document, as if it
    were gold. The confidence of a value is the share of the other runs that pass there.

    Parameters
    ----------
    runs : pandas.DataFrame or Dataset
        Columns run, document, predicted and schema, as `evaluate_runs` takes them; or a dataset
        that has runs. Gold is not used.
    dataset : Dataset, optional
        Where schemas come from if they are not a column.
    judge : str or Judge, optional
        See `evaluate`. One that calls a model is asked about every pair of runs.
    profile : str or Profile, optional
        See `evaluate`. ``strict`` (default) has verdicts for all values inside arrays.
    n_jobs : int, optional
        Worker processes, see `evaluate_runs`.
    progress : bool, optional
        Show a progress bar.

    Returns
    -------
    pandas.DataFrame
        Confidences (`CONFIDENCE_COLUMNS`): one row per value of an output that `profile` counts.
        The confidence is k / (runs - 1). Outputs that are not JSON have no rows, and disagree with
        all others.

    Raises
    ------
    InputError
        A column is missing, or no document has outputs of two runs.

    Notes
    -----
    For n runs of a document there are n (n - 1) evaluations. Runs of one model share its mistakes:
    a wrong value on which all runs agree has confidence 1. Values have few distinct confidences;
    `calibration` says what they are worth.

    Examples
    --------
    >>> schema = {"type": "object", "properties": {"a": {"type": "string"}}}
    >>> outputs = [{"a": "x"}, {"a": "x"}, {"a": "y"}]
    >>> runs = pd.DataFrame({"run": ["1", "2", "3"], "document": "d", "predicted": outputs,
    ...                      "schema": [schema] * 3})
    >>> run_agreement(runs)[["run", "path", "confidence"]].values.tolist()
    [['1', '$.a', 0.5], ['2', '$.a', 0.5], ['3', '$.a', 0.0]]
    """
    votes = votes_between_runs(runs, dataset, judge, profile, n_jobs=n_jobs, progress=progress)
    groups = votes.groupby(_IDS, sort=False)
    agreeing = groups.agg(right=("right", "sum"), others=("others", "first")).reset_index()
    columns = {name: agreeing[name].tolist() for name in _IDS}
    shares = agreeing["right"] / agreeing["others"]
    return CONFIDENCE_COLUMNS.build({**columns, "confidence": shares.tolist()})


def votes_between_runs(
    runs: Any,
    dataset: Documents | None = None,
    judge: str | Judge = "offline",
    profile: str | Profile = "strict",
    *,
    n_jobs: int = 1,
    progress: bool = False,
) -> pd.DataFrame:
    """Evaluate each output against those of the other runs, as `run_agreement` describes.

    Returns
    -------
    pandas.DataFrame
        One row per value of an output and other run: run, document, path, field, predicted, right,
        other (run), others (their number), readable (the other output is JSON) and lacking (it has
        no value there).
    """
    from extractbench_nb.runs import evaluate_runs

    if isinstance(getattr(runs, "runs", None), pd.DataFrame):
        runs, dataset = runs.runs, runs if dataset is None else dataset
    runs = as_pandas(runs)
    refuse_missing(runs, ("run", "document", "predicted"), "runs")
    if dataset is None:
        refuse_missing(runs, ("schema",), "runs")
    pairs = []
    outputs: dict[tuple[str, str], tuple[bool, int]] = {}
    for document, group in runs.groupby("document", sort=False):
        cells = group.to_dict("records")
        for own in cells:
            is_open = is_missing(own["predicted"]) or len(cells) < _FEWEST_RUNS
            value, problem = (None, None) if is_open else read_predicted(own["predicted"])
            is_readable = not problem and value is not None
            outputs[str(own["run"]), str(document)] = is_readable, len(cells) - 1
            if not is_readable:
                continue
            base = {name: own[name] for name in ("schema", "domain") if name in own}
            base |= {"document": document, "gold": json.dumps(value, default=str)}
            pairs += [
                {**base, "run": json.dumps([str(own["run"]), str(cell["run"])])}
                | {"predicted": cell["predicted"]}
                for cell in cells
                if cell is not own
            ]
    if not pairs:
        raise InputError(
            "runs: no document has outputs of two runs, of which one is JSON; the agreement "
            "between runs needs two or more"
        )
    options: dict[str, Any] = {"judge": judge, "profile": profile, "n_jobs": n_jobs}
    evs = evaluate_runs(pd.DataFrame(pairs), dataset=dataset, progress=progress, **options)
    rows = counted_nodes(evs.fields)
    inside = rows["path"].str.contains(r"\[\+?\d+\]")
    rows = rows[~(inside & rows["gold_state"].eq("missing"))]  # values of the other run alone
    own_run, other = zip(*map(json.loads, rows["run"]), strict=True)
    return pd.DataFrame(
        {
            "run": own_run,
            "document": rows["document"].tolist(),
            "path": rows["path"].tolist(),
            "field": rows["field"].tolist(),
            "predicted": rows["gold"].tolist(),
            "right": ~rows["wrong"].to_numpy(),
            "other": other,
            "others": [outputs[key][1] for key in zip(own_run, rows["document"], strict=True)],
            "readable": [outputs[key][0] for key in zip(other, rows["document"], strict=True)],
            "lacking": (inside & rows["predicted_state"].eq("missing"))[rows.index].tolist(),
        }
    )


def _outputs_of(evaluations: Any) -> pd.DataFrame:
    """Return the outputs of a batch, for `run_agreement`."""
    summary = getattr(evaluations, "summary", None)
    again = getattr(evaluations, "evaluation", None)
    if again is None or not isinstance(summary, pd.DataFrame):
        raise InputError(
            f"confidences is None, and {type(evaluations).__name__} has no outputs to compute the "
            "agreement between runs from; pass confidences, or the result of evaluate_runs"
        )
    if summary["run"].nunique() < _FEWEST_RUNS:
        raise InputError(
            "confidences is None, and the results have a single run, so there is no agreement "
            "between runs; pass confidences"
        )
    rows = []
    schemas: dict[str, Any] = {}
    for row in summary.sort_values("valid", ascending=False, kind="stable").to_dict("records"):
        own = {name: row[name] for name in ("run", "document")} | {"predicted": None}
        if row["valid"]:
            inputs = again(row["run"], row["document"]).inputs
            text = isinstance(inputs.predicted, str)
            own["predicted"] = json.dumps(inputs.predicted) if text else inputs.predicted
            schemas[row["document"]] = dict(inputs.schema.document)
        rows.append(own)
    frame = pd.DataFrame(rows)
    return frame.assign(schema=frame["document"].map(schemas)).dropna(subset="schema")


# --- amounts by document and confidence -----------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Levels:
    """Amounts per document (rows) and distinct confidence (columns, ascending).

    Parameters
    ----------
    values : numpy.ndarray
        The distinct confidences.
    units, wrong : scipy.sparse.csr_array
        Amount of values, and of wrong ones.
    """

    values: Numbers
    units: csr_array[Any, tuple[int, int]]
    wrong: csr_array[Any, tuple[int, int]]

    @classmethod
    def of(cls, confidence: Any, cluster: Any, units: Any, wrong: Any) -> Levels:
        """Add up amounts by document and confidence; `cluster` may be any labels."""
        from scipy.sparse import csr_array

        values, level = np.unique(np.asarray(confidence, dtype=np.float64), return_inverse=True)
        codes, names = pd.factorize(np.asarray(cluster))
        shape = len(names), len(values)

        def table(amounts: Any) -> csr_array[Any, tuple[int, int]]:
            summed = csr_array((np.asarray(amounts, dtype=np.float64), (codes, level)), shape=shape)
            summed.sum_duplicates()
            return summed

        return cls(values, table(units), table(wrong))

    @property
    def documents(self) -> int:
        """Number of documents."""
        return int(self.units.shape[0])

    def totals(self) -> tuple[Numbers, Numbers]:
        """Return units and wrong ones by level, over all documents."""
        return np.asarray(self.units.sum(axis=0)), np.asarray(self.wrong.sum(axis=0))

    def resampled(self, drawing: Drawing) -> Iterator[tuple[Numbers, Numbers, Numbers]]:
        """Yield units and wrong ones by level under random weights, some resamples at a time.

        The weights are those of `weights_drawn`; that of the additional document comes third. They
        are multiplied by the number of documents.
        """
        for drawn in weights_drawn(self.documents, drawing, len(self.values)):
            weights = drawn[:, :-1] * self.documents
            extra = drawn[:, -1] * self.documents
            yield weights @ self.units, weights @ self.wrong, extra

    def quantiles(
        self,
        measure: Callable[[Numbers, Numbers, Numbers], tuple[Numbers, Numbers]],
        drawing: Drawing,
    ) -> tuple[Numbers, Numbers]:
        """Return the interval of a measure that has two versions, with the lowest and the highest.

        `measure` takes what `resampled` yields, and returns both versions for each resample: with
        the additional document as good and as bad as it can be.
        """
        parts = [measure(*parts) for parts in self.resampled(drawing)]
        low, high = (np.concatenate(ends) for ends in zip(*parts, strict=True))
        below, above = drawing.tails
        return np.quantile(low, below, axis=0), np.quantile(high, above, axis=0)
