"""Without gold: the agreement between runs as confidence, pass rates, and what they are worth."""

from __future__ import annotations

import json
import re
import warnings
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from extractbench_nb.core import read_predicted
from extractbench_nb.core.frames import TEXT, Column, DescribedFrames, FrameSpec, as_pandas
from extractbench_nb.core.values import canonical
from extractbench_nb.errors import InputError, nearest
from extractbench_nb.pdf import grounded
from extractbench_nb.runs import Documents, evaluate_runs, frame_of_runs
from extractbench_nb.stats.breakdowns import gather
from extractbench_nb.stats.intervals import (
    EQUAL,
    Drawing,
    check_share,
    mean_intervals,
    wilson_interval,
)
from extractbench_nb.support.cards import TextCard
from extractbench_nb.support.pandas_helpers import is_missing, refuse_missing
from extractbench_nb.support.wording import cut, plural

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

    Each output is evaluated against that of every other run on the same document, as if it were
    gold: n (n - 1) evaluations for n runs. The confidence of a value is the share of the other runs
    that pass there. Runs of one model share its mistakes.

    Parameters
    ----------
    runs : pandas.DataFrame, folder or Dataset
        As `evaluate_runs` takes them; gold is not used.
    dataset : Dataset, optional
        The source of schemas if they are not a column.
    **options : object
        Options of `evaluate_runs`: schema, judge, profile, n_jobs, ...

    Returns
    -------
    pandas.DataFrame
        One row per value of an output that `profile` counts, see `CONFIDENCE_COLUMNS`. Outputs that
        are not JSON have no rows, and disagree with all others.

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
    """Evaluate each output against those of the other runs: one row per value and other run.

    `others` is their number, `readable` tells whether the other output is JSON, and `lacking`
    whether it has no value there.
    """
    if isinstance(getattr(runs, "runs", None), pd.DataFrame):
        runs, dataset = runs.runs, runs if dataset is None else dataset
    runs = frame_of_runs(runs)
    refuse_missing(runs, ("run", "document", "predicted"), "runs")
    if dataset is None and "schema" not in options and "schema" not in runs:
        raise InputError("runs has no column 'schema'; pass schema= or dataset=")
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


# --- pass rates without gold --------------------------------------------------------------------

_SHARED = (
    Column("documents", "int64", "documents over which the row is averaged", "1 and up"),
    Column("agreement", "float64", "mean share of votes that agree", "0 to 1", True),
    Column("estimate", "float64", "estimated pass rate; if missing, see `reason`", "0 to 1", True),
    Column("low", "float64", "lower limit of its interval", "0 to 1", True),
    Column("high", "float64", "upper limit of its interval", "0 to 1", True),
    Column("grounded", "float64", "share of looked-up values found in the PDF", "0 to 1", True),
    Column(
        "doubted", "float64", "share of values that the PDF or rules contradict", "0 to 1", True
    ),
    Column("gold", "float64", "pass rate against gold", "0 to 1", True),
    Column("gap", "float64", "estimate, or what it would be, minus gold", "-1 to 1", True),
    Column("reason", "string", "reason for a missing estimate", nullable=True),
)
_KEYS = {"runs": ["run"], "fields": ["run", "field"], "documents": ["run", "document"]}
RUN_ESTIMATES, FIELD_ESTIMATES, DOCUMENT_ESTIMATES = tuple(
    FrameSpec(
        name,
        f"one row per {' and '.join(ids)}",
        (*(Column(key, "string", f"name of the {key}") for key in ids), *_SHARED),
    )
    for name, ids in _KEYS.items()
)

#: Least share of the votes with which a value counts as right.
_RATES = {"estimate": 1 / 2, "low": 3 / 4, "high": 1 / 4}
_FEWEST, _LEAST = 3, 0.5


