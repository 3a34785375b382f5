"""The data that figures take: checked, and put into the shape that is drawn."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType

import pandas as pd

from extractbench_nb.errors import InputError, nearest

__all__ = ["OUTCOMES", "by_domain", "checked", "known", "measured"]

#: Columns of `measured`, and what `complexity(by="domain")` calls them.
_DOMAIN_NAMES: Mapping[str, str] = MappingProxyType(
    {
        "mean_pages": "pages",
        "mean_gold_tokens": "tokens",
        "mean_fields": "fields",
        "mean_array_items": "array_items",
        "compression": "ratio",
    }
)

#: Successes and trials of an outcome in `counts`, and its name on an axis.
OUTCOMES: Mapping[str, tuple[str, str, str]] = MappingProxyType(
    {
        "validity": ("valid", "documents", "valid documents (%)"),
        "pass_rate": ("passed", "fields", "passed fields (%)"),
    }
)


def checked(data: object, columns: Iterable[str], what: str) -> pd.DataFrame:
    """Check that a frame has rows and columns to draw.

    Parameters
    ----------
    data : object
        What a caller gave.
    columns : iterable of str
        Columns that are needed.
    what : str
        The parameter's name, for the message.

    Returns
    -------
    pandas.DataFrame
        The same frame.

    Raises
    ------
    InputError
        It is no frame, has no rows, or a column is missing.
    """
    if not isinstance(data, pd.DataFrame):
        raise InputError(f"{what}: expected a DataFrame, found {type(data).__name__}")
    names = [str(name) for name in data.columns]
    for column in columns:
        if column not in names:
            raise InputError(f"{what}: there is no column {column!r}; {nearest(column, names)}")
    if data.empty:
        raise InputError(f"{what}: no rows, nothing to draw")
    return data


def known(name: object, names: Iterable[str], what: str) -> None:
    """Refuse a name that is none of the known ones.

    Parameters
    ----------
    name : object
        What a caller gave.
    names : iterable of str
        What there is.
    what : str
        The parameter's name, for the message.

    Raises
    ------
    InputError
        It is unknown; the nearest names are given.
    """
    words = list(names)
    if name not in words:
        raise InputError(f"{what}={name!r}: {nearest(name, words)}")


def measured(data: object, columns: Iterable[str], what: str) -> pd.DataFrame:
    """Return figures of domains, one row each, whichever public frame they come from.

    Parameters
    ----------
    data : object
        A table of `paper`, or the frame of ``complexity(by="domain")``.
    columns : iterable of str
        Columns that are needed, by the names of the paper's tables.
    what : str
        The parameter's name, for the message.

    Returns
    -------
    pandas.DataFrame
        Index: domains, or schema ids. Those columns, as float64; NaN where missing.

    Raises
    ------
    InputError
        As `checked`.
    """
    frame = checked(data, (), what)
    if "schema" in frame.columns and "mean_gold_tokens" in frame.columns:
        frame = frame.set_index("schema").rename(columns=dict(_DOMAIN_NAMES))
        frame = frame.assign(input_tokens=frame["mean_pdf_tokens"], output_tokens=frame["tokens"])
    wanted = list(columns)
    return checked(frame, wanted, what)[wanted].astype("Float64").astype("float64")


def by_domain(counts: object, table: object, factor: str, *, outcome: str) -> pd.DataFrame:
    """Add up the counts of each domain, beside a figure of the domain.

    Parameters
    ----------
    counts : object
        Frame of ``paper.counts()``, or some of its rows.
    table : object
        Frame that `measured` takes.
    factor : str
        Its column.
    outcome : str
        A name of `OUTCOMES`.

    Returns
    -------
    pandas.DataFrame
        Index: domains. Columns factor, successes, trials and share (0 to 1), all float64. Domains
        without counts or without the factor are left out.

    Raises
    ------
    InputError
        A name is unknown, or no domain is left.
    """
    known(outcome, OUTCOMES, "outcome")
    successes, trials, _ = OUTCOMES[outcome]
    rows = checked(counts, ("domain", successes, trials), "counts").dropna(subset=[successes])
    sums = rows.groupby("domain", sort=False)[[successes, trials]].sum().astype("float64")
    sums.columns = pd.Index(["successes", "trials"])
    values = measured(table, (factor,), "table")[factor]
    found = sums[sums["trials"] > 0].join(values.rename("factor"), how="inner").dropna()
    if found.empty:
        raise InputError(f"no domain has both a count of {successes!r} and a value of {factor!r}")
    if (found["factor"] <= 0).any():
        raise InputError(f"table: {factor!r} has values of 0 or less; its axis is logarithmic")
    return found.assign(share=found["successes"] / found["trials"])
