"""AOE's published figures, what can be recomputed of them, and what contradicts them.

Sources: the results tables of AOE's README (github tianyumyum/AOE, commits 0a45831 and 282e688d),
its dataset card, and the abstract of arXiv 2507.16271. Numbers were typed from there, and marks of
the best values with them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from decimal import ROUND_HALF_EVEN, ROUND_HALF_UP
from functools import cache
from typing import Any

import pandas as pd

from extractbench_nb._frames import Column
from extractbench_nb.benchmark import published as paper_figures
from extractbench_nb.benchmark.published import Figure, figures_in
from extractbench_nb.construction.dataset import TableDataset
from extractbench_nb.construction.loading import aoe_columns, aoe_tasks, shipped
from extractbench_nb.errors import InputError, nearest
from extractbench_nb.paper import tables as paper_tables
from extractbench_nb.paper.cells import EQUAL, Cell, Cells, rounded, status_of
from extractbench_nb.paper.errata_list import ERRATA_COLUMNS, SEVERITIES
from extractbench_nb.paper.tables import compared_figures

__all__ = ["compare", "errata", "figures", "published"]

#: Results with chain of thought, results with retrieval, statistics of the dataset, the text.
PARTS = ("cot", "rag", "domains", "text")
DOMAINS = ("financial", "legal", "academic")
_MARKED = ("llm_score", "pass_rate", "cell_f1")
_NO_DATA = Cell(None, "", "needs the models' answers, which are not published")
_NO_DATASET = Cell(None, "", "needs the dataset: compare('domains', dataset=load(...))")

#: As for the paper, of whose figures some are printed in red.
_OWN = {
    "table": Column("table", "string", "where it is printed", ", ".join(PARTS)),
    "row": Column("row", "string", "model and setting, domain, or an id in the text"),
    "where": Column("where", "string", "README and commit, dataset card, or abstract"),
}
FIGURE_COLUMNS, COMPARE_COLUMNS = (
    replace(spec, columns=tuple(_OWN.get(c.name, c) for c in spec.columns if c.name != "red"))
    for spec in (paper_figures.FIGURE_COLUMNS, paper_tables.COMPARE_COLUMNS)
)


def figures(table: str | None = None) -> pd.DataFrame:
    """Return the printed figures, one per row.

    Parameters
    ----------
    table : str, optional
        ``"cot"``, ``"rag"``, ``"domains"`` or ``"text"``; all by default.

    Returns
    -------
    pandas.DataFrame
        table, row, label, column, value, unit, digits, printed, bold, where.

    Raises
    ------
    InputError
        If the table is unknown.

    Examples
    --------
    >>> frame = figures("cot")
    >>> frame.loc[frame["bold"] & (frame["column"] == "legal cell_f1"), "printed"].tolist()
    ['42.12']
    """
    parts = PARTS if table is None else (_part(table),)
    return FIGURE_COLUMNS.from_records(f._asdict() for part in parts for f in _rows(part))


def published(table: str) -> pd.DataFrame:
    """Return a table as it is printed.

    Parameters
    ----------
    table : str
        ``"cot"``: results with and without chain of thought. ``"rag"``: with and without
        retrieval. ``"domains"``: the dataset's statistics. ``"text"``: numbers of the texts.

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
    cells: dict[str, dict[str, Any]] = {}
    for figure in _rows(_part(table)):
        value = figure.printed if figure.value is None else figure.value
        cells.setdefault(figure.row, {})[figure.column] = value
    frame = pd.DataFrame.from_dict(cells, orient="index")
    frame.index.name = "row"
    frame.attrs["source"] = "github tianyumyum/AOE, its dataset card, arXiv 2507.16271"
    return frame


