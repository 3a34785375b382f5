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
from numpydoc.docscrape import get_doc_object
from numpydoc.validate import validate

from extractbench_nb import paper
from extractbench_nb.benchmark.dataset import Dataset, load_dataset
from extractbench_nb.benchmark.published import PARTS, Figure, figures
from extractbench_nb.errors import InputError
from extractbench_nb.paper.cells import CLAUDE, DOMAINS, MODELS, STATUSES, Cell, status_of
from extractbench_nb.paper.facts import facts_of, inferred_passed, tally
from extractbench_nb.paper.tables import COMPARE_COLUMNS

TABLES = [part for part in PARTS if part != "text"]

#: Printed figures: equal, rounding, differs, declared, not reproducible.
REPRODUCED = {
    "1": (15, 0, 0, 0, 5),
    "2": (14, 0, 2, 0, 2),
    "3": (6, 0, 1, 0, 5),
    "4": (0, 0, 2, 7, 0),
    "5": (160, 0, 6, 0, 1),
    "6": (20, 0, 9, 0, 1),
    "7": (6, 0, 0, 0, 30),
    "8": (7, 0, 3, 0, 18),
    **{str(number): (18, 0, 0, 0, 12) for number in range(9, 14)},
    "figure2": (0, 0, 2, 0, 0),
    "text": (144, 0, 22, 8, 13),
}


def test_how_much_is_reproduced() -> None:
    frame = paper.reproduction().set_index("table")
    counts = frame[[status.replace(" ", "_") for status in STATUSES]]
    assert {n: tuple(row) for n, row in zip(counts.index, counts.values, strict=True)} == REPRODUCED
    assert (counts.sum(axis=1) == frame["cells"]).all()


@pytest.mark.parametrize("part", PARTS)
def test_every_figure_is_compared_and_explained(part: str) -> None:
    frame, printed = paper.compare(part), figures(part)
    assert frame.columns.tolist() == COMPARE_COLUMNS.names
    assert frame[["row", "column", "printed"]].equals(printed[["row", "column", "printed"]])
    open_ = frame["status"].isin(["differs", "not reproducible"])
    assert frame.loc[open_, "reason"].notna().all()
    assert frame.loc[~open_, "reason"].isna().all()
    unknown = frame["status"] == "not reproducible"
    assert frame.loc[unknown, "recomputed"].isna().all()
    assert frame.loc[~unknown, "shown"].notna().all()
    known = frame["difference"].notna()
    gap = frame["recomputed"] - frame["published"]
    assert (frame.loc[known, "difference"] - gap[known]).abs().max() < 1e-9 or not known.any()


@pytest.mark.parametrize("part", TABLES)
def test_a_table_lies_on_the_published_one(part: str) -> None:
    table, printed = paper.table(part), paper.published(part)
    assert table.attrs["source"]
    assert set(printed.columns) <= set(table.columns)
    assert set(printed.index) <= set(table.index)
    if part != "figure2":
        assert table.index.tolist() == printed.index.tolist()
        assert table.columns.tolist() == printed.columns.tolist()


@pytest.mark.parametrize(
    "part, row, column, shown",
    [
        (2, "research", "gold_values", "2,003"),
        (3, "total", "hours_per_document", "1.9"),
        (5, "GPT-5", "accuracy", "80.4%"),
        (6, "sports", "tokens", "3,416"),
        (6, "credit", "tokens", "883"),
        (6, "10-K/Q", "tokens", "24,418"),
        (6, "research", "tokens", "25,370"),
        (6, "resumes", "tokens", "3,184"),
        (6, "research", "array_items", "310.3"),
        (6, "resumes", "array_items", "43.4"),
        (6, "10-K/Q", "array_items", "183.0"),
        (8, "total", "research rate", "24.5%"),
        (8, "total", "sports rate", "12.2%"),
        (8, "total", "credit rate", "54.2%"),
        ("text", "s4.2-10", "highest validity of GPT-5 without credit", "40%"),
    ],
)
def test_known_figures(part: int | str, row: str, column: str, shown: str) -> None:
    frame = paper.compare(part).set_index(["row", "column"])
    assert frame.loc[(row, column), "shown"] == shown


