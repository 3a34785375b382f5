"""`baseline_tables`: validity, pass rates and failures of runs, as in the paper's tables."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import pandas as pd

from extractbench_nb.benchmark.complexities import schema_complexity
from extractbench_nb.benchmark.layout import Head, PaperTable, filled
from extractbench_nb.benchmark.published import HEADER, OVERALL, TOTAL
from extractbench_nb.core import Aligner, Profile
from extractbench_nb.core.frames import TEXT, Column, FrameSpec, as_pandas
from extractbench_nb.core.text import Judge
from extractbench_nb.errors import InputError, nearest
from extractbench_nb.runs import (
    PASSING,
    DatasetLike,
    Documents,
    Evaluations,
    documents_of,
    evaluate_runs,
    predictions,
    repair_output,
)
from extractbench_nb.stats import Drawing, failure_modes, rate_interval, valid_interval
from extractbench_nb.support.pandas_helpers import refuse_missing
from extractbench_nb.support.wording import plural

_NONE = "—"
#: What the numbers of runs must not be compared with silently.
JUDGED_OFFLINE = (
    'offline judge; the paper used Gemini 2.5 Flash: judge="gemini/gemini-2.5-flash" switches to it'
)

#: The released dataset's schemas in the order of Table 5: heading, folder, number of their table.
_PUBLISHED = (
    ("Credit", "credit_agreement", "10"),
    ("Research", "research", "12"),
    ("Resumes", "resume", "11"),
    ("Sports", "swimming", "13"),
    ("SEC 10-K/Q", "10kq", "9"),
)


def _columns(results: pd.DataFrame, part: str) -> list[tuple[str, str, str, str]]:
    """List the columns of a table as the paper has them: heading, schema, text, ranking rate."""
    folders = {name: name.rpartition("/")[2] for name in results["schema"] if name != OVERALL}
    headings = {folder: heading for heading, folder, _ in _PUBLISHED}
    rank = {folder: i for i, folder in enumerate(headings)}
    schemas = sorted(folders, key=lambda name: rank.get(folders[name], len(rank)))
    titles = {name: headings.get(folders[name], name) for name in schemas}
    valid, passed = "{valid}/{documents}", "{passed}/{fields} ({pass_rate})"
    if part == "8":
        named = [(title, name) for name, title in titles.items()] + [("Overall", OVERALL)]
        return [(title, name, "{pass_rate}", "pass_rate") for title, name in named]
    if part != "5":
        schema = _schema(part, folders)
        return [("Valid", schema, valid, ""), ("Pass Rate", schema, passed, "pass_rate")]
    columns = [("Valid JSON", OVERALL, valid, "valid_rate")]
    for name, title in titles.items():
        rows = results[(results["schema"] == name) & (results["run"] != TOTAL)]
        keys = int(rows["fields"].iloc[0]) // int(rows["documents"].iloc[0])
        heading = f"{title} ({int(rows['documents'].max())}docs: {keys}keys)"
        columns.append((heading, name, passed, "pass_rate"))
    columns.append(("Overall Pass Rate", OVERALL, passed, "pass_rate"))
    return [*columns, ("Acc Valid", OVERALL, "{accuracy_valid}", "accuracy_valid")]


def _schema(part: str, folders: Mapping[str, str]) -> str:
    """Find the schema of a table by the paper's number, its name or its folder."""
    numbers = {table: folder for _, folder, table in _PUBLISHED}
    wanted, used = numbers.get(part, part), list(folders.values())
    names = {folder: name for name, folder in folders.items() if used.count(folder) == 1}
    names |= {name: name for name in folders}
    if wanted not in names:
        problem = f"no table {part!r} of runs; there are 5, 7, 8 and one per schema"
        if part in numbers:
            problem = f"table {part} is of the schema {wanted!r}, which the runs do not have"
        raise InputError(f"{problem}: {nearest(wanted, names)}")
    return names[wanted]


