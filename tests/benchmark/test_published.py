"""The published figures against the text of the paper, read a second time and another way."""

import os
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pandas as pd
import pytest

from extractbench_nb.benchmark.published import PARTS, part_name, rows_of
from extractbench_nb.errors import InputError

SEEDS = "EXTRACTBENCH_SEEDS"
NUMBER = re.compile(r"—|\d[\d,]*(?:\.\d+)?%?")
WORDS = {"3": "three", "5": "five", "6": "six", "7": "seven"}
HEADINGS = {
    "abstract": "## Abstract",
    "section 1": "## 1 Introduction",
    "section 1.1": "## 1.1 Related Work",
    "section 2": "## 2 The ExtractBench Dataset",
    "section 2.1": "### 2.1",
    "section 2.2": "### 2.2",
    "section 2.3": "### 2.3",
    "section 3": "### 3 A Principled",
    "section 3.1": "#### 3.1",
    "section 3.2": "#### 3.2",
    "section 3.3": "### 3.3",
    "section 4": "## 4 Experiments",
    "section 4.1": "### 4.1",
    "section 4.2": "## 4.2",
    "section 4.3": "### 4.3",
    "section 5": "## 5 Conclusion",
    "references": "## References",
    "appendix A": "## A Ethical",
    "appendix B": "## B Additional",
}


def figures(part: object = None) -> pd.DataFrame:
    """Return the printed figures of a part, or of all, as a frame."""
    parts = PARTS if part is None else (part_name(part),)
    return pd.DataFrame([figure for name in parts for figure in rows_of(name)]).astype(
        {"value": "Float64", "digits": "Int64"}
    )


needs_seeds = pytest.mark.skipif(
    not os.environ.get(SEEDS), reason=f"the paper's text is not here: set {SEEDS} to its folder"
)


@cache
def text(name: str = "extractbench-paper.txt") -> str:
    return (Path(os.environ[SEEDS]) / name).read_text(encoding="utf-8")


def table_lines(number: str) -> Iterator[list[str]]:
    """The rows of a table: lines with tabs between its caption and the next text."""
    after = text().split(f"**Table {number}:", 1)[1].splitlines()[1:]
    started = False
    for line in after:
        if "\t" in line:
            started = True
            yield line.split("\t")
        elif started and line.strip():
            return


def plain(cell: str) -> str:
    return cell.replace("<b>", "").replace("</b>", "").strip()


def body(number: str) -> dict[str, list[str]]:
    labels = {figure.label for figure in rows_of(number)} - {""}
    return {plain(row[0]): row[1:] for row in table_lines(number) if plain(row[0]) in labels}


@needs_seeds
@pytest.mark.parametrize("number", [n for n in PARTS if n.isdigit() and n != "4"])
def test_every_number_of_a_table_and_nothing_else(number: str) -> None:
    printed = body(number)
    assert printed
    found = figures(number)
    found = found[found["label"] != ""]
    assert set(found["label"]) == set(printed)
    for label, cells in printed.items():
        own = found.loc[found["label"] == label, ["printed", "unit"]]
        words = own.loc[own["unit"] == "words", "printed"].tolist()
        rest = cells[: len(cells) - len(words)]
        assert [plain(cell) for cell in cells[len(rest) :]] == words
        told = NUMBER.findall(" ".join(plain(cell) for cell in rest))
        assert own.loc[own["unit"] != "words", "printed"].tolist() == told, label


@needs_seeds
@pytest.mark.parametrize("number", ["2", "3", "5", "7", "8", "10", "11", "12", "13"])
def test_every_mark(number: str) -> None:
    marked, found = body(number), figures(number)
    for label, cells in marked.items():
        bold = [NUMBER.findall(plain(cell)) for cell in cells if "<b>" in cell]
        rows = found[(found["label"] == label) & (found["bold"] | found["red"])]
        assert rows["printed"].tolist() == [token for tokens in bold for token in tokens], label


@needs_seeds
def test_the_presets_of_table_4() -> None:
    printed = [[plain(cell) for cell in row] for row in table_lines("4")]
    found = figures(4)
    own = [[row, *rows["printed"]] for row, rows in found.groupby("row", sort=False)]
    assert [["Preset", "Metric", "Use Case"], *own] == printed


@needs_seeds
def test_the_heads_of_table_5() -> None:
    (head,) = (row for row in table_lines("5") if "137pgs" in "".join(row))
    told = [re.findall(r"\d[\d.]*k?", cell.split("(")[1]) for cell in head if "(" in cell]
    found = figures(5)
    found = found[found["row"] == "header"]
    assert found["printed"].tolist() == [token for cell in told for token in cell]


def section(where: str) -> str:
    if where == "README":
        return text("extractbench-readme.txt")
    if where == "footnote 1":
        return text().split("<sup>1</sup>Each", 1)[1].split("\n", 1)[0]
    if where.startswith(("Table", "caption")):
        name = re.search(r"(Table|Figure) \d+", where)
        assert name is not None
        caption = text().split(f"**{name[0]}:", 1)[1]
        return caption[:1500]
    names = list(HEADINGS)
    start = text().index(HEADINGS[where])
    following = names[names.index(where) + 1]
    return text()[start : text().index(HEADINGS[following])]


@needs_seeds
@pytest.mark.parametrize("figure", [*rows_of("text"), *rows_of("figure2")], ids=lambda f: f.row)
def test_every_number_of_the_text_is_where_it_is_said_to_be(figure) -> None:  # type: ignore[no-untyped-def]
    spellings = [figure.printed, WORDS.get(figure.printed, figure.printed)]
    pattern = "|".join(rf"(?<![\d.,]){re.escape(spelling)}(?![\d,]\d)" for spelling in spellings)
    assert re.search(pattern, section(figure.where)), figure


@pytest.mark.parametrize("part", PARTS)
def test_figures_are_as_declared(part: str) -> None:
    frame = figures(part)
    assert frame["table"].eq(part).all()
    assert not frame.duplicated(["row", "column"]).any()
    assert frame.notna().drop(columns=["value", "digits"]).all(axis=None)
    assert (frame["printed"].str.len() > 0).all()


@pytest.mark.parametrize("part", PARTS)
def test_values_are_the_printed_numbers(part: str) -> None:
    for figure in rows_of(part):
        bare = re.sub(r"[,~%×+<]", "", figure.printed)
        if figure.value is None or not re.fullmatch(r"[\d.]+k?", bare):
            assert figure.unit == "words" or figure.printed in ("—", "nearly a third"), figure
            continue
        thousand = 1000 if bare.endswith("k") else 1
        assert figure.value == pytest.approx(float(bare.removesuffix("k")) * thousand), figure


@pytest.mark.parametrize("part", [0, 14, "table 5", True, 5.0, "figure 2"])
def test_unknown_parts(part: object) -> None:
    with pytest.raises(InputError, match=r"no table .* tables 1 to 13"):
        figures(part)  # type: ignore[arg-type]
