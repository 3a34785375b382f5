"""`ReportBuilder` and its report, and reading the reports of extract-bench."""

from __future__ import annotations

import os
from collections.abc import Hashable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from extractbench_nb.compat.structured import with_absolute_tolerances
from extractbench_nb.core import Aligner, Evaluation, evaluate, evaluate_async
from extractbench_nb.core.frames import Column, FrameSpec
from extractbench_nb.core.text import Judge, choose_judge
from extractbench_nb.core.values import member, read_document
from extractbench_nb.errors import InputError
from extractbench_nb.support.nodes import h, static_html
from extractbench_nb.support.wording import one_line
from extractbench_nb.views import evaluation_files, report_content, write_files

_SWITCHES = {
    "report.json": "save_json",
    "summary.txt": "save_text",
    "fields.csv": "save_csv",
    "fields.md": "save_markdown",
    "report.html": "save_html",
}


@dataclass(frozen=True)
class ReportConfig:
    """Content and files of a report.

    Parameters
    ----------
    output_dir : pathlib.Path or str, optional
        Folder in which reports are saved, each in a subfolder.
    output_name : str or None, optional
        Name of the subfolder; by default ``YYYYMMDD-HHMM-<8 hex digits>``, from time and content.
    max_reasoning_length : int, optional
        Maximum number of characters of a judge's reasoning, 0 or more.
    top_n_lowest_fields : int, optional
        Number of lowest judged scores to list, 0 or more.
    save_json, save_text, save_csv, save_markdown, save_html : bool, optional
        Which files to write: report.json, summary.txt, fields.csv, fields.md, report.html.
    judge, alignment : object, optional
        See `evaluate`.

    Raises
    ------
    InputError
        A value is invalid; the message lists all invalid values.

    Examples
    --------
    >>> ReportConfig(output_name="../elsewhere")
    Traceback (most recent call last):
        ...
    extractbench_nb.errors.InputError: ReportConfig: output_name is '../elsewhere'; ...
    """

    output_dir: Path = Path("./outputs")
    output_name: str | None = None
    max_reasoning_length: int = 200
    top_n_lowest_fields: int = 5
    save_json: bool = True
    save_text: bool = True
    save_csv: bool = True
    save_markdown: bool = True
    save_html: bool = True
    judge: str | Judge = "offline"
    alignment: str | Aligner = "optimal"

    def __post_init__(self) -> None:
        """Turn a text `output_dir` into a path, and report all wrong values in one error."""
        folder: object = self.output_dir
        if isinstance(folder, str) and folder:
            object.__setattr__(self, "output_dir", Path(folder))
        if problems := list(self._problems()):
            raise InputError("ReportConfig: " + "; ".join(problems))

    def _problems(self) -> Iterator[str]:
        folder: object = self.output_dir
        if not isinstance(folder, Path):
            yield f"output_dir is {folder!r}; expected a pathlib.Path"
        if self.output_name is not None:
            yield from _name_problems(self.output_name)
        for name in ("max_reasoning_length", "top_n_lowest_fields"):
            value = getattr(self, name)
            if type(value) is not int or value < 0:
                yield f"{name} is {value!r}; expected an integer that is 0 or more"
        for name in _SWITCHES.values():
            if type(getattr(self, name)) is not bool:
                yield f"{name} is {getattr(self, name)!r}; expected True or False"
        try:
            choose_judge(self.judge)
        except InputError as error:
            yield str(error)
        if self.alignment != "optimal" and not callable(self.alignment):
            yield f"alignment is {self.alignment!r}; expected 'optimal' or a function"


def _name_problems(name: object) -> Iterator[str]:
    """Yield why a name cannot be that of a folder below the output folder."""
    if isinstance(name, str) and name.isprintable():
        path, parts = Path(name), Path(name.replace("\\", "/")).parts
        with suppress(UnicodeEncodeError):
            os.fsencode(name)
            if path.parts and not path.is_absolute() and ".." not in parts:
                return
    expected = "the name of a folder below output_dir, without '..' and control characters"
    yield f"output_name is {name!r}; expected {expected}"


class Fields(dict[str, Any]):
    """A part of a report: a dict whose keys are attributes too."""

    def __getattr__(self, name: str) -> Any:
        """Return the value of a key."""
        try:
            return self[name]
        except KeyError:
            raise AttributeError(f"a report has no {name!r} here; it has {list(self)}") from None


