"""Confidences of values: checked frames, agreement between runs, and values with their verdicts."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from extractbench_nb._frames import TEXT, Column, FrameSpec, as_pandas
from extractbench_nb._json import BRACKETED, member
from extractbench_nb.engine.profiles import Profile
from extractbench_nb.errors import InputError, nearest
from extractbench_nb.evaluation.api import read_predicted
from extractbench_nb.judges.base import Judge
from extractbench_nb.stats.breakdowns import gather, refuse_missing
from extractbench_nb.stats.intervals import Numbers

if TYPE_CHECKING:
    from extractbench_nb.batch.inputs import Documents

CONFIDENCE_COLUMNS = FrameSpec(
    "confidences",
    "one row per value of an output, or per output where the path is missing",
    (
        Column("run", "string", "run; missing if there is only one", nullable=True),
        Column("document", "string", "document; missing if there is only one", nullable=True),
        Column(
            "path",
            "string",
            "instance path in the output, with its own indices; also of the values below it that "
            "have no row; missing: the whole output",
            nullable=True,
        ),
        Column("confidence", "float64", "probability that the value is right", "0 to 1"),
    ),
)

_IDS = ("run", "document", "path")
_NEEDED = ("path", "predicted_path", "predicted_state", "field", "passed", "counted")
#: The first step into an array, and the last step of a path.
_INDEX = re.compile(r"\[\+?\d+\]")
_LAST = re.compile(r"(?:\[\+?\d+\]|\['(?:[^'\\]|\\.)*'\]|\.[^.\[\]]+)\Z", re.DOTALL)
_FEWEST_RUNS = 2
_PERCENT = 100


def read_confidences(source: object) -> pd.DataFrame:
    """Check a user's confidences, and return them as `CONFIDENCE_COLUMNS` declares them.

    Paths are written as `fields` writes them, and ``$`` where there is none.
    """
    frame = as_pandas(source)
    refuse_missing(frame, ("confidence",), "confidences")
    if frame.empty:
        raise InputError("confidences has no rows")
    ids = {name: frame[name].tolist() for name in _IDS if name in frame.columns}
    columns: dict[str, list[Any]] = {
        name: [None if _is_absent(cell) else str(cell) for cell in cells]
        for name, cells in ids.items()
    }
    columns |= {name: [None] * len(frame) for name in _IDS if name not in columns}
    columns["path"] = ["$" if path is None else plain_path(path) for path in columns["path"]]
    keys = zip(*(columns[name] for name in _IDS), strict=True)
    seen: set[tuple[Any, ...]] = set()
    for number, (key, value) in enumerate(zip(keys, frame["confidence"].tolist(), strict=True)):
        where = f"confidences, row {number} ({_named(key)})"
        if not key[-1].startswith("$"):
            raise InputError(f"{where}: expected a path as in fields, which begins with '$'")
        if problem := _problem(value):
            raise InputError(f"{where}: confidence is {value!r}; expected {problem}")
        if key in seen:
            raise InputError(f"{where}: there is an earlier row for it; expected one row each")
        seen.add(key)
    columns["confidence"] = frame["confidence"].tolist()
    return CONFIDENCE_COLUMNS.build(columns)


def _is_absent(cell: Any) -> bool:
    """Whether a cell is None or another missing value."""
    return bool(pd.api.types.is_scalar(cell) and pd.isna(cell))


def _problem(value: Any) -> str | None:
    """Say what is expected if a cell is not a number from 0 to 1."""
    expected = "a number from 0 to 1"
    if isinstance(value, bool | np.bool_) or not isinstance(value, int | float | np.number):
        return expected
    if 0 <= value <= 1:
        return None
    is_percentage = 1 < value <= _PERCENT
    return f"{expected} (divide percentages by 100)" if is_percentage else expected


def _named(key: tuple[Any, ...]) -> str:
    """Name a row by its run, document and path."""
    return ", ".join(f"{n} {c!r}" for n, c in zip(_IDS, key, strict=True) if c is not None)


def plain_path(path: str) -> str:
    r"""Write a path with the fewest quoted steps, so that equal places have equal texts.

    Examples
    --------
    >>> plain_path("$.m['total'].lines[0]['unit price']")
    "$.m.total.lines[0]['unit price']"
    """
    if "['" not in path:
        return path
    return BRACKETED.sub(lambda m: member(re.sub(r"\\(.)", r"\1", m[1], flags=re.DOTALL)), path)


@dataclass(frozen=True, eq=False)
class JudgedValues:
    """Values with a verdict: rows of `fields`, one per node, and their confidences.

    ``rows`` has all columns of `fields`, ``wrong`` (bool), ``container`` (bool: rows below it have
    its values), ``confidence`` (float64, NaN without one) and ``cluster`` (the number of the
    document). ``confidences`` is the checked frame. ``unused`` counts its rows that belong to no
    row of `fields`.
    """

    rows: pd.DataFrame
    confidences: pd.DataFrame
    unused: int

    @property
    def known(self) -> pd.DataFrame:
        """The values that have a confidence."""
        is_known = self.rows["confidence"].notna() & ~self.rows["container"]
        return self.rows[is_known].reset_index(drop=True)

    @property
    def without(self) -> int:
        """Number of counted values without a confidence."""
        values = self.rows[self.rows["counted"] & ~self.rows["container"]]
        return int(values["confidence"].isna().sum())


def judged_values(evaluations: object, confidences: object = None) -> JudgedValues:
    """Join confidences with verdicts; without any, the agreement between runs is computed."""
    fields = gather(evaluations, "fields")
    refuse_missing(fields, _NEEDED)
    if confidences is None:
        confidences = run_agreement(_outputs_of(evaluations))
    read = read_confidences(confidences)
    rows = _nodes(fields)
    if rows.empty:
        raise InputError("fields: no value has a verdict")
    for name in ("run", "document"):
        _align_ids(rows, read, name)
    found: dict[tuple[Any, Any], dict[str, tuple[int, float]]] = {}
    cells = (read[name].tolist() for name in (*_IDS, "confidence"))
    for number, (run, document, path, confidence) in enumerate(zip(*cells, strict=True)):
        found.setdefault((run, document), {})[path] = number, confidence
    # a container is no value that a review can check, so it says nothing about what is missing
    values = {key: dict(one) for key, one in found.items()}
    for run, document, path in read.loc[are_containers(read), list(_IDS)].itertuples(index=False):
        del values[run, document][path]
    matched = [
        _nearest_above((values if state == "missing" else found).get((run, document), {}), path)
        for run, document, state, path in zip(
            rows["run"], rows["document"], rows["predicted_state"], _own_paths(rows), strict=True
        )
    ]
    used = {number for number, _ in matched}
    used.discard(-1)
    if not used:
        path = next((path for path in read["path"] if path != "$"), "$")
        hint = nearest(path, set(_own_paths(rows)))
        raise InputError(f"confidences: none belongs to a value of fields; path {path!r}: {hint}")
    rows["confidence"] = np.array([confidence for _, confidence in matched], dtype=np.float64)
    rows["cluster"] = pd.factorize(rows["document"].astype(object), use_na_sentinel=False)[0]
    return JudgedValues(rows, read, len(read) - len(used))


def _nodes(fields: pd.DataFrame) -> pd.DataFrame:
    """Return one row per node that has a verdict: it passes if all its metrics pass."""
    rows = fields.reset_index(drop=True).copy(deep=False)
    for name in ("run", "document"):
        given = rows[name].tolist() if name in rows.columns else [None] * len(rows)
        texts = [None if _is_absent(cell) else str(cell) for cell in given]
        rows[name] = pd.array(texts, dtype=TEXT)
    rows["container"] = are_containers(rows)
    keys = ["run", "document", "path", "predicted_path"]
    passed = rows["passed"].astype("boolean")
    rows["wrong"] = ~passed.fillna(value=True)
    rows["open"] = passed.isna()
    again = rows.duplicated(keys, keep=False)
    if again.any():
        nodes = rows[again].groupby(keys, dropna=False, sort=False)[["wrong", "open"]]
        rows.loc[again, ["wrong", "open"]] = nodes.transform("any")
        rows = rows[~rows.duplicated(keys)]
    rows = rows[rows["wrong"] | ~rows["open"]].drop(columns="open")
    rows["counted"] = rows["counted"].astype(bool)
    return rows.astype({"wrong": bool}).reset_index(drop=True)


def are_containers(rows: pd.DataFrame) -> npt.NDArray[np.bool_]:
    """Say which rows of outputs have other rows of the same output below their path."""
    above: dict[str, list[str]] = {}
    for path in rows["path"].unique():
        above[path], place = [], path
        while step := _LAST.search(place):
            place = place[: step.start()]
            above[path].append(place)
    keys = list(zip(*(rows[name].astype(object) for name in _IDS), strict=True))
    inner = {(run, document, place) for run, document, path in keys for place in above[path]}
    return np.array([key in inner for key in keys], dtype=bool)


def _own_paths(rows: pd.DataFrame) -> list[str]:
    """Return where each value stands in the output; of one that is missing, the place above."""
    places = []
    for own, path, state in zip(
        rows["predicted_path"], rows["path"], rows["predicted_state"], strict=True
    ):
        place = path if pd.isna(own) else own
        index = _INDEX.search(place) if state == "missing" else None
        # an index of gold says nothing about the output
        places.append(plain_path(place[: index.start()] if index else place))
    return places


def _nearest_above(found: Mapping[str, tuple[int, float]], path: str) -> tuple[int, float]:
    """Return number and value of the confidence at a path, or else at the nearest place above."""
    while found and path:
        if path in found:
            return found[path]
        step = _LAST.search(path)
        path = path[: step.start()] if step else ("$" if path != "$" else "")
    return -1, np.nan


def _align_ids(rows: pd.DataFrame, read: pd.DataFrame, name: str) -> None:
    """Make run or document of the confidences those of the values, or raise `InputError`."""
    known = rows[name].dropna().unique().tolist()
    given = read[name].dropna().unique().tolist()
    if not known:  # the fields of one evaluation
        if len(given) > 1:
            raise InputError(f"confidences: {len(given)} {name}s, but fields has no column {name}")
        read[name] = pd.array([None] * len(read), dtype=TEXT)
        return
    if not given and len(known) == 1:
        read[name] = pd.array(known * len(read), dtype=TEXT)
        return
    if read[name].isna().any():
        raise InputError(
            f"confidences: {name} is missing, but the results have {len(known)} {name}s; "
            f"add a column {name!r}"
        )
    names = {str(one) for one in known}
    for one in given:
        if one not in names:
            hint = f"{nearest(one, names)}; drop the rows of other {name}s"
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
        Confidences (`CONFIDENCE_COLUMNS`): one row per value of an output, and per array, for
        items without a row of their own. The confidence is k / (runs - 1). Outputs that are not
        JSON have no rows, and disagree with all others.

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
    from extractbench_nb.batch.run import evaluate_runs

    if isinstance(getattr(runs, "runs", None), pd.DataFrame):
        runs, dataset = runs.runs, runs if dataset is None else dataset
    runs = as_pandas(runs)
    refuse_missing(runs, ("run", "document", "predicted"), "runs")
    if dataset is None:
        refuse_missing(runs, ("schema",), "runs")
    pairs = []
    others: dict[tuple[str, str], int] = {}
    for document, group in runs.groupby("document", sort=False):
        cells = group.to_dict("records")
        for own in cells:
            if _is_absent(own["predicted"]) or len(cells) < _FEWEST_RUNS:
                continue
            value, problem = read_predicted(own["predicted"])
            if problem or value is None:
                continue
            others[str(own["run"]), str(document)] = len(cells) - 1
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
    rows = _nodes(evs.fields)
    inside = rows["path"].str.contains(_INDEX.pattern, regex=True)
    rows = rows[~(inside & rows["gold_state"].eq("missing"))]  # values of the other run alone
    rows = rows.assign(run=rows["run"].map(lambda pair: json.loads(pair)[0]), right=~rows["wrong"])
    keys = list(_IDS)
    agreeing = rows.groupby(keys, sort=False)["right"].sum().reset_index()
    of = [others[pair] for pair in zip(agreeing["run"], agreeing["document"], strict=True)]
    columns = {name: agreeing[name].tolist() for name in keys}
    shares: Numbers = agreeing["right"].to_numpy(dtype=np.float64) / np.array(of)
    return CONFIDENCE_COLUMNS.build({**columns, "confidence": shares.tolist()})


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
    for row in summary.sort_values("outcome", kind="stable").to_dict("records"):
        own = {name: row[name] for name in ("run", "document")} | {"predicted": None}
        if row["outcome"] != "invalid":
            inputs = again(row["run"], row["document"]).inputs
            text = isinstance(inputs.predicted, str)
            own["predicted"] = json.dumps(inputs.predicted) if text else inputs.predicted
            schemas[row["document"]] = dict(inputs.schema.document)
        rows.append(own)
    frame = pd.DataFrame(rows)
    return frame.assign(schema=frame["document"].map(schemas)).dropna(subset="schema")
