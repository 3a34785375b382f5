"""Figures of your own runs beside the printed ones."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Protocol

import pandas as pd

from extractbench_nb.benchmark.paper_cells import (
    DIFFERS,
    DOMAIN_TABLES,
    DOMAINS,
    EQUAL,
    HEADER,
    MODELS,
    OVERALL,
    PRINTED,
    TOTAL,
    Cell,
    compared_figure,
    status_of,
)
from extractbench_nb.benchmark.published import DOMAIN_OF_SCHEMA, part_name, rows_of
from extractbench_nb.benchmark.recomputed import divided
from extractbench_nb.core.frames import Column, FrameSpec
from extractbench_nb.errors import InputError, nearest
from extractbench_nb.stats import Drawing, wilson_interval

#: Statuses beside `EQUAL` and `DIFFERS`: inside the run's interval, and without a figure of a run.
WITHIN, NO_RUN = "within", "no run"
RUN_COMPARISON_STATUSES = (EQUAL, WITHIN, DIFFERS, NO_RUN)

RUN_COMPARISON_COLUMNS = FrameSpec(
    "compare_runs",
    "one row per printed figure of a model",
    (
        Column("table", "string", "5 or 7 to 13"),
        Column("row", "string", "model or kind of failure, as printed"),
        Column("column", "string", "what the figure is; in Table 7 the model"),
        Column("run", "string", "run that the figure is compared with", "", True),
        *PRINTED,
        Column("found", "Float64", "the run's number", "", True),
        Column("difference", "Float64", "found - published", "", True),
        Column("low", "Float64", "lower end of the interval of found", "", True),
        Column("high", "Float64", "upper end of the interval of found", "", True),
        Column("unit", "string", "unit of the numbers"),
        Column("status", "string", "result of the comparison", ", ".join(RUN_COMPARISON_STATUSES)),
        Column("reason", "string", "known error of the printed figure", "", True),
        Column("where", "string", "section or appendix"),
    ),
)

#: Rows of Table 7, and the failures of `parse_output`.
_FAILURES = {
    "empty": "empty_response",
    "trailing comma": "trailing_comma",
    "page limit": "page_limit",
    "truncated": "truncated_json",
    "context length": "context_length",
}
_CONFIDENCE = 0.95


class RunTables(Protocol):
    """What `baseline_tables` returns."""

    @property
    def results(self) -> pd.DataFrame:
        """One row per run and schema."""

    @property
    def failures(self) -> pd.DataFrame:
        """Counts of failed attempts, one column per run."""


def compare_with_runs(
    n: int | str,
    runs: RunTables,
    models: Mapping[str, str] | None = None,
    domains: Mapping[str, str] | None = None,
) -> pd.DataFrame:
    """Compare the figures of runs with those of a table; see `compare`."""
    part = part_name(n)
    if part not in ("5", *(str(n) for n in range(7, 14))):
        raise InputError(f"table {n!r} has no figures of runs; those that do are 5 and 7 to 13")
    tables: object = runs
    if not (hasattr(tables, "results") and hasattr(tables, "failures")):
        kind = type(tables).__name__
        raise InputError(f"runs is {kind}; expected what baseline_tables() returns")
    names = list(dict.fromkeys(runs.results["run"]))
    chosen = _run_of_model(part, [run for run in names if run != TOTAL], models)
    if len(chosen) == len(names) - 1 == len(MODELS):
        chosen[TOTAL] = TOTAL
    schemas = _schema_of_domain(runs, domains) | {OVERALL: OVERALL}
    results = {(row["run"], row["schema"]): row for row in runs.results.to_dict("records")}
    confidence = runs.results.attrs.get("confidence", _CONFIDENCE)
    by_table = {str(table): domain for domain, table in DOMAIN_TABLES.items()}
    rows = []
    for figure in rows_of(part):
        if figure.row == HEADER:
            continue
        run = chosen.get(figure.column if part == "7" else figure.row)
        value, low, high = None, None, None
        if run is not None and part == "7":
            failures = runs.failures[run]
            value, low, high = _failed(figure.row, results[run, OVERALL], failures, confidence)
        elif run is not None:
            name, _, last = figure.column.rpartition(" ")
            row = results.get((run, schemas.get(name or by_table.get(part, OVERALL))))
            value, low, high = (None, None, None) if row is None else _of_results(row, last)
        status = NO_RUN
        if value is not None and figure.value is not None:
            inside = low is not None and high is not None and low <= figure.value <= high
            is_equal = status_of(figure, Cell(value, "")) == EQUAL
            status = EQUAL if is_equal else WITHIN if inside else DIFFERS
        domain = figure.column.removesuffix(" rate")
        sums_up = figure.table == "8" and figure.row == TOTAL and domain in DOMAINS
        reason = divided(domain) if sums_up else ""
        texts = {"run": run, "status": status, "reason": reason or None}
        rows.append(compared_figure(figure, value) | {"low": low, "high": high} | texts)
    return RUN_COMPARISON_COLUMNS.from_records(rows)


def _run_of_model(part: str, runs: list[str], models: Mapping[str, str] | None) -> dict[str, str]:
    """Return the run of each model, by default the one whose name is the model's.

    Runs whose names end in ``structured`` are for Table 8, the others for all other tables.
    """
    letters = {re.sub(r"[\W_]+", "", model.casefold()): model for model in MODELS}
    named = {}
    for run in runs:
        name = run.rpartition("/")[2].casefold().removesuffix("structured")
        model = letters.get(re.sub(r"[\W_]+", "", name))
        if model and run.casefold().endswith("structured") == (part == "8"):
            named[run] = model
    mode = " in structured mode" if part == "8" else ""
    absent = f"no run is named as a model of the paper{mode}"
    return _by_target("models", "run", named if models is None else models, runs, MODELS, absent)


def _schema_of_domain(runs: RunTables, domains: Mapping[str, str] | None) -> dict[str, str]:
    """Return the schema of each domain, by default that with the released schema's folder."""
    schemas = [name for name in dict.fromkeys(runs.results["schema"]) if name != OVERALL]
    if domains is None:
        folders = {name: name.rpartition("/")[2] for name in schemas}
        domains = {n: DOMAIN_OF_SCHEMA[f] for n, f in folders.items() if f in DOMAIN_OF_SCHEMA}
    absent = "no schema of the runs is one of the paper's"
    return _by_target("domains", "schema", domains, schemas, DOMAINS, absent)