@dataclass(frozen=True, repr=False, eq=False)
class Estimate(TextCard, DescribedFrames):
    """Estimated pass rates without gold. Made by `estimate`.

    Attributes
    ----------
    signs : tuple of str
        Warning signs; with any, no frame has an estimate.
    vendors : dict of str to str
        The vendor of each run.
    runs, fields, documents : pandas.DataFrame
        One row per run, the highest estimate first; per run and field, and per run and document,
        the lowest first; see `Estimate.columns()`.
    """

    _specs = (RUN_ESTIMATES, FIELD_ESTIMATES, DOCUMENT_ESTIMATES)
    signs: tuple[str, ...]
    vendors: dict[str, str]
    runs: pd.DataFrame
    fields: pd.DataFrame
    documents: pd.DataFrame

    def __repr__(self) -> str:
        """Write the estimate of each run, or the warning signs."""
        vendors = plural(len(set(self.vendors.values())), "vendor")
        count = f"{plural(len(self.vendors), 'run')} of {vendors}"
        if self.signs:
            return "\n".join([f"No estimate for {count}:", *(f"  {sign}" for sign in self.signs)])
        rates = self.runs[["run", *_RATES, "gap"]].dropna(axis="columns", how="all").round(3)
        return f"Estimated pass rates without gold, {count}\n{rates.to_string(index=False)}"


