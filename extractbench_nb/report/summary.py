"""``summary.txt``: one page of 80 columns."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import groupby
from textwrap import wrap

from extractbench_nb._units import dollars
from extractbench_nb.report.models import ArrayBreakdown, EvaluationReport, FieldOutcome
from extractbench_nb.report.texts import fitted

__all__ = ["summary_text"]

_WIDTH = 80
_MOST_ARRAYS = 10
_MOST_FAILED = 10
_MOST_METRICS = 8
_MOST_WARNINGS = 6
_MOST_MODELS = 4


def summary_text(report: EvaluationReport) -> str:
    """Write ``summary.txt``.

    Parameters
    ----------
    report : EvaluationReport
        The report.

    Returns
    -------
    str
        Plain text in lines of at most 80 columns. Sections without anything to say are left out;
        long ones end with a line that says how much more there is.
    """
    lines = [
        "=" * _WIDTH,
        fitted(f"EVALUATION REPORT: {report.output_name}", _WIDTH),
        fitted(f"Timestamp: {report.timestamp}", _WIDTH),
        fitted(
            f"Profile: {report.profile}, judge: {report.judge}, alignment: {report.alignment}",
            _WIDTH,
        ),
        "=" * _WIDTH,
    ]
    for title, section in _SECTIONS:
        content = list(section(report))
        if content:
            lines += ["", title, "-" * 40, *(f"  {line}" for line in content)]
    lines += ["", "=" * _WIDTH]
    return "\n".join(lines) + "\n"


def _overall(report: EvaluationReport) -> Iterator[str]:
    o = report.outcomes
    weighted = "item-weighted" if report.item_weighted else "mean of all scores"
    yield f"Overall Score: {report.overall_score:.3f} ({weighted})"
    yield f"Field Score: {report.field_score:.3f} (flat average)"
    yield f"Pass Rate: {report.overall_pass_rate:.1%}"
    fields = "field" if o.total_evaluated == 1 else "fields"
    counts = f"{o.total_passed} passed, {o.total_failed} failed"
    yield f"Evaluated: {o.total_evaluated} {fields} ({counts})"
    if not o.total_evaluated:
        yield "No field is scored: the scores say nothing."
    if report.problem is not None:
        yield fitted(f"The extracted text is not JSON: {report.problem}", _WIDTH - 2)
    if o.judge_errors:
        judged = "none" if o.pass_rate_judged is None else f"{o.pass_rate_judged:.1%}"
        yield (
            f"Judge Errors: {o.judge_errors} without a verdict, so the pass rate is a lower bound"
        )
        yield f"Pass Rate of the judged: {judged}"
    if report.gold_coverage < 1:
        yield f"The schema declares only {report.gold_coverage:.1%} of gold's values"


def _arrays(report: EvaluationReport) -> Iterator[str]:
    arrays = [a for a in report.array_breakdowns if not a.is_empty]
    ranked = sorted(arrays, key=lambda a: a.f1 if a.f1 is not None else 0.0)
    shown = {id(a) for a in ranked[:_MOST_ARRAYS]}
    for array in arrays:
        if id(array) in shown:
            yield from _array(array)
    yield from _more(len(arrays) - len(shown), "more arrays with better F1")


def _array(array: ArrayBreakdown) -> Iterator[str]:
    verdict = {True: "PASS", False: "FAIL", None: "OPEN"}[array.passed]
    score = f" [{verdict}] score={_number(array.score)}"
    yield fitted(array.normalized_path, _WIDTH - 2 - len(score)) + score
    if array.matched is None:
        yield "  Items: not aligned"
        return
    partial = f" ({array.partial} of them partial pairs)" if array.partial else ""
    yield (
        f"  Items: {array.matched} matched, {array.missed_gold} missed, "
        f"{array.spurious_pred} spurious{partial}"
    )
    yield (f"  P={_number(array.precision)} R={_number(array.recall)} F1={_number(array.f1)}")


def _number(value: float | None) -> str:
    return "n/a" if value is None else f"{value:.3f}"


def _failed(report: EvaluationReport) -> Iterator[str]:
    failed = [row for row in report.field_outcomes if not row.passed]
    for row in failed[:_MOST_FAILED]:
        yield from _failed_field(row)
    yield from _more(len(failed) - _MOST_FAILED, "more in fields.csv")


def _failed_field(row: FieldOutcome) -> Iterator[str]:
    yield fitted(row.normalized_path, _WIDTH - 2)
    score = f", Score: {_number(row.score)}"
    yield "  Metric: " + fitted(row.metric_id, _WIDTH - 12 - len(score)) + score
    reason = ": ".join(text for text in (row.reason, row.reasoning) if text)
    if reason:
        yield fitted("Reason: " + reason, _WIDTH - 4).join(("  ", ""))


def _split(report: EvaluationReport) -> Iterator[str]:
    split = report.outcomes.split
    if report.outcomes.total_failed:
        yield f"Omissions: {split.omission} (gold has a value, the extraction none)"
        yield f"Hallucinations: {split.hallucination} (the extraction has one, gold none)"
        yield f"Wrong Values: {split.wrong_value}"
        yield f"Structural: {split.structural} (a type that neither schema nor gold has)"
        if split.judge_error:
            yield f"Judge Errors: {split.judge_error} (no verdict)"


def _confusion(report: EvaluationReport) -> Iterator[str]:
    c = report.outcomes.confusion
    yield (
        f"True Positive: {c.true_positive}, False Positive: {c.false_positive}, "
        f"False Negative: {c.false_negative}, True Negative: {c.true_negative}"
    )
    yield f"P={c.precision:.3f} R={c.recall:.3f} F1={c.f1:.3f}"


def _metrics(report: EvaluationReport) -> Iterator[str]:
    by_metric = sorted(report.outcomes.pass_by_metric.items())
    for name, counts in by_metric[:_MOST_METRICS]:
        passed, total = counts["passed"], sum(counts.values())
        rate = f": {passed / total:.1%} ({passed}/{total})"
        yield fitted(name, _WIDTH - 2 - len(rate)) + rate
    yield from _more(len(by_metric) - _MOST_METRICS, "more metrics")


def _llm(report: EvaluationReport) -> Iterator[str]:
    stats = report.outcomes.llm_stats
    if stats is None:
        return
    yield (
        f"Judged Fields: {stats.judged_fields}, LLM Calls: {stats.call_count}, "
        f"Cost: {dollars(stats.cost_usd)}"
    )
    yield f"Avg Score: {_number(stats.avg_score)}, Median Score: {_number(stats.median_score)}"
    models = list(stats.by_model.items())
    for name, calls in models[:_MOST_MODELS]:
        counts = (
            f": {calls.calls} calls ({calls.cached} cached, {calls.failed} failed), "
            f"{calls.requests} requests"
        )
        yield fitted(name, _WIDTH - 2 - len(counts)) + counts
    yield from _more(len(models) - _MOST_MODELS, "more models in report.json")


def _schema(report: EvaluationReport) -> Iterator[str]:
    stats = report.schema_stats
    yield (
        f"Total Nodes: {stats.total_nodes}, Required Keys: {stats.required_keys_count}, "
        f"Optional Keys: {stats.optional_keys_count}"
    )
    yield from wrap("By Type: " + _counts(stats.counts_by_type), _WIDTH - 2)


def _coverage(report: EvaluationReport) -> Iterator[str]:
    c = report.coverage
    yield f"Present in Both: {c.present_in_both}"
    yield f"Missing in Extracted: {c.missing_in_extracted}"
    yield f"Spurious in Extracted: {c.spurious_in_extracted}"
    yield f"Required Missing: {c.required_missing}"


def _warnings(report: EvaluationReport) -> Iterator[str]:
    ordered = sorted(report.warnings, key=lambda w: (w.side, w.kind))
    groups = [
        ((side, kind), list(group))
        for (side, kind), group in groupby(ordered, key=lambda w: (w.side, w.kind))
    ]
    for (side, kind), group in groups[:_MOST_WARNINGS]:
        paths = ", ".join(w.path for w in group[:3]) + (", …" if len(group) > 3 else "")  # noqa: PLR2004
        yield fitted(f"{side} {kind}: {len(group)} ({paths})", _WIDTH - 2)
    yield from _more(len(groups) - _MOST_WARNINGS, "more kinds in report.json")


def _counts(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{name}: {n}" for name, n in sorted(counts.items()))


def _more(hidden: int, what: str) -> Iterable[str]:
    return [f"… {hidden} {what}"] if hidden > 0 else []


_SECTIONS: tuple[tuple[str, Callable[[EvaluationReport], Iterator[str]]], ...] = (
    ("OVERALL RESULTS", _overall),
    ("ARRAY BREAKDOWN", _arrays),
    ("FAILED FIELDS (first 10)", _failed),
    ("WHAT WENT WRONG", _split),
    ("PASS RATE BY METRIC", _metrics),
    ("JUDGED FIELDS", _llm),
    ("CONFUSION MATRIX (fields and metrics)", _confusion),
    ("COVERAGE (leaves)", _coverage),
    ("SCHEMA STATISTICS", _schema),
    ("WARNINGS", _warnings),
)
