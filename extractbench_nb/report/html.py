"""``report.html``: one file without network access and JavaScript."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterable, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

from extractbench_nb._json import canonical_unordered
from extractbench_nb.display.palette import DARK, LIGHT, css_variables
from extractbench_nb.display.sides import Segment, Sides, alone, compared
from extractbench_nb.display.text import accepted_text, clean, cut, document_json, dollars, plural
from extractbench_nb.errors import needs
from extractbench_nb.report.content import warning_groups
from extractbench_nb.report.models import ArrayBreakdown, ArrayItem, EvaluationReport, FieldOutcome

if TYPE_CHECKING:
    from jinja2 import Environment

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
#: Depth to which the values of a key are compared.
_LEVELS = 100
_MOST_ITEMS = 20
_MOST_ITEMS_IN_ALL = 400
_MOST_KEYS = 8
_MOST_ARRAYS = 60
_MOST_WARNINGS = 25


class Listed(NamedTuple):
    """The first items of a list, and how many more there are."""

    shown: list[Any]
    more: int


#: A key of an item, and its value on either side; the second is empty where there is one side.
ItemRow = tuple[str, list[Segment], list[Segment]]
#: The data of a row, an item or an array for a template.
View = dict[str, Any]


def listed(things: Sequence[Any], most: int) -> Listed:
    """Return the first `most` elements of a sequence, and the number of others."""
    return Listed(list(things[:most]), max(0, len(things) - most))


def bar(parts: Iterable[tuple[str, int]]) -> list[tuple[str, float, float]]:
    """Return the segments of a stacked bar: name, start and width in percent of the sum."""
    counts = [(name, n) for name, n in parts if n]
    total = sum(n for _, n in counts)
    laid, start = [], 0.0
    for name, n in counts:
        laid.append((name, round(start, 3), round(100 * n / total, 3)))
        start += 100 * n / total
    return laid


def outcome_parts(report: EvaluationReport) -> list[tuple[str, int]]:
    """Count the evaluated fields by outcome; each field counts once."""
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


def _row_view(row: FieldOutcome, anchors: dict[str, int]) -> View:
    """Prepare one row of a table of fields."""
    counts = ""
    if row.matched is not None:
        counts = f"{row.matched} matched, {row.missed_gold} missed, {row.spurious_pred} spurious"
    said = (row.reason, accepted_text(row.accepted_as), counts, row.reasoning)
    why = " · ".join(text for text in said if text)
    gold = alone(row.gold_value, row.gold_state)
    extracted = alone(row.extracted_value, row.extracted_state)
    if row.gold_state == row.extracted_state == "present" and not row.passed:
        gold, extracted = compared(row.gold_value, row.extracted_value)
    return {
        "path": cut(row.normalized_path, _LONGEST_PATH),
        "metric": cut(row.metric_id, _LONGEST_PATH),
        "score": "n/a" if row.score is None else f"{row.score:.3f}",
        "outcome": row.outcome,
        "label": LABELS.get(row.outcome, row.outcome),
        "why": cut(why, _LONGEST_WHY),
        "accepted": accepted_text(row.accepted_as),
        "gold": gold,
        "extracted": extracted,
        "required": row.required,
        "anchor": anchors.get(row.normalized_path),
    }


def _array_view(array: ArrayBreakdown, most: int) -> View:
    groups = {
        "partial": ("Partial pairs", array.partial_items),
        "missed": ("Missed gold items", array.missed_items),
        "spurious": ("Spurious items", array.spurious_items),
        "matched": ("Matched items", array.matched_items),
    }
    listings = []
    for name, (title, items) in groups.items():
        shown, more = listed(items, most)
        if items:
            listings.append((name, title, len(items), Listed([*map(_item_view, shown)], more)))
    order = ("matched", "partial", "missed", "spurious")
    return {
        "array": array,
        "path": cut(array.normalized_path, _LONGEST_PATH),
        "verdict": {True: "Pass", False: "Fail", None: "Open"}[array.passed],
        "bar": bar((name, len(groups[name][1])) for name in order),
        "groups": listings,
    }


def _item_view(item: ArrayItem) -> View:
    """Prepare an item: its index in either array, and its values by key or as a whole."""
    indices = {"gold": item.gold_index, "extracted": item.extracted_index}
    places = [f"{side} [{index}]" for side, index in indices.items() if index is not None]
    gold, extracted = item.gold_value, item.extracted_value
    single = gold if item.gold_index is not None else extracted
    note, more = "", 0
    rows: list[ItemRow]
    if len(places) == 1 and isinstance(single, dict):
        keys, more = listed(list(single), _MOST_KEYS)
        rows = [(str(key), alone(single[key], limit=_IN_ITEM), []) for key in keys]
    elif len(places) == 1:
        rows = [("", alone(single), [])]
    elif isinstance(gold, dict) and isinstance(extracted, dict):
        differing = _differing(gold, extracted)
        equal = len(gold.keys() | extracted.keys()) - len(differing)
        note = f"{equal} equal" if equal else ""
        keys, more = listed(differing, _MOST_KEYS)
        rows = [(str(key), *_values_under(key, gold, extracted)) for key in keys]
    else:
        rows = [("", *compared(gold, extracted))]
    if more:
        rows.append(("", [Segment("note", plural(more, "more key"))], []))
    return {
        "places": " · ".join(places),
        "similarity": "" if item.similarity is None else f"{item.similarity:.2f}",
        "rows": [(cut(key, _LONGEST_PATH), *sides) for key, *sides in rows],
        "note": note,
    }


def _values_under(key: Any, gold: dict[Any, Any], extracted: dict[Any, Any]) -> Sides:
    absent = [Segment("note", "missing")]
    if key not in extracted:
        return alone(gold[key], limit=_IN_ITEM), absent
    if key not in gold:
        return absent, alone(extracted[key], limit=_IN_ITEM)
    return compared(gold[key], extracted[key], limit=_IN_ITEM)


def _differing(gold: dict[Any, Any], extracted: dict[Any, Any]) -> list[Any]:
    """Return the keys under which two objects differ; the order of items does not count."""
    keys = list(gold) + [key for key in extracted if key not in gold]

    def written(value: Any) -> str:
        return canonical_unordered(document_json(value, _LEVELS))

    return [
        key
        for key in keys
        if key not in gold or key not in extracted or written(gold[key]) != written(extracted[key])
    ]


_SHOWN_FAILED = 25
_MOST_FAILED = 200
_MOST_FIELDS = 1_000
_MOST_PATHS = 100
_OPEN_ARRAYS = 3


def html_text(report: EvaluationReport) -> str:
    """Write ``report.html``."""
    return page("report.html", **_content(report))


def page(template: str, **content: Any) -> str:
    """Write a page with the style of reports, which is the only one that it may have."""
    environment = _environment()
    colours = {"light": css_variables(LIGHT), "dark": css_variables(DARK)}
    style = environment.get_template("report.css").render(colours)
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    return environment.get_template(template).render(**content, **colours, style_hash=digest)


@cache
def _environment() -> Environment:
    """Return the Jinja environment; it is cached because it holds the compiled templates."""
    jinja2 = needs("jinja2", "notebook")
    environment: Environment = jinja2.Environment(
        loader=jinja2.PackageLoader("extractbench_nb.report"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        finalize=lambda value: clean(str.__str__(str(value))),  # not Markup: escaped
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["dollars"] = dollars
    return environment


def _content(report: EvaluationReport) -> dict[str, Any]:
    arrays = [array for array in report.array_breakdowns if not array.is_empty]
    lowest, more = listed(sorted(arrays, key=lambda array: array.f1 or 0.0), _MOST_ARRAYS)
    items_shown = min(_MOST_ITEMS, _MOST_ITEMS_IN_ALL // max(1, len(lowest)))
    anchors = {array.normalized_path: n for n, array in enumerate(lowest, 1)}
    failed = listed([r for r in report.field_outcomes if not r.passed], _MOST_FAILED)
    every = listed(report.field_outcomes, _MOST_FIELDS)
    coverage, parts = report.coverage, outcome_parts(report)
    return {
        "report": report,
        "labels": LABELS,
        "parts": parts,
        "bar": bar(parts),
        "failed": [_row_view(r, anchors) for r in failed.shown],
        "shown_failed": _SHOWN_FAILED,
        "more_failed": failed.more,
        "fields": [_row_view(r, anchors) for r in every.shown],
        "more_fields": every.more,
        "arrays": Listed([_array_view(array, items_shown) for array in lowest], more),
        "open_arrays": _OPEN_ARRAYS,
        "coverage_lists": [
            ("Required but missing", listed(coverage.required_missing_paths, _MOST_PATHS)),
            ("Missing in the extraction", listed(coverage.missing_paths, _MOST_PATHS)),
            ("In the extraction only", listed(coverage.spurious_paths, _MOST_PATHS)),
        ],
        "rules": listed(report.rules, _MOST_PATHS),
        "warnings": [
            (*key, len(w), listed(w, _MOST_WARNINGS)) for key, w in warning_groups(report)
        ],
        "passes": _passes(report),
    }


def _passes(report: EvaluationReport) -> list[tuple[str, list[tuple[str, int, int, float]]]]:
    """Return name, passed rows, all rows and pass rate by metric, type and requirement."""
    o = report.outcomes
    tables = {"Metric": o.pass_by_metric, "Type": o.pass_by_type, "Key": o.pass_by_required}
    rows = {
        title: [
            (name, counts["passed"], total, counts["passed"] / total)
            for name, counts in sorted(table.items())
            for total in [sum(counts.values())]
        ]
        for title, table in tables.items()
    }
    return [item for item in rows.items() if item[1]]
