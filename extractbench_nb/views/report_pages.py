"""``report.html``: one file that filters, sorts and unfolds in the browser without any request."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import Any, TypeAlias

import pandas as pd

from extractbench_nb.core import Evaluation
from extractbench_nb.support.nodes import Content, Node, h
from extractbench_nb.support.pandas_helpers import is_missing
from extractbench_nb.support.wording import accepted_text, cut, dollars, plural, ratio_text
from extractbench_nb.views import controls as ui
from extractbench_nb.views.matches_drawing import pairs, sums_table
from extractbench_nb.views.matches_model import STATUSES, Board, ordered
from extractbench_nb.views.palette import DARK, LIGHT, css_variables
from extractbench_nb.views.sides import beside
from extractbench_nb.views.static import asset, page

Record: TypeAlias = dict[str, Any]

_LONGEST, _LONGEST_VALUE = 200, 500
_MOST_FIELDS, _MOST_ARRAYS, _MOST_PAIRS = 1_000, 60, 25
_OPEN_ARRAYS = 3
#: The outcomes of fields in the order of the bar.
_OUTCOMES = (
    *("correct", "both_absent", "incorrect", "omission", "hallucination", "structural"),
    "judge_error",
)


def evaluation_page(ev: Evaluation, content: Record) -> str:
    """Write ``report.html`` of an evaluation."""
    rows = content["field_outcomes"]
    failed, passed = (
        [row for row in rows if bool(row["passed"]) is kind] for kind in (False, True)
    )
    text = "Every field passes." if rows else "No field is scored: the scores say nothing."
    arrays = [array for array in content["arrays"] if array["matched"] is None or array["matches"]]
    arrays.sort(key=lambda array: array["f1"] or 0.0)
    sections = [
        _headline(content),
        _section(
            "Failed fields",
            _fields(failed) if failed else h("p", text),
            _more(len(failed) - _MOST_FIELDS, "fields.csv"),
            _folded(
                "Fields that pass",
                len(passed),
                _fields(passed),
                _more(len(passed) - _MOST_FIELDS, "fields.csv"),
            )
            if passed
            else None,
            count=len(failed),
        ),
        _section(
            "Arrays",
            [
                _array(Board(ev, array["path"]), n < _OPEN_ARRAYS)
                for n, array in enumerate(arrays[:_MOST_ARRAYS])
            ],
            _more(len(arrays) - _MOST_ARRAYS, "report.json"),
            count=len(arrays),
        )
        if arrays
        else None,
        *(_framed(*section) for section in _findings(content) if len(section[2])),
        _meta(content),
    ]
    return _page(content, "Extraction report", sections)


def scored_page(content: Record, sections: Iterable[tuple[str, str, pd.DataFrame]]) -> str:
    """Write ``report.html`` of scores, from title, explanation and rows of each section."""
    return _page(content, "Scored results", [_framed(*section) for section in sections])


def _framed(title: str, about: str, frame: pd.DataFrame) -> Node:
    return _section(
        title,
        h("p", about, cls="xb-quiet"),
        _frame(title, frame.head(_MOST_FIELDS)) if len(frame) else None,
        _more(len(frame) - _MOST_FIELDS, "report.json"),
        count=len(frame),
    )


def _frame(label: str, frame: pd.DataFrame) -> Node:
    kinds = {n: "xb-num" if frame[n].dtype.kind in "fiu" else "xb-value" for n in frame.columns}
    heads = [
        h("th", str(name).replace("_", " "), scope="col", cls=kind) for name, kind in kinds.items()
    ]
    rows = [
        [h("td", _cell(name, row[name]), cls=kind) for name, kind in kinds.items()]
        for row in frame.astype(object).to_dict("records")
    ]
    return _scroll(label, heads, rows)


def _cell(name: str, value: Any) -> Content:
    if name == "outcome" and value in _OUTCOMES:
        return ui.mark(value)
    if isinstance(value, float) and not pd.isna(value):
        return f"{value:g}" if value.is_integer() else ratio_text(value)
    return "" if pd.api.types.is_scalar(value) and pd.isna(value) else cut(str(value), _LONGEST)


def _page(content: Record, kind: str, sections: Sequence[Node | None]) -> str:
    name = content["output_name"]
    shown = [section for section in sections if section is not None]
    anchors = [section.attributes.get("aria-labelledby") for section in shown]
    links = [
        h("a", name.replace("-", " ").capitalize(), href=f"#{name}") for name in anchors if name
    ]
    body = h(
        "div",
        h("a", "Skip to the results", href="#main", cls="xb-skip"),
        h(
            "header",
            h("p", kind, cls="xb-quiet"),
            h("h1", name, dir="auto"),
            h("nav", links, aria_label="Sections"),
        ),
        h("main", shown, id="main", tabindex="-1"),
        cls="xb",
    )
    return page(f"{cut(name, 80)} · {kind.lower()}", _style(), h("div", body, cls="xb-theme"))


@cache
def _style() -> str:
    """Put the style of reports under that of views, whose drawings are in it."""
    colours = f".xb-theme {{ {css_variables(LIGHT)} }}"
    dark = f"@media (prefers-color-scheme: dark) {{ .xb-theme {{ {css_variables(DARK)} }} }}"
    own = asset("base.css", "pairs.css")
    return f"{colours}\n{asset('theme.css')}\n{dark}\n{own}\n{asset('report.css', 'page.css')}"


# --- sections -------------------------------------------------------------------------------------


def _section(title: str, *children: Content, count: int | None = None) -> Node:
    anchor = title.lower().replace(" ", "-")
    counted = None if count is None else [" ", h("span", f"{count:,}", cls="xb-quiet")]
    return h("section", h("h2", title, counted, id=anchor), *children, aria_labelledby=anchor)


def _folded(title: Content, count: int, *children: Content, is_open: bool = False) -> Node:
    counted = h("span", f" {count:,}", cls="xb-quiet")
    return h("details", h("summary", title, counted), *children, open=is_open)


def _more(hidden: int, where: str) -> Node | None:
    return ui.more(hidden, f"in {where}")


def _scrolled(label: str, *children: Content) -> Node:
    return h("div", *children, cls="xb-scroll", role="region", tabindex="0", aria_label=label)


def _scroll(label: str, heads: Sequence[Node], rows: Iterable[Content]) -> Node:
    return _scrolled(label, ui.table(heads, h("tbody", [h("tr", cells) for cells in rows])))


def _headline(content: Record) -> Node:
    """Write the pass rate with its cause, the other scores, and what limits them."""
    outcomes, rows = content["outcomes"], content["field_outcomes"]
    evaluated, passed = outcomes["total_evaluated"], outcomes["total_passed"]
    by_outcome = Counter(row["outcome"] for row in rows)
    counts = [(name, by_outcome[name]) for name in _OUTCOMES if by_outcome[name]]
    start, rects = 0.0, []
    for name, number in counts:
        width = 100 * number / len(rows)
        place = {"x": f"{start:.3f}%", "width": f"{width:.3f}%", "height": "100%"}
        rects.append(h("rect", cls=f"xb-{name}", **place))
        start += width
    words = ui.counts_text(counts)
    limited = limits(content["summary"], content["problem"])
    bar = h("svg", rects, role="img", aria_label=words, cls="xb-meter")
    scores = (
        f"{passed:,} of {plural(evaluated, 'field')} pass. Overall score "
        f"{ratio_text(content['overall_score'])} (an array weighs its gold items), field score "
        f"{ratio_text(content['field_score'])} (every field weighs the same)."
    )
    return h(
        "section",
        h("p", h("b", f"{content['overall_pass_rate']:.1%}", cls="xb-big"), " pass rate"),
        h("div", bar, h("p", words, cls="xb-quiet")) if counts else None,
        h("p", scores),
        [h("p", ui.sentence(cut(text, 600))) for text in content["causes"]],
        [h("p", h("b", title), f" {rest}", cls="xb-alert") for title, rest in limited],
        aria_label="Scores",
    )


def limits(
    summary: Mapping[str, Any] | pd.Series[Any], problem: str | None
) -> list[tuple[str, str]]:
    """Say what limits the scores of a summary: in short, and what follows."""
    found = []
    if not summary["evaluated"]:
        found.append(("No field is scored.", "The scores are meaningless."))
    if problem is not None:
        found.append(("The prediction is not JSON.", cut(problem, 600)))
    if errors := int(summary["judge_errors"]):
        share = summary["pass_rate_judged"]
        judged = "" if is_missing(share) else f"; of the fields with a verdict {share:.1%} pass"
        title = f"{plural(errors, 'field')} without a verdict."
        found.append((title, f"The pass rate is a lower bound{judged}."))
    if summary["gold_coverage"] < 1:
        title = f"The schema declares only {summary['gold_coverage']:.1%} of gold's values."
        found.append((title, "The others are not scored; the warnings list them."))
    return found


def _fields(rows: Sequence[Record]) -> Node:
    names = ("outcome", "field", "gold", "extracted", "score", "why")
    heads = [
        h("th", name, scope="col", cls="xb-num" if name == "score" else None) for name in names
    ]
    return _scroll("Fields", heads, map(_field, rows[:_MOST_FIELDS]))


def _field(row: Record) -> list[Node]:
    states = row["gold_state"], row["extracted_state"]
    sides = beside(row["gold_value"], row["extracted_value"], states, limit=_LONGEST_VALUE)
    why = [row["reason"], accepted_text(row["accepted_as"]), row["reasoning"]]
    metric = h("div", cut(row["metric_id"], _LONGEST), cls="xb-quiet")
    required = h("span", " required", cls="xb-quiet") if row["required"] else None
    return [
        h("td", ui.mark(row["outcome"])),
        h("td", ui.breakable(row["normalized_path"]), required, metric),
        *(h("td", ui.segments(s.segments), cls="xb-value", dir="auto") for s in sides),
        h("td", ui.score(row["score"]), cls="xb-num"),
        h("td", cut(" · ".join(filter(None, why)), 600), cls="xb-quiet", dir="auto"),
    ]


def _array(board: Board, is_first: bool) -> Node:
    """List the pairs of an array: those that differ first, matched ones folded."""
    counts = Counter(row.status for row in board.rows)
    said = ui.counts_text((name, counts[name]) for name in STATUSES)
    measures = ", ".join(
        f"{name} {'n/a' if pd.isna(board.summary[name]) else ratio_text(board.summary[name])}"
        for name in ("score", "precision", "recall", "f1")
    )
    if pd.isna(board.summary["matched"]):
        said = "not aligned"
    rows = ordered(board.rows, "failing")
    lists: list[Node] = []
    for is_matched in (False, True):
        listed = [row for row in rows if (row.status == "matched") is is_matched]
        if listed:
            hidden = _more(len(listed) - _MOST_PAIRS, "report.json")
            sums = None if is_matched else sums_table(board)
            drawn = _scrolled(
                f"Pairs of {cut(board.path, _LONGEST)}",
                sums,
                pairs(board, listed[:_MOST_PAIRS], None),
                hidden,
            )
            lists.append(_folded("Matched", len(listed), drawn) if is_matched else drawn)
    title = [ui.breakable(board.path), h("span", f" {said} · {measures}", cls="xb-quiet")]
    is_open = is_first and counts["matched"] < len(rows)
    return h("details", h("summary", title), lists, open=is_open, cls="xb-array")


def _findings(content: Record) -> Iterator[tuple[str, str, pd.DataFrame]]:
    """Yield the rules that do not hold and the warnings, as sections."""
    sides = {"gold": "gold", "predicted": "extraction"}
    rules = [
        {
            "rule": row["rule"],
            **{name: row[f"outcome_{side}"] or "not JSON" for side, name in sides.items()},
            "at fault": "; ".join(
                f"{name}: {', '.join(paths[:5])}"
                for side, name in sides.items()
                if (paths := row[f"paths_{side}"])
            ),
            "message": row["message"] or "",
        }
        for row in content["rules"]
        if {row["outcome_gold"], row["outcome_predicted"]} != {"holds"}
    ]
    about = "They do not change the scores. A rule that gold breaks is a reason to check gold."
    yield "Rules", about, pd.DataFrame(rules, dtype=object)
    columns = ["side", "kind", "path", "message"]
    warnings = pd.DataFrame(content["warnings"], columns=columns, dtype=object)
    yield "Warnings", "They do not change the scores.", warnings


def _meta(content: Record) -> Node:
    facts = {"written": content["timestamp"][:16].replace("T", " ")}
    facts |= {f"{name} hash": content[f"{name}_hash"] for name in ("schema", "gold", "extracted")}
    facts |= {name: str(value) for name, value in content["meta"].items() if name != "seconds"}
    if stats := content["outcomes"]["llm_stats"]:
        calls = plural(stats["call_count"], "call")
        facts["judge calls"] = f"{calls} of a language model, {dollars(stats['cost_usd'])}"
    return _section("Meta", ui.facts_list(facts.items()))
