"""AOE's published figures: what was typed, what can be recomputed, and what contradicts it."""

import csv
import os
from pathlib import Path

import pandas as pd
import pytest

from extractbench_nb.construction import aoe, load
from extractbench_nb.construction.aoe import (
    COMPARE_COLUMNS,
    FIGURE_COLUMNS,
    owners_of_pass_rates,
)
from extractbench_nb.construction.loading import aoe_columns
from extractbench_nb.errors import InputError

FOLDER = Path(os.environ.get("EXTRACTBENCH_CONFORMANCE", "absent")).parent / "aoe" / "aoe-published"
recorded = pytest.mark.skipif(not FOLDER.is_dir(), reason="needs the published figures")


def rows_of(name: str) -> list[dict[str, str]]:
    with (FOLDER / f"{name}.csv").open(encoding="utf-8") as file:
        return list(csv.DictReader(file))


@recorded
@pytest.mark.parametrize("name", ["cot", "rag"])
def test_typed_results_are_the_published_ones(name: str):
    frame = aoe.figures(name)
    found = {
        (label, row.split(" ")[1], column): value
        for label, row, column, value in zip(
            frame["label"], frame["row"], frame["column"], frame["value"], strict=True
        )
    }
    expected = {
        (row["model"], row["setting"], f"{row['domain']} {metric}"): float(row[metric])
        for row in rows_of(name)
        for metric in ("llm_score", "pass_rate", "cell_f1")
    }
    assert found == expected


@recorded
def test_typed_statistics_and_columns_are_the_published_ones():
    table = aoe.published("domains")
    for row in rows_of("domains"):
        names = ("tables", "documents", "avg_tokens_k", "docs_per_table_mean", "docs_per_table_max")
        expected = [float(row[name]) for name in names]
        expected[2] *= 1000
        assert table.loc[row["domain"]].tolist() == expected
    found: dict[tuple[str, str], dict[str, list[str]]] = {}
    for row in rows_of("tasks"):
        roles = found.setdefault(
            (row["language"], row["task"]), {"key": [], "target": [], "numeric": []}
        )
        roles[row["role"]].append(row["column"])
    for (language, task), roles in found.items():
        assert aoe_columns(language, task) == tuple(tuple(names) for names in roles.values())


@pytest.mark.parametrize(
    "table, statuses",
    [
        ("cot", {"not reproducible": 144, "differs": 16, "equal": 2}),
        ("rag", {"not reproducible": 72, "equal": 22, "differs": 14}),
        ("domains", {"not reproducible": 12, "equal": 2, "differs": 1}),
        ("text", {"equal": 5, "differs": 4}),
    ],
)
def test_what_can_be_recomputed(table: str, statuses: dict[str, int]):
    frame = aoe.compare(table)
    assert frame["status"].value_counts().to_dict() == statuses
    assert frame.loc[frame["status"] != "equal", "reason"].notna().all()
    assert len(frame) == len(aoe.figures(table)) == aoe.published(table).notna().sum().sum()
    scores = frame[frame["column"].str.contains("llm_score|cell_f1") & (frame["table"] != "text")]
    assert set(scores["status"]) <= {"not reproducible"}


def test_one_permutation_of_models_fits_all_pass_rates():
    owners = {model: found for model, found in owners_of_pass_rates().items() if found}
    assert owners == {
        "Mistral": ["GLM"],
        "Gemma": ["Qwen"],
        "DeepSeek": ["Doubao"],
        "GLM": ["DeepSeek"],
        "Doubao": ["Gemini"],
        "Gemini": ["Gemma"],
    }


@pytest.mark.parametrize(
    "erratum, published, recomputed",
    [
        ("pass-rates-of-other-models", "Mistral: 80, 87, 72", "GLM: 80.49, 86.67, 71.62"),
        ("impossible-pass-rates", "36 pass rates", "14 impossible"),
        ("bold-rag-academic-pass-rate", "GLM +RAG+CoT, 96.97", "Qwen +RAG+CoT, 100.00"),
        ("best-llm-score", "~68%", "80.65% (legal)"),
        ("third-place", "Qwen: 62.33, F1 14.78", "Doubao: 63.78, F1 22.36"),
        ("average-tokens", "171k", "278k per table"),
        ("documents-per-table-legal", "9.6", "9.51"),
        ("documents-per-table", "4-10", "3.5 on average to 13"),
        ("column-recall-of-the-example", "1.0", "0.857"),
        ("stray-quote-legal-1", '剥夺政治权利"', "剥夺政治权利"),
    ],
)
def test_errata(erratum: str, published: str, recomputed: str):
    frame = aoe.errata().set_index("id")
    assert len(frame) == 10
    assert frame.loc[erratum, ["published", "recomputed"]].tolist() == [published, recomputed]


def test_explanations_hold_the_figures():
    why = aoe.errata().set_index("id")["explanation"]
    assert "all 18 pass rates" in why["pass-rates-of-other-models"]
    assert "same score and F1 in 36 of 36 cells" in why["pass-rates-of-other-models"]
    assert "Gemma +RAG+CoT financial 96.85 (222 tables)" in why["impossible-pass-rates"]
    assert (
        "~68% is the best score in the financial domain, ~42% the best F1 in the legal"
        in (why["best-llm-score"])
    )
    assert "(171k)" in why["average-tokens"]
    assert "713 documents / 75 tables" in why["documents-per-table-legal"]
    severities = aoe.errata()["severity"].tolist()
    assert severities == sorted(severities, key=["high", "medium", "low"].index)


def test_statistics_of_a_dataset():
    frame = aoe.compare("domains", dataset=load()).set_index(["row", "column"])
    legal = frame.loc["legal"]
    assert legal.loc["tables", ["recomputed", "status"]].tolist() == [1.0, "differs"]
    assert frame.loc[("financial", "tables"), "status"] == "not reproducible"  # ours say finance


def test_tables_that_do_not_exist():
    for call in (aoe.figures, aoe.published, aoe.compare):
        with pytest.raises(InputError, match="no table 'cod'; did you mean 'cot'"):
            call("cod")
    with pytest.raises(InputError, match="no table 3"):
        aoe.compare(3)  # type: ignore[arg-type]


def test_frames_have_their_declared_columns():
    assert list(aoe.figures().columns) == FIGURE_COLUMNS.names
    assert list(aoe.compare("rag").columns) == COMPARE_COLUMNS.names
    assert isinstance(aoe.published("cot"), pd.DataFrame)
    assert aoe.published("cot").shape == (18, 9)
