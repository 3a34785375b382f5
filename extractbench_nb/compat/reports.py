"""`ReportBuilder` and its report."""

from __future__ import annotations

import os
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from extractbench_nb.compat.structured import Evaluating
from extractbench_nb.core import Aligner, Evaluation
from extractbench_nb.core.text import Judge, choose_judge
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
        A value is invalid.

    Examples
    --------
    >>> ReportConfig(output_name="../elsewhere")
    Traceback (most recent call last):
        ...
    extractbench_nb.errors.InputError: output_name is '../elsewhere'; ...
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
        """Turn a text `output_dir` into a path, and check the values."""
        folder: object = self.output_dir
        if not isinstance(folder, str | Path) or not folder:
            raise InputError(f"output_dir is {folder!r}; expected a pathlib.Path")
        object.__setattr__(self, "output_dir", Path(folder))
        if self.output_name is not None:
            _check_name(self.output_name)
        for name in ("max_reasoning_length", "top_n_lowest_fields"):
            value = getattr(self, name)
            if type(value) is not int or value < 0:
                raise InputError(f"{name} is {value!r}; expected an integer that is 0 or more")
        for name in _SWITCHES.values():
            if type(getattr(self, name)) is not bool:
                raise InputError(f"{name} is {getattr(self, name)!r}; expected True or False")
        choose_judge(self.judge)


def _check_name(name: object) -> None:
    """Refuse a name that cannot be that of a folder below the output folder."""
    if isinstance(name, str) and name.isprintable():
        path, parts = Path(name), Path(name.replace("\\", "/")).parts
        with suppress(UnicodeEncodeError):
            os.fsencode(name)
            if path.parts and not path.is_absolute() and ".." not in parts:
                return
    expected = "the name of a folder below output_dir, without '..' and control characters"
    raise InputError(f"output_name is {name!r}; expected {expected}")


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
        Counts over the evaluated fields, such as ``total_evaluated`` and ``confusion``.
    field_outcomes : list of dict
        One per field and metric, with ``array_breakdown`` for an array.
    schema_stats, gold_stats, extracted_stats, coverage, summary, arrays, warnings, meta : object
        Shape and coverage of the documents, and the evaluation's frames and summary.
    evaluation : Evaluation
        The evaluation of the report; not in ``report.json``.
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


class ReportBuilder(Evaluating):
    """Evaluates a document in profile ``paper`` and creates a report.

    Parameters
    ----------
    config : ReportConfig, optional
        Content and folder of the report.

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
        return self.from_evaluation(self._evaluation(json_schema, gold_json, extracted_json))

    async def build_async(
        self, json_schema: Any, gold_json: Any, extracted_json: Any
    ) -> EvaluationReport:
        """Evaluate and report in the running event loop, as a coroutine.

        Parameters
        ----------
        json_schema, gold_json, extracted_json : object
            As `evaluate` takes them.

        Returns
        -------
        EvaluationReport
            The report.
        """
        ev = await self._evaluation_async(json_schema, gold_json, extracted_json)
        return self.from_evaluation(ev)

    def from_evaluation(self, ev: Evaluation) -> EvaluationReport:
        """Report on an existing evaluation in its own profile, without evaluating it again.

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
        """Write the files of a report, or no file if one of them fails.

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
        _check_name(report.output_name)
        files = evaluation_files(report.evaluation, report)
        wanted = {n: text() for n, text in files.items() if getattr(self.config, _SWITCHES[n])}
        return write_files(self.config.output_dir / report.output_name, wanted)