def compare(table: str, *, dataset: TableDataset | None = None) -> pd.DataFrame:
    """Compare printed figures with what can be recomputed from the other figures.

    Parameters
    ----------
    table : str
        ``"cot"``, ``"rag"``, ``"domains"`` or ``"text"``.
    dataset : TableDataset, optional
        AOE's dataset, whose tables and documents are then counted for ``"domains"``.

    Returns
    -------
    pandas.DataFrame
        One row per printed figure: table, row, column, printed, shown, published, recomputed,
        difference, unit, status, reason, source, where. ``status`` is ``equal`` (after rounding),
        ``rounding`` (one unit of the last decimal apart), ``differs``, or ``not reproducible``:
        scores of models need their answers, which are not published. A pass rate of ``"rag"``
        is recomputed as the nearest share of the domain's tables, one of ``"cot"`` as the
        model's own rate in ``"rag"``.

    Raises
    ------
    InputError
        If the table is unknown.

    Examples
    --------
    >>> compare("rag").query("column.str.endswith('pass_rate')")["status"].value_counts().to_dict()
    {'equal': 22, 'differs': 14}
    """
    part = _part(table)
    cells = {(f.row, f.column): _NO_DATA for f in _rows(part)} | _recomputed(part, dataset)
    return compared_figures(_rows(part), cells, COMPARE_COLUMNS)


def errata() -> pd.DataFrame:
    """List contradictions in AOE's README, dataset card and abstract.

    Every number is computed from the published figures at the time of the call.

    Returns
    -------
    pandas.DataFrame
        One row per erratum, highest severity first: id, where, published, recomputed, difference,
        explanation, severity (``high``: a result or conclusion changes; ``medium``: a printed
        figure or a rule is wrong; ``low``: wording, marks, small differences), check.

    Examples
    --------
    >>> frame = errata().set_index("id")
    >>> frame.loc["impossible-pass-rates", ["published", "recomputed"]].tolist()
    ['36 pass rates', '14 impossible']
    """
    found = [*_pass_rates(), *_marks(), *_statements(), *_dataset_card(), *_configuration()]
    found.sort(key=lambda erratum: SEVERITIES.index(erratum["severity"]))
    return ERRATA_COLUMNS.from_records(found)


# --- the figures -----------------------------------------------------------------------------


def _part(table: object) -> str:
    if isinstance(table, str) and table in PARTS:
        return table
    raise InputError(f"no table {table!r}; {nearest(table, PARTS)}")


@cache
def _rows(part: str) -> tuple[Figure, ...]:
    """Return the printed figures of a table."""
    frame = shipped("aoe_figures")
    return figures_in(frame[frame["table"] == part].to_dict("records"))


@cache
def _values(part: str) -> Mapping[tuple[str, str], float]:
    """Return the numbers of a table by row and column."""
    return {(f.row, f.column): f.value for f in _rows(part) if f.value is not None}


def _statement(row: str) -> Figure:
    """Return a figure of the texts."""
    return next(f for f in _rows("text") if f.row == row)


def _models(part: str) -> list[str]:
    """Return the models of a table."""
    return list(dict.fromkeys(f.row.split(" ")[0] for f in _rows(part)))


def _rates(part: str, model: str) -> tuple[float, ...]:
    """Return a model's three pass rates with chain of thought."""
    return tuple(_values(part)[f"{model} +CoT", f"{domain} pass_rate"] for domain in DOMAINS)


def _sizes(column: str) -> dict[str, float]:
    """Return a statistic of the dataset card by domain."""
    return {domain: _values("domains")[domain, column] for domain in DOMAINS}


# --- what can be recomputed ------------------------------------------------------------------


def is_rounded(value: float, exact: float, digits: int) -> bool:
    """Whether a printed number is a rounded exact one, ties up or to even."""
    ways = (ROUND_HALF_EVEN, ROUND_HALF_UP)
    return rounded(value, digits) in {rounded(exact, digits, how=how) for how in ways}


def owners_of_pass_rates() -> dict[str, list[str]]:
    """Return the models whose pass rates in "rag" are those of a model's +CoT row in "cot".

    Compared are whole percentages of the three domains, between all models of both tables.
    """
    owners: dict[str, list[str]] = {}
    for model in _models("cot"):
        owners[model] = []
        for other in _models("rag"):
            pairs = zip(_rates("cot", model), _rates("rag", other), strict=True)
            if all(is_rounded(printed, exact, 0) for printed, exact in pairs):
                owners[model].append(other)
    return owners


