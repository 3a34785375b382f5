"""The atomic counts behind the results: valid documents and passed fields by model and domain."""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import cache
from typing import NamedTuple

import pandas as pd

from extractbench_nb._frames import Column, FrameSpec
from extractbench_nb.benchmark.paper.cells import printed, value_of
from extractbench_nb.benchmark.paper.names import DOMAIN_TABLES, DOMAINS, MODELS
from extractbench_nb.errors import InputError

__all__ = ["COUNT_COLUMNS", "Count", "Tally", "counts", "inferred_passed", "tally"]

MODES = ("prompt", "structured")

COUNT_COLUMNS = FrameSpec(
    "counts",
    "one row a model and domain",
    (
        Column("model", "string", "model, as the appendix names it"),
        Column("domain", "string", "sports, credit, research, resumes or 10-K/Q"),
        Column("documents", "int64", "documents, one attempt each", "1 and up"),
        Column("valid", "Int64", "parseable outputs that fit the schema; not printed", "", True),
        Column("fields", "int64", "documents x keys, what the paper divides by", "1 and up"),
        Column("passed", "int64", "passed fields; 0 for what is not valid", "0 to fields"),
        Column("source", "string", "where the counts come from"),
    ),
)


class Count(NamedTuple):
    """Counts of one model on one domain; the fields are the columns of `COUNT_COLUMNS`."""

    model: str
    domain: str
    documents: int
    valid: int | None
    fields: int
    passed: int
    source: str


class Tally(NamedTuple):
    """Counts added up over models and domains."""

    documents: int
    valid: int
    fields: int
    passed: int

    @property
    def validity(self) -> float:
        """Valid documents in percent."""
        return 100 * self.valid / self.documents

    @property
    def pass_rate(self) -> float:
        """Passed fields in percent of documents x keys."""
        return 100 * self.passed / self.fields


def counts(mode: str = "prompt") -> pd.DataFrame:
    """Return the counts that the paper's results are made of.

    Parameters
    ----------
    mode : str, optional
        ``"prompt"``: as Tables 9 to 13 print them. ``"structured"``: with structured outputs; the
        paper prints percentages with one decimal there (Table 8), and exactly one whole number of
        fields gives each of them. Their valid documents are not printed. Resumes and 10-K/Q had
        no valid output in that mode.

    Returns
    -------
    pandas.DataFrame
        One row a model and domain, 30 in all: model, domain, documents, valid, fields, passed,
        source.

    Raises
    ------
    InputError
        There is no such mode.

    Examples
    --------
    >>> frame = counts()
    >>> int(frame["valid"].sum()), int(frame["passed"].sum()), int(frame["fields"].sum())
    (107, 844, 18516)
    """
    rows = _counts(mode)
    columns = list(zip(*rows, strict=True))
    return COUNT_COLUMNS.build(dict(zip(Count._fields, columns, strict=True)))


def tally(
    mode: str = "prompt",
    *,
    models: tuple[str, ...] = MODELS,
    domains: tuple[str, ...] = DOMAINS,
) -> Tally:
    """Add the counts of some models on some domains; what is not printed adds nothing."""
    rows = [c for c in _counts(mode) if c.model in models and c.domain in domains]
    return Tally(
        sum(c.documents for c in rows),
        sum(c.valid or 0 for c in rows),
        sum(c.fields for c in rows),
        sum(c.passed for c in rows),
    )


@cache
def _counts(mode: str) -> tuple[Count, ...]:
    if mode not in MODES:
        raise InputError(f"unknown mode {mode!r}: known are 'prompt' and 'structured'")
    make = _prompt if mode == "prompt" else _structured
    return tuple(make(model, domain) for model in MODELS for domain in DOMAINS)


def _prompt(model: str, domain: str) -> Count:
    table = DOMAIN_TABLES[domain]
    documents, valid, fields, passed = (
        int(value_of(table, model, column)) for column in ("documents", "valid", "fields", "passed")
    )
    return Count(model, domain, documents, valid, fields, passed, f"Table {table}")


def _structured(model: str, domain: str) -> Count:
    prompt = _prompt(model, domain)
    if domain in ("resumes", "10-K/Q"):
        return prompt._replace(valid=0, passed=0, source="Table 8, caption")
    passed = inferred_passed(model, domain, prompt.fields)
    return prompt._replace(valid=None, passed=passed, source="Table 8, the only count that fits")


def inferred_passed(model: str, domain: str, fields: int) -> int:
    """Return the one count of passed fields that gives Table 8's printed percentage.

    Parameters
    ----------
    model, domain : str
        Row and domain of Table 8.
    fields : int
        Fields in all, fewer than 1,000: else several counts give one percentage.

    Returns
    -------
    int
        Passed fields.

    Raises
    ------
    ValueError
        No count gives it, or more than one does.
    """
    share = printed(8, model, f"{domain} rate")
    found = list(_counts_near(share.value or 0.0, share.digits or 0, fields))
    if len(found) != 1:
        raise ValueError(f"Table 8, {model}, {domain}: {found} of {fields} give {share.printed}")
    return found[0]


def _counts_near(percent: float, digits: int, fields: int) -> Iterator[int]:
    half = 0.5 * 10.0**-digits
    low = math.ceil((percent - half) * fields / 100 - 1e-9)
    high = math.floor((percent + half) * fields / 100 + 1e-9)
    return iter(range(max(low, 0), min(high, fields) + 1))