def test_counts_are_those_of_table_5() -> None:
    frame = paper.counts()
    printed = paper.published(5)
    by_model = frame.groupby("model")[["valid", "passed", "fields"]].sum()
    for model in MODELS:
        assert by_model.loc[model].tolist() == [
            printed.loc[model, c] for c in ("valid", "overall passed", "overall fields")
        ]
        for domain in DOMAINS:
            own = frame[(frame["model"] == model) & (frame["domain"] == domain)].iloc[0]
            assert own["passed"] == printed.loc[model, f"{domain} passed"]


def test_structured_counts_give_every_printed_share_back() -> None:
    printed = paper.published(8)
    for model in MODELS:
        for domain in ("credit", "research", "sports"):
            found = tally("structured", models=(model,), domains=(domain,))
            assert (
                round(100 * found.passed / found.fields, 1) == printed.loc[model, f"{domain} rate"]
            )
    assert tally("structured", domains=("credit",)).passed == 423
    assert paper.counts("structured")["valid"].dropna().eq(0).all()


@pytest.mark.parametrize("fields", [3, 3000])
def test_a_share_that_fits_no_count_or_several(fields: int) -> None:
    with pytest.raises(ValueError, match=r"Table 8, GPT-5, research: \["):
        inferred_passed("GPT-5", "research", fields)


@given(
    total=st.integers(1, 5000),
    part=st.integers(0, 5000),
    digits=st.integers(0, 2),
)
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


def test_a_printed_figure_is_never_its_own_proof() -> None:
    figure = Figure("7", "", "", "", 14.0, "failures", 0, "14", False, False, "")
    assert status_of(figure, Cell(14.0, "", is_printed=True)) == "not reproducible"


def test_errors() -> None:
    for call in (paper.table, paper.published, paper.style):
        with pytest.raises(InputError, match=r"statements\(\)"):
            call("text")
        with pytest.raises(InputError, match="no table 20"):
            call(20)
    with pytest.raises(InputError, match="expected 'prompt' or 'structured'"):
        paper.counts("plain")
    with pytest.raises(InputError, match="expected 'published' or 'recomputed'"):
        paper.style(5, values="both")
    with pytest.raises(InputError, match=r"dataset 'sample' has the schemas .* swimming"):
        paper.table(1, dataset=load_dataset("sample"))


# --- the paper's layout --------------------------------------------------------------------


@pytest.mark.parametrize("part", ["1", "2", "3", "6", "7", "8", *map(str, range(9, 14))])
def test_the_printed_table_is_written_as_printed(part: str) -> None:
    rows = [
        [cell.strip("* ") for cell in line.strip("|\n").split("|")]
        for line in paper.style(part).to_markdown().replace("†", "").splitlines()[4:]
    ]
    printed = figures(part)
    printed = printed[printed["unit"] != "words"]
    assert [row[0] for row in rows] == printed["label"].drop_duplicates().tolist()
    for row in rows:
        told = re.findall(r"[\d,.]+%?", " ".join(row[1:4] if part == "1" else row[1:]))
        own = printed.loc[printed["label"] == row[0], "printed"]
        assert told == [text.replace("—", "0") for text in own]


@pytest.mark.parametrize("values", ["published", "recomputed"])
def test_a_dagger_marks_what_differs(values: str) -> None:
    """As often as `compare` says, in the caption's own sentence once more; none where none is."""
    for part in ("1", "2", "3", "6", "8", "9"):
        differing = paper.compare(part)["status"].isin(["differs", "rounding"]).sum()
        written = paper.style(part, values=values).to_markdown()
        assert written.count("†") == differing + (differing > 0), part
    row = next(
        line
        for line in paper.style(8, values=values).to_markdown().splitlines()
        if line.startswith("| Total")
    )
    assert ("14.7%†" in row) == (values == "published")
    assert ("24.5%†" in row) == (values == "recomputed")


def test_table_5_has_a_heading_over_its_domains() -> None:
    made = paper.style(5)
    assert 'colspan="5"' in made.to_html()
    assert r"\multicolumn{5}{c}{Domain Pass Rate" in made.to_latex()
    assert "k is a thousand" in made.to_markdown().splitlines()[0]


@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="LaTeX is not installed")
@pytest.mark.parametrize("part", TABLES)
def test_latex_compiles(part: str, tmp_path: Path) -> None:
    packages = "".join(rf"\usepackage{{{name}}}" for name in ("booktabs", "xcolor"))
    body = paper.style(part).to_latex()
    text = rf"\documentclass{{article}}{packages}\begin{{document}}{body}\end{{document}}"
    (tmp_path / "table.tex").write_text(text, encoding="utf-8")
    command = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "table.tex"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-2000:]


