"""Tables of pages and documents: pairs of unknown correspondence, sums over all positions.

Recorded values are those of the package grits-metric 0.7.0, which is compared too if installed.
"""

import pickle
import random
from itertools import permutations
from typing import Any

import pandas as pd
import pytest

import extractbench_nb as xb
from notebooks.made_up_tables import made_up_tables

NAMES = "<table><tr><td>Name</td><td>Score</td></tr><tr><td>Alice</td><td>95</td></tr></table>"
TOWNS = "<table><tr><td>City</td><td>Pop</td></tr><tr><td>NYC</td><td>8M</td></tr></table>"


def html(*rows: str) -> str:
    cells = ("".join(f"<td>{text}</td>" for text in row) for row in rows)
    return f"<table>{''.join(f'<tr>{row}</tr>' for row in cells)}</table>"


#: One table that is right, and one page with two tables for one.
SAMPLES = [
    ([html("ABC", "DEF", "GHI")], [html("ABC", "DEF", "GHI")]),
    ([html("XY")], [html("A", "B"), html("PQ", "RS")]),
]


@pytest.mark.parametrize(
    "true, predicted, top, con",
    [
        ([NAMES, TOWNS], [TOWNS, NAMES], 1, 1),
        ([NAMES, TOWNS], [TOWNS, NAMES.replace("95", "90")], 1, 0.9375),
        ([NAMES, TOWNS], [TOWNS, "Sorry.", None, NAMES], 1, 1),
        ([NAMES, TOWNS], NAMES, 2 / 3, 2 / 3),
        (NAMES, [NAMES, TOWNS], 2 / 3, 2 / 3),
        ([NAMES], [], 0, 0),
        ([], [NAMES], 0, 0),
        ([NAMES], ["Sorry."], 0, 0),
    ],
)
def test_scores_of_pages(true: Any, predicted: Any, top: float, con: float) -> None:
    found = xb.tables.grits(true, predicted)
    assert found.scores["fscore"].to_dict() == pytest.approx({"top": top, "con": con})
    assert (found.scores["fscore"] <= found.scores["upper_bound"] + 1e-12).all()


@pytest.mark.parametrize("form", [list, tuple, xb.tables.read_table, "cells", "rows", "frame"])
def test_forms_of_lists(form: Any) -> None:
    """Whatever a table is written as, a list of them is a page, and one of them is not."""
    first, second = map(xb.tables.read_table, (NAMES, TOWNS))
    forms: dict[Any, Any] = {
        "cells": lambda table: list(table.cells),
        "rows": lambda table: table.texts,
        "frame": lambda table: table.to_frame(),
    }
    write = forms.get(form, lambda table: table)
    page = [write(first), write(second)]
    if form is tuple:
        page = tuple(page)  # type: ignore[assignment]
    found = xb.tables.grits(page, page[::-1], "con")
    assert isinstance(found, xb.tables.PageGriTS)
    assert found.scores.loc["con", "fscore"] == 1
    assert found.pairs[["true", "predicted"]].to_numpy().tolist() == [[0, 1], [1, 0]]
    assert isinstance(xb.tables.grits(write(first), write(first)), xb.tables.GriTS)


@pytest.mark.parametrize(
    "page",
    [
        f"<h1>A page</h1>{TOWNS}<p>and</p>{NAMES}",
        f"<table><tr><td>{TOWNS}</td></tr></table>{NAMES}",
        "|City|Pop|\n|---|---|\n|NYC|8M|\n\nand\n\n|Name|Score|\n|---|---|\n|Alice|95|\n",
    ],
)
def test_a_text_with_several_tables(page: str) -> None:
    found = xb.tables.grits([NAMES, TOWNS], page, "con")
    assert found.scores.loc["con", "fscore"] > 0.6
    assert [len(found.true), len(found.predicted)] == [2, 2]
    assert found.pairs["predicted"].tolist() == [1, 0]


