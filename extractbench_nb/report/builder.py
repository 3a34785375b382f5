"""`ReportBuilder`: from schema, gold and extracted JSON to a report, and to its files."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, fields, replace
from datetime import datetime
from pathlib import Path
from typing import Any

import pandas as pd

from extractbench_nb._files import make_folder, write_texts
from extractbench_nb.display.text import document_json
from extractbench_nb.engine.profiles import Profile, get_profile
from extractbench_nb.engine.traversal import Aligner
from extractbench_nb.errors import InputError
from extractbench_nb.evaluation.api import evaluate, evaluate_async
from extractbench_nb.evaluation.result import Evaluation
from extractbench_nb.judges.base import Judge
from extractbench_nb.judges.choosing import choose_judge
from extractbench_nb.judges.recorded import document_hash
from extractbench_nb.report import content, tables
from extractbench_nb.report.formats import csv_text, json_text, markdown_text, summary_text
from extractbench_nb.report.html import html_text
from extractbench_nb.report.models import EvaluationReport, ReportWarning
from extractbench_nb.report.tables import BuiltTables, TableReport, table_report
from extractbench_nb.schema.parse import SchemaSource


@dataclass(frozen=True)
class ReportConfig:
    """Options of a report: its content, its files, and the rules of the evaluation.

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
    profile, judge, alignment : object, optional
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
    profile: str | Profile = "paper"
    judge: str | Judge = "offline"
    alignment: str | Aligner = "optimal"

    def __post_init__(self) -> None:
        """Turn a text `output_dir` into a path, and report all wrong values in one error."""
        folder: object = self.output_dir
        if isinstance(folder, str) and folder:
            object.__setattr__(self, "output_dir", Path(folder))
        problems = list(_problems(self))
        if problems:
            raise InputError("ReportConfig: " + "; ".join(problems))


def _name_problems(name: object) -> Iterator[str]:
    """Return why a name cannot be that of a folder below the output folder."""
    if isinstance(name, str) and name.isprintable():
        path, parts = Path(name), Path(name.replace("\\", "/")).parts
        with suppress(UnicodeEncodeError):
            os.fsencode(name)
            if path.parts and not path.is_absolute() and ".." not in parts:
                return
    expected = "the name of a folder below output_dir, without '..' and control characters"
    yield f"output_name is {name!r}; expected {expected}"


def _problems(config: ReportConfig) -> Iterator[str]:
    folder: object = config.output_dir
    if not isinstance(folder, Path):
        yield f"output_dir is {folder!r}; expected a pathlib.Path"
    if config.output_name is not None:
        yield from _name_problems(config.output_name)
    for name in ("max_reasoning_length", "top_n_lowest_fields"):
        value = getattr(config, name)
        if type(value) is not int or value < 0:
            yield f"{name} is {value!r}; expected an integer that is 0 or more"
    for name in ("save_json", "save_text", "save_csv", "save_markdown", "save_html"):
        if type(getattr(config, name)) is not bool:
            yield f"{name} is {getattr(config, name)!r}; expected True or False"
    for check in (lambda: get_profile(config.profile), lambda: choose_judge(config.judge)):
        try:
            check()
        except InputError as error:
            yield str(error)
    if config.alignment != "optimal" and not callable(config.alignment):
        yield f"alignment is {config.alignment!r}; expected 'optimal' or a function"


