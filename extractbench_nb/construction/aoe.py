"""AOE's published figures, with checks against each other, errata and coverage.

Sources: the results tables of AOE's README (github tianyumyum/AOE, commits 0a45831 and 282e688d),
its dataset card, and the abstract of arXiv 2507.16271. Numbers were typed from there.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pandas as pd

from extractbench_nb.construction.comparing import compare
from extractbench_nb.construction.table_batches import AOE_SCORES
from extractbench_nb.construction.table_dataset import shipped
from extractbench_nb.core.frames import Column, FrameSpec
from extractbench_nb.errors import InputError, nearest
from extractbench_nb.support.moved import moved_names

__all__ = ["checks", "coverage", "errata", "example", "published"]

if not TYPE_CHECKING:  # type checkers would accept any name
    __getattr__ = moved_names(__name__)

#: Results with chain of thought, results with retrieval, statistics of the dataset, the text.
PARTS = ("cot", "rag", "domains", "text", "example")
#: Half of the last of two printed digits.
_HALF_DIGIT = 0.005 + 1e-9
_SOURCE = "github tianyumyum/AOE, its dataset card, arXiv 2507.16271"

ERRATA_COLUMNS = FrameSpec(
    "errata",
    "one row per erratum, highest severity first",
    (
        Column("id", "string", "unique name"),
        Column("about", "string", "document with the erratum", "README, code, dataset card, paper"),
        Column("where", "string", "source of the contradiction"),
        Column("published", "string", "what is printed"),
        Column("recomputed", "string", "value that follows from the other figures"),
        Column("explanation", "string", "why they differ"),
        Column(
            *("severity", "string"),
            "high: a result changes; medium: a figure or a rule is wrong; low: small differences",
            "high, medium, low",
        ),
    ),
)

#: Kinds of checks, as in `xb.benchmark`: AOE's gold and outputs are not part of this package, so
#: that no check is "recomputed from data" but that of the README's example.
KINDS = ("recomputed from data", "derived from printed counts", "repeated")
CHECK_COLUMNS = FrameSpec(
    "checks",
    "one row per figure that can be checked",
    (
        Column("table", "string", "part of `published`", ", ".join(PARTS)),
        Column("row", "string", "row of the table"),
        Column("column", "string", "column of the table"),
        Column("printed", "float64", "the printed number"),
        Column("compared", "float64", "the number that it is compared with"),
        Column("agrees", "bool", "whether both are equal in the printed digits"),
        Column(
            *("check", "string"),
            "how it is compared: computed from the two tables of the README's example; derived "
            "from printed counts, for a rate the nearest that these allow; or the same figure "
            "printed elsewhere",
            ", ".join(KINDS),
        ),
        Column("source", "string", "what it is compared with"),
    ),
)

COVERAGE_COLUMNS = FrameSpec(
    "coverage",
    "one row per section of AOE's README, in order",
    (
        Column("section", "string", "section"),
        Column("runs", "string", "what runs here, and how it is called"),
        Column("limits", "string", "what does not run, and why; empty if all runs"),
    ),
)


def published(table: str) -> pd.DataFrame:
    """Return a table as printed.

    Parameters
    ----------
    table : str
        ``"cot"``: results with and without chain of thought. ``"rag"``: with and without
        retrieval. ``"domains"``: the dataset's statistics. ``"text"``: numbers of the texts.
        ``"example"``: the scores of the README's example.

    Returns
    -------
    pandas.DataFrame
        Index: model and setting, domain, or an id. One column per figure; percentages as 85.4.

    Raises
    ------
    InputError
        If the table is unknown.

    Examples
    --------
    >>> published("rag").loc["Qwen +RAG+CoT", "academic llm_score"].item()
    77.08
    """
    if table not in PARTS:
        raise InputError(f"no table {table!r}; {nearest(table, PARTS)}")
    frame = pd.DataFrame.from_dict(_cells(table), orient="index")
    frame.index.name = "row"
    frame.attrs["source"] = _SOURCE
    return frame


def errata() -> pd.DataFrame:
    """List contradictions in AOE's README, code, dataset card and abstract.

    Returns
    -------
    pandas.DataFrame
        One row per erratum, highest severity first (see `ERRATA_COLUMNS`): id, about, where,
        published, recomputed, explanation, severity.

    Examples
    --------
    >>> frame = errata().set_index("id")
    >>> frame.loc["impossible-pass-rates", ["about", "published", "recomputed"]].tolist()
    ['README', '36 pass rates', '14 impossible']
    """
    return ERRATA_COLUMNS.from_records(shipped("aoe_errata"))


def checks() -> pd.DataFrame:
    """Check the published figures, each labelled by the kind of its check.

    Returns
    -------
    pandas.DataFrame
        One row per figure (see `CHECK_COLUMNS`). No results of AOE can be computed again, since
        its outputs are not public: most checks compare printed figures with one another, which
        shows contradictions and proves no result.

    Examples
    --------
    >>> checks().groupby("check", sort=False)["agrees"].agg(["sum", "size"]).values.tolist()
    [[26, 42], [39, 56], [9, 9]]
    """
    return CHECK_COLUMNS.from_rows([*_counted(), *_repeated(), *_example()])


def coverage() -> pd.DataFrame:
    """List the sections of AOE's README, with what can be run here, what cannot, and why.

    Returns
    -------
    pandas.DataFrame
        One row per section (see `COVERAGE_COLUMNS`).
    """
    return COVERAGE_COLUMNS.from_records(shipped("aoe_coverage"))


def _cells(table: str) -> dict[str, dict[str, Any]]:
    """Return the figures of a table by row and column."""
    figures = shipped("aoe_figures")
    cells: dict[str, dict[str, Any]] = {}
    for figure in figures[figures["table"] == table].to_dict("records"):
        value = float(figure["value"]) if figure["value"] else figure["printed"]
        cells.setdefault(figure["row"], {})[figure["column"]] = value
    return cells


def _counted() -> Iterator[tuple[Any, ...]]:
    """Check rates, means and sums against the printed counts of tables and documents."""
    kind = KINDS[1]
    sizes, text = _cells("domains"), _cells("text")
    for row, cells in _cells("rag").items():
        for domain, size in sizes.items():
            column, tables = f"{domain} pass_rate", size["tables"]
            printed = cells[column]
            rate = 100 * round(printed / 100 * tables) / tables
            agrees, source = abs(printed - rate) <= _HALF_DIGIT, f"rates of {tables:g} tables"
            yield "rag", row, column, printed, rate, agrees, kind, source
    for domain, size in sizes.items():
        printed, mean = size["documents_per_table"], size["documents"] / size["tables"]
        agrees = round(mean, 1) == printed
        yield "domains", domain, "documents_per_table", printed, mean, agrees, kind, "counts"
    tables, documents = (sum(size[n] for size in sizes.values()) for n in ("tables", "documents"))
    tokens = sum(size["tokens"] * size["tables"] for size in sizes.values()) / tables
    for name, value, digits, source in (
        ("tables", tables, 0, "sum over domains"),
        ("documents", documents, 0, "sum over domains"),
        ("tokens", tokens, -3, "mean over tables"),
    ):
        printed = text[name][name]
        yield "text", name, name, printed, value, round(value, digits) == printed, kind, source


def _repeated() -> Iterator[tuple[Any, ...]]:
    """Check the results that are printed in both tables, and the best ones of the text."""
    kind, cot, rag, text = KINDS[2], _cells("cot"), _cells("rag"), _cells("text")
    for row in cot:
        for column, printed in cot[row].items() if row in rag else ():
            other = rag[row][column]
            half = 0.5 if column.endswith("pass_rate") else _HALF_DIGIT
            yield "cot", row, column, printed, other, abs(printed - other) <= half, kind, "rag"
    for row, column in (("best-llm-score", "llm_score"), ("best-cell-f1", "cell_f1")):
        best = max(v for r in cot.values() for name, v in r.items() if name.endswith(column))
        printed = text[row][column]
        yield "text", row, column, printed, best, round(best) == printed, kind, "cot"


def _example() -> Iterator[tuple[Any, ...]]:
    """Check the scores of the README's example by the rules of AOE's code."""
    gold, predicted = example()
    scores = compare(gold, predicted, keys=str(gold.columns[0]), profile="aoe").summary.to_dict()
    for name, printed in _cells("example")["scores"].items():
        score = scores[AOE_SCORES[name]]
        agrees = round(score, 3) == printed
        yield "example", "scores", name, printed, score, agrees, KINDS[0], "tables"


def example() -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the gold and predicted tables of the example in AOE's README, as texts."""
    return shipped("aoe_example_gold").copy(), shipped("aoe_example_predicted").copy()