def _recomputed(part: str, dataset: TableDataset | None = None) -> Cells:
    """Return the figures of a table that can be recomputed."""
    if part == "domains":
        return _of_domains(dataset)
    return {"cot": _of_cot, "rag": _of_rag, "text": _of_text}[part]()


def _of_cot() -> Cells:
    cells: Cells = {}
    for model, owners in owners_of_pass_rates().items():
        note = f"the printed rates of the row are those of {' or '.join(owners)}"
        note = note if owners else "no model has the printed rates of the row there"
        for domain in DOMAINS:
            place = f"{model} +CoT", f"{domain} pass_rate"
            value = _values("rag").get(place)
            if value is not None:
                source = f"the model's own rate in the table of results with retrieval, {value}"
                cells[place] = Cell(value, source, note)
    return cells


def _of_rag() -> Cells:
    cells: Cells = {}
    for (row, column), value in _values("rag").items():
        domain, _, name = column.partition(" ")
        if name == "pass_rate":
            tables = int(_sizes("tables")[domain])
            passed = round(value * tables / 100)
            share = 100 * passed / tables
            source = f"{passed} of {tables} tables"
            note = f"no whole number of {tables} tables gives it; the nearest share is {source}"
            cells[row, column] = Cell(share, source, note)
    return cells


def _of_domains(dataset: TableDataset | None) -> Cells:
    names = ("tables", "documents", "tokens", "documents_per_table", "most_documents")
    cells: Cells = {(domain, name): _NO_DATASET for domain in DOMAINS for name in names}
    tables, documents = _sizes("tables"), _sizes("documents")
    for domain in DOMAINS:
        source = f"{documents[domain]:.0f} documents / {tables[domain]:.0f} tables"
        mean = documents[domain] / tables[domain]
        cells[domain, "documents_per_table"] = Cell(mean, source, source)
    if dataset is None:
        return cells
    counts = dataset.tables.groupby("domain")["documents"].agg(["size", "sum", "mean", "max"])
    counts.columns = pd.Index([names[0], names[1], *names[3:]])
    for name, row in counts.to_dict("index").items():
        for column, value in row.items():
            cells[str(name), str(column)] = Cell(value, f"dataset {dataset.name!r}")
    return cells


def _of_text() -> Cells:
    best = {
        name: max(
            value
            for part in ("cot", "rag")
            for (row, column), value in _values(part).items()
            if column.endswith(f" {name}") and row.endswith(" +CoT")
        )
        for name in ("llm_score", "cell_f1")
    }
    tokens, most = _sizes("tokens"), _sizes("most_documents")
    spread = f"{min(_sizes('documents_per_table').values()):g}-{max(most.values()):g}"
    in_table = "largest value of the rows with chain of thought"
    second, columns = "second best F1 in finance", "columns of the example's tables"
    per_table = "smallest mean and largest number of the dataset card"
    plain = "mean of three domains, without weights"
    return {
        ("tables", "tables"): Cell(sum(_sizes("tables").values()), "sum of the domains"),
        ("documents", "documents"): Cell(sum(_sizes("documents").values()), "sum of the domains"),
        ("tokens", "tokens"): Cell(sum(tokens.values()) / len(tokens), plain),
        ("tasks", "tasks"): Cell(len({task for _, task in aoe_tasks()}), "task_config.yaml"),
        ("best-llm-score", "llm_score"): Cell(best["llm_score"], in_table, in_table),
        ("best-cell-f1", "cell_f1"): Cell(best["cell_f1"], in_table, in_table),
        ("documents-per-table", "documents_per_table"): Cell(spread, per_table, per_table),
        ("third-place", "model"): Cell(f"{_second_in_finance()}, financial", second, second),
        ("example-column-recall", "column_recall"): Cell(_example_recall(), columns, columns),
    }