def _laid_out(results: pd.DataFrame, part: str) -> PaperTable:
    """Write one row per run; a run without documents of a schema has a dash there."""
    columns, heads = _columns(results, part), []
    for place, (heading, _, template, ranked) in enumerate(columns):
        numbered = template.replace("{", f"{{{place} ")
        heads.append(Head(heading, numbered, f"{place} {ranked}" if ranked else ""))
    rows = {(row["run"], row["schema"]): row for row in results.to_dict("records")}

    def value(run: str, name: str) -> Any:
        place, _, column = name.partition(" ")
        row = rows.get((run, columns[int(place)][1]), {})
        return None if pd.isna(row.get(column)) else row[column]

    def text(run: str, name: str) -> str:
        if run == HEADER:  # braces in the name of a schema
            return f"{{{name}}}"
        number = value(run, name)
        if number is None:
            return _NONE
        return f"{number:.1%}" if isinstance(number, float) else str(number)

    runs = {run: run for run in results["run"]}
    table = filled(heads, runs, text, value, is_red=lambda name: name.endswith("pass_rate"))
    for cells in table.rows.values():
        cells[:] = [cell if cell.strip("—/ ()") else _NONE for cell in cells]
    return table


TALLY_COLUMNS = FrameSpec(
    "attempts",
    "one row per attempt",
    (
        Column("run", "string", "run"),
        Column("document", "string", "document id"),
        Column("schema", "string", "schema (the paper's domain)"),
        Column("valid", "int64", "whether the output is valid", "0, 1"),
        Column("passed", "int64", "fields that pass; 0 for an invalid output", "0 and up"),
        Column("fields", "int64", "keys of the schema", "0 and up"),
        Column("evaluated", "int64", "scored fields", "0 and up"),
        Column("evaluated_valid", "int64", "scored fields of a valid output", "0 and up"),
    ),
)

BASELINE_COLUMNS = FrameSpec(
    "results",
    "one row per run and schema; the rows of all runs, and of all schemas, come last",
    (
        Column("run", "string", "name of the run; `total` for all runs"),
        Column("schema", "string", "schema (the paper's domain); `overall` for all"),
        Column("documents", "int64", "attempts", "0 and up"),
        Column("valid", "int64", "valid outputs", "0 to documents"),
        Column("valid_rate", "float64", "valid / documents", "0 to 1"),
        Column("valid_low", "float64", "interval of valid_rate", "0 to 1"),
        Column("valid_high", "float64", "interval of valid_rate", "0 to 1"),
        Column("passed", "int64", "fields that pass in valid outputs", "0 and up"),
        Column("fields", "int64", "documents x keys of their schema", "0 and up"),
        Column("pass_rate", "Float64", "passed / fields", "0 to 1", True),
        Column("pass_rate_low", "Float64", "interval of pass_rate", "0 to 1", True),
        Column("pass_rate_high", "Float64", "interval of pass_rate", "0 to 1", True),
        Column("ceiling", "Float64", "scored / fields, the rate of a perfect run", "0 to 1", True),
        Column("evaluated_valid", "int64", "scored fields of valid outputs", "0 and up"),
        Column("accuracy_valid", "Float64", "passed / evaluated_valid", "0 to 1", True),
        Column("accuracy_low", "Float64", "interval of accuracy_valid", "0 to 1", True),
        Column("accuracy_high", "Float64", "interval of accuracy_valid", "0 to 1", True),
    ),
)

_NEEDED = ("run", "document", "schema", "valid", "failure", "parses", "value", "raw")
_SUMS = ("valid", "passed", "fields", "evaluated", "evaluated_valid")


