"""What was published: figures, the counts that they imply, errata and claims."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from decimal import ROUND_HALF_EVEN, ROUND_HALF_UP, Decimal
from functools import cache
from itertools import product
from typing import Any, NamedTuple, TypeAlias

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
        Column("about", "string", "document with the erratum", ", ".join(ABOUT)),
        Column("where", "string", "table, figure or section; in comparisons, both sources"),
        Column("published", "string", "the printed figure or statement"),
        Column("recomputed", "string", "the recomputed figure or finding"),
        Column("difference", "Float64", "recomputed - published, for numbers", "", True),
        Column("explanation", "string", "reason, with the numbers behind it"),
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
        Column("claim", "string", "the claim, reworded so that it can be tested"),
        Column("verdict", "string", "what the published counts show", ", ".join(VERDICTS)),
        Column("evidence", "string", "the figures behind the verdict"),
        Column("reason", "string", "reason for the verdict, with its limits"),
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


#: By the number of keys, as the paper orders them.
DOMAINS = tuple(DOMAIN_OF_SCHEMA.values())

#: By overall pass rate, as Table 5 orders them; a page limit keeps Claude from credit agreements.
ABLE = ("Gemini 3 Flash", "Gemini 3 Pro", "GPT-5.2", "GPT-5")
CLAUDE = ("Claude Sonnet 4.5", "Claude Opus 4.5")
MODELS = (*ABLE, *CLAUDE)

#: The row of totals; tables name it differently.
TOTAL = "total"

#: The sum over all domains.
OVERALL = "overall"

#: Row of Table 5 with the figures in its column heads; it is not part of the wide table.
HEADER = "header"

#: Schema folder of the released dataset, by domain.
SCHEMAS: Mapping[str, str] = {domain: schema for schema, domain in DOMAIN_OF_SCHEMA.items()}

#: The table of each domain's counts, by domain.
_ORDER = ("10-K/Q", "credit", "resumes", "research", "sports")
DOMAIN_TABLES: Mapping[str, int] = dict(zip(_ORDER, range(9, 14), strict=True))

#: Kinds of checks: from schemas, gold or PDFs; from other printed figures; the same quantity as
#: another printed figure; from the declarations of this package.
RECOMPUTED, DERIVED = "recomputed from data", "derived from printed counts"
REPEATED, DECLARED = "repeated", "declared"
CHECKS = (RECOMPUTED, DERIVED, REPEATED, DECLARED)


class Cell(NamedTuple):
    """A recomputed figure; its value is None if it cannot be recomputed."""

    value: float | str | None
    #: What it was computed from.
    source: str
    #: Why it may differ from the printed one, or what is missing.
    note: str = ""
    #: Whether the figure is the printed one, because the data behind it were not released.
    is_printed: bool = False
    #: Whether it follows from what this package declares, so that a comparison shows nothing.
    is_declared: bool = False


#: Cells by row and column.
Cells: TypeAlias = dict[tuple[str, str], Cell]


@cache
def figures_of(part: str) -> Mapping[tuple[str, str], Figure]:
    """Return the printed figures of a part by row and column."""
    return {(f.row, f.column): f for f in rows_of(part)}


def printed(part: int | str, row: str, column: str) -> Figure:
    """Return a printed figure by its table, row and column."""
    return figures_of(part_name(part))[row, column]


def value_of(part: int | str, row: str, column: str) -> float:
    """Return a printed number by its table, row and column."""
    value = printed(part, row, column).value
    if value is None:
        raise TypeError(f"table {part}, {row}, {column}: words, not a number")
    return value


def stated(quantity: str, place: str = "") -> Figure:
    """Return the first number that the text gives for a quantity, in a section if one is named."""
    figures = (f for f in rows_of("text") if f.column == quantity and f.where.startswith(place))
    return next(figures)


def check_of(figure: Figure, cell: Cell) -> str | None:
    """Name the kind of check that a comparison is; None if nothing was compared."""
    if cell.value is None or cell.is_printed:
        return None
    if cell.is_declared:
        return DECLARED
    if not cell.source.startswith(("Table", "section")):
        return RECOMPUTED
    return REPEATED if figure.repeats else DERIVED


def ratio(part: float, whole: float) -> float:
    """Return a share in percent."""
    return 100 * part / whole


EQUAL, ROUNDING, DIFFERS = "equal", "rounding", "differs"
NOT_REPRODUCIBLE = "not reproducible"
STATUSES = (EQUAL, ROUNDING, DIFFERS, DECLARED, NOT_REPRODUCIBLE)

#: Units of counts: a difference of one is not a rounding difference.
_WHOLE_UNITS = frozenset(
    "documents pages keys levels values fields failures kinds items people models schemas domains"
    " words".split()
)

#: Numbers closer than this differ only by floating-point error.
_NOISE = Decimal("1e-9")


def rounded(value: float, digits: int, *, how: str = ROUND_HALF_EVEN) -> Decimal:
    """Round to `digits` decimals; negative numbers round to tens, hundreds and so on."""
    exact = Decimal(repr(float(value))).quantize(_NOISE)
    return exact.quantize(Decimal(1).scaleb(-digits), rounding=how)


def status_of(figure: Figure, cell: Cell) -> str:
    """Compare a printed figure with a recomputed one; one that is declared cannot be equal.

    Examples
    --------
    >>> figure = Figure("5", "GPT-5.2", "", "rate", 6.2, "%", 1, "6.2%", False, False, "")
    >>> [status_of(figure, Cell(v, "")) for v in (6.25, 6.3, 7.0, None)]
    ['equal', 'rounding', 'differs', 'not reproducible']
    """
    if cell.value is None or cell.is_printed:
        return NOT_REPRODUCIBLE
    status = _numbers_compared(figure, cell.value)
    return DECLARED if cell.is_declared and status == EQUAL else status


def _numbers_compared(figure: Figure, value: float | str) -> str:
    printed = figure.value
    if printed is None or isinstance(value, str):
        return EQUAL if value == figure.printed else DIFFERS
    if figure.printed.endswith(("+", "+%")):
        return EQUAL if value >= printed else DIFFERS
    if figure.printed.startswith("<"):
        return EQUAL if value < printed else DIFFERS
    digits = figure.digits or 0
    target = rounded(printed, digits)
    near = {rounded(value, digits, how=how) for how in (ROUND_HALF_EVEN, ROUND_HALF_UP)}
    if target in near:
        return EQUAL
    apart = min(abs(number - target) for number in near)
    counted = figure.unit in _WHOLE_UNITS
    return DIFFERS if counted or apart > Decimal(1).scaleb(-digits) else ROUNDING


def formatted(figure: Figure, value: float | str | None) -> str | None:
    """Write a recomputed figure in the format of the printed one; None if there is none."""
    if value is None or isinstance(value, str):
        return value
    digits = max(figure.digits or 0, 0)
    number = rounded(value, digits)
    comma = "," if "," in figure.printed else ""
    suffix = "%" if figure.unit == "%" else "×" if figure.printed.endswith("×") else ""
    return f"{number:{comma}.{digits}f}{suffix}"


# --- counts ---------------------------------------------------------------------------------------

MODES = ("prompt", "structured")
#: Source of counts without valid documents, which are not printed.
_INFERRED = "Table 8, the only count that fits"

COUNT_COLUMNS = FrameSpec(
    "counts",
    "one row per model and domain",
    (
        Column("model", "string", "name of the model in the appendix"),
        Column("domain", "string", "sports, credit, research, resumes or 10-K/Q"),
        Column("documents", "int64", "documents, one attempt each", "1 and up"),
        Column("valid", "Int64", "parseable outputs that fit the schema; not printed", "", True),
        Column("fields", "int64", "documents x keys, the denominator of the pass rate", "1 and up"),
        Column("passed", "int64", "passed fields; 0 for outputs that are not valid", "0 to fields"),
        Column("source", "string", "source of the counts"),
    ),
)


class Tally(NamedTuple):
    """Counts added up over models and domains."""

    documents: int
    valid: int
    fields: int
    passed: int

    @property
    def invalid(self) -> int:
        """Documents without a valid output."""
        return self.documents - self.valid

    @property
    def validity(self) -> float:
        """Valid documents in percent."""
        return 100 * self.valid / self.documents

    @property
    def pass_rate(self) -> float:
        """Passed fields in percent of documents x keys."""
        return 100 * self.passed / self.fields


def counts(mode: str = "prompt") -> pd.DataFrame:
    """Return the printed counts from which the paper's results can be computed.

    Parameters
    ----------
    mode : str, optional
        ``"prompt"``: as Tables 9 to 13 print them. ``"structured"``: with structured outputs. Table
        8 prints percentages, each of which exactly one whole number of fields gives, and no numbers
        of valid documents. Resumes and 10-K/Q had no valid output in that mode.

    Returns
    -------
    pandas.DataFrame
        One row per model and domain, 30 in all; see `COUNT_COLUMNS`.

    Raises
    ------
    InputError
        If the mode is unknown.

    Examples
    --------
    >>> frame = counts()
    >>> int(frame["valid"].sum()), int(frame["passed"].sum()), int(frame["fields"].sum())
    (107, 844, 18516)
    """
    return COUNT_COLUMNS.from_records(
        {"model": model, "domain": domain, "source": source}
        | counted._asdict()
        | ({"valid": None} if source == _INFERRED else {})
        for (model, domain), (counted, source) in _counts(mode).items()
    )


def tally(
    models: str | tuple[str, ...] = MODELS,
    domains: str | tuple[str, ...] = DOMAINS,
    mode: str = "prompt",
) -> Tally:
    """Add the counts of some models on some domains; what is not printed adds nothing."""
    one, two = ((names,) if isinstance(names, str) else names for names in (models, domains))
    counted = [_counts(mode)[pair][0] for pair in product(one, two)]
    return Tally(*map(sum, zip(*counted, strict=True)))


@cache
def _counts(mode: str) -> Mapping[tuple[str, str], tuple[Tally, str]]:
    """Return the counts of each model and domain, and where they come from."""
    if mode not in MODES:
        raise InputError(f"unknown mode {mode!r}: expected 'prompt' or 'structured'")
    counts = {}
    for model, domain in product(MODELS, DOMAINS):
        table = DOMAIN_TABLES[domain]
        counted = Tally(*(int(value_of(table, model, column)) for column in Tally._fields))
        source = f"Table {table}"
        if mode == "structured" and domain in ("resumes", "10-K/Q"):
            counted, source = counted._replace(valid=0, passed=0), "Table 8, caption"
        elif mode == "structured":
            passed = inferred_passed(model, domain, counted.fields)
            counted, source = counted._replace(valid=0, passed=passed), _INFERRED
        counts[model, domain] = counted, source
    return counts


def inferred_passed(model: str, domain: str, fields: int) -> int:
    """Return the one count of passed fields that gives Table 8's printed percentage."""
    figure = printed(8, model, f"{domain} rate")
    percentage, rounding = figure.value or 0.0, 0.5 * 10.0 ** -(figure.digits or 0)
    low = math.ceil((percentage - rounding) * fields / 100 - 1e-9)
    high = math.floor((percentage + rounding) * fields / 100 + 1e-9)
    counts = list(range(max(low, 0), min(high, fields) + 1))
    if len(counts) != 1:
        raise ValueError(f"Table 8, {model}, {domain}: {counts} of {fields} give {figure.printed}")
    return counts[0]
