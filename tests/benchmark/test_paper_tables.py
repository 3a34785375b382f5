"""The paper's tables: printed, recomputed, compared, laid out; errata and claims."""

import json
import os
import re
import shutil
import subprocess
import sys
from fractions import Fraction
from pathlib import Path

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from extractbench_nb import benchmark
from extractbench_nb.benchmark.complexities import facts_of
from extractbench_nb.benchmark.paper_tables import COMPARE_COLUMNS
from extractbench_nb.benchmark.published import (
    ABOUT,
    CHECKS,
    CLAIM_COLUMNS,
    DECLARED,
    DOMAINS,
    ERRATA_COLUMNS,
    MODELS,
    PARTS,
    RECOMPUTED,
    SEVERITIES,
    STATUSES,
    VERDICTS,
    Cell,
    Figure,
    status_of,
    tally,
)
from extractbench_nb.errors import InputError
from extractbench_nb.runs.dataset import Dataset, load_dataset
from tests.benchmark.test_published import figures

ROOT = Path(__file__).parents[2]
TABLES = [part for part in PARTS if part != "text"]

#: Printed figures: equal, rounding, differs, declared, not reproducible.
REPRODUCED = {
    "1": (15, 0, 0, 0, 5),
    "2": (14, 0, 2, 0, 2),
    "3": (6, 0, 1, 0, 5),
    "4": (0, 0, 0, 9, 7),
    "5": (160, 0, 6, 0, 1),
    "6": (20, 0, 9, 0, 1),
    "7": (6, 0, 0, 0, 30),
    "8": (7, 0, 3, 0, 18),
    **{str(number): (18, 0, 0, 0, 12) for number in range(9, 14)},
    "figure2": (0, 0, 2, 0, 0),
    "text": (144, 0, 22, 8, 13),
}
#: Figures and equal ones by kind of check.
KINDS = dict(zip(CHECKS, [(152, 123), (145, 131), (209, 208), (18, 0)], strict=True))


@pytest.fixture(scope="module")
def compared() -> pd.DataFrame:
    return benchmark.compare()


def test_how_much_is_reproduced_and_by_which_check(compared: pd.DataFrame) -> None:
    counts = pd.crosstab(compared["table"], compared["status"]).reindex(
        index=list(PARTS), columns=list(STATUSES), fill_value=0
    )
    assert {n: tuple(row) for n, row in zip(counts.index, counts.values, strict=True)} == REPRODUCED
    kinds = {
        check: (len(rows), rows["status"].eq("equal").sum())
        for check, rows in compared.groupby("check")
    }
    assert kinds == KINDS


def test_every_figure_is_compared_and_explained(compared: pd.DataFrame) -> None:
    of_runs = {"run", "low", "high"}
    assert compared.columns.tolist() == [n for n in COMPARE_COLUMNS.names if n not in of_runs]
    printed = figures()
    same = ["table", "row", "column", "printed"]
    assert compared[same].to_numpy().tolist() == printed[same].to_numpy().tolist()
    has_reason = compared["status"].isin(["differs", "not reproducible"])
    assert (compared["reason"].notna() == has_reason).all()
    unknown = compared["status"] == "not reproducible"
    assert (compared["shown"].isna() == unknown).all()
    assert (compared["check"].isna() == unknown).all()
    gap = compared["recomputed"] - compared["published"]
    assert (compared["difference"].isna() == gap.isna()).all()
    assert (compared["difference"] - gap).abs().max() < 1e-9


def test_sources_fit_the_kinds_of_checks(compared: pd.DataFrame) -> None:
    of_tables = compared["source"].str.startswith(("Table", "section"), na=False)
    printed = compared["check"].isin(["derived from printed counts", "repeated"])
    assert of_tables[printed].all()
    assert not of_tables[compared["check"] == RECOMPUTED].any()
    declared = compared["check"] == DECLARED
    assert set(compared.loc[declared, "status"]) == {DECLARED, "differs"}
    assert compared.loc[declared, "source"].str.contains(r"presets|, rows").all()


def test_what_repeats_a_figure_prints_the_same_number(compared: pd.DataFrame) -> None:
    printed = figures()
    printed.index = printed["table"] + " > " + printed["row"] + " > " + printed["column"]
    repeating = printed[printed["repeats"] != ""]
    assert repeating.index.tolist() == [
        f"{row.table} > {row.row} > {row.column}"
        for row in compared[compared["check"] == "repeated"].itertuples()
    ]
    differing = []
    for row in repeating.itertuples():
        first = printed.loc[row.repeats]
        assert first["repeats"] == ""
        unit = 10.0 ** -min(row.digits, first["digits"])
        if abs(row.value - first["value"]) > 0.5001 * unit:
            differing.append((row.printed, first["printed"]))
    assert differing == [("39%", "nearly a third")]  # the paper contradicts itself