def _second_in_finance() -> str:
    """Return the second best model in finance, by cell F1 with chain of thought."""
    scores = {m: _values("cot")[f"{m} +CoT", "financial cell_f1"] for m in _models("cot")}
    return sorted(scores, key=lambda model: -scores[model])[1]


def _example_recall() -> float:
    """Return the share of the example's value columns that its predicted table has.

    The example is of task financial_0; its predicted table lacks the last column.
    """
    columns = aoe_columns("zh", "financial_0")
    values = columns[1] if columns else ()
    return (len(values) - 1) / len(values)


# --- errata ----------------------------------------------------------------------------------

_Erratum = dict[str, Any]


def _erratum(
    kind: str, published: str, recomputed: str, difference: float | None = None, **values: Any
) -> _Erratum:
    """Fill the texts of the catalogue with the values of one erratum."""
    (row,) = shipped("aoe_errata").query("kind == @kind").to_dict("records")
    texts = {str(name): str(text).format_map(values) for name, text in row.items()}
    found = {"published": published, "recomputed": recomputed, "difference": difference}
    return {"id": kind} | texts | found


def _pass_rates() -> Iterator[_Erratum]:
    """Check the pass rates of both tables against each other and against the numbers of tables."""
    owners = {model: found for model, found in owners_of_pass_rates().items() if found}
    owners = {model: found for model, found in owners.items() if found != [model]}
    (first, (owner,)), *_ = owners.items()
    twice = [
        (_values("cot")[place], value)
        for place, value in _values("rag").items()
        if place in _values("cot") and not place[1].endswith("pass_rate")
    ]
    yield _erratum(
        "pass-rates-of-other-models",
        f"{first}: {', '.join(f'{rate:g}' for rate in _rates('cot', first))}",
        f"{owner}: {', '.join(f'{rate:g}' for rate in _rates('rag', owner))}",
        rows=len(_models("rag")),
        same=sum(one == two for one, two in twice),
        cells=len(twice),
        rates=len(DOMAINS) * len(owners),
        owners=", ".join(f"{model} has those of {' or '.join(o)}" for model, o in owners.items()),
    )
    rates = [f for f in _rows("rag") if f.column.endswith("pass_rate")]
    cells = _recomputed("rag")
    wrong = [f for f in rates if status_of(f, cells[f.row, f.column]) != EQUAL]
    yield _erratum(
        "impossible-pass-rates",
        f"{len(rates)} pass rates",
        f"{len(wrong)} impossible",
        float(len(wrong)),
        sizes=", ".join(f"{size:.0f} {domain}" for domain, size in _sizes("tables").items()),
        listed="; ".join(
            f"{f.row} {f.column.split()[0]} {f.printed} ({_fitting(f)} tables)" for f in wrong
        ),
    )


def _fitting(figure: Figure) -> int | None:
    """Return the largest number of tables, below the domain's, of which a share is the figure."""
    value, tables = figure.value or 0.0, int(_sizes("tables")[figure.column.split()[0]])
    for n in range(tables - 1, 0, -1):
        if is_rounded(value, 100 * round(value * n / 100) / n, 2):
            return n
    return None


def _marks() -> Iterator[_Erratum]:
    """Check that bold marks the best value of a column."""
    columns = [(d, name) for d in DOMAINS for name in _MARKED]
    for part, (domain, name) in ((p, column) for p in ("cot", "rag") for column in columns):
        column = [f for f in _rows(part) if f.column == f"{domain} {name}"]
        best = max(column, key=lambda f: f.value or 0.0)
        bold = [f for f in column if f.bold]
        if any(f.value != best.value for f in bold):
            place = {"part": part, "domain": domain, "name": name, "where": column[0].where}
            yield _erratum(
                "bold",
                ", ".join(f"{f.row}, {f.printed}" for f in bold),
                f"{best.row}, {best.printed}",
                (best.value or 0.0) - (bold[0].value or 0.0),
                **place,
            ) | {"id": f"bold-{part}-{domain}-{name.replace('_', '-')}"}


