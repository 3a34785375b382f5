"""``report.html``: one file without network access and scripts, made of a tree of elements."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterable, Sequence
from functools import cache
from html import escape
from importlib.resources import files
from typing import Any

from extractbench_nb._json import canonical_unordered
from extractbench_nb.display.nodes import Content, Node, h, static_html
from extractbench_nb.display.palette import DARK, LIGHT, css_variables
from extractbench_nb.display.sides import Segment, alone, compared
from extractbench_nb.display.text import accepted_text, clean, cut, dollars, plural
from extractbench_nb.report.contents import Record, by_status, warning_groups, wrong_values

#: Attributes of a page that views in a notebook do without.
_KEPT = frozenset(
    "id href tabindex role aria-label aria-labelledby aria-hidden datetime data-label".split()
)
_OUTCOMES = {
    "correct": ("Correct", "the values agree"),
    "both_absent": ("Both absent", "neither side has a value"),
    "incorrect": ("Wrong value", "both have one, they differ"),
    "omission": ("Omission", "gold has one, the extraction none"),
    "hallucination": ("Hallucination", "the extraction has one, gold none"),
    "structural": ("Structural", "a type neither schema nor gold has"),
    "judge_error": ("No verdict", "a judge or metric failed"),
}
_GROUPS = {
    "partial": "Partial pairs",
    "missed": "Missed gold items",
    "spurious": "Spurious items",
    "matched": "Matched items",
}
_RULE_DOTS = {"broken": "incorrect", "holds": "correct", "error": "judge_error"}

_LONGEST_PATH, _LONGEST_WHY, _LONGEST_MESSAGE = 200, 560, 300
#: Characters of a value under a key of an item.
_IN_ITEM = 160
_MOST_ITEMS, _MOST_ITEMS_IN_ALL, _MOST_KEYS = 20, 400, 8
_MOST_ARRAYS, _OPEN_ARRAYS = 60, 3
_SHOWN_FAILED, _MOST_FAILED, _MOST_FIELDS = 25, 200, 1_000
_MOST_PATHS, _MOST_WARNINGS, _MOST_ROWS = 100, 25, 500


# --- parts ------------------------------------------------------------------------------------


def _page(content: Record, meta: Record, kind: str, sections: Sequence[Content]) -> str:
    """Write a page with the style of reports, which is the only one that it may have."""
    style = _style()
    policy = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    name, time = content["output_name"], content["timestamp"]
    links = [
        h("a", _title_of(section), href=f"#{section.attributes['aria-labelledby']}")
        for section in sections
        if isinstance(section, Node) and "aria-labelledby" in section.attributes
    ]
    body = h(
        "body",
        h("a", "Skip to the results", cls="skip", href="#main"),
        h(
            "header",
            h("p", kind, cls="eyebrow"),
            h("h1", name, dir="auto"),
            h(
                "p",
                h("span", "profile ", h("b", meta["profile"])),
                h("span", "judge ", h("b", meta["judge"])),
                h("span", h("time", time[:16].replace("T", " "), datetime=time)),
                cls="meta",
            ),
            h("nav", links, aria_label="Sections"),
            cls="top",
        ),
        h("main", sections, id="main", tabindex="-1"),
    )
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; \
style-src 'sha256-{policy}'; base-uri 'none'; form-action 'none'">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="referrer" content="no-referrer">
<title>{escape(clean(name))} · {kind.lower()}</title>
<style>{style}</style>
</head>
{static_html(body, also=_KEPT)}
</html>
"""


@cache
def _style() -> str:
    style = files("extractbench_nb.report").joinpath("report.css").read_text("utf-8")
    for name, theme in (("light", LIGHT), ("dark", DARK)):
        style = style.replace(f"/* {name} */", css_variables(theme))
    return style


def _section(title: str, *children: Content, count: int | None = None) -> Node:
    anchor = title.lower().replace(" ", "-")
    counted = None if count is None else [" ", h("span", str(count), cls="count")]
    return h("section", h("h2", title, counted, id=anchor), *children, aria_labelledby=anchor)


def _title_of(section: Node) -> str:
    heading = section.children[0]
    assert isinstance(heading, Node)  # noqa: S101 - made by `_section`
    return str(heading.children[0])


def _quiet(*text: Content) -> Node:
    return h("p", *text, cls="quiet")


def _more(hidden: int, where: str) -> Node | None:
    return h("p", f"{hidden} more in {where}", cls="more") if hidden > 0 else None


