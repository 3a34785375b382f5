"""`propose_keys`: the columns that name the rows of a table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from extractbench_nb.construction.values import column_key, is_absent, number_of, text_key

_HINTS = (
    *(
        "文档名称",
        "文件名",
        "案件名",
        "名称",
        "filename",
        "file",
        "document",
        "name",
        "title",
        "key",
    ),
    *("id", "case", "method", "model", "编号", "标题"),
)
_SECOND_HINTS = ("被告", "defendant", "dataset", "year", "年份", "所属期")
_MOST_PAIRED = 8


def propose_keys(
    gold: Mapping[str, Sequence[str]], predicted: Sequence[str]
) -> tuple[list[str], str]:
    """Propose the key columns of a table.

    Parameters
    ----------
    gold : mapping of str to sequence of str
        Gold's texts by column, at least one.
    predicted : sequence of str
        Names of the predicted columns; one that is there too is preferred.

    Returns
    -------
    tuple of (list of str, str)
        One or two columns, and why. The order of columns and rows does not matter.

    Examples
    --------
    >>> propose_keys({"sales": ["1", "1"], "name": ["a", "b"]}, ["name"])[0]
    ['name']
    """
    rows = max(map(len, gold.values()), default=0)
    known = {column_key(name) for name in predicted}
    ranks = {name: _rank(name, gold[name], known) for name in sorted(gold)}
    names = sorted(ranks, key=lambda name: (ranks[name], name))
    for name in names:
        if ranks[name][0] == 0:
            why = f"{name!r} has {rows} different values" if rows else f"{name!r} by its name"
            return [name], f"{why} and is the likeliest by name and content"
    texts = {name: [text_key(text) for text in gold[name]] for name in names}
    for size in range(2, min(_MOST_PAIRED, len(names)) + 1):
        for n in range(size - 1):
            pair = [names[n], names[size - 1]]
            if len(set(zip(*(texts[name] for name in pair), strict=True))) == rows:
                return pair, f"no column has different values in all rows; {pair} have together"
    return [names[0]], f"no columns tell all rows apart; {names[0]!r} comes closest"


def _rank(name: str, values: Sequence[str], known: set[str]) -> tuple[Any, ...]:
    """Rank a column as a key, small is likely: unique, in both tables, named so, a text."""
    filled = [text_key(text) for text in values if not is_absent(text)]
    repeated = len(values) - len(set(filled))
    numbers = sum(number_of(text) is not None for text in values)
    plain = column_key(name)
    hints = [n for n, hint in enumerate(_HINTS) if hint in plain]
    second = not any(hint in plain for hint in _SECOND_HINTS)
    are_numbers = bool(values) and 2 * numbers > len(values)
    hinted = min(hints, default=len(_HINTS))
    missing = plain not in known
    return (
        repeated or 0,
        missing,
        are_numbers and not hints,
        hinted,
        second,
        sum(map(len, values)) if hinted == len(_HINTS) else 0,
    )