@pytest.mark.parametrize("part", TABLES)
def test_a_table_lies_on_the_published_one(part: str) -> None:
    table, printed = benchmark.table(part), benchmark.table(part, values="published")
    assert table.attrs["source"]
    if part == "figure2":
        assert set(printed.columns) <= set(table.columns)
        assert set(printed.index) <= set(table.index)
    else:
        assert table.index.tolist() == printed.index.tolist()
        assert table.columns.tolist() == printed.columns.tolist()


@pytest.mark.parametrize(
    "part, row, column, shown",
    [
        ("2", "research", "gold_values", "2,003"),
        ("3", "total", "hours_per_document", "1.9"),
        ("5", "GPT-5", "accuracy", "80.4%"),
        ("6", "sports", "tokens", "3,416"),
        ("6", "credit", "tokens", "883"),
        ("6", "10-K/Q", "tokens", "24,418"),
        ("6", "research", "tokens", "25,370"),
        ("6", "resumes", "tokens", "3,184"),
        ("6", "research", "array_items", "310.3"),
        ("6", "10-K/Q", "array_items", "183.0"),
        ("8", "total", "research rate", "24.5%"),
        ("8", "total", "sports rate", "12.2%"),
        ("8", "total", "credit rate", "54.2%"),
        ("text", "s4.2-10", "highest validity of GPT-5 without credit", "40%"),
    ],
)
def test_known_figures(
    compared: pd.DataFrame, part: str, row: str, column: str, shown: str
) -> None:
    frame = compared.set_index(["table", "row", "column"])
    assert frame.loc[(part, row, column), "shown"] == shown


def test_counts_are_those_of_table_5() -> None:
    frame, printed = benchmark.counts(), benchmark.table(5, values="published")
    by_model = frame.groupby("model")[["valid", "passed", "fields"]].sum()
    for model in MODELS:
        assert by_model.loc[model].tolist() == [
            printed.loc[model, c] for c in ("valid", "overall passed", "overall fields")
        ]
        own = frame[frame["model"] == model].set_index("domain")["passed"]
        assert own.to_dict() == {d: printed.loc[model, f"{d} passed"] for d in DOMAINS}


def test_structured_counts_give_every_printed_share_back() -> None:
    printed = benchmark.table(8, values="published")
    for model in MODELS:
        for domain in ("credit", "research", "sports"):
            counted = tally(model, domain, "structured")
            share = round(100 * counted.passed / counted.fields, 1)
            assert share == printed.loc[model, f"{domain} rate"]
    assert benchmark.counts("structured")["valid"].dropna().eq(0).all()


@given(total=st.integers(1, 5000), part=st.integers(0, 5000), digits=st.integers(0, 2))
def test_what_is_printed_from_a_share_is_equal_to_it(total: int, part: int, digits: int) -> None:
    share = float(Fraction(100 * min(part, total), total))
    printed = f"{share:.{digits}f}"
    figure = Figure("5", "", "", "", float(printed), "%", digits, printed, False, False, "")
    assert status_of(figure, Cell(share, "")) == "equal"
    off = float(printed) + 2.01 * 10.0**-digits
    assert status_of(figure, Cell(off, "")) == "differs"


@pytest.mark.parametrize(
    "printed, value, unit, recomputed, status",
    [
        ("1,998", 1998, "values", 2003, "differs"),
        ("14", 14, "failures", 15, "differs"),
        ("72.9%", 72.9, "%", 72.8, "rounding"),
        ("25k", 25000, "tokens per document", 25370.0, "equal"),
        ("25k", 25000, "tokens per document", 27600.0, "differs"),
        ("100+", 100, "items", 160, "equal"),
        ("100+", 100, "items", 11, "differs"),
        ("85%+", 85, "%", 80.8, "differs"),
        ("<1×", 1, "ratio", 0.4, "equal"),
        ("<1×", 1, "ratio", 2.6, "differs"),
        ("5", 5, "keys", None, "not reproducible"),
        ("6.2%", 6.2, "%", 6.25, "equal"),
        ("6.3%", 6.3, "%", 6.25, "equal"),
    ],
)
def test_status(
    printed: str, value: float, unit: str, recomputed: float | None, status: str
) -> None:
    digits = -3 if "k" in printed else 1 if "." in printed else 0
    figure = Figure("1", "", "", "", value, unit, digits, printed, False, False, "")
    assert status_of(figure, Cell(recomputed, "")) == status
    if recomputed is not None:  # a printed or a declared figure is never its own proof
        assert status_of(figure, Cell(recomputed, "", is_printed=True)) == "not reproducible"
        declared = status_of(figure, Cell(recomputed, "", is_declared=True))
        assert declared == (DECLARED if status == "equal" else status)


