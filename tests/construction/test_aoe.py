"""AOE's published figures: what was typed, and the numbers of the errata, recomputed."""

import csv
import os
from pathlib import Path

import pytest

from extractbench_nb.construction import aoe
from extractbench_nb.construction.table_dataset import aoe_columns, shipped
from extractbench_nb.errors import InputError

FOLDER = Path(os.environ.get("EXTRACTBENCH_CONFORMANCE", "absent")).parent / "aoe" / "aoe-published"
recorded = pytest.mark.skipif(not FOLDER.is_dir(), reason="needs the published figures")
DOMAINS = ("financial", "legal", "academic")


def rows_of(name: str) -> list[dict[str, str]]:
    with (FOLDER / f"{name}.csv").open(encoding="utf-8") as file:
        return list(csv.DictReader(file))


@recorded
@pytest.mark.parametrize("name", ["cot", "rag"])
def test_typed_results_are_the_published_ones(name: str):
    table = aoe.published(name)
    figures = shipped("aoe_figures").query("table == @name")
    models = dict(zip(figures["row"], figures["label"], strict=True))
    found = {
        (models[str(row)], str(row).split(" ")[1], column): value
        for (row, column), value in table.stack().items()
    }
    assert found == {
        (row["model"], row["setting"], f"{row['domain']} {metric}"): float(row[metric])
        for row in rows_of(name)
        for metric in ("llm_score", "pass_rate", "cell_f1")
    }


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
    assert len(found) == 18
    for (language, task), roles in found.items():
        assert aoe_columns(language, task) == tuple(tuple(names) for names in roles.values())


def test_unknown_table():
    with pytest.raises(InputError, match="no table 'cod'; did you mean 'cot'"):
        aoe.published("cod")


def test_checks_have_a_truthful_kind():
    checks = aoe.checks()
    assert set(checks["check"]) == set(aoe.KINDS)
    # the only data of AOE that are here are the two tables of its README's example
    assert set(checks.loc[checks["check"] == aoe.KINDS[0], "table"]) == {"example"}
    assert checks.loc[checks["table"] == "example", "agrees"].all()
    differ = checks[~checks["agrees"]].groupby("table").size()
    assert differ.to_dict() == {"cot": 16, "domains": 1, "rag": 14, "text": 2}


# --- the errata ------------------------------------------------------------------------------

ERRATA = aoe.errata().set_index("id")
COT, RAG, SIZES = (aoe.published(name) for name in ("cot", "rag", "domains"))
RATES = [f"{domain} pass_rate" for domain in DOMAINS]


def published(erratum: str) -> list[str]:
    return list(ERRATA.loc[erratum, ["published", "recomputed"]])


def test_one_permutation_of_models_fits_all_pass_rates():
    owners = {
        row.split()[0]: [
            other.split()[0]
            for other in RAG.index
            if other.endswith(" +CoT")
            and (COT.loc[row, RATES] - RAG.loc[other, RATES]).abs().max() < 0.505
        ]
        for row in COT.index
        if row.endswith(" +CoT")
    }
    owners = {model: found for model, found in owners.items() if found}
    explanation = ERRATA.loc["pass-rates-of-other-models", "explanation"]
    for model, (owner,) in owners.items():
        assert f"{model} has those of {owner}" in explanation
    assert len({owner for (owner,) in owners.values()}) == len(owners) == 6
    shared = list(set(COT.index) & set(RAG.index))
    others = [name for name in COT.columns if name not in RATES]
    assert (COT.loc[shared, others] == RAG.loc[shared, others]).sum().sum() == 36
    assert published("pass-rates-of-other-models")[1].startswith("GLM: 80.49")


def test_impossible_pass_rates():
    impossible = [
        f"{row} {domain} {RAG.loc[row, f'{domain} pass_rate']:.2f}"
        for row in RAG.index
        for domain in DOMAINS
        for tables in [int(SIZES.loc[domain, "tables"])]
        if all(
            abs(RAG.loc[row, f"{domain} pass_rate"] - 100 * n / tables) > 0.005 + 1e-9
            for n in range(tables + 1)
        )
    ]
    explanation = ERRATA.loc["impossible-pass-rates", "explanation"]
    assert published("impossible-pass-rates") == ["36 pass rates", f"{len(impossible)} impossible"]
    assert all(rate in explanation for rate in impossible)


def test_other_errata():
    best = COT.loc[COT.index.str.endswith("+CoT")]
    assert max(best[f"{domain} llm_score"].max() for domain in DOMAINS) == 80.65
    assert published("best-llm-score") == ["~68%", "80.65% (legal)"]
    second = best["financial cell_f1"].sort_values(ascending=False).index[1]
    assert second == "Doubao +CoT"
    assert best.loc[second, ["financial llm_score", "financial cell_f1"]].tolist() == [63.78, 22.36]
    tokens, tables, documents = (SIZES[n] for n in ("tokens", "tables", "documents"))
    assert tokens.mean() == pytest.approx(171_000, abs=500)
    assert (tokens * tables).sum() / tables.sum() == pytest.approx(277_500, abs=50)
    assert (tokens * documents).sum() / documents.sum() == pytest.approx(227_400, abs=50)
    assert documents["legal"] / tables["legal"] == pytest.approx(9.51, abs=0.005)
    assert SIZES.loc["legal", "documents_per_table"] == 9.6
    assert SIZES["documents_per_table"].min() == 3.5
    assert SIZES["most_documents"].max() == 13
    assert RAG["academic pass_rate"].idxmax() == "Qwen +RAG+CoT"
    values = aoe_columns("zh", "financial_0")
    assert values is not None
    assert round(1 - 1 / len(values[1]), 3) == 0.857
    severities = list(ERRATA["severity"])
    assert severities == sorted(severities, key=["high", "medium", "low"].index)
    assert len(ERRATA) == 10
    assert set(ERRATA["about"]) == {"README", "code", "dataset card", "paper"}