def _domain_of(name: str, value: float) -> str:
    """Return the domain whose best figure with chain of thought is nearest to a value."""
    best = {
        d: max(_values("cot")[f"{m} +CoT", f"{d} {name}"] for m in _models("cot")) for d in DOMAINS
    }
    return min(best, key=lambda domain: abs(best[domain] - value))


def _statements() -> Iterator[_Erratum]:
    """Check statements on the best models."""
    stated, f1 = _statement("best-llm-score"), _statement("best-cell-f1")
    value = float(_of_text()["best-llm-score", "llm_score"].value or 0.0)
    yield _erratum(
        "best-llm-score",
        stated.printed,
        f"{value}% ({_domain_of('llm_score', value)})",
        value - (stated.value or 0.0),
        where=stated.where,
        score=stated.printed,
        score_domain=_domain_of("llm_score", stated.value or 0.0),
        f1=f1.printed,
        f1_domain=_domain_of("cell_f1", f1.value or 0.0),
    )
    third, second = "Qwen", _second_in_finance()
    (score, cell_f1), (their_score, their_f1) = (
        [_values("cot")[f"{model} +CoT", f"financial {n}"] for n in ("llm_score", "cell_f1")]
        for model in (second, third)
    )
    yield _erratum(
        "third-place",
        f"{third}: {their_score}, F1 {their_f1}",
        f"{second}: {score}, F1 {cell_f1}",
        cell_f1 - their_f1,
        where=_statement("third-place").where,
        third=third,
        model=second,
    )


def _dataset_card() -> Iterator[_Erratum]:
    """Check the statistics of the dataset."""
    stated, tokens = _statement("tokens"), _sizes("tokens")
    weighted = {
        name: sum(tokens[d] * n for d, n in _sizes(name).items()) / sum(_sizes(name).values())
        for name in ("tables", "documents")
    }
    yield _erratum(
        "average-tokens",
        stated.printed,
        f"{weighted['tables'] / 1000:.0f}k per table",
        weighted["tables"] - (stated.value or 0.0),
        where=stated.where,
        mean=f"{float(_of_text()['tokens', 'tokens'].value or 0.0) / 1000:.0f}k",
        sizes=", ".join(f"{n:.0f}" for n in _sizes("tables").values()),
        by_tables=f"{weighted['tables'] / 1000:.1f}k",
        by_documents=f"{weighted['documents'] / 1000:.1f}k",
    )
    for figure in _rows("domains"):
        if figure.column != "documents_per_table":
            continue
        cell = _of_domains(None)[figure.row, figure.column]
        if status_of(figure, cell) != EQUAL:
            value = float(cell.value or 0.0)
            yield _erratum(
                "documents-per-table-of",
                figure.printed,
                f"{value:.2f}",
                value - (figure.value or 0.0),
                where=figure.where,
                source=cell.source,
            ) | {"id": f"documents-per-table-{figure.row}"}
    stated = _statement("documents-per-table")
    low, high = map(float, stated.printed.split("-"))
    means, most = _sizes("documents_per_table"), _sizes("most_documents")
    yield _erratum(
        "documents-per-table",
        stated.printed,
        f"{min(means.values()):g} on average to {max(most.values()):g}",
        where=stated.where,
        below=" and ".join(d for d in DOMAINS if means[d] < low),
        above=" and ".join(d for d in DOMAINS if most[d] > high),
    )


def _configuration() -> Iterator[_Erratum]:
    """Check the example of the README and the configured columns."""
    stated, recall = _statement("example-column-recall"), _example_recall()
    yield _erratum(
        "column-recall-of-the-example",
        stated.printed,
        f"{recall:.3f}",
        recall - (stated.value or 0.0),
        where=stated.where,
    )
    for language, task in aoe_tasks():
        _, values, _ = aoe_columns(language, task) or ((), (), ())
        for name in (value for value in values if value.endswith('"')):
            yield _erratum("stray-quote", name, name.rstrip('"'), language=language, task=task) | {
                "id": f"stray-quote-{task.replace('_', '-')}"
            }