def estimate(  # noqa: PLR0913 - options, all but the first by name
    runs: Any,
    *,
    dataset: Any = None,
    vendors: Mapping[str, str] | None = None,
    rules: pd.DataFrame | None = None,
    gold: Any = None,
    max_gap: float = 0.1,
    confidence: float = 0.95,
    seed: int = 0,
    **options: Any,
) -> Estimate:
    """Estimate pass rates without gold, or explain why an estimate would mislead.

    Parameters
    ----------
    runs, dataset : object
        See `run_agreement`. If the dataset has PDFs, values are looked up in them.
    vendors : mapping of str to str, optional
        The vendor of each run's model; by default taken from the run's name, or its first word.
    rules : pandas.DataFrame, optional
        The result of `xb.gold.check_rules` for the outputs.
    gold : Evaluations, optional
        Results of `evaluate_runs` for documents with gold data, to check the estimate.
    max_gap : float, optional
        Largest mean distance, over runs, between estimate and `gold`, in [0, 1].
    confidence, seed : float and int, optional
        Confidence level and seed of the bootstrap intervals.
    **options : object
        Further arguments of `run_agreement`.

    Returns
    -------
    Estimate
        Frames per run, field and document, and the warning signs.

    Raises
    ------
    InputError
        A column or run is missing, or no document has outputs of two runs.

    Notes
    -----
    Each of the other vendors casts one vote on a value: the share of its readable outputs that
    agree. A value counts as right if half of the votes agree with it and nothing contradicts it. A
    value is contradicted if a broken rule contains its path, or if it is not in the PDF although
    most values of its field are. Missing array items count as wrong, by their mean number. An
    unreadable output has a rate of 0.

    The interval for a document ranges from the rate that requires 3/4 of the votes to the rate that
    requires only 1/4 and ignores contradictions. Over documents, it ranges from a lower bootstrap
    bound of the former to an upper bound of the latter. There is no estimate if there are fewer
    than three vendors, if the mean agreement is below 1/2, or if the gap to gold is large.
    Runs with the same outputs for at least three documents count as one vendor, with a warning,
    unless all runs have the same outputs.

    Examples
    --------
    >>> schema = {"type": "object", "properties": {"a": {"type": "string"}}}
    >>> runs = pd.DataFrame({"run": ["gpt", "claude", "gemini", "qwen"], "document": "d",
    ...                      "predicted": [{"a": v} for v in "xxxy"], "schema": [schema] * 4})
    >>> estimate(runs).runs[["run", "estimate", "low", "high"]].values.tolist()[::3]
    [['gpt', 1.0, 0.0, 1.0], ['qwen', 0.0, 0.0, 0.0]]
    >>> estimate(runs, vendors=dict.fromkeys(runs["run"], "one")).signs
    ('1 vendor (one), three are needed: models of one vendor share mistakes; see vendors=',)
    """
    check_share("max_gap", max_gap)
    drawing = Drawing(confidence, 2000, seed)
    votes = votes_between_runs(runs, dataset, **options)
    others = votes[["other", "document", "readable"]].rename(columns={"other": "run"})
    outputs = pd.concat([votes[["run", "document"]].assign(readable=True), others])
    outputs = outputs.groupby(["run", "document"], sort=False)["readable"].any().reset_index()
    vendor_of = _vendors_of(outputs["run"].unique(), vendors)
    for names in _copies(votes):
        listed = cut(", ".join(map(repr, names)), 100)
        warnings.warn(f"{listed} have the same outputs and count as one vendor", stacklevel=2)
        vendor_of |= dict.fromkeys(names, vendor_of[names[0]])
    outputs["vendor"] = outputs["run"].map(vendor_of)
    voters = outputs[outputs["readable"]].groupby("document")["vendor"].nunique()
    enough = set(voters.index[voters >= _FEWEST])
    units = _units(votes, vendor_of, runs if dataset is None else dataset, rules)
    documents = outputs.merge(_rates_within_documents(units, ["run", "document"]), how="left")
    documents.loc[~documents["readable"], ["agreement", *_RATES]] = 0.0
    fields = _rates_within_documents(units, ["run", "field", "document"])
    documents, fields = _with_gold(documents, fields, gold)
    frames = {
        name: _means(rows, _KEYS[name], enough, drawing)
        for name, rows in (("runs", documents), ("fields", fields), ("documents", documents))
    }
    agreement, gap = frames["runs"][["agreement", "gap"]].abs().mean()
    names = sorted(set(vendor_of.values()))
    text = (
        f"{plural(len(names), 'vendor')} ({cut(', '.join(names), 60)}), three are needed: models "
    )
    signs = (
        (len(names) < _FEWEST, f"{text}of one vendor share mistakes; see vendors="),
        (not enough and len(names) >= _FEWEST, "no document has readable outputs of three vendors"),
        (agreement < _LEAST, f"the mean agreement is {agreement:.2f}, below {_LEAST}"),
        (gap > max_gap, f"agreement is {gap:.2f} from gold, max_gap is {max_gap:g}"),
    )
    fired = tuple(sign for fires, sign in signs if fires)
    for spec in Estimate._specs:
        rows = frames[spec.name].assign(reason="; ".join(fired) or None)
        if not fired and "document" in rows:
            few = "readable outputs of fewer than three vendors"
            rows.loc[~rows["document"].isin(enough), "reason"] = few
        rows.loc[rows["reason"].notna(), [*_RATES]] = np.nan
        rows = rows.sort_values("estimate", ascending=spec.name != "runs", kind="stable")
        frames[spec.name] = spec.build({name: rows[name].tolist() for name in spec.names})
    return Estimate(fired, vendor_of, **frames)


def _copies(votes: pd.DataFrame) -> list[list[str]]:
    """Return the runs that have the same outputs, if other runs differ from these."""
    values_of: dict[frozenset[tuple[str, str, str]], list[str]] = {}
    for run, rows in votes.drop_duplicates(_IDS).groupby("run", sort=False):
        if rows["document"].nunique() >= _FEWEST:
            texts = map(canonical, rows["predicted"])
            values = frozenset(zip(rows["document"], rows["path"], texts, strict=True))
            values_of.setdefault(values, []).append(str(run))
    wrong = votes[votes["readable"] & ~votes["right"]]
    return [
        names
        for names in values_of.values()
        if len(names) > 1 and (wrong["run"].isin(names) & ~wrong["other"].isin(names)).any()
    ]