def _as_fields(value: Any) -> Any:
    if isinstance(value, dict):
        return Fields({key: _as_fields(part) for key, part in value.items()})
    return [_as_fields(part) for part in value] if isinstance(value, list) else value


class EvaluationReport(Fields):
    """The content of ``report.json``, with keys as attributes. Made by `ReportBuilder`.

    Attributes
    ----------
    overall_score, field_score, overall_pass_rate : float
        In [0, 1]: items of arrays count individually; every field counts once; share of the fields
        that pass.
    outcomes : dict
        Counts over the evaluated fields: ``total_evaluated``, ``total_passed``, ``total_failed``,
        ``pass_by_metric``, ``confusion``, ``llm_stats``, ``error_breakdown``.
    field_outcomes : list of dict
        One per field and metric, with ``array_breakdown`` for an array.
    schema_stats, gold_stats, extracted_stats, coverage : dict
        Shape of the schema; values of either document; leaves that both have, or only one.
    summary, arrays, warnings, rules, meta : object
        The frames and the summary of the evaluation.
    evaluation : Evaluation
        The evaluation behind the report; not in ``report.json``.
    """

    def __init__(self, content: dict[str, Any], evaluation: Evaluation) -> None:
        super().__init__(_as_fields(content))
        self.evaluation = evaluation

    def __repr__(self) -> str:
        """Write name and scores in one line, counts in another."""
        return (
            f"EvaluationReport {self.output_name!r}: overall {self.overall_score:.3f} · "
            f"field {self.field_score:.3f} · pass rate {self.overall_pass_rate:.1%}\n"
            f"  {self.outcomes.total_passed} of {self.outcomes.total_evaluated} fields pass"
        )

    def _repr_html_(self) -> str:
        name = one_line(self.output_name, 120)
        title = static_html(h("div", h("strong", f"Report {name}")))
        return title + self.evaluation._repr_html_()


class ReportBuilder:
    """Evaluates one document under profile ``paper`` and makes a report.

    Parameters
    ----------
    config : ReportConfig, optional
        Content of the report and where it is saved.

    Examples
    --------
    >>> schema = {"type": "object", "properties": {"year": {"type": "integer"}}}
    >>> report = ReportBuilder().build(schema, {"year": 2024}, {"year": 2025})
    >>> report.outcomes.total_failed, report.outcomes.confusion.false_negative
    (1, 1)
    """

    def __init__(self, config: ReportConfig | None = None) -> None:
        self.config = config if config is not None else ReportConfig()

    def build(self, json_schema: Any, gold_json: Any, extracted_json: Any) -> EvaluationReport:
        """Evaluate and report, in a script or in a notebook cell.

        Parameters
        ----------
        json_schema, gold_json, extracted_json : object
            As `evaluate` takes them. Extracted text that is not JSON gives a report too.

        Returns
        -------
        EvaluationReport
            The report.

        Raises
        ------
        SchemaError, ConfigError, InputError
            As `evaluate` raises them.
        """
        schema = with_absolute_tolerances(json_schema)
        return self.from_evaluation(evaluate(schema, gold_json, extracted_json, **self._options))

    async def build_async(
        self, json_schema: Any, gold_json: Any, extracted_json: Any
    ) -> EvaluationReport:
        """Evaluate and report in the running event loop; `build` as a coroutine.

        Parameters
        ----------
        json_schema, gold_json, extracted_json : object
            As `evaluate` takes them.

        Returns
        -------
        EvaluationReport
            The report.
        """
        schema = with_absolute_tolerances(json_schema)
        ev = await evaluate_async(schema, gold_json, extracted_json, **self._options)
        return self.from_evaluation(ev)

    @property
    def _options(self) -> dict[str, Any]:
        c = self.config
        return {"judge": c.judge, "alignment": c.alignment, "profile": "paper"}

    def from_evaluation(self, ev: Evaluation) -> EvaluationReport:
        """Report on an existing evaluation, under its own profile; nothing is evaluated again.

        Parameters
        ----------
        ev : Evaluation
            The evaluation.

        Returns
        -------
        EvaluationReport
            The report.
        """
        c = self.config
        lengths = {
            name: getattr(c, name) for name in ("max_reasoning_length", "top_n_lowest_fields")
        }
        return EvaluationReport(report_content(ev, c.output_name, **lengths), ev)

    def save(self, report: EvaluationReport) -> Path:
        """Write the files of a report, or none if one of them fails.

        Parameters
        ----------
        report : EvaluationReport
            The report.

        Returns
        -------
        pathlib.Path
            Their folder, ``output_dir / output_name``; created if it does not exist.

        Raises
        ------
        OutputError
            A file cannot be written.
        InputError
            The report's name is a path outside the output folder.
        """
        for problem in _name_problems(report.output_name):
            raise InputError(problem)
        files = evaluation_files(report, self.config.max_reasoning_length)
        wanted = {n: text() for n, text in files.items() if getattr(self.config, _SWITCHES[n])}
        return write_files(self.config.output_dir / report.output_name, wanted)