def _folded(title: Content, count: int, *children: Content, **attributes: Any) -> Node:
    summary = h("summary", title, " ", h("span", str(count), cls="count"))
    return h("details", summary, *children, **attributes)


def _number(value: float | None) -> str:
    return "n/a" if value is None else f"{value:.3f}"


def _code(path: str) -> Node:
    return h("code", cut(path, _LONGEST_PATH), dir="auto")


def _chip(outcome: str, label: str) -> Node:
    return h("span", h("span", cls=f"dot o-{outcome}"), label, cls="chip")


def _bar(parts: Iterable[tuple[str, int]], cls: str, prefix: str, label: str | None = None) -> Node:
    """Draw counts as a stacked bar."""
    counts = [(name, n) for name, n in parts if n]
    total, start, rects = sum(n for _, n in counts), 0.0, []
    for name, n in counts:
        share = 100 * n / total
        place = {"x": f"{start:.3f}%", "width": f"{share:.3f}%", "height": "100%"}
        rects.append(h("rect", cls=f"{prefix}-{name}", **place))
        start += share
    if label is None:
        return h("svg", rects, cls=cls, aria_hidden="true")
    return h("svg", rects, cls=cls, role="img", aria_label=label)


def _value(segments: Iterable[Segment], mark: str) -> list[Content]:
    """Write one side of a pair of values, what differs in the element `mark`."""
    tags = {"changed": mark, "note": "i"}
    return [h(tags[s.kind], s.text) if s.kind in tags else s.text for s in segments]


def _table(
    heads: Sequence[str], rows: Iterable[Sequence[Content]], label: str, kinds: Sequence[str] = ()
) -> Node:
    """Make a table whose first column names the row; on narrow pages each row becomes a card."""
    classes = [*kinds, *[""] * (len(heads) - len(kinds))]

    def cells(row: Sequence[Content]) -> list[Node]:
        named = zip(heads, classes, row, strict=True)
        return [
            h("th", cell, role="rowheader", scope="row")
            if not place
            else h("td", cell, role="cell", cls=kind or None, data_label=head, dir="auto")
            for place, (head, kind, cell) in enumerate(named)
        ]

    top = [
        h("th", head, role="columnheader", cls=kind or None)
        for head, kind in zip(heads, classes, strict=True)
    ]
    table = h(
        "table",
        h("thead", h("tr", top, role="row"), role="rowgroup"),
        h("tbody", (h("tr", cells(row), role="row") for row in rows), role="rowgroup"),
        cls="stack",
        role="table",
    )
    return h("div", table, cls="scroll", role="region", tabindex="0", aria_label=label)


# --- an evaluation ----------------------------------------------------------------------------


def evaluation_page(content: Record) -> str:
    """Write ``report.html`` of an evaluation."""
    arrays = [array for array in content["arrays"] if array["matches"]]
    lowest = sorted(arrays, key=lambda array: array["f1"] or 0.0)[:_MOST_ARRAYS]
    anchors = {array["path"]: f"array-{n}" for n, array in enumerate(lowest, 1)}
    sections = [
        *_alerts(content),
        _scores(content),
        _fields_by_outcome(content),
        _failed(
            content, {path.removeprefix("$").removeprefix("."): a for path, a in anchors.items()}
        ),
        _arrays(lowest, anchors, len(arrays)) if arrays else None,
        _all_fields(content),
        _breakdowns(content),
        _coverage(content),
        _rules(content) if content["rules"] else None,
        _warnings(content) if content["warnings"] else None,
        _settings(content),
    ]
    return _page(content, content["meta"], "Extraction report", sections)


def _alerts(content: Record) -> list[Node]:
    summary, alerts = content["summary"], []
    if content["problem"] is not None:
        what = f" Nothing in it could be compared: {content['problem']}"
        alerts.append(("The extracted text is not JSON.", what))
    if errors := int(summary["judge_errors"]):
        what = " A judge or metric failed there, so the pass rate is a lower bound"
        if (judged := summary["pass_rate_judged"]) is not None:
            what += f"; of the fields with a verdict {judged:.1%} pass"
        alerts.append((f"{plural(errors, 'field')} without a verdict.", what + "."))
    if summary["gold_coverage"] < 1:
        share = f"The schema declares {summary['gold_coverage']:.1%} of gold’s values."
        alerts.append((share, " The others are not scored; the warnings list them."))
    return [h("p", h("b", title), what, cls="alert") for title, what in alerts]


