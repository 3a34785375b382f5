"""``report.html``: one file without network access and scripts, made of a tree of elements."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache
from typing import Any

from extractbench_nb.core.values import canonical_unordered
from extractbench_nb.support.cards import coded
from extractbench_nb.support.nodes import Content, Node, h
from extractbench_nb.support.wording import accepted_text, cut, dollars, plural
from extractbench_nb.views.palette import DARK, LIGHT, css_variables
from extractbench_nb.views.report_contents import (
    Record,
    by_status,
    limits,
    warning_groups,
    wrong_values,
)
from extractbench_nb.views.sides import Segment, Sides, alone, beside, compared
from extractbench_nb.views.static import asset, page

_OUTCOMES = {
    "correct": ("Correct", "the values agree"),
    "both_absent": ("Both absent", "neither side has a value"),
    "incorrect": ("Wrong value", "both have one, they differ"),
    "omission": ("Omission", "gold has one, the extraction none"),
    "hallucination": ("Hallucination", "the extraction has one, gold none"),
    "structural": ("Structural", "a type neither schema nor gold has"),
    "judge_error": ("No verdict", "a judge or metric failed"),
}
_STATUSES = ("matched", "differing", "missed", "spurious")
_GROUPS = {
    "differing": "Pairs that differ",
    "missed": "Missed gold items",
    "spurious": "Spurious items",
    "matched": "Matched items",
}
_RULE_DOTS = {"broken": "incorrect", "holds": "correct", "error": "judge_error"}
_FIELD_COLUMNS = {"Field": "", "Score": "num", "Outcome": "", "Gold": "value", "Extracted": "value"}

_LONGEST_PATH, _LONGEST_WHY, _LONGEST_MESSAGE = 200, 560, 300
#: Characters of a value under a key of an item.
_IN_ITEM = 160
_MOST_ITEMS, _MOST_ITEMS_IN_ALL, _MOST_KEYS = 20, 400, 8
_MOST_ARRAYS, _OPEN_ARRAYS = 60, 3
_MOST_FIELDS = 1_000
_MOST_PATHS, _MOST_WARNINGS, _MOST_ROWS = 100, 25, 500


# --- parts ------------------------------------------------------------------------------------


def _e(kind: str, *children: Content, **attributes: Any) -> Node:
    """Make an element: ``p.quiet`` is a ``p`` of class ``quiet``."""
    tag, _, cls = kind.partition(".")
    return h(tag, *children, cls=cls or None, **attributes)


_SETTINGS = ("profile", "judge", "variant")


def _page(content: Record, meta: Record, kind: str, sections: Sequence[Node | None]) -> str:
    """Write a page with the style of reports, which is the only one that it may have."""
    name, time = content["output_name"], content["timestamp"]
    shown = [section for section in sections if section is not None]
    anchors = [section.attributes.get("aria-labelledby") for section in shown]
    links = [h("a", a.replace("-", " ").capitalize(), href=f"#{a}") for a in anchors if a]
    facts = [
        *(
            h("span", f"{n} ", h("b", meta[n]))
            for n in ("profile", "judge", "variant")
            if n in meta
        ),
        h("span", h("time", time[:16].replace("T", " "), datetime=time)),
    ]
    body = [
        _e("a.skip", "Skip to the results", href="#main"),
        _e(
            "header.top",
            [_e("p.eyebrow", kind), h("h1", name, dir="auto"), _e("p.meta", facts)],
            h("nav", links, aria_label="Sections"),
        ),
        h("main", shown, id="main", tabindex="-1"),
    ]
    return page(f"{cut(name, 80)} · {kind.lower()}", _style(), *body)


@cache
def _style() -> str:
    style = asset("report.css", "page.css")
    for name, theme in (("light", LIGHT), ("dark", DARK)):
        style = style.replace(f"/* {name} */", css_variables(theme))
    return style


def _section(title: str, *children: Content, count: int | None = None) -> Node:
    anchor = title.lower().replace(" ", "-")
    counted = None if count is None else [" ", _e("span.count", str(count))]
    return h("section", h("h2", title, counted, id=anchor), *children, aria_labelledby=anchor)


def _more(hidden: int, where: str) -> Node | None:
    return _e("p.more", f"{hidden} more in {where}") if hidden > 0 else None


def _folded(
    kind: str, title: Content, count: int, *children: Content, is_open: bool = False
) -> Node:
    summary = h("summary", title, " ", _e("span.count", str(count)))
    return _e(kind, summary, *children, open=is_open)


def _number(value: float | None) -> str:
    return "n/a" if value is None else f"{value:.3f}"


def _code(path: str) -> Node:
    return h("code", cut(path, _LONGEST_PATH), dir="auto")


def _name(path: str) -> str:
    return path.removeprefix("$").removeprefix(".") or "$"


def _chip(outcome: str | None, label: str) -> Node:
    return _e("span.chip", _e(f"span.dot o-{outcome}") if outcome else None, label)


def _bar(kind: str, prefix: str, counts: Iterable[tuple[str, int]], label: str = "") -> Node:
    shown = [(name, n) for name, n in counts if n]
    total, start, rects = sum(n for _, n in shown), 0.0, []
    for name, n in shown:
        width = 100 * n / total
        place = {"x": f"{start:.3f}%", "width": f"{width:.3f}%", "height": "100%"}
        rects.append(_e(f"rect.{prefix}-{name}", **place))
        start += width
    named = {"role": "img", "aria_label": label} if label else {"aria_hidden": "true"}
    return _e(f"svg.{kind}", rects, **named)


def _value(segments: Iterable[Segment], mark: str) -> list[Content]:
    """Write one side of a pair of values, what differs in the element `mark`."""
    tags = {"changed": mark, "note": "i"}
    return [h(tags[s.kind], s.text) if s.kind in tags else s.text for s in segments]


def _table(columns: dict[str, str], rows: Iterable[Sequence[Content]], label: str) -> Node:
    """Make a table from heads and classes of cells; on a narrow page each row becomes a card."""

    def cells(row: Sequence[Content]) -> Iterable[Node]:
        first, *rest = zip(columns.items(), row, strict=True)
        yield h("th", first[1], role="rowheader", scope="row", dir="auto")
        for (head, cls), cell in rest:
            yield _e(f"td.{cls}", cell, role="cell", data_label=head, dir="auto")

    heads = [_e(f"th.{cls}", head, role="columnheader") for head, cls in columns.items()]
    table = _e(
        "table.stack",
        h("thead", h("tr", heads, role="row"), role="rowgroup"),
        h("tbody", (h("tr", cells(row), role="row") for row in rows), role="rowgroup"),
        role="table",
    )
    return _e("div.scroll", table, role="region", tabindex="0", aria_label=label)


# --- an evaluation ----------------------------------------------------------------------------


def evaluation_page(content: Record) -> str:
    """Write ``report.html`` of an evaluation."""
    arrays = [array for array in content["arrays"] if array["matched"] is None or array["matches"]]
    arrays.sort(key=lambda array: array["f1"] or 0.0)
    anchors = {_name(a["path"]): f"array-{n}" for n, a in enumerate(arrays[:_MOST_ARRAYS], 1)}
    sections = [
        *(
            _e("p.alert", h("b", title), " ", cut(rest, _LONGEST_WHY))
            for title, rest in limits(content)
        ),
        _scores(content),
        _outcomes(content),
        _fields(content, anchors),
        _arrays(arrays, anchors) if arrays else None,
        _breakdowns(content),
        _coverage(content),
        _rules(content) if content["rules"] else None,
        _warnings(content) if content["warnings"] else None,
        _settings(content),
    ]
    return _page(content, content["meta"], "Extraction report", sections)


def _scores(content: Record) -> Node:
    """Write the headline with its cause, and the other scores beside it."""
    outcomes, rate = content["outcomes"], content["overall_pass_rate"]
    evaluated, passed = outcomes["total_evaluated"], outcomes["total_passed"]
    weighted = bool(evaluated) and abs(passed / evaluated - rate) >= 1e-9  # noqa: PLR2004
    passes = f"{passed:,} of {plural(evaluated, 'field')} pass{', by their weights' * weighted}."
    others = {
        "Overall score": (content["overall_score"], "Mean score; an array weighs its gold items."),
        "Field score": (content["field_score"], "Mean score; every field weighs the same."),
    }
    causes = [_e("p.cause", coded(cut(text, _LONGEST_WHY))) for text in content["causes"]]
    headline = _e(
        "div.card headline",
        h("h2", "Pass rate"),
        _e("p.number", f"{rate:.1%}"),
        _bar("meter", "o", _counts(content)),
        _e("p.line", passes),
        causes,
    )
    cards = [
        _e("div.card other", h("h2", title), _e("p.number", f"{share:.3f}"), _e("p.line", line))
        for title, (share, line) in others.items()
    ]
    return _e("section.cards", headline, cards, aria_label="Scores")


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


def _outcomes(content: Record) -> Node:
    counts, legend = _counts(content), []
    for name, n in counts:
        label, meaning = _OUTCOMES[name]
        text = [_e(f"span.dot o-{name}"), h("b", str(n)), f" {label}", h("small", meaning)]
        legend.append(_e("li" if n else "li.none", text))
    told = "".join(f" {_OUTCOMES[name][0]} {n}." for name, n in counts if n)
    bar = _bar("outcomes", "o", counts, "Fields by outcome:" + told)
    return _section("Fields by outcome", bar, _e("ul.legend", legend))


def _fields(content: Record, anchors: dict[str, str]) -> Node:
    """List the fields that fail, and folded those that pass."""
    rows = content["field_outcomes"]
    groups: dict[bool, list[Record]] = {False: [], True: []}
    for row in rows:
        groups[bool(row["passed"])].append(row)
    failed, passed = (
        [_field_cells(row, anchors) for row in groups[kind][:_MOST_FIELDS]]
        for kind in (False, True)
    )
    text = "Every field passes." if rows else "No field is scored: the scores say nothing."
    return _section(
        "Failed fields",
        _table(_FIELD_COLUMNS, failed, "Failed fields") if failed else _e("p.quiet", text),
        _more(len(groups[False]) - _MOST_FIELDS, "fields.csv"),
        _folded(
            "details",
            "Fields that pass",
            len(groups[True]),
            _table(_FIELD_COLUMNS, passed, "Fields that pass"),
            _more(len(groups[True]) - _MOST_FIELDS, "fields.csv"),
        )
        if passed
        else None,
        count=len(groups[False]),
    )


def _field_cells(row: Record, anchors: dict[str, str]) -> list[Content]:
    """Make the cells of a failed field: its values compared, and the reasons."""
    gold = alone(row["gold_value"], row["gold_state"])
    extracted = alone(row["extracted_value"], row["extracted_state"])
    if row["gold_state"] == row["extracted_state"] == "present":
        gold, extracted = compared(row["gold_value"], row["extracted_value"])
    counts = row["array_breakdown"] or {}
    items = "{matched} matched, {missed_gold} missed, {spurious_pred} spurious"
    items = "" if counts.get("matched") is None else items.format_map(counts)
    why = [row["reason"], accepted_text(row["accepted_as"]), items, row["reasoning"]]
    text = cut(" · ".join(part for part in why if part), _LONGEST_WHY)
    anchor = anchors.get(row["normalized_path"])
    name = [_code(row["normalized_path"])]
    if row["required"]:
        name.append(_e("span.tag", "required"))
    outcome = [
        _chip(row["outcome"], _OUTCOMES[row["outcome"]][0]),
        _e("small.why", text, dir="auto") if text else None,
        _e("a.to", "items", href=f"#{anchor}") if anchor else None,
    ]
    metric = _e("small.metric", cut(row["metric_id"], _LONGEST_PATH))
    values = _value(gold, "del"), _value(extracted, "ins")
    return [[name, metric], _number(row["score"]), outcome, *values]


def _arrays(arrays: Sequence[Record], anchors: dict[str, str]) -> Node:
    shown = arrays[:_MOST_ARRAYS]
    most = min(_MOST_ITEMS, _MOST_ITEMS_IN_ALL // len(shown))
    about = (
        "Items are paired one to one, whatever their order. A pair matches if every field of it "
        "passes, and differs if one fails; missed and spurious items have no partner."
    )
    views = [_array(array, anchors, most, n < _OPEN_ARRAYS) for n, array in enumerate(shown)]
    hidden = _more(len(arrays) - len(shown), "report.json")
    return _section("Arrays", _e("p.quiet", about), views, hidden, count=len(arrays))


def _array(array: Record, anchors: dict[str, str], most: int, is_first: bool) -> Node:
    name, groups, matched = _name(array["path"]), by_status(array), array["matched"]
    sizes = {status: len(groups[status]) for status in _STATUSES}
    verdict = {True: "Pass", False: "Fail", None: "Open"}[array["passed"]]
    items: Content = "not aligned"
    if matched is not None:
        items = [h("span", h("b", str(n)), f" {status}") for status, n in sizes.items()]
    measures = {"score": "score", "P": "precision", "R": "recall", "F1": "f1"}
    numbers = [h("span", f"{k} ", h("b", _number(array[m]))) for k, m in measures.items()]
    summary = h(
        "summary",
        _e("span.name", _code(name), _e(f"span.chip verdict-{verdict.lower()}", verdict)),
        _bar("items", "i", sizes.items()),
        _e("span.counts items-of", items),
        _e("span.counts measures", numbers),
    )
    listings = [
        _folded(
            "details.group",
            [_e(f"span.dot i-{status}"), title],
            sizes[status],
            _e("ol.item-list", map(_item, groups[status][:most])),
            _more(sizes[status] - most, "report.json"),
            is_open=status == "differing",
        )
        for status, title in _GROUPS.items()
        if groups[status]
    ]
    differs = sizes["matched"] < len(array["matches"])
    return _e("details.array", summary, listings, id=anchors[name], open=is_first and differs)


def _item(pair: Record) -> Node:
    """List an item: its index in either array, and its values by key or as a whole."""
    gold, extracted, sides = pair["gold"], pair["predicted"], {}
    if pair["gold_index"] is not None:
        sides["gold"] = pair["gold_index"]
    if pair["predicted_index"] is not None:
        sides["extracted"] = pair["predicted_index"]
    notes = [f"{side} [{index}]" for side, index in sides.items()]
    if pair["similarity"] is not None:
        notes.append(f"similarity {pair['similarity']:.2f}")
    value = gold if "gold" in sides else extracted
    keys: list[str] = []
    rows: list[tuple[str, Sequence[Segment], Sequence[Segment]]]
    if len(sides) == 1 and isinstance(value, dict):
        keys = list(value)
        rows = [(key, alone(value[key], limit=_IN_ITEM), ()) for key in keys[:_MOST_KEYS]]
    elif len(sides) == 1:
        rows = [("", alone(value), ())]
    elif isinstance(gold, dict) and isinstance(extracted, dict):
        every = list(gold | extracted)
        keys = [key for key in every if not _are_equal(key, gold, extracted)]
        rows = [(key, *_values_under(key, gold, extracted)) for key in keys[:_MOST_KEYS]]
        notes += [f"{len(every) - len(keys)} equal"] if len(every) > len(keys) else []
    else:
        rows = [("", *compared(gold, extracted))]
    if len(keys) > _MOST_KEYS:
        rows.append(("", [Segment("note", plural(len(keys) - _MOST_KEYS, "more key"))], ()))
    pairs = [
        h(
            "div",
            h("dt", cut(key, _LONGEST_PATH), dir="auto") if key else None,
            h("dd", _value(left, "del"), dir="auto"),
            _e("dd.right", _value(right, "ins"), dir="auto") if right else None,
        )
        for key, left, right in rows
    ]
    return h("li", _e("small.places", " · ".join(notes)), h("dl", pairs) if pairs else None)


def _are_equal(key: str, gold: Record, extracted: Record) -> bool:
    """Whether both objects have the same value under a key; the order of items does not count."""
    both = key in gold and key in extracted
    return both and canonical_unordered(gold[key]) == canonical_unordered(extracted[key])


def _values_under(key: str, gold: Record, extracted: Record) -> Sides:
    states = ["present" if key in side else "missing" for side in (gold, extracted)]
    return beside(gold.get(key), extracted.get(key), states, limit=_IN_ITEM)


def _breakdowns(content: Record) -> Node:
    outcomes, tables = content["outcomes"], []
    for title, name in (("Metric", "metric"), ("Type", "type"), ("Key", "required")):
        rows = []
        for group, counts in sorted(outcomes[f"pass_by_{name}"].items()):
            passed, total = counts["passed"], sum(counts.values())
            rows.append((group, f"{passed} / {total}", f"{passed / total:.0%}"))
        tables += [_small((title, "Passed", "Rate"), rows)] if rows else []
    c = outcomes["confusion"]
    matrix = [
        ("Gold has a value", f"{c['true_positive']} TP", f"{c['false_negative']} FN"),
        ("Gold has none", f"{c['true_negative']} TN", f"{c['false_positive']} FP"),
    ]
    measures = "Precision {precision:.3f}, recall {recall:.3f}, F1 {f1:.3f}. ".format_map(c)
    note = _e("p.quiet", measures + "One count per field and metric with a verdict.")
    tables.append(h("div", _small(("Confusion", "Passed", "Failed"), matrix), note))
    return _section("Breakdowns", _e("div.grid", tables), _judged(outcomes["llm_stats"]))


def _small(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> Node:
    top = [_e("th.num" if n else "th", head) for n, head in enumerate(heads)]
    body = [
        h("tr", h("th", name, scope="row"), [_e("td.num", cell) for cell in cells])
        for name, *cells in rows
    ]
    return _e("table.small", h("thead", h("tr", top)), h("tbody", body))


def _judged(stats: Record | None) -> Node | None:
    if stats is None:
        return None
    calls = plural(stats["call_count"], "call")
    text = f"{calls} of a language model, {dollars(stats['cost_usd'])}."
    if stats["avg_score"] is not None:
        text += f" Mean score {stats['avg_score']:.3f}, median {stats['median_score']:.3f}."
    text += ",".join(f" {name}: {n}" for name, n in stats["score_distribution"].items() if n)
    lowest = [
        h("li", _code(low["path"]), h("b", f" {low['score']:.3f} "), h("small", low["reasoning"]))
        for low in stats["top_lowest_fields"]
    ]
    listed = [_e("p.quiet", "The lowest:"), _e("ol.item-list", lowest)] if lowest else None
    return _folded("details", "Judged fields", stats["judged_fields"], _e("p.quiet", text), listed)


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
    about = "Which leaves the two documents have, whatever their values; items by their place."
    counts = [h("li", h("b", str(coverage[name])), f" {text}") for name, text in facts.items()]
    folded = []
    for name, title in lists.items():
        if paths := coverage[name]:
            listed = _e("ul.paths", (h("li", _code(path)) for path in paths[:_MOST_PATHS]))
            hidden = _more(len(paths) - _MOST_PATHS, "report.json")
            folded.append(_folded("details", title, len(paths), listed, hidden))
    return _section("Coverage", _e("p.quiet", about), _e("ul.facts", counts), folded)


def _rules(content: Record) -> Node:
    rows = []
    for row in content["rules"][:_MOST_PATHS]:
        sides = {"gold": row["paths_gold"], "extraction": row["paths_predicted"]}
        at_fault = [
            h("div", f"{side}: ", ([_code(path), " "] for path in paths[:5]))
            for side, paths in sides.items()
            if paths
        ]
        outcomes = (row["outcome_gold"], row["outcome_predicted"] or "not JSON")
        chips = [_chip(_RULE_DOTS.get(o), o.replace("_", " ")) for o in outcomes]
        rows.append((_code(row["rule"]), *chips, [at_fault, row["message"]]))
    about = "They do not change the scores. A rule that gold breaks is a reason to check gold."
    columns = {"Rule": "", "Gold": "", "Extraction": "", "At fault": "value"}
    hidden = _more(len(content["rules"]) - _MOST_PATHS, "report.json")
    table = _table(columns, rows, "Rules")
    return _section("Rules", _e("p.quiet", about), table, hidden, count=len(content["rules"]))


def _warnings(content: Record) -> Node:
    groups = []
    for (side, kind), warnings in warning_groups(content):
        listed = [
            h("li", _code(w["path"]), " ", h("span", cut(w["message"], _LONGEST_MESSAGE)))
            for w in warnings[:_MOST_WARNINGS]
        ]
        hidden = _more(len(warnings) - _MOST_WARNINGS, "report.json")
        paths = _e("ul.paths", listed)
        groups.append(_folded("details", f"{side}: {kind}", len(warnings), paths, hidden))
    about = "What is wrong with gold, the extraction or the schema without being a score."
    return _section("Warnings", _e("p.quiet", about), groups, count=len(content["warnings"]))


def _settings(content: Record) -> Node:
    stats = content["schema_stats"]
    entries: dict[str, Content] = {
        "schema": f"{stats['total_nodes']} nodes, {stats['required_keys_count']} required keys",
        "gold": f"{content['gold_stats']['total_keys']} keys",
        "extracted": f"{content['extracted_stats']['total_keys']} keys",
    }
    for name, text in entries.items():
        entries[name] = [text, " ", h("code", content[f"{name}_hash"])]
    entries |= {name: str(v) for name, v in content["meta"].items() if name != "seconds"}
    listed = [h("div", h("dt", name), h("dd", value)) for name, value in entries.items()]
    return _section("Settings", _e("dl.settings", listed))


# --- built tables -----------------------------------------------------------------------------


def scored_page(content: Record, sections: Iterable[Any]) -> str:
    """Write ``report.html`` of scores from title, explanation, cells and frame of each section."""
    parts = []
    for title, about, cells, frame in sections:
        names = list(frame.columns)
        kinds = ["num" if frame[name].dtype.kind in "fiu" else "text" for name in names]
        rows: list[list[Content]] = cells.head(_MOST_ROWS).to_numpy().tolist()
        if title in ("Cells", "Fields"):
            place = names.index("outcome")
            for row in rows:
                row[place] = _chip(str(row[place]), str(row[place]).replace("_", " "))
        columns = {name.replace("_", " "): kind for name, kind in zip(names, kinds, strict=True)}
        table = _table(columns, rows, title) if rows else None
        hidden = _more(len(frame) - _MOST_ROWS, "report.json")
        parts.append(_section(title, _e("p.quiet", about), table, hidden, count=len(frame)))
    kind = "Tables built from documents" if "losses" in content else "Scored results"
    return _page(content, content, kind, parts)