def test_pairs_have_the_greatest_sum() -> None:
    rng = random.Random(4)
    true = [html(*("".join(rng.choices("abc", k=3)) for _ in range(3))) for _ in range(4)]
    predicted = [html(*("".join(rng.choices("abc", k=3)) for _ in range(2))) for _ in range(4)]
    one = [[xb.tables.grits(t, p, "con").scores for p in predicted] for t in true]
    sums = [[9 * scores.loc["con", "recall"] for scores in row] for row in one]
    best = max(sum(sums[n][m] for n, m in enumerate(order)) for order in permutations(range(4)))
    found = xb.tables.grits(true, predicted, "con")
    assert found.scores.loc["con", "recall"] == pytest.approx(best / 36)
    assert found.pairs["similarity"].sum() == pytest.approx(best)


def test_a_page_says_what_it_could_not_read() -> None:
    found = xb.tables.grits([NAMES, TOWNS], ["Sorry.", TOWNS])
    assert "predicted table 0 is the text 'Sorry.'" in found.unreadable[0]
    assert "2 against 2 tables, 1 unreadable" in repr(found)
    assert "<table" in found._repr_html_()
    with pytest.raises(xb.InputError, match=r"true table 1 is the text 'Sorry\.'"):
        xb.tables.grits([NAMES, "Sorry."], [NAMES])
    with pytest.raises(xb.InputError, match="true, cell 0 has no bbox"):
        xb.tables.grits([NAMES], [NAMES], "loc")


def test_micro_beside_mean() -> None:
    found = xb.tables.evaluate_tables(SAMPLES)
    expected = {
        "tables": 2,
        "grits_top": 0.75,
        "grits_top_micro": 0.8462,
        "grits_con": 0.5,
        "grits_con_micro": 0.6923,
    }
    assert found.summary[[*expected]].tolist() == pytest.approx([*expected.values()], abs=1e-4)
    assert "bleu_micro" not in xb.tables.evaluate_tables(SAMPLES[:1], metrics="bleu").summary
    with pytest.raises(xb.InputError, match="1: 'teds' compares two tables; lists of tables"):
        xb.tables.evaluate_tables(SAMPLES, metrics="teds")


def test_an_unreadable_table_counts_as_empty() -> None:
    found = xb.tables.evaluate_tables({"x": (NAMES, NAMES), "y": (NAMES, "Sorry.")})
    lost = found.scores[found.scores["document"] == "y"]
    assert lost[["score", "precision", "recall"]].to_numpy().tolist() == [[0, 1, 0]] * 2
    assert not lost["readable"].any()
    assert lost["problem"].str.contains("no table was found").all()
    micro = found.summary[["grits_top_micro", "grits_con_micro"]].tolist()
    assert micro == pytest.approx([2 / 3] * 2)


def pages(count: int) -> list[tuple[list[xb.tables.Table], list[xb.tables.Table]]]:
    """Pages of up to three tables, in another order, with rows lost and texts misread."""
    rng, tables = random.Random(9), iter(made_up_tables(3 * count, rows=7, columns=5))
    made = []
    for _ in range(count):
        true = [next(tables) for _ in range(rng.randint(1, 3))]
        predicted = []
        for table in true[rng.random() < 0.2 :]:
            rows, columns = table.grid.shape
            part = table.part([r for r in range(rows) if r != rng.randrange(rows)], range(columns))
            predicted.append(part if rng.random() < 0.5 else table)
        rng.shuffle(predicted)
        made.append((true, predicted))
    return made


def test_against_the_package_of_the_authors() -> None:
    grits = pytest.importorskip("grits", reason="needs grits-metric")
    evaluator, made = grits.GritsEvaluator(["top", "con", "loc"]), pages(12)
    for page in made:
        evaluator.eval_table_cell_lists(
            *(
                [
                    [
                        grits.TableCell(list(c.rows), list(c.columns), c.text, list(c.box or ()))
                        for c in table.cells
                    ]
                    for table in side
                ]
                for side in page
            )
        )
    names = ["grits_top", "grits_con", "grits_loc"]
    summary = xb.tables.evaluate_tables(made, metrics=names).summary
    micro, macro = evaluator.compute_grits(), evaluator.compute_mean_grits_per_sample()
    for name in names:
        assert summary[f"{name}_micro"] == pytest.approx(micro[name], abs=1e-6)
        assert summary[name] == pytest.approx(macro[f"mean_{name}_per_sample"], abs=1e-6)


