"""Which rows of ``fields`` are shown, and the same choice written in Python.

Every condition is a mask and the code that gives this mask, side by side, so that what is copied
is what is shown.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from functools import reduce
from operator import and_
from typing import Any, NamedTuple

import pandas as pd

from extractbench_nb.errors import InputError
from extractbench_nb.report.texts import value_text

__all__ = ["Filters", "Narrowed", "checked_name", "narrowed", "row_code"]

#: Characters of code that a person may want to paste; longer code lists the rows instead.
_LONGEST_CODE = 4000
_SEARCHED = ["path", "gold", "predicted"]


class Filters(NamedTuple):
    """What is to be left: a node with what is below it, and conditions that must all hold.

    ``text`` is looked for in path, gold and predicted value, in any case of letters.
    """

    node: str = ""
    outcome: str = ""
    metric: str = ""
    text: str = ""
    only_counted: bool = False
    only_failed: bool = False
    worst_first: bool = False

    @property
    def narrow(self) -> bool:
        """Whether there is a condition beside the node."""
        return self._replace(node="", worst_first=False, text=self.text.strip()) != Filters()


class Narrowed(NamedTuple):
    """The rows that are left, with their labels in ``fields``, and code that gives them."""

    rows: pd.DataFrame
    code: str


class _Term(NamedTuple):
    """A condition; without code where no short code gives it."""

    code: str | None
    mask: Any


def checked_name(name: object) -> str:
    """Return how an evaluation is called in a notebook, or raise `InputError`.

    Parameters
    ----------
    name : object
        ``"ev"``, ``"evs[0]"``.

    Returns
    -------
    str
        The name.

    Raises
    ------
    InputError
        It is no name, attribute or element.
    """
    try:
        found = ast.parse(name, mode="eval").body if isinstance(name, str) else None
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        found = None
    if not isinstance(name, str) or not isinstance(found, ast.Name | ast.Attribute | ast.Subscript):
        raise InputError(
            f"name is {name!r}; expected what the evaluation is called in your notebook, "
            "such as 'ev' or 'evs[0]'"
        )
    return name


def narrowed(fields: pd.DataFrame, filters: Filters, name: str = "ev") -> Narrowed:
    """Leave the rows that all conditions allow.

    Parameters
    ----------
    fields : pandas.DataFrame
        ``Evaluation.fields``.
    filters : Filters
        The conditions.
    name : str, optional
        What the evaluation is called in the code.

    Returns
    -------
    Narrowed
        The rows in the order wanted, and an expression that gives exactly these.
    """
    source = f"{name}.fields"
    terms = list(_terms(fields, filters, source))
    rows = fields[reduce(and_, (term.mask for term in terms))] if terms else fields
    if filters.worst_first:
        rows = rows.sort_values("score", kind="stable", na_position="first")
    codes = [term.code for term in terms if term.code is not None]
    code = _selection(source, codes) + _order(filters)
    if len(codes) < len(terms) or len(code) > _LONGEST_CODE:
        code = f"{source}.loc[{rows.index.tolist()}]"
    return Narrowed(rows, code)


def row_code(fields: pd.DataFrame, label: int, name: str = "ev") -> str:
    """Write an expression that gives one row of ``fields``.

    Parameters
    ----------
    fields : pandas.DataFrame
        ``Evaluation.fields``.
    label : int
        Its label there.
    name : str, optional
        What the evaluation is called in the code.

    Returns
    -------
    str
        By path; by path and metric, or by label, where the path is not enough.
    """
    source = f"{name}.fields"
    codes: list[str] = []
    mask = pd.Series(data=True, index=fields.index)
    for column in ("path", "metric"):
        wanted = fields[column][label]
        codes.append(_equals(source, column, wanted))
        mask &= fields[column] == wanted
        code = _selection(source, codes)
        if mask.sum() == 1 and len(code) <= _LONGEST_CODE:
            return code
    return f"{source}.loc[[{label}]]"


def _terms(fields: pd.DataFrame, filters: Filters, source: str) -> Iterator[_Term]:
    if filters.node not in ("", "$"):
        yield _below(fields, filters.node, source)
    for column in ("outcome", "metric"):
        wanted = getattr(filters, column)
        if wanted:
            yield _Term(_equals(source, column, wanted), fields[column] == wanted)
    if filters.only_counted:
        yield _Term(f'{source}["counted"]', fields["counted"])
    if filters.only_failed:
        yield _Term(f'~{source}["passed"].fillna(False)', ~fields["passed"].fillna(False))
    if filters.text.strip():
        yield _containing(fields[_SEARCHED], filters.text.strip().lower(), source)


def _below(fields: pd.DataFrame, node: str, source: str) -> _Term:
    paths, starts = fields["schema_path"], (f"{node}.", f"{node}[")
    literals = ", ".join(map(_literal, starts))
    code = (
        f"({_equals(source, 'schema_path', node)})\n"
        f'        | {source}["schema_path"].str.startswith(({literals}))'
    )
    return _Term(code, (paths == node) | paths.str.startswith(starts))


def _containing(cells: pd.DataFrame, wanted: str, source: str) -> _Term:
    test = f"value is not None and {_literal(wanted)} in str(value).lower()"
    code = (
        f'{source}[["path", "gold", "predicted"]]\n'
        f"        .map(lambda value: {test})\n"
        "        .astype(bool).any(axis=1)"
    )
    try:
        return _Term(code, _holding(cells, wanted, str))
    except Exception:  # noqa: BLE001 - a value of a document that Python itself cannot write
        return _Term(None, _holding(cells, wanted, value_text))


def _holding(cells: pd.DataFrame, wanted: str, write: Callable[[Any], str]) -> Any:
    found = cells.map(lambda value: value is not None and wanted in write(value).lower())
    return found.astype(bool).any(axis=1)


def _equals(source: str, column: str, wanted: str) -> str:
    return f'{source}["{column}"] == {_literal(wanted)}'


def _literal(text: str) -> str:
    """Write a text as Python does, in double quotes where these need no escaping."""
    written = repr(text)
    return f'"{text}"' if written == f"'{text}'" and '"' not in text else written


def _selection(source: str, codes: list[str]) -> str:
    if not codes:
        return source
    if len(codes) == 1:
        (code,) = codes
        return f"{source}[\n    {code}\n]" if "\n" in code else f"{source}[{code}]"
    lines = "\n    & ".join(f"({code})" if _compound(code) else code for code in codes)
    return f"{source}[\n    {lines}\n]"


def _compound(code: str) -> bool:
    return "==" in code or "\n" in code


def _order(filters: Filters) -> str:
    if not filters.worst_first:
        return ""
    return '.sort_values("score", kind="stable", na_position="first")'
