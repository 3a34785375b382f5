"""``report.html``: one file that needs no network and no JavaScript, and runs none."""

from __future__ import annotations

import base64
import hashlib
from functools import cache
from typing import TYPE_CHECKING, Any

from extractbench_nb._units import dollars
from extractbench_nb.report.models import EvaluationReport
from extractbench_nb.report.texts import clean
from extractbench_nb.report.views import (
    LABELS,
    array_views,
    bar,
    listed,
    outcome_parts,
    row_view,
    warning_groups,
)

if TYPE_CHECKING:
    from jinja2 import Environment

__all__ = ["html_text"]

_SHOWN_FAILED = 25
_MOST_FAILED = 200
_MOST_FIELDS = 1_000
_MOST_PATHS = 100
_OPEN_ARRAYS = 3


def html_text(report: EvaluationReport) -> str:
    """Write ``report.html``.

    Parameters
    ----------
    report : EvaluationReport
        The report.

    Returns
    -------
    str
        A page whose size is bounded: what does not fit is counted, and is in the other files.
        Every text in it is escaped, and its content security policy allows neither scripts nor
        requests, nor any style but its own.
    """
    environment = _environment()
    style = environment.get_template("report.css").render()
    return environment.get_template("report.html").render(
        **_content(report), style_hash=_style_hash(style)
    )


@cache
def _environment() -> Environment:
    """Make the environment once: the templates are compiled when they are first used."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    found = Environment(
        loader=PackageLoader("extractbench_nb.report"),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_plain,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    found.filters["dollars"] = dollars
    return found


def _plain(value: object) -> str:
    """Make a plain text of whatever the template writes, so that it is cleaned and escaped."""
    return clean(str.__str__(str(value)))


def _style_hash(style: str) -> str:
    return base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()


def _content(report: EvaluationReport) -> dict[str, Any]:
    arrays = array_views(report.array_breakdowns)
    anchors = {view.array.normalized_path: n for n, view in enumerate(arrays.shown, 1)}
    failed = listed([r for r in report.field_outcomes if not r.passed], _MOST_FAILED)
    every = listed(report.field_outcomes, _MOST_FIELDS)
    coverage, parts = report.coverage, outcome_parts(report)
    return {
        "report": report,
        "labels": LABELS,
        "parts": parts,
        "bar": bar(parts),
        "failed": [row_view(r, anchors) for r in failed.shown],
        "shown_failed": _SHOWN_FAILED,
        "more_failed": failed.more,
        "fields": [row_view(r, anchors) for r in every.shown],
        "more_fields": every.more,
        "arrays": arrays,
        "open_arrays": _OPEN_ARRAYS,
        "coverage_lists": [
            ("Required but missing", listed(coverage.required_missing_paths, _MOST_PATHS)),
            ("Missing in the extraction", listed(coverage.missing_paths, _MOST_PATHS)),
            ("In the extraction only", listed(coverage.spurious_paths, _MOST_PATHS)),
        ],
        "warnings": warning_groups(report.warnings),
        "passes": _passes(report),
    }


def _passes(report: EvaluationReport) -> list[tuple[str, list[tuple[str, int, int, float]]]]:
    o = report.outcomes
    tables = (("Metric", o.pass_by_metric), ("Type", o.pass_by_type), ("Key", o.pass_by_required))
    return [(title, [_pass_row(*item) for item in sorted(t.items())]) for title, t in tables if t]


def _pass_row(name: str, counts: dict[str, int]) -> tuple[str, int, int, float]:
    total = sum(counts.values())
    return name, counts["passed"], total, counts["passed"] / total