def _scores(content: Record) -> Node:
    outcomes, rate = content["outcomes"], content["overall_pass_rate"]
    evaluated, passed = outcomes["total_evaluated"], outcomes["total_passed"]
    weighted = bool(evaluated) and abs(passed / evaluated - rate) >= 1e-9  # noqa: PLR2004
    passes = "Share of the fields whose score passes" + (", by their weights." if weighted else ".")
    overall, field = content["overall_score"], content["field_score"]
    numbers = [
        ("Overall score", f"{overall:.3f}", overall, "Mean score; an array weighs its gold items."),
        ("Field score", f"{field:.3f}", field, "Mean score; every field weighs the same."),
        ("Pass rate", f"{rate:.1%}", rate, passes),
    ]  # fmt: skip
    cards = [
        _card(
            title,
            text,
            h(
                "svg",
                h("rect", cls="track", width="100%", height="100%"),
                h("rect", cls="fill", width=f"{100 * share:.3f}%", height="100%"),
                cls="meter",
                aria_hidden="true",
            ),
            line,
        )
        for title, text, share, line in numbers
    ]
    noun = h("small", " field" if evaluated == 1 else " fields")
    bar = _bar(_counts(content), "meter", "o")
    counts = f"{passed} passed, {outcomes['total_failed']} failed."
    cards.append(_card("Evaluated", [str(evaluated), noun], bar, counts))
    return h("section", cards, cls="cards", aria_label="Scores")


def _card(title: str, number: Content, bar: Node, line: str) -> Node:
    text = [h("h2", title), h("p", number, cls="number"), bar, h("p", line, cls="line")]
    return h("div", text, cls="card")


def _counts(content: Record) -> list[tuple[str, int]]:
    """Count the evaluated fields by outcome; each field counts once."""
    summary, rows = content["summary"], content["field_outcomes"]
    absent = len({row["path"] for row in rows if row["outcome"] == "both_absent"})
    return [
        ("correct", content["outcomes"]["total_passed"] - absent),
        ("both_absent", absent),
        ("incorrect", wrong_values(content)),
        ("omission", int(summary["omissions"])),
        ("hallucination", int(summary["hallucinations"])),
        ("structural", int(summary["structural"])),
        ("judge_error", int(summary["judge_errors"])),
    ]


def _fields_by_outcome(content: Record) -> Node:
    counts = _counts(content)
    label = "Fields by outcome:" + "".join(f" {_OUTCOMES[name][0]} {n}." for name, n in counts if n)
    legend = [
        h(
            "li",
            h("span", cls=f"dot o-{name}"),
            h("b", str(n)),
            f" {_OUTCOMES[name][0]}",
            h("small", _OUTCOMES[name][1]),
            cls=None if n else "none",
        )
        for name, n in counts
    ]
    return _section(
        "Fields by outcome", _bar(counts, "outcomes", "o", label), h("ul", legend, cls="legend")
    )


_HEADS = ("Field", "Score", "Outcome", "Gold", "Extracted")
_KINDS = ("", "num", "", "value", "value")


def _failed(content: Record, anchors: dict[str, str]) -> Node:
    rows = content["field_outcomes"]
    failed = [row for row in rows if not row["passed"]]
    if not failed:
        nothing = "No field is scored: the scores say nothing."
        return _section(
            "Failed fields", _quiet("Every field passes." if rows else nothing), count=0
        )
    cells = [_field_cells(row, anchors, reasons=True) for row in failed[:_MOST_FAILED]]
    rest = None
    if len(failed) > _SHOWN_FAILED:
        rest = _folded(
            "More failed fields",
            len(failed) - _SHOWN_FAILED,
            _table(_HEADS, cells[_SHOWN_FAILED:], "More failed fields", _KINDS),
            _more(len(failed) - _MOST_FAILED, "fields.csv"),
        )
    shown = _table(_HEADS, cells[:_SHOWN_FAILED], "Failed fields", _KINDS)
    return _section("Failed fields", shown, rest, count=len(failed))