class ReportBuilder:
    """Reports on one document, or on tables that were built from documents.

    Parameters
    ----------
    config : ReportConfig, optional
        Content and files of the report.

    Examples
    --------
    >>> schema = {"type": "object", "properties": {"year": {"type": "integer"}}}
    >>> report = ReportBuilder().build(schema, {"year": 2024}, {"year": 2025})
    >>> report.outcomes.split.wrong_value
    1
    """

    def __init__(self, config: ReportConfig | None = None) -> None:
        self.config = config if config is not None else ReportConfig()

    def build(self, schema: SchemaSource, gold: Any, extracted: Any) -> EvaluationReport:
        """Evaluate a document and report on it, in a script or in a notebook cell.

        Parameters
        ----------
        schema, gold, extracted : object
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
        return self.from_evaluation(evaluate(schema, gold, extracted, **self._options))

    async def build_async(
        self, schema: SchemaSource, gold: Any, extracted: Any
    ) -> EvaluationReport:
        """Evaluate and report, awaiting asynchronous metrics and judges; `build` as a coroutine.

        Parameters
        ----------
        schema, gold, extracted : object
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
        return self.from_evaluation(await evaluate_async(schema, gold, extracted, **self._options))

    @property
    def _options(self) -> dict[str, Any]:
        return {name: getattr(self.config, name) for name in ("judge", "alignment", "profile")}

    def from_evaluation(self, ev: Evaluation) -> EvaluationReport:
        """Report on an existing evaluation; nothing is evaluated again.

        Parameters
        ----------
        ev : Evaluation
            The evaluation.

        Returns
        -------
        EvaluationReport
            The report.
        """
        schema, gold, extracted, problem = ev.inputs
        summary, frame, meta, now = ev.summary, ev.fields, ev.meta, datetime.now()
        arrays = content.array_breakdowns(ev.arrays, ev.matches, frame)
        rows = content.field_outcomes(frame, arrays, self.config.max_reasoning_length)
        by_path = {row.path: row for row in rows}.values()
        missing_gold = sum(row.gold_state == "missing" for row in by_path)
        missing_extracted = sum(row.extracted_state == "missing" for row in by_path)
        document = dict(schema.document)
        noted = [f.name for f in fields(ReportWarning)]
        return EvaluationReport(
            output_name=self.config.output_name
            or f"{now:%Y%m%d-%H%M}-{_digest([document, gold, extracted])}",
            timestamp=now.isoformat(),
            schema_hash=_digest(document),
            gold_hash=_digest(gold),
            extracted_hash=_digest(extracted),
            schema_stats=content.schema_stats(schema),
            gold_stats=content.content_stats("gold", gold, missing_gold),
            extracted_stats=content.content_stats("extracted", extracted, missing_extracted),
            coverage=content.coverage_stats(schema, gold, None if problem else extracted),
            outcomes=content.outcome_stats(
                rows, summary, ev.judge_calls, self.config.top_n_lowest_fields
            ),
            field_outcomes=rows,
            overall_score=float(summary["overall_score"]),
            overall_pass_rate=float(summary["pass_rate"]),
            field_score=float(summary["field_score"]),
            array_breakdowns=arrays,
            gold_coverage=float(summary["gold_coverage"]),
            warnings=[ReportWarning(*row) for row in ev.warnings[noted].itertuples(index=False)],
            problem=problem,
            profile=meta["profile"],
            judge=meta["judge"],
            alignment=meta["alignment"],
            versions={key: meta[key] for key in ("extractbench_nb", "pandas", "python")},
            evaluation=ev,
            rules=content.rules(ev.rules),
        )

    def from_tables(self, found: BuiltTables, losses: pd.DataFrame | None = None) -> TableReport:
        r"""Report on tables that were built from documents; nothing is compared again.

        Parameters
        ----------
        found : TableComparison or TableEvaluations
            What `construction.compare` or `construction.evaluate_tables` returned.
        losses : pandas.DataFrame, optional
            What ``found.losses(...)`` returned, with the evidence recall of the documents as
            points lost by retrieval; by default ``found.losses()``, without that stage.

        Returns
        -------
        TableReport
            The report; `save` writes report.json, summary.txt, cells.csv, cells.md and
            report.html.

        Examples
        --------
        >>> from extractbench_nb.construction import compare
        >>> found = compare("k,a,b\nx,1,2\n", "k,a\nx,3\n", keys="k")
        >>> ReportBuilder().from_tables(found).losses[["side", "columns", "cells", "right"]]
                side  columns  cells  right
        0     recall      1.0    1.0    0.0
        1  precision      1.0    1.0    0.0
        """
        return table_report(found, losses, self.config.output_name)

    def save(self, report: EvaluationReport | TableReport) -> Path:
        """Write the files of a report, or none if one of them fails.

        Parameters
        ----------
        report : EvaluationReport or TableReport
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
        return _written(report, self.config.output_dir / report.output_name, self.config)


def write_evaluation(ev: Evaluation, folder: Path) -> Path:
    """Write all five files of a report into a folder; the report gets the folder's name."""
    report = ReportBuilder().from_evaluation(ev)
    name = folder.resolve().name or report.output_name
    return _written(replace(report, output_name=name), folder, ReportConfig())


def _written(report: EvaluationReport | TableReport, folder: Path, config: ReportConfig) -> Path:
    texts = {folder / name: text() for is_wanted, name, text in _files(report, config) if is_wanted}
    make_folder(folder)
    write_texts(texts)
    return folder


def _files(
    report: EvaluationReport | TableReport, config: ReportConfig
) -> tuple[tuple[bool, str, Callable[[], str]], ...]:
    """Return whether each file is wanted, its name, and what writes it."""
    if isinstance(report, TableReport):
        return (
            (config.save_json, "report.json", lambda: json_text(report)),
            (config.save_text, "summary.txt", lambda: tables.summary_text(report)),
            (config.save_csv, "cells.csv", lambda: tables.csv_text(report)),
            (config.save_markdown, "cells.md", lambda: tables.markdown_text(report)),
            (config.save_html, "report.html", lambda: tables.html_text(report)),
        )
    rows, limit = report.field_outcomes, config.max_reasoning_length
    return (
        (config.save_json, "report.json", lambda: json_text(report)),
        (config.save_text, "summary.txt", lambda: summary_text(report)),
        (config.save_csv, "fields.csv", lambda: csv_text(rows)),
        (config.save_markdown, "fields.md", lambda: markdown_text(rows, limit)),
        (config.save_html, "report.html", lambda: html_text(report)),
    )


def _digest(document: Any) -> str:
    """Return the first 8 hex digits of the SHA-256 of a document as JSON with sorted keys."""
    try:
        return document_hash(document)
    except (TypeError, ValueError, RecursionError):
        return document_hash(document_json(document))