def _units(
    votes: pd.DataFrame, vendor_of: Mapping[str, str], dataset: Any, rules: pd.DataFrame | None
) -> pd.DataFrame:
    """Return the values of each output, and with their mean number those that it lacks."""
    votes = votes[votes["readable"]].copy()
    # with fewer vendors there is no estimate, but the agreement of runs is worth showing
    is_enough = len(set(vendor_of.values())) >= _FEWEST
    voter_of = vendor_of if is_enough else {run: run for run in vendor_of}
    votes["voter"] = votes["other"].map(voter_of)
    votes = votes[votes["voter"] != votes["run"].map(voter_of)]
    ids = ["run", "document", "path"]
    shares = votes.groupby([*ids, "voter"], sort=False)["right"].mean()
    agreement = shares.groupby(ids, sort=False).mean().rename("agreement").reset_index()
    values = votes.drop_duplicates(ids)[[*ids, "field", "predicted"]].merge(agreement, on=ids)
    values["grounded"], doubted = np.nan, pd.Series(data=False, index=values.index)
    if hasattr(dataset, "pdf_path"):
        values["grounded"] = grounded(values, dataset)["grounded"].astype(np.float64)
        printed = values.groupby("field")["grounded"].transform("mean")
        doubted |= values["grounded"].eq(0) & (printed > 1 / 2)
    if rules is not None:
        refuse_missing(rules, ("run", "document", "outcome", "paths"), "rules")
        broken = rules[rules["outcome"].eq("broken").fillna(value=False)].explode("paths")
        for run, document, path in broken[["run", "document", "paths"]].dropna().to_numpy():
            below = values["path"].str.startswith((f"{path}.", f"{path}["))
            is_named = below | values["path"].eq(path)
            doubted |= is_named & values["run"].eq(run) & values["document"].eq(document)
    values["doubted"], values["weight"] = doubted.astype(np.float64), 1.0
    for name, least in _RATES.items():
        values[name] = 1.0 * (values["agreement"] >= least - EQUAL) * (~doubted | (name == "high"))
    right = votes[votes["lacking"]].merge(values.loc[values["estimate"] > 0, ids], on=ids)
    lacking = right.groupby(["other", "document", "field"]).size().reset_index(name="weight")
    outputs = votes.groupby(["other", "document"])["run"].nunique().reset_index(name="outputs")
    lacking["weight"] /= lacking.merge(outputs)["outputs"]
    lacking = lacking.rename(columns={"other": "run"}).assign(**dict.fromkeys(_RATES, 0.0))
    return pd.concat([values, lacking], ignore_index=True)


def _rates_within_documents(units: pd.DataFrame, keys: list[str]) -> pd.DataFrame:
    weighted = units.assign(**{name: units[name] * units["weight"] for name in _RATES})
    sums = weighted.groupby(keys, sort=False)[[*_RATES, "weight"]].sum()
    means = units.groupby(keys, sort=False)[["agreement", "grounded", "doubted"]].mean()
    return means.join(sums[[*_RATES]].div(sums["weight"], axis=0)).reset_index()


def _with_gold(documents: pd.DataFrame, fields: pd.DataFrame, gold: Any) -> list[pd.DataFrame]:
    if gold is None:
        return [documents.assign(gold=np.nan), fields.assign(gold=np.nan)]
    summary, nodes = gather(gold, "summary"), counted_nodes(gather(gold, "fields"))
    refuse_missing(summary, ("run", "document", "pass_rate"), "gold")
    by_document = summary[["run", "document"]].assign(gold=summary["pass_rate"])
    keys = [nodes[key] for key in ("run", "field", "document")]
    by_field = (1.0 - nodes["wrong"]).groupby(keys).mean().reset_index(name="gold")
    return [documents.merge(by_document, how="left"), fields.merge(by_field, how="left")]


