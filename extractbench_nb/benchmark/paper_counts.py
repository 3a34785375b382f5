"""The counts that Tables 8 to 13 print or imply, by model and domain."""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import cache
from itertools import product
from typing import NamedTuple

import pandas as pd

from extractbench_nb.benchmark.paper_cells import (
    CLAUDE,
    DOMAIN_TABLES,
    DOMAINS,
    GPT,
    MODELS,
    printed,
    value_of,
)
from extractbench_nb.core.frames import Column, FrameSpec
from extractbench_nb.errors import InputError

MODES = ("prompt", "structured")
#: Source of counts without valid documents, which are not printed.
_INFERRED = "Table 8, the only count that fits"

COUNT_COLUMNS = FrameSpec(
    "counts",
    "one row per model and domain",
    (
        Column("model", "string", "model, as the appendix names it"),
        Column("domain", "string", "sports, credit, research, resumes or 10-K/Q"),
        Column("documents", "int64", "documents, one attempt each", "1 and up"),
        Column("valid", "Int64", "parseable outputs that fit the schema; not printed", "", True),
        Column("fields", "int64", "documents x keys, the denominator of the pass rate", "1 and up"),
        Column("passed", "int64", "passed fields; 0 for outputs that are not valid", "0 to fields"),
        Column("source", "string", "where the counts come from"),
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
        ``"prompt"``: as Tables 9 to 13 print them. ``"structured"``: with structured outputs
        (Table 8). There the paper prints percentages with one decimal, each of which is given by
        exactly one whole number of fields, and no numbers of valid documents. Resumes and 10-K/Q
        had no valid output in that mode.

    Returns
    -------
    pandas.DataFrame
        One row per model and domain, 30 in all: model, domain, documents, valid (documents with a
        valid output; NA if unknown), fields (documents x schema keys), passed, source.

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
    mode: str = "prompt",
    *,
    models: tuple[str, ...] = MODELS,
    domains: tuple[str, ...] = DOMAINS,
) -> Tally:
    """Add the counts of some models on some domains; what is not printed adds nothing."""
    counted = [
        counts
        for (model, domain), (counts, _) in _counts(mode).items()
        if model in models and domain in domains
    ]
    return Tally(*map(sum, zip(*counted, strict=True)))


#: Models that are added up. ``able`` omits Claude where its page limit blocked it.
GROUPS: Mapping[str, tuple[str, ...]] = {
    "pooled": MODELS,
    "able": MODELS,
    "GPT": GPT,
    "Claude": CLAUDE,
    **{model: (model,) for model in MODELS},
}


def attempts(group: str, domain: str) -> Tally:
    """Return the counts of a group of models on a domain."""
    models = GROUPS[group]
    if group == "able" and domain == "credit":
        models = tuple(model for model in models if model not in CLAUDE)
    return tally(models=models, domains=(domain,))


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