@dataclass(frozen=True, eq=False)
class BaselineTables:
    """Validity, pass rates and failures of runs; made by `baseline_tables`.

    ``results`` has one row per run and schema, see `BASELINE_COLUMNS`; ``failures`` counts attempts
    by failure, one column per run, as Table 7; ``attempts`` has one row per attempt, see
    `TALLY_COLUMNS`; ``evaluations`` are those of the outputs. ``unanswered`` attempts failed for a
    transient reason (rate limits, timeouts, errors of the server, the connection or the key).
    """

    results: pd.DataFrame
    failures: pd.DataFrame
    attempts: pd.DataFrame
    evaluations: Evaluations
    unanswered: int = 0

    @property
    def table(self) -> pd.DataFrame:
        """One row per run, with validity, pass rates and accuracy, in the form of Table 5."""
        rows = self.results
        rates = rows.pivot_table(index="run", columns="schema", values="pass_rate", sort=False)
        overall = self.of_schema(OVERALL).rename(columns={"documents": "attempts"})
        counts = overall[["valid", "attempts"]]
        table = pd.concat([counts, rates.reindex(overall.index), overall["accuracy_valid"]], axis=1)
        return table.rename_axis(columns=None)

    def of_schema(self, name: str) -> pd.DataFrame:
        """Return the results of one schema, or ``overall``, in the form of Tables 9 to 13.

        One row per run, which is the index, with the other columns of `results`. An unknown schema
        is an `InputError`.
        """
        rows = self.results[self.results["schema"] == name]
        if rows.empty:
            schemas = dict.fromkeys(self.results["schema"])
            raise InputError(f"unknown schema {name!r}; {nearest(name, schemas)}")
        return rows.drop(columns="schema").set_index("run")

    def style(self, n: int | str = 5) -> PaperTable:
        """Return a table in the layout of the paper, also as LaTeX and Markdown.

        `n` is 5 (valid outputs, pass rates by schema, accuracy), 7 (failures), 8 (pass rates only),
        the name of a schema, or 9 to 13 for the paper's five (valid outputs and pass rate); another
        table is an `InputError`. The best run of a column is bold; rates are red if no field
        passed.
        """
        if str(n) == "7":
            counts = zip(self.failures.index, self.failures.to_numpy(), strict=True)
            rows = {str(name): [f"{c:,}" if c else _NONE for c in row] for name, row in counts}
            return PaperTable([str(name) for name in self.failures.columns], rows)
        return _laid_out(self.results, str(n))

    def _repr_html_(self) -> str:
        """Return the form of Table 5 as HTML, with the judge if it is not the paper's."""
        html: str = self.style().to_html()
        is_offline = self.evaluations.meta.get("judge") == "offline"
        return html + (f"<p>{JUDGED_OFFLINE}</p>" if is_offline else "")

    def __repr__(self) -> str:
        """Write validity and pass rate of each run, and what qualifies them."""
        overall = self.of_schema(OVERALL)
        lines = [f"BaselineTables of {plural(len(overall) - 1, 'run')}"]
        lines += [
            f"  {run}: {row['valid']} of {row['documents']} valid, "
            f"pass rate {_percent(row['pass_rate'])} (at most {_percent(row['ceiling'])})"
            for run, row in overall.to_dict("index").items()
        ]
        if self.unanswered:
            lines.append(
                f"  {self.unanswered} without an answer for a transient reason, counted as failures"
                ": resume their runs"
            )
        if self.evaluations.meta.get("judge") == "offline":
            lines.append(f"  {JUDGED_OFFLINE}")
        return "\n".join(lines)


def baseline_tables(  # noqa: PLR0913 - options by name
    attempts: pd.DataFrame,
    dataset: DatasetLike,
    *,
    judge: str | Judge = "offline",
    alignment: str | Aligner = "optimal",
    profile: str | Profile = "paper",
    n_jobs: int = 1,
    confidence: float = 0.95,
) -> BaselineTables:
    """Evaluate the outputs of runs, and summarise them like the paper.

    Parameters
    ----------
    attempts : pandas.DataFrame
        From `read_outputs`.
    dataset : Dataset, str or path
        The source of schemas and gold, or what `load_dataset` takes.
    judge, alignment, profile, n_jobs : optional
        As in `evaluate_runs`. The paper's judge was Gemini 2.5 Flash; the default is offline.
    confidence : float, optional
        Confidence level of the intervals, between 0 and 1.

    Returns
    -------
    BaselineTables
        ``table`` has the form of Table 5, ``failures`` of Table 7, ``of_schema(name)`` of Tables 9
        to 13; ``style(n)`` shows each in the paper's layout. ``xb.benchmark.compare(n, runs=...)``
        compares it with the published one.

    Raises
    ------
    InputError
        There is no attempt, a run is called ``total`` or a schema ``overall``, or as for
        `evaluate_runs`.

    Notes
    -----
    The pass rate is that of Table 5: passed fields / (documents x keys of their schema); invalid
    outputs pass none. A schema has more keys than scored fields (an array is one field), so that
    ``ceiling``, the rate of gold, is below 1. ``accuracy_valid`` is passed / scored fields of the
    valid outputs, a biased sample (section 4.1 of the ExtractBench paper).

    Intervals are Wilson's, over documents: of their number for ``valid_rate``, else of an effective
    number from the variance between the documents of each schema (Korn and Graubard, 1998).
    They leave out the variation between answers of the same model.

    Examples
    --------
    >>> import extractbench_nb as xb
    >>> ds = xb.load_dataset()
    >>> attempts = xb.read_outputs(ds.runs, ds)
    >>> tables = xb.benchmark.baseline_tables(attempts, ds)
    >>> rows = tables.of_schema("facility_agreement")[["documents", "valid", "passed", "fields"]]
    >>> rows.loc["quill-mini"].tolist()
    [3, 3, 32, 39]
    """
    attempts = as_pandas(attempts)
    refuse_missing(attempts, _NEEDED, "attempts")
    if attempts.empty:
        raise InputError("attempts has no rows")
    for name in _NEEDED[:4]:
        if attempts[name].isna().any():
            raise InputError(f"attempts: column {name!r} is missing in some rows")
    for name, reserved in (("run", TOTAL), ("schema", OVERALL)):
        if attempts[name].eq(reserved).any():
            raise InputError(
                f"attempts: a {name} is called {reserved!r}, which is the name of the sum"
            )
    failures = failure_modes(attempts)
    dataset = documents_of(dataset)
    drawing = Drawing(confidence, 100, 0)
    options: dict[str, Any] = {"judge": judge, "alignment": alignment, "profile": profile}
    options |= {"dataset": dataset, "n_jobs": n_jobs, "progress": False}
    evs = evaluate_runs(predictions(attempts), **options)
    passing = attempts["failure"].isin(PASSING)  # a later request may be answered
    if "message" in attempts.columns:
        reasons = attempts["message"].astype("string").str.partition(": ")[0]
        passing |= attempts["failure"].eq("other") & reasons.isin(PASSING)
    counts = _counts(attempts, evs, dataset)
    return BaselineTables(_results(counts, drawing), failures, counts, evs, int(passing.sum()))