def _means(rows: pd.DataFrame, by: list[str], enough: set[str], drawing: Drawing) -> pd.DataFrame:
    """Average rates over the documents with enough vendors, or over all if there are none."""
    if "document" not in by and enough:
        rows = rows[rows["document"].isin(enough)]
    groups = rows.assign(gap=rows["estimate"] - rows["gold"]).groupby(by, sort=False)
    means = groups[["agreement", *_RATES, "grounded", "doubted", "gold", "gap"]].mean()
    for end, name in enumerate(("low", "high")):
        samples = [sample.dropna().to_numpy(np.float64) for _, sample in groups[name]]
        ends = [interval[end] for interval in mean_intervals(samples, drawing)]
        means[name] = means[name].where(pd.isna(ends), pd.Series(ends, means.index, dtype=float))
    return means.assign(documents=groups.size()).reset_index()


#: Vendors and their models; the group that matches first names the vendor.
_VENDOR = re.compile(
    r"(?<![a-z])(?:(?P<anthropic>anthropic|claude)|(?P<openai>openai|(?:chat)?gpt)"
    r"|(?P<google>google|gemini|gemma)|(?P<meta>meta|llama)|(?P<mistral>mistral|mixtral)"
    r"|(?P<alibaba>alibaba|qwen)|(?P<deepseek>deepseek)|(?P<xai>xai|grok))(?![a-z])"
)


def _vendors_of(runs: Iterable[str], given: Mapping[str, str] | None) -> dict[str, str]:
    """Return the vendor of each run: given, known, or else the first word of its name."""
    vendor_of = {}
    for run in runs:
        known, word = _VENDOR.search(run.lower()), re.search("[a-z]+", run.lower())
        vendor_of[run] = str(known.lastgroup) if known else word.group() if word else "unnamed"
    for run in given or ():
        if run not in vendor_of:
            raise InputError(f"vendors: unknown run {run!r}; {nearest(run, vendor_of)}")
    return vendor_of | dict(given or {})


# --- what confidences are worth -----------------------------------------------------------------

CALIBRATION_COLUMNS = FrameSpec(
    "calibration",
    "one row per bin of confidence, ascending, and a last one, without `bin`, for all values",
    (
        Column("bin", "Int64", "number of the bin; missing for all values", "0 and up", True),
        Column("n", "int64", "values with a confidence and a verdict", "1 and up"),
        Column("documents", "int64", "documents of these rows", "1 and up"),
        Column("confidence", "float64", "mean confidence", "0 to 1"),
        Column("accuracy", "float64", "share of values that are right", "0 to 1"),
        Column("low", "float64", "lower limit of the Wilson interval over documents", "0 to 1"),
        Column("high", "float64", "upper limit of its interval", "0 to 1"),
        Column("brier", "float64", "mean squared error of the confidence", "0 to 1"),
        Column("auroc", "Float64", "P(right above wrong); NA if verdicts agree", "0 to 1", True),
    ),
)


def calibration(
    evaluations: object, confidences: Any, *, bins: int = 10, confidence: float = 0.95
) -> pd.DataFrame:
    """Measure how well confidences are calibrated, and how well they rank right above wrong.

    Parameters
    ----------
    evaluations : Evaluation, results of a batch, pandas.DataFrame, mapping or list
        Results with `fields`, evaluated against gold.
    confidences : pandas.DataFrame
        Columns path (in the output), confidence (0 to 1) and as far as needed run and document;
        for example `run_agreement`.
    bins : int, optional
        Maximum number of bins of equal mass; equal confidences share a bin.
    confidence : float, optional
        Confidence level of the intervals, between 0 and 1. Their sample size is the number of
        documents.

    Returns
    -------
    pandas.DataFrame
        One row per bin and a last one for all values, see `CALIBRATION_COLUMNS`. A node with
        several metrics is one value, right if all pass.

    Raises
    ------
    InputError
        A confidence is not a number from 0 to 1 or occurs twice, none belongs to a value, or a
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