def test_bold_and_red_follow_from_the_figures() -> None:
    made = paper.style(5, values="recomputed")
    html, markdown, latex = made.to_html(), made.to_markdown(), made.to_latex()
    assert "**47/96 (49.0%)**" in markdown
    assert "**46/96" not in markdown
    assert markdown.count("**") == 2 * 8 - 2  # no model has a 10-K/Q field
    assert r"\color{red} 0/2583 (0.0\%)" in latex
    assert r"\bfseries 47/96 (49.0\%)" in latex
    assert latex.count(r"\color{red}") == 7 + 2 + 1
    assert "font-weight: bold" in html
    assert "color: red" in html


@pytest.mark.parametrize("part", TABLES)
def test_every_table_is_written_the_same_each_time(part: str) -> None:
    one, two = paper.style(part), paper.style(part)
    assert one.to_html() == two.to_html()
    assert one.to_latex() == two.to_latex() == one.to_latex()
    assert one.to_markdown() == two.to_markdown()
    assert "nan" not in one.to_html().lower().replace("finan", "")
    assert "<NA>" not in one.to_html()


def test_to_latex_writes_a_file_and_takes_options(tmp_path) -> None:  # type: ignore[no-untyped-def]
    target = tmp_path / "table.tex"
    assert paper.style(8).to_latex(target, caption="Results", label="tab:results") is None
    assert r"\caption{Results}" in target.read_text(encoding="utf-8")


# --- documented, light, and the same without the dataset -----------------------------------


@pytest.mark.parametrize("name", paper.__all__)
def test_every_function_is_documented(name: str) -> None:
    found = validate(get_doc_object(getattr(paper, name)))["errors"]
    codes = {"GL08", "SS01", "PR01", "PR02", "PR03", "PR04", "PR07", "RT01", "RT03"}
    assert [text for code, text in found if code in codes] == []


def test_loading_data_and_tables_imports_no_heavy_library() -> None:
    heavy = "jinja2 scipy jsonschema matplotlib pooch pypdfium2 tiktoken"
    code = (
        "import sys, extractbench_nb as xb\n"
        f"def report(): print([m for m in '{heavy}'.split() if m in sys.modules])\n"
        "xb.load_dataset().documents; report()\n"
        "xb.paper.compare(5); report()\n"
        "import extractbench_nb.plots; print('matplotlib' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["[]", "[]", "False"]


@pytest.fixture(scope="module")
def released() -> Dataset:
    if not os.environ.get("EXTRACTBENCH_DATASET"):
        pytest.skip("the published dataset is not here: set EXTRACTBENCH_DATASET to its folder")
    return load_dataset("extractbench")


def test_the_dataset_gives_what_the_shipped_figures_give(released: Dataset) -> None:
    counted, shipped = facts_of(released), facts_of()
    pd.testing.assert_frame_equal(counted.frame, shipped.frame)
    assert (counted.keys, counted.depth) == (shipped.keys, shipped.depth)
    assert counted.growth_metric == shipped.growth_metric


def test_a_dataset_can_be_counted_anew(released: Dataset) -> None:
    counted, shipped = paper.compare(6, dataset=released), paper.compare(6)
    assert counted["source"].str.contains("extractbench").all()
    assert shipped["source"].eq("shipped statistics").all()
    pd.testing.assert_frame_equal(counted.drop(columns="source"), shipped.drop(columns="source"))


def test_claude_has_no_credit_agreement() -> None:
    assert tally(models=CLAUDE, domains=("credit",)).passed == 0


@pytest.mark.parametrize("domain", ["research", "sports"])
def test_totals_of_table_8_are_the_sum_of_their_rows_divided_by_ten(domain: str) -> None:
    frame = paper.compare(8)
    column = frame[frame["column"] == f"{domain} rate"].set_index("row")
    total = column["published"]["total"]
    added = column["published"].drop("total").sum()
    assert len(column) == 7
    assert added / 10 == pytest.approx(total, abs=0.06)
    assert column["reason"]["total"].endswith(
        f"the printed total is the sum of the six rows, {added:.1f}, divided by 10 instead of 6"
    )