@pytest.mark.parametrize(
    "call, message",
    [
        (lambda: benchmark.table("text"), r"compare\('text'\)"),
        (lambda: benchmark.table(20, values="published"), "no table 20"),
        (lambda: benchmark.style("text"), r"compare\('text'\)"),
        (lambda: benchmark.style(5, values="all"), "one of both, published, recomputed"),
        (lambda: benchmark.table(5, values="both"), "one of published, recomputed"),
        (lambda: benchmark.counts("plain"), "expected 'prompt' or 'structured'"),
        (lambda: benchmark.compare(True), "no table True"),
        (lambda: benchmark.compare("figure 2"), "did you mean 'figure2'"),
        (
            lambda: benchmark.table(1, dataset=load_dataset("sample")),
            r"dataset 'sample' has the schemas .* rowing.* swimming",
        ),
    ],
)
def test_errors(call, message: str) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(InputError, match=message):
        call()


# --- the paper's layout --------------------------------------------------------------------


@pytest.mark.parametrize("part", ["1", "2", "3", "6", "7", "8", *map(str, range(9, 14))])
def test_the_printed_table_is_written_as_printed(part: str) -> None:
    rows = [
        [cell.strip("* ") for cell in line.strip("|\n").split("|")]
        for line in benchmark.style(part).to_markdown().replace("†", "").splitlines()[4:]
    ]
    printed = figures(part)
    printed = printed[printed["unit"] != "words"]
    assert [row[0] for row in rows] == printed["label"].drop_duplicates().tolist()
    for row in rows:
        written = re.findall(r"[\d,.]+%?", " ".join(row[1:4] if part == "1" else row[1:]))
        own = printed.loc[printed["label"] == row[0], "printed"]
        assert written == [text.replace("—", "0") for text in own]


@pytest.mark.parametrize("values", ["published", "recomputed"])
def test_a_dagger_marks_what_differs(values: str) -> None:
    for part in ("1", "2", "3", "6", "8", "9"):
        differing = benchmark.compare(part)["status"].isin(["differs", "rounding"]).sum()
        written = benchmark.style(part, values=values).to_markdown()
        assert written.count("†") == differing + (differing > 0), part  # and in the caption
    total = benchmark.style(8, values=values).to_markdown().splitlines()[-1]
    assert ("14.7%†" in total) == (values == "published")
    assert ("24.5%†" in total) == (values == "recomputed")


def test_both_puts_what_differs_or_is_unknown_in_brackets() -> None:
    for part in ("1", "2", "3", "6", "8", "9"):
        compared = benchmark.compare(part)
        differing = compared["status"].isin(["differs", "rounding"])
        unknown = compared["status"].eq("not reproducible") & compared["published"].notna()
        taken = benchmark.table(part).attrs["source"].count("as printed") > 0  # data of the paper
        written = benchmark.style(part, values="both").to_markdown()
        assert written.count(" [") == differing.sum() + (0 if taken else unknown.sum()), part
        plain = re.sub(r" \[[^\]]*\]", "", written).splitlines()[2:]
        assert plain == benchmark.style(part).to_markdown().splitlines()[2:]
    both = benchmark.style("figure2", values="both").to_markdown()
    assert "80×† [97.49]" in both
    assert "| 5/6 |" in both


def test_tokens_of_scans_are_unknown() -> None:
    figure = benchmark.table("figure2")
    assert figure["with_text"].to_dict() == {
        "sports": 5,
        "credit": 10,
        "research": 5,
        "resumes": 2,
        "10-K/Q": 7,
    }
    assert figure.loc["resumes", ["input_tokens", "ratio"]].astype(float).round(2).tolist() == [
        3768.0,
        0.52,
    ]
    bounds = figure.loc["research", ["ratio", "ratio_all", "ratio_all_low"]].astype(float)
    assert bounds.round(2).tolist() == [2.62, 2.13, 1.42]
    assert figure.loc["research", "output_all"] == benchmark.table(6).loc["research", "tokens"]