# --- the result protocol ---


def test_rows_of_positions() -> None:
    true = "Year,Sales\n2023,10\n2024,12"
    found = xb.tables.evaluate_tables({"d": (true, "Year,Sales,Extra\n2023,11,x")})
    rows = found.rows
    assert rows["outcome"].value_counts().to_dict() == {
        "correct": 3,
        "incorrect": 1,
        "omission": 2,
        "hallucination": 2,
    }
    wrong = rows[rows["outcome"] == "incorrect"].iloc[0]
    assert wrong[["field", "row", "column", "gold", "predicted"]].tolist() == [
        "Sales",
        1,
        1,
        "10",
        "11",
    ]
    assert wrong["score"] == 0.5
    # the similarities of positions add up to the score
    total = 2 * rows["score"].sum() / (6 + 6)
    assert found.summary["grits_con"] == pytest.approx(total)


def test_statistics_take_tables() -> None:
    true = "Year,Sales\n2023,10\n2024,12"
    given = {f"d{n}": (true, true) for n in range(8)}
    worse = {name: (true, true.rpartition("\n")[0]) for name in given}
    runs = {name: xb.tables.evaluate_tables(pairs) for name, pairs in (("a", given), ("b", worse))}
    compared = xb.compare_runs(runs, measures=["grits_con"])
    assert compared.differences["b_minus_a"].tolist() == pytest.approx([0.2])
    both = [
        {"run": run, "document": name, "true": true, "predicted": pair[1]}
        for run, pairs in (("a", given), ("b", worse))
        for name, pair in pairs.items()
    ]
    alone = xb.tables.evaluate_tables(pd.DataFrame(both))
    assert xb.compare_runs(alone).scores["measure"].unique().tolist() == ["grits_top", "grits_con"]
    again = pickle.loads(pickle.dumps(alone))  # noqa: S301 - its own
    assert again.rows.equals(alone.rows)
    counts = xb.breakdown(runs, ["run", "outcome"]).set_index(["run", "outcome"])["rows"]
    assert counts.to_dict() == {
        ("a", "correct"): 48,
        ("b", "correct"): 32,
        ("b", "omission"): 16,
    }
    assert xb.breakdown(runs["b"], "field")["field"].tolist() == ["Sales", "Year"]
    assert xb.difficulty(runs)["pass_rate"].tolist() == pytest.approx([5 / 6] * 2)


@pytest.mark.parametrize("form", ["pairs", "pages", "images"])
def test_results_follow_the_protocol(form: str) -> None:
    from extractbench_nb.core.frames import ROW_COLUMNS, SCORE_COLUMNS, ScoredResult

    tables = made_up_tables(3, rows=6, columns=4)
    if form == "images":
        images = {f"i{n}": (xb.tables.to_objects(t), None) for n, t in enumerate(tables)}
        words = {
            name: (objects, [{"text": c.text, "bbox": c.box} for c in table.cells if c.text])
            for (name, (objects, _)), table in zip(images.items(), tables, strict=True)
        }
        answers = {"i0": words["i0"][0], "i1": "Sorry."}
        result: Any = xb.tables.evaluate_images(words, answers)
    elif form == "pages":
        result = xb.tables.evaluate_tables([(tables, tables[1:]), (tables[:1], [])])
    else:
        result = xb.tables.evaluate_tables({"x": (tables[0], tables[1]), "y": (tables[0], "-")})
    assert isinstance(result, ScoredResult)
    assert {*ROW_COLUMNS.names} <= {*result.rows}
    assert {*SCORE_COLUMNS.names} <= {*result.scores}
    assert {*result.scores["measure"]} <= {*result.summary.index}
    by_document = result.rows.groupby("document", sort=False)
    sizes = by_document["gold_state"].agg(lambda states: (states == "present").sum())
    con = result.scores[result.scores["measure"] == "grits_con"].set_index("document")
    recall = by_document["score"].sum() / sizes
    for document in sizes.index:
        assert float(con.loc[document, "recall"]) == pytest.approx(recall[document])
