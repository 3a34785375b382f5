"""``report.html``: one file without network access and JavaScript."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterable, Sequence
from functools import cache
from itertools import groupby
from typing import TYPE_CHECKING, Any, NamedTuple

from extractbench_nb._json import canonical_unordered
from extractbench_nb.display.sides import Segment, alone, compared
from extractbench_nb.display.text import clean, cut, document_json, dollars, plural
from extractbench_nb.report.models import (
    ArrayBreakdown,
    ArrayItem,
    EvaluationReport,
    FieldOutcome,
    ReportWarning,
)

if TYPE_CHECKING:
    from jinja2 import Environment

__all__ = ["bar", "html_text", "listed"]


LABELS = {
    "correct": "Correct",
    "both_absent": "Both absent",
    "incorrect": "Wrong value",
    "omission": "Omission",
    "hallucination": "Hallucination",
    "structural": "Structural",
    "judge_error": "No verdict",
}

_LONGEST_WHY = 560
#: Characters of a value under a key of an item.
_IN_ITEM = 160
_LONGEST_PATH = 200
#: Levels of a value that are compared to tell whether a key differs.
_LEVELS = 100
_MOST_ITEMS = 20
_MOST_ITEMS_IN_ALL = 400
_MOST_KEYS = 8
_MOST_ARRAYS = 60
_MOST_WARNINGS = 25


class Listed(NamedTuple):
    """As many things as fit, and how many more there are."""

    shown: list[Any]
    more: int


#: A key of an item, and its value on either side; the second is empty where there is one side.
ItemRow = tuple[str, list[Segment], list[Segment]]


class RowView(NamedTuple):
    """One row of a table of fields."""

    path: str
    metric: str
    score: str
    outcome: str
    label: str
    why: str
    gold: list[Segment]
    extracted: list[Segment]
    required: bool
    anchor: int | None


class ItemView(NamedTuple):
    """One item of an array: its places, and its values key by key or as a whole."""

    places: str
    similarity: str
    rows: list[ItemRow]
    note: str


class ArrayView(NamedTuple):
    """One array: counts, measures, a bar, and its items by what became of them."""

    array: ArrayBreakdown
    path: str
    verdict: str
    bar: list[tuple[str, float, float]]
    groups: list[tuple[str, str, int, Listed]]


def listed(things: Sequence[Any], most: int) -> Listed:
    """Keep the first `most` of a sequence, and count the rest."""
    return Listed(list(things[:most]), max(0, len(things) - most))


def bar(parts: Iterable[tuple[str, int]]) -> list[tuple[str, float, float]]:
    """Lay counts end to end: name, start and width in percent of their sum."""
    counts = [(name, n) for name, n in parts if n]
    total = sum(n for _, n in counts)
    laid, start = [], 0.0
    for name, n in counts:
        laid.append((name, round(start, 3), round(100 * n / total, 3)))
        start += 100 * n / total
    return laid


def outcome_parts(report: EvaluationReport) -> list[tuple[str, int]]:
    """Count the evaluated fields by what became of them; the counts sum to all of them."""
    absent = len({r.path for r in report.field_outcomes if r.outcome == "both_absent"})
    split = report.outcomes.split
    return [
        ("correct", report.outcomes.total_passed - absent),
        ("both_absent", absent),
        ("incorrect", split.wrong_value),
        ("omission", split.omission),
        ("hallucination", split.hallucination),
        ("structural", split.structural),
        ("judge_error", split.judge_error),
    ]


def row_view(row: FieldOutcome, anchors: dict[str, int]) -> RowView:
    """Prepare one row of a table of fields."""
    gold, extracted = _sides(row)
    return RowView(
        path=cut(row.normalized_path, _LONGEST_PATH),
        metric=cut(row.metric_id, _LONGEST_PATH),
        score="n/a" if row.score is None else f"{row.score:.3f}",
        outcome=row.outcome,
        label=LABELS.get(row.outcome, row.outcome),
        why=cut(_why(row), _LONGEST_WHY),
        gold=gold,
        extracted=extracted,
        required=row.required,
        anchor=anchors.get(row.normalized_path),
    )


def _why(row: FieldOutcome) -> str:
    counts = ""
    if row.matched is not None:
        counts = f"{row.matched} matched, {row.missed_gold} missed, {row.spurious_pred} spurious"
    return " · ".join(text for text in (row.reason, counts, row.reasoning) if text)


def _sides(row: FieldOutcome) -> tuple[list[Segment], list[Segment]]:
    states = row.gold_state, row.extracted_state
    if states == ("present", "present") and not row.passed:
        return compared(row.gold_value, row.extracted_value)
    return (
        alone(row.gold_value, row.gold_state),
        alone(row.extracted_value, row.extracted_state),
    )


def array_views(arrays: Sequence[ArrayBreakdown]) -> Listed:
    """Prepare the arrays that have items; those that differ most come first."""
    with_items = [a for a in arrays if not a.is_empty]
    ranked = sorted(with_items, key=lambda a: a.f1 or 0.0)
    found = listed(ranked, _MOST_ARRAYS)
    most = min(_MOST_ITEMS, _MOST_ITEMS_IN_ALL // max(1, len(found.shown)))
    return Listed([_array_view(a, most) for a in found.shown], found.more)


def _array_view(array: ArrayBreakdown, most: int) -> ArrayView:
    groups = (
        ("partial", "Partial pairs", array.partial_items),
        ("missed", "Missed gold items", array.missed_items),
        ("spurious", "Spurious items", array.spurious_items),
        ("matched", "Matched items", array.matched_items),
    )
    parts = [(name, len(items)) for name, _, items in groups]
    return ArrayView(
        array=array,
        path=cut(array.normalized_path, _LONGEST_PATH),
        verdict={True: "Pass", False: "Fail", None: "Open"}[array.passed],
        bar=bar([parts[-1], *parts[:-1]]),
        groups=[
            (name, title, len(items), _item_views(items, most))
            for name, title, items in groups
            if items
        ],
    )


def _item_views(items: Sequence[ArrayItem], most: int) -> Listed:
    found = listed(items, most)
    return Listed([_item_view(item) for item in found.shown], found.more)


def _item_view(item: ArrayItem) -> ItemView:
    gold, extracted = item.gold_index, item.extracted_index
    both = gold is not None and extracted is not None
    places = f"gold [{gold}]" if gold is not None else f"extracted [{extracted}]"
    return ItemView(
        places=f"gold [{gold}] · extracted [{extracted}]" if both else places,
        similarity="" if item.similarity is None else f"{item.similarity:.2f}",
        rows=_pair_rows(item) if both else _single_rows(item),
        note=_equal_note(item) if both else "",
    )


def _single_rows(item: ArrayItem) -> list[ItemRow]:
    value = item.gold_value if item.gold_index is not None else item.extracted_value
    if not isinstance(value, dict):
        return [("", alone(value), [])]
    keys = listed(list(value), _MOST_KEYS)
    return [(_key(k), alone(value[k], limit=_IN_ITEM), []) for k in keys.shown] + _more_keys(keys)


def _pair_rows(item: ArrayItem) -> list[ItemRow]:
    gold, extracted = item.gold_value, item.extracted_value
    if not (isinstance(gold, dict) and isinstance(extracted, dict)):
        return [("", *compared(gold, extracted))]
    keys = listed(_differing(gold, extracted), _MOST_KEYS)
    return [(_key(k), *_values_under(k, gold, extracted)) for k in keys.shown] + _more_keys(keys)


def _more_keys(keys: Listed) -> list[ItemRow]:
    if not keys.more:
        return []
    return [("", [Segment("note", plural(keys.more, "more key"))], [])]


def _values_under(
    key: Any, gold: dict[Any, Any], extracted: dict[Any, Any]
) -> tuple[list[Segment], list[Segment]]:
    absent = [Segment("note", "missing")]
    if key not in extracted:
        return alone(gold[key], limit=_IN_ITEM), absent
    if key not in gold:
        return absent, alone(extracted[key], limit=_IN_ITEM)
    return compared(gold[key], extracted[key], limit=_IN_ITEM)


def _differing(gold: dict[Any, Any], extracted: dict[Any, Any]) -> list[Any]:
    keys = list(gold) + [key for key in extracted if key not in gold]

    def written(value: Any) -> str:
        return canonical_unordered(document_json(value, _LEVELS))

    return [
        key
        for key in keys
        if key not in gold or key not in extracted or written(gold[key]) != written(extracted[key])
    ]


def _equal_note(item: ArrayItem) -> str:
    gold, extracted = item.gold_value, item.extracted_value
    if not (isinstance(gold, dict) and isinstance(extracted, dict)):
        return ""
    equal = len(gold.keys() | extracted.keys()) - len(_differing(gold, extracted))
    return f"{equal} equal" if equal else ""


def _key(key: Any) -> str:
    return cut(str(key), _LONGEST_PATH)


def warning_groups(
    warnings: Iterable[ReportWarning],
) -> list[tuple[str, str, int, Listed]]:
    """Group the warnings by side and kind."""

    def key(warning: ReportWarning) -> tuple[str, str]:
        return warning.side, warning.kind

    groups = [(k, list(group)) for k, group in groupby(sorted(warnings, key=key), key=key)]
    return [
        (side, kind, len(group), listed(group, _MOST_WARNINGS)) for (side, kind), group in groups
    ]


_SHOWN_FAILED = 25
_MOST_FAILED = 200
_MOST_FIELDS = 1_000
_MOST_PATHS = 100
_OPEN_ARRAYS = 3


def html_text(report: EvaluationReport) -> str:
    """Write ``report.html``."""
    environment = _environment()
    style = environment.get_template("report.css").render()
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    page = environment.get_template("report.html")
    return page.render(**_content(report), style_hash=digest)


@cache
def _environment() -> Environment:
    """Make the environment once: the templates are compiled when they are first used."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    found = Environment(
        loader=PackageLoader("extractbench_nb.report"),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=lambda value: clean(str.__str__(str(value))),  # plain, so that it is escaped
        trim_blocks=True,
        lstrip_blocks=True,
    )
    found.filters["dollars"] = dollars
    return found


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
    found = []
    for title, table in tables:
        totals = {name: sum(counts.values()) for name, counts in sorted(table.items())}
        rows = [
            (n, table[n]["passed"], all_, table[n]["passed"] / all_) for n, all_ in totals.items()
        ]
        found += [(title, rows)] if rows else []
    return found