def test_bold_red_and_headings_of_table_5() -> None:
    made = benchmark.style(5, values="recomputed")
    html, markdown, latex = made.to_html(), made.to_markdown(), made.to_latex()
    assert "**47/96 (49.0%)**" in markdown
    assert markdown.count("**") == 2 * 8 - 2  # no model has a 10-K/Q field
    assert r"\color{red} 0/2583 (0.0\%)" in latex
    assert r"\bfseries 47/96 (49.0\%)" in latex
    assert r"\multicolumn{5}{c}{Domain Pass Rate" in latex
    assert latex.count(r"\color{red}") == 7 + 2 + 1
    assert "font-weight:bold" in html
    assert "color:#a30000" in html
    assert 'colspan="5"' in html


@pytest.mark.parametrize("part", TABLES)
def test_a_table_is_written_the_same_each_time_and_compiles(part: str, tmp_path: Path) -> None:
    one, two = benchmark.style(part), benchmark.style(part)
    assert one.to_html() == two.to_html()
    assert one.to_latex() == two.to_latex() == one.to_latex()
    assert one.to_markdown() == two.to_markdown()
    assert "<NA>" not in one.to_html()
    if shutil.which("pdflatex") is None:
        return
    packages = "".join(rf"\usepackage{{{name}}}" for name in ("booktabs", "xcolor"))
    body = rf"\begin{{document}}{one.to_latex()}\end{{document}}"
    text = rf"\documentclass{{article}}{packages}{body}"
    (tmp_path / "table.tex").write_text(text, encoding="utf-8")
    command = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "table.tex"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-2000:]


def test_loading_data_and_tables_imports_no_heavy_library() -> None:
    heavy = "jinja2 scipy jsonschema matplotlib pooch pypdfium2 tiktoken"
    code = (
        "import sys, extractbench_nb as xb\n"
        f"def report(): print([m for m in '{heavy}'.split() if m in sys.modules])\n"
        "xb.load_dataset().documents; report()\n"
        "xb.benchmark.compare(5); report()\n"
        "import extractbench_nb.views.plots; print('matplotlib' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["[]", "[]", "False"]


# --- errata and claims ---------------------------------------------------------------------


def cells_of(notebook: str) -> dict[str, str]:
    """Return the outputs of a notebook's cells as text."""
    path = ROOT / "notebooks" / f"{notebook}.ipynb"
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    return {cell["id"]: json.dumps(cell.get("outputs", "")) for cell in cells}


def test_every_erratum_and_claim_is_in_the_output_of_its_cell() -> None:
    rows = pd.concat([benchmark.errata(), benchmark.claims()])
    for check, names in rows.groupby("check")["id"]:
        notebook, _, cell = check.partition("#")
        outputs = cells_of(notebook)
        assert cell in outputs, check
        shown = set(re.findall(r"[\w-]+", outputs[cell]))
        assert set(names) <= shown, check


def test_errata_and_claims_are_as_declared() -> None:
    errata, claims = benchmark.errata(), benchmark.claims()
    assert errata.columns.tolist() == ERRATA_COLUMNS.names
    assert claims.columns.tolist() == CLAIM_COLUMNS.names
    assert errata["id"].is_unique
    assert claims["id"].is_unique
    places = [
        (SEVERITIES.index(severity), ABOUT.index(about))
        for severity, about in zip(errata["severity"], errata["about"], strict=True)
    ]
    assert places == sorted(places)
    assert set(claims["verdict"]) == set(VERDICTS)
    assert errata.drop(columns="difference").notna().all(axis=None)
    assert (errata["published"] != errata["recomputed"]).all()


def test_differences_of_errata_are_those_of_their_figures() -> None:
    for row in benchmark.errata().itertuples():
        try:
            sides = [float(t.strip("%×").replace(",", "")) for t in (row.published, row.recomputed)]
        except ValueError:
            continue
        assert row.difference == pytest.approx(sides[1] - sides[0], abs=0.6), row.id


# --- the same without the dataset ----------------------------------------------------------


@pytest.fixture(scope="module")
def released() -> Dataset:
    if not os.environ.get("EXTRACTBENCH_DATASET"):
        pytest.skip("the published dataset is not here: set EXTRACTBENCH_DATASET to its folder")
    return load_dataset("extractbench")


def test_the_dataset_gives_what_the_shipped_figures_give(
    released: Dataset, compared: pd.DataFrame
) -> None:
    counted, shipped = facts_of(released), facts_of()
    pd.testing.assert_frame_equal(counted.frame, shipped.frame)
    assert (counted.keys, counted.depth) == (shipped.keys, shipped.depth)
    assert counted.growth_metric == shipped.growth_metric
    anew = benchmark.compare(dataset=released)
    assert anew.loc[anew["table"] == "6", "source"].str.contains("extractbench").all()
    pd.testing.assert_frame_equal(anew.drop(columns="source"), compared.drop(columns="source"))