def _counts(attempts: pd.DataFrame, evs: Evaluations, dataset: Documents) -> pd.DataFrame:
    """Count passed and scored fields: one row per attempt."""
    keys = {n: schema_complexity(dataset.schema(n)).keys for n in attempts["schema"].unique()}
    labels = attempts[["run", "document", "schema", "valid"]]
    scored = evs.summary[["run", "document", "passed", "evaluated"]]
    rows = labels.merge(scored, on=["run", "document"], how="left", validate="one_to_one")
    valid, evaluated = rows["valid"].astype("int64"), rows["evaluated"].astype("int64")
    return TALLY_COLUMNS.from_records(
        rows.assign(
            valid=valid,
            passed=rows["passed"].astype("int64") * valid,
            fields=rows["schema"].map(keys),
            evaluated=evaluated,
            evaluated_valid=evaluated * valid,
        )
    )


def _results(counts: pd.DataFrame, drawing: Drawing) -> pd.DataFrame:
    """Sum up the attempts of each run and schema, of each run, and of all."""
    records = []
    for run, rows in [*counts.groupby("run", sort=False), (TOTAL, counts)]:
        for schema, part in [*rows.groupby("schema", sort=False), (OVERALL, rows)]:
            record = part[list(_SUMS)].sum().astype(int).to_dict()
            fields, scored, passed = (record[n] for n in ("fields", "evaluated_valid", "passed"))
            ratios = {
                "valid_rate": _share(record["valid"], len(part)),
                "pass_rate": _share(passed, fields),
                "ceiling": _share(record["evaluated"], fields),
                "accuracy_valid": _share(passed, scored),
            }
            of_scored = ("passed", "evaluated_valid", "evaluated_valid")
            for name, interval in (
                ("valid", valid_interval(part, drawing)),
                ("pass_rate", rate_interval(part, ("passed", "fields", "evaluated"), drawing)),
                ("accuracy", rate_interval(part, of_scored, drawing)),
            ):
                ratios[f"{name}_low"], ratios[f"{name}_high"] = interval[:2]
            ids = {"run": run, "schema": schema, "documents": len(part)}
            records.append(ids | record | ratios)
    frame = BASELINE_COLUMNS.from_records(records)
    frame.attrs["confidence"] = drawing.confidence
    return frame


def _percent(share: object) -> str:
    return f"{share:.1%}" if isinstance(share, float) else "unknown"


def _share(part: int, whole: int) -> float | None:
    return part / whole if whole else None


#: Formal errors, which a more lenient parser could accept.
FORMS = ("trailing_comma", "truncated_json", "malformed_json")
#: Failures that can be forgiven; the text of the last one parses, and its value is used unchanged.
_FORGIVABLE = (*FORMS, "schema_violation")

EFFECT_COLUMNS = FrameSpec(
    "repair_effect",
    "one row per run",
    (
        Column("run", "string", "run"),
        Column("attempts", "int64", "attempts", "1 and up"),
        Column("valid", "int64", "valid outputs", "0 to attempts"),
        Column("forgiven", "int64", "further outputs that are valid after repair", "0 to attempts"),
        Column("pass_rate", "Float64", "passed / fields, as in Table 5", "0 to 1", True),
        Column("pass_rate_repaired", "Float64", "pass rate with repaired outputs", "0 to 1", True),
        Column("gain", "Float64", "difference of the two pass rates", "0 to 1", True),
        Column("ceiling", "Float64", "pass rate of a perfect run", "0 to 1", True),
    ),
)


