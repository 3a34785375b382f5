"""The report builder, by default with the rules of the published README."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from extractbench_nb.profiles import Profile
from extractbench_nb.report import builder
from extractbench_nb.report.models import EvaluationReport

__all__ = ["ReportBuilder", "ReportConfig"]


@dataclass(frozen=True)
class ReportConfig(builder.ReportConfig):
    """What a report contains and where it goes.

    Parameters
    ----------
    output_dir, output_name, max_reasoning_length, top_n_lowest_fields : object, optional
        See `report.builder.ReportConfig`.
    save_json, save_text, save_csv, save_markdown, save_html : bool, optional
        Which files to write.
    profile : str or Profile, optional
        The rules: those of the published README; ``extract-bench-0.1.0`` for the release's.
    judge, alignment : object, optional
        See `evaluate`.
    """

    profile: str | Profile = "extract-bench-readme"


class ReportBuilder(builder.ReportBuilder):
    """Evaluates one document and reports on it, under the published names of the arguments.

    Parameters
    ----------
    config : ReportConfig, optional
        What to report and where to save it.
    """

    def __init__(self, config: builder.ReportConfig | None = None) -> None:
        super().__init__(config if config is not None else ReportConfig())

    def build(self, json_schema: Any, gold_json: Any, extracted_json: Any) -> EvaluationReport:
        """Evaluate and report; in a script and in a notebook cell alike.

        Parameters
        ----------
        json_schema, gold_json, extracted_json : object
            As `evaluate` takes them.

        Returns
        -------
        EvaluationReport
            The report.
        """
        return super().build(json_schema, gold_json, extracted_json)

    async def build_async(
        self, json_schema: Any, gold_json: Any, extracted_json: Any
    ) -> EvaluationReport:
        """Do what `build` does, awaiting metrics and judges that wait.

        Parameters
        ----------
        json_schema, gold_json, extracted_json : object
            As `evaluate` takes them.

        Returns
        -------
        EvaluationReport
            The report.
        """
        return await super().build_async(json_schema, gold_json, extracted_json)
