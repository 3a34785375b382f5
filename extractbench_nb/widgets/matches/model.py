"""The view model of a list of matches: rows in order, filtered and paged, and their items."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import pandas as pd

from extractbench_nb._json import bracketed, member
from extractbench_nb.alignment.similarity import MapItem
from extractbench_nb.report.texts import value_text

__all__ = [
    "SORTS",
    "STATUSES",
    "Row",
    "counted",
    "entries",
    "failed_places",
    "filtered",
    "item_steps",
    "ordered",
    "plain",
    "read_rows",
]

STATUSES = ("matched", "partial", "missed", "spurious")
#: In which order rows can stand, by what people call it.
SORTS = (
    *("gold order", "gold order, partners beside"),
    *("least alike first", "most alike first", "status"),
)
_COLUMNS = [
    *("gold_index", "predicted_index", "status", "similarity", "failed_fields"),
    *("gold", "predicted"),
]
_WORST_FIRST = ("partial", "missed", "spurious", "matched")
_QUOTED = re.compile(r"\['([A-Za-z_$][\w$-]*)'\]")
#: The step of an item: ``[3]``, ``[+3]``, or ``['key'][3]``.
_STEP = re.compile(r"(?:\['(?:[^'\\]|\\.)*'\])?\[\+?\d+\]", re.DOTALL)
_DEEPEST = 200


class Row(NamedTuple):
    """What became of one item, or of a pair of items."""

    gold_index: int | None
    predicted_index: int | None
    status: str
    similarity: float | None
    failed_fields: tuple[str, ...]
    gold: Any
    predicted: Any

    @property
    def pair(self) -> tuple[int | None, int | None]:
        """The two indices."""
        return self.gold_index, self.predicted_index

    @property
    def is_pair(self) -> bool:
        """Whether there is an item on either side."""
        return None not in self.pair


def read_rows(matches: pd.DataFrame) -> list[Row]:
    """Read the rows of ``matches`` of one array.

    Parameters
    ----------
    matches : pandas.DataFrame
        Rows of ``Evaluation.matches`` with one path.

    Returns
    -------
    list of Row
        In the same order: gold items, then spurious items.
    """
    columns = [matches[name].tolist() for name in _COLUMNS]
    return [Row._make(map(_known, cells)) for cells in zip(*columns, strict=True)]


def _known(value: Any) -> Any:
    return None if value is pd.NA else value


def counted(rows: Iterable[Row]) -> dict[str, int]:
    """Count rows by status, each status once, also where there is none."""
    found = Counter(row.status for row in rows)
    return {status: found[status] for status in STATUSES}


def ordered(rows: Sequence[Row], sort: str) -> list[Row]:
    """Put rows in order.

    Parameters
    ----------
    rows : sequence of Row
        As `read_rows` gives them.
    sort : str
        One of `SORTS`. In gold order a spurious item follows the partner of the nearest predicted
        item before it. By similarity items without a partner come last.

    Returns
    -------
    list of Row
        The same rows.
    """
    rows = sorted(rows, key=_gold_order(rows))
    if sort in ("least alike first", "most alike first"):
        sign = 1.0 if sort == "least alike first" else -1.0
        return sorted(rows, key=lambda r: (r.similarity is None, sign * (r.similarity or 0.0)))
    if sort == "status":
        return sorted(rows, key=lambda r: _WORST_FIRST.index(r.status))
    return rows


def _gold_order(rows: Sequence[Row]) -> Callable[[Row], tuple[int, int]]:
    partners = {r.predicted_index: r.gold_index for r in rows if r.is_pair}
    last = -1
    after: dict[int | None, int] = {}
    for at in sorted(r.predicted_index for r in rows if r.predicted_index is not None):
        partner = partners.get(at)
        last = last if partner is None else partner
        after[at] = last

    def key(row: Row) -> tuple[int, int]:
        if row.gold_index is not None:
            return row.gold_index, -1
        return after[row.predicted_index], row.predicted_index or 0

    return key


def filtered(rows: Iterable[Row], status: str = "", text: str = "") -> list[Row]:
    """Keep the rows of a status whose items hold a text.

    Parameters
    ----------
    rows : iterable of Row
        The rows.
    status : str, optional
        One of `STATUSES`; empty for all.
    text : str, optional
        Upper and lower case are the same; empty for all.

    Returns
    -------
    list of Row
        In the same order.
    """
    wanted = text.strip().casefold()
    return [
        row
        for row in rows
        if (not status or row.status == status) and (not wanted or wanted in _search_text(row))
    ]


def _search_text(row: Row) -> str:
    sides = (value_text(item) for item in (row.gold, row.predicted) if item is not None)
    return "\n".join(sides).casefold()


def item_steps(items: Sequence[Any]) -> list[str]:
    """Return the path step of each item of one side: ``[3]``, or ``['key'][0]`` in a map."""
    seen: Counter[str] = Counter()
    steps = []
    for at, item in enumerate(items):
        if isinstance(item, MapItem):
            steps.append(f"{bracketed(item.key)}[{seen[item.key]}]")
            seen[item.key] += 1
        else:
            steps.append(f"[{at}]")
    return steps


def plain(place: str) -> str:
    """Write the steps of a place within an item in one way: ``['a'].b`` as ``.a.b``."""
    return _QUOTED.sub(r".\1", place)


def entries(item: Any) -> list[tuple[str, Any]]:
    """List what an item holds: its scalars and arrays, each with its place within the item.

    Parameters
    ----------
    item : object
        An item of an array.

    Returns
    -------
    list of tuple of (str, object)
        ``.name`` or ``.address.city``, and the value; the place of a scalar item is empty. An
        array is one entry.
    """
    value = item.item if isinstance(item, MapItem) else item
    return list(_entries(value))


def _entries(value: Any) -> Iterator[tuple[str, Any]]:
    stack: list[tuple[str, Any, int]] = [("", value, 0)]
    while stack:
        place, top, depth = stack.pop()
        if isinstance(top, dict) and top and depth < _DEEPEST:
            below = [(place + member(str(k)), v, depth + 1) for k, v in top.items()]
            stack.extend(reversed(below))
        else:
            yield plain(place), top


def failed_places(fields: pd.DataFrame, path: str, steps: Sequence[str]) -> list[set[str]]:
    """Find the places within each gold item that did not pass.

    Parameters
    ----------
    fields : pandas.DataFrame
        Rows of ``fields`` of one array.
    path : str
        Instance path of the array.
    steps : sequence of str
        The path steps of the gold items.

    Returns
    -------
    list of set of str
        One for each step.
    """
    failed = fields[~fields["passed"].fillna(False).astype(bool)]
    found: defaultdict[str, set[str]] = defaultdict(set)
    for place in failed["path"]:
        within = str(place)[len(path) :]
        step = _STEP.match(within)
        if step is not None:
            found[step[0]].add(plain(within[step.end() :]))
    return [found[step] for step in steps]
