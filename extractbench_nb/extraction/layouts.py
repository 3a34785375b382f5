"""The tables of runs laid out as the paper prints its own: several figures in a cell."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import Any

import pandas as pd

from extractbench_nb.benchmark.paper.layout import Laid
from extractbench_nb.benchmark.paper.names import DOMAIN_TABLES, OVERALL, SCHEMAS, TOTAL
from extractbench_nb.errors import InputError, nearest

__all__ = ["lay_out_runs"]

_Row = Mapping[Any, Any]
#: Heading, what its cells say of a row of the results, and the rate that ranks them.
_Head = tuple[str, str, Callable[[_Row], str], str]
_NONE = "—"

#: Headings of Table 5, and the released dataset's schemas.
_TITLES: Mapping[str, str] = MappingProxyType(
    {
        "Credit": SCHEMAS["credit"],
        "Research": SCHEMAS["research"],
        "Resumes": SCHEMAS["resumes"],
        "Sports": SCHEMAS["sports"],
        "SEC 10-K/Q": SCHEMAS["10-K/Q"],
    }
)


def lay_out_runs(results: pd.DataFrame, failures: pd.DataFrame, n: int | str) -> Laid:
    """Lay out one table.

    Parameters
    ----------
    results, failures : pandas.DataFrame
        Of `BaselineTables`.
    n : int or str
        5, 7 or 8, as a number or a text; a schema, or 9 to 13 for the paper's own ones.

    Returns
    -------
    Laid
        Texts by row and heading; the best of a column, and where nothing passed.

    Raises
    ------
    InputError
        There is no such table or schema.
    """
    part = str(n)
    if part == "7":
        return _failures(failures)
    schemas = _ordered([name for name in dict.fromkeys(results["schema"]) if name != OVERALL])
    if part == "5":
        return _lay(results, _heads_of_5(results, schemas))
    if part == "8":
        heads = [(_title(name), name, _rate, "pass_rate") for name in schemas]
        return _lay(results, [*heads, ("Overall", OVERALL, _rate, "pass_rate")])
    schema = _schema(part, schemas)
    heads = [("Valid", schema, _valid, ""), ("Pass Rate", schema, _passed, "pass_rate")]
    return _lay(results, heads)


def _schema(part: str, schemas: Iterable[str]) -> str:
    names = {str(table): SCHEMAS[domain] for domain, table in DOMAIN_TABLES.items()}
    wanted = names.get(part, part)
    schemas = list(schemas)
    folders = [_folder(name) for name in schemas]
    known = {f: n for f, n in zip(folders, schemas, strict=True) if folders.count(f) == 1}
    known |= {name: name for name in schemas}
    if wanted not in known:
        found = f"table {part} is of the schema {wanted!r}, which the runs do not have"
        unknown = f"no table {part!r} of runs; there are 5, 7, 8 and one a schema"
        near = nearest(wanted, known)
        raise InputError(f"{found if part in names else unknown}: {near}")
    return known[wanted]


def _folder(schema: str) -> str:
    return schema.rpartition("/")[2]


def _title(schema: str) -> str:
    """Return the paper's name of a schema where it has one."""
    return next((title for title, name in _TITLES.items() if name == _folder(schema)), schema)


def _ordered(schemas: list[str]) -> list[str]:
    """Put the paper's schemas first, in the order of its Table 5."""
    order = list(_TITLES.values())
    places = {name: order.index(_folder(name)) for name in schemas if _folder(name) in order}
    return sorted(schemas, key=lambda name: places.get(name, len(order)))


def _heads_of_5(results: pd.DataFrame, schemas: Iterable[str]) -> list[_Head]:
    heads: list[_Head] = [("Valid JSON", OVERALL, _valid, "valid_rate")]
    for name in schemas:
        rows = results[(results["schema"] == name) & (results["run"] != TOTAL)]
        documents = int(rows["documents"].max())
        keys = int(rows["fields"].iloc[0]) // int(rows["documents"].iloc[0])
        head = f"{_title(name)} ({documents}docs: {keys}keys)"
        heads.append((head, name, _passed, "pass_rate"))
    heads.append(("Overall Pass Rate", OVERALL, _passed, "pass_rate"))
    heads.append(("Acc Valid", OVERALL, _accuracy, "accuracy_valid"))
    return heads


def _valid(row: _Row) -> str:
    return f"{row['valid']}/{row['documents']}"


def _rate(row: _Row) -> str:
    return _percent(row["pass_rate"])


def _passed(row: _Row) -> str:
    return f"{row['passed']}/{row['fields']} ({_percent(row['pass_rate'])})"


def _accuracy(row: _Row) -> str:
    return _percent(row["accuracy_valid"])


def _percent(share: object) -> str:
    return f"{share:.1%}" if isinstance(share, float) else _NONE


def _lay(results: pd.DataFrame, heads: Iterable[_Head]) -> Laid:
    records: list[dict[Any, Any]] = results.to_dict("records")
    by_cell = {(row["run"], row["schema"]): row for row in records}
    runs = list(dict.fromkeys(results["run"]))
    table = list(heads)
    rows = {
        run: [
            write(by_cell[run, schema]) if (run, schema) in by_cell else _NONE
            for _, schema, write, _ in table
        ]
        for run in runs
    }
    best: set[tuple[str, str]] = set()
    failed: set[tuple[str, str]] = set()
    for heading, schema, _, ranked in table:
        if ranked:
            cells = {run: by_cell[run, schema][ranked] for run in runs if (run, schema) in by_cell}
            known = {run: value for run, value in cells.items() if isinstance(value, float)}
            best |= {(run, heading) for run in _best(known)}
            failed |= {(r, heading) for r, v in known.items() if ranked == "pass_rate" and v == 0}
    return Laid([heading for heading, *_ in table], rows, best, failed)


def _best(shares: Mapping[str, float]) -> list[str]:
    """Return the runs with the highest share above 0."""
    own = {run: share for run, share in shares.items() if run != TOTAL and share > 0}
    return [run for run, share in own.items() if share == max(own.values())]


def _failures(failures: pd.DataFrame) -> Laid:
    rows = {
        str(name): [f"{count:,}" if count else _NONE for count in counts]
        for name, counts in zip(failures.index, failures.to_numpy(), strict=True)
    }
    return Laid([str(name) for name in failures.columns], rows, set(), set())