def _by_target(
    argument: str,
    kind: str,
    targets: Mapping[str, str],
    names: list[str],
    allowed: tuple[str, ...],
    absent: str,
) -> dict[str, str]:
    """Invert a mapping of runs to models, or of schemas to domains, and check it."""
    usage = f"pass {argument}={{{kind}: {argument[:-1]}}}"
    found: dict[str, str] = {}
    for name, target in targets.items():
        if name not in names:
            raise InputError(f"{argument}: no {name!r}; {nearest(name, names)}")
        if target not in allowed:
            problem = f"{argument}[{name!r}]: no {target!r}; {nearest(target, allowed)}"
            raise InputError(problem)
        if target in found:
            both = f"{found[target]!r} and {name!r}"
            raise InputError(f"{kind}s {both} both stand for {target}; {usage} to choose one")
        found[target] = name
    if not found:
        choices = f"{argument} are {', '.join(allowed)}"
        raise InputError(f"{absent} ({', '.join(map(repr, names))}); {usage}, where {choices}")
    return found


def _failed(
    kind: str, whole: Mapping[Any, Any], failures: pd.Series[Any], confidence: float
) -> tuple[float, float, float]:
    """Return how many attempts of a run failed in one way, with its interval."""
    documents = whole["documents"]
    if kind == TOTAL:
        low, high = (documents * (1 - whole[f"valid_{end}"]) for end in ("high", "low"))
        return documents - whole["valid"], low, high
    count = int(failures.get(_FAILURES[kind], 0))
    low, high, _ = wilson_interval(count / documents, documents, Drawing(confidence, 100, 0))
    return count, documents * (low or 0.0), documents * (high or 0.0)


def _of_results(row: Mapping[Any, Any], figure: str) -> tuple[float | None, ...]:
    """Return a figure of a run, with its interval."""
    if figure in ("documents", "attempts", "fields"):
        return row["fields" if figure == "fields" else "documents"], None, None
    column, interval, factor, of_interval = {
        "valid": ("valid", "valid", 1.0, row["documents"]),
        "passed": ("passed", "pass_rate", 1.0, row["fields"]),
        "rate": ("pass_rate", "pass_rate", 100.0, 100.0),
        "accuracy": ("accuracy_valid", "accuracy", 100.0, 100.0),
    }[figure]
    numbers = (row[column], row[f"{interval}_low"], row[f"{interval}_high"])
    factors = (factor, of_interval, of_interval)
    return tuple(
        None if pd.isna(x) else float(x * f) for x, f in zip(numbers, factors, strict=True)
    )
