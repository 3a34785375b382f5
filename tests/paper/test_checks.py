"""`summary`: what kinds of checks there are, counted a second way."""

from pathlib import Path

import pandas as pd
import pytest

from extractbench_nb import paper
from extractbench_nb.benchmark.published import PARTS, rows_of
from extractbench_nb.paper.cells import CHECKS, DECLARED, STATUSES, Cell, status_of
from extractbench_nb.paper.checks import quantity_of
from extractbench_nb.paper.tables import NOT_COMPARED


@pytest.fixture(scope="module")
def compared() -> pd.DataFrame:
    return pd.concat([paper.compare(part) for part in PARTS], ignore_index=True)


def test_kinds_and_statuses_add_up_to_all_figures(compared: pd.DataFrame) -> None:
    found = paper.summary().set_index("check")
    assert found.index.tolist() == [*CHECKS, NOT_COMPARED]
    statuses = [status.replace(" ", "_") for status in STATUSES]
    assert (found[statuses].sum(axis=1) == found["figures"]).all()
    assert found["figures"].sum() == len(compared) == sum(len(rows_of(part)) for part in PARTS)
    counted = compared["check"].fillna(NOT_COMPARED).value_counts()
    assert counted.reindex(found.index).tolist() == found["figures"].tolist()
    reproduced = paper.reproduction()
    assert found["equal"].sum() == reproduced["equal"].sum()
    assert found.loc[CHECKS[0], "equal"] == reproduced["from_data"].sum()


def test_what_is_declared_is_never_equal(compared: pd.DataFrame) -> None:
    declared = compared[compared["check"] == DECLARED]
    assert set(declared["status"]) == {DECLARED, "differs"}
    assert set(compared.loc[compared["status"] == DECLARED, "check"]) == {DECLARED}
    assert declared["source"].str.contains(r"presets|, rows").all()
    figure = rows_of("1")[0]
    assert status_of(figure, Cell(figure.value, "", is_declared=True)) == DECLARED
    assert status_of(figure, Cell(0, "", is_declared=True)) == "differs"


def test_sources_fit_the_kinds(compared: pd.DataFrame) -> None:
    """A figure from data names the dataset, others name tables."""
    of_tables = compared["source"].str.startswith(("Table", "section"), na=False)
    printed = compared["check"].isin(["derived from printed counts", "repeated"])
    assert of_tables[printed].all()
    assert not of_tables[compared["check"] == "recomputed from data"].any()


@pytest.mark.parametrize(
    "places",
    [
        [("1", "credit", "keys"), ("5", "header", "credit keys"), ("6", "credit", "keys")],
        [("5", "GPT-5", "credit rate"), ("10", "GPT-5", "rate")],
        [("5", "total", "valid"), ("text", "s4.1-03", "valid")],
        [("5", "GPT-5", "overall fields"), ("text", "fn1-02", "fields a model")],
        [("5", "total", "sports rate"), ("text", "s4.1-32", "pass rate of sports")],
        [("5", "GPT-5", "credit fields"), ("10", "Gemini 3 Pro", "fields")],
        [("2", "total", "gold_values"), ("text", "abstract-02", "gold values")],
        [("8", "total", "credit rate"), ("text", "s4.3-18", "structured pass rate of credit")],
        [("7", "empty", "GPT-5"), ("text", "s4.2-42", "failures of GPT-5 by empty")],
    ],
)
def test_a_quantity_has_one_name_and_one_printed_value(
    places: list[tuple[str, str, str]],
) -> None:
    figures = {(f.table, f.row, f.column): f for part in PARTS for f in rows_of(part)}
    assert len({quantity_of(figures[place]) for place in places}) == 1
    assert len({figures[place].value for place in places}) == 1


def test_figures_of_one_quantity_agree_where_they_are_printed_alike() -> None:
    """One name for two quantities would show as different numbers."""
    rows = [
        (quantity_of(figure), figure.digits, figure.unit, figure.value)
        for part in PARTS
        for figure in rows_of(part)
        if figure.value is not None and not figure.printed.startswith(("~", "<"))
    ]
    frame = pd.DataFrame(rows, columns=["quantity", "digits", "unit", "value"])
    values = frame.groupby(["quantity", "digits", "unit"])["value"].unique()
    differing = {key[0]: sorted(found) for key, found in values.items() if len(found) > 1}
    # the paper contradicts itself in these
    assert differing == {
        "domains": [4.0, 5.0],
        "longest credit": [218.0, 250.0],
        "share of malformed": [pytest.approx(100 / 3), 39.0],
        "shortest credit": [97.0, 100.0],
    }


def test_the_readme_counts_as_the_functions_do() -> None:
    text = (Path(__file__).parents[2] / "README.md").read_text(encoding="utf-8")
    counted = paper.summary()
    for row in counted.to_dict("records"):
        cells = (row[name] for name in ("check", "figures", "quantities", "equal", "differs"))
        assert f"| {' | '.join(map(str, cells))} |" in text
    sums = [str(counted[name].sum()) for name in ("figures", "equal", "differs")]
    assert f"| **all** | {sums[0]} | | {sums[1]} | {sums[2]} |" in text
    errata = paper.errata()
    about = ", ".join(
        f"{count} about the {name}" for name, count in errata["about"].value_counts().items()
    )
    high = (errata["severity"] == "high").sum()
    assert f"There are {len(errata)} errata" in text
    assert f"({about}), {high} rated high severity" in " ".join(text.split())
