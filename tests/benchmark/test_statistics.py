"""Figures of gold files and PDFs: shipped ones equal counted ones, others are kept by content."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import pypdfium2
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reportlab.pdfgen.canvas import Canvas

from extractbench_nb import InputError, load_dataset
from extractbench_nb.benchmark.complexities import schema_complexity
from extractbench_nb.runs.dataset import EXTRACTBENCH_VARIABLE
from extractbench_nb.runs.dataset_statistics import (
    GOLD,
    PDF,
    SHIPPED_COLUMNS,
    GoldCounts,
    count_gold,
    figures_of,
    measure,
    shipped_schemas,
    shipped_statistics,
)
from extractbench_nb.support.files import file_hash

real = pytest.param(
    "extractbench",
    marks=pytest.mark.skipif(
        not os.environ.get(EXTRACTBENCH_VARIABLE),
        reason=f"the published dataset is not here: set {EXTRACTBENCH_VARIABLE} to its folder",
    ),
)
DATASETS = ["sample", real]


# --- what is shipped -----------------------------------------------------------------------


#: Of PDFs with more pages than this, the text is not read again.
LONG = 60


def page_count(path: Path) -> int:
    document = pypdfium2.PdfDocument(path)
    try:
        return len(document)
    finally:
        document.close()


@pytest.mark.parametrize("name", DATASETS)
def test_shipped_statistics_are_what_is_counted(name: str) -> None:
    dataset = load_dataset(name)
    shipped = shipped_statistics(name)
    same = ["document", "domain", "schema", "has_pdf"]
    assert shipped[same].equals(dataset.listing[same])
    for row, (_, files) in zip(shipped.to_dict("records"), dataset.listing.iterrows(), strict=True):
        counted = {**measure(files["gold_path"], GOLD), "gold_sha256": file_hash(files.gold_path)}
        uncounted: set[str] = set()
        if files["has_pdf"]:
            counted["pdf_sha256"] = file_hash(files.pdf_path)
            if row["pages"] > LONG:  # what these add up to is below
                counted["pages"] = page_count(files.pdf_path)
                uncounted = {"pdf_tokens"}
            else:
                figures = measure(files["pdf_path"], PDF)
                counted |= {name: number or None for name, number in figures.items()}
        assert counted == {key: row[key] for key in counted}
        others = row.keys() - counted.keys() - uncounted - set(same)
        assert all(pd.isna(row[key]) for key in others)


@pytest.mark.parametrize("name", DATASETS)
def test_documents_hold_the_shipped_figures(name: str) -> None:
    documents = load_dataset(name).documents
    assert documents[SHIPPED_COLUMNS.names].equals(shipped_statistics(name))


@pytest.mark.parametrize("name", DATASETS)
def test_shipped_schemas_are_what_is_counted(name: str) -> None:
    dataset = load_dataset(name)
    shipped = shipped_schemas(name)
    assert shipped[["schema", "domain"]].equals(dataset.schemas[["schema", "domain"]])
    counted = [schema_complexity(dataset.schema(schema)) for schema in shipped["schema"]]
    assert list(zip(shipped["keys"], shipped["depth"], strict=True)) == counted


@pytest.mark.parametrize("read", [shipped_statistics, shipped_schemas])
def test_nothing_is_shipped_of_other_datasets(read: Callable[[str], pd.DataFrame]) -> None:
    with pytest.raises(InputError, match=r"no shipped statistics of 'sampel'; .* 'sample'"):
        read("sampel")


# --- counting ------------------------------------------------------------------------------

scalars = st.none() | st.booleans() | st.integers() | st.floats() | st.text()
documents = st.recursive(
    scalars, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=8
)


@pytest.mark.parametrize(
    "value, counts",
    [
        (None, (1, 0, 1)),
        ("text", (1, 0, 1)),
        ([], (0, 0, 0)),
        ({}, (0, 0, 0)),
        ([[]], (0, 1, 0)),
        ({"a": None}, (1, 0, 1)),
        ({"a": [1, None]}, (2, 2, 0)),
        ([{"a": 1, "b": [{"c": 2}]}], (2, 2, 0)),
        ({"a": {"b": {"c": 1}}, "d": [[1, 2], [3]]}, (4, 5, 1)),
    ],
)
def test_count_gold(value: Any, counts: tuple[int, int, int]) -> None:
    assert count_gold(value) == counts


@settings(max_examples=40)
@given(documents, documents)
def test_counts_of_parts_add_up(one: Any, two: Any) -> None:
    parts = zip(count_gold(one), count_gold(two), strict=True)
    assert count_gold({"one": one, "two": two}) == tuple(a + b for a, b in parts)


@settings(max_examples=40)
@given(documents)
def test_an_array_around_a_document_takes_its_fields_away(value: Any) -> None:
    counts = count_gold(value)
    assert count_gold([value]) == GoldCounts(counts.gold_values, counts.array_items + 1, 0)
    assert 0 <= counts.fields <= counts.gold_values


# --- files that nobody knows ---------------------------------------------------------------


def write_gold(path: Path, value: Any = None) -> Path:
    path.write_text(json.dumps({"a": [1, 2]} if value is None else value))
    return path


def test_figures_are_counted_once(tmp_path: Path) -> None:
    gold = write_gold(tmp_path / "x.gold.json", {"counted": "once"})
    read: list[Path] = []
    kind = replace(GOLD, reader=lambda path: [read.append(path), GOLD.reader(path)][1])
    first = figures_of(gold, kind)
    assert {name: first[name] for name in GOLD.figures} == measure(gold, GOLD)
    copy = tmp_path / "copy.json"
    copy.write_bytes(gold.read_bytes())
    assert figures_of(gold, kind) == figures_of(copy, kind) == first
    assert len(read) == 1


# --- files that cannot be read -------------------------------------------------------------


def encrypted_pdf(path: Path) -> None:
    canvas = Canvas(str(path), encrypt="secret")
    canvas.drawString(50, 50, "hidden")
    canvas.save()


@pytest.mark.parametrize(
    "write",
    [
        lambda path: path.write_bytes(b""),
        lambda path: path.write_bytes(b"%PDF-1.4"),
        lambda path: path.write_bytes(b"<html>not a PDF</html>"),
        lambda path: path.write_bytes(b"%PDF-1.7\n" + bytes(range(256)) * 40),
        encrypted_pdf,
    ],
)
def test_a_broken_pdf_has_no_figures(tmp_path: Path, write: Callable[[Path], Any]) -> None:
    path = tmp_path / "x.pdf"
    write(path)
    found = figures_of(path, PDF)
    assert found == {"pages": None, "pdf_tokens": None, "pdf_sha256": file_hash(path)}


@pytest.mark.parametrize("content", [b"", b"{", b'{"a": "\xff"}', b"[" * 100_000 + b"]" * 100_000])
def test_a_broken_gold_has_no_figures(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "x.gold.json"
    path.write_bytes(content)
    found = figures_of(path, GOLD)
    assert found.pop("gold_sha256") == file_hash(path)
    assert set(found.values()) == {None}


@pytest.mark.parametrize(
    "content",
    [
        *['{"a": NaN}', '"\\ud800"', "9" * 4000, '{"a": 1, "a": 2}', '["<script>", "|\\n"]'],
        "[" * 300 + "1" + "]" * 300,
    ],
)
def test_hostile_gold_is_counted(tmp_path: Path, content: str) -> None:
    path = tmp_path / "x.gold.json"
    path.write_text(content)
    assert figures_of(path, GOLD)["gold_values"] in (1, 2)
    for absent in (None, tmp_path / "absent", tmp_path):
        assert set(figures_of(absent, GOLD).values()) == {None}
