"""What was published, and errata and claims: read from the files in ``data``."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, NamedTuple

import pandas as pd

from extractbench_nb.core.frames import Column, FrameSpec
from extractbench_nb.errors import InputError, nearest
from extractbench_nb.runs import shipped_frame, shipped_rows
from extractbench_nb.support.pandas_helpers import is_missing

#: Parts of the paper and their files: tables, Figure 2's caption and the numbers of the text.
PARTS: Mapping[str, str] = {
    **{str(number): f"table_{number:02d}.csv" for number in range(1, 14)},
    "figure2": "figure_2.csv",
    "text": "text.csv",
}

#: What the ExtractBench paper calls the schemas of its dataset, in its order, by their folders.
DOMAIN_OF_SCHEMA: Mapping[str, str] = {
    "swimming": "sports",
    "credit_agreement": "credit",
    "research": "research",
    "resume": "resumes",
    "10kq": "10-K/Q",
}


#: Columns whose values are typed in code or chosen by users; they are shown as they are.
_AS_IS = frozenset(("run", "model", "document", "field", "path", "metric", "profile", "corruption"))


def display_name(value: Any, column: str = "") -> str:
    """Return the name that people read for a value of a column; a missing one is named too.

    Schemas of the released dataset have their names in the paper. Runs, models, documents, fields,
    metrics, profiles and corruptions are shown as they are; elsewhere underscores are spaces.

    Examples
    --------
    >>> display_name("10kq", "schema"), display_name("finance/quarterly_report", "schema")
    ('10-K/Q', 'quarterly report (finance)')
    >>> display_name("both_absent", "outcome"), display_name("gpt_5", "run")
    ('both absent', 'gpt_5')
    >>> display_name(None, "domain")
    '(no domain)'
    """
    if is_missing(value):
        return f"(no {column.replace('_', ' ') or 'name'})"
    text = str(value)
    if column in _AS_IS:
        return text
    if column == "schema":
        domain, _, folder = text.rpartition("/")
        name = DOMAIN_OF_SCHEMA.get(folder, folder.replace("_", " "))
        return f"{name} ({domain})" if domain else name
    return text.replace("_", " ")


class Figure(NamedTuple):
    """One printed figure; the fields are the columns of the files."""

    #: 1 to 13, figure2 or text.
    table: str
    #: Domain, model, preset or kind of failure; an id in the text.
    row: str
    #: The row's name as printed; in the text, what is counted.
    label: str
    #: What the figure is; in the text, a quantity and its subject.
    column: str
    #: Percentages as 85.4; None for words.
    value: float | None
    unit: str
    #: Decimals printed; -3 for 25k.
    digits: int | None
    printed: str
    bold: bool
    #: Printed in red: nothing passed.
    red: bool
    #: Section, caption or footnote.
    where: str
    #: First place of the same quantity: table > row > column.
    repeats: str = ""


def part_name(part: object) -> str:
    """Return the name of a part of the paper as text, or raise `InputError`.

    Examples
    --------
    >>> part_name(5)
    '5'
    """
    if isinstance(part, (int, str)) and not isinstance(part, bool) and str(part) in PARTS:
        return str(part)
    known = "tables 1 to 13, 'figure2' and 'text'"
    hint = f"; {nearest(part, ('figure2', 'text'))}" if isinstance(part, str) else ""
    raise InputError(f"no table {part!r} in the paper: there are {known}{hint}")


@cache
def rows_of(part: str) -> tuple[Figure, ...]:
    """Return the figures of one part of the paper."""
    converters: dict[str, Callable[[str], Any]] = {
        "value": lambda text: float(text) if text else None,
        "digits": lambda text: int(text) if text else None,
        "bold": lambda text: text == "1",
        "red": lambda text: text == "1",
    }
    rows = shipped_rows(f"benchmark/data/published/{PARTS[part]}")
    return tuple(
        Figure(**{name: converters.get(name, str)(row[name]) for name in Figure._fields})
        for row in rows
    )


# --- errata and claims --------------------------------------------------------------------------

SEVERITIES = ("high", "medium", "low")
#: Whose erratum it is.
ABOUT = ("paper", "dataset", "package 0.1.0", "package README")
VERDICTS = ("supported", "weak", "not identifiable", "contradicted")

_CELL = "notebook and cell that computes it, `11_baseline_tables#02-09`"

ERRATA_COLUMNS = FrameSpec(
    "errata",
    "one row per erratum",
    (
        Column("id", "string", "short name"),
        Column("about", "string", "whose erratum it is", ", ".join(ABOUT)),
        Column("where", "string", "table, figure or section; in comparisons, both sources"),
        Column("published", "string", "the printed figure or statement"),
        Column("recomputed", "string", "the recomputed figure or finding"),
        Column("difference", "Float64", "recomputed - published, for numbers", "", True),
        Column("explanation", "string", "why, with the numbers behind it"),
        Column("severity", "string", "effect on the results", ", ".join(SEVERITIES)),
        Column("check", "string", f"source or function call; for the paper {_CELL}"),
    ),
)

CLAIM_COLUMNS = FrameSpec(
    "claims",
    "one row per claim",
    (
        Column("id", "string", "short name"),
        Column("where", "string", "section and paragraph"),
        Column("claim", "string", "what is claimed, in our words and so that it can be tested"),
        Column("verdict", "string", "what the published counts show", ", ".join(VERDICTS)),
        Column("evidence", "string", "the figures behind the verdict"),
        Column("reason", "string", "why this verdict, and what qualifies it"),
        Column("check", "string", _CELL),
    ),
)


def errata() -> pd.DataFrame:
    """List contradictions in the paper, its README, the dataset and extract-bench 0.1.0.

    Returns
    -------
    pandas.DataFrame
        One row per erratum, highest severity first, then by ``about``; see `ERRATA_COLUMNS`.
        Severity is ``high`` (a result or conclusion changes), ``medium`` (a printed figure or a
        rule is wrong) or ``low`` (wording, marks, small differences); ``check`` is the cell of a
        notebook that computes the figure and compares it with this table.

    Examples
    --------
    >>> frame = errata().set_index("id")
    >>> frame.loc["structured-research-total", ["published", "recomputed"]].tolist()
    ['14.7%', '24.5%']
    """
    return shipped_frame("benchmark/data/errata.csv", ERRATA_COLUMNS)


def claims() -> pd.DataFrame:
    """List the paper's claims about models, complexity and failure, with verdicts.

    Five domains are five points: a factor of the schema or the documents has one value per domain,
    the smallest exact p-value is 2/120, and the factors are correlated. ``weak`` and ``not
    identifiable`` describe these data, not the claim.

    Returns
    -------
    pandas.DataFrame
        One row per claim; see `CLAIM_COLUMNS`. Verdicts: ``supported`` (the counts show it, or an
        exact test does), ``weak`` (as claimed, but possibly by chance), ``not identifiable`` (these
        data cannot decide), ``contradicted``.

    Examples
    --------
    >>> frame = claims().set_index("id")
    >>> frame.loc["breadth-dominant", ["verdict", "evidence"]].tolist()
    ['not identifiable', 'strongest in 17 of 36 analyses']
    """
    return shipped_frame("benchmark/data/claims.csv", CLAIM_COLUMNS)