# --- reports of extract-bench -----------------------------------------------------------------

REPORT_COLUMNS = FrameSpec(
    "fields of a report",
    "one row per field and metric of an extract-bench report",
    (
        Column("path", "string", "instance path as in ``Evaluation.fields``, `$.borrower.name`"),
        Column("schema_path", "string", "the report's own path, `$.properties.borrower`"),
        Column("metric", "string", "metric id"),
        Column("score", "Float64", "score", "0 to 1", nullable=True),
        Column("passed", "boolean", "whether the score passes", nullable=True),
        Column("reason", "string", "the report's reason code", nullable=True),
        Column("reasoning", "string", "a judge's own words, shortened", nullable=True),
        Column("gold", "object", "gold's value, where the report has it", nullable=True),
        Column("predicted", "object", "extracted value, where the report has it", nullable=True),
    ),
)


def read_report(path: str | Path) -> pd.DataFrame:
    """Read the fields of a ``report.json`` that extract-bench wrote.

    The frame joins with ``Evaluation.fields`` on ``path`` and ``metric``. It also reads the
    reports of this package.

    Parameters
    ----------
    path : str or pathlib.Path
        The file, or the folder that holds it.

    Returns
    -------
    pandas.DataFrame
        One row per field and metric: path, schema_path, metric, score, passed, reason, reasoning,
        gold, predicted. ``attrs`` has the report's ``output_name``, ``overall_score`` and
        ``overall_pass_rate``.

    Raises
    ------
    InputError
        The file cannot be read, or is not a report.

    Examples
    --------
    >>> import tempfile
    >>> schema = {"type": "object", "properties": {"year": {"type": "integer"}}}
    >>> builder = ReportBuilder(ReportConfig(output_dir=tempfile.mkdtemp()))
    >>> folder = builder.save(builder.build(schema, {"year": 2024}, {"year": 2025}))
    >>> read_report(folder)[["path", "metric", "score"]].values.tolist()
    [['$.year', 'integer_exact', 0.0]]
    """
    file = Path(path)
    file = file / "report.json" if file.is_dir() else file
    report = read_document(file, "report")
    try:
        rows = [_read_row(row) for row in report["field_outcomes"]]
        attributes = ("output_name", "overall_score", "overall_pass_rate")
        head: dict[Hashable | None, Any] = {name: report[name] for name in attributes}
    except (KeyError, TypeError, AttributeError) as error:
        problem = "expected field_outcomes, overall_score and overall_pass_rate of extract-bench"
        raise InputError(f"{str(file)!r} is not a report; {problem}") from error
    frame = REPORT_COLUMNS.from_rows(rows)
    frame.attrs = head
    return frame


def _read_row(row: dict[str, Any]) -> tuple[Any, ...]:
    names = ("metric_id", "score", "passed", "reason", "reasoning", "gold_value", "extracted_value")
    return (_instance_path(row), row["path"], *(row.get(name) for name in names))


def _instance_path(row: dict[str, Any]) -> str:
    """Return the path in the document; extract-bench writes odd names without quotes."""
    keys = row["path"].split(".properties.")
    if keys[0] != "$" or any(".additionalProperties" in key for key in keys):
        name = row["normalized_path"]
        return "$" if name == "$" else "$" + ("" if name.startswith("[") else ".") + name
    return "$" + "".join(key if key.startswith("['") else member(key) for key in keys[1:])
