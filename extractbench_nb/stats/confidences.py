"""Confidences of values: the agreement between runs, and what confidences are worth."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from extractbench_nb.core import read_predicted
from extractbench_nb.core.frames import TEXT, Column, FrameSpec, as_pandas
from extractbench_nb.errors import InputError, nearest
from extractbench_nb.stats.breakdowns import gather
from extractbench_nb.stats.intervals import Drawing, wilson_interval
from extractbench_nb.support.pandas_helpers import is_missing, refuse_missing

if TYPE_CHECKING:
    from extractbench_nb.runs import Documents

CONFIDENCE_COLUMNS = FrameSpec(
    "confidences",
    "one row per value of an output",
    (
        Column("run", "string", "run"),
        Column("document", "string", "document"),
        Column("path", "string", "instance path in the output"),
        Column("confidence", "float64", "probability that the value is right", "0 to 1"),
    ),
)

_IDS = ["run", "document", "path"]
_INSIDE = r"\[\+?\d+\]"  # of an array


def run_agreement(runs: Any, *, dataset: Documents | None = None, **options: Any) -> pd.DataFrame:
    """Use the agreement between runs as confidence, without gold.

    Each output is evaluated against the output of every other run on the same document, as if it
    were gold: n (n - 1) evaluations for n runs. The confidence of a value is the share of the other
    runs that pass there. Runs of one model share its mistakes.

    Parameters
    ----------
    runs : pandas.DataFrame, folder or Dataset
        As `evaluate_runs` takes them: columns run, document, predicted and schema; a folder
        ``run/document.json`` with ``schema=``; or a dataset that has runs. Gold is not used.
    dataset : Dataset, optional
        Where schemas come from if they are not a column.
    **options : object
        Of `evaluate_runs`: schema, judge, profile, n_jobs, ... A judge is asked about every pair of
        runs.

    Returns
    -------
    pandas.DataFrame
        One row per value of an output that `profile` counts: run, document, path and confidence,
        k / (runs - 1). Outputs that are not JSON have no rows, and disagree with all others.

    Raises
    ------
    InputError
        A column is missing, or no document has outputs of two runs.

    Examples
    --------
    >>> schema = {"type": "object", "properties": {"a": {"type": "string"}}}
    >>> outputs = [{"a": "x"}, {"a": "x"}, {"a": "y"}]
    >>> runs = pd.DataFrame({"run": ["1", "2", "3"], "document": "d", "predicted": outputs,
    ...                      "schema": [schema] * 3})
    >>> run_agreement(runs)[["run", "path", "confidence"]].values.tolist()
    [['1', '$.a', 0.5], ['2', '$.a', 0.5], ['3', '$.a', 0.0]]
    """
    votes = votes_between_runs(runs, dataset, **options)
    values = votes.groupby(_IDS, sort=False).agg(right=("right", "sum"), others=("others", "first"))
    values["confidence"] = values["right"] / values["others"]
    return CONFIDENCE_COLUMNS.from_records(values.reset_index())


def votes_between_runs(runs: Any, dataset: Documents | None = None, **options: Any) -> pd.DataFrame:
    """Evaluate each output against those of the other runs, as `run_agreement` describes.

    Returns
    -------
    pandas.DataFrame
        One row per value of an output and other run: run, document, path, field, predicted, right,
        other (run), others (their number), readable (the other output is JSON) and lacking (it has
        no value there).
    """
    from extractbench_nb.runs import evaluate_runs, frame_of_runs

    if isinstance(getattr(runs, "runs", None), pd.DataFrame):
        runs, dataset = runs.runs, runs if dataset is None else dataset
    runs = frame_of_runs(runs)
    refuse_missing(runs, ("run", "document", "predicted"), "runs")
    if dataset is None and "schema" not in options:
        refuse_missing(runs, ("schema",), "runs")
    pairs = []
    outputs: dict[tuple[str, str], tuple[bool, int]] = {}
    for document, group in runs.groupby("document", sort=False):
        cells = group.to_dict("records")
        for own in cells:
            is_open = is_missing(own["predicted"]) or len(cells) == 1
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
            "runs: no document has outputs of two runs, of which one is JSON (a str is JSON text; "
            "for a file pass pathlib.Path); the agreement between runs needs two or more"
        )
    options = {"progress": False} | options
    evs = evaluate_runs(pd.DataFrame(pairs), dataset=dataset, **options)
    rows = counted_nodes(evs.fields)
    inside = rows["path"].str.contains(_INSIDE)
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


def counted_nodes(fields: pd.DataFrame) -> pd.DataFrame:
    """Return one row per counted node that has a verdict: it passes if all its metrics pass."""
    rows = fields[fields["counted"].astype(bool)].reset_index(drop=True)
    for name in ("run", "document"):
        rows[name] = rows[name].astype(TEXT) if name in rows else pd.array([""] * len(rows), TEXT)
    keys = ["run", "document", "path", "predicted_path"]
    passed = rows["passed"].astype("boolean")
    rows = rows.assign(wrong=~passed.fillna(value=True), open=passed.isna())
    nodes = rows.groupby(keys, dropna=False, sort=False)[["wrong", "open"]].transform("any")
    rows[["wrong", "open"]] = nodes.astype(bool)
    rows = rows[~rows.duplicated(keys) & (rows["wrong"] | ~rows["open"])]
    return rows.drop(columns="open").reset_index(drop=True)


# --- what confidences are worth -----------------------------------------------------------------

CALIBRATION_COLUMNS = FrameSpec(
    "calibration",
    "one row per bin of confidence, ascending, and a last one, without `bin`, for all values",
    (
        Column("bin", "Int64", "number of the bin; missing: all values", "0 and up", True),
        Column("n", "int64", "values with a confidence and a verdict", "1 and up"),
        Column("documents", "int64", "documents they come from", "1 and up"),
        Column("confidence", "float64", "mean confidence", "0 to 1"),
        Column("accuracy", "float64", "share of values that are right", "0 to 1"),
        Column("low", "float64", "lower end of Wilson's interval, of documents", "0 to 1"),
        Column("high", "float64", "upper end", "0 to 1"),
        Column("brier", "float64", "mean squared error of the confidence", "0 to 1"),
        Column("auroc", "Float64", "P(right above wrong); missing: one verdict", "0 to 1", True),
    ),
)


def calibration(
    evaluations: object, confidences: Any, *, bins: int = 10, confidence: float = 0.95
) -> pd.DataFrame:
    """Measure the calibration of confidences, and how well they rank right above wrong.

    Parameters
    ----------
    evaluations : Evaluation, results of a batch, pandas.DataFrame, mapping or list
        Results with `fields`, evaluated against gold.
    confidences : pandas.DataFrame
        Columns path (in the output, as `fields` writes it), confidence (0 to 1) and as far as
        needed run and document; for example `run_agreement`.
    bins : int, optional
        Maximum number of bins of equal mass; equal confidences share a bin.
    confidence : float, optional
        Of the intervals, between 0 and 1. Their sample size is the number of documents.

    Returns
    -------
    pandas.DataFrame
        One row per bin, which `xb.plots.reliability` draws, and a last row for all values; see
        `CALIBRATION_COLUMNS`. A node with several metrics is one value, right if all pass.

    Raises
    ------
    InputError
        A confidence is not a number from 0 to 1 or is there twice, none belongs to a value, or a
        column is missing.

    Examples
    --------
    >>> import extractbench_nb as xb
    >>> schema = {"type": "object", "properties": {"a": {"type": "integer"},
    ...           "b": {"type": "integer"}}}
    >>> ev = xb.evaluate(schema, {"a": 1, "b": 2}, {"a": 1, "b": 3})
    >>> confidences = pd.DataFrame({"path": ["$.a", "$.b"], "confidence": [0.9, 0.7]})
    >>> found = calibration(ev, confidences)
    >>> found[["n", "accuracy", "confidence", "brier", "auroc"]].round(3).values.tolist()[-1]
    [2, 0.5, 0.8, 0.25, 1.0]
    """
    from scipy.stats import rankdata

    fields, stated = gather(evaluations, "fields"), as_pandas(confidences)
    refuse_missing(fields, ("path", "predicted_path", "predicted_state", "passed", "counted"))
    refuse_missing(stated, ("path", "confidence"), "confidences")
    shares = pd.to_numeric(stated["confidence"], errors="coerce")
    if not shares.between(0, 1).all():
        value = stated.loc[~shares.between(0, 1), "confidence"].iloc[0]
        raise InputError(f"confidences: confidence is {value!r}; expected a number from 0 to 1")
    rows = counted_nodes(fields)
    own = rows["predicted_path"].fillna(rows["path"]).astype(TEXT)
    # gold's index of a missing item does not say where the output lacks it
    is_lacking = rows["predicted_state"].eq("missing") & own.str.contains(_INSIDE)
    rows = rows.assign(path=own)[~is_lacking]
    keys = [name for name in _IDS if name in stated and name in fields]
    stated = stated[keys].astype(TEXT).assign(confidence=shares)
    for frame, name in ((stated, "confidences"), (rows, "fields")):
        if len(again := frame.loc[frame.duplicated(keys), keys]):
            where = ", ".join(f"{key} {value!r}" for key, value in again.iloc[0].items())
            raise InputError(f"{name}: two rows of {where}; expected one for each value")
    values = rows.merge(stated, on=keys)
    if values.empty:
        hint = "pass confidences"
        if len(stated):
            path = stated["path"].iloc[0]
            hint = f"path {path!r}: {nearest(path, set(rows['path']))}"
        raise InputError(f"confidences: none belongs to a value of fields; {hint}")
    drawing, right = Drawing(confidence), ~values["wrong"].to_numpy(bool)
    share = values["confidence"].to_numpy(np.float64)
    numbers = pd.factorize(np.floor((rankdata(share) - 0.5) / len(share) * bins), sort=True)[0]
    masks = [*(numbers == at for at in range(numbers.max() + 1)), np.ones(len(right), bool)]
    records: list[dict[str, Any]] = []
    for at, mask in enumerate(masks):
        accuracy, documents = float(right[mask].mean()), values["document"][mask].nunique()
        record = {"bin": at if at < len(masks) - 1 else None, "n": mask.sum()}
        record |= {"documents": documents, "confidence": share[mask].mean(), "accuracy": accuracy}
        low, high, _ = wilson_interval(accuracy, documents, drawing)
        brier = ((share - right)[mask] ** 2).mean()
        records.append(record | {"low": low, "high": high, "brier": brier})
    if 0 < (hits := int(right.sum())) < len(right):  # Mann and Whitney's U
        u = rankdata(share)[right].sum() - hits * (hits + 1) / 2
        records[-1]["auroc"] = u / hits / (len(right) - hits)
    return CALIBRATION_COLUMNS.from_records(records)
