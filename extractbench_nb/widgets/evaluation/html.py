"""The static twin of an evaluation: what is shown now, as HTML without JavaScript."""

from __future__ import annotations

from collections.abc import Sequence

from extractbench_nb.widgets.evaluation.excerpts import Side
from extractbench_nb.widgets.evaluation.heads import Head, Warnings
from extractbench_nb.widgets.evaluation.model import Detail, Page, Row
from extractbench_nb.widgets.schema.tree_html import tree_html
from extractbench_nb.widgets.schema.trees import TreeNode
from extractbench_nb.widgets.static import (
    MARKS,
    counts_html,
    element,
    score_text,
    segments_html,
    table,
)

__all__ = ["detail_html", "head_html", "page_html", "tree_part"]

_MOST_NODES = 200
_UNFOLDED_NODES = 12
_HEADS = ("outcome", "field", "gold", "predicted", "score")


def head_html(head: Head) -> str:
    """Write scores, counts, notes and warnings.

    Parameters
    ----------
    head : Head
        The sum of the evaluation.

    Returns
    -------
    str
        HTML.
    """
    overall = counts_html(head.scores[0][1], head.counts)
    scores = " · ".join(
        f"{name} {'n/a' if score is None else format(score, '.3f')}" for name, score in head.scores
    )
    parts = [element("p", f"{head.passes} · {scores}"), f"<p>{overall}</p>" if overall else ""]
    if head.problem is not None:
        message, text = head.problem
        parts.append(element("p", f"The prediction is no JSON: {message}", "xb-bad"))
        parts.append(element("pre", text, "xb-value"))
    parts.extend(element("p", note) for note in head.notes)
    return "".join(parts) + _warnings_html(head.warnings, head.warned)


def _warnings_html(groups: Sequence[Warnings], count: int) -> str:
    if not count:
        return ""
    summary = element("summary", f"{count:,} warning{'' if count == 1 else 's'}")
    return f"<details>{summary}{''.join(map(_group_html, groups))}</details>"


def _group_html(group: Warnings) -> str:
    title = element("p", f"{group.side}: {group.kind}, {group.number:,}", "xb-leaf")
    items = "".join(
        f"<li>{element('code', path)} {element('span', message)}</li>"
        for path, message in group.examples
    )
    more = group.number - len(group.examples)
    return f"{title}<ul>{items}{element('li', f'… {more:,} more') if more else ''}</ul>"


def tree_part(nodes: Sequence[TreeNode]) -> str:
    """Write the schema's tree, folded, up to 200 nodes.

    Parameters
    ----------
    nodes : sequence of TreeNode
        The tree.

    Returns
    -------
    str
        HTML.
    """
    summary = element("summary", f"Schema, {len(nodes):,} nodes")
    tree = tree_html(nodes[:_MOST_NODES], unfolded=_UNFOLDED_NODES)
    more = len(nodes) - _MOST_NODES
    rest = element("p", f"… {more:,} more nodes") if more > 0 else ""
    return f"<details>{summary}{tree}{rest}</details>"


def page_html(page: Page, filters: str, name: str) -> str:
    """Write a page of rows as a table.

    Parameters
    ----------
    page : Page
        The rows.
    filters : str
        What left them, in words.
    name : str
        What the evaluation is called.

    Returns
    -------
    str
        HTML.
    """
    if page.empty:
        return element("p", f"Fields {filters}".strip()) + element("p", page.empty, "xb-empty")
    last = page.first + len(page.rows)
    shown = f"Fields {page.first + 1:,} to {last:,} of {page.left:,}"
    shown += f" (of {page.all:,} in all: {filters})" if filters else ""
    rows = table(_HEADS, map(_cells, page.rows), numbers=(4,))
    more = page.left - last
    rest = element("p", f"… {more:,} more rows; {name}.fields has them all") if more else ""
    return element("p", shown) + rows + rest


def _cells(row: Row) -> tuple[str, ...]:
    note = f"{row.metric}{'' if row.counted else ', not counted'}"
    return (
        f"{element('b', _outcome(row.outcome))} {element('span', _words(row.reason), 'xb-quiet')}",
        f"{element('code', row.path)} {element('span', note, 'xb-quiet')}",
        segments_html(row.gold),
        segments_html(row.predicted),
        score_text(row.score),
    )


def _outcome(name: str) -> str:
    return f"{MARKS[name]} {_words(name)}"


def _words(name: str) -> str:
    return name.replace("_", " ")


def detail_html(detail: Detail | None) -> str:
    """Write the chosen row in full.

    Parameters
    ----------
    detail : Detail or None
        The row, if one is chosen.

    Returns
    -------
    str
        HTML; nothing without a row.
    """
    if detail is None:
        return ""
    facts = "".join(
        f"<tr>{element('th', key)}{element('td', text, 'xb-value', 4_000)}</tr>"
        for key, text in detail.facts
    )
    about = element("p", detail.about, "xb-quiet", 4_000) if detail.about else ""
    sides = [_side_html("gold", detail.gold), _side_html("predicted", detail.predicted)]
    title = element("p", f"Selected: {detail.path}", "xb-title")
    code = f"<pre>{element('code', detail.code, limit=5_000)}</pre>"
    return f"{title}{about}{''.join(sides)}<table><tbody>{facts}</tbody></table>{code}"


def _side_html(name: str, side: Side) -> str:
    state = element("b", name if side.state == "present" else f"{name} ({side.state})")
    more = element("p", f"… {side.hidden:,} more characters") if side.hidden else ""
    value = f'<div class="xb-value" dir="auto">{segments_html(side.segments)}</div>'
    return f"<div>{state}{value}{more}</div>"