def _field_cells(row: Record, anchors: dict[str, str], *, reasons: bool) -> list[Content]:
    """Make the cells of one field; with its values compared and the reason, or each by itself."""
    gold = alone(row["gold_value"], row["gold_state"])
    extracted = alone(row["extracted_value"], row["extracted_state"])
    is_present = row["gold_state"] == row["extracted_state"] == "present"
    if reasons and is_present:
        gold, extracted = compared(row["gold_value"], row["extracted_value"])
    why, counts = [accepted_text(row["accepted_as"])], row["array_breakdown"]
    if reasons:
        items = "{matched} matched, {missed_gold} missed, {spurious_pred} spurious"
        has_counts = counts is not None and counts["matched"] is not None
        why = [row["reason"], *why, items.format_map(counts) if has_counts else None]
        why.append(row["reasoning"])
    text = " · ".join(part for part in why if part)
    anchor = anchors.get(row["normalized_path"]) if reasons else None
    outcome = row["outcome"]
    return [
        [
            _code(row["normalized_path"]),
            [" ", h("span", "required", cls="tag")] if row["required"] and reasons else None,
            h("small", cut(row["metric_id"], _LONGEST_PATH), cls="metric"),
        ],
        _number(row["score"]),
        [
            _chip(outcome, _OUTCOMES.get(outcome, (outcome,))[0]),
            h("small", cut(text, _LONGEST_WHY), cls="why", dir="auto") if text else None,
            h("a", "items", cls="to", href=f"#{anchor}") if anchor else None,
        ],
        _value(gold, "del"),
        _value(extracted, "ins"),
    ]


def _all_fields(content: Record) -> Node:
    rows = content["field_outcomes"]
    cells = [_field_cells(row, {}, reasons=False) for row in rows[:_MOST_FIELDS]]
    table = h(
        "details",
        h("summary", "Show the table"),
        _table(_HEADS, cells, "All fields", _KINDS),
        _more(len(rows) - _MOST_FIELDS, "fields.csv"),
    )
    return _section("All fields", table, count=len(rows))


