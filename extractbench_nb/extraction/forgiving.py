"""What if: outputs whose faults of form are forgiven, and what the pass rates would be then."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pandas as pd

from extractbench_nb._frames import Column, FrameSpec
from extractbench_nb.benchmark.paper.names import OVERALL, TOTAL
from extractbench_nb.breakdowns.sources import refuse_missing
from extractbench_nb.errors import InputError, nearest
from extractbench_nb.extraction.baseline import baseline_tables
from extractbench_nb.extraction.given import DatasetLike, documents_of
from extractbench_nb.extraction.repair import repair_output
from extractbench_nb.judges.base import Judge
from extractbench_nb.profiles import Profile

__all__ = ["EFFECT_COLUMNS", "FORMS", "forgive", "repair_effect"]

#: Faults of form, which a more lenient parser could read over.
FORMS = ("trailing_comma", "truncated_json", "malformed_json")
#: What can be forgiven: the text of the last one parses, and its value is taken as it is.
_FORGIVABLE = (*FORMS, "schema_violation")

EFFECT_COLUMNS = FrameSpec(
    "repair_effect",
    "one row a run",
    (
        Column("run", "string", "run"),
        Column("attempts", "int64", "attempts", "1 and up"),
        Column("valid", "int64", "valid outputs", "0 to attempts"),
        Column("forgiven", "int64", "outputs that would be valid besides", "0 to attempts"),
        Column("pass_rate", "Float64", "passed / fields, as in Table 5", "0 to 1", True),
        Column("pass_rate_repaired", "Float64", "the same, with those forgiven", "0 to 1", True),
        Column("gain", "Float64", "their difference", "0 to 1", True),
        Column("ceiling", "Float64", "what a perfect run gets", "0 to 1", True),
    ),
)


def forgive(attempts: pd.DataFrame, failures: str | Iterable[str] = FORMS) -> pd.DataFrame:
    """Take outputs that failed in some ways for valid, with what repair makes of them.

    Parameters
    ----------
    attempts : pandas.DataFrame
        From `read_outputs`.
    failures : str or iterable of str, optional
        What is forgiven: ``trailing_comma``, ``truncated_json``, ``malformed_json``; not by default
        ``schema_violation``, whose value is taken as it is.

    Returns
    -------
    pandas.DataFrame
        A copy, for `baseline_tables` and whatever takes attempts. Of an output that is forgiven
        ``valid`` is True, ``failure`` is ``none`` and ``value`` what `repair_output` makes of the
        text, whether or not it fits the schema; a column ``forgiven`` has its failure. One of which
        nothing can be made stays as it is.

    Raises
    ------
    InputError
        A failure is not known or cannot be forgiven, or a column is missing.

    Examples
    --------
    >>> from extractbench_nb.extraction.reading import read_outputs
    >>> from extractbench_nb.extraction.simulation import simulate
    >>> attempts = read_outputs(simulate("sample", "Gemini 3 Flash"), "sample")
    >>> forgive(attempts, "trailing_comma")["forgiven"].value_counts().to_dict()
    {'trailing_comma': 2}
    """
    refuse_missing(attempts, ("failure", "valid", "parses", "value", "raw"), "attempts")
    chosen = {failures} if isinstance(failures, str) else {*failures}
    for name in chosen:
        if name not in _FORGIVABLE:
            raise InputError(f"failures: {name!r} cannot be forgiven; {nearest(name, _FORGIVABLE)}")
    values, found = attempts["value"].tolist(), []
    columns = (attempts[name] for name in ("failure", "parses", "raw"))
    for place, (failure, parses, raw) in enumerate(zip(*columns, strict=True)):
        repaired = None
        if failure in chosen:
            repaired = values[place] if parses else repair_output(raw).value
        found.append(None if repaired is None else failure)
        values[place] = values[place] if repaired is None else repaired
    kept = pd.array(found, dtype=pd.StringDtype("python"))
    isna = kept.isna()
    return attempts.assign(
        valid=attempts["valid"].where(isna, other=True).astype("bool"),
        failure=attempts["failure"].where(isna, other="none"),
        value=pd.Series(values, attempts.index, object),
        forgiven=kept,
    )


def repair_effect(
    attempts: pd.DataFrame,
    dataset: DatasetLike,
    *,
    failures: str | Iterable[str] = FORMS,
    judge: str | Judge = "offline",
    profile: str | Profile = "paper",
    n_jobs: int = 1,
) -> pd.DataFrame:
    """Say what the pass rates would be if faults of form were forgiven.

    Parameters
    ----------
    attempts : pandas.DataFrame
        From `read_outputs`.
    dataset : Dataset, str or path
        Where schemas and gold come from; or what `load_dataset` takes.
    failures : str or iterable of str, optional
        What is forgiven, see `forgive`; ``"trailing_comma"`` alone, say.
    judge, profile, n_jobs : object, optional
        See `evaluate_runs`.

    Returns
    -------
    pandas.DataFrame
        One row a run: attempts, valid, forgiven, pass_rate, pass_rate_repaired, gain, ceiling.

    Raises
    ------
    InputError
        A failure cannot be forgiven; see `baseline_tables`.

    Notes
    -----
    Rates are those of `baseline_tables`. In the ExtractBench paper 40 of 103 failures are trailing
    commas and cut outputs (Table 7). A repaired output of which the end is missing passes the
    fields that came before it.
    """
    known = documents_of(dataset)
    lenient = forgive(attempts, failures)
    options: dict[str, Any] = {"judge": judge, "profile": profile, "n_jobs": n_jobs}
    before, after = (
        baseline_tables(given, known, **options).of_schema(OVERALL).drop(index=TOTAL)
        for given in (attempts, lenient)
    )
    columns: dict[str, Any] = {
        "run": before.index.tolist(),
        "attempts": before["documents"].tolist(),
        "valid": before["valid"].tolist(),
        "forgiven": (after["valid"] - before["valid"]).tolist(),
        "pass_rate": before["pass_rate"],
        "pass_rate_repaired": after["pass_rate"],
        "gain": after["pass_rate"] - before["pass_rate"],
        "ceiling": before["ceiling"],
    }
    return EFFECT_COLUMNS.build({name: list(values) for name, values in columns.items()})