def forgive(attempts: pd.DataFrame, failures: str | Iterable[str] = FORMS) -> pd.DataFrame:
    """Count outputs with certain failures as valid, with their repaired values.

    Parameters
    ----------
    attempts : pandas.DataFrame
        From `read_outputs`.
    failures : str or iterable of str, optional
        ``trailing_comma``, ``truncated_json`` and ``malformed_json``, which are the default, or
        ``schema_violation``, whose value is used unchanged.

    Returns
    -------
    pandas.DataFrame
        A copy. For a forgiven output ``valid`` is True, ``failure`` is ``none``, ``value`` is the
        result of `repair_output`, and the new column ``forgiven`` contains its failure. Outputs
        that cannot be repaired are unchanged.

    Raises
    ------
    InputError
        A failure is unknown or cannot be forgiven, or a column is missing.

    Examples
    --------
    >>> import extractbench_nb as xb
    >>> ds = xb.load_dataset()
    >>> attempts = xb.read_outputs(ds.runs, ds)
    >>> xb.benchmark.forgive(attempts, "trailing_comma")["forgiven"].value_counts().to_dict()
    {'trailing_comma': 3}
    """
    attempts = as_pandas(attempts)
    refuse_missing(attempts, ("failure", "valid", "parses", "value", "raw"), "attempts")
    chosen = {failures} if isinstance(failures, str) else {*failures}
    for name in chosen:
        if name not in _FORGIVABLE:
            raise InputError(f"failures: {name!r} cannot be forgiven; {nearest(name, _FORGIVABLE)}")
    values, forgiven = list(attempts["value"]), list[str | None]([None] * len(attempts))
    columns = (attempts[name] for name in ("failure", "parses", "raw"))
    for place, (failure, parses, raw) in enumerate(zip(*columns, strict=True)):
        if failure in chosen:
            repaired = values[place] if parses else repair_output(raw).value
            if repaired is not None:
                values[place], forgiven[place] = repaired, failure
    failures_forgiven = pd.array(forgiven, dtype=TEXT)
    unchanged = failures_forgiven.isna()
    return attempts.assign(
        valid=attempts["valid"].where(unchanged, other=True).astype("bool"),
        failure=attempts["failure"].where(unchanged, other="none"),
        value=pd.Series(values, attempts.index, object),
        forgiven=failures_forgiven,
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
    """Compute the pass rates that would result if formal errors were repaired.

    In the ExtractBench paper 40 of 103 failures are trailing commas and truncated outputs (Table
    7). A truncated output passes the fields before the cut.

    Parameters
    ----------
    attempts, dataset : optional
        As in `baseline_tables`, which computes the rates.
    failures : str or iterable of str, optional
        Failures to forgive, as in `forgive`; for example ``"trailing_comma"``.
    judge, profile, n_jobs : optional
        As in `evaluate_runs`.

    Returns
    -------
    pandas.DataFrame
        One row per run; see `EFFECT_COLUMNS`.

    Raises
    ------
    InputError
        A failure cannot be forgiven, or as for `baseline_tables`.

    Examples
    --------
    >>> import extractbench_nb as xb
    >>> ds = xb.load_dataset()
    >>> attempts = xb.read_outputs(ds.runs, ds)
    >>> effect = xb.benchmark.repair_effect(attempts, ds, failures="trailing_comma")
    >>> effect.set_index("run").loc["osprey-7b", ["attempts", "valid", "forgiven"]].tolist()
    [14, 2, 2]
    """
    documents = documents_of(dataset)
    options: dict[str, Any] = {"judge": judge, "profile": profile, "n_jobs": n_jobs}
    before, after = (
        baseline_tables(frame, documents, **options).of_schema(OVERALL).drop(index=TOTAL)
        for frame in (attempts, forgive(attempts, failures))
    )
    effect = before.reset_index().rename(columns={"documents": "attempts"})
    effect["forgiven"] = (after["valid"] - before["valid"]).to_numpy()
    effect["pass_rate_repaired"] = after["pass_rate"].array
    effect["gain"] = (after["pass_rate"] - before["pass_rate"]).array
    return EFFECT_COLUMNS.from_records(effect)