def _arrays(arrays: Sequence[Record], anchors: dict[str, str], total: int) -> Node:
    most = min(_MOST_ITEMS, _MOST_ITEMS_IN_ALL // len(arrays))
    about = (
        "Items are paired one to one, whatever their order. A pair matches if every field of it "
        "passes; a partial pair counts as one missed and one spurious item."
    )
    folded = [
        _array(array, anchors[array["path"]], most, place < _OPEN_ARRAYS)
        for place, array in enumerate(arrays)
    ]
    more = _more(total - len(arrays), "report.json")
    return _section("Arrays", _quiet(about), folded, more, count=total)


def _array(array: Record, anchor: str, most: int, is_first: bool) -> Node:
    groups = by_status(array)
    sizes = {name: len(groups[name]) for name in ("matched", "partial", "missed", "spurious")}
    sizes["missed"] += sizes["partial"]
    sizes["spurious"] += sizes["partial"]
    verdict = {True: "Pass", False: "Fail", None: "Open"}[array["passed"]]
    counts = [h("span", h("b", str(n)), f" {name}") for name, n in sizes.items()]
    measures = {"score": "score", "P": "precision", "R": "recall", "F1": "f1"}
    summary = h(
        "summary",
        h(
            "span",
            _code(array["path"].removeprefix("$").removeprefix(".") or "$"),
            h("span", verdict, cls=f"chip verdict-{verdict.lower()}"),
            cls="name",
        ),
        _bar(((name, len(groups[name])) for name in sizes), "items", "i"),
        h(
            "span",
            "not aligned" if array["matched"] is None else counts,
            cls="counts items-of",
        ),
        h(
            "span",
            (h("span", f"{k} ", h("b", _number(array[name]))) for k, name in measures.items()),
            cls="counts measures",
        ),
    )
    listings = [
        _folded(
            [h("span", cls=f"dot i-{name}"), title],
            len(groups[name]),
            h("ol", map(_item, groups[name][:most]), cls="item-list"),
            _more(len(groups[name]) - most, "report.json"),
            cls="group",
            open=name == "partial",
        )
        for name, title in _GROUPS.items()
        if groups[name]
    ]
    is_open = is_first and bool(sizes["missed"] or sizes["spurious"])
    return h("details", summary, listings, cls="array", id=anchor, open=is_open)


def _item(pair: Record) -> Node:
    """List an item: its index in either array, and its values by key or as a whole."""
    indices = {"gold": pair["gold_index"], "extracted": pair["predicted_index"]}
    places = [f"{side} [{index}]" for side, index in indices.items() if index is not None]
    gold, extracted = pair["gold"], pair["predicted"]
    notes, rows = [" · ".join(places)], []
    if pair["similarity"] is not None:
        notes.append(f"similarity {pair['similarity']:.2f}")
    if len(places) == 1:
        single = gold if pair["gold_index"] is not None else extracted
        keys = list(single) if isinstance(single, dict) else None
        rows = [
            (key, alone(single[key], limit=_IN_ITEM), None) for key in (keys or ())[:_MOST_KEYS]
        ]
        rows = rows if keys is not None else [("", alone(single), None)]
    elif isinstance(gold, dict) and isinstance(extracted, dict):
        every = [*gold, *(key for key in extracted if key not in gold)]
        keys = [key for key in every if not _equal_under(key, gold, extracted)]
        rows = [(key, *_values_under(key, gold, extracted)) for key in keys[:_MOST_KEYS]]
        notes += [f"{len(every) - len(keys)} equal"] if len(every) > len(keys) else []
    else:
        keys, rows = None, [("", *compared(gold, extracted))]
    if keys is not None and len(keys) > _MOST_KEYS:
        rows.append(("", [Segment("note", plural(len(keys) - _MOST_KEYS, "more key"))], None))
    pairs = [
        h(
            "div",
            h("dt", cut(key, _LONGEST_PATH), dir="auto") if key else None,
            h("dd", _value(left, "del"), dir="auto"),
            h("dd", _value(right, "ins"), dir="auto", cls="right") if right else None,
        )
        for key, left, right in rows
    ]
    return h("li", h("small", " · ".join(notes), cls="places"), h("dl", pairs) if pairs else None)


def _equal_under(key: str, gold: Record, extracted: Record) -> bool:
    """Whether both objects have the same value under a key; the order of items does not count."""
    both = key in gold and key in extracted
    return both and canonical_unordered(gold[key]) == canonical_unordered(extracted[key])


def _values_under(key: str, gold: Record, extracted: Record) -> tuple[list[Segment], list[Segment]]:
    absent = [Segment("note", "missing")]
    if key not in extracted:
        return alone(gold[key], limit=_IN_ITEM), absent
    if key not in gold:
        return absent, alone(extracted[key], limit=_IN_ITEM)
    return compared(gold[key], extracted[key], limit=_IN_ITEM)


def _breakdowns(content: Record) -> Node:
    outcomes = content["outcomes"]
    tables = []
    for title, name in (("Metric", "metric"), ("Type", "type"), ("Key", "required")):
        rows = [
            (group, f"{n['passed']} / {(total := sum(n.values()))}", f"{n['passed'] / total:.0%}")
            for group, n in sorted(outcomes[f"pass_by_{name}"].items())
        ]
        if rows:
            tables.append(_small((title, "Passed", "Rate"), rows))
    c = outcomes["confusion"]
    matrix = [
        ("Gold has a value", f"{c['true_positive']} TP", f"{c['false_negative']} FN"),
        ("Gold has none", f"{c['true_negative']} TN", f"{c['false_positive']} FP"),
    ]
    measures = "Precision {precision:.3f}, recall {recall:.3f}, F1 {f1:.3f}. ".format_map(c)
    note = _quiet(measures + "One count per field and metric with a verdict.")
    tables.append(h("div", _small(("Confusion", "Passed", "Failed"), matrix), note))
    return _section("Breakdowns", h("div", tables, cls="grid"), _judged(outcomes["llm_stats"]))


def _small(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> Node:
    top = [h("th", head, cls="num" if place else None) for place, head in enumerate(heads)]
    body = [
        h("tr", h("th", row[0], scope="row"), (h("td", cell, cls="num") for cell in row[1:]))
        for row in rows
    ]
    return h("table", h("thead", h("tr", top)), h("tbody", body), cls="small")


def _judged(stats: Record | None) -> Node | None:
    if stats is None:
        return None
    text = (
        f"{plural(stats['call_count'], 'call')} of a language model, {dollars(stats['cost_usd'])}."
    )
    if stats["avg_score"] is not None:
        text += f" Mean score {stats['avg_score']:.3f}, median {stats['median_score']:.3f}."
    buckets = [f" {name}: {n}" for name, n in stats["score_distribution"].items() if n]
    lowest = [
        h("li", _code(low["path"]), h("b", f" {low['score']:.3f} "), h("small", low["reasoning"]))
        for low in stats["top_lowest_fields"]
    ]
    return _folded(
        "Judged fields",
        stats["judged_fields"],
        _quiet(text + ",".join(buckets)),
        [_quiet("The lowest:"), h("ol", lowest, cls="item-list")] if lowest else None,
    )


def _coverage(content: Record) -> Node:
    coverage = content["coverage"]
    facts = {
        "present_in_both": "in both",
        "missing_in_extracted": "in gold only",
        "spurious_in_extracted": "in the extraction only",
        "required_missing": "required and missing",
    }
    lists = {
        "required_missing_paths": "Required but missing",
        "missing_paths": "Missing in the extraction",
        "spurious_paths": "In the extraction only",
    }
    return _section(
        "Coverage",
        _quiet("Which leaves the two documents have, whatever their values; items by their place."),
        h(
            "ul",
            (h("li", h("b", str(coverage[k])), f" {text}") for k, text in facts.items()),
            cls="facts",
        ),
        (
            _folded(title, len(paths), _paths(paths))
            for name, title in lists.items()
            if (paths := coverage[name])
        ),
    )


def _paths(paths: Sequence[str]) -> list[Content]:
    listed = (h("li", _code(path)) for path in paths[:_MOST_PATHS])
    return [h("ul", listed, cls="paths"), _more(len(paths) - _MOST_PATHS, "report.json")]


def _rules(content: Record) -> Node:
    rows = [
        (
            _code(row["rule"]),
            *map(_rule_outcome, (row["outcome_gold"], row["outcome_predicted"])),
            [
                *(
                    h("div", f"{side}: ", ([_code(path), " "] for path in row[key][:5]))
                    for side, key in (("gold", "paths_gold"), ("extraction", "paths_predicted"))
                    if row[key]
                ),
                row["message"] or None,
            ],
        )
        for row in content["rules"]
    ]
    about = (
        "Cross-field rules. They do not change the scores. A rule that gold breaks is a reason to "
        "check gold."
    )
    heads = ("Rule", "Gold", "Extraction", "At fault")
    return _section(
        "Rules",
        _quiet(about),
        _table(heads, rows[:_MOST_PATHS], "Rules"),
        _more(len(rows) - _MOST_PATHS, "report.json"),
        count=len(rows),
    )


def _rule_outcome(outcome: str | None) -> Content:
    dot = _RULE_DOTS.get(outcome or "")
    label = (outcome or "not JSON").replace("_", " ")
    return _chip(dot, label) if dot else h("span", label, cls="chip")


def _warnings(content: Record) -> Node:
    groups = [
        _folded(
            f"{side}: {kind}",
            len(warnings),
            h(
                "ul",
                (
                    h("li", _code(w["path"]), " ", h("span", w["message"][:_LONGEST_MESSAGE]))
                    for w in warnings[:_MOST_WARNINGS]
                ),
                cls="paths",
            ),
            _more(len(warnings) - _MOST_WARNINGS, "report.json"),
        )
        for (side, kind), warnings in warning_groups(content)
    ]
    about = "What is wrong with gold, the extraction or the schema without being a score."
    return _section("Warnings", _quiet(about), groups, count=len(content["warnings"]))


def _settings(content: Record) -> Node:
    meta, stats = content["meta"], content["schema_stats"]
    hashed = {
        "Schema": (
            f"{stats['total_nodes']} nodes, {stats['required_keys_count']} required keys ",
            content["schema_hash"],
        ),
        "Gold": (f"{content['gold_stats']['total_keys']} keys ", content["gold_hash"]),
        "Extraction": (
            f"{content['extracted_stats']['total_keys']} keys ",
            content["extracted_hash"],
        ),
    }
    entries = [
        *((name, (text, h("code", digest))) for name, (text, digest) in hashed.items()),
        *((name, str(value)) for name, value in meta.items() if name != "seconds"),
    ]
    listed = (h("div", h("dt", name), h("dd", value)) for name, value in entries)
    return _section("Settings", h("dl", listed, cls="settings"))


# --- built tables -----------------------------------------------------------------------------


def tables_page(content: Record, sections: Iterable[Any]) -> str:
    """Write ``report.html`` of tables from title, explanation, cells and frame of each section."""
    parts = [
        _section(
            title,
            _quiet(about),
            _frame_table(title, cells, frame) if len(frame) else None,
            _more(len(frame) - _MOST_ROWS, "report.json"),
            count=len(frame),
        )
        for title, about, cells, frame in sections
    ]
    return _page(content, content, "Tables built from documents", parts)


def _frame_table(title: str, cells: Any, frame: Any) -> Node:
    names = list(frame.columns)
    kinds = ["num" if frame[name].dtype.kind in "fiu" else "text" for name in names]
    rows = [
        [
            _chip(text, text.replace("_", " ")) if (title, name) == ("Cells", "outcome") else text
            for name, text in zip(names, row, strict=True)
        ]
        for row in cells.head(_MOST_ROWS).to_numpy().tolist()
    ]
    return _table([name.replace("_", " ") for name in names], rows, title, kinds)
